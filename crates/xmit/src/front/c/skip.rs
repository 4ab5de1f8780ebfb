//! What is passed over in C headers. The structs in it are refused.

use super::Reader;
use super::source::Source;
use crate::front::link::{Item, What};
use crate::front::tokens::Sort;
use isoform_core::{Error, Result};

impl Reader {
    /// Skips to the end of a declaration that began where so many brackets were open. The structs in it are refused, but not those in
    /// the body of a function.
    pub(super) fn skip(&mut self, source: &mut Source<'_>, depth: usize, error: &Error) -> Result<()> {
        let mut before = String::new();
        loop {
            let is_outside = source.depth() <= depth;
            if source.peek().kind == Sort::End {
                return Ok(());
            }
            if is_outside && source.is("}") {
                return Ok(());
            }
            if is_outside && source.take(";")? {
                return Ok(());
            }
            if is_outside && source.is("{") {
                let is_body = before == ")";
                let lists = if is_body || before == "=" { None } else { Some(error) };
                self.skip_block(source, lists)?;
                // The body of a function ends its declaration; the values of a variable do not.
                if is_body && !source.is(";") {
                    return Ok(());
                }
                before = "}".into();
                continue;
            }
            before = self.skip_one(source, Some(error))?;
        }
    }

    /// Skips what a macro is given in parentheses. Returns its first words and all opening braces, and its last line.
    pub(super) fn skip_given(&mut self, source: &mut Source<'_>, error: &Error) -> Result<(Vec<String>, u32)> {
        let (mut given, depth) = (Vec::new(), source.depth());
        loop {
            let line = source.peek().line;
            if source.peek().kind == Sort::End {
                return Err(source.unexpected("a closing bracket"));
            }
            let word = self.skip_one(source, Some(error))?;
            if given.len() < 4 || word == "{" {
                given.push(word);
            }
            if source.depth() <= depth {
                return Ok((given, line));
            }
        }
    }

    /// Skips from an opening bracket to its closing one.
    pub(super) fn skip_block(&mut self, source: &mut Source<'_>, lists: Option<&Error>) -> Result<()> {
        let depth = source.depth();
        loop {
            if source.peek().kind == Sort::End {
                return Err(source.unexpected("a closing bracket"));
            }
            self.skip_one(source, lists)?;
            if source.depth() <= depth {
                return Ok(());
            }
        }
    }

    /// Skips a word, or a mark. A struct that is declared there is refused.
    fn skip_one(&mut self, source: &mut Source<'_>, lists: Option<&Error>) -> Result<String> {
        let Some(error) = lists.filter(|_| source.is("struct") || source.is("class")) else {
            return source.next().map(|token| token.text.into());
        };
        source.next()?;
        let (mut name, mut place) = (None, source.place());
        while source.is_word() {
            place = source.place();
            name = Some(source.next()?.text);
            while source.is("(") {
                self.skip_block(source, None)?;
            }
        }
        if let Some(name) = name.filter(|_| source.is("{") || source.is(":")) {
            let full = format!("struct {name}");
            if self.model.find(&full).is_none() {
                let item = Item { name: name.into(), place, what: What::Refused(error.clone()) };
                _ = self.model.add(full, item);
            }
        }
        Ok(String::new())
    }
}
