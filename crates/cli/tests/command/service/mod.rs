//! `serve` and `formats`, and sources at a format service: real processes on the loopback interface.

mod damage;
mod disks;
#[cfg(feature = "tls")]
mod doors;
mod life;
#[cfg(feature = "tls")]
mod secrets;
mod slow;

use super::*;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::Child;

/// A service that runs in a folder, and is killed at the end.
struct Service {
    files: Files,
    running: Running,
    url: String,
}

/// A service that is killed when this is dropped.
struct Running(Child);

impl Running {
    /// Ends it as `kill -9` does.
    fn kill(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Service {
    fn new() -> Service {
        Service::with(&[])
    }

    fn with(options: &[&str]) -> Service {
        let files = Files::new();
        let (running, url) = serve(&files.path("formats.redb").display().to_string(), options);
        Service { files, running, url }
    }

    fn run(&self, arguments: &[&str]) -> Run {
        let mut command = command(arguments);
        command.env("ISOFORM_FORMATS", &self.url).env("XDG_CACHE_HOME", self.files.path("cache"));
        Run::of(command.stdin(Stdio::null()).output().expect("the command starts"))
    }
}

/// Starts a service at a free port, and waits until it says its URL.
fn serve(store: &str, options: &[&str]) -> (Running, String) {
    serve_at("127.0.0.1:0", store, options).expect("the service starts")
}

/// Starts a service; what it says if it does not start.
fn serve_at(address: &str, store: &str, options: &[&str]) -> Result<(Running, String), String> {
    let arguments = [&["serve", "--listen", address, "--store", store], options].concat();
    running(command(&arguments))
}

/// Runs a command that is a service, and waits until it says its URL.
fn running(mut command: Command) -> Result<(Running, String), String> {
    let mut child = command.stderr(Stdio::piped()).spawn().expect("the command starts");
    let mut told = BufReader::new(child.stderr.take().expect("its errors are a pipe"));
    let running = Running(child);
    let mut line = String::new();
    told.read_line(&mut line).expect("it says something");
    if !line.starts_with("-- http") {
        return Err(line);
    }
    // Whatever else it says must find a reader.
    std::thread::spawn(move || std::io::copy(&mut told, &mut std::io::sink()));
    let url = line.split(' ').nth(1).expect("the second word is the URL").to_owned();
    Ok((running, url))
}

const RIVER: &str = "record River\n  step   int\n  depth  double  unit=\"m\"\n";

/// The messages of a stream without its descriptions.
fn undescribed(format: &Format, bodies: &[Vec<u8>]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new());
    writer.describe(format).unwrap();
    let described = writer.inner().len();
    bodies.iter().for_each(|body| writer.write_body(format, body).unwrap());
    writer.into_inner().split_off(described)
}

#[test]
fn formats_that_a_stream_does_not_describe_are_looked_up() {
    let mut service = Service::new();
    let shape = service.files.write("gauges.iso", stream());
    let put = isoform(&["formats", "--server", &service.url, "put", "--json", &shape]).good();
    let tokens: Vec<Value> = put.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(tokens.len(), 2);
    assert_eq!(tokens[0]["token"], gauge().token().to_string());
    let bare = service.files.write("bare.iso", undescribed(&gauge(), &[gauge_body(7, 0.5)]));
    assert!(isoform(&["dump", &bare]).bad(1).contains("unknown format"));
    let shown = service.run(&["dump", "--json", &bare]).good();
    assert_eq!(shown, "{\"id\":7,\"depth\":0.5}\n");
    let token = gauge().token().to_string();
    assert!(service.run(&["format", &format!("token:{token}")]).good().contains(&token));
    let listed = |filter: &[&str]| {
        let list = service.run(&[&["formats", "ls", "--json"], filter].concat()).good();
        list.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["name"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(listed(&["EPT"]), [json!("Gauge")], "a part of the name of a field");
    assert_eq!(listed(&["rack"]), [json!("Track")]);
    assert!(listed(&["nowhere"]).is_empty());
    assert!(service.run(&["formats", "ls", "rack", "--name", "Track"]).bad(2).contains("cannot be used with"));
    // Those who know their formats need no service.
    service.running.kill();
    assert_eq!(service.run(&["dump", "--json", &bare]).good(), shown);
    let unknown = service.files.write("other.iso", undescribed(&track(), &[track_body("n", 0, &[])]));
    let errors = service.run(&["dump", &unknown]).bad(1);
    assert!(errors.contains(&service.url) && errors.contains("refused"), "{errors}");
}

#[test]
fn names_have_versions_that_their_rule_accepts() {
    let service = Service::new();
    let first = service.files.write("1.shape", RIVER);
    let second = service.files.write("2.shape", format!("{RIVER}  flow   float\n"));
    let put = service.run(&["formats", "put", "--name", "river", "--on", "x86_64,s390x", &first]).good();
    assert!(put.starts_with("river: version 1\n") && put.lines().count() == 4, "{put}");
    let refused = service.run(&["formats", "check", "river", &second]);
    assert!(refused.output.contains("version 2 cannot read version 1\n"), "{}", refused.output);
    assert!(refused.output.contains("the same holds for 1 other pair of machines"), "{}", refused.output);
    let errors = refused.bad(1);
    assert!(errors.contains("the rule of river, BACKWARD, refuses this version at flow"), "{errors}");
    assert_eq!(service.run(&["formats", "ls", "--json"]).good().lines().count(), 2, "a check registers nothing");
    let refused = service.run(&["formats", "put", "--name", "river", &second]);
    assert!(
        refused.output.starts_with("version 2 cannot read version 1\n"),
        "the refusal and no table: {}",
        refused.output
    );
    assert!(!refused.output.contains("forward"), "{}", refused.output);
    assert!(refused.bad(1).contains("at flow"));
    let again = service.run(&["formats", "put", "--name", "river", "--on", "s390x,x86_64", &first]).good();
    assert!(again.starts_with("river: version 1\n"), "in whichever order its machines are named: {again}");
    // The rule of a name may be there before its first version. Whoever has misspelt it learns that.
    for arguments in [&["rule", "rivre", "NONE"][..], &["check", "rivre", &first]] {
        let run = service.run(&[&["formats"], arguments].concat());
        assert!(run.errors.starts_with("-- rivre has no versions yet"), "{}", run.errors);
        assert!(run.errors.ends_with("; did you mean river?\n") && run.status == 0, "{}", run.errors);
    }
    let new = service.run(&["formats", "check", "rivers", &second]);
    assert_eq!(new.errors, "-- rivers has no versions yet; nothing to compare; did you mean river, rivre?\n");
    assert_eq!((new.status, &*new.output), (0, ""));
    let with_default = ["formats", "check", "river", "--default", "flow=0.5", &second];
    assert_eq!(service.run(&with_default).good(), "river accepts this version\n");
    let put = service.run(&["formats", "put", "--name", "river", "--default", "flow=0.5", &second]).good();
    assert!(put.starts_with("river: version 2\n"), "{put}");
    let got = service.run(&["formats", "get", "name:river"]).good();
    assert!(got.contains("\nreaders of version 2\nRiver.flow  0.5 if it is missing\n"), "{got}");
    let first_got = service.run(&["formats", "get", "name:river@1"]).good();
    assert!(!first_got.contains("readers"), "{first_got}");

    let difference = service.run(&["formats", "diff", "name:river@1", "name:river"]).good();
    assert_eq!(difference, "+  flow    f32\n\nnew reads old\nold reads new\n");
    let names = service.run(&["formats", "versions"]).good();
    let expected =
        ["name   versions  latest  rule", "river         2       2  BACKWARD", "rivre         0       -  NONE"];
    assert_eq!(names.lines().collect::<Vec<_>>(), expected);
    service.run(&["formats", "retire", "river", "2"]).good();
    service.run(&["formats", "rule", "river", "full_transitive"]).good();
    service
        .run(&["formats", "about", "river", "The Elbe", "--owner", "hydrology", "--field", "depth=above the bed"])
        .good();
    let versions = service.run(&["formats", "versions", "river"]).good();
    for part in ["2 versions, rule FULL_TRANSITIVE", "about  The Elbe", "owner  hydrology", "retired", "above the bed"]
    {
        assert!(versions.contains(part), "{part}: {versions}");
    }
    // Whatever others wrote there stays in its line.
    service.run(&["formats", "about", "river", "The Elbe\nowner  me\u{1b}[2J", "--owner", "a\rb"]).good();
    let shown = service.run(&["formats", "versions", "river"]).good();
    assert!(shown.contains("about  The Elbe\\nowner  me\\u{1b}[2J\nowner  a\\rb\n"), "{shown}");
    let latest = service.run(&["formats", "get", "name:river"]).good();
    assert!(
        latest.contains("big-endian") && !latest.contains("flow"),
        "the first one, since the second is retired: {latest}"
    );
    assert!(service.run(&["formats", "versions", "lake"]).bad(1).contains("no such name"));
    assert!(service.run(&["formats", "retire", "river", "9"]).bad(1).contains("river has no version 9\n"));
    let ruled = service.run(&["formats", "put", "--name", "river", "--rule", "NONE", &first]);
    assert_eq!(ruled.errors, "-- the rule of river is NONE now; it was FULL_TRANSITIVE\n");
    let usage = service.run(&["formats", "put", "--name", "x", "--rule", "SOME", &first]).bad(2);
    assert!(usage.contains("BACKWARD"), "{usage}");
}

/// What is written of a format can be read again, and stored elsewhere.
#[test]
fn a_file_with_a_format_is_a_source() {
    let (service, other) = (Service::new(), Service::new());
    let shape = service.files.write("river.shape", RIVER);
    service.run(&["formats", "put", "--name", "river", "--on", "s390x", &shape]).good();
    let file = service.files.path("river.format").display().to_string();
    service.run(&["formats", "get", "name:river", "-o", &file]).good();
    let json = service.files.write("river.json", service.run(&["formats", "get", "--json", "name:river"]).good());
    let tokens = |text: String| text.split_whitespace().find(|word| word.len() == 32).map(str::to_owned);
    let token = tokens(service.run(&["formats", "ls"]).good());
    for place in [&file, &json] {
        assert_eq!(isoform(&["format", place]).good(), service.run(&["formats", "get", "name:river"]).good());
        assert_eq!(tokens(other.run(&["formats", "put", place]).good()), token);
        assert!(isoform(&["dump", place]).bad(2).contains("holds formats, not records"));
    }
    let broken = service.files.write("broken.json", "{\"structures\": 7}");
    assert!(isoform(&["format", &broken]).bad(1).contains("broken.json"));
}

/// Whoever misspells something learns what there is.
#[test]
fn what_is_not_there_is_named_with_what_is() {
    let service = Service::new();
    let shape = service.files.write("river.shape", RIVER);
    service.run(&["formats", "put", "--name", "river", &shape]).good();
    for (arguments, status, message, hint) in [
        (&["formats", "get", "river"][..], 2, "neither a token nor name:NAME", "name:river"),
        (&["formats", "get", "name:rivr"], 1, "no such name: rivr", "there is river;"),
        (&["format", "name:rivr"], 2, "no such name: rivr", "there is river;"),
        (&["formats", "versions", "Rivers"], 1, "no such name", "there is river;"),
        (&["formats", "versions", "lake"], 1, "no such name", "lists the names"),
        (&["formats", "get", "name:river@7"], 1, "river has no version 7", "its versions are 1:"),
        (&["formats", "about", "river", "--field", "dept=x"], 2, "it has step, depth", "did you mean depth?"),
        (&["formats", "about", "rive", "x"], 1, "no such name", "there is river;"),
        (&["formats", "retire", "river", "1"], 2, "the only version of river", "--yes"),
        (
            &["formats", "--server", "http://127.0.0.1:746o", "ls"],
            2,
            "a port from 1 to 65535, found http://127.0.0.1:746o",
            "",
        ),
        (
            &["formats", "--server", "http://127.0.0.1:99999", "ls"],
            2,
            "a port from 1 to 65535, found http://127.0.0.1:99999",
            "",
        ),
        (&["serve", "--listen", "127.0.0.1:0", "--store", &shape], 2, "to open the store", "--store names a file"),
        (&["serve", "--listen", "7460"], 2, "127.0.0.1:7460 is for this machine", ""),
        (&["serve", "--listen", "nothing"], 2, "neither IP:PORT nor the name of a host and a port", ""),
    ] {
        let errors = service.run(arguments).bad(status);
        let (told, hinted) = errors.split_once("hint:").unwrap_or((&errors, ""));
        assert!(told.contains(message) && hinted.contains(hint), "{arguments:?}: {errors}");
    }
    service.run(&["formats", "about", "river", "--field", "depth=x"]).good();
    service.run(&["formats", "retire", "river", "1", "--yes"]).good();
    assert!(service.run(&["formats", "get", "name:river"]).bad(1).contains("all versions of river are retired"));
    let checked = service.run(&["formats", "check", "--json", "river", &shape]);
    assert_eq!(checked.errors, "-- all versions of river are retired; nothing to compare\n");
    assert_eq!(checked.output, "{\"name\":\"river\",\"compatible\":true,\"compared\":false}\n");

    let elsewhere = format!("{}/tree", service.url);
    for arguments in [&["ls"][..], &["get", "00000000000000000000000000000007"], &["put", &shape]] {
        let errors = isoform(&[&["formats", "--server", &elsewhere], arguments].concat()).bad(2);
        assert!(errors.contains("without a path") && errors.contains(&elsewhere), "{arguments:?}: {errors}");
    }
    let (_replica, url) = serve_at(
        "localhost:0",
        &service.files.path("replica.redb").display().to_string(),
        &["--names-from", &service.url],
    )
    .unwrap();
    let errors = isoform(&["formats", "--server", &url, "rule", "river", "NONE"]).bad(1);
    assert!(errors.contains(&format!("hint: --server {} changes names", service.url)), "{errors}");
}

/// Commands that look at formats keep them for later, as those that read streams do.
#[test]
fn what_commands_have_seen_needs_no_service() {
    let mut service = Service::new();
    let shape = service.files.write("river.shape", RIVER);
    let other = service.files.write("other.shape", RIVER.replace("River", "Lake"));
    for (name, shape) in [("river", &shape), ("lake", &other)] {
        let put = ["formats", "--server", &service.url, "put", "--name", name, shape];
        isoform(&put).good();
    }
    let tokens = service.run(&["formats", "ls", "--json"]).good();
    let tokens: Vec<String> = tokens
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["token"].as_str().unwrap().into())
        .collect();
    let third = service.files.write("third.shape", RIVER.replace("River", "Sea"));
    let stored = service.run(&["formats", "put", "--json", &third]).good();
    let third = serde_json::from_str::<Value>(&stored).unwrap()["token"].as_str().unwrap().to_owned();

    // By the first digits of a token.
    for (digits, count) in
        [(&third[..4], 1), (&*third.to_uppercase(), 1), (&third[..3], 0), ("ffffffff", 0), ("0000", 0)]
    {
        let found = service.run(&["formats", "ls", "--json", digits]).good();
        let found = found.lines().filter(|line| line.contains(&third)).count();
        assert_eq!(found, count, "{digits}");
    }

    let shown = service.run(&["format", &format!("token:{}", tokens[0])]).good();
    service.run(&["formats", "get", &tokens[1]]).good();
    service.running.kill();
    assert_eq!(service.run(&["format", &format!("token:{}", tokens[0])]).good(), shown);
    for token in [&tokens[0], &tokens[1], &third] {
        service.run(&["formats", "get", token]).good();
    }
}

#[test]
fn an_exported_tree_has_what_a_server_answers() {
    let service = Service::new();
    let path = service.files.write("a.iso", stream());
    service.run(&["formats", "put", &path]).good();
    let tree = service.files.path("tree");
    let shown = tree.display().to_string();
    assert!(service.run(&["formats", "export", &shown]).good().contains("2 formats"));
    service.run(&["formats", "export", &shown]).good(); // again, over what is there
    // A folder that cannot be written is no fault of the service, so no other service is proposed.
    let errors = service.run(&["formats", "export", &path]).bad(2);
    assert!(errors.contains(&path) && !errors.contains("isoform serve"), "{errors}");
    for format in [gauge(), track()] {
        let file = tree.join("formats").join(format.token().to_string());
        assert_eq!(std::fs::read(&file).unwrap(), format.description().as_bytes());
        let json = std::fs::read_to_string(file.with_extension("json")).unwrap();
        assert_eq!(isoform::core::text::format::from_json(&json).unwrap(), format);
    }
    let file = service.files.path("gauge.format").display().to_string();
    service.run(&["formats", "get", &gauge().token().to_string(), "--output", &file]).good();
    assert_eq!(std::fs::read(&file).unwrap(), gauge().description().as_bytes());
}

#[test]
fn replicas_and_backups_have_formats_and_names() {
    let service = Service::new();
    let shape = service.files.write("river.shape", RIVER);
    service.run(&["formats", "put", "--name", "river", &shape]).good();
    let copy = service.files.path("copy.redb").display().to_string();
    let once = ["serve", "--store", &copy, "--peer", &service.url, "--names-from", &service.url, "--once"];
    let backup = service.run(&once);
    assert_eq!((backup.status, &*backup.errors), (0, "-- the store has 1 format and 1 name\n"));
    let (_running, url) = serve(&copy, &["--names-from", &service.url]);
    let restored = isoform(&["formats", "--server", &url, "versions", "river"]).good();
    assert!(restored.contains("1 version"), "{restored}");
    let refused = isoform(&["formats", "--server", &url, "rule", "river", "NONE"]).bad(1);
    assert!(refused.contains(&service.url), "{refused}");
}

#[test]
fn a_service_that_is_not_there_is_named() {
    let nobody = "http://127.0.0.1:1";
    let errors = isoform(&["formats", "--server", nobody, "ls"]).bad(2);
    assert!(errors.contains(nobody) && errors.contains("hint: `isoform serve`"), "{errors}");
    assert!(isoform(&["formats", "--server", "formats", "ls"]).bad(2).contains("http://HOST:PORT"));
    // Another one is asked, for names too.
    let service = Service::new();
    let shape = service.files.write("river.shape", RIVER);
    service
        .run(&["formats", "put", "--name", "river", "--default", "depth=0.5", "--alias", "step=tick", &shape])
        .good();
    let mut versions = command(&["formats", "versions", "river"]);
    let shown = Run::of(versions.env("ISOFORM_FORMATS", format!("{nobody},{},", service.url)).output().unwrap()).good();
    let shown: Vec<String> = shown.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert!(
        shown.ends_with(&[
            "readers of version 1".into(),
            "River.step also tick".into(),
            "River.depth 0.5 if it is missing".into()
        ]) || shown.ends_with(&[
            "readers of version 1".into(),
            "River.depth 0.5 if it is missing".into(),
            "River.step also tick".into()
        ]),
        "{shown:?}"
    );
    let mut check = command(&["formats", "check", "river", &shape]);
    let checked = check.env("ISOFORM_FORMATS", format!("{nobody},{}", service.url)).output().unwrap();
    assert_eq!(Run::of(checked).good(), "river accepts this version\n");
    let mut sources = command(&["format", "name:river"]);
    let errors = Run::of(sources.env("ISOFORM_FORMATS", nobody).output().unwrap()).bad(2);
    assert!(errors.contains(nobody), "{errors}");
    let described = Files::new().write("none.iso", "");
    assert!(isoform(&["formats", "get", &described]).bad(2).contains("neither a token nor name:NAME"));
}

/// A web server with a tree of files has no lists and no names.
#[test]
fn a_web_server_in_place_of_a_service_is_told_apart() {
    use std::io::Read;
    for status in ["301 Moved Permanently", "404 Not Found", "405 Not Allowed"] {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            assert!(stream.read(&mut [0; 4096]).unwrap() > 0);
            let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 6\r\nconnection: close\r\n\r\n<html>");
            stream.write_all(answer.as_bytes()).unwrap();
        });
        let errors = isoform(&["formats", "--server", &url, "ls"]).bad(2);
        assert!(errors.contains(&status[..3]) && errors.contains("formats by token"), "{errors}");
        server.join().unwrap();
    }
}

