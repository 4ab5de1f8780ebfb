//! Where a document is, and which documents others may bring in.

use fluent_uri::component::Scheme;
use fluent_uri::{Uri, UriRef};
use isoform_core::{Code, Error, Result};
use std::path::{Path, PathBuf};

/// The place of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    File(PathBuf),
    /// `http:` or `https:`, without user and fragment.
    Url(Uri<String>),
}

impl Place {
    /// What a text means: a URL, if it begins with a scheme that is known here; otherwise a path.
    pub(super) fn parse(text: &str) -> Result<Place> {
        let fault =
            |expected: &str| Error::new(Code::Source).expected(expected).found(format_args!("{:?}", shown(text)));
        let scheme = text.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
        match scheme.as_deref() {
            Some("http" | "https") => Place::of(Uri::parse(text.to_owned()).map_err(|_| fault("a URL"))?),
            Some("file") => {
                let path = text[5..].strip_prefix("//localhost/").or(text[5..].strip_prefix("///"));
                let path = path.map(|path| format!("/{path}")).unwrap_or_else(|| text[5..].to_owned());
                match path.starts_with("//") || path.is_empty() {
                    true => Err(fault("file:///PATH")),
                    false => Ok(Place::File(decoded(&path).ok_or_else(|| fault("file:///PATH"))?)),
                }
            }
            Some(scheme) if text.contains("://") && is_scheme(scheme) => {
                Err(fault("a path, or a URL with http:, https: or file:"))
            }
            _ if text.is_empty() => Err(fault("a path or a URL")),
            _ => Ok(Place::File(text.into())),
        }
    }

    fn of(uri: Uri<String>) -> Result<Place> {
        let fault = |expected: &str| {
            Error::new(Code::Source).expected(expected).found(format_args!("{:?}", shown(uri.as_str())))
        };
        let authority = uri.authority().ok_or_else(|| fault("a URL with a host"))?;
        if authority.host().is_empty() || authority.userinfo().is_some() {
            return Err(fault("a URL with a host, and without a user"));
        }
        let mut uri = uri.normalize();
        uri.set_fragment(None);
        Ok(Place::Url(uri))
    }

    /// The place that a document here means by a location.
    pub(super) fn join(&self, location: &str) -> Result<Place> {
        let fault = || {
            Error::new(Code::Source).at(self.name()).expected("a location").found(format_args!("{:?}", shown(location)))
        };
        match self {
            _ if location.contains("://") => Place::parse(location),
            Place::File(path) => match location.strip_prefix("file:") {
                Some(_) => Place::parse(location),
                None => {
                    Ok(Place::File(path.parent().unwrap_or(Path::new("")).join(decoded(location).ok_or_else(fault)?)))
                }
            },
            Place::Url(base) => {
                let relative = UriRef::parse(location).map_err(|_| fault())?;
                let uri = relative.resolve_against(base).map_err(|_| fault())?;
                match uri.scheme().as_str() {
                    "http" | "https" => Place::of(uri),
                    _ => Err(fault()),
                }
            }
        }
    }

    /// Its full name: equal names are one document.
    pub(super) fn name(&self) -> String {
        match self {
            Place::File(path) => {
                std::fs::canonicalize(path).unwrap_or_else(|_| path.clone()).to_string_lossy().into_owned()
            }
            Place::Url(url) => url.as_str().to_owned(),
        }
    }

    /// The scheme of its address; `file` for a path.
    pub(super) fn scheme(&self) -> String {
        match self {
            Place::File(_) => "file".into(),
            Place::Url(url) => url.scheme().as_str().to_ascii_lowercase(),
        }
    }

    /// Refuses a place to which a document at `start` must not lead.
    pub(super) fn check(&self, start: &Place, allowed: &[Box<str>]) -> Result<()> {
        let refuse = |expected: String| Err(Error::new(Code::Forbidden).expected(expected).found(self.name()));
        match (self, start) {
            (Place::File(_), Place::File(_)) => Ok(()),
            (Place::File(_), Place::Url(_)) => refuse("a document of a server, since a server brought it in".into()),
            (Place::Url(url), start) => {
                let (host, port) = host_and_port(url);
                let is_allowed =
                    allowed.iter().any(|allowed| **allowed == *host || **allowed == *format!("{host}:{port}"));
                let is_own = matches!(start, Place::Url(start) if origin(start) == origin(url));
                match is_allowed || is_own {
                    true => Ok(()),
                    false => refuse(format!("a host that is allowed; {host}:{port} is not")),
                }
            }
        }
    }
}

