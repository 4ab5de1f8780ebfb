//! `isoform derive`: prints the id of a derived channel, or gives it a name.

use super::stop::{self, Stop};
use super::{build, cannot_open, node_builder, open_at};
use crate::args;
use crate::failure::{Failure, notice};
use crate::output::Output;
use isoform::Result;
use isoform_channel::{Channel, ChannelId};
use std::io::Write;

pub(super) fn run(arguments: &args::Derive, output: &mut Output) -> Result<(), Failure> {
    let node = arguments.listen.iter().fold(node_builder(&arguments.network), |node, address| node.listen(address));
    let channel = open_at(&build(node)?, &arguments.channel)?;
    let derived = channel.derive(&arguments.query).map_err(|error| Failure::usage(error.to_string()).about("QUERY"))?;
    let Some(name) = &arguments.name else {
        let id = lasting_id(&arguments.channel, &derived).map_err(|error| cannot_open(&arguments.channel, error))?;
        return Ok(writeln!(output, "{id}")?);
    };
    let stop = Stop::new()?;
    let named = derived.named(name).map_err(|error| Failure::usage(error.to_string()).about("--name"))?;
    writeln!(output, "{}", named.id())?;
    output.flush()?;
    notice(&format!("others can open {name:?} here until Ctrl-C"));
    while !stop.is_asked() {
        std::thread::sleep(stop::LOOK);
    }
    Ok(())
}

/// The id of a derived channel with the addresses of the members that an id of its channel names, since this process ends.
fn lasting_id(id: &str, derived: &Channel) -> Result<ChannelId> {
    let id: ChannelId = id.parse()?;
    let mut lasting = ChannelId::new(id.address().clone(), derived.name(), id.identity())?;
    for address in &id.addresses()[1..] {
        lasting = lasting.also(address.clone())?;
    }
    if let Some(query) = derived.query() {
        lasting = lasting.with_query(query);
    }
    Ok(id.key().map_or(lasting.clone(), |key| lasting.with_key(key)))
}
