//! Structs of C, and their members.

use super::attributes::Attributes;
use super::source::Source;
use super::{BEHIND, DECLARED, Reader, Specifiers, is_nameless, joined, types, until};
use crate::declaration::Packing;
use crate::front::link::{Element, Item, Of, Packed, Part, Place, What};
use crate::front::tokens::{MAX_NAME, Sort, prose_and_unit, short};
use isoform_core::{Code, Error, Result};

/// The fields of a struct so far, and why it is refused.
#[derive(Default)]
struct Body {
    fields: Vec<Part>,
    fault: Option<Error>,
}

impl Body {
    fn refuse(&mut self, error: Option<Error>) {
        self.fault = self.fault.take().or(error);
    }
}

impl Reader {
    /// Reads a struct or a union, from its first word, and the full name of one that is declared here.
    pub(super) fn structure(
        &mut self,
        source: &mut Source<'_>,
        within: &str,
        prose: Option<Box<str>>,
        levels: usize,
    ) -> Result<(Of, Option<String>)> {
        let word = source.next()?.text;
        let place = source.place();
        let mut attributes = Attributes::default();
        self.attributes(source, &mut attributes)?;
        let (name, strange) = self.tag(source)?;
        // Tags of C have no scopes. A struct without a tag gets its name from the typedef or the field behind it.
        let (local, full) = match &name {
            Some(name) => (name.clone(), format!("{word} {name}")),
            None => {
                self.nameless += 1;
                (format!("{within}_{}", self.nameless), format!("struct #{}", self.nameless))
            }
        };
        if local.len() > MAX_NAME {
            let error = source.fault(place.line);
            source.fail();
            return Err(error.expected(format_args!("at most {MAX_NAME} bytes of a name with its scopes")));
        }
        if !source.is("{") {
            if source.is(":") && levels == 0 {
                self.begun.push((local, full, place));
                return Err(source.unexpected("a struct of C, which has no bases"));
            }
            let Some(name) = name else { return Err(source.unexpected("the name of a struct, or `{`")) };
            if let Some(error) = strange.or_else(|| attributes.refused(source, BEHIND)) {
                return Ok((Of::refused(error), None));
            }
            return Ok(match &*word {
                "union" if self.model.find(&full).is_none() => (Of::refused(union(source, &place, &name)), None),
                _ => (Of::named(full), None),
            });
        }
        let open = self.begun.len();
        self.begun.push((local.clone(), full.clone(), place.clone()));
        let mut body = Body::default();
        body.refuse(strange);
        let pack = source.pack();
        match &*word {
            "union" => {
                self.skip_block(source, None)?;
                let name = name.as_deref().unwrap_or_default();
                body.refuse(Some(union(source, &place, name)));
            }
            _ => {
                source.next()?;
                while !source.is("}") {
                    self.member(source, &local, &mut body, levels + 1)?;
                }
                if source.pack() != pack {
                    let error = source.fault(source.peek().line).expected("one #pragma pack for a struct");
                    body.refuse(Some(error.found("another one within it, which compilers obey differently")));
                }
                source.next()?;
            }
        }
        self.behind(source, &mut attributes, &mut body)?;
        self.begun.truncate(open);
        let what = self.laid_out(source, body, &attributes, pack, prose);
        let item = Item { name: local.clone().into(), place: place.clone(), what };
        if let Err(known) = self.model.add(&*full, item) {
            let error = source.fault(place.line).expected("one struct of each name");
            let error = error.found(format_args!("a second {local}, besides line {}", known.line));
            self.model.refuse_again(&full, &error);
            return Err(error);
        }
        Ok((Of::named(&*full), Some(full)))
    }

    /// Reads the tag of a struct, if it has one. Another word beside it is strange.
    fn tag(&mut self, source: &mut Source<'_>) -> Result<(Option<String>, Option<Error>)> {
        if !source.is_word() {
            return Ok((None, None));
        }
        let mut tag = source.next()?;
        let unknown = |word: &str, line| source_fault(source, line, word);
        let mut strange = types::is_suspicious_tag(&tag.text).then(|| unknown(&tag.text, tag.line));
        // `struct PACKED(1) point {`
        if source.is("(") {
            strange = Some(source_fault(source, tag.line, &tag.text));
            self.skip_block(source, None)?;
        }
        while source.is_word() && !types::is_attribute(&source.peek().text) {
            let second = source.next()?;
            if !(source.is("{") || strange.is_some() && source.is_word()) {
                source.put_back(second);
                break;
            }
            // One of the two is the tag: the one that looks less like a macro.
            let is_first = types::is_suspicious(&second.text) && !types::is_suspicious(&tag.text);
            let other = if is_first { &second } else { &tag };
            strange = strange.or_else(|| Some(source_fault(source, other.line, &other.text)));
            if !is_first {
                tag = second;
            }
        }
        Ok((Some(tag.text.into()), strange))
    }

    /// Reads the attributes behind a struct's brace.
    fn behind(&mut self, source: &mut Source<'_>, attributes: &mut Attributes, body: &mut Body) -> Result<()> {
        while source.is_word() || source.is("[") {
            let is_bracketed = source.is("[");
            let mut behind = if is_bracketed { Attributes::default() } else { attributes.clone() };
            if !self.attributes(source, &mut behind)? {
                break;
            }
            match is_bracketed {
                // Compilers pass these over.
                true => body.refuse(behind.refused(source, BEHIND)),
                false => *attributes = behind,
            }
        }
        Ok(())
    }

