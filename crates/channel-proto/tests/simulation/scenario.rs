//! What happens in a world: a random life of some channels, with everything that can go wrong between processes.

use crate::Time;
use crate::oracle;
use crate::oracle::{CHANGED, HALF, OTHER, THIRD};
use crate::peace::Peace;
use crate::process::{Process, Taking};
use crate::rules::Table;
use crate::world::{Counted, Happening, Tally, World};
use isoform_channel_proto::{
    ChannelKey, Grants, Identity, Parameters, Policy, Query, QueryTime, SinkKey, SourceKey, Waits, Wanted, Window,
};
use isoform_core::{FieldList, Limits, Machine, Missing, Registry, Rules};
use isoform_testing::mutate::Random;
use std::collections::BTreeMap;

/// Lives through the world of a seed.
pub(crate) fn run(seed: u64) -> Tally {
    let mut world = World::new(seed, 0);
    let slots = 2 + world.random.below(5);
    world = World::new(seed, slots);
    let mut scenario = Scenario::new(&mut world);
    // In every third world, processes have rules.
    let identities = scenario.channels.iter().map(|channel| channel.identity).collect();
    world.oracle.has_rules = seed.is_multiple_of(3);
    world.rules = world.oracle.has_rules.then(|| Table::new(seed, slots, identities));
    // Rules name the users of processes. In other worlds, several processes have one credential.
    world.counted = [Counted::Alone, Counted::InPairs, Counted::Together][(seed % 3) as usize];
    world.settings.own_user.users = vec![0];
    if scenario.is_harsh && seed.is_multiple_of(2) {
        // Room for the links of all processes, but not for those of their predecessors, too.
        world.settings.connections = 8;
    }
    scenario.live(&mut world);
    Peace::of(&scenario.channels, scenario.is_harsh, scenario.is_calm).comes(&mut world);
    let oracle::Oracle { delivered, lost, superseded, heads, declined, results, thinned, given, projected, .. } =
        world.oracle;
    Tally { delivered, lost, superseded, heads, declined, results, thinned, given, projected, ..world.tally }
}

/// The longest queue that a sink asks for.
pub(crate) const MOST: u64 = 100;
/// The most events that a source keeps.
const KEPT: usize = 20;

struct Scenario {
    channels: Vec<Channel>,
    /// Whether links may end that are not meant to.
    is_harsh: bool,
    /// Whether everything that breaks is heard of at once, so that nobody need say anything only to be heard.
    is_calm: bool,
    steps: usize,
    pace: Time,
}

pub(crate) struct Channel {
    pub(crate) identity: [u8; 16],
    pub(crate) name: String,
    /// The number of its format, if it has one.
    format: Option<usize>,
}

impl Scenario {
    fn new(world: &mut World) -> Scenario {
        let random = &mut world.random;
        let is_harsh = random.one_in(2);
        let is_calm = !is_harsh && random.one_in(3);
        let silence = if is_calm { 60_000 } else { 300 + random.below(2_000) as u64 };
        let silence = Time::from_millis(silence);
        world.settings.silence = silence;
        world.settings.linger = if is_harsh {
            Time::from_millis(200 + random.below(4_000) as u64)
        } else {
            6 * silence + Time::from_secs(20)
        };
        world.settings.handshake = Time::from_secs(2);
        // All processes of a world share a registry: what one learns makes the others forget.
        let formats = random.of_these(&[1, 2, 3, 1024]).unwrap_or(1);
        world.settings.registry = Registry::within(Limits { formats, ..Limits::default() });
        world.is_rough = is_harsh || random.one_in(2);
        let channels = (0..1 + random.below(3)).map(|i| Channel {
            identity: std::array::from_fn(|_| random.byte()),
            name: format!("channel-{i}"),
            format: random.one_in(2).then(|| random.below(2)),
        });
        let channels = channels.collect();
        let steps = 20 + random.below(120);
        let pace = Time::from_millis(random.of_these(&[1, 20, 200]).unwrap_or(1));
        Scenario { channels, is_harsh, is_calm, steps, pace }
    }

