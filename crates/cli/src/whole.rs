//! Files that are whole or not there: each is written under another name beside its own, which it gets in the end.

use crate::failure::{Failure, reason};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A file for what will be at a path. Dropped before it gets its name, it is gone.
pub(crate) fn unfinished(path: &Path) -> Result<NamedTempFile, Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.prefix(".isoform-").tempfile_in(folder).map_err(|error| cannot_write(path, &error))
}

pub(crate) fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::usage(format!("cannot write {}: {}", path.display(), reason(error)))
}

/// Where a command writes that replaces what is there: a file once it is whole, or at once what is no file, such as a pipe.
pub(crate) enum Place {
    File(NamedTempFile, PathBuf),
    Other(File),
}

impl Place {
    pub(crate) fn new(path: &Path) -> Result<Place, Failure> {
        if path.exists() && !path.is_file() {
            return File::create(path).map(Place::Other).map_err(|error| cannot_write(path, &error));
        }
        // A link stays, and what it leads to is replaced.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.into());
        Ok(Place::File(unfinished(&path)?, path))
    }

    /// All is written.
    pub(crate) fn end(self) -> Result<(), Failure> {
        match self {
            Place::File(file, path) => file.persist(&path).map(drop).map_err(|error| cannot_write(&path, &error.error)),
            Place::Other(_) => Ok(()),
        }
    }
}

impl Write for &Place {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Place::File(file, _) => file.as_file().write(bytes),
            Place::Other(file) => { file }.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Place::File(file, _) => file.as_file().flush(),
            Place::Other(file) => { file }.flush(),
        }
    }
}
