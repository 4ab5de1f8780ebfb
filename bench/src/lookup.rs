//! Also of the group `receive`: what it costs that many formats are known, and that messages of several take turns.
//!
//! All lines have the same messages, of 104 bytes each, visited in the same random order; they differ in the tokens that
//! these carry. `envelope_ns` is for header, limits and look-up, `ns` for all that it takes to have a record. Of random
//! tokens, the envelope is that of a thousand; a decoder keeps plans for no more than 64, and is sent those.

use crate::measure::{Contestant, Times, measure};
use crate::place::{Memory, Place};
use crate::records::K01;
use crate::{Line, Options, Result, fill};
use isoform::core::Structure;
use isoform::message::HEADER;
use isoform::{Decoder, Format, Incoming, Record, Registry, message::Header};
use std::hint::black_box;

/// So many messages lie in memory, at multiples of [`STRIDE`].
const MESSAGES: usize = 1_000;
const STRIDE: usize = 144;
/// So many formats a decoder keeps plans for.
const PLANNED: usize = 64;

/// Measures them.
///
/// # Errors
/// If a record is wrong, or `line` fails.
pub fn run(options: &Options, line: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
    for (known, token, sent) in [(1, "repeated", 1), (MESSAGES, "repeated", 1), (MESSAGES, "random", MESSAGES)] {
        let formats = (0..known).map(named).collect::<Result<Vec<Format>>>()?;
        let envelope = Receiver::new(&formats, sent)?.measure(Receiver::envelopes, options);
        let record = Receiver::new(&formats, sent.min(PLANNED))?.measure(Receiver::records, options);
        let result = Line::new("receive", "K01").word("case", "same").count("known", known).word("token", token);
        line(result.figure("ns", record.median()).figure("envelope_ns", envelope.median()).word("engine", "none"))?;
    }
    Ok(())
}

/// The format of the record under another name.
fn named(index: usize) -> Result<Format> {
    let own = K01::format().structure();
    let (name, fields) = (format!("Material{index}"), own.fields().to_vec());
    Ok(Format::new(Structure::new(name, own.machine(), own.size(), own.align(), fields)?.into())?)
}

struct Receiver {
    registry: Registry,
    decoder: Decoder<K01>,
    messages: Vec<u8>,
    order: Vec<usize>,
}

impl Receiver {
    /// A receiver that knows these formats, and messages of the first `sent` of them.
    fn new(formats: &[Format], sent: usize) -> Result<Receiver> {
        let body = fill::body(K01::format(), 0);
        let mut messages = vec![0; MESSAGES * STRIDE];
        for (place, format) in messages.chunks_mut(STRIDE).zip(formats[..sent].iter().cycle()) {
            place[..HEADER].copy_from_slice(&Header::new(format.token(), body.len() as u64).to_bytes());
            place[HEADER..][..body.len()].copy_from_slice(&body);
        }
        let registry = Registry::new();
        formats.iter().try_for_each(|format| registry.register(format))?;
        // Multiples of a number that has no factor in common with theirs are all of them, without a pattern.
        let order = (0..MESSAGES).map(|i| i * 617 % MESSAGES * STRIDE).collect();
        let mut receiver = Receiver { registry, decoder: Decoder::new(), messages, order };
        let came = Incoming::parse(&receiver.messages, &mut receiver.registry)?.body();
        match came == body {
            true => Ok(receiver),
            false => Err("the message is wrong".into()),
        }
    }

    fn measure(mut self, visit: fn(&mut Receiver, usize), options: &Options) -> Times {
        let contestant: Contestant<'_> = Box::new(move |_, runs| visit(&mut self, runs));
        let mut memory = Memory::new(0, STRIDE, &[], false);
        let mut places: [Place<'_>; 1] = [memory.place()];
        measure(&mut [contestant], &mut places, &options.effort).pop().unwrap_or_default()
    }

    fn envelopes(&mut self, runs: usize) {
        for &at in self.order.iter().cycle().take(runs) {
            let message = Incoming::parse(&self.messages[at..][..STRIDE], &mut self.registry).expect("a known format");
            black_box((std::ptr::from_ref(message.format()), message.body().as_ptr()));
        }
    }

    fn records(&mut self, runs: usize) {
        for &at in self.order.iter().cycle().take(runs) {
            let message = Incoming::parse(&self.messages[at..][..STRIDE], &mut self.registry).expect("a known format");
            black_box(std::ptr::from_ref(self.decoder.decode(&message).expect("a record")));
        }
    }
}
