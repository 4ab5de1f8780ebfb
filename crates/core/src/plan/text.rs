//! Plans as text: one line a step, destination first. Tests compare it and `isoform explain --plan` shows it.

use super::Plan;
use super::step::{Array, Bytes, Conversion, Count, Place, Step, Transform};
use crate::format::ByteOrder;
use isoform_kernels::{Number, NumberClass};
use std::fmt::{self, Display, Formatter, Write};

/// A line lists at most this many relocations of a permutation.
const PAIRS_SHOWN: usize = 8;

impl Display for Plan {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (wire, native) = (self.wire(), self.native());
        write!(f, "plan {} ({}) -> {} ({})", wire.name(), wire.machine(), native.name(), native.machine())?;
        writeln!(f, ", faults: {}", self.faults())?;
        if self.is_direct() {
            writeln!(f, "  direct: the record is used where it was received")?;
        }
        steps(self, self.steps(), 1, f)
    }
}

fn steps(plan: &Plan, list: &[Step], depth: usize, f: &mut Formatter<'_>) -> fmt::Result {
    list.iter().try_for_each(|one| step(plan, one, depth, f))
}

fn step(plan: &Plan, step: &Step, depth: usize, f: &mut Formatter<'_>) -> fmt::Result {
    write!(f, "{:1$}", "", depth * 2)?;
    match step {
        Step::Move { src, dst, len } => writeln!(f, "move {dst} <- {src} x{len}"),
        Step::Permute { width, swap, pairs } => {
            write!(f, "permute {width}{}", if *swap { " swap" } else { "" })?;
            for (src, dst) in pairs.iter().take(PAIRS_SHOWN) {
                write!(f, " {dst}<-{src}")?;
            }
            match pairs.len().saturating_sub(PAIRS_SHOWN) {
                0 => writeln!(f),
                more => writeln!(f, " and {more} more"),
            }
        }
        Step::Elements { src, dst, count, transform, field } => {
            write!(f, "{} {dst} <- {src}{}", verb(transform), operands(transform))?;
            if *count > 1 || matches!(transform, Transform::Each { .. }) {
                write!(f, " x{count}")?;
            }
            name(plan, *field, f)?;
            nested(plan, transform, depth, f)
        }
        Step::Array(array) => {
            let Array { src, dst, transform, .. } = &**array;
            write!(f, "array {} <- {}", Show(*dst), Show(*src))?;
            for extent in &array.dims {
                let agree = if extent.agree { " agree" } else { "" };
                write!(f, " [{} <- {}{agree}]", Show(extent.dst), Show(extent.src))?;
            }
            write!(f, " {}{}", verb(transform), operands(transform))?;
            name(plan, array.field, f)?;
            nested(plan, transform, depth, f)?;
            match &array.rest {
                Some(rest) if rest.is_empty() => Ok(()),
                Some(rest) => {
                    writeln!(f, "{:1$}rest", "", depth * 2)?;
                    steps(plan, rest, depth + 1, f)
                }
                None => writeln!(f, "{:1$}rest refused", "", depth * 2),
            }
        }
        Step::Fill { dst, bytes: Bytes::Zero(len) } => writeln!(f, "zero {dst} x{len}"),
        Step::Fill { dst, bytes: Bytes::Of(bytes) } => {
            write!(f, "fill {dst} ")?;
            bytes.iter().take(16).try_for_each(|byte| write!(f, "{byte:02x}"))?;
            writeln!(f, "{}", if bytes.len() > 16 { ".." } else { "" })
        }
        Step::Text { dst, text, .. } => writeln!(f, "text *{dst} {:?}", String::from_utf8_lossy(text)),
        Step::Chars { src, dst, len, field } => {
            write!(f, "chars {dst} <- *{src} x{len}")?;
            name(plan, *field, f)
        }
        Step::Str { src, len, dst, .. } => writeln!(f, "string *{dst} <- {src} x{len}"),
    }
}

fn nested(plan: &Plan, transform: &Transform, depth: usize, f: &mut Formatter<'_>) -> fmt::Result {
    match transform {
        Transform::Each { steps: inner, .. } => steps(plan, inner, depth + 1, f),
        _ => Ok(()),
    }
}

fn name(plan: &Plan, field: usize, f: &mut Formatter<'_>) -> fmt::Result {
    match plan.field(field) {
        Some((path, _)) => writeln!(f, "  # {path}"),
        None => f.write_char('\n'),
    }
}

fn verb(transform: &Transform) -> &'static str {
    match transform {
        Transform::Copy(_) => "copy",
        Transform::Swap { .. } => "swap",
        Transform::Convert { .. } => "convert",
        Transform::Symbols(_) => "symbols",
        Transform::String => "string",
        Transform::Each { .. } => "each",
    }
}

fn operands(transform: &Transform) -> String {
    let times = |per: usize| if per == 1 { String::new() } else { format!("*{per}") };
    match transform {
        Transform::Copy(size) => format!(" {size}"),
        Transform::Swap { width, per } => format!(" {width}{}", times(*per)),
        Transform::Convert { conversion: Conversion { from, to, .. }, per } => {
            let order = if from.order == to.order || from.size == 1 { "" } else { order(from.order) };
            format!(" {}{order} -> {}{}", Show(*from), Show(*to), times(*per))
        }
        Transform::Symbols(symbols) => {
            let mut text = format!(" {}{} -> {}", Show(symbols.from), order(symbols.from.order), Show(symbols.to));
            for (from, symbol, to) in symbols.map.iter().take(PAIRS_SHOWN) {
                let to = to.map_or("?".into(), |to| to.to_string());
                let _ = write!(text, " {symbol}:{from}->{to}");
            }
            text
        }
        Transform::String => String::new(),
        Transform::Each { src, dst, .. } => format!(" {dst}<-{src}"),
    }
}

fn order(order: ByteOrder) -> &'static str {
    match order {
        ByteOrder::Little => " little",
        ByteOrder::Big => " big",
    }
}

/// How an operand of a step is written.
struct Show<T>(T);

impl Display for Show<Place> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Place::Inline(at) => write!(f, "{at}"),
            Place::Slot(at) => write!(f, "*{at}"),
        }
    }
}

impl Display for Show<Count> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Count::Fixed(n) => write!(f, "{n}"),
            Count::Field { at, size, .. } => write!(f, "n{size}@{at}"),
        }
    }
}

impl Display for Show<Number> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let word = match self.0.class {
            NumberClass::Signed => "integer",
            NumberClass::Unsigned => "unsigned",
            NumberClass::Boolean => "boolean",
            NumberClass::Float(kind) => kind.word(),
        };
        write!(f, "{word}({})", self.0.size)
    }
}
