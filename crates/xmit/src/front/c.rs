//! C headers: a subset of C whose structs are records (`spec/xmit.md`). There is no preprocessor but constants.
//!
//! C declares names before their use, so one pass over the text resolves them. A struct that this file refuses is an error where it is
//! needed; the text goes on behind it.

use super::Front;
use super::link::{Behind, Dim, Element, Item, Model, Of, Part, Place, What};
use super::tokens::{Sort, Tokens, prose_and_unit, short};
use crate::declaration::Declarations;
use crate::documents::Documents;
use isoform_core::declare::{Kind, Type, Width};
use isoform_core::{Error, Result};
use std::collections::{HashMap, HashSet};

/// The room of C headers.
pub(super) struct C;

impl Front for C {
    fn declarations(&self, documents: &mut Documents<'_>) -> Result<Declarations> {
        let faults = documents.faults(0);
        let mut reader =
            Reader { model: Model::default(), constants: HashMap::new(), nameless: 0, named: HashSet::new() };
        let mut tokens = Tokens::new(faults.name, 0, faults.text)?;
        reader.document(&mut tokens)?;
        Ok(reader.model.link(documents))
    }
}

/// Words before a type that do not change what a record has.
const QUALIFIERS: [&str; 7] = ["const", "volatile", "extern", "static", "inline", "register", "__extension__"];
/// Words that make up C's own types.
const BASE: [&str; 12] =
    ["char", "short", "int", "long", "float", "double", "signed", "unsigned", "_Bool", "bool", "_Complex", "__int128"];

struct Reader {
    /// Structs and enums by `struct NAME` and `enum NAME`, typedefs by their names.
    model: Model,
    /// Integers that `#define` and enumerators name.
    constants: HashMap<String, i128>,
    /// How many structs without a name there have been.
    nameless: usize,
    /// Those of them, by their full names, to which a typedef or a field gave a name.
    named: HashSet<String>,
}

/// What a declarator adds to the type before it.
struct Declarator {
    place: Place,
    name: String,
    dims: Vec<Dim>,
    pointers: usize,
    /// Why no record can have it.
    refused: Option<Error>,
}

impl Reader {
    fn document(&mut self, tokens: &mut Tokens<'_>) -> Result<()> {
        loop {
            let kind = tokens.peek().kind;
            match kind {
                Sort::End => return Ok(()),
                Sort::Directive => self.directive(tokens)?,
                _ if tokens.take(";")? => {}
                // C++ reads the header as well.
                Sort::Word if tokens.is("extern") => {
                    tokens.next()?;
                    if tokens.peek().kind == Sort::Text {
                        tokens.next()?;
                        tokens.take("{")?;
                    }
                }
                _ if tokens.take("}")? => {}
                _ => self.declaration(tokens)?,
            }
        }
    }

    /// `#define` of an integer is a constant. Includes and guards are skipped; conditions of other kinds are refused.
    fn directive(&mut self, tokens: &mut Tokens<'_>) -> Result<()> {
        let (text, line) = (tokens.peek().text, tokens.peek().line);
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let rest = rest.trim();
        match word {
            "define" => {
                let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
                let (name, value) = rest.split_at(end);
                // A macro with parameters, or of something other than an integer, is an error where a length needs it.
                if !value.starts_with('(') && !value.trim().is_empty() {
                    let number = Tokens::new("", 0, value).and_then(|mut inner| {
                        let number = inner.expression(&|name| self.constants.get(name).copied())?;
                        match inner.peek().kind {
                            Sort::End => Ok(number),
                            _ => Err(inner.unexpected("the end")),
                        }
                    });
                    match number.ok() {
                        Some(number) => self.constants.insert(name.to_owned(), number),
                        None => self.constants.remove(name),
                    };
                }
            }
            "include" | "pragma" | "ifndef" | "endif" | "" => {
                if rest.starts_with("pack") {
                    return Err(tokens.fault(line).expected("no #pragma pack").found(format_args!("#{}", short(text))));
                }
            }
            // What only C++ sees is at most `extern "C"`.
            "ifdef" if rest == "__cplusplus" => {}
            _ => {
                let error = tokens.fault(line).expected("no conditions, which need a preprocessor");
                return Err(error.found(format_args!("#{}", short(text))));
            }
        }
        tokens.next().map(drop)
    }

