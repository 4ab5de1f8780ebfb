//! What a query remembers, apart from the query at work: a source that has records of many formats in turn keeps that of each, and makes
//! the rest anew.

use super::Run;
use crate::state::Memory;

/// What the stages of a [`Run`] remember of the records so far. It is for the same query on records of the same format.
#[derive(Clone, Debug)]
pub struct Remembered {
    /// Of each part.
    parts: Vec<Memory>,
}

impl Run {
    /// Ends, and leaves what its stages remember.
    ///
    /// ```
    /// # use isoform_core::{Layout, Shape, Value, Verifier, View, value};
    /// # use isoform_query::{Answer, Event, Query};
    /// let format = Shape::new("Gauge").field("depth", "double").on(&Layout::NATIVE)?;
    /// let checked = Query::parse("where depth > 1 | every 2")?.check(&format, &Layout::NATIVE)?;
    /// let body = value::body(&format, &Value::Record(vec![("depth".into(), Value::Float(2.5))]))?;
    /// let (verifier, mut run, mut passed) = (Verifier::new(&format), checked.run(), Vec::new());
    /// for number in 0..4 {
    ///     passed.push(run.record(View::new(verifier.verify(&body)?), Event::at(number, 0))? == Answer::Passed);
    ///     let remembered = run.into_remembered();
    ///     run = checked.run();
    ///     run.remember(remembered);
    /// }
    /// assert_eq!(passed, [true, false, true, false]);
    /// # Ok::<(), isoform_core::Error>(())
    /// ```
    pub fn into_remembered(self) -> Remembered {
        let mut parts = vec![self.memory];
        parts.extend(self.next.into_iter().flat_map(|next| next.run.into_remembered().parts));
        Remembered { parts }
    }

    /// Goes on with what another run of the same query, on records of the same format, has remembered.
    pub fn remember(&mut self, remembered: Remembered) {
        let (mut run, mut parts) = (Some(self), remembered.parts.into_iter());
        while let Some((Run { memory, next, .. }, before)) = run.take().zip(parts.next()) {
            *memory = before;
            run = next.as_mut().map(|next| &mut next.run);
        }
    }

    /// Whether the query begins with `every n`, so that it goes by the [places](super::Event::place) of records.
    pub fn goes_by_places(&self) -> bool {
        matches!(self.checked.stages.first(), Some(super::Passage::Every(_)))
    }
}

impl Remembered {
    /// About how many bytes it takes.
    pub fn size(&self) -> usize {
        self.parts.iter().map(Memory::size).sum()
    }

    /// How many states would be forgotten with it: one for each key that is remembered, and for the stages of each part that have none. 0 if
    /// no stage remembers anything.
    pub fn states(&self) -> u64 {
        self.parts.iter().map(Memory::states).sum()
    }

    /// As [`Run::lost`].
    pub fn lost(&mut self, first: u64, count: u64) -> u64 {
        self.parts.iter_mut().map(|memory| memory.lost(first, count)).sum()
    }

    /// As [`Run::joined`].
    pub fn joined(&mut self) -> u64 {
        self.parts.iter_mut().map(|memory| memory.forget_last(|_| true)).sum()
    }
}
