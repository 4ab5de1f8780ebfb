//! Documents from real HTTP servers on this machine: caches, redirects, and where servers cannot lead.

use isoform_core::{Code, Layout};
use isoform_xmit::Fetcher;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

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
        _ => "HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".into(),
    });
    assert_eq!(size(&mut Fetcher::new(), &server.url("a/river.xsd")), 8);
    assert_eq!(server.count(), 2);
    let error = Fetcher::new().declarations(&server.url("none.xsd")).unwrap_err();
    assert!(error.to_string().ends_with("expected a document, found HTTP status 404"), "{error}");
    assert_eq!(error.code(), Code::Source);
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
    std::fs::write(folder.path().join("common/units.xsd"), "<schema xmlns='http://www.w3.org/2001/XMLSchema'/>")
        .unwrap();
    assert_eq!(size(&mut Fetcher::new(), path.to_str().unwrap()), 8);
    assert_eq!(size(&mut Fetcher::new(), &format!("file://{}", path.display())), 8);
    assert_eq!(Fetcher::new().declarations(folder.path().to_str().unwrap()).unwrap_err().code(), Code::Source);
}
