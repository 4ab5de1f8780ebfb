//! Memory for the copies of long bodies: pages of their own, which the system has back when a copy is gone.
//!
//! A copy lives until the last sink has it. For a sink that reads nothing, that is long after the copies of later events are made and gone.
//! In the heap, small things would come to lie in the place of those that are gone. Then the next copies would not fit there, and the
//! heap would grow as long as there is such a sink, although few copies live. New pages cost as much as the copy itself, so a few of those
//! that were let go of are used again.

use isoform::{Aligned, Code, Error, Format, Result, Shared};
use isoform_channel_proto::PAYLOAD;
use memmap2::MmapMut;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// So many bytes are kept to be used again, and so many pieces.
const SPARE_BYTES: usize = 16 << 20;
const SPARE: usize = 16;

/// Pages that nobody uses, the oldest first.
static UNUSED: Mutex<VecDeque<MmapMut>> = Mutex::new(VecDeque::new());

/// Copies a body, which must follow `spec/message.md`.
///
/// # Errors
/// [`Code::BodyLength`] if it is shorter than a record of the format; [`Code::Size`] if there is no memory for it.
pub(crate) fn copied<'b>(format: &Format, length: usize, body: impl Iterator<Item = &'b [u8]>) -> Result<Shared> {
    if length <= PAYLOAD {
        let mut copy = Aligned::new();
        copy.try_reserve(length)?;
        body.for_each(|piece| copy.extend_from_slice(piece));
        return Shared::of_body(format, copy);
    }
    let mut pages = match reused(length) {
        Some(pages) => pages,
        None => MmapMut::map_anon(length).map_err(|_| Error::new(Code::Size).found(format_args!("{length} bytes")))?,
    };
    let mut end = 0;
    for piece in body {
        pages[end..end + piece.len()].copy_from_slice(piece);
        end += piece.len();
    }
    Shared::of_memory(format, Arc::new(Pages { pages: Some(pages), length: end }))
}

/// Unused pages for this many bytes that are not many more.
fn reused(length: usize) -> Option<MmapMut> {
    // In a process that was forked meanwhile, somebody may hold the lock for ever.
    let mut unused = UNUSED.try_lock().ok()?;
    let at = unused.iter().rposition(|pages| (length..=length + length / 4).contains(&pages.len()))?;
    unused.remove(at)
}

/// The copy of a body.
struct Pages {
    /// There are some until this is dropped.
    pages: Option<MmapMut>,
    length: usize,
}

impl AsRef<[u8]> for Pages {
    fn as_ref(&self) -> &[u8] {
        self.pages.as_ref().map_or(&[], |pages| &pages[..self.length])
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // Pages that are too many to be kept would only take the place of others.
        let Some(pages) = self.pages.take().filter(|pages| pages.len() <= SPARE_BYTES) else { return };
        // As in `reused`, nobody waits for the lock: the system has these pages back then.
        let Ok(mut unused) = UNUSED.try_lock() else { return };
        unused.push_back(pages);
        let mut bytes: usize = unused.iter().map(|pages| pages.len()).sum();
        let mut older = Vec::new();
        while (bytes > SPARE_BYTES || unused.len() > SPARE)
            && let Some(oldest) = unused.pop_front()
        {
            bytes -= oldest.len();
            older.push(oldest);
        }
        drop(unused);
        // The system takes them back, and nobody else waits for that.
        drop(older);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isoform::Record;

    #[derive(Record)]
    #[repr(C)]
    struct Level {
        level: f64,
    }

    #[test]
    fn a_long_body_is_copied_and_few_pages_are_kept() {
        let body: Vec<u8> = (0..5 * PAYLOAD + 3).map(|at| (at % 251) as u8).collect();
        let copy = |length: usize| copied(Level::format(), length, body[..length].chunks(1000)).unwrap();
        let copies: Vec<_> = [8, PAYLOAD, PAYLOAD + 1, body.len()].map(copy).into();
        assert!(copies.iter().all(|copy| copy.contiguous() == Some(&body[..copy.len()])));
        assert_eq!(copied(Level::format(), 7, [&body[..7]].into_iter()).unwrap_err().code(), Code::BodyLength);
        let many: Vec<_> = (0..2 * SPARE).map(|_| copy(body.len())).collect();
        drop((copies, many));
        let kept = || UNUSED.lock().unwrap().iter().map(|pages| (pages.as_ptr(), pages.len())).collect::<Vec<_>>();
        let first = kept();
        assert!((1..=SPARE).contains(&first.len()));
        assert!(first.iter().map(|(_, length)| length).sum::<usize>() <= SPARE_BYTES);
        drop(copied(Level::format(), SPARE_BYTES + 1, [&[0; SPARE_BYTES + 1][..]].into_iter()));
        assert_eq!(kept(), first, "a copy that is too long to be kept takes no place");
        // What is used again holds what was copied last, and no more.
        let shorter = copy(body.len() - 1000);
        assert!(first.iter().any(|(at, _)| Some(*at) == shorter.contiguous().map(<[u8]>::as_ptr)));
        assert_eq!(shorter.contiguous(), Some(&body[..body.len() - 1000]));
    }
}
