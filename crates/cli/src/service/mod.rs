//! Format services. `serve` runs one; `formats` has the commands that register formats and show them, with `names`, `diff` and
//! `export`; `missing` has hints for names that do not exist. This file knows which services the user means, and asks them for formats.

mod diff;
mod export;
pub(crate) mod formats;
mod missing;
mod names;
pub(crate) mod serve;

use crate::args::service::{CERTIFICATE, LOCAL, SECRET, Service, TRUST, VARIABLE};
use crate::failure::{Failure, reason};
use crate::source::Name;
use crate::surroundings;
use isoform::core::Resolver;
use isoform::{Code, Error, Format, Token};
use isoform_service::names::Version;
use isoform_service::{Cache, Search, Servers};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The services that the options of this command name, which sources then mean too.
static NAMED: OnceLock<Servers> = OnceLock::new();

/// The services that the user means.
fn servers() -> Result<&'static Servers, Failure> {
    if NAMED.get().is_none() {
        _ = NAMED.set(of_environment(urls().unwrap_or_else(|| vec![LOCAL.into()]))?);
    }
    Ok(NAMED.get().expect("it was set a moment ago"))
}

/// The services that options name.
fn named(service: &Service) -> Result<&'static Servers, Failure> {
    let named: Vec<&str> = service.server.iter().map(|url| url.trim()).filter(|url| !url.is_empty()).collect();
    let servers = Servers::new(if named.is_empty() { vec![LOCAL] } else { named })?;
    let (secret, trust) = (service.secret.as_deref(), service.trust.as_deref());
    _ = NAMED.set(with_credentials(servers, secret, trust, service.certificate.as_deref())?);
    self::servers()
}

/// The services at these URLs, with what the environment says of secrets and certificates.
fn of_environment(urls: Vec<String>) -> Result<Servers, Failure> {
    let file = |variable| std::env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from);
    let servers = Servers::new(urls).map_err(|error| Failure::from(error).about(VARIABLE))?;
    with_credentials(servers, file(SECRET).as_deref(), file(TRUST).as_deref(), file(CERTIFICATE).as_deref())
}

/// These services, with the files of a secret and a certificate that the command shows them, and of the authorities that it trusts.
fn with_credentials(
    mut servers: Servers,
    secret: Option<&Path>,
    trust: Option<&Path>,
    certificate: Option<&Path>,
) -> Result<Servers, Failure> {
    if let Some(file) = trust {
        servers = servers.trust(file)?;
    }
    if let Some(file) = certificate {
        servers = servers.certificate(file)?;
    }
    if let Some(file) = secret {
        // The user may have given the secret in place of its file, so the message does not show it.
        let cannot = |error| {
            Failure::usage(format!("cannot read the file with the secret: {}", reason(&error)))
                .hint(format!("--secret and {SECRET} name a file"))
        };
        let secret = std::fs::read_to_string(file).map_err(cannot)?;
        let name = file.display().to_string();
        servers = servers.bearer(secret.trim()).map_err(|error| Failure::from(error).about(&name).of_source())?;
    }
    Ok(servers)
}

/// The services of the environment.
fn urls() -> Option<Vec<String>> {
    let urls = std::env::var(VARIABLE).ok()?;
    let urls: Vec<String> = urls.split(',').map(|url| url.trim().to_owned()).filter(|url| !url.is_empty()).collect();
    (!urls.is_empty()).then_some(urls)
}

/// What looks up formats that a stream does not describe, if the user has named services.
pub(crate) fn search() -> Result<Option<Search>, Failure> {
    let (urls, hosts) = (urls(), surroundings::hosts());
    if urls.is_none() && hosts.is_empty() {
        return Ok(None);
    }
    let mut search = cached();
    for host in hosts {
        search = search.allow(&host).map_err(|error| Failure::from(error).about(surroundings::HOSTS))?;
    }
    Ok(Some(match urls {
        Some(urls) => search.then(of_environment(urls)?),
        None => search,
    }))
}

/// A search that begins at the user's cache on disk.
fn cached() -> Search {
    match cache_folder() {
        Some(folder) => Search::new().cache(Cache::new(folder)),
        None => Search::new(),
    }
}

