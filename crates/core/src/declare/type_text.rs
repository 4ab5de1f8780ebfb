//! The text of a field's type: one parser and one printer, for field lists, tables, shapes, tools and tests.
//!
//! ```text
//! type      = element [ "(" bytes ")" ] { "[" dimension "]" } [ "*" ]
//! element   = the papers' words: integer, unsigned integer, float, bfloat, x87, double-double, complex float, char,
//!             boolean, enumeration{red=0,green=1}, unsigned enumeration{..}, string
//!           | C's: int, unsigned long, double, long double, bool, size_t, char*, uint32_t ..
//!           | of a fixed size: i8 .. i128, u8 .. u128, f16, bf16, f32, f64, f128
//!           | the name of a structure
//! dimension = a number | the name of an integer field
//! ```
//!
//! An array with a dimension that is a field is always behind a pointer; a final `*` puts anything else behind one.
//! Words such as `integer` and `long` leave their size open: a field list has it in a column of its own, and a shape
//! takes it from the layout. A name that could be read as something else is written in double quotes.

use super::cursor::{Cursor, Quoted};
use super::types::{Kind, Length, Type, Width};
use super::words::known_kind;
use crate::error::{Error, Result};
use crate::format::FloatKind;
use std::fmt;
use std::str::FromStr;

impl FromStr for Type {
    type Err = Error;

    fn from_str(text: &str) -> Result<Type> {
        let mut cursor = Cursor::new(text);
        let result = Type::read(&mut cursor)?;
        cursor.skip_space();
        match cursor.rest() {
            "" => Ok(result),
            _ if result.pointer => Err(cursor.fault("the end after `*`")),
            _ => Err(cursor.fault("`[`, `*` or the end")),
        }
    }
}

impl Type {
    pub(super) fn read(cursor: &mut Cursor) -> Result<Type> {
        let kind = Kind::read(cursor)?;
        let mut dims = Vec::new();
        cursor.skip_space();
        while cursor.take('[') {
            dims.push(Length::read(cursor)?);
            cursor.expect(']')?;
            cursor.skip_space();
        }
        let mut result = Type { kind, dims: dims.into(), pointer: false };
        if cursor.rest().starts_with('*') && result.is_indirect() {
            return Err(cursor.fault("no `*`, since an array whose length is a field is behind a pointer already"));
        }
        result.pointer = cursor.take('*');
        Ok(result)
    }
}

impl Length {
    fn read(cursor: &mut Cursor) -> Result<Length> {
        cursor.skip_space();
        let start = cursor.at();
        if let Some(name) = cursor.quoted()? {
            return Ok(Length::Field(name.into()));
        }
        match cursor.word() {
            "" => Err(cursor.fault("a number or the name of an integer field")),
            word if is_number(word) => match word.parse() {
                Ok(n) => Ok(Length::Fixed(n)),
                Err(_) => Err(cursor.fault_at(start, "a dimension that can be addressed")),
            },
            word => Ok(Length::Field(word.into())),
        }
    }
}

impl Kind {
    fn read(cursor: &mut Cursor) -> Result<Kind> {
        cursor.skip_space();
        if let Some(name) = cursor.quoted()? {
            return Ok(Kind::Structure(name.into()));
        }
        let start = cursor.at();
        let words = read_words(cursor);
        if words == ["struct"] {
            return Ok(Kind::Structure(cursor.name("the name of a structure")?));
        }
        let kind = match (known_kind(&words.join(" ")), &*words) {
            (_, []) => return Err(cursor.fault("a type")),
            (Some(kind), _) => kind,
            (None, ["struct", name] | [name]) => return Ok(Kind::Structure((*name).into())),
            (None, _) => return Err(cursor.fault_between(start, cursor.at(), "a type")),
        };
        kind.read_size(cursor)?.read_symbols(cursor)
    }

    /// Reads a size in parentheses, if there is one.
    fn read_size(self, cursor: &mut Cursor) -> Result<Kind> {
        cursor.skip_space();
        let open = cursor.at();
        if self == Kind::Char && cursor.take('*') {
            return Ok(Kind::String);
        }
        if !cursor.take('(') {
            return Ok(self);
        }
        if self != Kind::Char && self.width() != Some(Width::Open) {
            return Err(cursor.fault_at(open, "no size, since this type has one already"));
        }
        cursor.skip_space();
        let start = cursor.at();
        let size = Some(cursor.word()).filter(|word| is_number(word)).and_then(|word| word.parse().ok());
        let size = size.filter(|&size: &u8| size > 0 && (self != Kind::Char || size == 1));
        let size = size.ok_or_else(|| cursor.fault_at(start, "a size in bytes that this type can have"))?;
        cursor.expect(')')?;
        Ok(self.with_width(Width::Bytes(size)))
    }

