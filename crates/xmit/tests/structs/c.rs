//! Structs in C and C++, and a program that writes where each field is and what it has.

use crate::model::{Enumeration, Field, Kind, Leaf, Model, Palette, Record, Value};
use isoform_testing::mutate::Random;
use std::fmt::Write as _;

/// What a compiler of C has, and not every other.
#[derive(Clone, Copy)]
pub(crate) struct C {
    pub(crate) cpp: bool,
    pub(crate) clang: bool,
    pub(crate) narrow: bool,
    pub(crate) debug: Debug,
}

/// Kinds of debug information. BTF and CTF state no dimensions that differ, and no numbers that C does not have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Debug {
    Dwarf,
    Btf,
    Ctf,
}

const SIGNED: fn(u32) -> Kind = |bits| Kind::Integer { signed: true, bits };
const UNSIGNED: fn(u32) -> Kind = |bits| Kind::Integer { signed: false, bits };

impl C {
    pub(crate) fn palette(self) -> Palette {
        let small = self.debug != Debug::Dwarf;
        let long = if self.narrow { 32 } else { 64 };
        let mut numbers = vec![
            ("signed char", SIGNED(8)),
            ("unsigned char", UNSIGNED(8)),
            ("short", SIGNED(16)),
            ("unsigned short", UNSIGNED(16)),
            ("int", SIGNED(32)),
            ("unsigned", UNSIGNED(32)),
            ("long", SIGNED(long)),
            ("volatile unsigned long", UNSIGNED(long)),
            ("long long", SIGNED(64)),
            ("unsigned long long", UNSIGNED(64)),
            ("int8_t", SIGNED(8)),
            ("uint8_t", UNSIGNED(8)),
            ("int64_t", SIGNED(64)),
            ("size_t", UNSIGNED(long)),
            ("wchar_t", SIGNED(32)),
            ("Twice", UNSIGNED(16)),
            ("char", Kind::Char),
            ("char", Kind::Char),
            ("Boolean", Kind::Boolean),
            ("float", Kind::Float),
            ("double", Kind::Float),
            ("Real", Kind::Float),
            ("long double", Kind::Float),
            ("_Complex float", Kind::Complex),
            ("_Complex double", Kind::Complex),
            ("_Complex long double", Kind::Complex),
        ];
        if self.cpp {
            numbers.extend([("char16_t", UNSIGNED(16)), ("char32_t", UNSIGNED(32)), ("bool", Kind::Boolean)]);
        } else {
            numbers.extend([("_Atomic int", SIGNED(32)), ("_Atomic short", SIGNED(16)), ("const int", SIGNED(32))]);
        }
        if !self.narrow && cfg!(target_arch = "x86_64") {
            numbers.extend([
                ("__int128", SIGNED(128)),
                ("unsigned __int128", UNSIGNED(128)),
                ("__float128", Kind::Float),
            ]);
        }
        if !self.cpp && !self.clang && !self.narrow && !small {
            numbers.push(("_Float16", Kind::Float));
        }
        Palette {
            numbers,
            dropped: match (self.cpp, small) {
                (true, _) => &[
                    ("int", ":3"),
                    ("int *", ""),
                    ("union { int i; float f; }", ""),
                    ("int (*", ")(int)"),
                    ("Vector", ""),
                ],
                (_, true) => &[("int", ":3"), ("int *", ""), ("union { int i; float f; }", ""), ("double", "[]")],
                _ => &[
                    ("int", ":3"),
                    ("unsigned", ":31"),
                    ("int *", ""),
                    ("union { int i; float f; }", ""),
                    ("double", "[]"),
                    ("char", "[0]"),
                    ("Vector", ""),
                    ("_Complex int", ""),
                ],
            },
            enumerations: match (self.cpp, small) {
                // GCC leaves symbols that do not fit an `int` out of BTF and CTF. In CTF, the linker takes each for an `int`.
                (_, true) if self.debug == Debug::Ctf => &[("", 32, true), ("", 31, false)],
                (_, true) => &[("", 32, true), ("", 31, false), ("packed", 8, false), ("packed", 16, true)],
                (false, _) => &[
                    ("", 32, true),
                    ("", 32, false),
                    ("", 64, true),
                    ("", 64, false),
                    ("packed", 8, false),
                    ("packed", 16, true),
                ],
                (true, _) => &[
                    ("", 32, true),
                    ("", 32, false),
                    ("", 64, false),
                    (": unsigned char", 8, false),
                    (": signed char", 8, true),
                    (": char", 8, true),
                    ("class : short", 16, true),
                    ("class : unsigned short", 16, false),
                    ("class", 32, true),
                    (": long long", 64, true),
                    ("class : unsigned long long", 64, false),
                ],
            },
            styles: &[
                "packed",
                "aligned(16)",
                "aligned(64)",
                "packed, aligned(2)",
                "pack 1",
                "pack 2",
                "pack 4",
                "alias",
            ],
            notes: &["aligned(8)", "aligned(32)", "aligned(2)", "packed"],
            dims: if small { 1 } else { 3 },
            nameless: true,
            bases: self.cpp,
            bounds: false,
        }
    }

