//! The events of a source become messages for a viewer, on a thread of their own.

use super::losses::Losses;
use super::told;
use super::topics::{Source, Topics};
use crate::outbox::Outbox;
use isoform::{Error, Incoming, Messages, Result, Token};
use isoform_channel::{Channel, Event, Parameters, Policy, Sink, Stamp};
use isoform_files::Viewer;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::OwnedSemaphorePermit;

/// Events and bytes that a source keeps for a viewer.
const QUEUE: Policy = Policy::DropOldest { events: 100_000, bytes: 8 << 20 };
/// The longest event for a viewer. A longer one is told as lost.
pub(super) const LONGEST: usize = 8 << 20;
/// Messages are handed over when they have so many bytes together,
const FULL: usize = 64 << 10;
/// or when the first of them is so old.
const OLD: Duration = Duration::from_millis(15);
/// How much longer than its event a message may be: four times as long, and 65,536 bytes more.
const TIMES: usize = 4;
const MORE: usize = 68 << 10;
/// How long a thread waits before it sees what the viewer wants now.
const LOOK: Duration = Duration::from_millis(100);
/// Formats whose encoders are kept. Beyond them all are made anew.
const FORMATS: usize = 64;

/// What a feed has for its viewer.
pub(super) enum Post {
    /// Events, and the room that they take until they were sent.
    Events(Vec<Shown>, Option<OwnedSemaphorePermit>),
    /// What is lost of the source so far.
    Lost(Source, String),
    /// The source gives the viewer nothing, for this reason.
    Refused(Source, String),
    /// The values of the source's parameters, and why the last change was refused.
    Given(Source, Parameters, Option<String>),
    /// The source has left, and its last event has been handed over.
    Ended(Source),
}

/// An event as a message.
pub(super) struct Shown {
    /// The topic and the subscription that it is for.
    pub(super) topic: u32,
    pub(super) subscription: u32,
    pub(super) message: Vec<u8>,
}

/// A subscription to a source, until this is dropped.
#[derive(Debug)]
pub(super) struct Feed {
    orders: Arc<Orders>,
}

/// What the session wants of the thread.
#[derive(Debug, Default)]
struct Orders {
    stop: AtomicBool,
    /// The source has left: the thread ends when nothing comes any more.
    finish: AtomicBool,
    wishes: Mutex<Wishes>,
}

#[derive(Debug, Default)]
struct Wishes {
    /// Of each wanted format, topic and subscription.
    routes: HashMap<Token, (u32, u32)>,
    /// Other values of the parameters.
    parameters: Option<Parameters>,
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.orders.stop.store(true, Ordering::Relaxed);
    }
}

impl Orders {
    fn wishes(&self) -> MutexGuard<'_, Wishes> {
        self.wishes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Feed {
    /// Begins a subscription for a first format. Its thread keeps the turn until it ends.
    ///
    /// # Errors
    /// [`Code::Io`](isoform::Code::Io) if the system has no thread for it; [`Code::Closed`](isoform::Code::Closed).
    pub(super) fn start(
        channel: &Channel,
        (source, format, route): (Source, Token, (u32, u32)),
        topics: Arc<Topics>,
        viewer: Outbox<Post>,
        turn: OwnedSemaphorePermit,
    ) -> Result<Feed> {
        let orders = Arc::new(Orders::default());
        // Before the thread begins: an event that comes at once is wanted, too.
        orders.wishes().routes.insert(format, route);
        let (channel, ordered) = (channel.clone(), orders.clone());
        let run = move || {
            let told = match subscribed(&channel, source) {
                Ok(sink) => Run::new(sink, source, ordered, topics, viewer.clone()).run(),
                Err(error) => Err(error),
            };
            if let Err(error) = told {
                viewer.wait_to_put(Post::Refused(source, error.to_string()));
            }
            drop(turn);
        };
        let thread = std::thread::Builder::new().name("isoform-feed".into()).spawn(run);
        thread.map_err(|error| Error::new(isoform::Code::Io).expected("a thread for a subscription").found(error))?;
        Ok(Feed { orders })
    }

    /// Events of this format are wanted from now on.
    pub(super) fn add(&self, format: Token, topic: u32, subscription: u32) {
        self.orders.wishes().routes.insert(format, (topic, subscription));
    }

    /// Events of this format are not wanted any more. Returns whether others are.
    pub(super) fn remove(&self, format: Token) -> bool {
        let routes = &mut self.orders.wishes().routes;
        routes.remove(&format);
        !routes.is_empty()
    }

    /// The source has left. [`Post::Ended`] comes behind its last event.
    pub(super) fn finish(&self) {
        self.orders.finish.store(true, Ordering::Relaxed);
    }

    pub(super) fn set_parameters(&self, values: Parameters) {
        self.orders.wishes().parameters = Some(values);
    }
}

fn subscribed(channel: &Channel, source: Source) -> Result<Sink<Messages>> {
    let sink = channel.sink_builder().only([(source.node, source.number)]);
    sink.policy(QUEUE).longest(LONGEST as u64).build::<Messages>()
}

struct Run {
    sink: Sink<Messages>,
    source: Source,
    orders: Arc<Orders>,
    topics: Arc<Topics>,
    viewer: Outbox<Post>,
    encoders: HashMap<Token, Viewer>,
    losses: Losses,
    /// Events that wait for others to go with them, their bytes, and their room.
    events: Vec<Shown>,
    bytes: usize,
    room: Option<OwnedSemaphorePermit>,
    since: Instant,
}

/// The viewer has gone.
struct Gone;

impl Run {
    fn new(
        sink: Sink<Messages>,
        source: Source,
        orders: Arc<Orders>,
        topics: Arc<Topics>,
        viewer: Outbox<Post>,
    ) -> Run {
        let (encoders, losses, events, since) = (HashMap::new(), Losses::default(), Vec::new(), Instant::now());
        Run { sink, source, orders, topics, viewer, encoders, losses, events, bytes: 0, room: None, since }
    }

