//! C headers against the compilers: headers drawn at random, whose sizes, alignments and offsets each compiler that is here asserts.
//!
//! `HEADER_STRUCTS` is how many structs are drawn; `SEED` draws others.

#[path = "compilers/here.rs"]
mod here;

use here::{has, skipped};
use isoform_core::{Element, Layout, Structure};
use isoform_testing::mutate::Random;
use isoform_xmit::{Alone, Declarations, Language};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Command;

/// The compilers, each with the layout of its machine.
const COMPILERS: &[(Layout, &str, &[&str])] = &[
    (Layout::NATIVE, "cc", &[]),
    (Layout::X86_64, "clang-19", &["--target=x86_64-linux-gnu"]),
    (Layout::WINDOWS_X64, "x86_64-w64-mingw32-gcc", &["-mlong-double-64"]),
    (Layout::I386, "i686-linux-gnu-gcc", &[]),
    (Layout::I386, "clang-19", &["--target=i686-linux-gnu"]),
    (Layout::AARCH64, "aarch64-linux-gnu-gcc", &[]),
    (Layout::ARMV7, "arm-linux-gnueabihf-gcc", &[]),
    (Layout::RISCV64, "riscv64-linux-gnu-gcc", &[]),
    (Layout::POWERPC, "powerpc-linux-gnu-gcc", &[]),
    (Layout::POWERPC64, "powerpc64-linux-gnu-gcc", &[]),
    (Layout::POWERPC64LE, "powerpc64le-linux-gnu-gcc", &[]),
    (Layout::S390X, "s390x-linux-gnu-gcc", &[]),
    (Layout::SPARC64, "sparc64-linux-gnu-gcc", &[]),
    (Layout::MIPS, "mips-linux-gnu-gcc", &[]),
];

/// Structs of one header.
const MANY: usize = 200;

