//! The listeners of a node, at the addresses that its program states. What the node tells others is in
//! [`places`](crate::drive::places).

use crate::transport::address::Address;
use crate::transport::{Door, Transports, serving};
use isoform::{Code, Error, Result};
use std::net::ToSocketAddrs;

/// The listeners of a node, and the addresses that stand for them.
#[derive(Default)]
pub(super) struct Listening {
    pub(super) listeners: Vec<Box<dyn Door>>,
    pub(super) addresses: Vec<Address>,
}

impl Listening {
    /// Listens at an address that is permitted. A name stands for all addresses of this machine that have it.
    pub(super) fn add(
        &mut self,
        transports: &Transports,
        address: &Address,
        permit: impl Fn(&Address) -> Result<()>,
    ) -> Result<()> {
        let Address::Host(name, port) = address else {
            permit(address)?;
            let at = self.listen(transports, address)?;
            self.addresses.push(at);
            return Ok(());
        };
        let unknown =
            |why: &dyn std::fmt::Display| Error::new(Code::Io).found(format_args!("looking up {name}: {why}"));
        let found = (&**name, *port).to_socket_addrs().map_err(|error| unknown(&error))?;
        let (mut port, mut here, mut elsewhere) = (*port, Vec::new(), None);
        for mut at in found {
            at.set_port(port);
            let address = Address::Tcp(at);
            permit(&address)?;
            match self.listen(transports, &address) {
                Ok(Address::Tcp(at)) => {
                    port = at.port();
                    here.push(Address::Tcp(at));
                }
                Ok(other) => here.push(other),
                Err(error) if error.code() == Code::Taken && !here.contains(&address) => return Err(error),
                Err(error) => elsewhere = elsewhere.or(Some(error)),
            }
        }
        match here.iter().all(Address::is_local) {
            _ if here.is_empty() => return Err(elsewhere.unwrap_or_else(|| unknown(&"it has no address"))),
            // Others have no use for a name that means their own machine.
            true => self.addresses.extend(here),
            false => self.addresses.push(Address::Host(name.clone(), port)),
        }
        Ok(())
    }

    fn listen(&mut self, transports: &Transports, address: &Address) -> Result<Address> {
        let (at, listener) = serving(transports, address)?.listen(address)?;
        self.listeners.push(listener);
        Ok(at)
    }
}

/// Parses an address that a program tells others.
pub(super) fn advertised(text: &str) -> Result<Address> {
    let address: Address = text.parse()?;
    match crate::drive::places::is_wildcard(&address) {
        true => Err(Error::new(Code::Address)
            .at("advertise")
            .expected("an address at which others reach this node")
            .found(text)),
        false => Ok(address),
    }
}
