//! Lets others listen to what a program [emits](isoform::emit!): each name of emitted records is a channel. Names of
//! channels have no `/`: records of `river/step` are on the channel `river.step`.
//!
//! A program starts it by one line. It has one node for all of its channels. Other programs of the same user find the channels without being
//! told: on Unix, their ids are in a file that is there as long as the program runs, which [`running`] reads, and the command
//! `isoform emitting`. Nobody pays for channels to which nobody listens.
//!
//! ```
//! use isoform::Messages;
//! use isoform_channel::{Event, Node, emitting};
//!
//! // In the program that is watched: one line at its start, and one for each place.
//! let emitting = emitting::start("river")?;
//! let emit = |step: i32| isoform::emit!("step", step, depth in "m" = [0.5, 0.25]);
//! emit(0); // the first time it tells that there is such a channel
//!
//! // Somebody listens, perhaps in another process.
//! let id = emitting.ids()[0].to_string();
//! let mut sink = Node::new()?.open(&id)?.sink_builder().build::<Messages>()?;
//! emitting.wait_for_sinks("step", 1, std::time::Duration::from_secs(5))?;
//! emit(1);
//! loop {
//!     if let Event::Record { record, .. } = sink.recv()? {
//!         assert_eq!(record.view()?.i64("step")?, 1);
//!         break;
//!     }
//! }
//! # Ok::<(), isoform::Error>(())
//! ```
//!
//! **Forked processes** emit nothing, until they start emitting themselves. Each rank of an MPI program is a process of its own, with its own
//! node and file: give each its own name (`river.3`), and listen to those that you want.

use super::channel::Channel;
use super::id::ChannelId;
use super::keys;
use super::node::Node;
use crate::end::source::Source;
use crate::transport::system;
use isoform::Messages;
use isoform::emit::{self, Numbers, Outlet};
use isoform::{Code, Error, Result, Shared};
use isoform_channel_proto::Unheard;
use std::collections::BTreeMap;
use std::fmt;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long sinks have to take the last records when a program ends.
const PARTING: Duration = Duration::from_secs(1);
/// The most that is read of a file with ids.
const LONGEST: u64 = 1 << 20;

/// Emitted records are submitted to channels until this is dropped. Then sinks have a second to take the last of them.
pub struct Emitting {
    channels: Arc<Channels>,
    process: u32,
}

/// A program that emits records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The name that it has given to [`start`].
    pub name: String,
    /// The number of its process.
    pub process: u32,
    /// The ids of its channels.
    pub ids: Vec<String>,
}

/// Submits what this process [emits](isoform::emit!) to channels of a node of its own, on this machine. `name` is what
/// [`running`] calls the program.
///
/// # Errors
/// [`Code::Address`] if the name is empty or longer than 100 bytes, or has other characters than letters, digits, `.`, `_` and `-`, or begins with
/// a dot; [`Code::Taken`] if this process emits already; those of [`Node::new`]; [`Code::Io`] if the file of ids cannot be made.
pub fn start(name: &str) -> Result<Emitting> {
    start_on(Node::new()?, name)
}

/// The same with a node of the program.
///
/// # Errors
/// As [`start`].
pub fn start_on(node: Node, name: &str) -> Result<Emitting> {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '.' | '_' | '-');
    if !(1..=100).contains(&name.len()) || name.starts_with('.') || !name.chars().all(is_plain) {
        let error = Error::new(Code::Address).expected("a name of letters, digits, '.', '_' and '-'");
        return Err(error.found(format_args!("{name:?}")));
    }
    let mut emits = lock_emits();
    if let Some((_, other)) = emits.as_ref().filter(|(process, _)| *process == std::process::id()) {
        let error = Error::new(Code::Taken).at(name).expected("a process that emits nothing yet");
        return Err(error.found(format_args!("that it emits as {other}")));
    }
    let note = Note::new(name).map_err(|error| Error::new(Code::Io).at("emitting").found(error))?;
    let channels = Arc::new(Channels { node, note, open: Mutex::default(), refused: Mutex::default() });
    emit::set_outlet(Some(channels.clone()));
    let process = std::process::id();
    *emits = Some((process, name.into()));
    Ok(Emitting { channels, process })
}

/// The process that emits, and its name. A forked one has that of its parent.
static EMITS: Mutex<Option<(u32, String)>> = Mutex::new(None);

fn lock_emits() -> std::sync::MutexGuard<'static, Option<(u32, String)>> {
    EMITS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The programs of this user that emit records on this machine now, by name and process.
