//! Documents from files and from servers, by their addresses.
//!
//! | | home |
//! |---|---|
//! | what an address means, and which ones may be followed | [`place`] |
//! | one request to a server | [`http`] |
//! | documents on disk, which servers confirm | [`cache`] |

mod cache;
mod http;
mod place;

use crate::declaration::Declarations;
use crate::documents::{Loader, MAX_BYTES};
use crate::front::Language;
use crate::overlay::Overlay;
use cache::Cache;
use isoform_core::{Code, Error, Result};
use place::Place;
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
    language: Option<Language>,
    overlay: Option<PathBuf>,
    client: http::Client,
    /// What the caller has named, and when all of it must be there.
    start: Option<(Place, Instant)>,
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
            language: None,
            overlay: None,
            client,
            start: None,
        }
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
        let name = place.name();
        let text = self.load(&name)?;
        let declarations = Declarations::read(language, &name, &text, self)?;
        match &self.overlay {
            None => Ok(declarations),
            Some(file) => Overlay::read(file)?.over(declarations),
        }
    }

    fn is_allowed(&self, place: &Place) -> Result<()> {
        match &self.start {
            Some((start, _)) => place.check(start, &self.allowed),
            None => Ok(()),
        }
    }

    fn get(&self, url: &str) -> Result<String> {
        let end = self.start.as_ref().map_or_else(|| Instant::now() + self.deadline, |(_, end)| *end);
        let kept = self.cache.as_ref().and_then(|cache| cache.find(url));
        let check = |place: &Place| self.is_allowed(place);
        match self.client.get(url, kept.as_ref(), end, &check) {
            Ok(http::Answer::New(document)) => {
                if let Some(cache) = &self.cache {
                    cache.keep(url, &document);
                }
                Ok(document.text)
            }
            Ok(http::Answer::Same) => kept.map(|document| document.text).ok_or_else(|| Error::new(Code::Io).at(url)),
            // Whoever has the document needs no server.
            Err(error) if matches!(error.code(), Code::Io | Code::Deadline) => {
                kept.map(|document| document.text).ok_or(error)
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
        match place {
            Place::File(path) => read(&path),
            Place::Url(url) => self.get(url.as_str()),
        }
    }
}

/// The text of a file. What is no file, such as a pipe that nobody writes, is refused without a wait.
fn read(path: &Path) -> Result<String> {
    let fault = |found: &dyn std::fmt::Display| Error::new(Code::Source).at(path.display().to_string()).found(found);
    let about = std::fs::metadata(path).map_err(|error| fault(&error))?;
    if !about.is_file() {
        return Err(fault(&"no file").expected("a file"));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| fault(&error))?;
    file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(|error| fault(&error))?;
    text_of(bytes).map_err(|error| error.at(path.display().to_string()))
}

/// The text of a document's bytes, which are UTF-8.
fn text_of(bytes: Vec<u8>) -> Result<String> {
    if bytes.len() > MAX_BYTES {
        return Err(Error::new(Code::MessageSize).expected(format_args!("at most {MAX_BYTES} bytes")));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)),
        Err(error) => Err(Error::new(Code::Text)
            .expected("UTF-8")
            .found(format_args!("byte {}", error.utf8_error().valid_up_to()))),
    }
}
