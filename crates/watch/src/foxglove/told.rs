//! The texts and messages that a viewer gets.

use super::topics::Topic;
use axum::extract::ws::Message;
use isoform_files::Viewer;
use serde_json::{Map, Value, json};

/// The number of data of a topic, as the first byte of a binary message.
const DATA: u8 = 1;
/// What stands in front of the data: that number, the subscription, the time.
const HEAD: usize = 13;

/// How much a status matters.
#[derive(Clone, Copy, Debug)]
pub(super) enum Level {
    Warning = 1,
    Error = 2,
}

pub(super) fn server_info(session: &str) -> Message {
    let version = env!("CARGO_PKG_VERSION");
    text(json!({
        "op": "serverInfo", "name": format!("isoform {version}"), "capabilities": ["parameters", "parametersSubscribe"],
        "metadata": {"isoform": version}, "sessionId": session,
    }))
}

/// A topic as an advertisement has it.
pub(super) fn topic(topic: &Topic) -> Value {
    let (name, schema) = Viewer::schema(&topic.format);
    json!({
        "id": topic.id, "topic": topic.name, "encoding": "cdr", "schemaName": name, "schema": schema, "schemaEncoding": "ros2msg",
    })
}

pub(super) fn advertise(topics: Vec<Value>) -> Message {
    text(json!({"op": "advertise", "channels": topics}))
}

pub(super) fn unadvertise(ids: &[u32]) -> Message {
    text(json!({"op": "unadvertise", "channelIds": ids}))
}

/// A status; one with a name takes the place of the last one of this name.
pub(super) fn status(level: Level, message: &str, name: Option<&str>) -> Message {
    let mut status = json!({"op": "status", "level": level as u8, "message": message});
    if let (Some(name), Value::Object(status)) = (name, &mut status) {
        status.insert("id".into(), name.into());
    }
    text(status)
}

pub(super) fn remove_status(name: &str) -> Message {
    text(json!({"op": "removeStatus", "statusIds": [name]}))
}

/// Values of parameters by their names, in answer to the request of this id.
pub(super) fn parameters(values: Vec<(String, Value)>, id: Option<&str>) -> Message {
    let values = values.into_iter().map(|(name, value)| {
        let is_float = |value: &Value| value.is_f64();
        let kind = match &value {
            one if is_float(one) => Some("float64"),
            Value::Array(all) if !all.is_empty() && all.iter().all(is_float) => Some("float64_array"),
            _ => None,
        };
        let mut parameter = Map::from_iter([("name".to_string(), name.into()), ("value".to_string(), value)]);
        parameter.extend(kind.map(|kind| ("type".to_string(), kind.into())));
        Value::Object(parameter)
    });
    let mut told = json!({"op": "parameterValues", "parameters": values.collect::<Vec<_>>()});
    if let (Some(id), Value::Object(told)) = (id, &mut told) {
        told.insert("id".into(), id.into());
    }
    text(told)
}

/// An event of a subscription.
pub(super) fn data(subscription: u32, nanoseconds: u64, event: &[u8]) -> Vec<u8> {
    let mut message = Vec::with_capacity(HEAD + event.len());
    message.push(DATA);
    message.extend_from_slice(&subscription.to_le_bytes());
    message.extend_from_slice(&nanoseconds.to_le_bytes());
    message.extend_from_slice(event);
    message
}

fn text(value: Value) -> Message {
    Message::text(value.to_string())
}
