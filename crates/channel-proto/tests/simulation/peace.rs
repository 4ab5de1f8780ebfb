//! Peace: everything works, and nobody does anything but take what has come. After a while, all must have found each other,
//! and every account must be settled.

use crate::Time;
use crate::formats::COMPATIBLE;
use crate::oracle;
use crate::process::Process;
use crate::scenario::Channel;
use crate::world::{Happening, World};
use isoform_channel_proto::{Identity, Policy, Reach, Right};
use std::collections::BTreeSet;

pub(crate) struct Peace<'a> {
    channels: &'a [Channel],
    /// Whether members may have lost each other for good.
    is_harsh: bool,
    /// Whether nobody says anything for a long time that he need not.
    is_calm: bool,
}

/// What does not hold yet.
type Held = Result<(), String>;

fn hold(holds: bool, what: impl FnOnce() -> String) -> Held {
    if holds { Ok(()) } else { Err(what()) }
}

/// Whoever asked for a channel has been answered: until then, others may take him for a member that he is not yet.
fn all_have_opened(world: &World) -> Held {
    let processes = world.slots.iter().filter_map(|slot| slot.process.as_ref());
    let opening: usize = processes.map(|process| process.opens.len()).sum();
    hold(opening == 0, || format!("{opening} wait for an answer"))
}

