//! Sessions against each other, and against a bare rustls.

use super::Encrypting;
use super::certificates::{Certificates, Tls, check};
use super::session::{Session, Shared};
use super::trust::Of;
use crate::transport::address::Address;
use crate::transport::tests::dial;
use crate::transport::{Awaited, Connection, Credentials, Door, Moved, Transport, Watch, serving, tests, usual};
use crate::{Event, Node};
use isoform::{Code, Messages};
use proptest::prelude::*;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, DnType, IsCa, KeyIdMethod,
    KeyPair, RevokedCertParams, SerialNumber,
};
use rustls::pki_types::{ServerName, UnixTime};
use std::io::{IoSlice, IoSliceMut, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const AGES: Duration = Duration::from_secs(60);

/// An authority of a test.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn new(name: &str) -> Authority {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Authority(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    /// The text of an identity file, valid for these years.
    pub(crate) fn identity(&self, name: &str, years: [i32; 2]) -> String {
        self.identity_of(vec![name.to_owned()], years)
    }

    /// A list of what is revoked.
    fn list(&self, numbers: &[u64]) -> String {
        let now = rcgen::date_time_ymd(2020, 1, 1);
        let one = |&number| RevokedCertParams {
            serial_number: SerialNumber::from(number),
            revocation_time: now,
            reason_code: None,
            invalidity_date: None,
        };
        let list = CertificateRevocationListParams {
            this_update: now,
            next_update: rcgen::date_time_ymd(3000, 1, 1),
            crl_number: SerialNumber::from(1u64),
            issuing_distribution_point: None,
            revoked_certs: numbers.iter().map(one).collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        list.signed_by(&self.0).unwrap().pem().unwrap()
    }

    fn identity_of(&self, names: Vec<String>, years: [i32; 2]) -> String {
        let mut params = CertificateParams::new(names).unwrap();
        params.not_before = rcgen::date_time_ymd(years[0], 1, 1);
        params.not_after = rcgen::date_time_ymd(years[1], 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        certificate.pem() + &key.serialize_pem() + &self.pem()
    }
}

const VALID: [i32; 2] = [2000, 3000];

fn certificates(folder: &Path, name: &str, identity: &str) -> Arc<Certificates> {
    let file = folder.join(format!("{name}.pem"));
    std::fs::write(&file, identity).unwrap();
    Arc::new(Certificates::new(Tls::new().certificate(file)))
}

/// Both ends of a connection without TLS: that of the dialer first.
fn ends() -> [Box<dyn Connection>; 2] {
    let address: Address = "127.0.0.1:0".parse().unwrap();
    let (at, mut door) = serving(&usual(), &address).unwrap().listen(&address).unwrap();
    let near = dial(&at, AGES).unwrap();
    let until = Instant::now() + AGES;
    loop {
        if let Some(far) = door.next().unwrap() {
            return [near, far];
        }
        assert!(Instant::now() < until, "nobody came");
    }
}

fn name(name: &str) -> ServerName<'static> {
    ServerName::try_from(name.to_owned()).unwrap()
}

/// Both ends of a connection with TLS, before the handshake.
fn pair(dialer: &Arc<Certificates>, acceptor: &Arc<Certificates>, dialed: &str) -> [Shared; 2] {
    let [near, far] = ends();
    [Shared(Session::dial(near, dialer, name(dialed)).unwrap()), Shared(Session::accept(far, acceptor, false))]
}

/// Reads what has come. A part of a record is nothing.
fn try_read(end: &Shared, place: &mut [u8]) -> isoform::Result<Moved> {
    let moved = end.read(&mut [IoSliceMut::new(place)], false)?;
    Ok(if moved == Moved::Bytes(0) { Moved::Blocked } else { moved })
}

/// Reads at both ends until one of them fails. Returns the errors.
fn failures(ends: &[Shared; 2]) -> [Option<String>; 2] {
    let mut failed = [None, None];
    let until = Instant::now() + AGES;
    while failed.iter().any(Option::is_none) {
        assert!(Instant::now() < until, "{failed:?}");
        for at in 0..2 {
            match try_read(&ends[at], &mut [0; 64]) {
                Ok(Moved::Blocked) => {}
                Ok(other) => {
                    ends[at].end();
                    failed[at].get_or_insert(format!("{other:?}"));
                }
                Err(error) => {
                    assert!(matches!(error.code(), Code::Handshake | Code::Io), "{error}");
                    ends[at].end();
                    failed[at].get_or_insert(error.to_string());
                }
            }
        }
    }
    failed
}

/// Two ends that have exchanged a byte.
fn greeted(ends: [Shared; 2]) -> [Shared; 2] {
    assert_eq!(ends[0].write(&[IoSlice::new(b"x")], false).unwrap(), Moved::Bytes(1));
    pump(&ends[1], &ends[0], 1);
    assert_eq!(ends[1].write(&[IoSlice::new(b"y")], false).unwrap(), Moved::Bytes(1));
    pump(&ends[0], &ends[1], 1);
    ends
}

/// Reads this many bytes at one end; the other one is read, too, as it may be amid its handshake.
fn pump(end: &Shared, other: &Shared, count: usize) -> Vec<u8> {
    let (mut all, mut place) = (Vec::new(), vec![0; 70_000]);
    let until = Instant::now() + AGES;
    while all.len() < count {
        assert!(Instant::now() < until, "only {} bytes came", all.len());
        if let Moved::Bytes(count) = try_read(end, &mut place).unwrap() {
            all.extend_from_slice(&place[..count]);
        }
        if end.credentials().certificate.is_none() {
            assert_eq!(try_read(other, &mut []).unwrap(), Moved::Blocked);
        }
    }
    assert_eq!(all.len(), count);
    all
}

#[test]
fn both_ends_know_each_other_and_have_the_same_binding() {
    let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new("ours"));
    let a = certificates(folder.path(), "a", &authority.identity("a.example", VALID));
    let b = certificates(folder.path(), "b", &authority.identity("b.example", VALID));
    let [near, far] = greeted(pair(&a, &b, "b.example"));
    let [(ours, theirs), other] = [(near.credentials(), far.credentials()), {
        let [near, far] = greeted(pair(&a, &b, "10.0.0.1"));
        (near.credentials(), far.credentials())
    }];
    assert_eq!(ours.certificate.as_deref(), Some(&["b.example".to_owned()][..]));
    assert_eq!(theirs.certificate.as_deref(), Some(&["a.example".to_owned()][..]));
    assert_eq!(ours.binding, theirs.binding);
    assert_ne!(ours.binding, [0; 32]);
    assert_ne!(ours.binding, other.0.binding, "another connection has another one");
}

