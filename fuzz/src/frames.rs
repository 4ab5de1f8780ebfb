//! Frames of a stranger whose handshake nothing was wrong with.

/// The input is a few bytes that choose how it is said, and frames.
pub fn check(input: &[u8]) {
    isoform_hostile::links::frames(input);
}
