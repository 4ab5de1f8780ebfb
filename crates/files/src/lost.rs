//! What could not be read of a recording, in the same words for everybody.

use isoform_core::{Code, Error};

/// What was passed over of a recording since it is damaged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Chunks.
    pub chunks: u64,
    /// Bytes of the file, with those of the chunks.
    pub bytes: u64,
    /// Events, as the index behind each chunk counts them.
    pub events: u64,
    /// Whether there may have been more events, which nothing counts.
    pub more: bool,
    /// The first places that are damaged.
    places: Vec<Place>,
    /// How many places are damaged, with those that are not remembered.
    damaged: u64,
    /// Where the file ends before its end.
    cut: Option<Error>,
}

/// A place of a recording that is damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The byte of the file where the damaged chunk, or other record, begins.
    pub at: u64,
    /// What is wrong there.
    pub error: Error,
}

/// So many places are remembered.
const PLACES: usize = 64;

impl Lost {
    /// Something is wrong at this place. The first says what the error is.
    pub(crate) fn note(&mut self, at: u64, error: Error) {
        self.damaged += 1;
        if self.places.len() < PLACES {
            self.places.push(Place { at, error });
        }
    }

    /// So many bytes were passed over.
    pub(crate) fn pass(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// The file ends before its end.
    pub(crate) fn note_cut(&mut self, error: Error) {
        self.cut.get_or_insert(error);
    }

    /// The first 64 places that are damaged, in the order in which they were met. Where a file was cut is none of them.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// How many places are damaged, also beyond the first 64.
    pub fn damaged(&self) -> u64 {
        self.damaged
    }

    /// Why this is not all that was recorded; `None` if it is.
    pub fn error(&self) -> Option<Error> {
        let Some(Place { at, error }) = self.places.first() else { return self.cut.clone() };
        let place = match error.path() {
            "" => format!("byte {at}"),
            path => format!("byte {at}, {path}"),
        };
        let (found, gone, cut) =
            (error.actual(), self.gone(), if self.cut.is_some() { "; then the file is cut" } else { "" });
        let dash = if found.is_empty() { "" } else { "; " };
        // Together, texts of others are shorter than what an error holds.
        let found = &found[..found.floor_char_boundary(300)];
        let told = Error::new(error.code()).at(place).found(format_args!("{found}{dash}passed over: {gone}{cut}"));
        Some(match error.expectation() {
            "" => told,
            expected => told.expected(expected),
        })
    }

    fn gone(&self) -> String {
        let many = |count: u64, thing: &str| format!("{count} {thing}{}", if count == 1 { "" } else { "s" });
        let events = match (self.more, self.events) {
            (false, events) => many(events, "event"),
            (true, 0) => "events that no index counts".into(),
            (true, events) => format!("at least {}", many(events, "event")),
        };
        match (self.chunks, self.bytes) {
            (0, 0) => events,
            (0, bytes) => format!("{events}, {}", many(bytes, "byte")),
            (chunks, bytes) => format!("{events} in {}, {}", many(chunks, "chunk"), many(bytes, "byte")),
        }
    }

    /// Whether nothing was passed over, and the file has its end.
    pub fn is_none(&self) -> bool {
        self.places.is_empty() && self.cut.is_none()
    }
}

/// A record, or a chunk, that is larger than a reader takes.
pub(crate) fn too_large(length: u64, most: u64) -> Error {
    Error::new(Code::MessageSize).expected(format_args!("at most {most} bytes")).found(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_beyond_those_that_are_remembered() {
        let mut lost = Lost::default();
        (0..600).for_each(|at| lost.note(at, Error::new(Code::Damaged)));
        assert_eq!((lost.places().len(), lost.damaged(), lost.is_none()), (64, 600, false));
    }
}
