//! Lives of channels on a clock that nobody waits for: processes, real nodes in them, and a network that cuts, delays and
//! refuses, all chosen by a seed; and one who knows everything, and compares every account with it.
//!
//! A failure prints its seed. `SEED=n cargo test -p isoform-channel-proto --test simulation` lives through that world
//! again, `SIMULATIONS=n` through so many.
#![forbid(unsafe_code)]

mod formats;
mod oracle;
mod peace;
mod process;
mod rules;
mod scenario;
mod wire;
mod world;

use isoform_channel_proto::Time;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use world::Tally;

type Node = isoform_channel_proto::Node<Arc<[u8]>, Vec<u8>>;

/// How many worlds there are, unless `SIMULATIONS` says otherwise.
const WORLDS: u64 = 500;

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a number, not {text}")))
}

#[test]
fn every_account_is_exact() {
    let (first, count) = match number("SEED") {
        Some(seed) => (seed, 1),
        None => (0, number("SIMULATIONS").unwrap_or(WORLDS)),
    };
    let next = AtomicU64::new(first);
    let workers = std::thread::available_parallelism().map_or(1, |count| count.get());
    let total = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(|| live(&next, first + count))).collect();
        workers.into_iter().map(|worker| worker.join().expect("a worker")).reduce(Tally::and).unwrap_or_default()
    });
    let Tally {
        failures,
        submitted,
        delivered,
        lost,
        superseded,
        heads,
        declined,
        results,
        connections,
        cuts,
        deaths,
        ..
    } = total;
    let Tally { reloads, revoked, overheard, reports, thinned, given, projected, owed, .. } = total;
    assert!(failures.is_none(), "SEED={} cargo test -p isoform-channel-proto --test simulation", failures.unwrap_or(0));
    // Not `println`, which is heard of failures only.
    let line = format!(
        "\nsimulations: {count} worlds, {submitted} events, {delivered} delivered, {lost} declared lost, {superseded} superseded, {heads} heads seen, \
         {declined} declined, {results} results of queries, {thinned} thinned, {given} for some only, {projected} projected, {owed} times owed, {connections} connections, {cuts} cuts, {deaths} processes gone, \
         {reloads} new rules, {revoked} subscriptions revoked, {overheard} frames overheard, {reports} reports: every account exact\n"
    );
    std::io::stdout().write_all(line.as_bytes()).expect("standard output");
}

/// Lives through worlds until there are no more, or one fails.
fn live(next: &AtomicU64, end: u64) -> Tally {
    let mut total = Tally::default();
    loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= end {
            return total;
        }
        match catch_unwind(AssertUnwindSafe(|| scenario::run(seed))) {
            Ok(tally) => total = total.and(tally),
            Err(_) => {
                next.store(end, Ordering::Relaxed);
                return Tally { failures: Some(seed), ..total };
            }
        }
    }
}
