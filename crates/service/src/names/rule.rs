//! The rule of a name: which earlier versions a new one must get along with.

use super::Version;
use isoform_core::plan::{Explanation, Plan};
use isoform_core::{Code, Error, Faults, Format, Result, Token};
use serde_json::{Value, json};
use std::collections::HashSet;
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
    /// Why, for each field at fault; without those beyond 64 KiB.
    pub fields: Vec<Error>,
    /// The whole comparison as text, without the rows beyond 64 KiB.
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
        let mut comparing = Comparing::new(self, number, new, u64::MAX);
        for (old, version) in earlier.iter().rev().take(self.reach()) {
            if comparing.with(*old, version).is_err() {
                break;
            }
        }
        comparing.refused
    }

    /// How many earlier versions count, the latest first.
    pub(crate) fn reach(self) -> usize {
        match (self, self.is_transitive()) {
            (Rule::None, _) => 0,
            (_, true) => usize::MAX,
            (_, false) => 1,
        }
    }
}

/// The most pairs that a refusal lists: two versions can have 4,096, each with a long text.
const MOST: usize = 16;

/// The comparison of a new version with earlier ones, of which one at a time need be in memory. It has a bound: a rule may ask
/// for the comparison with a thousand versions, of 64 formats each, of 4,096 fields each.
pub(crate) struct Comparing<'a> {
    rule: Rule,
    number: u64,
    new: &'a Version,
    /// The fields that may still be looked at.
    left: u64,
    /// Formats that readers of the new version can read.
    read: HashSet<(Token, Token)>,
    pub(crate) refused: Vec<Refusal>,
}

impl<'a> Comparing<'a> {
    pub(crate) fn new(rule: Rule, number: u64, new: &'a Version, fields: u64) -> Comparing<'a> {
        Comparing { rule, number, new, left: fields, read: HashSet::new(), refused: Vec::new() }
    }

    /// Compares with an earlier version.
    ///
    /// # Errors
    /// [`Code::Fields`] if that is more work than was allowed.
    pub(crate) fn with(&mut self, old: u64, version: &Version) -> Result<()> {
        let (new, number) = (self.new, self.number);
        let size = |version: &Version| -> usize { version.formats().iter().map(work).sum() };
        // The old one has been parsed for this.
        self.spend(size(version))?;
        if self.rule.is_backward() {
            self.unreadable((number, new), (old, version))?;
        }
        if self.rule.is_forward() {
            self.unreadable((old, version), (number, new))?;
        }
        Ok(())
    }

    fn spend(&mut self, fields: usize) -> Result<()> {
        match self.left.checked_sub(fields as u64) {
            Some(left) => self.left = left,
            None => {
                let expected = "less to compare: retire old versions, or set another rule";
                return Err(Error::new(Code::Fields).expected(expected).found("too many versions, formats and fields"));
            }
        }
        Ok(())
    }

    /// Adds the pairs of formats for which readers of one version cannot read the other.
    fn unreadable(&mut self, reader: (u64, &Version), writer: (u64, &Version)) -> Result<()> {
        let is_new = reader.0 == self.number;
        for native in reader.1.formats() {
            let rules = reader.1.rules_for(native).expect("a version is checked with its rules when it is made");
            for wire in writer.1.formats() {
                if self.refused.len() == MOST {
                    return Ok(());
                }
                let pair = (native.token(), wire.token());
                if is_new && self.read.contains(&pair) {
                    continue;
                }
                self.spend(work(native) + work(wire))?;
                if Plan::new(wire, native, &rules, Faults::Error).is_ok() {
                    if is_new {
                        self.read.insert(pair);
                    }
                    continue;
                }
                let explanation = Explanation::new(wire, native, &rules, Faults::Error);
                self.refused.push(Refusal {
                    reader: reader.0,
                    writer: writer.0,
                    reader_format: native.token(),
                    writer_format: wire.token(),
                    fields: super::first_faults(explanation.reports().obstacles()),
                    explained: explanation.brief(super::TEXT),
                });
            }
        }
        Ok(())
    }
}

/// What a format costs wherever it is looked at.
fn work(format: &Format) -> usize {
    format.structure().total_fields() + 16
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
    fn long_paths_make_no_long_answer() {
        // 30 levels of names of 240 bytes above 1,000 fields: 7 MB of paths.
        let wide = |field: &str| {
            let mut text = "record S0\n".to_owned();
            (0..1000).for_each(|i| text += &format!(" {field}{i} int\n"));
            (1..=30).for_each(|level| text += &format!("record S{level}\n {} S{}\n", "p".repeat(240), level - 1));
            Version::new([Shape::parse(&text).unwrap().on(&Layout::NATIVE).unwrap()]).unwrap()
        };
        let (old, new) = (wide("a"), wide("b"));
        let refused = Rule::Full.check(&new, 2, &[(1, old.clone())]);
        assert_eq!(refused.len(), 2);
        let answer: usize = refused.iter().map(|refusal| refusal.to_json().to_string().len()).sum();
        assert!(answer < 1_000_000, "{answer} bytes");
        assert!(refused[0].explained.contains(" more\n"));
        assert!(crate::names::Comparison::new(&new, &old).to_json().to_string().len() < 500_000);
    }

    #[test]
    fn a_comparison_has_a_bound_and_looks_at_a_pair_once() {
        let (new, old) = (version(&[("a", "int")]), version(&[("b", "int"), ("a", "int")]));
        let mut comparing = Comparing::new(Rule::BackwardTransitive, 9, &new, 1000);
        let mut last = Ok(());
        let done = (0..1000).take_while(|number| {
            last = comparing.with(*number, &old);
            last.is_ok()
        });
        assert_eq!(done.count(), 23, "four pairs the first time, and each time what reading two formats costs");
        assert_eq!(last.unwrap_err().code(), Code::Fields);
        assert!(comparing.refused.is_empty());
        assert_eq!([Rule::None, Rule::Full, Rule::FullTransitive].map(Rule::reach), [0, 1, usize::MAX]);
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
