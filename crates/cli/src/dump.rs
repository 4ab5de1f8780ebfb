//! `isoform dump`: the records of a stream. What they look like is in [`crate::show`].

use crate::args::{self, Point};
use crate::failure::{Failure, behind};
use crate::index;
#[cfg(feature = "files")]
use crate::open::{self, recording};
use crate::open::{Chosen, Content, Input, Opened, open_channels};
use crate::output::Output;
use crate::query::Asked;
use crate::raw::{self, Raw};
use crate::show::{Show, Unshown};
use crate::source::is_channel;
use isoform::core::Verifier;
use isoform::message::HEADER;
use isoform::stream::Reader;
use isoform::{Class, Code, Error, Format, Token, View};
use std::fmt::Arguments;
use std::io;
use std::time::Duration;

/// How often a file that is followed is looked at.
const PAUSE: Duration = Duration::from_millis(100);

pub(crate) fn run(arguments: &args::Dump, output: &mut Output) -> Result<(), Failure> {
    let asked = arguments.query.as_deref().map(Asked::new).transpose()?;
    if let Some(format) = &arguments.raw.of {
        return of_raw(arguments, format, asked, output);
    }
    let (opened, from, to) = open_part(arguments, output)?;
    let mut reader = match opened.content {
        Content::Stream(reader) => reader,
        Content::Shape(_) => {
            let failure = Failure::usage(format!("{} holds shapes, not records", opened.name));
            return Err(failure.hint("`isoform format` shows shapes"));
        }
        Content::Formats(_) if !is_channel(&opened.name) => {
            let failure = Failure::usage(format!("{} holds formats, not records", opened.name));
            return Err(failure.hint("`isoform format` shows formats"));
        }
        Content::Formats(_) => {
            let failure = Failure::usage(format!("{} is a channel, not a stream", opened.name));
            return Err(failure.hint("`isoform echo` shows the events of channels"));
        }
    };
    let follow = arguments.follow && reader.inner().may_grow();
    let has_end = !follow && (reader.inner().may_grow() || reader.inner().is_recording());
    let asked = if has_end { asked.map(Asked::until_the_end) } else { asked };
    let mut dump = Dump::new(arguments, opened.name, "message", opened.choice, asked, output);
    if let Some(from) = from {
        dump.messages = index::go(&mut reader, &arguments.source, from)?;
    }
    dump.to = to;
    while arguments.count.is_none_or(|count| dump.shown < count) {
        match dump.message(&mut reader) {
            Ok(true) if reader.is_ready() => {}
            Ok(true) => dump.show.flush()?,
            Ok(false) if follow => dump.wait(&reader)?,
            Ok(false) => {
                dump.choice.check(&dump.name, &reader.registry().formats())?;
                dump.finish().map_err(|stop| dump.stopped(stop))?;
                dump.show.flush()?;
                reader.inner_mut().tell_foreign();
                break;
            }
            Err(Stop::Stream(error)) if follow && error.code() == Code::Cut => dump.wait(&reader)?,
            Err(Stop::Stream(error)) if reader.goes_on_after(&error) => {
                dump.messages += 1;
                let (number, position) = (dump.messages, reader.position() - HEADER as u64);
                dump.tell(error, format_args!("message {number} at byte {position}"), None);
            }
            Err(Stop::Stream(error)) if arguments.resume => dump.resume(&mut reader, error)?,
            Err(stop) => return Err(dump.stopped(stop)),
        }
    }
    dump.end()
}

