//! How many connections a node has at most, so that strangers cannot take the descriptors that the rest of the program
//! needs.

use crate::transport::system;

/// The most connections of a node, whatever the system allows: with an eighth of them for handshakes, 4032 links.
const MOST: usize = 4608;
/// And the fewest.
const FEWEST: usize = 8;

/// Half of the descriptors that this process may have open: the other half is the program's own.
pub(crate) fn connections() -> usize {
    within(system::descriptors())
}

fn within(descriptors: Option<u64>) -> usize {
    descriptors.map_or(MOST, |descriptors| (descriptors / 2).clamp(FEWEST as u64, MOST as u64) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_what_there_is_stays_with_the_program() {
        for (descriptors, connections) in
            [(None, 4608), (Some(1 << 20), 4608), (Some(1024), 512), (Some(256), 128), (Some(3), 8)]
        {
            assert_eq!(within(descriptors), connections);
        }
        assert!((FEWEST..=MOST).contains(&super::connections()));
    }
}
