//! Requests for names and their versions.

use super::access::Client;
use super::app::App;
use super::problem::Problem;
use super::routes::{BODY, Parameters, body, json, parsed, well_formed};
use crate::names::{Comparison, Version};
use crate::store::{Name, NameChange, Prose};
use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use isoform_core::{Code, Error};
use serde_json::json;
use std::collections::HashMap;
use std::sync::Arc;

type Parsed = Query<HashMap<String, String>>;
type From = Extension<Client>;
type Answer = Result<Response, Problem>;

/// `GET /names`.
pub(super) async fn list(State(app): State<Arc<App>>, Extension(client): From, query: Parsed) -> Answer {
    let parameters = Parameters::new(query, &["prefix", "text", "after", "limit"])?;
    let look = move |app: &App| {
        let (prefix, text) = (parameters.text("prefix").unwrap_or(""), parameters.wanted()?.unwrap_or(""));
        let (names, next) = app.store.names(prefix, text, parameters.text("after"), parameters.limit()?)?;
        let names: Vec<_> = names
            .into_iter()
            .map(|name| {
                json!({ "name": name.name, "rule": name.rule.word(), "versions": name.versions, "latest": name.latest })
            })
            .collect();
        let mut answer = json!({ "names": names });
        if let Some(next) = next {
            answer["next"] = next.into();
        }
        Ok(json(StatusCode::OK, &answer))
    };
    app.looking(client, look).await
}

/// The name, or the answer that there is none.
fn known(app: &App, name: &str) -> Result<Name, Problem> {
    app.store.name(name)?.ok_or_else(|| Error::new(Code::NoSuchName).found(name).into())
}

/// `GET /names/{name}`.
pub(super) async fn get(State(app): State<Arc<App>>, Extension(client): From, Path(name): Path<String>) -> Answer {
    let look = move |app: &App| {
        let mut state = known(app, &name)?.to_json();
        state["name"] = name.into();
        Ok(json(StatusCode::OK, &state))
    };
    app.looking(client, look).await
}

/// `PUT /names/{name}/rule`.
pub(super) async fn set_rule(
    State(app): State<Arc<App>>,
    Extension(client): From,
    Path(name): Path<String>,
    from: Body,
) -> Answer {
    app.writes_names()?;
    let bytes = body(from, BODY).await?;
    let change = move |app: &App| {
        let body = parsed(&bytes)?;
        let only = body.as_object().filter(|object| object.len() == 1).and_then(|object| object.get("rule")?.as_str());
        let word = only.ok_or_else(|| Error::new(Code::Text).expected("{\"rule\": \"FULL\"}").found(&body))?;
        app.store.set_rule(&name, word.parse()?)?;
        Ok(json(StatusCode::OK, &json!({ "rule": word })))
    };
    app.changing(client, change).await
}

/// `PUT /names/{name}/prose`.
pub(super) async fn set_prose(
    State(app): State<Arc<App>>,
    Extension(client): From,
    Path(name): Path<String>,
    from: Body,
) -> Answer {
    app.writes_names()?;
    let bytes = body(from, BODY).await?;
    let change = move |app: &App| {
        let body = parsed(&bytes)?;
        if body.is_null() {
            return Err(Error::new(Code::Text).expected("an object").found("null").into());
        }
        app.store.set_prose(&name, Prose::from_json(&body)?)?;
        Ok(json(StatusCode::OK, &body))
    };
    app.changing(client, change).await
}

/// `POST /names/{name}/check`.
pub(super) async fn check(
    State(app): State<Arc<App>>,
    Extension(client): From,
    Path(name): Path<String>,
    from: Body,
) -> Answer {
    let bytes = well_formed(&app, client, body(from, BODY).await?).await?;
    let compare = move |app: &App| {
        let refused = app.store.check(&name, &parsed(&bytes)?)?;
        match refused.is_empty() {
            true => Ok(json(StatusCode::OK, &json!({ "compatible": true }))),
            false => Ok(Problem::refused(refused).into_response()),
        }
    };
    app.comparing(client, compare).await
}

