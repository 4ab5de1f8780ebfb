//! The ELF file: the machine it was compiled for, and its sections of debug information, expanded and with relocations applied.

use super::ctf;
use super::expand::{self, Budget};
use isoform_core::{ByteOrder, Code, Error, Layout, Result};
use object::{
    Architecture, CompressionFormat, Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationKind,
    RelocationTarget,
};

/// What is needed of an ELF file.
pub(super) struct File {
    pub(super) layout: Layout,
    pub(super) sections: Sections,
    pub(super) btf: Vec<u8>,
    pub(super) ctf: ctf::Parts,
    /// The oldest version of GCC that compiled some of it.
    pub(super) gcc: Option<u32>,
    pub(super) separate: Separate,
}

/// By what a program knows the file with its debug information.
#[derive(Debug, Default)]
pub(super) struct Separate {
    pub(super) build_id: Option<Box<[u8]>>,
    /// The name of the file, and the check sum of its bytes.
    pub(super) link: Option<(Box<str>, u32)>,
    /// The path and the build id of a file with what this program has in common with others.
    pub(super) shared: Option<(Box<str>, Box<[u8]>)>,
}

/// Sections of DWARF. Absent ones are empty.
#[derive(Debug)]
pub(super) struct Sections {
    /// The bytes of the file that has them.
    pub(super) file: usize,
    pub(super) order: ByteOrder,
    /// Whether they are split from a program.
    pub(super) is_split: bool,
    pub(super) info: Vec<u8>,
    /// Units of single types, which version 4 has in a section of their own.
    pub(super) types: Vec<u8>,
    pub(super) abbrev: Vec<u8>,
    pub(super) str: Vec<u8>,
    pub(super) line_str: Vec<u8>,
    pub(super) str_offsets: Vec<u8>,
    /// Where the parts of a package are, which has many split files: the indices of units and of types.
    pub(super) index: [Vec<u8>; 2],
}

/// A file that cannot be used.
pub(super) fn unusable(why: impl std::fmt::Display) -> Error {
    Error::new(Code::Declaration).at("program").found(why)
}

impl File {
    /// Reads the bytes of a file. Compressed sections become no more than the budget has.
    pub(super) fn read(bytes: &[u8], budget: &mut Budget) -> Result<File> {
        if !bytes.starts_with(b"\x7fELF") {
            return Err(unusable("not an ELF file").expected("a program or an object file in ELF"));
        }
        let file = object::File::parse(bytes).map_err(unusable)?;
        let layout = layout(&file)?;
        budget.file(bytes.len());
        let mut section = |name: &str| contents(&file, bytes.len(), name, budget);
        // A file that is split from a program has other names for the same.
        let info = section(".debug_info")?;
        let (is_split, info) = match info.is_empty() {
            true => (true, section(".debug_info.dwo")?),
            false => (false, info),
        };
        let mut named = |name: &str| section(&if is_split { format!("{name}.dwo") } else { name.into() });
        let sections = Sections {
            file: bytes.len(),
            order: layout.order,
            is_split,
            info,
            types: named(".debug_types")?,
            abbrev: named(".debug_abbrev")?,
            str: named(".debug_str")?,
            line_str: named(".debug_line_str")?,
            str_offsets: named(".debug_str_offsets")?,
            index: [section(".debug_cu_index")?, section(".debug_tu_index")?],
        };
        let (btf, ctf) = (section(".BTF")?, section(".ctf")?);
        let ctf = match ctf.is_empty() {
            true => ctf::Parts::default(),
            false => ctf::Parts { ctf, strings: section(".strtab")?, dynamic_strings: section(".dynstr")? },
        };
        let gcc = gcc(&section(".comment")?);
        Ok(File { separate: Separate::of(&file), layout, sections, btf, ctf, gcc })
    }

    /// Whether it has no debug information.
    pub(super) fn is_bare(&self) -> bool {
        self.sections.info.is_empty() && self.btf.is_empty() && self.ctf.ctf.is_empty()
    }
}

impl Separate {
    fn of(file: &object::File<'_>) -> Separate {
        let link = file.gnu_debuglink().ok().flatten().and_then(|(name, sum)| {
            let name = std::str::from_utf8(name).ok().filter(|name| !name.is_empty())?;
            Some((name.into(), sum))
        });
        let is_id = |id: &&[u8]| (2..=64).contains(&id.len());
        let build_id = file.build_id().ok().flatten().filter(is_id).map(Into::into);
        let shared = file.gnu_debugaltlink().ok().flatten().and_then(|(path, id)| {
            let path = std::str::from_utf8(path).ok().filter(|path| !path.is_empty())?;
            Some((path.into(), Some(id).filter(is_id)?.into()))
        });
        Separate { build_id, link, shared }
    }
}

/// The oldest version of GCC that a comment names, as in `GCC: (Debian 12.2.0-14) 12.2.0`.
fn gcc(comment: &[u8]) -> Option<u32> {
    let texts = comment.split(|&byte| byte == 0).filter_map(|text| std::str::from_utf8(text).ok());
    let version = |text: &str| text.split_once(") ")?.1.split('.').next()?.parse().ok();
    texts.filter(|text| text.starts_with("GCC: ")).map(|text| version(text).unwrap_or(0)).min()
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

/// The bytes of a section. An object file that was not linked has one for each unit of a single type: these follow one another, and
/// have no more bytes than the file.
fn contents(file: &object::File<'_>, mut left: usize, name: &str, budget: &mut Budget) -> Result<Vec<u8>> {
    // What older tools compressed has another name.
    let old = name.replacen(".debug_", ".zdebug_", 1);
    let is_named = |section: &object::Section<'_, '_>| section.name().is_ok_and(|found| found == name || found == old);
    let mut sections = file.sections().filter(is_named);
    let Some(first) = sections.next() else { return Ok(Vec::new()) };
    let mut all = part(file, &first, budget)?;
    if name.starts_with(".debug_info") || name.starts_with(".debug_types") {
        // Those of a hostile file may overlap.
        for section in sections {
            let size = section.file_range().map_or(0, |(_, size)| usize::try_from(size).unwrap_or(usize::MAX));
            left = left.checked_sub(size).ok_or_else(|| unusable(format_args!("sections {name} that overlap")))?;
            all.append(&mut part(file, &section, budget)?);
        }
    }
    Ok(all)
}

/// The bytes of one section, with its relocations applied. Only object files that were not linked have any.
fn part(file: &object::File<'_>, section: &object::Section<'_, '_>, budget: &mut Budget) -> Result<Vec<u8>> {
    let name = section.name().unwrap_or_default();
    let found = section.compressed_data().map_err(unusable)?;
    let size = || usize::try_from(found.uncompressed_size).map_err(unusable);
    let mut bytes = match found.format {
        CompressionFormat::None => found.data.to_vec(),
        CompressionFormat::Zlib => expand::zlib(found.data, size()?, budget)?,
        CompressionFormat::Zstandard => expand::zstandard(found.data, size()?, budget)?,
        _ => return Err(unusable(format_args!("a section {name} with a compression that is not known here"))),
    };
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
