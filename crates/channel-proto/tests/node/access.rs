//! Who gets a link with a node that admits only those it knows (`spec/channel.md`, "Identity").

use isoform_channel_proto::{
    Access, Action, Admission, ChannelKey, ConnId, Credentials, FrameKind, Greetings, HEADER, Header, Hello, Identity,
    Key, KeyName, Node, NodeId, Outgoing, Settings, SharedKey, Side, Time,
};
use isoform_core::{Code, Error, Result};
use std::sync::Arc;

type Machine = Node<Arc<[u8]>, Vec<u8>>;

const NOW: Time = Time::ZERO;
const WIRE: ConnId = ConnId(1);
/// The length of a Proof frame, with its header.
const PROOF: usize = 112;

fn shared(bytes: &[u8]) -> Vec<SharedKey> {
    bytes.iter().map(|&byte| SharedKey::new([byte; 32])).collect()
}

/// A node that knows these shared keys, and admits whom it knows, and the user 1000.
fn closed(seed: u8, keys: &[u8]) -> Machine {
    let access = Access { keys: shared(keys), admission: Admission::Known { users: vec![1000] } };
    Node::new(Key::from_seed([seed; 32]), Settings { access, ..Settings::default() })
}

/// A node that admits everyone.
fn open(seed: u8, keys: &[u8]) -> Machine {
    let access = Access { keys: shared(keys), admission: Admission::Anyone };
    Node::new(Key::from_seed([seed; 32]), Settings { access, ..Settings::default() })
}

/// A node that dials another, which has a channel.
struct Pair {
    dialer: Machine,
    acceptor: Machine,
    /// What the acceptor has said.
    said: Vec<u8>,
    errors: Vec<Error>,
}

impl Pair {
    fn new(dialer: Machine, acceptor: Machine) -> Pair {
        Pair { dialer, acceptor, said: Vec::new(), errors: Vec::new() }
    }

    /// The dialer opens the channel of the acceptor, over a connection of which each knows something.
    fn meet(&mut self, known: [Credentials; 2]) -> Result<ChannelKey> {
        _ = self.acceptor.create(Identity([9; 16]), "ticks", None);
        let open = self.dialer.open(NOW, &["test:acceptor".into()], "ticks", None, Time::from_secs(5));
        let Some(Action::Dial(dial, _)) = self.dialer.action() else { panic!("somebody is dialed") };
        let [acceptor, dialer] = known;
        self.dialer.connected(NOW, WIRE, Some(dial), acceptor);
        self.acceptor.connected(NOW, WIRE, None, dialer);
        self.talk();
        self.dialer.opened(open).expect("an answer")
    }

    fn talk(&mut self) {
        for _ in 0..10 {
            let said = output(&mut self.dialer);
            self.errors.extend(self.acceptor.receive(NOW, WIRE, &said).err());
            let said = output(&mut self.acceptor);
            self.errors.extend(self.dialer.receive(NOW, WIRE, &said).err());
            self.said.extend(said);
        }
    }

    fn meet_as_strangers(&mut self) -> Result<ChannelKey> {
        self.meet([Credentials::default(), Credentials::default()])
    }

    fn members(&self) -> usize {
        self.acceptor.info(ChannelKey(0)).map_or(0, |info| info.members.len() - 1)
    }
}

fn output(node: &mut Machine) -> Vec<u8> {
    let mut said = Vec::new();
    while let Some(action) = node.action() {
        if let Action::Write(id) | Action::Close(id) = action {
            let mut out = Outgoing::default();
            node.output(NOW, id, &mut out);
            node.unwritten(id, 0);
            said.extend(out.to_vec());
        }
    }
    said
}

/// What an acceptor said behind its Hello.
fn kinds(said: &[u8]) -> Vec<FrameKind> {
    let (mut kinds, mut rest) = (Vec::new(), &said[Hello::LENGTH..]);
    while let Some(header) = rest.first_chunk() {
        let header = Header::parse(header).unwrap();
        kinds.extend(header.kind);
        rest = &rest[header.extent()..];
    }
    kinds
}

