//! Standard output: buffered, coloured only for a terminal, and text in columns.

use isoform::text::{Shown, is_hidden};
use std::cell::RefCell;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::rc::Rc;
use unicode_width::UnicodeWidthStr;

/// The destination of a command's output. Clones share it.
///
/// Text from strangers goes through here in any case: whatever would do something to the terminal is escaped, as JSON does
/// it. The only exception is what [`Output::paint`] has made.
#[derive(Clone)]
pub(crate) struct Output {
    inner: Rc<RefCell<BufWriter<Stdout>>>,
    coloured: bool,
    /// The start of this command's own colour codes. It is random, so that no text can contain it.
    mark: Rc<str>,
}

/// The kind of a piece of text, which determines its colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tone {
    #[default]
    Plain,
    /// A name to emphasise.
    Strong,
    /// Text of little importance.
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
        let inner = Rc::new(RefCell::new(BufWriter::with_capacity(64 << 10, io::stdout())));
        let mark = format!("\x1b{:x};", RandomState::new().build_hasher().finish());
        Output { inner, coloured, mark: mark.into() }
    }

    /// The text in its colour, if this is a terminal with colours.
    pub(crate) fn paint(&self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Strong => "1",
            Tone::Faint => "2",
            Tone::Good => "32",
            Tone::Warning => "33",
            Tone::Bad => "31",
            Tone::Plain => return Shown(text).to_string(),
        };
        let (mark, text) = (&self.mark, Shown(text));
        if self.coloured { format!("{mark}{code}m{text}{mark}0m") } else { text.to_string() }
    }

    /// Writes bytes as they are: scripts for a shell, and descriptions of formats for programs.
    pub(crate) fn as_it_is(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.inner.borrow_mut().write_all(bytes)
    }

    /// The width of the terminal, if this is one.
    pub(crate) fn width(&self) -> Option<usize> {
        terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| width.0.into())
    }

    /// Writes rows in columns, each as wide as its widest cell.
    pub(crate) fn columns(&mut self, sides: &[Side], rows: &[Vec<Cell>]) -> io::Result<()> {
        self.columns_from(sides, rows, &mut vec![0; sides.len()])
    }

    /// The same, for rows below earlier ones: each column is at least as wide as before. Cells beyond the last of the
    /// widths are omitted.
    pub(crate) fn columns_from(&mut self, sides: &[Side], rows: &[Vec<Cell>], widths: &mut [usize]) -> io::Result<()> {
        widen(widths, rows);
        for row in rows {
            let row = &row[..row.len().min(widths.len())];
            let last = row.iter().rposition(|cell| !cell.text.is_empty()).map_or(0, |at| at + 1);
            for (i, cell) in row[..last].iter().enumerate() {
                let space = " ".repeat(widths[i].saturating_sub(cell.text.width()));
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

/// Makes columns as wide as their contents, as far as that helps to read them: one long text does not make each row as long.
pub(crate) fn widen(widths: &mut [usize], rows: &[Vec<Cell>]) {
    for row in rows {
        widths.iter_mut().zip(row).for_each(|(width, cell)| *width = cell.text.width().min(WIDEST).max(*width));
    }
}

/// The most that a column is filled up.
const WIDEST: usize = 200;

/// The alignment of the cells of a column.
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
    Cell { text: Shown(text.to_string()).to_string(), tone }
}

/// A number with its noun.
pub(crate) fn plural(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// Breaks lines that are longer than `width` at spaces, and indents the continuations.
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

/// Writes text with everything escaped that is not seen, but for ends of lines and our own colours.
fn escape(text: &str, mark: &str, out: &mut impl Write) -> io::Result<()> {
    let mut rest = text;
    while let Some(at) = rest.find(|c| c != '\n' && is_hidden(c)) {
        out.write_all(&rest.as_bytes()[..at])?;
        rest = &rest[at..];
        if let Some(behind) = rest.strip_prefix(mark) {
            out.write_all(b"\x1b[")?;
            rest = behind;
            continue;
        }
        let mut behind = rest.chars();
        for unit in behind.next().unwrap_or_default().encode_utf16(&mut [0; 2]) {
            write!(out, "\\u{unit:04x}")?;
        }
        rest = behind.as_str();
    }
    out.write_all(rest.as_bytes())
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut inner = self.inner.borrow_mut();
        match bytes.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\n')) {
            true => inner.write_all(bytes)?,
            false => escape(&String::from_utf8_lossy(bytes), &self.mark, &mut *inner)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.borrow_mut().flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_our_own_colours_reaches_the_terminal() {
        let mut out = Vec::new();
        let text = "é\u{1b}[31m\u{1b}]0;x\u{7}\u{9b}2J\u{202e}\u{200b}\u{e0041}\t\nMARK1mx";
        escape(&text.replace("MARK", "\u{1b}secret;"), "\u{1b}secret;", &mut out).unwrap();
        let expected = "é\\u001b[31m\\u001b]0;x\\u0007\\u009b2J\\u202e\\u200b\\udb40\\udc41\\u0009\n\u{1b}[1mx";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn long_lines_are_broken_at_spaces() {
        assert_eq!(wrapped("ab cd ef gh", 8), "ab cd\n    ef\n    gh");
        assert_eq!(wrapped("  a b\nc", 8), "  a b\nc");
        assert_eq!(wrapped("äöüßäöüßäöüß x", 5), "äöüßäöüßäöüß x", "a word is not broken");
    }
}
