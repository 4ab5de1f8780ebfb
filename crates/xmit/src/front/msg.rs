//! Messages of ROS 1 and ROS 2: `.msg` texts to declarations (`spec/xmit.md`).
//!
//! A text is one message. In recordings, the texts of others follow in it, each behind a line of `=` and a line `MSG: package/Type`.

use super::Front;
use super::link::{Dim, Element, Item, Model, Of, Part, Place, What, name};
use super::tokens::{MAX_NAME, prose_and_unit, short};
use crate::declaration::Declarations;
use crate::documents::{Documents, MAX_DOCUMENTS};
use isoform_core::declare::Kind;
use isoform_core::{Code, Error, Result};

/// The room of ROS messages.
pub(super) struct Msg;

impl Front for Msg {
    fn declarations(&self, documents: &mut Documents<'_>) -> Result<Declarations> {
        let mut reader = Reader { documents, model: Model::default(), wanted: Vec::new() };
        let own = own_name(reader.documents.faults(0).name);
        reader.document(0, &own)?;
        reader.follow()?;
        // A text may have those of the messages that it needs behind it.
        let spelled = |full: &str| if full.contains('/') { full.into() } else { format!("built-in/{full}") };
        Ok(reader.model.link_own(reader.documents, &|full, _| spelled(full), &|full, _| *full == *own))
    }
}

struct Reader<'x, 'l> {
    documents: &'x mut Documents<'l>,
    model: Model,
    /// Types that fields have: the full name, and where the first field stands.
    wanted: Vec<(String, Place)>,
}

/// The package and the type that the name of a document states: `river/msg/Gauge.msg` is `river/Gauge`.
fn own_name(document: &str) -> String {
    let mut parts = document.split(['?', '#']).next().unwrap_or_default().rsplit(['/', '\\', ':']);
    let file = parts.next().unwrap_or_default();
    let stem = file.strip_suffix(".msg").unwrap_or(file);
    let package = match parts.next() {
        Some("msg") => parts.next(),
        other => other,
    };
    format!("{}/{stem}", package.unwrap_or_default())
}

impl Reader<'_, '_> {
    /// Reads a text; its first message has this full name.
    fn document(&mut self, number: usize, own: &str) -> Result<()> {
        let text = self.documents.faults(number).text.to_owned();
        let mut message = Message::new(own, Place { document: number, line: 1, pointer: None });
        let mut lines = text.lines().zip(1..);
        while let Some((line, number_of_line)) = lines.next() {
            let place = Place { document: number, line: number_of_line, pointer: None };
            if !is_separator(line) {
                if let Err(error) = self.line(line, place, &mut message) {
                    message.fault.get_or_insert(error);
                }
                continue;
            }
            let next = lines.next();
            let name = next.and_then(|(line, _)| line.trim().strip_prefix("MSG:")).map(str::trim).and_then(full_name);
            let name = name.ok_or_else(|| {
                let error =
                    place.fault(Code::Declaration, self.documents).expected("MSG: and the type behind the line of =");
                error.found(format_args!("{:?}", short(next.map_or("", |(line, _)| line))))
            })?;
            self.add(std::mem::replace(&mut message, Message::new(&name, place)))?;
        }
        self.add(message)
    }

    fn add(&mut self, message: Message) -> Result<()> {
        let what = match message.fault {
            Some(error) => What::Refused(error),
            None => What::Record {
                base: None,
                fields: message.fields,
                prose: message.prose.filter(|prose| !prose.is_empty()),
            },
        };
        let local = message.full.rsplit('/').next().unwrap_or_default();
        let item = Item { name: name(local), place: message.place.clone(), what };
        self.model.add(&*message.full, item).map_err(|known| {
            let error = message.place.fault(Code::Declaration, self.documents).expected("one message of each name");
            error.found(format_args!("a second {}, besides {}", message.full, known.shown(self.documents)))
        })
    }

