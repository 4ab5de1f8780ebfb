//! What a stranger says who connects to a node, from the first byte on.

/// The input is a few bytes that choose how it is said, and what is said.
pub fn check(input: &[u8]) {
    isoform_hostile::links::handshake(input);
}
