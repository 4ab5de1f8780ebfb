//! Locators that came with a message, where the program allows their hosts (`spec/service.md`, "Where clients look").

use super::servers::Servers;
use isoform_core::message::Locators;
use isoform_core::{Code, Error, Result, Token};
use ureq::http::Uri;

/// The hosts that a program allows.
#[derive(Debug, Default)]
pub(super) struct Near {
    hosts: Vec<Host>,
}

/// A host as in a URL, in small letters, and its port; all ports if there is none.
#[derive(Debug, PartialEq, Eq)]
struct Host {
    name: Box<str>,
    port: Option<u16>,
}

impl Near {
    /// Allows a host: `sim7`, `sim7:7460`, `192.0.2.7`, `[2001:db8::7]:7460`.
    pub(super) fn allow(&mut self, text: &str) -> Result<()> {
        self.hosts.push(Host::parse(text)?);
        Ok(())
    }

    /// The description from one of the locators. `None` if none of them is allowed.
    pub(super) fn look(&self, token: Token, locators: &Locators) -> Option<Result<Vec<u8>>> {
        let urls: Vec<&str> = locators.urls().filter(|url| self.is_allowed(url)).collect();
        if urls.is_empty() {
            return None;
        }
        // A client of its own: it has no secret and no certificate that a stranger's server could be shown.
        Some(Servers::new(urls).and_then(|servers| isoform_core::Resolver::resolve(&servers, token)))
    }

    fn is_allowed(&self, url: &str) -> bool {
        let Ok(uri) = url.parse::<Uri>() else { return false };
        let Some(name) = uri.host() else { return false };
        let usual = if uri.scheme_str() == Some("https") { 443 } else { 80 };
        let port = uri.port_u16().unwrap_or(usual);
        let name = name.to_ascii_lowercase();
        self.hosts.iter().any(|host| *host.name == *name && host.port.is_none_or(|allowed| allowed == port))
    }
}

impl Host {
    fn parse(text: &str) -> Result<Host> {
        let unfit = || {
            let error = Error::new(Code::Address).expected("a host, or a host and a port, such as sim7:7460");
            error.found(format_args!("{text:?}"))
        };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._[]:".contains(c);
        let authority: ureq::http::uri::Authority = text.parse().map_err(|_| unfit())?;
        let port = authority.port_u16();
        // A port that is none would allow all ports.
        let is_whole = port.is_some() || authority.as_str() == authority.host();
        match text.chars().all(is_plain) && is_whole && !authority.host().is_empty() {
            true => Ok(Host { name: authority.host().to_ascii_lowercase().into(), port }),
            false => Err(unfit()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(hosts: &[&str]) -> Near {
        let mut near = Near::default();
        hosts.iter().for_each(|host| near.allow(host).unwrap());
        near
    }

    #[test]
    fn only_hosts_as_they_are_written() {
        let allowed = near(&["Sim7", "half:81", "[::1]:82", "192.0.2.7"]);
        for url in [
            "http://sim7",
            "http://SIM7:99/x",
            "https://sim7",
            "http://half:81",
            "http://[::1]:82",
            "http://192.0.2.7:1",
        ] {
            assert!(allowed.is_allowed(url), "{url}");
        }
        for url in [
            "http://sim7.evil",
            "http://evil/sim7",
            "http://evil:80/@sim7",
            "http://sim7@evil",
            "http://half",
            "http://half:810",
            "https://half",
            "http://[::1]",
            "http://[::2]:82",
            "http://192.0.2.70",
            "http://192.0.2.7.evil",
            "http://3221225991",
            "http://sim7.",
        ] {
            assert!(!allowed.is_allowed(url), "{url}");
        }
        assert!(!near(&[]).is_allowed("http://sim7"));
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for text in ["", "http://sim7", "sim7/x", "user@sim7", "sim7:port", "sim7:99999", "a b", "*", ":80", "::1"] {
            assert_eq!(Host::parse(text).unwrap_err().code(), Code::Address, "{text}");
        }
    }
}
