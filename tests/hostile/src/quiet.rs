//! Many nodes whose sinks have a query, which lets none of a source's events pass, or all, or for which there is no time left: the work of that
//! source to submit each, for [`linear`](crate::linear).

use isoform::core::FieldList;
use isoform::{Format, Machine};
use isoform_channel_proto::{
    Access, Action, ConnId, Count, Credentials, Grants, Identity, Key, Node, Outgoing, Policy, Query, QueryTime,
    Settings, SharedKey, Submitted, Time, Wanted,
};
use std::sync::Arc;

const CHANNEL: &str = "river";
/// The nanoseconds from one event to the next.
const PACE: u64 = 100_000;

/// What the source may owe: everything, since nobody looks after its node meanwhile.
const ALL: Count = Count { events: u64::MAX, bytes: u64::MAX };

/// What the sinks want, or get.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wants {
    /// No event.
    Nothing,
    /// All events, with one query for all sinks.
    All,
    /// All events, each with a query of its own, and after the first events no time is left to evaluate any.
    Unpaid,
}

/// So many nodes with one shared key have a sink each, with a query. Then a source submits so many events.
pub(crate) fn submit(sinks: usize, events: u64, wants: Wants) {
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
    let time = QueryTime { second: Time::ZERO, ..QueryTime::default() };
    let grants = Grants { queries: (wants == Wants::Unpaid).then_some(time), ..Grants::default() };
    let source = first.add_source_that(channel, Some(&format), grants).expect("a source");
    let mut others = Vec::new();
    for number in 1..=sinks {
        let mut other = node(number);
        let open = other.open(Time::ZERO, &["test:first".into()], CHANNEL, None, Time::from_secs(3));
        talk(&mut first, &mut other, number);
        let query = match wants {
            Wants::Nothing => "where count < 0".into(),
            Wants::All => "where count >= 0".into(),
            Wants::Unpaid => format!("where count + {number} >= 0"),
        };
        let query = Query::parse(&query).expect("a query");
        let channel = other.opened(open).expect("an answer").expect("the channel");
        other.add_sink(channel, Wanted { query: Some(query), ..Wanted::any(Policy::Latest) }).expect("a sink");
        talk(&mut first, &mut other, number);
        others.push(other);
    }
    assert_eq!(first.listeners(source), sinks);
    for count in 0..events {
        let (time, mut body) = (count * PACE, Arc::<[u8]>::from(count.to_ne_bytes()));
        let submitted = first.submit(time, source, Some(&format), &mut body).expect("an event");
        assert_eq!(submitted, Submitted::Done(count));
    }
    if wants == Wants::All {
        assert_eq!(first.action(), Some(Action::Tick), "what passes is yet to be given to the sinks");
        return;
    }
    for account in first.ledger(source) {
        let ledger = account.ledger;
        let has_all = match wants {
            Wants::Nothing => ledger.skipped == events,
            _ => ledger.lost() > events / 2,
        };
        assert!(ledger.is_exact() && has_all, "{ledger}");
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
    use super::Wants;

    #[test]
    fn every_account_has_what_no_sink_wants() {
        super::submit(3, 100, Wants::Nothing);
    }

    #[test]
    fn many_sinks_get_nothing_while_events_are_submitted() {
        super::submit(70, 3, Wants::All);
    }

    #[test]
    fn what_nobody_pays_for_is_thinned() {
        super::submit(3, 20_000, Wants::Unpaid);
    }
}
