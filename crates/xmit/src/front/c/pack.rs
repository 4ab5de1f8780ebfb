//! `#pragma pack` as GCC obeys it, and what else changes the layout of the structs behind it.

use super::source::{Source, Token};
use super::types::{is_attribute, may_pack};
use crate::front::tokens::{Sort, Tokens, short};
use isoform_core::Result;

/// What `#pragma pack` has said so far.
#[derive(Debug, Default)]
pub(super) struct Pack {
    /// The greatest alignment of a field; `None` for the natural one.
    pub(super) now: Option<usize>,
    /// What held before each `push`, with the name of the push.
    stack: Vec<(Option<String>, Option<usize>)>,
    /// Why it is not known, by the number of a doubt.
    pub(super) doubt: Option<usize>,
}

/// Pragmas that lay out structs in a way that no record has.
const REFUSED: [&str; 7] =
    ["scalar_storage_order", "ms_struct", "options", "align", "reverse_bitfields", "bytealign", "pack_matrix"];

/// The macros that an included file may define.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Included {
    /// Those of [`PLAIN`] headers.
    Plain,
    /// Those of C's own headers, which have others besides those of the standard: `PATH_MAX`.
    Standard,
    Anything,
}

/// The last file of a kind that has been included.
#[derive(Clone, Copy, Debug)]
pub(super) struct File<'t> {
    kind: Included,
    /// How many files had been included with it.
    number: usize,
    text: &'t str,
    line: u32,
    /// Why a macro may be another one behind it, by the number of a doubt.
    doubt: Option<usize>,
}

/// Headers of C itself whose macros have known names on every system.
const PLAIN: &str = "assert.h inttypes.h iso646.h stdalign.h stdarg.h stdbool.h stddef.h stdint.h stdnoreturn.h";
/// How the names of their macros begin, besides those without capital letters.
const PLAIN_MACROS: [&str; 12] =
    ["_", "INT", "UINT", "SIZE_", "SSIZE_", "PTRDIFF_", "SIG_ATOMIC_", "WCHAR_", "WINT_", "PRI", "SCN", "NULL"];

/// The other headers of C itself. Other files may have any macro.
const STANDARD: &str = "complex.h ctype.h errno.h fenv.h float.h limits.h locale.h math.h setjmp.h signal.h stdatomic.h stdbit.h \
    stdio.h stdlib.h string.h tgmath.h threads.h time.h uchar.h wchar.h wctype.h";

impl Included {
    /// The macros of a file.
    fn of(file: &str) -> Included {
        let is_in = |files: &str| files.split_whitespace().any(|known| known == file);
        match () {
            () if is_in(PLAIN) => Included::Plain,
            () if is_in(STANDARD) => Included::Standard,
            () => Included::Anything,
        }
    }

    /// Whether a macro of this name may be one of them. A guard against a second inclusion is a name that other headers avoid.
    fn has(self, name: &str, is_guard: bool) -> bool {
        match self {
            Included::Plain | Included::Standard if is_guard => false,
            Included::Plain => {
                let is_small = !name.contains(char::is_uppercase);
                is_small || PLAIN_MACROS.iter().any(|start| name.starts_with(start))
            }
            Included::Standard | Included::Anything => true,
        }
    }
}

/// Whether a file looks like one that packs the structs behind it.
fn packs(file: &str) -> bool {
    let stem = file.split('.').next().unwrap_or_default().trim_end_matches(|c: char| c.is_ascii_digit());
    let is_one = |word: &str| matches!(word, "pack" | "packed" | "unpack" | "packon" | "packoff");
    stem.split(['_', '-']).any(is_one) || ["pushpack", "pshpack", "poppack"].iter().any(|part| stem.contains(part))
}

impl Pack {
    pub(super) fn push(&mut self, name: Option<String>, most: Option<usize>) {
        self.stack.push((name, self.now));
        self.now = most;
    }

    /// Returns to what held before a push: the last one, or the last of that name. Says whether there is one.
    pub(super) fn pop(&mut self, name: Option<&str>) -> bool {
        let is_named = |(known, _): &(Option<String>, Option<usize>)| name.is_none() || known.as_deref() == name;
        let Some(place) = self.stack.iter().rposition(is_named) else { return false };
        self.now = self.stack[place].1;
        self.stack.truncate(place);
        true
    }

