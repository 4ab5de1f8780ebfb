//! A replay that pages stop, continue, and set to another time. `isoform replay` plays; this is what it and the pages share.

use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, RangeInclusive};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Jumps of a channel that are remembered, for pages that are late.
const JUMPS: usize = 256;
/// The least and the greatest factor of time.
const RATES: RangeInclusive<f64> = 1e-3..=1e6;

/// A replay as pages see it.
///
/// ```
/// use isoform_watch::Player;
/// let player = Player::new(1_000..=9_000, 1.0);
/// player.moved(4_000);
/// assert_eq!((player.is_paused(), player.sought(), player.rate()), (false, None, 1.0));
/// ```
#[derive(Clone, Debug)]
pub struct Player(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    span: RangeInclusive<u64>,
    at: u64,
    rate: f64,
    is_paused: bool,
    sought: Option<u64>,
    /// By place: the sequence numbers at which events of another time begin.
    jumps: BTreeMap<usize, BTreeSet<u64>>,
}

impl Player {
    /// A replay of this span of time, in nanoseconds since 1970, at so many times the pace at which it was recorded.
    pub fn new(span: RangeInclusive<u64>, rate: f64) -> Player {
        let at = *span.start();
        Player(Arc::new(Mutex::new(State { span, at, rate, is_paused: false, sought: None, jumps: BTreeMap::new() })))
    }

    /// The replay has come to this time of the recording.
    pub fn moved(&self, at: u64) {
        self.state().at = at;
    }

    /// The replay has come to its end, and waits until somebody continues it.
    pub fn stop(&self) {
        let mut state = self.state();
        (state.at, state.is_paused) = (*state.span.end(), true);
    }

    /// The replay waits where it is, until somebody continues it.
    pub fn pause(&self) {
        self.state().is_paused = true;
    }

    /// The replay goes on.
    pub fn resume(&self) {
        self.state().is_paused = false;
    }

    /// Whether the replay waits.
    pub fn is_paused(&self) -> bool {
        self.state().is_paused
    }

    /// Whether somebody has continued a replay that waits, or set it to another time.
    pub fn is_led(&self) -> bool {
        let state = self.state();
        !state.is_paused || state.sought.is_some()
    }

    /// How many times as fast time passes.
    pub fn rate(&self) -> f64 {
        self.state().rate
    }

    /// The time at which the replay shall continue, once it was set to another one.
    pub fn sought(&self) -> Option<u64> {
        self.state().sought.take()
    }

    /// From this sequence number on, events of the channel with this place in the list are of another time of the recording: lines break there.
    pub fn jumped(&self, place: usize, sequence: u64) {
        let mut state = self.state();
        let jumps = state.jumps.entry(place).or_default();
        jumps.insert(sequence);
        if jumps.len() > JUMPS {
            jumps.pop_first();
        }
    }

    /// Whether the time is another one between the events of a channel with these sequence numbers.
    pub(crate) fn jumps_between(&self, place: usize, before: u64, sequence: u64) -> bool {
        let span = (Bound::Excluded(before), Bound::Included(sequence));
        before < sequence && self.state().jumps.get(&place).is_some_and(|jumps| jumps.range(span).next().is_some())
    }

