//! HTTP as one would write it by hand for this one exchange: both ends, on a connection that is kept.

use crate::Result;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};

/// A connection.
pub(super) struct Client {
    stream: TcpStream,
    host: String,
    buffer: Vec<u8>,
}

impl Client {
    /// Connects to `HOST:PORT`.
    pub(super) fn new(host: &str) -> Result<Client> {
        let stream = TcpStream::connect(host)?;
        stream.set_nodelay(true)?;
        Ok(Client { stream, host: host.into(), buffer: Vec::new() })
    }

    /// Asks for a path, and hands on the body of the answer.
    pub(super) fn get(&mut self, path: &str, taken: impl FnOnce(&[u8]) -> Result<()>) -> Result<()> {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.host);
        self.stream.write_all(request.as_bytes())?;
        taken(self.answer()?)
    }

    /// Sends a body to a path.
    pub(super) fn put(&mut self, path: &str, body: &[u8]) -> Result<()> {
        self.send("PUT", path, "application/octet-stream", body).map(drop)
    }

    /// Sends a body to a path, and returns that of the answer.
    pub(super) fn send(&mut self, method: &str, path: &str, kind: &str, body: &[u8]) -> Result<&[u8]> {
        let (host, length) = (&self.host, body.len());
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"
        );
        self.stream.write_all(&[head.as_bytes(), body].concat())?;
        self.answer()
    }

    fn answer(&mut self) -> Result<&[u8]> {
        let body = message(&mut self.stream, &mut self.buffer)?.ok_or("the server has closed the connection")?;
        match self.buffer.get(9) {
            Some(b'2') => Ok(&self.buffer[body..]),
            _ => Err(String::from_utf8_lossy(&self.buffer).into_owned().into()),
        }
    }
}

/// Reads a request or an answer. Returns where its body begins, or `None` at the end.
fn message(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Result<Option<usize>> {
    buffer.clear();
    let mut room = [0; 16 << 10];
    loop {
        let count = stream.read(&mut room)?;
        if count == 0 {
            return Ok(None);
        }
        buffer.extend_from_slice(&room[..count]);
        let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let (head, body) = (std::str::from_utf8(&buffer[..end])?, end + 4);
        let length = head.split("\r\n").find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>())
        });
        let length = length.unwrap_or(Ok(0))?;
        while buffer.len() < body + length {
            let count = stream.read(&mut room)?;
            if count == 0 {
                return Err("the connection ends within a body".into());
            }
            buffer.extend_from_slice(&room[..count]);
        }
        return Ok(Some(body));
    }
}

/// Starts a server that answers every request with so many bytes. What it is sent it writes to files in a folder, and waits
/// until the disk has them. Returns its address.
pub(super) fn serve(bytes: usize, folder: PathBuf) -> Result<String> {
    std::fs::create_dir_all(&folder)?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?.to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let folder = folder.clone();
            // A client that goes away ends it.
            std::thread::spawn(move || _ = converse(stream, bytes, &folder));
        }
    });
    Ok(address)
}

fn converse(mut stream: TcpStream, bytes: usize, folder: &Path) -> Result<()> {
    stream.set_nodelay(true)?;
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: {bytes}\r\n\r\n");
    let answer = [head.as_bytes(), &vec![0x5a; bytes]].concat();
    let (mut buffer, mut number) = (Vec::new(), 0);
    while let Some(body) = message(&mut stream, &mut buffer)? {
        if buffer.len() > body {
            number += 1;
            let mut file = std::fs::File::create(folder.join(number.to_string()))?;
            file.write_all(&buffer[body..])?;
            file.sync_data()?;
        }
        stream.write_all(&answer)?;
    }
    Ok(())
}
