//! The arguments of `isoform keys`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Make and show the certificates with which nodes speak TLS to other machines
///
/// A node that has a certificate speaks TLS at all TCP addresses beyond this machine. It accepts only nodes whose certificate
/// was issued by the same authority. Run `init` on one host: it makes an authority, for you alone, and a certificate for that host.
/// Run `issue` on the same host, once for each other host or person, and `install` on the other hosts. The files are in your
/// configuration (~/.config/isoform), where nodes find them. Running nodes read changed files again.
///
/// You can also use existing certificates in PEM files. The file identity.pem contains the certificate, the intermediate
/// certificates, its private key, and the authority's own certificate. The file revoked.pem contains revocation lists. The
/// variable ISOFORM_IDENTITY or an option of the libraries names another file instead of identity.pem.
#[derive(Args)]
#[command(after_help = "Examples:
  isoform keys init
  isoform keys issue birch --host birch.cluster.example
  scp birch.pem birch: && ssh birch isoform keys install birch.pem && rm birch.pem
  isoform keys show
  isoform keys revoke birch")]
pub(crate) struct Keys {
    #[command(subcommand)]
    pub(crate) what: What,
}

#[derive(Subcommand)]
pub(crate) enum What {
    /// Make an authority of your own, and a certificate for this host; on one of your hosts only
    Init {
        /// The name under which others dial this host; by default its host name
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
    },
    /// Make a certificate for another host or person, as a file to install there
    Issue(Issue),
    /// Install a file that `issue` made, for all nodes of this user on this host
    Install {
        /// The file; - is standard input
        file: PathBuf,
    },
    /// Show the certificate of this user's nodes, and the authorities that they trust
    Show,
    /// Revoke the certificates of a host or person: writes revoked.pem, which you copy to all hosts
    Revoke {
        /// The name that was given to `issue`
        name: String,
    },
}

#[derive(Args)]
pub(crate) struct Issue {
    /// The name under which others dial the host, or the name of a person; rules can refer to it
    pub(crate) name: String,
    /// A further name under which others dial the host; can be repeated
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Vec<String>,
    /// The days for which the certificate is valid
    #[arg(long, value_name = "DAYS", default_value_t = 365, value_parser = clap::value_parser!(u32).range(1..36500))]
    pub(crate) days: u32,
    /// The file to write; by default NAME.pem
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}
