//! Announcements: what this node says of itself on its channels, and what it hears and tells of others
//! (`spec/channel.md`, "Announcements").

use super::agenda::Errand;
use super::meeting::dialable;
use super::others::{News, Other, Teller};
use super::passing::Tells;
use super::{Channel, Channels};
use crate::Time;
use crate::action::Action;
use crate::allowance::Allowance;
use crate::announcement::{About, Announcement, Has, Members, Verdicts};
use crate::control::{Call, Control};
use crate::credentials::Principal;
use crate::keys::{ChannelKey, LinkKey, NodeId};
use crate::links::Links;
use crate::memory::Body;
use crate::rights::Right;
use isoform_core::Result;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

/// How often a member says anew that it is there.
const RENEW: Time = Time::from_secs(30);
/// How many members without sources this node tells a neighbour of: when it comes, and with each renewal.
const TOLD: usize = 16;
const TOLD_AGAIN: usize = 2;
/// How many members with sources, that it has never reached, this node tells a neighbour of when it comes.
const UNREACHED: usize = 256;
/// How many announcements are checked at a time, and the pause after that, in which other work is done.
const CHECKS: usize = 8;
/// How many announcements are looked at for that.
const LOOKS: usize = 1024;
const PAUSE: Time = Time::from_millis(2);
/// How many announcements of one link are checked: at once, and in a second.
const ALLOWED: u32 = 1024;
const A_SECOND: u32 = 64;
/// The nodes of one principal together get so many times as much, whatever their number; the own user has no such limit.
const OF_PRINCIPAL: u32 = 4;
/// How many Calls a neighbour gets: at once, and in a second. It counts them among the announcements that it checks, and must have room
/// for others.
const CALLS: u32 = ALLOWED / 2;
const CALLS_A_SECOND: u32 = A_SECOND / 2;
/// The most times that a call is passed on.
const HOPS: u8 = 8;

/// Announcements that have yet to be checked, how much is checked for each link, and how many Calls each link gets.
#[derive(Default)]
pub(super) struct Unproven {
    /// Of members with sources, and of others: a node with thousands of neighbours hears of many members that it need not
    /// know, and must not keep new sources waiting for that.
    queues: [VecDeque<(LinkKey, ChannelKey, Announcement)>; 2],
    /// Nothing is checked before this time. It does not move when something arrives, since with many links something always
    /// does.
    rests: Time,
    allowances: HashMap<LinkKey, Allowance>,
    of_principals: HashMap<Principal, Allowance>,
    calls: HashMap<LinkKey, Allowance>,
    verdicts: Option<Verdicts>,
}

impl Unproven {
    fn put(&mut self, link: LinkKey, channel: ChannelKey, said: Announcement) {
        self.queues[usize::from(!said.has.sources)].push_back((link, channel, said));
    }

    /// The next one. Of four, three are of members with sources, if there are any.
    fn next(&mut self, turn: usize) -> Option<(LinkKey, ChannelKey, Announcement)> {
        let first = usize::from(turn % 4 == 3);
        self.queues[first].pop_front().or_else(|| self.queues[1 - first].pop_front())
    }

    fn is_empty(&self) -> bool {
        self.queues.iter().all(VecDeque::is_empty)
    }

    /// Whether one more may be checked that came over a link from a node of this principal.
    fn allows(&mut self, now: Time, link: LinkKey, principal: Principal) -> bool {
        let (most, second) = (OF_PRINCIPAL * ALLOWED, OF_PRINCIPAL * A_SECOND);
        self.allowances.entry(link).or_default().take(now, ALLOWED, A_SECOND)
            && (principal.is_own() || self.of_principals.entry(principal).or_default().take(now, most, second))
    }

    /// Whether a neighbour may be sent one more Call.
    fn allows_call(&mut self, now: Time, to: LinkKey) -> bool {
        self.calls.entry(to).or_default().take(now, CALLS, CALLS_A_SECOND)
    }

    pub(super) fn forget(&mut self, now: Time, link: LinkKey) {
        self.of_principals.retain(|_, allowance| !allowance.rests(now));
        self.allowances.remove(&link);
        self.calls.remove(&link);
    }

    /// When the next announcements are checked, if some wait.
    pub(super) fn due(&self) -> Option<Time> {
        (!self.is_empty()).then_some(self.rests)
    }
}

impl Channels {
    /// What this node says of itself on a channel.
    fn own<B: Body>(&mut self, links: &Links<B>, key: ChannelKey) -> Announcement {
        let channel = &self.all[key];
        let has = channel.has();
        if let Some(said) = channel.said.as_ref().filter(|said| said.has == has) {
            return said.clone();
        }
        let said = self.sign(links, key, has);
        self.all[key].said = Some(said.clone());
        said
    }

