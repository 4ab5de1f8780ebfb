//! What a query remembers for the formats of a source that have gone longest without events (`spec/channel.md`, "Queries").

use isoform_core::Token;
use isoform_query::Remembered;
use std::collections::VecDeque;

/// The most that a query has aside, in bytes.
const MOST: usize = 65_536;

/// What is aside, of one query.
#[derive(Clone, Default)]
pub(super) struct Aside {
    /// That of the format that has gone longest without events comes first.
    all: VecDeque<(Token, Box<Remembered>)>,
    /// What all of it takes.
    size: usize,
}

impl Aside {
    /// Puts aside what was remembered for a format. Returns how many states were forgotten for want of room.
    pub(super) fn put(&mut self, format: Token, remembered: Remembered) -> u64 {
        let (size, states) = (remembered.size(), remembered.states());
        if states == 0 || size > MOST {
            return states;
        }
        let mut forgotten = 0;
        while self.size + size > MOST {
            let Some((_, oldest)) = self.all.pop_front() else { break };
            self.size -= oldest.size();
            forgotten += oldest.states();
        }
        self.size += size;
        self.all.push_back((format, Box::new(remembered)));
        forgotten
    }

    /// Takes what was remembered for a format.
    pub(super) fn take(&mut self, format: Token) -> Option<Remembered> {
        let at = self.all.iter().position(|(other, _)| *other == format)?;
        let (_, remembered) = self.all.remove(at)?;
        self.size -= remembered.size();
        Some(*remembered)
    }

    /// As `lost` and `joined` of a run, which return how many states they have looked at.
    pub(super) fn change(&mut self, mut change: impl FnMut(&mut Remembered) -> u64) -> u64 {
        let looks = self.all.iter_mut().map(|(_, remembered)| change(remembered)).sum();
        if looks > 0 {
            self.size = self.all.iter().map(|(_, remembered)| remembered.size()).sum();
        }
        looks
    }
}
