//! What packs and aligns structs, members and typedefs in C: attributes, `_Alignas`, `__declspec`.

use super::source::{Source, Token};
use super::{Reader, collect};
use isoform_core::{Error, Result};

/// What the attributes of one declaration say.
#[derive(Clone, Debug, Default)]
pub(super) struct Attributes {
    pub(super) packed: bool,
    /// The greatest alignment that they ask for.
    pub(super) align: Option<usize>,
    /// Whether they ask for two alignments. Compilers choose different ones for a type.
    pub(super) is_ambiguous: bool,
    /// Whether an alignment is of Microsoft's kind, which `#pragma pack` does not reduce.
    pub(super) is_declspec: bool,
    /// Where the first word stands that may change the layout, and the word.
    pub(super) first: Option<(u32, String)>,
    /// Why no record can have what they say.
    pub(super) fault: Option<Error>,
}

impl Attributes {
    fn align(&mut self, bytes: usize) {
        self.is_ambiguous |= self.align.is_some_and(|known| known != bytes);
        self.align = self.align.max(Some(bytes));
    }

    /// Whether they may change the layout.
    pub(super) fn change(&self) -> bool {
        self.packed || self.align.is_some() || self.fault.is_some()
    }

    /// The error of attributes in a place where no record can have them.
    pub(super) fn refused(&self, source: &Source<'_>, expected: &str) -> Option<Error> {
        let error = self.first.as_ref().filter(|_| self.change())?;
        let own = || source.fault(error.0).expected(expected).found(&error.1);
        Some(self.fault.clone().unwrap_or_else(own))
    }

    /// The error of a type with two alignments.
    pub(super) fn ambiguous(&self, source: &Source<'_>) -> Option<Error> {
        let (line, word) = self.first.as_ref().filter(|_| self.is_ambiguous)?;
        Some(source.fault(*line).expected("one alignment of a type, since compilers choose differently").found(word))
    }
}

/// Attributes that change no layout.
const HARMLESS: &str = "access alias alloc_size always_inline artificial assume_aligned cleanup cold common const constructor \
    counted_by deprecated designated_init destructor dllexport dllimport enum_extensibility error externally_visible fallthrough \
    flag_enum flatten format format_arg gnu_inline hot ifunc leaf malloc may_alias maybe_unused no_sanitize no_sanitize_address nocommon \
    nodiscard noinline noipa nonnull nonstring noreturn nothrow optimize pure retain returns_nonnull section selectany sentinel \
    tls_model unavailable unused used uuid visibility warn_if_not_aligned warn_unused_result warning weak weakref";

impl Reader {
    /// Reads attributes, if some are next, and says whether there were any.
    pub(super) fn attributes(&self, source: &mut Source<'_>, into: &mut Attributes) -> Result<bool> {
        let mut any = false;
        loop {
            let (line, word) = (source.peek().line, source.peek().text.clone());
            match &*word {
                "__attribute__" | "__attribute" if source.is_word() => {
                    source.next()?;
                    source.expect("(")?;
                    source.expect("(")?;
                    let words = collect(source, ")")?;
                    source.expect(")")?;
                    self.list(source, &words, into);
                }
                "_Alignas" | "alignas" if source.is_word() => {
                    source.next()?;
                    source.expect("(")?;
                    let words = collect(source, ")")?;
                    self.aligned(source, line, "_Alignas", &words, into);
                }
                "__declspec" | "_declspec" if source.is_word() => {
                    source.next()?;
                    source.expect("(")?;
                    let words = collect(source, ")")?;
                    self.list(source, &words, into);
                    into.is_declspec |= into.align.is_some();
                }
                "[" if source.is("[") => {
                    source.next()?;
                    self.bracketed(source, into)?;
                }
                _ => return Ok(any),
            }
            any = true;
        }
    }

    /// Reads the rest of `[[gnu::packed]]`, behind its first bracket.
    pub(super) fn bracketed(&self, source: &mut Source<'_>, into: &mut Attributes) -> Result<()> {
        source.expect("[")?;
        let words = collect(source, "]")?;
        source.expect("]")?;
        self.list(source, &words, into);
        Ok(())
    }

    /// Takes the attributes of a list: names, each perhaps with values in parentheses.
    fn list(&self, source: &Source<'_>, words: &[Token<'_>], into: &mut Attributes) {
        let mut at = 0;
        while at < words.len() {
            let mut name = &words[at];
            if words.get(at + 1).is_some_and(|next| next.is("::")) && matches!(&*name.text, "gnu" | "__gnu__") {
                at += 2;
                let Some(behind) = words.get(at) else { return };
                name = behind;
            }
            at += 1;
            let mut values = None;
            if words.get(at).is_some_and(|next| next.is("(")) {
                let (from, mut open) = (at + 1, 0);
                while let Some(word) = words.get(at) {
                    at += 1;
                    open += i32::from(word.is("(")) - i32::from(word.is(")"));
                    if open == 0 {
                        break;
                    }
                }
                values = Some(&words[from..at.saturating_sub(1).max(from)]);
            }
            if !name.is(",") {
                self.one(source, name, values, into);
            }
        }
    }

    fn one(&self, source: &Source<'_>, name: &Token<'_>, values: Option<&[Token<'_>]>, into: &mut Attributes) {
        let word = name.text.strip_prefix("__").and_then(|word| word.strip_suffix("__")).unwrap_or(&name.text);
        let refused = |expected: &str| source.fault(name.line).expected(expected).found(&name.text);
        match (word, values) {
            ("packed", None) => {
                into.first.get_or_insert((name.line, word.to_owned()));
                into.packed = true;
            }
            ("aligned" | "align", Some(values)) => self.aligned(source, name.line, word, values, into),
            ("aligned", None) => {
                into.first.get_or_insert((name.line, word.to_owned()));
                let error = refused("aligned with a number, since the greatest alignment differs between processors");
                into.fault.get_or_insert(error);
            }
            _ if HARMLESS.split_whitespace().any(|known| known == word) => {}
            _ => {
                into.first.get_or_insert((name.line, word.to_owned()));
                into.fault.get_or_insert(refused("no attribute that may change the layout, but packed and aligned"));
            }
        }
    }

    fn aligned(&self, source: &Source<'_>, line: u32, word: &str, values: &[Token<'_>], into: &mut Attributes) {
        into.first.get_or_insert((line, word.to_owned()));
        match self.constant(source, values, line) {
            Ok(0) if word == "_Alignas" => {}
            Ok(bytes @ 1..=65_536) if bytes & (bytes - 1) == 0 => into.align(bytes as usize),
            Ok(bytes) => {
                let error = source.fault(line).expected("an alignment that is a power of two, up to 65536");
                into.fault.get_or_insert(error.found(bytes));
            }
            Err(error) => _ = into.fault.get_or_insert(error),
        }
    }
}
