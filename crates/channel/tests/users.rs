//! Another user of this machine, and what it gets: nothing without a key that the node knows. The tests need the administrator,
//! who alone can start programs for somebody else.
#![cfg(target_os = "linux")]
#![allow(clippy::print_stdout, reason = "the programs of other users tell what they found")]

use isoform::Code;
use isoform_channel::{Channel, Node, new_key};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A user that is nobody in particular.
const OTHER: u32 = 65_534;

/// A place for the programs of the other user: this program, and a home.
struct Place {
    folder: TempDir,
    program: PathBuf,
}

impl Place {
    /// `None` if no program can be started for somebody else.
    fn new() -> Option<Place> {
        if !rustix::process::geteuid().is_root() {
            println!("skipped: only the administrator can start programs for other users");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let (program, home) = (folder.path().join("program"), folder.path().join("home"));
        copy(&std::env::current_exe().unwrap(), &program);
        std::fs::create_dir(&home).unwrap();
        chown(&home, Some(OTHER), None).unwrap();
        Some(Place { folder, program })
    }

    /// A program of the other user.
    fn program(&self, test: &str, variables: &[(&str, &str)]) -> Command {
        let mut command = Command::new(&self.program);
        command.args([test, "--exact", "--ignored", "--nocapture"]).env_clear();
        command.env("HOME", self.folder.path().join("home")).envs(variables.iter().copied());
        command.uid(OTHER).gid(OTHER).stdin(Stdio::piped()).stdout(Stdio::piped());
        command
    }

    /// What the other user gets for an id.
    fn visit(&self, id: &str, variables: &[(&str, &str)]) -> String {
        let mut variables = variables.to_vec();
        variables.push(("VISITED", id));
        found(&mut &*self.program("visitor", &variables).output().unwrap().stdout)
    }
}

/// Copies a program, in a process of its own. If this process wrote the copy, a child that another thread starts meanwhile would
/// hold it open for writing, and the system does not run such a program ("text file busy").
fn copy(program: &Path, to: &Path) {
    assert!(Command::new("cp").args([program, to]).status().unwrap().success());
}

/// What a program of the other user has found.
fn found(said: &mut dyn BufRead) -> String {
    let found = said.lines().map(Result::unwrap).find_map(|line| line.strip_prefix("FOUND ").map(String::from));
    found.expect("it tells")
}

#[test]
#[ignore = "what the tests below start for another user"]
fn visitor() {
    let Ok(id) = std::env::var("VISITED") else { return };
    let found = match Node::new().unwrap().open(id) {
        Ok(channel) => format!("{} members", channel.info(std::time::Duration::ZERO).unwrap().members.len()),
        Err(error) => format!("{:?}", error.code()),
    };
    println!("\nFOUND {found}");
}

#[test]
#[ignore = "what the tests below start for another user"]
fn host() {
    if std::env::var("HOSTS").is_err() {
        return;
    }
    let node = Node::builder().admit_anyone(true).build().unwrap();
    let channel = node.create_with("ticks", None).unwrap();
    println!("\nFOUND {}", channel.id());
    // Until whoever has started this program is gone.
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

fn members(channel: &Channel) -> usize {
    channel.info(std::time::Duration::ZERO).unwrap().members.len()
}

#[test]
fn another_user_gets_in_by_a_key_and_not_without() {
    let Some(place) = Place::new() else { return };
    let key = new_key().unwrap();
    let socket = place.folder.path().join("x.sock");
    let at_socket = format!("unix:{}", socket.display());
    let node = Node::builder().listen("127.0.0.1:0").listen(at_socket).key(key.clone()).build().unwrap();
    let channel = node.create_with("ticks", None).unwrap();
    let [tcp, unix] = [0, 1].map(|at| channel.ids().nth(at).unwrap());
    let wrong = new_key().unwrap();
    let refused = format!("{:?}", Code::NotAdmitted);
    assert_eq!(place.visit(&tcp.to_string(), &[]), refused);
    assert_eq!(place.visit(&tcp.clone().with_key(*wrong.secret()).to_string(), &[]), refused);
    assert_eq!(place.visit(&tcp.to_string(), &[("ISOFORM_KEY", &wrong.to_hex())]), refused);
    assert_eq!(place.visit(&unix.to_string(), &[]), format!("{:?}", Code::Unreachable), "the file is closed to others");
    // As if a careless hand had opened the file to everybody.
    std::fs::set_permissions(&socket, PermissionsExt::from_mode(0o777)).unwrap();
    assert_eq!(place.visit(&unix.to_string(), &[]), refused);
    assert_eq!(members(&channel), 1);

    let found = "2 members";
    assert_eq!(place.visit(&tcp.clone().with_key(*key.secret()).to_string(), &[]), found);
    assert_eq!(place.visit(&unix.with_key(*key.secret()).to_string(), &[]), found);
    assert_eq!(place.visit(&tcp.to_string(), &[("ISOFORM_KEY", &key.to_hex())]), found);
}

#[test]
fn a_program_of_another_user_that_took_over_a_port_gets_nothing() {
    let Some(place) = Place::new() else { return };
    let mut host = place.program("host", &[("HOSTS", "yes")]).spawn().unwrap();
    let mut said = BufReader::new(host.stdout.take().unwrap());
    let id = found(&mut said);
    let error = Node::new().unwrap().open(&id).unwrap_err();
    assert_eq!(error.code(), Code::NotAdmitted, "{error}");
    assert!(Node::builder().admit_anyone(true).build().unwrap().open(&id).is_ok());
    drop(host.stdin.take());
    host.wait().unwrap();
}
