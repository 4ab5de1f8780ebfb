//! The texts of a viewer.

use serde_json::{Map, Value};

/// What a viewer asks for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Request {
    /// Subscriptions: the number that the viewer chose, and that of the topic.
    Subscribe(Vec<(u32, u32)>),
    Unsubscribe(Vec<u32>),
    /// The values of these parameters, or of all.
    Parameters {
        names: Vec<String>,
        id: Option<String>,
    },
    /// Other values.
    SetParameters {
        values: Vec<(String, Value)>,
        id: Option<String>,
    },
    /// To be told of changes of these parameters, or of all; or to be told no more.
    Updates {
        names: Vec<String>,
        wanted: bool,
    },
}

impl Request {
    /// Reads a text.
    ///
    /// # Errors
    /// What is wrong with it, for people.
    pub(super) fn parse(text: &str) -> Result<Request, String> {
        let Ok(Value::Object(object)) = serde_json::from_str(text) else { return Err("expected a JSON object".into()) };
        let op = object.get("op").and_then(Value::as_str).ok_or("expected a text op")?;
        match op {
            "subscribe" => {
                let each = |one: &Value| Some((number(one.get("id")?)?, number(one.get("channelId")?)?));
                all(&object, "subscriptions", each).map(Request::Subscribe)
            }
            "unsubscribe" => all(&object, "subscriptionIds", number).map(Request::Unsubscribe),
            "getParameters" => Ok(Request::Parameters { names: names(&object)?, id: id(&object) }),
            "setParameters" => {
                let each = |one: &Value| Some((one.get("name")?.as_str()?.to_string(), one.get("value")?.clone()));
                Ok(Request::SetParameters { values: all(&object, "parameters", each)?, id: id(&object) })
            }
            "subscribeParameterUpdates" => Ok(Request::Updates { names: names(&object)?, wanted: true }),
            "unsubscribeParameterUpdates" => Ok(Request::Updates { names: names(&object)?, wanted: false }),
            other => Err(format!("this server has no {}", other.chars().take(40).collect::<String>())),
        }
    }
}

fn number(value: &Value) -> Option<u32> {
    u32::try_from(value.as_u64()?).ok()
}

fn all<T>(object: &Map<String, Value>, name: &str, each: impl FnMut(&Value) -> Option<T>) -> Result<Vec<T>, String> {
    let list = object.get(name).and_then(Value::as_array);
    list.and_then(|list| list.iter().map(each).collect()).ok_or_else(|| format!("expected other {name}"))
}

fn names(object: &Map<String, Value>) -> Result<Vec<String>, String> {
    all(object, "parameterNames", |name| name.as_str().map(String::from))
}

fn id(object: &Map<String, Value>) -> Option<String> {
    object.get("id").and_then(Value::as_str).map(String::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_viewers_are_read() {
        let read = |text: &str| Request::parse(text);
        assert_eq!(
            read(r#"{"op":"subscribe","subscriptions":[{"id":1,"channelId":7},{"id":2,"channelId":8}]}"#),
            Ok(Request::Subscribe(vec![(1, 7), (2, 8)]))
        );
        assert_eq!(
            read(r#"{"op":"unsubscribe","subscriptionIds":[4294967295]}"#),
            Ok(Request::Unsubscribe(vec![u32::MAX]))
        );
        let names = vec!["river/0/level".to_string()];
        let id = Some("a".to_string());
        assert_eq!(
            read(r#"{"op":"getParameters","parameterNames":["river/0/level"],"id":"a"}"#),
            Ok(Request::Parameters { names: names.clone(), id: id.clone() })
        );
        assert_eq!(
            read(r#"{"op":"setParameters","parameters":[{"name":"river/0/level","value":3}],"id":"a"}"#),
            Ok(Request::SetParameters { values: vec![(names[0].clone(), 3.into())], id })
        );
        assert_eq!(
            read(r#"{"op":"unsubscribeParameterUpdates","parameterNames":[]}"#),
            Ok(Request::Updates { names: Vec::new(), wanted: false })
        );
    }

    #[test]
    fn what_is_wrong_is_told() {
        for (text, part) in [
            ("", "JSON object"),
            ("[]", "JSON object"),
            ("{}", "op"),
            (r#"{"op":7}"#, "op"),
            (r#"{"op":"advertise","channels":[]}"#, "no advertise"),
            (r#"{"op":"subscribe"}"#, "subscriptions"),
            (r#"{"op":"subscribe","subscriptions":[{"id":1}]}"#, "subscriptions"),
            (r#"{"op":"subscribe","subscriptions":[{"id":4294967296,"channelId":1}]}"#, "subscriptions"),
            (r#"{"op":"subscribe","subscriptions":[{"id":-1,"channelId":1}]}"#, "subscriptions"),
            (r#"{"op":"unsubscribe","subscriptionIds":[1.5]}"#, "subscriptionIds"),
            (r#"{"op":"getParameters","parameterNames":[1]}"#, "parameterNames"),
            (r#"{"op":"setParameters","parameters":[{"name":"a"}]}"#, "parameters"),
        ] {
            let error = Request::parse(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
