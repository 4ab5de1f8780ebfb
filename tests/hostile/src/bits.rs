//! The three experiments by which other libraries fell: bits of a description, bits of the fixed part of a record, and
//! ends, each changed in a good stream.

use isoform::core::{Layout, Shape, Value, value};
use isoform::stream::Reader;
use isoform::text::json;
use isoform::{Format, Result};
use isoform_hostile::receive;
use isoform_testing::mutate::{Random, stream_of};
use std::ops::Range;
use std::panic::catch_unwind;
use std::process::ExitCode;

/// So many changes are made in each experiment.
const CHANGES: usize = 2000;

/// What became of the changed streams of one experiment.
#[derive(Default)]
struct Count {
    crashed: usize,
    refused: usize,
    /// Accepted, and something in it is another.
    other: usize,
    /// Accepted, and all is as it was.
    same: usize,
}

pub(crate) fn run() -> ExitCode {
    let (format, body) = record();
    let good = stream_of(&format, &body);
    let description = 32..32 + format.description().as_bytes().len();
    let begin = description.end.next_multiple_of(16) + 32;
    let fixed = begin..begin + format.size();
    let mut random = Random::new(1);
    let experiments = [
        ("one bit of the description changed", count(&good, || flipped(&good, &description, &mut random))),
        ("one bit of the fixed part changed", count(&good, || flipped(&good, &fixed, &mut random))),
        ("cut", count(&good, || good[..random.below(good.len())].to_vec())),
    ];
    for (what, came) in &experiments {
        let Count { crashed, refused, other, same } = came;
        println!(
            "{what}: {CHANGES} streams, {crashed} crashes, {refused} refused, {other} accepted with other values, {same} with the same"
        );
    }
    if experiments.iter().all(|(_, came)| came.crashed == 0) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn flipped(good: &[u8], range: &Range<usize>, random: &mut Random) -> Vec<u8> {
    let mut bytes = good.to_vec();
    bytes[range.start + random.below(range.len())] ^= 1 << random.below(8);
    bytes
}

fn count(good: &[u8], mut changed: impl FnMut() -> Vec<u8>) -> Count {
    let expected = read(good).expect("a good stream");
    let mut count = Count::default();
    for _ in 0..CHANGES {
        let stream = changed();
        match catch_unwind(|| receive(&stream)) {
            Err(_) => count.crashed += 1,
            Ok(_) => match read(&stream) {
                Err(_) => count.refused += 1,
                Ok(came) if came == expected => count.same += 1,
                Ok(_) => count.other += 1,
            },
        }
    }
    count
}

/// All that a stream says: formats, and records as JSON.
fn read(stream: &[u8]) -> Result<Vec<String>> {
    let mut reader = Reader::new(stream);
    let mut all = Vec::new();
    while let Some(message) = reader.next()? {
        all.push(format!("{:?} {}", message.format().structure(), json::line(message.view()?)));
    }
    Ok(all)
}

/// A record with a nested one, strings, arrays in place and behind pointers, an enumeration and a boolean.
fn record() -> (Format, Vec<u8>) {
    let point = Shape::new("Point").field("x", "double").field("y", "double").field("name", "string");
    let shape = Shape::new("Track")
        .nested(point)
        .field("id", "int")
        .field("name", "string")
        .field("state", "enumeration{lost=-1,good=1}")
        .field("on", "boolean")
        .field("n", "int")
        .field("points", "Point[n]")
        .field("home", "Point")
        .field("grid", "float[2][3]")
        .field("note", "char[12]");
    let format = shape.on(&Layout::X86_64).expect("a format");
    let text = r#"{"id":7,"name":"K2","state":"good","on":true,"points":[{"x":1.5,"name":"a"},{"y":2.5,"name":"bb"}],
        "home":{"x":0.5,"y":0.25,"name":"camp"},"grid":[[1,2,3],[4,5,6]],"note":"text"}"#;
    let record: Value = json::parse_partial(&format, text).expect("a record");
    let body = value::body(&format, &record).expect("a body");
    (format, body)
}
