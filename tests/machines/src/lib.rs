//! The machines that Isoform is tried on: for which targets Rust is compiled, by which compilers C is, and what runs it
//! here.
//!
//! Everything but this machine itself runs under an emulator of user programs, which is right for what is computed and
//! meaningless for how long it takes. `install.sh` fetches what a Debian system needs for it.
#![forbid(unsafe_code)]

pub mod writer;

use isoform::core::Layout;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, Stdio};

/// One kind of machine, and the tools that make and run programs of it.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// The layout of its C compiler, under whose name the machine goes.
    pub layout: Layout,
    /// What the Rust compiler calls it; `None` where Rust has no standard library to install.
    pub target: Option<&'static str>,
    /// What GCC calls it: `<triple>-gcc` compiles for it, and `/usr/<triple>` has its libraries.
    pub triple: &'static str,
    /// What GCC is told besides, to compile for it and not for a machine of the same triple.
    pub options: &'static [&'static str],
    /// What runs its programs elsewhere.
    pub emulator: &'static str,
}

impl Machine {
    /// Every machine.
    pub const ALL: &[Machine] = &[
        machine(Layout::X86_64, Some("x86_64-unknown-linux-gnu"), "x86_64-linux-gnu", "qemu-x86_64"),
        machine(Layout::I386, Some("i686-unknown-linux-gnu"), "i686-linux-gnu", "qemu-i386"),
        machine(Layout::ARMV7, Some("armv7-unknown-linux-gnueabihf"), "arm-linux-gnueabihf", "qemu-arm"),
        machine(Layout::AARCH64, Some("aarch64-unknown-linux-gnu"), "aarch64-linux-gnu", "qemu-aarch64"),
        machine(Layout::RISCV64, Some("riscv64gc-unknown-linux-gnu"), "riscv64-linux-gnu", "qemu-riscv64"),
        machine(Layout::POWERPC, Some("powerpc-unknown-linux-gnu"), "powerpc-linux-gnu", "qemu-ppc"),
        machine(Layout::POWERPC64, Some("powerpc64-unknown-linux-gnu"), "powerpc64-linux-gnu", "qemu-ppc64"),
        machine(Layout::S390X, Some("s390x-unknown-linux-gnu"), "s390x-linux-gnu", "qemu-s390x"),
        machine(Layout::SPARC64, None, "sparc64-linux-gnu", "qemu-sparc64"),
        // Statically linked: Debian keeps its loader where the emulator does not look.
        Machine {
            options: &["-m32", "-static"],
            ..machine(Layout::SPARC, None, "sparc64-linux-gnu", "qemu-sparc32plus")
        },
        machine(Layout::MIPS, None, "mips-linux-gnu", "qemu-mips"),
        machine(Layout::WINDOWS_X64, Some("x86_64-pc-windows-gnu"), "x86_64-w64-mingw32", "wine"),
    ];

    /// Its name, such as `s390x`.
    pub fn name(&self) -> &'static str {
        self.layout.name
    }

    /// Whether this program runs on it.
    pub fn is_here(&self) -> bool {
        self.layout == Layout::NATIVE
    }

    /// Its C compiler.
    pub fn compiler(&self) -> String {
        format!("{}-gcc", self.triple)
    }

    /// Whether its C compiler is there, and with it the C library that its options choose.
    pub fn compiles(&self) -> bool {
        match self.options {
            [] => answers(&self.compiler(), "--version"),
            options => {
                let library = Command::new(self.compiler()).args(options).arg("-print-file-name=libc.a").output();
                library.is_ok_and(|found| Path::new(String::from_utf8_lossy(&found.stdout).trim()).is_absolute())
            }
        }
    }

    /// Whether its programs can be run.
    pub fn runs(&self) -> bool {
        self.is_here() || answers(self.emulator, "--version")
    }

    /// What stands before a program of this machine to run it here.
    pub fn runner(&self) -> Vec<String> {
        match self.emulator {
            _ if self.is_here() => vec![],
            "wine" => vec!["wine".into()],
            emulator => vec![emulator.into(), "-L".into(), format!("/usr/{}", self.triple)],
        }
    }

    /// A program of this machine, to be run here.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut words: Vec<OsString> = self.runner().into_iter().map(Into::into).collect();
        words.push(program.as_ref().into());
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).env("WINEDEBUG", "-all");
        command
    }
}

const fn machine(
    layout: Layout,
    target: Option<&'static str>,
    triple: &'static str,
    emulator: &'static str,
) -> Machine {
    Machine { layout, target, triple, options: &[], emulator }
}

/// Whether there is such a command.
fn answers(command: &str, argument: &str) -> bool {
    let status = Command::new(command).arg(argument).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}
