//! The shared keys of a node: where they come from.
//!
//! Programs of one user find each other by a key in a file that only this user can read. The first program makes it. The
//! variable `ISOFORM_KEY` takes its place where there is no such file, as in containers, and where several users share one
//! key. This module alone reads the environment; see `docs/adr/0027-closed-by-default.md`.

use super::nonce::nonce;
use crate::transport::system;
#[cfg(feature = "tls")]
use crate::transport::tls::Tls;
use isoform::{Code, Error, Result};
use isoform_channel_proto::SharedKey;
use std::ffi::OsString;
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// The variable with a key.
const VARIABLE: &str = "ISOFORM_KEY";
/// The variable with the file of a certificate.
#[cfg(feature = "tls")]
const IDENTITY: &str = "ISOFORM_IDENTITY";
/// The file in a folder of the user's.
const NAME: &str = "key";
const RULES: &str = "rules";
const RUNNING: &str = "emitting";
/// How often several processes may collide. Each time, one of them has succeeded.
const TRIES: u32 = 100;

/// A new shared key, of the system's random bytes.
///
/// ```
/// use isoform_channel::{Node, new_key};
/// // Anybody with this id may join, also another user of this machine.
/// let key = new_key()?;
/// let node = Node::builder().key(key.clone()).build()?;
/// let channel = node.create_with("river", None)?;
/// let id = channel.id().with_key(*key.secret());
/// # Ok::<(), isoform::Error>(())
/// ```
///
/// # Errors
/// [`Code::Io`] if the system has no random bytes.
pub fn new_key() -> Result<SharedKey> {
    Ok(SharedKey::new(nonce()?))
}

/// The keys of this user.
#[derive(Default)]
pub(super) struct Keys {
    /// That of the variable, which several users may share.
    pub(super) given: Option<SharedKey>,
    /// That of the file, which nobody but this user can read. It is made if there is no variable either.
    pub(super) own: Option<SharedKey>,
}

/// The keys of this user.
pub(super) fn of_this_user() -> Result<Keys> {
    of(&Surroundings::here())
}

/// The file where nodes of this user look for rules, if the user has a folder for it.
pub(super) fn rules() -> Option<PathBuf> {
    Surroundings::here().folders.into_iter().next().map(|folder| folder.join(RULES))
}

