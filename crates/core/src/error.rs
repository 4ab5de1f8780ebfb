//! The one table of errors (`spec/errors.md`): every failure is a [`Code`] with a stable number, and says
//! at which field it happened, what was expected there and what came.
//!
//! One type serves every operation, because the same table serves every language: C codes, Python exceptions
//! and exit statuses are read off [`Code`].

use crate::format::Token;
use std::fmt;

/// The result of an operation on records.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Whose failure it is, and so what a caller can do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// What came does not follow the specification: drop it, or look at who sent it.
    BadInput,
    /// A limit of this receiver was reached: raise it, if the sender is trusted.
    Limit,
    /// Both sides are well-formed and do not fit each other: change one of them, or the rules of conversion.
    Mismatch,
    /// Something that is needed is not here (yet): a format, more of a stream, a file.
    Unavailable,
    /// The caller asked for something that does not exist, such as a field of another name.
    Usage,
    /// A defect of Isoform: please report it.
    Internal,
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])* $name:ident = $number:literal $class:ident $text:literal;)*) => {
        /// What went wrong. The numbers are stable and the same in every language (`spec/errors.md`).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[repr(u16)]
        pub enum Code { $($(#[doc = $doc])* $name = $number,)* }

        impl Code {
            /// Every code, in the order of its number.
            pub const ALL: &'static [Code] = &[$(Code::$name),*];

            /// Whose failure it is.
            pub fn class(self) -> Class { match self { $(Code::$name => Class::$class,)* } }

            /// What went wrong, in a few words.
            pub fn text(self) -> &'static str { match self { $(Code::$name => $text,)* } }

            /// The name of the code, as in `spec/errors.md`.
            pub fn name(self) -> &'static str { match self { $(Code::$name => stringify!($name),)* } }
        }
    };
}

codes! {
    /// The bytes do not begin like a message.
    NotAMessage = 100 BadInput "not an Isoform message";
    /// A message, or a description, is of a version that this reader does not know.
    Version = 101 BadInput "unknown version";
    /// A message or a description has a flag that a reader must know, and this one does not.
    Flags = 102 BadInput "unknown critical flags";
    /// The stream ends within a message.
    Cut = 103 BadInput "the stream ends within a message";
    /// A description breaks the encoding of `spec/format.md`.
    Description = 110 BadInput "malformed description";
    /// A description says in other bytes what has one canonical spelling.
    NotCanonical = 111 BadInput "description is not canonical";
    /// A format, or a field list that declares one, contradicts itself.
    Declaration = 112 BadInput "invalid declaration";
    /// A description, asked for or kept under a token, does not hash to it; or another description is known under its
    /// token.
    TokenMismatch = 113 BadInput "description and token disagree";
    /// The body is longer or shorter than its blocks.
    BodyLength = 120 BadInput "wrong body length";
    /// A pointer slot does not point at the one place where its block must be.
    Slot = 121 BadInput "pointer slot out of place";
    /// A null pointer stands for an array whose length is not zero.
    NullArray = 122 BadInput "null array with a length";
    /// An array's length is negative, or larger than its message.
    ArrayLength = 123 BadInput "impossible array length";
    /// A boolean that is neither 0 nor 1.
    Boolean = 124 BadInput "invalid boolean";
    /// An enumeration's number that has no symbol.
    Symbol = 125 BadInput "invalid enumeration value";
    /// A string without its terminating NUL.
    Unterminated = 126 BadInput "string without end";
    /// A string that is not UTF-8 where text is needed.
    Utf8 = 127 BadInput "not UTF-8";
    /// JSON or other text that is not a record of the format.
    Text = 130 BadInput "malformed text";
    /// What came over a link is no frame, or one that may not come here.
    Frame = 140 BadInput "malformed frame";
    /// A connection does not begin as a link does, or was given up before it was one.
    Handshake = 141 BadInput "not a link";

    /// A message is larger than this receiver accepts.
    MessageSize = 200 Limit "message too large";
    /// A description is larger than 64 KiB, or than this receiver accepts.
    DescriptionSize = 201 Limit "description too large";
    /// Structures are nested deeper than 32 levels, or than this receiver accepts.
    Depth = 202 Limit "nested too deeply";
    /// A format has more than 4,096 fields in all, or than this receiver accepts.
    Fields = 203 Limit "too many fields";
    /// A record, an array or an offset is larger than this machine or its format can address.
    Size = 204 Limit "too large to address";
    /// More links, members or subscriptions than this node allows.
    Peers = 205 Limit "too many peers";

    /// A field that the receiver marked as required is missing in what was sent.
    Required = 300 Mismatch "required field is missing";
    /// Two fields of one name cannot be converted into each other, or two records have no field in common.
    NoConversion = 301 Mismatch "no conversion";
    /// Two fields of one name are in different units.
    Unit = 302 Mismatch "different units";
    /// Two arrays of one name differ in rank or in an inner dimension.
    Shape = 303 Mismatch "different array shapes";
    /// A number does not fit its destination.
    Overflow = 310 Mismatch "overflow";
    /// A number other than zero becomes zero.
    Underflow = 311 Mismatch "underflow";
    /// A number would lose digits that its kind promises to keep.
    Inexact = 312 Mismatch "inexact";
    /// An enumeration's symbol is unknown to the receiver.
    UnknownSymbol = 313 Mismatch "unknown symbol";
    /// More elements came than the destination has room for.
    TooLong = 314 Mismatch "too many elements";
    /// Arrays that share one length field have different lengths.
    Lengths = 315 Mismatch "lengths disagree";
    /// A null pointer where the receiver has no way to hold one.
    Null = 316 Mismatch "unexpected null";

    /// No description is known for a token; [`Error::token`] carries it.
    UnknownFormat = 400 Unavailable "unknown format";
    /// The operating system refused to read or write.
    Io = 401 Unavailable "input/output";
    /// Nothing came within the time that was given.
    Deadline = 402 Unavailable "no answer in time";
    /// Nobody answers at an address, or the link with a node has ended.
    Unreachable = 403 Unavailable "cannot be reached";
    /// The node that was asked has no channel of that name or identity.
    NoSuchChannel = 404 Unavailable "no such channel";
    /// The channel, source, sink or node was closed.
    Closed = 405 Unavailable "closed";
    /// At the address is another node than the one that was meant.
    WrongNode = 406 Unavailable "another node";
    /// The two nodes have a link already, and it stands.
    Duplicate = 407 Unavailable "already linked";
    /// A channel's name, or an address to listen at, is in use already.
    Taken = 408 Unavailable "taken";

    /// No field, element or symbol of that name.
    NoSuchField = 500 Usage "no such field";
    /// A field was asked for as something that it is not.
    WrongType = 501 Usage "wrong type";
    /// A record in memory breaks the promise of its declaration.
    BadRecord = 502 Usage "record contradicts its format";
    /// A source on the command line that cannot be understood or is not supported.
    Source = 503 Usage "cannot open source";
    /// An address or a channel's id that cannot be understood.
    Address = 504 Usage "not an address";
    /// An address beyond this machine, where nothing would be encrypted, without the word that this is meant.
    Insecure = 505 Usage "not without encryption";

    /// A defect of Isoform.
    Internal = 900 Internal "internal error";
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// A failure: its [`Code`], the path of the field at fault, what was expected and what came.
///
/// ```
/// use isoform_core::{Class, Code, Error};
/// let error = Error::new(Code::Overflow).at("grid[3].rho").expected("integer of 2 bytes").came(70000);
/// assert_eq!(error.to_string(), "overflow at grid[3].rho: expected integer of 2 bytes, came 70000");
/// assert_eq!(error.class(), Class::Mismatch);
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Detail>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Detail {
    code: Code,
    path: String,
    expected: String,
    came: String,
    token: Option<Token>,
}

impl Error {
    /// A failure about which nothing but its code is known yet.
    #[cold]
    pub fn new(code: Code) -> Self {
        Error(Box::new(Detail { code, path: String::new(), expected: String::new(), came: String::new(), token: None }))
    }

    /// The failure to know the format of `token`.
    #[cold]
    pub fn unknown_format(token: Token) -> Self {
        let mut error = Error::new(Code::UnknownFormat).expected("a registered format").came(token);
        error.0.token = Some(token);
        error
    }

    /// The same failure, at the field of this path.
    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.0.path = path.into();
        self
    }

    /// The same failure, seen from the record or array `outer` that holds the field at fault.
    pub fn within(mut self, outer: &str) -> Self {
        let inner = std::mem::take(&mut self.0.path);
        let dot = if inner.is_empty() || inner.starts_with('[') || outer.is_empty() { "" } else { "." };
        self.0.path = format!("{outer}{dot}{inner}");
        self
    }

    /// The same failure, with what was expected: its first kilobyte, if that is longer.
    pub fn expected(mut self, expected: impl fmt::Display) -> Self {
        self.0.expected = brief(expected);
        self
    }

    /// The same failure, with what came instead: its first kilobyte, if that is longer.
    pub fn came(mut self, came: impl fmt::Display) -> Self {
        self.0.came = brief(came);
        self
    }

    /// What went wrong.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// Whose failure it is.
    pub fn class(&self) -> Class {
        self.0.code.class()
    }

    /// The field at fault, such as `grid[3].rho`; empty if no single field is.
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// What was expected there; may be empty.
    pub fn expectation(&self) -> &str {
        &self.0.expected
    }

    /// What came instead; may be empty.
    pub fn actual(&self) -> &str {
        &self.0.came
    }

    /// The token whose format is unknown, if that is the failure.
    pub fn token(&self) -> Option<Token> {
        self.0.token
    }
}

/// What came may be of any length; what is said about it is not, nor is more of it looked at.
fn brief(what: impl fmt::Display) -> String {
    let mut brief = Brief(String::new());
    if fmt::Write::write_fmt(&mut brief, format_args!("{what}")).is_err() {
        brief.0.push('…');
    }
    brief.0
}

/// Text of at most a kilobyte, which fails where more is written.
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
        let Detail { code, path, expected, came, .. } = &*self.0;
        write!(f, "{code}")?;
        if !path.is_empty() {
            write!(f, " at {path}")?;
        }
        match (expected.is_empty(), came.is_empty()) {
            (true, true) => Ok(()),
            (false, true) => write!(f, ": expected {expected}"),
            (true, false) => write!(f, ": {came}"),
            (false, false) => write!(f, ": expected {expected}, came {came}"),
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
        let error = Error::new(Code::Text).expected(&long).came(format_args!("{long:?}, {long:?}"));
        assert_eq!(error.expectation(), format!("{}…", "ü".repeat(512)));
        assert_eq!(error.actual(), format!("\"{}…", "ü".repeat(511)));
        assert_eq!(Error::new(Code::Text).came(&long[..1024]).actual(), &long[..1024]);
    }
}
