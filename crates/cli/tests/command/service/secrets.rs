//! Secrets are in no text, neither of a service nor of the commands that ask it, whether these succeed or fail.

use super::*;
use std::fs::File;
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

const READ: &str = "reading-4f0c9a77e1";
const WRITE: &str = "writing-b83d51c06a";
const USER: &str = "kaethe";
const PASSWORD: &str = "pw-77aa01fe2c";

/// Everything that programs have said.
#[derive(Default)]
struct Said(String);

impl Said {
    fn run(&mut self, mut command: Command) -> i32 {
        let run = Run::of(command.stdin(Stdio::null()).output().unwrap());
        self.0 += &run.output;
        self.0 += &run.errors;
        run.status
    }

    /// Notes the error of a service that does not start. If the damage does no harm, the service starts, and ends again.
    fn started(&mut self, serves: &[&str]) {
        if let Err(said) = running(command(serves)) {
            self.0 += &said;
        }
    }

    /// None of these is there: as it is, as bytes, or in base64.
    #[track_caller]
    fn lacks(&self, secrets: &[&str]) {
        assert!(self.0.len() > 200, "they have said something: {}", self.0);
        for secret in secrets {
            let bytes = secret.bytes().map(|byte| byte.to_string()).collect::<Vec<_>>().join(", ");
            let base64 = base64(secret);
            for form in [*secret, &bytes, &base64[..base64.len().min(12)]] {
                assert!(!self.0.contains(form), "{form} is in\n{}", self.0);
            }
        }
    }
}

