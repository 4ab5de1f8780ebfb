//! The built command as a user meets it: output, errors with hints, exit statuses, pipes.

#[cfg(unix)]
mod channels;
#[cfg(all(unix, feature = "files"))]
mod containers;
mod demonstration;
#[cfg(feature = "xmit")]
mod documents;
mod dumps;
mod explanations;
mod formats;
mod general;
#[cfg(all(unix, feature = "tls"))]
mod keys;
#[cfg(all(target_os = "linux", feature = "xmit"))]
mod programs;
#[cfg(all(unix, feature = "files"))]
mod recordings;
#[cfg(all(unix, feature = "service"))]
mod service;
#[cfg(unix)]
mod surroundings;
#[cfg(feature = "tables")]
mod tables;

use isoform::Format;
use isoform::core::Layout;
use isoform::core::declare::FieldList;
use isoform::stream::Writer;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// What a run of the command left behind.
struct Run {
    output: String,
    errors: String,
    status: i32,
}

impl Run {
    fn of(output: Output) -> Run {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("what is printed is text");
        Run {
            output: text(output.stdout),
            errors: text(output.stderr),
            status: output.status.code().expect("the command ends by itself"),
        }
    }

    /// The output of a run that must succeed.
    #[track_caller]
    fn good(self) -> String {
        assert_eq!((self.status, &*self.errors), (0, ""), "{}", self.output);
        self.output
    }

    /// The errors of a run that must fail with a status. They are printed as every error is.
    #[track_caller]
    fn bad(self, status: i32) -> String {
        assert_eq!(self.status, status, "{}{}", self.output, self.errors);
        assert!(self.errors.starts_with("isoform: "), "{}", self.errors);
        self.errors
    }
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_isoform"));
    command.args(arguments).env_remove("NO_COLOR").env_remove("ISOFORM_FORMATS");
    // No test sees what another one, or the user, has cached.
    command.env("XDG_CACHE_HOME", "/dev/null");
    command
}

/// Starts the command. Wine cannot always start many programs at a time: it is asked again then.
fn started(command: &mut Command) -> Child {
    const INTERNAL_ERROR: i32 = 1359;
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    for _ in 0..20 {
        match command.spawn() {
            Err(error) if cfg!(windows) && error.raw_os_error() == Some(INTERNAL_ERROR) => {
                std::thread::sleep(Duration::from_millis(100));
            }
            started => return started.expect("the command starts"),
        }
    }
    panic!("the command does not start")
}

fn isoform(arguments: &[&str]) -> Run {
    let child = started(command(arguments).stdin(Stdio::null()));
    Run::of(child.wait_with_output().expect("the command ends"))
}

/// Runs the command with these bytes as its standard input.
fn isoform_reading(arguments: &[&str], input: &[u8]) -> Run {
    let mut command = command(arguments);
    command.stdin(Stdio::piped());
    let mut child = started(&mut command);
    let mut pipe = child.stdin.take().expect("its input is a pipe");
    let _ = pipe.write_all(input); // it may have seen enough before the end
    drop(pipe);
    Run::of(child.wait_with_output().expect("the command ends"))
}

/// A directory with files in it, for the time of a test.
struct Files(TempDir);

impl Files {
    fn new() -> Files {
        Files(tempfile::tempdir().expect("a directory can be made"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file, and returns its path as text, to which # and @ can be appended.
    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        std::fs::write(self.path(name), content).expect("a file can be written");
        self.path(name).display().to_string()
    }
}

/// A format without gaps or surprises.
fn gauge() -> Format {
    let fields = FieldList::new("Gauge").field("id", "unsigned", 4, 0).field("depth", "float", 8, 8).unit("m");
    fields.format(Layout::X86_64.machine(), 16, 8).unwrap()
}

fn gauge_body(id: u32, depth: f64) -> Vec<u8> {
    [&id.to_le_bytes()[..], &[0; 4], &depth.to_le_bytes()].concat()
}

/// A big-endian record with strings and points.
fn track() -> Format {
    let machine = Layout::POWERPC.machine();
    let point = FieldList::new("Point").field("x", "float", 8, 0).field("y", "float", 8, 8);
    FieldList::new("Track")
        .nested(point.structure(machine, 16, 8).unwrap())
        .field("name", "string", 4, 0)
        .field("state", "enumeration{good=0,bad=1}", 4, 4)
        .field("count", "integer", 4, 8)
        .field("points", "Point[count]", 16, 12)
        .format(machine, 16, 4)
        .unwrap()
}

fn track_body(name: &str, state: i32, points: &[[f64; 2]]) -> Vec<u8> {
    let points_at = (16 + name.len() + 1).next_multiple_of(8);
    let slot = if points.is_empty() { 0 } else { points_at as i32 };
    let mut body: Vec<u8> = [16, state, points.len() as i32, slot].iter().flat_map(|word| word.to_be_bytes()).collect();
    body.extend(name.bytes().chain([0]));
    if !points.is_empty() {
        body.resize(points_at, 0);
        body.extend(points.iter().flatten().flat_map(|number| number.to_be_bytes()));
    }
    body
}

/// Three gauges and a track.
fn stream() -> Vec<u8> {
    let mut writer = Writer::new(Vec::new());
    for id in 1..=3 {
        writer.write_body(&gauge(), &gauge_body(id, f64::from(id) / 2.0)).unwrap();
    }
    writer.write_body(&track(), &track_body("north", 1, &[[1.0, 2.5], [-3.0, 1e300]])).unwrap();
    writer.into_inner()
}

const SHAPES: &str = "\
record Point
  x  double
  y  double  unit=\"m\"
record Track
  id      unsigned long
  n       int
  points  Point[n]
";
