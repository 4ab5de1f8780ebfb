//! Structs in Rust.

use crate::Language;
use crate::model::{Kind, Leaf, Model, Palette, Record, Value};
use isoform_testing::mutate::Random;
use std::fmt::Write as _;

pub(crate) struct Rust {
    pub(crate) narrow: bool,
}

const SIGNED: fn(u32) -> Kind = |bits| Kind::Integer { signed: true, bits };
const UNSIGNED: fn(u32) -> Kind = |bits| Kind::Integer { signed: false, bits };

impl Language for Rust {
    fn palette(&self) -> Palette {
        let size = if self.narrow { 32 } else { 64 };
        Palette {
            numbers: vec![
                ("i8", SIGNED(8)),
                ("u8", UNSIGNED(8)),
                ("i16", SIGNED(16)),
                ("u16", UNSIGNED(16)),
                ("i32", SIGNED(32)),
                ("u32", UNSIGNED(32)),
                ("i64", SIGNED(64)),
                ("u64", UNSIGNED(64)),
                ("i128", SIGNED(128)),
                ("u128", UNSIGNED(128)),
                ("isize", SIGNED(size)),
                ("usize", UNSIGNED(size)),
                ("bool", Kind::Boolean),
                ("f32", Kind::Float),
                ("f64", Kind::Float),
                // A `char` is no character of C, but a number of 4 bytes, and not each number is one.
                ("char", UNSIGNED(15)),
            ],
            dropped: &[
                ("Option<u32>", ""),
                ("Option<bool>", ""),
                ("*const u8", ""),
                ("Option<&'static u64>", ""),
                ("&'static str", ""),
                ("Vec<u16>", ""),
                ("Result<u8, i64>", ""),
                ("()", ""),
            ],
            enumerations: &[
                ("u8", 8, false),
                ("i8", 8, true),
                ("u16", 16, false),
                ("i16", 16, true),
                ("u32", 32, false),
                ("i32", 32, true),
                ("u64", 64, false),
                ("i64", 64, true),
                ("C", 32, true),
                ("", 32, true),
            ],
            styles: &["C", "C", "Rust", "packed", "C, packed", "packed(2)", "C, align(16)", "align(64)", "tuple"],
            notes: &[""],
            dims: 3,
            nameless: false,
            bases: false,
            bounds: false,
        }
    }

    /// An aligned struct cannot be in a packed one, and the fields of tuples are numbers.
    fn adapt(&self, model: &mut Model, _: &mut Random) {
        for record in &mut model.records {
            if record.style.contains("packed")
                && record.fields.iter().any(|field| matches!(field.kind, Kind::Record(_)))
            {
                record.style = "Rust";
            }
            if record.style == "tuple" {
                record.fields.iter_mut().enumerate().for_each(|(at, field)| field.name = format!("__{at}"));
            }
        }
    }

    fn program(&self, model: &Model, random: &mut Random) -> String {
        let mut text = HEAD.to_owned();
        for enumeration in &model.enumerations {
            let name = &enumeration.name;
            let of = match enumeration.style {
                "" => String::new(),
                style => format!("#[repr({style})] "),
            };
            let symbols: Vec<String> =
                enumeration.symbols.iter().map(|(symbol, number)| format!("{symbol} = {number}")).collect();
            // Without a size of its own, an enumeration of one symbol takes no bytes.
            let of = if symbols.len() == 1 { "#[repr(u8)] " } else { &of };
            writeln!(text, "#[derive(Clone, Copy)] {of}enum {name} {{ {} }}", symbols.join(", ")).unwrap();
        }
        let mut main = String::from("fn main() {\n");
        for record in &model.records {
            declare(&mut text, record);
            let name = &record.name;
            let leaves = model.leaves(random, record);
            writeln!(text, "unsafe fn show_{name}() {{\n  let x = record::<{name}>(\"{name}\", {});", leaves.len())
                .unwrap();
            leaves.iter().for_each(|leaf| show(&mut text, model, leaf));
            writeln!(text, "  write(x);\n}}").unwrap();
            writeln!(main, "  unsafe {{ show_{name}() }}").unwrap();
        }
        text + &main + "}\n"
    }

    fn dropped(&self, field: &str) -> String {
        field.into()
    }
}

