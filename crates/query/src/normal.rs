//! The normal form: one text for queries that differ only in blanks, parentheses, spellings of numbers, names that say what
//! is the default, or how conditions are divided among stages.

use crate::lex::plain_unit;
use crate::parse::{UNITS, default_name};
use crate::tree::{COMPARISON, Changed, Expr, Item, Kind, NOT, Operator, SIGN, Slice, Span, Stage, Step, is_plain};
use std::fmt::{self, Formatter, Write};

pub(crate) fn parts(parts: &[Vec<Stage>], f: &mut Formatter<'_>) -> fmt::Result {
    let is_nothing = |part: &&Vec<Stage>| part.iter().all(|stage| matches!(stage, Stage::Every(1)));
    let mut some = parts.iter().filter(|part| !is_nothing(part));
    // What is left of `every 1 || every 1`.
    let Some(first) = some.next() else { return f.write_str("every 1") };
    stages(first, f)?;
    some.try_for_each(|part| {
        f.write_str(" || ")?;
        stages(part, f)
    })
}

fn stages(stages: &[Stage], f: &mut Formatter<'_>) -> fmt::Result {
    let mut before: Option<&Stage> = None;
    for stage in stages {
        match (stage, before) {
            (Stage::Every(1), _) if stages.len() > 1 => continue,
            (Stage::Where(condition), Some(Stage::Where(_))) => {
                f.write_str(" and ")?;
                // One more than `and`: conditions of stages are grouped to the left, as those of one condition are.
                expr(condition, Operator::And.strength() + 1, f)?;
            }
            _ => {
                f.write_str(if before.is_some() { " | " } else { "" })?;
                one(stage, follows(stages, stage), f)?;
            }
        }
        before = Some(stage);
    }
    // What is left of `every 1 | every 1`.
    if before.is_none() { f.write_str("every 1") } else { Ok(()) }
}

/// Whether the conditions of the next stage are joined with those of this one.
fn follows(stages: &[Stage], stage: &Stage) -> bool {
    let mut rest = stages.iter().skip_while(|other| !std::ptr::eq(*other, stage)).skip(1);
    matches!(rest.find(|stage| !matches!(stage, Stage::Every(1))), Some(Stage::Where(_)))
}

fn one(stage: &Stage, joined: bool, f: &mut Formatter<'_>) -> fmt::Result {
    match stage {
        Stage::Where(condition) => {
            f.write_str("where ")?;
            expr(condition, if joined { Operator::And.strength() } else { 0 }, f)
        }
        Stage::Every(count) => write!(f, "every {count}"),
        Stage::Rate(duration) => write!(f, "every {}", Duration(*duration)),
        Stage::Changed(Changed { expr, by, every }) => {
            f.write_str("changed ")?;
            self::expr(expr, 0, f)?;
            f.write_str(" by ")?;
            self::expr(by, 0, f)?;
            every.map_or(Ok(()), |every| write!(f, " or every {}", Duration(every)))
        }
        Stage::Key(values) => {
            f.write_str("key ")?;
            commas(values, f)
        }
        Stage::Window(Span::Records(length, step)) => {
            write!(f, "window {length}")?;
            if step == length { Ok(()) } else { write!(f, " step {step}") }
        }
        Stage::Window(Span::Time(length, step)) => {
            write!(f, "window {}", Duration(*length))?;
            if step == length { Ok(()) } else { write!(f, " step {}", Duration(*step)) }
        }
        Stage::Select(items) => {
            for (index, item) in items.iter().enumerate() {
                f.write_str(if index == 0 { "select " } else { ", " })?;
                self::item(item, f)?;
            }
            Ok(())
        }
    }
}

fn item(item: &Item, f: &mut Formatter<'_>) -> fmt::Result {
    if default_name(&item.expr).as_ref() != Some(&item.name) {
        write!(f, "{} = ", Name(&item.name))?;
    }
    expr(&item.expr, 0, f)
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        expr(self, 0, f)
    }
}

