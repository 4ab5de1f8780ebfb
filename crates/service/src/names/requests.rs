//! What clients ask of the names of a server.

use crate::Servers;
use isoform_core::{Code, Error, Result};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

/// What a server answers to a new version of a name: its number, or why the rule of the name refuses it. Each entry of the list
/// is one of `refused` in `spec/service.md`.
pub type Answer = std::result::Result<u64, Vec<Value>>;

impl Servers {
    /// Compares a version with earlier ones by the rule of the name, and stores nothing. Each entry of the list says of one pair
    /// of formats why it has no plan; the list is empty if the rule accepts the version.
    ///
    /// # Errors
    /// What the server answers else; [`Code::Io`] if it cannot be asked.
    pub fn check(&self, name: &str, version: &Value) -> Result<Vec<Value>> {
        let answer = self.examine(&path(name, "/check"), version)?;
        match refusals(&answer) {
            Some(refused) => Ok(refused),
            None => self.success(answer).map(|_| Vec::new()),
        }
    }

    /// Stores a version of a name.
    ///
    /// # Errors
    /// As [`check`](Servers::check).
    pub fn add_version(&self, name: &str, version: &Value) -> Result<Answer> {
        let answer = self.exchange("POST", &path(name, "/versions"), version)?;
        if let Some(refused) = refusals(&answer) {
            return Ok(Err(refused));
        }
        let number = self.success(answer)?["version"].as_u64();
        number.map(Ok).ok_or_else(|| Error::new(Code::Text).expected("the number of a version"))
    }

    /// A name: its rule, versions and prose, as `GET /names/{name}` answers.
    ///
    /// # Errors
    /// As [`get`](Servers::get).
    pub fn name(&self, name: &str) -> Result<Value> {
        self.get(&path(name, ""))
    }

    /// One version of a name; without a number, the latest that is not retired.
    ///
    /// # Errors
    /// As [`get`](Servers::get).
    pub fn version(&self, name: &str, number: Option<u64>) -> Result<Value> {
        let number = number.map_or("latest".into(), |number| number.to_string());
        self.get(&path(name, &format!("/versions/{number}")))
    }

    /// Sets the rule of a name.
    ///
    /// # Errors
    /// As [`send`](Servers::send).
    pub fn set_rule(&self, name: &str, rule: super::Rule) -> Result<()> {
        self.send("PUT", &path(name, "/rule"), &json!({ "rule": rule.word() })).map(drop)
    }

    /// Sets the prose of a name, as `spec/service.md` has it.
    ///
    /// # Errors
    /// As [`send`](Servers::send).
    pub fn set_prose(&self, name: &str, prose: &Value) -> Result<()> {
        self.send("PUT", &path(name, "/prose"), prose).map(drop)
    }

    /// Retires a version: it can still be read, but rules do not compare new versions with it any more.
    ///
    /// # Errors
    /// As [`send`](Servers::send).
    pub fn retire(&self, name: &str, number: u64) -> Result<()> {
        self.send("DELETE", &path(name, &format!("/versions/{number}")), &Value::Null).map(drop)
    }
}

fn path(name: &str, rest: &str) -> String {
    format!("names/{}{rest}", utf8_percent_encode(name, NON_ALPHANUMERIC))
}

/// The list of a refusal by the rule of a name.
fn refusals((status, json): &(u16, Value)) -> Option<Vec<Value>> {
    if *status == 409 { json["refused"].as_array().cloned() } else { None }
}
