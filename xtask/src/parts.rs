//! Runs the parts of a suite, some at a time, and says what each cost.
//!
//! A part is a task of its own, run by this program once more. What it prints is shown when it has ended, so that parts
//! do not mix. Many parts keep a single processor busy for long, so two at a time take little more than half as long.

use crate::settings::{changes_extent, setting};
use crate::shell::SKIPPED;
use crate::{Outcome, passed};
use std::collections::VecDeque;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// One part after another has ended: its name, whether it succeeded, and what it took.
struct Ended {
    name: &'static str,
    succeeded: bool,
    cost: String,
}

/// Whether parts may still begin: until `UNTIL`, in seconds since 1970, if that is set. Who runs them may be stopped at some time, and would
/// learn nothing then.
fn is_time_left() -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |passed| passed.as_secs());
    now < setting("UNTIL", u64::MAX)
}

/// Runs all parts, in this order, and fails if one of them has. The last ones begin when the others have ended: they build the same
/// programs in another way.
pub(crate) fn run(suite: &str, parts: &[&'static str], last: &[&'static str]) -> Outcome {
    let at_once = setting("JOBS", 2).max(1);
    println!("make {suite}: {}; {at_once} at a time (JOBS)", [parts, last].concat().join(", "));
    let log = std::env::temp_dir().join(format!("isoform-{suite}-{}", std::process::id()));
    fs::create_dir_all(&log)?;
    let mut ended = side_by_side(at_once, parts, &log);
    ended.extend(side_by_side(at_once, last, &log));
    fs::remove_dir_all(&log)?;
    println!("\nmake {suite}: its parts");
    ended.iter().for_each(|part| println!("{}", part.line()));
    let failed: Vec<&str> = ended.iter().filter(|part| !part.succeeded).map(|part| part.name).collect();
    if failed.is_empty() { Ok(()) } else { Err(format!("make {suite}: failed: {}", failed.join(", ")).into()) }
}

/// Runs parts, some at a time, in the order in which they are given; gives them in the order in which they ended.
fn side_by_side(at_once: u32, parts: &[&'static str], log: &Path) -> Vec<Ended> {
    let waiting: Mutex<VecDeque<&'static str>> = Mutex::new(parts.iter().copied().collect());
    let ended = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                loop {
                    let Some(name) = waiting.lock().expect("no panic").pop_front() else { return };
                    if !is_time_left() {
                        println!("*** NOT RUN: make {name}: there was no time left for it (UNTIL) ***");
                        continue;
                    }
                    println!("make {name}: begun");
                    let (result, said) = part(name, log);
                    let mut ended = ended.lock().expect("no panic");
                    println!("\n== {}\n{said}", result.line());
                    ended.push(result);
                }
            });
        }
    });
    ended.into_inner().expect("no panic")
}

/// Runs those parts of all suites that have not passed for the tree as it is, the last ones when the others have ended.
pub(crate) fn ready(first: &[&'static str], last: &[&'static str]) -> Outcome {
    let suites = [first, last].concat();
    let tree = passed::tree().ok_or("make ready: commit everything first; it is about a tree as others get it")?;
    let (done, left): (Vec<_>, Vec<_>) = suites.iter().partition(|part| passed::has_passed(part, &tree));
    println!(
        "make ready: passed for this tree: {}",
        if done.is_empty() { "nothing yet".into() } else { done.join(", ") }
    );
    if !left.is_empty() {
        let (last, left): (Vec<_>, Vec<_>) = left.into_iter().partition(|part| last.contains(part));
        run("ready", &passed::by_failures(left), &last)?;
    }
    let left: Vec<_> = suites.into_iter().filter(|part| !passed::has_passed(part, &tree)).collect();
    if !left.is_empty() {
        return Err(format!("make ready: not passed as a whole for this tree: {}", left.join(", ")).into());
    }
    println!("make ready: ready");
    Ok(())
}

/// Runs a part; gives what it printed.
fn part(name: &'static str, log: &Path) -> (Ended, String) {
    let (printed, times) = (log.join(name), log.join(format!("{name}-times")));
    let (began, tree) = (Instant::now(), passed::tree());
    let succeeded = spawn(name, &printed, &times).is_ok_and(|succeeded| succeeded);
    let said = fs::read(&printed).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let limit = match (said.contains(SKIPPED), changes_extent()) {
        (true, _) => ", without what it skipped",
        (false, true) => ", with settings of the caller",
        (false, false) => "",
    };
    passed::note(name, tree.as_deref(), succeeded, limit.is_empty());
    let cost = format!("after {:.0} s{}{limit}", began.elapsed().as_secs_f64(), processors(&times));
    (Ended { name, succeeded, cost }, said)
}

/// The shell knows what its children took of processors.
fn spawn(name: &str, printed: &Path, times: &PathBuf) -> Outcome<bool> {
    let file = File::create(printed)?;
    let mut shell = Command::new("sh");
    shell.args(["-c", r#""$1" "$2"; status=$?; times > "$3"; exit $status"#, "sh"]);
    shell.arg(std::env::current_exe()?).arg(name).arg(times);
    shell.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
    Ok(shell.status()?.success())
}

/// The second line of `times` is for children: user and system, as `1m2.345s`.
fn processors(times: &Path) -> String {
    let text = fs::read_to_string(times).unwrap_or_default();
    let seconds = |word: &str| {
        let (minutes, seconds) = word.strip_suffix('s')?.split_once('m')?;
        Some(minutes.parse::<f64>().ok()? * 60.0 + seconds.parse::<f64>().ok()?)
    };
    let total: Option<f64> = text.lines().nth(1).and_then(|line| line.split_whitespace().map(seconds).sum());
    total.map(|total| format!(", with {total:.0} s of processors")).unwrap_or_default()
}

impl Ended {
    fn line(&self) -> String {
        format!("make {}: exit status {} {}", self.name, u8::from(!self.succeeded), self.cost)
    }
}
