//! What is made of each message of many mutants, for comparison with another implementation (`agree.py`).

use crate::mutants::Source;
use isoform::stream::Reader;
use isoform::text::json;
use isoform::{Error, Incoming};
use std::fmt::Write as _;
use std::io::{BufWriter, Write};

/// Writes a line for each mutant: its bytes in hexadecimal digits, then for each message, behind a tab each, its record as
/// JSON, or the name of the error and the path.
pub(crate) fn run(seed: u64, count: u64) -> std::io::Result<()> {
    let mut source = Source::new(seed);
    let mut out = BufWriter::new(std::io::stdout().lock());
    for number in 0..count {
        let mutant = source.mutant(number);
        let mut line = String::new();
        mutant.iter().for_each(|byte| _ = write!(line, "{byte:02x}"));
        tell(&mutant, &mut line);
        writeln!(out, "{line}")?;
    }
    out.flush()
}

fn tell(stream: &[u8], line: &mut String) {
    let mut reader = Reader::new(stream);
    loop {
        match reader.next().map(|message| message.map(|message| record(&message))) {
            Ok(Some(Ok(record))) => _ = write!(line, "\t{record}"),
            Ok(Some(Err(error))) => refused(&error, line),
            Ok(None) => return,
            Err(error) => {
                refused(&error, line);
                if !reader.goes_on_after(&error) {
                    return;
                }
            }
        }
    }
}

fn record(message: &Incoming<'_>) -> Result<String, Error> {
    message.view().map(json::line)
}

fn refused(error: &Error, line: &mut String) {
    let _ = write!(line, "\t{} {}", error.code().name(), error.path());
}