fn base64(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = |three: &[u8]| {
        let word = three.iter().fold(0, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        (0..4).map(move |at| char::from(DIGITS[(word >> (18 - 6 * at) & 63) as usize])).collect::<String>()
    };
    text.as_bytes().chunks(3).map(digits).collect()
}

/// A server that answers everything with this, and notes what it was sent.
pub(super) fn listener(answer: &'static str) -> (String, Arc<Mutex<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let (heard, hears): (Arc<Mutex<String>>, _) = (Arc::default(), listener);
    let list = heard.clone();
    std::thread::spawn(move || {
        for mut stream in hears.incoming().flatten() {
            let mut room = [0; 8192];
            let count = stream.read(&mut room).unwrap_or(0);
            list.lock().unwrap().push_str(&String::from_utf8_lossy(&room[..count]));
            _ = stream.write_all(answer.as_bytes());
        }
    });
    (host, heard)
}

#[test]
fn secrets_and_certificates_that_are_asked_for_are_named() {
    let files = Files::new();
    let (read, wrong) = (files.write("read", READ), files.write("wrong", "another-4f0c9a77e1"));
    let (write, store) = (files.write("write", WRITE), files.path("formats.redb").display().to_string());
    let shape = files.write("river.shape", RIVER);
    let bare = files.write("bare.iso", undescribed(&gauge(), &[gauge_body(7, 0.5)]));
    let (_running, url) = serve(&store, &["--read-secret", &read, "--write-secret", &write]);
    let token = "0".repeat(31) + "7";
    for (arguments, whose) in [
        (&["formats", "ls"][..], "readers"),
        (&["formats", "get", &token], "readers"),
        (&["formats", "put", &shape], "writers"),
    ] {
        for (secret, found) in [(None, "none"), (Some(&wrong), "another secret")] {
            let mut asks = command(arguments);
            asks.env("ISOFORM_FORMATS", &url).env("XDG_CACHE_HOME", files.path("cache"));
            secret.map(|file| asks.env("ISOFORM_FORMATS_SECRET", file));
            let errors = Run::of(asks.stdin(Stdio::null()).output().unwrap()).bad(2);
            assert!(errors.contains(&format!("the secret of {whose}")) && errors.contains(found), "{errors}");
            assert!(errors.contains("--secret FILE or ISOFORM_FORMATS_SECRET=FILE"), "{errors}");
            assert!(errors.contains(&url), "{errors}");
        }
    }
    // A refusal counts more than that another server is not there, in whichever order they are asked.
    for urls in [format!("http://127.0.0.1:1,{url}"), format!("{url},http://127.0.0.1:1")] {
        let mut put = command(&["formats", "put", &shape]);
        put.env("ISOFORM_FORMATS", &urls).env("XDG_CACHE_HOME", files.path("cache"));
        let errors = Run::of(put.stdin(Stdio::null()).output().unwrap()).bad(2);
        assert!(errors.starts_with("isoform: not admitted"), "{errors}");
        assert_eq!(errors.matches(&url).count(), 1, "{errors}");
    }
    let mut dump = command(&["dump", &bare]);
    dump.env("ISOFORM_FORMATS", &url).env("XDG_CACHE_HOME", files.path("cache"));
    let errors = Run::of(dump.output().unwrap()).bad(1);
    assert!(
        errors.contains("the secret of readers") && errors.contains("hint: ISOFORM_FORMATS_SECRET=FILE"),
        "{errors}"
    );
    // Servers of others, which have no word for it.
    for (status, said) in [(401, "a user in the URL"), (403, "forbidden")] {
        let answer = format!("HTTP/1.1 {status} No\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
        let url = format!("http://{}", listener(answer.leak()).0);
        for arguments in [&["ls"][..], &["get", &token]] {
            let all = [&["formats", "--server", &url], arguments].concat();
            let errors = isoform(&all).bad(2);
            assert!(errors.contains(said) && errors.contains(&format!("HTTP status {status}")), "{errors}");
        }
    }
}

const TEAPOT: &str = "HTTP/1.1 418 Nothing\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
const LIE: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";

#[test]
fn users_and_passwords_of_urls_are_shown_nowhere() {
    let files = Files::new();
    let shape = files.write("river.shape", RIVER);
    let bare = files.write("bare.iso", undescribed(&gauge(), &[gauge_body(7, 0.5)]));
    let (teapot, heard) = listener(TEAPOT);
    let (liar, _) = listener(LIE);
    let mut said = Said::default();
    let with = |host: &str| format!("http://{USER}:{PASSWORD}@{host}");
    let urls = [with("127.0.0.1:1"), with(&teapot), with(&liar), with("127.0.0.1:port"), with("h/?q"), with("")];
    let both = format!("{},{}", urls[0], urls[1]);
    let wrong = format!("ftp://{USER}:{PASSWORD}@host");
    let bare_url = format!("{USER}:{PASSWORD}@host");
    let token = "0".repeat(31) + "7";
    for url in urls.iter().chain([&both, &wrong, &bare_url]) {
        for arguments in [
            &["formats", "ls"][..],
            &["formats", "ls", "--json"],
            &["formats", "put", "--name", "river", &shape],
            &["formats", "check", "--json", "river", &shape],
            &["formats", "versions", "river", "--json"],
            &["formats", "get", &token],
            &["format", &format!("token:{token}")],
            &["dump", "--json", &bare],
            &["formats", "export", &files.path("tree").display().to_string()],
        ] {
            let mut asks = command(arguments);
            asks.env("ISOFORM_FORMATS", url).env("XDG_CACHE_HOME", files.path("cache"));
            assert_ne!(said.run(asks), 0, "{arguments:?} at {url}");
        }
        if url.contains("://") {
            assert_ne!(said.run(command(&["format", &format!("xsd:{url}/river.xsd#Gauge@s390x")])), 0, "{url}");
        }
        let mut help = command(&["formats", "put", "--help"]);
        help.env("ISOFORM_FORMATS", url);
        assert_eq!(said.run(help), 0);
        let once = ["serve", "--store", &files.path("copy.redb").display().to_string(), "--peer", url, "--once"];
        assert_ne!(said.run(command(&once)), 0);
        assert_ne!(said.run(command(&[&once[..3], &["--names-from", url, "--once"]].concat())), 0);
    }
    let basic = base64(&format!("{USER}:{PASSWORD}"));
    assert!(heard.lock().unwrap().contains(&basic[..20]), "the server was shown them: {}", heard.lock().unwrap());
    said.lacks(&[PASSWORD, USER, &basic[..20]]);
    // A replica says where names are changed, but not as whom.
    let store = files.path("replica.redb").display().to_string();
    let (_running, url) = serve(&store, &["--names-from", &with("127.0.0.1:1"), "--peer", &with("127.0.0.1:1")]);
    let mut said = Said::default();
    said.run(command(&["formats", "--server", &url, "put", "--name", "river", &shape]));
    said.run(command(&["formats", "--server", &url, "rule", "river", "NONE"]));
    assert!(said.0.contains("127.0.0.1:1"), "{}", said.0);
    said.0 += &ask(&url, "GET /metrics", "");
    said.0 += &ask(&url, "PUT /names/river/rule", "");
    said.lacks(&[PASSWORD, USER]);
    let kept = std::fs::read(store).unwrap();
    assert!(!kept.windows(PASSWORD.len()).any(|window| window == PASSWORD.as_bytes()), "nor are they stored");
}

/// The answer to a request with these further headers.
fn ask(url: &str, request: &str, headers: &str) -> String {
    let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
    let request = format!("{request} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn secrets_that_clients_show_are_shown_nowhere() {
    let files = Files::new();
    let (read, write) = (files.write("read", READ), files.write("write", format!("{WRITE}\n")));
    let store = files.path("formats.redb").display().to_string();
    let shape = files.write("river.shape", RIVER);
    let told = files.path("told");
    let mut serves = command(&["serve", "--listen", "127.0.0.1:0", "--store", &store]);
    serves.args([
        "--read-secret",
        &read,
        "--write-secret",
        &write,
        "--peer",
        "http://127.0.0.1:1",
        "--peer-secret",
        &write,
    ]);
    let mut running = Running(serves.stderr(File::create(&told).unwrap()).spawn().unwrap());
    let said_by_service = || std::fs::read_to_string(&told).unwrap();
    life::until("the service says its URL", || said_by_service().ends_with('\n'));
    let url = said_by_service().split(' ').nth(1).unwrap().to_owned();
    let (teapot, heard) = listener(TEAPOT);
    let mut said = Said::default();
    let mut statuses = Vec::new();
    for server in [&url, &format!("http://{teapot}"), "http://127.0.0.1:1", &format!("{url},http://{teapot}")] {
        for secret in [&read, &write] {
            for arguments in [
                &["put", "--name", "river", &shape, "--json"][..],
                &["ls", "--json"],
                &["versions", "river", "--json"],
                &["rule", "river", "ALL"],
                &["get", "name:nobody"],
            ] {
                let all = [&["formats", "--server", server, "--secret", secret], arguments].concat();
                statuses.push(said.run(command(&all)));
            }
        }
    }
    assert!(statuses.contains(&0) && statuses.contains(&1) && statuses.contains(&2), "{statuses:?}");
    assert!(heard.lock().unwrap().contains(READ) && heard.lock().unwrap().contains(WRITE), "a server was shown them");
    for authorization in [
        format!("Authorization: Bearer {READ}\r\n"),
        format!("Authorization: Bearer {WRITE}x\r\n"),
        format!("Authorization: Basic {WRITE}\r\n"),
        format!("Authorization: {WRITE}\r\n"),
        format!("Authorization: Bearer {READ}\r\nAuthorization: Bearer {WRITE}\r\n"),
    ] {
        for request in [
            "GET /metrics",
            "GET /names/none",
            "PUT /names/a/rule",
            "DELETE /names/a/versions/1",
            "GET /nowhere",
            "BREW /",
        ] {
            said.0 += &ask(&url, request, &authorization);
        }
    }
    // Somebody gives the secret in place of the file that has it.
    let mut wrong = command(&["format", "name:river"]);
    wrong.env("ISOFORM_FORMATS", &url).env("ISOFORM_FORMATS_SECRET", WRITE);
    assert_eq!(said.run(wrong), 2);
    assert_eq!(said.run(command(&["formats", "--server", &url, "--secret", WRITE, "ls"])), 2);
    let other = files.path("other.redb").display().to_string();
    assert_eq!(said.run(command(&["serve", "--store", &other, "--write-secret", WRITE])), 2);
    running.kill();
    said.0 += &said_by_service();
    said.lacks(&[READ, WRITE]);
}

/// Keys of certificates: in files that are whole, and in those that something has damaged.
#[test]
fn private_keys_are_shown_nowhere() {
    let files = Files::new();
    let run = |arguments: &[&str]| {
        let mut keys = command(arguments);
        keys.env("XDG_CONFIG_HOME", files.path("ours")).env_remove("ISOFORM_IDENTITY").current_dir(files.0.path());
        assert_eq!(Run::of(keys.stdin(Stdio::null()).output().unwrap()).status, 0);
    };
    run(&["keys", "init", "--name", "localhost"]);
    let whole = std::fs::read_to_string(files.path("ours").join("isoform/identity.pem")).unwrap();
    let key = whole.split("PRIVATE KEY-----").nth(1).unwrap().split("-----END").next().unwrap().trim().to_owned();
    // Every part of it that could stand in a line.
    let lines: Vec<&str> = key.lines().flat_map(|line| [&line[..12], &line[line.len() / 2..][..12]]).collect();
    let only_key = &whole[whole.find("-----BEGIN PRIVATE KEY").unwrap()..];
    let only_key =
        &only_key[..only_key.find("-----END PRIVATE KEY-----").unwrap() + "-----END PRIVATE KEY-----\n".len()];
    let damaged = [
        whole.replace('\n', " "),
        whole.replace('\n', ""),
        only_key.replace("KEY-----\n", "KEY-----"),
        only_key.replace("\n-----END", "-----END"),
        only_key.replace("-----END PRIVATE KEY-----", ""),
        only_key.replacen("KEY-----\n", "KEY-----\n*", 1),
        only_key.to_owned(),
        only_key.replace("PRIVATE KEY", "CERTIFICATE"),
        key.clone(),
        whole.replace(&key, &key[..20]),
    ];
    let (mut said, store) = (Said::default(), files.path("a.redb").display().to_string());
    for (number, text) in damaged.iter().enumerate() {
        let file = files.write(&format!("{number}.pem"), text);
        let serves = ["serve", "--listen", "127.0.0.1:0", "--store", &store, "--certificate", &file];
        said.started(&serves);
        let good = files.path("ours").join("isoform/identity.pem").display().to_string();
        let separate = [&serves[..6], &[&good, "--key", &file]].concat();
        if text != only_key {
            said.started(&separate);
        }
        let authorities = [&serves[..6], &[&good, "--clients", &file]].concat();
        said.started(&authorities);
        for option in ["--certificate", "--trust", "--secret"] {
            let asks = ["formats", "--server", "https://127.0.0.1:1", option, &file, "ls"];
            assert_ne!(said.run(command(&asks)), 0, "{option} {text}");
        }
        let mut channel = command(&["echo", "--identity", &file, "--tls-on-loopback", "--once", "iso://127.0.0.1:1/x"]);
        channel.env("XDG_CONFIG_HOME", files.path("ours"));
        assert_ne!(said.run(channel), 0, "{text}");
    }
    let refused = said.0.matches("isoform: ").count();
    assert!(refused > 50, "{refused} files were refused");
    said.lacks(&lines);
}