/// `POST /names/{name}/versions`.
pub(super) async fn add(
    State(app): State<Arc<App>>,
    Extension(client): From,
    Path(name): Path<String>,
    from: Body,
) -> Answer {
    app.writes_names()?;
    let bytes = well_formed(&app, client, body(from, BODY).await?).await?;
    let compare = move |app: &App| {
        Ok(match app.store.add_version(&name, &parsed(&bytes)?)? {
            Ok((number, true)) => json(StatusCode::CREATED, &json!({ "version": number })),
            Ok((number, false)) => json(StatusCode::OK, &json!({ "version": number })),
            Err(refused) => Problem::refused(refused).into_response(),
        })
    };
    app.comparing(client, compare).await
}

/// `GET /names/{name}/compare`.
pub(super) async fn compare(
    State(app): State<Arc<App>>,
    Extension(client): From,
    Path(name): Path<String>,
    query: Parsed,
) -> Answer {
    let parameters = Parameters::new(query, &["reader", "writer"])?;
    let compare = move |app: &App| {
        let state = known(app, &name)?;
        let version = |parameter: &str| -> Result<Version, Problem> {
            let missing = || Error::new(Code::Text).at(parameter).expected("the number of a version");
            let number: u64 = parameters.parsed(parameter, "the number of a version")?.ok_or_else(missing)?;
            let version = state.versions.iter().find(|version| version.number == number);
            Ok(app.store.version(&version.ok_or_else(|| no_version(&number.to_string()))?.declaration)?)
        };
        Ok(json(StatusCode::OK, &Comparison::new(&version("reader")?, &version("writer")?).to_json()))
    };
    app.comparing(client, compare).await
}

fn no_version(number: &str) -> Problem {
    Error::new(Code::NoSuchName).expected("the number of a version").found(number).into()
}

/// `GET /names/{name}/versions/{number}`.
pub(super) async fn version(
    State(app): State<Arc<App>>,
    Extension(client): From,
    Path((name, number)): Path<(String, String)>,
) -> Answer {
    let look = move |app: &App| {
        let state = known(app, &name)?;
        let version = match number.as_str() {
            "latest" => state.latest(),
            digits => digits
                .parse::<u64>()
                .ok()
                .and_then(|number| state.versions.iter().find(|version| version.number == number)),
        };
        Ok(json(StatusCode::OK, &version.ok_or_else(|| no_version(&number))?.to_json()))
    };
    app.looking(client, look).await
}

/// `DELETE /names/{name}/versions/{number}`.
pub(super) async fn retire(State(app): State<Arc<App>>, Path((name, number)): Path<(String, String)>) -> Answer {
    app.writes_names()?;
    let retired = app.blocking(move |app| {
        known(app, &name)?;
        let there = match number.parse() {
            Ok(number) => app.store.retire(&name, number)?,
            Err(_) => false,
        };
        if there { Ok(json!({ "retired": true })) } else { Err(no_version(&number)) }
    });
    Ok(json(StatusCode::OK, &retired.await?))
}

/// `GET /changes/names`.
pub(super) async fn changes(State(app): State<Arc<App>>, Extension(client): From, query: Parsed) -> Answer {
    let parameters = Parameters::new(query, &["after", "limit"])?;
    let look = move |app: &App| {
        let after = parameters.parsed("after", "a number")?.unwrap_or(0);
        let (changes, end) = app.store.name_changes(after, parameters.limit()?)?;
        let change = |change: &NameChange| json!({ "sequence": change.sequence, "name": change.name, "state": change.state.to_json() });
        let changes: Vec<_> = changes.iter().map(change).collect();
        Ok(json(StatusCode::OK, &json!({ "id": app.store.id(), "changes": changes, "end": end })))
    };
    app.looking(client, look).await
}
