//! Standard output: buffered, coloured only for a terminal, and text in columns.

use std::cell::RefCell;
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::rc::Rc;
use unicode_width::UnicodeWidthStr;

/// Where a command writes. Clones write to the same place.
#[derive(Clone)]
pub(crate) struct Output {
    inner: Rc<RefCell<BufWriter<Stdout>>>,
    coloured: bool,
}

/// What a piece of text is, for its colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tone {
    #[default]
    Plain,
    /// A name that the eye looks for.
    Strong,
    /// What the eye may pass over.
    Faint,
    Good,
    Warning,
    Bad,
}

impl Output {
    pub(crate) fn stdout() -> Output {
        let wanted = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let coloured = io::stdout().is_terminal() && !wanted("NO_COLOR") && !dumb;
        Output { inner: Rc::new(RefCell::new(BufWriter::with_capacity(64 << 10, io::stdout()))), coloured }
    }

    /// The text in its tone, if this is a terminal that shows it.
    pub(crate) fn paint(&self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Strong => "1",
            Tone::Faint => "2",
            Tone::Good => "32",
            Tone::Warning => "33",
            Tone::Bad => "31",
            Tone::Plain => return text.to_string(),
        };
        if self.coloured { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
    }

    /// The columns of characters of the terminal, if this is one.
    pub(crate) fn width(&self) -> Option<usize> {
        terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| width.0.into())
    }

    /// Writes rows in columns, each as wide as its widest cell.
    pub(crate) fn columns(&mut self, sides: &[Side], rows: &[Vec<Cell>]) -> io::Result<()> {
        self.columns_from(sides, rows, &mut vec![0; sides.len()])
    }

    /// The same, going on below rows that were written before: each column is at least as wide as it was. Cells beyond
    /// the last of the widths are left out.
    pub(crate) fn columns_from(&mut self, sides: &[Side], rows: &[Vec<Cell>], widths: &mut [usize]) -> io::Result<()> {
        widen(widths, rows);
        for row in rows {
            let row = &row[..row.len().min(widths.len())];
            let last = row.iter().rposition(|cell| !cell.text.is_empty()).map_or(0, |at| at + 1);
            for (i, cell) in row[..last].iter().enumerate() {
                let space = " ".repeat(widths[i] - cell.text.width());
                let text = self.paint(cell.tone, &cell.text);
                let gap = if i == 0 { "" } else { "  " };
                match sides[i] {
                    Side::Right => write!(self, "{gap}{space}{text}")?,
                    Side::Left if i + 1 == last => write!(self, "{gap}{text}")?,
                    Side::Left => write!(self, "{gap}{text}{space}")?,
                }
            }
            writeln!(self)?;
        }
        Ok(())
    }
}

/// Makes columns as wide as what is in them.
pub(crate) fn widen(widths: &mut [usize], rows: &[Vec<Cell>]) {
    for row in rows {
        widths.iter_mut().zip(row).for_each(|(width, cell)| *width = cell.text.width().max(*width));
    }
}

/// The side at which the cells of a column stand.
#[derive(Clone, Copy)]
pub(crate) enum Side {
    Left,
    Right,
}

/// One cell of a table.
pub(crate) struct Cell {
    text: String,
    tone: Tone,
}

pub(crate) fn cell(text: impl ToString) -> Cell {
    toned(Tone::Plain, text)
}

pub(crate) fn toned(tone: Tone, text: impl ToString) -> Cell {
    Cell { text: text.to_string(), tone }
}

/// A number of things.
pub(crate) fn plural(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// The text with its lines broken at spaces, as far as they are longer than `width`; what is broken off is indented.
pub(crate) fn wrapped(text: &str, width: usize) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        let mut line = line.to_string();
        while line.width() > width {
            let end = line.char_indices().nth(width).map_or(line.len(), |(at, _)| at);
            let first = line.len() - line.trim_start().len();
            let Some(at) = line[..end].rfind(' ').filter(|at| *at > first) else { break };
            let rest = format!("{:1$}{2}", "", indent + 4, line[at..].trim_start());
            line.truncate(at);
            lines.push(std::mem::replace(&mut line, rest));
        }
        lines.push(line);
    }
    lines.join("\n")
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.inner.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.borrow_mut().flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_broken_at_spaces() {
        assert_eq!(wrapped("ab cd ef gh", 8), "ab cd\n    ef\n    gh");
        assert_eq!(wrapped("  a b\nc", 8), "  a b\nc");
        assert_eq!(wrapped("äöüßäöüßäöüß x", 5), "äöüßäöüßäöüß x", "a word is not broken");
    }
}
