//! The rule of a name: which earlier versions a new one must get along with.

use super::Version;
use isoform_core::plan::Explanation;
use isoform_core::{Code, Error, Faults, Result, Token};
use serde_json::{Value, json};
use std::fmt;
use std::str::FromStr;

/// The rule of a name.
///
/// ```
/// use isoform_core::{Layout, Shape};
/// use isoform_service::names::{Rule, Version};
/// let first = Shape::new("River").field("step", "int").field("depth", "float").on(&Layout::NATIVE)?;
/// let second = Shape::new("River").field("step", "long").on(&Layout::NATIVE)?;
/// let (first, second) = (Version::new([first])?, Version::new([second])?);
/// assert!(Rule::Backward.check(&second, 2, &[(1, first.clone())]).is_empty(), "it reads what there is");
/// let refused = Rule::Full.check(&second, 2, &[(1, first)]);
/// assert_eq!(refused[0].fields[0].path(), "depth", "readers of the first version want it");
/// # Ok::<(), isoform_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    /// Every version is accepted.
    None,
    /// Readers of the new version read records of the latest one.
    #[default]
    Backward,
    /// Readers of the latest version read records of the new one.
    Forward,
    /// Both.
    Full,
    /// Readers of the new version read records of every version.
    BackwardTransitive,
    /// Readers of every version read records of the new one.
    ForwardTransitive,
    /// Both.
    FullTransitive,
}

/// A pair of formats that a rule wants converted, and that has no plan. A list has at most 16 of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// The number of the version that would read.
    pub reader: u64,
    /// The number of the version that would be read.
    pub writer: u64,
    /// The format of the reader.
    pub reader_format: Token,
    /// The format of the writer.
    pub writer_format: Token,
    /// Why, for each field at fault.
    pub fields: Vec<Error>,
    /// The whole comparison as text.
    pub explained: String,
}

impl Rule {
    /// Every rule.
    pub const ALL: [Rule; 7] = [
        Rule::None,
        Rule::Backward,
        Rule::Forward,
        Rule::Full,
        Rule::BackwardTransitive,
        Rule::ForwardTransitive,
        Rule::FullTransitive,
    ];

    /// Its word in requests and answers, such as `FULL_TRANSITIVE`.
    pub fn word(self) -> &'static str {
        match self {
            Rule::None => "NONE",
            Rule::Backward => "BACKWARD",
            Rule::Forward => "FORWARD",
            Rule::Full => "FULL",
            Rule::BackwardTransitive => "BACKWARD_TRANSITIVE",
            Rule::ForwardTransitive => "FORWARD_TRANSITIVE",
            Rule::FullTransitive => "FULL_TRANSITIVE",
        }
    }

    fn is_transitive(self) -> bool {
        matches!(self, Rule::BackwardTransitive | Rule::ForwardTransitive | Rule::FullTransitive)
    }

    fn is_backward(self) -> bool {
        matches!(self, Rule::Backward | Rule::Full | Rule::BackwardTransitive | Rule::FullTransitive)
    }

    fn is_forward(self) -> bool {
        matches!(self, Rule::Forward | Rule::Full | Rule::ForwardTransitive | Rule::FullTransitive)
    }

    /// Compares a new version, which would have this number, with the versions that are not retired, the latest last. The new
    /// version is accepted if nothing is refused.
    pub fn check(self, new: &Version, number: u64, earlier: &[(u64, Version)]) -> Vec<Refusal> {
        let count = if self.is_transitive() { earlier.len() } else { earlier.len().min(1) };
        let mut refused = Vec::new();
        for (old, version) in earlier[earlier.len() - count..].iter().rev() {
            if self.is_backward() {
                unreadable((number, new), (*old, version), &mut refused);
            }
            if self.is_forward() {
                unreadable((*old, version), (number, new), &mut refused);
            }
        }
        refused
    }
}

/// The most pairs that a refusal lists: two versions can have 4,096, each with a long text.
const MOST: usize = 16;

/// Adds the pairs of formats for which readers of one version cannot read the other.
fn unreadable(reader: (u64, &Version), writer: (u64, &Version), refused: &mut Vec<Refusal>) {
    for native in reader.1.formats() {
        let rules = reader.1.rules_for(native).expect("a version is checked with its rules when it is made");
        for wire in writer.1.formats() {
            if refused.len() == MOST {
                return;
            }
            let explanation = Explanation::new(wire, native, &rules, Faults::Error);
            if explanation.plan().is_none() {
                refused.push(Refusal {
                    reader: reader.0,
                    writer: writer.0,
                    reader_format: native.token(),
                    writer_format: wire.token(),
                    fields: explanation.reports().obstacles().to_vec(),
                    explained: explanation.to_string(),
                });
            }
        }
    }
}

