//! Tables of fields of nested structures, from a C compiler, a dtype or debug information.
//!
//! A [`FieldList`] is one structure whose sizes are known. [`Tables`] combines several, and determines what a C
//! compiler leaves open: the size of one element, from that of the whole member, and the meaning of `long` and `long
//! double` on this machine.

use super::FieldList;
use super::layout::Layout;
use super::member::{self, Member};
use super::types::{Kind, Length, Type, Width, unknown_length};
use crate::error::{Code, Error, Result};
use crate::format::{FloatKind, Format, Machine, Structure};
use std::collections::HashMap;
use std::sync::Arc;

/// One field of a table.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its type, in words: `integer`, `double[3]`, `"Point"[n]`.
    pub words: &'a str,
    /// The bytes of one element; 0 if the words determine it.
    pub size: usize,
    /// Its offset in the structure.
    pub offset: usize,
    /// Its unit of measurement.
    pub unit: Option<&'a str>,
    /// The `sizeof` of the whole member if a C compiler made the table, or 0 if that is unknown. The words then have
    /// the meaning that they have to that compiler.
    pub extent: Option<usize>,
    /// What the compiler tells of the member's type. `None` if it tells nothing. Then only sizes are compared with the words.
    pub member: Option<Member<'a>>,
}

/// Structures with all fields in their places, each after those that it nests. The last is the record.
///
/// ```
/// use isoform_core::Machine;
/// use isoform_core::declare::{Row, Tables};
/// let mut tables = Tables::new(Machine::NATIVE);
/// let row = |name, words, size, offset| Row { name, words, size, offset, unit: None, extent: None, member: None };
/// tables.add("Point", 16, 8, [row("x", "float", 8, 0), row("y", "float", 8, 8)])?;
/// tables.add("Track", 40, 8, [row("id", "integer", 4, 0), row("ends", "Point[2]", 16, 8)])?;
/// assert_eq!(tables.format()?.name(), "Track");
/// # Ok::<(), isoform_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Tables {
    machine: Machine,
    known: HashMap<Box<str>, Arc<Structure>>,
    /// What the compiler calls the structs of the known structures.
    structs: HashMap<Box<str>, Box<str>>,
    last: Option<Arc<Structure>>,
}

impl Tables {
    /// Creates an empty list of structures, for records in the memory of a machine.
    pub fn new(machine: Machine) -> Tables {
        Tables { machine, known: HashMap::new(), structs: HashMap::new(), last: None }
    }

