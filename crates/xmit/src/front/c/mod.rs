//! C headers: a subset of C whose structs are records (`spec/xmit.md`).
//!
//! | | home |
//! |---|---|
//! | declarations: structs, enumerations, typedefs | here |
//! | structs and their members | [`records`] |
//! | tokens behind directives and macros | [`source`]; [`directives`], [`macros`], [`pack`] |
//! | constant expressions | [`constant`] |
//! | attributes | [`attributes`] |
//! | words of types | [`types`] |
//! | what is passed over | [`skip`] |
//!
//! C declares names before their use, so one pass over the text resolves them. A struct that this reader refuses is an error where it is
//! needed; the text goes on behind it. What this reader does not understand is passed over only if no struct is in it.

mod attributes;
mod constant;
mod directives;
mod macros;
mod pack;
mod records;
mod skip;
mod source;
mod types;

use super::Front;
use super::link::{Behind, Dim, Element, Item, Model, Of, Place, What};
use super::tokens::{MAX_LEVELS, Sort, prose_and_unit, short};
use crate::declaration::Declarations;
use crate::documents::Documents;
use crate::left_out::List;
use attributes::Attributes;
use isoform_core::declare::{Kind, Width};
use isoform_core::{Code, Error, Result};
use source::{Source, Token};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use types::{BASE, QUALIFIERS, base, is_suspicious};

/// Words of one constant expression, or of one list of attributes.
const MAX_WORDS: usize = 4_096;

/// The room of C headers.
pub(super) struct C;

impl Front for C {
    fn declarations(&self, documents: &mut Documents<'_>) -> Result<Declarations> {
        let faults = documents.faults(0);
        let mut reader = Reader::default();
        let mut source = Source::new(faults.name, faults.text)?;
        reader.document(&mut source)?;
        documents.leave_out_all(std::mem::take(&mut reader.left_out));
        let spelled = |full: &str, item: &Item| match is_nameless(full) {
            true => format!("typedef {}", item.name),
            false => full.into(),
        };
        Ok(reader.model.link(documents, &spelled))
    }
}

#[derive(Default)]
struct Reader {
    /// Structs and enums by `struct NAME` and `enum NAME`, typedefs by their names.
    model: Model,
    /// The values of enumerators.
    constants: HashMap<String, i128>,
    /// Those of the declaration that is being read.
    added: Vec<String>,
    /// Enumerators that are no symbols.
    left_out: List,
    /// The structs that have begun and not ended, each with its own name and its full one.
    begun: Vec<(String, String, Place)>,
    /// How many structs without a name there have been.
    nameless: usize,
    /// Those of them, by their full names, to which a typedef or a field gave a name.
    named: HashSet<String>,
}

/// What stands before declarators.
struct Specifiers {
    of: Of,
    attributes: Attributes,
    is_typedef: bool,
    /// The full name of the struct that is declared here.
    defined: Option<String>,
    /// The full name of the enum that is declared here.
    enumerated: Option<String>,
    /// Why no record can have it: a word that the header does not declare.
    strange: Option<Error>,
}

/// What a declarator adds to the type before it.
struct Declarator {
    place: Place,
    name: String,
    dims: Vec<Dim>,
    pointers: usize,
    attributes: Attributes,
    /// Why no record can have it.
    refused: Option<Error>,
}

/// What is expected of the words around a struct.
const DECLARED: &str = "no word that the header does not declare, since it may change the layout";
/// Where attributes of a struct stand.
const BEHIND: &str = "an attribute directly behind `struct` or `}`, since compilers ignore others";

impl Reader {
    fn document(&mut self, source: &mut Source<'_>) -> Result<()> {
        loop {
            if source.peek().kind == Sort::End {
                return match source.depth() {
                    0 => Ok(()),
                    _ => Err(source.unexpected("a closing bracket")),
                };
            } else if source.take(";")? || source.take("}")? {
            } else if source.is("extern") {
                source.next()?;
                // C++ reads the header as well.
                if source.peek().kind == Sort::Text {
                    source.next()?;
                    source.take("{")?;
                }
            } else if source.is("namespace") {
                let error = source.unexpected("C, which has no namespaces");
                while source.is_word() {
                    source.next()?;
                }
                if source.is("{") {
                    self.skip_block(source, Some(&error))?;
                }
            } else {
                self.declaration(source)?;
            }
        }
    }

