//! The words and numbers of choices: the treatment of numbers that do not fit, the engine, the policy.

use isoform::memory::Engine;
use isoform::{Code, Error, Faults, Missing, Result};
#[cfg(any(unix, windows))]
use isoform_channel::{Cause, Policy, Reason, SinkBuilder};

/// A choice that a program makes by a word or, in a language with constants, by a number.
///
/// ```
/// use isoform::Faults;
/// use isoform_dynamic::words::Choice;
/// assert_eq!(Faults::named("wrap")?, Faults::Wrap);
/// assert_eq!(Faults::numbered(1), Some(Faults::Saturate));
/// # Ok::<(), isoform::Error>(())
/// ```
pub trait Choice: Copy + 'static {
    /// The name of the choice.
    const WHAT: &'static str;
    /// Every choice with its word. The index of a choice is its number.
    const ALL: &'static [(&'static str, Self)];

    /// The choice of this word.
    ///
    /// # Errors
    /// [`Code::WrongType`], which lists the words.
    fn named(word: &str) -> Result<Self> {
        let found = Self::ALL.iter().find(|(known, _)| *known == word);
        found.map(|(_, choice)| *choice).ok_or_else(|| {
            Error::new(Code::WrongType)
                .at(Self::WHAT)
                .expected(either(Self::ALL.iter().map(|(word, _)| *word)))
                .found(word)
        })
    }

    /// The choice of this number.
    fn numbered(number: i32) -> Option<Self> {
        Self::ALL.get(usize::try_from(number).ok()?).map(|(_, choice)| *choice)
    }
}

/// Words in a sentence: `a, b or c`.
fn either(words: impl ExactSizeIterator<Item = &'static str>) -> String {
    let last = words.len().saturating_sub(1);
    words.enumerate().fold(String::new(), |all, (i, word)| match i {
        0 => word.into(),
        _ if i == last => format!("{all} or {word}"),
        _ => format!("{all}, {word}"),
    })
}

impl Choice for Faults {
    const WHAT: &'static str = "faults";
    const ALL: &'static [(&'static str, Faults)] =
        &[("error", Faults::Error), ("saturate", Faults::Saturate), ("wrap", Faults::Wrap)];
}

impl Choice for Missing {
    const WHAT: &'static str = "missing";
    const ALL: &'static [(&'static str, Missing)] = &[("refuse", Missing::Refuse), ("zero", Missing::Zero)];
}

impl Choice for Engine {
    const WHAT: &'static str = "engine";
    const ALL: &'static [(&'static str, Engine)] =
        &[("auto", Engine::Auto), ("interpreter", Engine::Interpreter), ("generated", Engine::Generated)];
}

/// The bytes that wait at a source for a sink that drops the oldest, if the sink states no number.
#[cfg(any(unix, windows))]
const QUEUE: u64 = 4 << 20;

/// It keeps as many events as these bytes have room for.
#[cfg(any(unix, windows))]
const OLDEST: Policy = Policy::DropOldest { events: u64::MAX, bytes: QUEUE };

#[cfg(any(unix, windows))]
impl Choice for Policy {
    const WHAT: &'static str = "policy";
    const ALL: &'static [(&'static str, Policy)] =
        &[("block", Policy::Block), ("drop oldest", OLDEST), ("latest", Policy::Latest)];
}

/// The policy of a text: a word of [`Policy`], or `oldest:1000`, which states how many events it keeps.
///
/// # Errors
/// [`Code::WrongType`], which lists the forms.
#[cfg(any(unix, windows))]
pub fn policy(text: &str) -> Result<Policy> {
    let keeps = |number: &str| number.parse().ok().filter(|&events| events > 0).map(Some);
    let found = match text.strip_prefix("oldest:") {
        Some(number) => keeps(number).map(|events| keeping(OLDEST, events, None)),
        None => Policy::named(text).ok(),
    };
    let expected = "drop oldest, block, latest, or oldest:N with N from 1";
    found.ok_or_else(|| Error::new(Code::WrongType).at(Policy::WHAT).expected(expected).found(text))
}

