//! Accounts of sources with their sinks, as a table in which every row must add up.

use super::short;
use crate::failure::Failure;
use crate::output::{Cell, Output, Side, Tone, plural, toned, widen};
use isoform_channel::{Cause, Ledger, NodeId, Policy, SinkLedger};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::time::Duration;

/// The account of one source's events with one sink.
pub(crate) struct Account {
    /// Its name; empty if there is only one.
    pub(crate) source: String,
    pub(crate) sink: String,
    pub(crate) policy: String,
    /// Whether the sink is still subscribed.
    pub(crate) present: bool,
    pub(crate) ledger: Ledger,
    /// The events before those that were submitted to the sink.
    pub(crate) earlier: u64,
    /// How long the source has waited for the sink.
    pub(crate) waited: Duration,
    /// How often the source has changed the policy.
    pub(crate) changes: u64,
}

impl Account {
    /// The accounts of the source of this name.
    pub(crate) fn of<'a>(source: &'a str, ledgers: &'a [SinkLedger]) -> impl Iterator<Item = Account> + 'a {
        ledgers.iter().map(move |sink| Account {
            source: source.into(),
            sink: numbered(sink.node, sink.sink),
            policy: asked(sink.policy, sink.must),
            present: sink.present,
            ledger: sink.ledger,
            earlier: sink.earlier,
            waited: sink.waited,
            changes: sink.changes,
        })
    }

    pub(crate) fn json(&self) -> Value {
        let Ledger { submitted, acknowledged, in_flight, .. } = self.ledger;
        let causes = lost(&self.ledger).map(|(cause, count)| (cause.to_string(), json!(count)));
        json!({
            "source": self.source,
            "sink": self.sink,
            "policy": self.policy,
            "present": self.present,
            "earlier": self.earlier,
            "submitted": submitted,
            "acknowledged": acknowledged,
            "superseded": self.ledger.superseded,
            "lost": self.ledger.lost(),
            "skipped": self.ledger.skipped,
            "considered": self.ledger.considered(),
            "passed": self.ledger.passed(),
            "in_flight": in_flight,
            "waited": self.waited.as_secs_f64(),
            "changes": self.changes,
            "causes": Value::Object(causes.collect()),
        })
    }
}

/// A policy, and whether the sink must have it.
pub(crate) fn asked(policy: Policy, must: bool) -> String {
    match (policy, must) {
        (Policy::Block, true) => "lossless".into(),
        (policy, _) => policy.to_string(),
    }
}

/// The name of a source or a sink: its node, and its number there.
pub(crate) fn numbered(node: NodeId, number: u32) -> String {
    format!("{}/{number}", short(node))
}

fn lost(ledger: &Ledger) -> impl Iterator<Item = (Cause, u64)> {
    Cause::losses().map(|cause| (cause, ledger.lost_for(cause))).filter(|(_, count)| *count > 0)
}