    /// Reads a declaration at the top: a struct, an enum, a typedef, or something that declares no record. What it declares in an
    /// unknown way is refused.
    fn declaration(&mut self, source: &mut Source<'_>) -> Result<()> {
        source.begin();
        self.added.clear();
        let (start, depth) = (self.model.len(), source.depth());
        match self.declared(source, start) {
            Ok(()) => {}
            Err(error) if source.failed() || error.code() != Code::Declaration => return Err(error),
            Err(error) => {
                self.refuse(start, &error);
                for (name, full, place) in std::mem::take(&mut self.begun) {
                    let what = What::Refused(error.clone());
                    // One of the name may be known.
                    _ = self.model.add(full, Item { name: name.into(), place, what });
                }
                self.skip(source, depth, &error)?;
            }
        }
        if let Some(doubt) = source.doubt() {
            self.refuse(start, &doubt);
        }
        Ok(())
    }

    /// Refuses what has been declared since the model had so many items.
    fn refuse(&mut self, start: usize, error: &Error) {
        self.model.refuse(start, error);
        for name in self.added.drain(..) {
            self.constants.remove(&name);
        }
    }

    fn declared(&mut self, source: &mut Source<'_>, start: usize) -> Result<()> {
        let prose = prose_and_unit(&source.peek().lead).0;
        let specifiers = self.specifiers(source, "struct", prose, 0)?;
        if let Some(error) = specifiers.strange {
            return Err(error);
        }
        if specifiers.is_typedef {
            return self.typedefs(source, specifiers, start);
        }
        let is_enum = specifiers.enumerated.is_some();
        if let Some(full) = specifiers.defined.as_ref().or(specifiers.enumerated.as_ref()) {
            let misplaced = specifiers.attributes.refused(source, BEHIND);
            let is_strange = source.is_word() && is_suspicious(&source.peek().text);
            let strange = is_strange.then(|| source.fault(source.peek().line).expected(DECLARED));
            let strange = strange.map(|error| error.found(short(&source.peek().text)));
            if let Some(error) = misplaced.or(strange) {
                let alias = || What::Alias(Of::refused(error.clone()));
                self.model.set(full, if is_enum { alias() } else { What::Refused(error) });
            }
            if source.is_word() {
                source.next()?;
                if source.is_word() && !types::is_attribute(&source.peek().text) {
                    return Err(source.unexpected(DECLARED));
                }
            }
        }
        let error = match specifiers.of.element {
            Element::Refused(error) => error,
            _ => source.unexpected("a function or a variable"),
        };
        self.skip(source, source.depth(), &error)
    }

    fn typedefs(&mut self, source: &mut Source<'_>, specifiers: Specifiers, start: usize) -> Result<()> {
        loop {
            let declarator = self.declarator(source)?;
            if source.is_word() {
                // One of the two is the name: the one that looks less like a macro.
                let (first, second) = (declarator.name, source.next()?);
                let is_first = is_suspicious(&second.text) && !is_suspicious(&first);
                let (name, other) = if is_first { (&*first, &*second.text) } else { (&*second.text, &*first) };
                if let Some(full) = &specifiers.defined {
                    self.model.rename(start, full, name);
                }
                return Err(source.fault(second.line).expected(DECLARED).found(short(other)));
            }
            self.typedef(source, &specifiers, declarator, start)?;
            if !source.take(",")? {
                break;
            }
        }
        source.expect(";")
    }

    fn typedef(
        &mut self,
        source: &Source<'_>,
        specifiers: &Specifiers,
        declarator: Declarator,
        start: usize,
    ) -> Result<()> {
        let (name, place) = (declarator.name.clone(), declarator.place.clone());
        let own = declarator.attributes.clone();
        let mut attributes = [&specifiers.attributes, &own];
        attributes.sort_by_key(|attributes| attributes.align.is_none());
        let [first, second] = attributes;
        let aligns = (first.align, second.align);
        let differ = matches!(aligns, (Some(one), Some(other)) if one != other);
        let packed = attributes.iter().find(|attributes| attributes.packed || attributes.fault.is_some());
        let wrong = packed.and_then(|attributes| attributes.refused(source, BEHIND));
        let wrong = wrong
            .or_else(|| first.ambiguous(source))
            .or_else(|| differ.then(|| source.fault(place.line).expected("one alignment of a typedef").found(&name)));
        // `typedef struct { .. } Point;`: the record has the name of the typedef.
        if let Element::Named(full) = &specifiers.of.element
            && is_nameless(full)
            && !self.named.contains(full)
            && declarator.dims.is_empty()
            && declarator.pointers == 0
            && declarator.refused.is_none()
        {
            self.named.insert(full.clone());
            self.model.rename(start, full, &name);
        }
        if let (Some(full), Some(error)) = (&specifiers.defined, &wrong) {
            self.model.set(full, What::Refused(error.clone()));
        }
        let mut of = match wrong {
            Some(error) => Of::refused(error),
            None => joined(source, specifiers.of.clone(), declarator),
        };
        of.align = first.align.or(of.align);
        let again = self.model.find(&name).map(|known| {
            let is_same = matches!(&known.what, What::Alias(old) if self.followed(old).is_same(self.followed(&of)));
            (is_same, known.place.line)
        });
        match again {
            Some((true, _)) => Ok(()),
            Some((false, line)) => {
                let error = source.fault(place.line).expected("one typedef of each name");
                let error = error.found(format_args!("a second {name}, besides line {line}"));
                self.model.set(&name, What::Alias(Of::refused(error.clone())));
                Err(error)
            }
            None => {
                let item = Item { name: (*name).into(), place, what: What::Alias(of) };
                _ = self.model.add(name, item);
                Ok(())
            }
        }
    }