    fn sign<B: Body>(&mut self, links: &Links<B>, key: ChannelKey, has: Has) -> Announcement {
        self.announced += 1;
        let identity = self.all[key].identity;
        Announcement::sign(&links.key, identity, self.announced, has, &links.settings.addresses)
    }

    /// Tells the neighbours what this node has on a channel, if that has changed.
    pub(crate) fn announce<B: Body>(&mut self, links: &mut Links<B>, key: ChannelKey) {
        let Some(channel) = self.all.get(key) else { return };
        let has = channel.has();
        let is_said = channel.said.as_ref().is_none_or(|said| said.has == has);
        if !is_said && !channel.members.is_empty() {
            let said = self.own(links, key);
            self.tell_all(links, key, &said);
        }
    }

    /// Tells the neighbours that this node leaves a channel.
    pub(super) fn announce_end<B: Body>(&mut self, links: &mut Links<B>, key: ChannelKey) {
        if !self.all[key].members.is_empty() {
            let said = self.sign(links, key, Has { left: true, ..Has::default() });
            self.tell_all(links, key, &said);
        }
    }

    /// Says anew that this node is there.
    pub(super) fn renew<B: Body>(&mut self, now: Time, links: &mut Links<B>, key: ChannelKey) {
        let Some(channel) = self.all.get_mut(key) else { return };
        channel.said = None;
        let Channel { members, others, .. } = channel;
        // Of several links that end at once, some may be gone already.
        let linked: Vec<(NodeId, LinkKey)> =
            members.keys().filter_map(|&link| links.peer(link).map(|peer| (peer, link))).collect();
        others.forget_old(now, |node| linked.iter().any(|(peer, _)| *peer == node));
        for (node, link) in linked {
            let some = self.some_others(key, node, TOLD_AGAIN);
            let own = self.own(links, key);
            tell(links, link, std::iter::once(own).chain(some));
        }
        self.plan_renewal(now, key);
    }

    pub(super) fn plan_renewal(&mut self, now: Time, key: ChannelKey) {
        // Not all at the same time.
        let jitter = Time::from_millis(self.random(5_000) as u64);
        self.agenda.set(key, Errand::Renew, now + RENEW - jitter);
    }

    /// Sends a new neighbour the announcements of this node, of all members with sources, and of some others.
    pub(super) fn greet<B: Body>(&mut self, links: &mut Links<B>, key: ChannelKey, link: LinkKey) {
        let (now, peer) = (self.now, links[link].peer);
        let own = self.own(links, key);
        let some = self.some_others(key, peer, TOLD);
        let unreached =
            self.some(key, UNREACHED, |node, other| node != peer && other.has_sources(now) && !other.is_reached);
        let others = self.all[key].others.iter();
        let sources = others.filter(|(node, other)| *node != peer && other.has_sources(now) && other.is_reached);
        let sources = sources.map(|(_, other)| other.said.clone());
        let all: Vec<Announcement> = std::iter::once(own).chain(sources).chain(unreached).chain(some).collect();
        let epoch = links[link].epoch;
        if self.all[key].greeted.insert(link, epoch) == Some(epoch) {
            self.sent_again += all.len();
        }
        tell(links, link, all.into_iter());
    }

    /// Answers a neighbour that has opened a channel again in the same epoch: it knows the other members.
    pub(super) fn greet_again<B: Body>(&mut self, links: &mut Links<B>, key: ChannelKey, link: LinkKey) {
        let own = self.own(links, key);
        self.sent_again += 1 + self.all[key].sources.len();
        tell(links, link, std::iter::once(own));
    }

    /// Some members that have no sources, chosen at random.
    fn some_others(&mut self, key: ChannelKey, but: NodeId, most: usize) -> Vec<Announcement> {
        self.some(key, most, |node, other| {
            node != but && other.is_there() && !other.said.has.sources && other.failure.is_none()
        })
    }

    /// Some of the members for which something holds, chosen at random.
    fn some(&mut self, key: ChannelKey, most: usize, is_it: impl Fn(NodeId, &Other) -> bool) -> Vec<Announcement> {
        let all = self.all[key].others.iter();
        let mut nodes: Vec<NodeId> = all.filter(|(node, other)| is_it(*node, other)).map(|(node, _)| node).collect();
        let count = most.min(nodes.len());
        for at in 0..count {
            let with = at + self.random(nodes.len() - at);
            nodes.swap(at, with);
        }
        let others = &self.all[key].others;
        nodes[..count].iter().filter_map(|node| others.get(*node)).map(|other| other.said.clone()).collect()
    }

