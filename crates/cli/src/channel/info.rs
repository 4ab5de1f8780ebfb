//! `isoform info`: the members of a channel, and the accounts of its events.

use super::account::{self, Account, numbered};
use super::{open_at, short};
use crate::args;
use crate::failure::Failure;
use crate::output::{Output, Tone};
use isoform::text::Shown;
use isoform::{Code, Format, Token};
use isoform_channel::{
    Counts, DemandReport, Info, LinkInfo, MemberInfo, NodeId, Query, QueryAccount, QueryReport, Reach, Refusal,
    SinkReport, SourceReport,
};
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// How long members may take to answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);
/// The time over which rates are taken.
const MEASURED: Duration = Duration::from_secs(1);

pub(super) fn run(arguments: &args::Info, output: &mut Output) -> Result<(), Failure> {
    let node = super::node(&arguments.network)?;
    let channel = open_at(&node, &arguments.channel)?;
    // Sources answer at once, even if others do not: the time between the questions counts.
    let first = Instant::now();
    let before = counts(&channel.info(PATIENCE)?);
    std::thread::sleep(MEASURED.saturating_sub(first.elapsed()));
    let seconds = first.elapsed().as_secs_f64();
    let mut info = channel.info(PATIENCE)?;
    let silent = silent(&info);
    info.members.extend(silent);
    let rate = |node, source: &SourceReport| {
        let before = before.get(&(node, source.source)).copied().unwrap_or(0);
        source.submitted.saturating_sub(before) as f64 / seconds
    };
    let mut accounts = accounts(&info);
    // The first is the one that asks. It has neither sources nor sinks.
    let members = &info.members[1..];
    if arguments.json {
        writeln!(output, "{}", as_json(&info, channel.query(), members, &accounts, rate))?;
    } else {
        accounts.iter_mut().filter(|account| !account.present).for_each(|account| account.policy += ", has left");
        print(&info, channel.query(), members, &accounts, rate, output)?;
    }
    account::check(&accounts)
}

/// How much each source has submitted.
fn counts(info: &Info) -> HashMap<(NodeId, u32), u64> {
    info.sources().map(|(node, source)| ((node, source.source), source.submitted)).collect()
}

/// Those that sources have sinks at, and that this process has no link with: they hang, or have died just now.
fn silent(info: &Info) -> Vec<MemberInfo> {
    let known = |node| info.members.iter().any(|member| member.node == node);
    let present = info.ledgers().filter(|sink| sink.present && !known(sink.node));
    let nodes: BTreeSet<NodeId> = present.map(|sink| sink.node).collect();
    let reach = Reach::Linked;
    nodes
        .into_iter()
        .map(|node| MemberInfo { node, addresses: Vec::new(), reach: reach.clone(), link: None, report: None })
        .collect()
}

fn accounts(info: &Info) -> Vec<Account> {
    let mut accounts = Vec::new();
    for (node, source) in info.sources() {
        accounts.extend(Account::of(&numbered(node, source.source), &source.sinks));
    }
    accounts
}

fn print(
    info: &Info,
    query: Option<&Query>,
    members: &[MemberInfo],
    accounts: &[Account],
    rate: impl Fn(NodeId, &SourceReport) -> f64,
    output: &mut Output,
) -> io::Result<()> {
    let kind = info.format.as_ref().map_or("any records".into(), |format| kind(format.name(), format.token()));
    writeln!(output, "{}  {kind}", output.paint(Tone::Strong, &info.name))?;
    writeln!(output, "identity  {}", info.identity)?;
    if let Some(query) = query {
        writeln!(output, "derived by  {}", Shown(query))?;
    }
    writeln!(output)?;
    for MemberInfo { node, addresses, reach, link, report } in members {
        writeln!(output, "member {}  {}", output.paint(Tone::Strong, &short(*node)), Shown(addresses.join("  ")))?;
        if let Some(LinkInfo { is_encrypted, peer }) = link {
            let how = if *is_encrypted { "encrypted" } else { "not encrypted" };
            writeln!(output, "  {how}, with {}", Shown(peer))?;
        }
        let Some(report) = report else {
            writeln!(output, "  {}", output.paint(Tone::Warning, &Shown(silence(reach)).to_string()))?;
            continue;
        };
        if let Some(refused) = &report.refused {
            writeln!(output, "  {}", output.paint(Tone::Warning, &format!("does not tell: {}", Shown(&refused.last))))?;
        }
        for Refusal { count, last, .. } in &report.refusals {
            writeln!(
                output,
                "  {}",
                output.paint(Tone::Warning, &format!("refused or failed {count} times, the last: {}", Shown(last)))
            )?;
        }
        for source in &report.sources {
            let SourceReport { source: number, submitted, format, .. } = source;
            let rate = rate(*node, source);
            writeln!(output, "  source {number}  {}  {submitted} submitted, {rate:.1} a second", any(format))?;
            for QueryReport { text, sinks, account, unfit, thinned } in &source.queries {
                let QueryAccount { evaluated, passed, absorbed, faults, forgotten, .. } = account;
                let sinks = if *sinks == 1 { "1 sink".into() } else { format!("{sinks} sinks") };
                let mut line = format!("for {sinks}: {passed} of {evaluated} events passed");
                let more = [
                    (*absorbed, "are in its windows"),
                    (*faults, "faults"),
                    (*forgotten, "keys forgotten for want of room"),
                    (*unfit, "events of formats that it does not fit"),
                    (*thinned, "events thinned: the source had no time left for it"),
                ];
                for (count, what) in more {
                    if count > 0 {
                        line += &format!(", {count} {what}");
                    }
                }
                match text.strip_prefix("fields ") {
                    Some(paths) => {
                        let line = format!("for {}: {passed} events without the other fields", sinks);
                        writeln!(output, "    only {}  {line}", Shown(paths))?;
                    }
                    None => writeln!(output, "    query {}  {line}", Shown(text))?,
                }
            }
            for DemandReport { values, sinks } in &source.demands {
                let sinks = if *sinks == 1 { "1 sink".into() } else { format!("{sinks} sinks") };
                writeln!(output, "    parameters {}  for {sinks}", Shown(values))?;
            }
        }
        for SinkReport { sink, format, policy, must, counts } in &report.sinks {
            let counts = counted(counts);
            writeln!(output, "  sink {sink}  {}  {}  {counts}", any(format), account::asked(*policy, *must))?;
        }
    }
    writeln!(output)?;
    account::write(accounts, output)
}

