//! The records that are measured. Each is declared as text, so that a [`Case`](crate::Case) can change its declaration
//! and any layout can place it.

use crate::{Result, fill};
use isoform_core::{Format, Layout, Shape};
use std::fmt::Write;

/// A record, and how long its dynamic arrays are. What else is in it follows from its names ([`fill`]).
#[derive(Clone, Debug)]
pub struct Workload {
    /// Its name, as on the command line.
    pub name: &'static str,
    /// The records, each after those that it nests; the last one is what is measured.
    pub records: Vec<Declared>,
    /// Elements of each dynamic array.
    pub length: usize,
}

/// One record as it is declared.
#[derive(Clone, Debug)]
pub struct Declared {
    /// Its name.
    pub name: &'static str,
    /// Names and types of its fields.
    pub fields: Vec<(String, String)>,
}

/// The mechanical-engineering record of paper 000, figure 7.
const K: &[(&str, &str)] = &[
    ("Cnstatv", "int"),
    ("Cstatev", "double[12]"),
    ("Cnprops", "int"),
    ("Cprops", "double[110]"),
    ("Cndi", "int[4]"),
    ("Cnshr", "int"),
    ("Cnpt", "int"),
    ("Cdtime", "double"),
    ("Ctime", "double[2]"),
    ("Cntens", "int"),
    ("Cdfgrd0", "double[3][373]"),
    ("Cdfgrd1", "double[3][3]"),
    ("Cstress", "double[106]"),
    ("Cddsdde", "double[106][106]"),
];

/// Mixed scalars, with gaps on every machine.
const CELL: &[(&str, &str)] =
    &[("kind", "i8"), ("x", "double"), ("id", "i16"), ("count", "int"), ("weight", "float"), ("key", "i64")];

const S: &[(&str, &str)] = &[("name", "string"), ("comment", "string"), ("values", "double[n]"), ("n", "size_t")];

impl Workload {
    /// All of them.
    pub fn all() -> Vec<Workload> {
        let doubles = |n: usize| vec![declared("Doubles", [("values".into(), format!("double[{n}]"))])];
        vec![
            Workload::new("K01", vec![listed("Material", &K[..2])]),
            Workload::new("K1", vec![listed("Material", &K[..5])]),
            Workload::new("K10", vec![listed("Material", &K[..K.len() - 1])]),
            Workload::new("K100", vec![listed("Material", K)]),
            Workload::new("M100", vec![declared("Mixed", (0..100).map(mixed))]),
            Workload { length: 10, ..Workload::new("S10", vec![listed("Series", S)]) },
            Workload { length: 1_000, ..Workload::new("S1k", vec![listed("Series", S)]) },
            Workload { length: 100_000, ..Workload::new("S100k", vec![listed("Series", S)]) },
            Workload::new("T", vec![listed("Cell", CELL), declared("Table", [("cells".into(), "Cell[1000]".into())])]),
            Workload::new("A01", doubles(12)),
            Workload::new("A1", doubles(125)),
            Workload::new("A10", doubles(1_250)),
            Workload::new("A100", doubles(12_500)),
        ]
    }

    fn new(name: &'static str, records: Vec<Declared>) -> Workload {
        Workload { name, records, length: 0 }
    }

    /// The format of the record on a machine.
    ///
    /// # Errors
    /// If the declaration cannot be understood.
    pub fn on(&self, layout: &Layout) -> Result<Format> {
        let mut text = String::new();
        for record in &self.records {
            writeln!(text, "record {}", record.name)?;
            record.fields.iter().try_for_each(|(name, words)| writeln!(text, "  {name}  {words}"))?;
        }
        Ok(Shape::parse(&text)?.on(layout)?)
    }

    /// Bytes of the record's body on the receiver's machine.
    ///
    /// # Errors
    /// If the declaration cannot be understood.
    pub fn size(&self) -> Result<usize> {
        Ok(fill::body(&self.on(&Layout::X86_64)?, self.length).len())
    }

    /// The fields of the record itself.
    pub fn fields(&mut self) -> &mut Vec<(String, String)> {
        let last = self.records.len() - 1;
        &mut self.records[last].fields
    }
}

fn declared(name: &'static str, fields: impl IntoIterator<Item = (String, String)>) -> Declared {
    Declared { name, fields: fields.into_iter().collect() }
}

fn listed(name: &'static str, fields: &[(&str, &str)]) -> Declared {
    declared(name, fields.iter().map(|&(name, words)| (name.into(), words.into())))
}

fn mixed(index: usize) -> (String, String) {
    (format!("m{index}"), ["i32", "f64", "i16", "f32", "i64"][index % 5].into())
}
