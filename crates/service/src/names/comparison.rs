//! Whether readers of one version can read records of another.

use super::Version;
use isoform_core::plan::{Explanation, Plan};
use isoform_core::{Error, Faults, Token};
use serde_json::{Value, json};

/// Whether readers of one version can read records of another, and one pair of formats that shows it: the first one without a
/// plan, or the first one of all.
///
/// ```
/// use isoform_core::{Layout, Shape};
/// use isoform_service::names::{Comparison, Version};
/// let first = Shape::new("River").field("step", "int").on(&Layout::NATIVE)?;
/// let second = Shape::new("River").field("step", "int").field("depth", "float").on(&Layout::NATIVE)?;
/// let (first, second) = (Version::new([first])?, Version::new([second])?);
/// assert!(Comparison::new(&first, &second).compatible);
/// assert_eq!(Comparison::new(&second, &first).fields[0].path(), "depth");
/// # Ok::<(), isoform_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Whether there is a plan from each format of the writer to each format of the reader.
    pub compatible: bool,
    /// The reader's format of the pair.
    pub reader_format: Token,
    /// The writer's format of the pair.
    pub writer_format: Token,
    /// Why the pair has no plan, for each field at fault; without those beyond 64 KiB.
    pub fields: Vec<Error>,
    /// The whole comparison of the pair as text, without the rows beyond 64 KiB.
    pub explained: String,
}

impl Comparison {
    /// Compares a version that reads, with its rules, and one that is read.
    pub fn new(reader: &Version, writer: &Version) -> Comparison {
        let mut first = None;
        for native in reader.formats() {
            let rules = reader.rules_for(native).expect("a version is checked with its rules when it is made");
            for wire in writer.formats() {
                if first.is_some() && Plan::new(wire, native, &rules, Faults::Error).is_ok() {
                    continue;
                }
                let explanation = Explanation::new(wire, native, &rules, Faults::Error);
                let compatible = explanation.plan().is_some();
                let comparison = Comparison {
                    compatible,
                    reader_format: native.token(),
                    writer_format: wire.token(),
                    fields: super::first_faults(explanation.reports().obstacles()),
                    explained: explanation.brief(super::TEXT),
                };
                if !compatible {
                    return comparison;
                }
                first = Some(comparison);
            }
        }
        first.expect("a version has at least one format")
    }

    /// As the server answers it.
    pub fn to_json(&self) -> Value {
        json!({
            "compatible": self.compatible,
            "reader_format": self.reader_format.to_string(), "writer_format": self.writer_format.to_string(),
            "fields": self.fields.iter().map(super::fault).collect::<Vec<_>>(), "explained": self.explained,
        })
    }
}
