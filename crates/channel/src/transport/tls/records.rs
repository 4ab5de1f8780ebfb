//! The records of TLS 1.3 behind the handshake: bytes are sealed and opened, each direction with a key of its own.
//!
//! rustls gives out the keys of a finished handshake, and seals and opens single records. So the thread that reads and
//! the thread that writes share no lock, a record is opened where it was received, and the slices of an event are
//! gathered by the sealing itself. `session` decides what goes into records, and `handshake` makes the keys.

use rustls::client::ClientConnectionData;
use rustls::crypto::cipher::{
    InboundOpaqueMessage, MessageDecrypter, MessageEncrypter, OutboundChunks, OutboundPlainMessage,
};
use rustls::kernel::KernelConnection;
use rustls::server::ServerConnectionData;
use rustls::{ConnectionTrafficSecrets, ContentType, Error, ProtocolVersion, SupportedCipherSuite, Tls13CipherSuite};

/// Bytes of the header of a record.
const HEADER: usize = 5;
/// The most plaintext in a record.
pub(super) const PLAIN: usize = 16 << 10;
/// The most bytes that a record has in all.
pub(super) const RECORD: usize = HEADER + PLAIN + 256;

/// The keys of a connection, from which further ones follow.
pub(super) enum Keys {
    Dialer(KernelConnection<ClientConnectionData>),
    Acceptor(KernelConnection<ServerConnectionData>),
}

impl Keys {
    pub(super) fn suite(&self) -> Result<&'static Tls13CipherSuite, Error> {
        let suite = match self {
            Keys::Dialer(keys) => keys.negotiated_cipher_suite(),
            Keys::Acceptor(keys) => keys.negotiated_cipher_suite(),
        };
        match suite {
            SupportedCipherSuite::Tls13(suite) => Ok(suite),
            #[allow(unreachable_patterns, reason = "another crate may enable TLS 1.2 of rustls")]
            _ => Err(Error::HandshakeNotComplete),
        }
    }

    /// What seals with these secrets.
    pub(super) fn sealer(&self, secrets: (u64, ConnectionTrafficSecrets)) -> Result<Sealer, Error> {
        let (suite, (sequence, secrets)) = (self.suite()?, secrets);
        let (key, iv) = parts(secrets)?;
        let inner = suite.aead_alg.encrypter(key, iv);
        Ok(Sealer { inner, sequence, limit: suite.common.confidentiality_limit })
    }

    /// What opens with these secrets.
    pub(super) fn opener(&self, secrets: (u64, ConnectionTrafficSecrets)) -> Result<Opener, Error> {
        let (suite, (sequence, secrets)) = (self.suite()?, secrets);
        let (key, iv) = parts(secrets)?;
        Ok(Opener { inner: suite.aead_alg.decrypter(key, iv), sequence })
    }

    /// What seals behind a change of keys.
    pub(super) fn next_sealer(&mut self) -> Result<Sealer, Error> {
        let secrets = match self {
            Keys::Dialer(keys) => keys.update_tx_secret(),
            Keys::Acceptor(keys) => keys.update_tx_secret(),
        };
        self.sealer(secrets?)
    }

    /// What opens behind a change of keys.
    pub(super) fn next_opener(&mut self) -> Result<Opener, Error> {
        let secrets = match self {
            Keys::Dialer(keys) => keys.update_rx_secret(),
            Keys::Acceptor(keys) => keys.update_rx_secret(),
        };
        self.opener(secrets?)
    }
}

fn parts(
    secrets: ConnectionTrafficSecrets,
) -> Result<(rustls::crypto::cipher::AeadKey, rustls::crypto::cipher::Iv), Error> {
    match secrets {
        ConnectionTrafficSecrets::Aes128Gcm { key, iv }
        | ConnectionTrafficSecrets::Aes256Gcm { key, iv }
        | ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } => Ok((key, iv)),
        _ => Err(Error::General("a cipher that is not known here".into())),
    }
}

/// Seals records.
pub(super) struct Sealer {
    inner: Box<dyn MessageEncrypter>,
    sequence: u64,
    /// The number of records for which a key is safe.
    limit: u64,
}

impl Sealer {
    /// The next record: the bytes in these places, at most [`PLAIN`] of them.
    pub(super) fn seal(&mut self, kind: ContentType, places: &[&[u8]]) -> Result<Vec<u8>, Error> {
        let payload = OutboundChunks::new(places);
        let message = OutboundPlainMessage { typ: kind, version: ProtocolVersion::TLSv1_3, payload };
        let record = self.inner.encrypt(message, self.sequence)?.encode();
        self.sequence += 1;
        Ok(record)
    }

    /// Whether the key must be changed before the next record.
    pub(super) fn is_spent(&self) -> bool {
        // One more record is needed to say so.
        self.sequence.saturating_add(1) >= self.limit
    }

    /// As if the key were good for this many records only.
    #[cfg(test)]
    pub(super) fn limit(&mut self, records: u64) {
        self.limit = records;
    }
}

/// Opens records.
pub(super) struct Opener {
    inner: Box<dyn MessageDecrypter>,
    sequence: u64,
}

impl Opener {
    /// Opens a whole record where it lies. Returns its kind, and the number of its bytes, which then begin behind the
    /// header.
    pub(super) fn open(&mut self, record: &mut [u8]) -> Result<(ContentType, usize), Error> {
        let kind = ContentType::from(record[0]);
        let message = InboundOpaqueMessage::new(kind, ProtocolVersion::TLSv1_2, &mut record[HEADER..]);
        if kind != ContentType::ApplicationData {
            return Err(Error::DecryptError);
        }
        let plain = self.inner.decrypt(message, self.sequence)?;
        self.sequence += 1;
        Ok((plain.typ, plain.payload.len()))
    }
}

/// The length of the record at the start of these bytes, if that much can be seen.
///
/// # Errors
/// If no record is so long.
pub(super) fn length(bytes: &[u8]) -> Result<Option<usize>, Error> {
    let Some(&[_, _, _, high, low]) = bytes.first_chunk::<HEADER>() else { return Ok(None) };
    let length = HEADER + usize::from(u16::from_be_bytes([high, low]));
    if length > RECORD { Err(Error::PeerSentOversizedRecord) } else { Ok(Some(length)) }
}

/// Where the bytes of an opened record begin.
pub(super) const WITHIN: usize = HEADER;
