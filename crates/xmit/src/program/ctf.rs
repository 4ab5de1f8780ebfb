//! Debug information in CTF, which stays in a program that is stripped. Its types are shown as entries of DWARF.
//!
//! A section has dictionaries one behind another, or an archive of them: a linker puts the types of which several files declare
//! different ones into dictionaries of their own, whose other types are in their parent.

mod linked;

use super::expand::{self, Budget};
use super::file::unusable;
use super::others::Why;
use super::source::{Arrays, Candidate, Entry, MIN_ENTRIES, Names, Place, Source, behind, text, too_many};
use gimli::constants as dw;
use isoform_core::{ByteOrder, Layout, Machine, Result};
use linked::Size;
use std::collections::HashMap;
use std::ops::Range;

const CTF: &str = "debug information that is not valid CTF";
const MAGIC: u64 = 0xdff2;
/// Archives are little-endian on every machine.
const ARCHIVE: u64 = 0x8b47_f2a4_d762_3eeb;
/// The third version of the format says 4.
const VERSION: u8 = 4;
/// Bytes of a dictionary's head. What follows may be compressed.
const HEAD: usize = 52;
const IS_COMPRESSED: u8 = 1;
/// What only a linker does.
const IS_SORTED: u8 = 4;
const NAMES_ARE_DYNAMIC: u8 = 8;
/// The first number of a type that is in a dictionary with a parent.
const OWN: u64 = 1 << 31;
/// Members state their offset in 64 bits from this size on.
const LARGE: u64 = 1 << 29;

/// The sections of a program with CTF and the names that it shares.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) ctf: Vec<u8>,
    pub(super) strings: Vec<u8>,
    pub(super) dynamic_strings: Vec<u8>,
}

/// The dictionaries of a program.
#[derive(Debug)]
pub(super) struct Ctf {
    list: Vec<Dictionary>,
    names: Names,
    /// Names that dictionaries share with the symbols of the program: those of a linker, and those that stay in it.
    shared: [Vec<u8>; 2],
    /// The size of a long double of this machine.
    long_double: u64,
    /// The size of a pointer of this machine.
    pointer: u64,
    /// The sizes of types that a linker wrote.
    sizes: HashMap<Place, Size>,
    /// How many types there may still be. Few bytes of a compressed dictionary stand for many, and each needs memory.
    left: usize,
}

#[derive(Debug)]
struct Dictionary {
    /// What follows its head, without compression.
    bytes: Vec<u8>,
    /// The byte order of the machine that wrote it.
    order: ByteOrder,
    /// The places of the types, of which the first one has the number 1.
    types: Vec<usize>,
    strings: Range<usize>,
    /// Which of the shared names it uses.
    shared: usize,
    /// The file that was compiled, or a number.
    name: Box<str>,
    /// The dictionary that has the types below [`OWN`].
    parent: Option<usize>,
    has_parent: bool,
    is_linked: bool,
}

/// The head of a type.
struct Type {
    name: u64,
    kind: u64,
    /// The number of its parts.
    count: usize,
    /// Its size, or the number of another type.
    size: u64,
    /// Where its parts begin.
    parts: usize,
}

impl Ctf {
    /// Reads the sections of a file of so many bytes.
    pub(super) fn new(parts: Parts, file: usize, layout: &Layout, budget: &mut Budget) -> Result<Ctf> {
        let names = Names::within(0);
        let shared = [parts.strings, parts.dynamic_strings];
        let long_double = layout.long_double.size.into();
        let (pointer, sizes) = (layout.machine().pointer.into(), HashMap::new());
        let left = file.saturating_add(MIN_ENTRIES);
        let mut ctf = Ctf { list: Vec::new(), names, shared, long_double, pointer, sizes, left };
        let bytes = &*parts.ctf;
        let mut at = 0;
        // A linker may align dictionaries with zeros.
        while let Some(zeros) = bytes[at..].iter().position(|&byte| byte != 0) {
            at += zeros;
            let length = match number(ByteOrder::Little, bytes, at, 8) {
                Some(ARCHIVE) => {
                    ctf.archive(&bytes[at..], budget)?;
                    break;
                }
                _ => ctf.dictionary(&bytes[at..], None, budget)?,
            };
            at += length;
        }
        let all: usize = ctf.list.iter().map(|dictionary| dictionary.bytes.len()).sum();
        ctf.names = Names::within(all + ctf.shared[0].len() + ctf.shared[1].len());
        for unit in 0..ctf.list.len() {
            ctf.index(unit)?;
            ctf.measure(unit);
        }
        Ok(ctf)
    }