    /// A struct as `#pragma pack` and its attributes have it.
    fn laid_out(
        &self,
        source: &Source<'_>,
        mut body: Body,
        attributes: &Attributes,
        pack: Result<Option<usize>>,
        prose: Option<Box<str>>,
    ) -> What {
        body.refuse(attributes.fault.clone());
        body.refuse(attributes.ambiguous(source));
        let most = match pack {
            Ok(most) => most,
            Err(error) => {
                body.refuse(Some(error));
                None
            }
        };
        if attributes.is_declspec && most.is_some() {
            body.refuse(attributes.refused(source, "no __declspec(align) within #pragma pack"));
        }
        if let Some(error) = body.fault {
            return What::Refused(error);
        }
        for field in &mut body.fields {
            let packed = &mut field.packed;
            packed.most = most;
            match packed.least {
                Some(_) => packed.packed |= attributes.packed,
                // The record's own limit holds.
                None if attributes.packed => packed.most = Some(1),
                None => {}
            }
        }
        let pack = if attributes.packed { Some(1) } else { most };
        let record = What::Record { base: None, fields: body.fields, prose };
        What::Packed(Packing { pack, align: attributes.align }, Box::new(record))
    }

    /// Reads the fields of one line. One that this reader does not understand refuses the struct.
    fn member(&mut self, source: &mut Source<'_>, record: &str, body: &mut Body, levels: usize) -> Result<()> {
        let depth = source.depth();
        if source.is("_Static_assert") || source.is("static_assert") {
            while !source.take(";")? {
                if source.peek().kind == Sort::End {
                    return Err(source.unexpected("`;`"));
                }
                source.next()?;
            }
            return Ok(());
        }
        if source.take(";")? {
            return Ok(());
        }
        let before = self.begun.len();
        match self.fields(source, record, body, levels) {
            Err(error) if !source.failed() && error.code() == Code::Declaration => {
                body.refuse(Some(error.clone()));
                for (name, full, place) in self.begun.split_off(before) {
                    let item = Item { name: name.into(), place, what: What::Refused(error.clone()) };
                    _ = self.model.add(full, item);
                }
                while !(source.depth() == depth && (source.is(";") || source.is("}"))) {
                    if source.peek().kind == Sort::End || source.depth() < depth {
                        return Err(error);
                    }
                    source.next()?;
                }
                source.take(";").map(drop)
            }
            other => other,
        }
    }

    fn fields(&mut self, source: &mut Source<'_>, record: &str, body: &mut Body, levels: usize) -> Result<()> {
        let mut comments = source.peek().lead.clone();
        let line = source.peek().line;
        let start = self.model.len();
        let specifiers = self.specifiers(source, record, None, levels)?;
        body.refuse(specifiers.strange.clone());
        if source.is(";") {
            // `struct { .. };` within a struct: its fields are those of the outer one. Their places need not be the same.
            let error = source.fault(line).expected("a name behind a type");
            body.refuse(Some(error.found("an anonymous struct or union; with a name it is a nested record")));
        }
        let first = body.fields.len();
        while !source.is(";") {
            if source.is(":") {
                return Err(bit_field(source, line, "without a name"));
            }
            let declarator = self.declarator(source)?;
            if source.take(":")? {
                until(source, &[",", ";"])?;
                body.refuse(Some(bit_field(source, declarator.place.line, &declarator.name)));
            } else {
                self.field(source, record, body, &specifiers, declarator, start);
            }
            if !source.take(",")? {
                break;
            }
        }
        if source.is_word() {
            let word = source.peek().text.clone();
            return Err(source.fault(source.peek().line).expected(DECLARED).found(short(&word)));
        }
        source.expect(";")?;
        comments.extend(&source.peek().trail);
        let (prose, unit) = prose_and_unit(&comments);
        for field in &mut body.fields[first..] {
            field.prose = prose.clone();
            field.unit = unit.clone();
        }
        Ok(())
    }

    fn field(
        &mut self,
        source: &Source<'_>,
        record: &str,
        body: &mut Body,
        specifiers: &Specifiers,
        declarator: super::Declarator,
        start: usize,
    ) {
        let all = [&specifiers.attributes, &declarator.attributes];
        for attributes in all {
            body.refuse(attributes.fault.clone());
            if attributes.is_declspec && !matches!(source.pack(), Ok(None)) {
                body.refuse(attributes.refused(source, "no __declspec(align) within #pragma pack"));
            }
        }
        let packed = Packed {
            packed: all.iter().any(|attributes| attributes.packed),
            least: all.iter().filter_map(|attributes| attributes.align).max(),
            most: None,
        };
        if let Element::Named(full) = &specifiers.of.element
            && is_nameless(full)
            && self.named.insert(full.clone())
        {
            self.model.rename(start, full, &format!("{record}_{}", declarator.name));
        }
        let (place, name) = (declarator.place.clone(), declarator.name.clone());
        let of = joined(source, specifiers.of.clone(), declarator);
        body.fields.push(Part { packed, ..Part::new(place, name, of) });
    }
}

fn source_fault(source: &Source<'_>, line: u32, word: &str) -> Error {
    source.fault(line).expected(DECLARED).found(short(word))
}

fn union(source: &Source<'_>, place: &Place, name: &str) -> Error {
    let error = source.fault(place.line).expected("a type that a record can have");
    error.found(format!("union {name}").trim())
}

fn bit_field(source: &Source<'_>, line: u32, name: &str) -> Error {
    let error =
        source.fault(line).expected("a field with bytes of its own; of a compiled program, an overlay can drop it");
    error.found(format_args!("the bit-field {name}"))
}
