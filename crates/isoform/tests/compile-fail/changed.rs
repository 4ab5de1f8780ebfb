// What the derive reads of a struct must be what the struct becomes, whatever other macros do to it meanwhile.
use isoform::derive::Placed;

struct Changed {
    flag: bool,
    text: &'static str,
    array: [u32; 3],
    boxed: Box<u64>,
}

const _: [Placed; 4] = [
    Placed::of::<Changed, u8>("flag", 0, |record| &raw const record.flag),
    Placed::of::<Changed, u64>("text", 0, |record| &raw const record.text),
    Placed::of::<Changed, [u32; 2]>("array", 0, |record| &raw const record.array),
    Placed::of::<Changed, u64>("boxed", 0, |record| &raw const record.boxed),
];

fn main() {}
