//! Layouts of machines, as data: the rules by which a C compiler places the fields of a struct.
//!
//! The table follows the processor supplements of the System V ABI, as GCC and rustc apply them, and Microsoft's x64
//! convention for Windows. `tests/layouts.rs` asks the compilers that it finds. [`shape`](super::Shape) computes
//! offsets from a layout.

use crate::error::{Code, Error, Result};
use crate::format::{ByteOrder, Element, FloatKind, Machine};
use std::str::FromStr;

/// Byte order, pointer size, alignment rules and the sizes of C's types on one kind of machine.
///
/// ```
/// use isoform_core::{ByteOrder, Layout};
/// let layout: Layout = "powerpc".parse()?;
/// assert_eq!((layout.order, layout.pointer, layout.long), (ByteOrder::Big, 4, 4));
/// # Ok::<(), isoform_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Its name, such as `s390x`.
    pub name: &'static str,
    /// The byte order of every number.
    pub order: ByteOrder,
    /// The size and the alignment of a pointer.
    pub pointer: u8,
    /// Bytes of C's `long`.
    pub long: u8,
    /// Alignment of integers of 8 bytes.
    pub align_integer8: u8,
    /// Alignment of integers of 16 bytes.
    pub align_integer16: u8,
    /// Alignment of C's `double`.
    pub align_double: u8,
    /// C's `long double`.
    pub long_double: LongDouble,
    /// The largest alignment of a number.
    pub align_max: u8,
}

/// C's `long double` on one kind of machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LongDouble {
    /// How its bits are read.
    pub kind: FloatKind,
    /// Bytes of its slot.
    pub size: u8,
    /// Its alignment.
    pub align: u8,
}

impl LongDouble {
    const DOUBLE: LongDouble = LongDouble { kind: FloatKind::Ieee, size: 8, align: 8 };
    const QUAD: LongDouble = LongDouble { kind: FloatKind::Ieee, size: 16, align: 16 };
    const QUAD_AT_8: LongDouble = LongDouble { kind: FloatKind::Ieee, size: 16, align: 8 };
    const X87: LongDouble = LongDouble { kind: FloatKind::X87, size: 16, align: 16 };
    const X87_AT_4: LongDouble = LongDouble { kind: FloatKind::X87, size: 12, align: 4 };
    const DOUBLE2: LongDouble = LongDouble { kind: FloatKind::Double2, size: 16, align: 16 };
}

/// A machine whose `long` is as wide as its pointers. All numbers are aligned to their size, up to 16 bytes on 64-bit
/// machines and 8 on 32-bit ones. The table states deviations after the name.
const fn regular(name: &'static str, order: ByteOrder, pointer: u8, long_double: LongDouble) -> Layout {
    let align_max = if pointer == 8 { 16 } else { 8 };
    Layout {
        name,
        order,
        pointer,
        long: pointer,
        align_integer8: 8,
        align_integer16: align_max,
        align_double: 8,
        long_double,
        align_max,
    }
}

use ByteOrder::{Big, Little};

impl Layout {
    /// Linux and the BSDs on x86-64.
    pub const X86_64: Layout = regular("x86_64", Little, 8, LongDouble::X87);
    /// Linux on 64-bit ARM.
    pub const AARCH64: Layout = regular("aarch64", Little, 8, LongDouble::QUAD);
    /// Linux on 32-bit x86: 8-byte numbers are aligned to 4, 16-byte integers (which only Rust has there) to 16.
    pub const I386: Layout = Layout {
        align_integer8: 4,
        align_integer16: 16,
        align_double: 4,
        align_max: 16,
        ..regular("i386", Little, 4, LongDouble::X87_AT_4)
    };
    /// Windows on x86-64 and 64-bit ARM: `long` is 4 bytes, `long double` is `double`.
    pub const WINDOWS_X64: Layout = Layout { long: 4, ..regular("windows-x64", Little, 8, LongDouble::DOUBLE) };
    /// macOS on 64-bit ARM: `long double` is `double`.
    pub const AARCH64_MACOS: Layout = regular("aarch64-macos", Little, 8, LongDouble::DOUBLE);
    /// Linux on 32-bit ARM (EABI).
    pub const ARMV7: Layout = regular("armv7", Little, 4, LongDouble::DOUBLE);
    /// Linux on 64-bit RISC-V.
    pub const RISCV64: Layout = regular("riscv64", Little, 8, LongDouble::QUAD);
    /// Linux on 32-bit PowerPC: `long double` is a double-double, aligned to 16 on this 32-bit machine as well.
    pub const POWERPC: Layout = Layout { align_max: 16, ..regular("powerpc", Big, 4, LongDouble::DOUBLE2) };
    /// Linux on big-endian 64-bit PowerPC.
    pub const POWERPC64: Layout = regular("powerpc64", Big, 8, LongDouble::DOUBLE2);
    /// Linux on little-endian 64-bit PowerPC, where `long double` is a double-double unless compiled otherwise.
    pub const POWERPC64LE: Layout = regular("powerpc64le", Little, 8, LongDouble::DOUBLE2);
    /// Linux on IBM Z: the largest alignment is 8 bytes.
    pub const S390X: Layout =
        Layout { align_integer16: 8, align_max: 8, ..regular("s390x", Big, 8, LongDouble::QUAD_AT_8) };
    /// Linux and Solaris on 32-bit SPARC.
    pub const SPARC: Layout = regular("sparc", Big, 4, LongDouble::QUAD_AT_8);
    /// Linux and Solaris on 64-bit SPARC.
    pub const SPARC64: Layout = regular("sparc64", Big, 8, LongDouble::QUAD);
    /// Linux on big-endian 32-bit MIPS (o32).
    pub const MIPS: Layout = regular("mips", Big, 4, LongDouble::DOUBLE);

