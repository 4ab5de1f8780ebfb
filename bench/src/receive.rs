//! The group `receive`: from the bytes of a message to the receiver's record - header, look-up of the format,
//! verification, and conversion where layouts differ.
//!
//! Records with pointers are used in place where that is possible, which replaces the offsets in the message by
//! addresses; so each run begins with putting the record's own bytes back (not what it points at).

use crate::measure::{Contestant, Effort, Times, measure, memcpy};
use crate::place::{Memory, Place};
use crate::records::Sent;
use crate::{Case, Line, Options, Result, Workload, fill, lookup, with_record};
use isoform::core::Plan;
use isoform::core::plan::Within;
use isoform::message::{HEADER, Split, split};
use isoform::{Aligned, Decoder, Encoder, Engine, Format, Incoming, Registry, Rules, memory, message::Header};
use std::hint::black_box;
use std::sync::Arc;

/// Measures the cases of one workload in which the receiver's record is the workload's own.
///
/// # Errors
/// If a record is wrong, or `line` fails.
pub fn run(workload: &Workload, options: &Options, line: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
    for &case in &options.cases {
        match case.formats(workload)? {
            Some((wire, native)) if native == workload.on(&isoform::core::Layout::X86_64)? => {
                with_record!(workload, receive(workload, case, &wire, options, line))?;
            }
            _ => {}
        }
    }
    if workload.name == "K01" && options.cases.contains(&Case::Same) {
        lookup::run(options, line)?;
    }
    Ok(())
}

/// Measures one case: by the interpreter and by generated code, where there is something to convert.
fn receive<T: Sent>(
    workload: &Workload,
    case: Case,
    wire: &Format,
    options: &Options,
    line: &mut impl FnMut(Line) -> Result<()>,
) -> Result<()> {
    let plan = Arc::new(Plan::new(wire, T::format(), &Rules::new(), Default::default())?);
    if plan.is_direct() {
        return by::<T>(workload, case, wire, ("none", Engine::Interpreter), options, line);
    }
    by::<T>(workload, case, wire, ("interpreter", Engine::Interpreter), options, line)?;
    if isoform_jit::Code::of(&plan).is_some() {
        by::<T>(workload, case, wire, ("generated", Engine::Generated), options, line)?;
    }
    match Within::of(&plan) {
        Some(_) => within::<T>(workload, case, wire, options, line),
        None => Ok(()),
    }
}

/// Measures the receipt of messages in memory of the receiver's, into which they are copied as by a system: conversion within
/// that memory, where the decoder chooses that, beside conversion to elsewhere.
fn within<T: Sent>(
    workload: &Workload,
    case: Case,
    wire: &Format,
    options: &Options,
    line: &mut impl FnMut(Line) -> Result<()>,
) -> Result<()> {
    let body = fill::body(wire, workload.length);
    let message = [&Header::new(wire.token(), body.len() as u64).to_bytes()[..], &body].concat();
    let registry = Registry::new();
    registry.register(wire)?;
    let receiver = || Receiver::<T> {
        registry: registry.clone(),
        decoder: Decoder::new().with_engine(Engine::Generated),
        message: message.len(),
        record: wire.size(),
    };
    let (mut within, mut elsewhere) = (receiver(), receiver());
    let mut measured = Vec::new();
    for rotating in [false, true] {
        let memory = |index| Memory::new(index, message.len(), &message, rotating);
        let mut memories: Vec<Memory> = (0..options.effort.placements).map(memory).collect();
        let mut places: Vec<Place<'_>> = memories.iter_mut().map(Memory::place).collect();
        let mut contestants = [memcpy(message.len()), elsewhere.copying(false), within.copying(true)];
        contestants.iter_mut().for_each(|contestant| contestant(&mut places[0], 1));
        measured.extend(measure(&mut contestants, &mut places, &options.effort));
    }
    let [memcpy, elsewhere, ns, far_memcpy, far_elsewhere, far] = &measured[..] else {
        unreachable!("three were measured twice")
    };
    let mut result = Line::new("receive", workload.name).word("case", case.name()).word("engine", "within");
    result = result.figure("ns", ns.median()).figure("elsewhere_ns", elsewhere.median());
    result = result.figure("ratio", ns.ratio(elsewhere)).figure("memcpy_ns", memcpy.median());
    result = result.figure("rotating_ns", far.median()).figure("rotating_elsewhere_ns", far_elsewhere.median());
    result = result.figure("rotating_ratio", far.ratio(far_elsewhere));
    line(result.figure("rotating_memcpy_ns", far_memcpy.median()).count("bytes", body.len()))
}

