//! Records in Ada.

use crate::Language;
use crate::model::{Field, Kind, Leaf, Model, Palette, Record, Value};
use isoform_testing::mutate::Random;
use std::fmt::Write as _;

pub(crate) struct Ada {
    pub(crate) narrow: bool,
}

const SIGNED: fn(u32) -> Kind = |bits| Kind::Integer { signed: true, bits };
const UNSIGNED: fn(u32) -> Kind = |bits| Kind::Integer { signed: false, bits };

impl Language for Ada {
    fn palette(&self) -> Palette {
        let mut numbers = vec![
            ("Integer", SIGNED(32)),
            ("Short_Short_Integer", SIGNED(8)),
            ("Short_Integer", SIGNED(16)),
            ("Long_Integer", SIGNED(if self.narrow { 32 } else { 64 })),
            ("Long_Long_Integer", SIGNED(64)),
            ("Unsigned_8", UNSIGNED(8)),
            ("Unsigned_16", UNSIGNED(16)),
            ("Unsigned_32", UNSIGNED(32)),
            ("Unsigned_64", UNSIGNED(64)),
            ("Octet", UNSIGNED(8)),
            ("Two", UNSIGNED(7)),
            ("Percent", UNSIGNED(6)),
            ("Natural", UNSIGNED(31)),
            ("Near", SIGNED(8)),
            ("Modular", UNSIGNED(20)),
            ("Boolean", Kind::Boolean),
            ("Character", Kind::Char),
            ("Float", Kind::Float),
            ("Long_Float", Kind::Float),
        ];
        if cfg!(target_arch = "x86_64") {
            numbers.push(("Long_Long_Float", Kind::Float));
        }
        Palette {
            numbers,
            dropped: &[("Pointer", ""), ("Tagged_Type", ""), ("Fixed", ""), ("Variant", "")],
            enumerations: &[("8", 8, false), ("8", 8, true), ("16", 16, false), ("32", 32, true), ("32", 31, false)],
            styles: &["'Alignment use 16", "'Alignment use 1", "C"],
            notes: &[""],
            dims: 3,
            nameless: false,
            bases: false,
            bounds: true,
        }
    }

    /// A record is aligned as its parts are, unless all of them are numbers.
    fn adapt(&self, model: &mut Model, _: &mut Random) {
        for record in &mut model.records {
            let is_plain = |field: &Field| !matches!(field.kind, Kind::Record(_) | Kind::Dropped);
            if record.style.ends_with(" 1") && !record.fields.iter().all(is_plain) {
                record.style = "";
            }
        }
    }

    fn program(&self, model: &Model, random: &mut Random) -> String {
        let (mut types, mut shows, mut main) = (String::new(), String::new(), String::new());
        for enumeration in &model.enumerations {
            let name = &enumeration.name;
            let mut symbols = enumeration.symbols.clone();
            symbols.sort_by_key(|(_, number)| *number);
            let names: Vec<&str> = symbols.iter().map(|(symbol, _)| &**symbol).collect();
            let numbers: Vec<String> = symbols.iter().map(|(symbol, number)| format!("{symbol} => {number}")).collect();
            let (names, numbers, size) = (names.join(", "), numbers.join(", "), enumeration.style);
            writeln!(types, "  type {name} is ({names}); for {name} use ({numbers}); for {name}'Size use {size};")
                .unwrap();
        }
        for record in &model.records {
            declare(&mut types, record);
            let name = &record.name;
            let leaves = model.leaves(random, record);
            writeln!(shows, "  procedure Show_{name} (Number : Integer := 0) is\n    X : {name};\n    for X'Address use Memory.all'Address;").unwrap();
            writeln!(shows, "    pragma Import (Ada, X);\n    B : constant System.Address := X'Address;\n  begin")
                .unwrap();
            writeln!(
                shows,
                "    Clear (X'Size / 8); Say (\"record {name}\" & Integer'Image (X'Size / 8) & \" {}\"); End_Line;",
                leaves.len()
            )
            .unwrap();
            leaves.iter().for_each(|leaf| show(&mut shows, model, leaf));
            writeln!(shows, "    Save (X'Size / 8);\n  end Show_{name};").unwrap();
            writeln!(main, "  Show_{name};").unwrap();
        }
        let text = HEAD.replace("TYPES", &types).replace("SHOWS", &shows);
        text + &main + "end Program;\n"
    }

    fn named(&self, name: &str) -> String {
        format!("program__{}", name.to_lowercase())
    }

    fn dropped(&self, field: &str) -> String {
        field.into()
    }
}

fn declare(text: &mut String, record: &Record) {
    let Record { name, style, fields, .. } = record;
    let mut parts = String::new();
    for Field { name, spelled, dims, .. } in fields {
        let bounds: Vec<String> = dims
            .iter()
            .map(|&(length, first)| format!("Integer range {first} .. {}", first + length as i32 - 1))
            .collect();
        match bounds.is_empty() {
            true => write!(parts, " {name} : {spelled};").unwrap(),
            false => {
                writeln!(text, "  type T_{name} is array ({}) of {spelled};", bounds.join(", ")).unwrap();
                write!(parts, " {name} : T_{name};").unwrap();
            }
        }
    }
    writeln!(text, "  type {name} is record{parts} end record;").unwrap();
    match *style {
        "" => {}
        "C" => writeln!(text, "  pragma Convention (C, {name});").unwrap(),
        style => writeln!(text, "  for {name}{style};").unwrap(),
    }
}

