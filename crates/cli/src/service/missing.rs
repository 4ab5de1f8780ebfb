//! Hints for names, versions and fields that do not exist: which ones do.

use super::failed;
use crate::failure::Failure;
use isoform::{Code, Error};
use isoform_service::Servers;
use serde_json::Value;

/// How many names are compared with one that does not exist.
const NAMES: &str = "1000";
/// The most names that are suggested.
const FEW: usize = 3;

/// The failure of a command that needs a name.
pub(super) fn name(servers: &Servers, name: &str, error: Error) -> Failure {
    let is_missing = error.code() == Code::NoSuchName;
    let failure = failed(error);
    match is_missing.then(|| like(servers, name)).flatten() {
        Some(others) => failure.hint(format!("there is {others}; `isoform formats versions` lists all names")),
        None => failure,
    }
}

/// The failure of a command that needs a version of a name, the latest one if there is no number.
pub(super) fn version(servers: &Servers, name: &str, number: Option<u64>, error: Error) -> Failure {
    if error.code() != Code::NoSuchName {
        return failed(error);
    }
    let Ok(state) = servers.name(name) else { return self::name(servers, name, error) };
    let versions = state["versions"].as_array().into_iter().flatten();
    let numbers: Vec<String> = versions.map(|version| version["number"].to_string()).collect();
    let failure = match number {
        Some(number) => Failure::data(format!("{name} has no version {number}")),
        None if numbers.is_empty() => return Failure::data(format!("{name} has no versions")),
        None => Failure::data(format!("all versions of {name} are retired")),
    };
    failure.hint(format!("its versions are {}: name:{name}@NUMBER", numbers.join(", ")))
}

/// The names that are written almost as this one, as a list for people.
pub(super) fn like(servers: &Servers, name: &str) -> Option<String> {
    let page = servers.list("names", &[("limit", NAMES)]).ok()?;
    let known = page["names"].as_array()?.iter().filter_map(|entry| entry["name"].as_str());
    near(name, known.filter(|known| *known != name))
}

/// The words that are written almost as this one, nearest first, as a list for people.
pub(super) fn near<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let most = word.chars().count().div_ceil(3);
    let mut near: Vec<(usize, &str)> = known
        .map(|other| (distance(&word.to_lowercase(), &other.to_lowercase()), other))
        .filter(|(distance, _)| *distance <= most)
        .collect();
    near.sort_unstable();
    let words: Vec<&str> = near.into_iter().take(FEW).map(|(_, other)| other).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// The number of letters that must be added, removed or changed to get from one word to the other. Does not compare long words, or words that
/// differ much in length: a stranger may have chosen them.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    if one.len().abs_diff(other.len()) > 16 || one.len() > 256 {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut corner = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in other.iter().enumerate() {
            let changed = corner + usize::from(a != b);
            corner = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(corner + 1);
        }
    }
    row[other.len()]
}

/// The numbers of the versions that are not retired.
pub(super) fn standing(state: &Value) -> Vec<u64> {
    let versions = state["versions"].as_array().into_iter().flatten();
    versions.filter(|version| version["retired"] != true).filter_map(|version| version["number"].as_u64()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_are_almost_the_same_are_found() {
        let known = ["river", "rivers", "lake", "Riven", "a-very-long-name-of-something-else"];
        assert_eq!(near("rivr", known.into_iter()).as_deref(), Some("river, Riven, rivers"));
        assert_eq!(near("sea", known.into_iter()), None);
        assert_eq!(near("", known.into_iter()), None);
        for (one, other, expected) in [("", "abc", 3), ("abc", "abc", 0), ("abc", "acb", 2), ("kitten", "sitting", 3)] {
            assert_eq!(distance(one, other), expected, "{one} {other}");
        }
    }
}
