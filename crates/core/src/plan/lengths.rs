//! The length fields of native arrays. They follow from the arrays, whatever fields of the same names the sender has.

use super::block::Block;
use super::find::At;
use super::step::Bytes;
use crate::error::{Code, Error, Result};
use crate::format::{Dimension, Field, Structure};

/// The native integer fields that are lengths of arrays.
pub(super) struct Lengths {
    /// For each field of the structure, whether it is a length; then whether an array has filled it, and whether one of
    /// its arrays is missing.
    states: Vec<Option<LengthState>>,
}

#[derive(Clone, Copy, Default)]
struct LengthState {
    filled: bool,
    missing: bool,
}

impl Lengths {
    pub(super) fn of(structure: &Structure) -> Lengths {
        let mut states = vec![None; structure.fields().len()];
        for field in structure.fields() {
            for dim in &field.dims {
                if let Dimension::Field(index) = *dim {
                    states[index] = Some(LengthState::default());
                }
            }
        }
        Lengths { states }
    }

    pub(super) fn is_length(&self, index: usize) -> bool {
        self.states[index].is_some()
    }

    /// Notes that an array writes this dimension. Returns whether one has written it before.
    pub(super) fn fill(&mut self, dim: Dimension) -> bool {
        let Dimension::Field(index) = dim else { return false };
        let state = self.states[index].get_or_insert_default();
        std::mem::replace(&mut state.filled, true)
    }

    pub(super) fn missing(&mut self, field: &Field) {
        for dim in &field.dims {
            if let Dimension::Field(index) = *dim {
                self.states[index].get_or_insert_default().missing = true;
            }
        }
    }

    /// Zeroes the lengths of arrays that take no wire field.
    ///
    /// # Errors
    /// [`Code::Lengths`], with the number of the field.
    pub(super) fn settle(&self, native: At<'_>, block: &mut Block) -> Result<(), (usize, Error)> {
        for ((field, state), number) in native.structure.fields().iter().zip(&self.states).zip(native.numbers()) {
            match state {
                Some(LengthState { filled: false, .. }) => {
                    let size = field.extent(native.structure.machine().pointer).unwrap_or(0);
                    block.fill(native.offset(field), Bytes::Zero(size));
                }
                Some(LengthState { filled: true, missing: true }) => {
                    let error = Error::new(Code::Lengths).expected("a wire field for every array of this length");
                    return Err((number, error.found("one for only some of them")));
                }
                _ => {}
            }
        }
        Ok(())
    }
}
