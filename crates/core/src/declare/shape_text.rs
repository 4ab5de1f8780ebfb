//! The text of a shape: a line that names each record, and beneath it a line for each field.
//!
//! ```text
//! # What follows a `#` is for people.
//! record Point
//!   x  double
//!   y  double  unit="m"
//! packed record Path
//!   n       int
//!   points  Point[n]
//! record Block  pack=2  align=16
//!   kind    char
//!   level   double  align=8
//!   count   long    align>=4  unit="m"
//! ```
//!
//! `pack` is the largest alignment of the record's fields, and `align` the least alignment of the record. `align=` of a field is
//! its alignment, and `align>=` the least one. `packed` is `pack=1`.
//!
//! Names that could be read as something else, such as a field named `record` or a name that ends in a colon, are written
//! in double quotes.

use super::cursor::{Cursor, Quoted};
use super::declaration::{Align, Declaration, DeclaredField, two_of};
use super::types::{Kind, Type, unknown_structure};
use crate::error::{Code, Error, Result};
use std::collections::HashSet;
use std::fmt;

pub(super) fn parse(text: &str) -> Result<Vec<Declaration>> {
    let mut records: Vec<Declaration> = Vec::new();
    let mut names = HashSet::new();
    for (number, line) in text.lines().enumerate() {
        let in_line = |error: Error| {
            let found = format!("{} in line {}", error.actual(), number + 1);
            error.found(found)
        };
        let in_record = |error: Error| match records.last() {
            Some(record) if !error.path().is_empty() => in_line(error.within(&record.name)),
            _ => in_line(error),
        };
        match read_line(line).map_err(in_record)? {
            Line::Empty => {}
            Line::Record(record) if !names.insert(record.name.clone()) => return Err(two_of(&record.name)),
            Line::Record(record) => records.push(record),
            Line::Field(field) => match records.last_mut() {
                Some(record) => {
                    if let Kind::Structure(inner) = &field.words.kind
                        && (*inner == record.name || !names.contains(inner))
                    {
                        let path = format!("{}.{}", record.name, field.name);
                        return Err(in_line(unknown_structure(inner).at(path)));
                    }
                    record.fields.push(field);
                }
                None => return Err(in_line(Error::new(Code::Declaration).expected("`record NAME`").found("a field"))),
            },
        }
    }
    match records.is_empty() {
        false => Ok(records),
        true => Err(Error::new(Code::Declaration).expected("`record NAME`").found("a text without records")),
    }
}

enum Line {
    Empty,
    Record(Declaration),
    Field(DeclaredField),
}

fn read_line(line: &str) -> Result<Line> {
    let mut cursor = Cursor::new(line);
    if at_end(&mut cursor) {
        return Ok(Line::Empty);
    }
    let quoted = cursor.rest().starts_with('"');
    let name = name(&mut cursor, "the name of a field, or `record`")?;
    let packed = !quoted && &*name == "packed";
    if packed {
        cursor.skip_space();
        let start = cursor.at();
        if cursor.word() != "record" {
            return Err(cursor.fault_at(start, "`record` (a field named packed is written in quotes)"));
        }
    }
    if packed || (!quoted && &*name == "record") {
        let mut record = Declaration::new(self::name(&mut cursor, "the name of a record")?);
        record.pack = packed.then_some(1);
        if !packed && take_word(&mut cursor, "pack") {
            record.pack = Some(read_bytes(&mut cursor)?);
        }
        if take_word(&mut cursor, "align") {
            record.align = Some(read_bytes(&mut cursor)?);
        }
        return match at_end(&mut cursor) {
            true => Ok(Line::Record(record)),
            false => Err(cursor.fault("the end of the line")),
        };
    }
    read_field(&mut cursor, &name).map_err(|error| error.at(&*name))
}