    pub(crate) fn program(self, model: &Model, random: &mut Random) -> String {
        let mut text = HEAD.to_owned();
        model.enumerations.iter().for_each(|enumeration| self.enumeration(&mut text, enumeration));
        model.records.iter().for_each(|record| self.record(&mut text, model, record));
        let mut main =
            String::from("int main(int count, char **arguments) {\n  FILE *file = fopen(arguments[1], \"wb\");\n");
        for record in &model.records {
            let name = &record.name;
            let leaves = model.leaves(random, record);
            writeln!(text, "static void show_{name}(FILE *file) {{").unwrap();
            writeln!(text, "  RECORD({name}, {});", leaves.len()).unwrap();
            leaves.iter().for_each(|leaf| self.leaf(&mut text, model, record, leaf));
            writeln!(text, "  fwrite((char *)&x_{name}, sizeof x_{name}, 1, file);\n}}").unwrap();
            writeln!(main, "  show_{name}(file);").unwrap();
        }
        text + &main + "  return fclose(file);\n}\n"
    }

    fn enumeration(self, text: &mut String, enumeration: &Enumeration) {
        let Enumeration { name, style, symbols } = enumeration;
        let (packed, tag, of) = match *style {
            "packed" => ("__attribute__((packed)) ", "enum ", ""),
            style if style.starts_with("class") => ("", "enum class ", &style[5..]),
            style => ("", "enum ", style),
        };
        write!(text, "{tag}{packed}{name} {of} {{ ").unwrap();
        for (symbol, number) in symbols {
            match *number {
                number if number == i64::MIN.into() => write!(text, "{symbol} = -0x7fffffffffffffffLL - 1, "),
                number if number > i64::MAX.into() => write!(text, "{symbol} = {number}ULL, "),
                number if i32::try_from(number).is_ok() => write!(text, "{symbol} = {number}, "),
                number => write!(text, "{symbol} = {number}LL, "),
            }
            .unwrap();
        }
        writeln!(text, "}};").unwrap();
        if !self.cpp {
            writeln!(text, "typedef enum {name} {name};").unwrap();
        }
    }

    fn record(self, text: &mut String, model: &Model, record: &Record) {
        let Record { name, style, bases, fields, .. } = record;
        let pack = style.strip_prefix("pack ").map_or(String::new(), |to| format!("#pragma pack(push, {to})\n"));
        let (attribute, is_alias) = match *style {
            "alias" => (String::new(), !self.cpp),
            style if !pack.is_empty() || style.is_empty() => (String::new(), false),
            style => (format!("__attribute__(({style})) "), false),
        };
        let bases: Vec<&str> = bases.iter().map(|&base| &*model.records[base].name).collect();
        let bases = if bases.is_empty() { String::new() } else { format!(": {}", bases.join(", ")) };
        let end = if pack.is_empty() { "" } else { "#pragma pack(pop)\n" };
        // What a class has besides fields takes no place.
        let more = if self.cpp {
            format!("static int more_{name}; int next(int a) const {{ return a; }} ")
        } else {
            String::new()
        };
        let fields: String = fields.iter().map(|field| self.field(field)).collect();
        match is_alias {
            true => writeln!(text, "typedef struct {{ {fields}}} {name};"),
            false => writeln!(text, "{pack}struct {attribute}{name} {bases} {{ {fields}{more}}};\n{end}"),
        }
        .unwrap();
        if !self.cpp && !is_alias {
            writeln!(text, "typedef struct {name} {name};").unwrap();
        }
        writeln!(text, "static {name} x_{name} = {{}};").unwrap();
    }

    fn field(self, field: &Field) -> String {
        let Field { name, spelled, kind, dims, note } = field;
        let dims: String = dims.iter().map(|(length, _)| format!("[{length}]")).collect();
        let note = match *note {
            // Clang refuses less than the type needs, and GCC takes it for nothing.
            "" | "aligned(2)" if self.clang => String::new(),
            "" => String::new(),
            note => format!(" __attribute__(({note}))"),
        };
        match kind {
            Kind::Inline(within) => {
                let within: String = within.iter().map(|field| self.field(field)).collect();
                let note = if name.is_empty() { "" } else { &note };
                format!("struct {{ {within}}} {name}{dims}{note}; ")
            }
            Kind::Dropped => format!("{spelled} {name}; "),
            _ => format!("{spelled} {name}{dims}{note}; "),
        }
    }

