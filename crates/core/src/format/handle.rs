//! Formats for programs: a structure with its description, its token, and the checks of a verifier.
//!
//! Descriptions from outside become formats in [`admitted`](super::admitted).

use super::checks::Checks;
use super::description::Description;
use super::machine::Machine;
use super::structure::Structure;
#[cfg(doc)]
use crate::error::Code;
use crate::error::Result;
use crate::text::Shown;
use crate::token::Token;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// A record's name and fields as laid out on one kind of machine. Cheap to clone, and compared by token.
///
/// ```
/// use isoform_core::{FieldList, Machine, ByteOrder, Format};
/// // struct small_record { int ivalue; double dvalue; int iarray[5]; }, as a 64-bit SPARC lays it out (paper 000, fig 1)
/// let sparc = Machine { order: ByteOrder::Big, pointer: 8 };
/// let format = FieldList::new("small_record")
///     .field("ivalue", "integer", 4, 0)
///     .field("dvalue", "float", 8, 8)
///     .field("iarray", "integer[5]", 4, 16)
///     .format(sparc, 40, 8)?;
/// assert_eq!(format.size(), 40);
/// assert_eq!(Format::parse(format.description().as_bytes())?, format);
/// # Ok::<(), isoform_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Format(Arc<Inner>);

struct Inner {
    root: Arc<Structure>,
    description: Description,
    token: Token,
    /// The list of checks for a verifier, made when it is first needed.
    checks: OnceLock<Checks>,
}

impl Format {
    /// The format of a record whose structure is `root`.
    ///
    /// # Errors
    /// [`Code::Depth`], [`Code::Fields`] or [`Code::DescriptionSize`] if a limit of `spec/format.md` is passed;
    /// [`Code::Declaration`] if two different nested structures have one name.
    pub fn new(root: Arc<Structure>) -> Result<Format> {
        let description = Description::of(&root)?;
        let token = Token::of(description.as_bytes());
        Ok(Format::described(root, description, token))
    }

    /// The format of a structure, with its description and its token. All three must belong together.
    pub(super) fn described(root: Arc<Structure>, description: Description, token: Token) -> Format {
        Format(Arc::new(Inner { root, description, token, checks: OnceLock::new() }))
    }

    /// The name of the record.
    pub fn name(&self) -> &str {
        self.0.root.name()
    }

    /// The record's structure: its fields, with those of nested records within.
    pub fn structure(&self) -> &Arc<Structure> {
        &self.0.root
    }

    /// Byte order and pointer size.
    pub fn machine(&self) -> Machine {
        self.0.root.machine()
    }

    /// Bytes of the record itself, without what its pointers point at.
    #[inline]
    pub fn size(&self) -> usize {
        self.0.root.size()
    }

    /// The canonical bytes of this format.
    pub fn description(&self) -> &Description {
        &self.0.description
    }

    /// The name of this format on the wire.
    #[inline]
    pub fn token(&self) -> Token {
        self.0.token
    }

    /// The checks for its bodies.
    pub(crate) fn checks(&self) -> &Checks {
        self.0.checks.get_or_init(|| Checks::of(self.structure()))
    }
}

impl PartialEq for Format {
    #[inline]
    fn eq(&self, other: &Format) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.token == other.0.token
    }
}

impl Eq for Format {}

impl std::hash::Hash for Format {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.token.hash(state);
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Format({} {})", Shown(self.name()), self.token())
    }
}
