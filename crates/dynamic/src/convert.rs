//! From messages of any format to bodies of one: what languages stand on whose records are objects, not memory.

use isoform::core::{Plan, interp};
use isoform::{Faults, Format, Incoming, Result, Rules, Token};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// So many formats a converter remembers the plans of.
const REMEMBERED: usize = 64;

/// Makes bodies of a receiver's format of those of others. Threads may share it.
pub struct Converter {
    format: Format,
    rules: Rules,
    faults: Faults,
    /// Locked for as long as it takes to find or to make one.
    plans: Mutex<HashMap<Token, Arc<Plan>>>,
}

impl Converter {
    /// A converter to this format.
    pub fn new(format: Format, rules: Rules, faults: Faults) -> Converter {
        Converter { format, rules, faults, plans: Mutex::default() }
    }

    /// The format of the bodies.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// The body of a message's record. Its text and arrays are views into it.
    ///
    /// # Errors
    /// What verification finds, what speaks against a plan, and what the conversion finds in this record.
    pub fn body(&self, message: &Incoming<'_>) -> Result<Vec<u8>> {
        let mut body = Vec::new();
        interp::run(&*self.plan(message)?, message.verify()?, &mut body)?;
        Ok(body)
    }

    fn plan(&self, message: &Incoming<'_>) -> Result<Arc<Plan>> {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plan) = plans.get(&message.token()) {
            return Ok(plan.clone());
        }
        let plan = Arc::new(Plan::new(message.format(), &self.format, &self.rules, self.faults)?);
        if plans.len() >= REMEMBERED {
            plans.clear();
        }
        plans.insert(message.token(), plan.clone());
        Ok(plan)
    }
}
