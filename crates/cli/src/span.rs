//! `--from` and `--to`: the seconds of a recording.

use crate::args::Span;
use crate::failure::{Failure, behind};
use isoform_files::Recording;
use std::ops::RangeInclusive;

impl Span {
    pub(crate) fn is_all(&self) -> bool {
        self.from.is_none() && self.to.is_none()
    }

    /// The times between these seconds, in nanoseconds since 1970.
    ///
    /// # Errors
    /// If nothing of the recording can be there.
    pub(crate) fn of(&self, recording: &mut Recording, name: &str) -> Result<RangeInclusive<u64>, Failure> {
        if self.is_all() {
            return Ok(0..=u64::MAX);
        }
        if let (Some(from), Some(to)) = (self.from, self.to)
            && from > to
        {
            return Err(behind(from, to));
        }
        let times = recording.times().map_err(|error| Failure::from(error).about(name))?;
        let (first, last) = times.map_or((0, 0), RangeInclusive::into_inner);
        let moment = |seconds: f64| first.saturating_add((seconds * 1e9) as u64);
        let span = self.from.map_or(0, moment)..=self.to.map_or(u64::MAX, moment);
        match self.from.filter(|_| *span.start() > last) {
            None => Ok(span),
            Some(from) => {
                let length = (last - first) as f64 / 1e9;
                let failure = Failure::usage(format!("--from {from} is behind the end of {name}"));
                Err(failure.hint(format!("it has the seconds 0 to {length}")))
            }
        }
    }
}
