//! Debug information in BTF, which stays in a program that is stripped. Its types are shown as entries of DWARF.

use super::file::unusable;
use super::others::Why;
use super::source::{Arrays, Candidate, Entry, MIN_ENTRIES, Names, Place, Source, behind, text, too_many};
use gimli::constants as dw;
use isoform_core::{Layout, Machine, Result};
use std::collections::HashMap;

const MAGIC: u64 = 0xeb9f;
const BTF: &str = "debug information that is not valid BTF";
/// The version of GCC from which on enumerations state their sign.
const GCC_WITH_SIGNS: u32 = 13;

/// The tables of a program, one for each object file that was linked.
#[derive(Debug)]
pub(super) struct Btf {
    bytes: Vec<u8>,
    machine: Machine,
    /// The size of a long double of this machine.
    long_double: u64,
    tables: Vec<Table>,
    names: Names,
    /// The oldest version of GCC that compiled some of it.
    gcc: Option<u32>,
}

#[derive(Debug)]
struct Table {
    /// The places of the types, of which the first one has the number 1.
    types: Vec<usize>,
    /// How many members some types have that they do not count.
    uncounted: HashMap<usize, usize>,
    /// Where the strings begin and end.
    strings: (usize, usize),
}

/// The head of a type.
struct Type {
    name: usize,
    kind: u64,
    /// The number of its parts.
    count: usize,
    flag: bool,
    /// Its size, or the number of another type.
    size: u64,
    /// Where its parts begin.
    parts: usize,
}

impl Btf {
    /// Reads the section of a file of so many bytes.
    pub(super) fn new(bytes: Vec<u8>, file: usize, layout: &Layout, gcc: Option<u32>) -> Result<Btf> {
        let names = Names::within(bytes.len());
        let long_double = layout.long_double.size.into();
        let mut btf = Btf { bytes, machine: layout.machine(), long_double, tables: Vec::new(), names, gcc };
        let (mut at, mut left) = (0, file.saturating_add(MIN_ENTRIES));
        // A linker may align tables with zeros.
        while let Some(zeros) = btf.bytes[at..].iter().position(|&byte| byte != 0) {
            at = btf.table(at + zeros, left).ok_or_else(|| unusable(BTF))?;
            let types = btf.tables.last().map_or(0, |table| table.types.len());
            left = left.checked_sub(types).ok_or_else(too_many)?;
        }
        for unit in 0..btf.tables.len() {
            btf.index(unit)?;
        }
        Ok(btf)
    }

    /// Reads the table at a place, and returns where it ends. Of its types, it finds at most one more than `most`.
    fn table(&mut self, at: usize, most: usize) -> Option<usize> {
        let word = |n: usize| usize::try_from(self.number(at.checked_add(n)?, 4)?).ok();
        if self.number(at, 2)? != MAGIC {
            return None;
        }
        let head = at.checked_add(word(4)?)?;
        let (begin, strings) = (head.checked_add(word(8)?)?, head.checked_add(word(16)?)?);
        let (end, last) = (begin.checked_add(word(12)?)?, strings.checked_add(word(20)?)?);
        if head < at + 24 || end > last || last > self.bytes.len() {
            return None;
        }
        let (mut types, mut uncounted) = (Vec::<usize>::new(), HashMap::new());
        let (mut place, mut is_record) = (begin, false);
        while place < end && types.len() <= most {
            let found = self.head(place)?;
            // GCC counts no members whose type BTF lacks, such as `_Float16`, and writes them nevertheless. Their types look
            // like a kind of 0, and would be taken for types with numbers.
            if let (0, true, Some(of)) = (found.kind, is_record && self.gcc.is_some(), types.last()) {
                *uncounted.entry(*of).or_default() += 1;
                place = found.parts;
                continue;
            }
            types.push(place);
            is_record = matches!(found.kind, 4 | 5);
            let parts = match found.kind {
                1 | 14 | 17 => 4,
                3 => 12,
                4 | 5 | 15 | 19 => 12 * found.count,
                6 | 13 => 8 * found.count,
                0 | 2 | 7..=12 | 16 | 18 => 0,
                _ => return None,
            };
            place = found.parts.checked_add(parts)?;
        }
        self.tables.push(Table { types, uncounted, strings: (strings, last) });
        Some(last)
    }

