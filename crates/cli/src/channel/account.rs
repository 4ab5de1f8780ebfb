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
            "submitted": submitted,
            "acknowledged": acknowledged,
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
    Cause::ALL.into_iter().map(|cause| (cause, ledger.lost_for(cause))).filter(|(_, count)| *count > 0)
}

/// Writes a row for each account, by source, then why events were lost, and whether all add up.
pub(crate) fn write(accounts: &[Account], output: &mut Output) -> io::Result<()> {
    if accounts.is_empty() {
        return writeln!(output, "no source has a sink");
    }
    // A column for what queries have filtered, if any has.
    let skips = accounts.iter().any(|account| account.ledger.skipped > 0);
    let (left, right) = (Side::Left, Side::Right);
    let mut sides = vec![left, left, right, right, right, right];
    let heads = match skips {
        false => vec!["sink", "policy", "submitted", "= acknowledged", "+ lost", "+ in flight"],
        // So that it fits into 80 columns.
        true => vec!["sink", "policy", "submitted", "=acknowledged", "+lost", "+skipped", "+in flight"],
    };
    if skips {
        sides.push(right);
    }
    let head: Vec<Cell> = heads.into_iter().map(|head| toned(Tone::Faint, head)).collect();
    let rows: Vec<Vec<Cell>> = accounts.iter().map(|account| row(account, skips)).collect();
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
    for Account { source, sink, ledger, waited, changes, .. } in accounts {
        let from = if source.is_empty() { "" } else { " from " };
        if !waited.is_zero() || *changes > 0 {
            let changed = plural(*changes as usize, "change");
            writeln!(output, "{sink}{from}{source}: the source waited {waited:.1?}; {changed} of the policy")?;
        }
        if ledger.skipped > 0 {
            let Ledger { acknowledged, in_flight, .. } = ledger;
            let (passed, considered) = (ledger.passed(), ledger.considered());
            let lost = ledger.lost().saturating_sub(ledger.lost_for(Cause::Thinned));
            let parts = format!("{acknowledged} acknowledged + {lost} lost + {in_flight} in flight");
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

/// The place of the column for skipped events.
const SKIPPED: usize = 5;

fn row(account: &Account, skips: bool) -> Vec<Cell> {
    let Account { sink, policy, present, ledger, .. } = account;
    let tone = match (ledger.is_exact(), present) {
        (false, _) => Tone::Bad,
        (true, true) => Tone::Plain,
        (true, false) => Tone::Faint,
    };
    let numbers = [ledger.submitted, ledger.acknowledged, ledger.lost(), ledger.in_flight];
    let policy = if skips { policy.strip_prefix("drop ").unwrap_or(policy) } else { policy };
    let mut row = vec![toned(tone, sink), toned(tone, policy)];
    row.extend(numbers.map(|number| toned(tone, number)));
    if skips {
        row.insert(SKIPPED, toned(tone, ledger.skipped));
    }
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
