//! The certificates of a node, from files that are read again when they change.

use super::der::{Said, common_name, date};
use super::session::Session;
use super::trust::{Trust, names};
use super::words::unusable;
use crate::transport::address::Address;
use crate::transport::system;
use isoform::{Code, Error, Result};
use rustls::client::{ClientConfig, Resumption};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer, UnixTime};
use rustls::server::{NoServerSessionStorage, ServerConfig};
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant, SystemTime};

/// The shortest interval between two looks at the files.
const LOOK: Duration = Duration::from_millis(900);
/// The name of the protocol, for those who look at connections without their keys.
const PROTOCOL: &[u8] = b"isoform-link";
/// The most bytes of a file: certificates, a key, or lists of what is revoked.
const MOST: u64 = 64 << 20;

/// The certificate of a node, and the authorities that it trusts, for connections beyond this machine: see
/// [`NodeBuilder::tls`](crate::NodeBuilder::tls).
///
/// All are files in the PEM format. A node reads them again when they change: so certificates are renewed, and revoked,
/// without a restart.
///
/// ```
/// use isoform_channel::Tls;
/// // What `isoform keys issue` makes: a certificate, its key and the authority, in one file.
/// let issued = Tls::new().certificate("/etc/isoform/identity.pem");
/// // The certificates of an organisation.
/// let existing = Tls::new()
///     .certificate("/etc/pki/host.crt")
///     .key("/etc/pki/host.key")
///     .trust("/etc/pki/authority.crt")
///     .revoked("/etc/pki/authority.crl")
///     .name("*.cluster.example");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    certificate: PathBuf,
    key: Option<PathBuf>,
    trust: Vec<PathBuf>,
    trusts_platform: bool,
    revoked: Vec<PathBuf>,
    names: Vec<String>,
    covers_loopback: bool,
}

impl Tls {
    /// Nothing yet: [`certificate`](Tls::certificate) is needed.
    pub fn new() -> Tls {
        Tls::default()
    }

    /// The file with this node's certificate, followed by those that lead to its authority. It may also have the key and
    /// the authority's own certificate, as the files of `isoform keys issue` do.
    pub fn certificate(mut self, file: impl Into<PathBuf>) -> Tls {
        self.certificate = file.into();
        self
    }

    /// The file with the private key, if it is another one.
    pub fn key(mut self, file: impl Into<PathBuf>) -> Tls {
        self.key = Some(file.into());
        self
    }

    /// A file with certificates of authorities. Other nodes must have a certificate by one of them. Without any, those
    /// authorities are trusted whose certificates are in this node's own file.
    pub fn trust(mut self, file: impl Into<PathBuf>) -> Tls {
        self.trust.push(file.into());
        self
    }

    /// Trusts the authorities that this machine trusts. As these give certificates to anybody, this needs a
    /// [name](Tls::name).
    pub fn trust_platform(mut self) -> Tls {
        self.trusts_platform = true;
        self
    }

    /// A file with revocation lists (CRLs) of the authorities.
    pub fn revoked(mut self, file: impl Into<PathBuf>) -> Tls {
        self.revoked.push(file.into());
        self
    }

    /// Accepts only certificates with this name, or one below it: `*.cluster.example`. Can be repeated.
    pub fn name(mut self, name: impl Into<String>) -> Tls {
        self.names.push(name.into());
        self
    }

    /// Speaks TLS also on TCP within this machine, where others must then do so too. By default it is for other machines.
    pub fn loopback(self) -> Tls {
        self.covering_loopback(true)
    }

    pub(crate) fn covering_loopback(mut self, yes: bool) -> Tls {
        self.covers_loopback = yes;
        self
    }

    /// What the certificate says, and which authorities are trusted, as lines of text.
    ///
    /// # Errors
    /// Why a node could not use it.
    pub fn describe(&self) -> Result<String> {
        let current = self.load(None)?;
        let chain: Vec<CertificateDer<'static>> = all(&read(&self.certificate)?, &self.certificate)?;
        let first = chain.first().ok_or_else(|| lacks(&self.certificate, "a certificate"))?;
        let certificate = webpki::EndEntityCert::try_from(first)
            .map_err(|error| unusable(format_args!("a certificate in {}", self.certificate.display()), error))?;
        let until = date(current.not_after);
        let state = if current.not_after < UnixTime::now().as_secs() { "expired on" } else { "valid until" };
        let mut lines = vec![format!("certificate of {}, {state} {until}", names(&certificate).join(", "))];
        for authority in &current.trust.authorities {
            let name = common_name(&authority.subject).unwrap_or_else(|| "an authority without a name".into());
            lines.push(format!("trusts {name}"));
        }
        Ok(lines.join("\n"))
    }

