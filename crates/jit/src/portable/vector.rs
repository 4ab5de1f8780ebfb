//! Short arrays of numbers, as straight code of vectors of 16 bytes. A call of a kernel would take longer than they do.
//!
//! A part is what one vector holds on its wider side. If the array is no whole number of parts, the last part overlaps the
//! one before: what it does again gives the same.

use super::target::Shuffles;
use super::{At, Generator};
use crate::generate::SHORT;
use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{ConstantData, Endianness, InstBuilder, MemFlagsData, Type, Value, types};
use isoform_core::Faults;
use isoform_core::plan::Conversion;
use isoform_kernels::{FloatKind, NumberClass};

/// Bytes of a vector.
const WIDTH: usize = 16;

/// What vectors do with numbers, beside reversing their bytes.
#[derive(Clone, Copy)]
enum Change {
    /// Integers become integers twice as wide, with or without their signs.
    Widen { signed: bool },
    /// Singles become doubles.
    Promote,
    /// Integers of 4 bytes become doubles.
    Float,
    /// Doubles become singles.
    Demote(Faults),
}

impl Change {
    fn of(conversion: &Conversion) -> Option<Change> {
        use NumberClass::{Float, Signed, Unsigned};
        const IEEE: NumberClass = Float(FloatKind::Ieee);
        let Conversion { from, to, faults } = *conversion;
        match (from.class, from.size, to.class, to.size) {
            _ if to.is_swapped() => None,
            (IEEE, 4, IEEE, 8) => Some(Change::Promote),
            (IEEE, 8, IEEE, 4) if matches!(faults, Faults::Error | Faults::Wrap) => Some(Change::Demote(faults)),
            (Signed, 4, IEEE, 8) => Some(Change::Float),
            (Signed | Unsigned, size @ (1 | 2 | 4), Signed | Unsigned, wider) if wider == 2 * size => {
                conversion.is_exact().then_some(Change::Widen { signed: from.class == Signed })
            }
            _ => None,
        }
    }
}