#[test]
fn nodes_with_a_shared_key_in_common_have_a_link() {
    for (dials, accepts) in [(&[1][..], &[1][..]), (&[2, 3, 1], &[4, 5, 6, 7, 8, 1]), (&[2, 3, 4, 1], &[1, 2])] {
        let mut pair = Pair::new(closed(1, dials), closed(2, accepts));
        assert!(pair.meet_as_strangers().is_ok(), "{dials:?} {accepts:?}: {:?}", pair.errors);
        assert_eq!((pair.members(), pair.errors.len()), (1, 0));
    }
    // The fifth key is not offered.
    assert!(Pair::new(closed(1, &[2, 3, 4, 5, 1]), closed(2, &[1])).meet_as_strangers().is_err());
}

#[test]
fn a_stranger_who_dials_is_told_why_it_gets_nothing() {
    for stranger in [open(1, &[]), open(1, &[2, 3])] {
        let mut pair = Pair::new(stranger, closed(2, &[1]));
        let error = pair.meet_as_strangers().unwrap_err();
        assert_eq!((error.code(), pair.members()), (Code::NotAdmitted, 0));
        assert!(error.expectation().contains("ISOFORM_KEY"), "{error}");
        assert_eq!(kinds(&pair.said), [FrameKind::Bye], "no signature for strangers");
        let refusals = pair.acceptor.refusals();
        assert_eq!(refusals.iter().map(|it| (it.code, it.count)).collect::<Vec<_>>(), [(410, 1)]);
    }
}

#[test]
fn a_stranger_who_is_dialed_gets_nothing_either() {
    for keys in [&[][..], &[2]] {
        let mut pair = Pair::new(closed(1, &[1]), open(2, keys));
        let error = pair.meet_as_strangers().unwrap_err();
        assert_eq!((error.code(), pair.members()), (Code::NotAdmitted, 0));
        assert_eq!(pair.dialer.refusals()[0].count, 1);
    }
}

#[test]
fn programs_of_the_same_user_need_no_key() {
    let user = |number| Credentials { local_user: Some(number), ..Credentials::default() };
    let meet = |acceptor, dialer| Pair::new(closed(1, &[1]), closed(2, &[2])).meet([user(acceptor), user(dialer)]);
    assert!(meet(1000, 1000).is_ok());
    for (acceptor, dialer) in [(1001, 1000), (1000, 1001)] {
        assert_eq!(meet(acceptor, dialer).unwrap_err().code(), Code::NotAdmitted);
    }
}

