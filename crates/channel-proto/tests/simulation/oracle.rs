//! Who knows everything: what was submitted, what came of it and where, and whether the nodes' accounts agree.
//!
//! An event is told from all others by its time, which nobody else's has; its body follows from that.

use crate::Node;
use crate::scenario::{MOST, level_of};
use crate::world::SLOW;
use isoform_channel_proto::{
    Batch, BodyRef, Cause, Counts, Gap, Granted, Grants, Head, Item, NodeId, Policy, Reason, SinkKey, SinkLedger,
    SourceRef, Wanted,
};
use isoform_core::view::Item as Field;
use isoform_core::{Format, Verifier, View};
use isoform_testing::mutate::Random;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// A source, wherever it is or was.
pub(crate) struct Source {
    pub(crate) node: NodeId,
    pub(crate) channel: [u8; 16],
    /// The number of its format; `None` if it has several.
    pub(crate) format: Option<usize>,
    pub(crate) grants: Grants,
    /// Whether it has parameters.
    pub(crate) has_parameters: bool,
    /// The number of its next event.
    pub(crate) next: u64,
    /// For each of its sinks that is there: the number of the first event that counts, for each of its accounts, and how many
    /// accounts with the sink had been closed before.
    begun: HashMap<(NodeId, u32), (Vec<u64>, usize)>,
}

/// A sink, wherever it is or was.
pub(crate) struct Sink {
    node: NodeId,
    pub(crate) key: SinkKey,
    pub(crate) channel: [u8; 16],
    pub(crate) wanted: Wanted,
    /// Whether it has ever asked for the latest event only.
    pub(crate) was_latest: bool,
    pub(crate) format: Option<usize>,
    streams: HashMap<SourceRef, Stream>,
    pub(crate) refused: u64,
    /// The refused sources that it was not told the end of.
    refusing: BTreeSet<SourceRef>,
}

/// What comes of one source, from when it joins until it leaves.
#[derive(Default)]
struct Stream {
    node: NodeId,
    number: u32,
    /// How many events were submitted before, and whether an earlier stream has some of them.
    earlier: u64,
    again: bool,
    source: Option<usize>,
    expected: Option<u64>,
    first: Option<u64>,
    lost: u64,
    superseded: u64,
    /// Events that did not come, without a gap: the sink did not want them.
    skipped: u64,
    has_left: bool,
    /// The event of which the sink has seen the head, and nothing since.
    head: Option<u64>,
    /// The numbers of what came, ascending.
    came: Vec<u64>,
    /// The values of parameters that the source has said, each with its first event.
    levels: Vec<(u64, i64)>,
}

/// Events that were submitted together, at one time.
struct Submitted {
    source: usize,
    /// The number of the first one.
    first: u64,
    lengths: Vec<usize>,
    format: usize,
    /// The nodes whose sinks were not allowed to get them.
    kept_out: BTreeSet<NodeId>,
    /// The value of the source's parameter that it is for, if it is not for all.
    level: Option<i64>,
}

#[derive(Default)]
pub(crate) struct Oracle {
    pub(crate) sources: Vec<Source>,
    pub(crate) sinks: Vec<Sink>,
    /// Where a sink is in that list.
    places: HashMap<(NodeId, u32), usize>,
    events: HashMap<u64, Submitted>,
    /// How many events of a source a sink did not want.
    unwanted: HashMap<(usize, (NodeId, u32)), u64>,
    /// Sinks whose subscriptions the rules have ended, and the first events of these: how many accounts of the sink with that are
    /// closed once these are. Others of the sink may be closed before.
    revoked: HashMap<(usize, (NodeId, u32), u64), usize>,
    /// How often sinks were told of another policy.
    pub(crate) grants: u64,
    /// Whether processes have rules.
    pub(crate) has_rules: bool,
    pub(crate) delivered: u64,
    pub(crate) lost: u64,
    pub(crate) superseded: u64,
    /// How many heads of events sinks have seen, and how many events of those they declined in time.
    pub(crate) heads: u64,
    pub(crate) declined: u64,
    /// How many records were made by queries.
    pub(crate) results: u64,
    /// How many events queries did not look at.
    pub(crate) thinned: u64,
    /// How many events came that were only for some.
    pub(crate) given: u64,
    /// How many events came without the fields at which their sinks do not look.
    pub(crate) projected: u64,
}