#[test]
fn the_binding_is_an_export_of_tls_as_others_know_it() {
    let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new("ours"));
    let a = certificates(folder.path(), "a", &authority.identity("a.example", VALID));
    let config = a.current().unwrap().dialer.clone();
    let [near, far] = std::os::unix::net::UnixStream::pair().unwrap().into();
    let far = crate::transport::socket::Socket::new(far.into(), &"near", None);
    let session = Shared(Session::accept(Box::new(far), &a, false));
    let other = std::thread::spawn(move || {
        let mut near = near;
        let mut connection = rustls::ClientConnection::new(config, name("a.example")).unwrap();
        rustls::Stream::new(&mut connection, &mut near).write_all(b"hello").unwrap();
        let binding = connection.export_keying_material([0; 32], b"EXPORTER-isoform-link", None).unwrap();
        // It changes its keys, and asks for others.
        connection.refresh_traffic_keys().unwrap();
        let mut stream = rustls::Stream::new(&mut connection, &mut near);
        stream.write_all(b"behind").unwrap();
        let mut answer = [0; 6];
        stream.read_exact(&mut answer).unwrap();
        (binding, answer)
    });
    let mut came = Vec::new();
    while came.len() < 11 {
        let mut place = [0; 64];
        if let Moved::Bytes(count) = session.read(&mut [IoSliceMut::new(&mut place)], true).unwrap() {
            came.extend_from_slice(&place[..count]);
        }
    }
    assert_eq!(came, b"hellobehind");
    assert_eq!(session.write(&[IoSlice::new(b"answer")], true).unwrap(), Moved::Bytes(6));
    assert_eq!(other.join().unwrap(), (session.credentials().binding, *b"answer"));
}

