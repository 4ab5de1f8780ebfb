//! Servers of descriptions: anything that answers `GET {url}/formats/{token}` (`spec/service.md`).

use super::addresses::Addresses;
use super::checked;
use super::plain::{Plain, Said};
#[cfg(feature = "tls")]
use super::tls::Trust;
use crate::values;
use isoform_core::MAX_DESCRIPTION;
use isoform_core::{Code, Error, Format, Resolver, Result, Token};
use serde_json::Value;
use std::fmt;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};
use ureq::typestate::WithoutBody;
use ureq::unversioned::transport::DefaultConnector;
use ureq::{Agent, RequestBuilder};

/// The most bytes of an answer that is no description, unless a request says otherwise: some refusals of a version have most.
const ANSWER: u64 = 16 << 20;
/// The most attempts to get the answer of one server.
const ATTEMPTS: u32 = 4;

/// Servers that each are sufficient, and are asked in their order until one answers.
///
/// A server may be `isoform serve`, a folder behind any web server, or a cache between. None is trusted: an answer that does
/// not belong to the token is the failure of that server.
///
/// ```
/// use isoform_core::{Code, Resolver, Token};
/// use isoform_service::Servers;
/// let nobody = Servers::new(["http://127.0.0.1:1"])?;
/// assert_eq!(nobody.resolve(Token::from_bytes([7; 16])).unwrap_err().code(), Code::Io);
/// # Ok::<(), isoform_core::Error>(())
/// ```
pub struct Servers {
    urls: Vec<Box<str>>,
    /// Those of them at which descriptions are asked for on a short way.
    plain: Vec<Plain>,
    agent: Agent,
    #[cfg(feature = "tls")]
    trust: Trust,
    bearer: Option<Box<str>>,
    deadline: Duration,
}

impl Servers {
    /// Servers at these URLs, such as `http://formats:7460` or `https://static.example/river`.
    ///
    /// # Errors
    /// [`Code::Address`] for something else.
    pub fn new<U: Into<Box<str>>>(urls: impl IntoIterator<Item = U>) -> Result<Servers> {
        let urls = urls.into_iter().map(|url| base(url.into())).collect::<Result<Vec<_>>>()?;
        if urls.is_empty() {
            return Err(Error::new(Code::Address).expected("the URL of at least one server"));
        }
        Ok(Servers {
            agent: agent(
                #[cfg(feature = "tls")]
                &Trust::default(),
                is_secure(&urls),
            ),
            plain: urls.iter().filter_map(|url| Plain::new(url)).collect(),
            urls,
            #[cfg(feature = "tls")]
            trust: Trust::default(),
            bearer: None,
            deadline: Duration::from_secs(10),
        })
    }

    /// Trusts servers whose certificates the authorities in this PEM file issued, and no others. Without this, a client trusts
    /// the authorities of the system.
    ///
    /// # Errors
    /// [`Code::Io`] if the file cannot be read or has no certificate.
    #[cfg(feature = "tls")]
    pub fn trust(mut self, authorities: impl AsRef<Path>) -> Result<Servers> {
        self.trust.authorities(authorities.as_ref())?;
        self.agent = agent(&self.trust, is_secure(&self.urls));
        Ok(self)
    }

    /// Shows this certificate to servers that ask clients who they are. The PEM file has the certificate, those between it and
    /// its authority, and its private key.
    ///
    /// # Errors
    /// [`Code::Io`] if the file cannot be read, or lacks a certificate or the key.
    #[cfg(feature = "tls")]
    pub fn certificate(mut self, identity: impl AsRef<Path>) -> Result<Servers> {
        self.trust.identity(identity.as_ref())?;
        self.agent = agent(&self.trust, is_secure(&self.urls));
        Ok(self)
    }

    /// Refuses, since this program was built without TLS (the feature `tls`).
    ///
    /// # Errors
    /// [`Code::Address`].
    #[cfg(not(feature = "tls"))]
    pub fn trust(self, authorities: impl AsRef<Path>) -> Result<Servers> {
        Err(without_tls(authorities.as_ref()))
    }

