//! Tells a program that a document has changed. The fetcher loads the document, and asks servers only whether it has changed.

use super::{Fetcher, Watched};
use crate::declaration::Declarations;
use isoform_core::{Format, Layout, Result};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A document that a program looks at again while it runs. It starts no thread: the program asks now and then, and servers are asked
/// at most as often as the interval says, and only whether the document has changed.
///
/// ```
/// use isoform_xmit::{Fetcher, Watch};
/// use std::time::Duration;
/// # let folder = tempfile::tempdir().unwrap();
/// # let place = folder.path().join("gauge.idl");
/// std::fs::write(&place, "struct Gauge { double level; };").unwrap();
/// let mut watch = Watch::new(Fetcher::new(), place.to_str().unwrap(), Duration::from_secs(60));
/// let now = watch.poll().expect("the first one")?;
/// assert_eq!(now.shape("Gauge")?.to_string(), "record Gauge\n  level  f64\n");
/// std::fs::write(&place, "struct Gauge { double level; long count; };").unwrap();
/// assert!(watch.poll().is_none()); // for a minute
/// let later = watch.check().expect("it has changed")?;
/// assert_eq!(later.get("Gauge")?.fields.len(), 2);
/// assert!(watch.check().is_none());
/// # Ok::<(), isoform_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Watch {
    fetcher: Fetcher,
    place: String,
    every: Duration,
    next: Option<Instant>,
    last: Last,
}

/// What the program was told last.
#[derive(Debug, PartialEq)]
enum Last {
    Nothing,
    Documents(blake3::Hash),
    Error(String),
}

impl Watch {
    /// Watches the document at a place, with those that it brings in and the overlay of the fetcher. `every` is the time between two looks.
    pub fn new(mut fetcher: Fetcher, place: &str, every: Duration) -> Watch {
        fetcher.watched = Some(Watched::default());
        Watch { fetcher, place: place.into(), every, next: None, last: Last::Nothing }
    }

    /// Looks at the document if it is time: `None` if it is not, or if nothing has changed. The first time, it has the document as it is. An
    /// error is told once; what comes after an error is told, even if it is as before the error. A cache does not stand in for a server that
    /// cannot be reached. The call takes as long as the deadline of the fetcher at most.
    pub fn poll(&mut self) -> Option<Result<Declarations>> {
        match self.due().is_zero() {
            true => self.check(),
            false => None,
        }
    }

    /// Looks at the document now, as when a program was told that it has changed. Otherwise as [`Watch::poll`].
    pub fn check(&mut self) -> Option<Result<Declarations>> {
        let found = self.fetcher.declarations(&self.place);
        self.next = Instant::now().checked_add(self.every);
        let watched = self.fetcher.watched.get_or_insert_default();
        let hash = std::mem::take(&mut watched.hash).finalize();
        let now = match &found {
            Err(error) => Last::Error(error.to_string()),
            Ok(_) => Last::Documents(hash),
        };
        let is_new = now != self.last;
        self.last = now;
        is_new.then_some(found)
    }

    /// The time until [`Watch::poll`] looks again, for programs that wait for several things.
    pub fn due(&self) -> Duration {
        self.next.map_or(Duration::ZERO, |next| next.saturating_duration_since(Instant::now()))
    }

    /// Watches one record of the document, laid out for a kind of machine.
    pub fn record(self, name: &str, layout: &Layout) -> WatchedRecord {
        WatchedRecord { watch: self, name: name.into(), layout: *layout, known: None }
    }

    /// Starts a thread that looks at the document, and calls a function with each change and each error. It ends when the result is dropped.
    ///
    /// ```
    /// # use isoform_xmit::{Fetcher, Watch};
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let place = folder.path().join("gauge.idl");
    /// # std::fs::write(&place, "struct Gauge { double level; };").unwrap();
    /// let watch = Watch::new(Fetcher::new(), place.to_str().unwrap(), std::time::Duration::from_millis(1));
    /// let (changes, changed) = std::sync::mpsc::channel();
    /// let watching = watch.spawn(move |change| _ = changes.send(change))?;
    /// assert_eq!(changed.recv().unwrap()?.names().collect::<Vec<_>>(), ["Gauge"]);
    /// std::fs::write(&place, "struct Level { double level; };").unwrap();
    /// # loop { // a look at the file may come between its two writes
    /// # let Ok(now) = changed.recv().unwrap() else { continue };
    /// # if now.names().collect::<Vec<_>>() == ["Level"] { break }
    /// # }
    /// drop(watching);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The error of the system if it starts no thread.
    pub fn spawn(mut self, mut then: impl FnMut(Result<Declarations>) + Send + 'static) -> std::io::Result<Watching> {
        Watching::start(move || {
            if let Some(change) = self.poll() {
                then(change);
            }
            self.due()
        })
    }
}

/// A record of a watched document ([`Watch::record`]). A program is told of a new format, or of new defaults or aliases for it, and not of
/// changes that leave them as they are.
///
/// ```
/// use isoform_core::Layout;
/// use isoform_xmit::{Fetcher, Watch};
/// # let folder = tempfile::tempdir().unwrap();
/// # let place = folder.path().join("gauge.idl");
/// std::fs::write(&place, "struct Gauge { double level; };").unwrap();
/// let watch = Watch::new(Fetcher::new(), place.to_str().unwrap(), std::time::Duration::ZERO);
/// let mut gauge = watch.record("Gauge", &Layout::NATIVE);
/// assert_eq!(gauge.poll().expect("the first one")?.size(), 8);
/// std::fs::write(&place, "struct Gauge { double level; }; // of the Elbe").unwrap();
/// assert!(gauge.poll().is_none());
/// std::fs::write(&place, "struct Gauge { double level; double flow; };").unwrap();
/// assert_eq!(gauge.poll().expect("it has changed")?.size(), 16);
/// # Ok::<(), isoform_core::Error>(())
/// ```
#[derive(Debug)]
pub struct WatchedRecord {
    watch: Watch,
    name: String,
    layout: Layout,
    /// What was told last, unless an error came after it.
    known: Option<Known>,
}

