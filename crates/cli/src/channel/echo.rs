//! `isoform echo`: the events of a channel. What records look like is in [`crate::show`].

use super::stop::{LOOK, Stop};
use super::{STARTING, cannot_open, may_come, not_open, open_at, short, shown};
use crate::args::{self, Style};
use crate::failure::{Failure, notice};
use crate::output::Output;
use crate::show::{Show, Stamp, Unshown};
use crate::time::utc;
use isoform::{Class, Code, Error, Incoming};
use isoform_channel::{Channel, ChannelId, Event, Node, Policy, SinkBuilder, SourceRef, Window};
use isoform_dynamic::words::{self, keeping};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::io;
use std::time::{Duration, Instant};

/// The bytes that wait at a source for a viewer that loses the oldest: more than usual, since it states a number of events.
const QUEUE: u64 = 64 << 20;

/// The time between two looks for a channel that is not there.
const AGAIN: Duration = Duration::from_millis(500);

pub(super) fn run(arguments: &args::Echo, output: &mut Output) -> Result<(), Failure> {
    let stop = Stop::new()?;
    let node = super::node(&arguments.network)?;
    let Some(mut channel) = find(&node, arguments, &stop)? else { return Ok(()) };
    let mut sink = configured(channel.sink_builder(), arguments).build_messages()?;
    let mut echo = Echo {
        source: shown(&arguments.source),
        stamped: arguments.stamp,
        lines: arguments.stamp && arguments.style() == Style::Json,
        show: Show::new(arguments.style(), arguments.fields.clone(), output.clone()),
        sources: Some(HashSet::new()),
        shown: 0,
        unshown: Unshown::new(&shown(&arguments.source), "event", "cannot be shown"),
    };
    while arguments.count.is_none_or(|count| echo.shown < count) && !stop.is_asked() {
        if let Some(event) = sink.try_recv()? {
            echo.event(event)?;
            continue;
        }
        echo.show.flush()?;
        match sink.recv_timeout(LOOK)? {
            Some(event) => echo.event(event)?,
            None if is_alone(&channel) && !waits(arguments) => {
                notice("no other node has the channel open any more");
                break;
            }
            None if is_alone(&channel) => {
                notice("no other node has the channel open any more: waiting for one");
                drop((sink, channel));
                let Some(found) = find(&node, arguments, &stop)? else { break };
                channel = found;
                sink = configured(channel.sink_builder(), arguments).build_messages()?;
                echo.sources = Some(HashSet::new());
            }
            None => echo.wait(),
        }
    }
    echo.show.flush()?;
    echo.unshown.end()
}

/// Whether the command waits for a channel that is not there. One of a certain identity does not come back once its last
/// member has left.
fn waits(arguments: &args::Echo) -> bool {
    !arguments.once && arguments.source.parse::<ChannelId>().is_ok_and(|id| id.identity().is_none())
}

/// Opens the channel, as soon as it is there. `None` if the command was asked to stop meanwhile.
fn find(node: &Node, arguments: &args::Echo, stop: &Stop) -> Result<Option<Channel>, Failure> {
    let id = &arguments.source;
    if !waits(arguments) {
        return open_at(node, id).map(Some);
    }
    let (began, mut is_said) = (Instant::now(), false);
    while !stop.is_asked() {
        match node.open(id) {
            Ok(channel) => return Ok(Some(channel)),
            Err(error) if !may_come(&error) => return Err(cannot_open(id, error)),
            Err(error) if !is_said && began.elapsed() >= STARTING => {
                is_said = true;
                notice(&format!("{}; trying again until it is there", not_open(&shown(id), error)));
            }
            Err(_) => {}
        }
        stop.sleep_until(Instant::now() + if is_said { AGAIN } else { LOOK });
    }
    Ok(None)
}

/// The sink that the arguments ask for.
fn configured(sink: SinkBuilder, arguments: &args::Echo) -> SinkBuilder {
    let policy = keeping(arguments.policy, None, Some(QUEUE));
    let sink = sink.policy(policy).longest(arguments.max_message).fields(&arguments.fields);
    match policy {
        _ if arguments.lossless => sink.lossless(),
        // Events on their way are as old as those that wait, so both have the same limit.
        Policy::DropOldest { events, .. } => sink.window(Window { events, bytes: 0 }),
        _ => sink,
    }
}

