// A macro or type of the user's that is named like one of the library's does not get around its checks.
use isoform::{Enumeration, Record};

macro_rules! assert {
    ($($anything:tt)*) => {};
}

#[derive(Record)]
#[repr(C, align(128))]
struct Large {
    a: u32,
}

#[derive(Record)]
#[repr(C)]
struct Dropped {
    a: u32,
}

impl Drop for Dropped {
    fn drop(&mut self) {
        assert!(false);
    }
}

// Seven bytes of it would be padding.
#[derive(Enumeration)]
#[repr(u8, align(8))]
enum Aligned {
    A = 1,
}

fn main() {}
