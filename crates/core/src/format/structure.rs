//! Fields in their places. [`Structure::new`] is the one checker that every format passes, however it was declared.

use super::element::Element;
use super::machine::Machine;
use crate::error::{Code, Error, Result};
use crate::limits::{MAX_ALIGN, MAX_DEPTH, MAX_FIELDS, MAX_RANK, MAX_RECORD, too_deep, too_many_fields};
use crate::plan::describe;
use crate::text::json::Entries;
use std::collections::HashSet;
use std::fmt;
use std::sync::OnceLock;

/// A named field: its type and its place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    /// Its name, by which sender and receiver match it.
    pub name: Box<str>,
    /// The type of its elements.
    pub element: Element,
    /// Its dimensions, with the slowest-varying first; none for a single element.
    pub dims: Box<[Dimension]>,
    /// Whether the record has a pointer to the elements in place of the elements. That is so for all arrays with a
    /// dynamic dimension. Without dimensions, it is a pointer to one element, or null.
    pub indirect: bool,
    /// Bytes from the start of its structure.
    pub offset: usize,
    /// The unit of measurement, such as `m/s`.
    pub unit: Option<Box<str>>,
}

/// One dimension of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dimension {
    /// A fixed number of elements.
    Fixed(usize),
    /// The number of elements is the value of the integer field of this index, in the same structure.
    Field(usize),
}

impl Field {
    /// The bytes of one element, with pointers of this size.
    pub fn element_size(&self, pointer: u8) -> usize {
        self.element.size(pointer)
    }

    /// The number of elements, or `None` if it depends on the record.
    pub fn fixed_count(&self) -> Option<usize> {
        self.dims.iter().try_fold(1usize, |count, dim| match dim {
            Dimension::Fixed(n) => count.checked_mul(*n),
            Dimension::Field(_) => None,
        })
    }

    /// Whether a dimension depends on the record.
    pub fn is_dynamic(&self) -> bool {
        self.dims.iter().any(|dim| matches!(dim, Dimension::Field(_)))
    }

    /// The bytes that the field occupies in its record: those of a pointer if it is indirect, and otherwise those of
    /// all elements.
    pub fn extent(&self, pointer: u8) -> Option<usize> {
        match self.indirect {
            true => Some(usize::from(pointer)),
            false => self.fixed_count()?.checked_mul(self.element_size(pointer)),
        }
    }

    /// Whether the field's bytes in the record hold a pointer.
    pub fn has_slots(&self) -> bool {
        self.indirect
            || match &self.element {
                Element::String => true,
                Element::Structure(inner) => inner.has_slots(),
                _ => false,
            }
    }
}

/// Named fields with their places: a C struct, as one kind of machine lays it out.
#[derive(Clone)]
pub struct Structure {
    name: Box<str>,
    machine: Machine,
    size: usize,
    align: usize,
    fields: Box<[Field]>,
    depth: usize,
    total_fields: usize,
    slots: bool,
    checked: bool,
    gaps: bool,
    /// The indices of the fields, by ascending name.
    by_name: Box<[u16]>,
    /// The number of each field, as [`numbered`](Structure::numbered) counts.
    numbers: Box<[u16]>,
    /// What its objects of JSON have in common, made when it is first needed.
    json: OnceLock<Entries>,
}

