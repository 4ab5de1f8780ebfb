//! What happens on a channel beside records, as JSON: in the lines of `isoform echo --json --stamp`, and in recordings
//! (`spec/files.md`, "News").

use isoform_channel::{Event, SourceRef};
use isoform_dynamic::words;
use serde_json::{Value, json};

/// What a reader is told of events before the first one; nothing if there are none.
pub(super) fn earlier(count: u64) -> String {
    match count {
        0 => String::new(),
        1 => ", 1 earlier event is not here".into(),
        count => format!(", {count} earlier events are not here"),
    }
}

/// An object with one member; `None` for records.
pub(super) fn line<R>(event: &Event<R>) -> Option<Value> {
    Some(match event {
        Event::Record { .. } | Event::Head { .. } => return None,
        Event::Gap(SourceRef(source), gap) => {
            json!({"gap": {"source": source, "first": gap.first, "count": gap.count, "cause": gap.cause.to_string()}})
        }
        Event::Joined { source: SourceRef(source), node, format, earlier } => {
            let format = format.as_ref().map(isoform::Format::name);
            json!({"joined": {"source": source, "node": node.to_string(), "format": format, "earlier": earlier}})
        }
        Event::Left(SourceRef(source), _) => json!({"left": {"source": source}}),
        Event::Refused(SourceRef(source), error) => json!({"refused": {"source": source, "error": error.to_string()}}),
        Event::Granted(SourceRef(source), granted) => {
            let (policy, reason) = (granted.policy.to_string(), words::reason(granted.reason));
            json!({"granted": {"source": source, "policy": policy, "reason": reason}})
        }
        Event::Given(SourceRef(source), given) => {
            let values = given.values.to_string();
            let values = serde_json::from_str::<Value>(&values).unwrap_or(Value::String(values));
            let refused = given.refused.as_ref().map(ToString::to_string);
            json!({"given": {"source": source, "first": given.first, "values": values, "refused": refused}})
        }
    })
}
