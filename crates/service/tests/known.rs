//! Programs that know their formats, while every server is dead.

use isoform_core::{Code, Format, Layout, Registry, Shape, Token};
use isoform_service::server::{Options, Server, start};
use isoform_service::{Client, Servers};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The server and the folder of [`as_another_process`].
const URL: &str = "ISOFORM_TEST_URL";
const CACHE: &str = "ISOFORM_TEST_CACHE";

fn running(store: &Path) -> Server {
    start(Options::new(store.join("formats.redb")).listen("127.0.0.1:0".parse().unwrap())).unwrap()
}

fn river(field: &str) -> Format {
    Shape::new("River").field(field, "int").on(&Layout::NATIVE).unwrap()
}

/// What a second reader of the process does.
#[track_caller]
fn reads(client: Client, format: &Format) {
    let mut registry = Registry::new();
    registry.set_resolver(client);
    assert_eq!(registry.lookup(format.token()).unwrap(), format);
}

#[test]
fn what_a_server_stored_or_answered_needs_no_server_in_this_process() {
    let folder = tempfile::tempdir().unwrap();
    let server = running(folder.path());
    let (url, written, read, other) = (server.url(), river("written"), river("read"), river("other"));
    Client::new(&url).unwrap().put(&written).unwrap();
    Servers::new([&*url]).unwrap().put(&read).unwrap();
    reads(Client::new(&url).unwrap(), &read);
    drop(server);

    // Others, of which one has another server too, which never ran.
    let both = format!("http://127.0.0.1:1,{url}/");
    for format in [&written, &read] {
        Client::new(&url).unwrap().put(format).unwrap();
        Client::new(&both).unwrap().put(format).unwrap();
        reads(Client::new(&both).unwrap(), format);
    }
    // Nobody stored this one, and this server nothing.
    for (url, format) in [(&*url, &other), ("http://127.0.0.1:1", &written)] {
        assert_eq!(Client::new(url).unwrap().put(format).unwrap_err().code(), Code::Io);
    }
}

/// A server that stores what it is told this many times, and then accepts connections and never answers. Returns its URL, and what
/// counts the requests.
fn storing(format: &Format, times: usize) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let (counted, body) = (count.clone(), format.description().as_bytes().to_vec());
    std::thread::spawn(move || {
        let mut silent = Vec::new();
        for mut stream in listener.incoming().flatten() {
            if counted.fetch_add(1, Ordering::SeqCst) >= times {
                silent.push(stream);
                continue;
            }
            let (mut request, mut room) = (Vec::new(), [0; 4096]);
            while !request.ends_with(&body) {
                let came = stream.read(&mut room).unwrap();
                assert!(came > 0, "a whole request");
                request.extend_from_slice(&room[..came]);
            }
            stream.write_all(b"HTTP/1.1 201 Created\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}").unwrap();
        }
    });
    (url, count)
}

/// A server that hangs has a second, and not the deadline. One that can be asked is asked, since its store may have been lost.
#[test]
fn a_server_is_asked_and_keeps_nobody_waiting() {
    let format = river("hangs");
    let (url, asked) = storing(&format, 2);
    let client = || Client::of(Servers::new([&*url]).unwrap().deadline(Duration::from_secs(1 << 20)));
    // A slow machine may ask more than once within the second.
    for least in 1..=3 {
        client().put(&format).unwrap();
        assert!(asked.load(Ordering::SeqCst) >= least);
    }
    reads(client(), &format);
}

#[test]
fn a_later_process_needs_the_cache_alone() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let server = running(folder.path());
    let (url, format) = (server.url(), river("later"));
    Client::new(&url).unwrap().cached(&cache).put(&format).unwrap();
    drop(server);
    let names: Vec<String> =
        std::fs::read_dir(&cache).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    let note = format!("{}.{}", format.token(), Token::of(url.as_bytes()));
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(names.contains(&format.token().to_string()) && names.contains(&note), "{names:?}");

    let run = |url: &str| {
        let mut other = Command::new(std::env::current_exe().unwrap());
        other.args(["--ignored", "--exact", "as_another_process"]).env(URL, url).env(CACHE, &cache);
        other.output().unwrap()
    };
    let ran = run(&url);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
    // The cache knows the format, but not that this server has it.
    let ran = run("http://127.0.0.1:1");
    assert!(String::from_utf8_lossy(&ran.stdout).contains("refused"), "{}", String::from_utf8_lossy(&ran.stdout));
}

#[test]
#[ignore = "a process of another test"]
fn as_another_process() {
    let (url, cache) = (std::env::var(URL).unwrap(), std::env::var_os(CACHE).unwrap());
    reads(Client::new(&url).unwrap().cached(&cache), &river("later"));
    Client::new(&url).unwrap().cached(&cache).put(&river("later")).unwrap();
}
