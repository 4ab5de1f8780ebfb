//! The lines of a C header that begin with `#`.

use super::constant;
use super::macros::{Kept, Macro};
use super::source::{Source, Token};
use crate::front::tokens::{Sort, short};
use isoform_core::{Error, Result};

/// The lines between `#if` and `#endif`: what becomes of those up to the next `#elif` or `#else`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    Taken,
    /// They are passed over, as are all that follow.
    Done,
    /// They are passed over, and the next may be taken.
    Open,
    /// The header does not decide it; the number is that of a doubt.
    Doubtful(usize),
}

impl Group {
    pub(super) fn doubt(&self) -> Option<usize> {
        match self {
            Group::Doubtful(doubt) => Some(*doubt),
            _ => None,
        }
    }
}

impl<'t> Source<'t> {
    /// The next token of the text, behind directives.
    pub(super) fn pull_text(&mut self) -> Result<Token<'t>> {
        while self.raw.peek().kind == Sort::Directive {
            let (text, line) = (self.raw.peek().text, self.raw.peek().line);
            self.directive(text, line)?;
            if self.is_skipping() {
                self.raw.skip_lines();
            }
            let token = self.raw.next()?;
            self.trail.extend(token.trail);
        }
        let token = self.raw.next()?;
        if token.kind == Sort::End && !self.groups.is_empty() {
            return Err(self.fault(token.line).expected("`#endif`").found("the end"));
        }
        let text = token.text.into();
        let doubt = self.group_doubt();
        Ok(Token {
            kind: token.kind,
            text,
            line: token.line,
            lead: token.lead,
            trail: token.trail,
            painted: false,
            doubt,
        })
    }

    fn is_skipping(&self) -> bool {
        self.groups.iter().any(|group| matches!(group, Group::Done | Group::Open))
    }

    /// The doubt in which the next line stands.
    pub(super) fn group_doubt(&self) -> Option<usize> {
        self.groups.iter().find_map(Group::doubt)
    }

    fn directive(&mut self, text: &'t str, line: u32) -> Result<()> {
        let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
        let (word, rest) = (&text[..end], text[end..].trim());
        match word {
            "if" | "ifdef" | "ifndef" => {
                self.check_levels(self.groups.len())?;
                let group = match self.is_skipping() {
                    true => Group::Done,
                    false => self.group(word, rest, line)?,
                };
                self.groups.push(group);
                return Ok(());
            }
            "elif" | "elifdef" | "elifndef" | "else" | "endif" => return self.next_group(word, rest, line),
            _ if self.is_skipping() => return Ok(()),
            _ => {}
        }
        match word {
            "define" => self.define(rest, line),
            "undef" => {
                let known = self.group_doubt().map_or(Macro::Gone, Macro::Doubtful);
                self.learn(first_word(rest), known);
            }
            "include" | "include_next" | "import" => self.include(rest, line),
            "pragma" => return self.pragma(rest, line),
            "" | "warning" | "line" | "ident" | "sccs" => {}
            "error" if self.group_doubt().is_some() => {}
            _ => {
                let error = self.fault(line).expected("a directive that this reader obeys");
                return Err(error.found(format_args!("#{}", short(text))));
            }
        }
        Ok(())
    }

    fn define(&mut self, rest: &'t str, line: u32) {
        let name = first_word(rest);
        let behind = &rest[name.len()..];
        let guard = self.guard.take_if(|(guard, _)| *guard == name).map(|(_, doubt)| doubt);
        let known = match (behind.strip_prefix('('), guard.or(self.group_doubt())) {
            (_, Some(doubt)) => Macro::Doubtful(doubt),
            (None, None) => Macro::Kept(Kept { parameters: None, body: behind.trim() }),
            (Some(inner), None) => match inner.split_once(')') {
                Some((parameters, body)) => Macro::Kept(Kept { parameters: Some(parameters), body: body.trim() }),
                None => Macro::Doubtful(self.note(self.fault(line).expected("`)` behind the parameters").found(name))),
            },
        };
        self.learn(name, known);
    }

    /// What becomes of the lines behind `#if`, `#ifdef` or `#ifndef`.
    fn group(&mut self, word: &str, rest: &'t str, line: u32) -> Result<Group> {
        Ok(match self.holds(word, rest, line)? {
            Some(true) => Group::Taken,
            Some(false) => Group::Open,
            None => match self.guarded(word, rest) {
                Some((_, true)) => Group::Taken,
                guarded => {
                    let doubt = self.note(self.undecided(word, rest, line));
                    match guarded.filter(|_| self.groups.is_empty() && self.is_around_all()) {
                        Some((name, _)) => {
                            // Otherwise there would be nothing to read. Only the macro itself may be another one.
                            self.guard = Some((name, doubt));
                            Group::Taken
                        }
                        None => Group::Doubtful(doubt),
                    }
                }
            },
        })
    }

    /// Whether `#if`, `#ifdef`, `#elifndef` and so on hold; `None` if the header does not say.
    fn holds(&mut self, word: &str, rest: &'t str, line: u32) -> Result<Option<bool>> {
        let is_defined = self.is_defined(first_word(rest));
        match word {
            "if" | "elif" => self.condition(rest, line),
            "ifdef" | "elifdef" => Ok(is_defined),
            _ => Ok(is_defined.map(|is_defined| !is_defined)),
        }
    }

    fn next_group(&mut self, word: &str, rest: &'t str, line: u32) -> Result<()> {
        let Some(group) = self.groups.pop() else {
            return Err(self.fault(line).expected("`#if` before").found(format_args!("#{word}")));
        };
        if word == "endif" {
            return Ok(());
        }
        let next = match (group, self.is_skipping()) {
            (Group::Taken | Group::Done, _) | (_, true) => Group::Done,
            (Group::Doubtful(doubt), _) => Group::Doubtful(doubt),
            (Group::Open, _) if word == "else" => Group::Taken,
            (Group::Open, _) => match self.holds(word, rest, line)? {
                Some(true) => Group::Taken,
                Some(false) => Group::Open,
                None => {
                    let error = self.undecided(word, rest, line);
                    Group::Doubtful(self.note(error))
                }
            },
        };
        self.groups.push(next);
        Ok(())
    }

    fn undecided(&self, word: &str, rest: &str, line: u32) -> Error {
        let error = self.fault(line).expected("a condition that the header decides by its own definitions");
        error.found(format_args!("#{word} {}", short(rest)))
    }

    /// Whether there is a macro of a name; `None` if the header does not say.
    fn is_defined(&mut self, name: &str) -> Option<bool> {
        match self.known(name)?.1 {
            Macro::Kept(_) => Some(true),
            Macro::Gone => Some(false),
            Macro::Doubtful(_) => None,
        }
    }

    /// The name of a condition on what nothing has defined, if its definition follows: a guard against a second inclusion, or a value for
    /// those who have none. And whether the condition holds: a file that is included before may have defined the name.
    fn guarded(&self, word: &str, rest: &'t str) -> Option<(&'t str, bool)> {
        let name = match word {
            "ifndef" => first_word(rest),
            "if" => {
                let name = rest.strip_prefix('!')?.trim().strip_prefix("defined")?.trim();
                let inner = name.strip_prefix('(').and_then(|name| name.strip_suffix(')'));
                Some(inner.unwrap_or(name).trim()).filter(|name| first_word(name) == *name)?
            }
            _ => return None,
        };
        let mut ahead = self.raw.clone();
        let mut directive = || {
            let is_one = ahead.next().is_ok() && ahead.peek().kind == Sort::Directive;
            if is_one { ahead.peek().text } else { "" }
        };
        let defined = directive().strip_prefix("define")?.trim();
        let ends = first_word(directive()) == "endif";
        if first_word(defined) != name || self.macros.contains_key(name) {
            return None;
        }
        let body = self.words(&defined[first_word(defined).len()..], 0).ok()?;
        Some((name, !self.may_define(name, body.is_empty() && !ends, 0)))
    }

    /// Whether nothing of the header stands behind the `#endif` of the condition that comes next, and no other case.
    fn is_around_all(&self) -> bool {
        let (mut ahead, mut levels) = (self.raw.clone(), 0);
        loop {
            match first_word(ahead.peek().text) {
                "if" | "ifdef" | "ifndef" => levels += 1,
                "endif" if levels == 1 => return ahead.next().is_ok() && ahead.peek().kind == Sort::End,
                "endif" => levels -= 1,
                "else" | "elif" | "elifdef" | "elifndef" if levels == 1 => return false,
                _ => {}
            }
            ahead.skip_lines();
            if ahead.next().is_err() || ahead.peek().kind != Sort::Directive {
                return false;
            }
        }
    }

    /// Whether a condition holds; `None` if the header does not say.
    fn condition(&mut self, text: &'t str, line: u32) -> Result<Option<bool>> {
        let Ok(words) = self.words(text, line) else { return Ok(None) };
        let mut tokens = Vec::new();
        let mut words = words.into_iter().peekable();
        while let Some(word) = words.next() {
            if !word.is("defined") {
                tokens.push(word);
                continue;
            }
            let is_bracketed = words.next_if(|next| next.is("(")).is_some();
            let Some(name) = words.next().filter(|name| name.kind == Sort::Word) else { return Ok(None) };
            if is_bracketed && words.next_if(|next| next.is(")")).is_none() {
                return Ok(None);
            }
            tokens.push(match self.is_defined(&name.text) {
                Some(is_defined) => Token::new(Sort::Number, if is_defined { "1" } else { "0" }, line),
                // A word that has no value.
                None => Token { painted: true, ..name },
            });
        }
        let tokens = self.expand_all(tokens)?;
        Ok(constant::condition(&tokens, &|line| self.fault(line)))
    }
}

/// The word at the beginning of a text.
fn first_word(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
    &text[..end]
}
