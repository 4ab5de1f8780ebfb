//! The session in `vectors/channel/`: it has every kind of frame, and is what nodes say to each other. Nothing here writes
//! it: that is `cargo run -p isoform-channel-proto --example write-session`.

mod session;

use isoform_channel_proto::{FrameKind, Greetings, HEADER, Header, Hello, Key, KeyName, SharedKey, Side};
use isoform_core::Code;

fn vector() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/channel/session.txt");
    std::fs::read_to_string(path).expect("the vector")
}

/// The pieces of a session: who said it, what it is, and its bytes.
fn pieces(text: &str) -> Vec<(String, String, Vec<u8>)> {
    let mut pieces: Vec<(String, String, Vec<u8>)> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let Some(row) = line.strip_prefix("  ") else {
            let (who, what) = line.split_once(' ').expect("who, and what");
            pieces.push((who.into(), what.into(), Vec::new()));
            continue;
        };
        let (hex, times) = row.split_once("  x ").unwrap_or((row, "1"));
        let bytes = hex.split(' ').map(|byte| u8::from_str_radix(byte, 16).expect("two digits"));
        let bytes: Vec<u8> = bytes.collect();
        let all = pieces.last_mut().expect("a title");
        (0..times.parse().expect("how often")).for_each(|_| all.2.extend(&bytes));
    }
    pieces
}

#[test]
fn each_piece_is_what_its_title_says() {
    let mut seen = Vec::new();
    for (who, what, bytes) in pieces(&vector()) {
        if what == "Hello" {
            let (hello, length) = Hello::parse(&bytes).unwrap().unwrap();
            assert_eq!((length, hello.to_bytes()), (bytes.len(), bytes), "{who}");
            continue;
        }
        let header = Header::parse(bytes.first_chunk().expect("a header")).unwrap();
        assert_eq!((format!("{:?}", header.kind.unwrap()), header.extent()), (what, bytes.len()));
        seen.extend(header.kind);
    }
    let missing: Vec<&FrameKind> = FrameKind::ALL.iter().filter(|kind| !seen.contains(kind)).collect();
    assert!(missing.is_empty(), "the session has no {missing:?}");
}

#[test]
fn nodes_say_and_understand_what_the_vector_says() {
    let said = session::text(&session::session());
    let (said, meant) = (pieces(&said), pieces(&vector()));
    for ((who, what, said), (by, kind, meant)) in said.iter().zip(&meant) {
        assert_eq!((who, what), (by, kind));
        // Why something is refused may be said in other words.
        let is_text = matches!(&**what, "Refused" | "Decline");
        assert!(said == meant || is_text, "{who} {what}: {said:02x?}, and the vector has {meant:02x?}");
    }
    assert_eq!(said.len(), meant.len());
}

#[test]
fn one_source_is_offered_with_the_reason_why_nobody_may_subscribe() {
    // Behind the identity and the source.
    let offers = pieces(&vector()).into_iter().filter(|(_, what, _)| what == "Offer");
    let codes: Vec<u16> =
        offers.map(|(.., bytes)| u16::from_le_bytes([bytes[HEADER + 20], bytes[HEADER + 21]])).collect();
    assert_eq!(codes.iter().filter(|&&code| code == Code::Forbidden as u16).count(), 1);
    assert!(codes.iter().filter(|&&code| code == 0).count() >= 2);
}

#[test]
fn both_sides_prove_who_they_are() {
    let session = pieces(&vector());
    let piece = |who: &str, what: &str| {
        let is_it = |(by, kind, _): &&(String, String, Vec<u8>)| by == who && kind == what;
        session.iter().find(is_it).expect("a piece of the handshake").2.clone()
    };
    let [dialer, acceptor] = ["dialer", "acceptor"].map(|who| piece(who, "Hello"));
    let [unknown, key] = [4, 5].map(|byte| SharedKey::new([byte; 32]));
    let names = |hello: &[u8]| Hello::parse(hello).unwrap().unwrap().0.keys;
    let none = KeyName::NONE;
    assert_eq!(names(&dialer), [unknown.name(), key.name(), none, none]);
    assert_eq!(names(&acceptor), [key.name(), none, none, none]);
    let tag = |byte: u8| {
        let key = blake3::derive_key("Isoform 2026 shared key tag", &[byte; 32]);
        blake3::keyed_hash(&key, &dialer[..120]).as_bytes()[..8].to_vec()
    };
    assert_eq!(dialer[120..152], [tag(4), tag(5), vec![0; 16]].concat());
    assert_eq!(acceptor[120..152], [0; 32]);
    let greetings = Greetings { binding: [0; 32], dialer: &dialer, acceptor: &acceptor };
    for (who, side, hello, seed) in [("dialer", Side::Dialer, &dialer, 2), ("acceptor", Side::Acceptor, &acceptor, 1)] {
        let (hello, _) = Hello::parse(hello).unwrap().unwrap();
        let proof: [u8; 96] = piece(who, "Proof")[HEADER..].try_into().expect("96 bytes");
        let (signature, shared) = proof.split_first_chunk().expect("64 bytes");
        greetings.check(side, &hello.public, signature).unwrap();
        assert_eq!(hello.node(), Key::from_seed([seed; 32]).id());
        key.check(&greetings, side, shared.try_into().expect("32 bytes")).unwrap();
    }
}
