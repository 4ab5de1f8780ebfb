//! What a node knows of bytes that come in pieces (`spec/channel.md`, "Bytes in pieces").

use super::host::{Guest, Host, output};
use isoform_channel_proto::{
    Action, Arrived, ConnId, Credentials, FrameKind, HEADER, Header, Key, Node, Policy, Settings, SinkKey, Submitted,
    Time, Wanted,
};
use isoform_core::{Code, FieldList, Machine};
use std::sync::Arc;

/// More than a connection has that this node has dialed.
const MANY: usize = 1_000;
/// How often the bytes of such a one may come in pieces before its link begins.
const PIECES: usize = 32;

/// A host with a sink, a guest with a source, and what the guest says when it submits an event of this length.
fn event(length: usize) -> (Host, SinkKey, Guest, Vec<u8>) {
    let mut host = Host::new(Settings::default());
    let mut guest = host.guest(Settings::default());
    let format = FieldList::new("Image").field("number", "integer", 8, 0).format(Machine::NATIVE, 8, 8).unwrap();
    let source = guest.node.add_source(guest.channel, Some(&format)).unwrap();
    let sink = host.node.add_sink(host.channel, Wanted::any(Policy::Block)).unwrap();
    host.talk(&mut guest).unwrap();
    let mut body: Arc<[u8]> = vec![1; length].into();
    assert_eq!(guest.node.submit(7, source, None, &mut body).unwrap(), Submitted::Done(0));
    let said = output(&mut guest.node, host.now, guest.id);
    (host, sink, guest, said)
}

/// The ends of the frames of an event.
fn ends(said: &[u8]) -> Vec<usize> {
    let mut at = 0;
    std::iter::from_fn(|| {
        let header = Header::parse(said[at..].first_chunk::<HEADER>()?).unwrap();
        at += header.extent();
        Some(at)
    })
    .collect()
}

/// What the host knows after each piece.
fn come(host: &mut Host, id: ConnId, said: &[u8], length: usize) -> Vec<Arrived> {
    let mut rest = Vec::new();
    let come = |piece: &[u8]| {
        rest.extend_from_slice(piece);
        let used = host.node.receive(host.now, id, &rest).unwrap();
        rest.drain(..used);
        host.node.arrived(id, &rest).unwrap()
    };
    said.chunks(length).map(come).collect()
}

#[test]
fn a_frame_and_each_part_of_an_event_is_whole_once() {
    // One event in a frame; one in parts, with padding behind the last.
    for length in [3_000, 200_001] {
        let (mut host, _, guest, said) = event(length);
        let before = host.node.arrived(guest.id, &[]).unwrap().frames;
        let (ends, mut at) = (ends(&said), 0);
        for arrived in come(&mut host, guest.id, &said, 100) {
            at = said.len().min(at + 100);
            let whole = ends.iter().filter(|&&end| end <= at).count();
            assert_eq!(arrived.frames - before, whole as u64, "after {at} bytes of {}", said.len());
            // Not even the header of the next frame may have come.
            let begun = ends.iter().rfind(|&&end| end <= at).map_or(at, |end| at - end);
            assert!(arrived.is_event || begun < HEADER || whole == 0 || at == said.len(), "after {at} bytes");
        }
    }
}

#[test]
fn an_event_that_no_sink_wants_is_none() {
    let (host, _, guest, said) = event(3_000);
    let at = ends(&said).into_iter().nth_back(1).unwrap_or(0);
    let event = &said[at..at + 100];
    assert_eq!(Header::parse(event.first_chunk().unwrap()).unwrap().kind, Some(FrameKind::Event));
    let mut other = event.to_vec();
    other[8..12].copy_from_slice(&99u32.to_le_bytes());
    let is_event = |said: &[u8]| host.node.arrived(guest.id, said).unwrap().is_event;
    assert_eq!([event, &other, &event[..HEADER - 1]].map(is_event), [true, false, false]);
    // What still comes for a sink that has left.
    let (mut host, sink, guest, said) = self::event(200_000);
    let part = ends(&said).into_iter().nth_back(2).unwrap();
    come(&mut host, guest.id, &said[..part], part);
    host.node.end_sink(sink);
    let pieces = come(&mut host, guest.id, &said[part..part + 60_000], 100);
    assert!(pieces.iter().all(|arrived| *arrived == Arrived { is_event: false, ..pieces[0] }), "{pieces:?}");
}

#[test]
fn a_connection_that_this_node_has_dialed_counts_under_no_address_and_is_refused_for_its_pieces() {
    let mut node = Node::<Arc<[u8]>, Vec<u8>>::new(Key::from_seed([1; 32]), Settings::default());
    let (now, id) = (Time::from_secs(1), ConnId(1));
    let open = node.open(now, &["test:2".into()], "ticks", None, now + Time::from_secs(5));
    let Some(Action::Dial(dial, _)) = node.action() else { panic!("somebody is dialed") };
    let credentials = || Credentials { address: Some([192, 0, 2, 1].into()), ..Credentials::default() };
    node.connected(now, id, Some(dial), credentials());
    assert!((0..PIECES).all(|_| node.came_in_pieces(now, id) == Ok(true)));
    assert_eq!(node.came_in_pieces(now, id).unwrap_err().code(), Code::Budget);
    assert!(std::iter::from_fn(|| node.action()).any(|action| action == Action::Close(id)));
    assert_eq!(node.opened(open).unwrap().unwrap_err().code(), Code::Budget);
    // Those that come from there have their own.
    node.connected(now, ConnId(2), None, credentials());
    assert!((0..MANY).all(|_| node.came_in_pieces(now, ConnId(2)) == Ok(true)));
}
