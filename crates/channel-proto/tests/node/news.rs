//! A sink that takes nothing is told of sources that come and go: how much of that it keeps, and who answers for it.

use super::host::{Guest, Host, Machine};
use isoform_channel_proto::{Batch, Item, Key, Policy, Settings, SinkKey, SourceKey, Time, Wanted};
use isoform_core::{Code, Result};

/// A host with a sink.
fn host_with_sink() -> (Host, SinkKey) {
    let mut host = Host::new(Settings::default());
    let sink = host.node.add_sink(host.channel, Wanted::any(Policy::Block)).unwrap();
    (host, sink)
}

fn another(host: &mut Host) -> Guest {
    host.guest(Settings::default())
}

/// Carries bytes, a second later.
fn talk(host: &mut Host, guest: &mut Guest) -> Result<()> {
    host.now += Time::from_secs(1);
    host.talk(guest)
}

/// A guest's sources come and go until the host has enough of it.
fn be_told_too_much(host: &mut Host, guest: &mut Guest) -> Code {
    for _ in 0..4_000 {
        let add = |node: &mut Machine| node.add_source(guest.channel, None).unwrap();
        let sources: Vec<SourceKey> = (0..250).map(|_| add(&mut guest.node)).collect();
        for _ in 0..2 {
            if let Err(error) = talk(host, guest) {
                return error.code();
            }
            sources.iter().for_each(|&source| drop(guest.node.drop_source(source)));
        }
    }
    panic!("the host has never enough");
}

/// What the sink is told, all of which it takes.
fn take(host: &mut Host, sink: SinkKey) -> Vec<Item> {
    let (mut batch, mut items) = (Batch::default(), Vec::new());
    while host.node.take(host.now, sink, &mut batch) {
        items.extend(batch.items());
    }
    items
}

#[test]
fn a_link_does_not_answer_for_one_that_was_there_before() {
    let (mut host, sink) = host_with_sink();
    let mut first = another(&mut host);
    assert_eq!(be_told_too_much(&mut host, &mut first), Code::Frame);
    let mut second = another(&mut host);
    let source = second.node.add_source(second.channel, None).unwrap();
    for _ in 0..2 {
        talk(&mut host, &mut second).unwrap();
        second.node.ask(second.channel, host.now);
    }
    take(&mut host, sink);
    talk(&mut host, &mut second).unwrap();
    assert_eq!(second.node.listeners(source), 1);
}

#[test]
fn guests_one_after_another_tell_a_sink_no_more_than_a_single_one() {
    let (mut host, sink) = host_with_sink();
    let mut first = another(&mut host);
    be_told_too_much(&mut host, &mut first);
    for _ in 0..3 {
        let mut guest = another(&mut host);
        for _ in 0..5 {
            let sources: Vec<SourceKey> =
                (0..250).map(|_| guest.node.add_source(guest.channel, None).unwrap()).collect();
            talk(&mut host, &mut guest).unwrap();
            assert!(
                sources.iter().all(|&source| guest.node.listeners(source) == 0),
                "the sink hears of nobody further"
            );
            sources.iter().for_each(|&source| drop(guest.node.drop_source(source)));
            talk(&mut host, &mut guest).unwrap();
        }
        guest.node.leave();
        let _ = talk(&mut host, &mut guest);
    }
    let told = take(&mut host, sink);
    let of_first = |item: &Item| !matches!(item, Item::Joined { node, .. } if *node != Key::from_seed([1; 32]).id());
    assert!(told.iter().all(of_first), "of {} items", told.len());
}

#[test]
fn sources_that_were_put_off_are_heard_of_once_the_sink_takes() {
    let (mut host, sink) = host_with_sink();
    let mut first = another(&mut host);
    be_told_too_much(&mut host, &mut first);
    let mut second = another(&mut host);
    let sources: Vec<SourceKey> = (0..3).map(|_| second.node.add_source(second.channel, None).unwrap()).collect();
    talk(&mut host, &mut second).unwrap();
    second.node.drop_source(sources[1]);
    talk(&mut host, &mut second).unwrap();
    assert_eq!(sources.iter().map(|&source| second.node.listeners(source)).sum::<usize>(), 0);
    take(&mut host, sink);
    talk(&mut host, &mut second).unwrap();
    assert_eq!([sources[0], sources[2]].map(|source| second.node.listeners(source)), [1, 1]);
    let joined = take(&mut host, sink);
    assert!(joined.iter().all(|item| matches!(item, Item::Joined { .. })) && joined.len() == 2, "{joined:?}");
    let later = second.node.add_source(second.channel, None).unwrap();
    talk(&mut host, &mut second).unwrap();
    assert_eq!(second.node.listeners(later), 1);
}

#[test]
fn a_sink_that_had_put_off_others_gets_a_source_once_that_was_offered_anew_meanwhile() {
    let (mut host, sink) = host_with_sink();
    let mut near = another(&mut host);
    let source = near.node.add_source(near.channel, None).unwrap();
    talk(&mut host, &mut near).unwrap();
    let mut first = another(&mut host);
    be_told_too_much(&mut host, &mut first);
    let mut second = another(&mut host);
    second.node.add_source(second.channel, None).unwrap();
    talk(&mut host, &mut second).unwrap();
    // Another sink is refused, and asks for less: for its sake the source is offered anew, behind the one that was put off.
    let wanted = Wanted { must: true, ..Wanted::any(Policy::Block) };
    let other = host.node.add_sink(host.channel, wanted).unwrap();
    talk(&mut host, &mut near).unwrap();
    assert_eq!(near.node.listeners(source), 1);
    host.node.set_policy(other, Policy::Latest, false);
    take(&mut host, sink);
    talk(&mut host, &mut near).unwrap();
    assert_eq!(near.node.listeners(source), 2, "one subscription for each sink");
}