    fn tell_all<B: Body>(&self, links: &mut Links<B>, key: ChannelKey, said: &Announcement) {
        for &link in self.all[key].members.keys() {
            // Of several links that end at once, some may be gone already.
            if links.peer(link).is_some_and(|peer| peer != said.node) {
                tell(links, link, std::iter::once(said.clone()));
            }
        }
    }

    /// A neighbour tells of members, itself among them.
    pub(crate) fn heard_of<B: Body>(&mut self, links: &mut Links<B>, link: LinkKey, members: &Members) -> Result<()> {
        let (now, public, own) = (self.now, links[link].public, links.key.id());
        let principal = links[link].taken.principal;
        // Whether the neighbour may tell of other members. The rules are asked once for each channel.
        let mut introduces = BTreeMap::new();
        for bytes in members.iter() {
            let About { public: of, identity } = About::parse(bytes)?;
            let Some(key) = self.of(identity).filter(|&key| self.has_member(key, link)) else { continue };
            let is_own = of == public;
            if !is_own && !*introduces.entry(key).or_insert_with(|| self.introduces(links, key, link)) {
                continue;
            }
            let said = Announcement::parse(bytes)?;
            if said.node == own {
                continue;
            }
            if is_own {
                self.heard_of_itself(links, key, link, &said);
                // Whoever hears of a source goes there, and may have no rules.
                if said.has.sources && !links.may(link, Right::Publish, &self.all[key].name) {
                    continue;
                }
            }
            if self.all[key].others.is_news(&said) && self.unproven.allows(now, link, principal) {
                self.unproven.put(link, key, said);
            }
        }
        self.check_some(links);
        Ok(())
    }

    /// Whether a neighbour may tell of other members.
    fn introduces<B: Body>(&self, links: &mut Links<B>, key: ChannelKey, link: LinkKey) -> bool {
        links.expect_right(link, Right::Introduce, &self.all[key].name).is_ok()
    }

    /// A neighbour tells of itself. The Proof of the link has shown that it does.
    fn heard_of_itself<B: Body>(&mut self, links: &mut Links<B>, key: ChannelKey, link: LinkKey, said: &Announcement) {
        let now = self.now;
        let channel = &mut self.all[key];
        let Some(member) = channel.members.get_mut(&link).filter(|member| member.number < said.number) else { return };
        let before = std::mem::replace(&mut member.has, said.has);
        member.number = said.number;
        if said.has.sinks && !before.sinks {
            self.offer_all(links, key, link);
        }
        if now < self.all[key].asks_until {
            // It answers after it has subscribed. An earlier answer does not contain that.
            self.ask_one(links, key, link);
        }
        self.announce(links, key);
    }

    /// Checks some announcements, so that others have their turn in between.
    pub(super) fn check_some<B: Body>(&mut self, links: &mut Links<B>) {
        if self.now < self.unproven.rests {
            return;
        }
        let mut checks = 0;
        for turn in 0..LOOKS {
            if checks == CHECKS {
                break;
            }
            let Some((link, key, said)) = self.unproven.next(turn) else { break };
            // Many neighbours tell the same. All but the first cost little.
            if self.all.get(key).is_some_and(|channel| channel.others.is_news(&said)) {
                checks += 1;
                if self.is_right(&said) {
                    self.learn(links, link, key, said);
                }
            }
        }
        self.pass_on(links);
        if checks == CHECKS || !self.unproven.is_empty() {
            self.unproven.rests = self.now + PAUSE;
        }
    }

    fn is_right(&self, said: &Announcement) -> bool {
        self.unproven.verdicts.as_ref().map_or_else(|| said.check(), |verdicts| verdicts.check(said))
    }

    /// Shares what is known of signatures with other nodes of this process.
    pub(crate) fn share(&mut self, verdicts: Verdicts) {
        self.unproven.verdicts = Some(verdicts);
    }

    /// Passes announcements on to all neighbours but those that told of them: few frames for many announcements.
    pub(super) fn pass_on<B: Body>(&mut self, links: &mut Links<B>) {
        let mut news = Vec::new();
        while let Some((link, key, node)) =
            self.passing.next(self.now, |key| self.all.get(key).map_or(0, |channel| channel.members.len()))
        {
            let other = self.all.get_mut(key).and_then(|channel| channel.others.get_mut(node));
            news.extend(other.map(|other| {
                other.is_passed_on = true;
                (link, key, other.said.clone())
            }));
        }
        let channels: BTreeSet<ChannelKey> = news.iter().map(|(_, key, _)| *key).collect();
        for key in channels {
            let Some(channel) = self.all.get(key) else { continue };
            for &link in channel.members.keys() {
                // Of several links that end at once, some may be gone already.
                let Some(peer) = links.peer(link) else { continue };
                let others =
                    news.iter().filter(|(teller, of, said)| *of == key && *teller != link && said.node != peer);
                tell(links, link, others.map(|(_, _, said)| said.clone()));
            }
        }
    }