    /// Adds a structure of `size` bytes, aligned to `alignment`, which may nest those before it.
    ///
    /// # Errors
    /// [`Code::Declaration`] or [`Code::Size`], with the path of the field, if the table contradicts itself;
    /// [`Code::Declaration`] if another structure has that name.
    pub fn add<'a>(
        &mut self,
        name: &str,
        size: usize,
        alignment: usize,
        rows: impl IntoIterator<Item = Row<'a>>,
    ) -> Result<()> {
        let mut fields = FieldList::new(name);
        let mut extents = Vec::new();
        let rows: Vec<Row<'_>> = rows.into_iter().collect();
        for row in &rows {
            let (words, size) = match row.extent {
                None => (row.words.to_owned(), row.size),
                Some(extent) => {
                    extents.push((row.name, extent));
                    self.settle(row, extent, &rows).map_err(|error| error.at(format!("{name}.{}", row.name)))?
                }
            };
            fields = fields.field(row.name, words, size, row.offset);
            fields = row.unit.into_iter().fold(fields, FieldList::unit);
        }
        let structure = fields.structure_among(&self.known, self.machine, size, alignment)?;
        extents.into_iter().try_for_each(|(field, extent)| agree(&structure, field, extent))?;
        match self.known.get(name) {
            Some(other) if *other != structure => {
                return Err(Error::new(Code::Declaration).at(name).found("two structures of this name"));
            }
            _ => self.known.insert(name.into(), structure.clone()),
        };
        self.last = Some(structure);
        Ok(())
    }

    /// States what the compiler calls the struct of a structure: `struct Point`. A [`Member`] with another name does not become
    /// that structure.
    pub fn name_struct(&mut self, structure: &str, compiled: &str) {
        self.structs.insert(structure.into(), compiled.into());
    }

    /// The format of the last structure.
    ///
    /// # Errors
    /// [`Code::Declaration`] if there is none; as [`Format::new`].
    pub fn format(self) -> Result<Format> {
        let none = || Error::new(Code::Declaration).at("structures").expected("at least one structure");
        Format::new(self.last.ok_or_else(none)?)
    }

    /// The type with the sizes that this machine's C has, and the size of one element, as far as they are known.
    fn settle(&self, row: &Row<'_>, extent: usize, rows: &[Row<'_>]) -> Result<(String, usize)> {
        let mut words: Type = row.words.parse()?;
        words.kind = words.kind.settled(&Layout::NATIVE);
        let fixed = words.dims.iter().try_fold(1usize, |product, dim| match dim {
            Length::Fixed(n) => product.checked_mul(*n),
            Length::Field(_) => Some(product),
        });
        let fixed = fixed.ok_or_else(|| Error::new(Code::Size).found(&words))?;
        if let (Some(member), true) = (row.member, extent != 0) {
            let compared = member::compare(&member, extent, fixed, row.size, &words, self.structs.iter());
            compared.map_err(|error| error.found(row.words))?;
        }
        let (known, whole) = (words.kind.bytes(), extent.is_multiple_of(fixed.max(1)));
        if row.size == 0 && extent != 0 && !words.is_indirect() {
            let expected = match known {
                Some(size) if extent != size.saturating_mul(fixed) => {
                    format!("{} bytes", size.saturating_mul(fixed))
                }
                None if words.kind.width() == Some(Width::Open) && !whole => format!("{fixed} elements of one size"),
                _ => String::new(),
            };
            if !expected.is_empty() {
                let expected = format_args!("a member of {expected}, as {words} has");
                return Err(Error::new(Code::Declaration).expected(expected).found(format_args!("{extent} bytes")));
            }
        }
        let size = match known {
            _ if row.size != 0 => row.size,
            Some(size) => size,
            None if whole && !words.is_indirect() => extent / fixed.max(1),
            None => row.member.filter(|_| extent != 0).and_then(|member| member.target()).unwrap_or(0),
        };
        match (&words.kind, size) {
            (Kind::Float { kind: FloatKind::Ieee, width: Width::Open }, 16) => {
                let other = match words.dims.is_empty() && row.size == 0 {
                    true => "float[4] or double[2] for numbers in a row",
                    false => "elements of 4 or 8 bytes",
                };
                let expected = format_args!("{other}, or long double or f128, which differ");
                let found = format_args!("{words}, of 16 bytes each");
                Err(Error::new(Code::Declaration).expected(expected).found(found))
            }
            (kind, 0) if kind.width() == Some(Width::Open) => {
                // A length that is missing is the first thing to mend.
                words.lengths().try_for_each(|length| match rows.iter().any(|row| row.name == length) {
                    true => Ok(()),
                    false => Err(unknown_length(length)),
                })?;
                let expected = "ISO_POINTER, or the size of an element, as in float(4)";
                Err(Error::new(Code::Declaration).expected(expected).found(row.words))
            }
            _ => Ok((words.to_string(), size)),
        }
    }
}