    /// Refuses, since this program was built without TLS (the feature `tls`).
    ///
    /// # Errors
    /// [`Code::Address`].
    #[cfg(not(feature = "tls"))]
    pub fn certificate(self, identity: impl AsRef<Path>) -> Result<Servers> {
        Err(without_tls(identity.as_ref()))
    }

    /// Sets the time that all servers together have to answer a question. It is 10 seconds if this is not called.
    ///
    /// A request that may be repeated is sent up to four times if its connection breaks or nothing comes back. The first attempt
    /// has half of the time, and each further one half of what is left. So a link that loses something is not a failure.
    pub fn deadline(mut self, deadline: Duration) -> Servers {
        self.deadline = deadline;
        self
    }

    /// Shows this secret to servers that ask readers who they are.
    ///
    /// # Errors
    /// [`Code::Text`] for what a header of HTTP cannot hold: it is visible characters of ASCII, without spaces.
    pub fn bearer(mut self, secret: &str) -> Result<Servers> {
        if secret.is_empty() || !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
            let error = Error::new(Code::Text)
                .expected("a secret of visible ASCII characters, without spaces and ends of lines");
            return Err(error.found("others"));
        }
        self.bearer = Some(secret.into());
        Ok(self)
    }

    /// The URL of the first server, as texts show it.
    #[cfg(feature = "server")]
    pub(crate) fn first(&self) -> String {
        shown(&self.urls[0])
    }

    /// Stores a format at the first server that accepts it, and returns when it is stored.
    ///
    /// # Errors
    /// What the server answers; [`Code::Io`] if it cannot be asked. If there are several servers, what each of them did.
    pub fn put(&self, format: &Format) -> Result<()> {
        self.put_within(format, self.deadline).map(drop)
    }

    /// The same within a time that is shorter than the deadline. Returns the URL of the server.
    pub(super) fn put_within(&self, format: &Format, within: Duration) -> Result<&str> {
        let within = within.min(self.deadline);
        let put = |url: &str, within| {
            let request = self.agent.put(format!("{url}/formats")).content_type("application/octet-stream");
            let request = self.signed(request).config().timeout_global(Some(within)).build();
            Ok(success(url, answer(url, request.send(format.description().as_bytes()), ANSWER)?).map(drop)?)
        };
        match &self.urls[..] {
            [url] => repeated(within, |within| put(url, within)).map(|()| &**url),
            _ => self.any(format_args!("a server that stores {}", format.token()), within, put).map(|(url, ())| url),
        }
    }

    /// The URLs of the servers.
    pub(super) fn urls(&self) -> &[Box<str>] {
        &self.urls
    }

    /// Asks one server after another, each for its part of the time, until one does what is asked. Returns its URL, too.
    fn any<T>(
        &self,
        what: impl fmt::Display,
        within: Duration,
        ask: impl Fn(&str, Duration) -> Answered<T>,
    ) -> Result<(&str, T)> {
        let end = Instant::now() + within;
        let mut failures = Vec::new();
        for (at, url) in self.urls.iter().enumerate() {
            // A server that hangs uses up its own part of the time that is left, and not that of the others.
            let left = end.saturating_duration_since(Instant::now()) / (self.urls.len() - at) as u32;
            match repeated(left, |within| ask(url, within)) {
                Ok(done) => return Ok((url, done)),
                Err(error) => failures.push((url, left, error)),
            }
        }
        // A refusal counts most. A server that could not be asked may know the format, so that counts more than that others do not.
        let weight = |(_, _, error): &&(_, _, Error)| match error.code() {
            Code::UnknownFormat => 2,
            Code::Io | Code::Deadline | Code::TokenMismatch => 1,
            _ => 0,
        };
        let Some(code) = failures.iter().min_by_key(weight).map(|(_, _, error)| error.code()) else {
            return Err(Error::new(Code::Internal).expected("at least one server"));
        };
        let told = failures.iter().map(|(url, within, error)| {
            let url = shown(url);
            match error.code() {
                Code::UnknownFormat => format!("{url}: unknown format"),
                Code::Deadline => format!("{url}: no answer within {within:.0?}"),
                Code::Io | Code::TokenMismatch => format!("{url}: {}", error.actual()),
                _ if error.actual().contains(&url) => error.to_string(),
                _ => format!("{url}: {error}"),
            }
        });
        Err(Error::new(code).expected(what).found(told.collect::<Vec<_>>().join("; ")))
    }

    /// What the first server that can be asked and has it answers to `GET` of this path, as JSON.
    ///
    /// # Errors
    /// What the server answers; [`Code::Io`] if none can be asked. If there are several servers, what each of them did.
    pub fn get(&self, path: &str) -> Result<Value> {
        self.get_of(path, ANSWER)
    }

    /// As [`get`](Servers::get), with another limit of bytes for the answer.
    pub(crate) fn get_of(&self, path: &str, most: u64) -> Result<Value> {
        self.look(path, most, |url| self.agent.get(format!("{url}/{path}")))
    }

    /// A page of a list that the first server has which can be asked, with these parameters.
    ///
    /// # Errors
    /// As [`Servers::get`].
    pub fn list(&self, path: &str, parameters: &[(&str, &str)]) -> Result<Value> {
        let request = |url: &str| self.agent.get(format!("{url}/{path}")).query_pairs(parameters.iter().copied());
        self.look(path, ANSWER, request)
    }

    /// What the servers answer to a request that may be repeated.
    fn look(&self, path: &str, most: u64, request: impl Fn(&str) -> RequestBuilder<WithoutBody>) -> Result<Value> {
        let ask = |url: &str, within| {
            let request = self.signed(request(url)).config().timeout_global(Some(within)).build();
            Ok(success(url, answer(url, request.call(), most)?)?)
        };
        match &self.urls[..] {
            [url] => repeated(self.deadline, |within| ask(url, within)),
            _ => self.any(format_args!("a server that has /{path}"), self.deadline, ask).map(|(_, json)| json),
        }
    }

    /// What the first server answers to `PUT`, `POST` or `DELETE` of this path, as JSON.
    ///
    /// # Errors
    /// What the server answers; [`Code::Io`] if it cannot be asked.
    pub fn send(&self, method: &str, path: &str, body: &Value) -> Result<Value> {
        let answer = self.exchange(method, path, body)?;
        self.success(answer)
    }

    /// What the first server answers that can be asked, to a `POST` that changes nothing: refusals too, with the status.
    pub(crate) fn examine(&self, path: &str, body: &Value) -> Result<(u16, Value)> {
        let body = body.to_string();
        let ask = |url: &str, within| {
            let request = self.agent.post(format!("{url}/{path}")).content_type("application/json");
            let request = self.signed(request).config().timeout_global(Some(within)).build();
            answer(url, request.send(&*body), ANSWER)
        };
        match &self.urls[..] {
            [url] => repeated(self.deadline, |within| ask(url, within)),
            _ => self.any(format_args!("an answer of /{path}"), self.deadline, ask).map(|(_, answer)| answer),
        }
    }

    /// As [`send`](Servers::send), but refusals are answers too: with the status.
    pub(crate) fn exchange(&self, method: &str, path: &str, body: &Value) -> Result<(u16, Value)> {
        let (server, url) = (&self.urls[0], format!("{}/{path}", self.urls[0]));
        let answered = match method {
            "DELETE" => self.signed(self.agent.delete(url)).call(),
            "POST" => self.signed(self.agent.post(url).content_type("application/json")).send(body.to_string()),
            _ => self.signed(self.agent.put(url).content_type("application/json")).send(body.to_string()),
        };
        // The server may have done it although the answer is lost, so this is not sent again.
        Ok(answer(server, answered, ANSWER)?)
    }

    fn signed<B>(&self, request: RequestBuilder<B>) -> RequestBuilder<B> {
        let request = match &self.bearer {
            Some(secret) => request.header("Authorization", format!("Bearer {secret}")),
            None => request,
        };
        request.config().timeout_global(Some(self.deadline)).build()
    }

    /// The JSON of the first server's answer, or the error that a problem tells.
    pub(crate) fn success(&self, answer: (u16, Value)) -> Result<Value> {
        success(&self.urls[0], answer)
    }

    /// The description of a token, and the URL of the server that had it.
    pub(super) fn find(&self, token: Token) -> Result<(&str, Vec<u8>)> {
        let what = format_args!("the description of {token}");
        let found = self.any(what, self.deadline, |url, within| self.ask(url, token, within));
        found.map_err(|error| match error.code() {
            Code::UnknownFormat => {
                let urls = self.urls.iter().map(|url| shown(url)).collect::<Vec<_>>().join(", ");
                Error::unknown_format(token).expected(format_args!("a registered format, or one that is at {urls}"))
            }
            _ => error,
        })
    }

    /// Asks one server.
    fn ask(&self, url: &str, token: Token, within: Duration) -> Answered<Vec<u8>> {
        let end = Instant::now() + within;
        let said = match self.plain.iter().find(|plain| plain.url() == url) {
            Some(plain) => plain.get(&format!("formats/{token}"), self.bearer.as_deref(), MAX_DESCRIPTION, within),
            None => Ok(Said::Other),
        };
        let (status, bytes) = match said.map_err(|error| gone(error.into()))? {
            Said::Answer(status, bytes) => (status, bytes),
            Said::Other => self.ask_generally(url, token, end.saturating_duration_since(Instant::now()))?,
        };
        if status != 200 {
            let said = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
            return Err(match (status, code_of(&said)) {
                // A folder says it in words of its own.
                (404, None | Some(Code::UnknownFormat)) => Error::unknown_format(token),
                _ => refused(url, status, &said),
            }
            .into());
        }
        Ok(checked(token, bytes).map_err(|error| match error.code() {
            Code::TokenMismatch => {
                let answered = error.actual().to_owned();
                Error::new(Code::TokenMismatch).found(format_args!("the answer is the description of {answered}"))
            }
            _ => error,
        })?)
    }

    /// The status and the body of an answer of any kind. One byte more than a description can have shows that there are too many.
    fn ask_generally(&self, url: &str, token: Token, within: Duration) -> Answered<(u16, Vec<u8>)> {
        let request = self.signed(self.agent.get(format!("{url}/formats/{token}")));
        let response = request.config().timeout_global(Some(within)).build().call().map_err(gone)?;
        let (status, mut bytes) = (response.status().as_u16(), Vec::new());
        let mut body = response.into_body().into_reader().take(MAX_DESCRIPTION as u64 + 1);
        body.read_to_end(&mut bytes).map_err(|error| Failure::lost(Error::new(Code::Io).found(error)))?;
        Ok((status, bytes))
    }
}

