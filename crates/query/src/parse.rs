//! Words to a tree, within the limits on length, size and depth.

use crate::lex::{self, Word, fault};
use crate::normal::path_text;
use crate::tree::{COMPARISON, Expr, Function, Item, Kind, NOT, Operator, SIGN, Stage, Step};
use crate::{MAX_DEPTH, MAX_NODES, MAX_TEXT};
use isoform_core::{Code, Error, Result};

pub(crate) fn parse(text: &str) -> Result<Vec<Stage>> {
    if text.len() > MAX_TEXT {
        let error = Error::new(Code::Text).expected(format_args!("a query of at most {MAX_TEXT} bytes"));
        return Err(error.found(format_args!("{} bytes", text.len())));
    }
    let mut parser = Parser { text, words: lex::words(text)?, next: 0, nodes: 0, depth: 0 };
    let mut stages = vec![parser.stage()?];
    while parser.takes("|") {
        if let Some(Stage::Select(_)) = stages.last() {
            return Err(parser.fault("nothing behind select, which is the last stage"));
        }
        stages.push(parser.stage()?);
    }
    match parser.peek() {
        Word::End => Ok(stages),
        _ => Err(parser.fault("an operator, | or the end")),
    }
}

struct Parser<'t> {
    text: &'t str,
    words: Vec<(Word, usize)>,
    next: usize,
    nodes: usize,
    depth: usize,
}

