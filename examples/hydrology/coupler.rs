//! Couples the simulation with viewers: makes a summary of every flow, with the fields that the document declares. On the control
//! record `reload` it gets the document again, and goes on with the new definition.
//!
//!     coupler DOCUMENT FLOW CONTROL
#![allow(clippy::print_stdout, reason = "it is a program")]

#[cfg(unix)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use isoform::Messages;
    use isoform_channel::{Event, Node};
    use std::time::Duration;

    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [document, flow, control] = &arguments[..] else { return Err("usage: coupler DOCUMENT FLOW CONTROL".into()) };
    let node = Node::new()?;
    let mut controls = node.open(control)?.sink_builder().lossless().build::<Messages>()?;
    let view = node.create_with("view", None)?;
    let mut summaries = Some(view.source_builder().lossless().build::<Messages>()?);
    let mut format = load(document)?;
    println!("{}", view.id());
    summaries.iter().try_for_each(|source| source.wait_for_sinks(2, Duration::from_secs(60)))?;
    let mut flows = node.open(flow)?.sink_builder().lossless().build::<Messages>()?;

    let (mut steerers, mut is_over, mut taken, mut asked) = (0, false, 0, 0);
    while !is_over || steerers > 0 {
        match controls.recv_timeout(Duration::from_millis(if is_over { 50 } else { 0 }))? {
            Some(Event::Record { record, .. }) => {
                asked += 1;
                if record.view()?.str("action")? == "reload" {
                    format = load(document)?;
                    println!("the document now says: {}", names(&format).join(", "));
                }
                continue; // there may be more
            }
            Some(Event::Joined { .. }) => steerers += 1,
            Some(Event::Left(_, others)) => steerers = others,
            _ => {}
        }
        if is_over {
            continue;
        }
        match flows.recv_timeout(Duration::from_millis(50))? {
            Some(Event::Record { record, .. }) => {
                taken += 1;
                let body = summary(&format, record.view()?)?;
                if let Some(source) = &mut summaries {
                    source.submit_body(&format, &body)?;
                }
            }
            Some(Event::Left(..)) => {
                is_over = true;
                println!("flow: took {taken}");
                let Some(source) = summaries.take() else { continue };
                for sink in source.close(Duration::from_secs(60))? {
                    let ledger = sink.ledger;
                    let (submitted, acknowledged) = (ledger.submitted, ledger.acknowledged);
                    println!("view: submitted {submitted}, acknowledged {acknowledged}, lost {}", ledger.lost());
                }
            }
            _ => {}
        }
    }
    println!("control: took {asked}");
    Ok(())
}

/// The format of summaries, as the document declares it now.
fn load(document: &str) -> isoform::Result<isoform::Format> {
    isoform_xmit::Fetcher::new().declarations(document)?.bind("Summary", &isoform::core::Layout::NATIVE)
}

fn names(format: &isoform::Format) -> Vec<&str> {
    format.structure().fields().iter().map(|field| &*field.name).collect()
}

/// The record with a summary of a flow: this program knows more than documents may ask for.
fn summary(format: &isoform::Format, flow: isoform::View<'_>) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let columns = usize::try_from(flow.i64("columns")?)?.max(1);
    let size = usize::try_from(flow.i64("size")?)?;
    let depths = (0..size).map(|cell| flow.f64(&format!("depth[{cell}]"))).collect::<isoform::Result<Vec<f64>>>()?;
    let mut record = serde_json::Map::new();
    for name in names(format) {
        let value = match name {
            "timestep" => flow.i64("timestep")?.into(),
            "mean" => (depths.iter().sum::<f64>() / size.max(1) as f64).into(),
            "wet" => depths.iter().filter(|&&depth| depth > 0.005).count().into(),
            "peak" => depths.iter().copied().fold(0.0, f64::max).into(),
            "picture" => picture(&depths, columns).into(),
            other => return Err(format!("nothing is known of {other}").into()),
        };
        record.insert(name.into(), value);
    }
    let record = isoform::text::json::parse(format, &serde_json::Value::Object(record).to_string())?;
    Ok(isoform::core::value::body(format, &record)?)
}

/// A character for each place: the deeper, the darker.
fn picture(depths: &[f64], columns: usize) -> String {
    let shade = |depth: &f64| char::from(b" .:-=+*#%@"[((depth * 100.0) as usize).min(9)]);
    let rows: Vec<String> = depths.chunks(columns).map(|row| row.iter().map(shade).collect()).collect();
    rows.join("\n")
}

#[cfg(not(unix))]
fn main() {}