/// A folder for what this user's programs tell each other while they run, on this machine; `None` if there is none.
///
/// # Errors
/// If a folder cannot be made, or others can change it.
pub(super) fn of_running_programs() -> io::Result<Option<PathBuf>> {
    let mut failed = None;
    for folder in system::others() {
        match system::make_folder(&folder) {
            Ok(true) => {
                let folder = folder.join(RUNNING);
                system::make_folder(&folder)?;
                return Ok(Some(folder));
            }
            Ok(false) => failed = Some(io::Error::other(format!("others can change {}", folder.display()))),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(None), Err)
}

#[cfg(feature = "tls")]
impl Tls {
    /// What a node has unless its program says otherwise: the user's certificate, whether it is there or not, and the user's
    /// list of revoked ones. `isoform keys` makes both. `ISOFORM_IDENTITY` names another file for the certificate.
    pub fn of_this_user() -> Tls {
        let usual = Surroundings::here().configuration.as_deref().map(Tls::within).unwrap_or_default();
        match std::env::var_os(IDENTITY) {
            Some(own) => usual.certificate(own),
            None => usual,
        }
    }

    /// The folder of the user's configuration where nodes look for a certificate, if the user has a home. It need not be
    /// there yet.
    pub fn folder() -> Option<PathBuf> {
        Surroundings::here().configuration
    }
}

/// What the process was given.
struct Surroundings {
    variable: Option<OsString>,
    /// The folder for configuration, if the user has a home.
    #[cfg(feature = "tls")]
    configuration: Option<PathBuf>,
    /// Folders for configuration, the best first. The last one is for this machine only.
    folders: Vec<PathBuf>,
}

impl Surroundings {
    fn here() -> Surroundings {
        let config = system::configuration().map(|folder| folder.join("isoform"));
        let folders = config.clone().into_iter().chain(system::others()).collect();
        Surroundings {
            variable: std::env::var_os(VARIABLE),
            #[cfg(feature = "tls")]
            configuration: config,
            folders,
        }
    }
}

fn of(around: &Surroundings) -> Result<Keys> {
    if let Some(variable) = &around.variable {
        let text = variable.to_str().ok_or_else(|| Error::new(Code::Address).expected("64 hexadecimal digits"));
        let key = text.and_then(|text| text.trim().parse()).map_err(|error: Error| error.within(VARIABLE))?;
        // The file is not needed, but programs without the variable have that one.
        let own = around.folders.first().and_then(|folder| read(&folder.join(NAME)).ok().flatten());
        return Ok(Keys { given: Some(key), own });
    }
    let mut why = None;
    for folder in &around.folders {
        let path = folder.join(NAME);
        match in_folder(folder) {
            Ok(key) => return Ok(Keys { given: None, own: Some(key) }),
            // A home that is not there, or that cannot be written to.
            Err(Failure::Unusable(error)) => {
                why.get_or_insert(io_error(&path, "making a file for the shared key", &error));
            }
            Err(Failure::Wrong(error)) => return Err(error.expected(format_args!(
                "a file of 64 hexadecimal digits that belongs to this user and that nobody else can read, or a key in {VARIABLE}"
            )).at(path.display().to_string())),
        }
    }
    let why = why.unwrap_or_else(|| Error::new(Code::Io));
    Err(why.expected(format_args!("a folder for the shared key that this user can write to, or a key in {VARIABLE}")))
}

enum Failure {
    /// Nothing can be stored in the folder.
    Unusable(io::Error),
    /// There is something that must not be used.
    Wrong(Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Unusable(error)
    }
}

/// The key in a folder, which is made if it is not there.
fn in_folder(folder: &Path) -> Result<SharedKey, Failure> {
    let path = folder.join(NAME);
    for _ in 0..TRIES {
        if let Some(key) = read(&path)? {
            return Ok(key);
        }
        make(folder, &path)?;
    }
    Err(io::Error::other("other programs remove it again and again").into())
}

/// Reads a key; `None` if there is none.
fn read(path: &Path) -> Result<Option<SharedKey>, Failure> {
    let file = match system::to_read().open(path) {
        // A new key could not take this name.
        Err(error) if error.kind() == ErrorKind::NotFound && path.is_symlink() => {
            return Err(wrong("a symbolic link to a file that does not exist"));
        }
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == ErrorKind::PermissionDenied && path.symlink_metadata().is_ok() => {
            return Err(wrong("one that this user cannot read"));
        }
        opened => opened?,
    };
    let about = file.metadata()?;
    if let Some(found) = system::is_exposed(&about) {
        return Err(wrong(found));
    }
    let mut text = String::new();
    if !about.is_file() || file.take(100).read_to_string(&mut text).is_err() {
        return Err(wrong("something else"));
    }
    match text.trim().parse() {
        Ok(key) => Ok(Some(key)),
        Err(_) => Err(wrong("other text")),
    }
}

fn wrong(found: &str) -> Failure {
    Failure::Wrong(Error::new(Code::Io).found(found))
}

/// Makes a key. Of several processes that do so at once, all use what the first has made.
fn make(folder: &Path, path: &Path) -> Result<(), Failure> {
    if !system::make_folder(folder)? {
        return Err(wrong("a folder that others can change"));
    }
    let key = new_key().map_err(Failure::Wrong)?;
    let number: [u8; 8] = nonce().map_err(Failure::Wrong)?;
    let unfinished = folder.join(format!(".{NAME}-{:016x}", u64::from_ne_bytes(number)));
    let mut file = system::to_make().open(&unfinished)?;
    let written = file.write_all(format!("{}\n", key.to_hex()).as_bytes()).and_then(|()| file.sync_all());
    let named = written.and_then(|()| name(&unfinished, path));
    // It is gone if it was renamed.
    _ = std::fs::remove_file(&unfinished);
    match named {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        named => Ok(named?),
    }
}

/// Gives a finished file its name, unless there is one.
fn name(unfinished: &Path, path: &Path) -> io::Result<()> {
    match std::fs::hard_link(unfinished, path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => system::rename(unfinished, path),
        linked => linked,
    }
}

fn io_error(path: &Path, what: &str, error: &io::Error) -> Error {
    Error::new(Code::Io).at(path.display().to_string()).found(format_args!("{what}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;
    use std::sync::Barrier;

    fn around(folders: &[&Path], variable: Option<&str>) -> Surroundings {
        Surroundings {
            #[cfg(feature = "tls")]
            configuration: None,
            variable: variable.map(Into::into),
            folders: folders.iter().map(|folder| folder.to_path_buf()).collect(),
        }
    }

    fn all(around: &Surroundings) -> Result<Vec<SharedKey>> {
        of(around).map(|Keys { given, own }| given.into_iter().chain(own).collect())
    }

    #[test]
    fn a_key_is_made_once_and_only_its_user_can_read_it() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("a/b/isoform");
        let [first] = &all(&around(&[&folder], None)).unwrap()[..] else { panic!("one key") };
        assert_eq!(all(&around(&[&folder], None)).unwrap(), std::slice::from_ref(first));
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder.join("key")), mode(&folder)), (0o600, 0o700));
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "nothing unfinished is left");
        let text = std::fs::read_to_string(folder.join("key")).unwrap();
        assert_eq!(text, format!("{}\n", first.to_hex()));
    }

    #[test]
    fn programs_that_start_at_once_have_the_same_key() {
        for _ in 0..50 {
            let home = tempfile::tempdir().unwrap();
            let (folder, barrier) = (home.path().join("isoform"), Barrier::new(4));
            let start = || {
                barrier.wait();
                all(&around(&[&folder], None)).unwrap()
            };
            let keys: Vec<_> = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..4).map(|_| scope.spawn(start)).collect();
                threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
            });
            assert!(keys.len() == 4 && keys.iter().all(|key| *key == keys[0]), "{keys:?}");
        }
    }

    #[test]
    #[allow(clippy::print_stdout, reason = "to say that a part is skipped")]
    fn a_file_that_others_could_have_seen_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("key");
        let refused = || {
            let error = all(&around(&[home.path()], None)).unwrap_err();
            assert!(error.code() == Code::Io && error.to_string().contains(VARIABLE), "{error}");
            error.actual().to_owned()
        };
        let key = new_key().unwrap();
        for (mode, text) in [(0o640, key.to_hex()), (0o602, key.to_hex()), (0o600, "x".into()), (0o600, String::new())]
        {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let expected = if mode == 0o600 { "other text" } else { "one that others can read" };
            assert!(refused().starts_with(expected), "{mode:o}");
        }
        // With the variable, nobody needs the file.
        let keys = all(&around(&[home.path()], Some(&key.to_hex()))).unwrap();
        assert_eq!(keys, [key]);
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&path, Some(65_534), None).unwrap();
            assert!(refused().contains("somebody else"));
        } else {
            println!("skipped: only the administrator can give files away");
        }
    }

    #[test]
    fn a_symbolic_link_to_nothing_is_refused_and_one_to_a_key_is_followed() {
        let home = tempfile::tempdir().unwrap();
        let (folder, elsewhere) = (home.path().join("isoform"), home.path().join("elsewhere"));
        std::fs::create_dir(&folder).unwrap();
        std::os::unix::fs::symlink(elsewhere.join("key"), folder.join("key")).unwrap();
        let error = all(&around(&[&folder], None)).unwrap_err();
        assert_eq!((error.code(), error.actual()), (Code::Io, "a symbolic link to a file that does not exist"));
        assert_eq!(error.path(), folder.join("key").to_str().unwrap());
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "nothing is made beside the link");
        let keys = all(&around(&[&elsewhere], None)).unwrap();
        assert_eq!(all(&around(&[&folder], None)).unwrap(), keys);
    }

    #[test]
    fn a_folder_that_somebody_else_has_put_into_a_shared_one_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let (shared, elsewhere) = (home.path().join("shared"), home.path().join("elsewhere"));
        for folder in [&shared, &elsewhere] {
            std::fs::create_dir(folder).unwrap();
            std::fs::set_permissions(folder, Permissions::from_mode(0o777)).unwrap();
        }
        let folder = shared.join("isoform");
        let refused = || all(&around(&[&folder], None)).unwrap_err().actual() == "a folder that others can change";
        std::os::unix::fs::symlink(&elsewhere, &folder).unwrap();
        assert!(refused(), "a symbolic link");
        std::fs::remove_file(&folder).unwrap();
        std::fs::create_dir(&folder).unwrap();
        std::fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
        assert!(refused(), "a folder that others can change");
        std::fs::remove_dir(&folder).unwrap();
        all(&around(&[&folder], None)).unwrap();
    }

    #[test]
    fn where_no_home_is_the_next_folder_serves() {
        let home = tempfile::tempdir().unwrap();
        let (file, next) = (home.path().join("file"), home.path().join("next"));
        std::fs::write(&file, "").unwrap();
        let missing = file.join(".config/isoform");
        let keys = all(&around(&[&missing, &next], None)).unwrap();
        assert_eq!(keys, all(&around(&[&next], None)).unwrap());
        let error = all(&around(&[&missing], None)).unwrap_err();
        assert!(error.to_string().contains("making a file for the shared key"), "{error}");
        assert!(error.expectation().contains(VARIABLE), "{error}");
    }

    #[test]
    fn a_key_in_the_variable_comes_first_and_makes_no_file() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("isoform");
        let key = new_key().unwrap();
        let with = around(&[&folder], Some(&format!(" {} ", key.to_hex())));
        assert_eq!(all(&with).unwrap(), std::slice::from_ref(&key));
        assert!(!folder.exists());
        let [stored] = &all(&around(&[&folder], None)).unwrap()[..] else { panic!("one key") };
        assert_eq!(all(&with).unwrap(), [key.clone(), stored.clone()], "that of programs without the variable, too");
        let Keys { given, own } = of(&with).unwrap();
        assert_eq!(
            (given, own.as_ref()),
            (Some(key), Some(stored)),
            "only what no other user can read is the own user's"
        );
        let error = all(&around(&[&folder], Some("secret"))).unwrap_err();
        assert_eq!(error.to_string(), "not an address at ISOFORM_KEY: expected 64 hexadecimal digits, found 6 bytes");
    }
}