    /// Reads the dictionaries of an archive. Those with a parent have the one in the archive that has none.
    fn archive(&mut self, bytes: &[u8], budget: &mut Budget) -> Result<()> {
        let word = |at: usize| number(ByteOrder::Little, bytes, at, 8).and_then(|word| usize::try_from(word).ok());
        let invalid = || unusable(CTF);
        let (count, names, start) = (word(16), word(24), word(32));
        let (count, names, start) =
            (count.ok_or_else(invalid)?, names.ok_or_else(invalid)?, start.ok_or_else(invalid)?);
        let first = self.list.len();
        // Those of a hostile file can overlap.
        let mut left = bytes.len();
        for entry in 0..count {
            let place = || {
                let at = entry.checked_mul(16)?.checked_add(40)?;
                let begin = start.checked_add(word(at.checked_add(8)?)?)?;
                let dictionary = bytes.get(begin.checked_add(8)?..)?.get(..word(begin)?)?;
                Some((dictionary, text(bytes.get(names.checked_add(word(at)?)?..)?)))
            };
            let (dictionary, name) = place().ok_or_else(invalid)?;
            left = left.checked_sub(dictionary.len()).ok_or_else(invalid)?;
            self.dictionary(dictionary, name, budget)?;
        }
        let parent = (first..self.list.len()).find(|&unit| !self.list[unit].has_parent);
        for dictionary in &mut self.list[first..] {
            dictionary.parent = parent.filter(|_| dictionary.has_parent);
        }
        Ok(())
    }

    /// Reads the dictionary at the start, and returns how many bytes it takes.
    fn dictionary(&mut self, bytes: &[u8], name: Option<Box<str>>, budget: &mut Budget) -> Result<usize> {
        let invalid = || unusable(CTF);
        let order = match number(ByteOrder::Little, bytes, 0, 2) {
            Some(MAGIC) => ByteOrder::Little,
            Some(_) if number(ByteOrder::Big, bytes, 0, 2) == Some(MAGIC) => ByteOrder::Big,
            _ => return Err(invalid()),
        };
        let &[_, _, VERSION, flags, ..] = bytes else {
            return Err(invalid().expected("CTF of version 3"));
        };
        let word = |n: usize| number(order, bytes, 4 * n, 4).and_then(|word| usize::try_from(word).ok());
        let place = || {
            let (types, strings, length) = (word(10)?, word(11)?, word(12)?);
            let end = strings.checked_add(length)?;
            (types <= strings).then_some((types, strings..end))
        };
        let (types, strings) = place().ok_or_else(invalid)?;
        let rest = bytes.get(HEAD..).ok_or_else(invalid)?;
        let (rest, used) = match flags & IS_COMPRESSED != 0 {
            true => expand::zlib_at_start(rest, strings.end, budget)?,
            false => (rest.get(..strings.end).ok_or_else(invalid)?.to_vec(), strings.end),
        };
        let number = self.list.len() + 1;
        let mut dictionary = Dictionary {
            bytes: rest,
            order,
            types: Vec::new(),
            strings,
            shared: usize::from(flags & NAMES_ARE_DYNAMIC != 0),
            name: "".into(),
            parent: None,
            has_parent: word(2).is_some_and(|name| name != 0),
            is_linked: flags & (IS_SORTED | NAMES_ARE_DYNAMIC) != 0,
        };
        let own = word(3).and_then(|name| self.text_of(&dictionary, name as u64));
        dictionary.name = name.or(own).unwrap_or_else(|| number.to_string().into());
        dictionary.find(types, self.left).ok_or_else(invalid)?;
        self.left = self.left.checked_sub(dictionary.types.len()).ok_or_else(too_many)?;
        self.list.push(dictionary);
        Ok(HEAD + used)
    }

