//! What users install who have no Rust: an archive with the command and the C library, and a Python wheel, for each system.
//! `make dist` builds them here, into `target/dist`: for Windows with MinGW-w64, for macOS with Zig, which knows macOS's own
//! library. What cannot be built is named.

use crate::settings::words;
use crate::shell::{command, exists, has_target, host, quietly, script, skipped, target};
use crate::{Outcome, faces, tools};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(crate) const WINDOWS: &str = "x86_64-pc-windows-gnu";
const MACOS: [&str; 2] = ["aarch64-apple-darwin", "x86_64-apple-darwin"];

/// The features of each package that macOS's frameworks are not needed for. TLS asks them which certificates macOS trusts, and tables
/// ask for the time zone; the format service has TLS.
const WITHOUT_FRAMEWORKS: [(&str, &str); 3] = [
    ("isoform-cli", "files,generate,watch,xmit"),
    ("isoform-capi", "files,generate"),
    ("isoform-python", "files,generate"),
];

/// How a system's programs are built.
pub(crate) struct Build<'a> {
    /// As Rust names the system.
    pub(crate) system: &'a str,
    /// Of Cargo.
    pub(crate) profile: &'a str,
    /// Whether as little as possible is built: no generated code, no TLS, no recordings.
    pub(crate) small: bool,
    /// Where archives and wheels go.
    pub(crate) folder: PathBuf,
}

/// All systems, or those in `TARGETS`.
pub(crate) fn make() -> Outcome {
    let (host, wanted) = (host()?, words("TARGETS"));
    let others = [WINDOWS, MACOS[0], MACOS[1]];
    let systems: Vec<&str> = [&*host].into_iter().chain(others.into_iter().filter(|system| *system != host)).collect();
    if let Some(unknown) = wanted.iter().find(|name| !systems.contains(&name.as_str())) {
        return Err(format!("TARGETS: expected some of {}, found {unknown}", systems.join(", ")).into());
    }
    for system in systems.into_iter().filter(|system| wanted.is_empty() || wanted.iter().any(|name| name == system)) {
        let build = Build { system, profile: "release", small: false, folder: target().join("dist") };
        match build.missing()? {
            Some(what) => skipped(&format!("the archive and the wheel for {system}. They need {what}")),
            None => {
                println!("built: {}", build.archive()?.display());
                match build.wheel()? {
                    Some(wheel) => println!("built: {}", wheel.display()),
                    None => skipped(&format!("the wheel for {system}. It needs Python 3.9 or later, with venv")),
                }
            }
        }
    }
    Ok(())
}

