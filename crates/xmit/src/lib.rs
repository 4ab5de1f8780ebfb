//! XMIT: formats from documents that are found at run time (paper 003; `spec/xmit.md`).
//!
//! A document, such as one in XML Schema or IDL, declares records. It becomes [`Declarations`]; one of these is bound to the layout of a kind
//! of machine, and the result is a format like any other: the same token, the same plans, the same speed as that of a struct with the
//! same fields.
//!
//! This crate reads documents. What it leaves to others: encoding and decoding (`isoform`), and what it means that a format is known
//! (`isoform_core::Registry`).

mod back;
pub mod declaration;
mod documents;
#[cfg(feature = "fetch")]
mod fetch;
mod front;
mod known;
mod left_out;
mod lexical;
mod markup;
mod overlay;
#[cfg(feature = "program")]
mod program;
mod ranking;
mod scope;
mod text;

pub use back::Target;
pub use declaration::{Declaration, Declarations};
pub use documents::{Alone, Loader, MAX_BYTES, MAX_DOCUMENTS};
#[cfg(feature = "fetch")]
pub use fetch::{Fetcher, Watch, WatchedRecord, Watching};
pub use front::Language;
pub use known::Known;
pub use left_out::LeftOut;
pub use markup::{Lexical, Mark, Markup, Name, Origin};
pub use overlay::Overlay;
#[cfg(feature = "program")]
pub use program::Program;
pub use ranking::{Bytes, Cost, Ranked, Ranking, rank};
pub use text::{Hydration, Records, Texts, Tree};

#[cfg(doctest)]
#[doc = include_str!("../../../docs/book/guides/xmit.md")]
struct Guide;