/// Silent connections give up their places, so that whoever only connects keeps nobody out.
#[test]
fn silent_connections_give_way() {
    use std::io::Read;
    let service = Service::new();
    let shape = service.files.write("river.shape", RIVER);
    let address = service.url.strip_prefix("http://").unwrap();
    let silent: Vec<_> = (0..300).map(|_| std::net::TcpStream::connect(address).unwrap()).collect();
    service.run(&["formats", "put", &shape]).good();
    let mut first = &silent[0];
    assert_eq!(first.read(&mut [0]).unwrap(), 0, "the oldest one has ended without an answer");
}

/// Bodies that come slowly, or never, give up their places as well: whoever sends a proper request gets in.
#[test]
fn slow_bodies_give_way() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let service = Service::new();
    let address = service.url.strip_prefix("http://").unwrap();
    let heads = [
        "PUT /formats HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n",
        "PUT /formats HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n",
        "POST /names/river/versions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n",
        "POST /names/river/check HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n",
        "PUT /names/river/prose HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n",
    ];
    // More than one client has places.
    let slow: Vec<_> = (0..300).map(|_| std::net::TcpStream::connect(address).unwrap()).collect();
    for (number, mut stream) in slow.iter().enumerate() {
        stream.write_all(heads[number % heads.len()].as_bytes()).unwrap();
    }
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ends.load(Ordering::Relaxed) {
                // A byte of each; those that have ended take none.
                slow.iter().for_each(|mut stream| _ = stream.write(b" "));
                std::thread::yield_now();
            }
        });
        let runs = (0..5).map(|number| {
            let shape = service.files.write(&format!("{number}.shape"), format!("{RIVER}  field{number}  int\n"));
            service.run(&["formats", "put", "--name", &format!("river{number}"), &shape])
        });
        let runs: Vec<Run> = runs.collect();
        ends.store(true, Ordering::Relaxed);
        runs.into_iter().for_each(|run| drop(run.good()));
    });
    assert_eq!(service.run(&["formats", "versions", "--json"]).good().lines().count(), 5, "and nothing else");
}