impl Structure {
    /// Creates a structure. Fields may have any order; [`Dimension::Field`] counts in the given order.
    ///
    /// # Errors
    /// [`Code::Declaration`] if fields overlap or extend past the structure, two share a name, there are none, or the
    /// length of an array is not a single integer field of at most 8 bytes; [`Code::Depth`], [`Code::Fields`],
    /// [`Code::Size`] if a limit is exceeded.
    pub fn new(
        name: impl Into<Box<str>>,
        machine: Machine,
        size: usize,
        align: usize,
        fields: Vec<Field>,
    ) -> Result<Structure> {
        let name = name.into();
        let fault = |code| Error::new(code).at(&*name);
        check_name(&name)?;
        if !matches!(machine.pointer, 4 | 8) {
            return Err(fault(Code::Declaration).expected("pointers of 4 or 8 bytes").found(machine.pointer));
        }
        if size >= MAX_RECORD {
            return Err(fault(Code::Size).expected(format_args!("fewer than {MAX_RECORD} bytes")).found(size));
        }
        if fields.is_empty() {
            return Err(fault(Code::Declaration).expected("at least one field"));
        }
        if fields.len() > MAX_FIELDS {
            return Err(too_many_fields(MAX_FIELDS, fields.len()).at(&*name));
        }
        let fields = in_order(fields);
        let mut end = 0;
        let mut gaps = false;
        let mut depth = 1;
        let mut total_fields = fields.len();
        let (mut next, mut numbers) = (0, Vec::with_capacity(fields.len()));
        for field in &fields {
            // An invalid name may have any length, and is not a path.
            check_name(&field.name).map_err(|error| error.at(&*name))?;
            check_field(field, &fields, machine).map_err(|error| error.within(&field.name).within(&name))?;
            let fault = |code| Error::new(code).at(&*field.name).within(&name);
            let extent = field.extent(machine.pointer).ok_or_else(|| fault(Code::Size))?;
            let (begin, past) = (field.offset, field.offset.checked_add(extent).ok_or_else(|| fault(Code::Size))?);
            if begin < end || past > size {
                let twice = fields.iter().filter(|other| other.name == field.name).count() > 1;
                return Err(match twice {
                    true => fault(Code::Declaration).found(TWICE),
                    false => fault(Code::Declaration)
                        .expected(format_args!("free bytes from {end} to {size}"))
                        .found(format_args!("bytes {begin} to {past}")),
                });
            }
            gaps |= begin > end || field.element.has_gaps();
            end = past;
            // With too many fields for these numbers, it is refused below.
            numbers.push(next as u16);
            next += 1;
            if let Element::Structure(inner) = &field.element {
                depth = depth.max(1 + inner.depth);
                total_fields = inner.total_fields.saturating_add(total_fields);
                next += inner.total_fields;
            }
        }
        if !align.is_power_of_two() || align > MAX_ALIGN || !size.is_multiple_of(align) {
            return Err(fault(Code::Declaration)
                .expected(format_args!("a size that is a multiple of an alignment of up to {MAX_ALIGN}"))
                .found(format_args!("size {size}, alignment {align}")));
        }
        if depth > MAX_DEPTH {
            return Err(too_deep(MAX_DEPTH, depth).at(&*name));
        }
        if total_fields > MAX_FIELDS {
            return Err(too_many_fields(MAX_FIELDS, total_fields).at(&*name));
        }
        gaps |= end < size;
        let slots = fields.iter().any(Field::has_slots);
        let checked = slots || fields.iter().any(|field| needs_check(&field.element));
        let by_name = by_name(&fields).map_err(|error| error.within(&name))?;
        let numbers = numbers.into();
        Ok(Structure {
            name,
            machine,
            size,
            align,
            fields,
            depth,
            total_fields,
            slots,
            checked,
            gaps,
            by_name,
            numbers,
            json: OnceLock::new(),
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Byte order and pointer size.
    pub fn machine(&self) -> Machine {
        self.machine
    }

    /// Its size, which is also the distance between elements of an array.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Its alignment.
    pub fn align(&self) -> usize {
        self.align
    }

    /// Its fields, by ascending offset.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The index of the field of this name.
    pub fn index_of(&self, name: &str) -> Option<usize> {
        if self.fields.len() <= 8 {
            return self.fields.iter().position(|field| &*field.name == name);
        }
        let found = self.by_name.binary_search_by_key(&name, |&index| &self.fields[usize::from(index)].name);
        found.ok().map(|at| self.by_name[at].into())
    }

    /// The field of this name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.index_of(name).map(|index| &self.fields[index])
    }

    /// The number of the field with this index.
    pub(crate) fn number_of(&self, index: usize) -> usize {
        self.numbers[index].into()
    }

    /// What its objects of JSON have in common, made when it is first needed.
    #[inline]
    pub(crate) fn json(&self) -> &OnceLock<Entries> {
        &self.json
    }

    /// The field of this number, with its path, in which `[]` stands for the index in an array of structures. Numbers
    /// count all fields from 0, with the fields of a nested structure after the field that nests it. Numbers are stored
    /// in place of paths, since paths of deeply nested fields could take a thousand times the memory of their
    /// description.
    pub(crate) fn numbered(&self, mut number: usize) -> Option<(String, &Field)> {
        let (mut structure, mut path) = (self, String::new());
        loop {
            let within = structure.fields.iter().find(|field| {
                let nested = if let Element::Structure(inner) = &field.element { inner.total_fields } else { 0 };
                let found = number <= nested;
                number -= if found { 0 } else { 1 + nested };
                found
            })?;
            path.push_str(&within.name);
            let (Some(rest), Element::Structure(inner)) = (number.checked_sub(1), &within.element) else {
                return Some((path, within));
            };
            path.push_str(if within.dims.is_empty() { "." } else { "[]." });
            (structure, number) = (inner, rest);
        }
    }

    /// The structure and all that it nests, each once, and after those that it nests itself.
    pub fn inside_out(&self) -> Vec<&Structure> {
        fn add<'a>(structure: &'a Structure, known: &mut HashSet<&'a str>, all: &mut Vec<&'a Structure>) {
            if !known.insert(structure.name()) {
                return;
            }
            for field in structure.fields() {
                if let Element::Structure(inner) = &field.element {
                    add(inner, known, all);
                }
            }
            all.push(structure);
        }
        let mut all = Vec::new();
        add(self, &mut HashSet::new(), &mut all);
        all
    }

    /// The number of levels of nested structures: 1 without any.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// The number of its fields and of those of nested structures, which count once for each field that nests them.
    pub fn total_fields(&self) -> usize {
        self.total_fields
    }

    /// Whether it holds pointers, itself or in a nested structure.
    pub fn has_slots(&self) -> bool {
        self.slots
    }

    /// Whether it can contain invalid bytes: pointers, booleans, enumerations.
    pub fn needs_check(&self) -> bool {
        self.checked
    }

    /// Whether there are bytes that belong to no field or are not part of a number, here or in memory that it points
    /// at.
    pub fn has_gaps(&self) -> bool {
        self.gaps
    }
}

impl PartialEq for Structure {
    fn eq(&self, other: &Structure) -> bool {
        let key = |s: &Structure| (s.machine, s.size, s.align);
        self.name == other.name && key(self) == key(other) && self.fields == other.fields
    }
}

impl Eq for Structure {}

impl std::hash::Hash for Structure {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (&self.name, self.machine, self.size, self.align, &self.fields).hash(state);
    }
}