/// A query by sequence.
pub(crate) const THIRD: &str = "every 3";
/// A query with a state, which sinks share.
pub(crate) const OTHER: &str = "where true | every 2";
/// A query that compares events with those that were handed on.
pub(crate) const CHANGED: &str = "key count % 2 | changed count by 3 or every 50 ms";
/// A query about what is in events, which makes other records of them.
pub(crate) const HALF: &str = "where count % 2 == 0 | select half = count // 2";

impl Sink {
    fn query(&self) -> Option<String> {
        self.wanted.query.as_ref().map(ToString::to_string)
    }

    /// Whether it refuses formats without that field.
    pub(crate) fn wants_count(&self) -> bool {
        !self.wanted.fields.is_empty() || matches!(self.query().as_deref(), Some(HALF | CHANGED))
    }

    /// Compares an event that came with what the sink wants. Returns whether it is a result.
    /// `number` is that of the event among those that the query looks at, if the test knows it.
    fn check_query(&self, number: Option<u64>, source: (&Format, &[u8]), came: (&Format, &[u8])) -> bool {
        match self.query().as_deref() {
            Some(THIRD) => assert!(number.is_none_or(|number| number.is_multiple_of(3)), "an event that nobody wants"),
            Some(HALF) => {
                let (verifier, result) = (Verifier::new(source.0), Verifier::new(came.0));
                // What is not valid comes as it is.
                let Ok(body) = verifier.verify(source.1) else { return false };
                let Ok(Field::Integer(count)) = View::new(body).field("count") else {
                    panic!("all formats have a count")
                };
                let half = View::new(result.verify(came.1).expect("a record")).i64("half").expect("the result");
                assert_eq!(i128::from(half) * 2, count, "half of an even count");
                return true;
            }
            _ => {}
        }
        false
    }
}

/// The count of a record, if the body is one.
fn count(format: &Format, body: &[u8]) -> Option<i128> {
    let verifier = Verifier::new(format);
    match View::new(verifier.verify(body).ok()?).field("count") {
        Ok(Field::Integer(count)) => Some(count),
        _ => None,
    }
}

impl Stream {
    /// How many events came from a number on.
    fn since(&self, from: u64) -> u64 {
        (self.came.len() - self.came.partition_point(|number| *number < from)) as u64
    }

    /// The next event or gap has this number. Events between are not wanted.
    fn reach(&mut self, sequence: u64) {
        let expected = *self.expected.get_or_insert(sequence);
        assert!(sequence >= expected, "{sequence} comes in order, not before {expected}");
        self.skipped += sequence - expected;
    }
}

/// The body of the event of this time.
pub(crate) fn body(time: u64, length: usize) -> Arc<[u8]> {
    let mut random = Random::new(time);
    let pattern: Vec<u8> = (0..length.min(64)).map(|_| random.byte()).collect();
    // Long ones differ from place to place, too.
    (0..length).map(|i| pattern[i % 64] ^ (i >> 6) as u8 ^ (i >> 14) as u8).collect()
}

/// How many closed accounts of a sink there are.
fn closed(ledgers: &[SinkLedger], sink: (NodeId, u32)) -> usize {
    ledgers.iter().filter(|account| !account.present && (account.node, account.sink) == sink).count()
}

impl Oracle {
    pub(crate) fn new_source(
        &mut self,
        node: NodeId,
        channel: [u8; 16],
        format: Option<usize>,
        grants: Grants,
        has_parameters: bool,
    ) -> usize {
        self.sources.push(Source { node, channel, format, grants, has_parameters, next: 0, begun: HashMap::new() });
        self.sources.len() - 1
    }

