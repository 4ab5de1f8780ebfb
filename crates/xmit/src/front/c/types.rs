//! The words of C's types.

use isoform_core::declare::{Kind, Type, Width};

/// Words before or behind a type that do not change what a record has.
pub(super) const QUALIFIERS: [&str; 23] = [
    "const",
    "__const",
    "__const__",
    "volatile",
    "__volatile",
    "__volatile__",
    "extern",
    "static",
    "inline",
    "__inline",
    "__inline__",
    "register",
    "auto",
    "restrict",
    "__restrict",
    "__restrict__",
    "_Noreturn",
    "noreturn",
    "_Thread_local",
    "thread_local",
    "__thread",
    "constexpr",
    "__extension__",
];

/// Words that make up C's own types.
pub(super) const BASE: [&str; 15] = [
    "char",
    "short",
    "int",
    "long",
    "float",
    "double",
    "signed",
    "__signed__",
    "__signed",
    "unsigned",
    "_Bool",
    "bool",
    "_Complex",
    "__complex__",
    "__int128",
];

/// C's own types, whose words may stand in any order.
pub(super) fn base(words: &[&str]) -> Option<Kind> {
    let words: Vec<&str> = words
        .iter()
        .map(|word| match *word {
            "__signed__" | "__signed" => "signed",
            "__complex__" => "_Complex",
            word => word,
        })
        .collect();
    let count = |word: &str| words.iter().filter(|&&known| known == word).count();
    let (longs, unsigned) = (count("long"), count("unsigned"));
    if count("signed") + unsigned > 1 || words.iter().any(|word| *word != "long" && count(word) > 1) {
        return None;
    }
    let rest: Vec<&str> =
        words.iter().copied().filter(|word| !matches!(*word, "signed" | "unsigned" | "long" | "_Complex")).collect();
    let sign = if unsigned == 1 { "unsigned " } else { "" };
    let complex = if count("_Complex") == 1 { "complex " } else { "" };
    let has_sign = count("signed") + unsigned == 1;
    let text = match (&rest[..], longs) {
        (["char"], 0) if count("signed") == 1 => "signed char".into(),
        (["char"], 0) => format!("{sign}char"),
        (["short"] | ["short", "int"] | ["int", "short"], 0) => format!("{sign}short"),
        (["int"], 0) | ([], 0) if !rest.is_empty() || has_sign => format!("{sign}int"),
        (["int"] | [], 1) => format!("{sign}long"),
        (["int"] | [], 2) => format!("{sign}long long"),
        (["__int128"], 0) => format!("{sign}__int128"),
        (["float"], 0) if !has_sign => format!("{complex}float"),
        (["double"], 0) if !has_sign => format!("{complex}double"),
        (["double"], 1) if !has_sign => format!("{complex}long double"),
        (["_Bool" | "bool"], 0) if !has_sign => "bool".into(),
        _ => return None,
    };
    if !complex.is_empty() && !text.starts_with("complex") {
        return None;
    }
    let kind = text.parse::<Type>().ok()?.kind;
    Some(match kind {
        // A float of C has 4 bytes on every machine.
        Kind::Float { kind, width: Width::Open } => Kind::Float { kind, width: Width::Bytes(4) },
        Kind::Complex { kind, width: Width::Open } => Kind::Complex { kind, width: Width::Bytes(4) },
        kind => kind,
    })
}

/// A type that is the same under its name wherever it is declared: those of `<stdint.h>` and `<stddef.h>`, of the kernel of Linux, and
/// of the BSDs.
pub(super) fn known(word: &str) -> Option<Kind> {
    let of_bits = |word: &str| word.strip_suffix("_t").map(|word| word.strip_prefix('u').unwrap_or(word).to_owned());
    let (plain, fixed) = match word {
        "intmax_t" => ("int64_t".into(), true),
        "uintmax_t" => ("uint64_t".into(), true),
        "size_t" | "ssize_t" | "ptrdiff_t" | "intptr_t" | "uintptr_t" => (word.to_owned(), true),
        _ => match word.strip_prefix("__").and_then(|word| word.split_at_checked(1)) {
            Some(("u", bits @ ("8" | "16" | "32" | "64"))) => (format!("uint{bits}_t"), true),
            Some(("s", bits @ ("8" | "16" | "32" | "64"))) => (format!("int{bits}_t"), true),
            _ => {
                let plain = word.replacen("int_least", "int", 1).replacen("u_int", "uint", 1);
                let fixed = matches!(of_bits(&plain).as_deref(), Some("int8" | "int16" | "int32" | "int64"));
                (plain, fixed)
            }
        },
    };
    fixed.then(|| plain.parse::<Type>().ok()).flatten().map(|found| found.kind)
}

/// Whether a word that the header does not declare looks like one that packs or aligns a struct, rather than like a name that a program
/// gives: a macro of other headers.
pub(super) fn is_suspicious(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    word.starts_with('_')
        || word.chars().all(|c| !c.is_lowercase())
        || ["packed", "align"].iter().any(|part| lower.contains(part))
}

/// Words that other headers have around declarations in C, and that pack none.
const HARMLESS: [&str; 15] = [
    "assert",
    "begin_header",
    "bridging",
    "decl",
    "deprecate",
    "diagnostic",
    "extern",
    "funcproto",
    "namespace",
    "nonnull",
    "nullability",
    "plusplus",
    "protos",
    "visibility",
    "warning",
];

/// Whether a word that stands alone looks like a macro that packs the structs behind it; `None` if its parts do not say.
pub(super) fn may_pack(word: &str) -> Option<bool> {
    let lower = word.to_ascii_lowercase().replace("packet", "").replace("package", "");
    let has = |parts: &[&str]| parts.iter().any(|part| lower.contains(part));
    let is_part = |part: &str| matches!(part, "pop" | "on" | "off");
    match () {
        () if lower.contains("assert") || lower.ends_with("_t") => Some(false),
        () if has(&["pack", "align"]) => Some(true),
        () if has(&HARMLESS) => Some(false),
        () if has(&["push", "begin", "start"]) || lower.split('_').any(is_part) => Some(true),
        () => None,
    }
}

/// Whether the tag of a struct looks like such a macro in front of a struct without a tag.
pub(super) fn is_suspicious_tag(word: &str) -> bool {
    word.chars().all(|c| !c.is_lowercase()) && ["PACKED", "ALIGN"].iter().any(|part| word.contains(part))
        || matches!(word.trim_matches('_'), "packed" | "aligned") && word.starts_with('_')
}

/// Whether attributes begin with a word.
pub(super) fn is_attribute(word: &str) -> bool {
    matches!(
        word,
        "__attribute__" | "__attribute" | "_Alignas" | "alignas" | "__declspec" | "_declspec" | "__asm__" | "asm"
    )
}