    fn live(&mut self, world: &mut World) {
        for slot in 0..world.slots.len() {
            world.start(slot);
        }
        for i in 0..self.channels.len() {
            let slot = world.random.below(world.slots.len());
            self.create(world, slot, i);
        }
        // Mostly, it begins with everybody where they want to be.
        if !world.random.one_in(4) {
            for slot in 0..world.slots.len() {
                self.open(world, slot);
                world.run(world.now + Time::from_millis(100));
                self.add_source(world, slot);
                self.add_sink(world, slot);
            }
        }
        for _ in 0..self.steps {
            let pause = world.random.below(1 + self.pace.as_micros() as usize) as u64;
            world.run(world.now + Time::from_micros(pause));
            self.step(world);
            if let Some(slot) = world.rules.as_mut().and_then(Table::due) {
                self.reload(world, slot);
            }
        }
    }

    fn step(&self, world: &mut World) {
        let slot = world.random.below(world.slots.len());
        match world.random.below(55) {
            0..6 => self.open(world, slot),
            6..10 => self.add_source(world, slot),
            10..14 => self.add_sink(world, slot),
            14..38 => self.submit(world, slot),
            38..41 => self.cut(world),
            41 => self.end_source(world, slot),
            42 => self.end_sink(world, slot),
            43 => self.stop(world, slot),
            44 => self.ask(world, slot),
            45 if world.random.one_in(2) => self.close(world, slot),
            46 if self.is_harsh && world.random.one_in(2) => {
                let silently = world.random.one_in(2);
                world.kill(slot, silently);
                world.start(slot);
            }
            47 if world.random.one_in(2) => self.leave(world, slot),
            48 => self.shut(world, slot),
            49 => self.change(world, slot),
            50 => self.skip(world, slot),
            51 => self.steer(world, slot),
            52 => self.grant(world, slot),
            _ => {}
        }
    }

