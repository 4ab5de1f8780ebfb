//! The formats that are known here, by token, and where to ask for others.
//!
//! A [`Registry`] learns formats from descriptions: those that arrive in a stream or over a link, and those that a
//! [`Resolver`] finds. Formats that the program [registers](Registry::register) stay. The learned ones are bounded, so
//! that no peer can fill the memory with descriptions.
//!
//! `table` holds what all clones of a registry share, [`recent`](Recent) what one clone has looked up before.

mod recent;
mod table;
#[cfg(test)]
mod tests;

pub use recent::Recent;

use crate::format::Admitted;
use crate::{Code, Error, Format, Limits, Result, Token};
use portable_atomic::{AtomicU64, Ordering};
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use table::{Entry, Table, length, same};

/// Somewhere to ask for the description of a format that is not known here: a format service, a folder, a table.
pub trait Resolver: Send + Sync {
    /// The description bytes of the format of this token. Nobody has to trust them: they are checked against the token.
    ///
    /// # Errors
    /// [`Error::unknown_format`] if there is none, [`Code::Io`] if it could not be asked.
    fn resolve(&self, token: Token) -> Result<Vec<u8>>;
}

/// The formats that are known here. Cheap to clone: clones share what they know, also between threads.
///
/// Each clone remembers where it has found formats, so that [`lookup`](Registry::lookup) takes no lock: let every thread
/// have one of its own, and keep it.
///
/// ```
/// # use isoform_core::{ByteOrder, Element, Field, Format, Machine, Structure};
/// # let machine = Machine { order: ByteOrder::Big, pointer: 4 };
/// # let depth = Field {
/// #     name: "depth".into(), element: Element::Integer { signed: true, size: 4 }, dims: [].into(),
/// #     indirect: false, offset: 0, unit: None,
/// # };
/// # let format = Format::new(Structure::new("Gauge", machine, 4, 4, vec![depth])?.into())?;
/// use isoform_core::Registry;
/// let mut registry = Registry::new();
/// assert_eq!(registry.lookup(format.token()).unwrap_err().token(), Some(format.token()));
/// let learned = registry.learn(format.description().as_bytes())?;
/// assert_eq!(learned.name(), "Gauge");
/// assert_eq!(registry.lookup(format.token())?, &format);
/// # Ok::<(), isoform_core::Error>(())
/// ```
#[derive(Default)]
pub struct Registry {
    shared: Arc<Shared>,
    /// What this clone has looked up: never more than `shared` keeps, but for the last one.
    recent: Recent<Arc<Entry>>,
    /// What the descriptions of those have together.
    bytes: usize,
}

#[derive(Default)]
struct Shared {
    limits: Limits,
    table: RwLock<Table>,
    /// Counts the descriptions that came, by twos: what is used before the next one comes is used at the odd time between.
    /// So it can be told which formats have not been used for longest, and using one most often writes nothing.
    clock: AtomicU64,
    resolver: RwLock<Option<Arc<dyn Resolver>>>,
}

/// Where a clone of a [`Registry`] holds the format that it [located](Registry::locate) last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Located(usize);

impl Registry {
    /// A registry that knows nothing yet.
    pub fn new() -> Registry {
        Registry::default()
    }

    /// The same, with limits for what is learned, and for the messages that are read with it. Registered formats have
    /// none. A registry that keeps less than the default may forget a format that a writer takes to be known, whose
    /// messages are then refused.
    pub fn within(limits: Limits) -> Registry {
        Registry { shared: Arc::new(Shared { limits, ..Shared::default() }), ..Registry::default() }
    }

    /// What is put up with.
    #[inline]
    pub fn limits(&self) -> &Limits {
        &self.shared.limits
    }

