//! TLS of clients: which authorities they trust, and who they are.

use super::{file, pem_fault};
use isoform_core::{Code, Error, Result};
use std::path::Path;
use std::sync::Arc;
use ureq::tls::{Certificate, ClientCert, PemItem, PrivateKey, RootCerts, TlsConfig, parse_pem};

/// Whom a client trusts, and what it shows of itself.
#[derive(Default)]
pub(super) struct Trust {
    /// Those of the system, if there are none.
    authorities: Option<Vec<Certificate<'static>>>,
    identity: Option<ClientCert>,
}

impl Trust {
    pub(super) fn authorities(&mut self, file: &Path) -> Result<()> {
        let (certificates, _) = items(file)?;
        if certificates.is_empty() {
            return Err(unfit(file, "certificates of authorities", &"none"));
        }
        self.authorities = Some(certificates);
        Ok(())
    }

    pub(super) fn identity(&mut self, file: &Path) -> Result<()> {
        let (certificates, key) = items(file)?;
        let (false, Some(key)) = (certificates.is_empty(), key) else {
            return Err(unfit(file, "a certificate and its private key", &"less"));
        };
        self.identity = Some(ClientCert::new_with_certs(&certificates, key));
        Ok(())
    }

    pub(super) fn config(&self) -> TlsConfig {
        let roots = self.authorities.clone().unwrap_or_else(|| {
            let trusted = rustls_native_certs::load_native_certs().certs;
            trusted.iter().map(|certificate| Certificate::from_der(certificate).to_owned()).collect()
        });
        TlsConfig::builder()
            .root_certs(RootCerts::new_with_certs(&roots))
            .client_cert(self.identity.clone())
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .build()
    }
}

/// The certificates and the last private key of a PEM file.
fn items(file: &Path) -> Result<(Vec<Certificate<'static>>, Option<PrivateKey<'static>>)> {
    let text = file::read(file, file::PEM).map_err(|error| unfit(file, "PEM", &error))?;
    let (mut certificates, mut key) = (Vec::new(), None);
    for item in parse_pem(&text) {
        let fault = |error: ureq::Error| match &error {
            ureq::Error::Pem(error) => unfit(file, "PEM", &pem_fault(error)),
            _ => unfit(file, "PEM", &error),
        };
        match item.map_err(fault)? {
            PemItem::Certificate(certificate) => certificates.push(certificate),
            PemItem::PrivateKey(found) => key = Some(found),
            _ => {}
        }
    }
    Ok((certificates, key))
}

fn unfit(file: &Path, what: &str, why: &dyn std::fmt::Display) -> Error {
    Error::new(Code::Io).expected(format_args!("{what} in {}", file.display())).found(why)
}
