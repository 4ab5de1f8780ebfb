//! Programs that tasks need, each of one version, built once into `target/tools`.

use crate::{Outcome, run};
use std::path::PathBuf;
use std::process::Command;

/// A program of the registry, at one version.
pub(crate) struct Tool {
    package: &'static str,
    version: &'static str,
    features: &'static [&'static str],
}

pub(crate) const MDBOOK: Tool =
    Tool { package: "mdbook", version: "0.5.4", features: &["--no-default-features", "--features", "search"] };

impl Tool {
    /// Where the program is. Builds it if it is not there: without optimisation, which takes a minute.
    pub(crate) fn installed(&self) -> Outcome<PathBuf> {
        let tools = std::path::absolute("target/tools")?;
        let path = tools.join("bin").join(format!("{}-{}", self.package, self.version));
        if path.exists() {
            return Ok(path);
        }
        println!("{} {} is built once, into {}", self.package, self.version, tools.display());
        let build = tools.join(format!("build-{}", self.package));
        let mut cargo = Command::new("cargo");
        cargo.args(["install", self.package, "--version", self.version, "--locked", "--debug", "--quiet", "--force"]);
        cargo.args(self.features).arg("--root").arg(&tools);
        run(cargo.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_INCREMENTAL", "0").env("CARGO_TARGET_DIR", &build))?;
        std::fs::remove_dir_all(build)?;
        std::fs::rename(tools.join("bin").join(self.package), &path)?;
        Ok(path)
    }
}
