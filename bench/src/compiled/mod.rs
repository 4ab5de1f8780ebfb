//! What one would write by hand: C for exactly one pair of formats, compiled at run time and loaded.
//!
//! Nothing is kept: the files are deleted when the functions are loaded, and compiled anew in the next run.

mod source;

use crate::{Result, measure};
use isoform_core::Format;
use isoform_kernels::Level;
use libloading::Library;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, process};

/// How the C is compiled: for this machine, and no better level of instructions than the kernels use. An emulated one has what
/// all of its kind have.
pub fn tuned() -> &'static [&'static str] {
    if measure::is_counting() {
        return PLAIN;
    }
    match (Level::best().word(), Level::best() == *Level::all().last().expect("every machine has one")) {
        (_, true) => &["-O3", "-march=native"],
        ("avx2", _) => &["-O3", "-march=native", "-mno-avx512f"],
        ("ssse3", _) => &["-O3", "-march=native", "-mno-avx"],
        _ => PLAIN,
    }
}

/// The same without knowledge of this machine.
pub const PLAIN: &[&str] = &["-O3"];

/// Functions that convert bodies, one for each pair of formats.
pub struct Compiled {
    functions: Vec<Function>,
    /// Holds the code of the functions.
    _library: Library,
}

/// Reads a body of the wire format and writes one of the native format, whose length it returns; `usize::MAX` if a
/// number does not fit.
type Function = unsafe extern "C" fn(*const u8, *mut u8) -> usize;

impl Compiled {
    /// Compiles a function for each pair (wire, native), with these flags for the compiler.
    ///
    /// # Errors
    /// If there is no C compiler, or a pair is not one that it can be written for.
    pub fn new(pairs: &[(Format, Format)], flags: &[&str]) -> Result<Compiled> {
        Compiled::of_text(&source::of(pairs)?, pairs.len(), flags)
    }

    /// Compiles a text that has so many functions of the type [`Compiled::convert`] calls, `convert_0` and so on.
    ///
    /// # Errors
    /// If there is no C compiler, or it does not like the text.
    pub fn of_text(text: &str, count: usize, flags: &[&str]) -> Result<Compiled> {
        let directory = Directory::new()?;
        let (source, library) = (directory.0.join("pairs.c"), directory.0.join("pairs.so"));
        fs::write(&source, text)?;
        compile(&source, &library, flags)?;
        // SAFETY: the library was made a moment ago from our own source, and runs nothing when it is loaded.
        let library = unsafe { Library::new(&library) }?;
        let function = |index| -> Result<Function> {
            // SAFETY: this is the type that `source` gives to every function.
            Ok(*unsafe { library.get::<Function>(source::name(index).as_bytes()) }?)
        };
        let functions = (0..count).map(function).collect::<Result<_>>()?;
        Ok(Compiled { functions, _library: library })
    }

    /// Converts a body of the pair `index`. Returns the length of the result.
    ///
    /// # Safety
    /// `src` is a whole and valid body of the pair's wire format, and `dst` has room for the result.
    #[inline]
    pub unsafe fn convert(&self, index: usize, src: &[u8], dst: &mut [u8]) -> usize {
        // SAFETY: the generated code reads and writes nothing beyond a valid body and its result, as the caller vouches.
        unsafe { self.functions[index](src.as_ptr(), dst.as_mut_ptr()) }
    }
}

/// The C compiler's name. Under an emulator it is this machine's compiler for the emulated one.
pub fn compiler() -> String {
    match measure::is_counting() {
        true => format!("{}-linux-gnu-gcc", env::consts::ARCH),
        false => env::var("CC").unwrap_or_else(|_| "cc".into()),
    }
}

/// What the C compiler says of itself, if there is one.
pub fn version() -> Option<String> {
    let output = Command::new(compiler()).arg("--version").output().ok().filter(|output| output.status.success())?;
    String::from_utf8_lossy(&output.stdout).lines().next().map(str::to_string)
}

fn compile(source: &Path, library: &Path, flags: &[&str]) -> Result<()> {
    execute(Command::new(compiler()).args(flags).args(["-shared", "-fPIC", "-o"]).arg(library).arg(source))
}

/// Runs a compiler.
pub(crate) fn execute(command: &mut Command) -> Result<()> {
    let output = command.output()?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let program = command.get_program().to_string_lossy();
            Err(format!("{program} failed: {}", String::from_utf8_lossy(&output.stderr)).into())
        }
    }
}

/// A new directory for temporary files, deleted with what is in it.
pub(crate) struct Directory(PathBuf);

impl Directory {
    pub(crate) fn new() -> Result<Directory> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = env::temp_dir().join(format!("isoform-bench-{}-{count}", process::id()));
            match fs::create_dir(&path) {
                // Of a process that was killed, and had the same number.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                made => return Ok(made.map(|()| Directory(path))?),
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // What cannot be deleted stays until the system cleans up.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_process_has_left_behind_is_passed_over() {
        let path = Directory::new().unwrap().path().to_string_lossy().into_owned();
        let (start, number) = path.rsplit_once('-').unwrap();
        let number: u32 = number.parse().unwrap();
        let left: Vec<_> = (1..=20).map(|more| format!("{start}-{}", number + more)).collect();
        let made: Vec<_> = left.iter().filter(|path| fs::create_dir(path).is_ok()).collect();
        let directory = Directory::new().unwrap();
        assert!(directory.path().exists() && made.iter().all(|path| directory.path() != Path::new(path)));
        made.into_iter().for_each(|path| fs::remove_dir(path).unwrap());
    }
}