    fn process<'a>(&self, world: &'a mut World, slot: usize) -> Option<&'a mut Process> {
        world.slots[slot].process.as_mut().filter(|process| !process.is_stopped)
    }

    fn create(&self, world: &mut World, slot: usize, at: usize) {
        let Channel { identity, name, format } = &self.channels[at];
        let format = format.map(|format| world.formats[format].clone());
        let Some(process) = self.process(world, slot) else { return };
        let key = process.node.create(Identity(*identity), name, format).expect("a channel of its own");
        process.channels.insert(*identity, key);
        world.follow(slot);
    }

    /// Opens a channel at any other process; at one that has it, mostly.
    fn open(&self, world: &mut World, slot: usize) {
        let Channel { identity, name, .. } = &self.channels[world.random.below(self.channels.len())];
        let member = |entry: &crate::world::Slot| {
            entry.process.as_ref().is_some_and(|process| process.channels.contains_key(identity))
        };
        let members: Vec<usize> = (0..world.slots.len()).filter(|&at| member(&world.slots[at])).collect();
        let to = world.random.of_these(&members).unwrap_or(0);
        let given = world.random.one_in(2).then_some(Identity(*identity));
        let now = world.now;
        let deadline = now + Time::from_millis(world.random.of_these(&[50, 3_000, 10_000]).unwrap_or(1));
        let Some(process) = self.process(world, slot) else { return };
        if process.channels.contains_key(identity) || process.opens.len() > 2 {
            return;
        }
        let key = process.node.open(now, &[World::address(to)], name, given, deadline);
        process.opens.insert(key, *identity);
        world.follow(slot);
    }

    /// A channel that a process has open.
    fn any_channel(&self, world: &mut World, slot: usize) -> Option<([u8; 16], ChannelKey)> {
        let all: Vec<([u8; 16], ChannelKey)> =
            self.process(world, slot)?.channels.iter().map(|(&identity, &key)| (identity, key)).collect();
        world.random.of_these(&all)
    }

    fn add_source(&self, world: &mut World, slot: usize) {
        let Some((identity, key)) = self.any_channel(world, slot) else { return };
        let number = (!world.random.one_in(3)).then(|| world.random.below(world.formats.len()));
        let format = number.map(|number| world.formats[number].clone());
        let grants = any_grants(&mut world.random);
        let defaults = world.random.one_in(3).then(|| level(0));
        let Some(process) = self.process(world, slot) else { return };
        let Ok(source) = process.node.add_source_with(key, format.as_ref(), grants, defaults.as_ref(), None) else {
            return;
        };
        let node = process.id();
        let entry = world.oracle.new_source(node, identity, number, grants, defaults.is_some());
        world.slots[slot].process.as_mut().map(|process| process.sources.insert(source, entry));
        world.follow(slot);
    }

    fn add_sink(&self, world: &mut World, slot: usize) {
        let Some((identity, key)) = self.any_channel(world, slot) else { return };
        let random = &mut world.random;
        let policy = any_policy(random);
        let (must, kept) = (random.one_in(3), !random.one_in(4));
        let window = Window {
            events: random.of_these(&[1, 2, 10, 1 << 16]).unwrap_or(1),
            bytes: random.of_these(&[1, 100, 5_000, 4 << 20]).unwrap_or(1),
        };
        let number = random.one_in(2).then(|| random.below(world.formats.len()));
        let longest = random.of_these(&[50, 70_000, 1 << 30, 1 << 30]).unwrap_or(1);
        let format = number.map(|number| world.formats[number].clone());
        let fields = if random.one_in(4) { vec!["count".into()] } else { Vec::new() };
        // So that the older formats fit the newer ones.
        let rules = Rules::new().missing(Missing::Zero);
        let heads = random.one_in(2);
        let mut query = random.one_in(3).then(|| random.of_these(&[THIRD, OTHER, CHANGED, HALF])).flatten();
        query = query.filter(|query| ![HALF, CHANGED].contains(query) || format.is_none() && fields.is_empty());
        let query = query.map(|query| Query::parse(query).expect("a query"));
        let narrow = random.one_in(2);
        let parameters = random.one_in(4).then(|| level(random.below(LEVELS) as i64));
        let wanted = Wanted {
            format,
            rules,
            must,
            kept,
            window,
            longest,
            fields,
            query,
            heads,
            narrow,
            parameters,
            ..Wanted::any(policy)
        };
        let pause = Time::from_micros(random.of_these(&[0, 10, 1_000, 300_000]).unwrap_or(0));
        let Some(process) = self.process(world, slot) else { return };
        let Ok(sink) = process.node.add_sink(key, wanted.clone()) else { return };
        let node = process.id();
        let entry = world.oracle.new_sink(node, sink, identity, wanted, number);
        world.slots[slot].process.as_mut().map(|process| process.sinks.insert(sink, Taking::new(entry, pause)));
        world.follow(slot);
    }

    /// A sink asks for another policy.
    fn change(&self, world: &mut World, slot: usize) {
        let Some(sink) = self.any_sink(world, slot) else { return };
        let (policy, must) = (any_policy(&mut world.random), world.random.one_in(3));
        let Some(process) = self.process(world, slot) else { return };
        process.node.set_policy(sink, policy, must);
        let at = process.sinks[&sink].sink;
        let known = &mut world.oracle.sinks[at];
        (known.wanted.policy, known.wanted.must) = (policy, must);
        known.was_latest |= policy == Policy::Latest;
        world.follow(slot);
    }

    /// A sink asks for other values of parameters.
    fn steer(&self, world: &mut World, slot: usize) {
        let Some(sink) = self.any_sink(world, slot) else { return };
        let values = level(world.random.below(LEVELS) as i64);
        let Some(process) = self.process(world, slot) else { return };
        process.node.set_parameters(sink, values.clone());
        let at = process.sinks[&sink].sink;
        world.oracle.sinks[at].wanted.parameters = Some(values);
        world.follow(slot);
    }

    /// A source grants less than its sinks ask for.
    fn grant(&self, world: &mut World, slot: usize) {
        let Some(key) = self.any_source(world, slot) else { return };
        let Some(process) = self.process(world, slot) else { return };
        let demands = process.node.demands(key);
        let Some(demand) = world.random.of_these(&demands.iter().collect::<Vec<_>>()) else { return };
        let Some(process) = self.process(world, slot) else { return };
        let less = level(level_of(&demand.values) / 2);
        process.node.grant_values(key, demand.key, &less).expect("values of its own format");
        world.follow(slot);
    }

    fn reload(&self, world: &mut World, slot: usize) {
        if self.process(world, slot).is_some() {
            world.reload(slot);
        }
    }

    /// A sink does not want some events of a source.
    fn skip(&self, world: &mut World, slot: usize) {
        let Some(key) = self.any_source(world, slot) else { return };
        let Some(process) = self.process(world, slot) else { return };
        let (source, ledgers) = (process.sources[&key], process.node.ledger(key));
        let present: Vec<_> = ledgers.iter().filter(|account| account.present).collect();
        let Some(account) = world.random.of_these(&present) else { return };
        let count = 1 + world.random.below(5) as u64;
        let Some(process) = self.process(world, slot) else { return };
        process.node.skip(key, account.node, account.sink, count);
        world.oracle.unwanted(source, (account.node, account.sink), count);
    }

    fn any_sink(&self, world: &mut World, slot: usize) -> Option<SinkKey> {
        let all: Vec<SinkKey> = self.process(world, slot)?.sinks.keys().copied().collect();
        world.random.of_these(&all)
    }

    fn any_source(&self, world: &mut World, slot: usize) -> Option<SourceKey> {
        let all: Vec<SourceKey> = self.process(world, slot)?.sources.keys().copied().collect();
        world.random.of_these(&all)
    }

    fn submit(&self, world: &mut World, slot: usize) {
        let Some(source) = self.any_source(world, slot) else { return };
        let most = world.random.of_these(&[1, 10, 60]).unwrap_or(1);
        for _ in 0..=world.random.below(most) {
            let length = world.length();
            if !world.submit(slot, source, length) {
                break;
            }
        }
    }

    fn end_source(&self, world: &mut World, slot: usize) {
        let Some(source) = self.any_source(world, slot) else { return };
        let at_once = world.random.one_in(3);
        let Some(process) = self.process(world, slot) else { return };
        match at_once {
            true => drop(process.node.drop_source(source)),
            false => process.node.end_source(source),
        }
        let place = process.sources.remove(&source);
        process.waiting.remove(&source);
        if let (false, Some(place)) = (at_once, place) {
            process.leaving.insert(source, place);
        }
        world.follow(slot);
    }

    fn end_sink(&self, world: &mut World, slot: usize) {
        let Some(sink) = self.any_sink(world, slot) else { return };
        let Some(process) = self.process(world, slot) else { return };
        process.node.end_sink(sink);
        process.sinks.remove(&sink);
        world.follow(slot);
    }

    fn cut(&self, world: &mut World) {
        let wires: Vec<u64> =
            world.wires.iter().filter(|(_, wire)| wire.ends.iter().any(|end| end.is_open)).map(|(at, _)| *at).collect();
        let Some(wire) = world.random.of_these(&wires) else { return };
        let deaf = world.random.of_these(&[[false; 2], [false; 2], [true, false], [false, true], [true; 2]]);
        world.cut(wire, deaf.filter(|_| !self.is_calm).unwrap_or_default());
    }

    /// A process is stopped for a while.
    fn stop(&self, world: &mut World, slot: usize) {
        let most = if self.is_harsh { 10_000 } else { 3_000 };
        let until = world.now + Time::from_millis(world.random.below(most) as u64);
        let Some(process) = self.process(world, slot) else { return };
        process.is_stopped = true;
        world.later(until, Happening::Continue { slot });
    }

    /// Nobody gets through to a process for a while.
    fn shut(&self, world: &mut World, slot: usize) {
        world.slots[slot].is_shut = true;
        let until = world.now + Time::from_millis(world.random.below(2_000) as u64);
        world.later(until, Happening::Open { slot });
    }

    fn ask(&self, world: &mut World, slot: usize) {
        let Some((_, key)) = self.any_channel(world, slot) else { return };
        let (now, is_survey) = (world.now, world.random.one_in(2));
        let Some(process) = self.process(world, slot) else { return };
        if is_survey {
            process.node.survey(now, key, now + Time::from_secs(3));
        }
        process.node.ask(key, now + Time::from_secs(2));
        world.follow(slot);
    }

    fn close(&self, world: &mut World, slot: usize) {
        let Some((identity, key)) = self.any_channel(world, slot) else { return };
        let channel_of = |world: &World, source: usize| world.oracle.sources[source].channel;
        let Some(process) = world.slots[slot].process.as_ref() else { return };
        let sources: BTreeMap<SourceKey, usize> = process
            .sources
            .iter()
            .filter(|(_, at)| channel_of(world, **at) == identity)
            .map(|(k, at)| (*k, *at))
            .collect();
        let sinks: Vec<SinkKey> = process
            .sinks
            .iter()
            .filter(|(_, taking)| world.oracle.sinks[taking.sink].channel == identity)
            .map(|(key, _)| *key)
            .collect();
        let Some(process) = self.process(world, slot) else { return };
        process.node.close(key);
        process.channels.remove(&identity);
        for (key, place) in sources {
            process.sources.remove(&key);
            process.waiting.remove(&key);
            process.leaving.insert(key, place);
        }
        sinks.iter().for_each(|sink| drop(process.sinks.remove(sink)));
        world.follow(slot);
    }

    /// A process leaves in order, and another one takes its place.
    fn leave(&self, world: &mut World, slot: usize) {
        let Some(process) = self.process(world, slot) else { return };
        process.node.leave();
        process.sources.clear();
        process.sinks.clear();
        world.follow(slot);
        world.kill(slot, false);
        world.start(slot);
    }
}