/// Sets the events and bytes of a policy that keeps events. `None` leaves a value unchanged.
#[cfg(any(unix, windows))]
pub fn keeping(policy: Policy, most_events: Option<u64>, most_bytes: Option<u64>) -> Policy {
    match policy {
        Policy::DropOldest { events, bytes } => {
            Policy::DropOldest { events: most_events.unwrap_or(events), bytes: most_bytes.unwrap_or(bytes) }
        }
        other => other,
    }
}

/// The policy *block*, which the sink must have: no event is lost because it is slow. Its number comes after those of
/// [`Policy`].
#[cfg(any(unix, windows))]
const LOSSLESS: &str = "lossless";

/// Sets the policy of a sink by its word: one of [`Policy`], or `lossless`.
///
/// # Errors
/// [`Code::WrongType`], which lists the words.
#[cfg(any(unix, windows))]
pub fn with_policy(sink: SinkBuilder, word: &str, events: Option<u64>, bytes: Option<u64>) -> Result<SinkBuilder> {
    Ok(match word {
        LOSSLESS => sink.lossless(),
        word => {
            let expected = "lossless, block, drop oldest, latest, or oldest:N with N from 1";
            let unknown = |_| Error::new(Code::WrongType).at(Policy::WHAT).expected(expected).found(word);
            sink.policy(keeping(policy(word).map_err(unknown)?, events, bytes))
        }
    })
}

/// The reason why a source grants a policy, in a word or two.
#[cfg(any(unix, windows))]
pub fn reason(reason: Reason) -> &'static str {
    match reason {
        Reason::Asked => "asked",
        Reason::Less => "less",
        Reason::Slow => "slow",
        Reason::CaughtUp => "caught up",
        Reason::NotGranted => "not granted",
        Reason::Forbidden => "forbidden",
    }
}

/// The reason why events do not come, in a word or two.
#[cfg(any(unix, windows))]
pub fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::Overrun => "overrun",
        Cause::Cut => "cut",
        Cause::TooLarge => "too large",
        Cause::Ended => "ended",
        Cause::Unknown => "unknown",
        Cause::Declined => "declined",
        Cause::Thinned => "thinned",
        Cause::Superseded => "superseded",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_word_is_told_the_others() {
        let fault = Faults::named("ignore").unwrap_err().to_string();
        assert!(fault.contains("faults: expected error, saturate or wrap, found ignore"), "{fault}");
        assert!(Engine::numbered(3).is_none() && Engine::numbered(-1).is_none());
        for &(word, faults) in Faults::ALL {
            assert_eq!(faults.to_string(), word);
        }
        for &(word, missing) in Missing::ALL {
            assert_eq!(missing.to_string(), word);
        }
    }

    #[cfg(any(unix, windows))]
    #[test]
    fn only_a_policy_that_keeps_events_is_told_how_many() {
        let oldest = Policy::named("drop oldest").unwrap();
        assert_eq!(keeping(oldest, Some(7), None), Policy::DropOldest { events: 7, bytes: QUEUE });
        assert_eq!(keeping(Policy::Latest, Some(7), None), Policy::Latest);
    }

    #[cfg(any(unix, windows))]
    #[test]
    fn a_policy_is_a_word_or_says_how_many_events_it_keeps() {
        for &(word, choice) in Policy::ALL {
            assert_eq!(policy(word).unwrap(), choice);
        }
        assert_eq!(policy("oldest:7").unwrap(), Policy::DropOldest { events: 7, bytes: QUEUE });
        for text in ["", "oldest", "oldest:", "oldest:0", "oldest:-1", "drop oldest:7", "latest:1", "Block"] {
            assert!(policy(text).unwrap_err().expectation().contains("block, latest, or oldest:N"), "{text}");
        }
    }
}
