//! Converts messages of any format to bodies of one, for languages whose records are objects and not memory.

#[cfg(any(unix, windows))]
use isoform::Messages;
use isoform::core::{Plan, interp};
use isoform::form::Form;
use isoform::{Faults, Format, Incoming, Result, Rules, Token};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A converter remembers the plans of this many formats.
const REMEMBERED: usize = 64;

/// Converts bodies of any format to bodies of a receiver's format. Threads may share it.
pub struct Converter {
    format: Format,
    rules: Rules,
    faults: Faults,
    /// Locked only while a plan is found or made.
    plans: Mutex<HashMap<Token, Arc<Plan>>>,
}

impl Converter {
    /// Creates a converter to this format.
    pub fn new(format: Format, rules: Rules, faults: Faults) -> Converter {
        Converter { format, rules, faults, plans: Mutex::default() }
    }

    /// The messages that this converter can convert.
    #[cfg(any(unix, windows))]
    pub(crate) fn messages(&self) -> Messages {
        Messages::configure(Messages::of(&self.format, self.rules.clone()), Some(self.faults), None)
    }

    /// The format of the bodies.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// Converts the body of a message. Text and arrays in the result are views into it.
    ///
    /// # Errors
    /// The errors of verification, of the plan, and of the conversion of this record.
    pub fn body(&self, message: &Incoming<'_>) -> Result<Vec<u8>> {
        let mut body = Vec::new();
        interp::run(&*self.plan(message.format())?, message.verify()?, &mut body)?;
        Ok(body)
    }

    /// The plan from a sender's format.
    pub(crate) fn plan(&self, wire: &Format) -> Result<Arc<Plan>> {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plan) = plans.get(&wire.token()) {
            return Ok(plan.clone());
        }
        let plan = Arc::new(Plan::new(wire, &self.format, &self.rules, self.faults)?);
        if plans.len() >= REMEMBERED {
            plans.clear();
        }
        plans.insert(wire.token(), plan.clone());
        Ok(plan)
    }
}
