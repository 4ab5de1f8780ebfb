use isoform::Record;
use std::collections::HashMap;

#[derive(Record)]
struct Owning {
    name: String,
    table: HashMap<u32, u32>,
}

fn main() {}