    fn run(mut self) -> Result<()> {
        while !self.orders.stop.load(Ordering::Relaxed) {
            if let Some(values) = self.orders.wishes().parameters.take() {
                self.sink.set_parameters(values);
            }
            let Run { sink, source, orders, topics, viewer, encoders, losses, events, bytes, room, since } = &mut self;
            // An event that waits is taken at once; without one, what has come so far is handed over first.
            let wait = if events.is_empty() { LOOK } else { OLD.saturating_sub(since.elapsed()) };
            let may_end = orders.finish.load(Ordering::Relaxed);
            let mut taken = Taken { orders, topics, encoders, losses, source: *source };
            let mut post = None;
            let is_idle = match sink.recv_timeout(wait)? {
                None => true,
                Some(Event::Record { stamp, record }) => {
                    if let Some((topic, subscription)) = taken.wanted(&record) {
                        let most = TIMES * record.body().len() + MORE;
                        if *bytes + most > FULL && !events.is_empty() {
                            let full = Post::Events(std::mem::take(events), room.take());
                            *bytes = 0;
                            if !viewer.wait_to_put(full) {
                                return Ok(());
                            }
                        }
                        if events.is_empty() {
                            // A viewer that does not keep up is waited for here, and by nobody else.
                            *room = viewer.room(FULL.max(most));
                            if room.is_none() {
                                return Ok(());
                            }
                            *since = Instant::now();
                        }
                        if let Some(message) = taken.message(subscription, stamp, &record) {
                            *bytes += message.len();
                            events.push(Shown { topic, subscription, message });
                        }
                    }
                    false
                }
                Some(Event::Gap(_, gap)) if gap.cause.is_loss() => {
                    losses.add(&gap.cause.to_string(), gap.count);
                    false
                }
                Some(Event::Given(_, given)) => {
                    let refused = given.refused.as_ref().map(ToString::to_string);
                    post = Some(Post::Given(*source, given.values, refused));
                    false
                }
                Some(Event::Refused(_, error)) => {
                    post = Some(Post::Refused(*source, error.to_string()));
                    false
                }
                // None of the others is asked for, and the scout sees who comes and goes.
                Some(_) => false,
            };
            let done = self.hand_over(is_idle, post, is_idle && may_end);
            if done.is_err() || is_idle && may_end {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Hands over what is due, and something else behind it.
    fn hand_over(&mut self, is_idle: bool, post: Option<Post>, is_last: bool) -> Result<(), Gone> {
        let is_due = is_idle || post.is_some() || self.since.elapsed() >= OLD || self.bytes >= FULL;
        if is_due && !self.events.is_empty() {
            self.bytes = 0;
            let events = Post::Events(std::mem::take(&mut self.events), self.room.take());
            self.put(events)?;
        }
        let lost = if is_last { self.losses.rest() } else { self.losses.due() };
        if let Some(lost) = lost {
            self.put(Post::Lost(self.source, lost))?;
        }
        if let Some(post) = post {
            self.put(post)?;
        }
        if is_last {
            self.put(Post::Ended(self.source))?;
        }
        Ok(())
    }

    fn put(&self, post: Post) -> Result<(), Gone> {
        if self.viewer.wait_to_put(post) { Ok(()) } else { Err(Gone) }
    }
}

/// What it takes to make a message of a record.
struct Taken<'r> {
    orders: &'r Orders,
    topics: &'r Topics,
    encoders: &'r mut HashMap<Token, Viewer>,
    losses: &'r mut Losses,
    source: Source,
}

impl Taken<'_> {
    /// Topic and subscription of a record, if it is wanted. A format that is new becomes a topic.
    fn wanted(&mut self, record: &Incoming<'_>) -> Option<(u32, u32)> {
        let token = record.token();
        if !self.encoders.contains_key(&token) {
            if self.encoders.len() == FORMATS {
                self.encoders.clear();
            }
            self.topics.add(self.source, record.format());
            self.encoders.insert(token, Viewer::new(record.format()));
        }
        self.orders.wishes().routes.get(&token).copied()
    }

    /// The message of a record, unless viewers cannot see it.
    fn message(&mut self, subscription: u32, stamp: Stamp, record: &Incoming<'_>) -> Option<Vec<u8>> {
        let event = self.encoders.get_mut(&record.token())?.encode(record.body());
        if event.is_none() {
            self.losses.add("too long as a message for viewers", 1);
        }
        event.map(|event| told::data(subscription, stamp.nanoseconds, event))
    }
}
