//! An array over time: the newest as it is, and a limited number of rows with a limited number of cells, as a heat map shows
//! them.

use std::collections::VecDeque;

/// Rows that are kept.
const ROWS: usize = 512;
/// Cells of a row. Of a longer array, each cell is the element of its part that is farthest from zero, so that no peak is hidden.
const CELLS: usize = 512;
/// Elements of the newest array that are kept.
const ELEMENTS: usize = 1 << 22;

/// An array over time.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    /// The lengths of the dimensions, the newest array has.
    pub(crate) dims: Vec<usize>,
    newest: Vec<f64>,
    rows: VecDeque<Row>,
}

/// An array at a time.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) time: f64,
    /// How many elements it had.
    pub(crate) elements: usize,
    pub(crate) cells: Vec<f64>,
}

impl Rows {
    /// The array had these elements at this time.
    pub(crate) fn push(&mut self, time: f64, dims: &[usize], elements: impl ExactSizeIterator<Item = f64>) {
        self.dims.clear();
        self.dims.extend_from_slice(dims);
        self.newest.clear();
        self.newest.extend(elements.take(ELEMENTS));
        if self.rows.len() == ROWS {
            self.rows.pop_front();
        }
        self.rows.push_back(Row { time, elements: self.newest.len(), cells: cells(&self.newest) });
    }

    /// The newest array.
    pub(crate) fn newest(&self) -> &[f64] {
        &self.newest
    }

    /// The rows, oldest first.
    pub(crate) fn rows(&self) -> impl ExactSizeIterator<Item = &Row> {
        self.rows.iter()
    }
}

fn cells(elements: &[f64]) -> Vec<f64> {
    let count = elements.len().min(CELLS);
    let start = |cell: usize| cell * elements.len() / count;
    let farthest = |part: &[f64]| part.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap_or(f64::NAN);
    (0..count).map(|cell| farthest(&elements[start(cell)..start(cell + 1)])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_in_a_long_array_is_seen() {
        let mut long = vec![1.0; 5000];
        long[4321] = -7.0;
        let mut rows = Rows::default();
        rows.push(0.5, &[50, 100], long.iter().copied());
        assert_eq!((rows.newest().len(), &*rows.dims), (5000, &[50, 100][..]));
        let Row { time, elements, cells } = rows.rows().next().unwrap();
        assert_eq!((*time, *elements, cells.len()), (0.5, 5000, CELLS));
        assert_eq!(cells.iter().filter(|cell| **cell == -7.0).count(), 1);
    }

    #[test]
    fn a_number_keeps_its_digits() {
        let mut rows = Rows::default();
        rows.push(0.5, &[2], [0.1, 0.2].into_iter());
        assert_eq!(rows.rows().next().unwrap().cells, [0.1, 0.2]);
    }

    #[test]
    fn the_oldest_rows_are_forgotten() {
        let mut rows = Rows::default();
        for time in 0..2000 {
            rows.push(f64::from(time), &[1], [f64::from(time)].into_iter());
        }
        assert_eq!((rows.rows().len(), rows.rows().next().unwrap().time), (ROWS, 1488.0));
        rows.push(0.0, &[0], [].into_iter());
        assert!(rows.newest().is_empty());
    }
}
