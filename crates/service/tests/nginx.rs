//! nginx as a server of formats, from a tree of files, and as a cache in front of a server.

use isoform_core::{Code, Format, Layout, Resolver, Shape, Token};
use isoform_service::Servers;
use isoform_service::server::{Options, start};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

const WHY: &str = "nginx is started, or the test is not run";

/// nginx, which ends with this.
struct Nginx {
    process: Child,
    url: String,
}

impl Drop for Nginx {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

/// Runs nginx with what a host of static files, or a cache, has in its configuration.
fn nginx(folder: &Path, location: &str) -> Nginx {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let here = folder.display();
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("{kind}_temp_path {here}/{kind};"))
        .join(" ");
    let text = format!(
        "daemon off; master_process off; pid {here}/pid; error_log {here}/errors;
         events {{ worker_connections 64; }}
         http {{
             access_log off; {temporary}
             gzip on; gzip_min_length 1; gzip_types *;
             proxy_cache_path {here}/cache keys_zone=formats:1m;
             server {{ listen {free}; {location} }}
         }}"
    );
    let file = folder.join("nginx.conf");
    std::fs::write(&file, text).unwrap();
    let process = Command::new("nginx").arg("-e").arg(folder.join("errors")).arg("-c").arg(file).spawn().expect(WHY);
    let mut nginx = Nginx { process, url: format!("http://{free}") };
    while std::net::TcpStream::connect(free).is_err() {
        assert!(nginx.process.try_wait().unwrap().is_none(), "nginx ended");
        std::thread::sleep(Duration::from_millis(10));
    }
    nginx
}

fn river(fields: usize) -> Format {
    let shape = (0..fields).fold(Shape::new("River"), |shape, number| shape.field(format!("f{number}"), "int"));
    shape.on(&Layout::NATIVE).unwrap()
}

#[test]
#[ignore = "needs nginx: make service"]
fn a_tree_behind_nginx_is_a_read_only_replica() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(Options::new(folder.path().join("store")).listen("127.0.0.1:0".parse().unwrap())).unwrap();
    let client = Servers::new([server.url()]).unwrap();
    let formats: Vec<Format> = (1..20).map(|count| river(count * 20)).collect();
    formats.iter().for_each(|format| client.put(format).unwrap());
    let tree = folder.path().join("tree");
    assert_eq!(client.export(&tree).unwrap().new, 19);
    let nginx = nginx(folder.path(), &format!("root {};", tree.display()));
    let gone = server.url();
    drop(server);
    // First a server that is gone, then the tree.
    let several = Servers::new([gone, nginx.url.clone()]).unwrap();
    let tree = Servers::new([nginx.url.clone()]).unwrap();
    for format in &formats {
        assert_eq!(several.resolve(format.token()).unwrap(), format.description().as_bytes());
        assert_eq!(tree.get(&format!("formats/{}.json", format.token())).unwrap()["token"], format.token().to_string());
    }
    assert_eq!(tree.resolve(Token::from_bytes([9; 16])).unwrap_err().code(), Code::UnknownFormat);
    assert_eq!(tree.put(&river(1)).unwrap_err().code(), Code::Io, "a tree takes no formats");
}

#[test]
#[ignore = "needs nginx: make service"]
fn a_cache_between_answers_when_the_server_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(Options::new(folder.path().join("store")).listen("127.0.0.1:0".parse().unwrap())).unwrap();
    let format = river(20);
    let location = format!("location / {{ proxy_pass {}; proxy_cache formats; }}", server.url());
    let nginx = nginx(folder.path(), &location);
    let client = Servers::new([nginx.url.clone()]).unwrap();
    assert_eq!(client.resolve(format.token()).unwrap_err().code(), Code::UnknownFormat);
    client.put(&format).unwrap();
    assert_eq!(client.resolve(format.token()).unwrap(), format.description().as_bytes(), "404 is not kept");
    drop(server);
    assert_eq!(client.resolve(format.token()).unwrap(), format.description().as_bytes());
    assert_eq!(client.resolve(river(2).token()).unwrap_err().code(), Code::Io, "the cache cannot ask");
}
