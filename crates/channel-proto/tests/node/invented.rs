//! Members that a liar invents: announcements made from the specification, with keys of the liar's own.

use ed25519_compact::{KeyPair, Seed};
use isoform_channel_proto::Identity;

pub(crate) fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend((bytes.len() as u16).to_le_bytes());
    out.extend(bytes);
}

/// What the node of a number says of itself, made from the specification.
pub(crate) fn announcement(channel: Identity, number: u32, count: u64, has: u32, addresses: &[&str]) -> Vec<u8> {
    let mut seed = [0xee; 32];
    seed[..4].copy_from_slice(&number.to_le_bytes());
    let pair = KeyPair::from_seed(Seed::new(seed));
    let mut said = pair.pk.to_vec();
    said.extend(channel.0);
    said.extend(count.to_le_bytes());
    said.extend(has.to_le_bytes());
    said.extend([0; 4]);
    said.extend((addresses.len() as u16).to_le_bytes());
    addresses.iter().for_each(|address| put(&mut said, address.as_bytes()));
    let signature = pair.sk.sign(blake3::derive_key("Isoform 2026 announcement", &said), None);
    [&signature[..], &said].concat()
}

/// A frame without anything in its header but its kind.
pub(crate) fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_le_bytes().to_vec();
    frame.extend([kind, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    frame.extend(payload);
    frame.resize(frame.len().next_multiple_of(16), 0);
    frame
}

/// A Members frame.
pub(crate) fn members(announcements: &[Vec<u8>]) -> Vec<u8> {
    let mut payload = (announcements.len() as u64).to_le_bytes().to_vec();
    announcements.iter().for_each(|said| put(&mut payload, said));
    frame(13, &payload)
}
