//! Good streams, to make bad ones of.

use crate::structs;
use isoform::Format;
use isoform::core::{Layout, value};
use isoform_testing::mutate::{Random, stream_of};
use isoform_testing::{any_record, any_value, drawn, runner, twisted};
use proptest::test_runner::TestRunner;
use std::path::Path;

/// The streams of `vectors/`, also those that must be refused; by the names of their files.
///
/// # Panics
/// If they cannot be read.
pub fn vectors() -> Vec<Vec<u8>> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors");
    let entries = |folder: &Path| {
        let mut paths: Vec<_> =
            std::fs::read_dir(folder).expect("vectors").map(|entry| entry.expect("a file").path()).collect();
        // As bytes: to compare paths part by part takes Miri a minute.
        paths.sort_by(|a, b| a.as_os_str().cmp(b.as_os_str()));
        paths
    };
    let files = entries(&top).into_iter().filter(|path| path.is_dir()).flat_map(|folder| entries(&folder));
    files
        .filter(|path| path.extension() == Some("bin".as_ref()))
        .map(|path| std::fs::read(path).expect("a vector"))
        .collect()
}

/// A stream of up to three formats, each with a record or two: any records; or such as the structs of this crate can
/// be made of, more or less. Equal numbers make equal streams.
pub fn random(number: u64) -> Vec<u8> {
    let mut random = Random::new(number);
    let mut runner = runner(&mut random);
    let mut stream = Vec::new();
    for _ in 0..1 + random.below(3) {
        let (format, body) = if random.one_in(2) { any(&mut runner) } else { fitting(&mut random, &mut runner) };
        stream.extend(stream_of(&format, &body));
    }
    stream
}

fn any(runner: &mut TestRunner) -> (Format, Vec<u8>) {
    let (format, record) = drawn(any_record(), runner);
    let body = value::body(&format, &record).expect("a record of the format");
    (format, body)
}

fn fitting(random: &mut Random, runner: &mut TestRunner) -> (Format, Vec<u8>) {
    let formats = structs::formats();
    loop {
        let native = formats[random.below(formats.len())];
        let layout = random.of_these(Layout::ALL).unwrap_or(Layout::NATIVE);
        let Ok((format, _)) = twisted(native, layout.machine(), random) else { continue };
        let record = drawn(any_value(&format), runner);
        if let Ok(body) = value::body(&format, &record) {
            return (format, body);
        }
    }
}
