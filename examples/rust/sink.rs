//! A sink that knows nothing: it has no struct, and prints what comes on a channel, by name or all of it.
//!
//!     cargo run -p isoform-channel --example sink iso://127.0.0.1:7000/river
//!     cargo run -p isoform-channel --example sink iso://127.0.0.1:7000/river 'depth[1]'
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]

#[cfg(unix)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use isoform::Messages;
    use isoform_channel::{Event, Node};

    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((id, paths)) = arguments.split_first() else { return Err("usage: sink ID [PATH ..]".into()) };
    let mut sink = Node::new()?.open(id)?.sink_builder().build::<Messages>()?;
    loop {
        match sink.recv()? {
            Event::Record { record, .. } => println!("{}", show(&record.view()?, paths)?),
            Event::Gap(_, gap) => eprintln!("{gap}"),
            Event::Refused(_, error) => eprintln!("a source cannot be understood: {error}"),
            Event::Granted(source, granted) => eprintln!("source {} grants {granted}", source.0),
            Event::Given(source, given) => eprintln!("source {} gives {}", source.0, given.values),
            Event::Left(_, 0) => return Ok(()),
            Event::Head { .. } | Event::Joined { .. } | Event::Left(..) => {}
        }
    }
}

/// A line for an event: the fields that were asked for, or all.
#[cfg(unix)]
fn show(view: &isoform::View<'_>, paths: &[String]) -> isoform::Result<String> {
    if paths.is_empty() {
        return Ok(isoform::text::json::line(*view));
    }
    let field = |path: &String| match view.f64(path) {
        Ok(number) => Ok(number.to_string()),
        Err(_) => view.str(path).map(str::to_owned),
    };
    Ok(paths.iter().map(field).collect::<isoform::Result<Vec<_>>>()?.join(" "))
}

#[cfg(not(unix))]
fn main() {}