    pub(crate) fn new_sink(
        &mut self,
        node: NodeId,
        key: SinkKey,
        channel: [u8; 16],
        wanted: Wanted,
        format: Option<usize>,
    ) -> usize {
        self.places.insert((node, key.0), self.sinks.len());
        self.sinks.push(Sink {
            node,
            key,
            channel,
            was_latest: wanted.policy == Policy::Latest,
            wanted,
            format,
            streams: HashMap::new(),
            refused: 0,
            refusing: BTreeSet::new(),
        });
        self.sinks.len() - 1
    }

    /// A sink does not want some of the next events of a source.
    pub(crate) fn unwanted(&mut self, source: usize, sink: (NodeId, u32), count: u64) {
        *self.unwanted.entry((source, sink)).or_default() += count;
    }

    /// The rules have ended the subscription of a sink. No further event counts for it.
    pub(crate) fn revoked(&mut self, source: usize, sink: (NodeId, u32), ledgers: &[SinkLedger]) {
        let of_it = ledgers.iter().filter(|account| (account.node, account.sink) == sink);
        for SinkLedger { earlier, .. } in of_it.clone().filter(|account| account.present) {
            let all = of_it.clone().filter(|account| account.earlier == *earlier).count();
            self.revoked.insert((source, sink, *earlier), all);
        }
    }

    /// The sink of a node.
    pub(crate) fn sink(&self, node: NodeId, sink: u32) -> &Sink {
        &self.sinks[self.places[&(node, sink)]]
    }

    /// Events were submitted together.
    pub(crate) fn submitted(
        &mut self,
        source: usize,
        time: u64,
        lengths: Vec<usize>,
        format: usize,
        kept_out: BTreeSet<NodeId>,
        level: Option<i64>,
    ) {
        let first = self.sources[source].next;
        self.sources[source].next += lengths.len() as u64;
        let known = self.events.insert(time, Submitted { source, first, lengths, format, kept_out, level });
        assert!(known.is_none(), "the scenario gives every run of events a time of its own");
    }

    /// A sink's application was handed this.
    pub(crate) fn came(&mut self, sink: usize, item: &Item, batch: &Batch<Arc<[u8]>, Vec<u8>>, formats: &[Format]) {
        match item {
            Item::Joined { source, node, number, earlier, .. } => {
                let again =
                    self.sinks[sink].streams.values().any(|other| (other.node, other.number) == (*node, *number));
                let stream = Stream { node: *node, number: *number, earlier: *earlier, again, ..Stream::default() };
                let known = self.sinks[sink].streams.insert(*source, stream);
                assert!(known.is_none(), "{source:?} joins twice");
            }
            // Of a refused source nothing else comes.
            Item::Left(source) if self.sinks[sink].refusing.remove(source) => {}
            Item::Left(source) => self.stream(sink, *source).has_left = true,
            Item::Refused(source, _) => {
                self.sinks[sink].refused += 1;
                self.sinks[sink].refusing.insert(*source);
            }
            Item::Granted(source, granted) => self.granted(sink, *source, *granted),
            Item::Given(source, given) => {
                assert!(given.refused.is_none(), "{given:?}: there is room for all levels");
                self.stream(sink, *source).levels.push((given.first, level_of(&given.values)));
            }
            Item::Head(head) => self.head(sink, head, formats),
            Item::Gap(source, gap) => self.gap(sink, *source, *gap),
            Item::Event { source, sequence, time, format, place, .. } => {
                let body = match (batch.body(*place), place) {
                    (Some(body), _) => body,
                    (None, BodyRef::Shared(at)) => &batch.shared[*at as usize],
                    (None, _) => panic!("a body that is nowhere"),
                };
                self.event(sink, (*source, *sequence, *time), &batch.formats[*format as usize], body, formats);
            }
        }
    }

    /// What came of a source that has joined and has not left.
    fn stream(&mut self, sink: usize, source: SourceRef) -> &mut Stream {
        let stream = self.sinks[sink].streams.get_mut(&source).expect("a source that has joined");
        assert!(!stream.has_left, "something from a source that has left");
        stream
    }

