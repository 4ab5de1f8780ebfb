//! Bytes that only the two ends of a connection know: an exporter of TLS 1.3 (RFC 8446, 7.5).
//!
//! rustls exports from connections that it seals and opens itself. From others, it gives out the secret that an export
//! follows from, to whoever may log it: that is this file, which keeps it until the end of the handshake.

use rustls::crypto::tls13::{HkdfExpander, OkmBlock};
use rustls::{Error, KeyLog, Tls13CipherSuite};
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// The name of the secret in logs.
const SECRET: &str = "EXPORTER_SECRET";

/// The secret of one connection, once it is known.
#[derive(Default)]
pub(super) struct Exporter(Mutex<Option<OkmBlock>>);

impl Exporter {
    /// 32 bytes for a label, without a context.
    pub(super) fn export(&self, suite: &Tls13CipherSuite, label: &[u8]) -> Result<[u8; 32], Error> {
        let secret = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let secret = suite.hkdf_provider.expander_for_okm(&secret.ok_or(Error::HandshakeNotComplete)?);
        let nothing = suite.common.hash_provider.hash(&[]);
        let mut derived = [0; OkmBlock::MAX_LEN];
        let derived = &mut derived[..nothing.as_ref().len()];
        expand(&*secret, label, nothing.as_ref(), derived)?;
        let mut exported = [0; 32];
        let derived = suite.hkdf_provider.expander_for_okm(&OkmBlock::new(derived));
        expand(&*derived, b"exporter", nothing.as_ref(), &mut exported)?;
        Ok(exported)
    }
}

/// HKDF-Expand-Label.
fn expand(secret: &dyn HkdfExpander, label: &[u8], context: &[u8], out: &mut [u8]) -> Result<(), Error> {
    const PREFIX: &[u8] = b"tls13 ";
    let (high, low) = ((out.len() >> 8) as u8, out.len() as u8);
    let lengths = [(PREFIX.len() + label.len()) as u8, context.len() as u8];
    let info: [&[u8]; 6] = [&[high, low], &lengths[..1], PREFIX, label, &lengths[1..], context];
    secret.expand_slice(&info, out).map_err(|_| Error::General("an export that is too long".into()))
}

impl KeyLog for Exporter {
    fn log(&self, label: &str, _: &[u8], secret: &[u8]) {
        if label == SECRET && secret.len() <= OkmBlock::MAX_LEN {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(OkmBlock::new(secret));
        }
    }

    fn will_log(&self, label: &str) -> bool {
        label == SECRET
    }
}

impl fmt::Debug for Exporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Exporter")
    }
}