    /// The files in a folder of `isoform keys`.
    pub(crate) fn within(folder: &Path) -> Tls {
        Tls::new().certificate(folder.join("identity.pem")).revoked(folder.join("revoked.pem"))
    }

    fn files(&self) -> impl Iterator<Item = &Path> {
        let all = [&self.certificate].into_iter().chain(&self.key).chain(&self.trust).chain(&self.revoked);
        all.map(PathBuf::as_path)
    }
}

/// The certificates as they are, and the connections that stand on them.
#[derive(Debug)]
pub(crate) struct Certificates {
    tls: Tls,
    read: Mutex<Read>,
    standing: Mutex<Vec<Weak<Session>>>,
    /// Whether there was a certificate at some time.
    was_there: AtomicBool,
}

#[derive(Debug, Default)]
struct Read {
    looked: Option<Instant>,
    /// The files as they were when they were read last, and at the last look.
    stamps: Vec<Stamp>,
    seen: Vec<Stamp>,
    current: Option<Arc<Current>>,
    /// Why they could not be read last, or not all of them, and whether that was told.
    trouble: Option<(Error, bool)>,
}

/// The state of a file, which differs once its content does.
type Stamp = Option<(SystemTime, u64, u64)>;

/// What one reading of the files has resulted in.
#[derive(Debug)]
pub(super) struct Current {
    /// How many times the files had been read.
    pub(super) number: u64,
    pub(super) dialer: Arc<ClientConfig>,
    pub(super) acceptor: Arc<ServerConfig>,
    pub(super) trust: Arc<Trust>,
    not_before: u64,
    not_after: u64,
    /// What is missing in the files that was there before, and goes on.
    trouble: Option<Error>,
}

impl Certificates {
    pub(crate) fn new(tls: Tls) -> Certificates {
        Certificates { tls, read: Mutex::default(), standing: Mutex::default(), was_there: AtomicBool::new(false) }
    }

    /// Whether TLS is spoken at an address.
    pub(super) fn cover(&self, address: &Address) -> bool {
        (self.tls.covers_loopback || !address.is_local()) && self.exist()
    }

    /// Whether there is a certificate, or was one: a node that has spoken TLS does not do without because its file is gone,
    /// perhaps for a moment only.
    pub(crate) fn exist(&self) -> bool {
        if !self.was_there.load(Ordering::Relaxed) && self.tls.certificate.exists() {
            self.was_there.store(true, Ordering::Relaxed);
        }
        self.was_there.load(Ordering::Relaxed)
    }

    /// What errors call them.
    pub(super) fn described(&self) -> String {
        let file = self.tls.trust.first().unwrap_or(&self.tls.certificate);
        file.display().to_string()
    }

    /// The certificates. They are read again if the files have changed, which is noticed within a second. A file that is written
    /// in its place is read once it has not changed for a second.
    ///
    /// # Errors
    /// Why they cannot be used. What was read before goes on, since a file may be written at this moment.
    pub(super) fn current(&self) -> Result<Arc<Current>> {
        let mut read = self.read();
        if let (Some(looked), Some(current)) = (read.looked, &read.current)
            && looked.elapsed() < LOOK
        {
            return Ok(current.clone());
        }
        let stamps: Vec<Stamp> = self.tls.files().map(stamp).collect();
        read.looked = Some(Instant::now());
        if let Some(current) = read.current.as_ref().filter(|_| stamps == read.stamps) {
            return Ok(current.clone());
        }
        let before = std::mem::replace(&mut read.seen, stamps.clone());
        let is_at_rest = |at: usize| !is_rewritten(stamps[at], read.stamps[at]) || before.get(at) == Some(&stamps[at]);
        if let Some(current) = read.current.as_ref().filter(|_| !(0..stamps.len()).all(is_at_rest)) {
            return Ok(current.clone());
        }
        let loaded = self.tls.load(read.current.as_deref());
        let trouble = match &loaded {
            Ok(current) => current.trouble.clone(),
            Err(error) => read.current.is_some().then(|| error.clone()),
        };
        let is_told = |error: &Error| matches!(&read.trouble, Some((before, true)) if before == error);
        read.trouble = trouble.map(|error| (error.clone(), is_told(&error)));
        match (loaded, &read.current) {
            (Ok(current), _) => {
                let current = Arc::new(current);
                (read.stamps, read.current) = (stamps, Some(current.clone()));
                Ok(current)
            }
            (Err(_), Some(current)) => Ok(current.clone()),
            (Err(error), None) => Err(error),
        }
    }

