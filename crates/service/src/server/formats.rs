//! Requests for formats.

use super::access::Client;
use super::app::App;
use super::problem::Problem;
use super::routes::{Parameters, body, json};
use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
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
    let cached = match app.access.read {
        None => "public, max-age=31536000, immutable",
        Some(_) => "private, max-age=31536000, immutable",
    };
    let etag = format!("\"{file}\"");
    Ok(match as_json {
        false => {
            let headers = [(header::CONTENT_TYPE, "application/octet-stream"), (header::CACHE_CONTROL, cached)];
            (headers, [(header::ETAG, etag)], description).into_response()
        }
        true => {
            let headers = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, cached)];
            let json = app.looking(client, move |_| Ok(format::to_json(&Format::parse(&description)?)));
            (headers, [(header::ETAG, etag)], json.await?).into_response()
        }
    })
}

/// `PUT /formats`.
pub(super) async fn put(State(app): State<Arc<App>>, headers: HeaderMap, from: Body) -> Result<Response, Problem> {
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
    let stored = app.blocking(move |app| {
        let format = match is_json {
            true => {
                let text = std::str::from_utf8(&bytes);
                format::from_json(text.map_err(|error| Error::new(Code::Text).expected("UTF-8").found(error))?)?
            }
            false => Format::parse(&bytes)?,
        };
        Ok((app.store.put(&format)?, summary(&format)))
    });
    let (stored, summary) = stored.await?;
    let status = if stored.is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok(json(status, &summary))
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
    let parameters = Parameters::new(query, &["name", "field", "after", "limit"])?;
    let found = app.looking(client, move |app| {
        let after = parameters.parsed("after", "a token")?;
        let found = app.store.search(parameters.text("name"), parameters.text("field"), after, parameters.limit()?)?;
        let mut list = Vec::new();
        for &token in &found.tokens {
            list.extend(app.store.format(token)?.map(|format| summary(&format)));
        }
        let mut answer = json!({ "formats": list });
        if let (true, Some(last)) = (found.more, found.last) {
            answer["next"] = last.to_string().into();
        }
        Ok(answer)
    });
    Ok(json(StatusCode::OK, &found.await?))
}

/// `GET /schemas/guids/{token}`, as consumers of Kafka ask.
pub(super) async fn guid(
    State(app): State<Arc<App>>,
    Extension(client): From,
    Path(guid): Path<String>,
) -> Result<Response, Problem> {
    let token: Token = guid.replace('-', "").parse()?;
    let schema = app.looking(client, move |app| {
        let format = app.store.format(token)?.ok_or_else(|| Error::unknown_format(token))?;
        Ok(format::to_json(&format))
    });
    let schema = schema.await?;
    let digits = token.to_string();
    let (a, b, c, d, e) = (&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]);
    let answer = json!({
        "guid": format!("{a}-{b}-{c}-{d}-{e}"), "schemaType": "ISOFORM", "schema": schema,
    });
    Ok(json(StatusCode::OK, &answer))
}

/// `GET /changes`.
pub(super) async fn changes(
    State(app): State<Arc<App>>,
    Extension(client): From,
    query: Parsed,
) -> Result<Response, Problem> {
    let parameters = Parameters::new(query, &["after", "limit"])?;
    let answer = app.looking(client, move |app| {
        let after = parameters.parsed("after", "a number")?.unwrap_or(0);
        let (changes, end) = app.store.changes(after, parameters.limit()?)?;
        let change = |(sequence, token): &(u64, Token)| json!({ "sequence": sequence, "token": token.to_string() });
        let changes: Vec<_> = changes.iter().map(change).collect();
        Ok(json!({ "id": app.store.id(), "changes": changes, "end": end }))
    });
    Ok(json(StatusCode::OK, &answer.await?))
}
