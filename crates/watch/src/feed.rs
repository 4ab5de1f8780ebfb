//! A subscription of a page: events of a sink become binary messages, on a thread of its own.

use crate::draft::{Draft, FULL};
use crate::entries::{Entries, Mark};
use crate::outbox::Outbox;
use crate::player::Player;
use axum::extract::ws::Message;
use isoform::{Error, Incoming, Messages, Result};
use isoform_channel::{Channel, Event, Policy, Sink, SourceRef, Window};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::OwnedSemaphorePermit;

/// Events and bytes that a source keeps for a page.
const QUEUE: Policy = Policy::DropOldest { events: 100_000, bytes: 8 << 20 };
/// What comes from a source while the page does not read. All subscriptions of a page together then hold as much as its outbox.
const WINDOW: Window = Window { events: 0, bytes: 1 << 20 };
/// The longest event for a page. Of a longer one it gets a query's result, or a gap.
pub(crate) const LONGEST: usize = 8 << 20;
/// A message that is not full is sent when it is so old.
const OLD: Duration = Duration::from_millis(15);
/// More than what stands beside a body and the text of a format or an error.
pub(crate) const BESIDE: usize = 4 << 10;
/// How long a thread waits before it sees whether the page has ended the subscription.
const LOOK: Duration = Duration::from_millis(100);

/// What a page asks for.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    pub(crate) subscription: u32,
    pub(crate) query: Option<String>,
    /// Only the newest event, after each such time.
    pub(crate) latest: Option<Duration>,
    /// The replay that submits the events, and the place of the channel in it.
    pub(crate) replay: Option<(Player, usize)>,
}

/// A subscription that stands until this is dropped.
#[derive(Debug)]
pub(crate) struct Feed(Arc<Flags>);

/// What a subscription and its thread tell each other.
#[derive(Debug, Default)]
pub(crate) struct Flags {
    /// The page has ended it.
    pub(crate) stopped: AtomicBool,
    /// Its last message comes, after which the page may use its number again.
    pub(crate) ended: AtomicBool,
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.0.stopped.store(true, Ordering::Relaxed);
    }
}

impl Feed {
    /// Begins a subscription. Its thread keeps the turn until it ends.
    ///
    /// # Errors
    /// Of the query, if it is none; [`Code::Io`](isoform::Code::Io) if the system has no thread for it.
    pub(crate) fn start(channel: Arc<Channel>, wish: Wish, page: Outbox, turn: OwnedSemaphorePermit) -> Result<Feed> {
        let sink = channel.sink_builder().policy(if wish.latest.is_some() { Policy::Latest } else { QUEUE });
        let sink = sink.longest(LONGEST as u64).window(WINDOW);
        let sink = match &wish.query {
            Some(query) => sink.query(query)?,
            None => sink,
        };
        let sink = sink.build::<Messages>()?;
        Feed::run(turn, move |flags| {
            let draft = Draft::new(wish.subscription, page);
            let mut run = Run { sink, draft, flags, jumps: Jumps { replay: wish.replay, seen: HashMap::new() } };
            if let Err(error) = run.run(wish.latest) {
                run.flags.ended.store(true, Ordering::Release);
                run.draft.tell(refused(wish.subscription, &error));
            }
        })
    }

    /// A subscription whose events this work sends, on a thread that keeps the turn until it ends.
    ///
    /// # Errors
    /// [`Code::Io`](isoform::Code::Io) if the system has no thread for it.
    pub(crate) fn run(turn: OwnedSemaphorePermit, work: impl FnOnce(Arc<Flags>) + Send + 'static) -> Result<Feed> {
        let flags: Arc<Flags> = Arc::default();
        let of_thread = flags.clone();
        let run = move || {
            work(of_thread);
            drop(turn);
        };
        let thread = std::thread::Builder::new().name("isoform-feed".into()).spawn(run);
        thread.map_err(|error| Error::new(isoform::Code::Io).expected("a thread for a subscription").found(error))?;
        Ok(Feed(flags))
    }

    /// Whether it has ended by itself.
    pub(crate) fn has_ended(&self) -> bool {
        self.0.ended.load(Ordering::Acquire)
    }
}

