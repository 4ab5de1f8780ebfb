//! Edits of bodies whose format is known.

use super::Random;
use super::regions::{Meaning, Region, regions};
use isoform_core::{ByteOrder, Format, Machine};

/// Changes something in a body that means something: a slot, a length, a truth, a symbol, a number, text.
pub(super) fn edit(format: &Format, body: &mut Vec<u8>, random: &mut Random) {
    let regions = regions(format, body).unwrap_or_default();
    let kinds =
        [Meaning::Slot, Meaning::Length, Meaning::Boolean, Meaning::Enumeration, Meaning::Text, Meaning::Integer];
    let kind = random.of_these(&kinds);
    let of_kind: Vec<&Region> = regions.iter().filter(|region| Some(region.what) == kind).collect();
    let region = match of_kind.is_empty() {
        true => regions.get(random.below(regions.len())),
        false => of_kind.get(random.below(of_kind.len())).copied(),
    };
    match region {
        Some(region) if !random.one_in(8) => change(format.machine(), region, &regions, body, random),
        _ => size(body, random),
    }
}

fn change(machine: Machine, region: &Region, regions: &[Region], body: &mut [u8], random: &mut Random) {
    let length = body.len();
    let bytes = &mut body[region.bytes.clone()];
    match region.what {
        Meaning::Slot | Meaning::Length if random.one_in(8) => {
            // That of another one, which is right there and not here.
            let alike: Vec<&Region> =
                regions.iter().filter(|p| p.what == region.what && p.bytes.len() == bytes.len()).collect();
            if let Some(other) = alike.get(random.below(alike.len())) {
                body.copy_within(other.bytes.clone(), region.bytes.start);
            }
        }
        Meaning::Slot => {
            let offset = machine.read(bytes);
            let near = [
                offset.wrapping_add(1),
                offset.wrapping_sub(1),
                offset.wrapping_add(8),
                offset.wrapping_sub(8),
                offset.wrapping_add(16),
                0,
                1,
            ];
            let far =
                [u64::MAX, 1 << 31, 1 << 63, length as u64, (length as u64).wrapping_sub(1), region.bytes.start as u64];
            let chosen = if random.one_in(2) { &near[..] } else { &far };
            machine.write(bytes, random.of_these(chosen).unwrap_or(0));
        }
        Meaning::Length => {
            let count = machine.read(bytes);
            // The last of these times 8 is 8 when it overflows.
            let huge = [u64::MAX, 1 << 63, 1 << 31, 1 << 32, (1 << 61) + 1, 1 << 15, 1 << 7];
            let near = [count.wrapping_add(1), count.wrapping_sub(1), count.wrapping_mul(2), 0];
            let chosen = if random.one_in(2) { &near[..] } else { &huge };
            machine.write(bytes, random.of_these(chosen).unwrap_or(0));
        }
        Meaning::Boolean | Meaning::Enumeration => match random.below(4) {
            0 => machine.write(bytes, random.below(6) as u64),
            1 => bytes.reverse(),
            2 => bytes.fill(0xff),
            _ => flip(bytes, random),
        },
        Meaning::Float(_) | Meaning::Integer => match random.below(5) {
            0 => bytes.fill(0xff),
            1 => bytes.fill(0),
            2 => extreme(machine.order, bytes, random),
            3 => bytes.iter_mut().for_each(|byte| *byte = random.byte()),
            _ => flip(bytes, random),
        },
        Meaning::Text => match random.below(4) {
            0 => bytes.fill(b'x'),
            1 => flip(bytes, random),
            _ if bytes.is_empty() => {}
            2 => bytes[random.below(region.bytes.len())] = 0,
            _ => bytes[random.below(region.bytes.len())] = 0xff,
        },
    }
}

fn flip(bytes: &mut [u8], random: &mut Random) {
    let at = random.below(bytes.len());
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= 1 << random.below(8);
    }
}

/// Bytes that are a number at some end: of integers, of exponents, an infinity.
fn extreme(order: ByteOrder, bytes: &mut [u8], random: &mut Random) {
    let ends: [[u8; 2]; 7] = [[0x80, 0], [0x7f, 0xff], [0x7f, 0xf0], [0x7f, 0x80], [0x7c, 0], [0, 1], [0x7f, 0xef]];
    let first = random.of_these(&ends).unwrap_or_default();
    let rest = random.of_these(&[0, 0xff]).unwrap_or(0);
    bytes.fill(rest);
    bytes.iter_mut().zip(first).for_each(|(byte, first)| *byte = first);
    if order == ByteOrder::Little {
        bytes.reverse();
    }
}

/// Makes the body longer or shorter, by a block's alignment or a little.
fn size(body: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(body.len() + 1);
    let by = random.of_these(&[1, 7, 8, 9, 16]).unwrap_or(1);
    match random.below(4) {
        0 => body.truncate(at),
        1 => body.resize(body.len() + by, 0),
        2 => drop(body.splice(at..at, std::iter::repeat_n(0, by))),
        _ => drop(body.drain(at..(at + by).min(body.len()))),
    }
}
