//! The words of types: which kinds they stand for, and how a type is printed.

use super::cursor::Quoted;
use super::types::{Kind, Length, Type, Width};
use crate::format::FloatKind;
use std::fmt;

/// The kind that words stand for, which are separated by single spaces.
pub(super) fn known_kind(words: &str) -> Option<Kind> {
    if let Some(part) = words.strip_prefix("complex ").or_else(|| words.strip_suffix(" complex")) {
        return match known_real(part)? {
            Kind::Float { kind, width } => Some(Kind::Complex { kind, width }),
            Kind::LongDouble { .. } => Some(Kind::LongDouble { complex: true }),
            _ => None,
        };
    }
    known_real(words)
}

fn known_real(words: &str) -> Option<Kind> {
    use Width::{Bytes, Long, Open, Pointer};
    let integer = |signed, width| Kind::Integer { signed, width };
    let float = |kind, width| Kind::Float { kind, width };
    let symbols = Box::default();
    Some(match words {
        "integer" | "signed integer" => integer(true, Open),
        "unsigned integer" | "unsigned" => integer(false, Open),
        "float" => float(FloatKind::Ieee, Open),
        "bfloat" => float(FloatKind::Brain, Open),
        "x87" => float(FloatKind::X87, Open),
        "double-double" => float(FloatKind::Double2, Open),
        "char" => Kind::Char,
        "boolean" => Kind::Boolean { width: Open },
        "enumeration" | "enum" => Kind::Enumeration { signed: true, width: Open, symbols },
        "unsigned enumeration" | "unsigned enum" => Kind::Enumeration { signed: false, width: Open, symbols },
        "string" => Kind::String,

        "i8" | "int8_t" | "signed char" => integer(true, Bytes(1)),
        "i16" | "int16_t" | "short" | "short int" | "signed short" | "signed short int" => integer(true, Bytes(2)),
        "i32" | "int32_t" | "int" | "signed int" | "signed" => integer(true, Bytes(4)),
        "i64" | "int64_t" | "long long" | "long long int" | "signed long long" | "signed long long int" => {
            integer(true, Bytes(8))
        }
        "i128" | "__int128" => integer(true, Bytes(16)),
        "long" | "long int" | "signed long" | "signed long int" => integer(true, Long),
        "ssize_t" | "ptrdiff_t" | "intptr_t" | "isize" => integer(true, Pointer),

        "u8" | "uint8_t" | "unsigned char" => integer(false, Bytes(1)),
        "u16" | "uint16_t" | "unsigned short" | "unsigned short int" => integer(false, Bytes(2)),
        "u32" | "uint32_t" | "unsigned int" => integer(false, Bytes(4)),
        "u64" | "uint64_t" | "unsigned long long" | "unsigned long long int" => integer(false, Bytes(8)),
        "u128" | "unsigned __int128" => integer(false, Bytes(16)),
        "unsigned long" | "unsigned long int" => integer(false, Long),
        "size_t" | "uintptr_t" | "usize" => integer(false, Pointer),

        "f16" => float(FloatKind::Ieee, Bytes(2)),
        "f32" => float(FloatKind::Ieee, Bytes(4)),
        "f64" | "double" => float(FloatKind::Ieee, Bytes(8)),
        "f128" => float(FloatKind::Ieee, Bytes(16)),
        "bf16" => float(FloatKind::Brain, Bytes(2)),
        "long double" => Kind::LongDouble { complex: false },
        "bool" | "_Bool" => Kind::Boolean { width: Bytes(1) },
        _ => return None,
    })
}

/// Whether a word would be read as a number where a name could stand.
pub(super) fn is_number(word: &str) -> bool {
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
    match (kind, width) {
        (FloatKind::Ieee, Width::Bytes(size @ (2 | 4 | 8 | 16))) => write!(f, "f{}", 8 * u32::from(size)),
        (FloatKind::Brain, Width::Bytes(2)) => f.write_str("bf16"),
        _ => with_size(f, kind.word(), width),
    }
}

fn with_size(f: &mut fmt::Formatter<'_>, words: &str, width: Width) -> fmt::Result {
    match width {
        Width::Bytes(size) => write!(f, "{words}({size})"),
        Width::Open | Width::Long | Width::Pointer => f.write_str(words),
    }
}
