//! Nodes that speak TLS, with certificates of a test, and what goes wrong with them. TLS is for addresses beyond this
//! machine; here it is spoken on loopback.
#![cfg(all(unix, feature = "tls"))]

use isoform::{Code, Record};
use isoform_channel::{Event, Node, NodeId, Sink, Source, Tls};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, DnType, IsCa, KeyIdMethod,
    KeyPair, RevocationReason, RevokedCertParams, SerialNumber,
};
use std::fs::Permissions;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

const SOON: Duration = Duration::from_secs(60);

#[derive(Record, Clone)]
struct Field {
    number: u64,
    cells: Vec<u64>,
}

/// An authority, and the folder for its files.
struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: tempfile::TempDir,
}

impl Authority {
    fn new() -> Authority {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "authority of a test");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        Authority { issuer, folder: tempfile::tempdir().unwrap() }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a certificate with this number.
    fn issue(&self, name: &str, number: u64, until: i32) -> PathBuf {
        let file = self.file(&format!("{name}.pem"));
        let mut params = CertificateParams::new(vec![format!("{name}.example"), "localhost".into()]).unwrap();
        params.serial_number = Some(SerialNumber::from(number));
        params.not_before = rcgen::date_time_ymd(2000, 1, 1);
        params.not_after = rcgen::date_time_ymd(until, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        replace(&file, &(certificate.pem() + &key.serialize_pem() + &self.issuer.pem()));
        file
    }

    fn revoke(&self, number: u64) {
        let now = rcgen::date_time_ymd(2020, 1, 1);
        let revoked = RevokedCertParams {
            serial_number: SerialNumber::from(number),
            revocation_time: now,
            reason_code: Some(RevocationReason::KeyCompromise),
            invalidity_date: None,
        };
        let list = CertificateRevocationListParams {
            this_update: now,
            next_update: rcgen::date_time_ymd(3000, 1, 1),
            crl_number: SerialNumber::from(1u64),
            issuing_distribution_point: None,
            revoked_certs: vec![revoked],
            key_identifier_method: KeyIdMethod::Sha256,
        };
        replace(&self.file("revoked.pem"), &list.signed_by(&self.issuer).unwrap().pem().unwrap());
    }

    fn tls(&self, certificate: &Path) -> Tls {
        Tls::new().certificate(certificate).revoked(self.file("revoked.pem")).loopback()
    }

    fn node(&self, name: &str, number: u64) -> Node {
        let tls = self.tls(&self.issue(name, number, 3000));
        Node::builder().listen("127.0.0.1:0").tls(tls).build().unwrap()
    }
}

/// Replaces a file at once, as those who renew certificates do.
fn replace(file: &Path, content: &str) {
    let new = file.with_extension("new");
    std::fs::write(&new, content).unwrap();
    std::fs::rename(new, file).unwrap();
}

fn plain() -> Node {
    Node::builder().listen("127.0.0.1:0").build().unwrap()
}

fn port(node: &Node) -> SocketAddr {
    node.addresses()[0].to_string().trim_start_matches("tcp:").parse().unwrap()
}

fn field(number: u64, cells: usize) -> Field {
    Field { number, cells: (0..cells as u64).map(|cell| cell ^ number).collect() }
}

/// The lengths of the events until the source leaves; and the numbers of events that were lost.
fn take_all(mut sink: Sink<Field>) -> (Vec<usize>, u64) {
    let (mut came, mut lost) = (Vec::new(), 0);
    loop {
        match sink.recv_timeout(SOON).unwrap().expect("an event") {
            Event::Record { record, .. } => {
                assert!(record.cells.iter().enumerate().all(|(at, cell)| *cell == at as u64 ^ record.number));
                came.push(record.cells.len());
            }
            Event::Gap(_, gap) => lost += gap.count,
            Event::Left(..) => return (came, lost),
            Event::Granted(..) | Event::Given(..) | Event::Joined { .. } | Event::Head { .. } => {}
            Event::Refused(_, error) => panic!("{error}"),
        }
    }
}

#[test]
fn events_of_every_length_go_both_ways() {
    let authority = Authority::new();
    let (here, there) = (authority.node("a", 1), authority.node("b", 2));
    let channel = here.create::<Field>("fields").unwrap();
    let far = there.open(channel.id().to_string()).unwrap();
    let (sink, far_sink) = (
        channel.sink_builder().lossless().build::<Field>().unwrap(),
        far.sink_builder().lossless().build::<Field>().unwrap(),
    );
    let (mut source, mut far_source) = (
        channel.source_builder().lossless().build::<Field>().unwrap(),
        far.source_builder().lossless().build::<Field>().unwrap(),
    );
    for source in [&mut source, &mut far_source] {
        source.wait_for_sinks(2, SOON).unwrap();
    }
    let lengths = [0, 10, 128 << 10, 13 << 20, 3, 1000];
    let readers = [sink, far_sink].map(|mut sink| {
        thread::spawn(move || {
            let (mut came, mut left) = (Vec::new(), 0);
            while left < 2 {
                match sink.recv().unwrap() {
                    Event::Record { record, stamp } => {
                        assert!(record.cells.iter().enumerate().all(|(at, cell)| *cell == at as u64 ^ record.number));
                        came.push((stamp.source, record.cells.len()));
                    }
                    Event::Left(..) => left += 1,
                    Event::Granted(..) | Event::Given(..) | Event::Joined { .. } | Event::Head { .. } => {}
                    Event::Gap(_, gap) => panic!("{gap:?}"),
                    Event::Refused(_, error) => panic!("{error}"),
                }
            }
            came
        })
    });
    let writers = [source, far_source].map(|mut source| {
        thread::spawn(move || {
            for (number, cells) in lengths.into_iter().enumerate() {
                source.submit(&field(number as u64, cells)).unwrap();
            }
            source.close(SOON).unwrap()
        })
    });
    for writer in writers {
        for account in writer.join().unwrap() {
            assert!(account.ledger.is_exact() && account.ledger.lost() == 0, "{}", account.ledger);
        }
    }
    for reader in readers {
        let came = reader.join().unwrap();
        assert_eq!(came.len(), 2 * lengths.len());
        let first = came[0].0;
        for mine in [true, false] {
            let of_one: Vec<usize> =
                came.iter().filter(|(source, _)| (*source == first) == mine).map(|(_, length)| *length).collect();
            assert_eq!(of_one, lengths);
        }
    }
}

fn refusal(node: &Node, id: &str) -> String {
    let error = node.open(id).map(|channel| panic!("opened {}", channel.id())).unwrap_err();
    assert_eq!(error.code(), Code::Handshake, "{error}");
    error.to_string()
}

#[test]
fn whoever_is_not_of_the_same_authority_is_refused_with_a_reason() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    let (here, there) = (ours.node("a", 1), theirs.node("b", 2));
    let channel = here.create::<Field>("fields").unwrap();
    let error = refusal(&there, &channel.id().to_string());
    assert!(error.contains("by another authority") && error.contains("isoform keys show"), "{error}");
    // A certificate that has expired.
    let late = ours.tls(&ours.issue("late", 3, 2001));
    let late = Node::builder().listen("127.0.0.1:0").tls(late).build().unwrap();
    let error = refusal(&late, &channel.id().to_string());
    assert!(error.contains("one that expired on 2001-01-01 00:00 UTC"), "{error}");
    // One that was revoked.
    ours.revoke(4);
    // The list is seen within a second.
    thread::sleep(Duration::from_millis(1100));
    let revoked = ours.node("d", 4);
    let error = refusal(&revoked, &channel.id().to_string());
    assert!(error.contains("this node's certificate is revoked"), "{error}");
    // The node counts them, the one that did not accept its own certificate among them. The refused node may know before.
    let refusals = || channel.info(SOON).unwrap().members[0].report.as_ref().unwrap().refusals.clone();
    let until = Instant::now() + SOON;
    while refusals().first().is_none_or(|refusal| refusal.count < 2) && Instant::now() < until {
        thread::sleep(Duration::from_millis(10));
    }
    let refused = refusals();
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert_eq!((refused[0].code, refused[0].count), (Code::Handshake as u16, 2));
    assert!(refused[0].last.contains("which is revoked"), "{refused:?}");
}

