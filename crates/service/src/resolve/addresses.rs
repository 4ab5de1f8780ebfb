//! The addresses of servers. Those that are written as numbers need no look-up.

use std::net::{IpAddr, SocketAddr};
use ureq::Error;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

/// Looks up names as ureq does, which starts a thread for each request that has a deadline: several times the cost of the
/// request itself on loopback. A number is its own address.
#[derive(Debug, Default)]
pub(super) struct Addresses(DefaultResolver);

impl Resolver for Addresses {
    fn resolve(&self, uri: &Uri, config: &Config, timeout: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        let Some(address) = written(uri) else { return self.0.resolve(uri, config, timeout) };
        let mut found = self.empty();
        found.push(address);
        Ok(found)
    }
}

/// The address of a URL whose host is a number.
fn written(uri: &Uri) -> Option<SocketAddr> {
    let usual = if uri.scheme_str() == Some("https") { 443 } else { 80 };
    let host: IpAddr = uri.host()?.trim_matches(['[', ']']).parse().ok()?;
    Some(SocketAddr::new(host, uri.port_u16().unwrap_or(usual)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_addresses_and_names_are_looked_up() {
        for (url, address) in [
            ("http://127.0.0.1:7460/formats", Some("127.0.0.1:7460")),
            ("http://[::1]:7460", Some("[::1]:7460")),
            ("https://10.0.0.1/tree", Some("10.0.0.1:443")),
            ("http://10.0.0.1/tree", Some("10.0.0.1:80")),
            ("http://localhost:7460", None),
        ] {
            let expected = address.map(|address| address.parse().unwrap());
            assert_eq!(written(&url.parse().unwrap()), expected, "{url}");
        }
    }
}
