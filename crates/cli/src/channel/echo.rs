//! `isoform echo`: the events of a channel. What records look like is in [`crate::show`].

use super::find::Wanted;
use super::stop::{LOOK, Stop};
use super::{about_query, asking, news, short, shown, whole_query};
use crate::args::{self, Style};
use crate::failure::{Failure, notice};
use crate::output::Output;
use crate::show::{Show, Stamp, Unshown};
use crate::time::utc;
use isoform::{Class, Code, Error, Incoming, Messages};
use isoform_channel::{Event, Policy, SinkBuilder, SourceRef, Window};
use isoform_dynamic::words::keeping;
use serde_json::Value;
use std::io;

/// The bytes that wait at a source for a viewer that loses the oldest: more than usual, since it states a number of events.
const QUEUE: u64 = 64 << 20;

pub(super) fn run(arguments: &args::Echo, output: &mut Output) -> Result<(), Failure> {
    super::check_wishes(arguments.query.as_deref(), arguments.parameters.as_deref())?;
    let stop = Stop::new()?;
    let node = super::node(&arguments.network)?;
    let mut wanted = Wanted::new(&arguments.source, arguments.once);
    let Some(mut channel) = wanted.find(&node, &stop)? else { return Ok(()) };
    let mut sink = configured(channel.sink_builder(), arguments)?.build::<Messages>()?;
    let mut echo = Echo {
        source: shown(&arguments.source),
        query: whole_query(&channel, arguments.query.as_deref()),
        stamped: arguments.stamp,
        lines: arguments.stamp && arguments.style() == Style::Json,
        show: Show::new(arguments.style(), arguments.fields.clone(), output.clone()),
        sources: Some(0),
        has_ended: false,
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
            None if channel.members().len() <= 1 && !wanted.waits() => {
                notice("no other node has the channel open any more");
                break;
            }
            // Other sinks do not count: each would wait for the others.
            None if arguments.once && echo.has_ended => {
                notice("the last source has left");
                break;
            }
            None if channel.members().len() <= 1 => {
                wanted.was_lost(&channel, "no other node has the channel open any more");
                drop((sink, channel));
                let Some(found) = wanted.find(&node, &stop)? else { break };
                channel = found;
                sink = configured(channel.sink_builder(), arguments)?.build::<Messages>()?;
                echo.sources = Some(0);
            }
            None => echo.wait(),
        }
    }
    echo.show.flush()?;
    echo.unshown.end()
}

/// The sink that the arguments ask for.
fn configured(sink: SinkBuilder, arguments: &args::Echo) -> Result<SinkBuilder, Failure> {
    let policy = keeping(arguments.policy, None, Some(QUEUE));
    let sink = asking(sink, arguments.query.as_deref(), arguments.parameters.as_deref())?;
    let sink = sink.policy(policy).longest(arguments.max_message).fields(&arguments.fields);
    Ok(match policy {
        _ if arguments.lossless => sink.lossless(),
        // Events on their way are as old as those that wait, so both have the same limit.
        Policy::DropOldest { events, .. } => sink.window(Window { events, bytes: 0 }),
        _ => sink,
    })
}

/// An echo in progress.
struct Echo {
    source: String,
    /// The query of the sink, with that of a derived channel in front.
    query: Option<String>,
    stamped: bool,
    /// Whether events other than records are lines of the output, too.
    lines: bool,
    show: Show,
    /// The number of sources that are there; `None` when it was said that there is none.
    sources: Option<usize>,
    /// Whether there were sources, and the last one has left.
    has_ended: bool,
    shown: u64,
    unshown: Unshown,
}

impl Echo {
    fn event(&mut self, event: Event<Incoming<'_>>) -> Result<(), Failure> {
        let line = news::line(&event);
        let text = match event {
            Event::Record { stamp, record } => return self.record(stamp, record),
            Event::Gap(SourceRef(source), gap) => format!("source {source}: {gap}"),
            // The sink does not ask for heads.
            Event::Head { .. } => return Ok(()),
            Event::Joined { source: SourceRef(source), node, format, earlier } => {
                *self.sources.get_or_insert(0) += 1;
                self.has_ended = false;
                let what = format.map_or_else(String::new, |format| format!(", with records {}", format.name()));
                format!("source {source} has joined, at node {}{what}{}", short(node), news::earlier(earlier))
            }
            Event::Left(SourceRef(source), others) => {
                self.sources = self.sources.map(|_| others);
                self.has_ended = others == 0;
                format!("source {source} has left")
            }
            // The source has none of the fields that were asked for, and nothing before had them.
            Event::Refused(_, error)
                if self.shown == 0 && matches!(error.code(), Code::NoSuchField | Code::WrongType | Code::Unit) =>
            {
                return Err(self.request(error));
            }
            Event::Refused(SourceRef(source), error) => {
                let is_about_records = !matches!(error.code(), Code::NotGranted | Code::Forbidden);
                let what = if is_about_records { "the records of " } else { "" };
                format!("{what}source {source} cannot be read: {error}")
            }
            Event::Granted(SourceRef(source), granted) => format!("source {source} grants {granted}"),
            Event::Given(SourceRef(source), given) => match &given.refused {
                Some(error) => format!("source {source} refuses other values, and gives {}: {error}", given.values),
                None => format!("source {source} gives {}, from event {} on", given.values, given.first),
            },
        };
        self.tell(line, &text)
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
        if self.sources.take_if(|sources| *sources == 0).is_some() {
            notice("there is no source now: waiting for one");
        }
    }

    fn request(&mut self, error: Error) -> Failure {
        let _ = self.show.flush();
        about_query(Failure::from(error).about(&self.source), self.query.as_deref())
    }

    /// Says what is no event, in its turn.
    fn tell(&mut self, line: Option<Value>, text: &str) -> Result<(), Failure> {
        if let Some(line) = line.filter(|_| self.lines) {
            return Ok(self.show.line(line)?);
        }
        let flushed: io::Result<()> = self.show.flush();
        notice(text);
        Ok(flushed?)
    }
}
