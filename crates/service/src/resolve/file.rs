//! Files that a user or another program names. What is no file, such as a pipe to which nobody writes, is an error, and not a wait.

use std::fs::{File, OpenOptions};
use std::io;
#[cfg(feature = "tls")]
use std::io::Read;
use std::path::Path;

/// The most bytes of a file with certificates, keys or a secret.
#[cfg(feature = "tls")]
pub(crate) const PEM: u64 = 4 << 20;

/// Opens a file to read it.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    let file = options.open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a file")),
    }
}

/// The bytes of a file that has at most so many.
#[cfg(feature = "tls")]
pub(crate) fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most {
        true => Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("more than {most} bytes"))),
        false => Ok(bytes),
    }
}