    /// A declaration at the top: a struct, an enum, a typedef, or something that declares no record.
    fn declaration(&mut self, tokens: &mut Tokens<'_>) -> Result<()> {
        let prose = prose_and_unit(&tokens.lead()).0;
        let is_typedef = tokens.take("typedef")?;
        let is_function = !is_typedef && !["struct", "enum", "union"].iter().any(|word| tokens.is(word));
        if is_function {
            return skip_other(tokens);
        }
        let start = self.model.len();
        let of = self.kind(tokens, "struct", prose, 0)?;
        if !is_typedef {
            if tokens.is(":") {
                return Err(tokens.unexpected("a struct of C, which has no bases"));
            }
            return skip_other(tokens);
        }
        loop {
            let declarator = self.declarator(tokens)?;
            let (place, name) = (declarator.place.clone(), declarator.name.clone());
            self.typedef(tokens, of.clone(), declarator, &name, place, start)?;
            if !tokens.take(",")? {
                break;
            }
        }
        self.attributes(tokens)?;
        tokens.expect(";")
    }

    fn typedef(
        &mut self,
        tokens: &Tokens<'_>,
        of: Of,
        declarator: Declarator,
        name: &str,
        place: Place,
        start: usize,
    ) -> Result<()> {
        // `typedef struct { .. } Point;`: the record has the name of the typedef.
        if let Element::Named(full) = &of.element
            && is_nameless(full)
            && !self.named.contains(full)
            && declarator.dims.is_empty()
            && declarator.pointers == 0
            && declarator.refused.is_none()
        {
            self.named.insert(full.clone());
            self.model.rename(start, full, name);
        }
        let of = joined(tokens, of, declarator);
        let item = Item { name: name.into(), place: place.clone(), what: What::Alias(of) };
        let again = self.model.add(name, item);
        again.map_err(|known| {
            let error = tokens.fault(place.line).expected("one typedef of each name");
            error.found(format_args!("a second {name}, besides line {}", known.line))
        })
    }

