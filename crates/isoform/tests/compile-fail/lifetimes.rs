use isoform::{Decoder, Encoder, Incoming, Record, Registry, Str};

// What is received lives as long as the message, not for ever.
#[derive(Record)]
#[repr(C)]
struct Forever {
    name: Str<'static>,
}

type Hidden = Str<'static>;

#[derive(Record)]
#[repr(C)]
struct Mixed<'a> {
    name: Str<'a>,
    other: Hidden,
}

#[derive(Record)]
#[repr(C)]
struct Track<'a> {
    name: Str<'a>,
}

fn record_outlives_message(bytes: Vec<u8>, registry: &mut Registry) -> Str<'static> {
    let mut decoder = Decoder::<Track>::new();
    let message = Incoming::parse(&bytes, registry).unwrap();
    decoder.decode(&message).unwrap().name
}

fn record_outlives_next_message(decoder: &mut Decoder<Track<'static>>, message: &Incoming<'static>) {
    let first = decoder.decode(message).unwrap();
    decoder.decode(message).unwrap();
    println!("{:?}", first.name);
}

fn message_outlives_record() {
    let mut encoder = Encoder::new();
    let message = {
        let name = c"short".to_owned();
        let track = Track { name: Str::new(&name) };
        encoder.encode(&track).unwrap()
    };
    println!("{message:?}");
}

fn kept_body_borrows() {
    let name = c"short".to_owned();
    let track = Track { name: Str::new(&name) };
    Encoder::new().encode_shared(std::sync::Arc::new(track)).unwrap();
}

fn bytes_outlive_kept_body() {
    let piece = {
        let track = Track { name: Str::new(c"static") };
        let shared = Encoder::new().encode_shared(std::sync::Arc::new(track)).unwrap();
        shared.contiguous().unwrap()
    };
    println!("{piece:?}");
}

fn main() {}
