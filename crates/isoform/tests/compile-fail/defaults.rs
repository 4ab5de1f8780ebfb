use isoform::{Record, Slice};

#[derive(Record)]
#[repr(C)]
struct Inner {
    a: u32,
}

#[derive(Record)]
#[repr(C)]
struct Wrong<'a> {
    #[isoform(default = "1")]
    text: u32,
    #[isoform(default = 1)]
    float: f64,
    #[isoform(default = 0)]
    inner: Inner,
    #[isoform(default = 0)]
    slice: Slice<'a, f64>,
}

fn main() {}