impl Build<'_> {
    /// The tools that are not here and cannot be had.
    pub(crate) fn missing(&self) -> Outcome<Option<&'static str>> {
        if !has_target(self.system) {
            return Ok(Some("Rust's library for that system: rustup target add"));
        }
        if self.system == WINDOWS && !cfg!(windows) && !exists("x86_64-w64-mingw32-gcc") {
            return Ok(Some("MinGW-w64 (sh tests/machines/install.sh)"));
        }
        if self.is_cross_macos() && tools::zig()?.is_none() {
            return Ok(Some("Zig, which pip installs from Python's registry"));
        }
        Ok(None)
    }

    /// Apple's linker and interfaces are on macOS only.
    fn is_cross_macos(&self) -> bool {
        MACOS.contains(&self.system) && !cfg!(target_os = "macos")
    }

    /// `isoform-VERSION-SYSTEM`, packed: the command in `bin`, the C library as `package/install.sh` installs it, licences.
    pub(crate) fn archive(&self) -> Outcome<PathBuf> {
        let packages = ["isoform-cli", "isoform-capi"];
        let verb = if self.is_cross_macos() { "zigbuild" } else { "build" };
        let mut cargo = self.tool("cargo")?;
        cargo.arg(verb).args(["--locked", "--quiet", "--profile", self.profile, "--target", self.system]);
        cargo.args(["-p", packages[0], "-p", packages[1]]).args(self.features(&packages, true));
        quietly(&mut cargo)?;
        let name = format!("isoform-{VERSION}-{}", self.system);
        let prefix = self.folder.join(&name);
        if prefix.exists() {
            fs::remove_dir_all(&prefix)?;
        }
        fs::create_dir_all(prefix.join("bin"))?;
        let program = if self.system == WINDOWS { "isoform.exe" } else { "isoform" };
        fs::copy(self.built().join(program), prefix.join("bin").join(program))?;
        let mut install = script("faces/c/package/install.sh");
        quietly(install.env("STRIP", self.strip()).arg(&prefix).arg(self.built()))?;
        for file in ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"] {
            fs::copy(file, prefix.join(file))?;
        }
        pack(&self.folder, &name, self.system == WINDOWS)
    }

    /// The Python package, if there is a Python that has the tools.
    pub(crate) fn wheel(&self) -> Outcome<Option<PathBuf>> {
        let Some(programs) = faces::environment()? else { return Ok(None) };
        let folder = self.folder.join(format!("wheel-{}", self.system));
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        let maturin = programs.join("maturin");
        let mut maturin = self.tool(maturin.to_str().ok_or("a path of plain text")?)?;
        maturin.current_dir("faces/python").env("CARGO_TARGET_DIR", target()).args(["build", "--locked", "--quiet"]);
        maturin.args(["--profile", self.profile, "--target", self.system, "--out"]).arg(&folder);
        maturin.args(self.features(&["isoform-python"], false));
        if self.is_cross_macos() {
            maturin.arg("--zig");
        }
        quietly(&mut maturin)?;
        let built = fs::read_dir(&folder)?.next().ok_or("maturin has built nothing")??.file_name();
        let wheel = self.folder.join(&built);
        fs::rename(folder.join(built), &wheel)?;
        fs::remove_dir(folder)?;
        Ok(Some(wheel))
    }

    /// Where Cargo has put what it built.
    fn built(&self) -> PathBuf {
        target().join(self.system).join(self.profile)
    }

    /// A program that builds, with Zig's in its path where they are needed; without what is for debuggers only.
    fn tool(&self, program: &str) -> Outcome<Command> {
        let mut tool = command(program);
        tool.env("CARGO_PROFILE_RELEASE_DEBUG", "false");
        if let Some(programs) = self.is_cross_macos().then(tools::zig).transpose()?.flatten() {
            let path = std::env::var_os("PATH").unwrap_or_default();
            tool.env("PATH", std::env::join_paths([programs].into_iter().chain(std::env::split_paths(&path)))?);
        }
        Ok(tool)
    }

    /// The features to build with. Zig lacks macOS's frameworks.
    fn features(&self, packages: &[&str], named: bool) -> Vec<String> {
        let mut arguments = Vec::new();
        if self.small || self.is_cross_macos() {
            arguments.push("--no-default-features".to_owned());
        }
        if self.small || !self.is_cross_macos() {
            return arguments;
        }
        for (package, features) in WITHOUT_FRAMEWORKS.iter().filter(|(package, _)| packages.contains(package)) {
            let of = |feature: &str| if named { format!("{package}/{feature}") } else { feature.to_owned() };
            arguments.extend(["--features".to_owned(), features.split(',').map(of).collect::<Vec<_>>().join(",")]);
        }
        arguments
    }

    /// What takes out of libraries what is for debuggers only; nothing for those of macOS.
    fn strip(&self) -> &'static str {
        match self.system {
            WINDOWS => "x86_64-w64-mingw32-strip",
            _ if self.is_cross_macos() => "true",
            _ => "strip",
        }
    }
}

/// Packs a folder, as users of the system expect it.
fn pack(folder: &Path, name: &str, zip: bool) -> Outcome<PathBuf> {
    let archive = folder.join(format!("{name}.{}", if zip { "zip" } else { "tar.gz" }));
    let mut packer = match zip {
        true => command("python3 -m zipfile -c"),
        false => command("tar czf"),
    };
    quietly(packer.arg(&archive).arg(name).current_dir(folder))?;
    Ok(archive)
}
