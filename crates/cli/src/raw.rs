//! `isoform dump --raw`: records without headers, as they lay in the memory of the program that wrote them.

use crate::args;
use crate::failure::Failure;
use crate::open::{no_messages, open, open_raw};
use crate::output::Output;
use crate::show::{Show, Unshown};
use isoform::core::Verifier;
use isoform::core::view::View;
use isoform::{Class, Format};
use std::io::Read;

pub(crate) fn run(arguments: &args::Dump, format: &str, output: &mut Output) -> Result<(), Failure> {
    let format = one_format(format, output)?;
    if format.structure().has_slots() {
        let failure =
            Failure::usage(format!("{} holds pointers, and a raw file has nothing behind them", format.name()));
        return Err(failure.hint(
            "fwrite() writes the addresses, and what was behind them is gone; an overlay can drop the pointers, and streams carry them",
        ));
    }
    let (name, mut input) = open_raw(&arguments.source, output)?;
    let verifier = Verifier::new(&format);
    let mut show = Show::new(arguments.style(), arguments.fields.clone(), output.clone());
    let mut unshown = Unshown::new(&name, "record", "cannot be shown");
    let (mut records, mut shown) = (0u64, 0u64);
    let mut body = Vec::with_capacity(format.size());
    while arguments.count.is_none_or(|count| shown < count) {
        body.clear();
        let cannot = |error| Failure::usage(format!("cannot read {name}: {error}"));
        input.by_ref().take(format.size() as u64).read_to_end(&mut body).map_err(cannot)?;
        if body.is_empty() {
            break;
        }
        if body.len() < format.size() {
            show.flush()?;
            let (size, left) = (format.size(), body.len());
            return Err(Failure::data(format!(
                "{name}: {left} bytes are left over behind {records} records of {size} bytes"
            ))
            .hint("the program may have written another struct, or may still be writing"));
        }
        let position = records * format.size() as u64;
        records += 1;
        let about = format_args!("record {records} at byte {position}");
        let result = match verifier.verify(&body) {
            Ok(body) => show.record(&format, View::new(body), about, None)?,
            Err(error) => Err(error),
        };
        match result {
            Ok(()) => shown += 1,
            Err(error) if error.class() == Class::Usage && shown == 0 => {
                show.flush()?;
                return Err(Failure::from(error).about(&name));
            }
            Err(error) => {
                let _ = show.flush(); // a failure to write comes again
                unshown.tell(error, format_args!("record {records} at byte {position}"), None);
            }
        }
    }
    show.flush()?;
    unshown.end()
}

/// The one format of a source.
fn one_format(source: &str, output: &Output) -> Result<Format, Failure> {
    let mut formats = open(source, no_messages(), output)?.formats()?;
    match (formats.next().transpose()?, formats.next().transpose()?) {
        (Some(format), None) => Ok(format),
        (None, _) => Err(formats.none()),
        _ => Err(Failure::usage(format!("{source} holds several formats")).hint("#NAME behind it chooses one")),
    }
}
