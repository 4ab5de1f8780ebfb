//! Documents from real HTTP servers on this machine: caches, redirects, and where servers cannot lead.

use isoform_core::{Code, Layout};
use isoform_xmit::{Fetcher, Watch};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A server that gives each request to a function, and counts them.
struct Server {
    port: u16,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// `answer` gets the head of a request, and returns a whole response.
    fn start(answer: impl Fn(&str) -> String + Send + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let heard = requests.clone();
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                let Ok(mut connection) = connection else { return };
                let mut lines = BufReader::new(connection.try_clone().unwrap()).lines();
                let head: Vec<String> =
                    lines.by_ref().map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
                // The names of headers have no case.
                let head = head.join("\n").replace("if-none-match", "If-None-Match");
                let response = answer(&head);
                heard.lock().unwrap().push(head);
                let _ = connection.write_all(response.as_bytes());
            }
        });
        Server { port, requests }
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    fn count(&self) -> usize {
        self.requests.lock().unwrap().len()
    }
}

fn ok(headers: &str, body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n{body}", body.len())
}

fn redirect(to: &str) -> String {
    format!("HTTP/1.1 302 Found\r\nConnection: close\r\nContent-Length: 0\r\nLocation: {to}\r\n\r\n")
}

fn schema(beside: &str) -> String {
    format!(
        "<xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema'>{beside}<xs:complexType name='Gauge'><xs:sequence>\
         <xs:element name='depth' type='xs:double'/></xs:sequence></xs:complexType></xs:schema>"
    )
}

fn size(fetcher: &mut Fetcher, place: &str) -> usize {
    fetcher.declarations(place).unwrap().bind("Gauge", &Layout::X86_64).unwrap().size()
}

#[test]
fn a_document_and_what_it_includes_come_from_its_server() {
    let server = Server::start(|head| match head.split(' ').nth(1) {
        Some("/a/river.xsd") => ok("", &schema("<xs:include schemaLocation='../units.xsd'/>")),
        Some("/units.xsd") => ok("", "<schema xmlns='http://www.w3.org/2001/XMLSchema'/>"),
        Some(path) => {
            format!("HTTP/1.1 {} No\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", path.trim_start_matches('/'))
        }
        None => String::new(),
    });
    assert_eq!(size(&mut Fetcher::new(), &server.url("a/river.xsd")), 8);
    assert_eq!(server.count(), 2);
    for (status, code) in
        [(404, Code::Source), (410, Code::Source), (401, Code::NotAdmitted), (403, Code::Forbidden), (503, Code::Io)]
    {
        let error = Fetcher::new().declarations(&server.url(&status.to_string())).unwrap_err();
        assert!(error.to_string().ends_with(&format!("expected a document, found HTTP status {status}")), "{error}");
        assert_eq!(error.code(), code);
    }
}

#[test]
fn a_cache_is_confirmed_and_outlives_its_server() {
    let folder = tempfile::tempdir().unwrap();
    let state = Arc::new(Mutex::new("first"));
    let shown = state.clone();
    let server = Server::start(move |head| match (*shown.lock().unwrap(), head.contains("If-None-Match: \"1\"")) {
        ("first", true) => "HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n".into(),
        ("first", false) => ok("ETag: \"1\"\r\n", &schema("")),
        ("second", _) => ok("ETag: \"2\"\r\n", &schema("<!-- new -->").replace("xs:double", "xs:float")),
        _ => "HTTP/1.1 503 Busy\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".into(),
    });
    let url = server.url("river.xsd");
    let mut fetcher = Fetcher::new().cache(folder.path());
    assert_eq!(size(&mut fetcher, &url), 8);
    assert_eq!(size(&mut fetcher, &url), 8, "confirmed");
    assert!(server.requests.lock().unwrap()[1].contains("If-None-Match: \"1\""));
    *state.lock().unwrap() = "second";
    assert_eq!(size(&mut fetcher, &url), 4, "a changed document is noticed");
    *state.lock().unwrap() = "broken";
    assert_eq!(size(&mut fetcher, &url), 4, "the last document, while the server is ill");
    assert_eq!(Fetcher::new().declarations(&url).unwrap_err().code(), Code::Io, "without a cache");
    // A torn file is as good as none.
    let file = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() - 1]).unwrap();
    assert_eq!(fetcher.declarations(&url).unwrap_err().code(), Code::Io);
    *state.lock().unwrap() = "first";
    assert_eq!(size(&mut fetcher, &url), 8);
}

