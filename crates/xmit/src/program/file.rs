//! The ELF file: the machine it was compiled for, and its sections of debug information with relocations applied.

use isoform_core::{ByteOrder, Code, Error, Layout, Result};
use object::{Architecture, Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationKind, RelocationTarget};

/// What is needed of an ELF file.
pub(super) struct File {
    pub(super) layout: Layout,
    pub(super) sections: Sections,
    pub(super) btf: Vec<u8>,
    /// Whether GCC compiled some of it.
    pub(super) is_gcc: bool,
}

/// Sections of DWARF. Absent ones are empty.
#[derive(Debug)]
pub(super) struct Sections {
    pub(super) order: ByteOrder,
    pub(super) info: Vec<u8>,
    pub(super) abbrev: Vec<u8>,
    pub(super) str: Vec<u8>,
    pub(super) line_str: Vec<u8>,
    pub(super) str_offsets: Vec<u8>,
}

/// A file that cannot be used.
pub(super) fn unusable(why: impl std::fmt::Display) -> Error {
    Error::new(Code::Declaration).at("program").found(why)
}

impl File {
    pub(super) fn read(bytes: &[u8]) -> Result<File> {
        if !bytes.starts_with(b"\x7fELF") {
            return Err(unusable("not an ELF file").expected("a program or an object file in ELF"));
        }
        let file = object::File::parse(bytes).map_err(unusable)?;
        let layout = layout(&file)?;
        let section = |name| contents(&file, name);
        let sections = Sections {
            order: layout.order,
            info: section(".debug_info")?,
            abbrev: section(".debug_abbrev")?,
            str: section(".debug_str")?,
            line_str: section(".debug_line_str")?,
            str_offsets: section(".debug_str_offsets")?,
        };
        let btf = section(".BTF")?;
        if sections.info.is_empty() && btf.is_empty() {
            return Err(unusable("no debug information").expected("a program that was compiled with -g or -gbtf"));
        }
        let is_gcc = section(".comment")?.windows(5).any(|word| word == b"GCC: ");
        Ok(File { layout, sections, btf, is_gcc })
    }
}

fn layout(file: &object::File<'_>) -> Result<Layout> {
    let little = file.is_little_endian();
    Ok(match (file.architecture(), little) {
        (Architecture::X86_64, true) => Layout::X86_64,
        (Architecture::I386, true) => Layout::I386,
        (Architecture::Aarch64, true) => Layout::AARCH64,
        (Architecture::Arm, true) => Layout::ARMV7,
        (Architecture::Riscv64, true) => Layout::RISCV64,
        (Architecture::PowerPc, false) => Layout::POWERPC,
        (Architecture::PowerPc64, false) => Layout::POWERPC64,
        (Architecture::PowerPc64, true) => Layout::POWERPC64LE,
        (Architecture::S390x, false) => Layout::S390X,
        (Architecture::Sparc | Architecture::Sparc32Plus, false) => Layout::SPARC,
        (Architecture::Sparc64, false) => Layout::SPARC64,
        (Architecture::Mips, false) => Layout::MIPS,
        (other, _) => {
            let order = if little { "little" } else { "big" };
            return Err(unusable(format_args!("{order}-endian {other:?}")).expected("a machine of spec/layouts.md"));
        }
    })
}

/// The bytes of a section, with its relocations applied. Only object files that were not linked have any.
fn contents(file: &object::File<'_>, name: &str) -> Result<Vec<u8>> {
    let Some(section) = file.section_by_name(name) else { return Ok(Vec::new()) };
    let compressed = section.compressed_file_range().map_err(unusable)?;
    if compressed.format != object::CompressionFormat::None {
        return Err(unusable(format_args!("a compressed section {name}"))
            .expected("sections without compression: `objcopy --decompress-debug-sections` makes them"));
    }
    let mut bytes = section.data().map_err(unusable)?.to_vec();
    for (offset, relocation) in section.relocations() {
        let size = match (relocation.kind(), relocation.size(), relocation.flags()) {
            (RelocationKind::Absolute, 32, _) => 4,
            (RelocationKind::Absolute, 64, _) => 8,
            (RelocationKind::Unknown, _, RelocationFlags::Elf { r_type }) => match unaligned(file, r_type) {
                Some(size) => size,
                None => continue, // addresses of variables, which no type needs
            },
            _ => continue,
        };
        let target = match relocation.target() {
            RelocationTarget::Symbol(index) => file.symbol_by_index(index).map_err(unusable)?.address(),
            _ => 0,
        };
        let slot = usize::try_from(offset).ok().and_then(|at| bytes.get_mut(at..at.checked_add(size)?));
        let Some(slot) = slot else { return Err(unusable(format_args!("a relocation beyond section {name}"))) };
        let little = file.is_little_endian();
        let kept = if relocation.has_implicit_addend() { number(slot, little) } else { 0 };
        let value = target.wrapping_add(relocation.addend() as u64).wrapping_add(kept);
        match little {
            true => slot.copy_from_slice(&value.to_le_bytes()[..size]),
            false => slot.copy_from_slice(&value.to_be_bytes()[8 - size..]),
        }
    }
    Ok(bytes)
}

/// The bytes of an absolute relocation at an unaligned place, which some machines number differently.
fn unaligned(file: &object::File<'_>, kind: u32) -> Option<usize> {
    match (file.architecture(), kind) {
        (Architecture::PowerPc, 24) | (Architecture::Sparc | Architecture::Sparc32Plus | Architecture::Sparc64, 23) => {
            Some(4)
        }
        (Architecture::PowerPc64, 24) => Some(4),
        (Architecture::PowerPc64, 43) | (Architecture::Sparc64, 54) => Some(8),
        _ => None,
    }
}

fn number(bytes: &[u8], little: bool) -> u64 {
    let push = |word, &byte: &u8| word << 8 | u64::from(byte);
    if little { bytes.iter().rev().fold(0, push) } else { bytes.iter().fold(0, push) }
}
