//! Protocol Buffers: messages of proto2 and proto3 to declarations (`spec/xmit.md`).
//!
//! A type may be used before it is declared, so all documents are read first, and names are resolved then.

use super::Front;
use super::link::{Dim, Item, Model, Of, Part, Place, What, name};
use super::literal::{self, Escapes};
use super::tokens::{Sort, Tokens, prose_and_unit, short};
use crate::declaration::Declarations;
use crate::documents::Documents;
use isoform_core::declare::Kind;
use isoform_core::{Code, Error, Result};

/// The room of Protocol Buffers.
pub(super) struct Proto;

impl Front for Proto {
    fn declarations(&self, documents: &mut Documents<'_>) -> Result<Declarations> {
        let mut reader = Reader { documents, model: Model::default(), messages: Vec::new() };
        reader.document(0)?;
        reader.resolve()?;
        let is_own = |full: &str, item: &Item| item.place.document == 0 && !full.starts_with("google.protobuf.");
        Ok(reader.model.link_own(reader.documents, &|full, _| spelled(full), &is_own))
    }
}

/// Folders above a document in which an import is looked for.
const MAX_ROOTS: usize = 4;

struct Reader<'x, 'l> {
    documents: &'x mut Documents<'l>,
    model: Model,
    /// Messages, whose fields name types that may follow.
    messages: Vec<Message>,
}

struct Message {
    full: String,
    place: Place,
    fields: Vec<Raw>,
    fault: Option<Error>,
    prose: Option<Box<str>>,
}

/// A field whose type is a name.
struct Raw {
    part: Part,
    /// The name of its type, and what that becomes around it.
    kind: String,
    label: Label,
    /// Fields of messages and optional ones may be absent.
    is_proto3: bool,
}

/// The unit or the default of a field.
type Text = Option<Box<str>>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Label {
    None,
    Optional,
    Required,
    Repeated,
    OneOf,
}

/// What holds for a document.
#[derive(Default)]
struct File {
    is_proto3: bool,
    package: String,
}

impl Reader<'_, '_> {
    fn document(&mut self, number: usize) -> Result<()> {
        let faults = self.documents.faults(number);
        let (name, text) = (faults.name.to_owned(), faults.text.to_owned());
        let mut tokens = Tokens::new(&name, number, &text)?;
        let mut file = File::default();
        loop {
            let kind = tokens.peek().kind;
            let line = tokens.peek().line;
            let prose = prose_and_unit(&tokens.lead()).0;
            if kind == Sort::End {
                return Ok(());
            } else if tokens.take(";")? {
            } else if tokens.take("syntax")? {
                tokens.expect("=")?;
                file.is_proto3 = match text_of(&mut tokens)?.as_str() {
                    "proto2" => false,
                    "proto3" => true,
                    other => return Err(tokens.fault(line).expected("syntax proto2 or proto3").found(short(other))),
                };
                tokens.expect(";")?;
            } else if tokens.take("package")? {
                file.package = type_name(&mut tokens)?;
                tokens.check_name(&file.package)?;
                tokens.expect(";")?;
            } else if tokens.take("import")? {
                _ = tokens.take("public")? || tokens.take("weak")?;
                let location = text_of(&mut tokens)?;
                tokens.expect(";")?;
                self.import(number, &location, &file)?;
            } else if tokens.take("option")? {
                skip(&mut tokens)?;
            } else if tokens.take("service")? {
                let service = format!("service {}", short(tokens.peek().text));
                self.documents.leave_out(number, line, &service, "a service is no record", false);
                skip(&mut tokens)?;
            } else if tokens.take("message")? {
                let scope = file.package.clone();
                self.message(&mut tokens, &file, &scope, prose, 0)?;
            } else if tokens.take("enum")? {
                let scope = file.package.clone();
                self.enumeration(&mut tokens, &scope, &file)?;
            } else if tokens.take("extend")? {
                self.extend(&mut tokens)?;
            } else {
                return Err(
                    tokens.unexpected("syntax proto2 or proto3, package, import, option, message, enum or service")
                );
            }
        }
    }