    /// Looks at the files, and ends connections whose other side would not be accepted any more at this time.
    ///
    /// # Errors
    /// Why the files could not be read when they changed, once.
    pub(super) fn look_after(&self, now: UnixTime) -> Result<()> {
        self.check_standing(now);
        match &mut self.read().trouble {
            Some((error, is_told @ false)) => {
                *is_told = true;
                Err(error.clone())
            }
            _ => Ok(()),
        }
    }

    /// The same, for a node that would be refused with a certificate that is not valid now.
    pub(super) fn valid(&self) -> Result<Arc<Current>> {
        let (current, now) = (self.current()?, UnixTime::now().as_secs());
        let file = self.tls.certificate.display();
        if now > current.not_after {
            let expected = format_args!("a valid certificate in {file} (isoform keys issue makes one)");
            let found = format_args!("one that expired on {}; here it is {}", date(current.not_after), date(now));
            return Err(unusable(expected, found));
        }
        if now < current.not_before {
            let expected = format_args!("a valid certificate in {file} (is this machine's clock slow?)");
            let found = format_args!("one that is valid from {}; here it is {}", date(current.not_before), date(now));
            return Err(unusable(expected, found));
        }
        Ok(current)
    }

    /// A connection stands on them from now on.
    pub(super) fn watch(&self, session: &Arc<Session>) {
        self.standing().push(Arc::downgrade(session));
    }

    /// Looks at the files, and ends connections whose other side would not be accepted any more at this time.
    pub(super) fn check_standing(&self, now: UnixTime) {
        let mut sessions = Vec::new();
        self.standing().retain(|session| session.upgrade().map(|session| sessions.push(session)).is_some());
        if sessions.is_empty() && self.read().current.is_none() {
            return;
        }
        if let Ok(current) = self.current() {
            sessions.iter().for_each(|session| session.check_again(&current, now));
        }
    }

    /// As if the files had not been looked at for long.
    #[cfg(test)]
    pub(super) fn forget_look(&self) {
        self.read().looked = None;
    }

    fn read(&self) -> MutexGuard<'_, Read> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn standing(&self) -> MutexGuard<'_, Vec<Weak<Session>>> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a file has changed in its place: somebody may be writing it. One that replaces another is whole.
fn is_rewritten(now: Stamp, before: Stamp) -> bool {
    now != before && matches!((now, before), (Some((.., now)), Some((.., before))) if now == before)
}

fn stamp(file: &Path) -> Stamp {
    let data = fs::metadata(file).ok()?;
    Some((data.modified().ok()?, data.len(), system::number(&data)))
}

impl Tls {
    /// Reads the files, after they were read before.
    fn load(&self, before: Option<&Current>) -> Result<Current> {
        let own = read(&self.certificate)?;
        let mut chain: Vec<CertificateDer<'static>> = all(&own, &self.certificate)?;
        let first = chain.first().ok_or_else(|| lacks(&self.certificate, "a certificate"))?;
        let said = Said::of(first).ok_or_else(|| lacks(&self.certificate, "a certificate that can be read"))?;
        let (not_before, not_after) = (said.not_before, said.not_after);
        let key = match &self.key {
            Some(file) => PrivateKeyDer::from_pem_slice(&read(file)?).map_err(|_| lacks(file, "a private key"))?,
            None => PrivateKeyDer::from_pem_slice(&own).map_err(|_| lacks(&self.certificate, "a private key"))?,
        };
        // An authority is known to those who trust it, and needs not be shown.
        let (authorities, others): (Vec<_>, Vec<_>) = chain.split_off(1).into_iter().partition(is_authority);
        chain.extend(others);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut trust = self.load_trust(authorities, &provider)?;
        let trouble = before.is_some_and(|before| trust.keep_lists(&before.trust)).then(|| {
            let files: Vec<String> = self.revoked.iter().map(|file| file.display().to_string()).collect();
            let expected = format_args!("in {} a newer list in place of each that was there", files.join(", "));
            unusable(expected, "fewer lists; the old ones go on")
        });
        let trust = Arc::new(trust);
        let mismatch =
            |error| unusable(format_args!("a certificate and its key in {}", self.certificate.display()), error);
        let dialer = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(mismatch)?
            .dangerous()
            .with_custom_certificate_verifier(trust.clone())
            .with_client_auth_cert(chain.clone(), key.clone_key());
        let mut dialer: ClientConfig = dialer.map_err(mismatch)?;
        let acceptor = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(mismatch)?
            .with_client_cert_verifier(trust.clone())
            .with_single_cert(chain, key);
        let mut acceptor: ServerConfig = acceptor.map_err(mismatch)?;
        // Every connection proves anew who is at its ends.
        dialer.resumption = Resumption::disabled();
        acceptor.session_storage = Arc::new(NoServerSessionStorage {});
        acceptor.send_tls13_tickets = 0;
        (dialer.enable_secret_extraction, acceptor.enable_secret_extraction) = (true, true);
        (dialer.alpn_protocols, acceptor.alpn_protocols) = (vec![PROTOCOL.into()], vec![PROTOCOL.into()]);
        let number = before.map_or(1, |before| before.number + 1);
        let (dialer, acceptor) = (dialer.into(), acceptor.into());
        Ok(Current { number, dialer, acceptor, trust, not_before, not_after, trouble })
    }

