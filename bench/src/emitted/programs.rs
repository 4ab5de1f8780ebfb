//! Programs in C that print, emit and trace lines, and say what each line has taken. Without a C compiler, or the library that a program
//! needs, its figure is no number.

use super::taker;
use crate::Result;
use crate::compiled::{Directory, compiler, execute};
use crate::measure::Times;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The programs that could be compiled.
pub(super) struct Programs {
    printf: Option<PathBuf>,
    place: Option<PathBuf>,
    tracepoint: Option<PathBuf>,
    daemon: Option<Daemon>,
    _folder: Directory,
}

/// How a program measures: its macro `ROUND` is the line that it measures.
const TIMED: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static volatile double first = 0.5, second = 0.25;
static void timed(int count) {
    int step;
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (step = 0; step < count; step++) { ROUND; }
    clock_gettime(CLOCK_MONOTONIC, &b);
    printf("%f\n", ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / count);
}
"#;

const PRINTF: &str = r#"
#define ROUND fprintf(file, "step %d depth %g %g\n", step, first, second)
#include <stdio.h>
static FILE *file;
#include "timed.h"
int main(int argc, char **argv) {
    file = fopen("/dev/null", "w");
    if (!file) return 1;
    timed(argc > 1 ? atoi(argv[1]) : 1);
    return 0;
}
"#;

/// With a second argument, it waits until somebody listens.
const PLACE: &str = r#"
#include <isoform.h>
static double depth[2] = { 0.5, 0.25 };
#define ROUND ISO_EMIT("bench-c", ISO_SHOW(step), ISO_SHOW_ARRAY_UNIT(depth, 2, "m"))
#include "timed.h"
int main(int argc, char **argv) {
    iso_emitting *emitting;
    const char *id;
    int step = 0, heard = argc < 3, tries;
    if (iso_emit_start("isoform-bench-c", &emitting) != 0) return 1;
    ROUND;
    if (iso_emit_id(emitting, "bench-c", &id) != 0) return 1;
    if (!heard) printf("%s\n", id), fflush(stdout);
    for (tries = 0; !heard && tries < 10000; tries++) {
        struct timespec pause = { 0, 1000000 };
        nanosleep(&pause, NULL);
        ISO_EMIT("bench-c", ISO_SHOW_AS("step", NULL, heard = 1), ISO_SHOW_ARRAY_UNIT(depth, 2, "m"));
    }
    if (!heard) return 1;
    timed(atoi(argv[1]));
    iso_emit_stop(&emitting);
    return 0;
}
"#;

const PROVIDER: &str = r#"
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER isoform_bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./provider.h"
#if !defined PROVIDER_H || defined LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ
#define PROVIDER_H
#include <lttng/tracepoint.h>
LTTNG_UST_TRACEPOINT_EVENT(isoform_bench, bench, LTTNG_UST_TP_ARGS(int, step, double, first, double, second),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, step, step) lttng_ust_field_float(double, first, first)
                        lttng_ust_field_float(double, second, second)))
#endif
#include <lttng/tracepoint-event.h>
"#;

const TRACEPOINT: &str = r#"
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "provider.h"
#define ROUND lttng_ust_tracepoint(isoform_bench, bench, step, first, second)
#include "timed.h"
int main(int argc, char **argv) {
    timed(argc > 1 ? atoi(argv[1]) : 1);
    return 0;
}
"#;

impl Programs {
    /// Compiles them. `own` is this program, beside which the library for C may lie.
    pub(super) fn new(own: &Path) -> Result<Programs> {
        let folder = Directory::new()?;
        let path = folder.path();
        for (name, text) in [
            ("timed.h", TIMED),
            ("provider.h", PROVIDER),
            ("printf.c", PRINTF),
            ("place.c", PLACE),
            ("tracepoint.c", TRACEPOINT),
        ] {
            fs::write(path.join(name), text)?;
        }
        let compiled = |name: &str, flags: &[String]| {
            let program = path.join(name);
            let mut command = Command::new(compiler());
            command.arg("-O2").arg("-I").arg(path).arg(path.join(format!("{name}.c")));
            execute(command.arg("-o").arg(&program).args(flags)).ok().map(|()| program)
        };
        let library = own.ancestors().skip(1).take(2).map(|folder| folder.join("libisoform_capi.so"));
        let library = library.into_iter().find(|library| library.exists());
        let place = library.and_then(|library| {
            let include = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../faces/c/include").to_string();
            // The name under which programs find it.
            let named = path.join("libisoform.so.0");
            std::os::unix::fs::symlink(std::path::absolute(library).ok()?, &named).ok()?;
            compiled("place", &[include, named.display().to_string(), format!("-Wl,-rpath,{}", path.display())])
        });
        let tracepoint = compiled("tracepoint", &["-llttng-ust".into(), "-ldl".into()]);
        let daemon = if tracepoint.is_some() { Daemon::start(path) } else { None };
        Ok(Programs { printf: compiled("printf", &[]), place, tracepoint, daemon, _folder: folder })
    }

