//! A source generates what its sinks ask for: parameters, over sockets.
#![cfg(unix)]

use isoform::{Code, Record};
use isoform_channel::{Demand, Event, Node, Parameters, Sink, Source};
use std::time::Duration;

/// How detailed the cells are, and which.
#[derive(Record, Clone, Debug, PartialEq)]
struct Detail {
    level: i64,
    quantity: String,
}

#[derive(Record)]
struct Cells {
    step: u64,
    depth: Vec<f64>,
}

/// What a viewer asks for: it knows one of the parameters.
#[derive(Record, Clone, Copy)]
#[repr(C)]
struct Level {
    level: i32,
}

#[derive(Record, Clone, Copy)]
#[repr(C)]
struct Misspelt {
    levels: i32,
}

const PATIENCE: Duration = Duration::from_secs(20);

/// The demands once they are these: level and number of sinks.
fn demands(source: &Source<Cells>, expected: &[(i64, usize)]) -> Vec<Demand> {
    let mut demands = source.demands();
    loop {
        let level = |demand: &Demand| demand.values.to::<Detail>().unwrap().level;
        let mut seen: Vec<(i64, usize)> = demands.iter().map(|demand| (level(demand), demand.sinks)).collect();
        seen.sort_unstable();
        if seen == expected {
            return demands;
        }
        let told = source.new_demands(PATIENCE).unwrap();
        demands = told.unwrap_or_else(|| panic!("{seen:?} are demanded, and not {expected:?}"));
    }
}

/// Submits a step for each demand: as many cells as its level.
fn step(source: &mut Source<Cells>, step: u64, demands: &[Demand]) {
    for demand in demands {
        let Detail { level, .. } = demand.values.to().unwrap();
        let depth = vec![level as f64; level as usize];
        source.submit_for(demand, &Cells { step, depth }).unwrap();
    }
}

/// What comes until a record: the level that was given last, and the record.
fn next(sink: &mut Sink<Cells>, level: &mut i64) -> (u64, usize) {
    loop {
        match sink.recv_timeout(PATIENCE).unwrap().expect("an event in time") {
            Event::Given(_, given) => *level = given.values.to::<Detail>().unwrap().level,
            Event::Record { record, .. } => return (record.step, record.depth.len()),
            _ => {}
        }
    }
}

/// Two sinks of different values, and the same query.
#[test]
fn every_nth_event_is_one_of_those_for_the_values_of_a_sink() {
    let (simulation, viewer) = (Node::new().unwrap(), Node::new().unwrap());
    let channel = simulation.create::<Cells>("field").unwrap();
    let defaults = Detail { level: 1, quantity: "depth".into() };
    let mut source = channel.source_builder().parameters(&defaults).unwrap().build::<Cells>().unwrap();
    let remote = viewer.open(channel.id().to_string()).unwrap();
    let ask = |level, query| {
        let sink = remote.sink_builder().parameters(&Level { level }).unwrap().query(query).unwrap();
        sink.build::<Cells>().unwrap()
    };
    let mut sinks = [ask(3, "every 2"), ask(5, "every 2"), ask(5, "every 2 | where step >= 0")];
    let demanded = demands(&source, &[(3, 1), (5, 2)]);
    (0..8).for_each(|at| step(&mut source, at, &demanded));
    for sink in &mut sinks {
        let steps: Vec<u64> = (0..4).map(|_| next(sink, &mut 0).0).collect();
        assert_eq!(steps, [0, 2, 4, 6]);
    }
}

#[test]
fn a_program_generates_each_demand_once_and_nothing_without_one() {
    let (simulation, viewer) = (Node::new().unwrap(), Node::new().unwrap());
    let channel = simulation.create::<Cells>("field").unwrap();
    let defaults = Detail { level: 1, quantity: "depth".into() };
    let mut source = channel.source_builder().parameters(&defaults).unwrap().build::<Cells>().unwrap();
    assert_eq!(source.demands(), [], "nobody wants anything");
    assert_eq!(source.new_demands(Duration::ZERO).unwrap(), None);
    let remote = viewer.open(channel.id().to_string()).unwrap();
    let ask = |level| remote.sink_builder().parameters(&Level { level }).unwrap().build::<Cells>().unwrap();
    let (mut fine, mut coarse, mut same) = (ask(8), ask(2), ask(8));
    let mut plain = remote.sink::<Cells>().unwrap();
    let wanted = demands(&source, &[(1, 1), (2, 1), (8, 2)]);
    assert_eq!(source.new_demands(Duration::ZERO).unwrap(), None, "the program was told");
    step(&mut source, 0, &wanted);
    for (sink, level) in [(&mut fine, 8), (&mut coarse, 2), (&mut same, 8), (&mut plain, 1)] {
        let mut given = 0;
        assert_eq!((next(sink, &mut given), given), ((0, level as usize), level));
    }

    // A viewer zooms in, another one leaves, and the source grants less than was asked for.
    coarse.set_parameters(Parameters::of(&Level { level: 100 }).unwrap());
    drop(same);
    let wanted = demands(&source, &[(1, 1), (8, 1), (100, 1)]);
    let finest = wanted.iter().find(|demand| demand.values.to::<Detail>().unwrap().level == 100).unwrap();
    source.grant(finest, &Parameters::of(&Level { level: 10 }).unwrap()).unwrap();
    let wanted = demands(&source, &[(1, 1), (8, 1), (10, 1)]);
    step(&mut source, 1, &wanted);
    let mut given = 0;
    assert_eq!((next(&mut coarse, &mut given), given), ((1, 10), 10));
    assert_eq!(next(&mut fine, &mut given), (1, 8));
    assert_eq!(next(&mut plain, &mut given), (1, 1));

    // The accounts hold: what was for others is skipped.
    for account in source.close(PATIENCE).unwrap() {
        let ledger = account.ledger;
        assert!(ledger.is_exact() && ledger.lost() == 0 && ledger.in_flight == 0, "{ledger}");
    }
}

#[test]
fn what_does_not_fit_is_refused_with_the_reason() {
    let node = Node::new().unwrap();
    let channel = node.create::<Cells>("field").unwrap();
    let defaults = Detail { level: 1, quantity: "depth".into() };
    let source = channel.source_builder().parameters(&defaults).unwrap().build::<Cells>().unwrap();
    let other = Node::new().unwrap();
    let remote = other.open(channel.id().to_string()).unwrap();
    let misspelt = remote.sink_builder().parameters(&Misspelt { levels: 3 }).unwrap();
    let mut sink = misspelt.build::<Cells>().unwrap();
    let error = loop {
        match sink.recv_timeout(PATIENCE).unwrap().expect("an event in time") {
            Event::Refused(_, error) => break error,
            other => drop(other.map(drop)),
        }
    };
    assert_eq!(error.code(), Code::NoSuchField);
    assert_eq!(error.to_string(), "no such field: at parameters: expected one of level, quantity, found levels");
    // It asks for something else, and then it is refused by the program.
    sink.set_parameters(Parameters::of(&Level { level: 1_000 }).unwrap());
    let wanted = demands(&source, &[(1_000, 1)]);
    source.refuse(&wanted[0], "a level of at most 10");
    let error = loop {
        if let Event::Refused(_, error) = sink.recv_timeout(PATIENCE).unwrap().expect("an event in time") {
            break error;
        }
    };
    assert_eq!(error.code(), Code::NotGranted);
    assert!(error.to_string().contains("a level of at most 10"), "{error}");
}