impl Parser<'_> {
    fn peek(&self) -> &Word {
        &self.words[self.next].0
    }

    fn at(&self) -> usize {
        self.words[self.next].1
    }

    fn take(&mut self) -> Word {
        let word = self.peek().clone();
        self.next = (self.next + 1).min(self.words.len() - 1);
        word
    }

    fn is(&self, word: &str) -> bool {
        matches!(self.peek(), Word::Sign(sign) | Word::Keyword(sign) if *sign == word)
    }

    fn takes(&mut self, word: &str) -> bool {
        let is = self.is(word);
        if is {
            self.take();
        }
        is
    }

    fn expect(&mut self, sign: &str) -> Result<()> {
        if self.takes(sign) { Ok(()) } else { Err(self.fault(&format!("\"{sign}\""))) }
    }

    fn fault(&self, expected: &str) -> Error {
        fault(Code::Text, self.text, self.at()).expected(expected).found(self.peek())
    }

    fn stage(&mut self) -> Result<Stage> {
        if self.takes("where") {
            return Ok(Stage::Where(self.expr(0)?));
        }
        if self.takes("select") {
            let mut items = vec![self.item()?];
            while self.takes(",") {
                items.push(self.item()?);
            }
            return Ok(Stage::Select(items));
        }
        if self.takes("every") {
            return match *self.peek() {
                Word::Integer(count, None) if count > 0 => {
                    self.take();
                    Ok(Stage::Every(count))
                }
                _ => Err(self.fault("a number of records, from 1")),
            };
        }
        Err(self.fault("where, select or every"))
    }

    /// `deep = max(depth)`, or an expression, which then is its own name.
    fn item(&mut self) -> Result<Item> {
        if let (Word::Name(name) | Word::Quoted(name), Some((Word::Sign("="), _))) =
            (self.peek().clone(), self.words.get(self.next + 1))
        {
            self.take();
            self.take();
            return Ok(Item { name, expr: self.expr(0)? });
        }
        let expr = self.expr(0)?;
        match &expr.kind {
            Kind::Path(steps) => Ok(Item { name: default_name(steps), expr }),
            _ => Err(fault(Code::Text, self.text, expr.at).expected("NAME = in front of what is computed")),
        }
    }

    fn node(&mut self, at: usize, kind: Kind) -> Result<Expr> {
        self.nodes += 1;
        match self.nodes > MAX_NODES {
            true => Err(fault(Code::Text, self.text, at)
                .expected(format_args!("at most {MAX_NODES} operations and values"))
                .found("more")),
            false => Ok(Expr { at, kind }),
        }
    }

    /// An expression of operators that bind at least as strongly as `least`.
    fn expr(&mut self, least: u8) -> Result<Expr> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let fault = fault(Code::Depth, self.text, self.at());
            return Err(fault.expected(format_args!("at most {MAX_DEPTH} levels")).found("more"));
        }
        let mut left = self.operand()?;
        loop {
            let at = self.at();
            if least <= COMPARISON && (self.is("in") || self.is("not")) {
                let not = self.takes("not");
                if !self.takes("in") {
                    return Err(self.fault("in"));
                }
                self.expect("(")?;
                let choices = self.list()?;
                left = self.node(at, Kind::In(Box::new(left), choices))?;
                if not {
                    left = self.node(at, Kind::Not(Box::new(left)))?;
                }
                self.no_comparison()?;
                continue;
            }
            let operator = Operator::ALL.iter().copied().find(|operator| self.is(operator.word()));
            let Some(operator) = operator.filter(|operator| operator.strength() >= least) else { break };
            self.take();
            let right = self.expr(operator.strength() + 1)?;
            left = self.node(at, Kind::Binary(operator, Box::new(left), Box::new(right)))?;
            if operator.strength() == COMPARISON {
                self.no_comparison()?;
            }
        }
        self.depth -= 1;
        Ok(left)
    }

    /// Refuses `a < b < c`, which readers understand in two ways.
    fn no_comparison(&self) -> Result<()> {
        let again = Operator::ALL.iter().any(|o| o.strength() == COMPARISON && self.is(o.word()));
        if again || self.is("in") {
            Err(self.fault("and, or, or parentheses around the first comparison"))
        } else {
            Ok(())
        }
    }

    fn operand(&mut self) -> Result<Expr> {
        let at = self.at();
        if self.takes("not") {
            let inner = self.expr(NOT)?;
            return self.node(at, Kind::Not(Box::new(inner)));
        }
        if self.takes("-") {
            let inner = self.expr(SIGN)?;
            return self.node(at, Kind::Negative(Box::new(inner)));
        }
        if self.takes("(") {
            let inner = self.expr(0)?;
            self.expect(")")?;
            return Ok(inner);
        }
        let kind = match self.peek().clone() {
            Word::Integer(number, unit) => Kind::Integer(number, unit),
            Word::Float(number, unit) => Kind::Float(number, unit),
            Word::Text(text) => Kind::Text(text),
            Word::Keyword("true") => Kind::Truth(true),
            Word::Keyword("false") => Kind::Truth(false),
            Word::Name(name) if matches!(self.words.get(self.next + 1), Some((Word::Sign("("), _))) => {
                return self.call(&name);
            }
            Word::Name(name) | Word::Quoted(name) => return self.path(name),
            _ => return Err(self.fault("a field, a number, a text or a function")),
        };
        self.take();
        self.node(at, kind)
    }

    fn call(&mut self, name: &str) -> Result<Expr> {
        let at = self.at();
        let Some(function) = Function::ALL.iter().copied().find(|function| function.word() == name) else {
            let names: Vec<_> = Function::ALL.iter().map(|function| function.word()).collect();
            return Err(self.fault(&format!("one of the functions {}", names.join(", "))));
        };
        self.take();
        self.take();
        let arguments = self.list()?;
        if arguments.len() != function.arguments() {
            let fault = fault(Code::Text, self.text, at);
            let expected = format!("{} arguments of {name}", function.arguments());
            return Err(fault.expected(expected).found(arguments.len()));
        }
        self.node(at, Kind::Call(function, arguments))
    }

    /// Expressions with commas between them, up to a closing parenthesis.
    fn list(&mut self) -> Result<Vec<Expr>> {
        let mut list = vec![self.expr(0)?];
        while self.takes(",") {
            list.push(self.expr(0)?);
        }
        self.expect(")")?;
        Ok(list)
    }

    fn path(&mut self, name: Box<str>) -> Result<Expr> {
        let at = self.at();
        self.take();
        let mut steps = vec![Step::Field(name)];
        loop {
            if self.takes(".") {
                match self.peek().clone() {
                    Word::Name(name) | Word::Quoted(name) => steps.push(Step::Field(name)),
                    _ => return Err(self.fault("the name of a field")),
                }
                self.take();
            } else if self.takes("[") {
                match *self.peek() {
                    Word::Integer(index, None) if usize::try_from(index).is_ok() => {
                        steps.push(Step::Index(index as usize));
                    }
                    _ => return Err(self.fault("an index")),
                }
                self.take();
                self.expect("]")?;
            } else {
                return self.node(at, Kind::Path(steps));
            }
        }
    }
}

/// The name of a path in a result: the path itself, with `_` in place of signs, as in `grid_3_rho`.
pub(crate) fn default_name(steps: &[Step]) -> Box<str> {
    match steps {
        [Step::Field(name)] => name.clone(),
        _ => path_text(steps).replace(['.', '['], "_").replace([']', '`'], "").into(),
    }
}