    pub(super) fn printf(&self, count: u32) -> Result<Times> {
        said(self.printf.as_deref().map(Command::new), count)
    }

    /// A place in C, with a sink in this process if it is heard.
    pub(super) fn place(&self, count: u32, is_heard: bool) -> Result<Times> {
        let Some(program) = &self.place else { return Ok(none()) };
        if !is_heard {
            return said(Some(Command::new(program)), count);
        }
        let mut running = Command::new(program).args([&count.to_string(), "heard"]).stdout(Stdio::piped()).spawn()?;
        let mut output = BufReader::new(running.stdout.take().ok_or("no output")?);
        let (mut id, mut took) = (String::new(), String::new());
        output.read_line(&mut id)?;
        let taker = taker(id.trim())?;
        output.read_to_string(&mut took)?;
        if !running.wait()?.success() {
            return Err("the program that emits failed".into());
        }
        taker.join().map_err(|_| "the sink failed")?;
        Ok([took.trim().parse()?].into_iter().collect())
    }

    /// A tracepoint, in a session if it is heard.
    pub(super) fn tracepoint(&self, count: u32, is_heard: bool) -> Result<Times> {
        let program = self.tracepoint.as_deref().map(Command::new);
        match (&self.daemon, is_heard) {
            (_, false) => said(program, count),
            (None, true) => Ok(none()),
            (Some(daemon), true) => {
                let session = daemon.session()?;
                let took = said(program, count);
                drop(session);
                took
            }
        }
    }
}

/// Of what is not here.
fn none() -> Times {
    [f64::NAN].into_iter().collect()
}

/// What a program says that each line has taken.
fn said(program: Option<Command>, count: u32) -> Result<Times> {
    let Some(mut program) = program else { return Ok(none()) };
    let output = program.arg(count.to_string()).output()?;
    if !output.status.success() {
        return Err(format!("{program:?} failed: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok([String::from_utf8(output.stdout)?.trim().parse()?].into_iter().collect())
}

/// LTTng's own process, which ends with this.
struct Daemon {
    running: Child,
    folder: PathBuf,
}

impl Daemon {
    fn start(folder: &Path) -> Option<Daemon> {
        let mut daemon = Command::new("lttng-sessiond");
        let running = daemon.arg("--no-kernel").stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
        let daemon = Daemon { running, folder: folder.join("traces") };
        let is_there = (0..100).any(|_| {
            std::thread::sleep(Duration::from_millis(50));
            daemon.lttng(&["list"]).is_ok()
        });
        is_there.then_some(daemon)
    }

    fn lttng(&self, arguments: &[&str]) -> Result<()> {
        execute(Command::new("lttng").arg("--no-sessiond").args(arguments))
    }

    /// A session that takes the lines of programs, until it is dropped.
    fn session(&self) -> Result<Session<'_>> {
        self.lttng(&["create", SESSION, "--output", &self.folder.display().to_string()])?;
        let session = Session(self);
        self.lttng(&["enable-event", "--session", SESSION, "--userspace", "isoform_bench:*"])?;
        self.lttng(&["start", SESSION])?;
        Ok(session)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It ends its own helpers when it is asked to end, and not when it is killed.
        _ = Command::new("kill").arg(self.running.id().to_string()).status();
        _ = self.running.wait();
    }
}

const SESSION: &str = "isoform-bench";

struct Session<'a>(&'a Daemon);

impl Drop for Session<'_> {
    fn drop(&mut self) {
        _ = self.0.lttng(&["destroy", "--no-wait", SESSION]);
        _ = fs::remove_dir_all(&self.0.folder);
    }
}
