//! `isoform emitting`: programs that emit records. How they are found is in `isoform_channel::emitting`.

use crate::args;
use crate::failure::Failure;
use crate::output::Output;
use isoform_channel::{ChannelId, emitting};
use std::collections::BTreeSet;
use std::io::Write;

pub(super) fn run(arguments: &args::Emitting, output: &mut Output) -> Result<(), Failure> {
    let mut found = false;
    // The name as it is emitted, or as the channel has it.
    let names: Vec<String> = arguments.channels.iter().map(|name| name.replace('/', ".")).collect();
    let mut others = BTreeSet::new();
    for program in emitting::running()? {
        let is_wanted = arguments.program.as_ref().is_none_or(|name| *name == program.name)
            && arguments.process.is_none_or(|process| process == program.process);
        if !is_wanted {
            others.insert(format!("the program {} ({})", program.name, program.process));
            continue;
        }
        for id in &program.ids {
            // The file may be of a later version.
            let Ok(channel) = id.parse::<ChannelId>() else { continue };
            if !names.is_empty() && names.iter().all(|name| name != channel.name()) {
                others.insert(format!("{} of {}", channel.name(), program.name));
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
        false => {
            let failure = Failure::data("no program of yours emits such records now");
            Err(match others.is_empty() {
                true => failure.hint(
                    "a program starts emitting by `isoform_channel::emitting::start`, `iso_emit_start` or `isoform.emit_start`",
                ),
                false => failure.hint(format!("there is {}", Vec::from_iter(others).join(", "))),
            })
        }
    }
}