#[test]
fn certificates_that_are_not_accepted_end_the_connection_with_a_reason_at_both_ends() {
    let folder = tempfile::tempdir().unwrap();
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let good = ours.identity("b.example", VALID);
    let certificate = |text: &str| text.split_inclusive("-----END CERTIFICATE-----\n").next().unwrap().to_owned();
    let behind = |count: usize| certificate(&good).repeat(1 + count) + good.strip_prefix(&certificate(&good)).unwrap();
    for (a, b, dialed, expected) in [
        (&good, &behind(5), "b.example", "5 certificates between it and its authority, where there may be 4"),
        (&good, &behind(4), "c.example", "for b.example"),
        (&theirs.identity("a.example", VALID), &good, "b.example", "by another authority"),
        (&good, &theirs.identity("b.example", VALID), "b.example", "by another authority"),
        (&good, &ours.identity("b.example", [2000, 2001]), "b.example", "which expired on 2001-01-01 00:00 UTC"),
        (&good, &ours.identity("b.example", [2900, 3000]), "b.example", "valid from 2900-01-01 00:00 UTC"),
        (&good, &good, "c.example", "a certificate for c.example, which was dialed"),
        (&good, &good, "c.example", "for b.example"),
    ] {
        let (a, b) = (certificates(folder.path(), "a", a), certificates(folder.path(), "b", b));
        let failed = failures(&pair(&a, &b, dialed));
        let said = failed.iter().flatten().any(|error| error.contains(expected));
        assert!(said, "{expected}: {failed:?}");
    }
}

#[test]
fn an_expired_certificate_of_ones_own_is_told_before_dialing() {
    let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new("ours"));
    for (years, expected) in [([2000, 2001], "one that expired on 2001-01-01"), ([2900, 3000], "from 2900-01-01")] {
        let a = certificates(folder.path(), "a", &authority.identity("a.example", years));
        let error = a.valid().unwrap_err();
        assert!(error.actual().contains(expected), "{error}");
        assert!(error.expectation().contains("a.pem"), "{error}");
    }
}

#[test]
fn who_has_no_certificate_is_refused() {
    let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new("ours"));
    let a = certificates(folder.path(), "a", &authority.identity("a.example", VALID));
    let trust = a.current().unwrap().trust.clone();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(trust)
        .with_no_client_auth();
    let [near, far] = std::os::unix::net::UnixStream::pair().unwrap().into();
    let far = crate::transport::socket::Socket::new(far.into(), &"near", None);
    let session = Shared(Session::accept(Box::new(far), &a, false));
    let other = std::thread::spawn(move || {
        let mut near = near;
        let mut connection = rustls::ClientConnection::new(config.into(), name("a.example")).unwrap();
        rustls::Stream::new(&mut connection, &mut near).read(&mut [0]).unwrap_err()
    });
    let error = loop {
        match session.read(&mut [IoSliceMut::new(&mut [0; 9])], true) {
            Ok(moved) => assert!(matches!(moved, Moved::Blocked | Moved::Bytes(0))),
            Err(error) => break error,
        }
    };
    assert!(error.to_string().contains("near shows none"), "{error}");
    assert!(other.join().unwrap().to_string().contains("CertificateRequired"));
}

#[test]
fn those_who_speak_without_tls_are_told_apart() {
    let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new("ours"));
    let a = certificates(folder.path(), "a", &authority.identity("a.example", VALID));
    let hello = [0x89, b'I', b'S', b'L', 1, 1, 0, 0];
    // A dialer without TLS, where that is not allowed.
    let [near, far] = ends();
    let session = Shared(Session::accept(far, &a, false));
    assert_eq!(near.write(&[IoSlice::new(&hello)], false).unwrap(), Moved::Bytes(8));
    let error = failed(&session);
    assert!(error.contains("which speaks without TLS"), "{error}");
    let mut answer = [0; 7];
    assert_eq!(near.read(&mut [IoSliceMut::new(&mut answer)], true).unwrap(), Moved::Bytes(7));
    assert_eq!(answer, [21, 3, 3, 0, 2, 2, 40]);
    // The same, where it is allowed.
    let [near, far] = ends();
    let session = Shared(Session::accept(far, &a, true));
    assert_eq!(near.write(&[IoSlice::new(&hello)], false).unwrap(), Moved::Bytes(8));
    let mut came = [0; 9];
    while try_read(&session, &mut came).unwrap() == Moved::Blocked {}
    assert_eq!(came[..8], hello);
    assert_eq!(session.write(&[IoSlice::new(b"answer")], false).unwrap(), Moved::Bytes(6));
    assert_eq!(near.read(&mut [IoSliceMut::new(&mut came)], true).unwrap(), Moved::Bytes(6));
    let address = Some(std::net::Ipv4Addr::LOCALHOST.into());
    assert_eq!(session.credentials(), Credentials { address, ..Credentials::default() });
    // An acceptor without TLS.
    let [near, far] = ends();
    let session = Shared(Session::dial(near, &a, name("a.example")).unwrap());
    assert_eq!(far.write(&[IoSlice::new(&hello)], false).unwrap(), Moved::Bytes(8));
    let error = failed(&session);
    assert!(error.contains("which speaks without TLS: give it a certificate"), "{error}");
}

