//! Sources: the one grammar for the input of all commands (`isoform help sources`).

use crate::failure::Failure;
use isoform::core::Layout;
use isoform::{Error, Token};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Another name of `-`, on every system.
const STANDARD_INPUT: &str = "/dev/stdin";

/// The words before documents, one for each language.
pub(crate) const LANGUAGES: [&str; 6] = ["xsd", "idl", "msg", "jsonschema", "proto", "c"];

/// The source of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A file or standard input, and a choice of its formats.
    Bytes(Bytes),
    /// A channel, by its id.
    Channel(String),
    /// A format at a format service, by its token.
    Token(Token),
    /// The formats of a version of a name at a format service.
    Name(Name),
    /// A type of a document, or all of them.
    Document(Document),
    /// A struct of a compiled program.
    Program(Program),
}

/// Bytes that are a stream or the text of shapes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bytes {
    /// `None` for standard input.
    pub(crate) path: Option<PathBuf>,
    /// The name of one of its formats, or the first digits of its token.
    pub(crate) format: Option<String>,
    /// The machine for which shapes are laid out.
    pub(crate) layout: Option<Layout>,
}

/// A version of a name at a format service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) name: String,
    /// The latest if it is absent.
    pub(crate) version: Option<u64>,
    /// The first digits of the token of one of its formats.
    pub(crate) format: Option<String>,
}

/// Types of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Document {
    /// The word for its language, one of [`LANGUAGES`].
    pub(crate) language: &'static str,
    /// Its path or URL.
    pub(crate) place: String,
    /// The name of a type; all of them if it is absent.
    pub(crate) name: Option<String>,
    /// The machine for which they are laid out.
    pub(crate) layout: Option<Layout>,
    /// The file with what the user changes of it.
    pub(crate) overlay: Option<PathBuf>,
}

/// A struct of a compiled program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    /// Its name; behind an @, the unit and line that choose one of several. All of them if it is absent.
    pub(crate) name: Option<String>,
    /// The file with what the user says of it: what pointers are, and changes.
    pub(crate) overlay: Option<PathBuf>,
}

/// Rewrites `-#NAME` and `-@LAYOUT` so that they are not mistaken for options.
pub(crate) fn not_an_option(argument: OsString) -> OsString {
    match argument.to_str().and_then(|text| text.strip_prefix('-')) {
        Some(rest) if rest.starts_with(['#', '@']) => format!("{STANDARD_INPUT}{rest}").into(),
        _ => argument,
    }
}

/// Whether this is a channel. Opening it parses the rest of its id.
pub(crate) fn is_channel(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, _)| scheme == "iso" || scheme.starts_with("iso+"))
}

impl Source {
    /// Parses a source. `exists` tells whether a file of a name exists, for names with # or @ in them.
    pub(crate) fn parse(text: &str, exists: impl Fn(&Path) -> bool) -> Result<Source, Failure> {
        let malformed = |form: &str| Err(Failure::usage(format!("source {text:?} should be of the form {form}")));
        if let Some(token) = text.strip_prefix("token:") {
            return match token.parse::<Token>() {
                Ok(token) => Ok(Source::Token(token)),
                Err(_) => malformed("token:HEX, with 32 hexadecimal digits"),
            };
        }
        if let Some(rest) = text.strip_prefix("name:") {
            return match Name::parse(rest) {
                Some(name) => Ok(Source::Name(name)),
                None => malformed("name:NAME[@VERSION][#TOKEN]"),
            };
        }
        if is_channel(text) {
            return Ok(Source::Channel(text.into()));
        }
        if let Some(rest) = text.strip_prefix("elf:") {
            let (path, name) = rest.rsplit_once('#').map_or((rest, None), |(path, name)| (path, Some(name)));
            if path.is_empty() || name.is_some_and(str::is_empty) {
                return malformed("elf:FILE#STRUCT");
            }
            return Ok(Source::Program(Program { path: path.into(), name: name.map(Into::into), overlay: None }));
        }
        if let Some(rest) = text.strip_prefix("overlay:") {
            let words = LANGUAGES.iter().chain(&["elf"]);
            let under = words.filter_map(|word| rest.find(&format!(":{word}:"))).min();
            let form = "overlay:FILE:SOURCE, with a document or a program as the source";
            let Some(under) = under else { return malformed(form) };
            return match Source::parse(&rest[under + 1..], exists)? {
                Source::Document(document) if under > 0 => {
                    Ok(Source::Document(Document { overlay: Some(rest[..under].into()), ..document }))
                }
                Source::Program(program) if under > 0 => {
                    Ok(Source::Program(Program { overlay: Some(rest[..under].into()), ..program }))
                }
                _ => malformed(form),
            };
        }
        for language in LANGUAGES {
            if let Some(rest) = text.strip_prefix(language).and_then(|rest| rest.strip_prefix(':')) {
                return match Document::parse(language, rest)? {
                    Some(document) => Ok(Source::Document(document)),
                    None => malformed(&format!("{language}:PLACE[#TYPE[@LAYOUT]], with a path or a URL")),
                };
            }
        }
        Bytes::parse(text, exists).map(Source::Bytes)
    }
}

