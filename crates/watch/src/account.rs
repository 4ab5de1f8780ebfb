//! Members and sources of a channel as JSON, for pages.

use isoform_channel::{Cause, Channel, Info};
use serde_json::{Value, json};
use std::time::Duration;

/// How long members may take to answer.
const PATIENCE: Duration = Duration::from_millis(500);

/// What is known of a channel. It may take as long as members may.
pub(crate) fn of(place: usize, channel: &Channel) -> Value {
    match channel.info(PATIENCE) {
        Ok(info) => told(place, &info),
        Err(error) => json!({"info": place, "error": error.to_string()}),
    }
}

fn told(place: usize, info: &Info) -> Value {
    let members = info.members.iter().skip(1).map(|member| {
        let encrypted = member.link.as_ref().map(|link| link.is_encrypted);
        json!({"node": member.node.to_string(), "addresses": member.addresses, "answers": member.report.is_some(), "encrypted": encrypted})
    });
    let own = info.members.first().map(|member| member.node);
    let sources = info.sources().map(|(node, source)| {
        let sinks = source.sinks.iter().filter(|sink| sink.present).map(|sink| {
            let causes = Cause::losses().map(|cause| (cause.to_string(), sink.ledger.lost_for(cause)));
            let causes: Value = causes.filter(|(_, count)| *count > 0).map(|(cause, count)| (cause, json!(count))).collect();
            json!({
                "node": sink.node.to_string(), "policy": sink.policy.to_string(), "acknowledged": sink.ledger.acknowledged,
                "superseded": sink.ledger.superseded, "lost": sink.ledger.lost(), "skipped": sink.ledger.skipped, "in_flight": sink.ledger.in_flight, "causes": causes,
                "earlier": sink.earlier, "here": own == Some(sink.node),
            })
        });
        json!({
            "node": node.to_string(), "source": source.source, "submitted": source.submitted,
            "format": source.format.as_ref().map(|(name, _)| name), "sinks": sinks.collect::<Vec<_>>(),
        })
    });
    json!({"info": place, "members": members.collect::<Vec<_>>(), "sources": sources.collect::<Vec<_>>()})
}
