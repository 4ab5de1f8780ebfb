// Records that a document declares.

#[derive(Clone, Debug, PartialEq, isoform::Record)]
#[isoform(owned)]
#[allow(non_camel_case_types, non_snake_case)]
pub struct Part {
    pub x: f64,
    pub note: Option<String>,
}

/// The values of kind in type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, isoform::Enumeration)]
#[repr(i32)]
#[allow(non_camel_case_types, clippy::upper_case_acronyms)]
pub enum typeKind {
    #[isoform(rename = "self")]
    self_ = 0,
    a_b = 1,
}

/// A record */ with "prose".
#[derive(Clone, Debug, PartialEq, isoform::Record)]
#[isoform(owned, rename = "type")]
#[allow(non_camel_case_types, non_snake_case)]
pub struct type_ {
    #[isoform(rename = "match")]
    pub match_: String,
    #[isoform(unit = "m", default = 0.5)]
    pub level: f64,
    #[isoform(default = 7)]
    pub count: u8,
    #[isoform(default = "none")]
    pub name: String,
    #[isoform(default = true)]
    pub on: bool,
    #[isoform(default = typeKind::a_b)]
    pub kind: typeKind,
    #[isoform(unit = "ns since 1970-01-01T00:00:00Z")]
    pub at: i64,
    pub raw: Vec<u8>,
    pub maybe: Option<Box<i32>>,
    pub part: Option<Box<Part>>,
    pub parts: Vec<Part>,
    pub tags: [String; 2],
}

// The lengths of arrays have 8 bytes in the document, and those of a machine in Rust.
const _: () = assert!(size_of::<usize>() == 8);
