//! A node with an application: a source, and sinks that look at the order of what comes.

use isoform::Format;
use isoform::core::{Layout, Shape};
use isoform_channel_proto::{
    Access, Admission, Batch, BodyRef, ChannelKey, Grants, Identity, Item, Key, Node, NodeId, Parameters, Policy,
    Settings, SharedKey, SinkKey, SourceKey, SourceRef, Submitted, Time, Wanted, Window,
};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) type Bytes = Arc<[u8]>;

/// The channel that all parties have in common.
pub(super) const CHANNEL: Identity = Identity([0xcc; 16]);
/// Its name.
pub(super) const NAME: &str = "river";

pub(super) struct Party {
    pub(super) node: Node<Bytes, Vec<u8>>,
    pub(super) channel: Option<ChannelKey>,
    pub(super) source: Option<SourceKey>,
    sinks: Vec<Sink>,
    /// The number of the next event.
    pub(super) next: u64,
}

struct Sink {
    channel: ChannelKey,
    key: SinkKey,
    batch: Batch<Bytes, Vec<u8>>,
    sources: BTreeMap<SourceRef, Seen>,
    refused: Vec<SourceRef>,
}

/// What a sink has seen of a source.
struct Seen {
    node: NodeId,
    /// The sequence that comes next; `None` before the first event.
    next: Option<u64>,
    /// Events that are lost.
    lost: u64,
    left: bool,
}

/// The key that follows from a number.
pub(super) fn key(seed: u8) -> Key {
    Key::from_seed([seed; 32])
}

/// The channel's type.
pub(super) fn format() -> Format {
    let shape = Shape::new("Sample").field("step", "unsigned integer(8)");
    shape.on(&Layout::X86_64).expect("a format")
}

/// Values of the parameters of every source.
pub(super) fn level(level: u64) -> Parameters {
    let format = Shape::new("Detail").field("level", "unsigned integer(8)").on(&Layout::X86_64).expect("a format");
    Parameters::new(&format, &level.to_le_bytes()).expect("a record")
}

impl Party {
    /// A party that admits everyone.
    pub(super) fn new(seed: u8, address: &str) -> Party {
        Party::with(seed, address, Access::default())
    }

    /// A party that admits only those that know the key of the victim and its friend.
    pub(super) fn closed(seed: u8, address: &str) -> Party {
        let access =
            Access { keys: vec![SharedKey::new([0x77; 32])], admission: Admission::Known { users: Vec::new() } };
        Party::with(seed, address, access)
    }

    fn with(seed: u8, address: &str, access: Access) -> Party {
        let settings = Settings { addresses: vec![address.into()], access, ..Settings::default() };
        Party { node: Node::new(key(seed), settings), channel: None, source: None, sinks: Vec::new(), next: 0 }
    }

    /// Adds a source, and a sink for each of these policies.
    pub(super) fn settle(&mut self, channel: ChannelKey, policies: &[Policy]) {
        self.channel = Some(channel);
        let source = self.node.add_source_with(channel, Some(&format()), Grants::default(), Some(&level(1)), None);
        self.source = Some(source.expect("a source of the channel's type"));
        for &policy in policies {
            let window = Window { events: 64, bytes: 1 << 20 };
            self.add_sink(channel, Wanted { format: Some(format()), window, heads: true, ..Wanted::any(policy) });
        }
    }

    pub(super) fn add_sink(&mut self, channel: ChannelKey, wanted: Wanted) -> SinkKey {
        let key = self.node.add_sink(channel, wanted).expect("a sink of the channel's type");
        self.sinks.push(Sink { channel, key, batch: Batch::default(), sources: BTreeMap::new(), refused: Vec::new() });
        key
    }