#[test]
fn to_know_the_name_of_a_key_is_not_to_have_it() {
    let (key, stranger) = (SharedKey::new([1; 32]), Key::from_seed([7; 32]));
    let (keys, tags) = ([key.name(); 4], Default::default());
    let named = Hello { public: stranger.public(), nonce: [7; 32], wanted: NodeId::ANY, keys, tags };
    let right = named.clone().tagged(std::slice::from_ref(&key));
    // A tag is of one key, and of one Hello.
    let others = Hello { tags: [SharedKey::new([2; 32]).tag(&named); 4], ..named.clone() };
    let moved = Hello { nonce: [8; 32], ..right.clone() };
    for hello in [named, others, moved] {
        let mut host = closed(2, &[1]);
        host.connected(NOW, WIRE, None, Credentials::default());
        assert_eq!(host.receive(NOW, WIRE, &hello.to_bytes()).unwrap_err().code(), Code::NotAdmitted);
    }
    // One tag of a key is enough.
    let last = Hello { tags: [[0; 8], [0; 8], [0; 8], right.tags[3]], ..right.clone() };
    let mut host = closed(2, &[1]);
    host.connected(NOW, WIRE, None, Credentials::default());
    assert_eq!(host.claimed(&last.to_bytes()), Some(key.name()));
    assert!(host.receive(NOW, WIRE, &last.to_bytes()).is_ok());
    // Somebody has overheard the Hello of a node that has the key, and it comes a second time.
    let again = ConnId(WIRE.0 + 1);
    host.connected(NOW, again, None, Credentials::default());
    assert_eq!(host.claimed(&last.to_bytes()), None);
    host.receive(NOW, again, &last.to_bytes()).unwrap();
    let refusals = host.refusals();
    assert_eq!(refusals.iter().map(|it| (it.code, it.count)).collect::<Vec<_>>(), [(Code::Handshake as u16, 1)]);
    let hello = right.to_bytes();
    // What a proof could be made of by somebody who has not the key.
    for attempt in 0..5 {
        let mut host = closed(2, &[1]);
        host.connected(NOW, WIRE, None, Credentials::default());
        host.receive(NOW, WIRE, &hello).unwrap();
        let answer = output(&mut host);
        let (theirs, proof) = answer.split_at(Hello::LENGTH);
        let greetings = Greetings { binding: [0; 32], dialer: &hello, acceptor: theirs };
        let other = Greetings { binding: [1; 32], ..greetings };
        let shared: [u8; 32] = match attempt {
            0 => [0; 32],
            // The host's own.
            1 => proof[HEADER + 64..PROOF].try_into().unwrap(),
            2 => SharedKey::new([2; 32]).prove(&greetings, Side::Dialer),
            // From inside of another connection.
            3 => key.prove(&other, Side::Dialer),
            // The key's, but for somebody else's signature.
            _ => key.prove(&greetings, Side::Dialer),
        };
        let signer = if attempt == 4 { Key::from_seed([8; 32]) } else { Key::from_seed([7; 32]) };
        let header = [96, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let said = [&header[..], &signer.prove(&greetings, Side::Dialer), &shared].concat();
        let error = host.receive(NOW, WIRE, &said).unwrap_err();
        assert_eq!(error.code(), Code::Handshake, "{attempt}: {error}");
    }
}

#[test]
fn an_acceptor_chooses_among_what_is_offered() {
    let mut dialer = closed(1, &[1]);
    dialer.open(NOW, &["test:acceptor".into()], "ticks", None, Time::from_secs(5));
    let Some(Action::Dial(dial, _)) = dialer.action() else { panic!("somebody is dialed") };
    dialer.connected(NOW, WIRE, Some(dial), Credentials::default());
    let none = KeyName::NONE;
    let keys = [SharedKey::new([2; 32]).name(), none, none, none];
    let wanted = Key::from_seed([1; 32]).id();
    let hello = Hello { public: Key::from_seed([2; 32]).public(), nonce: [2; 32], wanted, keys, tags: [[0; 8]; 4] };
    assert_eq!(dialer.receive(NOW, WIRE, &hello.to_bytes()).unwrap_err().code(), Code::Handshake);
}

#[test]
fn a_key_that_came_with_an_id_is_for_that_channel_alone() {
    let guest_key = || SharedKey::new([9; 32]);
    let mut pair = Pair::new(closed(1, &[1, 2, 3, 4]), closed(2, &[9]));
    // The dialer has a channel of its own, and opens that of the acceptor with the key of the id.
    let own = pair.dialer.create(Identity([8; 16]), "own", None).unwrap();
    pair.acceptor.create(Identity([9; 16]), "ticks", None).unwrap();
    let open = pair.dialer.open(NOW, &["test:acceptor".into()], "ticks", None, Time::from_secs(5));
    pair.dialer.use_key(open, "ticks", guest_key());
    let Some(Action::Dial(dial, _)) = pair.dialer.action() else { panic!("somebody is dialed") };
    pair.dialer.connected(NOW, WIRE, Some(dial), Credentials::default());
    pair.acceptor.connected(NOW, WIRE, None, Credentials::default());
    pair.talk();
    let ticks = pair.dialer.opened(open).unwrap().unwrap();
    // What the acceptor asks for over this link.
    let mut ask = |name: &str| {
        let bytes = [&1u32.to_le_bytes()[..], &[0; 20], &(name.len() as u16).to_le_bytes(), name.as_bytes()].concat();
        let mut frame = [bytes.len() as u8, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0].to_vec();
        frame.extend(bytes);
        frame.resize(frame.len().next_multiple_of(16), 0);
        pair.dialer.receive(NOW, WIRE, &frame).unwrap();
        let answer = output(&mut pair.dialer);
        Header::parse(answer.first_chunk().unwrap()).unwrap().kind.unwrap()
    };
    assert_eq!((ask("own"), ask("ticks")), (FrameKind::Refused, FrameKind::Opened));
    assert_eq!(pair.dialer.info(own).unwrap().members.len(), 1);
    // Without the channel, the key is good for nothing.
    pair.dialer.close(ticks);
    let mut late = Pair::new(closed(3, &[9]), pair.dialer);
    assert_eq!(late.meet_as_strangers().unwrap_err().code(), Code::NotAdmitted);
}