fn show(text: &mut String, model: &Model, leaf: &Leaf<'_>) {
    let (mut path, mut whole, mut place) = (String::new(), String::new(), String::from("X"));
    for (field, indices) in &leaf.path {
        write!(path, "{}{}", if path.is_empty() { "" } else { "." }, field.name.to_lowercase()).unwrap();
        indices.iter().for_each(|index| write!(path, "[{index}]").unwrap());
        write!(place, ".{}", field.name).unwrap();
        whole.clone_from(&place);
        let at: Vec<String> =
            indices.iter().zip(&field.dims).map(|(&index, &(_, first))| (index as i32 + first).to_string()).collect();
        if !at.is_empty() {
            write!(place, " ({})", at.join(", ")).unwrap();
        }
    }
    let spelled = &leaf.field.spelled;
    let (value, how) = match (leaf.value, &leaf.field.kind) {
        (Value::Integer(number), Kind::Boolean) => {
            (if number == 1 { "True" } else { "False" }.into(), format!("Integer'Image (Boolean'Pos ({place}))"))
        }
        (Value::Integer(number), Kind::Char) => {
            (format!("Character'Val ({number})"), format!("Integer'Image (Character'Pos ({place}))"))
        }
        (Value::Integer(number), Kind::Integer { signed, bits }) => {
            let number = if *signed && *bits == 8 && spelled == "Near" { number / 2 } else { number };
            (number.to_string(), format!("{spelled}'Image ({place})"))
        }
        (Value::Quarters([number, _]), _) => {
            (format!("{spelled} ({number}) / 4.0"), format!("Long_Float'Image (Long_Float ({place}))"))
        }
        (Value::Symbol(symbol), Kind::Enumeration(at)) => {
            let of = &model.enumerations[*at];
            let number = |value: &str| format!("Clean (Long_Long_Integer'Image ({}'Enum_Rep ({value})))", of.name);
            let symbols: Vec<String> = (of.symbols.iter())
                .map(|(symbol, _)| format!("\" {}=\" & {}", symbol.to_lowercase(), number(symbol)))
                .collect();
            let symbol = &of.symbols[symbol].0;
            let shown = format!("\"{}=\" & {} & {}", symbol.to_lowercase(), number(&place), symbols.join(" & "));
            (symbol.clone(), shown)
        }
        (Value::Integer(_) | Value::Symbol(_), _) => unreachable!("Ada has no such kind"),
    };
    writeln!(text, "    {place} := {value};").unwrap();
    writeln!(text, "    Leaf (\"{path}\", {place}'Address - B, {whole}'Size / 8); Say ({how}); End_Line;").unwrap();
}

const HEAD: &str = r#"with Interfaces; use Interfaces;
with Interfaces.C; use Interfaces.C;
with System; use System;
with System.Storage_Elements; use System.Storage_Elements;
with Ada.Command_Line;
procedure Program is
  type Octet is range 0 .. 255;
  type Two is range 0 .. 127;
  subtype Percent is Integer range 0 .. 100;
  type Near is range -100 .. 100;
  type Modular is mod 2 ** 20;
  type Pointer is access Integer;
  type Tagged_Type is tagged record N : Integer; end record;
  type Fixed is delta 0.01 range -10.0 .. 10.0;
  type Variant (Has : Boolean := False) is record
    case Has is when True => N : Integer; when False => F : Float; end case;
  end record;
TYPES
  type Bytes is access Storage_Array;
  Memory : constant Bytes := new Storage_Array (1 .. 16_000_000);
  function Creat (Path : char_array; Mode : int) return int;
  pragma Import (C, Creat, "creat");
  function Write (File : int; From : System.Address; Size : size_t) return size_t;
  pragma Import (C, Write, "write");
  File : constant int := Creat (To_C (Ada.Command_Line.Argument (1)), 8#600#);
  Done : size_t;
  procedure Say (Text : String) is
  begin
    Done := Write (1, Text'Address, Text'Length);
  end Say;
  procedure End_Line is
  begin
    Say ((1 => Character'Val (10)));
  end End_Line;
  function Clean (Text : String) return String is
  begin
    return (if Text (Text'First) = ' ' then Text (Text'First + 1 .. Text'Last) else Text);
  end Clean;
  procedure Leaf (Path : String; Offset : Storage_Offset; Size : Long_Long_Integer) is
  begin
    Say (Path & Storage_Offset'Image (Offset) & Long_Long_Integer'Image (Size) & " ");
  end Leaf;
  procedure Clear (Size : Integer) is
  begin
    for I in 1 .. Storage_Offset (Size) loop Memory (I) := 0; end loop;
  end Clear;
  procedure Save (Size : Integer) is
  begin
    Done := Write (File, Memory.all'Address, size_t (Size));
  end Save;
SHOWS
begin
"#;