/// Who saves a document twice in a second is noticed: the time of the first one does not tell them apart.
#[test]
fn a_time_confirms_only_what_was_older_when_it_was_sent() {
    let asked = |date: &'static str| {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::start(move |_| {
            ok(&format!("Date: {date}\r\nLast-Modified: Sat, 28 Nov 2026 08:00:07 GMT\r\n"), &schema(""))
        });
        let mut fetcher = Fetcher::new().cache(folder.path());
        (0..2).for_each(|_| assert_eq!(size(&mut fetcher, &server.url("river.xsd")), 8));
        let requests = server.requests.lock().unwrap();
        requests[1].to_lowercase().contains("if-modified-since: sat, 28 nov 2026 08:00:07 gmt")
    };
    assert!(asked("Sat, 28 Nov 2026 08:00:08 GMT"));
    assert!(!asked("Sat, 28 Nov 2026 08:00:07 GMT"));
}

#[test]
fn servers_cannot_lead_elsewhere() {
    let secret = Server::start(|_| ok("", &schema("")));
    let other = secret.url("a.xsd");
    let to = other.clone();
    let server = Server::start(move |head| match head.split(' ').nth(1) {
        Some("/redirect") => redirect(&to),
        Some("/import") => ok("", &schema(&format!("<xs:import schemaLocation='{to}'/>")).replace("Gauge", "Own")),
        Some("/file") => ok("", &schema("<xs:import schemaLocation='file:///etc/hostname'/>")),
        Some("/name") => ok("", &schema("<xs:import schemaLocation='http://localhost:1/'/>")),
        Some("/circle") => redirect("/circle"),
        Some("/moved") => redirect("/here"),
        _ => ok("", &schema("")),
    });
    for path in ["redirect", "import", "file", "name"] {
        let error = Fetcher::new().declarations(&server.url(path)).unwrap_err();
        assert_eq!(error.code(), Code::Forbidden, "{path}: {error}");
        let is_asked = error.path() == server.url(&format!("{path}:1"));
        assert!(is_asked || path == "redirect", "the line that asks for it: {error}");
    }
    assert_eq!(secret.count(), 0, "nobody asked the other server");
    assert!(
        Fetcher::new().declarations(&server.url("circle")).unwrap_err().to_string().contains("at most 5 redirects")
    );
    assert_eq!(size(&mut Fetcher::new(), &server.url("moved")), 8);
    let mut allowed = Fetcher::new().allow(&format!("127.0.0.1:{}", secret.port));
    assert_eq!(size(&mut allowed, &server.url("redirect")), 8);
    assert_eq!(size(&mut allowed, &server.url("import")), 8);
}

#[test]
fn endless_answers_and_silent_servers_end() {
    let huge = Server::start(|_| format!("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{}", " ".repeat((16 << 20) + 2)));
    assert_eq!(Fetcher::new().declarations(&huge.url("")).unwrap_err().code(), Code::MessageSize);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let mut fetcher = Fetcher::new().deadline(std::time::Duration::from_millis(50));
    assert_eq!(fetcher.declarations(&url).unwrap_err().code(), Code::Deadline);
}

#[test]
fn files_and_what_they_include() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("river.xsd");
    std::fs::create_dir(folder.path().join("common")).unwrap();
    std::fs::write(&path, schema("<xs:include schemaLocation='common/units.xsd'/>")).unwrap();
    let error = Fetcher::new().declarations(path.to_str().unwrap()).unwrap_err();
    assert!(error.to_string().contains("common/units.xsd"), "{error}");
    assert_eq!(error.path(), format!("{}:1", path.display()));
    std::fs::write(folder.path().join("common/units.xsd"), "<schema xmlns='http://www.w3.org/2001/XMLSchema'/>")
        .unwrap();
    assert_eq!(size(&mut Fetcher::new(), path.to_str().unwrap()), 8);
    assert_eq!(size(&mut Fetcher::new(), &format!("file://{}", path.display())), 8);
    assert_eq!(Fetcher::new().declarations(folder.path().to_str().unwrap()).unwrap_err().code(), Code::Source);
}