/// A format with the defaults and aliases for it, and all else that the document declares.
#[derive(Debug)]
struct Known {
    format: Format,
    rules: [Vec<(String, String, String)>; 2],
    declarations: Declarations,
}

impl WatchedRecord {
    /// As [`Watch::poll`], for the format of the record.
    pub fn poll(&mut self) -> Option<Result<Format>> {
        let change = self.watch.poll();
        self.told(change)
    }

    /// As [`Watch::check`], for the format of the record.
    pub fn check(&mut self) -> Option<Result<Format>> {
        let change = self.watch.check();
        self.told(change)
    }

    /// As [`Watch::due`].
    pub fn due(&self) -> Duration {
        self.watch.due()
    }

    /// What the document declared when a format was last told: the defaults of the record, above all. `None` after an error.
    ///
    /// ```
    /// # use isoform_core::Layout;
    /// # use isoform_xmit::{Fetcher, Watch};
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let place = folder.path().join("gauge.json");
    /// # let schema = |level| format!(r#"{{"title": "Gauge", "type": "object", "required": ["level"],
    /// #   "properties": {{"level": {{"type": "number", "default": {level}}}}}}}"#);
    /// # std::fs::write(&place, schema(1.5)).unwrap();
    /// let mut gauge = Watch::new(Fetcher::new(), place.to_str().unwrap(), std::time::Duration::ZERO).record("Gauge", &Layout::NATIVE);
    /// let format = gauge.poll().expect("the first one")?;
    /// let rules = gauge.declarations().expect("there is no error").rules("Gauge")?;
    /// # std::fs::write(&place, schema(2.5)).unwrap();
    /// # assert_eq!(gauge.poll().expect("it has another default")?.token(), format.token());
    /// # assert_ne!(gauge.declarations().unwrap().rules("Gauge")?, rules);
    /// # Ok::<(), isoform_core::Error>(())
    /// ```
    pub fn declarations(&self) -> Option<&Declarations> {
        self.known.as_ref().map(|known| &known.declarations)
    }

    /// Starts a thread that calls a function with each new format and what the document declares with it, and with each error. It ends when the
    /// result is dropped.
    ///
    /// ```
    /// # use isoform_core::Layout;
    /// # use isoform_xmit::{Fetcher, Watch};
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let place = folder.path().join("gauge.idl");
    /// # std::fs::write(&place, "struct Gauge { double level; };").unwrap();
    /// let gauge = Watch::new(Fetcher::new(), place.to_str().unwrap(), std::time::Duration::from_secs(60)).record("Gauge", &Layout::NATIVE);
    /// let (formats, changed) = std::sync::mpsc::channel();
    /// let watching = gauge.spawn(move |found| _ = formats.send(found.map(|(format, _)| format.clone())))?;
    /// assert_eq!(changed.recv()??.size(), 8);
    /// drop(watching);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The error of the system if it starts no thread.
    pub fn spawn(
        mut self,
        mut then: impl FnMut(Result<(&Format, &Declarations)>) + Send + 'static,
    ) -> std::io::Result<Watching> {
        Watching::start(move || {
            match (self.poll(), &self.known) {
                (Some(Err(error)), _) => then(Err(error)),
                (Some(Ok(_)), Some(known)) => then(Ok((&known.format, &known.declarations))),
                _ => {}
            }
            self.due()
        })
    }

    fn told(&mut self, change: Option<Result<Declarations>>) -> Option<Result<Format>> {
        let before = self.known.take();
        let Some(change) = change else {
            self.known = before;
            return None;
        };
        let now = change.and_then(|declarations| {
            let rules = [declarations.defaults(&self.name)?, declarations.aliases(&self.name)?];
            Ok(Known { format: declarations.bind(&self.name, &self.layout)?, rules, declarations })
        });
        match now {
            Err(error) => Some(Err(error)),
            Ok(now) => {
                let is_same = |before: Known| before.format == now.format && before.rules == now.rules;
                let is_new = !before.is_some_and(is_same);
                let format = now.format.clone();
                self.known = Some(now);
                is_new.then_some(Ok(format))
            }
        }
    }
}

/// A thread that watches a document ([`Watch::spawn`]). Dropping it ends the thread, which may still finish a request, without waiting for it.
#[derive(Debug)]
pub struct Watching {
    shared: Arc<(Mutex<bool>, Condvar)>,
    _thread: JoinHandle<()>,
}

impl Watching {
    /// Calls a function now, and again each time that it says.
    fn start(mut look: impl FnMut() -> Duration + Send + 'static) -> std::io::Result<Watching> {
        let shared = Arc::new((Mutex::new(false), Condvar::new()));
        let theirs = shared.clone();
        let run = move || {
            let (ended, told) = &*theirs;
            loop {
                let due = look();
                let ended = ended.lock().unwrap_or_else(PoisonError::into_inner);
                let wait = told.wait_timeout_while(ended, due, |ended| !*ended);
                if *wait.unwrap_or_else(PoisonError::into_inner).0 {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("isoform-watch".into()).spawn(run)?;
        Ok(Watching { shared, _thread: thread })
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        *self.shared.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.shared.1.notify_all();
    }
}
