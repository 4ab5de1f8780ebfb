//! Types of a program as structures of formats.

use super::source::{Arrays, Candidate, Entry, MAX_DEPTH, Place, Source};
use crate::lexical;
use crate::overlay::{Change, Overlay, Points, no_length};
use gimli::constants as dw;
use isoform_core::declare::{Length, Type as Words};
use isoform_core::plan::Rules;
use isoform_core::{Code, Dimension, Element, Enumeration, Error, Field, FloatKind, Format, Layout, Result, Structure};
use std::collections::hash_map::Entry as Slot;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// How many entries are read for one name.
const MAX_ENTRIES: usize = 1 << 22;
/// How many fields a record has, and how many bytes its description, as `spec/format.md` limits them.
const MAX_FIELDS: usize = 4096;
const MAX_DESCRIPTION: usize = 64 << 10;
/// How many parts a type has. Those of types within each other are held at once, and are no more than twice as many.
const MAX_PARTS: usize = 1 << 16;
/// How many names of enumerations are kept that are no symbols.
const MAX_OTHERS: usize = 1 << 16;

const BITS: &str = "a bit-field";
/// What lets the rest of a record be used.
const DROPS: &str = "a field that a record can have, or an overlay that drops it";

/// Makes formats of types, within a limit on the work.
pub(super) struct Builder<'p> {
    units: &'p dyn Source,
    layout: &'p Layout,
    entries: usize,
    /// The structures and enumerations of the record that is made.
    known: HashMap<(Place, Box<str>), Arc<Structure>>,
    enumerations: HashMap<Place, Arc<Enumeration>>,
    /// The bytes that these enumerations take in its description, at least.
    described: usize,
    /// Names in them that are no symbols.
    others: Vec<Other>,
    /// Parts of the structs around what is read.
    held: usize,
    /// What the receiver changes.
    overlay: Option<&'p Overlay>,
    /// The records of the overlay that were met.
    met: HashSet<Box<str>>,
    /// The defaults of the overlay for the records that were met, and the aliases of fields that it renames.
    rules: Rules,
}

/// A name in an enumeration that is no symbol, since another one stands for its number.
pub(super) struct Other {
    pub(super) name: Box<str>,
    pub(super) symbol: Box<str>,
    /// The enumeration.
    pub(super) of: Candidate,
}

/// The type of a field.
struct Type {
    element: Element,
    dims: Vec<Length>,
    align: usize,
    /// Whether it is behind a pointer.
    indirect: bool,
}

/// Fields of a structure.
#[derive(Default)]
struct Members {
    list: Vec<Member>,
    /// The fields that the overlay changes and that are there.
    met: HashSet<Box<str>>,
}

/// A field whose lengths are not yet known.
struct Member {
    /// Its name in the program.
    label: Box<str>,
    /// The field without dimensions.
    field: Field,
    dims: Vec<Length>,
    align: usize,
    default: Option<Box<str>>,
}

/// What becomes rules of a field once its type is whole.
struct Stated {
    name: Box<str>,
    /// Its name in the program.
    label: Box<str>,
    default: Option<Box<str>>,
}

impl Member {
    fn stated(&self) -> Stated {
        Stated { name: self.field.name.clone(), label: self.label.clone(), default: self.default.clone() }
    }
}

fn refused(what: impl std::fmt::Display) -> Error {
    Error::new(Code::Declaration).found(what)
}

/// The refusal of a field that has a name: whatever is wrong with it, the rest of its record can be used.
fn with_remedy(error: Error) -> Error {
    match error.code() {
        Code::Declaration if error.expectation().is_empty() => error.expected(DROPS),
        _ => error,
    }
}

