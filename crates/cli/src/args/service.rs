//! The arguments of `isoform serve` and `isoform formats`.

use super::assignment;
use clap::{Args, Subcommand};
use isoform_service::names::Rule;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

/// The variable with the URLs of services, of which any is sufficient.
pub(crate) const VARIABLE: &str = "ISOFORM_FORMATS";
/// The files with the secret that services ask for, with the authorities that are trusted, and with the certificate that is shown.
pub(crate) const SECRET: &str = "ISOFORM_FORMATS_SECRET";
pub(crate) const TRUST: &str = "ISOFORM_FORMATS_TRUST";
pub(crate) const CERTIFICATE: &str = "ISOFORM_FORMATS_CERTIFICATE";
/// The service that is asked if nobody names another one.
pub(crate) const LOCAL: &str = "http://127.0.0.1:7460";

/// Serve formats to other programs over HTTP
///
/// A program that meets an unknown format asks this server for its description. The server also keeps names: a name has
/// numbered versions and a rule, by which the server refuses a version that others could not read. `isoform formats` registers
/// and shows what the server has.
///
/// The server listens on this machine only, without options. To serve other machines, give it an address with --listen, a
/// certificate, and a way to know who may write: a secret, or the authorities of the writers' certificates.
#[derive(Args)]
#[command(after_help = "Examples:
  isoform serve
  isoform serve --store river.redb --listen 127.0.0.1:7461 --peer http://127.0.0.1:7460
  isoform serve --listen 0.0.0.0:7460 --certificate server.pem --write-secret writers.txt
  isoform serve --listen 0.0.0.0:7460 --insecure --read-only

Without --store, the store is isoform/formats.redb in your folder of data (~/.local/share).
A replica is also a backup: `isoform serve --store copy.redb --peer URL --names-from URL --once`.")]
pub(crate) struct Serve {
    /// The address where the server listens; port 0 is any free one
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7460", value_parser = address)]
    pub(crate) listen: SocketAddr,
    /// The file that keeps formats and names; it is made if it is not there
    #[arg(long, value_name = "FILE")]
    pub(crate) store: Option<PathBuf>,
    /// Another server, from which this one copies the formats that it lacks; can be repeated
    #[arg(long, value_name = "URL")]
    pub(crate) peer: Vec<String>,
    /// The server that may change names; this one copies them from there
    #[arg(long, value_name = "URL")]
    pub(crate) names_from: Option<String>,
    /// Copy what the peers have now, and end
    #[arg(long)]
    pub(crate) once: bool,
    /// A PEM file with the server's certificate, those between it and its authority, and its private key
    #[arg(long, value_name = "FILE")]
    pub(crate) certificate: Option<PathBuf>,
    /// A PEM file with the private key, if it is not in the file of the certificate
    #[arg(long, value_name = "FILE", requires = "certificate")]
    pub(crate) key: Option<PathBuf>,
    /// A PEM file with authorities: clients with a certificate of theirs may write
    #[arg(long, value_name = "FILE", requires = "certificate")]
    pub(crate) clients: Option<PathBuf>,
    /// A file with a secret of at least 16 characters, which writers show
    #[arg(long, value_name = "FILE")]
    pub(crate) write_secret: Option<PathBuf>,
    /// A file with a secret, which readers show
    #[arg(long, value_name = "FILE")]
    pub(crate) read_secret: Option<PathBuf>,
    /// A file with the secret that this server shows to its peers
    #[arg(long, value_name = "FILE")]
    pub(crate) peer_secret: Option<PathBuf>,
    /// A PEM file with the authorities of the peers' certificates, instead of those of the system
    #[arg(long, value_name = "FILE")]
    pub(crate) peer_trust: Option<PathBuf>,
    /// Refuse all changes by clients
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Serve other machines without TLS: anyone on the way can read and change what is sent
    #[arg(long)]
    pub(crate) insecure: bool,
}

/// Register formats at a format service, and look at what it has
///
/// The service is `isoform serve`, on this machine without --server. Each command that names a SOURCE takes what all other
/// commands take; see `isoform help sources`.
#[derive(Args)]
#[command(after_help = "Examples:
  isoform serve &
  printf 'record River\\n  step   int\\n  depth  double  unit=\"m\"\\n' > river.shape
  isoform formats put --name river river.shape
  isoform formats ls
  isoform formats ls dep
  isoform formats versions river
  isoform formats get name:river
  isoform formats check river river.shape
  isoform formats export formats-tree")]
pub(crate) struct Formats {
    #[command(flatten)]
    pub(crate) service: Service,
    #[command(subcommand)]
    pub(crate) what: What,
}

/// Which service, and how to speak to it.
#[derive(Args)]
pub(crate) struct Service {
    /// The URL of a service; the first of several is the one that stores
    #[arg(long, value_name = "URL", global = true, env = VARIABLE, hide_env_values = true, value_delimiter = ',', default_value = LOCAL)]
    pub(crate) server: Vec<String>,
    /// A file with the secret that the service asks for
    #[arg(long, value_name = "FILE", global = true, env = SECRET, hide_env_values = true)]
    pub(crate) secret: Option<PathBuf>,
    /// A PEM file with the authorities of the service's certificate, instead of those of the system
    #[arg(long, value_name = "FILE", global = true, env = TRUST)]
    pub(crate) trust: Option<PathBuf>,
    /// A PEM file with a certificate and its private key, for a service that asks for one
    #[arg(long, value_name = "FILE", global = true, env = CERTIFICATE)]
    pub(crate) certificate: Option<PathBuf>,
}

