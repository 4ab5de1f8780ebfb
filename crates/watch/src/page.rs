//! The files of the page. It needs nothing from elsewhere.

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

/// The browser runs, shows and asks only what this server sends; and runs WebAssembly, but no text as a program. No other page
/// may embed this one.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' blob:; \
                      connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

/// The files, with their types.
const FILES: [(&str, &str, &[u8]); 16] = [
    ("", "text/html; charset=utf-8", include_bytes!("../page/index.html")),
    ("style.css", STYLE, include_bytes!("../page/style.css")),
    ("main.js", SCRIPT, include_bytes!("../page/main.js")),
    ("address.js", SCRIPT, include_bytes!("../page/address.js")),
    ("dom.js", SCRIPT, include_bytes!("../page/dom.js")),
    ("link.js", SCRIPT, include_bytes!("../page/link.js")),
    ("panel.js", SCRIPT, include_bytes!("../page/panel.js")),
    ("picture.js", SCRIPT, include_bytes!("../page/picture.js")),
    ("recorded.js", SCRIPT, include_bytes!("../page/recorded.js")),
    ("shared.js", SCRIPT, include_bytes!("../page/shared.js")),
    ("transport.js", SCRIPT, include_bytes!("../page/transport.js")),
    ("worker.js", SCRIPT, include_bytes!("../page/worker.js")),
    ("icon.svg", "image/svg+xml", include_bytes!("../page/icon.svg")),
    ("core.wasm", "application/wasm", include_bytes!("../page/built/core.wasm")),
    ("uplot.js", SCRIPT, include_bytes!("../page/built/uplot.js")),
    ("uplot.css", STYLE, include_bytes!("../page/built/uplot.css")),
];

/// The file of this name, or that there is none.
pub(crate) fn file(name: &str) -> Response {
    let Some((_, kind, bytes)) = FILES.into_iter().find(|(known, _, _)| *known == name) else {
        return (StatusCode::NOT_FOUND, "the page has no such file\n").into_response();
    };
    let headers: [(HeaderName, HeaderValue); 5] = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        // A newer server is not shown by an older page.
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    (headers, bytes).into_response()
}
