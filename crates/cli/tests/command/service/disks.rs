//! The cache on a disk that takes nothing: one on which the user may not write, and one that is full. The records are shown all the same.

use super::*;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;

/// The user that tests become if they run as root, who may write everywhere.
const ORDINARY: u32 = 65_534;

/// A folder with a stream without descriptions, whose formats the service has; everybody may look into it.
fn prepared() -> (Service, String, PathBuf) {
    let service = Service::new();
    let whole = service.files.write("whole.iso", stream());
    isoform(&["formats", "--server", &service.url, "put", &whole]).good();
    let bare = service.files.write("bare.iso", undescribed(&gauge(), &[gauge_body(7, 0.5)]));
    let cache = service.files.path("cache");
    std::fs::create_dir(&cache).unwrap();
    mode(service.files.0.path(), 0o755);
    (service, bare, cache)
}

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// The command, as an ordinary user runs it. If the test runs as root, it starts the command as another user, from a link or a copy in
/// this folder, since that user may not read the folder in which the command was built.
fn ordinary(service: &Service, arguments: &[&str]) -> Command {
    let built = command(&[]);
    let is_root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    let mut command = match is_root {
        false => Command::new(built.get_program()),
        true => {
            let here = service.files.path("isoform");
            if !here.exists() && std::fs::hard_link(built.get_program(), &here).is_err() {
                // Another process writes the copy: no other test can have it open for writing when this one starts it.
                assert!(Command::new("cp").arg(built.get_program()).arg(&here).status().unwrap().success());
            }
            let mut command = Command::new(here);
            command.uid(ORDINARY).gid(ORDINARY);
            command
        }
    };
    command.args(arguments).env("ISOFORM_FORMATS", &service.url).env("XDG_CACHE_HOME", service.files.path("cache"));
    command.stdin(Stdio::null());
    command
}

fn run(mut command: Command) -> Run {
    Run::of(command.output().expect("the command starts"))
}

const SHOWN: &str = "{\"id\":7,\"depth\":0.5}\n";

#[test]
fn a_folder_without_the_right_to_write_is_no_cache_and_no_failure() {
    let (mut service, bare, cache) = prepared();
    mode(&cache, 0o555);
    let dump = ["dump", "--json", &bare];
    for _ in 0..2 {
        assert_eq!(run(ordinary(&service, &dump)).good(), SHOWN);
    }
    assert_eq!(std::fs::read_dir(&cache).unwrap().count(), 0);
    // Whoever may write keeps it. Then the others read it there, also from a folder in which they may not write.
    mode(&cache, 0o777);
    assert_eq!(run(ordinary(&service, &dump)).good(), SHOWN);
    mode(&cache, 0o555);
    service.running.kill();
    assert_eq!(run(ordinary(&service, &dump)).good(), SHOWN);
    // What it may not read is not there.
    mode(&cache, 0o000);
    let errors = run(ordinary(&service, &dump)).bad(1);
    assert!(errors.contains(&service.url) && !errors.contains("ermission"), "{errors}");
    mode(&cache, 0o755);
}

#[test]
fn a_full_disk_is_no_cache_and_no_failure() {
    let (mut service, bare, cache) = prepared();
    let full = |limit: u32, arguments: &[&str]| {
        let built = command(&[]);
        let mut shell = Command::new("sh");
        // Writing more than this to a file is an error.
        shell.args(["-c", &format!("trap '' XFSZ; ulimit -f {limit}; exec \"$@\""), "sh"]).arg(built.get_program());
        shell.args(arguments).env("ISOFORM_FORMATS", &service.url).env("XDG_CACHE_HOME", &cache).stdin(Stdio::null());
        run(shell)
    };
    let dump = ["dump", "--json", &bare];
    for _ in 0..2 {
        assert_eq!(full(0, &dump).good(), SHOWN);
    }
    let kept = cache.join("isoform/formats");
    let count = || std::fs::read_dir(&kept).map_or(0, Iterator::count);
    assert_eq!(count(), 0, "nothing unfinished is left");
    // With room, it is kept, whatever was before.
    assert_eq!(full(64, &dump).good(), SHOWN);
    assert_eq!(count(), 1);
    service.running.kill();
    assert_eq!(
        run({
            let mut command = command(&dump);
            command.env("ISOFORM_FORMATS", &service.url).env("XDG_CACHE_HOME", &cache);
            command
        })
        .good(),
        SHOWN
    );
}