#[derive(Subcommand)]
pub(crate) enum What {
    /// Register the formats of a source, and with --name a version of a name
    Put {
        /// A stream, shapes, a channel
        source: String,
        #[command(flatten)]
        version: Version,
        /// The name that gets a new version, unless its latest one is the same
        #[arg(long)]
        name: Option<String>,
        /// The rule of the name: NONE, BACKWARD, FORWARD, FULL, or one of the last three with _TRANSITIVE
        #[arg(long, requires = "name", ignore_case = true, value_parser = rule)]
        rule: Option<Rule>,
        /// Print JSON, one object on each line
        #[arg(long)]
        json: bool,
    },
    /// Show a format or a version, or write its description to a file
    Get {
        /// The token of a format, or name:NAME, or name:NAME@VERSION
        format: String,
        /// Print the format as JSON, in the form that `put` and the service take
        #[arg(long)]
        json: bool,
        /// Write the description, as the service sends it, to a file
        #[arg(long, short, value_name = "FILE", conflicts_with = "json")]
        output: Option<PathBuf>,
    },
    /// List the formats of the service
    Ls {
        /// Only formats whose name, or the name of a field, contains this text, or whose token begins with these digits (four or more)
        #[arg(conflicts_with_all = ["name", "field"])]
        text: Option<String>,
        /// Only formats of this name
        #[arg(long)]
        name: Option<String>,
        /// Only formats with a field of this name or path
        #[arg(long)]
        field: Option<String>,
        /// Print JSON, one object on each line
        #[arg(long)]
        json: bool,
    },
    /// List the versions of a name; without a name, list the names
    Versions {
        name: Option<String>,
        /// Print JSON, one object on each line
        #[arg(long)]
        json: bool,
    },
    /// Check whether a name's rule accepts the formats of a source as its next version; nothing is stored in the name
    ///
    /// The exit status is 1 if the rule refuses them, and 2 if the service could not be asked. For a refusal, the command shows for each pair of formats which field is at fault. A name without versions accepts everything: the command says so on standard error, and which names are written almost the same.
    Check {
        name: String,
        /// A stream, shapes, a channel
        source: String,
        #[command(flatten)]
        version: Version,
        /// Print JSON, one object on each line
        #[arg(long)]
        json: bool,
    },
    /// Show what differs between two formats, and which can read the other
    Diff {
        /// The older one: any source, such as name:river@1
        old: String,
        /// The newer one
        new: String,
        /// Print JSON, one object on each line
        #[arg(long)]
        json: bool,
    },
    /// Write all formats to a folder that any web server can serve in place of this service
    Export { folder: PathBuf },
    /// Set the rule by which a name's next versions are compared with earlier ones
    Rule {
        name: String,
        #[arg(ignore_case = true, value_parser = rule)]
        rule: Rule,
    },
    /// Retire a version: it can still be read, but the rule does not count it any more
    Retire {
        name: String,
        version: u64,
        /// Retire the version even if the name has no other one
        #[arg(long)]
        yes: bool,
    },
    /// Say what a name and its fields mean, and who owns it
    About {
        name: String,
        /// What the records are
        text: Option<String>,
        /// Who answers for them
        #[arg(long)]
        owner: Option<String>,
        /// What a field means: depth='height of the water above the bed'; can be repeated
        #[arg(long, value_name = "FIELD=TEXT", value_parser = assignment)]
        field: Vec<(String, String)>,
    },
}

/// What readers of a new version accept, beside its formats.
#[derive(Args)]
pub(crate) struct Version {
    /// Lay shapes out for these machines; `isoform layout` lists them. By default for this one
    #[arg(long, value_name = "LAYOUT", value_delimiter = ',')]
    pub(crate) on: Vec<String>,
    /// Another name of a field, as in depth=d or Point.x=pos.x
    #[arg(long, value_name = "FIELD=NAME", value_parser = assignment)]
    pub(crate) alias: Vec<(String, String)>,
    /// The default of a field, as JSON: depth=0.5
    #[arg(long, value_name = "FIELD=JSON", value_parser = assignment)]
    pub(crate) default: Vec<(String, String)>,
    /// A field that becomes zero, null or empty if the sender lacks it
    #[arg(long, value_name = "FIELD")]
    pub(crate) default_zero: Vec<String>,
    /// A field that the sender must have
    #[arg(long, value_name = "FIELD")]
    pub(crate) required: Vec<String>,
}

/// An address that is written as a number, or the first one of a host.
fn address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    if text.parse::<u16>().is_ok() {
        return Err(format!("a port without an address; 127.0.0.1:{text} is for this machine"));
    }
    let found = text.to_socket_addrs().map_err(|_| "neither IP:PORT nor the name of a host and a port".to_owned())?;
    // A name of this machine has an address of each kind, and clients try both.
    let all: Vec<SocketAddr> = found.collect();
    all.iter()
        .find(|address| address.is_ipv4())
        .or(all.first())
        .copied()
        .ok_or_else(|| "a host without addresses".to_owned())
}

fn rule(text: &str) -> Result<Rule, String> {
    text.to_ascii_uppercase().parse().map_err(|error: isoform::Error| error.to_string())
}