    /// Reads a type before its declarators. `within` is the name of the record around it.
    fn kind(&mut self, tokens: &mut Tokens<'_>, within: &str, prose: Option<Box<str>>, levels: usize) -> Result<Of> {
        tokens.check_levels(levels)?;
        self.qualifiers(tokens)?;
        let place = tokens.place();
        let refused = |tokens: &Tokens<'_>, what: &str| {
            Of::refused(tokens.fault(place.line).expected("a type that a record can have").found(what))
        };
        if tokens.take("union")? {
            self.attributes(tokens)?;
            let name = match tokens.peek().kind {
                Sort::Word => tokens.next()?.text.to_owned(),
                _ => String::new(),
            };
            if tokens.is("{") {
                skip_block(tokens)?;
            }
            self.attributes(tokens)?;
            return Ok(refused(tokens, format!("union {name}").trim()));
        }
        if tokens.take("enum")? {
            return self.enumeration(tokens, place);
        }
        if tokens.take("struct")? {
            return self.structure(tokens, place, within, prose, levels);
        }
        let mut words: Vec<&str> = Vec::new();
        while tokens.peek().kind == Sort::Word && words.len() < 8 {
            let word = tokens.peek().text;
            if BASE.contains(&word) {
                words.push(word);
            } else if !QUALIFIERS.contains(&word) {
                break;
            }
            tokens.next()?;
        }
        if words.is_empty() {
            let word = tokens.word("a type")?;
            self.qualifiers(tokens)?;
            if self.model.find(word).is_some() {
                return Ok(Of::named(word));
            }
            return Ok(match word.parse::<Type>() {
                Ok(found) if is_fixed_width(word) => Of::kind(found.kind),
                _ => Of::refused(tokens.fault(place.line).expected("a type that is declared before").found(word)),
            });
        }
        Ok(base(&words).map_or_else(|| refused(tokens, &words.join(" ")), Of::kind))
    }

    fn enumeration(&mut self, tokens: &mut Tokens<'_>, place: Place) -> Result<Of> {
        let name = match tokens.peek().kind {
            Sort::Word => Some(tokens.next()?.text),
            _ => None,
        };
        let full = name.map(|name| format!("enum {name}"));
        if !tokens.take("{")? {
            let full = full.ok_or_else(|| tokens.unexpected("the name of an enum, or `{`"))?;
            return Ok(Of::named(full));
        }
        let (mut symbols, mut next) = (Vec::new(), 0i128);
        while !tokens.take("}")? {
            let symbol = tokens.word("a name")?;
            let value = match tokens.take("=")? {
                true => tokens.expression(&|name| self.constants.get(name).copied())?,
                false => next,
            };
            self.constants.insert(symbol.to_owned(), value);
            symbols.push((symbol.into(), value));
            next = value.saturating_add(1);
            if !tokens.take(",")? && !tokens.is("}") {
                return Err(tokens.unexpected("`,` or `}`"));
            }
        }
        let of = Of::enumeration(symbols);
        if let Some(full) = full {
            let item =
                Item { name: name.unwrap_or_default().into(), place: place.clone(), what: What::Alias(of.clone()) };
            self.model.add(full, item).map_err(|_| tokens.fault(place.line).expected("one enum of each name"))?;
        }
        Ok(of)
    }

    fn structure(
        &mut self,
        tokens: &mut Tokens<'_>,
        place: Place,
        within: &str,
        prose: Option<Box<str>>,
        levels: usize,
    ) -> Result<Of> {
        let before = self.attributes(tokens)?;
        let name = match tokens.peek().kind {
            Sort::Word => Some(tokens.next()?.text.to_owned()),
            _ => None,
        };
        // Tags of C have no scopes. A struct without a tag gets its name from the typedef or the field behind it.
        let (local, full) = match &name {
            Some(name) => (name.clone(), format!("struct {name}")),
            None => {
                self.nameless += 1;
                (format!("{within}_{}", self.nameless), format!("struct #{}", self.nameless))
            }
        };
        tokens.check_name(&local)?;
        if !tokens.take("{")? {
            if name.is_none() {
                return Err(tokens.unexpected("the name of a struct, or `{`"));
            }
            return Ok(Of::named(full));
        }
        let (mut fields, mut fault) = (Vec::new(), before);
        while !tokens.take("}")? {
            self.members(tokens, &local, &mut fields, &mut fault, levels + 1)?;
        }
        let behind = self.attributes(tokens)?;
        let what = match fault.or(behind) {
            Some(error) => What::Refused(error),
            None => What::Record { base: None, fields, prose },
        };
        let item = Item { name: local.clone().into(), place: place.clone(), what };
        self.model.add(&*full, item).map_err(|known| {
            let error = tokens.fault(place.line).expected("one struct of each name");
            error.found(format_args!("a second {local}, besides line {}", known.line))
        })?;
        Ok(Of::named(full))
    }

    /// Reads the fields of one line. `fault` is why the struct is refused.
    fn members(
        &mut self,
        tokens: &mut Tokens<'_>,
        record: &str,
        fields: &mut Vec<Part>,
        fault: &mut Option<Error>,
        levels: usize,
    ) -> Result<()> {
        if tokens.peek().kind == Sort::Directive {
            return self.directive(tokens);
        }
        let mut comments = tokens.lead();
        let line = tokens.peek().line;
        let start = self.model.len();
        let of = self.kind(tokens, record, None, levels)?;
        let first = fields.len();
        if tokens.is(";") {
            // `struct { .. };` within a struct: its fields are those of the outer one. Their places need not be the same.
            let error = tokens.fault(line).expected("a name behind a type");
            fault.get_or_insert(error.found("an anonymous struct or union; with a name it is a nested record"));
        } else {
            loop {
                let declarator = self.declarator(tokens)?;
                if tokens.is(":") {
                    tokens.next()?;
                    tokens.expression(&|name| self.constants.get(name).copied())?;
                    let error = tokens
                        .fault(declarator.place.line)
                        .expected("a field with bytes of its own; of a compiled program, an overlay can drop it");
                    fault.get_or_insert(error.found(format_args!("the bit-field {}", declarator.name)));
                } else {
                    if let Element::Named(full) = &of.element
                        && is_nameless(full)
                        && self.named.insert(full.clone())
                    {
                        self.model.rename(start, full, &format!("{record}_{}", declarator.name));
                    }
                    let (place, name) = (declarator.place.clone(), declarator.name.clone());
                    fields.push(Part::new(place, name, joined(tokens, of.clone(), declarator)));
                }
                if let Some(error) = self.attributes(tokens)? {
                    fault.get_or_insert(error);
                }
                if !tokens.take(",")? {
                    break;
                }
            }
        }
        tokens.expect(";")?;
        comments.extend(tokens.trail());
        let (prose, unit) = prose_and_unit(&comments);
        for field in &mut fields[first..] {
            field.prose = prose.clone();
            field.unit = unit.clone();
        }
        Ok(())
    }

    fn declarator(&mut self, tokens: &mut Tokens<'_>) -> Result<Declarator> {
        let mut pointers = 0;
        while tokens.take("*")? {
            pointers += 1;
            self.qualifiers(tokens)?;
        }
        let place = tokens.place();
        if tokens.take("(")? {
            // A pointer to a function or an array.
            let (mut open, mut name) = (1usize, String::new());
            while open > 0 {
                match tokens.peek().kind {
                    Sort::End => return Err(tokens.unexpected("`)`")),
                    Sort::Word if name.is_empty() => name = tokens.peek().text.to_owned(),
                    _ if tokens.is("(") => open += 1,
                    _ if tokens.is(")") => open -= 1,
                    _ => {}
                }
                tokens.next()?;
            }
            while tokens.is("(") || tokens.is("[") {
                skip_block(tokens)?;
            }
            let error = tokens.fault(place.line).expected("a type that a record can have");
            let refused = Some(error.found(format_args!("{name}, a pointer to a function or an array")));
            return Ok(Declarator { place, name, dims: Vec::new(), pointers, refused });
        }
        let name = tokens.word("a name")?.to_owned();
        if tokens.is("(") {
            skip_block(tokens)?;
            let error = tokens.fault(place.line).expected("a type that a record can have");
            let refused = Some(error.found(format_args!("{name}, a function")));
            return Ok(Declarator { place, name, dims: Vec::new(), pointers, refused });
        }
        if name == "_Alignas" || name == "alignas" {
            return Err(tokens.fault(place.line).expected("no alignment of its own").found(name));
        }
        let (mut dims, mut refused) = (Vec::new(), None);
        while tokens.take("[")? {
            tokens.check_levels(dims.len())?;
            if tokens.take("]")? {
                let error = tokens.fault(place.line).expected("the length of an array");
                refused = Some(error.found(format_args!("{name}[], a flexible array")));
                continue;
            }
            let line = tokens.peek().line;
            let length = tokens.expression(&|name| self.constants.get(name).copied())?;
            tokens.expect("]")?;
            let fault = || tokens.fault(line).expected("a length of 1 or more").found(length);
            dims.push(Dim::Fixed(usize::try_from(length).ok().filter(|&length| length > 0).ok_or_else(fault)?));
        }
        Ok(Declarator { place, name, dims, pointers, refused })
    }

    fn qualifiers(&self, tokens: &mut Tokens<'_>) -> Result<()> {
        while tokens.peek().kind == Sort::Word
            && (QUALIFIERS.contains(&tokens.peek().text) || matches!(tokens.peek().text, "restrict" | "__restrict"))
        {
            tokens.next()?;
        }
        Ok(())
    }

    /// Attributes may change a layout, so a struct with one is refused.
    fn attributes(&self, tokens: &mut Tokens<'_>) -> Result<Option<Error>> {
        let mut fault = None;
        while ["__attribute__", "__attribute", "_Alignas", "alignas", "__declspec"].iter().any(|word| tokens.is(word)) {
            let (line, word) = (tokens.peek().line, tokens.next()?.text);
            if !tokens.is("(") {
                return Err(tokens.unexpected("`(`"));
            }
            skip_block(tokens)?;
            fault.get_or_insert(tokens.fault(line).expected("no attributes, which may change the layout").found(word));
        }
        Ok(fault)
    }
}

