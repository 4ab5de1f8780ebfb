//! The records of the group, three times each: as a struct, as a table of fields, and as a document.
//!
//! `ASDOffEvent`, `JoinRequest` and `SimpleData` are printed in paper 003 (figures 2 and 4), and so is the size of two others, which
//! are not: a flat record of 152 bytes, and one of 180 bytes that is made of others. `KSdata1` is figure 7 of paper 000.
#![allow(missing_docs, non_snake_case, reason = "they are described where they are printed")]

use isoform::core::declare::{Row, Tables, Type};
use isoform::core::{Element, Structure};
use isoform::{Format, Machine, Record, Result, Str};
use std::fmt::Write;
use std::sync::Arc;

/// A record.
pub struct Known {
    pub name: &'static str,
    /// The document that declares it.
    pub schema: String,
    /// Its format, made anew of what is compiled in. `None` for one that Rust has no struct for.
    pub native: Option<fn() -> Format>,
}

#[derive(Record)]
#[repr(C)]
pub struct ASDOffEvent<'a> {
    centerID: Str<'a>,
    airline: Str<'a>,
    flightNum: i32,
    off: u64,
}

#[derive(Record)]
#[repr(C)]
pub struct JoinRequest<'a> {
    name: Str<'a>,
    server: u64,
    ip_addr: u64,
    pid: u64,
    ds_addr: u64,
}

#[rustfmt::skip]
#[derive(Record)]
#[repr(C)]
pub struct Flat152 {
    i0: i32, f0: f32, i1: i32, f1: f32, i2: i32, f2: f32, i3: i32, f3: f32, i4: i32, f4: f32,
    i5: i32, f5: f32, i6: i32, f6: f32, i7: i32, f7: f32, i8: i32, f8: f32, i9: i32, f9: f32,
    i10: i32, f10: f32, i11: i32, f11: f32, i12: i32, f12: f32, i13: i32, f13: f32, i14: i32, f14: f32,
    i15: i32, f15: f32, i16: i32, f16: f32, i17: i32, f17: f32, i18: i32, f18: f32,
}

#[derive(Record)]
#[repr(C)]
pub struct Point {
    x: f32,
    y: f32,
    z: f32,
}

#[derive(Record)]
#[repr(C)]
pub struct Extent {
    low: Point,
    high: Point,
}

#[derive(Record)]
#[repr(C)]
pub struct Cell {
    extent: Extent,
    centre: Point,
}

#[derive(Record)]
#[repr(C)]
pub struct Nested180 {
    north: Cell,
    east: Cell,
    south: Cell,
    west: Cell,
    middle: Cell,
}

#[derive(Record)]
#[repr(C)]
pub struct KSdata1 {
    Cnstatv: i32,
    Cstatev: [f64; 12],
    Cnprops: i32,
    Cprops: [f64; 110],
    Cndi: [i32; 4],
    Cnshr: i32,
    Cnpt: i32,
    Cdtime: f64,
    Ctime: [f64; 2],
    Cntens: i32,
    Cdfgrd0: [[f64; 373]; 3],
    Cdfgrd1: [[f64; 3]; 3],
    Cstress: [f64; 106],
    Cddsdde: [[f64; 106]; 106],
}

