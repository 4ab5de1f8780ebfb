//! Where other nodes reach this one: the addresses that it tells them.
//!
//! By default these are the addresses at which it listens. In place of a wildcard, which leads nowhere from elsewhere, they
//! are those of this machine's interfaces, and those at which others have reached it. The program may state others.

use crate::transport::address::Address;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The most interfaces whose addresses are told.
const INTERFACES: usize = 6;
/// The most addresses at which a node begins to listen by itself.
const OWN_ACCORD: usize = 4;

/// The addresses of a node.
#[derive(Default)]
pub(crate) struct Places {
    /// Those that the program states, if it does.
    advertised: Vec<Address>,
    /// Those at which the node listens, as the program has said it, with their ports.
    listening: Vec<Address>,
    /// The addresses of this machine, for wildcards.
    interfaces: Vec<IpAddr>,
    /// Those at which others reach the node besides.
    found: Vec<Address>,
}

/// What follows from the address of this side of a connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Learned {
    /// Nothing new.
    Nothing,
    /// The node is reached at one address more, and listens there already.
    Found,
    /// Others would reach the node there, if it listened.
    Listen(Address),
}

impl Places {
    /// The places of a node that listens there, and the addresses that its program states. A port of 0 in these stands for
    /// that of the first address at which it listens.
    pub(crate) fn new(listening: Vec<Address>, advertised: Vec<Address>) -> Places {
        let port = listening.iter().find_map(port);
        let with_port = |address| match (address, port) {
            (Address::Host(name, 0), Some(port)) => Address::Host(name, port),
            (Address::Tcp(at), Some(port)) if at.port() == 0 => Address::Tcp((at.ip(), port).into()),
            (address, _) => address,
        };
        let advertised = advertised.into_iter().map(with_port).collect();
        let interfaces = if listening.iter().any(is_wildcard) { interfaces() } else { Vec::new() };
        Places { advertised, listening, interfaces, found: Vec::new() }
    }

    /// The addresses that the node tells others, those first that are of use to most.
    pub(crate) fn addresses(&self) -> Vec<Address> {
        let mut all: Vec<Address> = match self.advertised.is_empty() {
            true => self.found.iter().cloned().chain(self.listening.iter().flat_map(|at| self.meant(at))).collect(),
            false => {
                self.advertised.iter().chain(self.listening.iter().filter(|at| port(at).is_none())).cloned().collect()
            }
        };
        let mut at = 0;
        while at < all.len() {
            match all[..at].contains(&all[at]) {
                true => _ = all.remove(at),
                false => at += 1,
            }
        }
        all
    }

    /// The addresses that one at which the node listens stands for.
    fn meant(&self, listening: &Address) -> Vec<Address> {
        let Address::Tcp(at) = listening else { return vec![listening.clone()] };
        if !at.ip().is_unspecified() {
            return vec![listening.clone()];
        }
        let loopback = match at.ip() {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
        };
        let reached = self.interfaces.iter().filter(|ip| serves(at, **ip)).copied().chain([loopback]);
        reached.map(|ip| Address::Tcp((ip, at.port()).into())).collect()
    }

    /// A connection has this address on this side: where the other side sees the node, if it was accepted. A node that
    /// listens for this machine only, and has dialed another one, is not reached from there.
    pub(super) fn learn(&mut self, own: SocketAddr, is_dialed: bool) -> Learned {
        let ip = own.ip().to_canonical();
        if !self.advertised.is_empty() || !is_of_use_elsewhere(ip) {
            return Learned::Nothing;
        }
        let wildcard = self.listening.iter().find_map(|listening| match listening {
            Address::Tcp(at) if at.ip().is_unspecified() && serves(at, ip) => Some(at.port()),
            _ => None,
        });
        if let Some(port) = wildcard {
            let address = Address::Tcp((ip, port).into());
            if self.addresses().contains(&address) || self.found.len() >= INTERFACES {
                return Learned::Nothing;
            }
            self.found.push(address);
            return Learned::Found;
        }
        let is_there = |address: &Address| matches!(address, Address::Tcp(at) if at.ip() == ip);
        let is_told_to_listen = self.listening.iter().any(|address| !address.is_local());
        if !is_dialed || is_told_to_listen || self.found.iter().any(is_there) || self.found.len() >= OWN_ACCORD {
            return Learned::Nothing;
        }
        Learned::Listen(Address::Tcp((ip, 0).into()))
    }

    /// The node listens at a further address.
    pub(super) fn listens(&mut self, address: Address) {
        self.found.push(address);
    }
}

/// The port of an address of TCP.
fn port(address: &Address) -> Option<u16> {
    match address {
        Address::Tcp(at) => Some(at.port()),
        Address::Host(_, port) => Some(*port),
        Address::Unix(_) => None,
    }
}

