//! Requests for formats.

use super::access::Client;
use super::app::App;
use super::problem::Problem;
use super::routes::{Parameters, body, has_few_values, json};
use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use isoform_core::text::format;
use isoform_core::{Code, Error, Format, MAX_DESCRIPTION, Token};
use serde_json::json;
use std::collections::HashMap;
use std::sync::Arc;

type From = Extension<Client>;
type Parsed = Query<HashMap<String, String>>;

/// The most bytes of a format as JSON: some times what its description has.
const JSON: usize = 1 << 20;

/// `GET /formats/{token}` and `/formats/{token}.json`.
pub(super) async fn get(
    State(app): State<Arc<App>>,
    Extension(client): From,
    Path(file): Path<String>,
) -> Result<Response, Problem> {
    let (digits, as_json) = file.strip_suffix(".json").map_or((&*file, false), |digits| (digits, true));
    let token: Token = digits.parse()?;
    // Reading takes microseconds; handing it to another thread would take longer.
    let description = app.store.get(token)?.ok_or_else(|| Error::unknown_format(token))?;
    app.store.note_use(token);
    if !as_json {
        return Ok(described(&app, token, description));
    }
    let cached = cached(&app);
    let json = app.looking(client, move |_| Ok(format::to_json(&Format::parse(&description)?))).await?;
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, cached)];
    Ok((headers, [(header::ETAG, format!("\"{token}.json\""))], json).into_response())
}

/// The answer to `GET /formats/{token}`, if the store has the format. Everything else is left to the paths.
pub(super) fn at_once(app: &App, method: &Method, path: &str) -> Option<Response> {
    let digits = path.strip_prefix("/formats/").filter(|_| *method == Method::GET)?;
    let token = digits.parse().ok()?;
    let description = app.store.get(token).ok()??;
    app.store.note_use(token);
    Some(described(app, token, description))
}

fn described(app: &App, token: Token, description: Vec<u8>) -> Response {
    let headers = [(header::CONTENT_TYPE, "application/octet-stream"), (header::CACHE_CONTROL, cached(app))];
    (headers, [(header::ETAG, format!("\"{token}\""))], description).into_response()
}

fn cached(app: &App) -> &'static str {
    match app.access.read {
        None => "public, max-age=31536000, immutable",
        Some(_) => "private, max-age=31536000, immutable",
    }
}

/// `PUT /formats`.
pub(super) async fn put(
    State(app): State<Arc<App>>,
    Extension(client): From,
    headers: HeaderMap,
    from: Body,
) -> Result<Response, Problem> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("");
    let kind = kind.split(';').next().unwrap_or("").trim();
    let is_json = match kind {
        "application/json" => true,
        "" | "application/octet-stream" => false,
        other => {
            let expected = "application/octet-stream or application/json";
            let error = Error::new(Code::Text).at("Content-Type").expected(expected).found(other);
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, error));
        }
    };
    let bytes = body(from, if is_json { JSON } else { MAX_DESCRIPTION + 1 }).await?;
    let store = |app: &App, format: &Format| {
        let status = if app.store.put(format)?.is_new { StatusCode::CREATED } else { StatusCode::OK };
        Ok(json(status, &summary(format)))
    };
    if !is_json {
        return app.blocking(move |app| store(app, &Format::parse(&bytes)?)).await;
    }
    let parse_and_store = move |app: &App| {
        has_few_values(&bytes)?;
        let text = std::str::from_utf8(&bytes);
        let text = text.map_err(|error| Error::new(Code::Text).expected("UTF-8").found(error))?;
        store(app, &format::from_json(text)?)
    };
    app.changing(client, parse_and_store).await
}

fn summary(format: &Format) -> serde_json::Value {
    json!({
        "token": format.token().to_string(), "name": format.name(),
        "size": format.size(), "machine": format.machine().to_string(),
    })
}

/// `GET /formats`.
pub(super) async fn search(
    State(app): State<Arc<App>>,
    Extension(client): From,
    query: Parsed,
) -> Result<Response, Problem> {
    let parameters = Parameters::new(query, &["name", "field", "text", "after", "limit"])?;
    let look = move |app: &App| {
        let after = parameters.parsed("after", "a token")?;
        let (name, field, limit) = (parameters.text("name"), parameters.text("field"), parameters.limit()?);
        let found = match parameters.wanted()? {
            None => app.store.search(name, field, after, limit)?,
            Some(text) if (name, field) == (None, None) => app.store.containing(text, after, limit)?,
            Some(_) => return Err(Error::new(Code::Text).at("text").expected("no name and no field beside it").into()),
        };
        let mut list = Vec::new();
        for &token in &found.tokens {
            list.extend(app.store.format(token)?.map(|format| summary(&format)));
        }
        let mut answer = json!({ "formats": list });
        if let (true, Some(last)) = (found.more, found.last) {
            answer["next"] = last.to_string().into();
        }
        Ok(json(StatusCode::OK, &answer))
    };
    app.looking(client, look).await
}

/// `GET /schemas/guids/{token}`, as consumers of Kafka ask.
pub(super) async fn guid(
    State(app): State<Arc<App>>,
    Extension(client): From,
    Path(guid): Path<String>,
) -> Result<Response, Problem> {
    let token: Token = guid.replace('-', "").parse()?;
    let look = move |app: &App| {
        let format = app.store.format(token)?.ok_or_else(|| Error::unknown_format(token))?;
        let digits = token.to_string();
        let (a, b, c, d, e) = (&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]);
        let answer = json!({
            "guid": format!("{a}-{b}-{c}-{d}-{e}"), "schemaType": "ISOFORM", "schema": format::to_json(&format),
        });
        Ok(json(StatusCode::OK, &answer))
    };
    app.looking(client, look).await
}

/// `GET /changes`.
pub(super) async fn changes(
    State(app): State<Arc<App>>,
    Extension(client): From,
    query: Parsed,
) -> Result<Response, Problem> {
    let parameters = Parameters::new(query, &["after", "limit"])?;
    let look = move |app: &App| {
        let after = parameters.parsed("after", "a number")?.unwrap_or(0);
        let (changes, end) = app.store.changes(after, parameters.limit()?)?;
        let change = |(sequence, token): &(u64, Token)| json!({ "sequence": sequence, "token": token.to_string() });
        let changes: Vec<_> = changes.iter().map(change).collect();
        Ok(json(StatusCode::OK, &json!({ "id": app.store.id(), "changes": changes, "end": end })))
    };
    app.looking(client, look).await
}
