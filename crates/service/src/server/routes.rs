//! The paths of the server (`spec/service.md`), and what every request passes.

use super::access::Client;
use super::app::App;
use super::incoming::Incoming;
use super::{formats, metrics, names, page, problem::Problem};
use crate::values;
use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Query, State};
use axum::http::{HeaderValue, Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post, put};
use http_body_util::BodyExt;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use isoform_core::{Code, Error};
use serde_json::Value;
use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

/// The most bytes of a body that is no description: a version with many rules, a name with much prose.
pub(super) const BODY: usize = 1 << 20;
/// How long a client may take to send a body.
const PATIENCE: Duration = Duration::from_secs(10);
/// The most characters of a text that is searched for.
const TEXT: usize = 255;
/// The most entries of a list.
const LIST_MOST: usize = 1000;
/// The entries of a list if the client does not say how many.
const LIST: usize = 100;

/// What answers each path.
pub(super) type Routes = TowerToHyperService<Router>;

/// All paths.
pub(super) fn routes(app: Arc<App>) -> Routes {
    let router = Router::new()
        .route("/", get(page::index))
        .route("/page/{file}", get(page::file))
        .route("/openapi.json", get(page::openapi))
        .route("/healthz", get(async || "ok\n"))
        .route("/metrics", get(counts))
        .route("/formats", get(formats::search).put(formats::put))
        .route("/formats/{token}", get(formats::get))
        .route("/schemas/guids/{token}", get(formats::guid))
        .route("/changes", get(formats::changes))
        .route("/names", get(names::list))
        .route("/changes/names", get(names::changes))
        .route("/names/{name}", get(names::get))
        .route("/names/{name}/rule", put(names::set_rule))
        .route("/names/{name}/prose", put(names::set_prose))
        .route("/names/{name}/check", post(names::check))
        .route("/names/{name}/compare", get(names::compare))
        .route("/names/{name}/versions", post(names::add))
        .route("/names/{name}/versions/{number}", get(names::version))
        .route("/names/{name}/versions/{number}", delete(names::retire))
        .fallback(async || Problem::new(StatusCode::NOT_FOUND, no_path()))
        .method_not_allowed_fallback(async || Problem::new(StatusCode::METHOD_NOT_ALLOWED, no_path()))
        .with_state(app);
    TowerToHyperService::new(router)
}

fn no_path() -> Error {
    Error::new(Code::Address).expected("a path and a method of spec/service.md")
}

/// Answers a request: whether the client may make it, what it asks for, and what each answer has and is counted for.
pub(super) async fn answer(
    app: Arc<App>,
    routes: Routes,
    client: Client,
    mut request: Request<Incoming>,
) -> Result<Response, Infallible> {
    let mut response = match app.access.check(client, request.method(), request.uri(), request.headers()) {
        Err(problem) => problem.into_response(),
        // What is asked for most does not take the long way, which costs more than the look into the store.
        Ok(()) => match formats::at_once(&app, request.method(), request.uri().path()) {
            Some(response) => response,
            None => {
                request.extensions_mut().insert(client);
                routes.call(request).await?
            }
        },
    };
    let is_problem =
        response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/problem+json");
    if response.status().as_u16() >= 400 && !is_problem {
        // A path or parameters that axum could not take apart.
        response = Problem::new(response.status(), Error::new(Code::Text).expected("a URL as in spec/service.md"))
            .into_response();
    }
    app.metrics.answered(response.status().as_u16(), response.extensions().get().copied());
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    Ok(response)
}

async fn counts(State(app): State<Arc<App>>) -> Result<Response, Problem> {
    let text = app.blocking(|app| Ok(metrics::text(app)?)).await?;
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response())
}

/// JSON that may be different a moment later. As text it may have megabytes, so whoever looks makes it where it may wait.
pub(super) fn json(status: StatusCode, json: &Value) -> Response {
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")];
    (status, headers, json.to_string()).into_response()
}