const SILENT: &str = "has not answered: its process hangs, or has just ended";

/// Why there is no report of a member.
fn silence(reach: &Reach) -> String {
    match reach {
        Reach::Missed(error) if error.code() == Code::Deadline => format!("{SILENT}, or nothing gets there: {error}"),
        Reach::Missed(error) => format!("cannot be reached from here: {error}"),
        Reach::Here | Reach::Linked | Reach::Heard => SILENT.into(),
    }
}

/// The counts of a sink. Those of faults are only there if there were faults.
fn counted(Counts { received, taken, lost, superseded, refused, unfit, earlier, .. }: &Counts) -> String {
    let mut counts = format!("{received} received, {taken} taken, {lost} lost");
    if *superseded > 0 {
        counts += &format!(", {superseded} superseded");
    }
    let more = [
        (*refused, "source", "refused"),
        (*unfit, "record", "did not fit"),
        (*earlier, "earlier event", "not received"),
    ];
    for (count, what, then) in more {
        if count > 0 {
            let plural = if count == 1 { "" } else { "s" };
            counts += &format!(", {count} {what}{plural} {then}");
        }
    }
    counts
}

fn any(format: &Option<(String, Token)>) -> String {
    format.as_ref().map_or("any records".into(), |(name, token)| kind(name, *token))
}

fn kind(name: &str, token: Token) -> String {
    format!("{} {}", Shown(name), &token.to_string()[..8])
}

/// A query of a source, or the only fields that it sends to some sinks.
fn query_json(report: &QueryReport) -> Value {
    let QueryReport { text, sinks, unfit, thinned, account } = report;
    let fields = text.strip_prefix("fields ");
    json!({
        "query": fields.is_none().then_some(text),
        "fields": fields,
        "sinks": sinks,
        "evaluated": account.evaluated,
        "passed": account.passed,
        "filtered": account.filtered,
        "absorbed": account.absorbed,
        "faults": account.faults,
        "absent": account.absent,
        "forgotten": account.forgotten,
        "unfit": unfit,
        "thinned": thinned,
    })
}

/// Values of a source's parameters that sinks ask for.
fn demand_json(report: &DemandReport) -> Value {
    let DemandReport { values, sinks } = report;
    let values = serde_json::from_str::<Value>(values).unwrap_or_else(|_| json!(values));
    json!({ "values": values, "sinks": sinks })
}

fn as_json(
    info: &Info,
    query: Option<&Query>,
    members: &[MemberInfo],
    accounts: &[Account],
    rate: impl Fn(NodeId, &SourceReport) -> f64,
) -> Value {
    let format = |format: &Option<(String, Token)>| match format {
        Some((name, token)) => json!({"name": name, "token": token.to_string()}),
        None => Value::Null,
    };
    let source = |node, source: &SourceReport| {
        json!({
            "source": numbered(node, source.source),
            "format": format(&source.format),
            "submitted": source.submitted,
            "rate": rate(node, source),
            "queries": source.queries.iter().map(query_json).collect::<Vec<_>>(),
            "demands": source.demands.iter().map(demand_json).collect::<Vec<_>>(),
        })
    };
    let sink = |node, sink: &SinkReport| {
        let SinkReport { sink: number, format: kind, policy, must, counts } = sink;
        json!({
            "sink": numbered(node, *number),
            "format": format(kind),
            "policy": account::asked(*policy, *must),
            "received": counts.received,
            "taken": counts.taken,
            "lost": counts.lost,
            "superseded": counts.superseded,
            "skipped": counts.skipped,
            "refused": counts.refused,
            "unfit": counts.unfit,
            "earlier": counts.earlier,
        })
    };
    let member = |member: &MemberInfo| {
        let (node, report) = (member.node, member.report.as_ref());
        let sources = report.map(|report| report.sources.iter().map(|it| source(node, it)).collect::<Vec<_>>());
        let sinks = report.map(|report| report.sinks.iter().map(|it| sink(node, it)).collect::<Vec<_>>());
        let refused = |it: &Refusal| json!({"code": it.code, "count": it.count, "last": it.last});
        let refusals = report.map(|report| report.refusals.iter().map(refused).collect::<Vec<_>>());
        json!({
            "node": node.to_string(),
            "addresses": member.addresses,
            "link": member.link.as_ref().map(|link| json!({"encrypted": link.is_encrypted, "peer": link.peer})),
            "sources": sources,
            "sinks": sinks,
            "refusals": refusals,
            "refused": member.report.as_ref().and_then(|report| report.refused.as_ref()).map(refused),
        })
    };
    let kind = |kind: &Format| (kind.name().to_string(), kind.token());
    json!({
        "name": info.name,
        "identity": info.identity.to_string(),
        "query": query.map(ToString::to_string),
        "format": format(&info.format.as_ref().map(kind)),
        "members": members.iter().map(member).collect::<Vec<_>>(),
        "accounts": accounts.iter().map(Account::json).collect::<Vec<_>>(),
    })
}
