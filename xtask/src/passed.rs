//! Which parts have passed for the tree as it is, so that `make ready` runs only the others.
//!
//! A part that passes leaves the hash of the tree in `target/passed/PART`, if nothing in the tree differs from the last commit
//! before and after, it skipped nothing, and the caller changed no setting of what it does. One that fails is counted in `target/failed/PART`.

use crate::shell::{output, target};
use std::cmp::Reverse;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// The hash of the tree; `None` if something is not committed.
pub(crate) fn tree() -> Option<String> {
    let changed = output(Command::new("git").args(["status", "--porcelain"]))?;
    let hash = output(Command::new("git").args(["rev-parse", "HEAD^{tree}"]))?;
    changed.is_empty().then(|| hash.trim().to_owned())
}

fn file(kind: &str, part: &str) -> PathBuf {
    target().join(kind).join(part)
}

/// Whether a part has passed for this tree.
pub(crate) fn has_passed(part: &str, tree: &str) -> bool {
    fs::read_to_string(file("passed", part)).is_ok_and(|passed| passed == tree)
}

/// How often a part has failed here.
fn failures(part: &str) -> u64 {
    fs::read_to_string(file("failed", part)).ok().and_then(|count| count.parse().ok()).unwrap_or(0)
}

/// These parts, those first that have failed most often.
pub(crate) fn by_failures(mut parts: Vec<&'static str>) -> Vec<&'static str> {
    parts.sort_by_key(|part| Reverse(failures(part)));
    parts
}

/// Notes how a part has ended that began with this tree, and whether it did all that it does by default.
pub(crate) fn note(part: &str, began_with: Option<&str>, succeeded: bool, was_whole: bool) {
    let (kind, content) = match (succeeded, began_with) {
        (false, _) => ("failed", (failures(part) + 1).to_string()),
        (true, Some(hash)) if was_whole && tree().as_deref() == Some(hash) => ("passed", hash.to_owned()),
        (true, _) => return,
    };
    let file = file(kind, part);
    // Without a note, the part runs once more.
    _ = fs::create_dir_all(file.with_file_name("")).and_then(|()| fs::write(file, content));
}