    fn leaf(self, text: &mut String, model: &Model, record: &Record, leaf: &Leaf<'_>) {
        let mut path = String::new();
        let mut whole = String::new();
        for (field, indices) in &leaf.path {
            if field.name.is_empty() {
                continue;
            }
            let dot = if path.is_empty() { "" } else { "." };
            write!(path, "{dot}{}", field.name).unwrap();
            whole.clone_from(&path);
            indices.iter().for_each(|index| write!(path, "[{index}]").unwrap());
        }
        let spelled = leaf.field.spelled.replace("const ", "").replace("volatile ", "").replace("_Atomic ", "");
        let (value, how) = match (leaf.value, &leaf.field.kind) {
            (Value::Integer(number), Kind::Integer { signed: true, bits: 128 }) => (wide(number as u128), "INT128"),
            (Value::Integer(number), Kind::Integer { bits: 128, .. }) => (wide(number as u128), "UINT128"),
            (Value::Integer(number), Kind::Integer { signed: true, .. }) => {
                (format!("(long long){:#x}ULL", number as u64), "INT")
            }
            (Value::Integer(number), _) => (format!("{:#x}ULL", number as u64), "UINT"),
            (Value::Quarters([re, im]), Kind::Complex) => {
                (format!("({spelled})({re} / 4.0) + ({spelled})({im} / 4.0) * 1.0i"), "COMPLEX")
            }
            (Value::Quarters([number, _]), _) => (format!("{number} / 4.0"), "FLOAT"),
            (Value::Symbol(symbol), Kind::Enumeration(at)) => (self.symbol(&model.enumerations[*at], symbol), "SYMBOL"),
            (Value::Symbol(_), _) => unreachable!("only enumerations have symbols"),
        };
        let name = &record.name;
        writeln!(text, "  LEAF({name}, \"{path}\", {path}, {whole}, {spelled}, {value});").unwrap();
        match (&leaf.field.kind, leaf.value) {
            (Kind::Enumeration(at), Value::Symbol(symbol)) => {
                let of = &model.enumerations[*at];
                let print = |value: String| match of.symbols.iter().any(|(_, number)| *number < 0) {
                    true => format!("INT({value})"),
                    false => format!("UINT({value})"),
                };
                write!(
                    text,
                    "  printf(\"{}=\"); {};",
                    of.symbols[symbol].0,
                    print(format!("READ({name}, {path}, {spelled})"))
                )
                .unwrap();
                for at in 0..of.symbols.len() {
                    write!(text, " printf(\" {}=\"); {};", of.symbols[at].0, print(self.symbol(of, at))).unwrap();
                }
                writeln!(text, " puts(\"\");").unwrap();
            }
            _ => writeln!(text, "  {how}(READ({name}, {path}, {spelled})); puts(\"\");").unwrap(),
        }
    }

    fn symbol(self, of: &Enumeration, at: usize) -> String {
        let symbol = &of.symbols[at].0;
        if of.style.starts_with("class") { format!("{}::{symbol}", of.name) } else { symbol.clone() }
    }
}

fn wide(number: u128) -> String {
    format!("((unsigned __int128){:#x}ULL << 64 | {:#x}ULL)", (number >> 64) as u64, number as u64)
}

const HEAD: &str = r#"
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#ifdef __cplusplus
typedef bool Boolean;
#else
typedef _Bool Boolean;
#endif
typedef unsigned short Once;
typedef const Once Const;
typedef Once Twice;
typedef double Real;
typedef float Vector __attribute__((vector_size(16)));
#define INT(v) printf("%lld", (long long)(v))
#define UINT(v) printf("%llu", (unsigned long long)(v))
#define INT128(v) UINT128(v)
#define UINT128(v) printf("0x%016llx%016llx", (unsigned long long)((unsigned __int128)(v) >> 64), (unsigned long long)(v))
#define FLOAT(v) printf("%.17g", (double)(v))
#define COMPLEX(v) printf("%.17g,%.17g", (double)__real__(v), (double)__imag__(v))
#define RECORD(s, leaves) printf("record %s %lu %d\n", #s, (unsigned long)sizeof(s), leaves)
#define READ(s, element, type) \
  ({ type v; memcpy((char *)&v, (const char *)&x_##s + offsetof(s, element), sizeof v); v; })
#define LEAF(s, path, element, whole, type, value) { \
  type v = (type)(value); \
  memcpy((char *)&x_##s + offsetof(s, element), (const char *)&v, sizeof v); \
  printf("%s %lu %lu ", path, (unsigned long)offsetof(s, element), (unsigned long)sizeof x_##s.whole); }
"#;