fn declare(text: &mut String, record: &Record) {
    let Record { name, style, fields, .. } = record;
    let typed = |spelled: &str, dims: &[(u32, i32)]| {
        dims.iter().rev().fold(spelled.to_owned(), |of, (length, _)| format!("[{of}; {length}]"))
    };
    let fields = fields.iter().map(|field| (&*field.name, typed(&field.spelled, &field.dims)));
    if *style == "tuple" {
        let fields: Vec<String> = fields.map(|(_, typed)| typed).collect();
        return writeln!(text, "struct {name}({});", fields.join(", ")).unwrap();
    }
    let fields: Vec<String> = fields.map(|(name, typed)| format!("{name}: {typed}")).collect();
    let style = if style.is_empty() { "Rust" } else { style };
    writeln!(text, "#[repr({style})] struct {name} {{ {} }}", fields.join(", ")).unwrap();
}

fn show(text: &mut String, model: &Model, leaf: &Leaf<'_>) {
    let (mut path, mut whole) = (String::new(), String::new());
    for (field, indices) in &leaf.path {
        write!(path, "{}{}", if path.is_empty() { "" } else { "." }, field.name).unwrap();
        whole.clone_from(&path);
        indices.iter().for_each(|index| write!(path, "[{index}]").unwrap());
    }
    let place = |path: &str| format!("std::ptr::addr_of_mut!((*x).{})", path.replace("__", ""));
    let (at, all) = (place(&path), place(&whole));
    let value = match (leaf.value, &leaf.field.kind) {
        (Value::Integer(number), Kind::Integer { .. }) if leaf.field.spelled == "char" => {
            format!("char::from_u32({number}).unwrap()")
        }
        (Value::Integer(number), Kind::Boolean) => format!("{number} == 1"),
        (Value::Integer(number), Kind::Integer { signed: false, .. }) => format!("{}", number as u128),
        (Value::Integer(number), _) => format!("{number}"),
        (Value::Quarters([number, _]), _) => format!("{number} as {} / 4.0", leaf.field.spelled),
        (Value::Symbol(symbol), Kind::Enumeration(of)) => {
            let of = &model.enumerations[*of];
            format!("{}::{}", of.name, of.symbols[symbol].0)
        }
        (Value::Symbol(_), _) => unreachable!("only enumerations have symbols"),
    };
    writeln!(text, "  leaf(\"{path}\", x, {at}, {all}, {value});").unwrap();
    match (leaf.value, &leaf.field.kind) {
        (Value::Symbol(symbol), Kind::Enumeration(of)) => {
            let of = &model.enumerations[*of];
            write!(text, "  print!(\"{}={{}}\", {at}.read_unaligned() as i128);", of.symbols[symbol].0).unwrap();
            for (symbol, _) in &of.symbols {
                write!(text, " print!(\" {symbol}={{}}\", {}::{symbol} as i128);", of.name).unwrap();
            }
            writeln!(text, " println!();").unwrap();
        }
        (_, Kind::Boolean) => writeln!(text, "  println!(\"{{}}\", {at}.read_unaligned() as u8);").unwrap(),
        (_, Kind::Integer { signed: false, bits: 128 }) => {
            writeln!(text, "  println!(\"{{:#034x}}\", {at}.read_unaligned());").unwrap();
        }
        _ if leaf.field.spelled == "char" => {
            writeln!(text, "  println!(\"{{}}\", {at}.read_unaligned() as u32);").unwrap();
        }
        _ => writeln!(text, "  println!(\"{{}}\", {at}.read_unaligned());").unwrap(),
    }
}

const HEAD: &str = r#"
#![allow(warnings)]
fn record<T>(name: &str, leaves: usize) -> *mut T {
    println!("record {name} {} {leaves}", size_of::<T>());
    unsafe { std::alloc::alloc_zeroed(std::alloc::Layout::new::<T>()) as *mut T }
}
fn leaf<R, T, A>(path: &str, x: *mut R, at: *mut T, whole: *mut A, value: T) {
    unsafe { at.write_unaligned(value) };
    print!("{path} {} {} ", at as usize - x as usize, size_of::<A>());
}
fn write<T>(x: *mut T) {
    use std::io::Write;
    let bytes = unsafe { std::slice::from_raw_parts(x as *const u8, size_of::<T>()) };
    let mut file = std::fs::OpenOptions::new().append(true).create(true).open(std::env::args().nth(1).unwrap()).unwrap();
    file.write_all(bytes).unwrap();
}
"#;