impl<'a> Peace<'a> {
    pub(crate) fn of(channels: &'a [Channel], is_harsh: bool, is_calm: bool) -> Peace<'a> {
        Peace { channels, is_harsh, is_calm }
    }

    pub(crate) fn comes(&self, world: &mut World) {
        world.is_rough = false;
        for slot in 0..world.slots.len() {
            world.later(world.now, Happening::Continue { slot });
            world.later(world.now, Happening::Open { slot });
            if let Some(process) = &mut world.slots[slot].process {
                process.sinks.values_mut().for_each(|taking| taking.pause = Time::from_millis(1));
            }
        }
        // What is broken already is found out first.
        world.run(world.now + 2 * world.settings.silence);
        let patience = 2 * world.settings.silence + world.settings.linger + Time::from_secs(20);
        if world.rules.is_some() {
            self.comes_with_rules(world, patience);
            world.allow_all();
        }
        // Members that could not be reached are tried at intervals that grow to 30 seconds. So long it also takes until who has lost a
        // neighbour, or was kept apart from it by rules, hears of it again.
        let again = Time::from_secs(60);
        let is_well = |world: &World| all_have_opened(world).and_then(|()| self.all_know_all(world));
        self.eventually(world, patience + again, is_well);
        self.submit_some(world);
        // Acknowledgements do not wait for others to have something to say.
        let patience = if self.is_calm { Time::from_secs(10) } else { patience };
        self.eventually(world, patience, |world| self.accounts_are_settled(world));
        // And so it stays.
        world.run(world.now + 2 * world.settings.silence);
        let is_well = |world: &World| self.all_know_all(world).and_then(|()| self.accounts_are_settled(world));
        // Members that meet again may be about to.
        // And a link that nobody needs may be ending: for a moment, only one of its two nodes knows.
        let patience = if self.is_harsh { patience } else { Time::from_secs(1) };
        self.eventually(world, patience, is_well);
    }

    /// What the rules allow comes about, and nothing else.
    fn comes_with_rules(&self, world: &mut World, patience: Time) {
        let is_well = |world: &World| all_have_opened(world).and_then(|()| self.all_know_all(world));
        self.eventually(world, patience, is_well);
        self.submit_some(world);
        self.eventually(world, patience, |world| self.accounts_are_settled(world));
        world.ask_all();
        world.run(world.now + Time::from_secs(3));
        world.tally.reports += world.reports_are_allowed();
    }

    /// Waits until something holds.
    fn eventually(&self, world: &mut World, patience: Time, holds: impl Fn(&World) -> Held) {
        let (end, mut pause) = (world.now + patience, Time::from_millis(20));
        while let Err(what) = holds(world) {
            assert!(world.now < end, "after {patience:?} of peace: {what}");
            world.run(world.now + pause);
            pause = (2 * pause).min(Time::from_secs(2));
            // Members that may not meet would ask each other for ever.
            if world.rules.as_ref().map_or(self.is_harsh, |rules| rules.allows_all()) {
                self.meet_again(world);
            }
        }
    }

    fn members_of(&self, world: &World, channel: &Channel) -> Vec<usize> {
        let has_it = |process: &Process| process.channels.contains_key(&channel.identity);
        let slots = world.slots.iter().enumerate();
        slots.filter(|(_, slot)| slot.process.as_ref().is_some_and(has_it)).map(|(slot, _)| slot).collect()
    }

    /// Whom a process takes for members, by slot, itself included, and which of them it has a link with; `None` among them
    /// is somebody who is no more.
    fn known_to(&self, world: &World, slot: usize, channel: &Channel) -> Vec<(Option<usize>, Reach)> {
        let process = world.slots[slot].process.as_ref().expect("a process");
        let info = process.node.info(process.channels[&channel.identity]).expect("a channel");
        let slot_of = |node| world.slots.iter().position(|slot| slot.process.as_ref().is_some_and(|p| p.id() == node));
        info.members.into_iter().map(|member| (slot_of(member.node), member.reach)).collect()
    }

    /// Two that have a link for a channel agree on that.
    fn neighbours_agree(&self, world: &World) -> Held {
        for channel in self.channels {
            let members = self.members_of(world, channel);
            for &slot in &members {
                let known = self.known_to(world, slot, channel).into_iter();
                for (other, _) in known.filter(|(_, reach)| *reach == Reach::Linked) {
                    let back = other.filter(|other| members.contains(other)).is_some_and(|other| {
                        let back = self.known_to(world, other, channel);
                        back.contains(&(Some(slot), Reach::Linked))
                    });
                    let name = &channel.name;
                    hold(back, || format!("{slot} takes {other:?} for a member of {name}, not the other way round"))?;
                }
            }
        }
        Ok(())
    }

    /// The members of a channel that have heard of each other, or of others who have.
    fn groups(&self, world: &World, channel: &Channel) -> Vec<BTreeSet<usize>> {
        let members = self.members_of(world, channel);
        let mut groups: Vec<BTreeSet<usize>> = Vec::new();
        for &slot in &members {
            let known = self.known_to(world, slot, channel).into_iter().filter_map(|(other, _)| other);
            let mut group: BTreeSet<usize> = known.filter(|other| members.contains(other)).collect();
            groups.retain(|other| {
                let is_apart = other.is_disjoint(&group);
                if !is_apart {
                    group.extend(other);
                }
                is_apart
            });
            groups.push(group);
        }
        groups
    }

    /// Members that have lost each other for good, or that rules have kept apart until their links ended, open the channel anew, at
    /// each other.
    fn meet_again(&self, world: &mut World) {
        for channel in self.channels {
            let members = self.members_of(world, channel);
            for &slot in &members {
                for &other in &members {
                    if slot == other
                        || self.known_to(world, slot, channel).iter().any(|(known, _)| *known == Some(other))
                    {
                        continue;
                    }
                    let (now, address) = (world.now, [World::address(other)]);
                    let deadline = now + Time::from_secs(5);
                    let Some(process) = world.slots[slot].process.as_mut().filter(|process| process.opens.is_empty())
                    else {
                        continue;
                    };
                    let identity = Some(Identity(channel.identity));
                    let key = process.node.open(now, &address, &channel.name, identity, deadline);
                    process.opens.insert(key, channel.identity);
                    world.follow(slot);
                }
            }
        }
    }

    /// Each sink has subscribed to each source that it can use, and nobody else has. Groups that were founded apart, by one
    /// who left before he could be asked, know nothing of each other, unless they meet again.
    fn all_know_all(&self, world: &World) -> Held {
        self.neighbours_agree(world)?;
        for channel in self.channels {
            for group in self.groups(world, channel) {
                group.iter().try_for_each(|&slot| self.sources_are_heard(world, slot, channel, &group))?;
            }
        }
        Ok(())
    }

    fn sources_are_heard(&self, world: &World, slot: usize, channel: &Channel, group: &BTreeSet<usize>) -> Held {
        let process = world.slots[slot].process.as_ref().expect("a process");
        let of_it = |place: &usize| world.oracle.sources[*place].channel == channel.identity;
        for (&key, &place) in process.sources.iter().filter(|(_, place)| of_it(place)) {
            let accounts = process.node.ledger(key).into_iter().filter(|account| account.present);
            let subscribed: BTreeSet<_> = accounts.map(|account| (account.node, account.sink)).collect();
            let oracle::Source { format, grants, has_parameters, .. } = world.oracle.sources[place];
            let (mut meant, mut refused) = (BTreeSet::new(), BTreeSet::new());
            for &at in group {
                let other = world.slots[at].process.as_ref().expect("a member");
                let rules = world.rules.as_ref();
                let may = |right| rules.is_none_or(|rules| rules.may(slot, at, &channel.identity, right));
                if rules.is_some_and(|rules| !rules.may_flow(slot, at, &channel.identity)) {
                    continue;
                }
                // Rules may keep members from hearing of each other.
                let is_linked = || self.known_to(world, slot, channel).contains(&(Some(at), Reach::Linked));
                let must_meet = slot == at || rules.is_none_or(|rules| rules.allows_all()) || is_linked();
                for taking in other.sinks.values() {
                    let sink = &world.oracle.sinks[taking.sink];
                    let fits = match (format, sink.format) {
                        (Some(from), Some(to)) => from == to || from < COMPATIBLE && to < COMPATIBLE,
                        // The sinks of messages that want fields want one that only those formats have.
                        (Some(from), None) => from < COMPATIBLE || !sink.wants_count(),
                        _ => true,
                    };
                    let may_query = sink.wanted.query.is_none() || may(Right::Query);
                    let asks = sink.wanted.parameters.is_some();
                    let may_ask = !asks || has_parameters;
                    if sink.channel == channel.identity && fits && may_query && may_ask {
                        meant.insert((other.id(), sink.key.0));
                        // It may have subscribed before it asked for what is not granted.
                        let may_wait = sink.wanted.policy != Policy::Block || may(Right::Block);
                        let is_granted = world.grants(grants, &sink.wanted) && (may_wait || !sink.wanted.must);
                        if !is_granted || !must_meet {
                            refused.insert((other.id(), sink.key.0));
                        }
                    }
                }
            }
            let name = &channel.name;
            hold(
                subscribed.is_subset(&meant) && meant.difference(&refused).all(|sink| subscribed.contains(sink)),
                || {
                    let known: Vec<_> = group.iter().map(|&at| (at, self.known_to(world, at, channel))).collect();
                    format!(
                        "to a source of {slot} on {name}, {subscribed:?} have subscribed, and should {meant:?}, but for \
                         {refused:?}; known: {known:?}"
                    )
                },
            )?;
        }
        Ok(())
    }

    fn submit_some(&self, world: &mut World) {
        for slot in 0..world.slots.len() {
            let Some(process) = &world.slots[slot].process else { continue };
            for key in process.sources.keys().copied().collect::<Vec<_>>() {
                let length = world.length();
                world.submit(slot, key, length);
            }
        }
    }

    fn accounts_are_settled(&self, world: &World) -> Held {
        for (slot, process) in world.slots.iter().enumerate() {
            let Some(process) = &process.process else { continue };
            hold(process.waiting.is_empty(), || format!("sources of {slot} wait for a word: {:?}", process.waiting))?;
            for (&key, &source) in &process.sources {
                world.oracle.is_settled(source, &process.node.ledger(key))?;
            }
            for &key in process.leaving.keys() {
                let open = process.node.ledger(key).into_iter().filter(|account| account.present).count();
                hold(open == 0, || format!("{open} accounts of a source that has left are not closed"))?;
            }
        }
        Ok(())
    }
}