    /// Obeys what stands in the parentheses of `#pragma pack`; `None` if GCC would not.
    fn obey(&mut self, words: &[&Token<'_>]) -> Option<()> {
        let mut parts = words.split(|word| word.is(","));
        let one = |part: &[&Token<'_>]| match part {
            [only] => Some((only.kind, only.text.to_string())),
            _ => None,
        };
        let number = |(kind, text): &(Sort, String)| match (kind, &**text) {
            (Sort::Number, "0") => Some(None),
            (Sort::Number, "1" | "2" | "4" | "8" | "16") => text.parse().ok().map(Some),
            _ => None,
        };
        if words.is_empty() {
            self.now = None;
            return Some(());
        }
        let first = one(parts.next()?)?;
        let rest: Vec<(Sort, String)> = parts.map(one).collect::<Option<_>>()?;
        match (&*first.1, &rest[..]) {
            (_, []) if first.0 == Sort::Number => self.now = number(&first)?,
            ("push", []) => self.push(None, self.now),
            // Without small letters, it may be a number that another file defines.
            ("push", [(Sort::Word, name)]) if name.contains(char::is_lowercase) => {
                self.push(Some(name.clone()), self.now)
            }
            ("push", [most]) => self.push(None, number(most)?),
            ("push", [(Sort::Word, name), most]) => self.push(Some(name.clone()), number(most)?),
            ("pop", []) => return self.pop(None).then_some(()),
            ("pop", [(Sort::Word, name)]) => return self.pop(Some(name)).then_some(()),
            _ => return None,
        }
        Some(())
    }
}

impl<'t> Source<'t> {
    /// Obeys the text of a pragma.
    pub(super) fn pragma(&mut self, text: &str, line: u32) -> Result<()> {
        let word = text.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default();
        if REFUSED.contains(&word) {
            let error = self.fault(line).expected("no pragma that may change the layout, but pack");
            self.doubt_pack(error.found(format_args!("#pragma {}", short(text))));
        } else if matches!(word, "push_macro" | "pop_macro") {
            let words = self.own_words(&text[word.len()..], line).unwrap_or_default();
            if let [open, name, close] = &words[..]
                && (open.is("("), name.kind, close.is(")")) == (true, Sort::Text, true)
            {
                self.keep_macro(&name.text, word == "push_macro");
            }
        } else if word == "pack" && self.pack.doubt.is_none() {
            let wrong = self.fault(line).expected("#pragma pack as GCC knows it, with what it takes back");
            let wrong = wrong.found(format_args!("#pragma {}", short(text)));
            let words = self.own_words(&text[word.len()..], line);
            let words = words.map(|words| self.expand_all(words)).transpose()?.unwrap_or_default();
            let words: Vec<&Token<'t>> = words.iter().collect();
            let obeyed = match &words[..] {
                _ if words.iter().any(|word| word.doubt.is_some()) => None,
                [open, inner @ .., close] if open.is("(") && close.is(")") => self.pack.obey(inner),
                _ => None,
            };
            match (obeyed, self.group_doubt()) {
                (None, _) => self.doubt_pack(wrong),
                (Some(()), Some(doubt)) => _ = self.pack.doubt.get_or_insert(doubt),
                (Some(()), None) => {}
            }
        }
        Ok(())
    }

    /// The words of a text that need not be the document's.
    fn own_words(&self, text: &str, line: u32) -> Option<Vec<Token<'t>>> {
        let mut tokens = Tokens::in_c("", Some(line), text).ok()?;
        let mut words = Vec::new();
        while tokens.peek().kind != Sort::End && words.len() < 64 {
            let token = tokens.next().ok()?;
            words.push(Token::new(token.kind, token.text.to_owned(), line));
        }
        Some(words)
    }