impl Name {
    fn parse(text: &str) -> Option<Name> {
        let (text, format) = match text.rsplit_once('#') {
            Some((text, format)) => (text, Some(format.to_owned())),
            None => (text, None),
        };
        let (name, version) = match text.rsplit_once('@') {
            Some((name, version)) => (name, Some(version.parse().ok()?)),
            None => (text, None),
        };
        let is_good = !name.is_empty() && format.as_ref().is_none_or(|format| !format.is_empty());
        is_good.then(|| Name { name: name.into(), version, format })
    }
}

impl Document {
    fn parse(language: &'static str, text: &str) -> Result<Option<Document>, Failure> {
        // The address of a namespace is in braces, and may have these signs.
        let mut marks = text.rmatch_indices('#').map(|(at, _)| (&text[..at], &text[at + 1..]));
        let is_outside = |name: &str| name.matches('{').count() == name.matches('}').count();
        let found = marks.find(|(_, name)| is_outside(name));
        let (place, name) = found.map_or((text, None), |(place, name)| (place, Some(name)));
        let layout_of = |name| {
            let end = str::rfind(name, '}').unwrap_or(0);
            name[end..].find('@').map_or((name, ""), |at| (&name[..end + at], &name[end + at + 1..]))
        };
        let (name, layout) = match name.map(layout_of) {
            None => (None, None),
            Some((name, "")) => (Some(name), None),
            Some((name, layout)) => (Some(name), Some(named_layout(layout)?)),
        };
        let is_good = !place.is_empty() && name.is_none_or(|name| !name.is_empty());
        Ok(is_good.then(|| Document {
            language,
            place: place.into(),
            name: name.map(str::to_owned),
            layout,
            overlay: None,
        }))
    }
}

impl Bytes {
    fn parse(text: &str, exists: impl Fn(&Path) -> bool) -> Result<Bytes, Failure> {
        let mut place = text;
        let (mut format, mut layout) = (None, None);
        while !exists(Path::new(place))
            && let Some(at) = place.rfind(['#', '@'])
            // Names of formats may have a /, as those of emitted records have. Directories may have a #.
            && (!place[at..].contains('/') || exists(Path::new(&place[..at])))
        {
            let name = &place[at + 1..];
            match place.as_bytes()[at] {
                b'#' if name.is_empty() => {
                    return Err(Failure::usage(format!("source {text:?} names no format after the #")));
                }
                b'#' if format.is_none() => format = Some(name.to_string()),
                b'@' if layout.is_none() => layout = Some(named_layout(name)?),
                _ => break,
            }
            place = &place[..at];
        }
        if place.is_empty() {
            return Err(Failure::usage(format!("source {text:?} names no file")).hint("- is standard input"));
        }
        let path = (place != "-" && place != STANDARD_INPUT).then(|| place.into());
        Ok(Bytes { path, format, layout })
    }
}

