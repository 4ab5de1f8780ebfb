//! What a node has refused or failed to do, and how often.

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
    /// For each of them: what makes it another one than those of the same code, and the path of the last error.
    about: Vec<(String, String)>,
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
        let is_same = |(refusal, (other, _)): &(&Refusal, &(String, String))| refusal.code == code && other == kind;
        let at = self.all.iter().zip(&self.about).position(|entry| is_same(&entry)).unwrap_or_else(|| {
            self.all.push(Refusal { code, count: 0, last: String::new() });
            self.about.push((kind.into(), String::new()));
            self.all.len() - 1
        });
        self.all[at].count += 1;
        self.all[at].last = text[..text.floor_char_boundary(TEXT)].into();
        self.about[at].1 = error.path().into();
    }

    pub(crate) fn all(&self) -> &[Refusal] {
        &self.all
    }

    /// The same for another node, which may see some channels. It does not learn the names of others.
    pub(crate) fn told(&self, may_see: impl Fn(&str) -> bool) -> Vec<Refusal> {
        let told = |(refusal, (_, path)): (&Refusal, &(String, String))| {
            let is_secret = refusal.code == Code::Forbidden as u16 && !may_see(path);
            Refusal { last: if is_secret { String::new() } else { refusal.last.clone() }, ..refusal.clone() }
        };
        self.all.iter().zip(&self.about).map(told).collect()
    }
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
}
