//! Waiting for a channel that is not there yet, or no more.

use super::stop::{LOOK, Stop};
use super::{STARTING, cannot_open, may_come, not_open, open_at, short, shown};
use crate::failure::{Failure, notice};
use isoform::{Class, Code, Error};
use isoform_channel::{Channel, ChannelId, Node, Reach};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// The time between two looks.
const AGAIN: Duration = Duration::from_millis(500);
/// The longest rest before a channel is opened again that was lost at once, or at nodes that misbehave.
const LONGEST: Duration = Duration::from_secs(5);
/// A channel that was there for this long is no longer one that is lost at once.
const STEADY: Duration = Duration::from_secs(10);
/// The most notices until the channel is there for a while.
const NOTICES: usize = 8;

/// A channel that a command wants.
pub(super) struct Wanted<'a> {
    id: &'a str,
    /// Do not wait for it.
    once: bool,
    /// When it was found last.
    found: Option<Instant>,
    /// The next rest.
    rest: Duration,
    /// Why it could not be opened the last time, as long as it never was.
    missed: Option<Error>,
    /// What was said about attempts, without what differs from one to the next.
    said: BTreeSet<String>,
}

impl<'a> Wanted<'a> {
    pub(super) fn new(id: &'a str, once: bool) -> Wanted<'a> {
        Wanted { id, once, found: None, rest: LOOK, missed: None, said: BTreeSet::new() }
    }

    /// Whether the command waits for a channel that is not there. One of a certain identity does not come back once its last
    /// member has left.
    pub(super) fn waits(&self) -> bool {
        !self.once && self.id.parse::<ChannelId>().is_ok_and(|id| id.identity().is_none())
    }

    /// Opens the channel, as soon as it is there. `None` if the command was asked to stop meanwhile.
    pub(super) fn find(&mut self, node: &Node, stop: &Stop) -> Result<Option<Channel>, Failure> {
        self.find_before(node, stop, || false)
    }

    /// The same, until `over` says that there is nothing more to wait for.
    pub(super) fn find_before(
        &mut self,
        node: &Node,
        stop: &Stop,
        over: impl Fn() -> bool,
    ) -> Result<Option<Channel>, Failure> {
        if !self.waits() {
            return open_at(node, self.id).map(Some);
        }
        if self.found.is_some() {
            stop.sleep_until(Instant::now() + self.longer());
            if stop.is_asked() || over() {
                return Ok(None);
            }
        }
        let (began, mut is_said) = (Instant::now(), false);
        // A channel that was not there yet is tried once in any case, so that a command that ends soon knows why it found nothing.
        loop {
            let rest = match node.open(self.id) {
                Ok(channel) => {
                    (self.found, self.missed) = (Some(Instant::now()), None);
                    return Ok(Some(channel));
                }
                Err(error) if may_come(&error) => {
                    self.missed = self.found.is_none().then(|| error.clone());
                    if began.elapsed() >= STARTING {
                        is_said = true;
                        self.tell(error);
                    }
                    if is_said { AGAIN } else { LOOK }
                }
                Err(error) if self.is_final(&error) => return Err(cannot_open(self.id, error)),
                Err(error) => {
                    self.missed = self.found.is_none().then(|| error.clone());
                    self.tell(error);
                    self.longer()
                }
            };
            stop.sleep_until(Instant::now() + rest);
            if stop.is_asked() || over() {
                return Ok(None);
            }
        }
    }

    /// The failure to open it, if it was never there.
    #[cfg(feature = "files")]
    pub(super) fn missed(self) -> Option<Failure> {
        let error = self.missed?;
        Some(cannot_open(self.id, error))
    }

    /// The channel has no other member any more: says so, and which links ended with an error.
    pub(super) fn was_lost(&mut self, channel: &Channel, words: &str) {
        if self.found.is_some_and(|found| found.elapsed() >= STEADY) {
            (self.rest, self.said) = (LOOK, BTreeSet::new());
        }
        for member in channel.info(Duration::ZERO).into_iter().flat_map(|info| info.members) {
            if let Reach::Missed(error) = member.reach {
                self.say(&error, || format!("the link with node {} has ended: {error}", short(member.node)));
            }
        }
        if self.said.insert(words.into()) {
            notice(&format!("{words}: waiting for one"));
        }
    }

    /// The rest before the next attempt, which doubles each time.
    fn longer(&mut self) -> Duration {
        let rest = self.rest;
        self.rest = (2 * rest).min(LONGEST);
        rest
    }

    /// Whether the error is about this program, or is to be mended by its user: no other node can make up for it.
    fn is_final(&self, error: &Error) -> bool {
        let is_alone = self.found.is_none() && self.id.parse::<ChannelId>().is_ok_and(|id| id.addresses().len() <= 1);
        match error.code() {
            Code::Closed => true,
            Code::NotAdmitted | Code::Forbidden => is_alone,
            Code::Handshake => is_alone && error.path().ends_with("tls"),
            _ => matches!(error.class(), Class::Usage | Class::Internal),
        }
    }

    fn tell(&mut self, error: Error) {
        let id = shown(self.id);
        self.say(&error.clone(), || format!("{}; trying again until it is there", not_open(&id, error)));
    }

    /// Says it, unless an error of this kind was told before.
    fn say(&mut self, error: &Error, text: impl FnOnce() -> String) {
        let kind = format!("{} {}", error.code() as u16, error.path());
        if self.said.len() < NOTICES && self.said.insert(kind) {
            notice(&text());
        }
    }
}
