//! The formats that are known here, by token, and where to ask for others.
//!
//! A [`Registry`] learns formats from descriptions: those that arrive in a [`stream`](crate::stream), and those that a
//! [`Resolver`] finds. What the program itself declares is [registered](Registry::register) and stays; what was learned
//! from others is bounded, so that no peer can fill the memory with descriptions.

use crate::keyed::{Key, Recent};
use isoform_core::{Code, Error, Format, Limits, Result, Token};
use portable_atomic::{AtomicU64, Ordering};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, hash_map};
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

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
/// use isoform::Registry;
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

#[derive(Default)]
struct Table {
    entries: HashMap<Token, Arc<Entry>, Key>,
    /// Every learned format, under a time that is not later than its last use.
    oldest: BinaryHeap<Reverse<(u64, Token)>>,
    /// What their descriptions have together.
    bytes: usize,
}

struct Entry {
    format: Format,
    /// When its description came, or it was looked up, for the last time; or [`FORGOTTEN`].
    used: AtomicU64,
}

/// When an entry was used that is no longer in the table.
const FORGOTTEN: u64 = u64::MAX;

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
        self.entry(description).map(|entry| entry.format.clone())
    }

    /// The format of a token: from what is known here, else by asking the [resolver](Registry::set_resolver), which may
    /// take its time.
    ///
    /// # Errors
    /// [`Error::unknown_format`]; [`Code::TokenMismatch`] if the resolver answers with another format's description;
    /// whatever the resolver reports.
    #[inline(always)]
    pub fn lookup(&mut self, token: Token) -> Result<&Format> {
        self.place(token).map(|place| self.at(place))
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

    /// As [`lookup`](Registry::lookup): the place of the format, which is good until the next one is looked up.
    #[inline(always)]
    pub(crate) fn place(&mut self, token: Token) -> Result<usize> {
        match self.recent(token) {
            Some(place) => Ok(place),
            None => self.look_further(token),
        }
    }

    /// The place of a format that this clone has looked up before, unless it has been forgotten since.
    #[inline(always)]
    pub(crate) fn recent(&mut self, token: Token) -> Option<usize> {
        let place = self.recent.find(token)?;
        self.recent.at(place).is_used(&self.shared).then_some(place)
    }

    /// The format at a place.
    #[inline]
    pub(crate) fn at(&self, place: usize) -> &Format {
        &self.recent.at(place).format
    }

    /// As `lookup`, of a format that is not a recent one.
    #[cold]
    fn look_further(&mut self, token: Token) -> Result<usize> {
        let entry = match self.find(token) {
            Some(entry) => entry,
            None => self.ask(token)?,
        };
        if let Some(place) = self.recent.find(token) {
            *self.recent.at_mut(place) = entry;
            return Ok(place);
        }
        let (limits, length) = (self.shared.limits, length(&entry.format));
        if self.recent.len() >= limits.formats || self.bytes + length > limits.registry {
            self.recent.clear();
            self.bytes = 0;
        }
        self.bytes += length;
        Ok(self.recent.push(token, entry))
    }

    fn find(&self, token: Token) -> Option<Arc<Entry>> {
        self.read().entries.get(&token).filter(|entry| entry.is_used(&self.shared)).cloned()
    }

    fn ask(&self, token: Token) -> Result<Arc<Entry>> {
        let resolver = self.shared.resolver.read().unwrap_or_else(PoisonError::into_inner).clone();
        let description = resolver.ok_or_else(|| Error::unknown_format(token))?.resolve(token)?;
        let came = Token::of(&description);
        if came != token {
            return Err(Error::new(Code::TokenMismatch).expected(token).came(came));
        }
        self.entry(&description)
    }

    /// As `learn`.
    fn entry(&self, description: &[u8]) -> Result<Arc<Entry>> {
        self.limits().admit_description(description.len() as u64)?;
        let now = self.shared.clock.fetch_add(2, Ordering::Relaxed) + 2;
        if let Some(known) = self.find(Token::of(description)) {
            same(&known, description)?;
            return Ok(known);
        }
        let format = Format::parse_within(description, self.limits())?;
        Ok(self.write().learned(format, now, self.limits()))
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Table> {
        self.shared.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Table> {
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

impl Entry {
    fn new(format: Format, used: u64) -> Arc<Entry> {
        Arc::new(Entry { format, used: used.into() })
    }

    /// Notes that it is used, and returns whether it may be: it may not if it has been forgotten.
    #[inline]
    fn is_used(&self, shared: &Shared) -> bool {
        let (used, now) = (self.used.load(Ordering::Relaxed), shared.clock.load(Ordering::Relaxed) + 1);
        used == now || self.note(used, now)
    }

    #[cold]
    fn note(&self, used: u64, now: u64) -> bool {
        // Whoever was faster has noted as much, or has forgotten it.
        let noted = |used| (used < now).then_some(now);
        used != FORGOTTEN && self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, noted) != Err(FORGOTTEN)
    }

    /// Forgets it, if `then` was its last use.
    fn forget(&self, then: u64) -> std::result::Result<u64, u64> {
        self.used.compare_exchange(then, FORGOTTEN, Ordering::Relaxed, Ordering::Relaxed)
    }
}

impl Table {
    /// Adds a format that stays.
    fn register(&mut self, format: &Format) -> Result<()> {
        if let Some(known) = self.entries.get(&format.token()) {
            same(known, format.description().as_bytes())?;
        }
        let learned = self.oldest.len();
        self.oldest.retain(|Reverse((_, token))| *token != format.token());
        self.bytes -= (learned - self.oldest.len()) * length(format);
        self.entries.entry(format.token()).or_insert_with(|| Entry::new(format.clone(), 0));
        Ok(())
    }

    /// Adds a format within the limits, unless another thread was faster.
    fn learned(&mut self, format: Format, used: u64, limits: &Limits) -> Arc<Entry> {
        let token = format.token();
        match self.entries.entry(token) {
            hash_map::Entry::Occupied(known) => known.get().clone(),
            hash_map::Entry::Vacant(place) => {
                self.oldest.push(Reverse((used, token)));
                self.bytes += length(&format);
                let entry = place.insert(Entry::new(format, used)).clone();
                self.evict(limits);
                entry
            }
        }
    }

    /// Forgets the learned formats whose last use is longest ago, until the limits hold. An entry of the heap that has
    /// been used since it was put there goes back under its last use; each use causes that at most once.
    fn evict(&mut self, limits: &Limits) {
        while self.oldest.len() > limits.formats || self.bytes > limits.registry {
            let Some(Reverse((then, token))) = self.oldest.pop() else { return };
            let Some(entry) = self.entries.get(&token) else { continue };
            match entry.forget(then) {
                Err(used) => self.oldest.push(Reverse((used, token))),
                Ok(_) => {
                    self.bytes -= length(&entry.format);
                    self.entries.remove(&token);
                }
            }
        }
    }
}

fn length(format: &Format) -> usize {
    format.description().as_bytes().len()
}

/// A token is half of a hash: should two descriptions ever share one, the second is refused.
fn same(known: &Entry, description: &[u8]) -> Result<()> {
    if known.format.description().as_bytes() == description {
        return Ok(());
    }
    let error = Error::new(Code::TokenMismatch).expected(format_args!("the description of {:?}", known.format));
    Err(error.came("another one"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use isoform_core::{Element, Field, Machine, Structure};

    fn format(name: &str) -> Format {
        let element = Element::Integer { signed: true, size: 4 };
        let field = Field { name: "a".into(), element, dims: [].into(), indirect: false, offset: 0, unit: None };
        let structure = Structure::new(name, Machine::NATIVE, 4, 4, vec![field]).unwrap();
        Format::new(structure.into()).unwrap()
    }

    fn keeping(formats: usize) -> Registry {
        Registry::within(Limits { formats, ..Limits::default() })
    }

    fn learn(registry: &Registry, name: &str) -> Token {
        registry.learn(format(name).description().as_bytes()).unwrap().token()
    }

    #[test]
    fn the_oldest_use_is_forgotten_first() {
        let mut registry = keeping(3);
        let [a, b, c] = ["a", "b", "c"].map(|name| learn(&registry, name));
        registry.lookup(a).unwrap();
        learn(&registry, "b");
        learn(&registry, "d");
        assert!(registry.known(c).is_none());
        assert!(registry.known(a).is_some() && registry.known(b).is_some());
        assert_eq!(registry.lookup(c).unwrap_err().token(), Some(c));
    }

    #[test]
    fn clones_remember_nothing_that_is_forgotten() {
        let mut registry = keeping(2);
        let mut other = registry.clone();
        let [a, b] = ["a", "b"].map(|name| learn(&registry, name));
        assert!(registry.lookup(a).is_ok() && other.lookup(a).is_ok() && other.lookup(b).is_ok());
        // That is known to all clones of which one has been used last, also by a look-up that took no lock.
        learn(&other, "b");
        let c = learn(&other, "c");
        assert!(registry.lookup(b).is_ok());
        let d = learn(&registry, "d");
        assert!(registry.lookup(b).is_ok() && other.lookup(d).is_ok());
        for clone in [&mut registry, &mut other] {
            assert_eq!(clone.lookup(a).unwrap_err().token(), Some(a));
            assert_eq!(clone.lookup(c).unwrap_err().token(), Some(c));
        }
        // What comes back is found again, in the place that it had.
        learn(&other, "a");
        assert!(registry.lookup(a).is_ok() && other.lookup(a).is_ok());
        assert_eq!(registry.recent.len(), 2);
    }

    #[test]
    fn a_clone_remembers_no_more_than_is_kept() {
        let mut registry = keeping(3);
        for i in 0..20 {
            let token = learn(&registry, &format!("f{i}"));
            assert_eq!(registry.lookup(token).unwrap().token(), token);
            assert!(registry.recent.len() <= 3);
        }
        let mut registry = keeping(0);
        let own = format("own");
        registry.register(&own).unwrap();
        assert_eq!(registry.lookup(own.token()).unwrap(), &own);
        assert!(registry.lookup(learn(&registry.clone(), "other")).is_err());
    }

    #[test]
    fn registered_formats_stay() {
        let registry = keeping(2);
        learn(&registry, "own");
        registry.register(&format("own")).unwrap();
        registry.register(&format("own")).unwrap();
        for i in 0..100 {
            learn(&registry, &format!("other{i}"));
        }
        assert_eq!(registry.formats().len(), 3);
        assert!(registry.known(format("own").token()).is_some());
        let registry = keeping(0);
        registry.register(&format("own")).unwrap();
        learn(&registry, "own");
        learn(&registry, "other");
        assert_eq!(registry.formats(), [format("own")]);
    }

    #[test]
    fn descriptions_take_no_more_than_they_may_together() {
        let length = length(&format("a"));
        let mut registry = Registry::within(Limits { registry: 3 * length, ..Limits::default() });
        let [a, b, c] = ["a", "b", "c"].map(|name| learn(&registry, name));
        assert_eq!(registry.formats().len(), 3);
        // Registered, a format does not count, and leaves its room to another.
        registry.register(&format("b")).unwrap();
        learn(&registry, "d");
        assert_eq!(registry.formats().len(), 4);
        registry.lookup(a).unwrap();
        learn(&registry, "ee");
        assert!(registry.known(c).is_none(), "one byte more than may be");
        assert!(registry.known(a).is_some() && registry.known(b).is_some());
        assert_eq!(registry.shared.table.read().unwrap().bytes, 2 * length + 1);
    }

    #[test]
    fn what_is_beyond_a_limit_is_not_learned() {
        let description = format("a");
        let description = description.description().as_bytes();
        let exact = Limits { depth: 1, fields: 1, description: description.len(), ..Limits::default() };
        Registry::within(exact).learn(description).unwrap();
        let refused = |limits| {
            let registry = Registry::within(limits);
            let error = registry.learn(description).unwrap_err();
            assert!(registry.formats().is_empty());
            (error.code(), error.to_string())
        };
        for (limits, code, name) in [
            (Limits { depth: 0, ..exact }, Code::Depth, "(limit: depth), came 1"),
            (Limits { fields: 0, ..exact }, Code::Fields, "(limit: fields), came 1"),
            (Limits { description: 11, ..exact }, Code::DescriptionSize, "at most 11 bytes (limit: description)"),
        ] {
            let (came, text) = refused(limits);
            assert!(came == code && text.contains(name), "{text}");
        }
    }

    #[test]
    fn malformed_descriptions_teach_nothing() {
        let registry = Registry::new();
        assert_eq!(registry.learn(b"").unwrap_err().code(), Code::Description);
        assert_eq!(registry.learn(&vec![1; 1 << 20]).unwrap_err().code(), Code::DescriptionSize);
        assert!(registry.formats().is_empty());
    }

    struct Answers(Vec<(Token, Format)>);

    impl Resolver for Answers {
        fn resolve(&self, token: Token) -> Result<Vec<u8>> {
            let entry = self.0.iter().find(|(known, _)| *known == token).ok_or_else(|| Error::unknown_format(token))?;
            Ok(entry.1.description().as_bytes().to_vec())
        }
    }

    #[test]
    fn a_resolver_is_asked_and_not_trusted() {
        let (good, wrong, none) = (format("good"), format("wrong").token(), format("none").token());
        let mut registry = Registry::new();
        registry.set_resolver(Answers(vec![(good.token(), good.clone()), (wrong, good.clone())]));
        assert_eq!(registry.lookup(none).unwrap_err(), Error::unknown_format(none));
        assert_eq!(registry.lookup(wrong).unwrap_err().code(), Code::TokenMismatch);
        assert!(registry.known(good.token()).is_none());
        assert_eq!(registry.lookup(good.token()).unwrap(), &good);
        registry.set_resolver(Answers(vec![]));
        assert_eq!(registry.clone().lookup(good.token()).unwrap(), &good);
    }

    #[test]
    fn threads_share_it() {
        let registry = keeping(8);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let mut registry = registry.clone();
                scope.spawn(move || {
                    for i in 0..200 {
                        let token = learn(&registry, &format!("f{}", (i * 7 + thread) % 20));
                        let _ = registry.lookup(token);
                    }
                });
            }
        });
        assert_eq!(registry.formats().len(), 8);
    }
}
