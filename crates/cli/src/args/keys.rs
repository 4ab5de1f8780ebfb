//! The arguments of `isoform keys`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Make and show the certificates with which nodes speak TLS to other machines
///
/// A node that has a certificate speaks TLS at all TCP addresses beyond this machine. It accepts nodes whose certificate is by
/// the same authority. `init` makes an authority, for you alone, and a certificate for this host. `issue` makes one more, for
/// another host or person. All lie in your configuration (~/.config/isoform), where nodes find them. They read them again when they
/// change.
///
/// Existing certificates in PEM files do as well: identity.pem has the certificate, those that lead to its authority, its key,
/// and the authority's own certificate; revoked.pem has revocation lists. The variable ISOFORM_IDENTITY names another file than
/// identity.pem, and the libraries have options.
#[derive(Args)]
#[command(after_help = "Examples:
  isoform keys init
  isoform keys issue b --host b.cluster.example
  scp b.pem b: && ssh b isoform keys install b.pem
  isoform keys show
  isoform keys revoke b")]
pub(crate) struct Keys {
    #[command(subcommand)]
    pub(crate) what: What,
}

#[derive(Subcommand)]
pub(crate) enum What {
    /// Make an authority of your own, and a certificate for this host
    Init {
        /// The name of this host; by default the one that it has
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
    },
    /// Make a certificate for another host or person, as one file to copy there
    Issue(Issue),
    /// Put a file of `issue` where the nodes of this user find it
    Install {
        /// The file; - is standard input
        file: PathBuf,
    },
    /// Show the certificate of this user's nodes, and what they trust
    Show,
    /// Revoke the certificates of a host or person, in the list revoked.pem, which is for all hosts
    Revoke {
        /// The name that was given to `issue`
        name: String,
    },
}

#[derive(Args)]
pub(crate) struct Issue {
    /// The name of the host or person, which rules can refer to
    pub(crate) name: String,
    /// A name under which others dial the host; can be repeated
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Vec<String>,
    /// How long it is valid
    #[arg(long, value_name = "DAYS", default_value_t = 365, value_parser = clap::value_parser!(u32).range(1..36500))]
    pub(crate) days: u32,
    /// The file; by default NAME.pem
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}
