//! The names and characters of XML 1.0.

use isoform_core::{Code, Error, Result};

/// The prefix of a name, and the name without it.
pub(super) fn split(name: &str) -> Result<(Option<&str>, &str)> {
    let (prefix, local) = name.split_once(':').map_or((None, name), |(prefix, local)| (Some(prefix), local));
    match prefix.is_none_or(is_local) && is_local(local) {
        true => Ok((prefix, local)),
        false => Err(Error::new(Code::Text).expected("a name of XML").found(crate::lexical::short(name))),
    }
}

/// Whether a text is a name without a prefix.
pub(super) fn is_local(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(is_start) && chars.all(|c| is_start(c) || is_inner(c))
}

fn is_start(c: char) -> bool {
    matches!(c,
        'a'..='z' | 'A'..='Z' | '_' | '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}' | '\u{f8}'..='\u{2ff}' | '\u{370}'..='\u{37d}'
        | '\u{37f}'..='\u{1fff}' | '\u{200c}'..='\u{200d}' | '\u{2070}'..='\u{218f}' | '\u{2c00}'..='\u{2fef}' | '\u{3001}'..='\u{d7ff}'
        | '\u{f900}'..='\u{fdcf}' | '\u{fdf0}'..='\u{fffd}' | '\u{10000}'..='\u{effff}')
}

fn is_inner(c: char) -> bool {
    matches!(c, '0'..='9' | '-' | '.' | '\u{b7}' | '\u{300}'..='\u{36f}' | '\u{203f}'..='\u{2040}')
}

/// Whether a document may have a character.
pub(super) fn is_char(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}
