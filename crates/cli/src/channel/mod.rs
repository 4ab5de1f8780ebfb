//! The commands for event channels: `echo`, `pub`, `info`, `derive`, `plot`, `watch`, `record` and `replay`. Channels are for Unix and Windows; on other systems these
//! commands say so.

#[cfg(any(unix, windows))]
pub(crate) mod account;
#[cfg(any(unix, windows))]
mod derive;
#[cfg(any(unix, windows))]
mod echo;
#[cfg(any(unix, windows))]
mod emitting;
#[cfg(any(unix, windows))]
mod find;
#[cfg(any(unix, windows))]
mod info;
#[cfg(any(unix, windows))]
pub(crate) mod input;
#[cfg(any(unix, windows))]
mod news;
#[cfg(any(unix, windows))]
mod parameters;
#[cfg(any(unix, windows))]
mod plot;
#[cfg(any(unix, windows))]
mod publish;
#[cfg(all(any(unix, windows), feature = "files"))]
mod record;
#[cfg(all(any(unix, windows), feature = "files"))]
mod replay;
#[cfg(any(unix, windows))]
pub(crate) mod stop;
#[cfg(all(any(unix, windows), feature = "watch"))]
mod watch;

use crate::args::Channel as Command;
#[cfg(any(unix, windows))]
use crate::args::Network;
use crate::failure::Failure;
use crate::output::Output;
use isoform::Format;
#[cfg(any(unix, windows))]
use {
    isoform::{Class, Code, Error},
    isoform_channel::{Channel, ChannelId, Node, NodeBuilder, NodeId, Query, SinkBuilder},
    std::thread::sleep,
    std::time::{Duration, Instant},
};

/// The time in which a program that has the channel may start.
#[cfg(any(unix, windows))]
const STARTING: Duration = Duration::from_secs(2);

#[cfg(any(unix, windows))]
pub(crate) fn run(command: &Command, output: &mut Output) -> Result<(), Failure> {
    match command {
        Command::Echo(arguments) => echo::run(arguments, output),
        Command::Publish(arguments) => publish::run(arguments, output),
        Command::Info(arguments) => info::run(arguments, output),
        Command::Derive(arguments) => derive::run(arguments, output),
        Command::Plot(arguments) => plot::run(arguments),
        Command::Emitting(arguments) => emitting::run(arguments, output),
        #[cfg(feature = "watch")]
        Command::Watch(arguments) => watch::run(arguments),
        #[cfg(feature = "files")]
        Command::Record(arguments) => record::run(arguments, output),
        #[cfg(feature = "files")]
        Command::Replay(arguments) => replay::run(arguments, output),
    }
}

/// Refuses a query, and values of parameters, that cannot be read, before the command waits for a channel.
#[cfg(any(unix, windows))]
fn check_wishes(query: Option<&str>, values: Option<&str>) -> Result<(), Failure> {
    query.map(Query::parse).transpose().map_err(|error| Failure::usage(error.to_string()).about("--query"))?;
    values.map(parameters::of).transpose().map(drop)
}

/// A sink that gets only what a query wants, and asks for values of parameters, if these are given.
#[cfg(any(unix, windows))]
fn asking(sink: SinkBuilder, query: Option<&str>, values: Option<&str>) -> Result<SinkBuilder, Failure> {
    let sink = match query {
        Some(query) => sink.query(query).map_err(|error| Failure::usage(error.to_string()).about("--query"))?,
        None => sink,
    };
    Ok(match values {
        Some(values) => sink.parameters_of(parameters::of(values)?),
        None => sink,
    })
}

/// The query of a channel's sinks: that of a derived channel, and behind it what this program asks for.
#[cfg(any(unix, windows))]
fn whole_query(channel: &Channel, own: Option<&str>) -> Option<String> {
    let own = own.and_then(|own| Query::parse(own).and_then(|own| own.of(channel.query())).ok());
    own.as_ref().or(channel.query()).map(ToString::to_string)
}

/// A failure of a query, whose error names a place in the whole of it.
#[cfg(any(unix, windows))]
fn about_query(failure: Failure, whole: Option<&str>) -> Failure {
    match whole.filter(|whole| whole.contains(" || ")) {
        Some(whole) => failure.hint(format!("behind that of the channel, the whole query is: {whole}")),
        None => failure,
    }
}

/// The type of a channel.
///
/// # Errors
/// If the channel cannot be opened, or has no type.
#[cfg(any(unix, windows))]
pub(crate) fn format_of(id: &str) -> Result<Format, Failure> {
    let node = Node::new()?;
    let channel = open_at(&node, id)?;
    let any = || Failure::data(format!("{} has no type: it accepts records of any type", shown(id)));
    channel.format().ok_or_else(|| any().hint("`isoform echo` shows its events"))
}

/// How many sinks of a channel have this query.
#[cfg(any(unix, windows))]
pub(crate) fn sharing(id: &str, query: &Query) -> Result<usize, Failure> {
    let node = Node::new()?;
    let channel = open_at(&node, id)?;
    // Those of a derived channel have its query in front.
    let text = query.of(channel.query())?.to_string();
    let info = channel.info(info::PATIENCE)?;
    let queries = info.sources().flat_map(|(_, source)| &source.queries);
    Ok(queries.filter(|query| query.text == text).map(|query| query.sinks as usize).sum())
}

#[cfg(not(any(unix, windows)))]
pub(crate) fn sharing(_: &str, _: &isoform_query::Query) -> Result<usize, Failure> {
    Err(elsewhere())
}

