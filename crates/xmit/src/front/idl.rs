//! CORBA and DDS IDL: structures to declarations (`spec/xmit.md`; paper 000, figure 2a).
//!
//! IDL declares names before their use, so one pass over the text resolves them.

use super::Front;
use super::link::{Dim, Element, Item, Model, Of, Part, Place, What, name};
use super::literal::{self, Escapes};
use super::tokens::{Sort, Tokens, prose_and_unit, short};
use crate::declaration::Declarations;
use crate::documents::Documents;
use isoform_core::declare::{Kind, Width};
use isoform_core::format::FloatKind;
use isoform_core::{Code, Result};
use std::collections::HashMap;

/// The room of IDL.
pub(super) struct Idl;

impl Front for Idl {
    fn declarations(&self, documents: &mut Documents<'_>) -> Result<Declarations> {
        let mut reader = Reader { documents, model: Model::default(), constants: HashMap::new() };
        reader.document(0)?;
        let spelled = |full: &str| if full.contains("::") { full.into() } else { format!("::{full}") };
        Ok(reader.model.link(reader.documents, &|full, _| spelled(full)))
    }
}

/// Declarations that this version knows and does not map.
const REFUSED: [&str; 12] = [
    "union",
    "exception",
    "valuetype",
    "native",
    "bitset",
    "bitmask",
    "component",
    "home",
    "eventtype",
    "porttype",
    "connector",
    "annotation",
];
/// Annotations that say how other middleware exchanges a record. They do not change what it has.
const PROSE: [&str; 21] = [
    "key",
    "id",
    "autoid",
    "hashid",
    "topic",
    "nested",
    "final",
    "appendable",
    "mutable",
    "extensibility",
    "external",
    "must_understand",
    "try_construct",
    "verbatim",
    "min",
    "max",
    "range",
    "data_representation",
    "ignore_literal_names",
    "default_nested",
    "oneway",
];

/// Why a constant is left out.
const CONSTANT: &str = "a constant that is no integer is no part of a record";

struct Reader<'x, 'l> {
    documents: &'x mut Documents<'l>,
    model: Model,
    /// Integer constants and enumerators, by their full names.
    constants: HashMap<String, i128>,
}

/// What annotations say.
#[derive(Default)]
struct Notes {
    optional: bool,
    unit: Option<Box<str>>,
    default: Option<Box<str>>,
    value: Option<i128>,
    bits: Option<i128>,
}

impl Reader<'_, '_> {
    fn document(&mut self, number: usize) -> Result<()> {
        let faults = self.documents.faults(number);
        let (name, text) = (faults.name.to_owned(), faults.text.to_owned());
        let mut tokens = Tokens::new(&name, number, &text)?;
        self.definitions(&mut tokens, "", None, 0)?;
        match tokens.peek().kind {
            Sort::End => Ok(()),
            _ => Err(tokens.unexpected("a declaration")),
        }
    }

    /// Reads declarations to the end of a scope. Within an interface, `interface` is its full name.
    fn definitions(
        &mut self,
        tokens: &mut Tokens<'_>,
        scope: &str,
        interface: Option<&str>,
        levels: usize,
    ) -> Result<()> {
        tokens.check_levels(levels)?;
        tokens.check_name(scope)?;
        loop {
            while tokens.take(";")? {}
            match tokens.peek().kind {
                Sort::End => return Ok(()),
                Sort::Directive => self.directive(tokens)?,
                _ if tokens.is("}") => return Ok(()),
                _ => self.definition(tokens, scope, interface, levels)?,
            }
        }
    }