/// The subscription has not been made, or has ended.
pub(crate) fn refused(subscription: u32, error: &Error) -> Message {
    Message::text(json!({"refused": subscription, "error": error.to_string()}).to_string())
}

struct Run {
    sink: Sink<Messages>,
    draft: Draft,
    flags: Arc<Flags>,
    jumps: Jumps,
}

/// Where a replay was set to another time.
struct Jumps {
    replay: Option<(Player, usize)>,
    /// The sequence number of the last record of each source.
    seen: HashMap<u32, u64>,
}

impl Run {
    fn run(&mut self, latest: Option<Duration>) -> Result<()> {
        let mut since = Instant::now();
        while !self.flags.stopped.load(Ordering::Relaxed) {
            // An event that waits is taken at once; without one, what has come so far is sent first.
            let event = match self.sink.try_recv()? {
                Some(event) => Some(event),
                None if self.draft.entries.is_empty() => {
                    let event = self.sink.recv_timeout(LOOK)?;
                    since = Instant::now();
                    event
                }
                None => match OLD.checked_sub(since.elapsed()) {
                    Some(left) => self.sink.recv_timeout(left)?,
                    None => None,
                },
            };
            let is_record = matches!(event, Some(Event::Record { .. }));
            if let Some(event) = event {
                if !self.draft.make_room(length(&event)) {
                    return Ok(());
                }
                self.jumps.before(&event, &mut self.draft.entries);
                put(&mut self.draft.entries, event);
            }
            let is_due = self.draft.entries.len() >= FULL || since.elapsed() >= OLD || latest.is_some();
            if is_due && !self.draft.entries.is_empty() {
                if !self.draft.send() {
                    return Ok(());
                }
                since = Instant::now();
            }
            if let (Some(pause), true) = (latest, is_record) {
                self.pause(pause);
            }
        }
        Ok(())
    }

    fn pause(&self, pause: Duration) {
        let until = Instant::now() + pause;
        while let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
            if self.flags.stopped.load(Ordering::Relaxed) {
                return;
            }
            std::thread::sleep(left.min(LOOK));
        }
    }
}

impl Jumps {
    /// Between records of two times of a recording, lines have a break.
    fn before(&mut self, event: &Event<Incoming<'_>>, entries: &mut Entries) {
        let (Some((player, place)), Event::Record { stamp, .. }) = (&self.replay, event) else { return };
        let SourceRef(source) = stamp.source;
        let last = self.seen.insert(source, stamp.sequence);
        if last.is_some_and(|last| player.jumps_between(*place, last, stamp.sequence)) {
            let mark = Mark { source, sequence: stamp.sequence, nanoseconds: stamp.nanoseconds };
            entries.gap(mark, 0, "the replay was set to another time");
        }
    }
}

/// The most bytes of an event in a message: its body, and what belongs to it.
fn length(event: &Event<Incoming<'_>>) -> usize {
    let body = match event {
        Event::Record { record, .. } => record.body().len() + record.format().description().as_bytes().len(),
        Event::Joined { format: Some(format), .. } => format.name().len(),
        _ => 0,
    };
    body + BESIDE
}

fn put(entries: &mut Entries, event: Event<Incoming<'_>>) {
    match event {
        Event::Record { stamp, record } => {
            let SourceRef(source) = stamp.source;
            let mark = Mark { source, sequence: stamp.sequence, nanoseconds: stamp.nanoseconds };
            entries.record(mark, record.format(), record.body());
        }
        // Who asked for the latest record only misses nothing.
        Event::Gap(_, gap) if !gap.cause.is_loss() => {}
        Event::Gap(SourceRef(source), gap) => {
            let mark = Mark { source, sequence: gap.first, nanoseconds: now() };
            entries.gap(mark, gap.count, &gap.cause.to_string());
        }
        Event::Joined { source: SourceRef(source), node, format, earlier } => {
            let format = format.as_ref().map_or(Value::Null, |format| format.name().into());
            entries
                .joined(source, &json!({"node": node.to_string(), "format": format, "earlier": earlier}).to_string());
        }
        Event::Left(SourceRef(source), _) => entries.left(source),
        Event::Refused(SourceRef(source), error) => entries.refused(source, &error.to_string()),
        // None of them is asked for.
        Event::Granted(..) | Event::Given(..) | Event::Head { .. } => {}
    }
}

pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
