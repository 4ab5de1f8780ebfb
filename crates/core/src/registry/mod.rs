//! The known formats, by token, and resolvers for unknown ones.
//!
//! A [`Registry`] learns formats from descriptions: those that arrive in a stream or over a link, and those that a
//! [`Resolver`] finds. Formats that the program [registers](Registry::register) stay. The number of learned ones is
//! bounded, so that no peer can fill the memory with descriptions.
//!
//! All clones of a registry share its `table`; [`recent`](Recent) has the formats that one clone has looked up.

mod recent;
mod table;
#[cfg(test)]
mod tests;

pub use recent::Recent;

use crate::format::Admitted;
use crate::message::Locators;
use crate::{Code, Error, Format, Limits, Result, Token};
use portable_atomic::{AtomicU64, Ordering};
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use table::{Entry, Table, length, same};

/// Finds descriptions of unknown formats: in a format service, a folder, a table.
pub trait Resolver: Send + Sync {
    /// The description of the format of this token. Callers need not trust it: the registry checks it against the
    /// token.
    ///
    /// # Errors
    /// [`Error::unknown_format`] if there is none, [`Code::Io`] if the source cannot be asked.
    fn resolve(&self, token: Token) -> Result<Vec<u8>>;

    /// The same for a message that came with locators. They may be anybody's: a resolver asks there only if the program
    /// allows the host. Resolvers that follow no locators need not implement this.
    ///
    /// # Errors
    /// As [`Resolver::resolve`].
    fn resolve_near(&self, token: Token, _locators: &Locators) -> Result<Vec<u8>> {
        self.resolve(token)
    }
}

/// One resolver for several registries.
impl<R: Resolver + ?Sized> Resolver for Arc<R> {
    fn resolve(&self, token: Token) -> Result<Vec<u8>> {
        (**self).resolve(token)
    }

    fn resolve_near(&self, token: Token, locators: &Locators) -> Result<Vec<u8>> {
        (**self).resolve_near(token, locators)
    }
}

/// The known formats. Cloning is cheap: clones share their formats, also between threads.
///
/// Each clone remembers the formats that it has looked up, so [`lookup`](Registry::lookup) takes no lock. So give each
/// thread a clone of its own.
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
    /// The formats that this clone has looked up: at most as many as `shared` keeps, except the last one.
    recent: Recent<Arc<Entry>>,
    /// The bytes of their descriptions together.
    bytes: usize,
}

#[derive(Default)]
struct Shared {
    limits: Limits,
    table: RwLock<Table>,
    /// Counts descriptions, in steps of two. A use between two descriptions is recorded as the odd number between them.
    /// So the registry knows which formats were used least recently, and most uses write nothing.
    clock: AtomicU64,
    resolver: RwLock<Option<Arc<dyn Resolver>>>,
}

/// The place in a clone of a [`Registry`] of the format that it [located](Registry::locate) last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Located(usize);

impl Registry {
    /// Creates an empty registry.
    pub fn new() -> Registry {
        Registry::default()
    }

    /// The same, with limits for learned formats, and for the messages that are read with this registry. Registered
    /// formats are not limited. A registry that keeps fewer formats than the default may forget a format that a writer
    /// takes for known. The messages of that format are then refused.
    pub fn within(limits: Limits) -> Registry {
        Registry { shared: Arc::new(Shared { limits, ..Shared::default() }), ..Registry::default() }
    }

    /// The limits.
    #[inline]
    pub fn limits(&self) -> &Limits {
        &self.shared.limits
    }