/// Opens the source, and says where to begin and to end in it. A recording has no more than that.
fn open_part(arguments: &args::Dump, output: &Output) -> Result<(Opened, Option<Point>, Option<Point>), Failure> {
    let args::Dump { source, channel, from, to, .. } = arguments;
    #[cfg(feature = "files")]
    if (from.is_some() || to.is_some()) && recording(source)?.is_some() {
        let seconds = |point: &Option<Point>| match point {
            None => Ok(None),
            Some(Point::Number(seconds)) => Ok(Some(*seconds)),
            Some(byte) => Err(Failure::usage(format!("{byte} is a place of a stream, and {source} is a recording"))),
        };
        let span = args::Span { from: seconds(from)?, to: seconds(to)? };
        if let Some(opened) = open::open_part(source, channel, &span, arguments.limits(), output)? {
            return Ok((opened, None, None));
        }
    }
    match (from, to) {
        (Some(Point::Number(first)), Some(Point::Number(last))) if first > last => return Err(behind(first, last)),
        (Some(Point::Byte(first)), Some(Point::Byte(last))) if first > last => {
            return Err(behind(Point::Byte(*first), Point::Byte(*last)));
        }
        _ => {}
    }
    for point in [from, to].into_iter().flatten() {
        if let Point::Number(number) = point
            && (number.fract() != 0.0 || *number < 1.0)
        {
            let failure = Failure::usage(format!("{source} is a stream, and has no message {number}"));
            return Err(failure.hint("messages are counted from 1; recordings have seconds, from 0"));
        }
    }
    Ok((open_channels(source, channel, arguments.limits(), output)?, *from, *to))
}

/// Shows the records of a raw file.
fn of_raw(arguments: &args::Dump, format: &str, asked: Option<Asked>, output: &Output) -> Result<(), Failure> {
    let format = raw::format(format, output)?;
    let mut raw = Raw::open(format.clone(), &arguments.source, output)?;
    let verifier = Verifier::new(&format);
    let mut dump = Dump::new(arguments, raw.name.clone(), "record", Chosen::all(), asked, output);
    while arguments.count.is_none_or(|count| dump.shown < count) {
        match raw.next() {
            Ok(None) => {
                dump.finish().map_err(|stop| dump.stopped(stop))?;
                break;
            }
            Ok(Some(found)) => {
                let view = verifier.verify(found.body).map(View::new);
                dump.record(&format, view, None, format_args!("{found}"), None).map_err(|stop| dump.stopped(stop))?;
            }
            Err(failure) => {
                dump.show.flush()?;
                return Err(failure);
            }
        }
    }
    dump.end()
}

/// A dump in progress.
struct Dump {
    name: String,
    choice: Chosen,
    show: Show,
    asked: Option<Asked>,
    messages: u64,
    shown: u64,
    unshown: Unshown,
    /// The last message.
    to: Option<Point>,
}

/// Why a message was not shown.
enum Stop {
    Stream(Error),
    /// No record before had the fields that were asked for, and this one's format has not either.
    Request(Error),
    /// No record before fitted the query, and those of this name do not either.
    Unfit(Error, String),
    Output(io::Error),
}

impl Dump {
    fn new(
        arguments: &args::Dump,
        name: String,
        thing: &'static str,
        choice: Chosen,
        asked: Option<Asked>,
        output: &Output,
    ) -> Dump {
        let show = Show::new(arguments.style(), arguments.fields.clone(), output.clone());
        let unshown = Unshown::new(&name, thing, "cannot be shown");
        Dump { name, choice, show, asked, messages: 0, shown: 0, unshown, to: None }
    }

    /// Shows the next message, if it is of a format that was chosen. `false` if there is none now.
    fn message(&mut self, reader: &mut Reader<Input>) -> Result<bool, Stop> {
        if matches!(self.to, Some(Point::Number(last)) if self.messages as f64 >= last) {
            return Ok(false);
        }
        let Some((_, format)) = reader.peek()? else { return Ok(false) };
        if matches!(self.to, Some(Point::Byte(last)) if reader.position() - HEADER as u64 > last) {
            return Ok(false);
        }
        if !self.choice.is(&format) {
            reader.seek_past()?;
            self.messages += 1;
            return Ok(true);
        }
        let position = reader.position() - HEADER as u64;
        let time = if self.asked.is_some() { reader.inner_mut().submitted(position) } else { None };
        let Some(message) = reader.next()? else { return Ok(false) };
        self.messages += 1;
        let number = self.messages;
        self.record(
            &format,
            message.view(),
            time,
            format_args!("message {number} at byte {position}"),
            Some(format.token()),
        )?;
        Ok(true)
    }