impl Refusal {
    /// As an entry of the list `refused` in a problem.
    pub fn to_json(&self) -> Value {
        json!({
            "reader": self.reader, "writer": self.writer,
            "reader_format": self.reader_format.to_string(), "writer_format": self.writer_format.to_string(),
            "fields": self.fields.iter().map(super::fault).collect::<Vec<_>>(), "explained": self.explained,
        })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Rule {
    type Err = Error;

    fn from_str(word: &str) -> Result<Rule> {
        Rule::ALL.into_iter().find(|rule| rule.word() == word).ok_or_else(|| {
            let words = Rule::ALL.map(Rule::word).join(", ");
            Error::new(Code::Text).expected(format_args!("one of {words}")).found(word)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::FieldRule;
    use isoform_core::text::format;
    use isoform_core::{Layout, Shape};

    fn version(fields: &[(&str, &str)]) -> Version {
        let shape = fields.iter().fold(Shape::new("River"), |shape, (name, kind)| shape.field(*name, kind));
        Version::new([Layout::NATIVE, Layout::SPARC].map(|layout| shape.clone().on(&layout).unwrap())).unwrap()
    }

    /// For each rule: whether a new version is accepted after these.
    fn accepted(new: &Version, earlier: &[(u64, Version)]) -> [bool; 7] {
        Rule::ALL.map(|rule| rule.check(new, 9, earlier).is_empty())
    }

    #[test]
    fn each_rule_compares_what_it_says() {
        let (one, two) = (version(&[("a", "int")]), version(&[("a", "int"), ("b", "int")]));
        // A field more: readers of the new version lack it in old records; readers of the old one ignore it.
        assert_eq!(accepted(&two, &[(1, one.clone())]), [true, false, true, false, false, true, false]);
        // A field less: the reverse.
        assert_eq!(accepted(&one, &[(1, two.clone())]), [true, true, false, false, true, false, false]);
        // The latest is equal; an older one is not.
        let earlier = [(1, one.clone()), (2, two.clone())];
        assert_eq!(accepted(&two, &earlier), [true, true, true, true, false, true, false]);
        let earlier = [(1, two.clone()), (2, one.clone())];
        assert_eq!(accepted(&one, &earlier), [true, true, true, true, true, false, false]);
        assert_eq!(accepted(&one, &[]), [true; 7]);
    }

    #[test]
    fn readers_rules_count() {
        let (one, two) = (version(&[("a", "int")]), version(&[("a", "int"), ("b", "int")]));
        let default = FieldRule { default: Some(json!(7)), ..FieldRule::default() };
        let two = two.with("River", "b", default).unwrap();
        assert_eq!(accepted(&two, &[(1, one.clone())]), [true; 7], "a default for the new field");
        let (one, renamed) = (version(&[("a", "int"), ("c", "int")]), version(&[("first", "int"), ("c", "int")]));
        let alias = FieldRule { aliases: vec!["a".into()], ..FieldRule::default() };
        let renamed = renamed.with("River", "first", alias).unwrap();
        assert!(Rule::Backward.check(&renamed, 2, &[(1, one.clone())]).is_empty());
        let refused = Rule::Forward.check(&renamed, 2, &[(1, one)]);
        assert_eq!(refused.len(), 4, "each kind of machine with each");
        assert_eq!((refused[0].reader, refused[0].writer, refused[0].fields[0].path()), (1, 2, "a"));
        assert!(refused[0].explained.contains("first"), "{}", refused[0].explained);
    }

    #[test]
    fn a_refusal_lists_some_pairs_of_many() {
        let formats = |field: &str| {
            let format =
                |more| Shape::new("River").field(field, "int").field(format!("f{more}"), "int").on(&Layout::NATIVE);
            Version::new((0..64).map(|more| format(more).unwrap())).unwrap()
        };
        assert_eq!(Rule::Full.check(&formats("a"), 2, &[(1, formats("b"))]).len(), 16);
    }

    #[test]
    fn rules_are_refused_where_they_are_declared() {
        let known =
            |format: Token| version(&[("a", "int")]).formats().iter().find(|known| known.token() == format).cloned();
        let token = version(&[("a", "int")]).formats()[0].token().to_string();
        let good = json!({ "formats": [token], "rules": { "River": { "a": { "default": 5, "aliases": ["b"] } } } });
        let read = Version::from_json(&good, known).unwrap();
        assert_eq!(read.to_json(), good);
        let whole: Value = serde_json::from_str(&format::to_json(&read.formats()[0])).unwrap();
        let inline = json!({ "formats": [whole], "rules": good["rules"] });
        assert_eq!(Version::from_json(&inline, |_| None).unwrap(), read);
        let cases = [
            (json!({}), Code::Text, ""),
            (json!({ "formats": [7] }), Code::Text, ""),
            (json!({ "formats": [{ "token": token }] }), Code::Text, ""),
            (json!({ "formats": [] }), Code::Declaration, ""),
            (json!({ "formats": [token, token] }), Code::Declaration, ""),
            (json!({ "formats": ["00000000000000000000000000000009"] }), Code::UnknownFormat, ""),
            (json!({ "formats": [token], "prose": 1 }), Code::Text, ""),
            (json!({ "formats": [token], "rules": { "Lake": { "a": {} } } }), Code::NoSuchField, "Lake.a"),
            (json!({ "formats": [token], "rules": { "River": { "b": {} } } }), Code::NoSuchField, "River.b"),
            (json!({ "formats": [token], "rules": { "River": { "a": { "default": "x" } } } }), Code::Text, "River.a"),
            (
                json!({ "formats": [token], "rules": { "River": { "a": { "aliases": ["b..c"] } } } }),
                Code::Declaration,
                "River.a",
            ),
            (json!({ "formats": [token], "rules": { "River": { "a": { "must": true } } } }), Code::Text, "River.a"),
        ];
        for (json, code, path) in cases {
            let error = Version::from_json(&json, known).unwrap_err();
            assert_eq!((error.code(), error.path()), (code, path), "{json}: {error}");
        }
    }

    #[test]
    fn words_are_rules() {
        for rule in Rule::ALL {
            assert_eq!(rule.word().parse::<Rule>().unwrap(), rule);
        }
        assert!("backward".parse::<Rule>().is_err());
    }
}