fn by<T: Sent>(
    workload: &Workload,
    case: Case,
    wire: &Format,
    (name, engine): (&str, Engine),
    options: &Options,
    line: &mut impl FnMut(Line) -> Result<()>,
) -> Result<()> {
    let body = fill::body(wire, workload.length);
    let message = [&Header::new(wire.token(), body.len() as u64).to_bytes()[..], &body].concat();
    let result = fill::body(T::format(), workload.length);
    let registry = Registry::new();
    registry.register(wire)?;
    let mut receiver = Receiver::<T> {
        registry,
        decoder: Decoder::new().with_engine(engine),
        message: message.len(),
        record: wire.size(),
    };
    let in_place = name == "none" && wire.structure().has_slots();

    let memory = |index, rotating| Memory::new(index, message.len().max(result.len()), &message, rotating);
    let mut first = memory(0, false);
    let mut outcome = Ok(());
    first.place().filled().bytes(1, |src, dst| outcome = receiver.check(in_place, src, dst, &result));
    outcome.map_err(|error| format!("{} {}: {error}", workload.name, case.name()))?;
    let before = receiver.decoder.copied();
    receiver.contestant(in_place)(&mut first.place().filled(), 1);
    let copied = receiver.decoder.copied() - before;

    let into = match wire.structure().has_slots() {
        true => None,
        false => Some(into::<T>(&mut receiver, wire, engine, &options.effort, |index| memory(index, false))?),
    };
    let mut measured = Vec::new();
    for rotating in [false, true] {
        let mut memories: Vec<Memory> = (0..options.effort.placements).map(|index| memory(index, rotating)).collect();
        let mut places: Vec<Place<'_>> = memories.iter_mut().map(|memory| memory.place().filled()).collect();
        let mut contestants = [memcpy(result.len()), receiver.contestant(in_place)];
        measured.extend(measure(&mut contestants, &mut places, &options.effort));
    }
    let [memcpy, ns, far_memcpy, far] = &measured[..] else { unreachable!("two were measured twice") };
    let mut result = Line::new("receive", workload.name).word("case", case.name()).figure("ns", ns.median());
    result = result.count("copied_bytes", copied as usize).word("engine", name);
    result = result.figure("memcpy_ns", memcpy.median()).figure("rotating_ns", far.median());
    result = result.figure("rotating_memcpy_ns", far_memcpy.median());
    if let Some([decode, into]) = into {
        result = result.figure("into_ns", into.median()).figure("into_ratio", into.ratio(&decode));
    }
    line(result.figure("min_ns", ns.min()).figure("p90_ns", ns.p90()).count("bytes", body.len()))
}

/// Times of a record that is borrowed from the decoder, or from the message, and of one that is put into memory of the caller.
fn into<T: Sent>(
    receiver: &mut Receiver<T>,
    wire: &Format,
    engine: Engine,
    effort: &Effort,
    memory: impl Fn(usize) -> Memory,
) -> Result<[Times; 2]> {
    let mut decoder = memory::Decoder::new(T::format(), Rules::new())?.with_engine(engine);
    let (mut registry, message) = (Registry::new(), receiver.message);
    registry.register(wire)?;
    let mut blocks = Aligned::new();
    let mut into: Contestant<'_> = Box::new(move |place, runs| {
        place.bytes(runs, |src, dst| {
            let incoming = Incoming::parse(&src[..message], &mut registry).expect("it went well before");
            // SAFETY: the record has no pointers, and the destination has room for a message that contains it.
            let into = unsafe { decoder.decode_into(&incoming, dst.as_mut_ptr(), &mut blocks) };
            into.expect("it went well before");
        });
    });
    let mut memories: Vec<Memory> = (0..effort.placements).map(memory).collect();
    let mut places: Vec<Place<'_>> = memories.iter_mut().map(Memory::place).collect();
    // Now, so that code is generated before batches get their length.
    places.iter_mut().for_each(|place| into(place, 1));
    let times = measure(&mut [receiver.contestant(false), into], &mut places, effort);
    <[Times; 2]>::try_from(times).map_err(|_| "two were measured".into())
}

struct Receiver<T> {
    registry: Registry,
    decoder: Decoder<T>,
    /// Bytes of the message, and of the record in it.
    message: usize,
    record: usize,
}

impl<T: Sent> Receiver<T> {
    fn contestant(&mut self, in_place: bool) -> Contestant<'_> {
        Box::new(move |place, runs| {
            place.bytes(runs, |src, dst| {
                let record = match in_place {
                    true => self.in_place(src, dst),
                    false => self.borrowed(src),
                };
                black_box(std::ptr::from_ref(record.expect("it went well before")));
            });
        })
    }

    /// Copies the message, and decodes it where it then is: within its memory, or to elsewhere.
    fn copying(&mut self, within: bool) -> Contestant<'_> {
        Box::new(move |place, runs| {
            place.bytes(runs, |src, dst| {
                let dst = &mut dst[..self.message];
                dst.copy_from_slice(&src[..self.message]);
                let record = match within {
                    true => self.within(dst),
                    false => self.borrowed(dst),
                };
                black_box(std::ptr::from_ref(record.expect("it went well before")));
            });
        })
    }

    #[inline]
    fn within<'m>(&'m mut self, message: &'m mut [u8]) -> isoform::Result<&'m T::Native<'m>> {
        let Split::Whole { header, .. } = split(message)? else { unreachable!("it is whole") };
        let format = self.registry.lookup(header.token)?;
        self.decoder.decode_in_place(format, &mut message[HEADER..])
    }

    #[inline]
    fn borrowed<'m>(&'m mut self, bytes: &'m [u8]) -> isoform::Result<&'m T::Native<'m>> {
        let incoming = Incoming::parse(&bytes[..self.message], &mut self.registry)?;
        self.decoder.decode(&incoming)
    }

    #[inline]
    fn in_place<'m>(&'m mut self, src: &[u8], dst: &'m mut [u8]) -> isoform::Result<&'m T::Native<'m>> {
        // By eight bytes, as they were changed: wider stores would make the loads that follow wait for them.
        let record = HEADER..HEADER + self.record;
        for (dst, src) in dst[record.clone()].chunks_exact_mut(8).zip(src[record].chunks_exact(8)) {
            dst.copy_from_slice(black_box(src));
        }
        self.within(&mut dst[..self.message])
    }

    /// Compares the record that comes out with the one that must arrive.
    fn check(&mut self, in_place: bool, src: &[u8], dst: &mut [u8], expected: &[u8]) -> Result<()> {
        let record = match in_place {
            true => self.in_place(src, dst)?,
            false => self.borrowed(src)?,
        };
        let mut encoder = Encoder::<T>::new();
        match T::encode(&mut encoder, record)?.to_vec()[HEADER..] == *expected {
            true => Ok(()),
            false => Err("the record is wrong".into()),
        }
    }
}