#[test]
fn who_finds_no_room_is_told_so() {
    let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new("ours"));
    let a = certificates(folder.path(), "a", &authority.identity("a.example", VALID));
    let hello = [0x89, b'I', b'S', b'L', 1, 1, 0, 0];
    let refuse = |far: Shared| {
        let until = Instant::now() + AGES;
        while far.peek(&mut [0]) == 0 {
            assert!(Instant::now() < until, "nothing came");
        }
        _ = far.write(&[IoSlice::new(b"no room")], false);
        far.end_writing();
    };
    for plainly in [true, false] {
        let [near, far] = ends();
        let far = Shared(Session::accept(far, &a, plainly));
        let near = Shared(Session::dial(near, &a, name("a.example")).unwrap());
        refuse(far);
        let error = failed(&near);
        assert!(error.starts_with("too many peers at tls: expected room at "), "{error}");
        // A dialer without TLS reads what the node says, if it may do without, and an alert otherwise.
        let [near, far] = ends();
        let far = Shared(Session::accept(far, &a, plainly));
        assert_eq!(near.write(&[IoSlice::new(&hello)], false).unwrap(), Moved::Bytes(8));
        refuse(far);
        let mut answer = [0; 7];
        assert_eq!(near.read(&mut [IoSliceMut::new(&mut answer)], true).unwrap(), Moved::Bytes(7));
        assert_eq!(answer, if plainly { *b"no room" } else { [21, 3, 3, 0, 2, 2, 80] });
    }
}

fn failed(end: &Shared) -> String {
    let until = Instant::now() + AGES;
    loop {
        match try_read(end, &mut [0; 64]) {
            Ok(Moved::Blocked) => assert!(Instant::now() < until),
            Ok(other) => panic!("{other:?}"),
            Err(error) => return error.to_string(),
        }
    }
}

/// Bytes that tell where they are.
fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i % 251) as u8).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn every_byte_comes_once_and_in_order(
        pieces in proptest::collection::vec(prop_oneof![8 => 0..300usize, 2 => 10_000..40_000usize], 1..40),
        places in proptest::collection::vec(1..40_000usize, 1..4),
        limit in prop_oneof![Just(None), (2..6u64).prop_map(Some)],
    ) {
        let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new("ours"));
        let a = certificates(folder.path(), "a", &authority.identity("a.example", VALID));
        let ends = greeted(pair(&a, &a, "a.example"));
        // Keys that are good for few records, so that they change amid the bytes.
        if let Some(limit) = limit {
            ends[0].0.limit_key(limit);
        }
        let expected = pattern(pieces.iter().sum());
        let mut from = 0;
        let slices: Vec<&[u8]> = pieces.iter().map(|&length| { from += length; &expected[from - length..from] }).collect();
        let (mut written, mut came) = (0, Vec::new());
        let mut memory: Vec<Vec<u8>> = places.iter().map(|&length| vec![0; length]).collect();
        while came.len() < expected.len() {
            if written < expected.len() {
                // What is left of each slice.
                let mut skip = written;
                let rest: Vec<IoSlice<'_>> = slices.iter().map(|slice| {
                    let skipped = skip.min(slice.len());
                    skip -= skipped;
                    IoSlice::new(&slice[skipped..])
                }).collect();
                if let Moved::Bytes(count) = ends[0].write(&rest, false).unwrap() {
                    written += count;
                }
            }
            let mut into: Vec<IoSliceMut<'_>> = memory.iter_mut().map(|place| IoSliceMut::new(place)).collect();
            if let Moved::Bytes(mut count) = ends[1].read(&mut into, false).unwrap() {
                prop_assert!(count > 0);
                for place in &memory {
                    let part = count.min(place.len());
                    came.extend_from_slice(&place[..part]);
                    count -= part;
                }
            }
        }
        prop_assert!(came == expected);
        prop_assert_eq!(written, expected.len());
        prop_assert!(!ends[1].has_more());
    }
}

