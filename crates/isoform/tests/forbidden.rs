//! The derives work where `unsafe` is forbidden and everything else is warned of, and with paths written in full.
#![forbid(unsafe_code)]
#![deny(warnings, missing_docs, unreachable_pub, unused_qualifications)]

/// A module of another name than the crate's items have.
pub mod records {
    /// An enumeration.
    #[derive(isoform::Enumeration, Clone, Copy, Debug, PartialEq)]
    #[repr(i8)]
    pub enum Level {
        /// Not high.
        Low = -1,
        /// Not low.
        High = 1,
    }

    /// Borrowed parts.
    #[derive(isoform::Record, Debug, PartialEq)]
    #[repr(C)]
    pub struct Borrowed<'a> {
        /// A name.
        pub name: isoform::Str<'a>,
        /// Levels.
        pub levels: isoform::Slice<'a, Level>,
    }

    /// Owned parts.
    #[derive(isoform::Record, Debug, PartialEq)]
    pub struct Owned {
        /// A name.
        pub name: String,
        /// Levels.
        pub levels: Vec<Level>,
        level: Level,
    }

    impl Owned {
        /// A new one.
        pub fn new(name: &str, level: Level) -> Owned {
            Owned { name: name.into(), levels: vec![level; 3], level }
        }
    }

    /// Without the gaps that C would leave, and with more than C would.
    #[derive(isoform::Record, Clone, Copy, Debug, PartialEq)]
    #[repr(C, packed)]
    pub struct Packed {
        /// A byte.
        pub a: u8,
        /// At an odd address.
        pub b: f64,
        /// And another.
        pub c: Stretched,
    }

    /// Aligned more than its fields.
    #[derive(isoform::Record, Clone, Copy, Debug, PartialEq)]
    #[repr(C, packed(2))]
    pub struct Stretched {
        /// A number.
        pub d: u32,
    }

    /// Aligned more than any number.
    #[derive(isoform::Record, Clone, Copy, Debug, PartialEq)]
    #[repr(C, align(32))]
    pub struct Aligned {
        /// A byte.
        pub a: u8,
    }
}

use isoform::{Decoder, Encoder, Incoming, Record, Slice, Str, message::Header};
use records::{Aligned, Borrowed, Level, Owned, Packed, Stretched};

fn body<R: Record>(record: &R) -> Vec<u8> {
    Encoder::<R::Static>::new().encode(record).unwrap().to_vec().split_off(32)
}

#[test]
fn records_go_both_ways() {
    let levels = [Level::High, Level::Low];
    let borrowed = Borrowed { name: Str::new(c"b"), levels: Slice::from(&levels) };
    let mut encoder = Encoder::new();
    let message = encoder.encode(&borrowed).unwrap().to_vec();
    let incoming = Incoming::new(Header::new(Borrowed::format().token(), 0), Borrowed::format(), &message[32..]);
    assert_eq!(Decoder::<Borrowed>::new().decode(&incoming).unwrap(), &borrowed);

    let owned = Owned::new("o", Level::Low);
    let body_of_owned = body(&owned);
    let incoming = Incoming::new(Header::new(Owned::format().token(), 0), Owned::format(), &body_of_owned);
    assert_eq!(Decoder::<Owned>::new().decode_owned(&incoming).unwrap(), owned);

    let packed = Packed { a: 1, b: 2.0, c: Stretched { d: 3 } };
    let body_of_packed = body(&packed);
    assert_eq!(body_of_packed.len(), 13);
    let incoming = Incoming::new(Header::new(Packed::format().token(), 0), Packed::format(), &body_of_packed);
    assert_eq!(Decoder::<Packed>::new().decode(&incoming).unwrap(), &packed);

    let body_of_aligned = body(&Aligned { a: 7 });
    assert_eq!((body_of_aligned.len(), body_of_aligned[0], body_of_aligned[31]), (32, 7, 0));
    let incoming = Incoming::new(Header::new(Aligned::format().token(), 0), Aligned::format(), &body_of_aligned);
    assert_eq!(Decoder::<Aligned>::new().decode(&incoming).unwrap(), &Aligned { a: 7 });
}