    /// Sets the resolver that is asked for unknown formats.
    pub fn set_resolver(&self, resolver: impl Resolver + 'static) {
        let resolver = Some(Arc::new(resolver) as Arc<dyn Resolver>);
        // The one before may use this registry when it is dropped, which therefore comes after the lock.
        let before = {
            let mut now = self.shared.resolver.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *now, resolver)
        };
        drop(before);
    }

    /// Makes a format of this program known for ever.
    ///
    /// # Errors
    /// [`Code::TokenMismatch`] if another description is known under its token.
    pub fn register(&self, format: &Format) -> Result<()> {
        self.write().register(format)
    }

    /// Makes the format of a description known, and returns it. A known description is not parsed again.
    ///
    /// # Errors
    /// As [`Format::parse_within`]; [`Code::TokenMismatch`] if another description is known under its token.
    pub fn learn(&self, description: &[u8]) -> Result<Format> {
        let admitted = Admitted::new(description, self.limits())?;
        self.entry(admitted).map(|entry| entry.format.clone())
    }

    /// The format of a token. If it is unknown, this asks the [resolver](Registry::set_resolver), which may take time.
    ///
    /// # Errors
    /// [`Error::unknown_format`]; [`Code::TokenMismatch`] if the resolver answers with another format's description;
    /// errors of the resolver.
    #[inline(always)]
    pub fn lookup(&mut self, token: Token) -> Result<&Format> {
        self.locate(token).map(|located| self.at(located))
    }

    /// The format of a token, if it is known. This does not ask the resolver.
    pub fn known(&self, token: Token) -> Option<Format> {
        self.find(token).map(|entry| entry.format.clone())
    }

    /// All known formats, sorted by name.
    pub fn formats(&self) -> Vec<Format> {
        let mut formats: Vec<Format> = self.read().entries.values().map(|entry| entry.format.clone()).collect();
        formats.sort_by(|a, b| a.name().cmp(b.name()).then(a.token().cmp(&b.token())));
        formats
    }

    /// As [`lookup`](Registry::lookup), for a caller that uses the registry again before it uses the format.
    ///
    /// # Errors
    /// As [`lookup`](Registry::lookup).
    #[inline(always)]
    pub fn locate(&mut self, token: Token) -> Result<Located> {
        match self.recent(token) {
            Some(located) => Ok(located),
            None => self.look_further(token, None),
        }
    }

    /// As [`locate`](Registry::locate), for a message that came with locators, which the resolver may follow.
    ///
    /// # Errors
    /// As [`lookup`](Registry::lookup).
    #[inline(always)]
    pub fn locate_near(&mut self, token: Token, locators: Option<&Locators>) -> Result<Located> {
        match self.recent(token) {
            Some(located) => Ok(located),
            None => self.look_further(token, locators),
        }
    }

    /// Locates a format that this clone has looked up before, unless the registry has forgotten it. Takes no lock.
    #[inline(always)]
    pub fn recent(&mut self, token: Token) -> Option<Located> {
        let place = self.recent.find(token)?;
        self.recent.at(place).is_used(&self.shared.clock).then_some(Located(place))
    }

    /// The format that was located last.
    ///
    /// # Panics
    /// It may panic, or return another format, if this clone has located another one since, or another clone `located`
    /// it.
    #[inline]
    pub fn at(&self, located: Located) -> &Format {
        &self.recent.at(located.0).format
    }

    /// As `lookup`, for a format that is not a recent one.
    #[cold]
    fn look_further(&mut self, token: Token, locators: Option<&Locators>) -> Result<Located> {
        let entry = match self.find(token) {
            Some(entry) => entry,
            None => self.ask(token, locators)?,
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

    fn ask(&self, token: Token, locators: Option<&Locators>) -> Result<Arc<Entry>> {
        let resolver = self.shared.resolver.read().unwrap_or_else(PoisonError::into_inner).clone();
        let resolver = resolver.ok_or_else(|| {
            let error = Error::unknown_format(token);
            match locators.and_then(|locators| locators.urls().next()) {
                // Whoever reads this may let the program ask there.
                Some(url) => error.expected(format_args!("a registered format, or leave to ask for it at {url}")),
                None => error,
            }
        })?;
        let description = match locators {
            Some(locators) => resolver.resolve_near(token, locators)?,
            None => resolver.resolve(token)?,
        };
        let admitted = Admitted::new(&description, self.limits())?;
        if admitted.token() != token {
            return Err(Error::new(Code::TokenMismatch).expected(token).found(admitted.token()));
        }
        self.entry(admitted)
    }

    /// The entry of a description, which is parsed if it is unknown.
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

/// Another clone with the same formats.
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
