use isoform::Record;

#[derive(Record)]
#[repr(C)]
struct Wrong<'a> {
    text: &'a str,
    values: &'a [f64],
    one: &'a f64,
    raw: *const f64,
    pair: (f64, f64),
    letter: char,
    letters: [char; 3],
}

#[derive(Record)]
#[repr(C)]
struct Mixed {
    id: u64,
    name: String,
}

#[derive(Record)]
struct Optional {
    name: Option<String>,
    level: Option<f64>,
}

fn main() {}