    /// Loads a document: relative to this one, or to a folder above it, as its package says. Those of Protocol Buffers itself are known.
    fn import(&mut self, base: usize, location: &str, file: &File) -> Result<()> {
        if location.starts_with("google/protobuf/") {
            return Ok(());
        }
        let roots = match file.package.is_empty() {
            true => 0,
            false => (file.package.split('.').count()).min(MAX_ROOTS),
        };
        let mut first = None;
        for up in 0..=roots {
            match self.documents.load(base, &format!("{}{location}", "../".repeat(up))) {
                Ok(Some(number)) => return self.document(number),
                Ok(None) => return Ok(()),
                Err(error) if error.code() == Code::MessageSize => return Err(error),
                Err(error) => _ = first.get_or_insert(error),
            }
        }
        first.map_or(Ok(()), Err)
    }

    /// Extensions of options are about documents. Others are fields that this reader would miss.
    fn extend(&mut self, tokens: &mut Tokens<'_>) -> Result<()> {
        let Place { document, line, .. } = tokens.place();
        let extended = type_name(tokens)?;
        if !extended.trim_start_matches('.').starts_with("google.protobuf.") {
            let error = tokens.fault(line).expected("messages without extensions");
            return Err(error.found(format_args!("extend {extended}")));
        }
        self.documents.leave_out(document, line, &format!("extend {extended}"), "options are no fields", false);
        skip(tokens)
    }

    fn message(
        &mut self,
        tokens: &mut Tokens<'_>,
        file: &File,
        scope: &str,
        prose: Option<Box<str>>,
        levels: usize,
    ) -> Result<()> {
        tokens.check_levels(levels)?;
        let place = tokens.place();
        let full = within(scope, tokens.word("a name")?);
        tokens.check_name(&full)?;
        tokens.expect("{")?;
        let mut message = Message { full: full.clone(), place, fields: Vec::new(), fault: None, prose };
        while !tokens.take("}")? {
            let prose = prose_and_unit(&tokens.lead()).0;
            let line = tokens.peek().line;
            if tokens.take(";")? {
            } else if tokens.take("message")? {
                self.message(tokens, file, &full, prose, levels + 1)?;
            } else if tokens.take("enum")? {
                self.enumeration(tokens, &full, file)?;
            } else if tokens.take("extend")? {
                self.extend(tokens)?;
            } else if tokens.take("option")? || tokens.take("reserved")? {
                skip(tokens)?;
            } else if tokens.take("extensions")? {
                let error = tokens.fault(line).expected("a message without extensions");
                message.fault.get_or_insert(error.found(format_args!("extensions of {}", local(&full, file))));
                skip(tokens)?;
            } else if tokens.take("oneof")? {
                tokens.word("a name")?;
                tokens.expect("{")?;
                while !tokens.take("}")? {
                    if tokens.take("option")? {
                        skip(tokens)?;
                    } else if !tokens.take(";")? {
                        self.field(tokens, file, &mut message, Label::OneOf)?;
                    }
                }
            } else {
                self.field(tokens, file, &mut message, Label::None)?;
            }
        }
        let item = Item {
            name: local(&full, file),
            place: message.place.clone(),
            what: What::Record { base: None, fields: Vec::new(), prose: None },
        };
        self.declare(tokens, &full, item)?;
        self.messages.push(message);
        Ok(())
    }

