//! The search through all places, in their order; one request for a token at a time; and what is remembered of failures.

use super::keeper::{Found, Keeper};
use super::near::Near;
use super::{Cache, checked};
use isoform_core::message::Locators;
use isoform_core::{Code, Error, Resolver, Result, Token};
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// For how long the first failure is remembered. Each further one doubles it.
const FIRST: Duration = Duration::from_secs(1);
/// The most that it is doubled to.
const LONGEST: Duration = Duration::from_secs(60);
/// The number of tokens whose failures are remembered.
const FAILURES: usize = 4096;

/// Asks several places for a description, one after another, until one of them has it.
///
/// - However many threads ask for one token at the same time, one of them searches, and all get what it finds.
/// - What a place answers is compared with the token. A wrong answer is the failure of that place.
/// - A token that nobody knows is not searched again for a second, and then for twice as long after each failure, up to a
///   minute.
///
/// ```
/// use isoform_core::{Code, Error, Resolver, Result, Token};
/// use isoform_service::Search;
/// struct Ours; // an application's own way to find descriptions
/// impl Resolver for Ours {
///     fn resolve(&self, token: Token) -> Result<Vec<u8>> {
///         Err(Error::unknown_format(token))
///     }
/// }
/// let search = Search::new().then(Ours);
/// assert_eq!(search.resolve(Token::from_bytes([7; 16])).unwrap_err().code(), Code::UnknownFormat);
/// ```
#[derive(Default)]
pub struct Search {
    cache: Option<(Cache, Keeper)>,
    near: Near,
    places: Vec<Box<dyn Resolver>>,
    patience: Option<Duration>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    under_way: HashMap<Question, Arc<Flight>>,
    failed: HashMap<Question, Failure>,
}

/// A token, and the locators that came with it.
type Question = (Token, Option<Locators>);

/// A search under way, and those who wait for it.
#[derive(Default)]
struct Flight {
    outcome: Mutex<Option<Result<Vec<u8>>>>,
    landed: Condvar,
}

struct Failure {
    error: Error,
    lasts: Duration,
    until: Instant,
}

impl Search {
    /// A search that looks nowhere yet.
    pub fn new() -> Search {
        Search::default()
    }

    /// Looks here first, and keeps here what other places answer.
    ///
    /// Answers do not wait for the disk: a thread writes them. Dropping the search waits for that, ten seconds at most.
    pub fn cache(mut self, cache: Cache) -> Search {
        let written = cache.clone();
        let keeper = Keeper::new(move |found: &Found| {
            if let (true, Some(url)) = (written.put(found.token, &found.description), &found.stored_at) {
                written.note(found.token, url);
            }
        });
        self.cache = Some((cache, keeper));
        self
    }

    /// Follows locators of messages to this host: `sim7`, or `sim7:7460` for one port. They come behind the cache and before the
    /// other places. Without a call of this, no locator is followed.
    ///
    /// ```
    /// use isoform_service::Search;
    /// let search = Search::new().allow("sim7")?.allow("[2001:db8::7]:7460")?;
    /// assert!(Search::new().allow("http://sim7").is_err());
    /// # Ok::<(), isoform_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Code::Address`] for what is no host.
    pub fn allow(mut self, host: &str) -> Result<Search> {
        self.near.allow(host)?;
        Ok(self)
    }

    /// Looks here next.
    pub fn then(mut self, place: impl Resolver + 'static) -> Search {
        self.places.push(Box::new(place));
        self
    }

    /// Sets how long a thread waits for the search of another thread, which is 20 seconds if this is not called. The places
    /// have deadlines of their own.
    pub fn patience(mut self, patience: Duration) -> Search {
        self.patience = Some(patience);
        self
    }

    /// Hands a description to the cache, if there is one, with the server that has stored it.
    pub(super) fn keep(&self, token: Token, description: &[u8], stored_at: Option<&str>) {
        if let Some((_, keeper)) = &self.cache {
            keeper.keep(Found { token, description: description.to_vec(), stored_at: stored_at.map(Box::from) });
        }
    }