    /// The first bytes of an event have come.
    fn head(&mut self, sink: usize, head: &Head, formats: &[Format]) {
        let Submitted { first, ref lengths, format, .. } = self.events[&head.time];
        let at = head.sequence.wrapping_sub(first) as usize;
        assert_eq!(
            lengths.get(at).map(|&length| length as u64),
            Some(head.length),
            "a head tells the length of its event"
        );
        assert!(head.format == formats[format] && head.bytes.len() == head.format.size(), "and its format");
        let whole = body(head.time + at as u64, head.length as usize);
        assert!(whole.starts_with(&head.bytes), "and has its first bytes");
        assert!(self.sinks[sink].wanted.heads, "for a sink that asked for them");
        let sequence = head.sequence;
        let before = self.stream(sink, head.source).head.replace(sequence);
        assert_eq!(before, None, "an event or a gap follows its head");
        self.heads += 1;
    }

    fn gap(&mut self, sink: usize, source: SourceRef, gap: Gap) {
        let stream = self.stream(sink, source);
        assert!(stream.head.take().is_none_or(|head| head == gap.first), "a gap follows the head of the event");
        self.declined += u64::from(gap.cause == Cause::Declined);
        if gap.cause == Cause::Thinned {
            assert!(self.sinks[sink].wanted.query.is_some(), "only queries take time");
            self.thinned += gap.count;
        }
        let stream = self.stream(sink, source);
        assert!(gap.count > 0 && gap.cause != Cause::Unknown, "{gap:?}");
        stream.reach(gap.first);
        stream.first.get_or_insert(gap.first);
        stream.expected = Some(gap.first + gap.count);
        if gap.cause.is_loss() {
            stream.lost += gap.count;
            self.lost += gap.count;
        } else {
            stream.superseded += gap.count;
            self.superseded += gap.count;
            assert!(self.sinks[sink].was_latest, "only a sink that wants the latest event has superseded ones");
        }
    }

    fn event(&mut self, sink: usize, event: (SourceRef, u64, u64), format: &Format, came: &[u8], formats: &[Format]) {
        let (from, sequence, time) = event;
        let Submitted { source, first, ref lengths, format: meant, ref kept_out, level } = self.events[&time];
        let at = sequence.wrapping_sub(first) as usize;
        let length = came.len();
        let submitted = body(time + at as u64, *lengths.get(at).expect("an event that was submitted"));
        let Source { has_parameters, format: declared, .. } = &self.sources[source];
        // The source numbers the events of several formats, and those for several values, by themselves.
        let number = (declared.is_some() && !has_parameters).then_some(sequence);
        let is_result = self.sinks[sink].check_query(number, (&formats[meant], &submitted), (format, came));
        let is_projected = !is_result && *format != formats[meant];
        if is_projected {
            let wanted = &self.sinks[sink].wanted;
            let may_be = wanted.query.is_none() && (wanted.narrow || !wanted.fields.is_empty());
            assert!(may_be && meant == crate::formats::WIDE, "fields that a sink looks at are left out");
            let submitted = count(&formats[meant], &submitted);
            assert!(submitted.is_some() && submitted == count(format, came), "a record has other values");
            self.projected += 1;
        } else if !is_result {
            assert!(came == &*submitted, "a body arrives as it was");
            assert!(*format == formats[meant], "an event has the format that it was submitted with");
        }
        self.results += u64::from(is_result);
        // A sink that may have them later may have kept ones, too.
        let (keeps, sink_node) = (self.sources[source].grants.keep > 0, self.sinks[sink].node);
        assert!(keeps || !kept_out.contains(&sink_node), "an event that the rules keep from this sink");
        let node = self.sources[source].node;
        assert_eq!(self.sources[source].channel, self.sinks[sink].channel, "events stay in their channel");
        let longest = self.sinks[sink].wanted.longest;
        assert!(length as u64 <= longest, "{length} bytes for a sink that takes {longest}");
        self.given += u64::from(level.is_some());
        let stream = self.stream(sink, from);
        let said = stream.levels.iter().rev().find(|(begins, _)| *begins <= sequence);
        let is_right = level.is_none_or(|level| said.is_some_and(|(_, said)| *said == level));
        assert!(is_right, "event {sequence} is for {level:?}, and the source has said {:?}", stream.levels);
        assert_eq!((stream.node, *stream.source.get_or_insert(source)), (node, source), "events of one source each");
        assert!(stream.head.take().is_none_or(|head| head == sequence), "an event follows its head");
        stream.reach(sequence);
        stream.first.get_or_insert(sequence);
        stream.expected = Some(sequence + 1);
        stream.came.push(sequence);
        // Who subscribes anew is sent the kept ones again.
        let keeps = self.sources[source].grants.keep > 0;
        let others = self.sinks[sink].streams.iter().filter(|(at, other)| **at != from && other.source == Some(source));
        let last = others.filter_map(|(_, other)| other.came.last()).max();
        assert!(keeps || last.is_none_or(|last| *last < sequence), "no event comes twice");
        self.delivered += 1;
    }

