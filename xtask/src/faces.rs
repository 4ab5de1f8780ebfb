//! Tests of the libraries for C, C++ and Python, and of all languages with each other.

use crate::dist::{self, Build};
use crate::rust::build;
use crate::settings::{generate, seed, words};
use crate::shell::{command, debug, quietly, run, script, skipped, target};
use crate::{Outcome, hydrology, tools};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The programs that each language has: three of `examples/`, and that of `tests/languages/`.
const PROGRAMS: [&str; 4] = ["stream", "source", "sink", "languages"];

/// Every language with every other: the small programs, streams and channels, types that differ. Behind the tests of each
/// language.
pub(crate) fn languages() -> Outcome {
    cpp()?;
    python()?;
    let folder = target().join("languages");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    PROGRAMS.iter().try_for_each(|program| collect(program, &folder))?;
    copy(&target().join("c/work/writer"), &folder.join("writer"))?;
    quietly(script("tests/examples/run.sh").arg(&folder))?;
    quietly(script("tests/languages/run.sh").arg(&folder).arg(debug("isoform")))?;
    match interpreter_with_package() {
        // Without generated code, the command is built without documents, too.
        Some(_) if !generate() => Ok(()),
        Some(python) => {
            hydrology::play(&python)?;
            let mut guide = Command::new(&python);
            quietly(guide.arg("tests/languages/formats.py").arg(debug("isoform")).arg(prefix()))?;
            let mut guide = Command::new(&python);
            guide.arg("tests/languages/queries.py").arg(debug("isoform")).arg(prefix());
            quietly(guide.arg(debug("examples/deepest")))?;
            // It checks its own accounts.
            quietly(&mut Command::new(debug("examples/detail")))
        }
        None => {
            skipped(
                "the hydrology example, and the guides to format services and queries. They need the Python package",
            );
            Ok(())
        }
    }
}

/// Puts a program of every language that is here into a folder, named after what it does and its language: `stream-c`.
fn collect(program: &str, folder: &Path) -> Outcome {
    let named = |language: &str| folder.join(format!("{program}-{language}"));
    fs::copy(debug("examples").join(program), named("rust"))?;
    for language in ["c", "cpp"] {
        copy(&target().join(language).join("work").join(program), &named(language))?;
    }
    if let Some(python) = interpreter_with_package() {
        write_runner(&named("python"), &python, &source("python", program, "py"))?;
    }
    Ok(())
}

/// The file of a program in a language.
fn source(language: &str, program: &str, extension: &str) -> String {
    match program {
        "languages" => format!("tests/languages/{language}.{extension}"),
        _ => format!("examples/{language}/{program}.{extension}"),
    }
}

/// Copies a program, if it could be built.
fn copy(built: &Path, to: &Path) -> Outcome {
    if built.exists() {
        fs::copy(built, to)?;
    }
    Ok(())
}

/// A program that runs a script of this repository by its interpreter.
fn write_runner(path: &Path, interpreter: &Path, script: &str) -> Outcome {
    let script = std::path::absolute(script)?;
    fs::write(path, format!("#!/bin/sh\nexec '{}' '{}' \"$@\"\n", interpreter.display(), script.display()))?;
    quietly(command("chmod +x").arg(path))
}

/// The C library, installed, and programs compiled as its users compile theirs.
pub(crate) fn c() -> Outcome {
    build()?;
    quietly(script("faces/c/package/install.sh").arg(prefix()).arg(target().join("debug")))?;
    quietly(script("faces/c/tests/c/run.sh").arg(prefix()).arg(target().join("c/work")))
}

/// What `make dist` makes for Windows, built small: the archive, with programs in C that use its library, and the wheel, with tests
/// of the Python package, under Wine.
pub(crate) fn windows() -> Outcome {
    let system = target().join(dist::WINDOWS);
    let build = Build { system: dist::WINDOWS, profile: "machines", small: true, folder: system.join("dist") };
    let library = system.join("libraries/bcryptprimitives.dll");
    if build.missing()?.is_some() || !library.exists() {
        return Ok(()); // Those who test there have said why.
    }
    let archive = build.archive()?;
    quietly(script("faces/c/tests/windows/run.sh").arg(archive).arg(system.join("work")).arg(&library))?;
    let Some((python, wheels)) = tools::windows_python()? else {
        skipped(
            "the Python package on Windows. Its Python comes from Maven's registry: it needs mvn, and Python with venv",
        );
        return Ok(());
    };
    let Some(wheel) = build.wheel()? else { return Ok(()) };
    let mut tests = script("faces/python/tests/windows.sh");
    quietly(tests.arg(wheel).arg(python).arg(wheels).arg(system.join("python")).arg(&library))
}

/// The same for C++.
pub(crate) fn cpp() -> Outcome {
    c()?;
    quietly(script("faces/c/tests/cpp/run.sh").arg(prefix()).arg(target().join("cpp/work")))
}