    /// What a type is without the typedefs that only give it another name.
    fn followed<'o>(&'o self, mut of: &'o Of) -> &'o Of {
        for _ in 0..MAX_LEVELS {
            let Element::Named(name) = &of.element else { break };
            let is_plain = of.dims.is_empty() && of.align.is_none() && of.behind.is_none();
            match self.model.find(name).map(|item| &item.what) {
                Some(What::Alias(inner)) if is_plain => of = inner,
                _ => break,
            }
        }
        of
    }

    /// Reads what stands before declarators. `within` is the name of the record around it.
    fn specifiers(
        &mut self,
        source: &mut Source<'_>,
        within: &str,
        prose: Option<Box<str>>,
        levels: usize,
    ) -> Result<Specifiers> {
        source.check_levels(levels)?;
        let (mut attributes, mut is_typedef, mut defined, mut strange) = (Attributes::default(), false, None, None);
        let (mut words, mut of, mut prose, mut enumerated) = (Vec::<String>::new(), None, prose, None);
        let place = source.place();
        loop {
            if self.attributes(source, &mut attributes)? {
                continue;
            }
            if !source.is_word() {
                break;
            }
            let word = source.peek().text.clone();
            match &*word {
                "typedef" => {
                    is_typedef = true;
                    source.next()?;
                }
                word if QUALIFIERS.contains(&word) => _ = source.next()?,
                "_Atomic" => return Err(source.unexpected("a type that a record can have")),
                _ if of.is_some() => break,
                word if self.is_base(word, words.is_empty()) && words.len() < 8 => {
                    words.push(source.next()?.text.into())
                }
                _ if !words.is_empty() => break,
                "struct" | "union" => {
                    let (found, full) = self.structure(source, within, prose.take(), levels)?;
                    (of, defined) = (Some(found), full);
                }
                "enum" => {
                    let (found, full) = self.enumeration(source)?;
                    (of, enumerated) = (Some(found), full);
                }
                _ => {
                    let taken = source.next()?;
                    if self.model.find(&word).is_some() {
                        of = Some(Of::named(&*word));
                    } else if let Some(kind) = types::known(&word) {
                        of = Some(Of::kind(kind));
                    } else if self.begins_type(source) || self.hides_packing(source, &taken) {
                        if levels == 0 && !is_typedef {
                            source.stray(&taken, &[], taken.line);
                        }
                        let error = source.fault(taken.line).expected(DECLARED).found(short(&word));
                        strange.get_or_insert(error);
                    } else if word == "void" {
                        let error = source.fault(taken.line).expected("a type that a record can have");
                        of = Some(Of::refused(error.found("void")));
                    } else if source.is("(") && levels > 0 {
                        return Err(source.fault(taken.line).expected(DECLARED).found(short(&word)));
                    } else if source.is("(") {
                        // A macro, or a function without a type.
                        let error = source.fault(taken.line).expected(DECLARED).found(short(&word));
                        let (given, last) = self.skip_given(source, &error)?;
                        if !is_typedef {
                            source.stray(&taken, &given, last);
                        }
                        strange.get_or_insert(error);
                        if !self.begins_type(source) && !source.is_word() {
                            // Neither hides a struct: what follows is a body, or the end.
                            strange = None;
                            break;
                        }
                    } else {
                        if levels == 0 && !is_typedef {
                            source.stray(&taken, &[], taken.line);
                        }
                        let error = source.fault(taken.line).expected("a type that is declared before");
                        of = Some(Of::refused(error.found(short(&word))));
                    }
                }
            }
        }
        let of = match of {
            Some(of) => of,
            None => {
                let words: Vec<&str> = words.iter().map(|word| &**word).collect();
                base(&words).map_or_else(
                    || {
                        let error = source.fault(place.line).expected("a type that a record can have");
                        Of::refused(error.found(words.join(" ")))
                    },
                    Of::kind,
                )
            }
        };
        Ok(Specifiers { of, attributes, is_typedef, defined, enumerated, strange })
    }

