//! Whether a tool is here, and what is not tested without it.

use std::io::Write;
use std::process::Command;

/// Whether a program is here.
pub(crate) fn has(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

/// Says what is not tested for want of a tool, past the capture of a test's output.
#[allow(dead_code, reason = "not every test skips something")]
pub(crate) fn skipped(what: &str) {
    let _ = writeln!(std::io::stderr(), "*** SKIPPED: {what} ***");
}
