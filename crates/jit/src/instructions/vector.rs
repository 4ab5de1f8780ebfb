//! Executes the instructions on vectors.

use super::machine::{Fault, Machine};
use super::{Extend, Operand, Place, Register, Vector, What};

/// Bytes of a vector register.
pub(super) const FULL: usize = 64;

type Bytes = [u8; FULL];

impl Machine<'_> {
    /// Executes one of them.
    pub(super) fn vector(&mut self, vector: &Vector) -> Result<(), Fault> {
        let masked = matches!(
            vector.what,
            What::MoveBytes
                | What::StoreBytes
                | What::MoveLanes
                | What::Permute
                | What::CompareSigned
                | What::Broadcast
        );
        if vector.mask != 0 && !masked {
            return Err("an instruction that the model does not know with a mask".into());
        }
        let width = vector.width;
        match vector.what {
            What::MoveBytes => {
                let from = match vector.operand {
                    // Bytes outside the mask are not read.
                    Operand::Place(place) => self.masked_load(place, self.mask(vector.mask, width), width)?,
                    operand => self.whole(operand, width)?,
                };
                self.put(vector, &from, 1)
            }
            What::MoveLanes => {
                let from = self.whole(vector.operand, width)?;
                self.put(vector, &from, 8)
            }
            What::StoreBytes => {
                let Operand::Place(to) = vector.operand else { return Err("a store into a register".into()) };
                let (bytes, mask) = (self.vectors[usize::from(vector.reg)], self.mask(vector.mask, width));
                self.masked_store(to, &bytes, mask, width)
            }
            What::Move => {
                let from = self.whole(vector.operand, width)?;
                self.put(vector, &from, 1)
            }
            What::Store => {
                let Operand::Place(to) = vector.operand else { return Err("a store into a register".into()) };
                let bytes = self.vectors[usize::from(vector.reg)];
                self.store(self.address(to), &bytes[..width])
            }
            What::Move4 => {
                let Operand::Place(from) = vector.operand else { return Err("a load from a register".into()) };
                let number = self.load_number(from, 4)?;
                self.set_numbers(vector.reg, &[number]);
                Ok(())
            }
            What::Store4 => {
                let Operand::Place(to) = vector.operand else { return Err("a store into a register".into()) };
                let number = number(&self.vectors[usize::from(vector.reg)], 0);
                self.store_number(to, number, 4)
            }
            What::BroadcastHalf => {
                let Operand::Place(_) = vector.operand else { return Err("a register into both halves".into()) };
                let half = self.whole(vector.operand, 16)?;
                self.put(vector, &std::array::from_fn(|at| half[at % 16]), 1)
            }
            What::Shuffle => {
                let (from, control) = (self.vectors[usize::from(vector.second)], self.whole(vector.operand, width)?);
                let shuffled = std::array::from_fn(|at| match control[at] {
                    0x80.. => 0,
                    place => from[at / 16 * 16 + usize::from(place % 16)],
                });
                self.put(vector, &shuffled, 1)
            }
            What::InsertHalf if vector.last == 1 && width == 32 => {
                let (lower, upper) = (self.vectors[usize::from(vector.second)], self.whole(vector.operand, 16)?);
                self.put(vector, &std::array::from_fn(|at| if at < 16 { lower[at] } else { upper[at % 16] }), 1)
            }
            What::UpperHalf if vector.last == 1 && width == 32 => {
                let Operand::Register(to) = vector.operand else { return Err("an upper half to memory".into()) };
                let from = self.vectors[usize::from(vector.reg)];
                self.set_numbers(to, &[number(&from, 2), number(&from, 3)]);
                Ok(())
            }
            What::Interleave2 => self.interleave(vector, 2),
            What::Interleave4 => self.interleave(vector, 4),
            What::Interleave8 => self.interleave(vector, 8),
            What::Extend(Extend { signed, from: size, to }) => {
                let from = self.whole(vector.operand, width / to * size)?;
                let mut extended = [0; FULL];
                for (from, to) in from.chunks(size).zip(extended[..width].chunks_mut(to)) {
                    let above = if signed && from[size - 1] > 127 { u8::MAX } else { 0 };
                    to.fill(above);
                    to[..size].copy_from_slice(from);
                }
                self.put(vector, &extended, 1)
            }
            What::EqualBytes => {
                let (one, other) = (self.vectors[usize::from(vector.second)], self.whole(vector.operand, width)?);
                let equal = std::array::from_fn(|at| if one[at] == other[at] { u8::MAX } else { 0 });
                self.put(vector, &equal, 1)
            }
            What::SignsOfBytes => {
                let Operand::Register(from) = vector.operand else { return Err("signs of bytes in memory".into()) };
                let bytes = self.vectors[usize::from(from)];
                self.set(vector.reg, (0..width).map(|at| u64::from(bytes[at] >> 7) << at).sum());
                Ok(())
            }
            What::Test => {
                let (one, other) = (self.vectors[usize::from(vector.reg)], self.whole(vector.operand, width)?);
                let zero = |f: &dyn Fn(u8, u8) -> u8| Some((0..width).all(|at| f(one[at], other[at]) == 0));
                self.flags(zero(&|one, other| one & other), zero(&|one, other| !one & other));
                Ok(())
            }
            What::AddDouble | What::CompareOne => {
                let one = number(&self.vectors[usize::from(vector.second)], 0);
                let other = number(&self.whole(vector.operand, 8)?, 0);
                let result = match vector.what {
                    What::AddDouble => (f64::from_bits(one) + f64::from_bits(other)).to_bits(),
                    _ => compare_doubles(vector.last, one, other)?,
                };
                self.beside(vector, result)
            }
            What::NarrowOne => {
                let number = f64::from_bits(number(&self.whole(vector.operand, 8)?, 0));
                self.beside_float(vector, number as f32)
            }
            What::IntegerToFloat => {
                let Operand::Register(from) = vector.operand else { return Err("an integer in memory".into()) };
                self.beside_float(vector, self.get(from) as i64 as f32)
            }
            What::DoubleToInteger => {
                let number = number(&self.whole(vector.operand, 8)?, 0);
                self.set(vector.reg, to_signed(f64::from_bits(number)));
                Ok(())
            }
            What::Move8 | What::ToVector => {
                let number = match vector.operand {
                    Operand::Register(from) if vector.what == What::ToVector => self.get(from),
                    operand => number(&self.whole(operand, 8)?, 0),
                };
                self.set_numbers(vector.reg, &[number]);
                Ok(())
            }
            What::Store8 => {
                let Operand::Place(to) = vector.operand else { return Err("a store into a register".into()) };
                let number = number(&self.vectors[usize::from(vector.reg)], 0);
                self.store_number(to, number, 8)
            }
            What::FromVector => {
                let Operand::Register(to) = vector.operand else { return Err("a store of an unknown kind".into()) };
                self.set(to, number(&self.vectors[usize::from(vector.reg)], 0));
                Ok(())
            }
            What::Broadcast => {
                let Operand::Place(place) = vector.operand else { return Err("a register everywhere".into()) };
                let number = self.load_number(place, 8)?;
                self.put(vector, &lanes(|_| number), 8)
            }
            What::Permute => {
                // The operand is read as a whole, whatever the mask.
                let (control, from) = (self.vectors[usize::from(vector.second)], self.whole(vector.operand, width)?);
                let permuted = std::array::from_fn(|at| from[usize::from(control[at]) % width]);
                self.put(vector, &permuted, 1)
            }
            What::TestZeroBytes => {
                let (one, other) = (self.vectors[usize::from(vector.second)], self.whole(vector.operand, width)?);
                let bits = (0..width).map(|at| u64::from(one[at] & other[at] == 0) << at).sum();
                self.set_mask(vector.reg, bits)
            }
            What::IntegerToDouble => {
                let Operand::Register(from) = vector.operand else { return Err("an integer in memory".into()) };
                self.beside(vector, (self.get(from) as i64 as f64).to_bits())
            }
            What::WidenOne => {
                let bits = match vector.operand {
                    Operand::Place(place) => self.load_number(place, 4)? as u32,
                    operand => number(&self.whole(operand, 16)?, 0) as u32,
                };
                self.beside(vector, f64::from(f32::from_bits(bits)).to_bits())
            }
            _ => self.numbers(vector),
        }
    }

    /// The instructions on numbers in lanes.
    fn numbers(&mut self, vector: &Vector) -> Result<(), Fault> {
        let count = vector.width / 8;
        let narrow = matches!(vector.what, What::WidenFloat | What::Int32ToDouble);
        let from = self.whole(vector.operand, if narrow { vector.width / 2 } else { vector.width })?;
        let second = self.vectors[usize::from(vector.second)];
        let (last, bits) = (vector.last, u32::from(vector.last));
        let each = |f: &dyn Fn(u64) -> u64| lanes(|at| if at < count { f(number(&from, at)) } else { 0 });
        let both = |f: &dyn Fn(u64, u64) -> u64| {
            lanes(|at| if at < count { f(number(&second, at), number(&from, at)) } else { 0 })
        };
        let floats = |f: &dyn Fn(u64) -> f32| {
            let mut bytes = [0; FULL];
            for at in 0..count {
                bytes[4 * at..][..4].copy_from_slice(&f(number(&from, at)).to_bits().to_le_bytes());
            }
            bytes
        };
        let result = match vector.what {
            What::Xor => both(&|one, other| one ^ other),
            What::And => both(&|one, other| one & other),
            What::Or => both(&|one, other| one | other),
            What::AddDoubles => both(&|one, other| (f64::from_bits(one) + f64::from_bits(other)).to_bits()),
            What::CompareDoubles => {
                compare_doubles(last, 0, 0)?;
                both(&|one, other| compare_doubles(last, one, other).unwrap_or(0))
            }
            What::Int32ToDouble => {
                lanes(|at| if at < count { f64::from(float(&from, at).to_bits() as i32).to_bits() } else { 0 })
            }
            What::Int32ToFloat => {
                let mut bytes = [0; FULL];
                for at in 0..vector.width / 4 {
                    let number = float(&from, at).to_bits() as i32;
                    bytes[4 * at..][..4].copy_from_slice(&(number as f32).to_bits().to_le_bytes());
                }
                bytes
            }
            What::Add => both(&u64::wrapping_add),
            What::LeastUnsigned => both(&u64::min),
            What::LeastSigned => both(&|one, other| (one as i64).min(other as i64) as u64),
            What::MostSigned => both(&|one, other| (one as i64).max(other as i64) as u64),
            What::ShiftRight => each(&|one| one.checked_shr(bits).unwrap_or(0)),
            What::ShiftLeft => each(&|one| one.checked_shl(bits).unwrap_or(0)),
            What::ShiftRightSigned => each(&|one| (one as i64 >> bits.min(63)) as u64),
            What::WidenFloat => lanes(|at| if at < count { f64::from(float(&from, at)).to_bits() } else { 0 }),
            What::NarrowFloat => floats(&|one| f64::from_bits(one) as f32),
            What::SignedToFloat => floats(&|one| one as i64 as f32),
            What::UnsignedToFloat => floats(&|one| one as f32),
            What::SignedToDouble => each(&|one| (one as i64 as f64).to_bits()),
            What::UnsignedToDouble => each(&|one| (one as f64).to_bits()),
            What::DoubleToSigned => each(&|one| to_signed(f64::from_bits(one))),
            What::DoubleToUnsigned => each(&|one| to_unsigned(f64::from_bits(one))),
            _ => {
                let holds = |at: usize| -> Result<bool, Fault> {
                    let (one, other) = (number(&second, at), number(&from, at));
                    Ok(match vector.what {
                        What::TestLanes => one & other != 0,
                        What::CompareUnsigned => compare(last, one.cmp(&other))?,
                        What::CompareSigned => compare(last, (one as i64).cmp(&(other as i64)))?,
                        What::CompareDouble if last == 4 => f64::from_bits(one) != f64::from_bits(other),
                        What::ClassOfDouble => is_of_class(f64::from_bits(other), last)?,
                        What::ClassOfFloat => is_of_class(float(&from, at).into(), last)?,
                        _ => return Err("an instruction that the model does not know".into()),
                    })
                };
                let count = if vector.what == What::ClassOfFloat { vector.width / 4 } else { count };
                let mut bits = 0;
                for at in 0..count {
                    bits |= u64::from(holds(at)?) << at;
                }
                return self.set_mask(vector.reg, bits & self.mask(vector.mask, count));
            }
        };
        self.vectors[usize::from(vector.reg)] = result;
        Ok(())
    }

    /// Sets a register to a result of elements of `size` bytes. Elements outside the mask become zero or stay.
    fn put(&mut self, vector: &Vector, result: &Bytes, size: usize) -> Result<(), Fault> {
        let mask = self.mask(vector.mask, vector.width / size);
        let before = self.vectors[usize::from(vector.reg)];
        self.vectors[usize::from(vector.reg)] = std::array::from_fn(|at| match mask >> (at / size) & 1 {
            _ if at >= vector.width => 0,
            0 if vector.zero => 0,
            0 => before[at],
            _ => result[at],
        });
        Ok(())
    }

    /// Sets a register to a number, beside the upper half of the second operand.
    fn beside(&mut self, vector: &Vector, low: u64) -> Result<(), Fault> {
        let high = number(&self.vectors[usize::from(vector.second)], 1);
        self.set_numbers(vector.reg, &[low, high]);
        Ok(())
    }

    /// The same with a number of 4 bytes.
    fn beside_float(&mut self, vector: &Vector, low: f32) -> Result<(), Fault> {
        let beside = number(&self.vectors[usize::from(vector.second)], 0) >> 32 << 32;
        self.beside(vector, beside | u64::from(low.to_bits()))
    }

    /// Puts elements of `size` bytes from the first 8 bytes of two registers side by side.
    fn interleave(&mut self, vector: &Vector, size: usize) -> Result<(), Fault> {
        let Operand::Register(other) = vector.operand else { return Err("half of a vector in memory".into()) };
        if vector.width != 16 {
            return Err("halves of more than one vector".into());
        }
        let (one, other) = (self.vectors[usize::from(vector.second)], self.vectors[usize::from(other)]);
        let from = |at: usize| if (at / size).is_multiple_of(2) { one } else { other };
        self.put(vector, &std::array::from_fn(|at| from(at)[(at / (2 * size) * size + at % size) % FULL]), 1)
    }

    fn set_numbers(&mut self, register: Register, numbers: &[u64]) {
        self.vectors[usize::from(register)] = lanes(|at| numbers.get(at).copied().unwrap_or(0));
    }

    /// The bits of a mask for so many elements; register 0 stands for all.
    fn mask(&self, register: Register, count: usize) -> u64 {
        let all = if count >= 64 { u64::MAX } else { (1 << count) - 1 };
        if register == 0 { all } else { self.masks[usize::from(register)] & all }
    }

    fn set_mask(&mut self, register: Register, bits: u64) -> Result<(), Fault> {
        let mask = self.masks.get_mut(usize::from(register)).ok_or("a mask register that does not exist")?;
        *mask = bits;
        Ok(())
    }

    /// All bytes of an operand.
    fn whole(&self, operand: Operand, width: usize) -> Result<Bytes, Fault> {
        match operand {
            Operand::Register(register) => Ok(self.vectors[usize::from(register)]),
            Operand::Place(place) => self.masked_load(place, self.mask(0, width), width),
            Operand::Everywhere(place) => {
                let number = self.load_number(place, 8)?;
                Ok(lanes(|_| number))
            }
        }
    }

    fn masked_load(&self, place: Place, mask: u64, width: usize) -> Result<Bytes, Fault> {
        let address = self.address(place);
        let mut bytes = [0; FULL];
        if mask == self.mask(0, width) {
            self.load(address, &mut bytes[..width])?;
            return Ok(bytes);
        }
        for at in (0..width).filter(|at| mask >> at & 1 != 0) {
            self.load(address.wrapping_add(at as u64), &mut bytes[at..=at])?;
        }
        Ok(bytes)
    }

    fn masked_store(&mut self, place: Place, bytes: &Bytes, mask: u64, width: usize) -> Result<(), Fault> {
        let address = self.address(place);
        if mask == self.mask(0, width) {
            return self.store(address, &bytes[..width]);
        }
        for at in (0..width).filter(|at| mask >> at & 1 != 0) {
            self.store(address.wrapping_add(at as u64), &bytes[at..=at])?;
        }
        Ok(())
    }
}

