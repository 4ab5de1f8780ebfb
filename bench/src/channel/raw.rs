//! What one would write by hand around a socket: records of one length that both sides know, and nothing else.
//!
//! Small ones are gathered, as many as go into 64 KiB, and read as many at a time; large ones are written from where they
//! are, and read to where they stay.

use super::ends::{Far, Near, Offer, Transport, check, number, record};
use crate::Result;
use crate::compiled::Directory;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::Range;
use std::os::unix::net::{UnixListener, UnixStream};

/// So much is written and read at a time, if records are smaller.
const CHUNK: usize = 64 << 10;

trait Socket: Read + Write + Send {}

impl Socket for TcpStream {}
impl Socket for UnixStream {}

fn nodelay(stream: TcpStream) -> Result<Box<dyn Socket>> {
    stream.set_nodelay(true)?;
    Ok(Box::new(stream))
}

pub(super) fn offer(transport: Transport, bytes: usize) -> Result<Offer> {
    match transport {
        Transport::Tcp => {
            let listener = TcpListener::bind("127.0.0.1:0")?;
            let address = listener.local_addr()?.to_string();
            Ok(Offer { address, accept: Box::new(move || near(nodelay(listener.accept()?.0)?, bytes)) })
        }
        Transport::Unix => {
            let directory = Directory::new()?;
            let path = directory.path().join("raw");
            let listener = UnixListener::bind(&path)?;
            let accept = move || {
                let (stream, _) = listener.accept()?;
                drop(directory);
                near(Box::new(stream), bytes)
            };
            Ok(Offer { address: path.to_string_lossy().into(), accept: Box::new(accept) })
        }
    }
}

pub(super) fn connect(transport: Transport, bytes: usize, address: &str) -> Result<Box<dyn Far>> {
    let socket = match transport {
        Transport::Tcp => nodelay(TcpStream::connect(address)?)?,
        Transport::Unix => Box::new(UnixStream::connect(address)?),
    };
    Ok(Box::new(End::new(socket, bytes)))
}

fn near(socket: Box<dyn Socket>, bytes: usize) -> Result<Box<dyn Near>> {
    Ok(Box::new(End::new(socket, bytes)))
}

/// Either end.
struct End {
    socket: Box<dyn Socket>,
    record: Vec<u8>,
    /// What is gathered, and where several records are read to.
    chunk: Vec<u8>,
}

impl End {
    fn new(socket: Box<dyn Socket>, bytes: usize) -> End {
        let record = record(bytes);
        End { socket, chunk: vec![0; CHUNK.max(record.len())], record }
    }

    /// How many records are written at a time.
    fn gathered(&self) -> usize {
        CHUNK / self.record.len()
    }
}

impl Near for End {
    fn ping(&mut self, step: u32) -> Result<()> {
        number(&mut self.record, step);
        self.socket.write_all(&self.record)?;
        self.socket.read_exact(&mut self.record)?;
        check(&self.record, step)
    }

    fn send(&mut self, mut steps: Range<u32>) -> Result<()> {
        let (length, gathered) = (self.record.len(), self.gathered());
        if gathered < 2 {
            for step in steps {
                number(&mut self.record, step);
                self.socket.write_all(&self.record)?;
            }
            return Ok(());
        }
        while !steps.is_empty() {
            let mut end = 0;
            for step in steps.by_ref().take(gathered) {
                number(&mut self.record, step);
                self.chunk[end..][..length].copy_from_slice(&self.record);
                end += length;
            }
            self.socket.write_all(&self.chunk[..end])?;
        }
        Ok(())
    }
}

impl Far for End {
    fn echo(&mut self, steps: Range<u32>) -> Result<()> {
        for step in steps {
            self.socket.read_exact(&mut self.record)?;
            check(&self.record, step)?;
            self.socket.write_all(&self.record)?;
        }
        Ok(())
    }

    fn receive(&mut self, mut steps: Range<u32>) -> Result<()> {
        let (length, mut filled) = (self.record.len(), 0);
        while !steps.is_empty() {
            let got = self.socket.read(&mut self.chunk[filled..])?;
            if got == 0 {
                return Err(format!("the connection ended before event {}", steps.start).into());
            }
            filled += got;
            let whole = filled - filled % length;
            for (record, step) in self.chunk[..whole].chunks_exact(length).zip(steps.by_ref()) {
                check(record, step)?;
            }
            self.chunk.copy_within(whole..filled, 0);
            filled -= whole;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What becomes of these events on their way.
    fn across(bytes: usize, sent: Vec<Range<u32>>, wanted: Range<u32>) -> Result<()> {
        let (near, far) = UnixStream::pair()?;
        let (mut near, mut far) = (End::new(Box::new(near), bytes), End::new(Box::new(far), bytes));
        let sending = std::thread::spawn(move || sent.into_iter().all(|steps| near.send(steps).is_ok()));
        far.receive(wanted)?;
        assert!(sending.join().unwrap());
        Ok(())
    }

    #[test]
    fn records_of_every_length_cross_whole() {
        for bytes in [100, 40_000, 100_000] {
            across(bytes, vec![0..700, 700..1400], 0..1400).unwrap();
        }
    }

    #[test]
    fn a_missing_record_is_noticed() {
        let error = across(100, vec![0..700, 701..1400], 0..1400).unwrap_err();
        assert!(error.to_string().contains("event 700 is lost: 701"), "{error}");
        let error = across(100, vec![0..700, 0..1], 0..1400).unwrap_err();
        assert!(error.to_string().contains("event 700 is lost: 0"), "{error}");
        assert!(across(100_000, vec![0..3, 3..3], 0..4).unwrap_err().to_string().contains("ended before event 3"));
    }
}
