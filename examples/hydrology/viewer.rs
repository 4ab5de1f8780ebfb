//! Shows two numbers of the first COUNT summaries, and closes the gate when the valley is full: the water is wanted later.
//!
//!     viewer DOCUMENT VIEW CONTROL COUNT
#![allow(clippy::print_stdout, reason = "it is a program")]

#[cfg(unix)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use isoform::Messages;
    use isoform_channel::{Event, Node};
    use std::time::Duration;

    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [document, view, control, count] = &arguments[..] else {
        return Err("usage: viewer DOCUMENT VIEW CONTROL COUNT".into());
    };
    let count: u64 = count.parse()?;
    let format =
        isoform_xmit::Fetcher::new().declarations(document)?.bind("Control", &isoform::core::Layout::NATIVE)?;
    let node = Node::new()?;
    let mut steering = node.open(control)?.source_builder().lossless().build::<Messages>()?;
    let mut sink = node.open(view)?.sink_builder().lossless().build::<Messages>()?;
    steering.wait_for_sinks(2, Duration::from_secs(60))?;
    println!("ready");
    let (mut taken, mut is_full) = (0, false);
    while taken < count {
        match sink.recv()? {
            Event::Record { record, .. } => {
                taken += 1;
                let summary = record.view()?;
                let (timestep, mean) = (summary.i64("timestep")?, summary.f64("mean")?);
                println!("step {timestep}: {mean:.4} m on average, {} places are wet", summary.i64("wet")?);
                if mean > 0.045 && !is_full {
                    is_full = true;
                    let record = isoform::text::json::parse(&format, r#"{"sender": "viewer", "action": "close"}"#)?;
                    steering.submit_body(&format, &isoform::core::value::body(&format, &record)?)?;
                }
            }
            Event::Left(..) => break,
            _ => {}
        }
    }
    println!("view: took {taken}");
    for sink in steering.close(Duration::from_secs(60))? {
        let ledger = sink.ledger;
        println!(
            "control: submitted {}, acknowledged {}, lost {}",
            ledger.submitted,
            ledger.acknowledged,
            ledger.lost()
        );
    }
    Ok(())
}

#[cfg(not(unix))]
fn main() {}