/// The failure of a server from which nothing came.
fn gone(error: ureq::Error) -> Failure {
    match error {
        ureq::Error::Timeout(_) => Failure::lost(Error::new(Code::Deadline).found("no answer in time")),
        ureq::Error::Io(error) if error.kind() == std::io::ErrorKind::TimedOut => {
            Failure::lost(Error::new(Code::Deadline).found("no answer in time"))
        }
        error => Failure { is_lost: is_lost(&error), error: Error::new(Code::Io).found(fault(&error)) },
    }
}

/// What came of one attempt to get an answer.
type Answered<T> = std::result::Result<T, Failure>;

/// Why an attempt has failed.
struct Failure {
    error: Error,
    /// Whether the connection broke, or nothing came back: another attempt may succeed.
    is_lost: bool,
}

impl Failure {
    fn lost(error: Error) -> Failure {
        Failure { error, is_lost: true }
    }
}

/// What a server answers is final.
impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure { error, is_lost: false }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        failure.error
    }
}

/// Asks a server again while its answers are lost. An attempt has half of the time that is left, and the last one all of it.
fn repeated<T>(within: Duration, ask: impl Fn(Duration) -> Answered<T>) -> Result<T> {
    let end = Instant::now() + within;
    let left = || end.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
    for _ in 1..ATTEMPTS {
        match ask(left() / 2) {
            Err(failure) if failure.is_lost => {}
            answered => return Ok(answered?),
        }
    }
    Ok(ask(left())?)
}

