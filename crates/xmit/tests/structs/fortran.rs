//! Derived types in Fortran.

use crate::Language;
use crate::model::{Field, Kind, Leaf, Model, Palette, Record, Value};
use isoform_testing::mutate::Random;
use std::fmt::Write as _;

pub(crate) struct Fortran {
    pub(crate) narrow: bool,
}

const SIGNED: fn(u32) -> Kind = |bits| Kind::Integer { signed: true, bits };

impl Language for Fortran {
    fn palette(&self) -> Palette {
        let mut numbers = vec![
            ("integer(1)", SIGNED(8)),
            ("integer(2)", SIGNED(16)),
            ("integer(4)", SIGNED(32)),
            ("integer", SIGNED(32)),
            ("integer(8)", SIGNED(64)),
            ("logical(1)", Kind::Boolean),
            ("logical(2)", Kind::Boolean),
            ("logical", Kind::Boolean),
            ("logical(8)", Kind::Boolean),
            ("real(4)", Kind::Float),
            ("real(8)", Kind::Float),
            ("double precision", Kind::Float),
            ("complex(4)", Kind::Complex),
            ("complex(8)", Kind::Complex),
            ("character", Kind::Char),
            ("character", Kind::Char),
        ];
        if cfg!(target_arch = "x86_64") {
            numbers.extend([("real(10)", Kind::Float), ("complex(10)", Kind::Complex), ("real(16)", Kind::Float)]);
        }
        if !self.narrow {
            numbers.push(("integer(16)", SIGNED(128)));
        }
        Palette {
            numbers,
            dropped: &[
                ("integer, pointer", ""),
                ("real, allocatable", "(:)"),
                ("real, pointer", "(:,:)"),
                ("procedure(), pointer, nopass", ""),
            ],
            enumerations: &[],
            styles: &["sequence", "bind(C)", "extends"],
            notes: &[""],
            dims: 3,
            nameless: false,
            bases: false,
            bounds: true,
        }
    }

    /// Only some types have a sequence or are those of C. The type that one extends is its first field.
    fn adapt(&self, model: &mut Model, _: &mut Random) {
        for at in 0..model.records.len() {
            let fields = &model.records[at].fields;
            let is_simple = |field: &Field| match field.kind {
                Kind::Record(_) | Kind::Dropped => false,
                Kind::Char => field.dims.is_empty(),
                _ => true,
            };
            let is_plain = fields.iter().all(is_simple);
            let parent = match fields[0] {
                Field { kind: Kind::Record(parent), ref dims, .. } if dims.is_empty() => Some(parent),
                _ => None,
            };
            let parent = parent.filter(|&parent| matches!(model.records[parent].style, "" | "extends"));
            let record = &mut model.records[at];
            match (record.style, parent) {
                ("extends", Some(parent)) => record.fields[0].name = format!("S{}", parent),
                ("extends", None) => record.style = "",
                (_, _) if !is_plain => record.style = "",
                _ => {}
            }
            // Text has its length where others have their dimensions, which begin at 1.
            for field in &mut record.fields {
                if let (Kind::Char, Some(first)) = (&field.kind, field.dims.first_mut()) {
                    first.1 = 1;
                }
            }
        }
    }

    fn program(&self, model: &Model, random: &mut Random) -> String {
        let mut types = String::new();
        let mut text = String::new();
        let mut main = String::new();
        for record in &model.records {
            declare(&mut types, record);
            let name = record.name.to_lowercase();
            let leaves = model.leaves(random, record);
            writeln!(
                text,
                "subroutine show_{name}(file)\n integer(4), value :: file\n type({name}), save, target :: x"
            )
            .unwrap();
            writeln!(text, " write(*, '(a,i0,a,i0)') 'record {name} ', storage_size(x) / 8, ' ', {}", leaves.len())
                .unwrap();
            leaves.iter().for_each(|leaf| show(&mut text, leaf));
            writeln!(text, " call put(file, loc(x), storage_size(x) / 8)\nend subroutine").unwrap();
            writeln!(main, " call show_{name}(file)").unwrap();
        }
        format!(
            "module m\n use iso_c_binding\n{INTERFACE}{types}contains\n{HELPERS}{text}end module\n{MAIN}{main}end program\n"
        )
    }

    fn named(&self, name: &str) -> String {
        name.to_lowercase()
    }
}