    fn field(&mut self, tokens: &mut Tokens<'_>, file: &File, message: &mut Message, label: Label) -> Result<()> {
        let mut comments = tokens.lead();
        let label = match label {
            Label::OneOf => label,
            _ if tokens.take("optional")? => Label::Optional,
            _ if tokens.take("required")? => Label::Required,
            _ if tokens.take("repeated")? => Label::Repeated,
            _ => Label::None,
        };
        let line = tokens.peek().line;
        let kind = type_name(tokens)?;
        if kind == "group" {
            let error = tokens.fault(line).expected("a message in place of a group");
            message.fault.get_or_insert(error.found(format_args!("the group {}", tokens.peek().text)));
            return skip(tokens);
        }
        if kind == "map" && tokens.is("<") {
            return self.map(tokens, file, message);
        }
        let is_bare = label == Label::None && !file.is_proto3;
        if is_bare {
            return Err(tokens
                .fault(line)
                .expected("optional, required or repeated, or a declaration")
                .found(short(&kind)));
        }
        let mut part = field_name(tokens)?;
        let (unit, default) = options(tokens)?;
        tokens.expect(";")?;
        comments.extend(tokens.trail());
        let (prose, said) = prose_and_unit(&comments);
        (part.prose, part.unit, part.default) = (prose, unit.or(said), default);
        message.fields.push(Raw { part, kind, label, is_proto3: file.is_proto3 });
        Ok(())
    }

    /// A map is an array of records with a key and a value, as it is when Protocol Buffers transmits it.
    fn map(&mut self, tokens: &mut Tokens<'_>, file: &File, message: &mut Message) -> Result<()> {
        let place = tokens.place();
        tokens.expect("<")?;
        let key = type_name(tokens)?;
        tokens.expect(",")?;
        let value = type_name(tokens)?;
        tokens.expect(">")?;
        let part = field_name(tokens)?;
        options(tokens)?;
        tokens.expect(";")?;
        let full = within(&message.full, &part.name);
        let raw = |name: &str, kind| Raw {
            part: Part::new(place.clone(), name, Of::boolean()),
            kind,
            label: Label::Required,
            is_proto3: file.is_proto3,
        };
        let what = What::Record { base: None, fields: Vec::new(), prose: None };
        self.declare(tokens, &full, Item { name: local(&full, file), place: place.clone(), what })?;
        let fields = vec![raw("key", key), raw("value", value)];
        self.messages.push(Message { full: full.clone(), place, fields, fault: None, prose: None });
        message.fields.push(Raw { part, kind: format!(".{full}"), label: Label::Repeated, is_proto3: file.is_proto3 });
        Ok(())
    }

    fn enumeration(&mut self, tokens: &mut Tokens<'_>, scope: &str, file: &File) -> Result<()> {
        let place = tokens.place();
        let full = within(scope, tokens.word("a name")?);
        tokens.expect("{")?;
        let mut symbols = Vec::new();
        while !tokens.take("}")? {
            if tokens.take(";")? {
                continue;
            }
            if tokens.take("option")? || tokens.take("reserved")? {
                skip(tokens)?;
                continue;
            }
            let symbol = tokens.word("a name")?;
            tokens.expect("=")?;
            symbols.push((symbol.into(), tokens.expression(&|_| None)?));
            options(tokens)?;
            tokens.expect(";")?;
        }
        let what = What::Alias(Of::enumeration(symbols));
        self.declare(tokens, &full, Item { name: local(&full, file), place, what })
    }

    fn declare(&mut self, tokens: &Tokens<'_>, full: &str, item: Item) -> Result<()> {
        let line = item.place.line;
        self.model.add(full, item).map_err(|known| {
            let error = tokens.fault(line).expected("one declaration of each name");
            error.found(format_args!("a second {full}, besides {}", known.shown(self.documents)))
        })
    }

    /// Gives the messages their fields, now that all names are known.
    fn resolve(&mut self) -> Result<()> {
        for message in std::mem::take(&mut self.messages) {
            let Message { full, fields, fault, prose, .. } = message;
            let mut parts = Vec::with_capacity(fields.len());
            for raw in fields {
                parts.push(self.part(raw, &full));
            }
            let what = match fault {
                Some(error) => What::Refused(error),
                None => What::Record { base: None, fields: parts, prose },
            };
            self.model.set(&full, what);
        }
        Ok(())
    }