    /// Reads the symbols of an enumeration. A symbol without a number has the number of the one before, plus 1.
    fn read_symbols(mut self, cursor: &mut Cursor) -> Result<Kind> {
        let Kind::Enumeration { symbols, .. } = &mut self else { return Ok(self) };
        cursor.expect('{')?;
        let mut list = Vec::new();
        let mut next = Some(0i128);
        loop {
            cursor.skip_space();
            let start = cursor.at();
            let name = cursor.until(|c| c.is_whitespace() || matches!(c, '=' | ',' | '}'));
            if name.is_empty() {
                return Err(cursor.fault("a symbol"));
            }
            cursor.skip_space();
            if cursor.take('=') {
                cursor.skip_space();
                let start = cursor.at();
                let number = cursor.until(|c| c.is_whitespace() || matches!(c, ',' | '}'));
                let digits = number.strip_prefix('-').unwrap_or(number);
                let value = Some(number).filter(|_| is_number(digits)).and_then(|number| number.parse().ok());
                next = Some(value.ok_or_else(|| cursor.fault_at(start, "a number"))?);
            }
            let value = next.ok_or_else(|| cursor.fault_at(start, "a number that is not too large"))?;
            next = value.checked_add(1);
            list.push((name.into(), value));
            cursor.skip_space();
            if !cursor.take(',') {
                break;
            }
        }
        if !cursor.take('}') {
            return Err(cursor.fault("`,` or `}`"));
        }
        *symbols = list.into();
        Ok(self)
    }
}

/// Words up to the first that is followed by `=`, which is what begins after a type in a shape.
fn read_words<'a>(cursor: &mut Cursor<'a>) -> Vec<&'a str> {
    let mut words = Vec::new();
    loop {
        cursor.skip_space();
        let start = cursor.at();
        match cursor.word() {
            "" => return words,
            _ if cursor.rest().trim_start().starts_with('=') => {
                cursor.go_back(start);
                return words;
            }
            word => words.push(word),
        }
    }
}

/// Whether a word could be read as a number in the place of a name.
fn is_number(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one_char = self.kind == Kind::Char && self.pointer && self.dims.is_empty();
        match one_char {
            true => f.write_str("char(1)")?, // since "char*" is a string
            false => fmt::Display::fmt(&self.kind, f)?,
        }
        for dim in &self.dims {
            match dim {
                Length::Fixed(n) => write!(f, "[{n}]")?,
                Length::Field(name) => write!(f, "[{}]", Quoted { name, reserved: is_number(name) })?,
            }
        }
        f.write_str(if self.pointer { "*" } else { "" })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Integer { signed, width } => integer_words(f, *signed, *width),
            Kind::Float { kind, width } => float_words(f, *kind, *width),
            Kind::Complex { kind, width } => f.write_str("complex ").and_then(|()| float_words(f, *kind, *width)),
            Kind::LongDouble { complex } => f.write_str(if *complex { "complex long double" } else { "long double" }),
            Kind::Char => f.write_str("char"),
            Kind::Boolean { width: Width::Bytes(1) } => f.write_str("bool"),
            Kind::Boolean { width } => with_size(f, "boolean", *width),
            Kind::Enumeration { signed, width, symbols } => {
                with_size(f, if *signed { "enumeration" } else { "unsigned enumeration" }, *width)?;
                for (i, (name, value)) in symbols.iter().enumerate() {
                    write!(f, "{}{name}={value}", if i == 0 { "{" } else { "," })?;
                }
                f.write_str("}")
            }
            Kind::String => f.write_str("string"),
            Kind::Structure(name) => {
                let reserved = known_kind(name).is_some() || matches!(&**name, "struct" | "complex");
                fmt::Display::fmt(&Quoted { name, reserved }, f)
            }
        }
    }
}

fn integer_words(f: &mut fmt::Formatter<'_>, signed: bool, width: Width) -> fmt::Result {
    match (signed, width) {
        (true, Width::Bytes(size @ (1 | 2 | 4 | 8 | 16))) => write!(f, "i{}", 8 * u32::from(size)),
        (false, Width::Bytes(size @ (1 | 2 | 4 | 8 | 16))) => write!(f, "u{}", 8 * u32::from(size)),
        (true, Width::Long) => f.write_str("long"),
        (false, Width::Long) => f.write_str("unsigned long"),
        (true, Width::Pointer) => f.write_str("ssize_t"),
        (false, Width::Pointer) => f.write_str("size_t"),
        (true, _) => with_size(f, "integer", width),
        (false, _) => with_size(f, "unsigned integer", width),
    }
}

fn float_words(f: &mut fmt::Formatter<'_>, kind: FloatKind, width: Width) -> fmt::Result {
    let word = match width {
        Width::Bytes(size) => kind.slot(size).and_then(|slot| slot.word),
        _ => None,
    };
    match word {
        Some(word) => f.write_str(word),
        None => with_size(f, kind.word(), width),
    }
}

fn with_size(f: &mut fmt::Formatter<'_>, words: &str, width: Width) -> fmt::Result {
    match width {
        Width::Bytes(size) => write!(f, "{words}({size})"),
        Width::Open | Width::Long | Width::Pointer => f.write_str(words),
    }
}
