//! Descriptions in a folder, one file for each, which programs share (`spec/service.md`, "The cache on disk").

use super::checked;
use super::file::open;
use super::servers::shown;
use isoform_core::MAX_DESCRIPTION;
use isoform_core::{Error, Resolver, Result, Token};
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A folder with a file for each description, named by its token. Any number of programs may use it at the same time.
///
/// Torn and changed files are noticed by their token and removed. A folder that cannot be read or written is an empty
/// cache, and not an error.
///
/// ```
/// use isoform_core::{Layout, Shape};
/// use isoform_service::Cache;
/// let folder = tempfile::tempdir()?;
/// let cache = Cache::new(folder.path());
/// let gauge = Shape::new("Gauge").field("depth", "float").on(&Layout::NATIVE)?;
/// assert_eq!(cache.get(gauge.token()), None);
/// assert!(cache.put(gauge.token(), gauge.description().as_bytes()));
/// assert_eq!(cache.get(gauge.token()).as_deref(), Some(gauge.description().as_bytes()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// The cache in this folder, which is made with the first description.
    pub fn new(folder: impl Into<PathBuf>) -> Cache {
        Cache { folder: folder.into() }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The description of a token, if it is there and whole.
    pub fn get(&self, token: Token) -> Option<Vec<u8>> {
        let path = self.folder.join(token.to_string());
        let bytes = read(&path).ok()?;
        match checked(token, bytes) {
            Ok(description) => Some(description),
            Err(_) => {
                // Another program may have put a whole file in its place meanwhile. Then that one is written again.
                _ = fs::remove_file(&path);
                None
            }
        }
    }

    /// Stores a description, if it is that of the token. Returns whether it is stored now.
    pub fn put(&self, token: Token, description: &[u8]) -> bool {
        Token::of(description) == token && write(&self.folder, &token.to_string(), description).is_ok()
    }

    /// Notes that the server at this URL has stored the format of a token. If it cannot be noted, nothing is lost: a later program
    /// needs the server.
    pub(super) fn note(&self, token: Token, url: &str) {
        _ = write(&self.folder, &note(token, url), &[]);
    }

    /// Whether that was noted.
    pub(super) fn is_noted(&self, token: Token, url: &str) -> bool {
        self.folder.join(note(token, url)).is_file()
    }
}

/// The name of the empty file that says that a server has stored a format. The URL is there as a hash, without user and password.
fn note(token: Token, url: &str) -> String {
    format!("{token}.{}", Token::of(shown(url).as_bytes()))
}

/// Writes a file under another name and then renames it, so that a reader finds all of it or nothing.
pub(super) fn write(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    fs::create_dir_all(folder)?;
    let unfinished = folder.join(format!(".{name}.{}.{number}", std::process::id()));
    let write = || {
        let mut file = OpenOptions::new().write(true).create_new(true).open(&unfinished)?;
        file.write_all(bytes)?;
        fs::rename(&unfinished, folder.join(name))
    };
    write().inspect_err(|error| {
        // The file of a program of the same number that ended before it was done is removed here too.
        if error.kind() != io::ErrorKind::NotFound {
            _ = fs::remove_file(&unfinished);
        }
    })
}

/// The bytes of a file, of which no more are read than a description can have.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(MAX_DESCRIPTION as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl Resolver for Cache {
    fn resolve(&self, token: Token) -> Result<Vec<u8>> {
        self.get(token).ok_or_else(|| Error::unknown_format(token))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isoform_core::{Layout, Shape};

    fn gauge() -> (Token, Vec<u8>) {
        let gauge = Shape::new("Gauge").field("depth", "float").on(&Layout::NATIVE).unwrap();
        (gauge.token(), gauge.description().as_bytes().to_vec())
    }

    #[test]
    fn torn_changed_and_foreign_files_are_noticed_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path());
        let (token, description) = gauge();
        let path = folder.path().join(token.to_string());
        let mut changed = description.clone();
        *changed.last_mut().unwrap() ^= 1;
        for bytes in [&description[..3], &changed, &[], &vec![7; MAX_DESCRIPTION + 5]] {
            fs::write(&path, bytes).unwrap();
            assert_eq!(cache.get(token), None);
            assert!(!path.exists());
            assert!(cache.put(token, &description));
            assert_eq!(cache.get(token), Some(description.clone()));
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing unfinished is left");
        assert!(!cache.put(Token::from_bytes([7; 16]), &description));
    }

    #[test]
    fn a_folder_that_cannot_be_used_is_an_empty_cache() {
        let folder = tempfile::tempdir().unwrap();
        let (token, description) = gauge();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let cache = Cache::new(file.join("cache"));
        assert!(!cache.put(token, &description));
        assert_eq!(cache.get(token), None);
        // A folder where the file should be can neither be read nor replaced.
        let cache = Cache::new(folder.path());
        fs::create_dir_all(folder.path().join(token.to_string()).join("x")).unwrap();
        assert!(!cache.put(token, &description));
        assert_eq!(cache.get(token), None);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing unfinished is left");
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_in_place_of_a_file_keeps_nobody_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path());
        let (token, description) = gauge();
        let path = folder.path().join(token.to_string());
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        assert_eq!(cache.get(token), None);
        assert!(cache.put(token, &description));
        assert_eq!(cache.get(token), Some(description));
        std::os::unix::fs::symlink("/dev/zero", folder.path().join(Token::ZERO.to_string())).unwrap();
        assert_eq!(cache.get(Token::ZERO), None);
    }

    #[test]
    fn programs_share_a_cache() {
        let folder = tempfile::tempdir().unwrap();
        let (token, description) = gauge();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let cache = Cache::new(folder.path());
                    for _ in 0..200 {
                        assert!(cache.put(token, &description));
                        assert_eq!(cache.get(token), Some(description.clone()), "never torn");
                    }
                });
            }
        });
    }
}
