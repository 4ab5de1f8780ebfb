//! Who may do what at a service: addresses, secrets, certificates of `isoform keys`.

use super::*;

#[test]
fn what_would_be_unsafe_does_not_start() {
    let files = Files::new();
    let store = files.path("a.redb").display().to_string();
    let open = ["serve", "--store", &store, "--listen", "0.0.0.0:0"];
    let errors = isoform(&open).bad(2);
    assert!(errors.contains("certificate") && errors.contains("hint: `isoform help serve`"), "{errors}");
    let errors = isoform(&[&open[..], &["--insecure"]].concat()).bad(2);
    assert!(errors.contains("where anyone could write"), "{errors}");
    let short = files.write("secret", "too short");
    let errors = isoform(&[&open[..], &["--insecure", "--write-secret", &short]].concat()).bad(2);
    assert!(errors.contains("at least 16 characters") && errors.contains("found 9 characters"), "{errors}");
    let errors = isoform(&["serve", "--store", &store, "--once"]).bad(2);
    assert!(errors.contains("hint: --peer URL copies formats"), "{errors}");
    let service = Service::new();
    let taken = service.files.path("formats.redb").display().to_string();
    let errors = isoform(&["serve", "--listen", "127.0.0.1:0", "--store", &taken]).bad(2);
    assert!(errors.contains("hint: another program"), "{errors}");
}

/// A store that the disk damaged, and a pipe to which nobody writes in place of a certificate: the server says so, and ends.
#[test]
fn what_is_damaged_or_no_file_does_not_start() {
    let files = Files::new();
    let store = files.path("a.redb");
    let shown = store.display().to_string();
    drop(serve(&shown, &[]));
    let whole = std::fs::read(&store).unwrap();
    std::fs::write(&store, &whole[..whole.len() / 2]).unwrap();
    let errors = isoform(&["serve", "--store", &shown, "--listen", "127.0.0.1:0"]).bad(2);
    assert!(errors.contains(&shown) && errors.contains("restore a backup"), "{errors}");
    assert!(!errors.contains("panicked"), "{errors}");
    #[cfg(unix)]
    {
        let (pipe, store) = (files.path("pipe").display().to_string(), files.path("b.redb").display().to_string());
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let errors = isoform(&["serve", "--store", &store, "--listen", "127.0.0.1:0", "--certificate", &pipe]).bad(2);
        assert!(errors.contains("not a file"), "{errors}");
    }
}

#[test]
fn writers_show_their_secret() {
    let secrets = Files::new();
    let (good, wrong) = (secrets.write("good", "0123456789abcdef\n"), secrets.write("wrong", "0123456789abcdeF\n"));
    let service = Service::with(&["--write-secret", &good]);
    let shape = service.files.write("river.shape", RIVER);
    for options in [&[][..], &["--secret", &wrong]] {
        let errors = service.run(&[&["formats", "put", &shape], options].concat()).bad(2);
        assert!(errors.contains("hint: --secret FILE"), "{errors}");
    }
    service.run(&["formats", "put", &shape, "--secret", &good]).good();
    assert_eq!(service.run(&["formats", "ls", "--json"]).good().lines().count(), 1, "everyone may read");
}

#[test]
fn every_command_that_asks_a_service_shows_the_secret_of_the_environment() {
    let secrets = Files::new();
    let (good, wrong) = (secrets.write("good", "0123456789abcdef\n"), secrets.write("wrong", "0123 456789abcdef"));
    let service = Service::with(&["--read-secret", &good, "--write-secret", &good]);
    let shape = service.files.write("river.shape", RIVER);
    service.run(&["formats", "put", "--name", "river", &shape, "--secret", &good]).good();
    let format = |secret: &str| {
        let mut command = command(&["format", "name:river"]);
        command.env("ISOFORM_FORMATS", &service.url).env("ISOFORM_FORMATS_SECRET", secret);
        Run::of(command.output().unwrap())
    };
    assert!(format(&good).good().contains("River"));
    assert!(format("").bad(2).contains("not admitted"));
    assert!(format(&wrong).bad(2).contains("a secret of visible ASCII characters"));
}

