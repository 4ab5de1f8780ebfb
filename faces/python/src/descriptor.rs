//! What event loops wait for, as the number that it has in Python: a descriptor; on Windows, where they wait for sockets only,
//! a socket.

#[cfg(unix)]
mod system {
    use std::io::Result;
    use std::os::fd::{AsFd, AsRawFd, IntoRawFd, RawFd};

    pub(crate) type Number = RawFd;

    pub(crate) fn number(descriptor: &impl AsFd) -> Number {
        descriptor.as_fd().as_raw_fd()
    }

    /// Another descriptor for the same, which nobody closes but Python.
    pub(crate) fn copy(descriptor: &impl AsFd) -> Result<Number> {
        Ok(descriptor.as_fd().try_clone_to_owned()?.into_raw_fd())
    }
}

#[cfg(windows)]
mod system {
    use std::io::Result;
    use std::os::windows::io::{AsRawSocket, AsSocket, IntoRawSocket, RawSocket};

    pub(crate) type Number = RawSocket;

    pub(crate) fn number(socket: &impl AsSocket) -> Number {
        socket.as_socket().as_raw_socket()
    }

    /// Another socket for the same, which nobody closes but Python.
    pub(crate) fn copy(socket: &impl AsSocket) -> Result<Number> {
        Ok(socket.as_socket().try_clone_to_owned()?.into_raw_socket())
    }
}

pub(crate) use system::{Number, copy, number};
