//! Random records of random formats, as they lie in the memory of each machine, written there by
//! `faces/c/include/isoform_writer.h`: what comes has the token and the body that this library gives them.

use isoform::core::declare::Type;
use isoform::core::format::{Dimension, Field, FloatKind, Structure};
use isoform::core::{ByteOrder, Element, Layout, value};
use isoform::stream::Reader;
use isoform::{Format, Machine as Kind};
use isoform_machines::Machine;
use isoform_machines::writer::{OPTIONS, compile, compile_for, succeeded};
use isoform_testing::{any_shape, any_value, with_gaps};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::Arc;

/// What stands in the gaps of memory, and must not come out.
const GARBAGE: u8 = 0xa5;

/// The record of a body as it lies in memory: which bytes belong to fields, and where its slots are.
struct Memory<'b> {
    body: &'b [u8],
    machine: Kind,
    used: Vec<bool>,
    slots: Vec<usize>,
}

impl Memory<'_> {
    fn number(&self, at: usize, size: usize) -> usize {
        self.machine.read(&self.body[at..at + size]) as usize
    }

    fn take(&mut self, at: usize, size: usize) {
        self.used[at..at + size].fill(true);
    }

    /// Takes a slot, and returns what it holds: the place of its block, or 0.
    fn slot(&mut self, at: usize) -> usize {
        let size = usize::from(self.machine.pointer);
        self.take(at, size);
        self.slots.push(at);
        self.number(at, size)
    }

    fn structure(&mut self, structure: &Structure, at: usize) {
        for field in structure.fields() {
            let length = |dim: &Dimension| match *dim {
                Dimension::Fixed(n) => n,
                Dimension::Field(index) => {
                    let length = &structure.fields()[index];
                    self.number(at + length.offset, length.element_size(self.machine.pointer))
                }
            };
            let lengths: Vec<usize> = field.dims.iter().map(length).collect();
            let mut place = at + field.offset;
            if field.indirect {
                place = self.slot(place);
            }
            if !field.indirect || place != 0 {
                self.elements(field, place, lengths.into_iter().product());
            }
        }
    }

    fn elements(&mut self, field: &Field, at: usize, count: usize) {
        let size = field.element_size(self.machine.pointer);
        for at in (at..).step_by(size).take(count) {
            match &field.element {
                Element::Structure(structure) => self.structure(structure, at),
                Element::String => {
                    let text = self.slot(at);
                    let length = self.body[text..].iter().take_while(|byte| **byte != 0).count();
                    if text != 0 {
                        self.take(text, length + 1);
                    }
                }
                Element::Float { kind: FloatKind::X87, size } => self.x87(at, (*size).into()),
                Element::Complex { kind: FloatKind::X87, size } => {
                    self.x87(at, (*size).into());
                    self.x87(at + usize::from(*size), (*size).into());
                }
                _ => self.take(at, size),
            }
        }
    }

    fn x87(&mut self, at: usize, size: usize) {
        let gap = if self.machine.order == ByteOrder::Big { size - 10 } else { 0 };
        self.take(at + gap, 10);
    }
}

/// Structures in the order of the description: each after those that it nests.
fn list(structure: &Arc<Structure>, listed: &mut Vec<Arc<Structure>>) {
    for field in structure.fields() {
        if let Element::Structure(inner) = &field.element {
            list(inner, listed);
        }
    }
    if !listed.contains(structure) {
        listed.push(structure.clone());
    }
}