/// How many values the parameter of a source may have.
const LEVELS: usize = 5;

/// Values of the parameters of sources: one number.
pub(crate) fn level(level: i64) -> Parameters {
    let list = FieldList::new("Detail").field("level", "integer", 8, 0);
    let format = list.format(Machine::NATIVE, 8, 8).expect("a format");
    Parameters::new(&format, &level.to_ne_bytes()).expect("a record")
}

pub(crate) fn level_of(values: &Parameters) -> i64 {
    i64::from_ne_bytes(values.body().try_into().expect("a number"))
}

fn any_policy(random: &mut Random) -> Policy {
    let events = random.of_these(&[1, 2, 5, MOST]).unwrap_or(1);
    let bytes = random.of_these(&[1, 200, 10_000, u64::MAX]).unwrap_or(1);
    random.of_these(&[Policy::Block, Policy::Latest, Policy::DropOldest { events, bytes }]).unwrap_or(Policy::Block)
}

fn any_grants(random: &mut Random) -> Grants {
    let event = Time::from_micros(random.of_these(&[0, 100, 1_000, 50_000]).unwrap_or(0));
    let waits = Waits { event, second: event * random.of_these(&[1, 10]).unwrap_or(1) };
    let keep = random.of_these(&[0, 0, 1, KEPT]).unwrap_or(0);
    // Mostly, queries have little time, but none takes too long for an event, so that no subscription is refused.
    let [at_once, second] =
        [[20_000, 200_000, 2_000_000], [0, 3_000, 250_000_000]].map(|times| random.of_these(&times).unwrap_or(0));
    let [at_once, second] = [at_once, second].map(Time::from_nanos);
    let queries = if random.one_in(3) { None } else { Some(QueryTime { at_once, second }) };
    Grants { lossless: random.one_in(2), waits, keep, queries, ..Grants::default() }
}

impl World {
    /// Whether a source with these grants grants what a sink wants.
    pub(crate) fn grants(&self, grants: Grants, wanted: &Wanted) -> bool {
        match wanted.policy {
            Policy::Block => grants.lossless || !wanted.must,
            Policy::DropOldest { bytes, .. } => bytes <= self.settings.queue.bytes || !wanted.must,
            Policy::Latest => true,
        }
    }

    /// The length of an event.
    pub(crate) fn length(&mut self) -> usize {
        let most = self.random.of_these(&[0, 8, 8, 100, 100, 100, 3_000, 3_000, 66_000, 200_000]).unwrap_or(0);
        match most < 3_000 || !self.random.one_in(3) {
            true => self.random.below(most.min(3_000) + 1),
            false => self.random.below(most + 1),
        }
    }

    /// A source that was told to wait may go on.
    pub(crate) fn go_on_submitting(&mut self, slot: usize, key: SourceKey) {
        let (now, gives_up) = (self.now, self.random.one_in(10));
        let Some(process) = &mut self.slots[slot].process else { return };
        if !process.waiting.remove(&key) {
            return;
        }
        process.node.waited(now, key, gives_up);
        let length = self.length();
        self.submit(slot, key, length);
    }
}
