//! `#[derive(Record)]`, `#[derive(Enumeration)]` and `#[derive(Kinds)]`: formats from Rust declarations.
//!
//! `attributes` reads the attributes, `record` decides what kind of record a struct is, `plain` and `owned` write the
//! code for either kind, `enumeration` that for enumerations, and `kinds` that for kinds of records. The generated code is mostly lists of fields. The
//! crate `isoform` does the work, in its hidden module `derive`.

mod attributes;
mod enumeration;
mod kinds;
mod owned;
mod plain;
mod record;

use proc_macro::TokenStream;

/// Makes a struct a record, which can be sent and received.
///
/// A struct with `#[repr(C)]` is sent as it is in memory, and received in place. Its fields can be
///
/// - integers, `f32`, `f64`, `bool`, and `Char`, `F16`, `Bf16`, `F128`, `X87`, `DoubleDouble`,
///   `Complex<T>` of this crate;
/// - enumerations that derive `Enumeration`, and other `#[repr(C)]` records;
/// - fixed arrays `[T; N]` of all these, of any number of dimensions;
/// - with a lifetime, strings `Str<'a>`, arrays `Slice<'a, T>` and `Array<'a, T, N>`, and `Ref<'a, T>`.
///
/// Without `#[repr(C)]`, a struct may own `String`, `Option<String>`, `CString`, `Vec<T>` and `Option<Box<T>>`, besides
/// numbers, enumerations, and records that borrow nothing. It is converted from and to a hidden `#[repr(C)]` twin. If
/// the types of its fields do not show that it owns something, write `#[isoform(owned)]`.
///
/// # Attributes
///
/// On a field:
///
/// | attribute | meaning |
/// |---|---|
/// | `rename = "temp"` | the name of the field in the format |
/// | `unit = "K"` | its unit of measurement, which sender and receiver must agree on |
/// | `alias = "temperature"` | another name under which it is received; may be repeated; `"pos.x"` reaches into a nested record; `"."`, for a nested record, takes its fields from those of the sender's outer record |
/// | `default = 293.15` | its value if the sender has no such field |
/// | `default` | it is zero, null or empty if the sender has no such field |
/// | `required` | messages of senders without such a field are refused, also if the decoder makes missing fields zero |
/// | `len = "n"` | the name of the length of a `Slice` or `Vec`, instead of `points_len` |
/// | `len("nx", "ny")` | the same for an `Array`, instead of `grid_dim0`, `grid_dim1` |
///
/// A field without `default` must come too: messages of senders without it are refused, unless it is an `Option` or a
/// `Ref`, which become none, or the decoder makes missing fields zero.
///
/// On the struct: `rename = "Name"`, `owned`.
///
/// ```
/// use isoform::{Record, Slice, Str};
///
/// #[derive(Record)]
/// #[repr(C)]
/// struct Point {
///     x: f64,
///     y: f64,
/// }
///
/// #[derive(Record)]
/// #[repr(C)]
/// struct Track<'a> {
///     id: u64,
///     name: Str<'a>,
///     points: Slice<'a, Point>,
///     #[isoform(rename = "temp", unit = "K", alias = "temperature", default = 293.15)]
///     t: f32,
///     #[isoform(required)]
///     step: i32,
/// }
///
/// #[derive(Record)]
/// struct Owned {
///     name: String,
///     samples: Vec<f64>,
///     points: Vec<Point>,
///     tags: Vec<String>,
/// }
/// # let names = |structure: &isoform::core::Structure| -> Vec<String> {
/// #     structure.fields().iter().map(|field| field.name.to_string()).collect()
/// # };
/// # assert_eq!(names(Track::format().structure()), ["id", "name", "points", "points_len", "temp", "step"]);
/// # assert_eq!(names(Owned::format().structure())[3], "points");
/// ```
#[proc_macro_derive(Record, attributes(isoform))]
pub fn record(input: TokenStream) -> TokenStream {
    finish(syn::parse(input).and_then(|input| record::expand(&input)))
}

/// Makes an enumeration a type for fields of records. Receivers match its variants by name.
///
/// It must have no data, and state its integer, such as `#[repr(i32)]`. A variant has its name in Rust, unless
/// `#[isoform(rename = "name")]` sets another.
///
/// ```
/// use isoform::Enumeration;
///
/// #[derive(Enumeration, Clone, Copy)]
/// #[repr(i32)]
/// enum Phase {
///     Solid = 0,
///     Liquid = 1,
/// }
/// ```
#[proc_macro_derive(Enumeration, attributes(isoform))]
pub fn enumeration(input: TokenStream) -> TokenStream {
    finish(syn::parse(input).and_then(|input| enumeration::expand(&input)))
}

/// Makes an enumeration the kinds of records that a receiver takes. A `KindDecoder`, or a sink of kinds, returns each
/// record as the variant that fits.
///
/// A variant holds one record: `River(River)`, which owns its parts, or `River(&'m River)`, which is borrowed as by
/// `Decoder::decode`. The name of the record's format counts, not that of the variant.
///
/// One variant may be `#[isoform(other)]`, for messages that fit no kind. It holds the message, as `Incoming<'m>`, or
/// anything else that is `From<Incoming<'_>>`; or nothing, for programs that count them. Without such a variant, these
/// messages are errors.
///
/// ```
/// use isoform::{Incoming, Kinds, Record};
///
/// #[derive(Record)]
/// #[repr(C)]
/// struct River {
///     time: i64,
///     depth: f64,
/// }
///
/// #[derive(Record)]
/// struct Alarm {
///     time: i64,
///     text: String,
/// }
///
/// #[derive(Kinds)]
/// enum Seen<'m> {
///     River(&'m River),
///     Alarm(Alarm),
///     #[isoform(other)]
///     Other(Incoming<'m>),
/// }
/// ```
#[proc_macro_derive(Kinds, attributes(isoform))]
pub fn kinds(input: TokenStream) -> TokenStream {
    finish(syn::parse(input).and_then(|input| kinds::expand(&input)))
}

fn finish(result: syn::Result<proc_macro2::TokenStream>) -> TokenStream {
    result.unwrap_or_else(|error| error.to_compile_error()).into()
}