/// A record as `replay.c` reads it; `None` if a name needs quotes, which the header does not know.
fn instructions(format: &Format, body: &[u8]) -> Option<String> {
    let mut text = String::new();
    let mut listed = Vec::new();
    list(format.structure(), &mut listed);
    let _ = writeln!(text, "{}", listed.len());
    for structure in &listed {
        let fields = structure.fields();
        let _ = writeln!(text, "{}\t{}\t{}\t{}", structure.name(), structure.size(), structure.align(), fields.len());
        // By descending offset, as tables are in any order.
        for (number, field) in fields.iter().enumerate().rev() {
            let mut size = field.element_size(format.machine().pointer);
            let mut words = Type::of(field, structure);
            // Sizes stand in the type, in the column, or in both. A float of 16 bytes must have its own words.
            match number % 3 {
                0 => size = 0,
                1 if size < 16 => words = words.without_size(),
                _ => {}
            }
            let words = words.to_string();
            if words.contains('"') {
                return None;
            }
            let unit = field.unit.as_deref().unwrap_or_default();
            let _ = writeln!(text, "{}\t{words}\t{size}\t{}\t{unit}", field.name, field.offset);
        }
    }
    let mut memory = Memory { body, machine: format.machine(), used: vec![false; body.len()], slots: Vec::new() };
    memory.structure(format.structure(), 0);
    let _ = writeln!(text, "{}", body.len());
    for (byte, used) in body.iter().zip(&memory.used) {
        let _ = write!(text, "{:02x}", if *used { *byte } else { GARBAGE });
    }
    let slots: String = memory.slots.iter().map(|slot| format!("\t{slot}")).collect();
    let _ = writeln!(text, "\n{}{slots}", memory.slots.len());
    Some(text)
}

/// Random records as a machine of this layout has them, each with its format and the body that it must have.
fn records(layout: &Layout) -> Vec<(Format, Vec<u8>, String)> {
    let mut runner = TestRunner::deterministic();
    let gaps = prop_oneof![1 => Just(Vec::new()), 1 => prop::collection::vec(any::<u8>(), 1..8)];
    let mut records = Vec::new();
    while records.len() < Config::default().cases as usize {
        let (shape, gaps) = (any_shape(), &gaps).new_tree(&mut runner).expect("a shape").current();
        let format = with_gaps(&shape.on(layout).expect("a format"), &gaps);
        let value = any_value(&format).new_tree(&mut runner).expect("a record").current();
        let body = value::body(&format, &value).expect("a body");
        if let Some(text) = instructions(&format, &body) {
            records.push((format, body, text));
        }
    }
    records
}

fn check(machine: &Machine) -> Result<usize, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let folder = folder.path();
    let program = if machine.is_here() {
        let sanitized: Vec<&str> = OPTIONS.iter().copied().chain(["-fsanitize=address,undefined"]).collect();
        compile(&machine.compiler(), &sanitized, &["replay.c"], folder, "replay")?
    } else {
        compile_for(machine, &["replay.c"], folder, "replay")?
    };
    let records = records(&machine.layout);
    let text: String = records.iter().map(|(.., text)| &**text).chain(["0\n"]).collect();
    std::fs::write(folder.join("records"), text).map_err(|error| error.to_string())?;
    succeeded(machine.command(program).args(["records", "stream.iso"]).current_dir(folder))?;
    let stream = std::fs::read(folder.join("stream.iso")).map_err(|error| error.to_string())?;
    let mut reader = Reader::new(&stream[..]);
    for (number, (format, body, text)) in records.iter().enumerate() {
        let message = reader.next().map_err(|error| format!("record {number}: {error}\n{text}"))?;
        let message = message.ok_or_else(|| format!("record {number} did not come"))?;
        if message.token() != format.token() || message.body() != body {
            return Err(format!("record {number}: expected {body:02x?}, found {:02x?}\n{text}", message.body()));
        }
    }
    match reader.next() {
        Ok(None) => Ok(records.len()),
        other => Err(format!("expected the end of the stream, found {other:?}")),
    }
}

#[test]
fn random_records() {
    let mut missing = Vec::new();
    for machine in Machine::ALL {
        if !machine.compiles() || !machine.runs() {
            missing.push(machine.name());
            continue;
        }
        check(machine).unwrap_or_else(|problem| panic!("{}: {problem}", machine.name()));
    }
    if !missing.is_empty() {
        // Not by a macro, whose output the test runner would hide.
        let _ = writeln!(
            std::io::stderr(),
            "*** SKIPPED, for want of a compiler or emulator: random records on {} ***",
            missing.join(", ")
        );
    }
}
