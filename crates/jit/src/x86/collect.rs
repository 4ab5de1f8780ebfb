//! Collects the steps that move, convert or fill few bytes, so that neighbours are put together.

use super::Extension;
use super::block::{From, Piece};
use super::number::{self, Change};
use crate::generate::{SHORT, is_short};
use isoform_core::plan::{Bytes, Step, Transform};

/// Runs of at most this many bytes are treated as fields.
const FIELD: usize = 64;

/// The work on the small fields of a record or element, and the steps that remain.
pub(super) struct Collected<'a> {
    extension: Extension,
    pub(super) pieces: Vec<Piece<'a>>,
    pub(super) others: Vec<&'a Step>,
}

impl<'a> Collected<'a> {
    pub(super) fn new(extension: Extension) -> Collected<'a> {
        Collected { extension, pieces: Vec::new(), others: Vec::new() }
    }

    pub(super) fn add(&mut self, step: &'a Step) {
        match step {
            Step::Move { src, dst, len } if *len <= FIELD => self.place(*dst, *len, *src, false),
            Step::Permute { width, swap, pairs } => {
                pairs.iter().for_each(|&(src, dst)| self.place(dst, *width, src, *swap));
            }
            Step::Fill { dst, bytes } if bytes.len() <= SHORT => {
                let from = match bytes {
                    Bytes::Zero(_) => From::Zero,
                    Bytes::Of(bytes) => From::Constant(bytes.clone()),
                };
                self.pieces.push(Piece { dst: *dst, length: bytes.len(), from });
            }
            Step::Elements { src, dst, count, transform, .. } => match transform {
                Transform::Copy(size) if size * count <= FIELD => self.place(*dst, size * count, *src, false),
                Transform::Swap { width, per }
                    if width * per * count < self.extension.vector() && self.extension.reverses(*width) =>
                {
                    let numbers = (0..per * count).map(|index| index * width);
                    numbers.for_each(|at| self.place(dst + at, *width, src + at, true));
                }
                Transform::Convert { conversion, per }
                    if number::is_known(conversion)
                        && Change::Number(conversion).is_for_one_by_one(count * per, self.extension) =>
                {
                    self.numbers(Change::Number(conversion), count * per, (*src, *dst));
                }
                Transform::Symbols(symbols) if *count < number::LANES && is_short(symbols) => {
                    self.numbers(Change::Symbol(symbols), *count, (*src, *dst));
                }
                _ => self.others.push(step),
            },
            _ => self.others.push(step),
        }
    }

    fn place(&mut self, dst: usize, length: usize, offset: usize, reversed: bool) {
        self.pieces.push(Piece { dst, length, from: From::Place { offset, reversed } });
    }

    fn numbers(&mut self, change: Change<'a>, count: usize, (src, dst): (usize, usize)) {
        let (from, to) = (usize::from(change.from().size), usize::from(change.to().size));
        self.pieces.extend((0..count).map(|index| {
            let from = From::Number { offset: src + index * from, change };
            Piece { dst: dst + index * to, length: to, from }
        }));
    }
}