/// The hint for a host without a certificate.
#[cfg(any(unix, windows))]
const NO_CERTIFICATE: &str = "one of your hosts has an authority (`isoform keys init`); `isoform keys issue HOST` there makes a \
                              certificate for this host, and `isoform keys install FILE` here installs it";

/// A node as the options say.
#[cfg(any(unix, windows))]
fn node(network: &Network) -> Result<Node, Failure> {
    build(node_builder(network))
}

/// If a node cannot be as the options say, the command line is at fault.
#[cfg(any(unix, windows))]
fn build(node: NodeBuilder) -> Result<Node, Failure> {
    node.build().map_err(|error| match error.code() {
        Code::Insecure => Failure::usage(error.to_string()).hint(NO_CERTIFICATE),
        _ => Failure::usage(error.to_string()),
    })
}

#[cfg(any(unix, windows))]
fn node_builder(network: &Network) -> NodeBuilder {
    let node = Node::builder().insecure(network.insecure).admit_anyone(network.admit_anyone);
    let node = node.tls_on_loopback(network.tls_on_loopback);
    let node = match &network.rules {
        Some(file) => node.rules(file),
        None => node,
    };
    let node = network.identity.iter().fold(node, NodeBuilder::identity);
    let node = network.identity_key.iter().fold(node, NodeBuilder::identity_key);
    let node = network.trust.iter().fold(node, NodeBuilder::trust).trust_platform(network.trust_platform);
    let node = network.trust_name.iter().fold(node, NodeBuilder::trust_name);
    network.revoked.iter().fold(node, NodeBuilder::revoked)
}

/// Opens a channel by its id. Its program may have been started together with this process, and may not be ready yet.
#[cfg(any(unix, windows))]
fn open_at(node: &Node, id: &str) -> Result<Channel, Failure> {
    let until = Instant::now() + STARTING;
    loop {
        match node.open(id) {
            Err(error) if may_come(&error) && Instant::now() < until => sleep(stop::LOOK),
            opened => return opened.map_err(|error| cannot_open(id, error)),
        }
    }
}

/// Whether the error may be gone once the program that has the channel has started.
#[cfg(any(unix, windows))]
fn may_come(error: &Error) -> bool {
    matches!(error.code(), Code::Unreachable | Code::Deadline | Code::NoSuchChannel)
}

/// An id as messages show it: without its key, which is a secret.
#[cfg(any(unix, windows))]
fn shown(id: &str) -> String {
    match id.parse::<ChannelId>() {
        Ok(id) => id.without_key().to_string(),
        Err(_) => id.split_once('?').map_or_else(|| id.into(), |(id, _)| format!("{id}?..")),
    }
}

#[cfg(any(unix, windows))]
fn cannot_open(id: &str, error: Error) -> Failure {
    let shown = shown(id);
    let has_identity = || id.parse::<ChannelId>().is_ok_and(|id| id.identity().is_some());
    let hint = match error.code() {
        Code::Address if id.starts_with("iso://unix:") => Some("at a Unix socket, it is iso+unix:///PATH/CHANNEL"),
        Code::Address if !id.contains("://") => Some(
            "a channel is named iso://HOST:PORT/CHANNEL or iso+unix:///PATH/CHANNEL; `isoform emitting --ids NAME` prints those of programs that emit",
        ),
        Code::Address => Some("a channel is named iso://HOST:PORT/CHANNEL or iso+unix:///PATH/CHANNEL"),
        Code::Unreachable | Code::Deadline => {
            Some("check the address, and whether a program that has the channel open is running there")
        }
        Code::Insecure => Some(NO_CERTIFICATE),
        Code::NotAdmitted => Some(
            "`isoform pub --with-key` prints an id that other users may join with; ISOFORM_KEY sets one key for several",
        ),
        Code::Forbidden => {
            Some("the rules of one of the two nodes do not allow it: `isoform info` shows what a node refuses")
        }
        // That says enough.
        Code::Handshake if error.path().ends_with("tls") => None,
        Code::Handshake => Some("the program that listens there does not speak the protocol of channels"),
        Code::NoSuchChannel if has_identity() => {
            Some("without /IDENTITY behind its name, the id finds the channel that has this name now")
        }
        Code::NoSuchChannel => Some(
            "check the name: the program that creates a channel prints its id; or wait until it has created the channel",
        ),
        _ => None,
    };
    let failure = match error.class() {
        _ if error.code() == Code::NoSuchChannel => {
            Failure::usage(format!("cannot open {shown}: no such channel there"))
        }
        Class::Usage => Failure::usage(error.to_string()),
        _ => Failure::usage(not_open(&shown, error)),
    };
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// What to say of a channel that cannot be opened, with its id once.
#[cfg(any(unix, windows))]
fn not_open(shown: &str, error: Error) -> String {
    let path = error.path().to_string();
    let error = error.at(path.strip_prefix(shown).map_or(&*path, |rest| rest.trim_start_matches('.')));
    format!("cannot open {shown}: {error}")
}

/// The first digits of a node's id, which distinguish it well enough for a reader.
#[cfg(any(unix, windows))]
pub(crate) fn short(node: NodeId) -> String {
    node.to_string()[..8].into()
}

#[cfg(not(any(unix, windows)))]
pub(crate) fn run(_: &Command, _: &mut Output) -> Result<(), Failure> {
    Err(elsewhere())
}

#[cfg(not(any(unix, windows)))]
pub(crate) fn format_of(_: &str) -> Result<Format, Failure> {
    Err(elsewhere())
}

/// The failure on other systems.
#[cfg(not(any(unix, windows)))]
pub(crate) fn elsewhere() -> Failure {
    Failure::usage("channels are available on Unix and Windows only")
        .hint("streams work on all systems: see `isoform help dump`")
}
