//! What a server keeps: formats, and names with their versions. Everything is on disk before it is acknowledged.
//!
//! | table | what |
//! |---|---|
//! | `formats` | by token: the whole hash of the description, and the description |
//! | `order` | by sequence: the tokens, in the order in which they came |
//! | `by_name`, `by_field` | the tokens of formats with this name, and with a field of this name |
//! | `copies`, `copy_of` | by peer, and by token: the formats that were copied from peers, in the order of their use |
//! | `named` | by token: the names that have a version with this format, which stays |
//! | `names` | by name: its rule, versions and prose, as JSON |
//! | `changed` | by sequence: the names, in the order of their last change |
//! | `numbers` | the last sequences; for each peer, up to where this store has everything |
//! | `texts` | the id of this store; for each peer, the id of its store |

mod copies;
mod formats;
mod names;
#[cfg(test)]
mod tests;

pub use copies::Copied;
pub use formats::{Found, Stored};
pub(crate) use names::is_dots;
pub use names::{Name, NameChange, NameSummary, NumberedVersion, Prose};

use isoform_core::{Code, Error, Result, Token};
use redb::{
    Database, DatabaseError, MultimapTableDefinition, ReadOnlyTable, ReadTransaction, ReadableDatabase, ReadableTable,
    ReadableTableMetadata, StorageError, TableDefinition, TransactionError, WriteTransaction,
};
use std::collections::HashSet;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

/// How often a database is opened anew, 10 ms apart, while others have not yet left the old one.
const REOPENINGS: usize = 200;

const FORMATS: TableDefinition<'_, &[u8; 16], &[u8]> = TableDefinition::new("formats");
const ORDER: TableDefinition<'_, u64, &[u8; 16]> = TableDefinition::new("order");
const BY_NAME: MultimapTableDefinition<'_, &str, &[u8; 16]> = MultimapTableDefinition::new("by_name");
const BY_FIELD: MultimapTableDefinition<'_, &str, &[u8; 16]> = MultimapTableDefinition::new("by_field");
const NAMED: MultimapTableDefinition<'_, &[u8; 16], &str> = MultimapTableDefinition::new("named");
const NAMES: TableDefinition<'_, &str, &str> = TableDefinition::new("names");
const CHANGED: TableDefinition<'_, u64, &str> = TableDefinition::new("changed");
const NUMBERS: TableDefinition<'_, &str, u64> = TableDefinition::new("numbers");
const TEXTS: TableDefinition<'_, &str, &str> = TableDefinition::new("texts");

/// Formats and names on disk. All functions block; changes wait for the disk.
///
/// ```
/// use isoform_core::{Layout, Shape};
/// use isoform_service::store::{Quota, Store};
/// let folder = tempfile::tempdir()?;
/// let store = Store::open(&folder.path().join("formats.redb"), Quota::default())?;
/// let gauge = Shape::new("Gauge").field("depth", "float").on(&Layout::NATIVE)?;
/// assert!(store.put(&gauge)?.is_new);
/// assert_eq!(store.get(gauge.token())?.as_deref(), Some(gauge.description().as_bytes()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Store {
    /// The descriptions as they were after some change: opening a table costs as much as looking into it. A format never changes, so
    /// what is there is right, and what is not may have come since. The last change drops it, so that its pages can be used again.
    view: Mutex<Option<Arc<View>>>,
    /// None while it is opened anew.
    database: RwLock<Option<Database>>,
    /// The file of the database, unless it has none.
    file: Option<PathBuf>,
    quota: Quota,
    id: String,
    /// Whether formats may have been copied from peers, and those that clients have asked for since the last ones came.
    has_copies: AtomicBool,
    used: Mutex<HashSet<Token>>,
}

type View = ReadOnlyTable<&'static [u8; 16], &'static [u8]>;

/// The most that a store holds. What is beyond it is refused with [`Code::Budget`]. Nothing is removed but formats that were copied from
/// peers: they give way to others ([`Store::put_copies`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Formats.
    pub formats: u64,
    /// Names.
    pub names: u64,
    /// Versions of one name.
    pub versions: usize,
    /// Bytes of the rule, versions and prose of one name, as JSON.
    pub name_bytes: usize,
}