impl fmt::Debug for Structure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Structure")
            .field("name", &self.name)
            .field("machine", &self.machine)
            .field("size", &self.size)
            .field("align", &self.align)
            .field("fields", &self.fields)
            .finish()
    }
}

/// A name can be part of a path such as `grid[3].rho`.
pub(super) fn check_name(name: &str) -> Result<()> {
    let odd =
        |c: char| c.is_control() || c.is_whitespace() || matches!(c, '.' | '[' | ']' | '{' | '}' | '*' | ',' | '=');
    if name.is_empty() || name.len() > 255 || name.chars().any(odd) {
        let expected = "1 to 255 bytes without space, control character or any of . [ ] { } * , =";
        let hint = if name.contains('.') { ": a member of a nested struct is a field of its structure" } else { "" };
        return Err(Error::new(Code::Declaration).expected(expected).found(format_args!("the name {name:?}{hint}")));
    }
    Ok(())
}

fn check_field(field: &Field, all: &[Field], machine: Machine) -> Result<()> {
    let bad = |what: &str| Err(Error::new(Code::Declaration).found(what));
    field.element.check()?;
    if let Some(unit) = &field.unit
        && (unit.is_empty() || unit.len() > 255 || unit.chars().any(char::is_control))
    {
        return bad("a unit that is empty, longer than 255 bytes, or holds control characters");
    }
    if let Element::Structure(inner) = &field.element
        && inner.machine != machine
    {
        return bad("a nested structure of another machine");
    }
    if field.dims.len() > MAX_RANK {
        return bad("more than 8 dimensions");
    }
    for dim in &field.dims {
        match *dim {
            Dimension::Fixed(0) => return bad("a dimension of 0"),
            Dimension::Fixed(n) if n >= MAX_RECORD => return bad("a dimension beyond every record"),
            Dimension::Fixed(_) => {}
            Dimension::Field(index) => {
                let Some(length) = all.get(index) else { return bad("an array length that is no field") };
                let is_integer = matches!(length.element, Element::Integer { size, .. } if size <= 8);
                if !is_integer || length.indirect || !length.dims.is_empty() {
                    let error = Error::new(Code::Declaration).expected("a single integer of at most 8 bytes as length");
                    return Err(error.found(format_args!("{} ({})", length.name, describe(length))));
                }
            }
        }
    }
    if field.is_dynamic() && !field.indirect {
        return bad("an array of variable length that is not behind a pointer");
    }
    let fixed = field.dims.iter().try_fold(1usize, |count, dim| match dim {
        Dimension::Fixed(n) => count.checked_mul(*n),
        Dimension::Field(_) => Some(count),
    });
    match fixed.and_then(|count| count.checked_mul(field.element_size(machine.pointer))) {
        Some(bytes) if bytes < MAX_RECORD => Ok(()),
        _ => Err(Error::new(Code::Size)),
    }
}