#[test]
fn a_handshake_may_come_byte_by_byte_and_be_long() {
    let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new("ours"));
    // Longer than a record.
    let names = (0..1000).map(|at| format!("n{at}.of.a.long.list.example")).collect();
    let long = certificates(folder.path(), "long", &authority.identity_of(names, VALID));
    let [near, far] = greeted(pair(&long, &long, "n7.of.a.long.list.example"));
    assert_eq!(near.credentials().certificate.map(|names| names.len()), Some(1000));
    drop(far);

    let [near, far] = ends();
    let [relayed, beyond] = ends();
    let near = Shared(Session::dial(near, &long, name("n7.of.a.long.list.example")).unwrap());
    let beyond = Shared(Session::accept(beyond, &long, false));
    near.write(&[IoSlice::new(b"hello")], false).unwrap();
    let (mut place, mut came) = ([0; 1], Vec::new());
    let until = Instant::now() + AGES;
    while came.len() < 5 {
        assert!(Instant::now() < until);
        for (from, to) in [(&far, &relayed), (&relayed, &far)] {
            if from.read(&mut [IoSliceMut::new(&mut place)], false).unwrap() == Moved::Bytes(1) {
                to.write(&[IoSlice::new(&place)], false).unwrap();
            }
        }
        assert_eq!(try_read(&near, &mut []).unwrap(), Moved::Blocked);
        let mut place = [0; 9];
        if let Moved::Bytes(count) = try_read(&beyond, &mut place).unwrap() {
            came.extend_from_slice(&place[..count]);
        }
    }
    assert_eq!(came, b"hello");
}

#[test]
fn a_record_that_was_changed_ends_the_connection() {
    let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new("ours"));
    let a = certificates(folder.path(), "a", &authority.identity("a.example", VALID));
    let [near, far] = greeted(pair(&a, &a, "a.example"));
    let forged = [&[23, 3, 3, 0, 40][..], &[7; 40]].concat();
    assert_eq!(near.write_beneath(&forged), Moved::Bytes(45));
    assert!(failed(&far).contains("no record of this connection"));
    let [near, far] = greeted(pair(&a, &a, "a.example"));
    assert_eq!(near.write_beneath(&[23, 3, 3, 255, 255]), Moved::Bytes(5));
    assert!(failed(&far).contains("no record of this connection"));
}

#[test]
fn the_end_is_told_and_comes_behind_what_was_written() {
    let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new("ours"));
    let a = certificates(folder.path(), "a", &authority.identity("a.example", VALID));
    let [near, far] = greeted(pair(&a, &a, "a.example"));
    assert_eq!(near.write(&[IoSlice::new(b"last")], false).unwrap(), Moved::Bytes(4));
    near.end_writing();
    assert_eq!(near.write(&[IoSlice::new(b"more")], false).unwrap(), Moved::Closed);
    assert_eq!(pump(&far, &near, 4), b"last");
    let until = Instant::now() + AGES;
    while try_read(&far, &mut [0; 9]).unwrap() != Moved::Closed {
        assert!(Instant::now() < until);
    }
}

#[test]
fn files_that_change_are_read_again_and_connections_checked_again() {
    let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new("ours"));
    let a = certificates(folder.path(), "a", &authority.identity("a.example", VALID));
    let b = certificates(folder.path(), "b", &authority.identity("b.example", VALID));
    let [near, far] = greeted(pair(&a, &b, "b.example"));
    for end in [&near, &far] {
        end.0.certificates().watch(&end.0);
    }
    a.check_standing(UnixTime::now());
    let before = a.current().unwrap().number;
    // A file that is written at this moment changes nothing.
    std::fs::write(folder.path().join("a.pem"), "-----BEGIN CERT").unwrap();
    a.forget_look();
    a.check_standing(UnixTime::now());
    assert_eq!(a.current().unwrap().number, before);
    assert_eq!(try_read(&near, &mut [0; 9]).unwrap(), Moved::Blocked);
    // Another authority: the other side's certificate is not accepted any more, once the file stays as it is.
    std::fs::write(folder.path().join("a.pem"), Authority::new("other").identity("a.example", VALID)).unwrap();
    a.forget_look();
    assert_eq!(a.current().unwrap().number, before);
    a.forget_look();
    a.check_standing(UnixTime::now());
    assert_eq!(a.current().unwrap().number, before + 1);
    assert!(failed(&near).contains("by another authority"));
    assert_eq!(try_read(&far, &mut [0; 9]).unwrap(), Moved::Closed);
}

#[test]
fn a_node_that_has_spoken_tls_does_not_do_without_if_its_certificate_is_gone() {
    let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new("ours"));
    let there: Address = "192.0.2.1:7000".parse().unwrap();
    let a = certificates(folder.path(), "a", &authority.identity("a.example", VALID));
    assert!(a.cover(&there));
    let number = a.current().unwrap().number;
    std::fs::remove_file(folder.path().join("a.pem")).unwrap();
    a.forget_look();
    assert!(a.cover(&there));
    assert_eq!(a.current().unwrap().number, number, "what was read goes on");
    let none = Certificates::new(Tls::new().certificate(folder.path().join("none.pem")));
    assert!(!none.cover(&there));
    std::fs::write(folder.path().join("none.pem"), authority.identity("a.example", VALID)).unwrap();
    assert!(none.cover(&there));
}

