//! The other process: a format service, and a bare HTTP server.

use super::{bare, named};
use crate::Result;
use isoform::Format;
use isoform_service::server::{Options, start};
use isoform_service::store::{Quota, Store};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The word with which this program is called to be a service.
pub const STORE: &str = "service-store";

/// Formats that are stored at once while a store is filled.
const AT_ONCE: usize = 10_000;

fn file(folder: &Path) -> PathBuf {
    folder.join("formats.redb")
}

/// One of the formats that fill a store.
pub(super) fn filling(at: usize) -> Result<Format> {
    named(&format!("Filling{at}"))
}

/// Makes a store with so many formats.
pub(super) fn fill(folder: &Path, formats: usize) -> Result<()> {
    let store = Store::open(&file(folder), Quota::default())?;
    for from in (0..formats).step_by(AT_ONCE) {
        let all = (from..formats.min(from + AT_ONCE)).map(filling).collect::<Result<Vec<_>>>()?;
        store.put_all(&all)?;
    }
    Ok(())
}

/// Runs a service with the store in the folder of the first word, and a bare server that answers so many bytes as the second
/// word says, until the standard input ends. The addresses go to the standard output.
///
/// # Errors
/// If the service does not start.
pub fn serve(words: &[String]) -> Result<()> {
    let [folder, bytes] = words else { return Err("expected a folder and a number of bytes".into()) };
    let options = Options::new(file(folder.as_ref())).listen(([127, 0, 0, 1], 0).into());
    let server = start(options)?;
    let bare = bare::serve(bytes.parse()?, Path::new(folder).join("bare"))?;
    say(&format!("{} {bare}", server.url()));
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

#[expect(clippy::print_stdout, reason = "another process reads it")]
fn say(text: &str) {
    println!("{text}");
}

/// Such a process.
pub(super) struct Process {
    child: Child,
    pub(super) url: String,
    /// The address of the bare server.
    pub(super) bare: String,
}

impl Process {
    pub(super) fn start(program: &Path, folder: &Path, bytes: usize) -> Result<Process> {
        let mut command = Command::new(program);
        command.arg(STORE).arg(folder).arg(bytes.to_string());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        let said = child.stdout.take().map(|output| BufReader::new(output).read_line(&mut line));
        let mut process = Process { child, url: String::new(), bare: String::new() };
        said.ok_or("a process without output")??;
        let (url, bare) = line.trim().split_once(' ').ok_or("the service has not started")?;
        (process.url, process.bare) = (url.into(), bare.into());
        Ok(process)
    }

    /// `HOST:PORT` of the service.
    pub(super) fn address(&self) -> &str {
        self.url.trim_start_matches("http://")
    }

    /// KiB of memory that the process has; 0 if the system does not tell.
    pub(super) fn resident(&self) -> Result<usize> {
        let status = match std::fs::read_to_string(format!("/proc/{}/status", self.child.id())) {
            Ok(status) => status,
            Err(_) => return Ok(0),
        };
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|rest| rest.split_whitespace().next());
        Ok(number.map_or(Ok(0), str::parse)?)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        _ = self.child.kill().and_then(|()| self.child.wait());
    }
}
