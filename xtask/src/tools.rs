//! Programs that tasks need, each of one version, installed once into `target/tools`.

use crate::Outcome;
use crate::shell::{command, exists, output, quietly, succeeds};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program of the registry, at one version.
pub(crate) struct Tool {
    package: &'static str,
    version: &'static str,
    features: &'static [&'static str],
}

pub(crate) const CARGO_DENY: Tool = Tool { package: "cargo-deny", version: "0.20.2", features: &[] };
pub(crate) const CARGO_FUZZ: Tool = Tool { package: "cargo-fuzz", version: "0.13.2", features: &[] };
pub(crate) const CARGO_LLVM_COV: Tool = Tool { package: "cargo-llvm-cov", version: "0.9.1", features: &[] };
pub(crate) const CARGO_PUBLIC_API: Tool = Tool { package: "cargo-public-api", version: "0.52.0", features: &[] };
pub(crate) const MDBOOK: Tool =
    Tool { package: "mdbook", version: "0.5.4", features: &["--no-default-features", "--features", "search"] };

/// The compiler of TypeScript, of npm's registry: the last one that is JavaScript alone.
pub(crate) const TYPESCRIPT: &str = "typescript@5.9.3";

/// Programs that Python's registry has ready to run.
pub(crate) const WHEELS: &str = "typos==1.52.0 clang-format==23.1.3";

impl Tool {
    /// Where the program is. Builds it if it is not there: without optimisation, which takes a minute or two.
    pub(crate) fn installed(&self) -> Outcome<PathBuf> {
        let folder = folder()?.join(format!("{}-{}", self.package, self.version));
        let path = folder.join("bin").join(self.package);
        let _alone = alone(&folder)?;
        if path.exists() {
            return Ok(path);
        }
        println!("{} {} is built once, into {}", self.package, self.version, folder.display());
        let build = folder.join("build");
        let mut cargo = Command::new("cargo");
        cargo.args(["install", self.package, "--version", self.version, "--locked", "--debug", "--quiet", "--force"]);
        cargo.args(self.features).arg("--root").arg(&folder);
        quietly(
            cargo.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_INCREMENTAL", "0").env("CARGO_TARGET_DIR", &build),
        )?;
        fs::remove_dir_all(build)?;
        Ok(path)
    }
}

/// The folder of programs out of wheels, if there is a Python that can install them, and a registry that has them.
pub(crate) fn wheels() -> Outcome<Option<PathBuf>> {
    let packages: Vec<&str> = WHEELS.split(' ').collect();
    environment(&folder()?.join("python"), &packages, WHEELS)
}

/// An environment of Python in which `pip install` has had these arguments, and the folder of its programs. It is made
/// again when what is wanted differs.
pub(crate) fn environment(path: &Path, arguments: &[&str], wanted: &str) -> Outcome<Option<PathBuf>> {
    let programs = path.join("bin");
    let list = path.join("installed");
    let _alone = alone(path)?;
    if fs::read_to_string(&list).is_ok_and(|installed| installed == wanted) {
        return Ok(Some(programs));
    }
    let Some(python) = python() else { return Ok(None) };
    if !succeeds(Command::new(programs.join("python")).args(["-c", ""])) {
        quietly(Command::new(python).args(["-m", "venv", "--clear"]).arg(path))?;
    }
    quietly(
        Command::new(programs.join("pip")).args(["install", "--quiet", "--disable-pip-version-check"]).args(arguments),
    )?;
    fs::write(list, wanted)?;
    Ok(Some(programs))
}

/// The folder of Zig's programs, with which Cargo links programs for macOS, if there is a Python that can install them.
pub(crate) fn zig() -> Outcome<Option<PathBuf>> {
    const ZIG: &str = "ziglang==0.17.1 cargo-zigbuild==0.24.1";
    let packages: Vec<&str> = ZIG.split(' ').collect();
    environment(&folder()?.join("zig"), &packages, ZIG)
}

/// CPython for Windows in an archive, and a folder of wheels for it, NumPy and pytest. NumPy is the last one that Wine has all functions
/// for.
pub(crate) fn windows_python() -> Outcome<Option<(PathBuf, PathBuf)>> {
    const PYTHON: &str = "org.bytedeco:cpython:3.11.3-1.5.9:jar:windows-x86_64";
    const FOR: &str =
        "--quiet --disable-pip-version-check --platform win_amd64 --python-version 3.11 --only-binary=:all:";
    let path = folder()?.join("windows-python");
    let (python, wheels) = (path.join("cpython-3.11.3-1.5.9-windows-x86_64.jar"), path.join("wheels"));
    let Some(pip) = self::wheels()?.map(|programs| programs.join("pip")) else { return Ok(None) };
    let _alone = alone(&path)?;
    if !python.exists() {
        let mut maven = command("mvn --quiet --batch-mode dependency:copy");
        maven.arg(format!("-Dartifact={PYTHON}")).arg(format!("-DoutputDirectory={}", path.display()));
        if !exists("mvn") || !succeeds(&mut maven) {
            return Ok(None);
        }
    }
    if !wheels.exists() {
        let mut download = Command::new(pip);
        download.arg("download").args(FOR.split(' ')).args(["numpy==1.25.2", "pytest==9.2.0", "colorama"]);
        quietly(download.arg("--dest").arg(&wheels))?;
    }
    Ok(Some((python, wheels)))
}

/// A package of npm's registry, unpacked into a folder; `None` if npm is not here, or does not get it.
pub(crate) fn npm(package: &str) -> Outcome<Option<PathBuf>> {
    let path = folder()?.join(package);
    let unpacked = path.join("package");
    let _alone = alone(&path)?;
    if unpacked.join("package.json").exists() {
        return Ok(Some(unpacked));
    }
    fs::create_dir_all(&path)?;
    let packed =
        exists("npm").then(|| output(Command::new("npm").args(["pack", package, "--silent"]).current_dir(&path)));
    let Some(packed) = packed.flatten() else { return Ok(None) };
    quietly(Command::new("tar").arg("xzf").arg(packed.trim()).current_dir(&path))?;
    Ok(Some(unpacked))
}

/// A Python of 3.9 or later that can make environments.
pub(crate) fn python() -> Option<&'static str> {
    let names = ["python3", "python3.14", "python3.13", "python3.12", "python3.11", "python3.10", "python3.9"];
    let able = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 9))";
    names.into_iter().find(|name| output(Command::new(name).args(["-c", able])).is_some())
}

/// Waits until no other task installs into this folder. Tasks run at the same time, and several of them want the same programs. The
/// folder is this task's until the file is dropped.
fn alone(path: &Path) -> Outcome<fs::File> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let file = fs::File::create(PathBuf::from(name))?;
    file.lock()?;
    Ok(file)
}

fn folder() -> Outcome<PathBuf> {
    Ok(std::path::absolute("target/tools")?)
}