#[cfg(unix)]
#[test]
fn a_list_of_what_is_revoked_that_cannot_be_read_lets_nobody_in() {
    let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new("ours"));
    let [file, list] = ["a.pem", "revoked.pem"].map(|name| folder.path().join(name));
    std::fs::write(&file, authority.identity("a.example", VALID)).unwrap();
    let current = || Certificates::new(Tls::new().certificate(&file).revoked(&list)).current();
    current().expect("nothing is revoked yet");
    std::fs::create_dir(&list).unwrap();
    let error = current().unwrap_err();
    assert!(error.code() == Code::Io && error.actual().contains("revoked.pem"), "{error}");
    std::fs::remove_dir(&list).unwrap();
    // A pipe would let the node wait for ever.
    for place in [&list, &file] {
        _ = std::fs::remove_file(place);
        assert!(std::process::Command::new("mkfifo").arg(place).status().unwrap().success());
        let error = current().unwrap_err();
        assert!(error.code() == Code::Io && error.actual().contains("this is no file"), "{error}");
        std::fs::remove_file(place).unwrap();
    }
}

#[test]
fn what_is_revoked_stays_so_while_the_list_is_written_and_until_another_one_of_its_authority_comes() {
    let (folder, [ours, other]) = (tempfile::tempdir().unwrap(), ["ours", "other"].map(Authority::new));
    let [file, list] = ["a.pem", "revoked.pem"].map(|name| folder.path().join(name));
    std::fs::write(&file, ours.identity("a.example", VALID)).unwrap();
    let (all, key) = (ours.list(&[7]) + &other.list(&[8]), KeyPair::generate().unwrap());
    std::fs::write(&list, &all).unwrap();
    let mut params = CertificateParams::new(vec!["b.example".into()]).unwrap();
    params.serial_number = Some(SerialNumber::from(7u64));
    let b = params.signed_by(&key, &ours.0).unwrap();
    let a = Certificates::new(Tls::new().certificate(&file).revoked(&list));
    let is_revoked = || {
        // The second look finds the file at rest.
        for _ in 0..2 {
            a.forget_look();
            a.current().unwrap();
        }
        a.current().unwrap().trust.check(Of::Dialer, b.der(), &[], UnixTime::now()).is_err()
    };
    assert!(is_revoked() && a.look_after(UnixTime::now()).is_ok());
    let mut told = 0;
    let half = ours.list(&[]);
    for text in ["", "-----BEGIN X509 CRL", &half[..half.len() / 2], &other.list(&[8]), "none"] {
        std::fs::write(&list, text).unwrap();
        assert!(is_revoked(), "{text}");
        for _ in 0..2 {
            if let Err(error) = a.look_after(UnixTime::now()) {
                told += 1;
                assert!(error.to_string().contains("revoked.pem"), "{error}");
            }
        }
    }
    assert!((3..=5).contains(&told), "{told}: each reason once");
    std::fs::remove_file(&list).unwrap();
    assert!(is_revoked());
    std::fs::write(&list, ours.list(&[]) + &other.list(&[8])).unwrap();
    assert!(!is_revoked() && a.look_after(UnixTime::now()).is_ok());
}

#[test]
fn the_trust_in_everybody_needs_a_name() {
    let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new("ours"));
    let file = folder.path().join("a.pem");
    std::fs::write(&file, authority.identity("a.example", VALID)).unwrap();
    let tls = Tls::new().certificate(&file).trust_platform();
    assert!(check(&tls).unwrap_err().expectation().starts_with("a name that certificates must have"));
    std::fs::write(&file, "nothing").unwrap();
    assert!(check(&Tls::new().certificate(&file)).unwrap_err().expectation().starts_with("a certificate in"));
    assert!(check(&Tls::new().certificate(folder.path().join("none"))).is_err());
}

