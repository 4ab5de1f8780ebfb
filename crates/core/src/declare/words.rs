//! The words that a type is written in, and the kinds that they stand for.

use super::types::{Kind, Width};
use crate::format::FloatKind;

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
    let symbols = Box::default();
    Some(match words {
        "integer" | "signed integer" => integer(true, Open),
        "unsigned integer" | "unsigned" => integer(false, Open),
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

        "double" => Kind::Float { kind: FloatKind::Ieee, width: Bytes(8) },
        "long double" => Kind::LongDouble { complex: false },
        "bool" | "_Bool" => Kind::Boolean { width: Bytes(1) },
        _ => return known_float(words),
    })
}

fn known_float(words: &str) -> Option<Kind> {
    let width = |kind: FloatKind| match kind.slots().iter().find(|slot| slot.word == Some(words)) {
        Some(slot) => Some(Width::Bytes(slot.size)),
        None => (kind.word() == words).then_some(Width::Open),
    };
    FloatKind::ALL.into_iter().find_map(|kind| Some(Kind::Float { kind, width: width(kind)? }))
}
