//! Many members of one channel: how many links they have, and whether every sink has every source after joins, splits,
//! restarts, and among liars. Real nodes with real keys, on a network that only delays and separates.
//!
//! `MEMBERS=10000 cargo test --release -p isoform-channel-proto --test node crowd` makes it a large crowd, as `make soak` does. The
//! test says what it counted: frames, connections, and links of a member.

mod network;

use super::invented;
use isoform_channel_proto::{Policy, Time, Wanted};
use isoform_testing::mutate::Random;
use network::{CHANNEL, Network, SILENT};
use std::io::Write;
use std::time::Instant;

fn members() -> usize {
    std::env::var("MEMBERS").ok().map_or(150, |count| count.parse().expect("a number of members"))
}

/// Says what a part of the crowd's life took: nothing is demanded of the time on a clock.
struct Teller {
    clock: Instant,
    began: Time,
    frames: u64,
    wired: u64,
}

impl Teller {
    fn new() -> Teller {
        Teller { clock: Instant::now(), began: Time::ZERO, frames: 0, wired: 0 }
    }

    fn tell(&mut self, network: &Network, what: &str, took: Time) {
        let (frames, wired) = (network.frames - self.frames, network.wired - self.wired);
        let mut links: Vec<usize> = network.alive().map(|slot| network.links(slot)).collect();
        links.sort_unstable();
        let [median, most] = [links.len() / 2, links.len() - 1].map(|at| links[at]);
        let line = format!(
            "crowd: {what}: all had all after {took:?}; {:?} of its time; {frames} frames, {wired} new connections; {} links, \
             {median} of a member in the middle, {most} at most; {:.0?} on the clock\n",
            network.now - self.began,
            network.all_links(),
            self.clock.elapsed(),
        );
        // Not `println`, which is heard of failures only.
        std::io::stdout().write_all(line.as_bytes()).expect("standard output");
        *self = Teller { clock: Instant::now(), began: network.now, frames: network.frames, wired: network.wired };
    }
}

/// How many processes come before one has a sink.
const SOON: usize = 100;

/// Lets a process join at another one, and gives it a sink.
fn join(network: &mut Network, at: &[usize], slot: usize) {
    network.start(slot);
    network.open(slot, at);
}

fn settle(network: &mut Network, seconds: u64) {
    network.run(Time::from_secs(seconds));
}

/// Every sink has every source, within some time.
fn all_have_all(network: &mut Network, what: &str, within: u64) -> Time {
    let begin = network.now;
    loop {
        let sinks = network.alive().filter(|&slot| network.has_sink(slot)).count();
        let sources: Vec<usize> = network.alive().filter(|&slot| network.has_source(slot)).collect();
        let lacking: Vec<(usize, usize)> =
            sources.iter().map(|&slot| (slot, network.listeners(slot))).filter(|(_, count)| *count != sinks).collect();
        if lacking.is_empty() {
            return network.now - begin;
        }
        let waited = network.now - begin;
        if waited >= Time::from_secs(within) {
            let of = |slot| network.without(slot);
            let without: Vec<String> = lacking.iter().flat_map(|&(slot, _)| of(slot)).take(10).collect();
            panic!("{what}: of {sinks} sinks, sources have only {lacking:?}: {without:#?}");
        }
        network.run(Time::from_millis(250));
    }
}

/// Soon, no process has more than three links that carry nothing wanted.
fn few_links_are_spare(network: &mut Network, what: &str) {
    let spare = |network: &Network| {
        let spare = network.alive().map(|slot| (slot, network.links(slot), network.wanted(slot)));
        spare.filter(|(_, links, wanted)| *links > wanted + 3).collect::<Vec<_>>()
    };
    let end = network.now + Time::from_secs(10);
    while !spare(network).is_empty() {
        assert!(network.now < end, "{what}: slots, links, and how many of them are wanted: {:?}", spare(network));
        network.run(Time::from_millis(250));
    }
}

