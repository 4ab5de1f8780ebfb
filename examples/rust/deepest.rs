//! A viewer that asks for less, as docs/book/guides/queries.md shows it:
//!
//!     cargo run -p isoform-channel --example deepest ID
#![allow(clippy::print_stdout, reason = "it is a program")]

use isoform::Record;
use isoform_channel::{Event, Node};

#[derive(Record)]
#[repr(C)]
struct Deepest {
    step: u64,
    deep: f64,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let id = std::env::args().nth(1).ok_or("usage: deepest ID")?;
    let wanted = "where any(depth > 1.2) | every 5 | select step, deep = max(depth)";
    let mut sink = Node::new()?.open(id)?.sink_builder().query(wanted)?.build::<Deepest>()?;
    loop {
        match sink.recv()? {
            Event::Record { record, .. } => println!("{} {:.3}", record.step, record.deep),
            Event::Refused(_, error) => return Err(error.into()),
            Event::Left(..) => return Ok(()),
            _ => {}
        }
    }
}