/// Reads a name. A colon after it is a mistake, since other languages write `x: int`.
fn name(cursor: &mut Cursor, expected: &str) -> Result<Box<str>> {
    cursor.skip_space();
    let (start, quoted) = (cursor.at(), cursor.rest().starts_with('"'));
    match cursor.name(expected)? {
        name if !quoted && name.ends_with(':') => Err(cursor.fault_at(start, "a name without a colon")),
        name => Ok(name),
    }
}

/// Reads what follows the name of a field.
fn read_field(cursor: &mut Cursor, name: &str) -> Result<Line> {
    let words = Type::read(cursor)?;
    let align = match take_word(cursor, "align") {
        false => Align::Natural,
        true => {
            cursor.skip_space();
            let is_least = cursor.take('>');
            let bytes = read_bytes(cursor)?;
            if is_least { Align::AtLeast(bytes) } else { Align::Exactly(bytes) }
        }
    };
    let unit = read_unit(cursor)?;
    match (at_end(cursor), &unit) {
        (true, _) => Ok(Line::Field(DeclaredField { name: name.into(), words, unit, align })),
        (false, None) => Err(cursor.fault("`unit=` or the end of the line")),
        (false, Some(_)) => Err(cursor.fault("the end of the line")),
    }
}

/// Steps over a word, if it is next.
fn take_word(cursor: &mut Cursor, word: &str) -> bool {
    cursor.skip_space();
    let start = cursor.at();
    let is_next = cursor.until(|c| !c.is_ascii_alphabetic()) == word;
    if !is_next {
        cursor.go_back(start);
    }
    is_next
}

/// Reads `=` and a number of bytes. [`Declaration::on`] checks that it is an alignment.
fn read_bytes(cursor: &mut Cursor) -> Result<usize> {
    cursor.expect('=')?;
    cursor.skip_space();
    let start = cursor.at();
    cursor.word().parse().map_err(|_| cursor.fault_at(start, "a number of bytes"))
}

fn read_unit(cursor: &mut Cursor) -> Result<Option<Box<str>>> {
    cursor.skip_space();
    let start = cursor.at();
    if cursor.word() != "unit" {
        cursor.go_back(start);
        return Ok(None);
    }
    cursor.expect('=')?;
    cursor.skip_space();
    match cursor.quoted()? {
        Some(unit) => Ok(Some(unit.into())),
        None => Err(cursor.fault("a unit in double quotes")),
    }
}

fn at_end(cursor: &mut Cursor) -> bool {
    cursor.skip_space();
    cursor.rest().is_empty() || cursor.rest().starts_with('#')
}

/// Types stand in a column behind the names, but one long name moves only its own: names that nobody has checked yet
/// may be of any length.
const WIDEST: usize = 40;

impl fmt::Display for Declaration {
    /// The text of the record, as [`parse`] reads it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let packed = if self.pack == Some(1) { "packed " } else { "" };
        write!(f, "{packed}record {}", Quoted { name: &self.name, reserved: self.name.ends_with(':') })?;
        self.pack.iter().filter(|&&most| most != 1).try_for_each(|most| write!(f, "  pack={most}"))?;
        self.align.iter().try_for_each(|least| write!(f, "  align={least}"))?;
        writeln!(f)?;
        let reserved = |name: &str| matches!(name, "record" | "packed") || name.ends_with(':');
        let name = |name| Quoted { name, reserved: reserved(name) }.to_string();
        let names: Vec<String> = self.fields.iter().map(|field| name(&field.name)).collect();
        let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).min(WIDEST);
        for (name, field) in names.iter().zip(&self.fields) {
            write!(f, "  {name:width$}  {}", field.words)?;
            match field.align {
                Align::Natural => {}
                Align::AtLeast(least) => write!(f, "  align>={least}")?,
                Align::Exactly(align) => write!(f, "  align={align}")?,
            }
            if let Some(unit) = &field.unit {
                write!(f, "  unit={}", Quoted { name: unit, reserved: true })?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