#[test]
fn nodes_with_and_without_tls_tell_what_is_missing() {
    let authority = Authority::new();
    let (with, without) = (authority.node("a", 1), plain());
    let (hidden, open) = (with.create::<Field>("fields").unwrap(), without.create::<Field>("fields").unwrap());
    let error = refusal(&without, &hidden.id().to_string());
    assert!(error.contains("a node without TLS") && error.contains("found TLS"), "{error}");
    let error = refusal(&with, &open.id().to_string());
    assert!(error.contains("speaks without TLS: give it a certificate"), "{error}");
}

#[test]
fn certificates_are_renewed_and_revoked_while_links_stand() {
    let authority = Authority::new();
    let (here, there) = (authority.node("a", 1), authority.node("b", 2));
    let channel = here.create::<Field>("fields").unwrap();
    let mut source = channel.source_builder().lossless().build::<Field>().unwrap();
    let far = there.open(channel.id().to_string()).unwrap();
    let reader = take_all_of(far.sink_builder().lossless().build::<Field>().unwrap());
    source.wait_for_sinks(1, SOON).unwrap();
    source.submit(&field(0, 10)).unwrap();
    // New certificates: the old one, revoked, ends the connection, and the new one restores the link.
    authority.issue("b", 3, 3000);
    thread::sleep(Duration::from_millis(1100));
    authority.revoke(2);
    let until = Instant::now() + Duration::from_secs(5);
    while Instant::now() < until {
        source.submit(&field(1, 10)).unwrap();
        thread::sleep(Duration::from_millis(50));
    }
    let account = source.close(SOON).unwrap();
    let (came, lost) = reader.join().unwrap();
    let ledger = account[0].ledger;
    assert!(ledger.is_exact(), "{ledger}");
    assert_eq!((ledger.acknowledged, ledger.lost()), (came.len() as u64, lost), "{ledger}");
    assert!(came.len() > 50, "the link went on: {ledger}");
}