    /// `#include <pshpack1.h>` is `#pragma pack(push, 1)`, and `<poppack.h>` takes it back. Other documents are not read.
    pub(super) fn include(&mut self, text: &'t str, line: u32) {
        let inside = self.fault(line).expected("#include between declarations, since other files are not read");
        self.doubt_rest(inside.found(format_args!("#include {}", short(text))));
        self.includes += 1;
        let name = text.trim_start_matches(['<', '"']);
        let name = name.find(['>', '"']).map_or(name, |end| &name[..end]);
        let file = name.rsplit(['/', '\\']).next().unwrap_or_default();
        let obeyed = match &*file.to_ascii_lowercase() {
            "pshpack1.h" => Some(1),
            "pshpack2.h" => Some(2),
            "pshpack4.h" => Some(4),
            "pshpack8.h" => Some(8),
            "poppack.h" if self.pack.pop(None) => None,
            "poppack.h" => {
                let error =
                    self.fault(line).expected("<pshpack1.h>, 2, 4 or 8 before").found(format_args!("#include {text}"));
                return self.doubt_pack(error);
            }
            file if packs(file) => {
                self.included(Included::Anything, text, line);
                let error = self
                    .fault(line)
                    .expected("no file that may pack structs, but <pshpack1.h>, 2, 4, 8 and <poppack.h>");
                return self.doubt_pack(error.found(format_args!("#include {}", short(text))));
            }
            file => {
                return self.included(Included::of(file), text, line);
            }
        };
        if obeyed.is_some() {
            self.pack.push(None, obeyed);
        }
        if let Some(doubt) = self.group_doubt() {
            self.pack.doubt.get_or_insert(doubt);
        }
    }

    fn included(&mut self, kind: Included, text: &'t str, line: u32) {
        self.files[kind as usize] = Some(File { kind, number: self.includes, text, line, doubt: None });
    }

    /// Whether a file may define a macro of this name that has been included behind so many others.
    pub(super) fn may_define(&self, name: &str, is_guard: bool, since: usize) -> bool {
        self.files.iter().flatten().any(|file| file.number > since && file.kind.has(name, is_guard))
    }

    /// The doubt in what a macro is that was known when so many files had been included.
    pub(super) fn doubt_since(&mut self, name: &str, since: usize) -> Option<usize> {
        let may_define =
            |file: &Option<File<'_>>| file.is_some_and(|file| file.number > since && file.kind.has(name, false));
        let at = self.files.iter().position(may_define)?;
        let File { text, line, doubt, .. } = self.files[at]?;
        let doubt = doubt.unwrap_or_else(|| {
            let error = self
                .fault(line)
                .expected("the definition of a macro behind #include, since the file may define another");
            self.note(error.found(format_args!("#include {}", short(text))))
        });
        self.files[at].as_mut()?.doubt = Some(doubt);
        Some(doubt)
    }

    /// `_Pragma("pack(1)")`.
    pub(super) fn pragma_operator(&mut self, line: u32) -> Result<()> {
        let mut text = None;
        for at in 0..3 {
            let token = self.expand()?;
            let fits = match at {
                0 => token.is("("),
                1 => token.kind == Sort::Text,
                _ => token.is(")"),
            };
            if !fits {
                return Err(self
                    .fault(line)
                    .expected("_Pragma(\"..\")")
                    .found(format_args!("`{}`", short(&token.text))));
            }
            if at == 1 {
                text = Some(token.text);
            }
        }
        let text = text.unwrap_or_default().replace("\\\"", "\"");
        self.pragma(text.trim(), line)
    }

    /// Obeys a word at the top that the header does not declare, with what it is given, if there is something. It may be a macro that
    /// packs the structs behind it.
    pub(super) fn stray(&mut self, word: &Token<'t>, given: &[String], last: u32) {
        let next = self.peek();
        let ends = next.is(";") || next.kind == Sort::End;
        let is_alone = ends || next.line > last;
        let is_definition = next.is("{") || given.iter().any(|given| given == "{");
        let begins = matches!(&*next.text, "struct" | "union" | "enum" | "typedef") || is_attribute(&next.text);
        let is_loud = !word.text.contains(char::is_lowercase);
        // `start(struct parser *parser)`: macros are given single words.
        let is_function = !is_loud && given.len() > 3 && given[2] != ",";
        let packs = match (may_pack(&word.text), given) {
            (Some(true), _) => !is_function && (is_alone || word.text.to_ascii_lowercase().contains("push")),
            (Some(false), _) => false,
            (None, []) => is_loud && (ends || is_alone && begins),
            (None, [_, _]) => is_loud && is_alone,
            (None, [_, number, _]) => is_loud && is_alone && number.starts_with(|c: char| c.is_ascii_digit()),
            (None, _) => false,
        };
        if packs && !is_definition {
            let error = self
                .fault(word.line)
                .expected("no word alone that the header does not declare, since it may pack structs");
            self.doubt_pack(error.found(short(&word.text)));
        }
    }

    fn doubt_pack(&mut self, error: isoform_core::Error) {
        let doubt = self.note(error);
        self.pack.doubt.get_or_insert(doubt);
    }
}
