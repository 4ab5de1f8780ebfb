//! How records of a format are sent, by what it costs: from where they lie, in runs between their gaps, or copied.
//!
//! `gather` goes the way. What it asks of the runs is what `outline` says of them: they are the bytes of fields.

use super::outline::{Gap, Outline};

/// From so many bytes on, a block is sent from where it lies. A smaller one is copied together with its neighbours: an
/// entry more in a vector of buffers costs a system call about as much as copying this. (Random records of tests are small.)
pub(super) const BY_REFERENCE: usize = if cfg!(test) { 5 } else { 1024 };
/// What stands for gaps between runs that are sent from where they lie.
pub(super) static ZEROS: [u8; 256] = [0; 256];

/// How records of a format are sent. Decided once.
#[derive(Debug, PartialEq)]
pub(super) enum Way {
    /// Without slots and gaps: from where they lie.
    Whole,
    /// With few gaps: the runs between them from where they lie, and zeros in between.
    Runs(Box<[Run]>),
    /// Copied, gaps cleared.
    Copied,
    /// With slots.
    Walked,
}

/// A part of a record that is sent in runs.
#[derive(Debug, PartialEq)]
pub(super) enum Run {
    /// A gap of so many bytes.
    Zeros(usize),
    /// Fields at this offset, of so many bytes.
    Fields(usize, usize),
}

impl Way {
    /// The way of the records of an outline.
    pub(super) fn of(outline: &Outline) -> Way {
        if !outline.slots.is_empty() {
            return Way::Walked;
        }
        match outline.runs() {
            Some(runs) if outline.gaps.is_empty() => {
                debug_assert_eq!(runs, [(0, outline.size)]);
                Way::Whole
            }
            Some(runs) => {
                let longest =
                    outline.gaps.list.iter().map(|gap| if let Gap::Bytes { len, .. } = gap { *len } else { 0 }).max();
                let few = outline.size >= BY_REFERENCE * (runs.len() + outline.gaps.list.len());
                let short = longest.is_none_or(|len| len <= ZEROS.len());
                if few && short { Way::Runs(parts(&runs, outline.size)) } else { Way::Copied }
            }
            None => Way::Copied,
        }
    }
}

/// The whole of a record of `size` bytes, of which these runs are fields.
fn parts(runs: &[(usize, usize)], size: usize) -> Box<[Run]> {
    let mut parts = Vec::new();
    let mut end = 0;
    for &(offset, len) in runs {
        parts.extend([Run::Zeros(offset - end), Run::Fields(offset, len)]);
        end = offset + len;
    }
    parts.push(Run::Zeros(size - end));
    parts.retain(|part| *part != Run::Zeros(0));
    parts.into()
}