    fn index(&mut self, unit: usize) -> Result<()> {
        let own = if self.list[unit].has_parent { OWN as usize } else { 0 };
        for number in 1..=self.list[unit].types.len() {
            let at = Place { unit, offset: own + number };
            let Some((_, found)) = self.find(at) else { continue };
            let Some(name) = self.text_of(&self.list[unit], found.name) else { continue };
            let candidate = Candidate { at, line: number as u64 };
            match self.plain(at) {
                Some(Type { kind: 6, .. }) => self.names.add(name, candidate)?,
                // A type that is only declared states its kind; that of a struct may be missing.
                Some(Type { kind: 7, .. } | Type { kind: 9, size: 7, .. }) => {
                    self.names.leave_out(name, Why::Union, candidate)?
                }
                Some(Type { kind: 9, size: 0 | 6, .. }) => self.names.leave_out(name, Why::Declared, candidate)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// The type of a place, or the one behind a typedef there.
    fn plain(&self, at: Place) -> Option<Type> {
        behind(at, |next| {
            let (_, found) = self.find(next)?;
            let is_behind = found.kind == 10 || next != at && matches!(found.kind, 11..=13);
            Some(if is_behind { Err(self.other(next.unit, found.size)) } else { Ok(found) })
        })
    }

    /// The type that a dictionary means by a number.
    fn other(&self, unit: usize, number: u64) -> Place {
        let dictionary = &self.list[unit];
        let unit = match dictionary.has_parent && number < OWN {
            true => dictionary.parent.unwrap_or(usize::MAX),
            false => unit,
        };
        Place { unit, offset: usize::try_from(number).unwrap_or(usize::MAX) }
    }

    fn find(&self, at: Place) -> Option<(&Dictionary, Type)> {
        let dictionary = self.list.get(at.unit)?;
        let own = if dictionary.has_parent { OWN as usize } else { 0 };
        let number = at.offset.checked_sub(own)?.checked_sub(1)?;
        Some((dictionary, dictionary.head(*dictionary.types.get(number)?)?))
    }

    /// A name: of the dictionary, or one that it shares.
    fn text_of(&self, dictionary: &Dictionary, name: u64) -> Option<Box<str>> {
        let at = usize::try_from(name & (OWN - 1)).ok()?;
        match name < OWN {
            true => text(dictionary.bytes.get(dictionary.strings.clone())?.get(at..)?),
            false => text(self.shared[dictionary.shared].get(at..)?),
        }
    }

    /// The entry of a type, and its parts.
    fn entries(&self, at: Place, then: &mut dyn FnMut(Entry) -> Result<bool>) -> Option<Result<()>> {
        let (dictionary, found) = self.find(at)?;
        let tag = match found.kind {
            1 | 2 => dw::DW_TAG_base_type,
            3 => dw::DW_TAG_pointer_type,
            4 => dw::DW_TAG_array_type,
            5 => dw::DW_TAG_subroutine_type,
            6 | 9 => dw::DW_TAG_structure_type,
            7 => dw::DW_TAG_union_type,
            8 => dw::DW_TAG_enumeration_type,
            10 => dw::DW_TAG_typedef,
            11..=13 => dw::DW_TAG_const_type,
            _ => dw::DW_TAG_unspecified_type,
        };
        let mut entry = Entry::new(at, tag, 0);
        entry.name = self.text_of(dictionary, found.name);
        entry.line = at.offset as u64 & (OWN - 1);
        match found.kind {
            1 | 2 => self.number(dictionary, &found, &mut entry)?,
            4 => entry.kind = Some(self.other(at.unit, dictionary.number(found.parts, 4)?)),
            6..=8 => {
                entry.size = Some(found.size);
                if found.kind == 6 && self.is_doubtful(at, found.size) {
                    entry.odd = Some(linked::DOUBT);
                }
            }
            3 | 10..=13 => entry.kind = Some(self.other(at.unit, found.size)).filter(|_| found.size != 0),
            14 => entry.odd = Some("a bit-field"),
            _ => {}
        }
        let (parts, size) = match found.kind {
            4 => (1, 12),
            6 => (found.count, member(&found)),
            8 => (found.count, 8),
            _ => (0, 0),
        };
        let mut go = match then(entry) {
            Ok(go) => go,
            Err(error) => return Some(Err(error)),
        };
        for part in 0..parts {
            if !go {
                break;
            }
            let entry = self.part(at, dictionary, &found, found.parts.checked_add(size * part)?)?;
            go = match then(entry) {
                Ok(go) => go,
                Err(error) => return Some(Err(error)),
            };
        }
        Some(Ok(()))
    }

    /// What is known of a number.
    fn number(&self, dictionary: &Dictionary, found: &Type, entry: &mut Entry) -> Option<()> {
        let about = dictionary.number(found.parts, 4)?;
        let (format, offset, bits) = (about >> 24, about >> 16 & 0xff, about & 0xffff);
        entry.size = Some(found.size);
        if offset != 0 || found.kind == 1 && found.size.checked_mul(8)? != bits {
            entry.odd = Some("a bit-field");
        }
        let is_signed = format & 1 == 1;
        entry.encoding = Some(match (found.kind, format) {
            (1, _) if format & 4 != 0 => dw::DW_ATE_boolean,
            (1, _) if format & 2 != 0 && is_signed => dw::DW_ATE_signed_char,
            (1, _) if format & 2 != 0 => dw::DW_ATE_unsigned_char,
            (1, _) if is_signed => dw::DW_ATE_signed,
            (1, _) => dw::DW_ATE_unsigned,
            (_, 1 | 2 | 6) => dw::DW_ATE_float,
            (_, 3..=5) => dw::DW_ATE_complex_float,
            _ => dw::DwAte(0),
        });
        if found.kind == 2 {
            entry.size = Some(self.float(found, format));
        }
        Some(())
    }

    /// The size of a float. GCC rounds the 12 bytes of the i386's long double up to 16.
    fn float(&self, found: &Type, format: u64) -> u64 {
        match format {
            6 if found.size > 8 => self.long_double,
            5 if found.size > 16 => 2 * self.long_double,
            _ => found.size,
        }
    }

    /// A part of a type: a member, a symbol, or the length of an array.
    fn part(&self, of: Place, dictionary: &Dictionary, found: &Type, place: usize) -> Option<Entry> {
        let word = |n: usize| dictionary.number(place.checked_add(4 * n)?, 4);
        let mut entry = Entry::new(of, dw::DW_TAG_member, 1);
        match found.kind {
            4 => (entry.tag, entry.count) = (dw::DW_TAG_subrange_type, Some(word(2)?.into())),
            6 => {
                entry.name = self.text_of(dictionary, word(0)?);
                let (kind, offset) = dictionary.member(found, place)?;
                entry.kind = Some(self.other(of.unit, kind));
                entry.offset = Some(offset / 8);
                if offset % 8 != 0 {
                    entry.odd = Some("a bit-field");
                }
            }
            _ => {
                (entry.tag, entry.name) = (dw::DW_TAG_enumerator, self.text_of(dictionary, word(0)?));
                // Numbers of 32 bits. In an enumeration of 8 bytes, GCC cuts others to a negative one.
                let value = word(1)? as u32 as i32;
                entry.value = Some(value.into()).filter(|_| value >= 0 || found.size <= 4);
            }
        }
        Some(entry)
    }
}

/// Bytes of a member of a struct.
fn member(of: &Type) -> usize {
    if of.size < LARGE { 12 } else { 16 }
}

impl Dictionary {
    /// Finds the types, which begin here and end where the strings begin: at most one more than `most`.
    fn find(&mut self, mut place: usize, most: usize) -> Option<()> {
        while place < self.strings.start {
            self.types.push(place);
            if self.types.len() > most {
                return Some(());
            }
            let found = self.head(place)?;
            let parts = match found.kind {
                1 | 2 => 4,
                4 => 12,
                5 => 4 * (found.count + found.count % 2),
                6 | 7 => member(&found) * found.count,
                8 | 14 => 8 * if found.kind == 8 { found.count } else { 1 },
                0 | 3 | 9..=13 => 0,
                _ => return None,
            };
            place = found.parts.checked_add(parts)?;
        }
        (place == self.strings.start).then_some(())
    }

    fn head(&self, at: usize) -> Option<Type> {
        let word = |n: usize| self.number(at.checked_add(4 * n)?, 4);
        let (info, size) = (word(1)?, word(2)?);
        let (size, parts) = match size == 0xffff_ffff {
            true => (word(3)? << 32 | word(4)?, at.checked_add(20)?),
            false => (size, at.checked_add(12)?),
        };
        Some(Type { name: word(0)?, kind: info >> 26, count: (info & 0x1ff_ffff) as usize, size, parts })
    }

    /// The type of a member, and its offset in bits.
    fn member(&self, of: &Type, place: usize) -> Option<(u64, u64)> {
        let word = |n: usize| self.number(place.checked_add(4 * n)?, 4);
        Some(match member(of) {
            12 => (word(2)?, word(1)?),
            _ => (word(2)?, word(1)? << 32 | word(3)?),
        })
    }

    fn number(&self, at: usize, size: usize) -> Option<u64> {
        number(self.order, &self.bytes, at, size)
    }
}

fn number(order: ByteOrder, bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    Some(Machine { order, pointer: 8 }.read(bytes.get(at..at.checked_add(size)?)?))
}

impl Source for Ctf {
    fn names(&self) -> &Names {
        &self.names
    }

    /// The file and the number of the type: CTF states no lines.
    fn place(&self, candidate: &Candidate) -> String {
        format!("{}:{}", self.list[candidate.at.unit].name, candidate.line)
    }

    fn arrays(&self, _: Place) -> Arrays {
        Arrays::FromZero
    }

    fn doubt(&self) -> Option<&'static str> {
        Some("an array of several dimensions in CTF, which versions of GCC write in different orders")
    }

    fn each(&self, at: Place, then: &mut dyn FnMut(Entry) -> Result<bool>) -> Result<()> {
        self.entries(at, then).unwrap_or_else(|| Err(unusable(CTF)))
    }
}
