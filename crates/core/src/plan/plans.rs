//! The plans of one receiver, shared by all of its decoders: a plan that one has proven serves the others.

use super::{Faults, Plan, Rules};
use crate::Result;
use crate::format::Format;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// This many plans are kept. The least recently used one goes first.
const KEPT: usize = 64;

/// The plans from any wire format to one native format, each made once. Clones are cheap, and share the plans.
///
/// ```
/// use isoform_core::plan::{Faults, Plans, Rules};
/// use isoform_core::{ByteOrder, FieldList, Machine};
/// let depth = |machine| FieldList::new("Gauge").field("depth", "float", 8, 0).format(machine, 8, 8);
/// let sparc = Machine { order: ByteOrder::Big, pointer: 4 };
/// let plans = Plans::new(depth(Machine::NATIVE)?, Rules::new(), Faults::default());
/// let plan = plans.plan(&depth(sparc)?)?;
/// assert!(std::sync::Arc::ptr_eq(&plan, &plans.clone().plan(&depth(sparc)?)?), "the plan that was made before");
/// # Ok::<(), isoform_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Plans(Arc<Receiver>);

struct Receiver {
    native: Format,
    rules: Rules,
    faults: Faults,
    /// The plans so far, with the most recently used one in front.
    made: Mutex<VecDeque<Arc<Plan>>>,
}

impl Plans {
    /// Creates the plans of a receiver, from its native format and its rules.
    pub fn new(native: Format, rules: Rules, faults: Faults) -> Plans {
        Plans(Arc::new(Receiver { native, rules, faults, made: Mutex::default() }))
    }

    /// Whether these are the plans of a receiver with this format and these rules.
    pub fn are_for(&self, native: &Format, rules: &Rules, faults: Faults) -> bool {
        self.0.native == *native && self.0.faults == faults && self.0.rules == *rules
    }

    /// The plan for a wire format. It is made if it does not exist yet.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn plan(&self, wire: &Format) -> Result<Arc<Plan>> {
        let Receiver { native, rules, faults, made } = &*self.0;
        let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
        let plan = match made.iter().position(|plan| plan.wire() == wire) {
            Some(at) => made.remove(at),
            None => None,
        };
        let plan = plan.map_or_else(|| Plan::new(wire, native, rules, *faults).map(Arc::new), Ok)?;
        made.push_front(plan.clone());
        made.truncate(KEPT);
        Ok(plan)
    }
}

impl fmt::Debug for Plans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Plans({:?}, faults: {:?})", self.0.native, self.0.faults)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Code, FieldList, Machine};

    fn format(name: &str, kind: &str) -> Format {
        FieldList::new(name).field("a", kind, 8, 0).format(Machine::NATIVE, 8, 8).unwrap()
    }

    #[test]
    fn a_plan_is_made_once_and_kept_while_others_come() {
        let plans = Plans::new(format("native", "float"), Rules::new(), Faults::Error);
        let often = format("often", "integer");
        let first = plans.plan(&often).unwrap();
        for i in 0..2 * KEPT {
            plans.plan(&format(&format!("wire{i}"), "float")).unwrap();
            assert!(Arc::ptr_eq(&first, &plans.plan(&often).unwrap()), "after {i} others");
        }
        assert_eq!(plans.0.made.lock().unwrap().len(), KEPT);
        assert_eq!(plans.plan(&format("wrong", "string")).unwrap_err().code(), Code::NoConversion);
        assert_eq!(plans.0.made.lock().unwrap().len(), KEPT, "what cannot be converted takes nobody's place");
    }

    #[test]
    fn plans_are_for_one_receiver() {
        let (native, rules) = (format("native", "float"), Rules::new());
        let plans = Plans::new(native.clone(), rules.clone(), Faults::Error);
        assert!(plans.are_for(&native, &rules, Faults::Error));
        assert!(!plans.are_for(&native, &rules, Faults::Wrap));
        assert!(!plans.are_for(&native, &rules.clone().required("native", "a"), Faults::Error));
        assert!(!plans.are_for(&format("native", "integer"), &rules, Faults::Error));
    }
}