    /// Shows a record, or what the query makes of it. `time` is that of its submission, and `token` that of one of several formats.
    fn record(
        &mut self,
        format: &Format,
        view: isoform::Result<View<'_>>,
        time: Option<u64>,
        about: Arguments<'_>,
        token: Option<Token>,
    ) -> Result<(), Stop> {
        let mut show = |format: &Format, view: View<'_>| self.show.record(format, view, about, None);
        let shown = match (view, &mut self.asked) {
            (Ok(view), None) => show(format, view)?,
            (Ok(view), Some(asked)) => match asked.of(format, view, time, show) {
                Ok(None) => return Ok(()),
                Ok(Some(shown)) => shown?,
                Err(error) if !asked.fits() => return Err(Stop::Unfit(error, format.name().into())),
                Err(error) => Err(error),
            },
            (Err(error), _) => Err(error),
        };
        match shown {
            Ok(()) => self.shown += 1,
            Err(error) if error.class() == Class::Usage && self.shown == 0 => return Err(Stop::Request(error)),
            Err(error) => self.tell(error, about, token),
        }
        Ok(())
    }

    /// Goes on behind damage, if that is possible, and tells which bytes are missing.
    fn resume(&mut self, reader: &mut Reader<Input>, error: Error) -> Result<(), Failure> {
        match reader.resume()? {
            Some(gap) => {
                self.tell(error, format_args!("bytes {} to {} are passed over", gap.from, gap.to), None);
                Ok(())
            }
            None => Err(self.stopped(Stop::Stream(error))),
        }
    }

    /// Shows what the windows of the query hold at the end of the records.
    fn finish(&mut self) -> Result<(), Stop> {
        let Dump { asked: Some(asked), show, shown, .. } = self else { return Ok(()) };
        if let Some((error, kind)) = asked.unfit() {
            return Err(Stop::Unfit(error, kind));
        }
        let about = format_args!("the end of the records");
        asked.finish(|format, view| {
            show.record(format, view, about, None)??;
            *shown += 1;
            Ok::<(), Stop>(())
        })?
    }

    /// The failure that ends the dump, behind what was shown.
    fn stopped(&mut self, stop: Stop) -> Failure {
        let (error, about) = match stop {
            Stop::Stream(error) | Stop::Request(error) => (error, self.name.clone()),
            Stop::Unfit(error, kind) => (error, format!("{}#{kind}", self.name)),
            Stop::Output(error) => return error.into(),
        };
        match self.show.flush() {
            Ok(()) => Failure::from(error).about(&about),
            Err(error) => error.into(),
        }
    }

    /// Waits for a file to grow.
    fn wait(&mut self, reader: &Reader<Input>) -> Result<(), Failure> {
        self.show.flush()?;
        if reader.inner().length().is_some_and(|length| length < reader.position()) {
            let failure = Failure::data(format!("{} is now shorter than the part that was read before", self.name));
            return Err(failure.hint("it may have been overwritten: run the command again"));
        }
        std::thread::sleep(PAUSE);
        Ok(())
    }

    /// Tells of a message that cannot be shown, and goes on.
    fn tell(&mut self, error: Error, about: Arguments<'_>, format: Option<Token>) {
        let _ = self.show.flush(); // in the order in which things happened; a failure to write comes again
        self.unshown.tell(error, about, format);
    }

    fn end(mut self) -> Result<(), Failure> {
        self.show.flush()?;
        self.asked.iter().for_each(Asked::end);
        self.unshown.end()
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Stream(error)
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        Stop::Output(error)
    }
}
