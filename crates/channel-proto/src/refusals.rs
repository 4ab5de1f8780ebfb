//! What a node has refused or failed to do, and how often.

use crate::links;
use isoform_core::{Code, Error};

/// The longest text that is kept of a refusal.
const TEXT: usize = 256;

/// What a node has refused or failed to do for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The reason: the number of a [`Code`].
    pub code: u16,
    /// How often.
    pub count: u64,
    /// The last error, as text.
    pub last: String,
}

/// The refusals of a node: one entry for each reason, so strangers cannot make them many.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    all: Vec<Refusal>,
    /// More about each of them.
    about: Vec<About>,
}

#[derive(Debug, Default)]
struct About {
    /// What makes it another one than those of the same code.
    kind: String,
    /// The path of the last error, and what other nodes are told of it.
    path: String,
    told: String,
}

impl Refusals {
    /// Counts one. A second connection with a node that has a link is no refusal of that node.
    pub(crate) fn note(&mut self, error: &Error) {
        if error.code() == Code::Duplicate {
            return;
        }
        let (code, text) = (error.code() as u16, error.to_string());
        // Each budget and each right has an entry of its own. There are only so many.
        let kind = match error.code() {
            Code::Budget => text.split(':').next().unwrap_or_default(),
            Code::Forbidden => error.expectation(),
            _ => "",
        };
        let is_same = |(refusal, about): &(&Refusal, &About)| refusal.code == code && about.kind == kind;
        let at = self.all.iter().zip(&self.about).position(|entry| is_same(&entry)).unwrap_or_else(|| {
            self.all.push(Refusal { code, count: 0, last: String::new() });
            self.about.push(About { kind: kind.into(), ..About::default() });
            self.all.len() - 1
        });
        self.all[at].count += 1;
        self.all[at].last = short(&text);
        (self.about[at].path, self.about[at].told) = (error.path().into(), short(&told(error)));
    }

    pub(crate) fn all(&self) -> &[Refusal] {
        &self.all
    }

    /// The same for another node, which may see some channels. It learns neither the names of others nor what the rules say.
    pub(crate) fn told(&self, may_see: impl Fn(&str) -> bool) -> Vec<Refusal> {
        let told = |(refusal, about): (&Refusal, &About)| {
            let is_secret = refusal.code == Code::Forbidden as u16 && !may_see(&about.path);
            Refusal { last: if is_secret { String::new() } else { about.told.clone() }, ..*refusal }
        };
        self.all.iter().zip(&self.about).map(told).collect()
    }
}

/// What other nodes are told of an error. The wrong text may be that of a file of rules.
fn told(error: &Error) -> String {
    match error.code() {
        Code::Text => Error::new(Code::Text).at(error.path()).expected(error.expectation()).to_string(),
        _ => links::told(error).1,
    }
}

fn short(text: &str) -> String {
    text[..text.floor_char_boundary(TEXT)].into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_counted_by_their_reason() {
        let mut refusals = Refusals::default();
        for (code, found) in [(Code::Frame, "x"), (Code::NotAdmitted, "y"), (Code::Duplicate, ""), (Code::Frame, "zé")]
        {
            refusals.note(&Error::new(code).found(found.repeat(200)));
        }
        let all = refusals.all();
        assert_eq!(
            all.iter().map(|it| (it.code, it.count)).collect::<Vec<_>>(),
            [(Code::Frame as u16, 2), (Code::NotAdmitted as u16, 1)]
        );
        assert!(all[0].last.contains("zézé") && all[0].last.len() <= TEXT);
    }

    #[test]
    fn others_are_not_told_what_a_wrong_rule_says() {
        let mut refusals = Refusals::default();
        refusals.note(&Error::new(Code::Text).at("line 2").expected("allow or deny").found("permit"));
        let told = refusals.told(|_| true);
        assert!(told[0].last.ends_with("line 2: expected allow or deny"), "{}", told[0].last);
        assert!(refusals.all()[0].last.ends_with("found permit"));
    }
}