/// Whether a connection broke that had been there, or did not answer in time. A server that refuses connections is not there.
fn is_lost(error: &ureq::Error) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, TimedOut, UnexpectedEof};
    match error {
        ureq::Error::Timeout(_) => true,
        ureq::Error::Io(error) => {
            matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | TimedOut | UnexpectedEof)
        }
        _ => false,
    }
}

/// [`Error::unknown_format`] if no server knows the format. Otherwise, the error tells what each server did.
impl Resolver for Servers {
    fn resolve(&self, token: Token) -> Result<Vec<u8>> {
        self.find(token).map(|(_, description)| description)
    }
}

impl fmt::Debug for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Servers").field(&self.urls.iter().map(|url| shown(url)).collect::<Vec<_>>()).finish()
    }
}

fn failed(url: &str, why: &dyn fmt::Display) -> Error {
    Error::new(Code::Io).expected(format_args!("an answer of {}", shown(url))).found(why)
}

/// Why a server cannot be asked, in the words of those who can mend it.
fn fault(why: &ureq::Error) -> String {
    let why = why.to_string();
    let said = [
        // What rustls says of a server without TLS, and what parsers of HTTP say of one with it.
        ("InvalidContentType", "an answer without TLS: is it http://?"),
        ("invalid HTTP version", "an answer that is not HTTP: is it https://?"),
        (
            "UnknownIssuer",
            "a certificate of an unknown authority; `trust` names the file with the authority's certificate",
        ),
        ("CaUsedAsEndEntity", "the certificate of an authority in place of a server's"),
    ];
    let known = said.into_iter().find(|(word, _)| why.contains(word));
    known.map_or_else(|| why.trim_start_matches("io: ").to_owned(), |(_, text)| text.to_owned())
}