fn lanes(number: impl Fn(usize) -> u64) -> Bytes {
    let mut bytes = [0; FULL];
    for (at, lane) in bytes.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        *lane = number(at).to_le_bytes();
    }
    bytes
}

fn number(bytes: &Bytes, lane: usize) -> u64 {
    bytes.as_chunks().0.get(lane).map_or(0, |lane| u64::from_le_bytes(*lane))
}

fn float(bytes: &Bytes, lane: usize) -> f32 {
    bytes.as_chunks().0.get(lane).map_or(0.0, |lane| f32::from_le_bytes(*lane))
}

/// All bits, if two numbers compare as a number at the end of an instruction says.
fn compare_doubles(how: u8, one: u64, other: u64) -> Result<u64, Fault> {
    let equal = f64::from_bits(one) == f64::from_bits(other);
    match how {
        0 => Ok(if equal { u64::MAX } else { 0 }),
        4 => Ok(if equal { 0 } else { u64::MAX }),
        _ => Err("a comparison that the model does not know".into()),
    }
}

/// What does not fit becomes the smallest number.
fn to_signed(number: f64) -> u64 {
    let fits = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&number);
    if fits { number as i64 as u64 } else { 1 << 63 }
}

/// What does not fit becomes the largest number.
fn to_unsigned(number: f64) -> u64 {
    let fits = number > -1.0 && number < 18_446_744_073_709_551_616.0;
    if fits { number as u64 } else { u64::MAX }
}