/// Writes an expression where only operators of at least this strength stand without parentheses.
fn expr(expr: &Expr, least: u8, f: &mut Formatter<'_>) -> fmt::Result {
    let strength = match &expr.kind {
        Kind::Choice(_) => 0,
        Kind::Binary(operator, ..) => operator.strength(),
        Kind::In(..) => COMPARISON,
        Kind::Not(_) => NOT,
        Kind::Negative(_) => SIGN,
        _ => u8::MAX,
    };
    if strength < least {
        f.write_char('(')?;
        kind(&expr.kind, f)?;
        return f.write_char(')');
    }
    kind(&expr.kind, f)
}

fn kind(kind: &Kind, f: &mut Formatter<'_>) -> fmt::Result {
    match kind {
        Kind::Integer(number, unit) => write!(f, "{number}").and_then(|()| self::unit(unit, f)),
        Kind::Float(number, unit) => write!(f, "{number:?}").and_then(|()| self::unit(unit, f)),
        Kind::Text(text) => quoted(text, '"', f),
        Kind::Truth(truth) => write!(f, "{truth}"),
        Kind::Path(steps) => f.write_str(&path_text(steps)),
        Kind::Negative(inner) => {
            f.write_char('-')?;
            expr(inner, SIGN, f)
        }
        Kind::Not(inner) => {
            f.write_str("not ")?;
            expr(inner, NOT, f)
        }
        Kind::Binary(operator, left, right) => {
            // A comparison has no comparison at its left, either.
            let strength = operator.strength();
            expr(left, if strength == COMPARISON { strength + 1 } else { strength }, f)?;
            write!(f, " {} ", operator.word())?;
            expr(right, strength + 1, f)
        }
        Kind::In(inner, choices) => {
            expr(inner, COMPARISON + 1, f)?;
            f.write_str(" in ")?;
            list(choices, f)
        }
        Kind::Choice(choice) => {
            let open = Operator::Or.strength();
            expr(&choice.then, open, f)?;
            f.write_str(" if ")?;
            expr(&choice.condition, open, f)?;
            f.write_str(" else ")?;
            expr(&choice.otherwise, 0, f)
        }
        Kind::Call(function, arguments) => {
            f.write_str(function.word())?;
            list(arguments, f)
        }
    }
}

fn list(all: &[Expr], f: &mut Formatter<'_>) -> fmt::Result {
    f.write_char('(')?;
    commas(all, f)?;
    f.write_char(')')
}

fn commas(all: &[Expr], f: &mut Formatter<'_>) -> fmt::Result {
    for (index, one) in all.iter().enumerate() {
        f.write_str(if index == 0 { "" } else { ", " })?;
        expr(one, 0, f)?;
    }
    Ok(())
}

/// A duration, with the largest unit of which it is a multiple.
struct Duration(u64);

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // Up to nanoseconds, the units are in descending order.
        let (unit, scale) = UNITS.iter().find(|(_, scale)| self.0.is_multiple_of(*scale)).unwrap_or(&("ns", 1));
        write!(f, "{} {unit}", self.0 / scale)
    }
}

fn unit(unit: &Option<Box<str>>, f: &mut Formatter<'_>) -> fmt::Result {
    match unit {
        None => Ok(()),
        Some(unit) if !unit.is_empty() && plain_unit(unit) == &**unit => write!(f, " {unit}"),
        Some(unit) => {
            f.write_char(' ')?;
            quoted(unit, '"', f)
        }
    }
}

fn quoted(text: &str, quote: char, f: &mut impl Write) -> fmt::Result {
    f.write_char(quote)?;
    for c in text.chars() {
        if c == quote || c == '\\' {
            f.write_char('\\')?;
        }
        f.write_char(c)?;
    }
    f.write_char(quote)
}

/// A name as a query has it.
struct Name<'n>(&'n str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if is_plain(self.0) { f.write_str(self.0) } else { quoted(self.0, '`', f) }
    }
}

/// A path as a query has it.
pub(crate) fn path_text(steps: &[Step]) -> String {
    let mut text = String::new();
    for step in steps {
        match step {
            Step::Field(name) if text.is_empty() => text += &Name(name).to_string(),
            Step::Field(name) => text += &format!(".{}", Name(name)),
            Step::Index(index) => text += &format!("[{index}]"),
            Step::Slice(Slice { from, to, step }) => {
                let to = to.map_or(String::new(), |to| to.to_string());
                let step = if *step == 1 { String::new() } else { format!(":{step}") };
                text += &format!("[{from}:{to}{step}]");
            }
        }
    }
    text
}
