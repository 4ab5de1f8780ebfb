use isoform::{Decoder, Incoming, Record, Ref, Str};
use std::cell::Cell;

#[derive(Record)]
#[repr(C)]
struct Node<'a> {
    next: Ref<'a, Node<'a>>,
}

#[derive(Record)]
#[repr(C)]
struct Mutable {
    a: Cell<u32>,
}

#[derive(Record)]
#[repr(C)]
struct Dropped {
    a: u32,
}

impl Drop for Dropped {
    fn drop(&mut self) {}
}

#[derive(Record)]
#[repr(C, align(128))]
struct Large {
    a: u32,
}

#[derive(Record)]
#[repr(C)]
struct NoElements {
    a: [u32; 0],
}

#[derive(Record)]
#[repr(C)]
struct Track<'a> {
    name: Str<'a>,
}

fn into_a_record_with_pointers(decoder: &mut Decoder<Track<'static>>, message: &Incoming, track: &mut Track<'static>) {
    decoder.decode_into(message, track).unwrap();
}

fn owning_a_record_that_borrows(decoder: &mut Decoder<Track<'static>>, message: &Incoming) {
    decoder.decode_owned(message).unwrap();
}

fn main() {}
