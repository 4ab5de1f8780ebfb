//! TLS on TCP (`spec/channel.md`, "TLS"): a transport that wraps another one, for addresses beyond this machine.
//!
//! | file | |
//! |---|---|
//! | `session` | a connection: detects TLS, makes the handshake, seals and opens |
//! | `handshake`, `exporter`, `records` | the parts of TLS, around rustls |
//! | `certificates` | the files of a node, read again when they change |
//! | `trust`, `der` | which certificates are accepted, and what they say |
//! | `words` | errors that say what to do |
//!
//! The handshake is part of reading a connection. So it needs no thread, and a slow one counts as a slow greeting: the same
//! limits of number and time hold for both.

mod certificates;
mod der;
mod exporter;
mod handshake;
mod records;
mod session;
#[cfg(test)]
mod tests;
mod trust;
mod words;

pub use certificates::Tls;
pub(crate) use certificates::{Certificates, check};

use super::address::Address;
use super::{Awaited, Connection, Door, Ready, Transport};
use isoform::Result;
use rustls::pki_types::{ServerName, UnixTime};
use session::{Session, Shared};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Instant;

/// A transport that speaks TLS beyond this machine.
#[derive(Debug)]
pub(crate) struct Encrypting {
    pub(crate) inner: Arc<dyn Transport>,
    pub(crate) certificates: Arc<Certificates>,
    /// Whether the program allows connections without TLS: then it dials without it, and accepts both.
    pub(crate) insecure: bool,
}

impl Transport for Encrypting {
    fn serves(&self, address: &Address) -> bool {
        self.inner.serves(address)
    }

    fn listen(&self, address: &Address) -> Result<(Address, Box<dyn Door>)> {
        let (at, inner) = self.inner.listen(address)?;
        if !self.certificates.cover(address) {
            return Ok((at, inner));
        }
        let (certificates, insecure) = (self.certificates.clone(), self.insecure);
        Ok((at, Box::new(Listening { inner, certificates, insecure })))
    }

    fn dial(&self, address: &Address, deadline: Instant) -> Result<Box<dyn Door>> {
        if self.insecure || !self.certificates.cover(address) {
            return self.inner.dial(address, deadline);
        }
        // Before the other side has any work: a certificate that cannot be used.
        self.certificates.valid()?;
        let (inner, certificates) = (self.inner.dial(address, deadline)?, self.certificates.clone());
        Ok(Box::new(Dialing { inner, certificates, to: name(address) }))
    }

    fn protects(&self, address: &Address) -> bool {
        self.serves(address) && self.certificates.exist()
    }

    fn look_after(&self) -> Result<()> {
        self.certificates.look_after(UnixTime::now())
    }
}

/// Stands for every numeric address, as none is checked.
const NUMBER: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// The name that the other side's certificate must have, if it was dialed by one.
fn name(address: &Address) -> ServerName<'static> {
    match address {
        Address::Host(name, _) => ServerName::try_from(name.clone()).unwrap_or(ServerName::IpAddress(NUMBER.into())),
        _ => ServerName::IpAddress(NUMBER.into()),
    }
}

#[derive(Debug)]
struct Listening {
    inner: Box<dyn Door>,
    certificates: Arc<Certificates>,
    insecure: bool,
}

impl Door for Listening {
    fn next(&mut self) -> Result<Option<Box<dyn Connection>>> {
        let Some(connection) = self.inner.next()? else { return Ok(None) };
        // A program of this machine, or one that comes through a tunnel, speaks as it does on loopback.
        let may_be_plain = connection.peer().parse().is_ok_and(|peer: Address| !self.certificates.cover(&peer));
        let session = Session::accept(connection, &self.certificates, may_be_plain || self.insecure);
        self.certificates.watch(&session);
        Ok(Some(Box::new(Shared(session))))
    }

    fn awaits(&self) -> Awaited<'_> {
        self.inner.awaits()
    }

    fn tell(&mut self, ready: Ready) {
        self.inner.tell(ready);
    }
}

#[derive(Debug)]
struct Dialing {
    inner: Box<dyn Door>,
    certificates: Arc<Certificates>,
    to: ServerName<'static>,
}

impl Door for Dialing {
    fn next(&mut self) -> Result<Option<Box<dyn Connection>>> {
        let Some(connection) = self.inner.next()? else { return Ok(None) };
        // A name may be one of this machine.
        if connection.peer().parse().is_ok_and(|peer: Address| !self.certificates.cover(&peer)) {
            return Ok(Some(connection));
        }
        let session = Session::dial(connection, &self.certificates, self.to.clone())?;
        self.certificates.watch(&session);
        Ok(Some(Box::new(Shared(session))))
    }

    fn awaits(&self) -> Awaited<'_> {
        self.inner.awaits()
    }

    fn tell(&mut self, ready: Ready) {
        self.inner.tell(ready);
    }
}