/// A body of at most so many bytes, which must come soon. Some of what is too much is read nevertheless: a client that still sends
/// when the connection is closed may never see the answer.
pub(super) async fn body(mut body: Body, most: usize) -> Result<Bytes, Problem> {
    let too_much = || Error::new(Code::MessageSize).expected(format_args!("a body of at most {most} bytes"));
    let announced = body.size_hint().lower();
    if announced > (most + BODY) as u64 {
        return Err(too_much().found(format_args!("{announced} bytes")).into());
    }
    let read = async {
        let (mut bytes, mut length) = (Vec::new(), 0);
        while length <= most + BODY
            && let Some(frame) = body.frame().await
        {
            let data = frame.map_err(|error| Error::new(Code::Cut).expected("the whole body").found(error))?;
            let data = data.into_data().unwrap_or_default();
            length += data.len();
            if length <= most {
                bytes.extend_from_slice(&data);
            }
        }
        match length > most {
            false => Ok(Bytes::from(bytes)),
            true => Err(too_much().found("more")),
        }
    };
    match tokio::time::timeout(PATIENCE, read).await {
        Ok(read) => Ok(read?),
        Err(_) => Err(Error::new(Code::Deadline).expected(format_args!("the body within {PATIENCE:?}")).into()),
    }
}

/// Refuses JSON that would need much memory.
pub(super) fn has_few_values(json: &[u8]) -> Result<(), Problem> {
    let most = values::MOST;
    match values::count(json) {
        count if count <= most => Ok(()),
        count => Err(Error::new(Code::MessageSize).expected(format_args!("at most {most} values")).found(count).into()),
    }
}

/// The JSON of a body. Parsing takes long, so this is for threads that may wait, and for requests that have a place.
pub(super) fn parsed(body: &[u8]) -> Result<Value, Problem> {
    has_few_values(body)?;
    serde_json::from_slice(body).map_err(|error| Error::new(Code::Text).expected("JSON").found(error).into())
}

/// Refuses what is not JSON before the request lines up: few requests of a client may, and proper ones should not wait for others.
/// What it is comes to memory again when its turn has come, so that what waits is small.
pub(super) async fn well_formed(app: &Arc<App>, client: Client, body: Bytes) -> Result<Bytes, Problem> {
    app.clone().changing(client, move |_| parsed(&body).map(|_| body)).await
}

/// The parameters behind `?`, none of which has another name than these.
pub(super) struct Parameters(HashMap<String, String>);

impl Parameters {
    pub(super) fn new(query: Query<HashMap<String, String>>, known: &[&str]) -> Result<Parameters, Problem> {
        let Query(parameters) = query;
        match parameters.keys().find(|name| !known.contains(&name.as_str())) {
            None => Ok(Parameters(parameters)),
            Some(other) => Err(Error::new(Code::Text).expected(known.join(", ")).found(other).into()),
        }
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// A parameter that is something else than text.
    pub(super) fn parsed<T: std::str::FromStr>(&self, name: &str, expected: &str) -> Result<Option<T>, Problem> {
        let parse = |text: &str| {
            let unfit = |_| Error::new(Code::Text).at(name).expected(expected).found(text).into();
            text.parse().map_err(unfit)
        };
        self.text(name).map(parse).transpose()
    }

    /// What names shall contain: a text that is no longer than names are, since each byte of it is compared with many.
    pub(super) fn wanted(&self) -> Result<Option<&str>, Problem> {
        match self.text("text") {
            Some(long) if long.chars().count() > TEXT => {
                let error = Error::new(Code::Text).at("text").expected(format_args!("at most {TEXT} characters"));
                Err(error.found(long.chars().count()).into())
            }
            text => Ok(text),
        }
    }

    /// The number of entries that a list should have.
    pub(super) fn limit(&self) -> Result<usize, Problem> {
        let limit = self.parsed("limit", "a number")?.unwrap_or(LIST);
        match limit {
            1..=LIST_MOST => Ok(limit),
            _ => Err(Error::new(Code::Text).at("limit").expected(format_args!("1 to {LIST_MOST}")).found(limit).into()),
        }
    }
}
