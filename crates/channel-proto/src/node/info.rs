//! Information about channels: members, and their sources and sinks (`spec/channel.md`, "Reports").

use super::{Node, costs};
use crate::Time;
use crate::account::Counts;
use crate::channels::Channel;
use crate::control::Control;
use crate::credentials::Credentials;
use crate::keys::{ChannelKey, Identity, LinkKey, NodeId, SinkKey, SourceKey};
use crate::links::told;
use crate::memory::{Body, Storage};
use crate::refusals::Refusal;
use crate::report::{Report, SinkLedger, SinkReport, SourceReport};
use crate::rights::Right;
use isoform_core::{Error, Format, Result};

/// Information about a channel.
#[derive(Clone, Debug, PartialEq)]
pub struct ChannelInfo {
    /// Its identity.
    pub identity: Identity,
    /// Its name.
    pub name: String,
    /// Its type, if it has one.
    pub format: Option<Format>,
    /// Its members as far as this node knows; the first is this node.
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
    /// How this node stands with it.
    pub reach: Reach,
    /// What this node knows of it by their link; `None` without a link.
    pub link: Option<LinkInfo>,
    /// Its report on its sources and sinks; `None` before the first answer.
    pub report: Option<Report>,
}

/// What a node knows of another one by their link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkInfo {
    /// Whether the last connection is encrypted.
    pub is_encrypted: bool,
    /// The other node's user, shared key and names in its certificate, in the words of the rules.
    pub peer: String,
}

/// How a node stands with a member of a channel.
#[derive(Clone, Debug, PartialEq)]
pub enum Reach {
    /// It is this node itself.
    Here,
    /// The two have a link.
    Linked,
    /// This node has heard of it, and has no reason for a link.
    Heard,
    /// It cannot be reached, for this reason.
    Missed(Error),
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

impl LinkInfo {
    fn of(credentials: &Credentials) -> LinkInfo {
        LinkInfo { is_encrypted: credentials.binding != [0; 32], peer: credentials.to_string() }
    }
}

impl<B: Body, S: Storage> Node<B, S> {
    /// The accounts of a source: with each present sink, and with those that left most recently.
    pub fn ledger(&self, key: SourceKey) -> Vec<SinkLedger> {
        self.flows.ledger(key)
    }

    /// The counts of a sink's events.
    pub fn counts(&self, key: SinkKey) -> Counts {
        self.flows.counts(key)
    }

    /// The program of a sink has taken a record that could not become one of the sink.
    pub fn unfit(&mut self, key: SinkKey) {
        self.flows.unfit(key);
    }

    /// The number of sinks that have subscribed to a source.
    pub fn listeners(&self, key: SourceKey) -> usize {
        self.flows.listeners(key)
    }

    /// Information about a channel. The reports of other members are answers to the last [`ask`](Node::ask).
    pub fn info(&self, key: ChannelKey) -> Option<ChannelInfo> {
        let Channel { identity, name, format, members, others, declined, .. } = self.channels.get(key)?;
        let addresses = self.links.settings.addresses.clone();
        let (node, report) = (self.links.key.id(), Some(self.report(key)));
        let own = MemberInfo { node, addresses, reach: Reach::Here, link: None, report };
        let linked = members.iter().map(|(&link, member)| {
            let (link, report) = (&self.links[link], member.report.clone());
            let known = Some(LinkInfo::of(&link.credentials));
            MemberInfo { node: link.peer, addresses: link.addresses.clone(), reach: Reach::Linked, link: known, report }
        });
        let is_linked = |node| self.links.with(node).is_some_and(|link| members.contains_key(&link));
        let heard = others.iter().filter(|(node, other)| other.is_there() && !is_linked(*node));
        let heard = heard.map(|(node, other)| {
            let reach = other.failure.clone().map_or(Reach::Heard, Reach::Missed);
            MemberInfo { node, addresses: other.said.addresses.clone(), reach, link: None, report: None }
        });
        Some(ChannelInfo {
            identity: *identity,
            name: name.clone(),
            format: format.clone(),
            members: std::iter::once(own).chain(linked).chain(heard).collect(),
            declined: declined.iter().map(|declined| (declined.node, declined.error.clone())).collect(),
        })
    }

    /// The node could not do something that others may miss. Reports tell it, beside what the node has refused.
    pub fn note_failure(&mut self, error: &Error) {
        self.links.refusals.note(error);
    }

    /// What this node has refused or failed to do, with the number of times.
    pub fn refusals(&self) -> &[Refusal] {
        self.links.refusals.all()
    }

    /// Asks the members that this node has a link with for reports, for [`info`](Node::info); and those who come until some
    /// time.
    pub fn ask(&mut self, key: ChannelKey, until: Time) {
        self.channels.ask(&mut self.links, key, until);
    }

    /// The same; and until then, makes links with all members.
    pub fn survey(&mut self, now: Time, key: ChannelKey, until: Time) {
        self.channels.at(now);
        self.channels.ask(&mut self.links, key, until);
        self.channels.survey(&self.links, key, until);
    }

    /// Another member asks for a report.
    pub(super) fn asked(&mut self, now: Time, link: LinkKey, request: u32, identity: Identity) -> Result<()> {
        let key = self.channels.of(identity).filter(|&key| self.channels.has_member(key, link));
        let Some(key) = key else { return Ok(()) };
        let Some(channel) = self.channels.get(key) else { return Ok(()) };
        let report = match self.links.expect_right(link, Right::Ask, &channel.name) {
            Err(error) => {
                let (code, last) = told(&error);
                Report { refused: Some(Refusal { code, count: 1, last }), ..Report::default() }
            }
            Ok(()) => {
                let refusals = self.links.refusals.told(|name| self.links.may(link, Right::See, name));
                let (report, work) = self.flows.report(&self.channels.sources(key), &self.channels.sinks(key), true);
                self.expect_patience(now, link, costs::report(&work))?;
                Report { refusals, ..report }
            }
        };
        self.links.say(link, &Control::Told { request, report: report.into() });
        Ok(())
    }

    fn report(&self, key: ChannelKey) -> Report {
        let refusals = self.links.refusals.all().to_vec();
        Report { refusals, ..self.flows.report(&self.channels.sources(key), &self.channels.sinks(key), false).0 }
    }
}