fn cache_folder() -> Option<PathBuf> {
    surroundings::cache().map(|folder| folder.join("isoform/formats"))
}

/// The format of a token.
pub(crate) fn format(token: Token) -> Result<Format, Failure> {
    // A format in the cache needs no service, even if a wrong one is named.
    let found = match cached().resolve(token) {
        Ok(found) => found,
        Err(_) => cached().then(Asked(servers()?)).resolve(token).map_err(|error| match error.code() {
            Code::UnknownFormat => {
                Failure::data(error.to_string()).hint("`isoform formats put SOURCE` registers formats")
            }
            _ => failed(error),
        })?,
    };
    Ok(Format::parse(&found)?)
}

/// The services that the user means, as a place of a search.
struct Asked(&'static Servers);

impl Resolver for Asked {
    fn resolve(&self, token: Token) -> isoform::Result<Vec<u8>> {
        self.0.resolve(token)
    }
}

/// Stores a format, also in the user's cache.
fn put(servers: &Servers, format: &Format) -> Result<(), Failure> {
    servers.put(format).map_err(failed)?;
    if let Some(folder) = cache_folder() {
        _ = Cache::new(folder).put(format.token(), format.description().as_bytes());
    }
    Ok(())
}

/// The formats of a version of a name.
pub(crate) fn version(name: &Name) -> Result<Vec<Format>, Failure> {
    formats_of(&the_version(name)?)
}

/// A version of a name as the service has it.
fn the_version(name: &Name) -> Result<Value, Failure> {
    let servers = servers()?;
    servers
        .version(&name.name, name.version)
        .map_err(|error| missing::version(servers, &name.name, name.version, error))
}

/// A version of a name, with the rules of its readers.
fn declaration(name: &Name) -> Result<Version, Failure> {
    let mut json = the_version(name)?;
    let formats = formats_of(&json)?;
    let mut declaration = json!({ "formats": json["formats"].take() });
    if json.get("rules").is_some() {
        declaration["rules"] = json["rules"].take();
    }
    Ok(Version::from_json(&declaration, |token| formats.iter().find(|format| format.token() == token).cloned())?)
}

/// The formats whose tokens the JSON of a version has.
fn formats_of(version: &Value) -> Result<Vec<Format>, Failure> {
    let tokens = version["formats"].as_array().into_iter().flatten();
    tokens.map(|token| format(token.as_str().unwrap_or("").parse()?)).collect()
}

/// The failure for an error of a service, with a hint that may help.
fn failed(error: Error) -> Failure {
    let (code, is_read_only) = (error.code(), error.to_string().contains("read-only"));
    let is_untrusted = error.actual().contains("unknown authority");
    let is_of_the_disk = error.expectation().starts_with("to write ");
    let is_of_a_tree = error.actual().ends_with("without JSON");
    let writer = Some(error.expectation().to_owned()).filter(|url| url.starts_with("http"));
    let failure = Failure::from(error);
    match code {
        Code::Forbidden if is_read_only => failure, // for everyone
        Code::Io if is_untrusted => failure
            .of_source()
            .hint(format!("--trust FILE or {TRUST}=FILE names the PEM file with the certificate of the authority")),
        Code::Io if is_of_the_disk => failure.of_source(), // the service has answered
        Code::Io if is_of_a_tree => failure.of_source().hint(
            "this is a web server, perhaps with an exported tree, which has formats by token and no lists, names or \
             registrations: --server URL names a service",
        ),
        Code::Io | Code::Deadline => failure.of_source().hint(format!(
            "`isoform serve` runs a service on this machine; --server URL or {VARIABLE}=URL names another one"
        )),
        Code::NotAdmitted | Code::Forbidden => failure.of_source().hint(format!(
            "--secret FILE or {SECRET}=FILE shows the service a secret, --certificate FILE or {CERTIFICATE}=FILE a certificate"
        )),
        Code::NotWriter => match writer {
            Some(url) => failure.hint(format!("--server {url} changes names")),
            None => failure,
        },
        Code::NoSuchName => failure.hint("`isoform formats versions` lists the names"),
        _ => failure,
    }
}