/// Writes a row for each account, by source, then why events were lost, and whether all add up.
pub(crate) fn write(accounts: &[Account], output: &mut Output) -> io::Result<()> {
    if accounts.is_empty() {
        return writeln!(output, "no source has a sink");
    }
    let more = More::of(accounts);
    let mut sides = vec![Side::Left, Side::Left];
    sides.resize(6 + more.count(), Side::Right);
    let head = more.heads().into_iter().map(|head| toned(Tone::Faint, head)).collect();
    let rows: Vec<Vec<Cell>> = accounts.iter().map(|account| row(account, more)).collect();
    let mut widths = vec![0; sides.len()];
    widen(&mut widths, &rows);
    output.columns_from(&sides, &[head], &mut widths)?;
    let mut source = "";
    for (account, row) in accounts.iter().zip(rows) {
        if source != account.source {
            source = &account.source;
            writeln!(output, "from {}", output.paint(Tone::Strong, source))?;
        }
        output.columns_from(&sides, &[row], &mut widths)?;
    }
    for Account { source, sink, ledger, earlier, waited, changes, .. } in accounts {
        let from = if source.is_empty() { "" } else { " from " };
        if *earlier > 0 {
            let events = plural(*earlier as usize, "earlier event");
            writeln!(output, "{sink}{from}{source}: {events}, before it subscribed")?;
        }
        if !waited.is_zero() || *changes > 0 {
            let changed = plural(*changes as usize, "change");
            writeln!(output, "{sink}{from}{source}: the source waited {waited:.1?}; {changed} of the policy")?;
        }
        if ledger.skipped > 0 {
            let Ledger { acknowledged, in_flight, .. } = ledger;
            let (passed, considered) = (ledger.passed(), ledger.considered());
            let lost = ledger.lost().saturating_sub(ledger.lost_for(Cause::Thinned));
            let superseded = match ledger.superseded {
                0 => String::new(),
                superseded => format!(" + {superseded} superseded"),
            };
            let parts = format!("{acknowledged} acknowledged{superseded} + {lost} lost + {in_flight} in flight");
            writeln!(output, "{sink}{from}{source}: {passed} of {considered} passed = {parts}")?;
        }
        for (cause, count) in lost(ledger) {
            writeln!(output, "{sink}{from}{source}: {} lost, as {cause}", plural(count as usize, "event"))?;
        }
    }
    let all = format!("{} in all", plural(accounts.len(), "account"));
    match wrong(accounts) {
        0 => writeln!(output, "{}: {} adds up", all, output.paint(Tone::Good, "each")),
        wrong => writeln!(output, "{}: {} not add up", all, output.paint(Tone::Bad, &format!("{wrong} do"))),
    }
}

/// The columns that only some tables have: for events that newer ones superseded, and for those that queries filtered.
#[derive(Clone, Copy)]
struct More {
    superseded: bool,
    skipped: bool,
}

impl More {
    fn of(accounts: &[Account]) -> More {
        let any = |count: fn(&Ledger) -> u64| accounts.iter().any(|account| count(&account.ledger) > 0);
        More { superseded: any(|ledger| ledger.superseded), skipped: any(|ledger| ledger.skipped) }
    }

    fn count(self) -> usize {
        usize::from(self.superseded) + usize::from(self.skipped)
    }

    /// So that it fits into 80 columns, a table with more of them has shorter heads.
    fn heads(self) -> Vec<&'static str> {
        let [submitted, acknowledged, lost, in_flight] = match self.count() {
            0 => ["submitted", "= acknowledged", "+ lost", "+ in flight"],
            1 => ["submitted", "=acknowledged", "+lost", "+in flight"],
            _ => ["submitted", "acked", "lost", "in flight"],
        };
        let [superseded, skipped] = match self.count() {
            1 => ["+superseded", "+skipped"],
            _ => ["superseded", "skipped"],
        };
        let mut heads = vec!["sink", "policy", submitted, acknowledged];
        heads.extend(self.superseded.then_some(superseded));
        heads.push(lost);
        heads.extend(self.skipped.then_some(skipped));
        heads.push(in_flight);
        heads
    }
}

fn row(account: &Account, more: More) -> Vec<Cell> {
    let Account { sink, policy, present, ledger, .. } = account;
    let tone = match (ledger.is_exact(), present) {
        (false, _) => Tone::Bad,
        (true, true) => Tone::Plain,
        (true, false) => Tone::Faint,
    };
    let policy = if more.count() > 0 { policy.strip_prefix("drop ").unwrap_or(policy) } else { policy };
    let mut numbers = vec![ledger.submitted, ledger.acknowledged];
    numbers.extend(more.superseded.then_some(ledger.superseded));
    numbers.push(ledger.lost());
    numbers.extend(more.skipped.then_some(ledger.skipped));
    numbers.push(ledger.in_flight);
    let mut row = vec![toned(tone, sink), toned(tone, policy)];
    row.extend(numbers.into_iter().map(|number| toned(tone, number)));
    row
}

fn wrong(accounts: &[Account]) -> usize {
    accounts.iter().filter(|account| !account.ledger.is_exact()).count()
}

/// # Errors
/// If an account does not add up.
pub(crate) fn check(accounts: &[Account]) -> Result<(), Failure> {
    match wrong(accounts) {
        0 => Ok(()),
        wrong => Err(Failure::data(format!("{wrong} of {} do not add up", plural(accounts.len(), "account")))),
    }
}
