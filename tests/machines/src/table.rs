//! The matrix as it is printed.

use crate::matrix::Cell;
use std::fmt;

/// Who has read whom.
#[derive(Default)]
pub(crate) struct Table {
    /// The readers.
    pub(crate) columns: Vec<&'static str>,
    pub(crate) rows: Vec<Row>,
    /// What was left out, and why.
    pub(crate) skipped: Vec<String>,
}

/// What one writer has written.
pub(crate) struct Row {
    pub(crate) name: String,
    /// What came of it in each reader.
    pub(crate) cells: Vec<Cell>,
    /// Its streams that are the vectors, byte for byte.
    pub(crate) streams: Cell,
}

impl Cell {
    fn agrees(self) -> bool {
        self.agreed == self.all && self.all > 0
    }
}

impl Table {
    /// Whether there are pairs, all of which agree.
    pub(crate) fn agrees(&self) -> bool {
        let streams = self.rows.iter().map(|row| row.streams);
        !self.rows.is_empty() && !self.columns.is_empty() && self.cells().chain(streams).all(Cell::agrees)
    }

    fn cells(&self) -> impl Iterator<Item = Cell> {
        self.rows.iter().flat_map(|row| row.cells.iter().copied())
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wide = self.rows.iter().map(|row| row.name.len()).max().unwrap_or_default();
        writeln!(f, "records that agree, by who wrote them (rows) and who read them (columns)\n")?;
        write!(f, "{:wide$}", "")?;
        for name in &self.columns {
            write!(f, "  {name}")?;
        }
        writeln!(f)?;
        for row in &self.rows {
            write!(f, "{:wide$}", row.name)?;
            for (cell, name) in row.cells.iter().zip(&self.columns) {
                let (text, wide) = (if cell.agrees() { cell.agreed.to_string() } else { "FAIL".into() }, name.len());
                write!(f, "  {text:>wide$}")?;
            }
            writeln!(f)?;
        }
        writeln!(f)?;
        for skipped in &self.skipped {
            writeln!(f, "*** SKIPPED: {skipped} ***")?;
        }
        let streams = sum(self.rows.iter().map(|row| row.streams));
        writeln!(f, "machines: {streams} streams of {} writers are the vectors, byte for byte", self.rows.len())?;
        let pairs = Cell { agreed: self.cells().filter(|cell| cell.agrees()).count(), all: self.cells().count() };
        writeln!(f, "machines: {pairs} pairs agree, on {} records", sum(self.cells()))
    }
}

fn sum(cells: impl Iterator<Item = Cell>) -> Cell {
    cells.fold(Cell { agreed: 0, all: 0 }, |sum, cell| Cell {
        agreed: sum.agreed + cell.agreed,
        all: sum.all + cell.all,
    })
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.agreed, self.all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(agreed: usize) -> Table {
        let row = |name: &str, cells: &[(usize, usize)]| Row {
            name: name.into(),
            cells: cells.iter().map(|&(agreed, all)| Cell { agreed, all }).collect(),
            streams: Cell { agreed: 3, all: 3 },
        };
        let rows = vec![row("s390x rust", &[(21, 21), (21, 21)]), row("mips C", &[(22, 22), (agreed, 22)])];
        Table { columns: vec!["s390x", "i386"], rows, skipped: vec!["Rust on armv7: rustup target add armv7".into()] }
    }

    #[test]
    fn agreement() {
        let text = table(22).to_string();
        let lines: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(lines[0], "            s390x  i386");
        assert_eq!(lines[2], "mips C         22    22");
        assert_eq!(lines[4], "*** SKIPPED: Rust on armv7: rustup target add armv7 ***");
        assert_eq!(lines[6], "machines: 4 of 4 pairs agree, on 86 of 86 records");
        assert!(table(22).agrees());
    }

    #[test]
    fn one_record_that_differs_is_a_failure() {
        let text = table(21).to_string();
        assert!(text.contains("mips C         22  FAIL\n"), "{text}");
        assert!(text.ends_with("machines: 3 of 4 pairs agree, on 85 of 86 records\n"), "{text}");
        assert!(!table(21).agrees() && !Table::default().agrees());
    }
}
