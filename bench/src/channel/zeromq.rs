//! ZeroMQ's PUB and SUB, by the library that is installed here.
//!
//! PUB drops what does not fit into a queue of a thousand messages. So that nothing is lost, the publisher waits instead,
//! which it is told by an option of XPUB; that is PUB, but for telling its user who has subscribed. It is also faster so
//! than with queues that have no end. Whoever receives counts.

use super::ends::{Far, Near, Offer, Transport, check, number, record};
use crate::Result;
use crate::compiled::Directory;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ops::Range;

type Handle = *mut c_void;

const SUB: c_int = 2;
const XPUB: c_int = 9;
const SUBSCRIBE: c_int = 6;
const LINGER: c_int = 17;
const RCVTIMEO: c_int = 27;
const SNDTIMEO: c_int = 28;
const LAST_ENDPOINT: c_int = 32;
const XPUB_NODROP: c_int = 69;

/// Nothing takes so long but what will not happen.
const PATIENCE: c_int = 10_000;

/// What is used of libzmq. The types are those of its header, since its version 3.
#[derive(Clone, Copy)]
pub(super) struct Library {
    context_new: unsafe extern "C" fn() -> Handle,
    context_end: unsafe extern "C" fn(Handle) -> c_int,
    socket: unsafe extern "C" fn(Handle, c_int) -> Handle,
    close: unsafe extern "C" fn(Handle) -> c_int,
    set: unsafe extern "C" fn(Handle, c_int, *const c_void, usize) -> c_int,
    get: unsafe extern "C" fn(Handle, c_int, *mut c_void, *mut usize) -> c_int,
    bind: unsafe extern "C" fn(Handle, *const c_char) -> c_int,
    connect: unsafe extern "C" fn(Handle, *const c_char) -> c_int,
    send: unsafe extern "C" fn(Handle, *const c_void, usize, c_int) -> c_int,
    receive: unsafe extern "C" fn(Handle, *mut c_void, usize, c_int) -> c_int,
    errno: unsafe extern "C" fn() -> c_int,
    message: unsafe extern "C" fn(c_int) -> *const c_char,
}

impl Library {
    /// Loads it, for as long as the process lives.
    pub(super) fn open() -> Result<Library> {
        let name = if cfg!(target_vendor = "apple") { "libzmq.5.dylib" } else { "libzmq.so.5" };
        // SAFETY: loading it runs nothing but its own preparations, as in every program that is linked with it.
        let library: &libloading::Library = Box::leak(Box::new(unsafe { libloading::Library::new(name) }?));
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: the field has the type that the header gives to this function.
                *unsafe { library.get($name) }?
            };
        }
        Ok(Library {
            context_new: function!("zmq_ctx_new"),
            context_end: function!("zmq_ctx_term"),
            socket: function!("zmq_socket"),
            close: function!("zmq_close"),
            set: function!("zmq_setsockopt"),
            get: function!("zmq_getsockopt"),
            bind: function!("zmq_bind"),
            connect: function!("zmq_connect"),
            send: function!("zmq_send"),
            receive: function!("zmq_recv"),
            errno: function!("zmq_errno"),
            message: function!("zmq_strerror"),
        })
    }

    /// What went wrong, if a function returned less than 0.
    fn outcome(&self, returned: c_int) -> Result<usize> {
        usize::try_from(returned).map_err(|_| {
            // SAFETY: the text of an error is a string that lives as long as the library.
            let text = unsafe { CStr::from_ptr((self.message)((self.errno)())) };
            format!("ZeroMQ: {}", text.to_string_lossy()).into()
        })
    }
}

/// A socket with a context, and a thread that reads and writes, of its own.
struct Socket {
    library: Library,
    // Invariant 1: a context and a socket of this library that are open, and used by one thread at a time, since there
    // is no other way to them.
    context: Handle,
    socket: Handle,
}

impl Socket {
    fn new(kind: c_int) -> Result<Socket> {
        let library = Library::open()?;
        // SAFETY: a context needs nothing before it, and a socket a context; where there is none, it is refused.
        let (context, socket) = unsafe {
            let context = (library.context_new)();
            (context, (library.socket)(context, kind))
        };
        if socket.is_null() {
            library.outcome(-1)?;
        }
        let socket = Socket { library, context, socket };
        [(LINGER, 0), (RCVTIMEO, PATIENCE), (SNDTIMEO, PATIENCE)]
            .into_iter()
            .try_for_each(|(option, value)| socket.set(option, &value.to_ne_bytes()))?;
        Ok(socket)
    }

