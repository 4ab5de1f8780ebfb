//! Errors of TLS, in words that tell the user what to do.

use super::certificates::Certificates;
use super::der::date;
use isoform::{Code, Error};
use rustls::{AlertDescription, CertificateError};
use std::fmt::Display;

/// A failed handshake, or a record that cannot be read.
pub(super) fn explain(peer: &str, error: &rustls::Error, certificates: &Certificates) -> Error {
    match error {
        rustls::Error::InvalidCertificate(error) => untrusted(peer, error, certificates),
        rustls::Error::NoCertificatesPresented => {
            refused("a certificate, as both sides show one").found(format_args!("{peer} shows none"))
        }
        rustls::Error::AlertReceived(alert) => alerted(peer, *alert),
        rustls::Error::DecryptError | rustls::Error::PeerSentOversizedRecord => Error::new(Code::Io)
            .at("tls")
            .found(format_args!("bytes from {peer} that are no record of this connection")),
        other => failed("a TLS handshake").found(format_args!("{peer}: {other}")),
    }
}

/// The certificate of the other side is not accepted.
fn untrusted(peer: &str, error: &CertificateError, certificates: &Certificates) -> Error {
    match error {
        CertificateError::ExpiredContext { time, not_after } => {
            let (time, not_after) = (date(time.as_secs()), date(not_after.as_secs()));
            refused("a certificate that has not expired (issue a new one, or set this machine's clock)")
                .found(format_args!("that of {peer}, which expired on {not_after}; here it is {time}"))
        }
        CertificateError::NotValidYetContext { time, not_before } => {
            let (time, not_before) = (date(time.as_secs()), date(not_before.as_secs()));
            refused("a certificate that is valid already (is this machine's clock slow?)")
                .found(format_args!("that of {peer}, valid from {not_before}; here it is {time}"))
        }
        CertificateError::UnknownIssuer => refused(format_args!(
            "a certificate by an authority that {} trusts (`isoform keys show`)",
            certificates.described()
        ))
        .found(format_args!(
            "that of {peer}, by another authority (issue the certificates of all hosts on one of them)"
        )),
        CertificateError::Revoked => {
            refused("a certificate that is not revoked").found(format_args!("that of {peer}, which is revoked"))
        }
        CertificateError::NotValidForNameContext { expected, presented } => {
            refused(format_args!("a certificate for {}, which was dialed", expected.to_str()))
                .found(format_args!("that of {peer}, for {}", list(presented)))
        }
        CertificateError::ApplicationVerificationFailure => {
            refused("a certificate with one of the names that this node accepts")
                .found(format_args!("that of {peer}, with other names"))
        }
        CertificateError::InvalidPurpose => refused("a certificate for this use (client and server authentication)")
            .found(format_args!("that of {peer}, for other uses")),
        other => refused("a certificate that can be checked").found(format_args!("that of {peer}: {other}")),
    }
}

/// `DnsName("a")`, as webpki presents a name, without its kind.
fn list(presented: &[String]) -> String {
    let bare = |name: &String| name.split('"').nth(1).unwrap_or(name).to_owned();
    match presented {
        [] => "no name".into(),
        names => names.iter().map(bare).collect::<Vec<_>>().join(", "),
    }
}

/// The other side does not go on, and says why.
fn alerted(peer: &str, alert: AlertDescription) -> Error {
    if alert == AlertDescription::InternalError {
        // Nodes say so before a handshake, and at no other time.
        return Error::new(Code::Peers).at("tls").expected(format_args!("room at {peer}")).found("none, as it says");
    }
    let why = match alert {
        AlertDescription::CertificateExpired => "this node's certificate has expired, or a clock is wrong".to_owned(),
        AlertDescription::CertificateRevoked => "this node's certificate is revoked".into(),
        AlertDescription::UnknownCA => "this node's certificate is by an authority that it does not trust".into(),
        AlertDescription::CertificateRequired => "it demands a certificate, and got none".into(),
        AlertDescription::BadCertificate
        | AlertDescription::CertificateUnknown
        | AlertDescription::AccessDenied
        | AlertDescription::UnsupportedCertificate => "it does not accept this node's certificate".into(),
        other => format!("{other:?}"),
    };
    failed(format_args!("that {peer} accepts this node")).found(format_args!("its refusal: {why}"))
}

/// This node demands TLS, and the dialer does not speak it.
pub(super) fn plain_dialer(peer: &str) -> Error {
    failed("TLS, as it comes from beyond this machine").found(format_args!("{peer}, which speaks without TLS"))
}

/// This node speaks TLS, and the one that it dialed does not.
pub(super) fn plain_acceptor(peer: &str) -> Error {
    failed("TLS, as it is beyond this machine").found(format_args!(
        "{peer}, which speaks without TLS: give it a certificate (isoform keys issue), or use `insecure` on both sides"
    ))
}

/// The other side ended the connection before the handshake was over.
pub(super) fn silent(peer: &str) -> Error {
    let found = format_args!("{peer}, which ended the connection without a word; does it speak TLS?");
    failed("a TLS handshake").found(found)
}

/// A certificate is missing or of no use, on this side.
pub(super) fn unusable(expected: impl Display, found: impl Display) -> Error {
    refused(expected).found(found)
}

fn refused(expected: impl Display) -> Error {
    Error::new(Code::Handshake).at("tls").expected(expected)
}

fn failed(expected: impl Display) -> Error {
    Error::new(Code::Handshake).at("tls").expected(expected)
}
