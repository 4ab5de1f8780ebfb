//! The group `roundtrip`: a record goes from one machine to an unlike one and comes back, as a sum of parts: encoded on the
//! near machine, transferred, decoded on the far one, and the same on the way back (paper 000, figure 6; 004, table 1).
//!
//! The near machine is x86-64. The far one has the layout of 32-bit SPARC: the other byte order, and words of 4 bytes.
//! All parts are measured on this machine, which converts from each layout into the other. The transfer is half of a
//! round trip of as many bytes on a bare TCP socket, between two processes; on Linux both have one core.
//!
//! Peers take part if an unlike machine can read what they write. With `external32` MPI swaps bytes only on the near
//! machine, so the far one is measured with MPI's own representation.

use crate::measure::{Contestant, Times, measure};
use crate::peers::{Parts, Peers};
use crate::place::{Memory, Place};
use crate::records::Sent;
use crate::{Effort, Line, Options, Result, Workload, channel, fill, with_record};
use isoform::message::{HEADER, Split, split};
use isoform::{Decoder, Encoder, Format, Incoming, Registry, Rules, message::Header};
use isoform_core::interp;
use isoform_core::{Faults, Layout, Plan, Verifier};
use isoform_jit::Code;
use std::hint::black_box;
use std::sync::Arc;

/// The far machine.
const FAR: Layout = Layout::SPARC;

/// What a machine does with a record, and the bytes that it sends.
struct Side {
    encode: f64,
    decode: f64,
    bytes: usize,
}

/// One way of exchanging records, between these two machines.
struct Exchange {
    /// `engine` or `peer`, and its name.
    name: (&'static str, String),
    near: Side,
    far: Side,
}

/// Measures a workload without pointers; there is nothing to measure for others.
///
/// # Errors
/// If a result is wrong, a process cannot be started, or `line` fails.
pub fn run(
    workload: &Workload,
    peers: &Peers,
    options: &Options,
    line: &mut impl FnMut(Line) -> Result<()>,
) -> Result<()> {
    if cfg!(not(unix)) {
        return line(Line::skipped("round trips", "a Unix system"));
    }
    if workload.on(&FAR)?.structure().has_slots() {
        return Ok(());
    }
    let mut exchanges = with_record!(workload, ours(workload, &options.effort))?;
    if options.peers {
        exchanges.extend(theirs(&peers.parts(workload, &options.effort)?));
    }
    let sizes: Vec<usize> = exchanges.iter().flat_map(|exchange| [exchange.near.bytes, exchange.far.bytes]).collect();
    let (transfers, cores) = channel::transfers(options, &sizes)?;
    let mut first = None;
    for (exchange, transfer) in exchanges.iter().zip(transfers.chunks_exact(2)) {
        let Exchange { name: (key, name), near, far } = exchange;
        let software = near.encode + far.decode + far.encode + near.decode;
        let total = software + transfer[0] + transfer[1];
        let result = Line::new("roundtrip", workload.name).word("case", FAR.name).word(key, name);
        let result = result.figure("encode_there_ns", near.encode).figure("transfer_there_ns", transfer[0]);
        let result = result.figure("decode_there_ns", far.decode).figure("encode_back_ns", far.encode);
        let result = result.figure("transfer_back_ns", transfer[1]).figure("decode_back_ns", near.decode);
        let result = result
            .figure("software_ns", software)
            .figure("transfer_ns", transfer[0] + transfer[1])
            .figure("total_ns", total);
        let result = result.figure("ratio", total / *first.get_or_insert(total));
        line(result.count("bytes_there", near.bytes).count("bytes_back", far.bytes).count("cores", cores))?;
    }
    Ok(())
}

/// Isoform in steady state, and where that is generated code, also by the interpreter alone.
fn ours<T: Sent>(workload: &Workload, effort: &Effort) -> Result<Vec<Exchange>> {
    let (near, far) = (T::format(), &workload.on(&FAR)?);
    let encode = [encode::<T>(workload, effort)?, encode::<T>(workload, effort)?];
    let (there, back) = (decode(workload, near, far, effort)?, decode(workload, far, near, effort)?);
    let exchange = |engine: &str, index: usize| Exchange {
        name: ("engine", engine.into()),
        near: Side { encode: encode[0], decode: back[index.min(back.len() - 1)], bytes: near.size() + HEADER },
        far: Side { encode: encode[1], decode: there[index.min(there.len() - 1)], bytes: far.size() + HEADER },
    };
    match there.len().max(back.len()) {
        1 => Ok(vec![exchange("interpreter", 0)]),
        _ => Ok(vec![exchange("generated", 1), exchange("interpreter", 0)]),
    }
}

/// Nanoseconds to encode. A sender leaves its layout as it is, so that of the far machine costs what this one does.
fn encode<T: Sent>(workload: &Workload, effort: &Effort) -> Result<f64> {
    let body = fill::body(T::format(), workload.length);
    let (mut decoder, mut encoder) = (Decoder::<T>::new(), Encoder::<T>::new());
    let record =
        decoder.decode(&Incoming::new(Header::new(T::format().token(), body.len() as u64), T::format(), &body))?;
    let encode: Contestant<'_> = Box::new(|_, runs| {
        for _ in 0..runs {
            let message = T::encode(&mut encoder, black_box(record)).expect("it fits into memory");
            black_box(message.segments().as_ptr());
        }
    });
    Ok(timed(vec![encode], &body, body.len(), effort).first().map_or(f64::NAN, Times::median))
}

