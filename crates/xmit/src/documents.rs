//! The texts that one document needs: itself, and those that it includes and imports, each loaded once.

use crate::left_out::{LeftOut, List};
use isoform_core::{Code, Error, Result};

/// Bytes of all documents together.
pub const MAX_BYTES: usize = 16 << 20;
/// Documents that one document may need, with itself.
pub const MAX_DOCUMENTS: usize = 64;

/// Gives the documents that others include and import. A function that does so is one, too.
///
/// ```
/// use isoform_xmit::{Declarations, Loader};
/// # use isoform_core::{Code, Error, Result};
/// struct Memory;
/// impl Loader for Memory {
///     fn locate(&mut self, base: &str, location: &str) -> Result<String> {
///         Ok(location.to_owned())
///     }
///     fn load(&mut self, name: &str) -> Result<String> {
///         match name {
///             "units.xsd" => Ok(r#"<schema xmlns="http://www.w3.org/2001/XMLSchema">
///                 <simpleType name="Depth"><restriction base="double"/></simpleType></schema>"#.into()),
///             _ => Err(Error::new(Code::Source).found(name)),
///         }
///     }
/// }
/// let text = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
///     <xs:include schemaLocation="units.xsd"/>
///     <xs:complexType name="Gauge"><xs:sequence><xs:element name="depth" type="Depth"/></xs:sequence></xs:complexType>
/// </xs:schema>"#;
/// let declarations = Declarations::from_xsd("gauge.xsd", text, &mut Memory)?;
/// assert_eq!(declarations.shape("Gauge")?.to_string(), "record Gauge\n  depth  f64\n");
/// # Ok::<(), isoform_core::Error>(())
/// ```
pub trait Loader {
    /// The full name of the document that `location` means within the document `base`. Equal names are one document.
    ///
    /// # Errors
    /// Those of the loader, such as for places that it does not allow.
    fn locate(&mut self, base: &str, location: &str) -> Result<String>;

    /// The text of the document with that full name.
    ///
    /// # Errors
    /// Those of the loader.
    fn load(&mut self, name: &str) -> Result<String>;
}

/// A loader for documents that need no others: it refuses all.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Loader for Alone {
    fn locate(&mut self, base: &str, location: &str) -> Result<String> {
        let error = Error::new(Code::Source).at(base).expected("a document that needs no others");
        Err(error.found(location))
    }

    fn load(&mut self, name: &str) -> Result<String> {
        Err(Error::new(Code::Source).found(name))
    }
}

struct Loaded {
    name: String,
    text: String,
    /// How many lines end before each piece of [`PIECE`] bytes: a document with many faults is not counted from its start for each.
    lines: Vec<u32>,
}

/// Bytes between places whose lines are known.
const PIECE: usize = 4096;

/// Documents with their names and texts.
pub(crate) struct Documents<'l> {
    loaded: Vec<Loaded>,
    loader: &'l mut dyn Loader,
    bytes: usize,
    left_out: List,
}

impl<'l> Documents<'l> {
    /// Begins with a document.
    pub(crate) fn new(name: &str, text: &str, loader: &'l mut dyn Loader) -> Result<Documents<'l>> {
        let mut documents = Documents { loaded: Vec::new(), loader, bytes: 0, left_out: List::default() };
        documents.add(name.to_owned(), text.to_owned())?;
        Ok(documents)
    }

    /// Loads the document that one of them means by a location, and returns its number; `None` if it was loaded before.
    pub(crate) fn load(&mut self, base: usize, location: &str) -> Result<Option<usize>> {
        let name = self.loader.locate(&self.loaded[base].name, location)?;
        if self.loaded.iter().any(|known| known.name == name) {
            return Ok(None);
        }
        let text = self.loader.load(&name)?;
        self.add(name, text)?;
        Ok(Some(self.loaded.len() - 1))
    }

    /// The full name of the document that one of them means by a location.
    pub(crate) fn locate(&mut self, base: usize, location: &str) -> Result<String> {
        self.loader.locate(&self.loaded[base].name, location)
    }

    /// The names and texts of the documents that the first one needed.
    pub(crate) fn needed(&self) -> impl Iterator<Item = (&str, &str)> {
        self.loaded.iter().skip(1).map(|known| (&*known.name, &*known.text))
    }

    fn add(&mut self, name: String, text: String) -> Result<()> {
        self.bytes = self.bytes.saturating_add(text.len());
        if self.loaded.len() == MAX_DOCUMENTS || self.bytes > MAX_BYTES {
            let error = Error::new(Code::MessageSize).at(name);
            return Err(
                error.expected(format_args!("at most {MAX_DOCUMENTS} documents with {MAX_BYTES} bytes together"))
            );
        }
        let mut count = 0;
        let lines = text.as_bytes().chunks(PIECE).map(|piece| {
            let before = count;
            count += newlines(piece);
            before
        });
        let lines = lines.collect();
        self.loaded.push(Loaded { name, text, lines });
        Ok(())
    }

    /// Notes what is no record, in a line of a document: what it is, and why it is left out.
    pub(crate) fn leave_out(&mut self, number: usize, line: u32, what: &str, reason: &str, is_refused: bool) {
        let place = format!("{}:{line}", self.loaded[number].name);
        self.left_out.add(what, place, reason, is_refused);
    }

    /// Takes what the reader of the only document has noted.
    pub(crate) fn leave_out_all(&mut self, left_out: List) {
        self.left_out = left_out;
    }

    /// What has been noted.
    pub(crate) fn take_left_out(&mut self) -> Vec<LeftOut> {
        std::mem::take(&mut self.left_out).into_entries()
    }

    pub(crate) fn faults(&self, number: usize) -> Faults<'_> {
        let Loaded { name, text, lines } = &self.loaded[number];
        Faults { name, text, lines }
    }
}

fn newlines(bytes: &[u8]) -> u32 {
    bytes.iter().filter(|&&byte| byte == b'\n').count() as u32
}

/// Where errors in one document come from.
#[derive(Clone, Copy)]
pub(crate) struct Faults<'d> {
    pub(crate) name: &'d str,
    pub(crate) text: &'d str,
    lines: &'d [u32],
}

impl<'d> Faults<'d> {
    /// Errors in a text of this name, of which the first one ends the reading.
    pub(crate) fn new(name: &'d str, text: &'d str) -> Faults<'d> {
        Faults { name, text, lines: &[] }
    }

    /// An error at the line of this byte.
    pub(crate) fn at(&self, code: Code, start: usize) -> Error {
        self.in_line(code, self.line(start))
    }

    /// The line of this byte.
    pub(crate) fn line(&self, start: usize) -> u32 {
        let bytes = &self.text.as_bytes()[..start.min(self.text.len())];
        let known = self.lines.get(bytes.len() / PIECE).map(|&lines| (lines, bytes.len() / PIECE * PIECE));
        let (before, from) = known.unwrap_or_default();
        1 + before + newlines(&bytes[from..])
    }

    /// An error at a line.
    pub(crate) fn in_line(&self, code: Code, line: u32) -> Error {
        Error::new(code).at(format!("{}:{line}", self.name))
    }
}