/// The layout of the given name.
pub(crate) fn named_layout(name: &str) -> Result<Layout, Failure> {
    name.parse()
        .map_err(|error: Error| Failure::usage(format!("no layout is named {name:?}")).hint(error.expectation()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Source, String> {
        let exists = |path: &Path| path == Path::new("odd#name@s390x");
        Source::parse(text, exists).map_err(|failure| match failure {
            Failure::Told { message, status: 2, .. } => message,
            _ => panic!("not a usage failure"),
        })
    }

    fn bytes(path: Option<&str>, format: Option<&str>, layout: Option<Layout>) -> Result<Source, String> {
        Ok(Source::Bytes(Bytes { path: path.map(PathBuf::from), format: format.map(String::from), layout }))
    }

    #[test]
    fn every_form_of_the_grammar() {
        assert_eq!(parse("a/b.iso"), bytes(Some("a/b.iso"), None, None));
        assert_eq!(parse("-"), bytes(None, None, None));
        assert_eq!(parse("/dev/stdin#Track"), bytes(None, Some("Track"), None));
        assert_eq!(not_an_option("-#Track".into()), "/dev/stdin#Track");
        assert_eq!(not_an_option("--json".into()), "--json");
        assert_eq!(parse("a.shape@s390x"), bytes(Some("a.shape"), None, Some(Layout::S390X)));
        assert_eq!(parse("a#T@i386"), bytes(Some("a"), Some("T"), Some(Layout::I386)));
        assert_eq!(parse("a@i386#T"), parse("a#T@i386"));
        assert_eq!(parse("user@host/file"), bytes(Some("user@host/file"), None, None));
        assert_eq!(parse("odd#name@s390x"), bytes(Some("odd#name@s390x"), None, None));
        assert_eq!(parse("odd#name@s390x#T"), bytes(Some("odd#name@s390x"), Some("T"), None));
        for text in ["iso://[::1]:80/flow", "iso+unix:///tmp/x.sock/flow", "iso+later://x/flow"] {
            assert_eq!(parse(text), Ok(Source::Channel(text.into())));
        }
        let token = "000102030405060708090a0b0c0d0e0f";
        assert_eq!(parse(&format!("token:{token}")), Ok(Source::Token(token.parse().unwrap())));
        let name = |version, format: Option<&str>| {
            Ok(Source::Name(Name { name: "river/a".into(), version, format: format.map(str::to_owned) }))
        };
        assert_eq!(parse("name:river/a"), name(None, None));
        assert_eq!(parse("name:river/a@3#0001"), name(Some(3), Some("0001")));
        let program =
            |name: &str| Ok(Source::Program(Program { path: "a.out".into(), name: Some(name.into()), overlay: None }));
        assert_eq!(parse("elf:a.out#S"), program("S"));
        assert_eq!(parse("elf:a.out#a::S"), program("a::S"));
        assert_eq!(parse("elf:a.out#S@a.c:7"), program("S@a.c:7"));
        assert_eq!(
            parse("elf:a.out"),
            Ok(Source::Program(Program { path: "a.out".into(), name: None, overlay: None }))
        );
        let overlay = Some("mine.json".into());
        let over = Program { path: "a.out".into(), name: Some("S@a.c:7".into()), overlay };
        assert_eq!(parse("overlay:mine.json:elf:a.out#S@a.c:7"), Ok(Source::Program(over)));
        for language in LANGUAGES {
            let document = |name: Option<&str>, layout| {
                let (place, name) = ("http://h/x".into(), name.map(String::from));
                Ok(Source::Document(Document { language, place, name, layout, overlay: None }))
            };
            assert_eq!(parse(&format!("{language}:http://h/x")), document(None, None));
            assert_eq!(parse(&format!("{language}:http://h/x#T")), document(Some("T"), None));
            assert_eq!(parse(&format!("{language}:http://h/x#T@s390x")), document(Some("T"), Some(Layout::S390X)));
        }
    }

    #[test]
    fn what_is_no_source_says_how_it_should_be() {
        for (text, says) in [
            ("token:12", "token:HEX"),
            ("name:", "name:NAME"),
            ("name:river@first", "name:NAME[@VERSION]"),
            ("elf:a.out#", "elf:FILE#STRUCT"),
            ("elf:#S", "elf:FILE#STRUCT"),
            ("xsd:#T", "xsd:PLACE[#TYPE[@LAYOUT]]"),
            ("xsd:a#", "xsd:PLACE[#TYPE[@LAYOUT]]"),
            ("idl:", "idl:PLACE[#TYPE[@LAYOUT]]"),
            ("xsd:a#T@vax", "no layout is named \"vax\""),
            ("a@vax", "no layout is named \"vax\""),
            ("a#", "names no format"),
            ("#T", "names no file"),
            ("", "names no file"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