fn take_all_of(sink: Sink<Field>) -> thread::JoinHandle<(Vec<usize>, u64)> {
    thread::spawn(move || take_all(sink))
}

#[test]
fn who_is_revoked_loses_the_link() {
    let authority = Authority::new();
    let (here, there) = (authority.node("a", 1), authority.node("b", 2));
    let channel = here.create::<Field>("fields").unwrap();
    let source = channel.source_builder().lossless().build::<Field>().unwrap();
    let far = there.open(channel.id().to_string()).unwrap();
    let _sink = far.sink_builder().lossless().build::<Field>().unwrap();
    source.wait_for_sinks(1, SOON).unwrap();
    authority.revoke(2);
    // The list is seen within a second or two; then nobody is there any more.
    let until = Instant::now() + SOON;
    loop {
        let id = format!("iso://{}/fields", port(&here));
        match there.open(&id) {
            Err(error) if error.to_string().contains("revoked") => break,
            _ => assert!(Instant::now() < until),
        }
        thread::sleep(Duration::from_millis(50));
    }
    while source.sinks() > 0 {
        assert!(Instant::now() < until);
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn strangers_amid_the_handshake_harm_nobody() {
    let authority = Authority::new();
    let (here, there) = (authority.node("a", 1), authority.node("b", 2));
    let channel = here.create::<Field>("fields").unwrap();
    let mut held = Vec::new();
    // Nothing; the beginning of a record; one whose content is no handshake; no record at all.
    for said in
        [&b""[..], &[22, 3, 1, 2, 0, 1, 0], &[22, 3, 1, 0, 4, 1, 2, 3, 4], b"GET / HTTP/1.1\r\n\r\n", &[0x16; 100_000]]
    {
        let mut stranger = TcpStream::connect(port(&here)).unwrap();
        _ = stranger.write_all(said);
        held.push(stranger);
    }
    let mut source = channel.source_builder().lossless().build::<Field>().unwrap();
    let reader =
        take_all_of(there.open(channel.id().to_string()).unwrap().sink_builder().lossless().build::<Field>().unwrap());
    source.wait_for_sinks(1, SOON).unwrap();
    source.submit(&field(1, 100)).unwrap();
    for mut stranger in held {
        stranger.set_read_timeout(Some(SOON)).unwrap();
        let ended = stranger.read_to_end(&mut Vec::new());
        assert!(!ended.is_err_and(|error| error.kind() == ErrorKind::WouldBlock), "each of them is sent away in time");
    }
    source.close(SOON).unwrap();
    assert_eq!(reader.join().unwrap(), (vec![100], 0));
}

/// A file of rules, written as careful editors do.
fn write_rules(file: &Path, text: &str) {
    let new = file.with_extension("new");
    std::fs::write(&new, text).unwrap();
    std::fs::set_permissions(&new, Permissions::from_mode(0o644)).unwrap();
    std::fs::rename(new, file).unwrap();
}

/// The numbers of the records that come, until this one has.
fn until(sink: &mut Sink<Field>, number: u64) -> Vec<u64> {
    let mut came = Vec::new();
    while came.last() != Some(&number) {
        match sink.recv_timeout(SOON).unwrap().expect("an event") {
            Event::Record { record, .. } => came.push(record.number),
            Event::Refused(_, error) => panic!("{error}"),
            _ => {}
        }
    }
    came
}

/// Waits until the rules keep a sink from a source, and returns the reason.
fn forbidden(sink: &mut Sink<Field>) -> String {
    let deadline = Instant::now() + SOON;
    loop {
        assert!(Instant::now() < deadline, "nothing is refused");
        if let Event::Refused(_, error) = sink.recv_timeout(SOON).unwrap().expect("an event") {
            assert_eq!(error.code(), Code::Forbidden, "{error}");
            return error.to_string();
        }
    }
}

/// Waits until a source of this node has joined.
fn joined(sink: &mut Sink<Field>, of: NodeId) {
    while !matches!(sink.recv_timeout(SOON).unwrap().expect("an event"), Event::Joined { node, .. } if node == of) {}
}

#[test]
fn each_name_has_the_rights_of_its_lines_and_loses_them_while_links_stand() {
    let authority = Authority::new();
    let rules = authority.file("rules");
    let [publishes, subscribes] =
        ["allow name b.example see,publish on fields\n", "allow name C.Example see,subscribe on f*\n"];
    let others = "deny name d.example all on *\nallow name e.example see on *\n";
    write_rules(&rules, &[publishes, subscribes, others].concat());
    let tls = authority.tls(&authority.issue("a", 1, 3000));
    let here = Node::builder().listen("127.0.0.1:0").tls(tls).rules(&rules).build().unwrap();
    let channel = here.create::<Field>("fields").unwrap();
    let (id, this) = (channel.id().to_string(), channel.members()[0]);
    // How often a right was missing, and to whom in the end.
    let refusals = |right: &str| {
        let info = channel.info(Duration::ZERO).unwrap();
        let mut all = info.members[0].report.as_ref().unwrap().refusals.clone();
        all.retain(|refusal| refusal.last.contains(&format!("the right to {right}, ")));
        assert!(all.iter().all(|refusal| refusal.code == Code::Forbidden as u16), "{all:?}");
        all.first().map_or((0, String::new()), |refusal| (refusal.count, refusal.last.clone()))
    };

    // Who is not listed, and who is denied everything, opens nothing, is told why, and is counted and named.
    for (count, name, line) in [(1, "d", "line 3 of the rules"), (2, "stranger", "no line of the rules")] {
        assert_eq!(refusals("see").0, count - 1);
        let error = authority.node(name, 10 + count).open(&id).unwrap_err();
        assert_eq!(error.code(), Code::Forbidden, "{error}");
        assert!(error.to_string().contains("fields: expected the right to see"), "{error}");
        let (counted, last) = refusals("see");
        assert_eq!(counted, count, "{last}");
        assert!(last.contains(line) && last.contains(&format!("name {name}.example")), "{last}");
    }

    // One name may publish only, one subscribe only, one neither.
    let mut source = channel.source::<Field>().unwrap();
    let mut sink = channel.sink::<Field>().unwrap();
    let nodes = [("b", 2), ("c", 3), ("e", 4)].map(|(name, number)| authority.node(name, number));
    let [published, subscribed, seen] = nodes.each_ref().map(|node| node.open(&id).unwrap());
    let mut kept_out = seen.sink::<Field>().unwrap();
    assert!(forbidden(&mut kept_out).contains("the right to subscribe"));
    let mut theirs = subscribed.sink::<Field>().unwrap();
    source.wait_for_sinks(2, SOON).unwrap();
    let mut wrong = subscribed.source::<Field>().unwrap();
    assert!(forbidden(&mut sink).contains("the right to publish"));
    assert!(refusals("publish").1.contains("name c.example"), "{}", refusals("publish").1);
    let mut right = published.source::<Field>().unwrap();
    let reaches = |source: &Source<Field>, node| source.ledger().iter().any(|sink| sink.node == node && sink.present);
    let deadline = Instant::now() + SOON;
    while !reaches(&right, this) {
        assert!(Instant::now() < deadline, "the sink does not subscribe");
        thread::sleep(Duration::from_millis(10));
    }
    source.submit(&field(1, 10)).unwrap();
    wrong.submit(&field(2, 10)).unwrap();
    until(&mut theirs, 2);
    right.submit(&field(3, 10)).unwrap();
    assert_eq!(until(&mut sink, 3), [1, 3], "and not 2");
    assert!(!reaches(&wrong, this));

    // Both lose their rights while they are there.
    write_rules(&rules, &["allow name *.example see on *\n", others].concat());
    assert!(forbidden(&mut theirs).contains("the right to subscribe"));
    assert!(forbidden(&mut sink).contains("the right to publish"));
    right.submit(&field(4, 10)).unwrap();
    source.submit(&field(5, 10)).unwrap();
    assert_eq!(until(&mut sink, 5), [5]);

    // What they are given back begins again.
    write_rules(&rules, &[publishes, subscribes, others].concat());
    joined(&mut theirs, this);
    joined(&mut sink, published.members()[0]);
    source.submit(&field(6, 10)).unwrap();
    let came = until(&mut theirs, 6);
    assert!(!came.contains(&5), "{came:?}");
    right.submit(&field(7, 10)).unwrap();
    assert_eq!(until(&mut sink, 7), [6, 7]);
    let accounts = source.close(SOON).unwrap();
    for account in &accounts {
        assert!([this, subscribed.members()[0]].contains(&account.node), "{accounts:?}");
        assert!(account.ledger.is_exact() && account.ledger.lost() == 0, "{}", account.ledger);
    }
}

#[test]
fn nodes_that_share_a_certificate_have_ids_and_accounts_of_their_own() {
    let authority = Authority::new();
    let rules = authority.file("rules");
    write_rules(&rules, "allow name ranks.example see,subscribe,block on fields\n");
    let tls = authority.tls(&authority.issue("a", 1, 3000));
    let here = Node::builder().listen("127.0.0.1:0").tls(tls).rules(&rules).build().unwrap();
    let channel = here.create::<Field>("fields").unwrap();
    let mut source = channel.source_builder().lossless().build::<Field>().unwrap();
    let certificate = authority.issue("ranks", 2, 3000);
    let mut ranks = Vec::new();
    // Each comes one event later than the one before.
    for number in 0..3 {
        let node = Node::builder().listen("127.0.0.1:0").tls(authority.tls(&certificate)).build().unwrap();
        let opened = node.open(channel.id().to_string()).unwrap();
        let rank = opened.members()[0];
        ranks.push((rank, take_all_of(opened.sink_builder().lossless().build::<Field>().unwrap())));
        source.wait_for_sinks(ranks.len(), SOON).unwrap();
        source.submit(&field(number, 10 + number as usize)).unwrap();
    }
    let accounts = source.close(SOON).unwrap();
    assert_eq!(accounts.len(), ranks.len());
    let ids: Vec<_> = ranks.iter().map(|(rank, _)| *rank).collect();
    for (at, (rank, reader)) in ranks.into_iter().enumerate() {
        assert!(!ids[..at].contains(&rank) && rank != channel.members()[0], "{ids:?}");
        assert_eq!(reader.join().unwrap(), ((10 + at..13).collect(), 0));
        let of_rank: Vec<_> = accounts.iter().filter(|account| account.node == rank).collect();
        let [account] = of_rank[..] else { panic!("{accounts:?}") };
        let ledger = account.ledger;
        assert!(ledger.is_exact(), "{ledger}");
        assert_eq!((ledger.acknowledged, ledger.lost()), (3 - at as u64, 0), "{ledger}");
    }
}

/// Passes on what both sides say, until so many bytes have come from the far one.
fn cut_after(to: SocketAddr, bytes: usize) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut near, _) = listener.accept().unwrap();
        let mut far = TcpStream::connect(to).unwrap();
        let (mut near_again, mut far_again) = (near.try_clone().unwrap(), far.try_clone().unwrap());
        let back = thread::spawn(move || std::io::copy(&mut near_again, &mut far_again));
        let (mut buffer, mut passed) = ([0; 1000], 0);
        while let Ok(count) = far.read(&mut buffer)
            && count > 0
            && passed < bytes
        {
            if near.write_all(&buffer[..count]).is_err() {
                break;
            }
            passed += count;
        }
        let _ = (near.shutdown(std::net::Shutdown::Both), far.shutdown(std::net::Shutdown::Both));
        let _ = back.join();
    });
    address
}

