use isoform::{Incoming, Kinds, Record};

#[derive(Record)]
#[repr(C)]
struct River {
    depth: f64,
}

#[derive(Kinds)]
struct NoEnumeration {
    river: River,
}

#[derive(Kinds)]
enum NoKind<'m> {
    #[isoform(other)]
    Other(Incoming<'m>),
}

#[derive(Kinds)]
enum TwoFields {
    River(River, River),
}

#[derive(Kinds)]
enum Unit {
    River,
}

#[derive(Kinds)]
enum TwoOthers {
    River(River),
    #[isoform(other)]
    One,
    #[isoform(other)]
    Two,
}

#[derive(Kinds)]
enum Attribute {
    #[isoform(rename = "Elbe")]
    River(River),
}

#[derive(Kinds)]
enum Generic<T> {
    River(T),
}

fn main() {}