fn is_alone(channel: &Channel) -> bool {
    channel.members().len() <= 1
}

/// An echo in progress.
struct Echo {
    source: String,
    stamped: bool,
    /// Whether events other than records are lines of the output, too.
    lines: bool,
    show: Show,
    /// The sources that are there; `None` when it was said that there is none.
    sources: Option<HashSet<u32>>,
    shown: u64,
    unshown: Unshown,
}

impl Echo {
    fn event(&mut self, event: Event<Incoming<'_>>) -> Result<(), Failure> {
        match event {
            Event::Record { stamp, record } => self.record(stamp, record),
            Event::Gap(SourceRef(source), gap) => {
                let (first, count, cause) = (gap.first, gap.count, gap.cause.to_string());
                let line = json!({"gap": {"source": source, "first": first, "count": count, "cause": cause}});
                self.tell(line, &format!("source {source}: {gap}"))
            }
            // The sink does not ask for heads.
            Event::Head { .. } => Ok(()),
            Event::Joined(SourceRef(source), node, format) => {
                self.sources.get_or_insert_default().insert(source);
                let format = format.as_ref().map(isoform::Format::name);
                let line = json!({"joined": {"source": source, "node": node.to_string(), "format": format}});
                let what = format.map_or_else(String::new, |name| format!(", with records {name}"));
                self.tell(line, &format!("source {source} has joined, at node {}{what}", short(node)))
            }
            Event::Left(SourceRef(source)) => {
                self.sources.as_mut().map(|sources| sources.remove(&source));
                self.tell(json!({"left": {"source": source}}), &format!("source {source} has left"))
            }
            // The source has none of the fields that were asked for, and nothing before had them.
            Event::Refused(_, error) if error.code() == Code::NoSuchField && self.shown == 0 => {
                Err(self.request(error))
            }
            Event::Refused(SourceRef(source), error) => {
                let line = json!({"refused": {"source": source, "error": error.to_string()}});
                let is_about_records = !matches!(error.code(), Code::NotGranted | Code::Forbidden);
                let what = if is_about_records { "the records of " } else { "" };
                self.tell(line, &format!("{what}source {source} cannot be read: {error}"))
            }
            Event::Granted(SourceRef(source), granted) => {
                let (policy, reason) = (granted.policy.to_string(), words::reason(granted.reason));
                let line = json!({"granted": {"source": source, "policy": policy, "reason": reason}});
                self.tell(line, &format!("source {source} grants {granted}"))
            }
        }
    }

    fn record(&mut self, stamp: isoform_channel::Stamp, record: Incoming<'_>) -> Result<(), Failure> {
        let SourceRef(source) = stamp.source;
        let shown = match record.view() {
            Ok(view) => {
                let time = utc(stamp.time());
                let from = format!("event {} of source {source}", stamp.sequence);
                let about = if self.stamped { format!("{from} at {time}") } else { from };
                let stamp = self.stamped.then_some(Stamp { source, sequence: stamp.sequence, time });
                self.show.record(record.format(), view, format_args!("{about}"), stamp)?
            }
            Err(error) => Err(error),
        };
        match shown {
            Ok(()) => self.shown += 1,
            // Nothing before had the fields that were asked for.
            Err(error) if error.class() == Class::Usage && self.shown == 0 => return Err(self.request(error)),
            Err(error) => {
                self.show.flush()?;
                let about = format_args!("event {} of source {source}", stamp.sequence);
                self.unshown.tell(error, about, Some(record.token()));
            }
        }
        Ok(())
    }

    /// Nothing arrives for a while. Reports once if nothing can arrive.
    fn wait(&mut self) {
        if self.sources.take_if(|sources| sources.is_empty()).is_some() {
            notice("there is no source now: waiting for one");
        }
    }

    fn request(&mut self, error: Error) -> Failure {
        let _ = self.show.flush();
        Failure::from(error).about(&self.source)
    }

    /// Says what is no event, in its turn.
    fn tell(&mut self, line: Value, text: &str) -> Result<(), Failure> {
        if self.lines {
            return Ok(self.show.line(line)?);
        }
        let flushed: io::Result<()> = self.show.flush();
        notice(text);
        Ok(flushed?)
    }
}
