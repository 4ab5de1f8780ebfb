use isoform::{Enumeration, Record};

#[derive(Record)]
#[repr(C)]
union Either {
    a: u32,
    b: f32,
}

#[derive(Record)]
#[repr(C)]
struct Pair(f64, f64);

#[derive(Record)]
#[repr(C)]
struct Nothing;

#[derive(Record)]
#[repr(C)]
struct Empty {}

#[derive(Record)]
#[repr(i32)]
enum Phase {
    Solid,
}

#[derive(Record)]
#[repr(C)]
struct Generic<T> {
    value: T,
}

#[derive(Record)]
#[repr(C)]
struct Sized<const N: usize> {
    values: [f64; N],
}

#[derive(Record)]
#[repr(C)]
struct Two<'a, 'b> {
    a: isoform::Str<'a>,
    b: isoform::Str<'b>,
}

#[derive(Record)]
struct Borrowing<'a> {
    a: isoform::Str<'a>,
    b: String,
}

#[derive(Enumeration)]
#[repr(C)]
struct Struct {
    a: u32,
}

fn main() {}