#[test]
fn a_service_for_reading_changes_nothing() {
    let writable = Service::new();
    let shape = writable.files.write("river.shape", RIVER);
    writable.run(&["formats", "put", "--name", "river", &shape]).good();
    let copy = writable.files.path("copy.redb").display().to_string();
    writable.run(&["serve", "--store", &copy, "--peer", &writable.url, "--names-from", &writable.url, "--once"]);
    let (_running, url) = serve(&copy, &["--read-only"]);
    let at = |arguments: &[&str]| isoform(&[&["formats", "--server", &url], arguments].concat());
    let other = writable.files.write("other.shape", "record Lake\n  level  float\n");
    for change in
        [&["put", &other][..], &["rule", "river", "NONE"], &["retire", "river", "1", "--yes"], &["about", "river", "x"]]
    {
        let errors = at(change).bad(1);
        assert!(errors.contains("this server is read-only") && !errors.contains("hint"), "{change:?}: {errors}");
    }
    assert_eq!(at(&["ls", "--json"]).good().lines().count(), 1);
    assert!(at(&["versions", "river"]).good().contains("1 version, rule BACKWARD"));
    assert_eq!(at(&["check", "river", &shape]).good(), "river accepts this version\n");
}

/// A host with the certificates of `isoform keys`, and the file of one for another program.
fn certified(files: &Files, name: &str) -> (String, String, String) {
    let run = |arguments: &[&str]| {
        let mut command = command(arguments);
        command.env("XDG_CONFIG_HOME", files.path(name)).env_remove("ISOFORM_IDENTITY").current_dir(files.0.path());
        assert_eq!(Run::of(command.stdin(Stdio::null()).output().unwrap()).status, 0);
    };
    let writer = files.path(&format!("{name}-writer.pem")).display().to_string();
    run(&["keys", "init", "--name", "localhost"]);
    run(&["keys", "issue", "writer", "--output", &writer]);
    let file = |file: &str| files.path(name).join("isoform").join(file).display().to_string();
    (file("identity.pem"), file("authority.pem"), writer)
}

#[test]
fn certificates_encrypt_and_tell_writers() {
    let files = Files::new();
    let (identity, authority, writer) = certified(&files, "ours");
    let (_, _, stranger) = certified(&files, "theirs");
    let service = Service::with(&["--certificate", &identity, "--clients", &authority]);
    assert!(service.url.starts_with("https://127.0.0.1:"), "{}", service.url);
    let url = service.url.replace("127.0.0.1", "localhost");
    let at = |arguments: &[&str]| isoform(&[&["formats", "--server", &url], arguments].concat());
    let shape = service.files.write("river.shape", RIVER);
    let errors = at(&["ls"]).bad(2);
    assert!(errors.contains("certificate"), "the system does not know the authority: {errors}");
    assert_eq!(at(&["ls", "--json", "--trust", &authority]).good(), "", "everyone may read");
    let errors = at(&["put", &shape, "--trust", &authority]).bad(2);
    assert!(errors.contains("hint: --secret FILE") && errors.contains("--certificate FILE"), "{errors}");
    at(&["put", &shape, "--trust", &authority, "--certificate", &stranger]).bad(2);
    assert_eq!(at(&["ls", "--json", "--trust", &authority]).good(), "", "nothing came from strangers");
    at(&["put", &shape, "--trust", &authority, "--certificate", &writer]).good();
    assert_eq!(at(&["ls", "--json", "--trust", &authority]).good().lines().count(), 1);
    // A replica trusts the same authority.
    let copy = files.path("copy.redb").display().to_string();
    let once = isoform(&["serve", "--store", &copy, "--peer", &url, "--peer-trust", &authority, "--once"]);
    assert_eq!((once.status, &*once.errors), (0, "-- the store has 1 format and 0 names\n"));
    // Whoever speaks no TLS gets nothing.
    isoform(&["formats", "--server", &url.replace("https", "http"), "ls"]).bad(2);
}