impl Generator<'_> {
    /// Reverses the bytes of numbers. Returns whether code was generated.
    pub(super) fn swap_by_vectors(&mut self, width: usize, length: usize, place: (usize, usize), at: At) -> bool {
        if !self.has_vectors() || !(WIDTH..=SHORT).contains(&length) || !WIDTH.is_multiple_of(width) {
            return false;
        }
        for offset in parts(length / width, WIDTH / width) {
            let bytes = self.emit.load(types::I8X16, at.src, place.0 + offset * width);
            let bytes = self.reversed(bytes, width);
            self.emit.store(bytes, at.dst, place.1 + offset * width);
        }
        true
    }

    /// Converts numbers. Returns whether code was generated.
    pub(super) fn convert_by_vectors(
        &mut self,
        conversion: &Conversion,
        count: usize,
        (src, dst): (usize, usize),
        at: At,
    ) -> bool {
        let [from, to] = [conversion.from, conversion.to].map(|number| usize::from(number.size));
        let part = WIDTH / from.max(to);
        let Some(change) = Change::of(conversion) else { return false };
        if !self.has_vectors() || count < part || count * from.max(to) > SHORT {
            return false;
        }
        let mut misfits = None;
        for first in parts(count, part) {
            let mut bytes = self.load_part(at.src, src + first * from, part * from);
            if conversion.from.is_swapped() {
                bytes = self.reversed(bytes, from);
            }
            let result = self.change(change, from, bytes, &mut misfits);
            self.store_part(result, at.dst, dst + first * to, part * to);
        }
        if let Some(misfits) = misfits {
            let any = self.emit.builder.ins().vany_true(misfits);
            self.note_truth(any);
        }
        true
    }

    /// Whether numbers are the lanes of a vector, in the order of their addresses, and can be reversed there.
    fn has_vectors(&self) -> bool {
        self.emit.shuffles != Shuffles::None && cfg!(target_endian = "little")
    }

    /// The bytes of a part: all of a vector, or its first half.
    fn load_part(&mut self, base: Value, offset: usize, length: usize) -> Value {
        if length == WIDTH {
            return self.emit.load(types::I8X16, base, offset);
        }
        let half = self.emit.load(types::F64, base, offset);
        let half = self.emit.builder.ins().scalar_to_vector(types::F64X2, half);
        self.as_lanes(types::I8X16, half)
    }

    fn store_part(&mut self, value: Value, base: Value, offset: usize, length: usize) {
        if length == WIDTH {
            return self.emit.store(value, base, offset);
        }
        let halves = self.as_lanes(types::F64X2, value);
        let first = self.emit.builder.ins().extractlane(halves, 0);
        self.emit.store(first, base, offset);
    }

    /// The same bytes as other lanes.
    fn as_lanes(&mut self, lanes: Type, value: Value) -> Value {
        let little = MemFlagsData::new().with_endianness(Endianness::Little);
        self.emit.builder.ins().bitcast(lanes, little, value)
    }

    /// The bytes of each number of `width` bytes in the other order.
    fn reversed(&mut self, bytes: Value, width: usize) -> Value {
        let control: Vec<u8> = (0..WIDTH).map(|byte| (byte / width * width + width - 1 - byte % width) as u8).collect();
        let control = self.emit.builder.func.dfg.constants.insert(ConstantData::from(&control[..]));
        let control = self.emit.builder.ins().vconst(types::I8X16, control);
        self.emit.shuffled(bytes, control)
    }

    /// Converts the numbers of a part.
    fn change(&mut self, change: Change, size: usize, bytes: Value, misfits: &mut Option<Value>) -> Value {
        let lanes = match change {
            Change::Widen { .. } => Type::int_with_byte_size(size as u16).and_then(|int| int.by((WIDTH / size) as u32)),
            Change::Promote => Some(types::F32X4),
            Change::Float => Some(types::I32X4),
            Change::Demote(_) => Some(types::F64X2),
        };
        let numbers = self.as_lanes(lanes.expect("a type of 16 bytes"), bytes);
        let ins = &mut self.emit.builder;
        match change {
            Change::Widen { signed: true } => ins.ins().swiden_low(numbers),
            Change::Widen { signed: false } => ins.ins().uwiden_low(numbers),
            Change::Promote => ins.ins().fvpromote_low(numbers),
            Change::Float => {
                let wide = ins.ins().swiden_low(numbers);
                ins.ins().fcvt_from_sint(types::F64X2, wide)
            }
            Change::Demote(faults) => {
                let unsure = self.narrowed(numbers, faults);
                let ins = &mut self.emit.builder;
                *misfits = Some(misfits.map_or(unsure, |before| ins.ins().bor(before, unsure)));
                ins.ins().fvdemote(numbers)
            }
        }
    }

    /// Which doubles would be tiny singles or, if that is an error, infinite ones.
    fn narrowed(&mut self, numbers: Value, faults: Faults) -> Value {
        let [large, small, zero] = [super::number::TOO_LARGE, super::number::TOO_SMALL, 0.0].map(|limit| {
            let limit = self.emit.builder.ins().f64const(limit);
            self.emit.builder.ins().splat(types::F64X2, limit)
        });
        let ins = &mut self.emit.builder;
        let magnitude = ins.ins().fabs(numbers);
        let small = ins.ins().fcmp(FloatCC::LessThan, magnitude, small);
        let other = ins.ins().fcmp(FloatCC::NotEqual, magnitude, zero);
        let unsure = ins.ins().band(small, other);
        if faults != Faults::Error {
            return unsure;
        }
        let large = ins.ins().fcmp(FloatCC::GreaterThanOrEqual, magnitude, large);
        ins.ins().bor(large, unsure)
    }
}

/// The first numbers of the parts of an array that has at least one.
fn parts(count: usize, part: usize) -> impl Iterator<Item = usize> {
    let rest = (!count.is_multiple_of(part)).then_some(count - part);
    (0..=count - part).step_by(part).chain(rest)
}