#[test]
fn limits_of_bytes_redirects_and_schemes_hold() {
    let beside = "<xs:include schemaLocation='units.xsd'/>";
    let server = Server::start(move |head| match head.split(' ').nth(1) {
        Some("/river.xsd") => ok("", &schema(beside)),
        Some("/units.xsd") => ok("", "<schema xmlns='http://www.w3.org/2001/XMLSchema'/>"),
        Some("/once") => redirect("/river.xsd"),
        _ => redirect("/once"),
    });
    let all = schema(beside).len() + "<schema xmlns='http://www.w3.org/2001/XMLSchema'/>".len();
    let code = |fetcher: Fetcher, path: &str| {
        let mut fetcher = fetcher;
        fetcher.declarations(&server.url(path)).map(drop).map_err(|error| error.code())
    };
    assert_eq!(code(Fetcher::new().limit(all), "river.xsd"), Ok(()));
    assert_eq!(code(Fetcher::new().limit(all - 1), "river.xsd"), Err(Code::MessageSize));
    assert_eq!(code(Fetcher::new().limit(10), "river.xsd"), Err(Code::MessageSize));
    assert_eq!(code(Fetcher::new().redirects(2), "twice"), Ok(()));
    assert_eq!(code(Fetcher::new().redirects(1), "twice"), Err(Code::Source));
    assert_eq!(code(Fetcher::new().redirects(0), "once"), Err(Code::Source));
    assert_eq!(code(Fetcher::new().schemes(&["HTTP"]), "once"), Ok(()));
    assert_eq!(code(Fetcher::new().schemes(&["file", "https"]), "river.xsd"), Err(Code::Forbidden));
    // A redirect keeps to them, too.
    let other = Server::start(|_| redirect("file:///etc/hostname"));
    let error = Fetcher::new().schemes(&["http"]).declarations(&other.url("x")).unwrap_err();
    assert!(matches!(error.code(), Code::Forbidden | Code::Source), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("river.xsd");
    std::fs::write(&path, schema("")).unwrap();
    let path = path.to_str().unwrap();
    assert!(Fetcher::new().limit(schema("").len()).declarations(path).is_ok());
    assert_eq!(Fetcher::new().limit(9).declarations(path).unwrap_err().code(), Code::MessageSize);
    assert_eq!(Fetcher::new().schemes(&["https"]).declarations(path).unwrap_err().code(), Code::Forbidden);
}

/// A program is told once of each change and of each error, and an unchanged document costs no more than a question.
#[test]
fn a_watch_tells_of_changes_and_errors_once() {
    let now = Arc::new(Mutex::new(("v1", 200)));
    let theirs = now.clone();
    let server = Server::start(move |head| {
        let (tag, status) = *theirs.lock().unwrap();
        match status {
            200 if head.contains(&format!("If-None-Match: \"{tag}\"")) => {
                "HTTP/1.1 304 Not Modified\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".into()
            }
            200 => ok(&format!("ETag: \"{tag}\"\r\n"), &schema("").replace("depth", tag)),
            _ => "HTTP/1.1 500 Broken\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".into(),
        }
    });
    let field = |found: Option<isoform_core::Result<isoform_xmit::Declarations>>| {
        found.map(|found| match found {
            Ok(declarations) => declarations.get("Gauge").unwrap().fields[0].name.to_string(),
            Err(error) => error.code().to_string(),
        })
    };
    let folder = tempfile::tempdir().unwrap();
    let mut watch = Watch::new(Fetcher::new().cache(folder.path()), &server.url("river.xsd"), Duration::ZERO);
    assert_eq!(field(watch.poll()).as_deref(), Some("v1"));
    assert_eq!(field(watch.poll()), None);
    *now.lock().unwrap() = ("v2", 200);
    assert_eq!(field(watch.poll()).as_deref(), Some("v2"));
    assert_eq!(field(watch.poll()), None);
    // The cache does not hide that the server has failed.
    *now.lock().unwrap() = ("v2", 500);
    assert_eq!(field(watch.poll()), Some(Code::Io.to_string()));
    assert_eq!(field(watch.poll()), None);
    *now.lock().unwrap() = ("v2", 200);
    assert_eq!(field(watch.poll()).as_deref(), Some("v2"));
    let requests = server.requests.lock().unwrap();
    assert!(requests.last().unwrap().contains("If-None-Match: \"v2\""), "{requests:?}");
    drop(requests);
    // Without the interval, nobody is asked.
    let mut watch = Watch::new(Fetcher::new(), &server.url("river.xsd"), Duration::from_secs(1 << 40));
    assert!(watch.poll().is_some_and(|found| found.is_ok()));
    let count = server.count();
    assert!(watch.poll().is_none() && !watch.due().is_zero());
    assert_eq!(server.count(), count);
    assert!(watch.check().is_none());
    assert_eq!(server.count(), count + 1);
}

/// What a document brings in, and the overlay, are parts of it.
#[test]
fn a_watch_sees_changes_of_included_documents_and_overlays() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let units = "<schema xmlns='http://www.w3.org/2001/XMLSchema'/>";
    std::fs::write(path("river.xsd"), schema("<xs:include schemaLocation='units.xsd'/>")).unwrap();
    std::fs::write(path("units.xsd"), units).unwrap();
    std::fs::write(path("mine.json"), "{}").unwrap();
    let mut watch = Watch::new(Fetcher::new().overlay(path("mine.json")), &path("river.xsd"), Duration::ZERO);
    assert!(watch.check().is_some() && watch.check().is_none());
    std::fs::write(path("units.xsd"), format!("{units} ")).unwrap();
    assert!(watch.check().is_some() && watch.check().is_none());
    std::fs::write(path("mine.json"), r#"{"Gauge": {"name": "Level"}}"#).unwrap();
    let changed = watch.check().unwrap().unwrap();
    assert_eq!(changed.names().collect::<Vec<_>>(), ["Level"]);
    std::fs::write(path("mine.json"), "{").unwrap();
    assert!(watch.check().is_some_and(|found| found.is_err()) && watch.check().is_none());
}
