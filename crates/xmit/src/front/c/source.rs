//! The tokens of a C header as its declarations see them: behind directives and macros.
//!
//! What the header itself does not decide is not guessed. A condition on a macro that the header does not define leaves a doubt with
//! all that stands within it; [`super`] refuses the records that such a doubt can change.

use super::directives::Group;
use super::macros::{Macro, Pushed};
use super::pack::{File, Pack};
use crate::front::link::Place;
use crate::front::tokens::{MAX_LEVELS, Sort, Tokens, short};
use isoform_core::{Code, Error, Result};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt::Display;

/// One token, of the text or of a macro's.
#[derive(Clone, Debug)]
pub(super) struct Token<'t> {
    pub(super) kind: Sort,
    pub(super) text: Cow<'t, str>,
    pub(super) line: u32,
    pub(super) lead: Vec<&'t str>,
    pub(super) trail: Vec<&'t str>,
    /// Whether it is the name of a macro that has been expanded around it.
    pub(super) painted: bool,
    /// The doubt that it stands in, by its number.
    pub(super) doubt: Option<usize>,
}

impl<'t> Token<'t> {
    pub(super) fn new(kind: Sort, text: impl Into<Cow<'t, str>>, line: u32) -> Token<'t> {
        let (lead, trail) = (Vec::new(), Vec::new());
        Token { kind, text: text.into(), line, lead, trail, painted: false, doubt: None }
    }

    pub(super) fn is(&self, text: &str) -> bool {
        matches!(self.kind, Sort::Word | Sort::Mark) && self.text == text
    }
}

/// What waits in front of the text.
pub(super) enum Queued<'t> {
    Token(Token<'t>),
    /// The end of what a macro expanded to.
    EndOf(&'t str),
}

pub(super) struct Source<'t> {
    name: &'t str,
    pub(super) raw: Tokens<'t>,
    next: Token<'t>,
    pub(super) queue: VecDeque<Queued<'t>>,
    /// Whether there is no text behind the queue: it is an argument, or a condition.
    pub(super) closed: bool,
    /// Macros, each with how many files had been included when it became known.
    pub(super) macros: HashMap<&'t str, (Macro<'t>, usize)>,
    /// What `#pragma push_macro` kept, by the names of macros.
    pub(super) kept: HashMap<String, Pushed<'t>>,
    /// The macros in whose expansion the next token stands.
    pub(super) open: HashSet<&'t str>,
    pub(super) groups: Vec<Group>,
    pub(super) pack: Pack,
    /// How many files have been included.
    pub(super) includes: usize,
    /// The last one of each kind.
    pub(super) files: [Option<File<'t>>; 3],
    /// The name of a guard around the whole header that a file may have defined, and why it is in doubt.
    pub(super) guard: Option<(&'t str, usize)>,
    /// What macros have cost.
    pub(super) spent: usize,
    /// Arguments within arguments that are expanded.
    pub(super) levels: usize,
    /// Comments of macro names that left nothing behind.
    pub(super) lead: Vec<&'t str>,
    pub(super) trail: Vec<&'t str>,
    /// Why each doubt is one.
    doubts: Vec<Error>,
    /// The first doubt since [`Source::begin`].
    doubt: Option<usize>,
    /// How many brackets are open.
    depth: usize,
    /// How many were at [`Source::begin`].
    base: usize,
    /// Whether nothing more can be read.
    failed: bool,
}

impl<'t> Source<'t> {
    pub(super) fn new(name: &'t str, text: &'t str) -> Result<Source<'t>> {
        let mut source = Source {
            name,
            raw: Tokens::in_c(name, None, text)?,
            next: Token::new(Sort::End, "", 1),
            queue: VecDeque::new(),
            closed: false,
            macros: super::macros::known(),
            kept: HashMap::new(),
            open: HashSet::new(),
            groups: Vec::new(),
            pack: Pack::default(),
            includes: 0,
            files: [None; 3],
            guard: None,
            spent: 0,
            levels: 0,
            lead: Vec::new(),
            trail: Vec::new(),
            doubts: Vec::new(),
            doubt: None,
            depth: 0,
            base: 0,
            failed: false,
        };
        source.next()?;
        Ok(source)
    }

    pub(super) fn name(&self) -> &'t str {
        self.name
    }