/// The Python package, with pytest, mypy, stubtest and pyright.
pub(crate) fn python() -> Outcome {
    let Some(programs) = environment()? else {
        skipped("the Python package. It needs Python 3.9 or later, with venv");
        return Ok(());
    };
    build()?;
    in_place(&programs)?;
    let checked = |name: &str| {
        let mut checker = Command::new(programs.join(name));
        checker.current_dir("faces/python");
        checker
    };
    quietly(checked("python").args(["-m", "pytest", "--quiet"]))?;
    println!("mypy:");
    quietly(&mut checked("mypy"))?;
    quietly(checked("stubtest").args(["isoform._isoform", "--mypy-config-file", "pyproject.toml"]))?;
    println!("pyright:");
    quietly(checked("pyright").arg("--pythonpath").arg(programs.join("python")))
}

/// Builds the package as its users do, but for machine code, TLS and optimisation, and reads recordings with it from where it is installed.
pub(crate) fn wheel() -> Outcome {
    let Some(programs) = environment()? else {
        skipped("the wheel. It needs Python 3.9 or later, with venv");
        return Ok(());
    };
    let folder = target().join("wheel");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let mut maturin = Command::new(programs.join("maturin"));
    maturin.current_dir("faces/python").env("CARGO_TARGET_DIR", target());
    run(maturin
        .args(["build", "--locked", "--quiet", "--no-default-features", "--features", "files", "--out"])
        .arg(&folder))?;
    let wheels = fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect::<Outcome<Vec<PathBuf>>>()?;
    let apart = folder.join("installed");
    let mut pip = Command::new(programs.join("pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check", "--no-deps", "--target"]).arg(&apart);
    quietly(pip.args(wheels))?;
    let mut python = Command::new(programs.join("python"));
    python
        .current_dir(&folder)
        .env("PYTHONPATH", &apart)
        .args(["-c", "import isoform; print('wheel:', isoform.__file__)"]);
    quietly(&mut python)?;
    let tests = std::path::absolute("faces/python/tests/test_recordings.py")?;
    let mut pytest = Command::new(programs.join("python"));
    pytest.current_dir(&folder).env("PYTHONPATH", &apart).env("CARGO_TARGET_DIR", target());
    quietly(pytest.args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider"]).arg(tests))
}

/// The package as a wheel in `target/wheels`, optimised.
pub(crate) fn package() -> Outcome {
    let programs = environment()?.ok_or("the Python package needs Python 3.9 or later, with venv")?;
    let mut maturin = Command::new(programs.join("maturin"));
    run(maturin.current_dir("faces/python").env("CARGO_TARGET_DIR", target()).args(["build", "--release", "--locked"]))
}

/// The package beside NumPy, struct, msgpack and fastavro.
pub(crate) fn bench() -> Outcome {
    let programs = environment()?.ok_or("the Python package needs Python 3.9 or later, with venv")?;
    let mut pip = Command::new(programs.join("pip"));
    quietly(pip.args([
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "-r",
        "faces/python/requirements-bench.txt",
    ]))?;
    let mut maturin = Command::new(programs.join("maturin"));
    maturin.current_dir("faces/python").env("CARGO_TARGET_DIR", target()).env("VIRTUAL_ENV", target().join("python"));
    quietly(maturin.args(["develop", "--release", "--locked", "--quiet"]))?;
    quietly(Command::new(programs.join("python")).arg("faces/python/bench/bench.py").args(words("ARGS")))
}

/// The independent reader: every vector, and random streams that the command must read as it does.
pub(crate) fn reader() -> Outcome {
    quietly(&mut command("python3 tests/reader/run.py"))?;
    build()?;
    quietly(command("python3 tests/reader/against.py").arg(debug("isoform")).arg(seed().to_string()))
}

/// Where the C library is installed for its tests.
fn prefix() -> PathBuf {
    target().join("c/prefix")
}

/// The programs that test and check the package, in an environment of their own.
pub(crate) fn environment() -> Outcome<Option<PathBuf>> {
    const LIST: &str = "faces/python/requirements-dev.txt";
    tools::environment(&target().join("python"), &["-r", LIST], &fs::read_to_string(LIST)?)
}

/// The interpreter of an environment that has the package as it was built for tests.
pub(crate) fn package_in_place() -> Outcome<Option<PathBuf>> {
    let Some(programs) = environment()? else { return Ok(None) };
    in_place(&programs)?;
    Ok(Some(programs.join("python")))
}

/// Has the environment import the package from where it lies, with the core that was built for tests.
fn in_place(programs: &Path) -> Outcome {
    fs::copy(core()?, "faces/python/isoform/_isoform.abi3.so")?;
    let folder = "import sysconfig; print(sysconfig.get_path('purelib'))";
    let told = crate::shell::output(Command::new(programs.join("python")).args(["-c", folder]))
        .ok_or("Python names no folder")?;
    fs::write(Path::new(told.trim()).join("isoform.pth"), std::path::absolute("faces/python")?.display().to_string())?;
    Ok(())
}

/// The core of the Python package that was built for tests.
pub(crate) fn core() -> Outcome<PathBuf> {
    let core = ["libisoform_python.so", "libisoform_python.dylib"].map(debug).into_iter().find(|core| core.exists());
    core.ok_or_else(|| "the core of the Python package was not built".into())
}

/// The Python of the environment, if it has the package.
fn interpreter_with_package() -> Option<PathBuf> {
    let python = target().join("python/bin/python");
    crate::shell::succeeds(Command::new(&python).args(["-c", "import isoform"])).then_some(python)
}