impl Default for Quota {
    /// A million formats, 100,000 names, 1,000 versions of a name, 4 MiB for a name.
    fn default() -> Quota {
        Quota { formats: 1_000_000, names: 100_000, versions: 1_000, name_bytes: 4 << 20 }
    }
}

impl Store {
    /// Opens the store in this file, which is made if it is not there.
    ///
    /// # Errors
    /// [`Code::Taken`] if another process uses it; [`Code::Io`] if it cannot be used, or is damaged.
    pub fn open(file: &Path, quota: Quota) -> Result<Store> {
        let told = format!("to open the store {}", file.display());
        let damaged = |found: &dyn std::fmt::Display| {
            let found =
                format_args!("a damaged file, or another program's: restore a backup, or name another file ({found})");
            Error::new(Code::Io).expected(&told).found(found)
        };
        let cannot = |error: DatabaseError| match error {
            DatabaseError::DatabaseAlreadyOpen => Error::new(Code::Taken).expected(&told).found(error),
            DatabaseError::Storage(StorageError::Corrupted(_)) | DatabaseError::UpgradeRequired(_) => damaged(&error),
            // The file ends too early, or does not begin as a database does.
            DatabaseError::Storage(StorageError::Io(ref cause))
                if matches!(cause.kind(), ErrorKind::InvalidData | ErrorKind::UnexpectedEof) =>
            {
                damaged(&error)
            }
            _ => Error::new(Code::Io).expected(&told).found(error),
        };
        let opened = unless_it_panics(|| Store::of(database(file).map_err(cannot)?, quota));
        let store = opened.unwrap_or_else(|panic| Err(damaged(&panic)))?;
        Ok(Store { file: Some(file.into()), ..store })
    }

    /// A store in memory, which ends with the process: for tests.
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn in_memory(quota: Quota) -> Result<Store> {
        let backend = redb::backends::InMemoryBackend::new();
        Store::of(Database::builder().set_cache_size(1 << 20).create_with_backend(backend).map_err(failed)?, quota)
    }

    fn of(database: Database, quota: Quota) -> Result<Store> {
        let write = database.begin_write().map_err(failed)?;
        write.open_table(FORMATS).map_err(failed)?;
        write.open_table(ORDER).map_err(failed)?;
        write.open_multimap_table(BY_NAME).map_err(failed)?;
        write.open_multimap_table(BY_FIELD).map_err(failed)?;
        write.open_table(copies::COPIES).map_err(failed)?;
        let has_copies = !write.open_table(copies::COPY_OF).map_err(failed)?.is_empty().map_err(failed)?;
        write.open_table(NAMES).map_err(failed)?;
        write.open_table(CHANGED).map_err(failed)?;
        write.open_table(NUMBERS).map_err(failed)?;
        names::fill_named(&write)?;
        let id = {
            let mut texts = write.open_table(TEXTS).map_err(failed)?;
            let known = texts.get("id").map_err(failed)?.map(|id| id.value().to_owned());
            match known {
                Some(id) => id,
                None => {
                    let id = new_id()?;
                    texts.insert("id", &*id).map_err(failed)?;
                    id
                }
            }
        };
        write.commit().map_err(failed)?;
        Ok(Store {
            view: Mutex::default(),
            database: RwLock::new(Some(database)),
            file: None,
            quota,
            id,
            has_copies: AtomicBool::new(has_copies),
            used: Mutex::default(),
        })
    }

    /// The id of this store, 32 hexadecimal digits. Replicas learn from it that a store was replaced.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The most that it holds.
    pub fn quota(&self) -> Quota {
        self.quota
    }

    /// Up to where this store has everything that a peer has: the id of the peer's store, and the number.
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn progress(&self, peer: &str) -> Result<(String, u64)> {
        let read = self.begin_read()?;
        let id = read.open_table(TEXTS).map_err(failed)?.get(peer).map_err(failed)?;
        let number = read.open_table(NUMBERS).map_err(failed)?.get(peer).map_err(failed)?;
        Ok((id.map_or(String::new(), |id| id.value().into()), number.map_or(0, |number| number.value())))
    }