/// All of them.
pub fn all() -> Vec<Known> {
    use isoform::derive::format;
    let known = |name, schema: &str, native| Known { name, schema: within(schema), native };
    vec![
        known("ASDOffEvent", ASD_OFF_EVENT, Some(format::<ASDOffEvent<'_>> as fn() -> Format)),
        known("JoinRequest", JOIN_REQUEST, Some(format::<JoinRequest<'_>>)),
        known("SimpleData", SIMPLE_DATA, None),
        known("Flat152", &flat(), Some(format::<Flat152>)),
        known("Nested180", &nested(), Some(format::<Nested180>)),
        known("KSdata1", &ksdata1(), Some(format::<KSdata1>)),
    ]
}

const ASD_OFF_EVENT: &str = r#"  <xsd:complexType name="ASDOffEvent">
    <xsd:element name="centerID" type="xsd:string" />
    <xsd:element name="airline" type="xsd:string" />
    <xsd:element name="flightNum" type="xsd:integer" />
    <xsd:element name="off" type="xsd:unsignedLong" />
  </xsd:complexType>
"#;

const JOIN_REQUEST: &str = r#"  <xsd:complexType name="JoinRequest">
    <xsd:element name="name" type="xsd:string" />
    <xsd:element name="server" type="xsd:unsignedLong" />
    <xsd:element name="ip_addr" type="xsd:unsignedLong" />
    <xsd:element name="pid" type="xsd:unsignedLong" />
    <xsd:element name="ds_addr" type="xsd:unsignedLong" />
  </xsd:complexType>
"#;

const SIMPLE_DATA: &str = r#"  <xsd:complexType name="SimpleData">
    <xsd:element name="timestep" type="xsd:integer" />
    <xsd:element name="data" type="xsd:float" minOccurs="0" maxOccurs="*"
      dimensionPlacement="before" dimensionName="size" />
  </xsd:complexType>
"#;

fn within(types: &str) -> String {
    format!("<xsd:schema xmlns:xsd=\"http://www.w3.org/2000/10/XMLSchema\">\n{types}</xsd:schema>\n")
}

/// A type with these elements: each a name, a type, and how often it occurs.
fn complex(name: &str, elements: &[(&str, &str, usize)]) -> String {
    let mut text = format!("  <xsd:complexType name=\"{name}\">\n");
    for (name, kind, count) in elements {
        let occurs = if *count == 1 { String::new() } else { format!(" minOccurs=\"{count}\" maxOccurs=\"{count}\"") };
        let prefix = if kind.chars().all(|c| c.is_ascii_lowercase()) { "xsd:" } else { "" };
        _ = writeln!(text, "    <xsd:element name=\"{name}\" type=\"{prefix}{kind}\"{occurs} />");
    }
    text + "  </xsd:complexType>\n"
}

fn flat() -> String {
    let names: Vec<String> = (0..38).map(|n| format!("{}{}", if n % 2 == 0 { 'i' } else { 'f' }, n / 2)).collect();
    let kinds = ["int", "float"];
    let elements: Vec<_> = names.iter().enumerate().map(|(n, name)| (&**name, kinds[n % 2], 1)).collect();
    complex("Flat152", &elements)
}

fn nested() -> String {
    let each =
        |names: &[&'static str], kind: &'static str| -> Vec<_> { names.iter().map(|name| (*name, kind, 1)).collect() };
    [
        complex("Point", &each(&["x", "y", "z"], "float")),
        complex("Extent", &each(&["low", "high"], "Point")),
        complex("Cell", &[("extent", "Extent", 1), ("centre", "Point", 1)]),
        complex("Nested180", &each(&["north", "east", "south", "west", "middle"], "Cell")),
    ]
    .concat()
}

fn ksdata1() -> String {
    let row = |name, length| {
        format!(
            "  <xsd:simpleType name=\"{name}\"><xsd:restriction><xsd:simpleType><xsd:list itemType=\"xsd:double\" /></xsd:simpleType>\
             <xsd:length value=\"{length}\" /></xsd:restriction></xsd:simpleType>\n"
        )
    };
    let elements = [
        ("Cnstatv", "int", 1),
        ("Cstatev", "double", 12),
        ("Cnprops", "int", 1),
        ("Cprops", "double", 110),
        ("Cndi", "int", 4),
        ("Cnshr", "int", 1),
        ("Cnpt", "int", 1),
        ("Cdtime", "double", 1),
        ("Ctime", "double", 2),
        ("Cntens", "int", 1),
        ("Cdfgrd0", "Long", 3),
        ("Cdfgrd1", "Short", 3),
        ("Cstress", "double", 106),
        ("Cddsdde", "Square", 106),
    ];
    [row("Long", 373), row("Short", 3), row("Square", 106), complex("KSdata1", &elements)].concat()
}

/// A table of fields, as programs in C have it: names, types in words, sizes and offsets. It is in memory before anything is timed.
pub struct Table(Vec<Structured>);

struct Structured {
    name: String,
    size: usize,
    alignment: usize,
    fields: Vec<(String, String, usize, usize)>,
}

impl Table {
    /// The table of a format.
    pub fn of(format: &Format) -> Table {
        let mut table = Table(Vec::new());
        table.add(format.structure());
        table
    }

    fn add(&mut self, structure: &Arc<Structure>) {
        if self.0.iter().any(|known| known.name == structure.name()) {
            return;
        }
        for field in structure.fields() {
            if let Element::Structure(inner) = &field.element {
                self.add(inner);
            }
        }
        let row = |field: &isoform::core::Field| {
            let size = field.element_size(structure.machine().pointer);
            (field.name.to_string(), Type::of(field, structure).to_string(), size, field.offset)
        };
        let fields = structure.fields().iter().map(row).collect();
        self.0.push(Structured {
            name: structure.name().into(),
            size: structure.size(),
            alignment: structure.align(),
            fields,
        });
    }

    /// The format, made anew.
    ///
    /// # Errors
    /// If the table contradicts itself.
    pub fn format(&self) -> Result<Format> {
        let mut tables = Tables::new(Machine::NATIVE);
        for Structured { name, size, alignment, fields } in &self.0 {
            let rows = fields.iter().map(|(name, words, size, offset)| Row {
                name,
                words,
                size: *size,
                offset: *offset,
                unit: None,
                extent: None,
                member: None,
            });
            tables.add(name, *size, *alignment, rows)?;
        }
        tables.format()
    }
}

/// A document of many types: each has four fields, one of them the record before it, up to seven levels deep.
pub fn many(count: usize) -> String {
    let mut types = String::new();
    for number in 0..count {
        let before = format!("Type{}", number.saturating_sub(1));
        let inner = if number % 8 == 0 { "double" } else { &*before };
        types += &complex(
            &format!("Type{number}"),
            &[("step", "int", 1), ("name", "string", 1), ("inner", inner, 1), ("values", "float", 3)],
        );
    }
    within(&types)
}