/// A text that is no place, as errors show it: a password may stand before an `@`.
fn shown(text: &str) -> String {
    let (scheme, rest) = text.split_at(text.find("://").map_or(0, |at| at + 3));
    match rest.rsplit_once('@') {
        Some((_, host)) if !scheme.is_empty() => format!("{scheme}..@{host}"),
        _ => text.into(),
    }
}

fn is_scheme(text: &str) -> bool {
    text.len() > 1 && Scheme::new(text).is_some()
}

fn origin(url: &Uri<String>) -> (String, String, u16) {
    let (host, port) = host_and_port(url);
    (url.scheme().as_str().to_ascii_lowercase(), host, port)
}

/// The host and the port of a URL that [`Place::parse`] has accepted.
fn host_and_port(url: &Uri<String>) -> (String, u16) {
    let usual = if url.scheme().as_str() == "https" { 443 } else { 80 };
    match url.authority() {
        Some(authority) => {
            let port = authority.port_to_u16().ok().flatten().unwrap_or(usual);
            (authority.host().to_ascii_lowercase(), port)
        }
        None => (String::new(), usual),
    }
}

/// A path in which `%20` and its like stand for bytes.
fn decoded(text: &str) -> Option<PathBuf> {
    if !text.contains('%') {
        return Some(text.into());
    }
    let encoded = fluent_uri::pct_enc::EStr::<fluent_uri::pct_enc::encoder::Path>::new(text)?;
    encoded.decode().to_string().ok().map(|path| PathBuf::from(&*path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str) -> Place {
        Place::parse(text).unwrap()
    }

    #[test]
    fn paths_and_urls() {
        assert_eq!(place("a/b.xsd"), Place::File("a/b.xsd".into()));
        assert_eq!(place("C:\\a.xsd"), Place::File("C:\\a.xsd".into()));
        assert_eq!(place("file:///a%20b.xsd"), Place::File("/a b.xsd".into()));
        assert_eq!(place("file://localhost/a.xsd"), Place::File("/a.xsd".into()));
        assert_eq!(place("HTTP://Host:80/a/../b.xsd#R").name(), "http://host/b.xsd");
        for text in ["", "ftp://h/a", "http:///a", "http://user@h/a", "file://other/a", "gopher://x/"] {
            assert_eq!(Place::parse(text).unwrap_err().code(), Code::Source, "{text}");
        }
        for text in ["http://me:secret@h/a", "http://me:se/cret@h\u{1}", "https://me:secret@/a", "ftp://me:secret@h/a"]
        {
            let error = Place::parse(text).unwrap_err();
            assert!(error.actual().contains("..@") && !error.to_string().contains("cret"), "{error}");
        }
    }

    #[test]
    fn locations_are_relative_to_their_document() {
        assert_eq!(place("a/b.xsd").join("c.xsd").unwrap(), Place::File("a/c.xsd".into()));
        assert_eq!(place("a/b.xsd").join("../c%20d.xsd").unwrap(), Place::File("a/../c d.xsd".into()));
        let url = place("http://h/a/b.xsd");
        for (location, name) in [
            ("c.xsd", "http://h/a/c.xsd"),
            ("/c", "http://h/c"),
            ("//i/c", "http://i/c"),
            ("?v=2", "http://h/a/b.xsd?v=2"),
        ] {
            assert_eq!(url.join(location).unwrap().name(), name);
        }
        for location in ["file:///etc/passwd", "ftp://h/a"] {
            let allowed = url.join(location).and_then(|place| place.check(&url, &[]));
            let code = allowed.unwrap_err().code();
            assert!(matches!(code, Code::Source | Code::Forbidden), "{location}");
        }
    }

    #[test]
    fn documents_lead_to_their_own_server_and_to_allowed_hosts() {
        let check =
            |text: &str, start: &str| place(text).check(&place(start), &["good".into(), "half:81".into()]).is_ok();
        assert!(check("http://h/x", "http://H:80/y"));
        assert!(check("http://good:99/x", "http://h/y"));
        assert!(check("http://half:81/x", "a.xsd"));
        assert!(check("a.xsd", "b.xsd"));
        for (text, start) in [
            ("https://h/x", "http://h/y"),
            ("http://h:81/x", "http://h/y"),
            ("http://half/x", "http://h/y"),
            ("http://good.evil/x", "http://h/y"),
            ("http://h/x", "b.xsd"),
            ("a.xsd", "http://h/y"),
        ] {
            assert!(!check(text, start), "{text} from {start}");
        }
    }
}