    // Reading.

    pub(super) fn peek(&self) -> &Token<'t> {
        &self.next
    }

    pub(super) fn is(&self, text: &str) -> bool {
        self.next.is(text)
    }

    pub(super) fn is_word(&self) -> bool {
        self.next.kind == Sort::Word
    }

    /// Takes the next token.
    pub(super) fn next(&mut self) -> Result<Token<'t>> {
        let mut next = self.expand().inspect_err(|_| self.failed = true)?;
        if !self.lead.is_empty() || !self.trail.is_empty() {
            next.lead.splice(0..0, self.lead.drain(..));
            next.trail.splice(0..0, self.trail.drain(..));
        }
        let taken = std::mem::replace(&mut self.next, next);
        self.doubt = self.doubt.or(taken.doubt);
        if taken.kind == Sort::Mark {
            match &*taken.text {
                "{" | "(" | "[" => self.depth += 1,
                "}" | ")" | "]" => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
        Ok(taken)
    }

    /// Puts a word back that was taken last.
    pub(super) fn put_back(&mut self, word: Token<'t>) {
        let next = std::mem::replace(&mut self.next, word);
        self.queue.push_front(Queued::Token(Token { painted: true, ..next }));
    }

    pub(super) fn take(&mut self, text: &str) -> Result<bool> {
        let is_next = self.is(text);
        if is_next {
            self.next()?;
        }
        Ok(is_next)
    }

    pub(super) fn expect(&mut self, text: &str) -> Result<()> {
        match self.take(text)? {
            true => Ok(()),
            false => Err(self.unexpected(format_args!("`{text}`"))),
        }
    }

    pub(super) fn word(&mut self, expected: &str) -> Result<Token<'t>> {
        match self.is_word() {
            true => self.next(),
            false => Err(self.unexpected(expected)),
        }
    }

    /// How many brackets are open before the next token.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    pub(super) fn place(&self) -> Place {
        Place { document: 0, line: self.next.line, pointer: None }
    }

    /// What `#pragma pack` says at the next token: the greatest alignment of a field.
    pub(super) fn pack(&self) -> Result<Option<usize>> {
        match self.pack.doubt {
            Some(doubt) => Err(self.doubts[doubt].clone()),
            None => Ok(self.pack.now),
        }
    }

    /// Begins a declaration, for [`Source::doubt`].
    pub(super) fn begin(&mut self) {
        self.doubt = None;
        self.base = self.depth;
    }

    /// Puts what was read since [`Source::begin`] in doubt, unless it ends with the token that is being taken.
    pub(super) fn doubt_rest(&mut self, error: Error) {
        if self.depth > self.base || !self.is(";") {
            let doubt = self.note(error);
            self.doubt.get_or_insert(doubt);
        }
    }

    /// Why what was read since [`Source::begin`] may be something else.
    pub(super) fn doubt(&self) -> Option<Error> {
        self.doubt.map(|doubt| self.doubts[doubt].clone())
    }

    /// Notes a doubt, and returns its number.
    pub(super) fn note(&mut self, error: Error) -> usize {
        self.doubts.push(error);
        self.doubts.len() - 1
    }

    /// Gives the whole document up.
    pub(super) fn fail(&mut self) {
        self.failed = true;
    }

    /// Whether an error has left nothing that can be read.
    pub(super) fn failed(&self) -> bool {
        self.failed
    }

    // Errors.

    pub(super) fn unexpected(&self, expected: impl Display) -> Error {
        let error = self.fault(self.next.line).expected(expected);
        match self.next.kind {
            Sort::End => error.found("the end"),
            _ => error.found(format_args!("`{}`", short(&self.next.text))),
        }
    }

    pub(super) fn fault(&self, line: u32) -> Error {
        self.fault_of(Code::Declaration, line)
    }

    pub(super) fn fault_of(&self, code: Code, line: u32) -> Error {
        Error::new(code).at(format!("{}:{line}", self.name))
    }

    pub(super) fn check_levels(&self, levels: usize) -> Result<()> {
        match levels > MAX_LEVELS {
            false => Ok(()),
            true => {
                let error = self.fault_of(Code::Depth, self.next.line);
                Err(error.expected(format_args!("at most {MAX_LEVELS} levels within each other")))
            }
        }
    }
}
