//! How a node protects what it exchanges with other machines: see [`NodeBuilder::tls`](crate::NodeBuilder::tls).

use crate::transport::Transports;
use isoform::Result;
use std::path::PathBuf;
#[cfg(feature = "tls")]
use {
    crate::transport::encrypting,
    crate::transport::tls::{Certificates, Tls, check},
};
#[cfg(not(feature = "tls"))]
use {
    crate::transport::usual,
    isoform::{Code, Error},
};

/// The certificates of a node. By default: those of the user, if there are any.
#[cfg(feature = "tls")]
#[derive(Clone, Debug, Default)]
pub(super) struct Protection(Option<Tls>);

#[cfg(feature = "tls")]
impl Protection {
    pub(super) fn set(&mut self, tls: Tls) {
        self.0 = Some(tls);
    }

    pub(super) fn set_identity(&mut self, file: PathBuf) {
        self.0 = Some(self.said().certificate(file));
    }

    pub(super) fn set_key(&mut self, file: PathBuf) {
        self.0 = Some(self.said().key(file));
    }

    pub(super) fn trust(&mut self, file: PathBuf) {
        self.0 = Some(self.said().trust(file));
    }

    pub(super) fn trust_platform(&mut self, yes: bool) {
        if yes {
            self.0 = Some(self.said().trust_platform());
        }
    }

    pub(super) fn trust_name(&mut self, name: String) {
        self.0 = Some(self.said().name(name));
    }

    pub(super) fn set_revoked(&mut self, file: PathBuf) {
        self.0 = Some(self.said().revoked(file));
    }

    pub(super) fn set_loopback(&mut self, yes: bool) {
        if yes || self.0.is_some() {
            self.0 = Some(self.said().covering_loopback(yes));
        }
    }

    fn said(&mut self) -> Tls {
        self.0.take().unwrap_or_else(Tls::of_this_user)
    }

    /// The transports of the node. Certificates that the program has named must be usable.
    pub(super) fn transports(self, insecure: bool) -> Result<Transports> {
        if let Some(tls) = &self.0 {
            check(tls)?;
        }
        Ok(encrypting(Certificates::new(self.0.unwrap_or_else(Tls::of_this_user)), insecure))
    }
}

/// Without TLS, only whether it was asked for.
#[cfg(not(feature = "tls"))]
#[derive(Clone, Debug, Default)]
pub(super) struct Protection(bool);

#[cfg(not(feature = "tls"))]
impl Protection {
    pub(super) fn set_identity(&mut self, _: PathBuf) {
        self.0 = true;
    }

    pub(super) fn set_key(&mut self, _: PathBuf) {
        self.0 = true;
    }

    pub(super) fn trust(&mut self, _: PathBuf) {
        self.0 = true;
    }

    pub(super) fn trust_platform(&mut self, yes: bool) {
        self.0 |= yes;
    }

    pub(super) fn trust_name(&mut self, _: String) {
        self.0 = true;
    }

    pub(super) fn set_revoked(&mut self, _: PathBuf) {
        self.0 = true;
    }

    pub(super) fn set_loopback(&mut self, yes: bool) {
        self.0 |= yes;
    }

    pub(super) fn transports(self, _: bool) -> Result<Transports> {
        match self.0 {
            true => {
                Err(Error::new(Code::Handshake).at("tls").expected("a program with TLS").found("one built without it"))
            }
            false => Ok(usual()),
        }
    }
}