#[test]
fn a_connection_ends_once_the_certificate_of_the_other_side_expires() {
    let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new("ours"));
    let a = certificates(folder.path(), "a", &authority.identity("a.example", VALID));
    let b = certificates(folder.path(), "b", &authority.identity("b.example", [2000, 2900]));
    let [near, far] = greeted(pair(&a, &b, "b.example"));
    for end in [&near, &far] {
        end.0.certificates().watch(&end.0);
    }
    let year = |year: i32| {
        let seconds = rcgen::date_time_ymd(year, 1, 2).unix_timestamp();
        UnixTime::since_unix_epoch(Duration::from_secs(seconds as u64))
    };
    for certificates in [&a, &b] {
        certificates.check_standing(year(2899));
    }
    assert_eq!(try_read(&near, &mut [0; 9]).unwrap(), Moved::Blocked);
    // Each side looks at the certificate of the other.
    b.check_standing(year(2900));
    assert_eq!(try_read(&far, &mut [0; 9]).unwrap(), Moved::Blocked);
    a.check_standing(year(2900));
    let error = failed(&near);
    assert!(error.contains("has not expired") && error.contains("which expired on 2900-01-01"), "{error}");
    assert_eq!(try_read(&far, &mut [0; 9]).unwrap(), Moved::Closed);
}

/// A certificate that is longer than what a connection takes at once.
fn long(folder: &Path) -> Arc<Certificates> {
    let names = (0..1000).map(|at| format!("n{at}.of.a.long.list.example")).collect();
    certificates(folder, "long", &Authority::new("ours").identity_of(names, VALID))
}

#[test]
fn a_handshake_waits_for_room() {
    let folder = tempfile::tempdir().unwrap();
    let long = long(folder.path());
    for narrow_dialer in [true, false] {
        let [narrow, wide] = tests::pair(true);
        let (near, far) = if narrow_dialer { (narrow, wide) } else { (wide, narrow) };
        let near = Shared(Session::dial(near, &long, name("n7.of.a.long.list.example")).unwrap());
        let far = Shared(Session::accept(far, &long, false));
        // It is written behind the handshake.
        assert_eq!(near.write(&[IoSlice::new(&[7; 40_000])], false).unwrap(), Moved::Bytes(40_000));
        let (mut came, mut place, mut waited) = (Vec::new(), vec![0; 50_000], 0);
        let until = Instant::now() + AGES;
        while came.len() < 40_000 {
            assert!(Instant::now() < until, "{} bytes came", came.len());
            for end in [&near, &far] {
                if let Moved::Bytes(count) = try_read(end, &mut place).unwrap() {
                    came.extend_from_slice(&place[..count]);
                }
                if end.has_unwritten() {
                    waited += 1;
                    assert!(matches!(end.write(&[], false).unwrap(), Moved::Bytes(0) | Moved::Blocked));
                }
            }
        }
        assert!(waited > 0, "all went at once");
        assert_eq!(came, [7; 40_000]);
    }
}

/// Brings so many bytes at a time.
#[derive(Debug)]
struct Divided(Box<dyn Connection>, Arc<AtomicUsize>);

impl Connection for Divided {
    fn read(&self, places: &mut [IoSliceMut<'_>], wait: bool) -> isoform::Result<Moved> {
        let most = places[0].len().min(self.1.load(Ordering::Relaxed));
        self.0.read(&mut [IoSliceMut::new(&mut places[0][..most])], wait)
    }

    fn write(&self, slices: &[IoSlice<'_>], wait: bool) -> isoform::Result<Moved> {
        self.0.write(slices, wait)
    }

    fn end(&self) {
        self.0.end();
    }

    fn end_writing(&self) {
        self.0.end_writing();
    }

    fn watch(&self) -> Watch<'_> {
        self.0.watch()
    }

    fn peer(&self) -> &str {
        self.0.peer()
    }
}

#[test]
fn pieces_of_a_record_are_told_if_they_are_shorter_than_those_of_a_network() {
    let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new("ours"));
    let a = certificates(folder.path(), "a", &authority.identity("a.example", VALID));
    let ([near, far], length) = (ends(), Arc::new(AtomicUsize::new(usize::MAX)));
    let far = Box::new(Divided(far, length.clone()));
    let pair = [Shared(Session::dial(near, &a, name("a.example")).unwrap()), Shared(Session::accept(far, &a, false))];
    let [near, far] = greeted(pair);
    for (at_a_time, is_told) in [(1_400, false), (1_000, true), (300, true), (255, true), (5_000, false)] {
        length.store(at_a_time, Ordering::Relaxed);
        assert_eq!(near.write(&[IoSlice::new(&[7; 16_000])], false).unwrap(), Moved::Bytes(16_000));
        let (mut came, mut told, mut place) = (0, 0, vec![0; 16_000]);
        while came < 16_000 {
            match far.read(&mut [IoSliceMut::new(&mut place)], false).unwrap() {
                Moved::Bytes(0) => told += 1,
                Moved::Bytes(count) => came += count,
                _ => {}
            }
        }
        assert_eq!(told > 0, is_told, "{told} times with {at_a_time} bytes");
    }
}

