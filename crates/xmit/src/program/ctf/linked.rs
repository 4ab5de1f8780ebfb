//! Sizes of structs in CTF that a linker wrote.
//!
//! A linker makes a struct as large as its members reach, and takes each pointer for 8 bytes, each enumeration for 4, and a
//! `long double` for what GCC states, which is rounded up. It keeps what is larger. So a struct that is larger than its members has the size
//! that GCC stated only if the linker's members do not reach its end. Enumerations lose their size: in an array, each may have had one
//! byte; alone, one is taken for the 4 bytes that it almost always has.

use super::{Ctf, OWN, Place, Type, member};

/// What such a size is. The object file has the right one.
pub(super) const DOUBT: &str = "a struct whose size in CTF the linker may have changed: take its object file, or -gbtf";
/// How deep types are followed. Deeper ones are refused elsewhere.
const MAX_DEPTH: usize = 64;

/// The bytes of a type: at least those that are known, and those that a linker takes it for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Size {
    least: u64,
    linked: u64,
    is_enumeration: bool,
}

impl Ctf {
    /// Finds the sizes of all types of a dictionary that a linker wrote.
    pub(super) fn measure(&mut self, unit: usize) {
        if !self.list[unit].is_linked {
            return;
        }
        let own = if self.list[unit].has_parent { OWN as usize } else { 0 };
        for number in 1..=self.list[unit].types.len() {
            self.size(Place { unit, offset: own + number }, 0);
        }
    }

    /// Whether the size of a struct may be another one than the program's.
    pub(super) fn is_doubtful(&self, at: Place, stated: u64) -> bool {
        self.sizes.get(&at).is_some_and(|size| size.least < stated)
    }

    fn size(&mut self, at: Place, depth: usize) -> Size {
        if let Some(known) = self.sizes.get(&at) {
            return *known;
        }
        if depth > MAX_DEPTH {
            return Size::default();
        }
        // A type that has itself as a member is as large as the others.
        self.sizes.insert(at, Size::default());
        let size = self.measured(at, depth).unwrap_or_default();
        self.sizes.insert(at, size);
        size
    }

    fn measured(&mut self, at: Place, depth: usize) -> Option<Size> {
        let (dictionary, found) = self.find(at)?;
        let size = |least, linked| Size { least, linked, is_enumeration: false };
        Some(match found.kind {
            2 => size(self.float(&found, dictionary.number(found.parts, 4)? >> 24), found.size),
            3 => size(self.pointer, 8),
            4 => {
                let (of, count) =
                    (dictionary.number(found.parts, 4)?, dictionary.number(found.parts.checked_add(8)?, 4)?);
                let of = self.size(self.other(at.unit, of), depth + 1);
                let least = if of.is_enumeration && count > 1 { 1 } else { of.least };
                size(least.checked_mul(count)?, of.linked.checked_mul(count)?)
            }
            6 | 7 => {
                let end = self.end(at, &found, depth)?;
                let is_doubtful = end.least < found.size && found.size <= end.linked;
                size(if is_doubtful { end.least } else { found.size }, found.size)
            }
            8 => Size { is_enumeration: true, ..size(found.size, 4) },
            10..=13 => self.size(self.other(at.unit, found.size), depth + 1),
            1 => size(found.size, found.size),
            _ => Size::default(),
        })
    }

    /// Where the last member of a struct or union ends.
    fn end(&mut self, at: Place, found: &Type, depth: usize) -> Option<Size> {
        let mut end = Size::default();
        for part in 0..found.count {
            let place = found.parts.checked_add(member(found).checked_mul(part)?)?;
            let (kind, offset) = self.list[at.unit].member(found, place)?;
            let size = self.size(self.other(at.unit, kind), depth + 1);
            end.least = end.least.max(size.least.checked_add(offset / 8)?);
            end.linked = end.linked.max(size.linked.checked_add(offset / 8)?);
        }
        Some(end)
    }
}
