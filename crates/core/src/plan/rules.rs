//! The rules of a receiver for its own fields: aliases, defaults, required fields.
//!
//! Rules do not travel. They belong to a receiver's declaration, and are not part of the token.

use crate::value::Value;
use std::collections::HashMap;

/// The treatment of numbers that do not fit their destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Faults {
    /// Refuse the record, and name the field.
    #[default]
    Error,
    /// Take the nearest value that fits. Fractions are cut, NaN becomes 0, and long arrays lose their tail.
    Saturate,
    /// Keep the low bits of integers, and let floats become infinite. Fractions are cut, NaN becomes 0, and long arrays
    /// lose their tail.
    Wrap,
}

impl std::fmt::Display for Faults {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Faults::Error => "error",
            Faults::Saturate => "saturate",
            Faults::Wrap => "wrap",
        })
    }
}

/// The rules of a receiver, by structure and field.
///
/// ```
/// use isoform_core::plan::Rules;
/// use isoform_core::Value;
/// let rules = Rules::new()
///     .alias("Sample", "temperature", "temp")
///     .default("Sample", "pressure", Value::Float(1013.25))
///     .required("Sample", "step");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    structures: HashMap<Box<str>, HashMap<Box<str>, Rule>>,
}

/// The rules for one field.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rule {
    /// Other names under which the field may arrive, tried in order after its own. A name with dots, such as `pos.x`,
    /// reaches into nested structures of the sender.
    pub aliases: Vec<Box<str>>,
    /// Its value if the sender lacks it. For an enumeration, it also replaces unknown symbols.
    pub default: Option<Value>,
    /// Whether formats without it are refused.
    pub required: bool,
}

impl Rules {
    /// Creates empty rules.
    pub fn new() -> Rules {
        <Rules as Default>::default()
    }

    /// Adds another name under which the field may arrive.
    pub fn alias(mut self, structure: &str, field: &str, alias: &str) -> Rules {
        self.rule(structure, field).aliases.push(alias.into());
        self
    }

    /// Sets the value of the field for senders that lack it.
    pub fn default(mut self, structure: &str, field: &str, value: Value) -> Rules {
        self.rule(structure, field).default = Some(value);
        self
    }

    /// Refuses formats without the field.
    pub fn required(mut self, structure: &str, field: &str) -> Rules {
        self.rule(structure, field).required = true;
        self
    }

    /// Adds the rules of nested structures.
    pub fn and(mut self, other: Rules) -> Rules {
        for (structure, rules) in other.structures {
            self.structures.entry(structure).or_default().extend(rules);
        }
        self
    }

    /// The rules for a field, if there are any.
    pub fn of(&self, structure: &str, field: &str) -> Option<&Rule> {
        self.structures.get(structure)?.get(field)
    }

    fn rule(&mut self, structure: &str, field: &str) -> &mut Rule {
        self.structures.entry(structure.into()).or_default().entry(field.into()).or_default()
    }
}