#[test]
fn records_are_counted_with_those_that_bring_nothing() {
    const MANY: usize = 500;
    let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new("ours"));
    let a = certificates(folder.path(), "a", &authority.identity("a.example", VALID));
    let [near, far] = greeted(pair(&a, &a, "a.example"));
    for _ in 0..MANY {
        // Another key for each byte.
        near.0.limit_key(1);
        assert_eq!(near.write(&[IoSlice::new(b"z")], false).unwrap(), Moved::Bytes(1));
    }
    let (mut opened, mut came, mut place) = (0, 0, [0; 4096]);
    while came < MANY {
        if let Moved::Bytes(count) = far.read(&mut [IoSliceMut::new(&mut place)], false).unwrap() {
            (opened, came) = (opened + far.opened(), came + count);
            assert!(far.opened() < 256 + 32 && (far.opened() > 0 || count == 0), "{count} of {}", far.opened());
        }
    }
    assert_eq!(opened, MANY * (32 + 1));
}

/// A transport whose connections take a kilobyte at a time, and count how often they are full.
#[derive(Debug)]
struct Narrow<T> {
    inner: T,
    full: Arc<AtomicUsize>,
}

impl Transport for Narrow<Arc<dyn Transport>> {
    fn serves(&self, address: &Address) -> bool {
        self.inner.serves(address)
    }

    fn listen(&self, address: &Address) -> isoform::Result<(Address, Box<dyn Door>)> {
        let (at, inner) = self.inner.listen(address)?;
        Ok((at, Box::new(Narrow { inner, full: self.full.clone() })))
    }

    fn dial(&self, address: &Address, deadline: Instant) -> isoform::Result<Box<dyn Door>> {
        Ok(Box::new(Narrow { inner: self.inner.dial(address, deadline)?, full: self.full.clone() }))
    }
}

impl Door for Narrow<Box<dyn Door>> {
    fn next(&mut self) -> isoform::Result<Option<Box<dyn Connection>>> {
        let full = &self.full;
        let narrow = |inner| Box::new(Narrow { inner, full: full.clone() }) as Box<dyn Connection>;
        Ok(self.inner.next()?.map(narrow))
    }

    fn awaits(&self) -> Awaited<'_> {
        self.inner.awaits()
    }
}

impl Connection for Narrow<Box<dyn Connection>> {
    fn read(&self, places: &mut [IoSliceMut<'_>], wait: bool) -> isoform::Result<Moved> {
        self.inner.read(places, wait)
    }

    fn write(&self, slices: &[IoSlice<'_>], wait: bool) -> isoform::Result<Moved> {
        let Some(first) = slices.iter().find(|slice| !slice.is_empty()) else { return Ok(Moved::Bytes(0)) };
        if first.len() > 1000 {
            self.full.fetch_add(1, Ordering::Relaxed);
        }
        self.inner.write(&[IoSlice::new(&first[..first.len().min(1000)])], wait)
    }

    fn end(&self) {
        self.inner.end();
    }

    fn end_writing(&self) {
        self.inner.end_writing();
    }

    fn watch(&self) -> Watch<'_> {
        self.inner.watch()
    }

    fn peer(&self) -> &str {
        self.inner.peer()
    }

    fn credentials(&self) -> Credentials {
        self.inner.credentials()
    }
}

#[test]
fn nodes_go_on_with_a_handshake_when_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let identity = long(folder.path());
    let full = Arc::<AtomicUsize>::default();
    let node = || {
        let inner = Arc::new(Narrow { inner: usual().swap_remove(0), full: full.clone() });
        let tls = Tls::new().certificate(folder.path().join("long.pem")).loopback();
        let transport = Encrypting { inner, certificates: Arc::new(Certificates::new(tls)), insecure: false };
        Node::builder().transport(transport).build().unwrap()
    };
    assert!(identity.exist());
    let (here, there) = (node(), node());
    let channel = here.create_with("long", None).unwrap();
    let far = there.open(channel.id().to_string()).unwrap();
    assert!(full.load(Ordering::Relaxed) > 2, "certificates did not fit at once");
    let mut sink = far.sink_builder().build::<Messages>().unwrap();
    let source = channel.source_builder().build::<Messages>().unwrap();
    source.wait_for_sinks(1, AGES).unwrap();
    assert!(matches!(sink.recv_timeout(AGES).unwrap(), Some(Event::Joined { .. })));
}
