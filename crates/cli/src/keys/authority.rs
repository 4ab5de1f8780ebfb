//! Makes certificates: those of an authority, those that it issues, and the list of those that it revokes.

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DnType, Error, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams, SerialNumber,
};
use std::time::{Duration, SystemTime};

const DAY: Duration = Duration::from_secs(86_400);
/// The years for which an authority is valid.
const YEARS: u32 = 20;

/// An authority: its name, its key, and its certificate.
pub(super) struct Authority {
    name: String,
    key: KeyPair,
    certificate: String,
}

/// The line of its file that has the name.
const NAME: &str = "# authority: ";

impl Authority {
    /// Makes an authority. Its name is that of the host where it is, and a number, as there may be several.
    pub(super) fn new(host: &str) -> Result<Authority, Error> {
        let key = KeyPair::generate()?;
        let name = format!("Isoform {host} {}", &serial(&KeyPair::generate()?)[..8]);
        let mut params = described(&name);
        let now = SystemTime::now();
        (params.not_before, params.not_after) = ((now - DAY).into(), (now + DAY * (365 * YEARS)).into());
        let certificate = params.self_signed(&key)?.pem();
        Ok(Authority { name, key, certificate })
    }

    pub(super) fn to_pem(&self) -> String {
        format!("{NAME}{}\n{}{}", self.name, self.certificate, self.key.serialize_pem())
    }

    pub(super) fn from_pem(text: &str) -> Result<Authority, Error> {
        let name = text.lines().find_map(|line| line.strip_prefix(NAME)).ok_or(Error::CouldNotParseCertificate)?;
        let part = |kind: &str| {
            let (begin, end) = (format!("-----BEGIN {kind}-----"), format!("-----END {kind}-----"));
            let from = text.find(&begin)?;
            let to = from + text[from..].find(&end)? + end.len();
            Some(format!("{}\n", &text[from..to]))
        };
        let key = KeyPair::from_pem(&part("PRIVATE KEY").ok_or(Error::CouldNotParseKeyPair)?)?;
        let certificate = part("CERTIFICATE").ok_or(Error::CouldNotParseCertificate)?;
        Ok(Authority { name: name.to_owned(), key, certificate })
    }

    fn issuer(&self) -> Issuer<'static, &KeyPair> {
        Issuer::new(described(&self.name), &self.key)
    }

    /// Makes a certificate. Returns its number, and the text of its file: certificate, key, authority.
    pub(super) fn issue(&self, name: &str, hosts: &[String], days: u32) -> Result<(String, String), Error> {
        let mut names = vec![name.to_owned()];
        names.extend(hosts.iter().filter(|host| *host != name).cloned());
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth, ExtendedKeyUsagePurpose::ServerAuth];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = true;
        let now = SystemTime::now();
        (params.not_before, params.not_after) = ((now - DAY).into(), (now + DAY * days).into());
        let key = KeyPair::generate()?;
        let serial = serial(&key);
        params.serial_number = Some(number(&serial)?);
        let certificate = params.signed_by(&key, &self.issuer())?;
        Ok((serial, certificate.pem() + &key.serialize_pem() + &self.certificate))
    }

    /// The list of these numbers.
    pub(super) fn revoke(&self, serials: &[&str]) -> Result<String, Error> {
        let now = SystemTime::now();
        let one = |serial: &&str| {
            Ok(RevokedCertParams {
                serial_number: number(serial)?,
                revocation_time: now.into(),
                reason_code: None,
                invalidity_date: None,
            })
        };
        let seconds = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        let list = CertificateRevocationListParams {
            this_update: now.into(),
            next_update: (now + DAY * (365 * YEARS)).into(),
            crl_number: SerialNumber::from(seconds),
            issuing_distribution_point: None,
            revoked_certs: serials.iter().map(one).collect::<Result<_, Error>>()?,
            key_identifier_method: KeyIdMethod::Sha256,
        };
        list.signed_by(&self.issuer())?.pem()
    }
}

/// What the certificate of an authority says of it.
fn described(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

/// A number for the certificate of a key, which no other has: from the key, which is random.
fn serial(key: &KeyPair) -> String {
    // A point of the curve: its first byte says how it is written. A number is positive, and does not begin with zero.
    let point = key.public_key_raw();
    let digits: String = point[1..16].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("1{digits}")
}

fn number(serial: &str) -> Result<SerialNumber, Error> {
    let padded = format!("{serial:0>32}");
    let bytes = (0..16).map(|at| u8::from_str_radix(&padded[2 * at..2 * at + 2], 16));
    let bytes: Result<Vec<u8>, _> = bytes.collect();
    bytes.map(SerialNumber::from).map_err(|_| Error::CouldNotParseCertificate)
}