#[test]
fn a_crowd_finds_together_and_has_few_links() {
    let count = members();
    let (mut random, any) = (Random::new(7), Wanted::any(Policy::Block));
    let mut network = Network::new(count + 4);
    let mut teller = Teller::new();
    // One source, and sinks that join at whoever is there.
    network.start(0);
    network.create(0);
    network.add_source(0);
    for slot in 1..count {
        // Most have an id that names the source; some open the channel at another member.
        let at = if random.one_in(10) { random.below(slot) } else { 0 };
        join(&mut network, &[at, 0], slot);
        network.run(Time::from_millis(10));
        // It takes a second until a program has a sink.
        if slot > SOON {
            network.add_sinks(slot - SOON..slot - SOON + 1, &any);
        }
    }
    network.run(Time::from_secs(2));
    network.add_sinks(count.saturating_sub(SOON).max(1)..count, &any);
    let joined = all_have_all(&mut network, "joined", 60);
    settle(&mut network, 10);
    few_links_are_spare(&mut network, "joined");
    let links = network.all_links();
    assert!(links <= count + count / 8, "{links} links for {count} members");
    teller.tell(&network, "sinks join", joined);

    // Two more sources: one at a member, one that comes.
    network.add_source(count / 2);
    join(&mut network, &[count / 3, 1], count);
    network.run(Time::from_secs(1));
    network.add_source(count);
    let added = all_have_all(&mut network, "more sources", 60);
    teller.tell(&network, "two more sources", added);

    // The one who made the channel leaves; another source is killed. Sinks whose sources are gone meet a new one.
    network.leave(0);
    network.kill(count / 2);
    network.kill(count);
    settle(&mut network, 40);
    few_links_are_spare(&mut network, "without sources");
    join(&mut network, &[count / 3], count + 1);
    network.run(Time::from_secs(1));
    network.add_source(count + 1);
    let restarted = all_have_all(&mut network, "a new source", 120);
    teller.tell(&network, "a new source after all were gone", restarted);

    // A split, with a new source on the other side, and members that are killed meanwhile.
    network.split(|slot| slot % 2 == 0);
    settle(&mut network, 60);
    network.add_source(2);
    let mut killed = Vec::new();
    for _ in 0..count / 20 {
        let slot = 3 + random.below(count - 3);
        if network.is_alive(slot) && !network.has_source(slot) {
            network.kill(slot);
            killed.push(slot);
        }
    }
    settle(&mut network, 20);
    network.split(|_| false);
    let healed = all_have_all(&mut network, "healed", 180);
    teller.tell(&network, "a split that heals", healed);

    // The killed ones come back, with new keys at their old addresses.
    killed.iter().for_each(|&slot| join(&mut network, &[count / 3, 1], slot));
    network.run(Time::from_secs(2));
    killed.iter().for_each(|&slot| network.add_sinks(slot..slot + 1, &any));
    let back = all_have_all(&mut network, "restarted", 60);
    teller.tell(&network, "restarts", back);

    // Liars, each of which invents members with sources, and with sinks.
    for turn in 0..20u32 {
        for liar in [5usize, 6, 7].into_iter().filter(|&liar| network.is_alive(liar)).collect::<Vec<_>>() {
            let lies = |at: u32| {
                let number = 1_000 * turn + 100 * liar as u32 + at;
                let address = if at.is_multiple_of(4) { SILENT } else { "test:unknown" };
                invented::announcement(CHANNEL, number, 1, 1 + at % 2, &[address])
            };
            network.lie(liar, &invented::members(&(0..10).map(lies).collect::<Vec<_>>()));
        }
        network.run(Time::from_millis(500));
    }
    join(&mut network, &[count / 3, 8, 9], count + 2);
    network.run(Time::from_secs(1));
    network.add_source(count + 2);
    let lied = all_have_all(&mut network, "among liars", 120);
    teller.tell(&network, "among liars", lied);
    few_links_are_spare(&mut network, "at last");
}

#[test]
fn members_become_known_although_something_always_arrives() {
    const INVENTED: u32 = 100;
    let mut network = Network::new(2);
    network.start(0);
    network.create(0);
    join(&mut network, &[0], 1);
    network.run(Time::from_millis(100));
    let all = (0..INVENTED).map(|number| invented::announcement(CHANNEL, number, 1, 1, &["test:unknown"]));
    network.lie(1, &invented::members(&all.collect::<Vec<_>>()));
    for _ in 0..100 {
        // A Ping.
        network.lie(1, &invented::frame(2, &[]));
        network.run(Time::from_millis(5));
    }
    assert_eq!(network.known(0), 2 + INVENTED as usize);
}

#[test]
fn a_liar_does_not_make_an_honest_member_flood_another_one() {
    const SINKS: usize = 400;
    const INVENTED: u32 = 100;
    let mut network = Network::new(SINKS + 2);
    network.start(0);
    network.create(0);
    network.add_source(0);
    (1..=SINKS).for_each(|slot| join(&mut network, &[0], slot));
    network.run(Time::from_secs(1));
    network.add_sinks(1..SINKS + 1, &Wanted::any(Policy::Block));
    all_have_all(&mut network, "joined", 60);
    few_links_are_spare(&mut network, "joined");
    settle(&mut network, 10);
    // Every sink dials all of these in vain, and then asks its one neighbour, the source, to pass on a Call.
    let all =
        (0..INVENTED).map(|number| invented::announcement(CHANNEL, number, 1, 1, &[&format!("test:nobody-{number}")]));
    network.lie(1, &invented::members(&all.collect::<Vec<_>>()));
    let before = network.frames_to(1);
    settle(&mut network, 10);
    let is_known = |number: u32| network.known_at(SINKS, &format!("test:nobody-{number}")) == 1;
    assert!((0..INVENTED).all(is_known), "all sinks have heard of the invented members");
    let calls = network.frames_to(1) - before;
    assert!(calls < 1_000, "{calls} frames to the one that has told of them");
    all_have_all(&mut network, "among liars", 1);
}

#[test]
fn sources_become_known_before_other_members() {
    let mut network = Network::new(2);
    network.start(0);
    network.create(0);
    join(&mut network, &[0], 1);
    network.run(Time::from_millis(100));
    let of = |numbers: std::ops::Range<u32>, has: u32, address: &str| {
        let all = numbers.map(|number| invented::announcement(CHANNEL, number, 1, has, &[address]));
        invented::members(&all.collect::<Vec<_>>())
    };
    let (sinks, sources) = (of(0..300, 2, "test:sink"), of(300..310, 1, "test:source"));
    network.lie(1, &[sinks, sources].concat());
    // In each step, some are checked.
    network.run(Time::from_millis(20));
    assert_eq!(network.known_at(0, "test:source"), 10);
    assert!(network.known_at(0, "test:sink") > 0);
}
