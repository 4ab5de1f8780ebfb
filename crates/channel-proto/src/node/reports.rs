//! What a node knows and tells of its part: accounts, counts, members (`spec/channel.md`, "The account" and "Reports").

use super::Node;
use super::state::Channel;
use crate::control::Control;
use crate::keys::{ChannelKey, Identity, LinkKey, NodeId, SinkKey, SourceKey};
use crate::memory::{Body, Storage};
use crate::report::{Report, SinkLedger, SinkReport, SourceReport};
use crate::sending::Sending;
use isoform_core::{Error, Format};

/// What is known of a channel.
#[derive(Clone, Debug, PartialEq)]
pub struct ChannelInfo {
    /// Which one it is.
    pub identity: Identity,
    /// Its name.
    pub name: String,
    /// Its type, if it has one.
    pub format: Option<Format>,
    /// Its members; the first is this node.
    pub members: Vec<MemberInfo>,
    /// Sinks elsewhere that could not use a source of this node, and why.
    pub declined: Vec<(NodeId, Error)>,
}

/// A node that has a channel open.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberInfo {
    /// Who it is.
    pub node: NodeId,
    /// Where it can be dialed.
    pub addresses: Vec<String>,
    /// What it told of its sources and sinks; `None` before there was an answer.
    pub report: Option<Report>,
}

impl<B: Body, S: Storage> Node<B, S> {
    /// What has become of a source's events: with each sink that is there, and the latest that have left.
    pub fn ledger(&self, key: SourceKey) -> Vec<SinkLedger> {
        let Some(source) = self.sources.get(key) else { return Vec::new() };
        let present = source.sendings.iter().map(|&sending| account(&self.sendings[sending], true));
        present.chain(source.past.iter().copied()).collect()
    }

    /// What has come to a sink: events received, taken, lost.
    pub fn counts(&self, key: SinkKey) -> (u64, u64, u64) {
        let Some(sink) = self.sinks.get(key) else { return (0, 0, 0) };
        let (taken, lost) = sink.past;
        let all = sink.receivings.iter().filter_map(|&receiving| self.receivings.get(receiving));
        all.fold((taken, taken, lost), |(received, taken, lost), receiving| {
            (received + receiving.received.events, taken + receiving.taken.events, lost.saturating_add(receiving.lost))
        })
    }

    /// How many sinks have subscribed to a source.
    pub fn listeners(&self, key: SourceKey) -> usize {
        self.sources.get(key).map_or(0, |source| source.sendings.len())
    }

    /// What is known of a channel. What other members tell of their part is from when they were last
    /// [asked](Node::ask).
    pub fn info(&self, key: ChannelKey) -> Option<ChannelInfo> {
        let channel = self.channels.get(key)?;
        let own = MemberInfo {
            node: self.settings.id,
            addresses: self.settings.addresses.clone(),
            report: Some(self.report(channel)),
        };
        let others = channel.members.iter().map(|(&key, member)| {
            let link = &self.links[key];
            MemberInfo { node: link.peer, addresses: link.addresses.clone(), report: member.report.clone() }
        });
        Some(ChannelInfo {
            identity: channel.identity,
            name: channel.name.clone(),
            format: channel.format.clone(),
            members: std::iter::once(own).chain(others).collect(),
            declined: channel.declined.iter().cloned().collect(),
        })
    }

    /// Asks the other members of a channel what they can tell of it: see [`info`](Node::info).
    pub fn ask(&mut self, key: ChannelKey) {
        let Some(channel) = self.channels.get_mut(key) else { return };
        let identity = channel.identity;
        channel.members.values_mut().for_each(|member| member.report = None);
        let members: Vec<LinkKey> = channel.members.keys().copied().collect();
        let request = self.asks;
        channel.asked = Some(request);
        self.asks = self.asks.wrapping_add(1);
        members.into_iter().for_each(|member| self.say(member, &Control::Ask { request, identity }));
    }

    pub(super) fn report(&self, channel: &Channel) -> Report {
        let name = |format: &Format| (format.name().to_string(), format.token());
        let sources = channel.sources.iter().map(|&at| {
            let source = &self.sources[at];
            SourceReport {
                source: at.0,
                submitted: source.next,
                format: source.format.as_ref().map(name),
                sinks: self.ledger(at),
            }
        });
        let sinks = channel.sinks.iter().map(|&at| {
            let wanted = &self.sinks[at].wanted;
            let format = wanted.format.as_ref().map(name);
            let (received, taken, lost) = self.counts(at);
            SinkReport { sink: at.0, format, policy: wanted.policy, received, taken, lost }
        });
        Report { sources: sources.collect(), sinks: sinks.collect() }
    }
}

pub(super) fn account<B: Body>(sending: &Sending<B>, present: bool) -> SinkLedger {
    let Sending { node, sink, policy, .. } = *sending;
    SinkLedger { node, sink, policy, present, ledger: sending.ledger() }
}