/// A program that answers for its own formats, and the command as another process that reads its stream.
#[test]
fn a_stream_leads_to_its_sender_where_the_user_allows_the_host() {
    let responder = isoform_service::Responder::new("127.0.0.1:0").unwrap();
    let mut writer = Writer::new(Vec::new());
    writer.set_registrar(responder.registrar());
    writer.set_locators(responder.locators());
    writer.write_body(&gauge(), &gauge_body(7, 0.5)).unwrap();
    let files = Files::new();
    let stream = writer.into_inner();
    let path = files.write("near.iso", &stream);
    let dump = |path: &str, hosts: &str| {
        let mut command = command(&["dump", "--json", path]);
        // A cache of its own, so that nothing is known from before.
        let cache = Files::new();
        command.env("ISOFORM_HOSTS", hosts).env("XDG_CACHE_HOME", cache.path("cache"));
        Run::of(command.stdin(Stdio::null()).output().expect("the command starts"))
    };
    for hosts in ["", "localhost", "127.0.0.1:1"] {
        let errors = dump(&path, hosts).bad(1);
        let url = format!("http://{}", responder.address());
        assert!(errors.contains(&url) && errors.contains("ISOFORM_HOSTS=HOST"), "{hosts}: {errors}");
    }
    assert_eq!(dump(&path, "127.0.0.1").good(), "{\"id\":7,\"depth\":0.5}\n");
    // Each byte of the locators changed: another host is not asked, and nothing panics or is shown in place of the record.
    let locators = stream.windows(4).position(|four| four == b"http").expect("the locators are text");
    for at in locators..locators + responder.locators().urls().next().unwrap().len() {
        let mut mutant = stream.clone();
        mutant[at] ^= 1;
        let run = dump(&files.write("mutant.iso", mutant), "127.0.0.1");
        assert!(run.status == 1 && run.output.is_empty(), "byte {at}: {} {}", run.status, run.output);
        assert!(!run.errors.contains("panic"), "{}", run.errors);
    }
}

/// What a server says may be anything.
#[cfg(feature = "tls")]
#[test]
fn times_that_cannot_be_are_left_out() {
    let body = r#"{"rule":"NONE","versions":[{"number":1,"registered":18446744073709551615,"retired":false,"formats":["00000000000000000000000000000001"]}],"prose":{}}"#;
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
    let (host, _) = secrets::listener(answer.leak());
    let run = isoform(&["formats", "--server", &format!("http://{host}"), "versions", "river"]);
    assert!(run.output.contains("00000000000000000000000000000001"), "{}{}", run.output, run.errors);
}