    /// Submits an event that says which it is, and is so long at least. Whether it could be.
    pub(super) fn submit(&mut self, length: usize) -> bool {
        let Some(source) = self.source else { return true };
        let mut body = self.next.to_le_bytes().to_vec();
        body.resize(length.max(8), 0);
        // The clock of the world jumps now and then.
        let time = self.next << (self.next % 40);
        match self.node.submit(time, source, None, &mut Bytes::from(body)).expect("a source that is there") {
            Submitted::Done(sequence) => {
                assert_eq!(sequence, self.next);
                self.next += 1;
                true
            }
            Submitted::Nothing => true,
            Submitted::Full => false,
        }
    }

    /// Takes what has come for all sinks.
    pub(super) fn take(&mut self, now: Time) {
        for sink in &mut self.sinks {
            while self.node.take(now, sink.key, &mut sink.batch) {
                sink.look();
            }
        }
    }

    /// Asserts that every sink has everything that the source of a node has submitted.
    pub(super) fn has_all_of(&self, other: &Party) {
        for sink in self.sinks.iter().filter(|sink| Some(sink.channel) == self.channel) {
            let source = sink.sources.values().find(|seen| seen.node == other.node.id());
            let seen = source.unwrap_or_else(|| panic!("{:?} never heard of {:?}", self.node.id(), other.node.id()));
            assert_eq!((seen.next, seen.lost, seen.left), (Some(other.next), 0, false), "at {:?}", self.node.id());
        }
    }

    /// Asserts that the account of every event adds up.
    pub(super) fn is_exact(&self) {
        let Some(source) = self.source else { return };
        for sink in self.node.ledger(source) {
            assert!(sink.ledger.is_exact(), "{}", sink.ledger);
            assert!(sink.present || sink.ledger.in_flight == 0, "{}", sink.ledger);
        }
    }
}

impl Sink {
    /// Looks at a batch: events come in order, and what is missing was declared.
    fn look(&mut self) {
        for item in self.batch.items() {
            match &item {
                Item::Granted(..) => {}
                Item::Given(_, given) => assert!(!given.values.to_string().is_empty()),
                Item::Joined { source, node, .. } => {
                    let seen = Seen { node: *node, next: None, lost: 0, left: false };
                    assert!(self.sources.insert(*source, seen).is_none(), "a source comes twice");
                }
                Item::Event { source, sequence, place, format, .. } => {
                    let body = match *place {
                        BodyRef::Shared(at) => &self.batch.shared[at as usize],
                        place => self.batch.body(place).expect("a body in one piece"),
                    };
                    let format = &self.batch.formats[*format as usize];
                    _ = format.verify(body);
                    let seen = self.sources.get_mut(source).expect("a source that has joined");
                    seen.event(*sequence);
                    if seen.is_honest() {
                        assert_eq!(body.first_chunk(), Some(&sequence.to_le_bytes()), "another event's body");
                    }
                }
                Item::Gap(source, gap) => {
                    assert!(!gap.to_string().is_empty() && gap.count > 0);
                    let seen = self.sources.get_mut(source).expect("a source that has joined");
                    seen.event(gap.first);
                    seen.next = seen.next.and_then(|next| next.checked_add(gap.count - 1));
                    seen.lost = seen.lost.saturating_add(gap.count);
                }
                Item::Head(head) => {
                    assert!(head.bytes.len() <= 65_536 && head.length > 65_536, "a head is part of a long event")
                }
                // Also a source that was refused leaves, without having joined.
                Item::Left(source) => match self.sources.get_mut(source) {
                    Some(seen) => seen.left = true,
                    None => assert!(self.refused.contains(source), "an unknown source leaves"),
                },
                Item::Refused(source, error) => {
                    self.refused.push(*source);
                    super::refusal(error);
                }
            }
        }
    }
}

impl Seen {
    /// An event, or a gap that begins with it.
    fn event(&mut self, sequence: u64) {
        assert!(!self.left, "something comes from a source that has left");
        assert_eq!(sequence, self.next.unwrap_or(sequence), "out of order");
        self.next = sequence.checked_add(1);
    }

    /// Whether it is a source of ours.
    fn is_honest(&self) -> bool {
        [super::stage::VICTIM, super::stage::FRIEND].map(|seed| key(seed).id()).contains(&self.node)
    }
}
