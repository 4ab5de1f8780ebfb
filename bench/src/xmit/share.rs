//! How much of a program's machine code the parser of XML is (paper 003, section 4.6), by the names in its table of symbols.

use crate::{Line, Result};
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};
use std::path::Path;

/// The figures, and the crate of each, whose name is in the symbols of its functions.
const PARTS: [(&str, &str); 2] = [("parser_bytes", "roxmltree"), ("xmit_code_bytes", "isoform_xmit")];

/// Adds a line about a program, if it is in a format that has sizes of functions, and was not stripped.
pub(super) fn run(program: &Path, line: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
    let bytes = std::fs::read(program)?;
    let Ok(file) = object::File::parse(&*bytes) else {
        return line(Line::skipped("the parser's share of this program", "a program in ELF"));
    };
    let code: u64 = file
        .sections()
        .filter(|section| section.kind() == object::SectionKind::Text)
        .map(|section| section.size())
        .sum();
    let functions = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text);
    let mut parts = [0; PARTS.len()];
    for symbol in functions {
        let name = symbol.name().unwrap_or_default();
        // A function of one crate that is made for types of another has both names. It is counted once, for the parser.
        if let Some(part) = PARTS.iter().position(|(_, part)| name.contains(part)) {
            parts[part] += symbol.size();
        }
    }
    if parts[0] == 0 {
        return line(Line::skipped("the parser's share of this program", "a program with its table of symbols"));
    }
    let about = Line::of("xmit").word("parts", "machine code").count("code_bytes", code as usize);
    let about = PARTS.iter().zip(parts).fold(about, |about, ((key, _), bytes)| about.count(key, bytes as usize));
    let percent = 100.0 * parts[0] as f64 / code as f64;
    line(about.figure("parser_percent", percent))
}
