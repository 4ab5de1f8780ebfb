//! The rules of a receiver for its own fields: aliases, defaults, required fields, and what becomes of missing ones.
//!
//! Rules do not travel. They belong to a receiver's declaration, and are not part of the token.

use crate::error::{Code, Error, Result};
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

/// The treatment of fields and elements that no sender's field fills and that have no default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Missing {
    /// Refuse the sender's format, and name all of them. A pointer to a single element or a fixed array becomes null.
    #[default]
    Refuse,
    /// Make them zero, null or empty. Zeros can pass for data, so this is for receivers that cannot declare defaults.
    Zero,
}

impl std::fmt::Display for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Missing::Refuse => "refuse",
            Missing::Zero => "zero",
        })
    }
}

/// The default of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum Fill {
    /// Zero, false, the symbol of value 0, null or empty. In a nested structure, this holds for all fields that have no
    /// default of their own.
    Zero,
    /// This value. For an enumeration, it also replaces unknown symbols.
    Value(Value),
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
    missing: Missing,
    part: bool,
}

/// The rules for one field.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rule {
    /// Other names under which the field may arrive, tried in order after its own. A name with dots, such as `pos.x`,
    /// reaches into nested structures of the sender. The name `.` is for a nested structure, and lets it take the fields of
    /// the sender's structure in which it is looked up.
    pub aliases: Vec<Box<str>>,
    /// Its value if the sender lacks it.
    pub default: Option<Fill>,
    /// Whether formats without it are refused.
    pub required: bool,
}

impl Rule {
    fn add(&mut self, other: Rule) {
        let new: Vec<_> = other.aliases.into_iter().filter(|alias| !self.aliases.contains(alias)).collect();
        self.aliases.extend(new);
        self.default = other.default.or(self.default.take());
        self.required |= other.required;
    }
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

    /// Checks that a field can have this alias: names of fields with dots between them; or `.`, with which the fields of a
    /// nested structure are those of the sender's structure around it.
    ///
    /// ```
    /// use isoform_core::plan::Rules;
    /// assert!(Rules::check_alias("pos.x").is_ok());
    /// let error = Rules::check_alias("nonsense..[3]").unwrap_err();
    /// assert!(error.to_string().ends_with("with dots between them, found nonsense..[3]"));
    /// ```
    ///
    /// # Errors
    /// [`Code::Declaration`].
    pub fn check_alias(alias: &str) -> Result<()> {
        let odd = |c: char| c.is_control() || c.is_whitespace() || "[]{}*,=".contains(c);
        let is_name = |name: &str| !name.is_empty() && name.len() <= 255 && !name.contains(odd);
        match alias == "." || alias.split('.').all(is_name) {
            true => Ok(()),
            false => {
                let error = Error::new(Code::Declaration)
                    .expected("an alias: \".\", or names of fields, with dots between them");
                Err(error.found(alias))
            }
        }
    }

    /// Sets the value of the field for senders that lack it.
    pub fn default(mut self, structure: &str, field: &str, value: Value) -> Rules {
        self.rule(structure, field).default = Some(Fill::Value(value));
        self
    }

    /// Makes the field zero, null or empty for senders that lack it.
    pub fn default_zero(mut self, structure: &str, field: &str) -> Rules {
        self.rule(structure, field).default = Some(Fill::Zero);
        self
    }

    /// Sets the treatment of all fields and elements that have no default and that the sender lacks.
    pub fn missing(mut self, missing: Missing) -> Rules {
        self.missing = missing;
        self
    }

    /// The treatment of fields and elements that have no default and that the sender lacks.
    pub fn on_missing(&self) -> Missing {
        self.missing
    }

    /// Accepts senders that have no field in common with the receiver, since its fields are a part of a record whose other
    /// fields the caller compares.
    pub fn part(mut self) -> Rules {
        self.part = true;
        self
    }

    pub(crate) fn is_part(&self) -> bool {
        self.part
    }

    /// Refuses formats without the field.
    pub fn required(mut self, structure: &str, field: &str) -> Rules {
        self.rule(structure, field).required = true;
        self
    }

    /// Adds the rules of others, such as those of nested structures. Of two defaults of a field, theirs counts.
    ///
    /// ```
    /// use isoform_core::plan::Rules;
    /// use isoform_core::Value;
    /// let document = Rules::new().alias("Gauge", "level", "lvl").default("Gauge", "level", Value::Integer(0));
    /// let both = document.and(Rules::new().default("Gauge", "level", Value::Integer(7)));
    /// let one = Rules::new().alias("Gauge", "level", "lvl").default("Gauge", "level", Value::Integer(7));
    /// assert_eq!(both, one);
    /// ```
    pub fn and(mut self, other: Rules) -> Rules {
        for (structure, rules) in other.structures {
            let own = self.structures.entry(structure).or_default();
            rules.into_iter().for_each(|(field, rule)| own.entry(field).or_default().add(rule));
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