    /// Whether the cache knows that this server has stored the format of a token.
    pub(super) fn is_stored_at(&self, token: Token, url: &str) -> bool {
        self.cache.as_ref().is_some_and(|(cache, keeper)| keeper.is_stored_at(token, url) || cache.is_noted(token, url))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks in all places, in their order.
    fn look(&self, token: Token, locators: Option<&Locators>) -> Result<Vec<u8>> {
        let kept = self.cache.as_ref().and_then(|(cache, keeper)| keeper.waiting(token).or_else(|| cache.get(token)));
        if let Some(found) = kept {
            return Ok(found);
        }
        // A place that could not be asked may know the format. So its error counts more than that another one does not.
        let mut failure = Error::unknown_format(token);
        let near = locators.and_then(|locators| self.near.look(token, locators));
        let is_refused = near.is_none() && locators.is_some();
        if let (true, Some(locators)) = (is_refused, locators) {
            let urls = locators.urls().collect::<Vec<_>>().join(", ");
            failure = failure
                .expected(format_args!("a registered format; the message names {urls}, which is not an allowed host"));
        }
        let answers = near.into_iter().chain(self.places.iter().map(|place| place.resolve(token)));
        for answer in answers {
            match answer.and_then(|found| checked(token, found)) {
                Ok(found) => {
                    self.keep(token, &found, None);
                    return Ok(found);
                }
                Err(error)
                    if failure.code() == Code::UnknownFormat
                        && !(is_refused && error.code() == Code::UnknownFormat) =>
                {
                    failure = error;
                }
                Err(_) => {}
            }
        }
        Err(failure)
    }

    /// Waits for what another thread finds.
    fn wait(&self, flight: &Flight, token: Token) -> Result<Vec<u8>> {
        let patience = self.patience.unwrap_or(Duration::from_secs(20));
        let outcome = flight.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = flight.landed.wait_timeout_while(outcome, patience, |outcome| outcome.is_none());
        let (outcome, _) = waited.unwrap_or_else(PoisonError::into_inner);
        outcome.clone().unwrap_or_else(|| {
            let expected = format_args!("the description of {token} within {patience:?}");
            Err(Error::new(Code::Deadline).expected(expected))
        })
    }
}

impl Resolver for Search {
    fn resolve(&self, token: Token) -> Result<Vec<u8>> {
        self.answer((token, None))
    }

    fn resolve_near(&self, token: Token, locators: &Locators) -> Result<Vec<u8>> {
        self.answer((token, Some(locators.clone())))
    }
}

impl Search {
    fn answer(&self, question: Question) -> Result<Vec<u8>> {
        let token = question.0;
        let flight = {
            let mut state = self.state();
            if let Some(failure) = state.failed.get(&question).filter(|failure| Instant::now() < failure.until) {
                return Err(failure.error.clone());
            }
            if let Some(flight) = state.under_way.get(&question).cloned() {
                drop(state);
                return self.wait(&flight, token);
            }
            state.under_way.entry(question.clone()).or_default().clone()
        };
        let landing = Landing { search: self, question: question.clone(), flight };
        let found = self.look(token, question.1.as_ref());
        landing.with(found)
    }
}

/// Ends a search under way: for the waiting threads, too, if a place panics.
struct Landing<'a> {
    search: &'a Search,
    question: Question,
    flight: Arc<Flight>,
}

impl Landing<'_> {
    fn with(self, found: Result<Vec<u8>>) -> Result<Vec<u8>> {
        *self.flight.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(found.clone());
        found
    }
}

impl Drop for Landing<'_> {
    fn drop(&mut self) {
        let mut outcome = self.flight.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        let panicked = || Err(Error::new(Code::Internal).found("a panic of a resolver"));
        let outcome = outcome.get_or_insert_with(panicked).as_ref().map(drop).map_err(Error::clone);
        let mut state = self.search.state();
        state.under_way.remove(&self.question);
        match outcome {
            Ok(()) => _ = state.failed.remove(&self.question),
            Err(error) => state.fail(self.question.clone(), error),
        }
        self.flight.landed.notify_all();
    }
}

impl State {
    fn fail(&mut self, question: Question, error: Error) {
        let now = Instant::now();
        if self.failed.len() >= FAILURES && !self.failed.contains_key(&question) {
            self.failed.retain(|_, failure| now < failure.until);
            if self.failed.len() >= FAILURES {
                // Somebody invents tokens. A search more for each of them is less than memory without bounds.
                self.failed.clear();
            }
        }
        let before = self.failed.get(&question).map(|failure| failure.lasts);
        let lasts = before.map_or(FIRST, |lasts| (lasts * 2).min(LONGEST));
        self.failed.insert(question, Failure { error, lasts, until: now + lasts });
    }
}

