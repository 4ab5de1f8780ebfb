//! One version of a name: a declaration, as formats for all kinds of machines and what its readers accept.

use isoform_core::plan::Rules;
use isoform_core::text::{format, json};
use isoform_core::{Code, Error, Field, Format, Result, Structure, Token};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The most formats that a version has.
pub(crate) const FORMATS: usize = 64;

/// A declaration: the formats that it has on all kinds of machines, and the rules of its readers, which are in no token.
#[derive(Clone, Debug, PartialEq)]
pub struct Version {
    formats: Vec<Format>,
    rules: BTreeMap<String, BTreeMap<String, FieldRule>>,
}

/// What readers of a version accept for one field.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FieldRule {
    /// Other names under which it may arrive.
    pub aliases: Vec<String>,
    /// Its value if the sender lacks it, as JSON; the object `{}` stands for zero.
    pub default: Option<Value>,
    /// Whether records without it are refused.
    pub required: bool,
}

impl Version {
    /// A version of these formats without rules.
    ///
    /// # Errors
    /// [`Code::Declaration`] if there are none, more than 64, or the same one twice.
    pub fn new(formats: impl IntoIterator<Item = Format>) -> Result<Version> {
        let formats: Vec<Format> = formats.into_iter().collect();
        let unfit = |found: String| {
            let expected = format_args!("1 to {FORMATS} formats, all of them different");
            Err(Error::new(Code::Declaration).expected(expected).found(found))
        };
        if formats.is_empty() || formats.len() > FORMATS {
            return unfit(formats.len().to_string());
        }
        let mut tokens = HashSet::new();
        match formats.iter().find(|format| !tokens.insert(format.token())) {
            Some(twice) => unfit(format!("{} twice", twice.token())),
            None => Ok(Version { formats, rules: BTreeMap::new() }),
        }
    }

    /// The version that this JSON describes, whose formats are tokens or formats as JSON. `known` has the formats by token.
    ///
    /// # Errors
    /// [`Code::Text`] if it is not the JSON of a version; [`Code::UnknownFormat`] for a token that is not known; errors of
    /// [`Version::new`]; [`Code::NoSuchField`], [`Code::Declaration`] and [`Code::Text`] for a rule that a format cannot have.
    pub fn from_json(json: &Value, known: impl Fn(Token) -> Option<Format>) -> Result<Version> {
        let object = entries(json, "", &["formats", "rules"])?;
        let tokens = object.get("formats").and_then(Value::as_array).ok_or_else(|| unfit("a list of formats", json))?;
        if tokens.len() > FORMATS {
            return Err(unfit(&format!("at most {FORMATS} formats"), &tokens.len().into()));
        }
        let format = |json: &Value| match json {
            Value::String(token) => {
                let token = token.parse()?;
                known(token).ok_or_else(|| Error::unknown_format(token))
            }
            Value::Object(_) => format::from_json(&json.to_string()),
            other => Err(unfit("a token, or a format as JSON", other)),
        };
        let mut version = Version::new(tokens.iter().map(format).collect::<Result<Vec<_>>>()?)?;
        if let Some(rules) = object.get("rules") {
            version.rules = rules_from_json(rules)?;
        }
        // A rule that a format cannot have is refused now, and not when records come.
        version.formats.iter().try_for_each(|format| version.rules_for(format).map(drop))?;
        Ok(version)
    }

    /// As [`from_json`](Version::from_json) reads it.
    pub fn to_json(&self) -> Value {
        let formats: Vec<String> = self.formats.iter().map(|format| format.token().to_string()).collect();
        let mut json = json!({ "formats": formats });
        if !self.rules.is_empty() {
            let field = |(name, rule): (&String, &FieldRule)| (name.clone(), rule.to_json());
            let structure = |(name, fields): (&String, &BTreeMap<String, FieldRule>)| {
                (name.clone(), Value::Object(fields.iter().map(field).collect()))
            };
            json["rules"] = Value::Object(self.rules.iter().map(structure).collect());
        }
        json
    }

    /// Adds what readers accept for a field.
    ///
    /// # Errors
    /// [`Code::NoSuchField`] if a format lacks it; [`Code::Declaration`] or [`Code::Text`] if it cannot have this rule.
    pub fn with(mut self, structure: &str, field: &str, rule: FieldRule) -> Result<Version> {
        self.rules.entry(structure.into()).or_default().insert(field.into(), rule);
        self.formats.iter().try_for_each(|format| self.rules_for(format).map(drop))?;
        Ok(self)
    }

    /// The formats.
    pub fn formats(&self) -> &[Format] {
        &self.formats
    }

