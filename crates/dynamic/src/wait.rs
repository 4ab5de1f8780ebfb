//! Waits as other languages require it: in turns, between which the program can stop it, and for the time that its user
//! chose.

use isoform::{Code, Error, Result};
use std::time::{Duration, Instant};

/// Calls `turn` again and again, each time with at most `longest`, until it returns a value, `patience` is over, or
/// `goes_on` returns false. Without a value, the result is `None`.
///
/// # Errors
/// Those of `turn` and of `goes_on`.
pub fn in_turns<R, E>(
    patience: Option<Duration>,
    longest: Duration,
    mut turn: impl FnMut(Duration) -> Result<Option<R>, E>,
    mut goes_on: impl FnMut() -> Result<bool, E>,
) -> Result<Option<R>, E> {
    let end = patience.and_then(|patience| Instant::now().checked_add(patience));
    loop {
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        let found = turn(left.map_or(longest, |left| left.min(longest)))?;
        if found.is_some() || left.is_some_and(|left| left <= longest) || !goes_on()? {
            return Ok(found);
        }
    }
}

/// Turns [`Code::Deadline`] into `None`.
///
/// # Errors
/// Any other than [`Code::Deadline`].
pub fn unless_late<R>(done: Result<R>) -> Result<Option<R>> {
    match done {
        Err(error) if error.code() == Code::Deadline => Ok(None),
        other => other.map(Some),
    }
}

/// This many milliseconds, or for ever if they are negative.
pub fn milliseconds(count: i32) -> Duration {
    u64::try_from(count).map_or(Duration::MAX, Duration::from_millis)
}

/// This many seconds, or for ever if they are infinite.
///
/// # Errors
/// [`Code::WrongType`] if they are negative or NaN.
pub fn seconds(count: f64) -> Result<Duration> {
    if count == f64::INFINITY {
        return Ok(Duration::MAX);
    }
    let wrong = |_| {
        Error::new(Code::WrongType).at("timeout").expected("a number of seconds, which is not negative").found(count)
    };
    Duration::try_from_secs_f64(count).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURN: Duration = Duration::from_millis(1);

    #[test]
    fn turns_end_with_something_with_patience_or_when_asked() {
        let counted = |patience, most: u32, least: u32| {
            let (mut turns, mut looks) = (0, 0);
            let turn = |_| {
                turns += 1;
                Ok::<_, Error>((turns == least).then_some("found"))
            };
            let goes_on = || {
                looks += 1;
                Ok(looks < most)
            };
            let found = in_turns(patience, TURN, turn, goes_on).unwrap();
            (found, turns, looks)
        };
        assert_eq!(counted(None, 9, 3), (Some("found"), 3, 2));
        assert_eq!(counted(None, 2, 9), (None, 2, 2));
        assert_eq!(counted(Some(Duration::ZERO), 9, 9), (None, 1, 0));
        let fault = in_turns(None, TURN, |_| Err::<Option<()>, _>(Error::new(Code::Closed)), || Ok(true));
        assert_eq!(fault.unwrap_err().code(), Code::Closed);
    }

    #[test]
    fn only_what_is_late_is_nothing() {
        assert_eq!(unless_late(Ok(7)).unwrap(), Some(7));
        assert_eq!(unless_late::<()>(Err(Error::new(Code::Deadline))).unwrap(), None);
        assert!(unless_late::<()>(Err(Error::new(Code::Closed))).is_err());
        assert_eq!(milliseconds(-1), seconds(f64::INFINITY).unwrap());
        assert_eq!(milliseconds(1500), seconds(1.5).unwrap());
        assert!(seconds(-1.0).is_err() && seconds(f64::NAN).is_err());
    }
}
