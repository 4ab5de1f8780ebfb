//! Information about channels: members, and their sources and sinks (`spec/channel.md`, "Reports").

use super::Node;
use crate::channels::Channel;
use crate::control::Control;
use crate::keys::{ChannelKey, Identity, LinkKey, NodeId, SinkKey, SourceKey};
use crate::memory::{Body, Storage};
use crate::refusals::Refusal;
use crate::report::{Report, SinkLedger, SinkReport, SourceReport};
use isoform_core::{Error, Format};

/// Information about a channel.
#[derive(Clone, Debug, PartialEq)]
pub struct ChannelInfo {
    /// Its identity.
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
    /// Its id.
    pub node: NodeId,
    /// Its addresses.
    pub addresses: Vec<String>,
    /// Its report on its sources and sinks; `None` before the first answer.
    pub report: Option<Report>,
}

impl ChannelInfo {
    /// The sources of the members that have answered, each with its node.
    pub fn sources(&self) -> impl Iterator<Item = (NodeId, &SourceReport)> {
        self.members.iter().flat_map(|member| member.sources().iter().map(|source| (member.node, source)))
    }

    /// The sinks of the members that have answered, each with its node.
    pub fn sinks(&self) -> impl Iterator<Item = (NodeId, &SinkReport)> {
        self.members.iter().flat_map(|member| member.sinks().iter().map(|sink| (member.node, sink)))
    }

    /// The account of each source with each of its sinks.
    pub fn ledgers(&self) -> impl Iterator<Item = &SinkLedger> {
        self.sources().flat_map(|(_, source)| &source.sinks)
    }
}

impl MemberInfo {
    /// Its sources; none before it has answered.
    pub fn sources(&self) -> &[SourceReport] {
        self.report.as_ref().map_or(&[], |report| &report.sources)
    }

    /// Its sinks; none before it has answered.
    pub fn sinks(&self) -> &[SinkReport] {
        self.report.as_ref().map_or(&[], |report| &report.sinks)
    }
}

impl<B: Body, S: Storage> Node<B, S> {
    /// The accounts of a source: with each present sink, and with those that left most recently.
    pub fn ledger(&self, key: SourceKey) -> Vec<SinkLedger> {
        self.flows.ledger(key)
    }

    /// The counts of a sink: events received, taken, lost.
    pub fn counts(&self, key: SinkKey) -> (u64, u64, u64) {
        self.flows.counts(key)
    }

    /// The number of sinks that have subscribed to a source.
    pub fn listeners(&self, key: SourceKey) -> usize {
        self.flows.listeners(key)
    }

    /// Information about a channel. The reports of other members are answers to the last [`ask`](Node::ask).
    pub fn info(&self, key: ChannelKey) -> Option<ChannelInfo> {
        let Channel { identity, name, format, members, declined, .. } = self.channels.get(key)?;
        let settings = &self.links.settings;
        let report = Some(self.report(key));
        let own = MemberInfo { node: self.links.key.id(), addresses: settings.addresses.clone(), report };
        let others = members.iter().map(|(&link, member)| {
            let link = &self.links[link];
            MemberInfo { node: link.peer, addresses: link.addresses.clone(), report: member.report.clone() }
        });
        Some(ChannelInfo {
            identity: *identity,
            name: name.clone(),
            format: format.clone(),
            members: std::iter::once(own).chain(others).collect(),
            declined: declined.iter().cloned().collect(),
        })
    }

    /// What this node has refused, with the number of times.
    pub fn refusals(&self) -> &[Refusal] {
        self.links.refusals.all()
    }

    /// Asks the other members of a channel for reports, for [`info`](Node::info).
    pub fn ask(&mut self, key: ChannelKey) {
        self.channels.ask(&mut self.links, key);
    }

    /// Another member asks for a report.
    pub(super) fn asked(&mut self, link: LinkKey, request: u32, identity: Identity) {
        if let Some(channel) = self.channels.of(identity) {
            let report = Box::new(self.report(channel));
            self.links.say(link, &Control::Told { request, report });
        }
    }

    fn report(&self, key: ChannelKey) -> Report {
        let refusals = self.links.refusals.all().to_vec();
        Report { refusals, ..self.flows.report(&self.channels.sources(key), &self.channels.sinks(key)) }
    }
}