fn declare(text: &mut String, record: &Record) {
    let name = &record.name;
    let (fields, head) = match record.style {
        "extends" => (&record.fields[1..], format!("type, extends({}) :: {name}", record.fields[0].name)),
        "bind(C)" => (&record.fields[..], format!("type, bind(C) :: {name}")),
        "sequence" => (&record.fields[..], format!("type :: {name}\n  sequence")),
        _ => (&record.fields[..], format!("type :: {name}")),
    };
    writeln!(text, " {head}").unwrap();
    for field in fields {
        let Field { name, spelled, kind, dims, .. } = field;
        let (length, dims) = match kind {
            Kind::Char if !dims.is_empty() => (format!("(len={})", dims[0].0), &dims[1..]),
            _ => (String::new(), &dims[..]),
        };
        let spelled = if let Kind::Record(_) = kind { format!("type({spelled})") } else { spelled.clone() };
        let bounds: Vec<String> =
            dims.iter().map(|&(length, first)| format!("{first}:{}", first + length as i32 - 1)).collect();
        let bounds = if bounds.is_empty() { String::new() } else { format!("({})", bounds.join(",")) };
        writeln!(text, "  {spelled}{length} :: {name}{bounds}").unwrap();
    }
    writeln!(text, " end type").unwrap();
}

fn show(text: &mut String, leaf: &Leaf<'_>) {
    let (mut path, mut whole, mut place) = (String::new(), String::new(), String::from("x"));
    for (field, indices) in &leaf.path {
        let name = field.name.to_lowercase();
        write!(path, "{}{name}", if path.is_empty() { "" } else { "." }).unwrap();
        // The first dimension varies fastest, and is the last one of the record.
        indices.iter().rev().for_each(|index| write!(path, "[{index}]").unwrap());
        write!(place, "%{name}").unwrap();
        whole.clone_from(&place);
        let mut at: Vec<String> =
            indices.iter().zip(&field.dims).map(|(&index, &(_, first))| (index as i32 + first).to_string()).collect();
        let text = match field.kind {
            Kind::Char if !at.is_empty() => Some(at.remove(0)),
            _ => None,
        };
        // A character is a text of length 1.
        if let (Kind::Char, true) = (&field.kind, indices.is_empty()) {
            path += "[0]";
        }
        if !at.is_empty() {
            write!(place, "({})", at.join(",")).unwrap();
        }
        if let Some(at) = text {
            write!(place, "({at}:{at})").unwrap();
        }
    }
    let (value, how) = match (leaf.value, &leaf.field.kind) {
        (Value::Integer(number), Kind::Boolean) => {
            (if number == 1 { ".true." } else { ".false." }.into(), "merge(1_8, 0_8, A)")
        }
        (Value::Integer(number), Kind::Char) => (format!("char({number})"), "int(ichar(A), 8)"),
        (Value::Integer(number), Kind::Integer { bits: 128, .. }) => (literal(number, 16), "A"),
        (Value::Integer(number), Kind::Integer { bits, .. }) => {
            (format!("int({}, {})", literal(number, 8), bits / 8), "int(A, 8)")
        }
        (Value::Quarters([re, im]), Kind::Complex) => (format!("cmplx({re} / 4d0, {im} / 4d0, 8)"), "A"),
        (Value::Quarters([number, _]), _) => (format!("{number} / 4d0"), "real(A, 8)"),
        _ => unreachable!("Fortran has no enumerations of its own"),
    };
    writeln!(text, " {place} = {value}").unwrap();
    writeln!(text, " call leaf('{path}', loc({place}) - loc(x), int(sizeof({whole}), 8))").unwrap();
    let how = how.replace('A', &place);
    match leaf.field.kind {
        Kind::Complex => writeln!(text, " write(*, '(g0,a,g0)') real({how}, 8), ',', real(aimag({how}), 8)"),
        Kind::Float => writeln!(text, " write(*, '(g0)') {how}"),
        _ => writeln!(text, " write(*, '(i0)') {how}"),
    }
    .unwrap();
}

/// The least number of a type is no literal.
fn literal(number: i128, kind: u32) -> String {
    if number < 0 { format!("{}_{kind} - 1_{kind}", number + 1) } else { format!("{number}_{kind}") }
}

const INTERFACE: &str = " interface
  integer(c_int) function creat(path, mode) bind(C)
   use iso_c_binding
   character, intent(in) :: path(*)
   integer(4), value :: mode
  end function
  integer(c_intptr_t) function write_bytes(file, at, size) bind(C, name='write')
   use iso_c_binding
   integer(4), value :: file
   integer(c_intptr_t), value :: at
   integer(c_intptr_t), value :: size
  end function
 end interface
";
const HELPERS: &str = "subroutine leaf(path, offset, size)
 character(*) :: path
 integer(c_intptr_t) :: offset
 integer(8) :: size
 write(*, '(a,a,i0,a,i0,a)', advance='no') path, ' ', offset, ' ', size, ' '
end subroutine
subroutine put(file, at, size)
 integer(4), value :: file
 integer(c_intptr_t) :: at, done
 integer :: size
 done = write_bytes(file, at, int(size, kind(at)))
end subroutine
";
const MAIN: &str = "program p
 use m
 character(200) :: path
 integer(4) :: file
 call get_command_argument(1, path)
 file = creat(trim(path) // char(0), 384)
";