    fn part(&mut self, raw: Raw, scope: &str) -> Part {
        let Raw { mut part, kind, label, is_proto3 } = raw;
        let mut of = match scalar(&kind) {
            Some(of) => of,
            None => match self.find(&kind, scope) {
                Some(full) => Of::named(full),
                None => {
                    let error = part.place.fault(Code::Declaration, self.documents);
                    Of::refused(error.expected("a type that is declared").found(format_args!("{kind}, which is not")))
                }
            },
        };
        let is_message = match &of.element {
            super::link::Element::Named(full) => {
                self.model.find(full).is_some_and(|item| !matches!(item.what, What::Alias(_)))
                    || full.starts_with("google.protobuf.")
            }
            _ => false,
        };
        part.nullable = match label {
            Label::Optional | Label::OneOf => true,
            Label::None => is_proto3 && is_message,
            Label::Required | Label::Repeated => false,
        };
        if label == Label::Repeated {
            of = of.array(Dim::Any);
        }
        part.of = of;
        part
    }

    /// The full name of a type, in the innermost scope that declares it.
    fn find(&mut self, kind: &str, scope: &str) -> Option<String> {
        let wanted = kind.trim_start_matches('.');
        let mut scope = if kind.starts_with('.') { "" } else { scope };
        loop {
            let full = within(scope, wanted);
            if self.model.find(&full).is_some() || self.known(&full) {
                return Some(full);
            }
            if scope.is_empty() {
                return None;
            }
            scope = scope.rsplit_once('.').map_or("", |(outer, _)| outer);
        }
    }

    /// Declares a type of Protocol Buffers itself.
    fn known(&mut self, full: &str) -> bool {
        let Some(local) = full.strip_prefix("google.protobuf.") else { return false };
        let place = Place { document: 0, line: 1, pointer: None };
        let what = match local {
            "Timestamp" | "Duration" => {
                let field = |name: &str, bytes, unit: &str| Part {
                    unit: Some(unit.into()),
                    ..Part::new(place.clone(), name, Of::integer(true, bytes))
                };
                What::Record {
                    base: None,
                    fields: vec![field("seconds", 8, "s"), field("nanos", 4, "ns")],
                    prose: None,
                }
            }
            "DoubleValue" => What::Alias(Of::float(8)),
            "FloatValue" => What::Alias(Of::float(4)),
            "Int64Value" => What::Alias(Of::integer(true, 8)),
            "UInt64Value" => What::Alias(Of::integer(false, 8)),
            "Int32Value" => What::Alias(Of::integer(true, 4)),
            "UInt32Value" => What::Alias(Of::integer(false, 4)),
            "BoolValue" => What::Alias(Of::boolean()),
            "StringValue" => What::Alias(Of::kind(Kind::String)),
            "BytesValue" => What::Alias(Of::integer(false, 1).array(Dim::Any)),
            _ => return false,
        };
        self.model.add(full, Item { name: local.into(), place, what }).is_ok()
    }
}

/// The types of Protocol Buffers that are no messages.
fn scalar(kind: &str) -> Option<Of> {
    Some(match kind {
        "double" => Of::float(8),
        "float" => Of::float(4),
        "int32" | "sint32" | "sfixed32" => Of::integer(true, 4),
        "int64" | "sint64" | "sfixed64" => Of::integer(true, 8),
        "uint32" | "fixed32" => Of::integer(false, 4),
        "uint64" | "fixed64" => Of::integer(false, 8),
        "bool" => Of::boolean(),
        "string" => Of::kind(Kind::String),
        "bytes" => Of::integer(false, 1).array(Dim::Any),
        _ => return None,
    })
}

/// The full name of a type as people write it: one without a package has a dot before it.
fn spelled(full: &str) -> String {
    if full.contains('.') { full.into() } else { format!(".{full}") }
}

fn within(scope: &str, name: &str) -> String {
    if scope.is_empty() { name.to_owned() } else { format!("{scope}.{name}") }
}

/// The name of a record: the messages around it, without the package.
fn local(full: &str, file: &File) -> Box<str> {
    let inner = full.strip_prefix(file.package.as_str()).filter(|_| !file.package.is_empty());
    name(inner.map_or(full, |inner| inner.trim_start_matches('.')))
}