///
/// # Errors
/// [`Code::Io`].
pub fn running() -> Result<Vec<Program>> {
    let io = |error: io::Error| Error::new(Code::Io).at("emitting").found(error);
    let Some(folder) = keys::of_running_programs().map_err(io)? else { return Ok(Vec::new()) };
    let mut programs = Vec::new();
    for entry in folder.read_dir().map_err(io)? {
        let path = entry.map_err(io)?.path();
        let file_name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some((name, process)) = file_name.rsplit_once('.') else { continue };
        let Ok(process) = process.parse() else { continue };
        // A program may end at any time.
        let Ok(Some(ids)) = ids(&path) else { continue };
        programs.push(Program { name: name.into(), process, ids });
    }
    programs.sort_by(|a, b| (&a.name, a.process).cmp(&(&b.name, b.process)));
    Ok(programs)
}

/// The ids in a file. If its program has ended without removing it, it is removed, and there are none.
fn ids(path: &Path) -> io::Result<Option<Vec<String>>> {
    let mut file = system::to_read().open(path)?;
    let about = file.metadata()?;
    if !about.is_file() || system::is_exposed(&about).is_some() {
        // Whoever can write it could lead the listener to another program.
        return Ok(None);
    }
    match file.try_lock_shared() {
        Ok(()) => {
            std::fs::remove_file(path)?;
            return Ok(None);
        }
        Err(TryLockError::WouldBlock) => {}
        Err(TryLockError::Error(error)) => return Err(error),
    }
    let mut text = String::new();
    Read::by_ref(&mut file).take(LONGEST).read_to_string(&mut text)?;
    // A line is there as a whole with its end.
    let end = text.rfind('\n').map_or(0, |at| at + 1);
    Ok(Some(text[..end].lines().map(Into::into).collect()))
}

impl Emitting {
    /// The ids of the channels whose places have run so far, each once: `river/step` and `river.step` share one.
    pub fn ids(&self) -> Vec<ChannelId> {
        let open = self.channels.open();
        let channels: BTreeMap<&str, &Channel> =
            open.values().map(|open| (open.channel.name(), &open.channel)).collect();
        channels.into_values().map(Channel::id).collect()
    }

    /// The node that has the channels.
    pub fn node(&self) -> &Node {
        &self.channels.node
    }

    /// Waits until `count` sinks listen to the records of this name.
    ///
    /// # Errors
    /// [`Code::NoSuchChannel`] if no place has emitted records of this name; [`Code::Deadline`].
    pub fn wait_for_sinks(&self, name: &str, count: usize, patience: Duration) -> Result<()> {
        let source = self.channels.open().get(name).map(|open| open.source.clone());
        let source = source.ok_or_else(|| Error::new(Code::NoSuchChannel).at(name))?;
        source.lock().unwrap_or_else(PoisonError::into_inner).wait_for_sinks(count, patience)
    }
}

impl Drop for Emitting {
    fn drop(&mut self) {
        // A forked process has inherited it: what it stands for belongs to the parent.
        if self.process != std::process::id() {
            return;
        }
        let mut emits = lock_emits();
        self.channels.open().values().for_each(|open| open.numbers.let_go());
        emit::set_outlet(None);
        self.channels.note.remove();
        *emits = None;
        drop(emits);
        for (_, Open { source, .. }) in std::mem::take(&mut *self.channels.open()) {
            // A thread that has it yet ends it when it is done.
            if let Ok(source) = Arc::try_unwrap(source) {
                _ = source.into_inner().unwrap_or_else(PoisonError::into_inner).close(PARTING);
            }
        }
    }
}

/// The channels of one process.
struct Channels {
    node: Node,
    note: Note,
    open: Mutex<BTreeMap<&'static str, Open>>,
    /// Names without a channel, and why.
    refused: Mutex<BTreeMap<&'static str, Error>>,
}

struct Open {
    channel: Channel,
    source: Arc<Mutex<Source<Messages>>>,
    numbers: Arc<OfName>,
}

/// The numbers of a name, for as long as its records go to this source: later, they may go to another one.
#[derive(Debug)]
struct OfName(Mutex<Arc<Numbers>>);

impl OfName {
    fn lock(&self) -> std::sync::MutexGuard<'_, Arc<Numbers>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the source still says is not about the numbers of the name any more.
    fn let_go(&self) {
        *self.lock() = Arc::default();
    }
}

impl Unheard for OfName {
    fn hear(&self) -> u64 {
        self.lock().hear()
    }

    fn rest(&self, next: u64) {
        self.lock().rest(next);
    }

    fn next(&self) -> u64 {
        self.lock().next()
    }
}

