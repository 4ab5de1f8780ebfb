//! Accounts of sources with their sinks, as a table in which every row must add up.

use super::short;
use crate::failure::Failure;
use crate::output::{Output, Side, Tone, cell, plural, toned};
use isoform_channel::{Cause, Ledger, NodeId, SinkLedger};
use serde_json::{Value, json};
use std::io::{self, Write};

/// What has become of the events of one source for one sink.
pub(crate) struct Account {
    pub(crate) source: String,
    pub(crate) sink: String,
    pub(crate) policy: String,
    /// Whether the sink is still subscribed.
    pub(crate) present: bool,
    pub(crate) ledger: Ledger,
}

impl Account {
    /// The accounts of the source of this name.
    pub(crate) fn of<'a>(source: &'a str, ledgers: &'a [SinkLedger]) -> impl Iterator<Item = Account> + 'a {
        ledgers.iter().map(move |sink| Account {
            source: source.into(),
            sink: numbered(sink.node, sink.sink),
            policy: sink.policy.to_string(),
            present: sink.present,
            ledger: sink.ledger,
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
            "in_flight": in_flight,
            "causes": Value::Object(causes.collect()),
        })
    }
}

/// What a source or a sink is called: by its node, and its number there.
pub(crate) fn numbered(node: NodeId, number: u32) -> String {
    format!("{}/{number}", short(node))
}

fn lost(ledger: &Ledger) -> impl Iterator<Item = (Cause, u64)> {
    Cause::ALL.into_iter().map(|cause| (cause, ledger.lost_for(cause))).filter(|(_, count)| *count > 0)
}

/// Writes a row for each account, why events were lost, and whether all add up.
pub(crate) fn write(accounts: &[Account], output: &mut Output) -> io::Result<()> {
    if accounts.is_empty() {
        return writeln!(output, "no source has a sink");
    }
    let heads = ["source", "sink", "policy", "submitted", "= acknowledged", "+ lost", "+ in flight"];
    let mut rows = vec![heads.map(|head| toned(Tone::Faint, head)).into()];
    for Account { source, sink, policy, present, ledger } in accounts {
        let tone = match (ledger.is_exact(), present) {
            (false, _) => Tone::Bad,
            (true, true) => Tone::Plain,
            (true, false) => Tone::Faint,
        };
        let mut row = vec![cell(source), toned(tone, sink), toned(tone, policy)];
        let numbers = [ledger.submitted, ledger.acknowledged, ledger.lost(), ledger.in_flight];
        row.extend(numbers.map(|number| toned(tone, number)));
        rows.push(row);
    }
    let (left, right) = (Side::Left, Side::Right);
    output.columns(&[left, left, left, right, right, right, right], &rows)?;
    for Account { source, sink, ledger, .. } in accounts {
        for (cause, count) in lost(ledger) {
            writeln!(output, "  {source} to {sink}: {} lost, as {cause}", plural(count as usize, "event"))?;
        }
    }
    let all = format!("{} in all", plural(accounts.len(), "account"));
    match wrong(accounts) {
        0 => writeln!(output, "{}: {} adds up", all, output.paint(Tone::Good, "each")),
        wrong => writeln!(output, "{}: {} not add up", all, output.paint(Tone::Bad, &format!("{wrong} do"))),
    }
}

fn wrong(accounts: &[Account]) -> usize {
    accounts.iter().filter(|account| !account.ledger.is_exact()).count()
}

/// # Errors
/// If an account does not add up.
pub(crate) fn check(accounts: &[Account]) -> Result<(), Failure> {
    match wrong(accounts) {
        0 => Ok(()),
        wrong => Err(Failure::data(format!("of {}, {wrong} do not add up", plural(accounts.len(), "account")))),
    }
}