/// Takes a name with dots, which may begin with one.
fn type_name(tokens: &mut Tokens<'_>) -> Result<String> {
    let mut name = String::new();
    if tokens.take(".")? {
        name.push('.');
    }
    name.push_str(tokens.word("a type or a name")?);
    while tokens.take(".")? {
        name.push('.');
        name.push_str(tokens.word("a name")?);
    }
    Ok(name)
}

/// Takes the name of a field, and its number.
fn field_name(tokens: &mut Tokens<'_>) -> Result<Part> {
    let place = tokens.place();
    let field = tokens.word("the name of a field")?;
    tokens.expect("=")?;
    tokens.expression(&|_| None)?;
    Ok(Part::new(place, field, Of::boolean()))
}

/// Takes a text in quotes of either kind.
fn text_of(tokens: &mut Tokens<'_>) -> Result<String> {
    match tokens.peek().kind {
        Sort::Text | Sort::Character => tokens.string(Escapes::Proto),
        _ => Err(tokens.unexpected("a text in quotes")),
    }
}

/// Takes options in brackets. An option of any scope with the name `unit` is the unit; others than `default` are prose.
fn options(tokens: &mut Tokens<'_>) -> Result<(Text, Text)> {
    let (mut unit, mut default) = (None, None);
    if !tokens.take("[")? {
        return Ok((unit, default));
    }
    loop {
        let (mut option, mut is_custom) = (String::new(), false);
        while !tokens.is("=") {
            match tokens.peek().kind {
                Sort::Word => tokens.next()?.text.clone_into(&mut option),
                Sort::Mark if ["(", ")", "."].iter().any(|mark| tokens.is(mark)) => {
                    is_custom = true;
                    tokens.next()?;
                }
                _ => return Err(tokens.unexpected("the name of an option and `=`")),
            }
        }
        tokens.expect("=")?;
        let value: String = if tokens.is("{") {
            block(tokens)?;
            String::new()
        } else {
            let minus = if tokens.take("-")? { "-" } else { "" };
            match tokens.peek().kind {
                Sort::Text | Sort::Character => text_of(tokens)?,
                Sort::Word => format!("{minus}{}", tokens.next()?.text),
                Sort::Number => {
                    let digits = literal::decimal(tokens.peek().text);
                    let digits = digits.ok_or_else(|| tokens.unexpected("digits of the number's base"))?;
                    tokens.next()?;
                    format!("{minus}{digits}")
                }
                _ => return Err(tokens.unexpected("a value")),
            }
        };
        match (option.as_str(), is_custom) {
            ("default", false) => {
                default = Some(match value.as_str() {
                    "inf" => "INF".into(),
                    "-inf" => "-INF".into(),
                    "nan" | "-nan" => "NaN".into(),
                    value => value.into(),
                });
            }
            ("unit", true) => unit = Some(value.into()),
            _ => {}
        }
        if !tokens.take(",")? {
            tokens.expect("]")?;
            return Ok((unit, default));
        }
    }
}

/// Skips to the end of a statement: `;`, or a block in braces.
fn skip(tokens: &mut Tokens<'_>) -> Result<()> {
    loop {
        if tokens.peek().kind == Sort::End {
            return Err(tokens.unexpected("`;`"));
        }
        if tokens.is("{") {
            block(tokens)?;
            tokens.take(";")?;
            return Ok(());
        }
        if tokens.is("}") {
            return Err(tokens.unexpected("`;`"));
        }
        if tokens.next()?.text == ";" {
            return Ok(());
        }
    }
}

fn block(tokens: &mut Tokens<'_>) -> Result<()> {
    let mut open = 0usize;
    loop {
        if tokens.peek().kind == Sort::End {
            return Err(tokens.unexpected("`}`"));
        }
        if tokens.is("{") {
            open += 1;
        } else if tokens.is("}") {
            open -= 1;
        }
        tokens.next()?;
        if open == 0 {
            return Ok(());
        }
    }
}
