//! The handshake of a connection, by rustls: bytes in, bytes out, and at its end the keys.

use super::exporter::Exporter;
use super::records::{self, Keys, Opener, Sealer};
use rustls::client::{ClientConfig, UnbufferedClientConnection};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::server::{ServerConfig, UnbufferedServerConnection};
use rustls::unbuffered::{ConnectionState, EncodeError, EncodeTlsData, UnbufferedStatus};
use rustls::{CommonState, Error};
use std::sync::Arc;

/// The label of the bytes that both ends of a connection have in common, and nobody else (`spec/channel.md`, "TLS").
const BINDING: &[u8] = b"EXPORTER-isoform-link";

/// A handshake that is under way.
pub(super) struct Handshake {
    side: Side,
    exporter: Arc<Exporter>,
    /// The number of bytes that rustls has seen and keeps where they lie, since a message goes on behind them.
    seen: usize,
}

enum Side {
    Dialer(UnbufferedClientConnection),
    Acceptor(UnbufferedServerConnection),
}

/// What came of the bytes that arrived.
pub(super) struct Advanced {
    /// The number of bytes that were used.
    pub(super) used: usize,
    /// Bytes for the other side.
    pub(super) out: Vec<u8>,
    /// Whether the handshake is over.
    pub(super) is_done: bool,
    /// Why it has failed. The bytes for the other side are then an alert.
    pub(super) failed: Option<Error>,
}

/// What a handshake results in.
pub(super) struct Done {
    pub(super) sealer: Sealer,
    pub(super) opener: Opener,
    pub(super) keys: Keys,
    pub(super) binding: [u8; 32],
    /// The certificate of the other side, and those that lead to its authority.
    pub(super) chain: Vec<CertificateDer<'static>>,
}

impl Handshake {
    pub(super) fn dial(config: &ClientConfig, to: ServerName<'static>) -> Result<Handshake, Error> {
        let exporter = Arc::<Exporter>::default();
        let mut config = config.clone();
        config.key_log = exporter.clone();
        Ok(Handshake { side: Side::Dialer(UnbufferedClientConnection::new(config.into(), to)?), exporter, seen: 0 })
    }

    pub(super) fn accept(config: &ServerConfig) -> Result<Handshake, Error> {
        let exporter = Arc::<Exporter>::default();
        let mut config = config.clone();
        config.key_log = exporter.clone();
        Ok(Handshake { side: Side::Acceptor(UnbufferedServerConnection::new(config.into())?), exporter, seen: 0 })
    }

    /// Goes on with the bytes that have arrived.
    pub(super) fn advance(&mut self, input: &mut [u8]) -> Advanced {
        let mut advanced = Advanced { used: 0, out: Vec::new(), is_done: false, failed: None };
        let mut end = self.seen;
        loop {
            loop {
                let input = &mut input[advanced.used..end];
                let goes_on = match &mut self.side {
                    Side::Dialer(inner) => advanced.take(inner.process_tls_records(input)),
                    Side::Acceptor(inner) => advanced.take(inner.process_tls_records(input)),
                };
                if !goes_on {
                    break;
                }
            }
            advanced.is_done = advanced.failed.is_none() && !self.state().is_handshaking();
            // Record by record: what comes behind the handshake is not for rustls, which would answer to changes of keys.
            match next_record(&input[end..]) {
                Some(length) if advanced.failed.is_none() && !advanced.is_done => end += length,
                _ => {
                    self.seen = end - advanced.used;
                    return advanced;
                }
            }
        }
    }

    fn state(&self) -> &CommonState {
        match &self.side {
            Side::Dialer(inner) => inner,
            Side::Acceptor(inner) => inner,
        }
    }

    /// The keys, once it is over.
    pub(super) fn finish(self) -> Result<Done, Error> {
        let chain = self.state().peer_certificates().unwrap_or_default().to_vec();
        let (secrets, keys) = match self.side {
            Side::Dialer(inner) => {
                let (secrets, keys) = inner.dangerous_into_kernel_connection()?;
                (secrets, Keys::Dialer(keys))
            }
            Side::Acceptor(inner) => {
                let (secrets, keys) = inner.dangerous_into_kernel_connection()?;
                (secrets, Keys::Acceptor(keys))
            }
        };
        let binding = self.exporter.export(keys.suite()?, BINDING)?;
        let (sealer, opener) = (keys.sealer(secrets.tx)?, keys.opener(secrets.rx)?);
        Ok(Done { sealer, opener, keys, binding, chain })
    }
}

/// The length of the next record, if it is there. Bytes that are no record are for rustls to refuse.
fn next_record(input: &[u8]) -> Option<usize> {
    let is_record = (20..=24).contains(input.first()?);
    match records::length(input) {
        Ok(length) if is_record => length.filter(|&length| length <= input.len()),
        _ => Some(input.len()),
    }
}

impl Advanced {
    /// Does what rustls asks for. Returns whether it may ask for more without further bytes.
    fn take<D>(&mut self, status: UnbufferedStatus<'_, '_, D>) -> bool {
        let UnbufferedStatus { discard, state, .. } = status;
        let goes_on = match state {
            // Behind an alert, nothing more is to be looked at.
            Ok(ConnectionState::EncodeTlsData(data)) => self.encode(data) && self.failed.is_none(),
            Ok(ConnectionState::TransmitTlsData(data)) => {
                data.done();
                true
            }
            Ok(_) => false,
            // Once more, for the alert that tells the other side.
            Err(_) if self.failed.is_some() => false,
            Err(error) => {
                self.failed = Some(error);
                true
            }
        };
        self.used += discard;
        goes_on
    }

    fn encode<D>(&mut self, mut data: EncodeTlsData<'_, D>) -> bool {
        let before = self.out.len();
        let mut room = 4 << 10;
        loop {
            self.out.resize(before + room, 0);
            match data.encode(&mut self.out[before..]) {
                Ok(length) => {
                    self.out.truncate(before + length);
                    return true;
                }
                Err(EncodeError::InsufficientSize(needed)) => room = needed.required_size,
                Err(error) => {
                    self.out.truncate(before);
                    self.failed = Some(Error::General(error.to_string()));
                    return false;
                }
            }
        }
    }
}