pub(crate) fn is_wildcard(address: &Address) -> bool {
    matches!(address, Address::Tcp(at) if at.ip().is_unspecified())
}

/// Whether a node that listens at a wildcard is reached at an address of this machine.
fn serves(wildcard: &SocketAddr, ip: IpAddr) -> bool {
    wildcard.is_ipv6() || ip.is_ipv4()
}

/// Whether other machines may reach this one at the address. Those of a single cable mean nothing without the name that the
/// other machine has for it.
fn is_of_use_elsewhere(ip: IpAddr) -> bool {
    let is_of_a_cable = match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    };
    !is_of_a_cable && !ip.is_loopback() && !ip.is_unspecified() && !ip.is_multicast()
}

/// The addresses of this machine's interfaces. Those that cannot be found out are found when others use them.
fn interfaces() -> Vec<IpAddr> {
    let all = if_addrs::get_if_addrs().unwrap_or_default();
    let ips = all.iter().filter(|interface| interface.is_oper_up()).map(if_addrs::Interface::ip);
    ips.filter(|&ip| is_of_use_elsewhere(ip)).take(INTERFACES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(texts: &[&str]) -> Vec<Address> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn told(places: &Places) -> Vec<String> {
        places.addresses().iter().map(ToString::to_string).collect()
    }

    /// The places of a node on a machine with two interfaces.
    fn places(listening: &[&str], advertised: &[&str]) -> Places {
        let mut places = Places::new(parsed(listening), parsed(advertised));
        places.interfaces = vec!["10.0.0.1".parse().unwrap(), "fd00::1".parse().unwrap()];
        places
    }

    #[test]
    fn a_wildcard_is_never_told() {
        let v4 = told(&places(&["0.0.0.0:7", "unix:/x"], &[]));
        assert_eq!(v4, ["tcp:10.0.0.1:7", "tcp:127.0.0.1:7", "unix:/x"]);
        assert_eq!(told(&places(&["[::]:7"], &[])), ["tcp:10.0.0.1:7", "tcp:[fd00::1]:7", "tcp:[::1]:7"]);
    }

    #[test]
    fn the_address_at_which_a_node_was_reached_is_told_first() {
        let mut places = places(&["0.0.0.0:7"], &[]);
        assert_eq!(places.learn("10.0.0.1:7".parse().unwrap(), false), Learned::Nothing);
        for (own, learned) in [("[::ffff:10.9.9.9]:7", Learned::Found), ("10.9.9.9:50000", Learned::Nothing)] {
            assert_eq!(places.learn(own.parse().unwrap(), false), learned);
        }
        for useless in ["127.0.0.1:7", "169.254.1.1:7", "[fe80::1]:7", "[::]:7", "[fd00::9]:7"] {
            assert_eq!(places.learn(useless.parse().unwrap(), true), Learned::Nothing, "{useless}");
        }
        assert_eq!(told(&places), ["tcp:10.9.9.9:7", "tcp:10.0.0.1:7", "tcp:127.0.0.1:7"]);
    }

    #[test]
    fn a_node_of_this_machine_alone_that_dials_another_listens_there() {
        let mut places = places(&["127.0.0.1:7", "unix:/x"], &[]);
        let own: SocketAddr = "10.0.0.1:50000".parse().unwrap();
        assert_eq!(places.learn(own, false), Learned::Nothing);
        let Learned::Listen(at) = places.learn(own, true) else { panic!("it does not listen") };
        assert_eq!(at.to_string(), "tcp:10.0.0.1:0");
        places.listens("10.0.0.1:8".parse().unwrap());
        assert_eq!(places.learn(own, true), Learned::Nothing);
        assert_eq!(told(&places), ["tcp:10.0.0.1:8", "tcp:127.0.0.1:7", "unix:/x"]);
        for ip in 2..5 {
            assert_ne!(places.learn(([10, 0, 0, ip], 1).into(), true), Learned::Nothing);
            places.listens(Address::Tcp(([10, 0, 0, ip], 8).into()));
        }
        assert_eq!(places.learn(([10, 0, 0, 9], 1).into(), true), Learned::Nothing, "there is an end to it");
    }

    #[test]
    fn a_program_that_says_where_to_listen_or_what_to_tell_is_obeyed() {
        let own: SocketAddr = "10.0.0.1:50000".parse().unwrap();
        assert_eq!(places(&["192.168.0.1:7"], &[]).learn(own, true), Learned::Nothing);
        for wildcard in [&["127.0.0.1:7", "unix:/x"], &["0.0.0.0:7", "unix:/x"]] {
            let mut places = places(wildcard, &["gate:9000", "10.9.9.9:0"]);
            assert_eq!(places.learn(own, true), Learned::Nothing);
            assert_eq!(told(&places), ["tcp:gate:9000", "tcp:10.9.9.9:7", "unix:/x"]);
        }
    }
}
