//! A web server that has one document, and an exchange with it that is written by hand.

use crate::Result;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Answers each request with the document. It ends when it is dropped.
pub(super) struct Server {
    at: SocketAddr,
    ended: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Server {
    pub(super) fn new(document: &str) -> Result<Server> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let at = listener.local_addr()?;
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nConnection: close\r\nContent-Length:";
        let answer = format!("{head} {}\r\n\r\n{document}", document.len());
        let ended = Arc::new(AtomicBool::new(false));
        let stop = ended.clone();
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                // A client that goes away is its own loss.
                _ = stream.and_then(|stream| serve(stream, &answer));
            }
        });
        Ok(Server { at, ended, thread: Some(thread) })
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/records.xsd", self.at)
    }

    /// The same exchange without a client: connect, ask, read to the end.
    pub(super) fn bare(&self) -> Result<Vec<u8>> {
        let mut stream = TcpStream::connect(self.at)?;
        write!(stream, "GET /records.xsd HTTP/1.1\r\nHost: {}\r\n\r\n", self.at)?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(answer)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        // It waits for one more connection.
        if TcpStream::connect(self.at).is_ok()
            && let Some(thread) = self.thread.take()
        {
            _ = thread.join();
        }
    }
}

fn serve(mut stream: TcpStream, answer: &str) -> std::io::Result<()> {
    let mut request = BufReader::new(&stream);
    let mut line = String::new();
    while request.read_line(&mut line)? > 2 {
        line.clear();
    }
    stream.write_all(answer.as_bytes())
}
