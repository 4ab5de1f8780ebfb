//! Short arrays of numbers, by vectors of 16 bytes. A call of a kernel would take longer than they do. Arrays within the record
//! become straight code; those behind pointers become loops, since only the body says how long they are.
//!
//! A part is what one vector holds on its wider side. If the array is no whole number of parts, the last part overlaps the
//! one before: what it does again gives the same.

use super::target::Shuffles;
use super::{At, Generator};
use crate::call::Helper;
use crate::generate::SHORT;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{ConstantData, Endianness, InstBuilder, MemFlagsData, Type, Value, types};
use isoform_core::Faults;
use isoform_core::plan::Conversion;
use isoform_kernels::{FloatKind, NumberClass};

/// Bytes of a vector.
const WIDTH: usize = 16;
/// Arrays behind pointers of at most this many bytes on their wider side are converted here, longer ones by the kernels.
const INLINE: usize = 1024;

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
            let control = self.reversal(width);
            let bytes = self.emit.shuffled(bytes, control);
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
                let control = self.reversal(from);
                bytes = self.emit.shuffled(bytes, control);
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

    /// Copies `length` bytes between blocks.
    pub(super) fn copy_some(&mut self, length: Value, start: At) {
        let call = |generator: &mut Self| _ = generator.emit.call(Helper::Copy, &[start.src, start.dst, length]);
        if self.emit.shuffles == Shuffles::None {
            return call(self);
        }
        let part = |generator: &mut Self, at: At| {
            let bytes = generator.emit.load(types::I8X16, at.src, 0);
            generator.emit.store(bytes, at.dst, 0);
        };
        self.some((length, WIDTH), (1, 1), start, part, call);
    }

    /// Reverses the bytes of so many numbers.
    pub(super) fn swap_some(&mut self, width: usize, numbers: Value, start: At) {
        let call = |generator: &mut Self| {
            let length = generator.emit.builder.ins().imul_imm_s(numbers, width as i64);
            generator.emit.swap_many(start.src, start.dst, length, width);
        };
        if !self.has_vectors() || !WIDTH.is_multiple_of(width) {
            return call(self);
        }
        let control = self.reversal(width);
        let part = |generator: &mut Self, at: At| {
            let bytes = generator.emit.load(types::I8X16, at.src, 0);
            let bytes = generator.emit.shuffled(bytes, control);
            generator.emit.store(bytes, at.dst, 0);
        };
        self.some((numbers, WIDTH / width), (width, width), start, part, call);
    }

    /// Converts so many numbers.
    pub(super) fn convert_some(&mut self, conversion: &Conversion, numbers: Value, start: At) {
        let call = |generator: &mut Self| generator.convert_many(conversion, start.src, start.dst, numbers);
        let Some(change) = Change::of(conversion).filter(|_| self.has_vectors()) else { return call(self) };
        let [from, to] = [conversion.from, conversion.to].map(|number| usize::from(number.size));
        let lanes = WIDTH / from.max(to);
        let control = conversion.from.is_swapped().then(|| self.reversal(from));
        let part = |generator: &mut Self, at: At| {
            let mut bytes = generator.load_part(at.src, 0, lanes * from);
            if let Some(control) = control {
                bytes = generator.emit.shuffled(bytes, control);
            }
            let mut misfits = None;
            let result = generator.change(change, from, bytes, &mut misfits);
            generator.store_part(result, at.dst, 0, lanes * to);
            if let Some(misfits) = misfits {
                let any = generator.emit.builder.ins().vany_true(misfits);
                generator.note_truth(any);
            }
        };
        self.some((numbers, lanes), (from, to), start, part, call);
    }

    /// A loop over the parts of an array of so many numbers, each of these sizes, if it has one part at least and is not long.
    /// Other arrays are left to a call.
    fn some(
        &mut self,
        (numbers, lanes): (Value, usize),
        sizes: (usize, usize),
        start: At,
        part: impl Fn(&mut Self, At),
        call: impl FnOnce(&mut Self),
    ) {
        let builder = &mut self.emit.builder;
        let [few, head, last, other, done] = [(); 5].map(|()| builder.create_block());
        let [src, dst] = [(); 2].map(|()| builder.declare_var(types::I64));
        let before = builder.ins().iadd_imm_s(numbers, -(lanes as i64));
        let most = (INLINE / sizes.0.max(sizes.1) - lanes) as i64;
        let is_few = builder.ins().icmp_imm_u(IntCC::UnsignedLessThanOrEqual, before, most);
        builder.ins().brif(is_few, few, [], other, []);

        builder.switch_to_block(few);
        // Where the last part begins.
        let [from, to] = [(start.src, sizes.0), (start.dst, sizes.1)].map(|(start, size)| {
            let offset = builder.ins().imul_imm_s(before, size as i64);
            builder.ins().iadd(start, offset)
        });
        builder.def_var(src, start.src);
        builder.def_var(dst, start.dst);
        builder.ins().brif(before, head, [], last, []);

        builder.switch_to_block(head);
        let at = At { src: builder.use_var(src), dst: builder.use_var(dst) };
        part(self, at);
        let builder = &mut self.emit.builder;
        let next = builder.ins().iadd_imm_s(at.src, (lanes * sizes.0) as i64);
        builder.def_var(src, next);
        let further = builder.ins().iadd_imm_s(at.dst, (lanes * sizes.1) as i64);
        builder.def_var(dst, further);
        let more = builder.ins().icmp(IntCC::UnsignedLessThan, next, from);
        builder.ins().brif(more, head, [], last, []);

        builder.switch_to_block(last);
        part(self, At { src: from, dst: to });
        self.emit.builder.ins().jump(done, []);
        self.emit.builder.switch_to_block(other);
        call(self);
        self.emit.builder.ins().jump(done, []);
        self.emit.builder.switch_to_block(done);
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

    /// What permutes the bytes of each number of `width` bytes into the other order.
    fn reversal(&mut self, width: usize) -> Value {
        let control: Vec<u8> = (0..WIDTH).map(|byte| (byte / width * width + width - 1 - byte % width) as u8).collect();
        let control = self.emit.builder.func.dfg.constants.insert(ConstantData::from(&control[..]));
        self.emit.builder.ins().vconst(types::I8X16, control)
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
