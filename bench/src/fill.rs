//! What is in the records: the same values under the same names, on whatever machine and in whatever type.
//!
//! So the record that must arrive is known without converting anything: it is the same values, written in the
//! receiver's format. Every value fits all types that a case gives its field.

use isoform_core::{Dimension, Element, Format, Machine, Structure};

/// Characters of every string.
const TEXT: usize = 40;

/// The body of a record of this format, as its machine would send it. Gaps are zero.
pub fn body(format: &Format, length: usize) -> Vec<u8> {
    let mut writer = Writer { machine: format.machine(), length, bytes: vec![0; format.size()] };
    writer.structure(format.structure(), 0, 0);
    writer.bytes
}

struct Writer {
    machine: Machine,
    /// Of every dynamic dimension.
    length: usize,
    bytes: Vec<u8>,
}

impl Writer {
    fn structure(&mut self, structure: &Structure, at: usize, seed: u64) {
        let dims = || structure.fields().iter().flat_map(|field| &field.dims);
        for (index, field) in structure.fields().iter().enumerate() {
            let seed = field.name.bytes().fold(seed, |seed, byte| mixed(seed, byte.into()));
            let mut place = at + field.offset;
            if dims().any(|dim| *dim == Dimension::Field(index)) {
                self.write(place, field.element_size(self.machine.pointer), self.length as u64);
                continue;
            }
            let size = field.element_size(self.machine.pointer);
            let count = field.dims.iter().fold(1, |count, dim| match dim {
                Dimension::Fixed(n) => count * n,
                Dimension::Field(_) => count * self.length,
            });
            if field.indirect {
                place = self.block(place, field.element.block_alignment(), count * size);
            }
            for i in 0..count {
                self.element(&field.element, place + i * size, mixed(seed, i as u64));
            }
        }
    }

    fn element(&mut self, element: &Element, at: usize, seed: u64) {
        let size = element.size(self.machine.pointer);
        match element {
            Element::Structure(inner) => self.structure(inner, at, seed),
            Element::String => {
                let block = self.block(at, 8, TEXT + 1);
                let letters = (0..TEXT as u64).map(|i| b'a' + (mixed(seed, i) % 26) as u8);
                self.bytes.splice(block..block + TEXT, letters);
            }
            Element::Float { .. } => {
                let value = f64::from(seed as i32 >> 8) / 1024.0;
                let bits = if size == 4 { (value as f32).to_bits().into() } else { value.to_bits() };
                self.write(at, size, bits);
            }
            Element::Integer { signed: true, .. } => {
                self.write(at, size, (seed as i64 >> (66 - 8 * size.min(4))) as u64)
            }
            _ => self.write(at, size, seed & 1),
        }
    }

    /// A new block at the end, for the slot at `slot`.
    fn block(&mut self, slot: usize, align: usize, length: usize) -> usize {
        let start = self.bytes.len().next_multiple_of(align);
        self.bytes.resize(start + length, 0);
        self.write(slot, self.machine.pointer.into(), start as u64);
        start
    }

    fn write(&mut self, at: usize, size: usize, value: u64) {
        self.machine.write(&mut self.bytes[at..at + size], value);
    }
}

/// A number that depends on both and looks like neither.
fn mixed(seed: u64, value: u64) -> u64 {
    let mut mixed = (seed ^ value).wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    mixed ^ mixed >> 32
}
