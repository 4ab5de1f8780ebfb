//! Binary messages of the server (`spec/watch.md`, "Binary messages").

/// An entry of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    pub(crate) kind: u32,
    pub(crate) source: u32,
    pub(crate) sequence: u64,
    /// Since 1970.
    pub(crate) nanoseconds: u64,
    pub(crate) content: &'a [u8],
}

pub(crate) const DESCRIPTION: u32 = 1;
pub(crate) const RECORD: u32 = 2;
pub(crate) const GAP: u32 = 3;
pub(crate) const JOINED: u32 = 4;
pub(crate) const LEFT: u32 = 5;
pub(crate) const REFUSED: u32 = 6;

/// The subscription of a message, and its entries. They end where the message is malformed.
pub(crate) fn entries(message: &[u8]) -> Option<(u32, impl Iterator<Item = Entry<'_>>)> {
    let (head, mut rest) = message.split_at_checked(8)?;
    let subscription = word(head, 0)?;
    let entries = std::iter::from_fn(move || {
        let (head, behind) = rest.split_at_checked(32)?;
        let length = usize::try_from(long(head, 24)?).ok()?;
        let (content, behind) = behind.split_at_checked(length)?;
        rest = behind.get(length.next_multiple_of(8) - length..).unwrap_or(&[]);
        Some(Entry {
            kind: word(head, 0)?,
            source: word(head, 4)?,
            sequence: long(head, 8)?,
            nanoseconds: long(head, 16)?,
            content,
        })
    });
    Some((subscription, entries))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The number at this place.
pub(crate) fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A message with one entry.
    pub(crate) fn message(subscription: u32, kind: u32, sequence: u64, nanoseconds: u64, content: &[u8]) -> Vec<u8> {
        let mut message = Vec::new();
        message.extend_from_slice(&subscription.to_le_bytes());
        message.extend_from_slice(&[0; 4]);
        message.extend_from_slice(&kind.to_le_bytes());
        message.extend_from_slice(&7_u32.to_le_bytes());
        for number in [sequence, nanoseconds, content.len() as u64] {
            message.extend_from_slice(&number.to_le_bytes());
        }
        message.extend_from_slice(content);
        message.resize(message.len().next_multiple_of(8), 0);
        message
    }

    #[test]
    fn entries_are_read_one_after_another() {
        let mut bytes = message(3, GAP, 5, 6, b"abc");
        bytes.extend_from_slice(&message(3, LEFT, 8, 9, b"")[8..]);
        let (subscription, found) = entries(&bytes).unwrap();
        assert_eq!(subscription, 3);
        let first = Entry { kind: GAP, source: 7, sequence: 5, nanoseconds: 6, content: b"abc" };
        let second = Entry { kind: LEFT, source: 7, sequence: 8, nanoseconds: 9, content: b"" };
        assert_eq!(found.collect::<Vec<_>>(), [first, second]);
    }

    #[test]
    fn what_is_cut_or_too_long_ends_the_message() {
        let whole = message(3, GAP, 5, 6, b"abcdefgh");
        for length in 8..whole.len() {
            assert_eq!(entries(&whole[..length]).unwrap().1.count(), 0, "{length} bytes");
        }
        assert!(entries(&whole[..7]).is_none());
        let mut long = whole;
        long[32..40].fill(0xff);
        assert_eq!(entries(&long).unwrap().1.count(), 0);
    }
}