fn needs_check(element: &Element) -> bool {
    match element {
        Element::Boolean { .. } | Element::Enumeration(_) => true,
        Element::Structure(inner) => inner.checked,
        _ => false,
    }
}

const _: () = assert!(MAX_FIELDS <= u16::MAX as usize);

/// Found where each field must have a name of its own.
const TWICE: &str = "two fields of this name";

/// The indices of fields by ascending name. Two equal names are an error.
fn by_name(fields: &[Field]) -> Result<Box<[u16]>> {
    let name = |index: u16| &fields[usize::from(index)].name;
    let mut indices: Box<[u16]> = (0..fields.len() as u16).collect();
    indices.sort_by_key(|&index| name(index));
    match indices.windows(2).find(|pair| name(pair[0]) == name(pair[1])) {
        Some(pair) => Err(Error::new(Code::Declaration).at(&**name(pair[1])).found(TWICE)),
        None => Ok(indices),
    }
}

/// Sorts fields by offset, and adjusts the dimensions that refer to length fields.
fn in_order(fields: Vec<Field>) -> Box<[Field]> {
    if fields.is_sorted_by_key(|field| field.offset) {
        return fields.into();
    }
    let mut order: Vec<usize> = (0..fields.len()).collect();
    order.sort_by_key(|&index| fields[index].offset);
    let mut place = vec![0; fields.len()];
    order.iter().enumerate().for_each(|(new, &old)| place[old] = new);
    let mut sorted: Vec<Option<Field>> = fields.iter().map(|_| None).collect();
    for (old, mut field) in fields.into_iter().enumerate() {
        for dim in &mut field.dims {
            if let Dimension::Field(index) = dim {
                *index = place.get(*index).copied().unwrap_or(usize::MAX);
            }
        }
        sorted[place[old]] = Some(field);
    }
    sorted.into_iter().flatten().collect()
}
