//! `isoform dump`: the records of a stream. What they look like is in [`crate::show`].

use crate::args;
use crate::failure::Failure;
use crate::open::{Chosen, Content, Input, open};
use crate::output::Output;
use crate::query::Asked;
use crate::raw;
use crate::show::{Show, Unshown};
use crate::source::is_channel;
use isoform::message::HEADER;
use isoform::stream::Reader;
use isoform::{Class, Code, Error, Format, Token, View};
use std::io;
use std::time::Duration;

/// How often a file that is followed is looked at.
const PAUSE: Duration = Duration::from_millis(100);

pub(crate) fn run(arguments: &args::Dump, output: &mut Output) -> Result<(), Failure> {
    if let Some(format) = &arguments.raw {
        return raw::run(arguments, format, output);
    }
    let asked = arguments.query.as_deref().map(Asked::new).transpose()?;
    let opened = open(&arguments.source, arguments.limits(), output)?;
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
    let mut dump = Dump {
        unshown: Unshown::new(&opened.name, "message", "cannot be shown"),
        name: opened.name,
        choice: opened.choice,
        show: Show::new(arguments.style(), arguments.fields.clone(), output.clone()),
        asked,
        messages: 0,
        shown: 0,
    };
    while arguments.count.is_none_or(|count| dump.shown < count) {
        match dump.message(&mut reader) {
            Ok(true) if reader.is_ready() => {}
            Ok(true) => dump.show.flush()?,
            Ok(false) if follow => dump.wait(&reader)?,
            Ok(false) => {
                dump.choice.check(&dump.name, &reader.registry().formats())?;
                break;
            }
            Err(Stop::Stream(error)) if follow && error.code() == Code::Cut => dump.wait(&reader)?,
            Err(Stop::Stream(error)) if reader.goes_on_after(&error) => {
                dump.messages += 1;
                dump.tell(error, reader.position() - HEADER as u64, None);
            }
            Err(Stop::Stream(error)) => {
                dump.show.flush()?;
                return Err(Failure::from(error).about(&dump.name));
            }
            Err(Stop::Request(error)) => {
                dump.show.flush()?;
                return Err(Failure::from(error).about(&dump.name));
            }
            Err(Stop::Unfit(error, kind)) => {
                dump.show.flush()?;
                return Err(Failure::from(error).about(&format!("{}#{kind}", dump.name)));
            }
            Err(Stop::Output(error)) => return Err(error.into()),
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
    /// Shows the next message, if it is of a format that was chosen. `false` if there is none now.
    fn message(&mut self, reader: &mut Reader<Input>) -> Result<bool, Stop> {
        let Some((_, format)) = reader.peek()? else { return Ok(false) };
        if !self.choice.is(&format) {
            reader.seek_past()?;
            self.messages += 1;
            return Ok(true);
        }
        let position = reader.position() - HEADER as u64;
        let Some(message) = reader.next()? else { return Ok(false) };
        self.messages += 1;
        let shown = match message.view() {
            Ok(view) => {
                let about = format_args!("message {} at byte {position}", self.messages);
                let mut show = |format: &Format, view: View<'_>| self.show.record(format, view, about, None);
                match &mut self.asked {
                    None => show(&format, view)?,
                    Some(asked) => match asked.of(&format, view, show) {
                        Ok(None) => return Ok(true),
                        Ok(Some(shown)) => shown?,
                        Err(error) if !asked.fits() => return Err(Stop::Unfit(error, format.name().into())),
                        Err(error) => Err(error),
                    },
                }
            }
            Err(error) => Err(error),
        };
        match shown {
            Ok(()) => self.shown += 1,
            Err(error) if error.class() == Class::Usage && self.shown == 0 => return Err(Stop::Request(error)),
            Err(error) => self.tell(error, position, Some(format.token())),
        }
        Ok(true)
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
    fn tell(&mut self, error: Error, position: u64, format: Option<Token>) {
        let _ = self.show.flush(); // in the order in which things happened; a failure to write comes again
        self.unshown.tell(error, format_args!("message {} at byte {position}", self.messages), format);
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