    /// Every layout that has a name.
    pub const ALL: &[Layout] = &[
        Layout::X86_64,
        Layout::AARCH64,
        Layout::I386,
        Layout::WINDOWS_X64,
        Layout::AARCH64_MACOS,
        Layout::ARMV7,
        Layout::RISCV64,
        Layout::POWERPC,
        Layout::POWERPC64,
        Layout::POWERPC64LE,
        Layout::S390X,
        Layout::SPARC,
        Layout::SPARC64,
        Layout::MIPS,
    ];

    /// The layout of the machine that this code runs on.
    pub const NATIVE: Layout = native();

    /// Its byte order and pointer size.
    pub const fn machine(&self) -> Machine {
        Machine { order: self.order, pointer: self.pointer }
    }

    /// The alignment of an element, in a record that is not packed.
    pub fn align_of(&self, element: &Element) -> usize {
        let align = match element {
            Element::Integer { size, .. } | Element::Boolean { size } => self.align_integer(*size),
            Element::Enumeration(enumeration) => self.align_integer(enumeration.size()),
            Element::Float { kind, size } | Element::Complex { kind, size } => self.align_float(*kind, *size),
            Element::Char => 1,
            Element::String => self.pointer,
            Element::Structure(structure) => return structure.align(),
        };
        usize::from(align)
    }

    fn align_integer(&self, size: u8) -> u8 {
        match size {
            16 => self.align_integer16,
            8 => self.align_integer8,
            _ => size,
        }
    }

    /// For kinds that the machine's C lacks, this is the largest power of two that divides the size.
    fn align_float(&self, kind: FloatKind, size: u8) -> u8 {
        match size {
            _ if kind == self.long_double.kind && size == self.long_double.size && size > 8 => self.long_double.align,
            8 => self.align_double,
            _ => (1 << size.trailing_zeros()).min(self.align_max),
        }
    }
}

impl FromStr for Layout {
    type Err = Error;

    /// The layout of this name. The error lists the names.
    fn from_str(name: &str) -> Result<Layout> {
        Layout::ALL.iter().find(|layout| layout.name == name).copied().ok_or_else(|| {
            let names: Vec<&str> = Layout::ALL.iter().map(|layout| layout.name).collect();
            let expected = format!("one of {}", names.join(", "));
            Error::new(Code::Declaration).at("layout").expected(expected).found(name)
        })
    }
}

const fn native() -> Layout {
    if cfg!(all(target_arch = "x86_64", target_pointer_width = "64", not(windows))) {
        Layout::X86_64
    } else if cfg!(all(target_pointer_width = "64", windows)) {
        Layout::WINDOWS_X64
    } else if cfg!(all(target_arch = "aarch64", target_vendor = "apple")) {
        Layout::AARCH64_MACOS
    } else if cfg!(all(target_arch = "aarch64", target_endian = "little", target_pointer_width = "64")) {
        Layout::AARCH64
    } else if cfg!(all(target_arch = "x86", not(windows))) {
        Layout::I386
    } else if cfg!(all(target_arch = "arm", target_endian = "little", not(windows))) {
        Layout::ARMV7
    } else if cfg!(target_arch = "riscv64") {
        Layout::RISCV64
    } else if cfg!(all(target_arch = "powerpc", target_endian = "big")) {
        Layout::POWERPC
    } else if cfg!(all(target_arch = "powerpc64", target_endian = "big")) {
        Layout::POWERPC64
    } else if cfg!(all(target_arch = "powerpc64", target_endian = "little")) {
        Layout::POWERPC64LE
    } else if cfg!(target_arch = "s390x") {
        Layout::S390X
    } else if cfg!(target_arch = "sparc") {
        Layout::SPARC
    } else if cfg!(target_arch = "sparc64") {
        Layout::SPARC64
    } else if cfg!(all(target_arch = "mips", target_endian = "big")) {
        Layout::MIPS
    } else {
        unnamed()
    }
}

/// The layout of a machine that is not in the table, as far as Rust knows it. Its `long double` is assumed to be
/// `double`.
const fn unnamed() -> Layout {
    Layout {
        long: size_of::<std::ffi::c_long>() as u8,
        align_integer8: align_of::<u64>() as u8,
        align_integer16: align_of::<u128>() as u8,
        align_double: align_of::<f64>() as u8,
        align_max: 16,
        ..regular("native", ByteOrder::NATIVE, Machine::NATIVE.pointer, LongDouble::DOUBLE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        for layout in Layout::ALL {
            assert_eq!(layout.name.parse(), Ok(*layout));
        }
        let fault = "vax".parse::<Layout>().unwrap_err();
        assert_eq!((fault.code(), fault.path(), fault.actual()), (Code::Declaration, "layout", "vax"));
        assert!(fault.expectation().starts_with("one of x86_64, aarch64, "));
    }

    #[test]
    fn the_native_layout_is_what_rust_knows() {
        let known = Layout { name: Layout::NATIVE.name, long_double: Layout::NATIVE.long_double, ..unnamed() };
        assert_eq!(Layout::NATIVE, Layout { align_max: Layout::NATIVE.align_max, ..known });
        assert_eq!(Layout::NATIVE.machine(), Machine::NATIVE);
    }

    #[test]
    fn every_size_is_a_multiple_of_its_alignment() {
        for layout in Layout::ALL {
            for kind in FloatKind::ALL {
                for size in kind.slots().iter().map(|slot| slot.size) {
                    let align = layout.align_of(&Element::Float { kind, size });
                    assert!(usize::from(size).is_multiple_of(align), "{kind:?} {size} on {}", layout.name);
                }
            }
            assert!(layout.long_double.align <= layout.align_max);
        }
    }
}
