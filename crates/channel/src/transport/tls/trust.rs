//! Which certificates are accepted: whose authority is trusted, which are valid now, and not revoked. Both sides of a
//! connection check the same, in the handshake and as long as the connection stands.

use super::der::Said;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, TrustAnchor, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, PeerMisbehaved, SignatureScheme};
use std::io;
use std::sync::Arc;
use webpki::{
    CertRevocationList, EndEntityCert, ExpirationPolicy, KeyUsage, RevocationCheckDepth, RevocationOptionsBuilder,
    UnknownStatusPolicy,
};

/// The most certificates between that of a node and that of an authority. To look for a way through them takes a time that grows with their
/// number as its factorial does, and whoever connects chooses them.
const BETWEEN: usize = 4;

/// Which certificates are accepted.
#[derive(Debug)]
pub(super) struct Trust {
    pub(super) authorities: Vec<TrustAnchor<'static>>,
    pub(super) revoked: Vec<Arc<CertRevocationList<'static>>>,
    /// If there are any: only certificates with one of these names.
    pub(super) names: Vec<String>,
    pub(super) algorithms: WebPkiSupportedAlgorithms,
}

/// The side of the other node, whose certificate is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    Dialer,
    Acceptor,
}

impl Trust {
    /// Takes over the lists of an earlier state that no other list replaces, since only a list of the same authority, for the same
    /// certificates, says that one is not revoked any more. Returns whether there are such.
    pub(super) fn keep_lists(&mut self, before: &Trust) -> bool {
        let own = self.revoked.len();
        let about = |list: &CertRevocationList<'_>| {
            (list.issuer().to_vec(), list.issuing_distribution_point().map(<[u8]>::to_vec))
        };
        for list in &before.revoked {
            if self.revoked.iter().all(|other| about(other) != about(list)) {
                self.revoked.push(list.clone());
            }
        }
        self.revoked.len() > own
    }

    /// Checks the certificate of the other side.
    pub(super) fn check(
        &self,
        of: Of,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), Error> {
        if intermediates.len() > BETWEEN {
            return Err(too_long(intermediates.len()));
        }
        let certificate = EndEntityCert::try_from(certificate).map_err(refusal)?;
        let usage = if of == Of::Dialer { KeyUsage::client_auth() } else { KeyUsage::server_auth() };
        let lists: Vec<&CertRevocationList<'_>> = self.revoked.iter().map(|list| &**list).collect();
        let revocation = RevocationOptionsBuilder::new(&lists).ok().map(|options| {
            // Nobody could connect any more if a list were not renewed, or if the authority of a certificate had none.
            options
                .with_depth(RevocationCheckDepth::Chain)
                .with_status_policy(UnknownStatusPolicy::Allow)
                .with_expiration_policy(ExpirationPolicy::Ignore)
                .build()
        });
        let (algorithms, anchors) = (self.algorithms.all, &self.authorities);
        certificate
            .verify_for_usage(algorithms, anchors, intermediates, now, usage, revocation, None)
            .map_err(refusal)?;
        self.expect_name(&names(&certificate))
    }

    /// Checks that a certificate has one of the names that are accepted.
    fn expect_name(&self, names: &[String]) -> Result<(), Error> {
        let matches = |pattern: &String| names.iter().any(|name| is_like(name, pattern));
        if self.names.is_empty() || self.names.iter().any(matches) {
            return Ok(());
        }
        Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
    }
}

/// The names in a certificate: its alternative names, else its common name.
pub(super) fn names(certificate: &EndEntityCert<'_>) -> Vec<String> {
    let alternative = certificate.valid_dns_names().chain(certificate.valid_uri_names());
    let names: Vec<String> = alternative.map(str::to_owned).collect();
    if !names.is_empty() {
        return names;
    }
    Said::of(&certificate.der()).and_then(|said| said.common_name()).into_iter().collect()
}

/// Whether a name is the one of a pattern, or below it: `*.cluster.example`.
fn is_like(name: &str, pattern: &str) -> bool {
    match pattern.strip_prefix('*') {
        Some(end) => name.len() > end.len() && name.to_ascii_lowercase().ends_with(&end.to_ascii_lowercase()),
        None => name.eq_ignore_ascii_case(pattern),
    }
}

fn too_long(count: usize) -> Error {
    let error = format!("{count} certificates between it and its authority, where there may be {BETWEEN}");
    Error::InvalidCertificate(CertificateError::Other(rustls::OtherError(Arc::new(io::Error::other(error)))))
}

/// What rustls makes of webpki's errors, so that the other side gets the alert that is meant.
fn refusal(error: webpki::Error) -> Error {
    let error = match error {
        webpki::Error::CertExpired { time, not_after } => CertificateError::ExpiredContext { time, not_after },
        webpki::Error::CertNotValidYet { time, not_before } => {
            CertificateError::NotValidYetContext { time, not_before }
        }
        // The last one: an authority of the same name.
        webpki::Error::UnknownIssuer
        | webpki::Error::CaUsedAsEndEntity
        | webpki::Error::InvalidSignatureForPublicKey => CertificateError::UnknownIssuer,
        webpki::Error::CertRevoked => CertificateError::Revoked,
        webpki::Error::CertNotValidForName(context) => {
            let (expected, presented) = (context.expected, context.presented);
            CertificateError::NotValidForNameContext { expected, presented }
        }
        webpki::Error::RequiredEkuNotFoundContext(_) => CertificateError::InvalidPurpose,
        other => CertificateError::Other(rustls::OtherError(Arc::new(other))),
    };
    Error::InvalidCertificate(error)
}

impl ServerCertVerifier for Trust {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        dialed: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(Of::Acceptor, certificate, intermediates, now)?;
        // A number is no name: members tell each other where they are found, and certificates rarely say that.
        if matches!(dialed, ServerName::DnsName(_)) {
            let certificate = EndEntityCert::try_from(certificate).map_err(refusal)?;
            certificate.verify_is_valid_for_subject_name(dialed).map_err(refusal)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(PeerMisbehaved::SelectedTls12UsingTls13VersionExtension.into())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

impl ClientCertVerifier for Trust {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(Of::Dialer, certificate, intermediates, now)?;
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(PeerMisbehaved::SelectedTls12UsingTls13VersionExtension.into())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_matched_whole_or_below_a_domain() {
        assert!(is_like("a.example", "A.example"));
        assert!(is_like("a.b.example", "*.example"));
        assert!(!is_like(".example", "*.example"));
        assert!(!is_like("b.a.example", "a.example"));
        assert!(!is_like("aexample", "*.example"));
    }
}