/// Checks that a member is as large as its type.
fn agree(structure: &Structure, field: &str, extent: usize) -> Result<()> {
    let has = structure.field(field).and_then(|field| field.extent(structure.machine().pointer));
    if extent == 0 || has == Some(extent) {
        return Ok(());
    }
    let error = Error::new(Code::Declaration).at(format!("{}.{field}", structure.name()));
    let expected = format_args!("a member of {} bytes, as its type has", has.unwrap_or(0));
    Err(error.expected(expected).found(extent))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &'static str, words: &'static str, size: usize, extent: Option<usize>) -> Row<'static> {
        Row { name, words, size, offset: 0, unit: None, extent, member: None }
    }

    #[test]
    fn the_words_of_other_languages_lead_to_those_of_c() {
        for (words, meant) in
            [("float64", "double"), ("int32[3]", "int32_t"), ("uint8", "uint8_t"), ("float32", "float")]
        {
            let fault = fault(row("a", words, 0, None));
            assert!(
                fault.contains(&format!("expected a type, such as {meant}, or the name of a structure")),
                "{fault}"
            );
        }
    }

    #[test]
    fn what_a_pointer_points_at_has_the_size_that_the_compiler_tells() {
        let (n, size) = (row("n", "int", 4, None), size_of::<usize>());
        let member = |words, element| Row {
            offset: size,
            member: Some(Member { element, rows: [0; 7] }),
            ..row("u", words, 0, Some(size))
        };
        let added = |words, element| {
            with_p().add("r", 2 * size, size, [n, member(words, element)]).map_err(|error| error.to_string())
        };
        for (words, element) in [
            ("float*", "float *"),
            ("float[n]", "float *"),
            ("integer[n]", "short *"),
            ("complex float*", "double complex *"),
        ] {
            assert_eq!(added(words, element), Ok(()), "{words}");
        }
        let fault = added("float[N]", "float *").unwrap_err();
        assert!(fault.contains("expected an integer field as length, found `N`, which is no field"), "{fault}");
    }

    /// Tables with a structure p, of the struct P.
    fn with_p() -> Tables {
        let mut tables = Tables::new(Machine::NATIVE);
        tables.add("p", 16, 8, [row("x", "double[2]", 0, Some(16))]).unwrap();
        tables.name_struct("p", "struct P");
        tables
    }

    fn size_of_long_double() -> usize {
        Layout::NATIVE.long_double.size.into()
    }

    fn fault(row: Row<'_>) -> String {
        with_p().add("r", 64, 1, [row]).unwrap_err().to_string()
    }

    #[test]
    fn what_a_compiler_says_of_a_member_agrees_with_its_type() {
        for (row, says) in [
            (row("a", "int[3]", 0, Some(16)), "at r.a: expected a member of 12 bytes, as i32[3] has, found 16 bytes"),
            (row("a", "float[3]", 0, Some(16)), "expected a member of 3 elements of one size"),
            (row("a", "float", 0, Some(16)), "or long double or f128, which differ"),
            (row("a", "integer", 0, Some(0)), "expected ISO_POINTER, or the size of an element"),
            (row("a", "float[m]", 0, Some(8)), "expected an integer field as length, found `m`, which is no field"),
            (row("a", "integer", 4, Some(8)), "expected a member of 4 bytes, as its type has, found 8"),
        ] {
            let fault = fault(row);
            assert!(fault.contains(says), "{fault}");
        }
    }

    #[test]
    fn what_a_compiler_says_of_an_element_agrees_with_its_type() {
        let member = |words, extent, member| Row {
            member: Some(Member { element: member, rows: [0; 7] }),
            ..row("u", words, 0, Some(extent))
        };
        for (words, extent, element, expected) in [
            ("float[32]", 256, "float", "float[64], for a member float[64], found float[32]"),
            ("float", 8, "double", "double, for a member double, found float"),
            ("double", 8, "long long", "long long, for a member long long, found double"),
            ("int", 4, "float", "float, for a member float, found int"),
            ("string", 8, "char", "char[8], for a member char[8], found string"),
            ("i64", 8, "double *", "double* or double[n], for a member double *, found i64"),
            ("float[n]", 8, "double *", "double* or double[n], for a member double *, found float[n]"),
            ("char[8]", 8, "char *", "string, for a member char *, found char[8]"),
            ("Point", 8, "double", "double, for a member double, found "),
            ("u32", 4, "int", "int, for a member int, found u32"),
            ("int[3]", 12, "unsigned int", "unsigned int[3], for a member unsigned int[3], found int[3]"),
            ("complex float", 16, "double", "double[2], for a member double[2], found complex float"),
            ("double[2]", 16, "double complex", "double complex, for a member double complex, found double[2]"),
            ("double-double", 16, "double", "double[2], for a member double[2], found double-double"),
            ("double[2]", 16, "struct", "the name of a structure, since the member is a struct or a union, or ISO_ROW"),
            ("p", 16, "struct ?", "the member's own struct in ISO_FIELD_STRUCT"),
            ("p", 16, "struct Other", "Other, for a member struct Other, found p"),
            ("p", 8, "struct P *", "p* or p[n], for a member struct P *, found p"),
            ("p*", 16, "struct P", "p, for a member struct P, found p*"),
            ("string", 8, "char **", "string* or string[n], for a member char **, found string"),
            ("f64[n]", 8, "double **", "ISO_ROW, since no type is a pointer to a pointer, found f64[n]"),
            ("p*", 8, "? **", "ISO_ROW, since no type is a pointer to a pointer, found p*"),
            (
                "u64",
                8,
                "void *",
                "a type behind a pointer, such as double* or double[n], for a member void *, found u64",
            ),
            ("u64", 8, "? *", "a structure behind a pointer"),
            ("string", 8, "? *", "a structure behind a pointer"),
            ("f64[n]", 8, "? *", "a structure behind a pointer"),
            ("p", 8, "? *", "such as p* or p[n], since the member is a pointer, or ISO_ROW"),
            ("int", 1, "_Bool", "bool, for a member bool, found int"),
        ] {
            let fault = fault(member(words, extent, element));
            assert!(fault.starts_with("invalid declaration at r.u: expected "), "{fault}");
            assert!(fault.contains(expected), "{words} of {element}: {fault}");
        }
        for (words, extent, element) in [
            ("float[64]", 256, "float"),
            ("integer[2]", 4, "short"),
            ("boolean", 4, "int"),
            ("enumeration{a=0}", 4, "unsigned int"),
            ("f16", 2, "unsigned short"),
            ("char[8]", 8, "char"),
            ("u8[8]", 8, "unsigned char"),
            ("size_t", size_of::<usize>(), if size_of::<usize>() == 8 { "unsigned long long" } else { "unsigned int" }),
            ("double[3][2]", 48, "double"),
            ("string[2]", 2 * size_of::<usize>(), "char *"),
            ("float(8)", 8, "double"),
            ("bool", 1, "_Bool"),
            ("i8", 1, "char"),
            ("complex float", 8, "float complex"),
            ("double complex[2]", 32, "double complex"),
            ("long double", size_of_long_double(), "long double"),
            ("p[2]", 32, "struct P"),
            ("p*", size_of::<usize>(), "struct P *"),
            ("p", 16, "struct"),
            ("f16[4]", 8, "struct"),
            ("i128", 16, "struct"),
            ("p*", size_of::<usize>(), "? *"),
            ("i128*", size_of::<usize>(), "? *"),
            ("string*", size_of::<usize>(), "char **"),
            ("string", size_of::<usize>(), "void *"),
            ("f64*", size_of::<usize>(), "void *"),
        ] {
            let added = with_p().add("r", extent, 1, [member(words, extent, element)]);
            assert!(added.is_ok(), "{words} of {element}: {}", added.unwrap_err());
        }
    }

    #[test]
    fn dimensions_are_those_of_the_member_or_fewer() {
        let member = |words, extent, told: [usize; 3]| {
            // What the compiler tells of the last array, it repeats.
            let rows = std::array::from_fn(|i| told[i.min(2)]);
            Row { member: Some(Member { element: "float", rows }), ..row("u", words, 0, Some(extent)) }
        };
        for (words, extent, rows, expected) in [
            (
                "float[300][2]",
                2400,
                [1200, 4, 4],
                Some("float[2][300], for a member float[2][300], found float[300][2]"),
            ),
            (
                "float[2][4][3]",
                96,
                [48, 16, 4],
                Some("float[2][3][4], for a member float[2][3][4], found float[2][4][3]"),
            ),
            ("float[4][6]", 96, [48, 16, 4], Some("float[2][3][4]")),
            ("float[3][2][4][5]", 480, [240, 80, 20], Some("float[2][3][4][5]")),
            ("float[2][300]", 2400, [1200, 4, 4], None),
            ("float[2][30][10]", 2400, [1200, 4, 4], None),
            ("float[600]", 2400, [1200, 4, 4], None),
            ("float[6][4]", 96, [48, 16, 4], None),
            ("float[2][300]", 2400, [4, 4, 4], None),
            ("float[300][2]", 2400, [0, 0, 0], None),
            // Some compilers tell three rows of five dimensions.
            ("float[2][3][4][6][5]", 2880, [1440, 480, 120], None),
            ("float[2]", 8, [8, 8, 8], None),
        ] {
            let added = with_p().add("r", extent, 1, [member(words, extent, rows)]).map_err(|error| error.to_string());
            match expected {
                Some(expected) => {
                    assert!(added.as_ref().is_err_and(|fault| fault.contains(expected)), "{words}: {added:?}")
                }
                None => assert_eq!(added, Ok(()), "{words}"),
            }
        }
    }

    #[test]
    fn structures_of_one_name_are_one_structure() {
        let mut tables = Tables::new(Machine::NATIVE);
        tables.add("p", 8, 4, [row("x", "integer", 4, None)]).unwrap();
        tables.add("p", 8, 4, [row("x", "integer", 4, None)]).unwrap();
        tables.add("r", 8, 4, [row("p", "p", 8, None)]).unwrap();
        let fault = tables.add("p", 8, 2, [row("x", "integer", 2, None)]).unwrap_err();
        assert!(fault.to_string().contains("two structures of this name"), "{fault}");
        let format = tables.format().unwrap();
        let names: Vec<&str> = format.structure().inside_out().iter().map(|structure| structure.name()).collect();
        assert_eq!(names, ["p", "r"]);
        assert!(Tables::new(Machine::NATIVE).format().is_err());
    }
}
