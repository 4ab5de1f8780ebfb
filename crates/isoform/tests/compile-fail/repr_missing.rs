use isoform::Record;

#[derive(Record)]
struct Point {
    x: f64,
    y: f64,
}

fn main() {}
