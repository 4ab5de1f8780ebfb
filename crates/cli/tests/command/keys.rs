//! `isoform keys`, and commands that speak TLS with what it makes. Each host of these tests is a folder of configuration.

use super::*;
use isoform::Messages;
use isoform_channel::{Node, Tls};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(60);

/// A host, with the configuration of its user.
struct Host(Files);

impl Host {
    fn new() -> Host {
        Host(Files::new())
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(arguments);
        command.env("XDG_CONFIG_HOME", self.0.path("")).env_remove("ISOFORM_IDENTITY").env_remove("ISOFORM_KEY");
        command.current_dir(self.0.path("")).stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Run {
        Run::of(self.command(arguments).output().expect("the command starts"))
    }

    /// The file of this name in its configuration.
    fn file(&self, name: &str) -> PathBuf {
        self.0.path("isoform").join(name)
    }

    fn tls(&self) -> Tls {
        Tls::new().certificate(self.file("identity.pem")).revoked(self.file("revoked.pem")).loopback()
    }
}

/// Two hosts with certificates of one authority, which is the first's, and the file that the second has installed.
fn hosts() -> (Host, Host, String) {
    let (a, b) = (Host::new(), Host::new());
    a.run(&["keys", "init", "--name", "a"]).good();
    let file = a.0.path("b.pem").display().to_string();
    a.run(&["keys", "issue", "b", "--host", "b.example", "-o", &file]).good();
    assert_eq!(b.run(&["keys", "install", &file]).status, 0);
    (a, b, file)
}

fn mode(file: &std::path::Path) -> u32 {
    file.metadata().unwrap().permissions().mode() & 0o777
}

/// The parts of a PEM file with this label, each from its first line to its last.
fn parts(pem: &str, label: &str) -> Vec<String> {
    let (begin, end) = (format!("-----BEGIN {label}-----"), format!("-----END {label}-----\n"));
    let rest = pem.split(&begin).skip(1).filter_map(|rest| rest.split_once(&end));
    rest.map(|(inner, _)| format!("{begin}{inner}{end}")).collect()
}

#[test]
fn certificates_in_files_of_their_own_and_the_authorities_of_the_machine() {
    let (a, b, file) = hosts();
    let own = std::fs::read_to_string(a.file("identity.pem")).unwrap();
    let certificates = parts(&own, "CERTIFICATE");
    let elsewhere = Host::new();
    let write = |name: &str, text: &str| elsewhere.0.write(name, text);
    let (certificate, authority) = (write("host.crt", &certificates[0]), write("ca.crt", certificates.last().unwrap()));
    let key = write("host.key", &parts(&own, "PRIVATE KEY")[0]);
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let apart = ["--identity", &certificate, "--identity-key", &key, "--trust", &authority, "--revoked", "none.crl"];
    let (child, id) = publish(&elsewhere, &apart);
    let platform = |more: &[&str]| {
        let echo =
            ["echo", "--json", "-n", "4", "--once", "--tls-on-loopback", "--identity", &file, "--trust-platform"];
        let mut command = b.command(&[&echo[..], more, &[&id]].concat());
        Run::of(command.env("SSL_CERT_FILE", &authority).env_remove("SSL_CERT_DIR").output().unwrap())
    };
    assert!(platform(&[]).bad(2).contains("a name that certificates must have"));
    platform(&["--trust-name", "other.example"]).bad(2);
    let come = platform(&["--trust-name", "other.example", "--trust-name", "a"]);
    assert_eq!(come.output, dumps::JSON, "{}", come.errors);
    assert!(Run::of(child.wait_with_output().unwrap()).good().contains("each adds up"));
}

#[test]
fn an_authority_issues_certificates_that_other_hosts_install() {
    let (a, b) = (Host::new(), Host::new());
    let missing = b.run(&["keys", "show"]).bad(1);
    assert!(missing.contains("no certificate") && missing.contains("hint: `isoform keys init`"), "{missing}");
    let none = b.run(&["keys", "issue", "c"]).bad(2);
    assert!(none.contains("no authority: ") && none.contains("hint: `isoform keys init` makes one"), "{none}");

    let made = a.run(&["keys", "init", "--name", "a"]).good();
    assert!(made.contains("keep it secret") && made.contains("(a, for 365 days)"), "{made}");
    assert!(a.run(&["keys", "init"]).bad(2).contains("there is an authority already"));
    assert_eq!((mode(&a.file("authority.pem")), mode(&a.file("identity.pem"))), (0o600, 0o600));

    let issued = a.run(&["keys", "issue", "b", "--host", "b.example", "--days", "7"]).good();
    assert!(
        issued.contains("b.pem: certificate and key of b, for 7 days") && issued.contains("next: scp b.pem b: && ")
    );
    let file = a.0.path("b.pem");
    assert_eq!(mode(&file), 0o600);
    let exists = a.run(&["keys", "issue", "b"]).bad(2);
    assert!(exists.contains("b.pem exists") && exists.contains("remove it once it is installed"), "{exists}");
    assert!(a.run(&["keys", "issue", "b/c"]).bad(2).contains("\"b/c\" is no name"));

    // By a file, and through a pipe.
    let installed = b.run(&["keys", "install", &file.display().to_string()]);
    assert_eq!(installed.status, 0, "{}", installed.errors);
    assert!(installed.errors.contains("is not needed any more; remove it"), "{}", installed.errors);
    let shown = b.run(&["keys", "show"]).good();
    assert!(
        shown.contains("certificate of b, b.example, valid until ") && shown.contains("trusts Isoform a "),
        "{shown}"
    );
    let mut piped = b.command(&["keys", "install", "-"]);
    piped.stdin(std::fs::File::open(a.file("identity.pem")).unwrap());
    assert!(Run::of(piped.output().unwrap()).good().contains("certificate of a, "));

    // What is no certificate leaves what is there.
    let before = std::fs::read(b.file("identity.pem")).unwrap();
    for text in ["", "x", &std::fs::read_to_string(&file).unwrap()[..300]] {
        let file = b.0.write("other.pem", text);
        let refused = b.run(&["keys", "install", &file]).bad(1);
        assert!(refused.contains("other.pem") && !refused.contains("identity.new"), "{refused}");
    }
    let elsewhere = b.run(&["keys", "issue", "c"]).bad(2);
    assert!(elsewhere.contains("hint: run this where you ran `isoform keys init`"), "{elsewhere}");
    assert!(b.run(&["keys", "install", "nowhere.pem"]).bad(2).contains("nowhere.pem: "));
    assert_eq!(std::fs::read(b.file("identity.pem")).unwrap(), before);
    let mut left: Vec<_> = std::fs::read_dir(b.file("")).unwrap().map(|it| it.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["identity.pem"], "nothing unfinished is left");
}

/// Starts `pub` at a host, and waits for its id.
fn publish(host: &Host, arguments: &[&str]) -> (std::process::Child, String) {
    let input = host.0.write("stream.iso", stream());
    let mut command = host.command(&[&["pub", "tracks"], arguments, &["--tls-on-loopback"], &[&input]].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut notices = BufReader::new(child.stderr.take().unwrap());
    let mut id = String::new();
    notices.read_line(&mut id).unwrap();
    std::thread::spawn(move || std::io::copy(&mut notices, &mut std::io::sink()));
    (child, id.trim_end().strip_prefix("-- ").unwrap_or_else(|| panic!("no id: {id}")).to_string())
}

#[test]
fn commands_of_two_hosts_speak_tls() {
    let (a, b, file) = hosts();
    // They have no shared key in common: that of each is in its configuration.
    let echo = ["echo", "--json", "-n", "4"];
    let (child, id) = publish(&a, &[]);
    let plain = b.run(&[&echo[..], &["--once", &id]].concat());
    assert!(plain.status == 2 && plain.errors.contains("tls_on_loopback"), "{}", plain.errors);
    let come = b.run(&[&echo[..], &["--tls-on-loopback", &id]].concat());
    assert_eq!(come.output, dumps::JSON, "{}", come.errors);
    assert!(Run::of(child.wait_with_output().unwrap()).good().contains("each adds up"));

    // A certificate in another place than the usual one, at either end.
    let elsewhere = Host::new();
    let own = a.file("identity.pem").display().to_string();
    let (child, id) = publish(&elsewhere, &["--identity", &own]);
    let info = b.run(&["info", "--tls-on-loopback", &id]).good();
    assert!(info.contains("tracks") && info.contains("\n  encrypted, with name a"), "{info}");
    let come = elsewhere.run(&[&echo[..], &["--tls-on-loopback", "--identity", &file, &id]].concat());
    assert_eq!(come.output, dumps::JSON, "{}", come.errors);
    assert!(Run::of(child.wait_with_output().unwrap()).good().contains("each adds up"));

    for (arguments, says) in
        [(&["--identity", "nowhere.pem"][..], "nowhere.pem"), (&["--tls-on-loopback"], "identity.pem")]
    {
        let error = elsewhere.run(&[&["info"], arguments, &[&id]].concat()).bad(2);
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn a_revoked_host_loses_its_links_and_gets_no_new_ones() {
    let (a, b, _) = hosts();
    let node = Node::builder().tls(a.tls()).linger(Duration::from_millis(100)).build().unwrap();
    let channel = node.create_with("gauges", Some(&gauge())).unwrap();
    let id = channel.id().to_string();
    let source = channel.source_builder().build::<Messages>().unwrap();
    let mut echo =
        b.command(&["echo", "--tls-on-loopback", &id]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    source.wait_for_sinks(1, LONG).unwrap();

    assert!(a.run(&["keys", "revoke", "c"]).bad(1).contains("no certificate was issued to c here"));
    let revoked = a.run(&["keys", "revoke", "b"]).good();
    assert!(revoked.contains("revoked.pem: 1 certificate is revoked. Copy this file"), "{revoked}");
    assert!(a.run(&["keys", "show"]).good().contains("revoked certificates: "));
    let until = Instant::now() + LONG;
    while source.sinks() > 0 {
        assert!(Instant::now() < until, "the link stands");
        std::thread::sleep(Duration::from_millis(20));
    }
    echo.kill().unwrap();
    echo.wait().unwrap();
    let refused = b.run(&["info", "--tls-on-loopback", &id]).bad(2);
    assert!(refused.contains("this node's certificate is revoked"), "{refused}");

    // Another certificate for it is accepted.
    let file = a.0.path("again.pem").display().to_string();
    a.run(&["keys", "issue", "b", "-o", &file]).good();
    assert_eq!(b.run(&["keys", "install", &file]).status, 0);
    assert!(b.run(&["info", "--tls-on-loopback", &id]).good().contains("gauges"));
}

#[test]
fn whoever_admits_anyone_needs_no_key_and_on_both_sides() {
    let (a, b) = (Host::new(), Host::new());
    let input = a.0.write("stream.iso", stream());
    let start = |arguments: &[&str]| {
        let mut command = a.command(&[&["pub", "tracks"], arguments, &[&input]].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut notices = BufReader::new(child.stderr.take().unwrap());
        let mut id = String::new();
        notices.read_line(&mut id).unwrap();
        (child, notices, id.trim_end().strip_prefix("-- ").unwrap().to_string())
    };
    let (child, _notices, id) = start(&["--admit-anyone"]);
    assert!(b.run(&["info", &id]).bad(2).contains("not admitted"));
    let come = b.run(&["echo", "--json", "-n", "4", "--admit-anyone", &id]);
    assert_eq!(come.output, dumps::JSON, "{}", come.errors);
    assert!(Run::of(child.wait_with_output().unwrap()).good().contains("each adds up"));
    let (mut child, _notices, id) = start(&[]);
    assert!(b.run(&["info", "--admit-anyone", &id]).bad(2).contains("not admitted"));
    child.kill().unwrap();
    child.wait().unwrap();
}