    /// Whether a word is one of C's types here. `bool` is no keyword: the header may declare it, and name a field so.
    fn is_base(&self, word: &str, is_first: bool) -> bool {
        BASE.contains(&word) && (word != "bool" || is_first && self.model.find(word).is_none())
    }

    /// Whether the next word begins a type.
    fn begins_type(&self, source: &Source<'_>) -> bool {
        let word = &*source.peek().text;
        source.is_word()
            && (BASE.contains(&word)
                || matches!(word, "struct" | "union" | "enum" | "typedef" | "unsigned")
                || types::is_attribute(word)
                || types::known(word).is_some()
                || self.model.find(word).is_some_and(|item| matches!(item.what, What::Alias(_))))
    }

    /// Whether the next word, on another line than an unknown one, looks like a macro that packs structs.
    fn hides_packing(&self, source: &Source<'_>, word: &Token<'_>) -> bool {
        let next = source.peek();
        next.kind == Sort::Word && next.line > word.line && types::may_pack(&next.text) == Some(true)
    }

    /// Reads an enum, and the full name of one that is declared here.
    fn enumeration(&mut self, source: &mut Source<'_>) -> Result<(Of, Option<String>)> {
        source.next()?;
        let place = source.place();
        let mut attributes = Attributes::default();
        self.attributes(source, &mut attributes)?;
        let name = if source.is_word() { Some(source.next()?.text) } else { None };
        let full = name.as_ref().map(|name| format!("enum {name}"));
        // A type of its own, as C23 has it.
        let stated = match source.take(":")? {
            true => Some(self.specifiers(source, "enum", None, MAX_LEVELS)?.of),
            false => None,
        };
        if !source.take("{")? {
            let full = full.ok_or_else(|| source.unexpected("the name of an enum, or `{`"))?;
            let refused = attributes.refused(source, BEHIND).map(Of::refused);
            return Ok((refused.unwrap_or_else(|| Of::named(full)), None));
        }
        let (mut symbols, mut taken, mut next) = (Vec::<(Box<str>, i128)>::new(), HashMap::new(), 0i128);
        while !source.take("}")? {
            let line = source.peek().line;
            let symbol = source.word("a name")?.text;
            self.attributes(source, &mut Attributes::default())?;
            let value = match source.take("=")? {
                true => {
                    let line = source.peek().line;
                    let words = until(source, &[",", "}"])?;
                    self.constant(source, &words, line)?
                }
                false => next,
            };
            self.constants.insert(symbol.clone().into(), value);
            self.added.push(symbol.clone().into());
            // The first name of a number stands for it.
            match taken.entry(value) {
                Entry::Vacant(entry) => {
                    entry.insert(symbols.len());
                    symbols.push((symbol.into(), value));
                }
                Entry::Occupied(first) => {
                    let first = &symbols[*first.get()].0;
                    let reason = format!("{} has the same number, and is its symbol", short(first));
                    let place = format!("{}:{line}", source.name());
                    self.left_out.add(&format!("enumerator {symbol}"), place, &reason, false);
                }
            }
            next = value.saturating_add(1);
            if !source.take(",")? && !source.is("}") {
                return Err(source.unexpected("`,` or `}`"));
            }
        }
        self.attributes(source, &mut attributes)?;
        let of = enumeration(symbols, attributes.packed, stated.as_ref(), source, place.line);
        let of = match &attributes.fault {
            Some(error) => Of::refused(error.clone()),
            None => Of { align: attributes.align, ..of },
        };
        if let Some(full) = &full {
            let name = name.unwrap_or_default().into();
            let item = Item { name, place: place.clone(), what: What::Alias(of.clone()) };
            if self.model.add(&**full, item).is_err() {
                let error = source.fault(place.line).expected("one enum of each name").found(full);
                self.model.set(full, What::Alias(Of::refused(error.clone())));
                return Err(error);
            }
        }
        Ok((of, full))
    }

