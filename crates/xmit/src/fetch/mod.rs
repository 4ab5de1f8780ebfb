//! Documents from files and from servers, by their addresses.
//!
//! | | home |
//! |---|---|
//! | what an address means, and which ones may be followed | [`place`] |
//! | one request to a server | [`http`] |
//! | documents on disk, which servers confirm | [`cache`] |
//! | telling a program that a document has changed | [`watch`] |

mod cache;
mod http;
mod place;
mod watch;

pub use watch::{Watch, WatchedRecord, Watching};

use crate::declaration::Declarations;
use crate::documents::{Loader, MAX_BYTES};
use crate::front::Language;
use crate::overlay::Overlay;
use cache::Cache;
use isoform_core::{Code, Error, Result};
use place::Place;
use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Gets documents from files and from HTTP servers.
///
/// The caller names one document. It may bring in others
///
/// - from files, if it is a file itself;
/// - from its own server: the same scheme, host and port;
/// - from the hosts that the caller allows ([`Fetcher::allow`]).
///
/// Redirects keep to the same rules. A name that the system resolves to an address of this machine, or to a link-local address,
/// is refused, unless it is `localhost` or the caller allows it.
///
/// ```no_run
/// use isoform_core::Layout;
/// use isoform_xmit::Fetcher;
/// let river = Fetcher::new().cache("/var/cache/river").declarations("http://schemas:8000/river.xsd")?;
/// let format = river.bind("Gauge", &Layout::NATIVE)?;
/// # Ok::<(), isoform_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Fetcher {
    allowed: Vec<Box<str>>,
    cache: Option<Cache>,
    deadline: Duration,
    bytes: usize,
    redirects: usize,
    /// All if there are none.
    schemes: Vec<Box<str>>,
    language: Option<Language>,
    overlay: Option<PathBuf>,
    client: http::Client,
    /// The bytes that documents may still have.
    left: usize,
    /// What a watch knows of the documents.
    watched: Option<Watched>,
    /// What the caller has named, and when all of it must be there.
    start: Option<(Place, Instant)>,
    /// Why servers were not asked whether documents of the cache have changed.
    unasked: Vec<Error>,
}

/// What a watch knows of documents.
#[derive(Debug, Default)]
struct Watched {
    /// Those of servers, which are asked whether they have changed.
    kept: HashMap<String, http::Document>,
    /// Of all names and texts.
    hash: blake3::Hasher,
}

impl Watched {
    fn note(&mut self, name: &str, text: &str) {
        for part in [name, text] {
            self.hash.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
        }
    }
}

impl Default for Fetcher {
    fn default() -> Fetcher {
        Fetcher::new()
    }
}

impl Fetcher {
    /// Creates a fetcher without a cache, which allows no hosts beyond that of the document itself, and waits 10 seconds at most.
    pub fn new() -> Fetcher {
        let client = http::Client::default();
        Fetcher {
            allowed: Vec::new(),
            cache: None,
            deadline: Duration::from_secs(10),
            bytes: MAX_BYTES,
            redirects: 5,
            schemes: Vec::new(),
            language: None,
            overlay: None,
            client,
            left: MAX_BYTES,
            watched: None,
            start: None,
            unasked: Vec::new(),
        }
    }

    /// Why servers could not be asked whether documents have changed that the cache had: they were taken as they were. At most one error
    /// for each document.
    pub fn unasked(&self) -> &[Error] {
        &self.unasked
    }

    /// Lets documents bring in others from a host: `schemas.example`, or `schemas.example:8000` for one port.
    pub fn allow(mut self, host: &str) -> Fetcher {
        self.allowed.push(host.to_ascii_lowercase().into());
        self.client.trust(&self.allowed);
        self
    }

    /// Keeps documents in a folder, which is made if there is none. The next time, servers are only asked whether they have changed;
    /// while a server cannot be reached, the documents in the folder are used. A folder that cannot be written is no failure.
    pub fn cache(mut self, folder: impl Into<PathBuf>) -> Fetcher {
        self.cache = Some(Cache::new(folder.into()));
        self
    }

    /// Sets the time that a document may take, with those that it brings in.
    pub fn deadline(mut self, deadline: Duration) -> Fetcher {
        self.deadline = deadline;
        self
    }

    /// Sets how many bytes all documents together may have. More than 16 MiB are never read.
    pub fn limit(mut self, bytes: usize) -> Fetcher {
        self.bytes = bytes.min(MAX_BYTES);
        self
    }

    /// Sets how many redirects are followed for one document; without it, 5.
    pub fn redirects(mut self, most: usize) -> Fetcher {
        self.redirects = most;
        self
    }

    /// Sets the schemes of documents, such as `https` and `file`, also for redirects. Without it, `file`, `http` and `https` are allowed.
    ///
    /// ```
    /// use isoform_core::Code;
    /// let mut fetcher = isoform_xmit::Fetcher::new().schemes(&["https"]);
    /// assert_eq!(fetcher.declarations("http://127.0.0.1/river.xsd").unwrap_err().code(), Code::Forbidden);
    /// ```
    pub fn schemes(mut self, schemes: &[&str]) -> Fetcher {
        self.schemes = schemes.iter().map(|scheme| scheme.to_ascii_lowercase().into()).collect();
        self
    }

