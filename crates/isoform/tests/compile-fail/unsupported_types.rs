use isoform::{Record, Slice};

struct Stranger(u32);

#[derive(Record)]
#[repr(C)]
struct Plain<'a> {
    good: f64,
    stranger: Stranger,
    array: [Stranger; 3],
    slice: Slice<'a, Stranger>,
}

fn main() {}
