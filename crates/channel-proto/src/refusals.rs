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
pub(crate) struct Refusals(Vec<Refusal>);

impl Refusals {
    /// Counts one. A second connection with a node that has a link is no refusal of that node.
    pub(crate) fn note(&mut self, error: &Error) {
        if error.code() == Code::Duplicate {
            return;
        }
        let (code, text) = (error.code() as u16, error.to_string());
        // Each budget has an entry of its own. There are only so many.
        let budget = |text: &str| (error.code() == Code::Budget).then(|| text.split(':').next().map(str::to_owned));
        let is_same = |refusal: &Refusal| refusal.code == code && budget(&refusal.last) == budget(&text);
        let at = self.0.iter().position(is_same).unwrap_or_else(|| {
            self.0.push(Refusal { code, count: 0, last: String::new() });
            self.0.len() - 1
        });
        self.0[at].count += 1;
        self.0[at].last = text[..text.floor_char_boundary(TEXT)].into();
    }

    pub(crate) fn all(&self) -> &[Refusal] {
        &self.0
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