impl<'p> Builder<'p> {
    pub(super) fn new(units: &'p dyn Source, layout: &'p Layout, overlay: Option<&'p Overlay>) -> Builder<'p> {
        let (known, met, rules) = (HashMap::new(), HashSet::new(), Rules::new());
        let (enumerations, others) = (HashMap::new(), Vec::new());
        Builder { units, layout, entries: 0, known, enumerations, described: 0, others, held: 0, overlay, met, rules }
    }

    /// How many entries were read, and the names of enumerations that are no symbols.
    pub(super) fn into_work(self) -> (usize, Vec<Other>) {
        (self.entries, self.others)
    }

    /// The rules for the formats that were made.
    pub(super) fn rules(self) -> Rules {
        self.rules
    }

    /// Refuses an overlay for a record that neither was met nor is a struct of the program.
    pub(super) fn check_records(&self) -> Result<()> {
        let Some(overlay) = self.overlay else { return Ok(()) };
        let is_there = |name: &str| self.met.contains(name) || !self.units.names().of(name).is_empty();
        match overlay.records.keys().find(|name| !is_there(name)) {
            None => Ok(()),
            Some(name) => {
                let error = Error::new(Code::NoSuchField).at(format!("{}.{name}", overlay.name));
                Err(error.expected("a struct of the program, or one within the record").found(name))
            }
        }
    }

    pub(super) fn format(&mut self, candidate: &Candidate, name: &str) -> Result<Format> {
        let mut at = candidate.at;
        self.known.clear();
        self.enumerations.clear();
        (self.described, self.held) = (0, 0);
        for _ in 0..MAX_DEPTH {
            let entry = self.entry(at)?;
            match entry.kind.filter(|_| is_transparent(entry.tag)) {
                Some(kind) => at = kind,
                None => return Format::new(self.structure(&entry, name, 0)?),
            }
        }
        Err(Error::new(Code::Depth).at(name))
    }

    /// The structure of a struct.
    fn structure(&mut self, entry: &Entry, name: &str, depth: usize) -> Result<Arc<Structure>> {
        let key = (entry.at, name.into());
        if let Some(structure) = self.known.get(&key) {
            return Ok(structure.clone());
        }
        if let Some(odd) = entry.odd {
            return Err(refused(odd).at(name));
        }
        let mut members = Members::default();
        self.members(entry, 0, name, depth, &mut members).map_err(|error| error.within(name))?;
        let size = usize::try_from(entry.size.ok_or_else(|| refused("a struct that is only declared").at(name))?)
            .map_err(|_| Error::new(Code::Size).at(name))?;
        let align = members.align(size).max(alignment(entry)?.unwrap_or(1));
        let changes = self.overlay.and_then(|overlay| overlay.records.get(name));
        if let (Some(overlay), Some(changes)) = (self.overlay, changes) {
            self.met.insert(name.into());
            let at = format!("{}.{name}", overlay.name);
            if let Some(unknown) = changes.fields.keys().find(|field| !members.met.contains(*field)) {
                let known: Vec<&str> = members.list.iter().map(|member| &*member.label).take(24).collect();
                let error = Error::new(Code::NoSuchField).at(format!("{at}.{unknown}"));
                return Err(error.expected(format!("one of the fields {}", known.join(", "))).found(&**unknown));
            }
            if members.list.is_empty() {
                let error = Error::new(Code::Declaration).at(at).expected("a record with a field");
                return Err(error.found("each field dropped"));
            }
        }
        let own = changes.and_then(|changes| changes.name.as_deref()).unwrap_or(name);
        let stated: Vec<Stated> = members.list.iter().map(Member::stated).collect();
        let structure = Arc::new(Structure::new(own, self.layout.machine(), size, align, self.fields(name, members)?)?);
        for Stated { name: field, label, default } in stated {
            let Some(field) = structure.field(&field) else { continue };
            // A name that another field has means that field.
            if structure.field(&label).is_none() && Rules::check_alias(&label).is_ok() {
                self.rules = std::mem::take(&mut self.rules).alias(own, &field.name, &label);
            }
            if let (Some(text), Some(overlay)) = (default, self.overlay) {
                let value = lexical::value(&Words::of(field, &structure), field.unit.as_deref(), &text);
                let value = value.map_err(|error| error.at(format!("{}.{name}.{label}", overlay.name)))?;
                self.rules = std::mem::take(&mut self.rules).default(own, &field.name, value);
            }
        }
        self.known.insert(key, structure.clone());
        Ok(structure)
    }

    /// The fields, once all of them are known that may be lengths.
    fn fields(&self, record: &str, members: Members) -> Result<Vec<Field>> {
        let places: HashMap<Box<str>, usize> =
            members.list.iter().enumerate().map(|(at, member)| (member.label.clone(), at)).collect();
        let is_length = |at: usize| {
            let field = &members.list[at].field;
            matches!(field.element, Element::Integer { .. }) && members.list[at].dims.is_empty() && !field.indirect
        };
        let lengths: Vec<Box<[Dimension]>> = (members.list.iter())
            .map(|member| {
                let dim = |dim: &Length| match dim {
                    Length::Fixed(count) => Ok(Dimension::Fixed(*count)),
                    Length::Field(name) => match places.get(name) {
                        Some(&at) if is_length(at) => Ok(Dimension::Field(at)),
                        found => {
                            let at = self.overlay.map_or("", |overlay| &overlay.name);
                            Err(no_length(&format!("{at}.{record}.{}", member.label), name, found.is_some()))
                        }
                    },
                };
                member.dims.iter().map(dim).collect::<Result<_>>()
            })
            .collect::<Result<_>>()?;
        Ok(members.list.into_iter().zip(lengths).map(|(member, dims)| Field { dims, ..member.field }).collect())
    }

    /// Adds the members of a struct that is at an offset of its record: those of its bases and of members without a name as if
    /// they were its own.
    fn members(&mut self, of: &Entry, offset: u64, name: &str, depth: usize, to: &mut Members) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(Error::new(Code::Depth));
        }
        let members = self.children(of.at)?;
        self.held += members.len();
        for member in &members {
            let inherited = match member.tag {
                dw::DW_TAG_member if !member.external => false,
                dw::DW_TAG_inheritance => true,
                dw::DW_TAG_variant_part => {
                    return Err(refused("a variant part").expected("the same fields in each record"));
                }
                _ => continue, // functions, types and static members have no place in a record
            };
            let path = member.name.clone().unwrap_or_default();
            self.member(member, inherited, offset, name, depth, to).map_err(|error| match &*path {
                "" => error,
                path => with_remedy(error).within(path),
            })?;
            if to.list.len() > MAX_FIELDS {
                return Err(Error::new(Code::Fields).expected(format_args!("at most {MAX_FIELDS} fields")));
            }
        }
        self.held -= members.len();
        Ok(())
    }

    fn member(
        &mut self,
        member: &Entry,
        inherited: bool,
        base: u64,
        name: &str,
        depth: usize,
        to: &mut Members,
    ) -> Result<()> {
        let change = match (&member.name, inherited, self.overlay) {
            (Some(field), false, Some(overlay)) => overlay.records.get(name).and_then(|record| {
                to.met.insert(field.clone());
                record.fields.get(field)
            }),
            _ => None,
        };
        let (label, unit, default, points) = match change {
            Some(Change::Drop) => return Ok(()), // whatever it is
            Some(Change::Set { name, unit, default, pointer }) => {
                (name.as_ref(), Some(unit), Some(default), pointer.as_ref())
            }
            None => (None, None, None, None),
        };
        if let Some(odd) = member.odd {
            return Err(refused(odd));
        }
        let kind = member.kind.ok_or_else(|| refused("a field without a type"))?;
        let offset = self.offset(member, kind)?.and_then(|offset| offset.checked_add(base));
        let offset = offset.ok_or_else(|| refused("an offset that is not a number"))?;
        let Some(field) = member.name.clone().filter(|_| !inherited) else {
            let (inner, _) = self.plain(kind)?;
            return match inner.tag {
                dw::DW_TAG_structure_type | dw::DW_TAG_class_type => self.members(&inner, offset, name, depth + 1, to),
                _ => Err(refused(format_args!("{} without a name", word(inner.tag))).expected("a struct, or a name")),
            };
        };
        let kind = self.kind(kind, &format!("{name}_{field}"), points, depth + 1)?;
        if points.is_some() && !kind.indirect && !matches!(kind.element, Element::String) {
            return Err(refused("a field without a pointer").expected("a pointer"));
        }
        let (mut its_unit, mut its_default) = (None, None);
        unit.into_iter().for_each(|part| part.put(&mut its_unit));
        default.into_iter().for_each(|part| part.put(&mut its_default));
        to.list.push(Member {
            label: field.clone(),
            dims: kind.dims,
            align: alignment(member)?.map_or(kind.align, |stated| stated.max(kind.align)),
            default: its_default,
            field: Field {
                name: label.unwrap_or(&field).clone(),
                element: kind.element,
                dims: Box::default(),
                indirect: kind.indirect,
                offset: usize::try_from(offset).map_err(|_| Error::new(Code::Size))?,
                unit: its_unit,
            },
        });
        Ok(())
    }

    /// The offset of a member in its struct. One that is placed by bits is like others if it has all bits of its type, at a byte.
    fn offset(&mut self, member: &Entry, kind: Place) -> Result<Option<u64>> {
        let Some(bits) = member.bits else { return Ok(member.offset) };
        let size = self.plain(kind)?.0.size.and_then(|size| size.checked_mul(8));
        match (member.bit_offset, member.bit_offset_within, member.offset) {
            _ if size != Some(bits) => Err(refused(BITS)),
            (Some(offset), None, None) if offset % 8 == 0 => Ok(Some(offset / 8)),
            (None, None | Some(0), offset) => Ok(offset),
            _ => Err(refused(BITS)),
        }
    }

    /// What a pointer is by the overlay.
    fn pointer(&mut self, entry: &Entry, points: Option<&Points>, anonymous: &str, depth: usize) -> Result<Type> {
        let Some(points) = points else {
            // Compilers name it so, each with its own ending.
            if anonymous.contains("__vptr.") || anonymous.contains("__vptr$") {
                let found = "a pointer to the virtual functions of its class";
                return Err(refused(found).expected("a class without them, or an overlay that drops the pointer"));
            }
            let expected = "an overlay that says what it points at (text, one, or [n]) or drops it";
            return Err(refused("a pointer").expected(expected));
        };
        let slot = u64::from(self.layout.machine().pointer);
        if entry.size.is_some_and(|size| size != slot) {
            return Err(refused("a pointer of another size than the machine's"));
        }
        let align = self.layout.align_of(&Element::String);
        let to =
            entry.kind.ok_or_else(|| refused("a pointer to nothing that is known").expected("a pointer to a type"))?;
        if points.text {
            let inner = self.text(to, !points.dims.is_empty())?;
            return match inner {
                true => Ok(Type {
                    element: Element::String,
                    align,
                    indirect: !points.dims.is_empty(),
                    dims: points.dims.clone(),
                }),
                false => Err(refused("a pointer to something else").expected("a pointer to characters")),
            };
        }
        let inner = self.kind(to, anonymous, None, depth + 1)?;
        let dims = points.dims.iter().chain(&inner.dims).cloned().collect();
        Ok(Type { element: inner.element, dims, align, indirect: true })
    }

    /// Whether these are characters; for an array of texts, whether it is a pointer to characters.
    fn text(&mut self, at: Place, of_texts: bool) -> Result<bool> {
        let (entry, _) = self.plain(at)?;
        Ok(match (entry.tag, entry.kind) {
            (dw::DW_TAG_pointer_type, Some(to)) if of_texts => self.text(to, false)?,
            (dw::DW_TAG_base_type, _) if !of_texts => match self.number(&entry)? {
                Element::Char => true,
                Element::Integer { size, .. } => size == 1,
                _ => false,
            },
            _ => false,
        })
    }

    /// The type of a field. `anonymous` is the name of a struct that has none.
    fn kind(&mut self, at: Place, anonymous: &str, points: Option<&Points>, depth: usize) -> Result<Type> {
        if depth > MAX_DEPTH {
            return Err(Error::new(Code::Depth));
        }
        let (entry, alias) = self.plain(at)?;
        if let Some(odd) = entry.odd {
            return Err(refused(odd));
        }
        let element = match entry.tag {
            dw::DW_TAG_base_type => self.number(&entry)?,
            dw::DW_TAG_enumeration_type => self.enumeration(&entry)?,
            dw::DW_TAG_subrange_type => self.range(&entry, depth)?,
            dw::DW_TAG_structure_type | dw::DW_TAG_class_type => {
                let name = entry.name.clone().or(alias).unwrap_or_else(|| anonymous.into());
                Element::Structure(self.structure(&entry, &name, depth)?)
            }
            dw::DW_TAG_string_type => {
                let size = entry.size.and_then(|size| usize::try_from(size).ok());
                let size = size.ok_or_else(|| refused("text of variable length"))?;
                return Ok(Type { element: Element::Char, dims: vec![Length::Fixed(size)], align: 1, indirect: false });
            }
            dw::DW_TAG_array_type => return self.array(&entry, anonymous, points, depth),
            dw::DW_TAG_pointer_type => return self.pointer(&entry, points, anonymous, depth),
            tag => return Err(refused(word(tag))),
        };
        let align = alignment(&entry)?.unwrap_or_else(|| self.layout.align_of(&element));
        Ok(Type { element, dims: Vec::new(), align, indirect: false })
    }

    fn array(&mut self, entry: &Entry, anonymous: &str, points: Option<&Points>, depth: usize) -> Result<Type> {
        let arrays = self.units.arrays(entry.at);
        let kind = entry.kind.ok_or_else(|| refused("an array without a type"))?;
        let inner = self.kind(kind, anonymous, points, depth + 1)?;
        if inner.indirect {
            return Err(refused("an array of pointers").expected("an array of texts, or no array"));
        }
        let mut dims = Vec::new();
        for range in self.children(entry.at)? {
            if range.tag != dw::DW_TAG_subrange_type {
                continue;
            }
            let count = self.count(&range, (arrays != Arrays::FromZero).into())?;
            let count = count.ok_or_else(|| {
                refused("a flexible array").expected("an array of fixed length, or an overlay that drops it")
            })?;
            dims.push(Length::Fixed(usize::try_from(count).map_err(|_| Error::new(Code::Size))?));
        }
        // Equal dimensions are the same in either order.
        if let Some(doubt) = self.units.doubt()
            && inner.dims.iter().any(|dim| Some(dim) != dims.first())
        {
            return Err(refused(doubt));
        }
        if arrays == Arrays::Fortran {
            dims.reverse();
        }
        dims.extend(inner.dims);
        if dims.len() > 8 {
            return Err(refused("more than 8 dimensions"));
        }
        Ok(Type { element: inner.element, dims, align: inner.align, indirect: false })
    }

    /// The elements that a range has, if it has some, and if their number is the same in each record.
    fn count(&mut self, range: &Entry, first: i128) -> Result<Option<i128>> {
        let index = match range.kind {
            Some(kind) => self.integer(kind)?,
            None => None,
        };
        let bound = |bound: i128| index.map_or(bound, |(signed, size)| wrapped(bound, signed, size));
        let lower = range.lower.map_or(first, bound);
        // Some compilers state an array without a length by the largest number that they have.
        let upper = range.upper.map(bound).filter(|upper| ![u32::MAX.into(), u64::MAX.into()].contains(upper));
        let between = upper.and_then(|upper| upper.checked_sub(lower)?.checked_add(1));
        Ok(range.count.or(between).filter(|count| *count > 0))
    }

    /// The sign and the size of the integers of a type: those of a number, an enumeration, or what is a part of these.
    fn integer(&mut self, at: Place) -> Result<Option<(bool, u64)>> {
        let mut at = at;
        for _ in 0..MAX_DEPTH {
            let entry = self.plain(at)?.0;
            match (entry.encoding, entry.kind, entry.size) {
                (Some(encoding), _, Some(size)) => return Ok(Some((is_signed(encoding), size))),
                (_, Some(kind), _) => at = kind,
                _ => return Ok(None),
            }
        }
        Err(Error::new(Code::Depth).found("types that name each other"))
    }

    /// A part of the numbers of another type, as Ada and Pascal have. It may take fewer bytes than all of them.
    fn range(&mut self, entry: &Entry, depth: usize) -> Result<Element> {
        let of = entry.kind.ok_or_else(|| refused("a range without a type"))?;
        let element = self.kind(of, "", None, depth + 1)?.element;
        let size = entry.size.and_then(|size| u8::try_from(size).ok());
        match (element, size) {
            (Element::Integer { signed, .. }, Some(size)) => Ok(Element::Integer { signed, size }),
            (element, Some(size)) if element.size(self.layout.machine().pointer) != usize::from(size) => {
                Err(refused("a range of another size than its type"))
            }
            (element, _) => Ok(element),
        }
    }

    fn number(&self, entry: &Entry) -> Result<Element> {
        let name = entry.name.as_deref().unwrap_or_default();
        let size = entry.size.and_then(|size| u8::try_from(size).ok()).unwrap_or(0);
        let encoding = entry.encoding.unwrap_or(dw::DwAte(0));
        Ok(match encoding {
            dw::DW_ATE_signed_char | dw::DW_ATE_unsigned_char if name.starts_with("char") => Element::Char,
            dw::DW_ATE_UTF if size == 1 => Element::Char,
            dw::DW_ATE_signed | dw::DW_ATE_signed_char => Element::Integer { signed: true, size },
            dw::DW_ATE_unsigned | dw::DW_ATE_unsigned_char | dw::DW_ATE_UTF => Element::Integer { signed: false, size },
            dw::DW_ATE_boolean => Element::Boolean { size },
            dw::DW_ATE_float => Element::Float { kind: self.float(name, size)?, size },
            dw::DW_ATE_complex_float => {
                let size = size / 2;
                Element::Complex { kind: self.float(name, size)?, size }
            }
            _ => return Err(refused(format_args!("a number {name:?} of {size} bytes ({encoding})"))),
        })
    }

    /// The kind of a float. DWARF states only the size, so a larger one than 8 bytes goes by its name.
    fn float(&self, name: &str, size: u8) -> Result<FloatKind> {
        let long = &self.layout.long_double;
        Ok(match (name, size) {
            ("__bf16" | "__bfloat16" | "std::bfloat16_t", 2) => FloatKind::Brain,
            (_, 2 | 4 | 8) => FloatKind::Ieee,
            _ if name.contains("128") && !name.contains("__ibm128") => FloatKind::Ieee,
            // gfortran names them by bytes of the digits, of which an x87's slot has fewer than its size.
            ("real(kind=16)" | "complex(kind=16)", 16) => FloatKind::Ieee,
            _ if size == long.size => long.kind,
            _ => return Err(refused(format_args!("a float {name:?} of {size} bytes"))),
        })
    }

    /// An enumeration is signed unless a value needs the sign's bit, whatever sign the compiler chose for its own use. That one
    /// tells what the values are.
    fn enumeration(&mut self, entry: &Entry) -> Result<Element> {
        if let Some(known) = self.enumerations.get(&entry.at) {
            return Ok(Element::Enumeration(known.clone()));
        }
        let of = match (entry.kind, entry.encoding) {
            (Some(kind), _) => self.integer(kind)?,
            (None, Some(encoding)) => entry.size.map(|size| (is_signed(encoding), size)),
            (None, None) => None,
        };
        let size = entry.size.or(of.map(|(_, size)| size)).and_then(|size| u8::try_from(size).ok()).unwrap_or(0);
        let (mut symbols, mut taken) = (Vec::<(Box<str>, i128)>::new(), HashMap::new());
        for symbol in self.children(entry.at)? {
            if let (dw::DW_TAG_enumerator, Some(name)) = (symbol.tag, symbol.name) {
                let value = symbol.value.ok_or_else(|| refused(format_args!("{name} without a number")))?;
                self.described += name.len() + 2;
                if self.described > MAX_DESCRIPTION {
                    let expected = format_args!("symbols of at most {MAX_DESCRIPTION} bytes");
                    return Err(Error::new(Code::DescriptionSize).expected(expected));
                }
                let value = of.map_or(value, |(signed, _)| wrapped(value, signed, size.into()));
                // The first name of a number stands for it.
                match taken.entry(value) {
                    Slot::Vacant(slot) => {
                        slot.insert(symbols.len());
                        symbols.push((name, value));
                    }
                    Slot::Occupied(first) if self.others.len() < MAX_OTHERS => {
                        let of = Candidate { at: entry.at, line: entry.line };
                        self.others.push(Other { name, symbol: symbols[*first.get()].0.clone(), of });
                    }
                    Slot::Occupied(_) => {}
                }
            }
        }
        let top = 1i128 << (u32::from(size.clamp(1, 8)) * 8 - 1);
        let signed = symbols.iter().all(|&(_, value)| value < top);
        let made = Arc::new(Enumeration::new(signed, size, symbols)?);
        self.enumerations.insert(entry.at, made.clone());
        Ok(Element::Enumeration(made))
    }

    /// The type behind typedefs and qualifiers, and the typedef next to it.
    fn plain(&mut self, mut at: Place) -> Result<(Entry, Option<Box<str>>)> {
        let (mut alias, mut align) = (None, None);
        for _ in 0..MAX_DEPTH {
            let mut entry = self.entry(at)?;
            align = align.or(entry.align);
            match (entry.tag, entry.kind) {
                (dw::DW_TAG_typedef, Some(kind)) => (alias, at) = (entry.name, kind),
                (tag, Some(kind)) if is_transparent(tag) => at = kind,
                _ => {
                    entry.align = align;
                    return Ok((entry, alias));
                }
            }
        }
        Err(Error::new(Code::Depth).found("types that name each other"))
    }

    /// The entry at a place; for a type that is only declared there, that of the whole. GCC does not always say that it declares one.
    fn entry(&mut self, at: Place) -> Result<Entry> {
        let entry = self.entry_itself(at)?;
        match entry.whole {
            Some(whole) if entry.declaration || entry.size.is_none() => self.entry_itself(whole),
            _ => Ok(entry),
        }
    }

    fn entry_itself(&mut self, at: Place) -> Result<Entry> {
        let mut found = None;
        self.entries += 1;
        self.units.each(at, &mut |entry| {
            found = Some(entry);
            Ok(false)
        })?;
        self.check()?;
        found.ok_or_else(|| refused("a type that is not there"))
    }

    /// The parts of a type: the entries directly within one that a record can have.
    fn children(&mut self, at: Place) -> Result<Vec<Entry>> {
        let mut children = Vec::new();
        let (entries, most) = (&mut self.entries, MAX_PARTS.min(2 * MAX_PARTS - self.held.min(2 * MAX_PARTS)));
        self.units.each(at, &mut |entry| {
            *entries += 1;
            let is_part = matches!(
                entry.tag,
                dw::DW_TAG_member
                    | dw::DW_TAG_inheritance
                    | dw::DW_TAG_variant_part
                    | dw::DW_TAG_enumerator
                    | dw::DW_TAG_subrange_type
            );
            if entry.depth == 1 && is_part {
                children.push(entry);
            }
            Ok(*entries <= MAX_ENTRIES && children.len() <= most)
        })?;
        self.check()?;
        match children.len() > most {
            true => Err(Error::new(Code::Fields).expected(format_args!("a type of at most {MAX_PARTS} parts"))),
            false => Ok(children),
        }
    }

    fn check(&self) -> Result<()> {
        match self.entries > MAX_ENTRIES {
            true => Err(Error::new(Code::Fields).expected(format_args!("a type of at most {MAX_ENTRIES} entries"))),
            false => Ok(()),
        }
    }
}