    fn load_trust(&self, own: Vec<CertificateDer<'static>>, provider: &CryptoProvider) -> Result<Trust> {
        if self.trusts_platform && self.names.is_empty() {
            let expected = "a name that certificates must have, since the authorities that this machine trusts give \
                            certificates to anybody";
            return Err(unusable(expected, "none"));
        }
        let mut certificates = if self.trust.is_empty() && !self.trusts_platform { own } else { Vec::new() };
        for file in &self.trust {
            certificates.extend(all::<CertificateDer<'static>>(&read(file)?, file)?);
        }
        if self.trusts_platform {
            certificates.extend(rustls_native_certs::load_native_certs().certs);
        }
        let anchors = certificates.iter().filter_map(|certificate| webpki::anchor_from_trusted_cert(certificate).ok());
        let authorities: Vec<_> = anchors.map(|anchor| anchor.to_owned()).collect();
        if authorities.is_empty() {
            let file = self.trust.first().unwrap_or(&self.certificate);
            return Err(lacks(file, "the certificate of an authority to trust"));
        }
        let mut revoked = Vec::new();
        for file in &self.revoked {
            // Nothing may be revoked yet. But a list that is there and cannot be read may revoke anybody.
            if fs::metadata(file).is_err_and(|error| error.kind() == ErrorKind::NotFound) {
                continue;
            }
            let lists: Vec<CertificateRevocationListDer<'static>> = all(&read(file)?, file)?;
            let unreadable = || lacks(file, "a revocation list (CRL) that can be read");
            // As little as a file that is about to be written.
            if lists.is_empty() {
                return Err(unreadable());
            }
            for list in lists {
                let list = webpki::OwnedCertRevocationList::from_der(&list);
                revoked.push(Arc::new(list.map_err(|_| unreadable())?.into()));
            }
        }
        let algorithms = provider.signature_verification_algorithms;
        Ok(Trust { authorities, revoked, names: self.names.clone(), algorithms })
    }
}

/// Whether a certificate is that of an authority, signed by itself, in the file of one that it has issued.
fn is_authority(certificate: &CertificateDer<'_>) -> bool {
    Said::of(certificate).is_some_and(|said| said.issuer == said.subject)
}

fn read(file: &Path) -> Result<Vec<u8>> {
    let failed = |error: io::Error| Error::new(Code::Io).at("tls").found(format_args!("{}: {error}", file.display()));
    let opened = system::to_read().open(file).map_err(failed)?;
    if !opened.metadata().map_err(failed)?.is_file() {
        // A pipe would let the node wait.
        return Err(failed(io::Error::other("this is no file")));
    }
    let mut bytes = Vec::new();
    opened.take(MOST).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 == MOST {
        return Err(failed(io::Error::other("this is too long")));
    }
    Ok(bytes)
}

fn all<T: PemObject>(bytes: &[u8], file: &Path) -> Result<Vec<T>> {
    let read: std::result::Result<Vec<T>, _> = T::pem_slice_iter(bytes).collect();
    // The reason quotes lines of the file, which may be those of a private key.
    read.map_err(|_| unusable(format_args!("PEM in {}", file.display()), "something else"))
}

fn lacks(file: &Path, what: &str) -> Error {
    unusable(format_args!("{what} in {}", file.display()), "none")
}

/// The files among these that cannot be read: for a node whose settings name files, which is told at once.
pub(crate) fn check(tls: &Tls) -> Result<()> {
    if tls.certificate.as_os_str().is_empty() {
        return Err(unusable("a file with a certificate (isoform keys init makes one)", "none"));
    }
    let files: BTreeSet<&Path> =
        [&tls.certificate].into_iter().chain(&tls.key).chain(&tls.trust).map(|it| &**it).collect();
    files.into_iter().try_for_each(|file| read(file).map(|_| ()))?;
    tls.load(None).map(|_| ())
}