/// A URL as texts show it: without user and password. A password may have any characters, so everything in front of the last `@` is
/// left out.
pub(crate) fn shown(url: &str) -> String {
    let (scheme, rest) = url.split_at(url.find("://").map_or(0, |at| at + 3));
    match rest.rsplit_once('@') {
        None => url.into(),
        Some((_, host)) => format!("{scheme}..@{host}"),
    }
}

/// A URL without user and password, for others who go there. As in [`shown`], they are everything in front of the last `@`; an `@` in
/// a path is written `%40`.
#[cfg(feature = "server")]
pub(crate) fn without_user(url: &str) -> String {
    shown(url).replacen("..@", "", 1)
}

/// The status and the JSON of an answer that has at most `most` bytes, and few values.
fn answer(
    url: &str,
    response: std::result::Result<ureq::http::Response<ureq::Body>, ureq::Error>,
    most: u64,
) -> Answered<(u16, Value)> {
    let response = response.map_err(|error| match error {
        ureq::Error::Timeout(_) => Failure::lost(failed(url, &"none in time")),
        error => Failure { is_lost: is_lost(&error), error: failed(url, &fault(&error)) },
    })?;
    let status = response.status().as_u16();
    let mut text = String::new();
    let mut body = response.into_body().into_reader().take(most + 1);
    body.read_to_string(&mut text).map_err(|error| Failure::lost(failed(url, &error)))?;
    let too_much = |most: u64, what: &str| {
        let expected = format_args!("an answer of {} with at most {most} {what}", shown(url));
        Error::new(Code::MessageSize).expected(expected).found("more")
    };
    if text.len() as u64 > most {
        return Err(too_much(most, "bytes").into());
    }
    if values::count(text.as_bytes()) > values::MOST {
        return Err(too_much(values::MOST as u64, "values").into());
    }
    match serde_json::from_str(&text) {
        Ok(json) => Ok((status, json)),
        Err(_) if matches!(status, 401 | 403) => Err(refused(url, status, &Value::Null).into()),
        Err(_) => Err(failed(url, &format_args!("HTTP status {status} without JSON")).into()),
    }
}

/// The JSON, or the error that a problem tells.
fn success(url: &str, (status, json): (u16, Value)) -> Result<Value> {
    if (200..300).contains(&status) {
        return Ok(json);
    }
    Err(refused(url, status, &json))
}

/// The code of a problem.
fn code_of(problem: &Value) -> Option<Code> {
    let number = problem["code"].as_u64()?;
    Code::ALL.iter().copied().find(|code| *code as u64 == number)
}

