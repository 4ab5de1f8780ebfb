// Records that a document declares.

#[derive(Clone, Debug, PartialEq, isoform::Record)]
#[repr(C)]
#[allow(non_camel_case_types, non_snake_case)]
pub struct Place {
    pub x: f64,
    pub y: f64,
}

/// The values of colour in Track.
#[derive(Clone, Copy, Debug, PartialEq, Eq, isoform::Enumeration)]
#[repr(i32)]
#[allow(non_camel_case_types, clippy::upper_case_acronyms)]
pub enum TrackColour {
    RED = 0,
    GREEN = 1,
}

#[derive(Clone, Debug, PartialEq, isoform::Record)]
#[isoform(owned)]
#[allow(non_camel_case_types, non_snake_case)]
pub struct Track {
    pub on: bool,
    pub small: u8,
    pub tiny: i8,
    pub s: i16,
    pub us: u16,
    pub l: i32,
    pub ul: u32,
    pub ll: i64,
    pub ull: u64,
    pub f: f32,
    #[isoform(unit = "m/s")]
    pub d: f64,
    pub c: isoform::Char,
    pub name: String,
    pub colour: TrackColour,
    pub at: Place,
    pub ends: [Place; 2],
    pub grid: [[f32; 4]; 3],
    pub samples: Vec<f32>,
    pub path: Vec<Place>,
    pub maybe: Option<Box<f64>>,
    pub other: Option<Box<Place>>,
}

// The lengths of arrays have 8 bytes in the document, and those of a machine in Rust.
const _: () = assert!(size_of::<usize>() == 8);