    /// Sets the language of documents. Without it, the extension of a place tells; other extensions are XML Schema.
    pub fn language(mut self, language: Language) -> Fetcher {
        self.language = Some(language);
        self
    }

    /// Changes what documents declare by an overlay in a file ([`Overlay`]), which is read each time.
    pub fn overlay(mut self, file: impl Into<PathBuf>) -> Fetcher {
        self.overlay = Some(file.into());
        self
    }

    /// The declarations of the document at a place: a path, or a URL with `file:`, `http:` or `https:`.
    ///
    /// # Errors
    /// [`Code::Source`] for a place that does not exist, [`Code::Forbidden`] for one that is not allowed, [`Code::Io`] for a server or file that cannot be
    /// read, [`Code::Deadline`]; and as [`Declarations::from_xsd`], [`Overlay::parse`] and [`Overlay::over`].
    pub fn declarations(&mut self, place: &str) -> Result<Declarations> {
        let language = self.language.or_else(|| Language::of_place(place)).unwrap_or(Language::XmlSchema);
        let place = Place::parse(place)?;
        self.start = Some((place.clone(), Instant::now() + self.deadline));
        self.unasked.clear();
        self.left = self.bytes;
        let name = place.name();
        let text = self.load(&name)?;
        let declarations = Declarations::read(language, &name, &text, self)?;
        match &self.overlay {
            None => Ok(declarations),
            Some(file) => {
                let (name, text) = Overlay::text_of(file)?;
                if let Some(watched) = &mut self.watched {
                    watched.note(&name, &text);
                }
                Overlay::parse(&name, &text)?.over(declarations)
            }
        }
    }

    fn is_allowed(&self, place: &Place) -> Result<()> {
        if !self.schemes.is_empty() && !self.schemes.contains(&place.scheme().into()) {
            let expected = format!("a place with one of the schemes {}", self.schemes.join(", "));
            return Err(Error::new(Code::Forbidden).expected(expected).found(place.name()));
        }
        match &self.start {
            Some((start, _)) => place.check(start, &self.allowed),
            None => Ok(()),
        }
    }

    fn get(&mut self, url: &str) -> Result<String> {
        let end = self.start.as_ref().map_or_else(|| Instant::now() + self.deadline, |(_, end)| *end);
        let kept = self.cache.as_ref().and_then(|cache| cache.find(url));
        let kept = kept.or_else(|| self.watched.as_ref()?.kept.get(url).cloned());
        let check = |place: &Place| self.is_allowed(place);
        let limits = http::Limits { end, bytes: self.left, redirects: self.redirects };
        match self.client.get(url, kept.as_ref(), limits, &check) {
            Ok(http::Answer::New(document)) => {
                if let Some(cache) = &self.cache {
                    cache.keep(url, &document);
                }
                if let Some(watched) = &mut self.watched {
                    watched.kept.insert(url.to_owned(), document.clone());
                }
                Ok(document.text)
            }
            Ok(http::Answer::Same) => kept.map(|document| document.text).ok_or_else(|| Error::new(Code::Io).at(url)),
            // Whoever has the document needs no server. Whoever asks whether it has changed does.
            Err(error) if matches!(error.code(), Code::Io | Code::Deadline) && self.watched.is_none() => {
                let document = kept.ok_or_else(|| error.clone())?;
                self.unasked.push(error);
                Ok(document.text)
            }
            Err(error) => Err(error),
        }
    }
}

impl Loader for Fetcher {
    fn locate(&mut self, base: &str, location: &str) -> Result<String> {
        let place = Place::parse(base)?.join(location)?;
        self.is_allowed(&place).map_err(|error| error.at(base))?;
        Ok(place.name())
    }

    fn load(&mut self, name: &str) -> Result<String> {
        let place = Place::parse(name)?;
        self.is_allowed(&place)?;
        let text = match place {
            Place::File(path) => read(&path, self.left)?,
            Place::Url(url) => self.get(url.as_str())?,
        };
        let too_large = || {
            let error = Error::new(Code::MessageSize).at(name);
            error.expected(format_args!("documents of at most {} bytes together", self.bytes))
        };
        self.left = self.left.checked_sub(text.len()).ok_or_else(too_large)?;
        if let Some(watched) = &mut self.watched {
            watched.note(name, &text);
        }
        Ok(text)
    }
}

/// The text of a file. What is no file, such as a pipe that nobody writes, is refused without a wait.
fn read(path: &Path, most: usize) -> Result<String> {
    let fault = |found: &dyn std::fmt::Display| Error::new(Code::Source).at(path.display().to_string()).found(found);
    let about = std::fs::metadata(path).map_err(|error| fault(&error))?;
    if !about.is_file() {
        return Err(fault(&"no file").expected("a file"));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| fault(&error))?;
    file.take(most as u64 + 1).read_to_end(&mut bytes).map_err(|error| fault(&error))?;
    text_of(bytes, most).map_err(|error| error.at(path.display().to_string()))
}

/// The text of a document's bytes, which are UTF-8.
fn text_of(bytes: Vec<u8>, most: usize) -> Result<String> {
    if bytes.len() > most {
        return Err(Error::new(Code::MessageSize).expected(format_args!("at most {most} bytes")));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)),
        Err(error) => Err(Error::new(Code::Text)
            .expected("UTF-8")
            .found(format_args!("byte {}", error.utf8_error().valid_up_to()))),
    }
}