/// The error that a problem tells; without one, what the status says.
fn refused(url: &str, status: u16, problem: &Value) -> Error {
    let text = |name: &str| problem[name].as_str().unwrap_or("").to_owned();
    match (code_of(problem), status) {
        (Some(Code::Address), 404) => {
            Error::new(Code::Address).expected("the URL of a format service, without a path").found(shown(url))
        }
        (Some(code @ (Code::NotAdmitted | Code::Forbidden)), _) => {
            let found = [text("found"), format!("at {}", shown(url))].into_iter().filter(|part| !part.is_empty());
            Error::new(code).at(text("field")).expected(text("expected")).found(found.collect::<Vec<_>>().join(", "))
        }
        (Some(code), _) => Error::new(code).at(text("field")).expected(text("expected")).found(text("found")),
        (None, 401) => Error::new(Code::NotAdmitted)
            .expected("a secret (`bearer`), a certificate, or a user in the URL")
            .found(format_args!("HTTP status 401 of {}", shown(url))),
        (None, 403) => Error::new(Code::Forbidden).found(format_args!("HTTP status 403 of {}", shown(url))),
        _ => failed(url, &format_args!("HTTP status {status}")),
    }
}

/// A URL without the slash at its end.
fn base(url: Box<str>) -> Result<Box<str>> {
    let unfit = |expected: &str| Err(Error::new(Code::Address).expected(expected).found(shown(&url)));
    let Ok(parsed) = url.parse::<ureq::http::Uri>() else { return unfit("a URL") };
    let tls = cfg!(feature = "tls");
    match (parsed.scheme_str(), parsed.host()) {
        (Some("http"), Some(_)) => {}
        (Some("https"), Some(_)) if tls => {}
        (Some("https"), _) => return unfit("http://, since this program was built without TLS"),
        _ => return unfit("http://HOST:PORT or https://HOST:PORT"),
    }
    // What is no port would be taken for none.
    let behind_host = parsed.authority().and_then(|all| all.as_str().strip_prefix(parsed.host()?));
    if behind_host.is_some_and(|rest| rest.starts_with(':')) && parsed.port_u16().is_none() {
        return unfit("a port from 1 to 65535");
    }
    if parsed.query().is_some() {
        return unfit("a URL without `?`");
    }
    Ok(url.trim_end_matches('/').into())
}

#[cfg(not(feature = "tls"))]
fn without_tls(file: &Path) -> Error {
    let error = Error::new(Code::Address).expected("no certificates, since this program was built without TLS");
    error.found(file.display())
}

fn is_secure(urls: &[Box<str>]) -> bool {
    urls.iter().any(|url| url.starts_with("https:"))
}

/// What makes requests and keeps connections. It reads no environment, and follows no redirect: a server cannot send a client
/// to other hosts.
fn agent(#[cfg(feature = "tls")] trust: &Trust, secure: bool) -> Agent {
    let config = Agent::config_builder()
        .proxy(None)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .http_status_as_error(false)
        .accept_encoding("identity")
        .user_agent(concat!("isoform/", env!("CARGO_PKG_VERSION")))
        .max_response_header_size(16 << 10);
    #[cfg(feature = "tls")]
    let config = if secure { config.tls_config(trust.config()) } else { config };
    _ = secure;
    Agent::with_parts(config.build(), DefaultConnector::default(), Addresses::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_and_passwords_are_in_no_text() {
        for (url, expected) in [
            ("http://host:81/tree", "http://host:81/tree"),
            ("http://user:secret@host:81/tree", "http://..@host:81/tree"),
            ("https://secret@[::1]/a", "https://..@[::1]/a"),
            ("http://user:sec@ret@host", "http://..@host"),
            ("http://user:sec/ret@host/x", "http://..@host/x"),
            ("http://sec:12/ret@host/x", "http://..@host/x"),
            ("user:secret@host", "..@host"),
            ("ftp://user:secret@host/", "ftp://..@host/"),
            ("http://user:secret@", "http://..@"),
            ("http://user:secret@host/?a", "http://..@host/?a"),
            ("", ""),
        ] {
            assert_eq!(shown(url), expected, "{url}");
            let told = match Servers::new([url]) {
                Ok(servers) => {
                    let token = Token::from_bytes([7; 16]);
                    let servers = servers.deadline(Duration::from_millis(1));
                    format!("{servers:?} {} {}", servers.resolve(token).unwrap_err(), servers.get("names").unwrap_err())
                }
                Err(error) => error.to_string(),
            };
            assert!(!told.contains("sec"), "{url}: {told}");
        }
    }
}
