//! Random bytes for the keys of nodes and the identities of channels.

use isoform::{Code, Error, Result};

/// Random bytes from the operating system.
pub(crate) fn nonce<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    match getrandom::fill(&mut bytes) {
        Ok(()) => Ok(bytes),
        Err(error) => Err(Error::new(Code::Io).found(format_args!("the system has no random bytes: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn each_is_another() {
        let all: HashSet<_> = (0..1000).map(|_| nonce::<16>().unwrap()).collect();
        assert_eq!(all.len(), 1000);
        // Every bit is set in some, and not in others.
        let (ones, zeros) =
            all.iter().map(|it| u128::from_ne_bytes(*it)).fold((0, 0), |(or, nor), it| (or | it, nor | !it));
        assert_eq!((ones, zeros), (u128::MAX, u128::MAX));
    }
}