    fn directive(&mut self, tokens: &mut Tokens<'_>) -> Result<()> {
        let (text, number) = (tokens.peek().text, tokens.place().document);
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let rest = rest.split("//").next().unwrap_or("").trim();
        match word {
            "include" => {
                let location = rest.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
                let location = location.or_else(|| rest.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')));
                let location = location.ok_or_else(|| tokens.unexpected("a location in quotes"))?.to_owned();
                if let Some(number) = self.documents.load(number, &location)? {
                    self.document(number)?;
                }
            }
            // A guard against a second inclusion, which does not happen here.
            "pragma" | "ifndef" | "endif" | "" => {}
            "define" if !rest.contains(char::is_whitespace) => {}
            _ => return Err(tokens.unexpected("no directive other than #include, #pragma and a guard of the document")),
        }
        tokens.next().map(drop)
    }

    fn definition(
        &mut self,
        tokens: &mut Tokens<'_>,
        scope: &str,
        interface: Option<&str>,
        levels: usize,
    ) -> Result<()> {
        let comments = tokens.lead();
        let notes = self.notes(tokens, scope)?;
        let place = tokens.place();
        if tokens.take("module")? {
            let name = identifier(tokens)?;
            tokens.expect("{")?;
            self.definitions(tokens, &format!("{scope}{name}::"), None, levels + 1)?;
            return tokens.expect("}");
        }
        for word in ["abstract", "local"] {
            tokens.take(word)?;
        }
        if tokens.take("interface")? {
            return self.interface(tokens, scope, &place, levels);
        }
        if tokens.take("struct")? {
            let prose = prose_and_unit(&comments).0;
            return self.structure(tokens, scope, place, prose, levels).map(drop);
        }
        if tokens.take("enum")? {
            return self.enumeration(tokens, scope, place, &notes).map(drop);
        }
        if tokens.take("typedef")? {
            let of = self.kind(tokens, scope, levels)?;
            loop {
                let place = tokens.place();
                let name = identifier(tokens)?;
                let of = self.dimensions(tokens, scope, of.clone())?;
                self.declare(tokens, scope, &name, place, What::Alias(of))?;
                if !tokens.take(",")? {
                    return tokens.expect(";");
                }
            }
        }
        if tokens.take("const")? {
            return self.constant(tokens, scope, levels);
        }
        if tokens.peek().kind == Sort::Word && (REFUSED.contains(&tokens.peek().text)) {
            let what = tokens.next()?.text;
            let name = identifier(tokens)?;
            let error = tokens.fault(place.line).expected("a struct, enum, typedef or const");
            let refused = What::Refused(error.found(format_args!("{what} {name}")));
            if !tokens.is(";") || self.model.find(&format!("{scope}{name}")).is_none() {
                // A forward declaration may stand before it.
                let full = format!("{scope}{name}");
                match self.model.find(&full) {
                    Some(_) => self.model.set(&full, refused),
                    None => self.declare(tokens, scope, &name, place, refused)?,
                }
            }
            return tokens.skip_statement();
        }
        match interface {
            Some(full) => {
                let error = tokens.fault(place.line).expected("an interface with types alone");
                let error = error
                    .found(format_args!("an operation or attribute of {full}, at `{}`", short(tokens.peek().text)));
                self.model.set(full, What::Refused(error));
                tokens.skip_statement()
            }
            None => Err(tokens.unexpected("module, interface, struct, enum, typedef or const")),
        }
    }

    /// An interface is the scope of its types. An interface with operations is refused where it is used as a type, or asked for.
    fn interface(&mut self, tokens: &mut Tokens<'_>, scope: &str, place: &Place, levels: usize) -> Result<()> {
        let name = identifier(tokens)?;
        let full = format!("{scope}{name}");
        let error = tokens.fault(place.line).expected("a struct, enum, typedef or const");
        let refused = Of::refused(error.found(format_args!("interface {name}")));
        if self.model.find(&full).is_none() {
            self.declare(tokens, scope, &name, place.clone(), What::Alias(refused))?;
        }
        if tokens.is(";") {
            return Ok(());
        }
        if tokens.take(":")? {
            let error = tokens.fault(place.line).expected("an interface without bases");
            self.model.set(&full, What::Refused(error.found(format_args!("interface {name}"))));
            while !tokens.is("{") {
                if tokens.peek().kind == Sort::End {
                    return Err(tokens.unexpected("`{`"));
                }
                tokens.next()?;
            }
        }
        tokens.expect("{")?;
        self.definitions(tokens, &format!("{full}::"), Some(&full), levels + 1)?;
        tokens.expect("}")
    }

    /// Reads a struct behind the word, and returns its full name.
    fn structure(
        &mut self,
        tokens: &mut Tokens<'_>,
        scope: &str,
        place: Place,
        prose: Option<Box<str>>,
        levels: usize,
    ) -> Result<String> {
        tokens.check_levels(levels)?;
        let name = identifier(tokens)?;
        let full = format!("{scope}{name}");
        if tokens.is(";") {
            // A forward declaration: the struct itself says what it has.
            let error = tokens.fault(place.line).expected("a struct that is declared").found(&name);
            if self.model.find(&full).is_none() {
                self.declare(tokens, scope, &name, place, What::Refused(error))?;
            }
            return Ok(full);
        }
        let base = match tokens.take(":")? {
            true => Some(self.resolve(tokens, scope)?),
            false => None,
        };
        tokens.expect("{")?;
        // Names of types are looked up while the fields are read, so the struct itself is known before.
        let open = What::Record { base: None, fields: Vec::new(), prose: None };
        let known = self.model.find(&full).map(|known| matches!(known.what, What::Refused(_)));
        match known {
            Some(true) => self.model.set(&full, open),
            _ => self.declare(tokens, scope, &name, place, open)?,
        }
        let mut fields = Vec::new();
        while !tokens.take("}")? {
            self.members(tokens, scope, &mut fields, levels + 1)?;
        }
        self.model.set(&full, What::Record { base, fields, prose });
        Ok(full)
    }

    /// Reads the members of one line: a type, and names.
    fn members(&mut self, tokens: &mut Tokens<'_>, scope: &str, fields: &mut Vec<Part>, levels: usize) -> Result<()> {
        let mut comments = tokens.lead();
        let notes = self.notes(tokens, scope)?;
        if tokens.peek().kind == Sort::Directive {
            return Err(tokens.unexpected("a field"));
        }
        let of = self.kind(tokens, scope, levels)?;
        let first = fields.len();
        loop {
            let place = tokens.place();
            let field = identifier(tokens)?;
            let of = self.dimensions(tokens, scope, of.clone())?;
            fields.push(Part::new(place, self::name(&field), of));
            if !tokens.take(",")? {
                break;
            }
        }
        tokens.expect(";")?;
        comments.extend(tokens.trail());
        let (prose, unit) = prose_and_unit(&comments);
        let unit = notes.unit.or(unit);
        for field in &mut fields[first..] {
            field.nullable = notes.optional;
            field.default = notes.default.clone();
            field.prose = prose.clone();
            field.unit = unit.clone();
        }
        Ok(())
    }

    fn enumeration(&mut self, tokens: &mut Tokens<'_>, scope: &str, place: Place, notes: &Notes) -> Result<String> {
        let name = identifier(tokens)?;
        tokens.expect("{")?;
        let (mut symbols, mut next) = (Vec::new(), 0);
        loop {
            let notes = self.notes(tokens, scope)?;
            let symbol = identifier(tokens)?;
            let value = notes.value.unwrap_or(next);
            self.constants.insert(format!("{scope}{symbol}"), value);
            symbols.push((symbol.into(), value));
            next = value.saturating_add(1);
            if !tokens.take(",")? || tokens.is("}") {
                break;
            }
        }
        tokens.expect("}")?;
        let bytes = match notes.bits {
            None | Some(17..=32) => 4,
            Some(1..=8) => 1,
            Some(9..=16) => 2,
            Some(other) => {
                let error = tokens.fault(place.line).expected("@bit_bound from 1 to 32");
                return Err(error.found(other));
            }
        };
        let kind = Kind::Enumeration { signed: true, width: Width::Bytes(bytes), symbols: symbols.into() };
        self.declare(tokens, scope, &name, place, What::Alias(Of::kind(kind)))?;
        Ok(format!("{scope}{name}"))
    }

    /// An integer constant is known by its name. Others are no part of a record.
    fn constant(&mut self, tokens: &mut Tokens<'_>, scope: &str, levels: usize) -> Result<()> {
        let of = self.kind(tokens, scope, levels)?;
        let Place { document, line, .. } = tokens.place();
        let name = identifier(tokens)?;
        tokens.expect("=")?;
        let is_integer = match of.element {
            Element::Kind(Kind::Integer { .. }) => true,
            // The value of another character is that of a machine.
            Element::Kind(Kind::Char) => literal::character(tokens.peek().text).is_some(),
            _ => false,
        };
        match is_integer {
            true => {
                let value = tokens.expression(&|name| self.value(scope, name))?;
                self.constants.insert(format!("{scope}{name}"), value);
                tokens.expect(";")
            }
            false => {
                self.documents.leave_out(document, line, &format!("const {scope}{name}"), CONSTANT, false);
                tokens.skip_statement()
            }
        }
    }

    // Types.

    fn kind(&mut self, tokens: &mut Tokens<'_>, scope: &str, levels: usize) -> Result<Of> {
        tokens.check_levels(levels)?;
        let place = tokens.place();
        if tokens.take("struct")? {
            return self.structure(tokens, scope, place, None, levels + 1).map(Of::named);
        }
        if tokens.take("enum")? {
            return self.enumeration(tokens, scope, place, &Notes::default()).map(Of::named);
        }
        if tokens.take("sequence")? {
            tokens.expect("<")?;
            let of = self.kind(tokens, scope, levels + 1)?;
            self.bound(tokens, scope)?;
            tokens.expect(">")?;
            return Ok(of.array(Dim::Any));
        }
        let of = match self.basic(tokens, scope)? {
            Some(of) => of,
            None => Of::named(self.resolve(tokens, scope)?),
        };
        // `long< 5 >`: five of them, as paper 000 prints it.
        match tokens.take("<")? {
            false => Ok(of),
            true => {
                let length = self.length(tokens, scope, true)?;
                tokens.expect(">")?;
                Ok(of.array(Dim::Fixed(length)))
            }
        }
    }

    /// A type of IDL itself.
    fn basic(&mut self, tokens: &mut Tokens<'_>, scope: &str) -> Result<Option<Of>> {
        if tokens.peek().kind != Sort::Word {
            return Ok(None);
        }
        let place = tokens.place();
        let word = tokens.peek().text;
        let of = match word {
            "boolean" => Of::boolean(),
            "octet" | "uint8" => Of::integer(false, 1),
            "int8" => Of::integer(true, 1),
            "short" | "int16" => Of::integer(true, 2),
            "uint16" => Of::integer(false, 2),
            "int32" => Of::integer(true, 4),
            "uint32" => Of::integer(false, 4),
            "int64" => Of::integer(true, 8),
            "uint64" => Of::integer(false, 8),
            "float" => Of::float(4),
            "double" => Of::float(8),
            "char" => Of::kind(Kind::Char),
            "string" => {
                tokens.next()?;
                if tokens.is("<") {
                    tokens.next()?;
                    tokens.bracketed(&|name| self.value(scope, name))?;
                    tokens.expect(">")?;
                }
                return Ok(Some(Of::kind(Kind::String)));
            }
            "fixed" => {
                tokens.next()?;
                if tokens.take("<")? {
                    tokens.bracketed(&|name| self.value(scope, name))?;
                    self.bound(tokens, scope)?;
                    tokens.expect(">")?;
                }
                return Ok(Some(Of::kind(Kind::String)));
            }
            "unsigned" => {
                tokens.next()?;
                let of = match tokens.word("short or long")? {
                    "short" => Of::integer(false, 2),
                    "long" if tokens.take("long")? => Of::integer(false, 8),
                    "long" => Of::integer(false, 4),
                    _ => return Err(tokens.fault(place.line).expected("short or long behind unsigned")),
                };
                return Ok(Some(of));
            }
            "long" => {
                tokens.next()?;
                if tokens.take("long")? {
                    return Ok(Some(Of::integer(true, 8)));
                }
                if tokens.take("double")? {
                    return Ok(Some(Of::kind(Kind::Float { kind: FloatKind::Ieee, width: Width::Bytes(16) })));
                }
                return Ok(Some(Of::integer(true, 4)));
            }
            "any" | "Object" | "ValueBase" | "wchar" | "wstring" | "map" | "union" => {
                tokens.next()?;
                let error = tokens.fault(place.line).expected("a type that a record can have").found(word);
                match word {
                    "union" => return Err(error),
                    "map" => {
                        tokens.expect("<")?;
                        self.kind(tokens, scope, super::tokens::MAX_LEVELS)?;
                        tokens.expect(",")?;
                        self.kind(tokens, scope, super::tokens::MAX_LEVELS)?;
                        self.bound(tokens, scope)?;
                        tokens.expect(">")?;
                    }
                    "wstring" if tokens.take("<")? => {
                        tokens.bracketed(&|name| self.value(scope, name))?;
                        tokens.expect(">")?;
                    }
                    _ => {}
                }
                return Ok(Some(Of::refused(error)));
            }
            _ => return Ok(None),
        };
        tokens.next()?;
        Ok(Some(of))
    }

    /// Reads `, BOUND`, if it is there. A bound is not checked.
    fn bound(&mut self, tokens: &mut Tokens<'_>, scope: &str) -> Result<()> {
        match tokens.take(",")? {
            true => tokens.bracketed(&|name| self.value(scope, name)).map(drop),
            false => Ok(()),
        }
    }

    fn dimensions(&mut self, tokens: &mut Tokens<'_>, scope: &str, mut of: Of) -> Result<Of> {
        let mut dims = Vec::new();
        while tokens.take("[")? {
            dims.push(Dim::Fixed(self.length(tokens, scope, false)?));
            tokens.check_levels(dims.len())?;
            tokens.expect("]")?;
        }
        of.dims.splice(0..0, dims);
        Ok(of)
    }

    fn length(&mut self, tokens: &mut Tokens<'_>, scope: &str, bracketed: bool) -> Result<usize> {
        let line = tokens.peek().line;
        let length = match bracketed {
            true => tokens.bracketed(&|name| self.value(scope, name)),
            false => tokens.expression(&|name| self.value(scope, name)),
        }?;
        let fault = || tokens.fault(line).expected("a length of 1 or more").found(length);
        usize::try_from(length).ok().filter(|&length| length > 0).ok_or_else(fault)
    }

    // Names.

    fn declare(&mut self, tokens: &Tokens<'_>, scope: &str, local: &str, place: Place, what: What) -> Result<()> {
        let line = place.line;
        let item = Item { name: name(local), place, what };
        self.model.add(format!("{scope}{local}"), item).map_err(|known| {
            let error = tokens.fault(line).expected("one declaration of each name");
            error.found(format_args!("a second {local}, besides {}", known.shown(self.documents)))
        })
    }

    /// Takes the name of a type, and returns its full name.
    fn resolve(&mut self, tokens: &mut Tokens<'_>, scope: &str) -> Result<String> {
        let line = tokens.peek().line;
        let found = tokens.scoped_name("a type")?;
        let full = outwards(scope, &found, |full| self.model.find(full).is_some());
        full.ok_or_else(|| tokens.fault(line).expected("a type that is declared before").found(&found))
    }

    fn value(&self, scope: &str, name: &str) -> Option<i128> {
        outwards(scope, name, |full| self.constants.contains_key(full))
            .and_then(|full| self.constants.get(&full).copied())
    }

    // Annotations.

    fn notes(&mut self, tokens: &mut Tokens<'_>, scope: &str) -> Result<Notes> {
        let mut notes = Notes::default();
        while tokens.take("@")? {
            let line = tokens.peek().line;
            let word = tokens.scoped_name("the name of an annotation")?;
            match word.as_str() {
                "optional" => notes.optional = self.argument(tokens)?.as_deref() != Some("false"),
                "unit" => notes.unit = self.argument(tokens)?.map(Into::into),
                "default" => notes.default = self.argument(tokens)?.map(Into::into),
                "value" | "bit_bound" => {
                    tokens.expect("(")?;
                    if tokens.take("value")? {
                        tokens.expect("=")?;
                    }
                    let value = tokens.expression(&|name| self.value(scope, name))?;
                    tokens.expect(")")?;
                    match word.as_str() {
                        "value" => notes.value = Some(value),
                        _ => notes.bits = Some(value),
                    }
                }
                prose if PROSE.contains(&prose) => {
                    if tokens.take("(")? {
                        while !tokens.is(")") && tokens.peek().kind != Sort::End {
                            tokens.next()?;
                        }
                        tokens.expect(")")?;
                    }
                }
                _ => {
                    let error = tokens.fault(line).expected("an annotation of spec/xmit.md");
                    return Err(error.found(format_args!("@{word}")));
                }
            }
        }
        Ok(notes)
    }

    /// The argument of an annotation as text: a number, a text without its quotes, or the last part of a name.
    fn argument(&mut self, tokens: &mut Tokens<'_>) -> Result<Option<String>> {
        if !tokens.take("(")? {
            return Ok(None);
        }
        if tokens.take("value")? {
            tokens.expect("=")?;
        }
        let minus = if tokens.take("-")? { "-" } else { "" };
        let text = match tokens.peek().kind {
            Sort::Text => tokens.string(Escapes::Idl)?,
            Sort::Number => {
                let digits = literal::decimal(tokens.peek().text);
                let digits = digits.ok_or_else(|| tokens.unexpected("digits of the number's base"))?;
                tokens.next()?;
                format!("{minus}{digits}")
            }
            Sort::Word => match tokens.next()?.text {
                "TRUE" => "true".into(),
                "FALSE" => "false".into(),
                word => {
                    let mut last = word;
                    while tokens.take("::")? {
                        last = tokens.word("a name")?;
                    }
                    last.into()
                }
            },
            _ => return Err(tokens.unexpected("a value")),
        };
        tokens.expect(")")?;
        Ok(Some(text))
    }
}

/// Takes a name; an underscore before it says that it is no keyword.
fn identifier(tokens: &mut Tokens<'_>) -> Result<String> {
    let word = tokens.word("a name")?;
    let error = || tokens.fault_of(Code::Declaration, tokens.peek().line).expected("a name").found(word);
    Some(word.strip_prefix('_').unwrap_or(word)).filter(|name| !name.is_empty()).map(str::to_owned).ok_or_else(error)
}

/// The full name that a name has in the innermost scope which declares it.
fn outwards(scope: &str, name: &str, is_known: impl Fn(&str) -> bool) -> Option<String> {
    if let Some(full) = name.strip_prefix("::") {
        return is_known(full).then(|| full.to_owned());
    }
    let mut scope = scope;
    loop {
        let full = format!("{scope}{name}");
        if is_known(&full) {
            return Some(full);
        }
        let outer = scope.strip_suffix("::")?;
        scope = outer.rfind("::").map_or("", |end| &outer[..end + 2]);
    }
}