/// Whether a full name is that of a struct without a tag.
fn is_nameless(full: &str) -> bool {
    full.starts_with("struct #")
}

/// The type of a field: what stands before its name, and what its declarator adds.
fn joined(tokens: &Tokens<'_>, mut of: Of, declarator: Declarator) -> Of {
    if let Some(error) = declarator.refused {
        return Of::refused(error);
    }
    let is_char = matches!(of.element, Element::Kind(Kind::Char)) && of.dims.is_empty();
    let refused = || {
        let found = format_args!("the pointer {}: C does not say whether it is one value or an array", declarator.name);
        let expected = "char*, a field without a pointer, or an overlay that says what the pointer is";
        tokens.fault(declarator.place.line).expected(expected).found(found)
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

/// Skips a declaration of something else: a function, with its body, or a variable.
fn skip_other(tokens: &mut Tokens<'_>) -> Result<()> {
    loop {
        let kind = tokens.peek().kind;
        match kind {
            Sort::End => return Ok(()),
            Sort::Directive => return Ok(()),
            _ if tokens.take(";")? => return Ok(()),
            _ if tokens.is("{") => {
                skip_block(tokens)?;
                // The body of a function ends its declaration; the values of a variable do not.
                if !tokens.is(";") {
                    return Ok(());
                }
            }
            _ if tokens.is("(") || tokens.is("[") => skip_block(tokens)?,
            _ => tokens.next().map(drop)?,
        }
    }
}

/// Skips from an opening bracket to its closing one.
fn skip_block(tokens: &mut Tokens<'_>) -> Result<()> {
    let mut open = 0usize;
    loop {
        match tokens.peek().kind {
            Sort::End => return Err(tokens.unexpected("a closing bracket")),
            _ if ["{", "(", "["].iter().any(|mark| tokens.is(mark)) => open += 1,
            _ if ["}", ")", "]"].iter().any(|mark| tokens.is(mark)) => open = open.saturating_sub(1),
            _ => {}
        }
        tokens.next()?;
        if open == 0 {
            return Ok(());
        }
    }
}

/// C's own types, whose words may stand in any order.
fn base(words: &[&str]) -> Option<Kind> {
    let count = |word: &str| words.iter().filter(|&&known| known == word).count();
    let (longs, unsigned) = (count("long"), count("unsigned"));
    if count("signed") + unsigned > 1 || words.iter().any(|word| *word != "long" && count(word) > 1) {
        return None;
    }
    let rest: Vec<&str> =
        words.iter().copied().filter(|word| !matches!(*word, "signed" | "unsigned" | "long" | "_Complex")).collect();
    let sign = if unsigned == 1 { "unsigned " } else { "" };
    let complex = if count("_Complex") == 1 { "complex " } else { "" };
    let has_sign = count("signed") + unsigned == 1;
    let text = match (&rest[..], longs) {
        (["char"], 0) if count("signed") == 1 => "signed char".into(),
        (["char"], 0) => format!("{sign}char"),
        (["short"] | ["short", "int"] | ["int", "short"], 0) => format!("{sign}short"),
        (["int"], 0) | ([], 0) if !rest.is_empty() || has_sign => format!("{sign}int"),
        (["int"] | [], 1) => format!("{sign}long"),
        (["int"] | [], 2) => format!("{sign}long long"),
        (["__int128"], 0) => format!("{sign}__int128"),
        (["float"], 0) if !has_sign => format!("{complex}float"),
        (["double"], 0) if !has_sign => format!("{complex}double"),
        (["double"], 1) if !has_sign => format!("{complex}long double"),
        (["_Bool" | "bool"], 0) if !has_sign => "bool".into(),
        _ => return None,
    };
    if !complex.is_empty() && !text.starts_with("complex") {
        return None;
    }
    let kind = text.parse::<Type>().ok()?.kind;
    Some(match kind {
        // A float of C has 4 bytes on every machine.
        Kind::Float { kind, width: Width::Open } => Kind::Float { kind, width: Width::Bytes(4) },
        Kind::Complex { kind, width: Width::Open } => Kind::Complex { kind, width: Width::Bytes(4) },
        kind => kind,
    })
}

/// The types of `<stdint.h>` and `<stddef.h>` that a record can have.
fn is_fixed_width(word: &str) -> bool {
    let of_bits = word.strip_suffix("_t").map(|word| word.strip_prefix('u').unwrap_or(word));
    matches!(of_bits, Some("int8" | "int16" | "int32" | "int64"))
        || matches!(word, "size_t" | "ssize_t" | "ptrdiff_t" | "intptr_t" | "uintptr_t")
}
