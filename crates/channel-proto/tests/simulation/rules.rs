//! The rules of the processes of a world, as a table of who may do what at whom. The nodes get them as text; what must
//! follow is compared with the table.
//!
//! The system of this world says of each process that it is of the user with the number of its slot.

use crate::world::World;
use isoform_channel_proto::{ConnId, FrameKind, HEADER, Header, Hello, NodeId, Policy, Right, Rights};
use isoform_testing::mutate::Random;
use std::collections::BTreeSet;
use std::fmt::Write;

/// The rights that the rules of a process give: for each other slot and each channel.
type Of = Vec<Vec<Vec<Right>>>;

/// The rules of all processes. What happens in a world without rules does not depend on them.
pub(crate) struct Table {
    random: Random,
    identities: Vec<[u8; 16]>,
    /// The rules of each slot.
    allowed: Vec<Of>,
}

/// All rights, as far as it matters here.
const ALL: [Right; 7] =
    [Right::See, Right::Publish, Right::Subscribe, Right::Block, Right::Query, Right::Introduce, Right::Ask];

impl Table {
    pub(crate) fn new(seed: u64, slots: usize, identities: Vec<[u8; 16]>) -> Table {
        let random = Random::of(seed, 1);
        let allowed = vec![vec![vec![ALL.to_vec(); identities.len()]; slots]; slots];
        let mut table = Table { random, identities, allowed };
        (0..slots).for_each(|slot| table.change(slot, 3));
        table
    }

    /// Some rights of others at a slot become other ones: about one of so many.
    pub(crate) fn change(&mut self, of: usize, one_of: usize) {
        for allowed in self.allowed[of].iter_mut().flatten() {
            if self.random.one_in(one_of) {
                *allowed = ALL.to_vec();
                if !self.random.one_in(3) {
                    // Without the right to see, the others mean nothing.
                    let random = &mut self.random;
                    allowed.retain(|right| !random.one_in(if *right == Right::See { 6 } else { 3 }));
                }
            }
        }
    }

    /// Whose rules change now, if any do.
    pub(crate) fn due(&mut self) -> Option<usize> {
        self.random.one_in(5).then(|| self.random.below(self.allowed.len()))
    }

    pub(crate) fn allow_all(&mut self) {
        self.allowed.iter_mut().flatten().flatten().for_each(|allowed| *allowed = ALL.to_vec());
    }

    /// Whether everybody may do everything.
    pub(crate) fn allows_all(&self) -> bool {
        self.allowed.iter().flatten().flatten().all(|allowed| allowed.len() == ALL.len())
    }

    /// Whether the rules of a slot give another one a right on a channel.
    pub(crate) fn may(&self, of: usize, other: usize, channel: &[u8; 16], right: Right) -> bool {
        let at = self.identities.iter().position(|identity| identity == channel).expect("a channel of this world");
        of == other || self.allowed[of][other][at].contains(&right) && self.allowed[of][other][at].contains(&Right::See)
    }

    /// Whether events of a source may go to a sink, by the rules of both.
    pub(crate) fn may_flow(&self, source: usize, sink: usize, channel: &[u8; 16]) -> bool {
        self.may(source, sink, channel, Right::Subscribe) && self.may(sink, source, channel, Right::Publish)
    }

    /// The rules of a slot, stated in one of several ways.
    pub(crate) fn text(&mut self, of: usize) -> String {
        let mut text = String::new();
        for (user, channels) in self.allowed[of].iter().enumerate() {
            for (at, allowed) in channels.iter().enumerate() {
                let pattern =
                    [format!("channel-{at}"), format!("*-{at}"), format!("c*{at}")][self.random.below(3)].clone();
                let denied: Vec<Right> = ALL.into_iter().filter(|right| !allowed.contains(right)).collect();
                let words = |rights: &[Right]| rights.iter().map(|right| right.word()).collect::<Vec<_>>().join(",");
                if self.random.one_in(2) {
                    // A change of parameters may cross with new rules, so all may always ask for them.
                    let allowed = [&allowed[..], &[Right::Parametrise]].concat();
                    writeln!(text, "allow user {user} {} on {pattern}", words(&allowed)).expect("a text");
                } else {
                    if !denied.is_empty() {
                        writeln!(text, "deny user {user} {} on {pattern} # not", words(&denied)).expect("a text");
                    }
                    writeln!(text, "allow user {user} all on {pattern}").expect("a text");
                }
            }
        }
        text
    }

    /// The rules of a slot, for its node.
    pub(crate) fn rights(&mut self, of: usize) -> Rights {
        Rights::parse(&self.text(of)).expect("rules")
    }
}

impl World {
    /// The rules of a process change while it runs.
    pub(crate) fn reload(&mut self, slot: usize) {
        let Some(rules) = &mut self.rules else { return };
        let before = rules.allowed.clone();
        rules.change(slot, 4);
        self.set_rules(slot, &before);
    }

    /// From now on, everybody may do everything.
    pub(crate) fn allow_all(&mut self) {
        let Some(rules) = &mut self.rules else { return };
        let before = rules.allowed.clone();
        rules.allow_all();
        for slot in 0..self.slots.len() {
            self.set_rules(slot, &before);
        }
    }