    /// A source grants another policy than a sink asked for.
    fn granted(&mut self, sink: usize, source: SourceRef, granted: Granted) {
        self.stream(sink, source);
        assert!(!granted.must || granted.reason != Reason::Slow, "a sink keeps a policy that it must have: {granted}");
        self.grants += 1;
    }

    /// How many events from a number on a sink was handed.
    fn delivered(&self, source: usize, node: NodeId, sink: u32, from: u64) -> Option<u64> {
        let sink = &self.sinks[*self.places.get(&(node, sink))?];
        let streams = sink.streams.values().filter(|stream| stream.source == Some(source));
        Some(streams.map(|stream| stream.since(from)).sum())
    }

    /// Compares a source's accounts with what is known here.
    pub(crate) fn check_source(&mut self, source: usize, ledgers: &[SinkLedger]) {
        let next = self.sources[source].next;
        let mut begun: HashMap<(NodeId, u32), (Vec<u64>, usize)> = HashMap::new();
        for SinkLedger { node, sink, policy, present, ledger, earlier, changes, .. } in ledgers {
            assert!(ledger.is_exact(), "{ledger}");
            assert!(earlier + ledger.submitted <= next, "{earlier} earlier, {ledger}, of {next}");
            let unknown = ledger.lost_for(Cause::Unknown);
            if !present {
                let delivered = self.delivered(source, *node, *sink, 0).expect("a sink of some node");
                assert!(ledger.in_flight == 0 && ledger.acknowledged <= delivered, "{ledger}, {delivered} delivered");
                continue;
            }
            let closed = closed(ledgers, (*node, *sink));
            assert_eq!(unknown, 0, "{ledger}");
            // A sink may ask for parameters while it has subscribed to a source that has none: that ends the subscription.
            let asks = self.sink(*node, *sink).wanted.parameters.is_some() && !self.sources[source].has_parameters;
            let is_like = |other: &&SinkLedger| (other.node, other.sink, other.earlier) == (*node, *sink, *earlier);
            let closed_like = ledgers.iter().filter(is_like).filter(|other| !other.present).count();
            if asks || self.revoked.get(&(source, (*node, *sink), *earlier)).is_some_and(|until| closed_like < *until) {
                // It ends once the sink has taken all, and beside it another one may begin.
                assert!(ledger.submitted <= next, "{ledger}, of {next}");
                let delivered = self.delivered(source, *node, *sink, 0).expect("a sink of some node");
                assert!(ledger.acknowledged <= delivered, "{ledger}, {delivered} delivered");
                continue;
            }
            let (firsts, _) = begun.entry((*node, *sink)).or_insert((Vec::new(), closed));
            let known = self.sources[source].begun.get(&(*node, *sink)).filter(|(_, before)| *before == closed);
            let first =
                known.and_then(|(known, _)| known.get(firsts.len()).copied()).unwrap_or(next - ledger.submitted);
            firsts.push(first);
            let is_alone = firsts.len() == 1;
            assert!(is_alone || self.has_rules, "a sink subscribes to a source once");
            assert_eq!((*earlier, ledger.submitted), (first, next - first), "what was submitted since {first}");
            let delivered = self.delivered(source, *node, *sink, first).expect("a sink of some node");
            assert!(ledger.acknowledged <= delivered, "{ledger}, {delivered} delivered");
            let keeps = self.sources[source].grants.keep > 0;
            let possible = delivered + ledger.superseded + ledger.lost() + ledger.skipped <= ledger.submitted;
            let wants_latest = self.sink(*node, *sink).was_latest;
            assert!(ledger.superseded == 0 || wants_latest, "{ledger}, for a sink that wants every event");
            // A sink that may have events again can begin anew before it has taken those of an earlier subscription.
            assert!(keeps || possible || self.has_rules, "{ledger}, {delivered} delivered");
            let kept = self.sources[source].grants.keep as u64;
            self.check_bounds(*node, *sink, (*policy, *changes), ledger.in_flight.saturating_sub(kept));
        }
        self.sources[source].begun = begun;
    }