impl std::fmt::Debug for Search {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Search")
            .field("cache", &self.cache.as_ref().map(|(cache, _)| cache))
            .field("places", &self.places.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isoform_core::{Format, Layout, Shape};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::{Receiver, Sender, channel};

    fn gauge() -> Format {
        Shape::new("Gauge").field("depth", "float").on(&Layout::NATIVE).unwrap()
    }

    /// A place that counts what it is asked, and answers always the same.
    #[derive(Clone)]
    struct Counted(Arc<AtomicUsize>, Result<Vec<u8>>);

    impl Counted {
        fn new(answer: Result<Vec<u8>>) -> (Arc<AtomicUsize>, Counted) {
            let count = Arc::new(AtomicUsize::new(0));
            (count.clone(), Counted(count, answer))
        }
    }

    impl Resolver for Counted {
        fn resolve(&self, _: Token) -> Result<Vec<u8>> {
            self.0.fetch_add(1, Ordering::SeqCst);
            self.1.clone()
        }
    }

    #[test]
    fn places_are_asked_in_order_and_wrong_answers_are_passed_over() {
        let (gauge, folder) = (gauge(), tempfile::tempdir().unwrap());
        let (liars, liar) = Counted::new(Ok(b"something else".to_vec()));
        let (fulls, full) = Counted::new(Ok(vec![1; 1 << 20]));
        let (knowers, knower) = Counted::new(Ok(gauge.description().as_bytes().to_vec()));
        let (lasts, last) = Counted::new(Ok(gauge.description().as_bytes().to_vec()));
        let cache = Cache::new(folder.path());
        let search = Search::new().cache(cache.clone()).then(liar).then(full).then(knower).then(last);
        for _ in 0..3 {
            assert_eq!(search.resolve(gauge.token()).unwrap(), gauge.description().as_bytes());
        }
        let counts = [liars, fulls, knowers, lasts].map(|count| count.load(Ordering::SeqCst));
        assert_eq!(counts, [1, 1, 1, 0], "afterwards it is in the cache");
        drop(search);
        assert!(cache.get(gauge.token()).is_some());
    }

    #[test]
    fn an_unknown_token_is_not_asked_for_again_at_once() {
        let unknown = Token::from_bytes([7; 16]);
        let (count, place) = Counted::new(Err(Error::unknown_format(unknown)));
        let search = Search::new().then(place);
        for _ in 0..1000 {
            assert_eq!(search.resolve(unknown).unwrap_err().token(), Some(unknown));
        }
        assert_eq!(count.load(Ordering::SeqCst), 1);
        // Time passes.
        search.state().failed.get_mut(&(unknown, None)).unwrap().until = Instant::now();
        search.resolve(unknown).unwrap_err();
        assert_eq!(count.load(Ordering::SeqCst), 2);
        assert_eq!(search.state().failed[&(unknown, None)].lasts, 2 * FIRST);
    }

    #[test]
    fn invented_tokens_use_bounded_memory() {
        let search = Search::new();
        for number in 0..3 * FAILURES as u128 {
            search.resolve(Token::from_bytes(number.to_le_bytes())).unwrap_err();
            assert!(search.state().failed.len() <= FAILURES);
        }
        assert!(search.state().under_way.is_empty());
    }

    #[test]
    fn a_place_that_cannot_be_asked_outweighs_one_that_does_not_know() {
        let unknown = Token::from_bytes([7; 16]);
        let not_asked = Error::new(Code::Io).found("connection refused");
        for (first, second) in
            [(not_asked.clone(), Error::unknown_format(unknown)), (Error::unknown_format(unknown), not_asked.clone())]
        {
            let search = Search::new().then(Counted::new(Err(first)).1).then(Counted::new(Err(second)).1);
            assert_eq!(search.resolve(unknown).unwrap_err(), not_asked);
        }
    }

    /// A place that says when it is asked, and answers when it is told to.
    struct Slow(Mutex<Sender<()>>, Mutex<Receiver<Result<Vec<u8>>>>);

    impl Resolver for Slow {
        fn resolve(&self, _: Token) -> Result<Vec<u8>> {
            self.0.lock().unwrap().send(()).unwrap();
            self.1.lock().unwrap().recv().unwrap()
        }
    }

    #[test]
    fn threads_with_one_question_ask_once() {
        let (gauge, folder) = (gauge(), tempfile::tempdir().unwrap());
        let ((asked, is_asked), (tell, told)) = (channel(), channel());
        let search = Search::new().cache(Cache::new(folder.path())).then(Slow(Mutex::new(asked), Mutex::new(told)));
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..50).map(|_| scope.spawn(|| search.resolve(gauge.token()))).collect();
            is_asked.recv().unwrap();
            tell.send(Ok(gauge.description().as_bytes().to_vec())).unwrap();
            for thread in threads {
                assert_eq!(thread.join().unwrap().unwrap(), gauge.description().as_bytes());
            }
        });
        assert!(is_asked.try_recv().is_err(), "nobody asked again");
    }

    #[test]
    fn who_waits_for_another_thread_has_a_deadline() {
        let ((asked, is_asked), (tell, told)) = (channel(), channel());
        let search = Search::new().then(Slow(Mutex::new(asked), Mutex::new(told))).patience(Duration::from_millis(1));
        let token = gauge().token();
        std::thread::scope(|scope| {
            let first = scope.spawn(|| search.resolve(token));
            is_asked.recv().unwrap();
            assert_eq!(search.resolve(token).unwrap_err().code(), Code::Deadline);
            tell.send(Ok(gauge().description().as_bytes().to_vec())).unwrap();
            first.join().unwrap().unwrap();
        });
    }

    #[test]
    fn a_panic_does_not_leave_others_waiting() {
        struct Panics;
        impl Resolver for Panics {
            fn resolve(&self, _: Token) -> Result<Vec<u8>> {
                panic!("a defect of the application")
            }
        }
        let search = Search::new().then(Panics);
        let token = gauge().token();
        let panics = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| search.resolve(token)));
        assert!(panics.is_err());
        assert_eq!(search.resolve(token).unwrap_err().code(), Code::Internal);
        assert!(search.state().under_way.is_empty());
    }
}