    fn index(&mut self, unit: usize) -> Result<()> {
        for number in 1..=self.tables[unit].types.len() {
            let at = Place { unit, offset: number };
            let Some(found) = self.find(at) else { continue };
            let Some(name) = self.text(unit, found.name) else { continue };
            let candidate = Candidate { at, line: number as u64 };
            match self.plain(at) {
                Some(Type { kind: 4, .. }) => self.names.add(name, candidate)?,
                Some(Type { kind: 5, .. } | Type { kind: 7, flag: true, .. }) => {
                    self.names.leave_out(name, Why::Union, candidate)?
                }
                Some(Type { kind: 7, .. }) => self.names.leave_out(name, Why::Declared, candidate)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// The type of a place, or the one behind a typedef there.
    fn plain(&self, at: Place) -> Option<Type> {
        behind(at, |next| {
            let found = self.find(next)?;
            let is_behind = found.kind == 8 || next != at && matches!(found.kind, 9..=11 | 18);
            Some(if is_behind { Err(self.other(at.unit, found.size)) } else { Ok(found) })
        })
    }

    fn other(&self, unit: usize, number: u64) -> Place {
        Place { unit, offset: usize::try_from(number).unwrap_or(usize::MAX) }
    }

    fn find(&self, at: Place) -> Option<Type> {
        let Table { types, uncounted, .. } = &self.tables[at.unit];
        let place = types.get(at.offset.checked_sub(1)?)?;
        let mut found = self.head(*place)?;
        found.count += uncounted.get(place).unwrap_or(&0);
        Some(found)
    }

    fn head(&self, at: usize) -> Option<Type> {
        let info = self.number(at.checked_add(4)?, 4)?;
        Some(Type {
            name: usize::try_from(self.number(at, 4)?).ok()?,
            kind: info >> 24 & 31,
            count: (info & 0xffff) as usize,
            flag: info >> 31 == 1,
            size: self.number(at.checked_add(8)?, 4)?,
            parts: at.checked_add(12)?,
        })
    }

    fn number(&self, at: usize, size: usize) -> Option<u64> {
        Some(self.machine.read(self.bytes.get(at..at.checked_add(size)?)?))
    }

    fn text(&self, unit: usize, offset: usize) -> Option<Box<str>> {
        let (begin, end) = self.tables[unit].strings;
        text(self.bytes.get(begin.checked_add(offset)?..end)?)
    }

    /// The entry of a type, and its parts.
    fn entries(&self, at: Place, then: &mut dyn FnMut(Entry) -> Result<bool>) -> Option<Result<()>> {
        let found = self.find(at)?;
        let tag = match found.kind {
            1 | 16 => dw::DW_TAG_base_type,
            2 => dw::DW_TAG_pointer_type,
            3 => dw::DW_TAG_array_type,
            4 | 7 => dw::DW_TAG_structure_type,
            5 => dw::DW_TAG_union_type,
            6 | 19 => dw::DW_TAG_enumeration_type,
            8 => dw::DW_TAG_typedef,
            9..=11 | 18 => dw::DW_TAG_const_type,
            0 => dw::DW_TAG_unspecified_type,
            _ => dw::DW_TAG_subroutine_type,
        };
        let mut entry = Entry::new(at, tag, 0);
        entry.name = self.text(at.unit, found.name);
        entry.line = at.offset as u64;
        match found.kind {
            1 => {
                let about = self.number(found.parts, 4)?;
                entry.size = Some(found.size);
                if about & 0xff != found.size.checked_mul(8)? || about >> 16 & 0xff != 0 {
                    entry.odd = Some("a bit-field");
                }
                let is_char = entry.name.as_deref() == Some("char");
                entry.encoding = Some(match about >> 24 {
                    _ if is_char => dw::DW_ATE_unsigned_char,
                    4 => dw::DW_ATE_boolean,
                    about if about & 1 == 1 => dw::DW_ATE_signed,
                    _ => dw::DW_ATE_unsigned,
                });
            }
            16 => {
                // GCC rounds the 12 bytes of the i386's long double up to 16.
                let is_long = entry.name.as_deref() == Some("long double") && found.size > 8;
                let is_long_complex = entry.name.as_deref() == Some("complex long double") && found.size > 16;
                let is_complex = entry.name.as_deref().is_some_and(|name| name.contains("omplex"));
                entry.size = Some(match (is_long, is_long_complex) {
                    (true, _) => self.long_double,
                    (_, true) => 2 * self.long_double,
                    _ => found.size,
                });
                entry.encoding = Some(if is_complex { dw::DW_ATE_complex_float } else { dw::DW_ATE_float });
            }
            3 => entry.kind = Some(self.other(at.unit, self.number(found.parts, 4)?)),
            4..=6 | 19 => entry.size = Some(found.size),
            2 | 8..=11 | 18 => entry.kind = Some(self.other(at.unit, found.size)).filter(|_| found.size != 0),
            _ => {}
        }
        let mut go = match then(entry) {
            Ok(go) => go,
            Err(error) => return Some(Err(error)),
        };
        let (parts, size) = match found.kind {
            3 => (1, 12),
            4 | 19 => (found.count, 12),
            6 => (found.count, 8),
            _ => (0, 0),
        };
        for part in 0..parts {
            if !go {
                break;
            }
            let place = found.parts.checked_add(size * part)?;
            let entry = self.part(at, &found, place)?;
            go = match then(entry) {
                Ok(go) => go,
                Err(error) => return Some(Err(error)),
            };
        }
        Some(Ok(()))
    }

    /// A part of a type: a member, a symbol, or the length of an array.
    fn part(&self, of: Place, found: &Type, place: usize) -> Option<Entry> {
        let word = |n: usize| self.number(place.checked_add(n)?, 4);
        let name = self.text(of.unit, usize::try_from(word(0)?).ok()?);
        let mut entry = Entry::new(of, dw::DW_TAG_member, 1);
        match found.kind {
            3 => (entry.tag, entry.count) = (dw::DW_TAG_subrange_type, Some(word(8)?.into())),
            4 => {
                entry.name = name;
                entry.kind = Some(self.other(of.unit, word(4)?)).filter(|to| to.offset != 0);
                let (bits, offset) = match found.flag {
                    true => (word(8)? >> 24, word(8)? & 0xff_ffff),
                    false => (0, word(8)?),
                };
                entry.offset = Some(offset / 8);
                entry.bits = Some(bits).filter(|bits| *bits != 0);
                if offset % 8 != 0 {
                    entry.odd = Some("a bit-field");
                }
                if entry.kind.is_none() {
                    entry.odd = Some("a type that BTF does not state");
                }
            }
            6 => {
                (entry.tag, entry.name) = (dw::DW_TAG_enumerator, name);
                let (value, is_signed) = (word(4)?, found.flag || self.gcc.is_some_and(|gcc| gcc < GCC_WITH_SIGNS));
                // Without a sign, one of 8 bytes may stand for a number beyond the signed ones.
                let is_known = found.flag || found.size <= 4 || value >> 31 == 0;
                entry.value = Some(if is_signed { (value as u32 as i32).into() } else { value.into() });
                entry.value = entry.value.filter(|_| is_known);
            }
            _ => {
                (entry.tag, entry.name) = (dw::DW_TAG_enumerator, name);
                let value = word(8)? << 32 | word(4)?;
                entry.value = Some(if found.flag { (value as i64).into() } else { value.into() });
            }
        }
        Some(entry)
    }
}

impl Source for Btf {
    fn names(&self) -> &Names {
        &self.names
    }

    /// The table and the number of the type: BTF states no lines of types.
    fn place(&self, candidate: &Candidate) -> String {
        format!("{}:{}", candidate.at.unit + 1, candidate.line)
    }

    fn arrays(&self, _: Place) -> Arrays {
        Arrays::FromZero
    }

    fn doubt(&self) -> Option<&'static str> {
        self.gcc.map(|_| "an array of several dimensions in BTF of GCC, which versions of it write in different orders")
    }

    fn each(&self, at: Place, then: &mut dyn FnMut(Entry) -> Result<bool>) -> Result<()> {
        self.entries(at, then).unwrap_or_else(|| Err(unusable(BTF)))
    }
}
