//! Many nodes whose sinks have a query, which lets none of a source's events pass, or all: the work of that source to submit each, for
//! [`linear`](crate::linear).

use isoform::core::FieldList;
use isoform::{Format, Machine};
use isoform_channel_proto::{
    Access, Action, ConnId, Count, Credentials, Identity, Key, Node, Outgoing, Policy, Query, Settings, SharedKey,
    Submitted, Time, Wanted,
};
use std::sync::Arc;

const CHANNEL: &str = "river";
/// The nanoseconds from one event to the next.
const PACE: u64 = 1_000_000;

/// What the source may owe: everything, since nobody looks after its node meanwhile.
const ALL: Count = Count { events: u64::MAX, bytes: u64::MAX };

/// So many nodes with one shared key have a sink each, whose query lets nothing pass, or everything. Then a source submits so many events.
pub(crate) fn submit(sinks: usize, events: u64, passes: bool) {
    let access = || Access { keys: vec![SharedKey::new([7; 32])], ..Access::default() };
    let node = |number: usize| {
        let mut seed = [3; 32];
        seed[..8].copy_from_slice(&(number as u64).to_le_bytes());
        Node::<Arc<[u8]>, Vec<u8>>::new(
            Key::from_seed(seed),
            Settings { access: access(), owed: ALL, ..Settings::default() },
        )
    };
    let format = tick();
    let mut first = node(0);
    let channel = first.create(Identity([9; 16]), CHANNEL, None).expect("a channel");
    let source = first.add_source(channel, Some(&format)).expect("a source");
    let query = Query::parse(if passes { "where count >= 0" } else { "where count < 0" }).expect("a query");
    let mut others = Vec::new();
    for number in 1..=sinks {
        let mut other = node(number);
        let open = other.open(Time::ZERO, &["test:first".into()], CHANNEL, None, Time::from_secs(3));
        talk(&mut first, &mut other, number);
        let channel = other.opened(open).expect("an answer").expect("the channel");
        other.add_sink(channel, Wanted { query: Some(query.clone()), ..Wanted::any(Policy::Latest) }).expect("a sink");
        talk(&mut first, &mut other, number);
        others.push(other);
    }
    assert_eq!(first.listeners(source), sinks);
    for count in 0..events {
        let (time, mut body) = (count * PACE, Arc::<[u8]>::from(count.to_ne_bytes()));
        let submitted = first.submit(time, source, Some(&format), &mut body).expect("an event");
        assert_eq!(submitted, Submitted::Done(count));
    }
    assert_eq!(first.action(), passes.then_some(Action::Tick), "what passes is yet to be given to the sinks");
    if !passes {
        for account in first.ledger(source) {
            let ledger = account.ledger;
            assert!(ledger.is_exact() && ledger.skipped == events, "{ledger}");
        }
    }
}

fn tick() -> Format {
    FieldList::new("Tick").field("count", "integer", 8, 0).format(Machine::NATIVE, 8, 8).expect("a format")
}

/// Everything that the first node and another one say to each other arrives.
fn talk(first: &mut Node<Arc<[u8]>, Vec<u8>>, other: &mut Node<Arc<[u8]>, Vec<u8>>, number: usize) {
    let mut unread = [Vec::new(), Vec::<u8>::new()];
    loop {
        let mut is_done = true;
        for (end, bytes) in unread.iter_mut().enumerate() {
            let (from, to) = if end == 0 { (&mut *first, &mut *other) } else { (&mut *other, &mut *first) };
            while let Some(action) = from.action() {
                is_done = false;
                match action {
                    Action::Dial(dial, _) => {
                        let id = ConnId(number as u64);
                        from.connected(Time::ZERO, id, Some(dial), Credentials::default());
                        to.connected(Time::ZERO, id, None, Credentials::default());
                    }
                    Action::Write(id) => {
                        let mut out = Outgoing::default();
                        from.output(Time::ZERO, id, &mut out);
                        from.unwritten(id, 0);
                        if id == ConnId(number as u64) {
                            bytes.extend(out.to_vec());
                            let used = to.receive(Time::ZERO, id, bytes).expect("what nodes say to each other");
                            bytes.drain(..used);
                        }
                    }
                    _ => {}
                }
            }
        }
        if is_done {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_account_has_what_no_sink_wants() {
        super::submit(3, 100, false);
    }

    #[test]
    fn many_sinks_get_nothing_while_events_are_submitted() {
        super::submit(70, 3, true);
    }
}
