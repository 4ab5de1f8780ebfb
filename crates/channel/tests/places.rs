//! The addresses that nodes tell each other, on this machine. `tests/hosts` has several.
#![cfg(any(unix, windows))]

use isoform::Code;
use isoform_channel::{Address, ChannelId, Node};
use std::net::TcpListener;
use std::time::Duration;

fn is_wildcard(address: &Address) -> bool {
    matches!(address, Address::Tcp(at) if at.ip().is_unspecified())
}

#[test]
fn a_wildcard_is_told_to_nobody() {
    let node = Node::builder().listen("0.0.0.0:0").insecure(true).build().unwrap();
    assert!(!node.addresses().iter().any(is_wildcard), "{:?}", node.addresses());
    let channel = node.create_with("river", None).unwrap();
    let ids: Vec<ChannelId> = channel.ids().collect();
    assert!(!ids.is_empty());
    for id in ids {
        assert!(!is_wildcard(id.address()), "{id}");
        let other = Node::builder().insecure(true).build().unwrap();
        let there = other.open(id.to_string()).unwrap();
        let info = there.info(Duration::from_secs(5)).unwrap();
        assert!(info.members.iter().flat_map(|member| &member.addresses).all(|told| !told.contains("0.0.0.0")));
    }
}

#[test]
fn only_what_leads_to_a_node_can_be_advertised() {
    for address in ["0.0.0.0:7", "[::]:7", "nowhere"] {
        let error = Node::builder().advertise(address).build().map(drop).unwrap_err();
        assert_eq!(error.code(), Code::Address);
    }
    let node = Node::builder().listen("127.0.0.1:0").advertise("gate:0").advertise("[fd00::7]:7000").build().unwrap();
    let [Address::Host(name, port), Address::Tcp(_)] = &node.addresses()[..] else { panic!("{:?}", node.addresses()) };
    assert!(name == "gate" && *port != 0);
}

#[test]
fn a_channel_is_found_at_any_address_of_its_id() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (node, other) = (Node::new().unwrap(), Node::new().unwrap());
    let channel = node.create_with("river", None).unwrap();
    let id = channel.id();
    let elsewhere = ChannelId::new(Address::Tcp(gone), "river", id.identity()).unwrap();
    let several = elsewhere.also(other.addresses()[0].clone()).unwrap().also(id.address().clone()).unwrap();
    assert_eq!(Node::new().unwrap().open(several.to_string()).unwrap().name(), "river");
    // An address that may not be dialed stands in nobody's way, unless there is no other.
    let far: Address = "192.0.2.1:7000".parse().unwrap();
    let beyond = ChannelId::new(far.clone(), "river", id.identity()).unwrap();
    assert_eq!(Node::new().unwrap().open(beyond.to_string()).map(drop).unwrap_err().code(), Code::Insecure);
    let both = beyond.also(id.address().clone()).unwrap();
    let opened = Node::new().unwrap().open(both.to_string()).unwrap();
    assert_eq!(opened.name(), "river");
}