    fn declarator(&mut self, source: &mut Source<'_>) -> Result<Declarator> {
        let (mut pointers, mut attributes) = (0, Attributes::default());
        while source.take("*")? {
            pointers += 1;
            while source.is_word() && QUALIFIERS.contains(&&*source.peek().text) {
                source.next()?;
            }
            let mut behind = Attributes::default();
            self.attributes(source, &mut behind)?;
            if let Some(error) = behind.refused(source, "no attribute of a pointer") {
                return Err(error);
            }
        }
        let place = source.place();
        if source.take("(")? {
            // A pointer to a function or an array.
            let (mut open, mut name) = (1usize, String::new());
            while open > 0 {
                match source.peek().kind {
                    Sort::End => return Err(source.unexpected("`)`")),
                    Sort::Word if name.is_empty() => name = source.peek().text.clone().into(),
                    _ if source.is("(") => open += 1,
                    _ if source.is(")") => open -= 1,
                    _ => {}
                }
                source.next()?;
            }
            while source.is("(") || source.is("[") {
                self.skip_block(source, None)?;
            }
            let error = source.fault(place.line).expected("a type that a record can have");
            let refused = Some(error.found(format_args!("{name}, a pointer to a function or an array")));
            self.attributes(source, &mut attributes)?;
            return Ok(Declarator { place, name, dims: Vec::new(), pointers, attributes, refused });
        }
        let name: String = source.word("a name")?.text.into();
        let (mut dims, mut refused) = (Vec::new(), None);
        if source.is("(") {
            self.skip_block(source, None)?;
            let error = source.fault(place.line).expected("a type that a record can have");
            refused = Some(error.found(format_args!("{name}, a function")));
        }
        while source.take("[")? {
            source.check_levels(dims.len())?;
            if source.is("[") {
                self.bracketed(source, &mut attributes)?;
                continue;
            }
            if source.take("]")? {
                let error = source.fault(place.line).expected("the length of an array");
                refused = Some(error.found(format_args!("{name}[], a flexible array")));
                continue;
            }
            let line = source.peek().line;
            let words = until(source, &["]"])?;
            source.expect("]")?;
            let length = self.constant(source, &words, line)?;
            let fault = || source.fault(line).expected("a length of 1 or more").found(length);
            dims.push(Dim::Fixed(usize::try_from(length).ok().filter(|&length| length > 0).ok_or_else(fault)?));
        }
        self.attributes(source, &mut attributes)?;
        Ok(Declarator { place, name, dims, pointers, attributes, refused })
    }

    /// The value of a constant expression.
    fn constant(&self, source: &Source<'_>, words: &[Token<'_>], line: u32) -> Result<i128> {
        let names = constant::Names {
            constant: &|name| self.constants.get(name).copied(),
            kind: &|words| self.kind_of(words),
            fault: &|line| source.fault(line),
        };
        constant::value(words, line, &names)
    }

    /// The type that words such as `unsigned long` or `struct point *` stand for, if an expression can have it.
    fn kind_of(&self, words: &[Token<'_>]) -> Option<Kind> {
        let mut unqualified = words.iter().filter(|word| !QUALIFIERS.contains(&&*word.text));
        let is_pointer = unqualified.next_back().is_some_and(|last| last.is("*"));
        let words: Vec<&str> =
            words.iter().map(|word| &*word.text).filter(|word| *word != "*" && !QUALIFIERS.contains(word)).collect();
        let mut found = base(&words);
        match &words[..] {
            ["struct" | "union", _] if is_pointer => found = Some(Kind::String),
            ["enum", name] => found = self.kind_named(&format!("enum {name}")),
            [name] if self.model.find(name).is_some() => found = self.kind_named(name),
            [name] if found.is_none() => found = types::known(name),
            _ => {}
        }
        found = found.or_else(|| (is_pointer && words == ["void"]).then_some(Kind::String));
        found.map(|kind| if is_pointer { Kind::String } else { kind })
    }

    /// The type of a typedef, if it is neither an array nor a struct.
    fn kind_named(&self, name: &str) -> Option<Kind> {
        let mut name = name.to_owned();
        for _ in 0..MAX_LEVELS {
            let What::Alias(of) = &self.model.find(&name)?.what else { return None };
            match (&of.element, &of.behind) {
                _ if !of.dims.is_empty() => return None,
                (_, Some(_)) => return Some(Kind::String),
                (Element::Kind(kind), None) => return Some(kind.clone()),
                (Element::Named(next), None) => name.clone_from(next),
                (Element::Refused(_), None) => return None,
            }
        }
        None
    }
}