    fn set(&self, option: c_int, value: &[u8]) -> Result<()> {
        // SAFETY: by 1; the value is as long as is said.
        let returned = unsafe { (self.library.set)(self.socket, option, value.as_ptr().cast(), value.len()) };
        self.library.outcome(returned).map(drop)
    }

    /// Binds it, and says to where.
    fn bind(&self, endpoint: &str) -> Result<String> {
        let endpoint = CString::new(endpoint)?;
        // SAFETY: by 1; the endpoint ends with a zero.
        self.library.outcome(unsafe { (self.library.bind)(self.socket, endpoint.as_ptr()) })?;
        let (mut bound, mut length) = ([0; 256], 256);
        let place = (&raw mut bound).cast();
        // SAFETY: by 1; there is as much room as is said.
        self.library.outcome(unsafe { (self.library.get)(self.socket, LAST_ENDPOINT, place, &raw mut length) })?;
        Ok(CStr::from_bytes_until_nul(&bound)?.to_str()?.into())
    }

    fn connect(&self, endpoint: &str) -> Result<()> {
        let endpoint = CString::new(endpoint)?;
        // SAFETY: by 1; the endpoint ends with a zero.
        self.library.outcome(unsafe { (self.library.connect)(self.socket, endpoint.as_ptr()) }).map(drop)
    }

    fn send(&mut self, message: &[u8]) -> Result<()> {
        // SAFETY: by 1; the message is as long as is said.
        let returned = unsafe { (self.library.send)(self.socket, message.as_ptr().cast(), message.len(), 0) };
        self.library.outcome(returned).map(drop)
    }

    /// Returns how long the message was that came.
    fn receive(&mut self, room: &mut [u8]) -> Result<usize> {
        // SAFETY: by 1; there is as much room as is said.
        let returned = unsafe { (self.library.receive)(self.socket, room.as_mut_ptr().cast(), room.len(), 0) };
        self.library.outcome(returned)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // SAFETY: by 1, and nobody can use them any more. The context ends when its sockets are closed.
        unsafe {
            (self.library.close)(self.socket);
            (self.library.context_end)(self.context);
        }
    }
}

pub(super) fn offer(transport: Transport, bytes: usize) -> Result<Offer> {
    let mut socket = Socket::new(XPUB)?;
    socket.set(XPUB_NODROP, &1_i32.to_ne_bytes())?;
    let directory = Directory::new()?;
    let address = match transport {
        Transport::Tcp => socket.bind("tcp://127.0.0.1:*")?,
        Transport::Unix => socket.bind(&format!("ipc://{}", directory.path().join("zeromq").display()))?,
    };
    let accept = move || {
        // A subscription to everything is a single byte.
        socket.receive(&mut [0])?;
        drop(directory);
        let end: Box<dyn Near> = Box::new(End { socket, record: record(bytes) });
        Ok(end)
    };
    Ok(Offer { address, accept: Box::new(accept) })
}

pub(super) fn connect(bytes: usize, address: &str) -> Result<Box<dyn Far>> {
    let socket = Socket::new(SUB)?;
    socket.set(SUBSCRIBE, &[])?;
    socket.connect(address)?;
    Ok(Box::new(End { socket, record: record(bytes) }))
}

/// Either end.
struct End {
    socket: Socket,
    record: Vec<u8>,
}

impl Near for End {
    fn ping(&mut self, _: u32) -> Result<()> {
        Err("what is published does not come back".into())
    }

    fn send(&mut self, steps: Range<u32>) -> Result<()> {
        for step in steps {
            number(&mut self.record, step);
            self.socket.send(&self.record)?;
        }
        Ok(())
    }
}

impl Far for End {
    fn echo(&mut self, _: Range<u32>) -> Result<()> {
        Err("who subscribes sends nothing back".into())
    }

    fn receive(&mut self, steps: Range<u32>) -> Result<()> {
        for step in steps {
            let length = self.socket.receive(&mut self.record)?;
            check(&self.record[..length.min(self.record.len())], step)?;
        }
        Ok(())
    }
}
