//! The public items of each published crate as text: `crates/NAME/api.txt`. So a reviewer sees every change of them.
//!
//! rustdoc's description of a crate as JSON is unstable. The pinned compiler is told to write it nevertheless.

use crate::settings::words;
use crate::shell::{command, output, quietly, skipped, target};
use crate::{Outcome, tools};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// The folders in `crates/` whose crates are published and imported.
const CRATES: [(&str, &str); 13] = [
    ("channel", "isoform_channel"),
    ("channel-proto", "isoform_channel_proto"),
    ("core", "isoform_core"),
    ("derive", "isoform_derive"),
    ("dynamic", "isoform_dynamic"),
    ("files", "isoform_files"),
    ("isoform", "isoform"),
    ("jit", "isoform_jit"),
    ("kernels", "isoform_kernels"),
    ("query", "isoform_query"),
    ("service", "isoform_service"),
    ("watch", "isoform_watch"),
    ("xmit", "isoform_xmit"),
];

/// Compares each text with its crate. `WRITE=yes` writes them.
pub(crate) fn check() -> Outcome {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        skipped("what crates offer. The texts are those of Linux on x86-64");
        return Ok(());
    }
    let lister = tools::CARGO_PUBLIC_API.installed()?;
    describe()?;
    let write = !words("WRITE").is_empty();
    let mut changed = Vec::new();
    for (folder, name) in CRATES {
        let described = target().join("doc").join(format!("{name}.json"));
        let mut list = Command::new(&lister);
        list.args(["public-api", "-sss", "--color=never", "--rustdoc-json"]).arg(described);
        let listed = output(&mut list).ok_or_else(|| format!("cargo-public-api lists nothing of {name}"))?;
        let path = format!("crates/{folder}/api.txt");
        if write {
            fs::write(&path, listed)?;
        } else if fs::read_to_string(&path).unwrap_or_default() != listed {
            let now = target().join("api").join(format!("{name}.txt"));
            fs::write(&now, listed)?;
            Command::new("diff").args(["-u", &path]).arg(now).status()?;
            changed.push(folder);
        }
    }
    if !changed.is_empty() {
        return Err(format!(
            "what these crates offer has changed: {}. If that is meant: make api WRITE=yes",
            changed.join(", ")
        )
        .into());
    }
    println!("api: {} crates are as their texts", CRATES.len());
    Ok(())
}

/// Makes rustdoc describe all crates. Only rustdoc may use unstable features: build scripts would notice them, and
/// build differently.
fn describe() -> Outcome {
    let folder = target().join("api");
    fs::create_dir_all(&folder)?;
    let rustdoc = folder.join("rustdoc");
    fs::write(&rustdoc, "#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc \"$@\"\n")?;
    fs::set_permissions(&rustdoc, fs::Permissions::from_mode(0o755))?;
    // The same command as that of `make documents`, so that the dependencies are built once.
    let mut cargo = command("cargo doc --workspace --no-deps --locked --quiet");
    quietly(cargo.env("RUSTDOC", rustdoc).env("RUSTDOCFLAGS", "-Zunstable-options --output-format json"))
}
