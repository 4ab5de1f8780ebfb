//! The web page of formats. It asks the server as every client does, and needs nothing from elsewhere.

use super::problem::Problem;
use axum::extract::Path;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use isoform_core::{Code, Error};

/// The browser runs, shows and asks only what this server sends, and no other page may embed this one.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The files of the page, with their types.
const FILES: [(&str, &str, &str); 6] = [
    ("style.css", "text/css; charset=utf-8", include_str!("page/style.css")),
    ("main.js", "text/javascript; charset=utf-8", include_str!("page/main.js")),
    ("layout.js", "text/javascript; charset=utf-8", include_str!("page/layout.js")),
    ("compare.js", "text/javascript; charset=utf-8", include_str!("page/compare.js")),
    ("dom.js", "text/javascript; charset=utf-8", include_str!("page/dom.js")),
    ("icon.svg", "image/svg+xml", include_str!("page/icon.svg")),
];

/// `GET /`.
pub(super) async fn index() -> Response {
    page("text/html; charset=utf-8", include_str!("page/index.html"))
}

/// `GET /page/{file}`.
pub(super) async fn file(Path(name): Path<String>) -> Result<Response, Problem> {
    let Some((_, kind, text)) = FILES.into_iter().find(|(known, _, _)| *known == name) else {
        return Err(Problem::new(StatusCode::NOT_FOUND, Error::new(Code::Address).expected("a file of the page")));
    };
    Ok(page(kind, text))
}

/// `GET /openapi.json`: all requests, in the form that tools read.
pub(super) async fn openapi() -> Response {
    page("application/json", include_str!("page/openapi.json"))
}

/// A part of the page. A browser asks again each time, so that a newer server is not shown by an older page.
fn page(kind: &'static str, text: &'static str) -> Response {
    let headers: [(HeaderName, HeaderValue); 4] = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ];
    (headers, text).into_response()
}
