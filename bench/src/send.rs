//! The group `send`: a record becomes a message, as [`Encoder`] makes it: a vector of buffers.

use crate::measure::{Contestant, measure, memcpy};
use crate::place::{Memory, Place};
use crate::records::Sent;
use crate::{Line, Options, Result, Workload, fill, with_record};
use isoform::message::HEADER;
use isoform::{Decoder, Encoder, Incoming, message::Header};
use std::hint::black_box;

/// Measures one workload.
///
/// # Errors
/// If a message is wrong, or `line` fails.
pub fn run(workload: &Workload, options: &Options, line: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
    with_record!(workload, send(workload, options, line))
}

fn send<T: Sent>(workload: &Workload, options: &Options, line: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
    let body = fill::body(T::format(), workload.length);
    let header = Header::new(T::format().token(), body.len() as u64);
    let (mut decoder, mut encoder) = (Decoder::<T>::new(), Encoder::<T>::new());
    let incoming = Incoming::new(header, T::format(), &body);
    let record = decoder.decode(&incoming)?;
    let message = T::encode(&mut encoder, record)?;
    let (segments, overhead) = (message.segments().len(), message.len() - body.len());
    if message.to_vec() != [&header.to_bytes()[..], &body].concat() {
        return Err(format!("{}: the message is wrong", workload.name).into());
    }
    let encode: Contestant<'_> = Box::new(|_, runs| {
        for _ in 0..runs {
            let message = T::encode(&mut encoder, black_box(record)).expect("it went well before");
            black_box(message.segments().as_ptr());
        }
    });
    let mut memories: Vec<Memory> =
        (0..options.effort.placements).map(|index| Memory::new(index, body.len() + HEADER, &body, false)).collect();
    let mut places: Vec<Place<'_>> = memories.iter_mut().map(Memory::place).collect();
    let times = measure(&mut [memcpy(body.len()), encode], &mut places, &options.effort);
    let [copied, ns] = &times[..] else { unreachable!("two were measured") };
    let mut result = Line::new("send", workload.name).figure("ns", ns.median()).count("overhead_bytes", overhead);
    result = result.figure("memcpy_ns", copied.median()).count("segments", segments);
    line(result.figure("min_ns", ns.min()).figure("p90_ns", ns.p90()).count("bytes", body.len()))
}
