//! A source: makes a channel, waits for somebody to listen, and submits the struct that it has, ten times a second.
//!
//!     cargo run -p isoform-channel --example source 127.0.0.1:7000
//!
//! In another terminal, `isoform echo iso://127.0.0.1:7000/river` shows the events, as `sink` does.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]

#[cfg(unix)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use isoform::{Slice, Str};
    use isoform_channel::Node;
    use std::time::Duration;

    let mut node = Node::builder();
    if let Some(listen) = std::env::args().nth(1) {
        node = node.listen(listen);
    }
    let river = node.build()?.create::<Sample<'_>>("river")?;
    let mut source = river.source::<Sample<'_>>()?;
    println!("{}", river.id());
    source.wait_for_sinks(1, Duration::from_secs(600))?;
    for step in 0..30 {
        let depth = [0.5, 0.25 * step as f32, 2.0];
        source.submit(&Sample { step, station: Str::new(c"Old Mill"), depth: Slice::from(&depth) })?;
        std::thread::sleep(Duration::from_millis(100));
    }
    if let Some(sink) = source.close(Duration::from_secs(10))?.first() {
        let ledger = sink.ledger;
        eprintln!("submitted {}, taken {}, lost {}", ledger.submitted, ledger.acknowledged, ledger.lost());
    }
    Ok(())
}

/// What is sent.
#[cfg(unix)]
#[derive(isoform::Record)]
#[repr(C)]
struct Sample<'a> {
    step: i32,
    station: isoform::Str<'a>,
    #[isoform(unit = "m")]
    depth: isoform::Slice<'a, f32>,
}

#[cfg(not(unix))]
fn main() {}