impl Members {
    /// The alignment of the structure. DWARF does not state that a struct is packed: one with a field that is not at a multiple of
    /// its alignment is.
    fn align(&self, size: usize) -> usize {
        let align = self.list.iter().map(|member| member.align).max().unwrap_or(1);
        let placed = self.list.iter().all(|member| member.field.offset.is_multiple_of(member.align));
        if placed && size.is_multiple_of(align) { align } else { 1 }
    }
}

/// The number of a type that a constant stands for. Compilers write the bytes that a number needs, or all of its type's, and
/// with a sign or without one, whatever the type has.
fn wrapped(constant: i128, signed: bool, size: u64) -> i128 {
    if !(1..=8).contains(&size) {
        return constant;
    }
    let unused = 128 - 8 * size as u32;
    if signed { constant << unused >> unused } else { ((constant as u128) << unused >> unused) as i128 }
}

fn is_signed(encoding: gimli::DwAte) -> bool {
    matches!(encoding, dw::DW_ATE_signed | dw::DW_ATE_signed_char | dw::DW_ATE_signed_fixed)
}

/// An alignment that the program states.
fn alignment(entry: &Entry) -> Result<Option<usize>> {
    match entry.align {
        None => Ok(None),
        Some(align) => match usize::try_from(align) {
            Ok(align) if align.is_power_of_two() => Ok(Some(align)),
            _ => Err(refused(format_args!("an alignment of {align}"))),
        },
    }
}

/// Whether a typedef or a qualifier is what its type is.
pub(super) fn is_transparent(tag: gimli::DwTag) -> bool {
    matches!(tag, dw::DW_TAG_typedef | dw::DW_TAG_const_type | dw::DW_TAG_volatile_type | dw::DW_TAG_atomic_type)
}

/// What a type is that no record can hold.
fn word(tag: gimli::DwTag) -> &'static str {
    match tag {
        dw::DW_TAG_ptr_to_member_type => "a pointer to a member",
        dw::DW_TAG_reference_type | dw::DW_TAG_rvalue_reference_type => "a reference",
        dw::DW_TAG_union_type => "a union",
        dw::DW_TAG_subroutine_type => "a function",
        _ => "a type that no record can have",
    }
}