    fn line(&mut self, line: &str, place: Place, message: &mut Message) -> Result<()> {
        let fault = |documents: &Documents<'_>| place.fault(Code::Declaration, documents);
        let (words, comment) = split_comment(line);
        if words.trim().is_empty() {
            match comment {
                Some(comment) => message.comments.push(comment.into()),
                None => message.end_of_comments(),
            }
            return Ok(());
        }
        let words = words.trim();
        let (kind, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
        let rest = rest.trim();
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let (field, rest) = (&rest[..end], rest[end..].trim());
        if field.is_empty() {
            return Err(fault(self.documents)
                .expected("a type and the name of a field")
                .found(format_args!("{:?}", short(words))));
        }
        let mut comments = message.comments_of_field();
        if let Some(value) = rest.strip_prefix('=') {
            // A constant is no part of a record.
            if value.is_empty() && !kind.starts_with("string") {
                return Err(fault(self.documents).expected("a value behind ="));
            }
            let constant = format!("constant {field} of {}", message.full);
            self.documents.leave_out(place.document, place.line, &constant, "a constant is no field", false);
            return Ok(());
        }
        let of = self.kind(kind, &message.full, &place)?;
        let default = match rest {
            "" => None,
            _ if !of.dims.is_empty() => {
                let error = fault(self.documents).expected("no default, since the field is an array");
                return Err(error.found(short(rest)));
            }
            text => Some(text),
        };
        let default = default.map(|text| match &of.element {
            Element::Kind(Kind::String) => unquoted(text)
                .ok_or_else(|| fault(self.documents).expected("\\ before a quote within quotes").found(short(text))),
            Element::Kind(Kind::Integer { .. }) => Ok(literal_of_python(text)),
            _ => Ok(text.to_ascii_lowercase()),
        });
        let default = default.transpose()?;
        comments.extend(comment.map(str::to_owned));
        let (prose, unit) = prose_and_unit(&comments.iter().map(String::as_str).collect::<Vec<_>>());
        let default = default.map(Into::into);
        message.fields.push(Part { unit, prose, default, ..Part::new(place, field, of) });
        Ok(())
    }

    fn kind(&mut self, text: &str, own: &str, place: &Place) -> Result<Of> {
        let fault = |documents: &Documents<'_>| place.fault(Code::Declaration, documents);
        let (element, dim) = match text.split_once('[') {
            None => (text, None),
            Some((element, rest)) => {
                let inner = rest.strip_suffix(']');
                let dim = match inner {
                    Some("") => Some(Dim::Any),
                    Some(inner) => match inner.strip_prefix("<=") {
                        Some(bound) => bound.parse::<u64>().ok().map(|_| Dim::Any),
                        None => inner.parse().ok().filter(|&length| length > 0).map(Dim::Fixed),
                    },
                    None => None,
                };
                let error = || {
                    fault(self.documents)
                        .expected("[], [N] or [<=N] behind a type")
                        .found(format_args!("{:?}", short(text)))
                };
                (element, Some(dim.ok_or_else(error)?))
            }
        };
        let (element, bound) =
            element.split_once("<=").map_or((element, None), |(element, bound)| (element, Some(bound)));
        if bound.is_some_and(|bound| element != "string" || bound.parse::<u64>().is_err()) {
            return Err(fault(self.documents)
                .expected("a limit of a string alone")
                .found(format_args!("{:?}", short(text))));
        }
        let of = match element {
            "bool" => Of::boolean(),
            "int8" => Of::integer(true, 1),
            "uint8" | "byte" | "char" => Of::integer(false, 1),
            "int16" => Of::integer(true, 2),
            "uint16" => Of::integer(false, 2),
            "int32" => Of::integer(true, 4),
            "uint32" => Of::integer(false, 4),
            "int64" => Of::integer(true, 8),
            "uint64" => Of::integer(false, 8),
            "float32" => Of::float(4),
            "float64" => Of::float(8),
            "string" => Of::kind(Kind::String),
            "time" | "duration" => {
                self.built_in(element, element == "duration", "nsec", place);
                Of::named(element)
            }
            "wstring" => return Err(fault(self.documents).expected("a type that a record can have").found(element)),
            _ => {
                let package = own.split('/').next().unwrap_or_default();
                let full = match element {
                    "Header" => Some("std_msgs/Header".to_owned()),
                    _ if element.contains('/') => full_name(element),
                    _ => full_name(&format!("{package}/{element}")),
                };
                let error = || fault(self.documents).expected("a type").found(format_args!("{:?}", short(text)));
                let full = full.ok_or_else(error)?;
                self.wanted.push((full.clone(), place.clone()));
                Of::named(full)
            }
        };
        Ok(match dim {
            Some(dim) => of.array(dim),
            None => of,
        })
    }

    /// Declares a time or a duration of ROS.
    fn built_in(&mut self, full: &str, signed: bool, fraction: &str, place: &Place) {
        let field = |name: &str, signed, unit: &str| {
            let of = Of::integer(signed, 4);
            Part { unit: Some(unit.into()), ..Part::new(place.clone(), name, of) }
        };
        let is_old = fraction == "nsec";
        let fields = vec![field("sec", signed || !is_old, "s"), field(fraction, signed && is_old, "ns")];
        let local = full.rsplit('/').next().unwrap_or_default();
        let item =
            Item { name: local.into(), place: place.clone(), what: What::Record { base: None, fields, prose: None } };
        // It may be known already.
        let _ = self.model.add(full, item);
    }

    /// Loads the messages that fields need, and those that they need.
    fn follow(&mut self) -> Result<()> {
        let (mut next, mut asked) = (0, 0);
        while let Some((full, place)) = self.wanted.get(next).cloned() {
            next += 1;
            if self.model.find(&full).is_some() {
                continue;
            }
            if matches!(full.as_str(), "builtin_interfaces/Time" | "builtin_interfaces/Duration") {
                self.built_in(&full, true, "nanosec", &place);
                continue;
            }
            let (package, local) = full.split_once('/').unwrap_or(("", &full));
            let base = self.documents.faults(place.document).name.to_owned();
            let own = own_name(&base);
            let is_beside = own.split('/').next() == Some(package);
            let is_in_msg =
                base.split(['?', '#']).next().is_some_and(|path| path.rsplit(['/', '\\']).nth(1) == Some("msg"));
            let location = match (is_beside, is_in_msg) {
                (true, _) => format!("{local}.msg"),
                (false, true) => format!("../../{package}/msg/{local}.msg"),
                (false, false) => format!("../{package}/{local}.msg"),
            };
            // The server of a document is asked for no more than it may have.
            asked += 1;
            if asked == MAX_DOCUMENTS {
                let error = place.fault(Code::MessageSize, self.documents);
                return Err(error.expected(format_args!("at most {MAX_DOCUMENTS} messages in documents of their own")));
            }
            match self.documents.load(place.document, &location) {
                Ok(Some(number)) => self.document(number, &full)?,
                Ok(None) => {}
                Err(error) if matches!(error.code(), Code::MessageSize) => return Err(error),
                Err(error) => {
                    // Only the records that need it are refused.
                    let refused = What::Refused(error);
                    let item = Item { name: name(local), place, what: refused };
                    let _ = self.model.add(&*full, item);
                }
            }
        }
        Ok(())
    }
}

/// A message as far as it has been read.
struct Message {
    full: String,
    place: Place,
    fields: Vec<Part>,
    prose: Option<Box<str>>,
    comments: Vec<String>,
    fault: Option<Error>,
}

impl Message {
    fn new(full: &str, place: Place) -> Message {
        Message { full: full.into(), place, fields: Vec::new(), prose: None, comments: Vec::new(), fault: None }
    }

