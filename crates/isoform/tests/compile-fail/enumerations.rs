use isoform::Enumeration;

#[derive(Enumeration)]
enum NoInteger {
    A,
}

#[derive(Enumeration)]
#[repr(u128)]
enum TooWide {
    A,
}

#[derive(Enumeration)]
#[repr(u8)]
enum WithData {
    A,
    B(u32),
}

#[derive(Enumeration)]
#[repr(u8)]
enum Twice {
    A,
    #[isoform(rename = "A")]
    B,
}

#[derive(Enumeration)]
#[repr(u8)]
enum Attribute {
    #[isoform(alias = "a")]
    A,
}

fn main() {}