/// Takes the words up to a closing bracket, which it steps over.
fn collect<'t>(source: &mut Source<'t>, close: &str) -> Result<Vec<Token<'t>>> {
    let words = until(source, &[close])?;
    source.expect(close)?;
    Ok(words)
}

/// Takes the words up to one of some marks outside of brackets.
fn until<'t>(source: &mut Source<'t>, ends: &[&str]) -> Result<Vec<Token<'t>>> {
    let (mut words, mut open) = (Vec::new(), 0usize);
    loop {
        let is_end = open == 0 && ends.iter().any(|end| source.is(end));
        if is_end || source.peek().kind == Sort::End || source.is(";") || source.is("{") || source.is("}") {
            return Ok(words);
        }
        if source.is("(") || source.is("[") {
            open += 1;
            source.check_levels(open)?;
        } else if source.is(")") || source.is("]") {
            open = open.saturating_sub(1);
        }
        if words.len() == MAX_WORDS {
            return Err(source.unexpected(format_args!("at most {MAX_WORDS} words of an expression")));
        }
        words.push(source.next()?);
    }
}

/// An enumeration as GCC chooses its type: of 4 bytes, if they have its values, and signed if it can be. The type that the document
/// states comes first.
fn enumeration(
    symbols: Vec<(Box<str>, i128)>,
    packed: bool,
    stated: Option<&Of>,
    source: &Source<'_>,
    line: u32,
) -> Of {
    let symbols: Box<[(Box<str>, i128)]> = symbols.into();
    let refused =
        |expected: &str, found: &dyn std::fmt::Display| Of::refused(source.fault(line).expected(expected).found(found));
    if let Some(of) = stated {
        return match &of.element {
            Element::Kind(Kind::Integer { signed, width }) if of.dims.is_empty() => {
                Of::kind(Kind::Enumeration { signed: *signed, width: *width, symbols })
            }
            Element::Refused(error) => Of::refused(error.clone()),
            _ => refused("an integer as the type of an enumeration", &"another type"),
        };
    }
    let (Some(least), Some(most)) =
        (symbols.iter().map(|symbol| symbol.1).min(), symbols.iter().map(|symbol| symbol.1).max())
    else {
        return refused("an enumeration with a name", &"none");
    };
    let fits = |bytes: u8, signed: bool| {
        let bits = u32::from(bytes) * 8;
        let (low, high) = match signed {
            true => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
            false => (0, (1i128 << bits) - 1),
        };
        low <= least && most <= high
    };
    let smallest = if packed { 1 } else { 4 };
    let sizes = [1, 2, 4, 8].into_iter().filter(|&bytes| bytes >= smallest);
    let chosen = sizes.flat_map(|bytes| [(bytes, true), (bytes, false)]).find(|&(bytes, signed)| fits(bytes, signed));
    match chosen {
        Some((bytes, signed)) => Of::kind(Kind::Enumeration { signed, width: Width::Bytes(bytes), symbols }),
        None => refused("an enumeration whose values fit 8 bytes", &most),
    }
}

/// Whether a full name is that of a struct without a tag.
fn is_nameless(full: &str) -> bool {
    full.starts_with("struct #")
}

/// The type of a field: what stands before its name, and what its declarator adds.
fn joined(source: &Source<'_>, mut of: Of, declarator: Declarator) -> Of {
    if let Some(error) = declarator.refused {
        return Of::refused(error);
    }
    let is_char = matches!(of.element, Element::Kind(Kind::Char)) && of.dims.is_empty();
    let refused = || {
        let found = format_args!("the pointer {}: C does not say whether it is one value or an array", declarator.name);
        let expected = "char*, a field without a pointer, or an overlay that says what the pointer is";
        source.fault(declarator.place.line).expected(expected).found(found)
    };
    match declarator.pointers {
        0 => {}
        // Whatever it points at, an overlay can drop it.
        1 if declarator.dims.is_empty() => {
            of.behind = Some(if is_char { Behind::Text } else { Behind::Refused(refused()) });
        }
        1 if is_char => of = Of::kind(Kind::String),
        2 if is_char && declarator.dims.is_empty() => {
            of = Of::kind(Kind::String);
            of.behind = Some(Behind::Refused(refused()));
        }
        _ => return Of::refused(refused()),
    }
    of.dims.splice(0..0, declarator.dims);
    of
}