impl Channels {
    fn open(&self) -> std::sync::MutexGuard<'_, BTreeMap<&'static str, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn refused(&self) -> std::sync::MutexGuard<'_, BTreeMap<&'static str, Error>> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, name: &'static str, numbers: &Arc<Numbers>) -> Result<()> {
        let channel_name = name.replace('/', ".");
        // Whoever hears the source at once emits to it once it is there.
        let mut all = self.open();
        let there = all.values().find(|open| open.channel.name() == channel_name).map(|open| open.channel.clone());
        let is_new = there.is_none();
        let channel = there.map_or_else(|| self.node.create_with(&channel_name, None), Ok)?;
        let of_name = Arc::new(OfName(Mutex::new(numbers.clone())));
        let source = Source::numbered(channel.member(), numbers.clone(), of_name.clone())?;
        if is_new {
            self.note.add(&channel.id());
        }
        all.insert(name, Open { channel, source: Arc::new(Mutex::new(source)), numbers: of_name });
        Ok(())
    }
}

impl Outlet for Channels {
    fn open(&self, name: &'static str, numbers: &Arc<Numbers>) {
        if let Err(error) = self.add(name, numbers) {
            // No channel can have this name, for instance. Each record fails as if somebody listened, so that it is counted, and the place learns why.
            self.refused().insert(name, error);
            numbers.hear();
        }
    }

    fn take(&self, name: &'static str, record: Shared) -> Result<()> {
        let Some(source) = self.open().get(name).map(|open| open.source.clone()) else {
            let refused = self.refused().get(name).cloned();
            // Or this process has stopped emitting meanwhile.
            return Err(refused.unwrap_or_else(|| Error::new(Code::Closed).at(name)));
        };
        let mut source = source.lock().unwrap_or_else(PoisonError::into_inner);
        source.submit_shared(record).map(drop)
    }
}

/// The file with the ids of a program. It is locked as long as the program runs.
struct Note(Option<(PathBuf, File)>);

impl Note {
    fn new(name: &str) -> io::Result<Note> {
        let Some(folder) = keys::of_running_programs()? else { return Ok(Note(None)) };
        let path = folder.join(format!("{name}.{}", std::process::id()));
        // It has its name once it is locked: others take away what nobody has locked.
        let unlocked = folder.join(format!(".{name}.{}.new", std::process::id()));
        _ = std::fs::remove_file(&unlocked);
        let file = system::to_make().open(&unlocked)?;
        file.lock()?;
        // In the place of that of a process that had the same number, or of this one when it emitted before.
        std::fs::rename(&unlocked, &path)?;
        Ok(Note(Some((path, file))))
    }

    fn add(&self, id: &ChannelId) {
        if let Some((_, file)) = &self.0 {
            // Whoever has the id can listen without the file.
            _ = (&*file).write_all(format!("{id}\n").as_bytes());
        }
    }

    fn remove(&self) {
        if let Some((path, _)) = &self.0 {
            _ = std::fs::remove_file(path);
        }
    }
}

impl fmt::Debug for Emitting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.channels.open().keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_nobody_has_locked_is_of_a_program_that_has_ended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("river.7");
        std::fs::write(&path, "iso://127.0.0.1:7000/a\niso://127.0.0.1:7000/b\niso://127.0").unwrap();
        #[cfg(unix)]
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let file = File::options().append(true).open(&path).unwrap();
        file.lock().unwrap();
        let whole = ["iso://127.0.0.1:7000/a", "iso://127.0.0.1:7000/b"].map(String::from);
        assert_eq!(ids(&path).unwrap().unwrap(), whole);
        drop(file);
        assert_eq!(ids(&path).unwrap(), None);
        assert!(!path.exists());
    }

    #[cfg(unix)]
    #[test]
    fn what_is_not_this_users_file_is_no_program() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("river.7");
        std::fs::write(&path, "iso://127.0.0.1:7000/a\n").unwrap();
        let file = File::options().append(true).open(&path).unwrap();
        file.lock().unwrap();
        // One that others can write may name channels of theirs.
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o622)).unwrap();
        assert_eq!(ids(&path).unwrap(), None);
        assert!(path.exists());
        // A pipe, which would let it wait for ever.
        let pipe = folder.path().join("river.8");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert_eq!(ids(&pipe).unwrap(), None);
    }

    #[test]
    fn names_are_those_of_files() {
        for name in ["", ".hidden", "a/b", "with space", &"x".repeat(101)] {
            assert_eq!(start(name).unwrap_err().code(), Code::Address, "{name}");
        }
    }
}
