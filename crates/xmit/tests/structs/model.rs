//! Structs that are drawn at random, without the words of a language: each language says which numbers it has.

use isoform_testing::mutate::Random;

/// What a language has, from which structs are drawn.
pub(crate) struct Palette {
    /// Its numbers, each with its name. `Kind` is what a program makes of one.
    pub(crate) numbers: Vec<(&'static str, Kind)>,
    /// What no record has, each with what follows the name of the field.
    pub(crate) dropped: &'static [(&'static str, &'static str)],
    /// Enumerations, by the bytes and the sign of the numbers that they may have; 0 for what fits a C `int`.
    pub(crate) enumerations: &'static [(&'static str, u32, bool)],
    /// What stands around a struct, such as `packed`.
    pub(crate) styles: &'static [&'static str],
    /// What stands at a field, such as an alignment.
    pub(crate) notes: &'static [&'static str],
    /// How many dimensions that differ an array has.
    pub(crate) dims: usize,
    /// Whether a struct may have others without names, and bases.
    pub(crate) nameless: bool,
    pub(crate) bases: bool,
    /// Whether the bounds of arrays begin where the program says.
    pub(crate) bounds: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Integer {
        signed: bool,
        bits: u32,
    },
    Boolean,
    Char,
    Float,
    Complex,
    Enumeration(usize),
    Record(usize),
    /// A struct without a tag.
    Inline(Vec<Field>),
    /// What no record has.
    Dropped,
}

#[derive(Clone, Debug)]
pub(crate) struct Field {
    /// Unlike that of every other field. It is empty for a struct whose fields are those of the one around it.
    pub(crate) name: String,
    /// The type in the language.
    pub(crate) spelled: String,
    pub(crate) kind: Kind,
    /// The lengths of the array, and the index of the first element of each.
    pub(crate) dims: Vec<(u32, i32)>,
    pub(crate) note: &'static str,
}

#[derive(Debug)]
pub(crate) struct Enumeration {
    pub(crate) name: String,
    pub(crate) style: &'static str,
    pub(crate) symbols: Vec<(String, i128)>,
}

#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) name: String,
    pub(crate) style: &'static str,
    pub(crate) bases: Vec<usize>,
    pub(crate) fields: Vec<Field>,
    /// How many values it has, those of arrays and of structs within it included.
    values: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Model {
    pub(crate) enumerations: Vec<Enumeration>,
    pub(crate) records: Vec<Record>,
}

