//! `isoform emitting`: programs that emit records. How they are found is in `isoform_channel::emitting`.

use crate::args;
use crate::failure::Failure;
use crate::output::Output;
use isoform_channel::{ChannelId, emitting};
use std::io::Write;

pub(super) fn run(arguments: &args::Emitting, output: &mut Output) -> Result<(), Failure> {
    let mut found = false;
    for program in emitting::running()? {
        let is_wanted = arguments.program.as_ref().is_none_or(|name| *name == program.name)
            && arguments.process.is_none_or(|process| process == program.process);
        for id in program.ids.iter().filter(|_| is_wanted) {
            // The file may be of a later version.
            let Ok(channel) = id.parse::<ChannelId>() else { continue };
            if !arguments.channels.is_empty() && arguments.channels.iter().all(|name| name != channel.name()) {
                continue;
            }
            found = true;
            match arguments.ids {
                true => writeln!(output, "{id}")?,
                false => writeln!(output, "{} {} {id}", program.name, program.process)?,
            }
        }
    }
    match found {
        true => Ok(()),
        false => Err(Failure::data("no program of yours emits such records now").hint(
            "a program starts emitting by `isoform_channel::emitting::start`, `iso_emit_start` or `isoform.emit_start`",
        )),
    }
}