    /// Notes that this store has everything that a peer has, up to this number.
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn set_progress(&self, peer: &str, id: &str, number: u64) -> Result<()> {
        self.healed(self.set_progress_at_once(peer, id, number))
    }

    fn set_progress_at_once(&self, peer: &str, id: &str, number: u64) -> Result<()> {
        let write = self.begin_write()?;
        write.open_table(TEXTS).map_err(failed)?.insert(peer, id).map_err(failed)?;
        write.open_table(NUMBERS).map_err(failed)?.insert(peer, number).map_err(failed)?;
        self.commit(write)
    }

    fn begin_read(&self) -> Result<ReadTransaction> {
        match &*self.database.read().unwrap_or_else(PoisonError::into_inner) {
            Some(database) => database.begin_read().map_err(failed),
            None => Err(away()),
        }
    }

    fn begin_write(&self) -> Result<WriteTransaction> {
        match &*self.database.read().unwrap_or_else(PoisonError::into_inner) {
            Some(database) => database.begin_write().map_err(failed),
            None => Err(away()),
        }
    }

    /// What came of a change. After an error of the disk, such as that it is full, the database answers nothing any more, not even
    /// what it has. Then it is opened anew.
    fn healed<T>(&self, changed: Result<T>) -> Result<T> {
        if let (Err(error), Some(file)) = (&changed, &self.file)
            && matches!(error.code(), Code::Io | Code::Budget)
        {
            self.heal(file);
        }
        changed
    }

    fn heal(&self, file: &Path) {
        let mut standing = self.database.write().unwrap_or_else(PoisonError::into_inner);
        let has_failed = |database: &Database| {
            matches!(database.begin_write(), Err(TransactionError::Storage(StorageError::PreviousIo)))
        };
        if standing.as_ref().is_some_and(|database| !has_failed(database)) {
            return;
        }
        (*standing, *self.view()) = (None, None);
        // Others may still read from the old one, which has the file as long.
        for _ in 0..REOPENINGS {
            match database(file) {
                Err(DatabaseError::DatabaseAlreadyOpen) => std::thread::sleep(Duration::from_millis(10)),
                opened => {
                    *standing = opened.ok();
                    return;
                }
            }
        }
    }

    /// Returns when the changes are on disk.
    fn commit(&self, write: WriteTransaction) -> Result<()> {
        let committed = write.commit().map_err(failed);
        *self.view() = None;
        committed
    }

    fn view(&self) -> MutexGuard<'_, Option<Arc<View>>> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("id", &self.id).field("quota", &self.quota).finish_non_exhaustive()
    }
}

/// 16 random bytes as hexadecimal digits.
fn new_id() -> Result<String> {
    let mut bytes = [0; 16];
    rustls::crypto::ring::default_provider()
        .secure_random
        .fill(&mut bytes)
        .map_err(|_| Error::new(Code::Io).expected("random bytes"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// What work comes to, or what it says when it panics: the database trusts its file, and panics if that is damaged.
pub(crate) fn unless_it_panics<T>(work: impl FnOnce() -> T) -> std::result::Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        text.unwrap_or("no reason was told").to_owned()
    })
}

/// The error that comes of a panic, which most often is that of the database.
pub(crate) fn panicked(found: String) -> Error {
    Error::new(Code::Io)
        .expected("a store without damage: restore a backup, or report a defect of isoform")
        .found(found)
}

/// Opens the database in a file.
fn database(file: &Path) -> std::result::Result<Database, DatabaseError> {
    Database::builder().set_cache_size(64 << 20).create(file)
}

/// While the database is opened anew.
fn away() -> Error {
    Error::new(Code::Io)
        .expected("to read or write the store")
        .found("it could not be opened again after an error of the disk")
}

/// An error of the database. A full disk is a budget that is used up.
fn failed(error: impl Into<redb::Error>) -> Error {
    let error = error.into();
    use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    let is_full = |error: &std::io::Error| matches!(error.kind(), StorageFull | FileTooLarge | QuotaExceeded);
    let is_full = matches!(&error, redb::Error::Io(error) if is_full(error));
    let code = if is_full { Code::Budget } else { Code::Io };
    Error::new(code).expected("to read or write the store").found(error)
}