    /// Asks `resolver` from now on for formats that are not known here.
    pub fn set_resolver(&self, resolver: impl Resolver + 'static) {
        *self.shared.resolver.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(resolver));
    }

    /// Makes a format of this program known for good.
    ///
    /// # Errors
    /// [`Code::TokenMismatch`] if another description is known under its token.
    pub fn register(&self, format: &Format) -> Result<()> {
        self.write().register(format)
    }

    /// The format of these description bytes, known from now on. A format that is known already is not parsed again.
    ///
    /// # Errors
    /// As [`Format::parse_within`]; [`Code::TokenMismatch`] if another description is known under its token.
    pub fn learn(&self, description: &[u8]) -> Result<Format> {
        let admitted = Admitted::new(description, self.limits())?;
        self.entry(admitted).map(|entry| entry.format.clone())
    }

    /// The format of a token: from what is known here, else by asking the [resolver](Registry::set_resolver), which may
    /// take its time.
    ///
    /// # Errors
    /// [`Error::unknown_format`]; [`Code::TokenMismatch`] if the resolver answers with another format's description;
    /// whatever the resolver reports.
    #[inline(always)]
    pub fn lookup(&mut self, token: Token) -> Result<&Format> {
        self.locate(token).map(|located| self.at(located))
    }

    /// The format of a token if it is known here, without asking anyone.
    pub fn known(&self, token: Token) -> Option<Format> {
        self.find(token).map(|entry| entry.format.clone())
    }

    /// Every format that is known here, by name.
    pub fn formats(&self) -> Vec<Format> {
        let mut formats: Vec<Format> = self.read().entries.values().map(|entry| entry.format.clone()).collect();
        formats.sort_by(|a, b| a.name().cmp(b.name()).then(a.token().cmp(&b.token())));
        formats
    }

    /// As [`lookup`](Registry::lookup), for a caller that goes on to use this registry before it uses the format.
    ///
    /// # Errors
    /// As [`lookup`](Registry::lookup).
    #[inline(always)]
    pub fn locate(&mut self, token: Token) -> Result<Located> {
        match self.recent(token) {
            Some(located) => Ok(located),
            None => self.look_further(token),
        }
    }

    /// Locates a format that this clone has looked up before, unless it has been forgotten since. Takes no lock.
    #[inline(always)]
    pub fn recent(&mut self, token: Token) -> Option<Located> {
        let place = self.recent.find(token)?;
        self.recent.at(place).is_used(&self.shared.clock).then_some(Located(place))
    }

    /// The format that was located last.
    ///
    /// # Panics
    /// It may panic, or answer with another format, if this clone has located one since, or another clone `located` it.
    #[inline]
    pub fn at(&self, located: Located) -> &Format {
        &self.recent.at(located.0).format
    }

    /// As `lookup`, of a format that is not a recent one.
    #[cold]
    fn look_further(&mut self, token: Token) -> Result<Located> {
        let entry = match self.find(token) {
            Some(entry) => entry,
            None => self.ask(token)?,
        };
        if let Some(place) = self.recent.find(token) {
            *self.recent.at_mut(place) = entry;
            return Ok(Located(place));
        }
        let (limits, length) = (self.shared.limits, length(&entry.format));
        if self.recent.len() >= limits.formats || self.bytes + length > limits.registry {
            self.recent.clear();
            self.bytes = 0;
        }
        self.bytes += length;
        Ok(Located(self.recent.push(token, entry)))
    }

    fn find(&self, token: Token) -> Option<Arc<Entry>> {
        self.read().entries.get(&token).filter(|entry| entry.is_used(&self.shared.clock)).cloned()
    }

    fn ask(&self, token: Token) -> Result<Arc<Entry>> {
        let resolver = self.shared.resolver.read().unwrap_or_else(PoisonError::into_inner).clone();
        let description = resolver.ok_or_else(|| Error::unknown_format(token))?.resolve(token)?;
        let admitted = Admitted::new(&description, self.limits())?;
        if admitted.token() != token {
            return Err(Error::new(Code::TokenMismatch).expected(token).came(admitted.token()));
        }
        self.entry(admitted)
    }

    /// The entry of a description, which is parsed unless it is known.
    fn entry(&self, admitted: Admitted<'_>) -> Result<Arc<Entry>> {
        let now = self.shared.clock.fetch_add(2, Ordering::Relaxed) + 2;
        if let Some(known) = self.find(admitted.token()) {
            same(&known, admitted.bytes())?;
            return Ok(known);
        }
        let format = admitted.parse()?;
        Ok(self.write().learned(format, now, self.limits()))
    }

    fn read(&self) -> RwLockReadGuard<'_, Table> {
        self.shared.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Table> {
        self.shared.table.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Another one that knows the same.
impl Clone for Registry {
    fn clone(&self) -> Registry {
        Registry { shared: self.shared.clone(), ..Registry::default() }
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.formats()).finish()
    }
}