    /// The comments so far are those of the message, if they are the first ones.
    fn end_of_comments(&mut self) {
        let comments = std::mem::take(&mut self.comments);
        if self.fields.is_empty() && self.prose.is_none() && !comments.is_empty() {
            self.prose =
                Some(prose_and_unit(&comments.iter().map(String::as_str).collect::<Vec<_>>()).0.unwrap_or_default());
        }
    }

    fn comments_of_field(&mut self) -> Vec<String> {
        std::mem::take(&mut self.comments)
    }
}

/// `package/Type`, also for `package/msg/Type`.
fn full_name(text: &str) -> Option<String> {
    let is_word =
        |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if text.len() > MAX_NAME {
        return None;
    }
    let parts: Vec<&str> = text.split('/').collect();
    match parts[..] {
        [package, local] | [package, "msg", local] if (package.is_empty() || is_word(package)) && is_word(local) => {
            Some(format!("{package}/{local}"))
        }
        _ => None,
    }
}

fn is_separator(line: &str) -> bool {
    let line = line.trim();
    line.len() >= 3 && line.bytes().all(|byte| byte == b'=')
}

/// A text as the generators of ROS 2 read it: in quotes, only those quotes have a backslash before them, and all others are themselves.
fn unquoted(text: &str) -> Option<String> {
    let quote = match text.as_bytes() {
        [first @ (b'"' | b'\''), .., last] if first == last => char::from(*first),
        _ => return Some(text.to_owned()),
    };
    let inner = &text[1..text.len() - 1];
    let is_odd = |at: usize| !inner[..at].ends_with('\\');
    match inner.match_indices(quote).any(|(at, _)| is_odd(at)) {
        true => None,
        false => Some(inner.replace(&format!("\\{quote}"), &quote.to_string())),
    }
}

/// An integer as the generators of ROS 2 read it: decimal, or with the prefix of another base.
fn literal_of_python(text: &str) -> String {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text),
    };
    let lower = digits.to_ascii_lowercase();
    let bases = [("0x", 16), ("0o", 8), ("0b", 2)];
    let value = bases.into_iter().find_map(|(prefix, base)| {
        let digits = lower.strip_prefix(prefix).filter(|digits| !digits.starts_with(['+', '-']))?;
        u128::from_str_radix(digits, base).ok()
    });
    value.map_or_else(|| text.to_owned(), |value| format!("{sign}{value}"))
}

/// A line and its comment. The value of a string constant reaches to the end of the line, and a `#` in quotes begins no comment.
fn split_comment(line: &str) -> (&str, Option<&str>) {
    let is_text = line.trim_start().starts_with("string")
        && line.split('#').next().is_some_and(|line| line.contains('='))
        && !line.split('=').next().unwrap_or_default().ends_with('<');
    if is_text {
        return (line, None);
    }
    let (mut quote, mut escaped) = (None, false);
    for (at, byte) in line.bytes().enumerate() {
        match (quote, byte) {
            (Some(_), _) if std::mem::take(&mut escaped) => {}
            (Some(_), b'\\') => escaped = true,
            (None, b'#') => return (&line[..at], Some(&line[at..])),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
    }
    (line, None)
}
