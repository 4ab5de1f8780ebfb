//! The one table of errors (`spec/errors.md`). Every failure has a [`Code`] with a stable number, the path of the field at
//! fault, what was expected there, and what was found.
//!
//! One type serves every operation, because one table serves every language: C codes, Python exceptions and exit statuses
//! follow from [`Code`].

use crate::text::Shown;
use crate::token::Token;
use std::fmt;

/// The result of an operation on records.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The cause of a failure, and so what a caller can do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// The input does not follow the specification: drop it, or examine its sender.
    BadInput,
    /// The input exceeds a limit of this receiver: raise the limit if the sender is trusted.
    Limit,
    /// Both sides are well-formed but incompatible: change one of them, or the rules of conversion.
    Mismatch,
    /// Something is missing, perhaps only for now: a format, the rest of a stream, a file.
    Unavailable,
    /// The caller asked for something that does not exist, or passed an invalid argument.
    Usage,
    /// Isoform has a defect: please report it.
    Internal,
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])* $name:ident = $number:literal $class:ident $text:literal;)*) => {
        /// The kind of a failure. The numbers are stable and the same in every language (`spec/errors.md`).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[repr(u16)]
        pub enum Code { $($(#[doc = $doc])* $name = $number,)* }

        impl Code {
            /// Every code, by ascending number.
            pub const ALL: &'static [Code] = &[$(Code::$name),*];

            /// The cause of such a failure.
            pub fn class(self) -> Class { match self { $(Code::$name => Class::$class,)* } }

            /// A description in a few words.
            pub fn text(self) -> &'static str { match self { $(Code::$name => $text,)* } }

            /// The name of the code, as in `spec/errors.md`.
            pub fn name(self) -> &'static str { match self { $(Code::$name => stringify!($name),)* } }
        }
    };
}

codes! {
    /// The bytes do not begin with the magic number of a message.
    NotAMessage = 100 BadInput "not an Isoform message";
    /// A message or a description has a version that this reader does not know.
    Version = 101 BadInput "unknown version";
    /// A message or a description has a critical flag that this reader does not know.
    Flags = 102 BadInput "unknown critical flags";
    /// The stream ends within a message.
    Cut = 103 BadInput "the stream ends within a message";
    /// A part of a file differs from its checksum, or breaks the format of the file (`spec/files.md`).
    Damaged = 104 BadInput "damaged file";
    /// A description breaks the encoding of `spec/format.md`.
    Description = 110 BadInput "malformed description";
    /// A description differs from the canonical description of the format that it encodes.
    NotCanonical = 111 BadInput "description is not canonical";
    /// A format, or a declaration of one, contradicts itself or breaks a rule of `spec/format.md`.
    Declaration = 112 BadInput "invalid declaration";
    /// A description does not hash to the token under which it was requested or stored; or another description is
    /// already known under its token.
    TokenMismatch = 113 BadInput "description and token disagree";
    /// The body is shorter or longer than its record and blocks.
    BodyLength = 120 BadInput "wrong body length";
    /// A slot does not hold the offset at which its block must be.
    Slot = 121 BadInput "pointer slot out of place";
    /// A slot is null although the length of its array is not 0.
    NullArray = 122 BadInput "null array with a length";
    /// The length of an array is negative, or the array does not fit into its message.
    ArrayLength = 123 BadInput "impossible array length";
    /// A boolean is neither 0 nor 1.
    Boolean = 124 BadInput "invalid boolean";
    /// The value of an enumeration belongs to none of its symbols.
    Symbol = 125 BadInput "invalid enumeration value";
    /// A string has no terminating NUL.
    Unterminated = 126 BadInput "unterminated string";
    /// A string is not UTF-8, but the caller needs text.
    Utf8 = 127 BadInput "not UTF-8";
    /// JSON, or other text, is malformed or is not a record of the format.
    Text = 130 BadInput "malformed text";
    /// The other node of a link sent something that is not a frame, or a frame that is not allowed at this point.
    Frame = 140 BadInput "malformed frame";
    /// The other side of a connection did not complete the handshake of a link.
    Handshake = 141 BadInput "handshake failed";

    /// A message is larger than this receiver accepts.
    MessageSize = 200 Limit "message too large";
    /// A description is larger than 64 KiB, or larger than this receiver accepts.
    DescriptionSize = 201 Limit "description too large";
    /// Structures are nested deeper than 32 levels, or deeper than this receiver accepts.
    Depth = 202 Limit "nested too deeply";
    /// A format has more than 4,096 fields in all, or more than this receiver accepts.
    Fields = 203 Limit "too many fields";
    /// A record, an array or an offset is larger than this machine, or the format, can address.
    Size = 204 Limit "too large to address";
    /// There would be more links, members or subscriptions than this node allows.
    Peers = 205 Limit "too many peers";
    /// Another node asked for more than the budget for it has.
    Budget = 206 Limit "budget used up";

    /// The sender lacks fields or elements that are required, or that have no default at the receiver.
    Required = 300 Mismatch "missing field";
    /// Two matching fields have types that cannot be converted, or two records have no field in common.
    NoConversion = 301 Mismatch "no conversion";
    /// Two matching fields are in different units.
    Unit = 302 Mismatch "different units";
    /// Two matching arrays differ in the number of dimensions, or in an inner dimension.
    Shape = 303 Mismatch "different array shapes";
    /// A number is beyond the range of its destination.
    Overflow = 310 Mismatch "overflow";
    /// A number other than zero would become zero.
    Underflow = 311 Mismatch "underflow";
    /// An integer would lose digits in a float, or a float its fraction in an integer.
    Inexact = 312 Mismatch "inexact";
    /// The receiver does not know the symbol of an enumeration.
    UnknownSymbol = 313 Mismatch "unknown symbol";
    /// An array or a text is longer than its destination.
    TooLong = 314 Mismatch "too many elements";
    /// Arrays that share one length field have different lengths.
    Lengths = 315 Mismatch "lengths disagree";
    /// A pointer is null, and the receiver's field cannot be null.
    Null = 316 Mismatch "unexpected null";
    /// The rule of a name refuses a version, since one version of the name cannot read another.
    NotCompatible = 317 Mismatch "not compatible with another version";

    /// The reader knows no description for a token. [`Error::token`] carries it.
    UnknownFormat = 400 Unavailable "unknown format";
    /// The operating system refused to read or write.
    Io = 401 Unavailable "input/output";
    /// No answer or event arrived within the given time.
    Deadline = 402 Unavailable "timed out";
    /// No node answers at an address, or the link with a node has ended.
    Unreachable = 403 Unavailable "cannot be reached";
    /// The node at the address has no channel of that name or identity.
    NoSuchChannel = 404 Unavailable "no such channel";
    /// The channel, source, sink or node was closed.
    Closed = 405 Unavailable "closed";
    /// The node at the address is not the node that the caller wanted.
    WrongNode = 406 Unavailable "wrong node";
    /// The two nodes already have a link, and that link stays.
    Duplicate = 407 Unavailable "already linked";
    /// The name of a channel, or an address to listen at, is already in use.
    Taken = 408 Unavailable "already in use";
    /// A source does not grant the policy that a sink must have.
    NotGranted = 409 Unavailable "not granted";
    /// One of two nodes does not admit the other, since they have no shared key in common.
    NotAdmitted = 410 Unavailable "not admitted";
    /// The rules of a node do not allow another node what it asks for.
    Forbidden = 411 Unavailable "forbidden";
    /// A server knows no name, or no version of it.
    NoSuchName = 412 Unavailable "no such name";
    /// A server copies names from another one, which alone changes them.
    NotWriter = 413 Unavailable "not the server that writes names";

    /// There is no field, element or symbol of that name.
    NoSuchField = 500 Usage "no such field";
    /// The caller asked for a field as a type that it does not have.
    WrongType = 501 Usage "wrong type";
    /// A record in memory does not follow its declaration.
    BadRecord = 502 Usage "record contradicts its format";
    /// A source on the command line is malformed or not supported.
    Source = 503 Usage "cannot open source";
    /// An address, or the id of a channel, is malformed.
    Address = 504 Usage "not an address";
    /// An address is beyond this machine, where traffic would not be encrypted, and the caller has not allowed that.
    Insecure = 505 Usage "refused without encryption";

    /// Isoform has a defect.
    Internal = 900 Internal "internal error";
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// A failure: its [`Code`], the path of the field at fault, what was expected, and what was found.
///
/// The texts are for people, and may change. A program matches on [`code`](Error::code), [`class`](Error::class),
/// [`token`](Error::token) and [`position`](Error::position).
///
/// ```
/// use isoform_core::{Class, Code, Error};
/// let error = Error::new(Code::Overflow).at("grid[3].rho").expected("integer of 2 bytes").found(70000);
/// assert_eq!(error.to_string(), "overflow at grid[3].rho: expected integer of 2 bytes, found 70000");
/// assert_eq!(error.class(), Class::Mismatch);
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Detail>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Detail {
    code: Code,
    path: String,
    expected: String,
    found: String,
    token: Option<Token>,
    position: Option<Position>,
}

/// A place in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// Bytes from the beginning of the line to the end of what was read.
    pub column: usize,
}

impl Error {
    /// A failure of which only the code is known.
    #[cold]
    pub fn new(code: Code) -> Self {
        let (path, expected, found) = Default::default();
        Error(Box::new(Detail { code, path, expected, found, token: None, position: None }))
    }

    /// The failure that the format of `token` is unknown.
    #[cold]
    pub fn unknown_format(token: Token) -> Self {
        let mut error = Error::new(Code::UnknownFormat).expected("a registered format").found(token);
        error.0.token = Some(token);
        error
    }

    /// Sets the path of the field at fault.
    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.0.path = path.into();
        self
    }

    /// Puts `outer`, the record or array that contains the field at fault, in front of the path.
    pub fn within(mut self, outer: &str) -> Self {
        let inner = std::mem::take(&mut self.0.path);
        let dot = if inner.is_empty() || inner.starts_with('[') || outer.is_empty() { "" } else { "." };
        self.0.path = format!("{outer}{dot}{inner}");
        self
    }

    /// Sets what was expected. A text beyond a kilobyte is cut.
    pub fn expected(mut self, expected: impl fmt::Display) -> Self {
        self.0.expected = brief(expected);
        self
    }

    /// Sets what was found instead. A text beyond a kilobyte is cut.
    pub fn found(mut self, found: impl fmt::Display) -> Self {
        self.0.found = brief(found);
        self
    }

    /// The same failure, at this place in the text that was read.
    pub fn positioned(mut self, position: Position) -> Self {
        self.0.position = Some(position);
        self
    }

    /// The kind of the failure.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// The cause of the failure.
    pub fn class(&self) -> Class {
        self.0.code.class()
    }

    /// The path of the field at fault, such as `grid[3].rho`; empty if no single field is at fault.
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// What was expected there; may be empty.
    pub fn expectation(&self) -> &str {
        &self.0.expected
    }

    /// What was found instead; may be empty.
    pub fn actual(&self) -> &str {
        &self.0.found
    }

    /// The token whose format is unknown, for [`Code::UnknownFormat`].
    pub fn token(&self) -> Option<Token> {
        self.0.token
    }

    /// The place where a text is malformed, for text that is not JSON. For JSON that does not fit its format, the
    /// [path](Error::path) names the field.
    pub fn position(&self) -> Option<Position> {
        self.0.position
    }
}

/// Input may be of any length. Its text in an error is bounded, and no more of it is formatted.
fn brief(what: impl fmt::Display) -> String {
    let mut brief = Brief(String::new());
    if fmt::Write::write_fmt(&mut brief, format_args!("{what}")).is_err() {
        brief.0.push('…');
    }
    brief.0
}

/// Collects at most a kilobyte of text, and then fails.
struct Brief(String);

impl fmt::Write for Brief {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = 1024 - self.0.len();
        self.0.push_str(&text[..text.floor_char_boundary(room)]);
        if text.len() > room { Err(fmt::Error) } else { Ok(()) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Detail { code, path, expected, found, position, .. } = &*self.0;
        write!(f, "{code}")?;
        if !path.is_empty() {
            write!(f, " at {}", Shown(path))?;
        }
        match (expected.is_empty(), found.is_empty()) {
            (true, true) => {}
            (false, true) => write!(f, ": expected {}", Shown(expected))?,
            (true, false) => write!(f, ": {}", Shown(found))?,
            (false, false) => write!(f, ": expected {}, found {}", Shown(expected), Shown(found))?,
        }
        match position {
            Some(Position { line, column }) => write!(f, " at line {line} column {column}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:?} {})", self, self.0.code, self.0.code as u16)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_long_is_cut_short() {
        let long = "ü".repeat(1 << 20);
        let error = Error::new(Code::Text).expected(&long).found(format_args!("{long:?}, {long:?}"));
        assert_eq!(error.expectation(), format!("{}…", "ü".repeat(512)));
        assert_eq!(error.actual(), format!("\"{}…", "ü".repeat(511)));
        assert_eq!(Error::new(Code::Text).found(&long[..1024]).actual(), &long[..1024]);
    }

    #[test]
    fn what_strangers_said_does_nothing_to_a_terminal() {
        let error = Error::new(Code::Text).at("a\u{1b}[31m").expected("b\u{9b}2J\u{202e}").found("c\u{200b}\n\u{7}");
        let expected = r"malformed text at a\u{1b}[31m: expected b\u{9b}2J\u{202e}, found c\u{200b}\n\u{7}";
        assert_eq!(error.to_string(), expected);
    }
}