/// Whether two integers compare as a number at the end of an instruction says.
fn compare(how: u8, order: std::cmp::Ordering) -> Result<bool, Fault> {
    match how {
        0 => Ok(order.is_eq()),
        1 => Ok(order.is_lt()),
        2 => Ok(order.is_le()),
        4 => Ok(order.is_ne()),
        5 => Ok(order.is_ge()),
        6 => Ok(order.is_gt()),
        _ => Err("a comparison that the model does not know".into()),
    }
}

/// Whether a number is one of these: zero (bits 1 and 2), infinite (bits 3 and 4).
fn is_of_class(number: f64, classes: u8) -> Result<bool, Fault> {
    let bit = |at: u8| classes >> at & 1 != 0;
    if classes & !0x1E != 0 {
        return Err("a class of numbers that the model does not know".into());
    }
    let negative = number.is_sign_negative();
    Ok(match number {
        _ if number == 0.0 => bit(1 + u8::from(negative)),
        _ if number.is_infinite() => bit(3 + u8::from(negative)),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_do_not_fit_become_what_the_processor_makes_of_them() {
        assert_eq!((to_signed(-2.5), to_signed(9.3e18)), (-2i64 as u64, 1 << 63));
        assert_eq!((to_signed(f64::NAN), to_signed(i64::MIN as f64)), (1 << 63, 1 << 63));
        assert_eq!((to_unsigned(-0.5), to_unsigned(-1.0), to_unsigned(f64::NAN)), (0, u64::MAX, u64::MAX));
        assert_eq!(to_unsigned(1.8e19), 18_000_000_000_000_000_000);
    }

    #[test]
    fn classes_are_zeros_and_infinities() {
        assert_eq!(is_of_class(-0.0, 0x06), Ok(true));
        assert_eq!(is_of_class(f64::INFINITY, 0x06), Ok(false));
        assert_eq!(is_of_class(f64::NEG_INFINITY, 0x1E), Ok(true));
        assert_eq!(is_of_class(f64::NAN, 0x1E), Ok(false));
        assert!(is_of_class(0.0, 0x80).is_err());
    }
}