#[test]
fn a_connection_that_is_cut_amid_a_record_is_restored_and_what_it_lost_is_told() {
    let authority = Authority::new();
    for bytes in [9_000, 100_001, 1_000_003] {
        let (here, there) = (authority.node("a", 1), authority.node("b", 2));
        let channel = here.create::<Field>("fields").unwrap();
        let mut source = channel.source_builder().lossless().build::<Field>().unwrap();
        let proxy = cut_after(port(&here), bytes);
        let reader = take_all_of(
            there.open(format!("iso://{proxy}/fields")).unwrap().sink_builder().lossless().build::<Field>().unwrap(),
        );
        source.wait_for_sinks(1, SOON).unwrap();
        (0..4_000).for_each(|number| _ = source.submit(&field(number, 100)).unwrap());
        let account = source.close(SOON).unwrap();
        let (came, lost) = reader.join().unwrap();
        let ledger = account[0].ledger;
        assert!(ledger.is_exact());
        assert_eq!((ledger.acknowledged, ledger.lost(), ledger.in_flight), (came.len() as u64, lost, 0), "{ledger}");
        assert!(!came.is_empty());
    }
}

/// Somebody in the middle with a certificate of the same authority, who hands on what both ends say to each other.
fn man_in_the_middle(to: SocketAddr, own: &str) -> SocketAddr {
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut chain: Vec<CertificateDer<'static>> =
        CertificateDer::pem_slice_iter(own.as_bytes()).collect::<Result<_, _>>().unwrap();
    let authority = chain.pop().unwrap();
    let key = PrivateKeyDer::from_pem_slice(own.as_bytes()).unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(authority).unwrap();
    let (roots, provider) = (Arc::new(roots), Arc::new(rustls::crypto::ring::default_provider()));
    let verifier =
        rustls::server::WebPkiClientVerifier::builder_with_provider(roots.clone(), provider.clone()).build().unwrap();
    let mut acceptor = rustls::ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain.clone(), key.clone_key())
        .unwrap();
    acceptor.alpn_protocols = vec![b"isoform-link".to_vec()];
    let dialer = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_client_auth_cert(chain, key)
        .unwrap();
    thread::spawn(move || {
        let (near, _) = listener.accept().unwrap();
        let far = TcpStream::connect(to).unwrap();
        let acceptor = rustls::ServerConnection::new(Arc::new(acceptor)).unwrap();
        let dialer = rustls::ClientConnection::new(Arc::new(dialer), "localhost".try_into().unwrap()).unwrap();
        let mut near = rustls::StreamOwned::new(acceptor, near);
        let mut far = rustls::StreamOwned::new(dialer, far);
        for stream in [&near.sock, &far.sock] {
            stream.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
        }
        let mut buffer = [0; 1000];
        loop {
            for direction in 0..2 {
                let came = if direction == 0 { near.read(&mut buffer) } else { far.read(&mut buffer) };
                let count = match came {
                    Ok(0) => return,
                    Ok(count) => count,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
                    Err(_) => return,
                };
                let other: &mut dyn Write = if direction == 0 { &mut far } else { &mut near };
                if other.write_all(&buffer[..count]).is_err() {
                    return;
                }
            }
        }
    });
    address
}

#[test]
fn who_hands_on_between_two_connections_is_found_out() {
    let authority = Authority::new();
    let (here, there) = (authority.node("a", 1), authority.node("b", 2));
    let channel = here.create::<Field>("fields").unwrap();
    assert!(there.open(channel.id().to_string()).is_ok());
    let own = std::fs::read_to_string(authority.issue("c", 3, 3000)).unwrap();
    let middle = man_in_the_middle(port(&here), &own);
    let error = refusal(&there, &format!("iso://{middle}/fields"));
    assert!(error.contains(".proof: expected"), "{error}");
}