    /// Learns from an announcement whose signature is right.
    fn learn<B: Body>(&mut self, links: &mut Links<B>, teller: LinkKey, key: ChannelKey, said: Announcement) {
        let (now, node, chance) = (self.now, said.node, self.random(usize::MAX));
        let other = self.all[key].others.get(node);
        let before = other.map(|other| (other.said.has, other.is_there()));
        let is_passed_on = other.is_some_and(|other| other.is_passed_on);
        let from = Teller { link: teller, is_near: links.is_near(teller) };
        let news = self.all[key].others.keep(now, from, said.clone(), chance);
        if news == News::None {
            return;
        }
        if news == News::Spread {
            let tells = match is_passed_on {
                _ if links.peer(teller) == Some(node) => Tells::Itself,
                true => Tells::Known,
                false => Tells::New,
            };
            self.passing.put((links.principal(teller), teller), tells, (key, node), chance);
        }
        if before != Some((said.has, !said.has.left)) {
            links.actions.act(Action::Changed(key));
        }
        let linked = links.with(node);
        match linked {
            _ if said.has.left => self.agenda.cancel(key, Errand::Meet(node)),
            Some(link) if self.has_member(key, link) => {
                self.all[key].others.get_mut(node).into_iter().for_each(super::others::Other::was_reached);
            }
            // There is a link with it already, for other channels.
            Some(link) => self.join_once(links, key, link),
            None => self.consider(links, key, node),
        }
    }

    /// Asks a member that cannot be dialed to dial this node. The call goes back the way on which its announcement came.
    pub(super) fn call<B: Body>(&mut self, links: &mut Links<B>, key: ChannelKey, node: NodeId) {
        let Some(teller) = self.all[key].others.get(node).map(|other| other.teller) else { return };
        let members = &self.all[key].members;
        let way = if members.contains_key(&teller) { Some(teller) } else { members.keys().next().copied() };
        let Some(way) = way else { return };
        let caller = self.own(links, key);
        self.send_call(links, way, Call { to: node, hops: HOPS, caller });
    }

    /// Sends a Call to a neighbour, unless it has got too many of late. Whoever wants to be dialed calls again.
    fn send_call<B: Body>(&mut self, links: &mut Links<B>, way: LinkKey, call: Call) {
        if self.unproven.allows_call(self.now, way) {
            links.say(way, &Control::Call(call.into()));
        }
    }

    /// A member asks this node, or one that this node knows, to dial it.
    pub(crate) fn was_called<B: Body>(&mut self, links: &mut Links<B>, link: LinkKey, call: Call) {
        let (now, Call { to, hops, caller }) = (self.now, call);
        let Some(key) = self.of(caller.identity).filter(|&key| self.has_member(key, link)) else { return };
        let principal = links[link].taken.principal;
        if !self.unproven.allows(now, link, principal) {
            return;
        }
        if links[link].peer != caller.node && !self.introduces(links, key, link) {
            return;
        }
        if to != links.key.id() {
            let channel = &self.all[key];
            let next = links.with(to).filter(|next| channel.members.contains_key(next));
            let next = next.or_else(|| channel.others.get(to).map(|other| other.teller));
            let next = next.filter(|next| *next != link && channel.members.contains_key(next));
            if let (Some(next), Some(hops)) = (next, hops.min(HOPS).checked_sub(1)) {
                self.send_call(links, next, Call { to, hops, caller });
            }
            return;
        }
        let node = caller.node;
        let is_free = links.with(node).is_none() && !links.is_dialing(node);
        if is_free
            && links.room_to_meet() > 0
            && self.introductions.allow(now, (principal, link), false)
            && self.is_right(&caller)
        {
            let addresses = dialable(links, &caller, links.is_near(link));
            // A caller whose addresses rest will call again.
            self.dial_for(links, key, link, node, addresses);
        }
    }
}

/// Tells a neighbour of members, in as many frames as that takes. A neighbour that does not read gets no further announcements.
fn tell<B: Body>(links: &mut Links<B>, link: LinkKey, members: impl Iterator<Item = Announcement>) {
    if links.expect_reader(link).is_err() {
        return;
    }
    let mut frame = Members::default();
    for said in members {
        if !frame.has_room(&said) {
            links.say(link, &Control::Members(std::mem::take(&mut frame)));
        }
        frame.push(&said);
    }
    if frame.len() > 0 {
        links.say(link, &Control::Members(frame));
    }
}
