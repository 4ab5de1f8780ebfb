//! The time of an event, which is looked up when something needs it, and once: a look at the clock costs more than an event that
//! no sink wants.

pub(super) struct Moment<F> {
    clock: F,
    time: Option<u64>,
}

impl<F: FnMut() -> u64> Moment<F> {
    pub(super) fn new(clock: F) -> Moment<F> {
        Moment { clock, time: None }
    }

    /// In nanoseconds since 1970.
    #[inline]
    pub(super) fn time(&mut self) -> u64 {
        *self.time.get_or_insert_with(&mut self.clock)
    }
}
