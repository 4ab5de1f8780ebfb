//! Writes a stream and reads it again, with a struct that somebody else wrote: other types, another order, and a field that
//! nobody sends.
//!
//!     cargo run -p isoform --example stream river.iso
#![allow(clippy::print_stdout, reason = "it is a program")]

use isoform::stream::{Reader, Writer};
use isoform::{Decoder, Encoder, Record, Slice, Str};
use std::error::Error;
use std::fs::File;

/// What is sent.
#[derive(Record)]
#[repr(C)]
struct Sample<'a> {
    step: i32,
    station: Str<'a>,
    #[isoform(unit = "m")]
    depth: Slice<'a, f32>,
}

/// What is wanted.
#[derive(Record)]
#[repr(C)]
struct Seen<'a> {
    station: Str<'a>,
    #[isoform(unit = "m")]
    depth: Slice<'a, f64>,
    step: i64,
    #[isoform(default = 11.5)]
    temperature: f32,
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).unwrap_or("river.iso".into());
    write_stream(&path)?;
    read_stream(&path)
}

fn write_stream(path: &str) -> Result<(), Box<dyn Error>> {
    let mut writer = Writer::new(File::create(path)?);
    let mut encoder = Encoder::<Sample>::new();
    for step in 0..3 {
        let depth = [0.5, 0.25 * step as f32, 2.0];
        let sample = Sample { step, station: Str::new(c"Old Mill"), depth: Slice::from(&depth) };
        writer.write(&encoder.encode(&sample)?)?;
    }
    Ok(writer.flush()?)
}

fn read_stream(path: &str) -> Result<(), Box<dyn Error>> {
    let mut reader = Reader::new(File::open(path)?);
    let mut decoder = Decoder::<Seen>::new();
    while let Some(message) = reader.next()? {
        let Seen { station, depth, step, temperature } = decoder.decode(&message)?;
        let [a, b, c] = depth[..] else { continue };
        println!("{}: step {step}, depth {a} {b} {c} m, {temperature} degrees", station.to_str()?);
    }
    Ok(())
}