/// A field without parts, or one element of it, with a value.
pub(crate) struct Leaf<'m> {
    /// The way to it: fields, each with the indices of an element, counted from 0.
    pub(crate) path: Vec<(&'m Field, Vec<u32>)>,
    pub(crate) field: &'m Field,
    pub(crate) value: Value,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Value {
    Integer(i128),
    /// A quarter of it, as all floats have.
    Quarters([i32; 2]),
    Symbol(usize),
}

impl Model {
    pub(crate) fn draw(random: &mut Random, palette: &Palette, records: usize) -> Model {
        let mut model = Model::default();
        for number in 0..records {
            if !palette.enumerations.is_empty() && random.one_in(2) {
                let name = format!("E{number}");
                model.enumerations.push(enumeration(random, palette, name));
            }
            let record = model.record(random, palette, number);
            model.records.push(record);
        }
        model
    }

    fn record(&self, random: &mut Random, palette: &Palette, number: usize) -> Record {
        let mut fields = Vec::new();
        for _ in 0..1 + random.below(7) {
            let field = self.field(random, palette, number, 0);
            fields.push(field);
        }
        name(&mut fields, number, &mut 0);
        if !palette.dropped.is_empty() && random.one_in(24) {
            let (kind, rest) = palette.dropped[random.below(palette.dropped.len())];
            let (spelled, name) = (kind.to_owned(), format!("d{number}{rest}"));
            let at = if rest == "[]" { fields.len() } else { random.below(fields.len() + 1) };
            fields.insert(at, Field { name, spelled, kind: Kind::Dropped, dims: Vec::new(), note: "" });
        }
        let bases = if palette.bases && number > 2 && random.one_in(5) { self.bases(random) } else { Vec::new() };
        let style = if random.one_in(5) { palette.styles[random.below(palette.styles.len())] } else { "" };
        let of_bases: usize = bases.iter().map(|&base| self.records[base].values).sum();
        let values = of_bases + fields.iter().map(|field| self.values(field)).sum::<usize>();
        Record { name: format!("S{number}"), style, bases, fields, values }
    }

    /// One base, or two that have none.
    fn bases(&self, random: &mut Random) -> Vec<usize> {
        let all: Vec<usize> = (0..self.records.len()).filter(|&at| self.is_whole(at)).collect();
        let Some(first) = random.of_these(&all) else { return Vec::new() };
        let second = random.of_these(&all).filter(|&second| {
            second != first && self.records[first].bases.is_empty() && self.records[second].bases.is_empty()
        });
        [Some(first)].into_iter().chain([second]).flatten().collect()
    }

    fn values(&self, field: &Field) -> usize {
        let of = match &field.kind {
            Kind::Record(at) => self.records[*at].values,
            Kind::Inline(within) => within.iter().map(|field| self.values(field)).sum(),
            _ => 1,
        };
        field.dims.iter().map(|(length, _)| *length as usize).product::<usize>() * of
    }

    /// Whether another may have it: it has everything that a record can have, and is not too large.
    fn is_whole(&self, record: usize) -> bool {
        let record = &self.records[record];
        record.values < 1000 && !record.fields.iter().any(|field| matches!(field.kind, Kind::Dropped))
    }

    fn field(&self, random: &mut Random, palette: &Palette, record: usize, depth: u32) -> Field {
        let mut field = Field {
            name: "f".into(),
            spelled: String::new(),
            kind: Kind::Boolean,
            dims: dims(random, palette),
            note: if random.one_in(16) { palette.notes[random.below(palette.notes.len())] } else { "" },
        };
        match random.below(20) {
            0..4 if !self.enumerations.is_empty() => {
                let at = self.enumerations.len() - 1 - random.below(self.enumerations.len().min(8));
                (field.spelled, field.kind) = (self.enumerations[at].name.clone(), Kind::Enumeration(at));
            }
            4..7 if record > 0 => {
                let at = record - 1 - random.below(record.min(8));
                if self.is_whole(at) {
                    (field.spelled, field.kind) = (self.records[at].name.clone(), Kind::Record(at));
                    field.dims.iter_mut().for_each(|(length, _)| *length = (*length).min(4));
                }
            }
            7 if palette.nameless && depth < 2 => {
                let within = (0..1 + random.below(3)).map(|_| self.field(random, palette, record, depth + 1));
                field.kind = Kind::Inline(within.collect());
                field.dims.iter_mut().for_each(|(length, _)| *length = (*length).min(4));
                if random.one_in(2) {
                    (field.name, field.dims) = (String::new(), Vec::new());
                }
            }
            _ => {}
        }
        if let Kind::Boolean = field.kind {
            let (spelled, kind) = &palette.numbers[random.below(palette.numbers.len())];
            (field.spelled, field.kind) = ((*spelled).into(), kind.clone());
        }
        field
    }

    /// The leaves of a record, each with an index and a value.
    pub(crate) fn leaves<'m>(&'m self, random: &mut Random, record: &'m Record) -> Vec<Leaf<'m>> {
        let mut leaves = Vec::new();
        self.leaves_of(random, record, &[], &mut leaves);
        leaves
    }

    fn leaves_of<'m>(
        &'m self,
        random: &mut Random,
        record: &'m Record,
        path: &[(&'m Field, Vec<u32>)],
        to: &mut Vec<Leaf<'m>>,
    ) {
        for &base in &record.bases {
            self.leaves_of(random, &self.records[base], path, to);
        }
        self.leaves_in(random, &record.fields, path, to);
    }

    fn leaves_in<'m>(
        &'m self,
        random: &mut Random,
        fields: &'m [Field],
        path: &[(&'m Field, Vec<u32>)],
        to: &mut Vec<Leaf<'m>>,
    ) {
        for field in fields {
            let mut path = path.to_vec();
            let index =
                |&(length, _): &(u32, i32)| [0, length - 1, random.below(length as usize) as u32][random.below(3)];
            path.push((field, field.dims.iter().map(index).collect()));
            let value = match &field.kind {
                Kind::Dropped => continue,
                Kind::Record(at) => {
                    self.leaves_of(random, &self.records[*at], &path, to);
                    continue;
                }
                Kind::Inline(fields) => {
                    self.leaves_in(random, fields, &path, to);
                    continue;
                }
                Kind::Boolean => Value::Integer(random.below(2) as i128),
                Kind::Char => Value::Integer(33 + random.below(90) as i128),
                Kind::Float | Kind::Complex => Value::Quarters([0, 0].map(|_| random.below(2000) as i32 - 1000)),
                Kind::Integer { signed, bits } => Value::Integer(integer(random, *signed, *bits)),
                Kind::Enumeration(at) => Value::Symbol(random.below(self.enumerations[*at].symbols.len())),
            };
            to.push(Leaf { path, field, value });
        }
    }
}

/// Gives each field a name of its own, except structs that have none.
fn name(fields: &mut [Field], record: usize, number: &mut usize) {
    for field in fields {
        if !field.name.is_empty() {
            field.name = format!("f{record}_{number}");
            *number += 1;
        }
        if let Kind::Inline(within) = &mut field.kind {
            name(within, record, number);
        }
    }
}

/// Lengths at whose edge a form of debug information changes.
const SHORT: [u32; 13] = [1, 2, 3, 7, 16, 127, 128, 129, 200, 255, 256, 257, 300];
const LONG: [u32; 6] = [32767, 32768, 32769, 40000, 65535, 65536];

fn dims(random: &mut Random, palette: &Palette) -> Vec<(u32, i32)> {
    let count = [0, 0, 0, 0, 0, 1, 1, 1, 2, 3][random.below(10)].min(palette.dims);
    let first = |random: &mut Random| match palette.bounds {
        true => [1, 1, 0, -3, 200][random.below(5)],
        false => 0,
    };
    match count {
        1 => {
            let lengths = if random.one_in(8) { &LONG[..] } else { &SHORT };
            vec![(lengths[random.below(lengths.len())], first(random))]
        }
        _ => (0..count).map(|_| (1 + random.below(4) as u32, first(random))).collect(),
    }
}

/// A number of a type, often at an end of its range.
fn integer(random: &mut Random, signed: bool, bits: u32) -> i128 {
    let any = (i128::from(random.bits()) << 64 | i128::from(random.bits())) >> (random.below(bits as usize) as u32);
    let unused = 128 - bits;
    let within = |number: i128| match signed {
        true => number << unused >> unused,
        false => ((number as u128) << unused >> unused) as i128,
    };
    match random.below(4) {
        0 => within(if signed { 1 << (bits - 1) } else { -1 }),
        1 => within(if signed { i128::MAX >> unused } else { 1 << (bits - 1) }),
        _ => within(any),
    }
}

/// Numbers at whose edge a form of debug information changes.
const EDGES: [i128; 22] = [
    1,
    5,
    63,
    64,
    100,
    127,
    128,
    129,
    200,
    255,
    256,
    32767,
    32768,
    65535,
    65536,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0xffff_ffff_ffff_ffff,
];

fn enumeration(random: &mut Random, palette: &Palette, name: String) -> Enumeration {
    let (style, bits, signed) = palette.enumerations[random.below(palette.enumerations.len())];
    let most = if signed { (1_i128 << (bits - 1)) - 1 } else { (1 << bits) - 1 };
    // All of them, so that the memory of a program is valid before it sets a field.
    let mut numbers = vec![0];
    for _ in 0..random.below(6) {
        let edge = EDGES[random.below(EDGES.len())];
        let number = if signed && random.one_in(2) { -edge } else { edge };
        let fits = number <= most && (number >= 0 || signed && number >= -most - 1);
        if fits && !numbers.contains(&number) {
            numbers.push(number);
        }
    }
    let symbols = numbers.into_iter().enumerate().map(|(at, number)| (format!("{name}_{at}"), number)).collect();
    Enumeration { name, style, symbols }
}
