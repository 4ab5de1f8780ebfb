//! `isoform append`: a stream in a file, which is healed and goes on with the records of another one.

use crate::args;
use crate::failure::{Failure, no_option, notice};
use crate::open::{Content, open};
use crate::output::{Output, plural};
use crate::show::Unshown;
use crate::source::{Bytes, Source};
use isoform::Limits;
use isoform::message::HEADER;
use isoform::stream::Writer;
use std::path::Path;

pub(crate) fn run(arguments: &args::Append, output: &Output) -> Result<(), Failure> {
    let name = arguments.file.display().to_string();
    // Before the file is created.
    let source = arguments.source.as_deref().map(|source| open_source(source, &arguments.file, output)).transpose()?;
    let mut writer = Writer::append(&arguments.file).map_err(|error| Failure::from(error).of_source())?;
    if let Some(healed) = writer.inner().healed() {
        let bytes = plural(usize::try_from(healed.bytes).unwrap_or(usize::MAX), "byte");
        notice(&format!(
            "{name}: {}; {bytes} from byte {} on are in {} now",
            healed.error,
            healed.at,
            no_option(&healed.aside)
        ));
    }
    if arguments.sealed {
        writer.set_sealed(true);
    }
    let Some((name, mut reader)) = source else { return Ok(()) };
    let (mut unshown, mut number) = (Unshown::new(&name, "message", "cannot be appended"), 0);
    loop {
        let error = match reader.peek() {
            Ok(None) => return unshown.end(),
            Ok(Some(_)) => match reader.next_batch() {
                Ok(None) => continue,
                Ok(Some(batch)) => {
                    number += batch.len();
                    writer
                        .write_batch(&batch)
                        .map_err(|error| Failure::from(error).about(&arguments.file.display().to_string()))?;
                    continue;
                }
                Err(error) => return Err(Failure::from(error).about(&name)),
            },
            Err(error) if reader.goes_on_after(&error) => error,
            Err(error) => return Err(Failure::from(error).about(&name)),
        };
        number += 1;
        let position = reader.position() - HEADER as u64;
        unshown.tell(error, format_args!("message {number} at byte {position}"), None);
    }
}

/// The stream whose records are appended. It is not the file itself.
fn open_source(
    source: &str,
    file: &Path,
    output: &Output,
) -> Result<(String, Box<isoform::stream::Reader<crate::open::Input>>), Failure> {
    if let Source::Bytes(Bytes { path: Some(path), .. }) = Source::parse(source, Path::exists)?
        && let (Ok(from), Ok(to)) = (path.canonicalize(), file.canonicalize())
        && from == to
    {
        return Err(Failure::usage(format!("{source} is the file that is appended to")));
    }
    let opened = open(source, Limits::default(), output)?;
    match opened.content {
        Content::Stream(reader) => Ok((opened.name, reader)),
        _ => Err(Failure::usage(format!("{} has no records", opened.name)).hint("give a stream or a recording")),
    }
}
