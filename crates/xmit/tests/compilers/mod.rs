//! What the tests of programs share: compilers, and mutants.

mod here;

#[allow(unused_imports, reason = "not every test skips something")]
pub(crate) use here::{has, skipped};
use isoform_core::Layout;
use isoform_xmit::Program;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;

/// The compilers, each with the layout of its machine. Only that of this machine is always here.
pub(crate) fn compilers() -> Vec<(&'static str, Layout)> {
    let all = [
        ("cc", Layout::NATIVE),
        (if has("clang") { "clang" } else { "clang-19" }, Layout::NATIVE),
        ("i686-linux-gnu-gcc", Layout::I386),
        ("s390x-linux-gnu-gcc", Layout::S390X),
        ("powerpc-linux-gnu-gcc", Layout::POWERPC),
        ("sparc64-linux-gnu-gcc", Layout::SPARC64),
        ("mips-linux-gnu-gcc", Layout::MIPS),
        ("aarch64-linux-gnu-gcc", Layout::AARCH64),
        ("powerpc64le-linux-gnu-gcc", Layout::POWERPC64LE),
    ];
    static SAID: Once = Once::new();
    let (here, missing): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|(compiler, _)| *compiler == "cc" || has(compiler));
    let missing: Vec<&str> = missing.iter().map(|(compiler, _)| *compiler).collect();
    if !missing.is_empty() {
        SAID.call_once(|| skipped(&format!("programs of {}, which are not here", missing.join(", "))));
    }
    here
}

/// Compiles a text, and returns the path of the result.
pub(crate) fn compile(folder: &Path, compiler: &str, file: &str, text: &str, arguments: &[&str]) -> PathBuf {
    let source = folder.join(file);
    std::fs::write(&source, text).unwrap();
    let object = source.with_extension("o");
    let output = Command::new(compiler)
        .arg("-o")
        .arg(&object)
        .args(arguments)
        .arg(&source)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{compiler}: {}", String::from_utf8_lossy(&output.stderr));
    object
}

#[allow(dead_code, reason = "not every test needs it")]
/// Reads mutants of a program: none panics, and each is a program or is refused.
pub(crate) fn mutate(bytes: &[u8], count: usize) {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let mut refused = 0;
    for _ in 0..count {
        let mut mutant = bytes.to_vec();
        for _ in 0..1 + next(4) {
            let at = next(mutant.len());
            mutant[at] = [0, 1, 0x7f, 0x80, 0xff, next(256) as u8][next(6)];
        }
        mutant.truncate(if next(10) == 0 { next(bytes.len()) } else { bytes.len() });
        match Program::read(&mutant) {
            Ok(program) => {
                let names: Vec<String> = program.names().map(String::from).collect();
                refused += names.iter().filter(|name| program.format(name).is_err()).count();
            }
            Err(_) => refused += 1,
        }
    }
    assert!(refused > count / 10, "{refused}");
}

/// Runs a tool of binutils, and says whether it could.
#[allow(dead_code, reason = "not every test needs one")]
pub(crate) fn tool(folder: &Path, name: &str, arguments: &[&str]) -> bool {
    match Command::new(name).args(arguments).current_dir(folder).output() {
        Ok(output) => output.status.success(),
        Err(_) => false,
    }
}
