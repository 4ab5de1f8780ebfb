//! What sinks ask of the parameters of a source.

use super::{Source, SourceEnd};
use crate::api::parameters::{Demand, Parameters};
use crate::drive::state::State;
use crate::drive::wait::after;
use isoform::form::Outgoing;
use isoform::{Code, Error, Result};
use std::sync::atomic::Ordering;
use std::time::Duration;

impl<F: Outgoing> Source<F> {
    /// What the sinks ask of this source's [parameters](crate::SourceBuilder::parameters): each demand once, with the number
    /// of its sinks. Without sinks there is none, and nothing to generate.
    pub fn demands(&self) -> Vec<Demand> {
        self.end.demands()
    }

    /// The demands, if they are others than when the program was told of them last. Otherwise, waits for that, for
    /// `patience` at most, and then returns `None`.
    ///
    /// # Errors
    /// [`Code::Closed`] if the channel was closed; [`Code::Io`].
    pub fn new_demands(&self, patience: Duration) -> Result<Option<Vec<Demand>>> {
        self.end.new_demands(patience)
    }

    /// Grants a demand other values than its sinks ask for: a coarser resolution, or a smaller region. Fields that are
    /// missing in `values` stay as they are. The sinks are told by [`Event::Given`](crate::Event::Given). If there is a demand for
    /// these values already, the sinks become part of it. If no sink asks for the demand any more, nothing happens.
    ///
    /// # Errors
    /// [`Code::NoSuchField`] for a field that is no parameter; what does not fit, with its field;
    /// [`Code::Closed`].
    pub fn grant(&self, demand: &Demand, values: &Parameters) -> Result<()> {
        self.end.grant(demand, values)
    }

    /// Refuses a demand. Its sinks are told what you `expected` by [`Event::Refused`](crate::Event::Refused), with
    /// [`Code::NotGranted`]. They get no events before they ask for other values.
    pub fn refuse(&self, demand: &Demand, expected: &str) {
        self.end.refuse(demand, expected);
    }
}

impl SourceEnd {
    pub(super) fn demands(&self) -> Vec<Demand> {
        let state = self.life.hub.lock();
        self.told.store(state.machine.demand_changes(self.key), Ordering::Relaxed);
        state.machine.demands(self.key).into_iter().map(Demand::from).collect()
    }

    pub(super) fn new_demands(&self, patience: Duration) -> Result<Option<Vec<Demand>>> {
        let told = self.told.load(Ordering::Relaxed);
        let found = self.life.hub.drive(&self.bell, after(patience), |state: &mut State| {
            let is_closed = !state.machine.has_source(self.key);
            (is_closed || state.machine.demand_changes(self.key) != told).then_some(is_closed)
        })?;
        match found {
            Some(true) => Err(Error::new(Code::Closed).at("source")),
            Some(false) => Ok(Some(self.demands())),
            None => Ok(None),
        }
    }

    pub(super) fn grant(&self, demand: &Demand, values: &Parameters) -> Result<()> {
        self.life.hub.with(|state| state.machine.grant_values(self.key, demand.key, &values.0)).map(drop)
    }

    pub(super) fn refuse(&self, demand: &Demand, expected: &str) {
        self.life.hub.with(|state| state.machine.refuse_demand(self.key, demand.key, expected));
    }
}
