//! The way in which records of a format are sent, chosen by cost: by reference, in runs between their gaps, or as a
//! copy.
//!
//! `gather` sends them. The runs are bytes of fields, as `outline` found them.

use super::outline::{Gap, Outline};

/// A block of at least this many bytes is sent by reference. A smaller one is copied together with its neighbours: for
/// a system call, an additional entry in a vector of buffers costs about as much as copying that many bytes. (The
/// random records of tests are small.)
pub(super) const BY_REFERENCE: usize = if cfg!(test) { 5 } else { 1024 };
/// The bytes for gaps between runs that are sent by reference.
pub(super) static ZEROS: [u8; 256] = [0; 256];

/// The way in which records of a format are sent, decided once.
#[derive(Debug, PartialEq)]
pub(super) enum Way {
    /// Without slots and gaps: by reference.
    Whole,
    /// With few gaps: the runs between them by reference, with zeros in between.
    Runs(Box<[Run]>),
    /// As a copy with cleared gaps.
    Copied,
    /// With slots.
    Walked,
}

/// A part of a record that is sent in runs.
#[derive(Debug, PartialEq)]
pub(super) enum Run {
    /// A gap of this many bytes.
    Zeros(usize),
    /// This many bytes of fields at this offset.
    Fields(usize, usize),
}

impl Way {
    /// The way for the records of an outline.
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

/// The whole record of `size` bytes, in which these runs are fields.
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