/// Nanoseconds from a message of the format `wire` to a record of the format `native`: by the interpreter, and by
/// generated code, if there is any.
fn decode(workload: &Workload, wire: &Format, native: &Format, effort: &Effort) -> Result<Vec<f64>> {
    let body = fill::body(wire, workload.length);
    let message = [&Header::new(wire.token(), body.len() as u64).to_bytes()[..], &body].concat();
    let expected = fill::body(native, workload.length);
    let plan = Arc::new(Plan::new(wire, native, &Rules::new(), Faults::Error)?);
    let code = Code::of(&plan);
    let engines: Vec<Option<&Code>> = [None].into_iter().chain(code.iter().map(Some)).collect();
    let contestant = |code| -> Result<Contestant<'_>> {
        let (mut registry, verifier) = (Registry::new(), Verifier::new(wire));
        registry.register(wire)?;
        let (plan, length, size) = (&plan, message.len(), native.size());
        let mut receive = move |src: &[u8], dst: &mut [u8]| -> Result<(), isoform::Error> {
            let Split::Whole { header, body, .. } = split(&src[..length])? else { unreachable!("it is whole") };
            black_box(registry.lookup(header.token)?);
            let body = verifier.verify(body)?;
            match code {
                None => interp::run_fixed(plan, body, &mut dst[..size]),
                Some(code) => Code::run_fixed(code, body, &mut dst[..size]),
            }
        };
        Ok(Box::new(move |place, runs| place.bytes(runs, |src, dst| receive(src, dst).expect("values that fit"))))
    };
    let mut contestants = engines.into_iter().map(contestant).collect::<Result<Vec<_>>>()?;
    for contestant in &mut contestants {
        let mut memory = Memory::new(0, message.len().max(expected.len()), &message, false);
        let mut place = memory.place();
        contestant(&mut place, 1);
        let mut right = false;
        place.bytes(1, |_, dst| right = dst.starts_with(&expected));
        if !right {
            return Err(format!("{}: a record decoded for {} is wrong", workload.name, native.machine()).into());
        }
    }
    Ok(timed(contestants, &message, expected.len(), effort).iter().map(Times::median).collect())
}

fn timed(mut contestants: Vec<Contestant<'_>>, start: &[u8], room: usize, effort: &Effort) -> Vec<Times> {
    let size = start.len().max(room);
    let mut memories: Vec<Memory> =
        (0..effort.placements).map(|index| Memory::new(index, size, start, false)).collect();
    let mut places: Vec<Place<'_>> = memories.iter_mut().map(Memory::place).collect();
    measure(&mut contestants, &mut places, effort)
}

/// The peers whose messages an unlike machine can read.
fn theirs(parts: &[Parts]) -> Vec<Exchange> {
    const EXTERNAL: &str = " external32";
    let own = |near: &Parts| parts.iter().find(|other| near.name.strip_suffix(EXTERNAL) == Some(other.name));
    // What is read on machines of the same representation only.
    let alike = |part: &Parts| parts.iter().any(|near| near.name.strip_suffix(EXTERNAL) == Some(part.name));
    let side = |part: &Parts, bytes| Side { encode: part.encode_ns, decode: part.decode_ns, bytes };
    let exchange = |near: &Parts| Exchange {
        name: ("peer", near.name.into()),
        near: side(near, near.bytes),
        far: side(own(near).unwrap_or(near), near.bytes),
    };
    parts.iter().filter(|part| !alike(part)).map(exchange).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_far_machine_of_mpi_does_not_swap() {
        let part = |name, ns| Parts { name, encode_ns: ns, decode_ns: 2.0 * ns, bytes: ns as usize };
        let exchanges = theirs(&[part("MPICH", 1.0), part("MPICH external32", 10.0), part("prost", 5.0)]);
        let figures = |side: &Side| (side.encode, side.decode, side.bytes);
        let all: Vec<_> =
            exchanges.iter().map(|it| (it.name.1.as_str(), figures(&it.near), figures(&it.far))).collect();
        assert_eq!(
            all,
            [("MPICH external32", (10.0, 20.0, 10), (1.0, 2.0, 10)), ("prost", (5.0, 10.0, 5), (5.0, 10.0, 5))]
        );
    }
}