    fn set_rules(&mut self, slot: usize, before: &[Of]) {
        let Some(process) = &mut self.slots[slot].process else { return };
        // What was said before could be said.
        for (&at, wire) in &mut self.wires {
            for (end, entry) in wire.ends.iter_mut().enumerate() {
                if entry.slot == slot && entry.incarnation == process.incarnation {
                    entry.said = process.node.waiting(ConnId(2 * at + end as u64));
                }
            }
        }
        let Some(rules) = &mut self.rules else { return };
        process.node.set_rights(self.now, Some(rules.rights(slot)));
        self.tally.reloads += 1;
        self.note_revoked(slot, before);
        self.follow(slot);
    }

    /// Notes the subscriptions that end because of this: no further event counts for them.
    fn note_revoked(&mut self, slot: usize, before: &[Of]) {
        let (Some(process), Some(rules)) = (&self.slots[slot].process, &self.rules) else { return };
        for (&key, &source) in process.sources.iter().chain(&process.leaving) {
            let channel = self.oracle.sources[source].channel;
            let at = rules.identities.iter().position(|identity| *identity == channel).expect("a channel");
            let ledgers = process.node.ledger(key);
            for account in ledgers.iter().filter(|account| account.present) {
                let other = self.homes[&account.node];
                let wanted = &self.oracle.sink(account.node, account.sink).wanted;
                let needs = [
                    Some(Right::See),
                    Some(Right::Subscribe),
                    wanted.query.as_ref().map(|_| Right::Query),
                    (wanted.must && account.policy == Policy::Block).then_some(Right::Block),
                ];
                let loses = |right: Right| {
                    let had = before[slot][other][at].contains(&right) && before[slot][other][at].contains(&Right::See);
                    other != slot && had && !rules.may(slot, other, &channel, right)
                };
                if needs.into_iter().flatten().any(loses) {
                    self.oracle.revoked(source, (account.node, account.sink), &ledgers);
                    self.tally.revoked += 1;
                }
            }
        }
    }

    /// The slot of a process that is there, by its node.
    pub(crate) fn slot_of(&self, node: NodeId) -> Option<usize> {
        self.slots.iter().position(|slot| slot.process.as_ref().is_some_and(|process| process.id() == node))
    }

    /// The nodes whose sinks may not get what a source of this process submits now.
    pub(crate) fn kept_out(&self, slot: usize, channel: &[u8; 16]) -> BTreeSet<NodeId> {
        let Some(rules) = &self.rules else { return BTreeSet::new() };
        let others = (0..self.slots.len()).filter(|&other| !rules.may_flow(slot, other, channel));
        others.filter_map(|other| self.slots[other].process.as_ref().map(|process| process.id())).collect()
    }

    /// Looks at what a node says: of a channel that the other may not see, nothing but that it has left it.
    pub(crate) fn overhear(&mut self, at: u64, end: usize, bytes: &[u8]) {
        let (Some(rules), Some(wire)) = (&self.rules, self.wires.get_mut(&at)) else { return };
        let (slot, other) = (wire.ends[end].slot, wire.ends[1 - end].slot);
        let said_before = std::mem::take(&mut wire.ends[end].said);
        let unseen: Vec<[u8; 16]> =
            rules.identities.iter().copied().filter(|channel| !rules.may(slot, other, channel, Right::See)).collect();
        // A Hello is no frame.
        let mut place = if bytes.starts_with(b"\x89ISL") { Hello::LENGTH } else { 0 };
        while let Some(header) = bytes[place..].first_chunk::<HEADER>() {
            let header = Header::parse(header).expect("a frame");
            let frame = &bytes[place..place + header.extent()];
            let tells = |channel: &&[u8; 16]| frame.windows(16).any(|part| part == *channel);
            let is_about_events =
                matches!(header.kind, Some(FrameKind::Event | FrameKind::Begin | FrameKind::Part | FrameKind::Leave));
            if place >= said_before
                && !is_about_events
                && let Some(channel) = unseen.iter().find(tells)
            {
                panic!("{slot} tells {other} of {channel:?}: {header:?}");
            }
            self.tally.overheard += u64::from(!unseen.is_empty());
            place += header.extent();
        }
    }

    /// Asks all members for reports.
    pub(crate) fn ask_all(&mut self) {
        for slot in 0..self.slots.len() {
            let (now, until) = (self.now, self.now + crate::Time::from_secs(2));
            let Some(process) = &mut self.slots[slot].process else { continue };
            let channels: Vec<_> = process.channels.values().copied().collect();
            channels.into_iter().for_each(|channel| process.node.ask(channel, until.max(now)));
            self.follow(slot);
        }
    }

    /// Whoever has answered has done so as its rules say. Returns how many there are.
    pub(crate) fn reports_are_allowed(&self) -> u64 {
        let Some(rules) = &self.rules else { return 0 };
        let mut count = 0;
        for (slot, entry) in self.slots.iter().enumerate() {
            let Some(process) = &entry.process else { continue };
            for (channel, &key) in &process.channels {
                let members = process.node.info(key).map_or(Vec::new(), |info| info.members);
                for member in members.into_iter().skip(1) {
                    let (Some(report), Some(other)) = (member.report, self.slot_of(member.node)) else { continue };
                    let may = rules.may(other, slot, channel, Right::Ask);
                    assert_eq!(report.refused.is_none(), may, "{other} answers {slot}: {report:?}");
                    assert!(may || report.sources.is_empty() && report.sinks.is_empty(), "{report:?}");
                    count += 1;
                }
            }
        }
        count
    }
}
