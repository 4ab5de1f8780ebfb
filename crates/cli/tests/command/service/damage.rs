//! A store whose damage shows only when a request reads it: clients get errors, the operator is told in a line, and nothing panics aloud.

use super::*;
use std::io::Read;

/// The size of a page of the database.
const PAGE: usize = 4096;

#[test]
fn damage_that_shows_later_is_told_in_plain_words() {
    let service = Service::new();
    let shapes: String = (0..300).map(|at| format!("record R{at}\n  f{at}  int\n  depth{at}  double\n\n")).collect();
    service.run(&["formats", "put", &service.files.write("all.shape", shapes)]).good();
    let store = service.files.path("copy.redb").display().to_string();
    let once = || isoform(&["serve", "--store", &store, "--peer", &service.url, "--once"]);
    once();
    let whole = std::fs::read(&store).unwrap();
    let other = service.files.write("other.shape", RIVER);
    service.run(&["formats", "put", &other]).good();

    // Some pages are read when the service starts, some later, some never.
    let (mut failed_later, mut failed_once) = (false, false);
    for page in 1..whole.len() / PAGE {
        let mut damaged = whole.clone();
        damaged[page * PAGE + 1..page * PAGE + 9].fill(0xff);
        std::fs::write(&store, &damaged).unwrap();
        let said = served(&store, &other);
        failed_later |= said.contains("restore a backup");
        std::fs::write(&store, &damaged).unwrap();
        let copied = once();
        assert!(!copied.errors.contains("panicked"), "{}", copied.errors);
        failed_once |= copied.status == 2 && copied.errors.contains("a store without damage: restore a backup");
        if failed_later && failed_once {
            return;
        }
    }
    panic!("no damage showed while a service ran, or none while it copied: {failed_later}, {failed_once}");
}

/// What a service says while it is asked for everything, and is given one more format. Nothing if it does not start.
fn served(store: &str, other: &str) -> String {
    let mut serve = command(&["serve", "--listen", "127.0.0.1:0", "--store", store]);
    let mut child = serve.stderr(Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap());
    let mut running = Running(child);
    let (mut first, mut rest) = (String::new(), String::new());
    told.read_line(&mut first).unwrap();
    let Some(url) = first.strip_prefix("-- http").and_then(|_| first.split(' ').nth(1)) else { return rest };
    let list = isoform(&["formats", "--server", url, "ls", "dep"]);
    let put = isoform(&["formats", "--server", url, "put", other]);
    running.kill();
    told.read_to_string(&mut rest).unwrap();
    assert!(!rest.contains("panicked"), "{rest}");
    let has_failed = [&list, &put].iter().any(|run| run.status != 0);
    assert_eq!(has_failed, rest.contains("restore a backup"), "{rest}{}{}", list.errors, put.errors);
    rest
}
