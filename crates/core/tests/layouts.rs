//! The table of layouts against C compilers: random structs, whose sizes and offsets each compiler that is here asserts.

use isoform_core::{Element, Field, Layout, Structure};
use isoform_testing::shapes_of;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// The layout, the compiler, and its options; `cc` only if it compiles for the machine that this test was compiled for.
const COMPILERS: &[(Layout, &str, &[&str])] = &[
    (Layout::NATIVE, "cc", &[]),
    (Layout::X86_64, "x86_64-linux-gnu-gcc", &[]),
    (Layout::I386, "x86_64-linux-gnu-gcc", &["-m32"]),
    (Layout::AARCH64, "aarch64-linux-gnu-gcc", &[]),
    (Layout::WINDOWS_X64, "x86_64-w64-mingw32-gcc", &["-mlong-double-64"]),
    (Layout::ARMV7, "arm-linux-gnueabihf-gcc", &[]),
    (Layout::RISCV64, "riscv64-linux-gnu-gcc", &[]),
    (Layout::POWERPC, "powerpc-linux-gnu-gcc", &[]),
    (Layout::POWERPC64, "powerpc64-linux-gnu-gcc", &[]),
    (Layout::POWERPC64LE, "powerpc64le-linux-gnu-gcc", &[]),
    (Layout::S390X, "s390x-linux-gnu-gcc", &[]),
    (Layout::SPARC, "sparc64-linux-gnu-gcc", &["-m32"]),
    (Layout::SPARC64, "sparc64-linux-gnu-gcc", &[]),
    (Layout::MIPS, "mips-linux-gnu-gcc", &[]),
];

/// What C has a name for; the last is not there on machines of 32 bits.
const C_NUMBERS: &[&str] = &[
    "char",
    "i8",
    "i16",
    "i32",
    "i64",
    "u8",
    "u16",
    "u32",
    "u64",
    "long",
    "unsigned long",
    "size_t",
    "bool",
    "f32",
    "f64",
    "long double",
    "complex float",
    "complex double",
    "complex long double",
    "i128",
];

#[test]
fn c_compilers_agree() {
    let mut missing = Vec::new();
    for &(layout, compiler, options) in COMPILERS {
        let program = program(&layout);
        let here = compiler != "cc" || compiles_for_this_machine(compiler);
        match here.then(|| compile(compiler, options, &program)).flatten() {
            None => missing.push(format!("{} ({compiler})", layout.name)),
            Some(complaints) => assert!(complaints.is_empty(), "{} by {compiler}:\n{complaints}", layout.name),
        }
    }
    if !missing.is_empty() {
        // Not by a macro, whose output the test runner would hide.
        let _ = writeln!(std::io::stderr(), "NOT CHECKED, for want of a C compiler: {}", missing.join(", "));
    }
}

fn compiles_for_this_machine(compiler: &str) -> bool {
    let machine = Command::new(compiler).arg("-dumpmachine").output().map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&machine).split('-').next() == Some(std::env::consts::ARCH)
}

/// What the compiler says against the program; `None` if there is no such compiler.
fn compile(compiler: &str, options: &[&str], program: &str) -> Option<String> {
    let mut command = Command::new(compiler);
    command.args(options).args(["-std=gnu11", "-fsyntax-only", "-x", "c", "-"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().ok()?;
    child.stdin.take()?.write_all(program.as_bytes()).ok()?;
    let output = child.wait_with_output().ok()?;
    let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
    match output.status.success() {
        true => Some(String::new()),
        false => Some(if complaints.is_empty() { output.status.to_string() } else { complaints }),
    }
}

/// Structs, each followed by what the layout says of it.
fn program(layout: &Layout) -> String {
    let words = if layout.pointer == 8 { C_NUMBERS } else { &C_NUMBERS[..C_NUMBERS.len() - 1] };
    let mut runner = TestRunner::deterministic();
    let mut text = String::new();
    let order = if layout.order == isoform_core::ByteOrder::Big { "BIG" } else { "LITTLE" };
    let _ = writeln!(text, "_Static_assert(__BYTE_ORDER__ == __ORDER_{order}_ENDIAN__, \"order\");");
    assertion(&mut text, "sizeof(long)", layout.long.into());
    assertion(&mut text, "sizeof(void *)", layout.pointer.into());
    assertion(&mut text, "sizeof(long double)", layout.long_double.size.into());
    for number in 0..100 {
        let shape = shapes_of(words).new_tree(&mut runner).expect("a shape").current();
        let format = shape.on(layout).expect("a layout");
        declare(&mut text, format.structure(), layout, &mut Vec::new(), number);
    }
    text
}

fn declare(
    text: &mut String,
    structure: &Structure,
    layout: &Layout,
    known: &mut Vec<Box<str>>,
    number: usize,
) -> usize {
    if let Some(index) = known.iter().position(|name| **name == *structure.name()) {
        return index;
    }
    let inner = structure.fields().iter().map(|field| match &field.element {
        Element::Structure(inner) => declare(text, inner, layout, known, number),
        _ => 0,
    });
    let inner: Vec<usize> = inner.collect();
    let index = known.len();
    known.push(structure.name().into());
    let name = format!("struct s{number}_{index}");
    let packed = if structure.align() == 1 { " __attribute__((packed))" } else { "" };
    let _ = writeln!(text, "{name} {{");
    for (i, (field, inner)) in structure.fields().iter().zip(inner).enumerate() {
        let _ = writeln!(text, "  {};", member(field, i, layout, &format!("struct s{number}_{inner}")));
    }
    let _ = writeln!(text, "}}{packed};");
    assertion(text, &format!("sizeof({name})"), structure.size());
    assertion(text, &format!("_Alignof({name})"), structure.align());
    for (i, field) in structure.fields().iter().enumerate() {
        assertion(text, &format!("__builtin_offsetof({name}, f{i})"), field.offset);
    }
    index
}

fn assertion(text: &mut String, expression: &str, value: usize) {
    let _ = writeln!(text, "_Static_assert({expression} == {value}, \"{expression} is not {value}\");");
}

fn member(field: &Field, i: usize, layout: &Layout, inner: &str) -> String {
    if field.indirect {
        return format!("void *f{i}");
    }
    let long_double = |size: u8| size == layout.long_double.size;
    let integer = |size: u8, i: usize| match size {
        1 => "signed char",
        2 => "short",
        size if size == layout.long && i.is_multiple_of(2) => "long",
        4 => "int",
        8 => "long long",
        _ => "__int128",
    };
    let real = |size: u8| match size {
        4 => "float",
        8 => "double",
        size if long_double(size) => "long double",
        _ => unreachable!("not a number of C"),
    };
    let words = match &field.element {
        Element::Integer { size, .. } => integer(*size, i).into(),
        Element::Enumeration(enumeration) => integer(enumeration.size(), i).into(),
        Element::Float { size, .. } => real(*size).into(),
        Element::Complex { size, .. } => format!("_Complex {}", real(*size)),
        Element::Char => "char".into(),
        Element::Boolean { .. } => "_Bool".into(),
        Element::String => "char *".into(),
        Element::Structure(_) => inner.to_owned(),
    };
    let dims: String = field.dims.iter().map(|dim| format!("[{}]", fixed(dim))).collect();
    format!("{words} f{i}{dims}")
}

fn fixed(dim: &isoform_core::Dimension) -> usize {
    match dim {
        isoform_core::Dimension::Fixed(n) => *n,
        isoform_core::Dimension::Field(_) => unreachable!("behind a pointer"),
    }
}
