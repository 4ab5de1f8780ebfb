//! The group `text`: a record as a line of JSON, and back, beside what `serde_json` does from and into a struct of the same
//! fields.
//!
//! `out` begins with the body of a message, and `in` ends with one; `serde_json` has the struct in memory, and knows its fields
//! when it is compiled.

use crate::measure::{Contestant, measure};
use crate::place::{Memory, Place};
use crate::records::OwnedSeries;
use crate::{Line, Options, Result, Workload, fill, with_record};
use isoform_core::text::json;
use isoform_core::{Format, Layout, Verifier, View};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::hint::black_box;

/// Measures one workload, in both directions.
///
/// # Errors
/// If a record is wrong, or `line` fails.
pub fn run(workload: &Workload, options: &Options, line: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
    let native = workload.on(&Layout::X86_64)?;
    with_record!(workload, both(workload, &native, options, line), OwnedSeries)
}

fn both<T: Serialize + DeserializeOwned>(
    workload: &Workload,
    format: &Format,
    options: &Options,
    line: &mut impl FnMut(Line) -> Result<()>,
) -> Result<()> {
    let body = fill::body(format, workload.length);
    let verifier = Verifier::new(format);
    let text = json::line(View::new(verifier.verify(&body)?));
    // Both read and write the same text.
    let mut text_of_struct = text.clone();
    if let Some(length) = text.rfind(",\"n\":").filter(|_| workload.length > 0) {
        text_of_struct.replace_range(length..text.len() - 1, "");
    }
    let record: T = serde_json::from_str(&text_of_struct)?;
    if serde_json::to_string(&record)? != text_of_struct || json::body(format, &text)? != body {
        return Err(format!("{}: the record is wrong", workload.name).into());
    }

    let (mut ours, mut theirs) = (String::new(), Vec::new());
    let out: [Contestant<'_>; 2] = [
        Box::new(|place, runs| {
            place.bodies(runs, |body, _| {
                ours.clear();
                json::write(View::new(body), &mut ours).expect("memory does not fail");
            });
        }),
        Box::new(|place, runs| {
            place.bytes(runs, |_, _| {
                theirs.clear();
                serde_json::to_writer(&mut theirs, black_box(&record)).expect("memory does not fail");
            });
        }),
    ];
    let back: [Contestant<'_>; 2] = [
        Box::new(|place, runs| {
            place.bytes(runs, |_, _| {
                black_box(json::body(format, black_box(&text)).expect("it went well before"));
            });
        }),
        Box::new(|place, runs| {
            place.bytes(runs, |_, _| {
                black_box(serde_json::from_str::<T>(black_box(&text_of_struct)).expect("it went well before"));
            });
        }),
    ];
    for (case, mut contestants) in [("out", out), ("in", back)] {
        let memory = |index| Memory::new(index, body.len(), &body, false);
        let mut memories: Vec<Memory> = (0..options.effort.placements).map(memory).collect();
        let places = memories.iter_mut().map(|memory| memory.place().verified(&verifier, body.len()));
        let mut places: Vec<Place<'_>> = places.collect::<Result<_>>()?;
        let times = measure(&mut contestants, &mut places, &options.effort);
        let [ours, theirs] = &times[..] else { return Err("nothing was measured".into()) };
        let result = Line::new("text", workload.name).word("case", case).figure("ns", ours.median());
        let result = result.figure("serde_json_ns", theirs.median()).figure("ratio", ours.ratio(theirs));
        line(result.count("bytes", text.len()))?;
    }
    Ok(())
}