    /// The rules, for readers of one of the formats.
    ///
    /// # Errors
    /// As [`with`](Version::with), for a format of another declaration.
    pub fn rules_for(&self, format: &Format) -> Result<Rules> {
        let mut rules = Rules::new();
        if self.rules.is_empty() {
            return Ok(rules);
        }
        let structures: HashMap<&str, &Structure> =
            format.structure().inside_out().into_iter().map(|structure| (structure.name(), structure)).collect();
        for (structure, fields) in &self.rules {
            for (name, rule) in fields {
                let field = find(format, structures.get(&**structure).copied(), structure, name)?;
                rules = rule.add_to(rules, structure, field)?;
            }
        }
        Ok(rules)
    }
}

impl FieldRule {
    fn add_to(&self, mut rules: Rules, structure: &str, field: &Field) -> Result<Rules> {
        let at = |error: Error| error.at(format!("{structure}.{}", field.name));
        for alias in &self.aliases {
            Rules::check_alias(alias).map_err(at)?;
            rules = rules.alias(structure, &field.name, alias);
        }
        if self.required {
            rules = rules.required(structure, &field.name);
        }
        Ok(match &self.default {
            None => rules,
            Some(Value::Object(zero)) if zero.is_empty() => rules.default_zero(structure, &field.name),
            Some(json) => {
                let value = json::parse_default(field, &json.to_string()).map_err(at)?;
                rules.default(structure, &field.name, value)
            }
        })
    }

    fn from_json(json: &Value, path: &str) -> Result<FieldRule> {
        let object = entries(json, path, &["aliases", "default", "required"])?;
        let unfit = |expected: &str, json: &Value| unfit(expected, json).at(path);
        let aliases = match object.get("aliases") {
            None => Vec::new(),
            Some(json) => {
                let texts = json.as_array().ok_or_else(|| unfit("a list as aliases", json))?.iter();
                let text =
                    |json: &Value| json.as_str().map(String::from).ok_or_else(|| unfit("a string as alias", json));
                texts.map(text).collect::<Result<_>>()?
            }
        };
        let required = match object.get("required") {
            None => false,
            Some(json) => json.as_bool().ok_or_else(|| unfit("true or false as required", json))?,
        };
        Ok(FieldRule { aliases, default: object.get("default").cloned(), required })
    }

    fn to_json(&self) -> Value {
        let mut json = Map::new();
        if !self.aliases.is_empty() {
            json.insert("aliases".into(), self.aliases.clone().into());
        }
        if let Some(default) = &self.default {
            json.insert("default".into(), default.clone());
        }
        if self.required {
            json.insert("required".into(), true.into());
        }
        json.into()
    }
}

/// Whether this is what [`Version::to_json`] makes of rules.
#[cfg(feature = "server")]
pub(crate) fn are_rules(json: &Value) -> bool {
    rules_from_json(json).is_ok()
}

fn rules_from_json(json: &Value) -> Result<BTreeMap<String, BTreeMap<String, FieldRule>>> {
    let object = |json: &Value, path: &str| match json {
        Value::Object(object) => Ok(object.clone()),
        _ => Err(unfit("an object", json).at(path)),
    };
    let mut rules = BTreeMap::new();
    for (structure, fields) in object(json, "rules")? {
        let mut of_fields = BTreeMap::new();
        for (field, rule) in object(&fields, &structure)? {
            let rule = FieldRule::from_json(&rule, &format!("{structure}.{field}"))?;
            of_fields.insert(field, rule);
        }
        rules.insert(structure, of_fields);
    }
    Ok(rules)
}

/// The field of one of a format's structures.
fn find<'f>(format: &Format, holder: Option<&'f Structure>, structure: &str, field: &str) -> Result<&'f Field> {
    let missing = |expected: String, found: &str| {
        Err(Error::new(Code::NoSuchField).at(format!("{structure}.{field}")).expected(expected).found(found))
    };
    let Some(holder) = holder else {
        return missing(format!("a structure of {}", format.token()), structure);
    };
    match holder.field(field) {
        Some(found) => Ok(found),
        None => missing(format!("a field of {structure} in {}", format.token()), field),
    }
}

/// The entries of an object that has no others than these.
fn entries<'a>(json: &'a Value, path: &str, allowed: &[&str]) -> Result<&'a Map<String, Value>> {
    let object = json.as_object().ok_or_else(|| unfit("an object", json).at(path))?;
    match object.keys().find(|key| !allowed.contains(&key.as_str())) {
        None => Ok(object),
        Some(other) => Err(Error::new(Code::Text).at(path).expected(allowed.join(", ")).found(other)),
    }
}

fn unfit(expected: &str, found: &Value) -> Error {
    Error::new(Code::Text).expected(expected).found(found)
}
