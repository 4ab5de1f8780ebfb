//! The same record with other numbers. Pointers, lengths, symbols and text stay, so that it remains a record.

use isoform_core::scalar::Real;
use isoform_core::{FloatKind, Machine};
use isoform_testing::mutate::{Meaning, Random, Region};

/// Meaning numbers a record has.
#[derive(Clone, Copy)]
enum Temper {
    /// They fit everywhere.
    Small,
    /// Small, and some negative.
    Signed,
    /// Small but for one here and there.
    Odd,
    /// About the limits of types.
    Edge,
    /// Any bits.
    Wild,
}

/// Changes the numbers at these regions of a body.
pub(crate) fn vary(machine: Machine, regions: &[Region], body: &mut [u8], random: &mut Random) {
    let tempers = [Temper::Small, Temper::Small, Temper::Signed, Temper::Odd, Temper::Odd, Temper::Edge, Temper::Wild];
    let temper = random.of_these(&tempers).unwrap_or(Temper::Small);
    let rarely = 2 + 2 * regions.len();
    for region in regions {
        let odd = matches!(temper, Temper::Odd) && random.one_in(rarely / 2);
        let temper = match temper {
            Temper::Odd if odd => random.of_these(&[Temper::Edge, Temper::Wild]).unwrap_or(Temper::Edge),
            Temper::Odd => Temper::Small,
            other => other,
        };
        let bytes = &mut body[region.bytes.clone()];
        match region.what {
            Meaning::Integer => write(machine, integer(temper, random), bytes),
            Meaning::Float(FloatKind::Ieee) if bytes.len() == 8 => {
                write(machine, float(temper, random).to_bits(), bytes)
            }
            Meaning::Float(FloatKind::Ieee) if bytes.len() == 4 => {
                let bits = match temper {
                    Temper::Wild => random.bits() as u32,
                    _ => (float(temper, random) as f32).to_bits(),
                };
                write(machine, bits.into(), bytes);
            }
            Meaning::Float(_) if bytes.len() <= 2 && random.one_in(4) => write(machine, random.bits(), bytes),
            Meaning::Float(kind) if bytes.len() > 8 && random.one_in(2) => wide(machine, kind, temper, bytes, random),
            Meaning::Boolean => write(machine, random.bits() & 1, bytes),
            Meaning::Float(_) | Meaning::Enumeration | Meaning::Length | Meaning::Slot | Meaning::Text => {}
        }
    }
}

/// A `long double`: any bits, or what has come to be of a number.
fn wide(machine: Machine, kind: FloatKind, temper: Temper, bytes: &mut [u8], random: &mut Random) {
    match temper {
        Temper::Wild => bytes.iter_mut().for_each(|byte| *byte = random.byte()),
        _ => {
            Real::from(float(temper, random)).write(kind, machine.order, bytes);
        }
    }
}

/// A number of any size: those of 16 bytes have the sign of their lower half, and now and then lie beyond it.
fn write(machine: Machine, bits: u64, bytes: &mut [u8]) {
    let beyond = if bits & 0x3f0 == 0x3f0 { 50 } else { 0 };
    let wide = (i128::from(bits as i64) << beyond).to_le_bytes();
    bytes.copy_from_slice(&wide[..bytes.len()]);
    if machine.order == isoform_core::ByteOrder::Big {
        bytes.reverse();
    }
}

fn integer(temper: Temper, random: &mut Random) -> u64 {
    let bits = random.bits();
    match temper {
        Temper::Small | Temper::Odd => bits % 128,
        Temper::Signed => i64::from(bits as i8) as u64,
        Temper::Edge => edge(random) as u64,
        Temper::Wild => bits,
    }
}

/// Within two of a power of two, with either sign.
fn edge(random: &mut Random) -> i64 {
    let powers = [0, 7, 8, 11, 15, 16, 24, 31, 32, 53, 63];
    let near = (1i64 << random.of_these(&powers).unwrap_or(0)).wrapping_add(random.below(5) as i64 - 2);
    if random.one_in(2) { near } else { near.wrapping_neg() }
}

fn float(temper: Temper, random: &mut Random) -> f64 {
    let special = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -0.0, f64::MIN_POSITIVE, 1e-46, 65520.0, f64::MAX, 0.1];
    // About the smallest numbers of `f32` with and without all digits, of halves, and of `f64`.
    let tiny =
        [1.1754943508222875e-38, 1.1754943e-38, 1e-40, 1.4e-45, 7.1e-46, 7e-46, 6e-5, 6e-8, 2.9e-8, 1e-310, 5e-324];
    match temper {
        Temper::Small | Temper::Odd => random.below(128) as f64,
        Temper::Signed => f64::from(random.byte() as i8),
        Temper::Edge => match random.below(5) {
            0 => random.of_these(&special).unwrap_or(0.5),
            4 => random.of_these(&tiny).unwrap_or(0.5) * random.of_these(&[1.0, -1.0]).unwrap_or(1.0),
            1 => f64::from(f32::MAX) * random.of_these(&[1.0, 1.000_000_1, -1.0]).unwrap_or(1.0),
            2 => edge(random) as f64 + 0.5,
            _ => edge(random) as f64,
        },
        Temper::Wild => f64::from_bits(random.bits()),
    }
}