    /// Takes a wish of a page, whole or not at all. What is none of its members is passed over.
    ///
    /// # Errors
    /// What is wrong with it, for people.
    pub(crate) fn asked(&self, wish: &Value) -> Result<(), &'static str> {
        let member = |name: &str| wish.get(name).filter(|value| !value.is_null());
        let rate = member("rate").map(|rate| rate.as_f64().filter(|rate| RATES.contains(rate)));
        let seek = member("seek").map(moment);
        let paused = member("paused").map(Value::as_bool);
        if rate == Some(None) {
            return Err("rate is a number from 0.001 to 1,000,000");
        }
        if seek == Some(None) {
            return Err("seek is a time: seconds since 1970");
        }
        if paused == Some(None) {
            return Err("paused is true or false");
        }
        let mut state = self.state();
        if let Some(rate) = rate.flatten() {
            state.rate = rate;
        }
        if let Some(at) = seek.flatten() {
            let at = at.clamp(*state.span.start(), *state.span.end());
            (state.at, state.sought) = (at, Some(at));
        }
        if let Some(is_paused) = paused.flatten() {
            // At the end, the replay begins again.
            if state.is_paused && !is_paused && state.at >= *state.span.end() {
                (state.at, state.sought) = (*state.span.start(), Some(*state.span.start()));
            }
            state.is_paused = is_paused;
        }
        Ok(())
    }

    pub(crate) fn told(&self) -> Value {
        let state = self.state();
        let [first, last, at] = [*state.span.start(), *state.span.end(), state.at].map(seconds);
        json!({"first": first, "last": last, "at": at, "rate": state.rate, "paused": state.is_paused})
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Times in texts are seconds since 1970.
pub(crate) fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

/// The time of a text, in nanoseconds since 1970; `None` if it is none. Those before 1970 are its beginning.
pub(crate) fn moment(seconds: &Value) -> Option<u64> {
    /// The last time whose nanoseconds have 64 bits, in the year 2554.
    const LAST: f64 = 18_446_744_073.0;
    let seconds = seconds.as_f64().filter(|seconds| seconds.abs() <= LAST)?;
    Some((seconds * 1e9) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_stop_continue_and_seek() {
        let player = Player::new(1_000_000_000..=9_000_000_000, 2.0);
        player.asked(&json!({"paused": true, "rate": 0.5, "seek": 4.5, "other": []})).unwrap();
        assert_eq!((player.is_paused(), player.rate(), player.sought()), (true, 0.5, Some(4_500_000_000)));
        assert_eq!(player.sought(), None, "once");
        assert_eq!(player.told(), json!({"first": 1.0, "last": 9.0, "at": 4.5, "rate": 0.5, "paused": true}));
        player.asked(&json!({"seek": -1, "rate": null})).unwrap();
        assert_eq!((player.rate(), player.sought()), (0.5, Some(1_000_000_000)));
        player.asked(&json!({"seek": 1e10})).unwrap();
        assert_eq!(player.sought(), Some(9_000_000_000));
        for (member, value) in [
            ("seek", json!(1e300)),
            ("seek", json!(-1e300)),
            ("seek", json!("now")),
            ("rate", json!(0)),
            ("rate", json!(1e300)),
            ("rate", json!("fast")),
            ("paused", json!(1)),
        ] {
            let mut wish = json!({"paused": false, "rate": 2, "seek": 4.5});
            wish[member] = value;
            assert!(player.asked(&wish).unwrap_err().starts_with(member), "{wish}");
            assert_eq!((player.is_paused(), player.rate(), player.sought()), (true, 0.5, None), "{wish}");
        }
    }

    #[test]
    fn a_replay_that_waits_at_its_beginning_goes_on_there() {
        let player = Player::new(1..=9, 1.0);
        player.pause();
        assert!(player.is_paused() && !player.is_led());
        player.asked(&json!({"paused": false})).unwrap();
        assert_eq!((player.is_led(), player.sought()), (true, None));
        player.pause();
        player.asked(&json!({"seek": 0})).unwrap();
        assert!(player.is_led());
        assert_eq!(player.sought(), Some(1));
        player.resume();
        assert_eq!((player.is_paused(), player.sought()), (false, None));
    }

    #[test]
    fn a_jump_is_between_two_events_of_its_channel() {
        let player = Player::new(1..=9, 1.0);
        (0..2 * JUMPS as u64).for_each(|jump| player.jumped(1, 10 * jump));
        let last = 10 * (2 * JUMPS as u64 - 1);
        let between = |place, before, sequence| player.jumps_between(place, before, sequence);
        assert!(between(1, last - 1, last) && between(1, last - 5, last + 5));
        assert!(!between(1, last, last + 1) && !between(1, last, last) && !between(1, last + 1, last - 1));
        assert!(!between(0, last - 1, last) && !between(1, 0, 10), "another channel, and one that is long past");
    }

    #[test]
    fn at_its_end_a_replay_begins_again() {
        let player = Player::new(1..=9, 1.0);
        player.stop();
        assert!(player.is_paused());
        player.asked(&json!({"paused": false})).unwrap();
        assert_eq!((player.is_paused(), player.sought()), (false, Some(1)));
    }
}
