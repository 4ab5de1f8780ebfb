//! The next version of `viewer`: it needs the deepest place, which only the later document declares. So it asks for a reload.
//!
//!     viewer_2 DOCUMENT VIEW CONTROL
#![allow(clippy::print_stdout, reason = "it is a program")]

#[cfg(unix)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use isoform::Messages;
    use isoform_channel::{Event, Node};
    use std::time::Duration;

    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [document, view, control] = &arguments[..] else { return Err("usage: viewer_2 DOCUMENT VIEW CONTROL".into()) };
    let format =
        isoform_xmit::Fetcher::new().declarations(document)?.bind("Control", &isoform::core::Layout::NATIVE)?;
    let node = Node::new()?;
    let mut steering = node.open(control)?.source_builder().lossless().build::<Messages>()?;
    let mut sink = node.open(view)?.sink_builder().lossless().build::<Messages>()?;
    steering.wait_for_sinks(2, Duration::from_secs(60))?;
    // The request follows the subscription on the same link. So the first summary with the new field comes here, too.
    while !matches!(sink.recv()?, Event::Joined { .. }) {}
    let record = isoform::text::json::parse(&format, r#"{"sender": "viewer_2", "action": "reload"}"#)?;
    steering.submit_body(&format, &isoform::core::value::body(&format, &record)?)?;
    for sink in steering.close(Duration::from_secs(60))? {
        let ledger = sink.ledger;
        println!(
            "control: submitted {}, acknowledged {}, lost {}",
            ledger.submitted,
            ledger.acknowledged,
            ledger.lost()
        );
    }
    println!("ready");
    let mut taken = 0;
    loop {
        match sink.recv()? {
            Event::Record { record, .. } => {
                taken += 1;
                let summary = record.view()?;
                println!("step {}: {:.4} m at the deepest place", summary.i64("timestep")?, summary.f64("peak")?);
            }
            Event::Left(..) => break,
            _ => {}
        }
    }
    println!("view: took {taken}");
    Ok(())
}

#[cfg(not(unix))]
fn main() {}