fn setting(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn c_compilers_agree_on_headers() {
    let (wanted, seed) = (setting("HEADER_STRUCTS", 400), setting("SEED", 1));
    let compilers: Vec<_> = COMPILERS.iter().filter(|(_, compiler, _)| has(compiler)).collect();
    let missing: Vec<&str> =
        COMPILERS.iter().map(|(_, compiler, _)| *compiler).filter(|compiler| !has(compiler)).collect();
    if !missing.is_empty() {
        skipped(&format!("headers with {}, which are not here", missing.join(", ")));
    }
    let folder = tempfile::tempdir().unwrap();
    let (mut drawn, mut loaded, mut reasons) = (0, 0, BTreeMap::<String, usize>::new());
    for number in 0..wanted.div_ceil(MANY) {
        let header = Header::drawn(Random::of(seed as u64, number as u64), MANY.min(wanted - drawn));
        drawn += header.records.len();
        let read = Declarations::read(Language::C, "drawn.h", &header.text, &mut Alone);
        let declarations = read.unwrap_or_else(|error| panic!("{error}\n{}", header.text));
        for record in &header.records {
            match declarations.shape(&record.name) {
                Ok(_) => loaded += 1,
                Err(error) => *reasons.entry(error.expectation().to_owned()).or_default() += 1,
            }
        }
        for (layout, compiler, options) in &compilers {
            let program = header.program(&declarations, layout);
            let file = folder.path().join("drawn.c");
            std::fs::write(&file, &program).unwrap();
            let mut command = Command::new(compiler);
            command.args(*options).args(["-std=gnu2x", "-w", "-ffreestanding", "-fsyntax-only"]).arg(&file);
            let output = command.output().unwrap();
            let complaints = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{} by {compiler}: {complaints}\n{program}", layout.name);
        }
    }
    let _ = writeln!(
        std::io::stderr(),
        "{drawn} structs, {loaded} of them read, with {} compilers; refused: {reasons:#?}",
        compilers.len()
    );
    assert!(loaded * 10 >= drawn * 9, "{loaded} of {drawn}: {reasons:#?}");
}

/// A struct of a header.
struct Record {
    /// Its name as a record, and in C.
    name: String,
    c: String,
    /// Whether its alignment is its own: that of a typedef may be another.
    aligned: bool,
}

/// A type that fields may have.
#[derive(Clone)]
struct Known {
    words: String,
    /// Whether C allows arrays of it on every machine.
    arrays: bool,
    /// More than it has bytes; and how many types are within each other.
    weight: usize,
    depth: usize,
}

struct Header {
    random: Random,
    text: String,
    records: Vec<Record>,
    types: Vec<Known>,
    /// Names of constants; and of those that `#if` can have.
    constants: Vec<String>,
    plain: Vec<String>,
    /// What the struct that is drawn weighs, and how many types are within it.
    weight: usize,
    depth: usize,
    /// How many `#pragma pack(push)` are open.
    pushed: usize,
    count: usize,
}

const START: &str = "\
#ifndef DRAWN_H
#define DRAWN_H
#ifndef TIGHT
#define TIGHT PACKED
#endif
#include <stdint.h>
#include <stddef.h>
#include <stdbool.h>
#if defined(__GNUC__) && __GNUC__ >= 4
#define PACKED __attribute__((packed))
#define ALIGNED(n) __attribute__((aligned(n)))
#elif defined(_MSC_VER)
#define PACKED
#define ALIGNED(n) __declspec(align(n))
#endif
#define PACK(...) __VA_ARGS__ TIGHT
#define PUSH(n) _Pragma(TEXT(pack(push, n)))
#define TEXT(x) #x
#define POP _Pragma(\"pack(pop)\")
#define CAT(a, b) a ## b
#define FIELD(type, name) type name;
#define EMPTY
#define BEGIN_DECLS
#define END_DECLS
#ifdef __cplusplus
extern \"C\" {
#endif
BEGIN_DECLS
";

const BASE: [&str; 33] = [
    "char",
    "signed char",
    "unsigned char",
    "short",
    "short int",
    "unsigned short",
    "int",
    "unsigned",
    "int unsigned",
    "long",
    "long unsigned int",
    "long long",
    "unsigned long long int",
    "const int",
    "volatile double",
    "float",
    "double",
    "long double",
    "float _Complex",
    "double _Complex",
    "_Bool",
    "bool",
    "int8_t",
    "uint8_t",
    "int16_t",
    "uint16_t",
    "int32_t",
    "uint32_t",
    "int64_t",
    "uint64_t",
    "size_t",
    "uint_least16_t",
    "intptr_t",
];

impl Header {
    fn drawn(random: Random, records: usize) -> Header {
        let types =
            BASE.iter().map(|words| Known { words: (*words).into(), arrays: true, weight: 32, depth: 0 }).collect();
        let text = START.into();
        let (records_, constants) = (Vec::new(), vec!["3".into()]);
        let mut header = Header {
            random,
            text,
            records: records_,
            types,
            constants,
            plain: vec!["3".into()],
            weight: 0,
            depth: 0,
            pushed: 0,
            count: 0,
        };
        while header.records.len() < records {
            match header.random.below(14) {
                0 => header.pragma(),
                1 => header.constant(),
                2 => header.enumeration(),
                3 | 4 => header.typedef(),
                5 => {
                    let name = header.name("g");
                    let text = format!(
                        "int {name}(struct unknown *, int n[]);\nstatic inline int {name}b(void) {{ return 1; }}\n"
                    );
                    header.text.push_str(&text);
                }
                _ => header.record(),
            }
        }
        for _ in 0..header.pushed {
            header.text.push_str("#pragma pack(pop)\n");
        }
        header.text.push_str("END_DECLS\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
        header
    }

    fn name(&mut self, start: &str) -> String {
        self.count += 1;
        format!("{start}{}", self.count)
    }

    fn one_of<'c>(&mut self, choices: &[&'c str]) -> &'c str {
        choices[self.random.below(choices.len())]
    }

    fn is_one_in(&mut self, count: usize) -> bool {
        self.random.below(count) == 0
    }

    fn pragma(&mut self) {
        let most = self.one_of(&["1", "2", "4", "8", "16", "0"]);
        let line = match self.random.below(6) {
            0 | 1 if self.pushed < 4 => {
                self.pushed += 1;
                match self.random.below(4) {
                    0 => format!("#pragma pack(push, {most})"),
                    1 => format!("#pragma pack(push, here, {most})"),
                    2 => format!("#pragma pack(push) // as before\n#pragma pack ( {most} )"),
                    _ => format!("_Pragma(\"pack(push, {most})\")"),
                }
            }
            2 | 3 if self.pushed > 0 => {
                self.pushed -= 1;
                self.one_of(&["#pragma pack(pop)", "#  pragma  pack( pop ) /* back */", "POP"]).into()
            }
            4 => format!("#pragma pack({most})"),
            _ => "#pragma pack()".into(),
        };
        writeln!(self.text, "{line}").unwrap();
    }

    /// A number, or an expression of constants, between 1 and some hundreds; as C computes it.
    fn expression(&mut self) -> String {
        let name = self.constants[self.random.below(self.constants.len())].clone();
        let plain = self.one_of(&["1", "2", "03", "0x4", "5u", "6L", "0b11", "'\\4'", "(7)", "(int)2", "sizeof(int)"]);
        match self.random.below(12) {
            0 => format!("{name} * 2 % 31 + 1"),
            1 => format!("2 * {name} % 29 + {plain}"),
            2 => format!("({name} & 7) + {plain}"),
            3 => format!("({name} > {plain} ? {plain} : 2) + 1"),
            4 => format!("1 << ({name} & 3)"),
            5 => format!("(~({name}) & 15) + 1"),
            6 => format!("({name} == {plain}) + ({name} != 4 && {plain}) + 1"),
            7 => format!("(-({name}) >> 2 & 7) + 1"),
            8 => format!("({name} ^ 0xFu) % 9 + 1"),
            _ => plain.into(),
        }
    }

    fn constant(&mut self) {
        let (name, value) = (self.name("N"), self.expression());
        let line = match self.random.below(4) {
            // Without parentheses: what stands around it comes in between.
            0 => {
                self.plain.push(name.clone());
                format!("#define {name} 1 + 2")
            }
            1 => format!("#define {name} ({value}) /* elements */"),
            2 => format!("#define {name}_OF(x) x + \\\n  {value}\n#define {name} {name}_OF(2)"),
            _ => format!("enum {{ {name} = {value} }};"),
        };
        writeln!(self.text, "{line}").unwrap();
        self.constants.push(name);
    }

    fn enumeration(&mut self) {
        let name = self.name("e");
        let values: [&[&str]; 7] = [
            &["0", "5", "1"],
            &["-1", "200", "300"],
            &["0x80000000", "1", "1"],
            &["-70000", "1 << 4", "'A'"],
            &["0x100000000", "2", "-3"],
            &["0xFFFFFFFFFFFFFFFF", "2", "7"],
            &["255", "254", "-0"],
        ];
        let values = values[self.random.below(values.len())];
        let packed = self.one_of(&["", "", "PACKED ", "__attribute__((__packed__)) "]);
        let symbols: Vec<String> =
            values.iter().enumerate().map(|(i, value)| format!("{name}_{i} = {value}")).collect();
        let list = format!("{}, {name}_next{}", symbols.join(", "), self.one_of(&["", ","]));
        // Nothing is behind the largest number.
        let list = if values[2] == "0xFFFFFFFFFFFFFFFF" { symbols.join(", ") } else { list };
        match self.is_one_in(2) {
            true => writeln!(self.text, "enum {packed}{name} {{ {list} }};"),
            false => writeln!(self.text, "enum {name} {{ {list} }} {packed};"),
        }
        .unwrap();
        self.types.push(Known { words: format!("enum {name}"), arrays: true, weight: 8, depth: 0 });
    }

    fn typedef(&mut self) {
        let (name, known) = (self.name("t"), self.any_type());
        let align = self.one_of(&["1", "2", "4", "8", "16", "32", "(1 << 3)"]);
        let low = matches!(align, "1" | "2");
        let words = &known.words;
        // The smallest types are not a multiple of 2.
        let is_small = ["char", "8_t", "ool", "enum"].iter().any(|part| words.contains(part))
            || !words.contains(' ') && words.starts_with('t');
        let arrays =
            known.arrays && (align == "1" || low && !is_small && !words.contains("struct") && !words.starts_with('r'));
        let mut weight = known.weight;
        let (line, arrays) = match self.random.below(6) {
            0 if self.is_one_in(2) => {
                let other = format!("typedef {words} {name}, {name}_low ALIGNED(1), {name}_high ALIGNED(64);");
                self.types.push(Known { words: format!("{name}_low"), arrays: known.arrays, ..known.clone() });
                self.types.push(Known { words: format!("{name}_high"), arrays: false, ..known.clone() });
                (other, known.arrays)
            }
            0 => (format!("typedef {words} {name};"), known.arrays),
            1 if known.arrays && known.weight < 100 => {
                weight *= 64;
                (format!("typedef {words} {name}[{}], {name}_other;", self.expression()), known.arrays)
            }
            2 => (format!("typedef {words} {name} __attribute__((aligned({align})));"), arrays),
            3 => (format!("typedef ALIGNED({align}) {words} {name};"), arrays),
            4 => (format!("typedef {words} ALIGNED({align}) {name};"), arrays),
            _ => (format!("[[gnu::aligned({align})]] typedef {words} {name};"), arrays),
        };
        writeln!(self.text, "{line}").unwrap();
        self.types.push(Known { words: name, arrays, weight, depth: known.depth + 1 });
    }

    fn any_type(&mut self) -> Known {
        // Half of them are C's own.
        let below = if self.is_one_in(2) { BASE.len() } else { self.types.len() };
        let known = self.types[self.random.below(below)].clone();
        match known.weight < 4_000 && known.depth < 8 {
            true => known,
            false => self.types[0].clone(),
        }
    }

    fn record(&mut self) {
        let name = self.name("r");
        let (packed, behind) = self.attributes();
        let is_typedef = self.is_one_in(3);
        (self.weight, self.depth) = (0, 0);
        let members = self.members(0);
        let body = format!("{{\n{members}}}");
        let mut aligned = true;
        let (line, c) = match (is_typedef, self.random.below(6)) {
            (false, 0) => (format!("PACK(struct {packed}{name} {body});"), format!("struct {name}")),
            (false, 1) => (format!("PUSH(2) struct {name} {body} {behind};\nPOP"), format!("struct {name}")),
            (false, 2) => {
                (format!("struct {packed}CAT({name}, _x) {body} EMPTY {behind};"), format!("struct {name}_x"))
            }
            (false, _) => (format!("struct {packed}{name} {body} {behind};"), format!("struct {name}")),
            (true, 0) => {
                aligned = false;
                (format!("typedef struct {packed}{body} {behind} {name} ALIGNED(8), *{name}_ptr;"), name.clone())
            }
            (true, 1) => {
                let before = format!(
                    "struct {name};\ntypedef struct {name} {name}_t, *{name}_p;\ntypedef struct {name} {name};"
                );
                (format!("{before}\nstruct {packed}{name} {body} {behind};\ntypedef {name}_t {name};"), name.clone())
            }
            (true, _) => (format!("typedef struct {packed}{body} {behind} {name};"), name.clone()),
        };
        writeln!(self.text, "{line}").unwrap();
        let record = c.rsplit(' ').next().unwrap().to_owned();
        // Arrays of a struct need a size that is a multiple of its alignment, which a typedef may change.
        self.types.push(Known { words: c.clone(), arrays: aligned, weight: self.weight, depth: self.depth + 1 });
        self.records.push(Record { name: record, c, aligned });
    }

    /// Attributes before the tag of a struct, and behind its brace.
    fn attributes(&mut self) -> (String, String) {
        let align = self.one_of(&["1", "2", "4", "8", "16", "32", "sizeof(double)"]);
        let own = match self.random.below(12) {
            0 => "PACKED".into(),
            1 => "TIGHT".into(),
            2 => "__attribute__((packed))".into(),
            3 => format!("__attribute__((__packed__, __aligned__({align})))"),
            4 => format!("ALIGNED({align})"),
            5 => format!("PACKED ALIGNED({align})"),
            6 => "__attribute__((unused, may_alias))".into(),
            _ => String::new(),
        };
        match self.random.below(3) {
            0 if own == "PACKED" => ("[[gnu::packed]] ".into(), String::new()),
            0 | 1 => (format!("{own} "), String::new()),
            _ => (String::new(), own),
        }
    }

    fn members(&mut self, depth: usize) -> String {
        let mut text = String::new();
        for i in 0..1 + self.random.below(7) {
            let name = format!("f{depth}_{i}");
            let line = self.member(&name, depth);
            match self.random.below(16) {
                0 => {
                    let constant = self.plain[self.random.below(self.plain.len())].clone();
                    let other = self.member(&name, depth + 5);
                    _ = writeln!(text, "#if {constant} > 4 || defined(MISSING) && 0\n{line}\n#else\n{other}\n#endif");
                }
                1 => _ = writeln!(text, "#if 0\nisn't this\n#endif\n{line} // unit=\"m\""),
                _ => _ = writeln!(text, "  {line}"),
            }
        }
        text
    }

    fn member(&mut self, name: &str, depth: usize) -> String {
        let align = self.one_of(&["1", "2", "4", "8", "16", "0x20"]);
        if self.is_one_in(120) {
            return match self.random.below(7) {
                0 => format!("int {name} : 3;"),
                1 => format!("union {{ int a; float b; }} {name};"),
                2 => format!("struct {{ int {name}; }};"),
                3 => format!("int {name} __attribute__((vector_size(16)));"),
                4 => format!("double *{name};"),
                5 => format!("_Atomic int {name};"),
                _ => format!("char {name}[8 + sizeof(long)];"),
            };
        }
        if depth < 3 && self.is_one_in(10) {
            let (packed, behind) = self.attributes();
            let members = self.members(depth + 1);
            let tag = if self.is_one_in(2) { self.name("in") } else { String::new() };
            let dims = self.one_of(&["", "", "[2]"]);
            return format!("struct {packed}{tag} {{\n{members}}} {behind} {name}{dims};");
        }
        let known = self.any_type();
        let words = known.words;
        let (dims, count) = match (known.arrays && known.weight < 100, self.random.below(5)) {
            (true, 0) => (format!("[{}]", self.expression()), 64),
            (true, 1) => (format!("[2][{}]", self.expression()), 128),
            _ => (String::new(), 1),
        };
        self.weight += count * known.weight + 64;
        self.depth = self.depth.max(known.depth);
        match self.random.below(22) {
            0 => format!("{words} {name}{dims} PACKED;"),
            16 => format!("{words} const volatile {name}{dims}, {name}b;"),
            17 => {
                let (packed, tag) = (self.one_of(&["", "PACKED "]), self.name("k"));
                format!("enum {packed}{{ {tag}_0, {tag}_1 = 1 << 9 }} {name}{dims};")
            }
            18 => {
                let tag = self.name("k");
                format!("const enum {tag} {{ {tag}_0 = -1 }} PACKED {name} ALIGNED({align}), {name}b{dims};")
            }
            19 => format!("char {name}[3], *{name}b, {name}c ALIGNED({align}), *{name}d PACKED; /* of {words} */"),
            20 => format!("__extension__ long int \\\n long unsigned /* {{ */ {name} // }}\n{dims};"),
            21 => format!("struct {{ {words} {name}a{dims}; }} PACKED {name} ALIGNED({align}), {name}b[2];"),
            1 => format!("{words} {name}{dims} __attribute__((aligned({align})));"),
            2 => format!("ALIGNED({align}) {words} {name}{dims};"),
            3 => format!("{words} {name}{dims} __attribute__((packed, aligned({align})));"),
            4 => format!("_Alignas(64) {words} {name}{dims};"),
            5 => format!("{words} {name}{dims}, {name}b ALIGNED({align}), {name}c;"),
            6 => format!("FIELD({words}, {name})"),
            7 => format!("char *{name};"),
            8 => format!("[[gnu::packed]] {words} {name}{dims};"),
            9 => format!("{words} PACKED {name}{dims};"),
            _ => format!("{words} {name}{dims};"),
        }
    }

    /// The header, and what a layout says of its structs.
    fn program(&self, declarations: &Declarations, layout: &Layout) -> String {
        let mut text = self.text.clone();
        for record in &self.records {
            let Ok(shape) = declarations.shape(&record.name) else { continue };
            let format = shape.on(layout).unwrap_or_else(|error| panic!("{error}\n{}", self.text));
            let structure = format.structure();
            assertion(&mut text, &format!("sizeof({})", record.c), structure.size());
            if record.aligned {
                assertion(&mut text, &format!("_Alignof({})", record.c), structure.align());
            }
            fields(&mut text, &record.c, "", structure, 0);
        }
        text
    }
}

/// What a layout says of fields, those within fields included.
fn fields(text: &mut String, c: &str, path: &str, structure: &Structure, start: usize) {
    for field in structure.fields() {
        let member = format!("{path}{}", field.name);
        assertion(text, &format!("__builtin_offsetof({c}, {member})"), start + field.offset);
        let extent = field.extent(structure.machine().pointer).unwrap();
        assertion(text, &format!("sizeof((({c} *)0)->{member})"), extent);
        if let (Element::Structure(inner), true) = (&field.element, field.dims.is_empty()) {
            fields(text, c, &format!("{member}."), inner, start + field.offset);
        }
    }
}

fn assertion(text: &mut String, expression: &str, value: usize) {
    writeln!(text, "_Static_assert({expression} == {value}, \"{expression} is not {value}\");").unwrap();
}