    /// What is in flight besides kept events is bounded by window and queue.
    fn check_bounds(&self, node: NodeId, sink: u32, (policy, changes): (Policy, u64), in_flight: u64) {
        let sink = &self.sinks[self.places[&(node, sink)]];
        let queue = match policy {
            // What was queued before the source waited stays.
            Policy::Block if changes > 0 => MOST,
            Policy::Block => SLOW,
            Policy::Latest => 1,
            Policy::DropOldest { events, .. } => events.max(1),
        };
        let most = sink.wanted.window.events + queue;
        assert!(in_flight <= most, "{in_flight} in flight, of {most}");
    }

    /// What must hold when nothing moves any more.
    pub(crate) fn is_settled(&self, source: usize, ledgers: &[SinkLedger]) -> Result<(), String> {
        let entry = &self.sources[source];
        for SinkLedger { node, sink, ledger, .. } in ledgers.iter().filter(|account| account.present) {
            let Some(&[first]) = entry.begun.get(&(*node, *sink)).map(|(firsts, _)| &firsts[..]) else {
                return Err(format!("a subscription that the rules have ended is still there: {ledger}"));
            };
            let at = &self.sinks[self.places[&(*node, *sink)]];
            let is_it = |stream: &&Stream| stream.source == Some(source) && !stream.has_left;
            let delivered: u64 = at.streams.values().filter(is_it).map(|stream| stream.since(first)).sum();
            if ledger.in_flight != 0 || ledger.acknowledged != delivered {
                return Err(format!("{delivered} were delivered, and the account is: {ledger}"));
            }
            let streams = at.streams.values().filter(is_it);
            let unwanted = self.unwanted.get(&(source, (*node, *sink))).copied().unwrap_or(0);
            for Stream { expected, first: began, lost, superseded, skipped, earlier, again, .. } in streams {
                if *earlier > first || !again && *earlier != first {
                    return Err(format!("a sink was told of {earlier} events before {first}"));
                }
                // Before the first event and behind the last one there may be skipped ones.
                let told = lost + superseded + began.map_or(0, |began| began - first);
                let rest = expected.map_or(0, |expected| entry.next - expected);
                let is_exact = told + skipped + rest == ledger.superseded + ledger.lost() + ledger.skipped;
                let is_known = *lost <= ledger.lost()
                    && (*superseded == ledger.superseded || expected.is_none())
                    && (ledger.skipped <= unwanted || at.wanted.query.is_some() || entry.has_parameters);
                if !is_exact && expected.is_some() || !is_known {
                    let next = entry.next;
                    return Err(format!(
                        "a sink was told of {lost} lost and {superseded} superseded, of {told}, {skipped} are skipped, and it expects {expected:?} of {next}: {ledger}"
                    ));
                }
            }
        }
        Ok(())
    }

    /// What a sink was told must be what its node counts.
    pub(crate) fn check_sink(&self, sink: usize, node: &Node) {
        let Counts { received, taken, refused, .. } = node.counts(self.sinks[sink].key);
        assert!(
            refused >= self.sinks[sink].refused,
            "told of {} refused sources, and counts {refused}",
            self.sinks[sink].refused
        );
        let came: u64 = self.sinks[sink].streams.values().map(|stream| stream.came.len() as u64).sum();
        assert!(taken <= came && came <= received, "{taken} taken, {came} came, {received} received");
        let live = self.sources.len() as u64;
        assert!(received - came <= live * self.sinks[sink].wanted.window.events, "{received} received, {came} came");
    }
}
