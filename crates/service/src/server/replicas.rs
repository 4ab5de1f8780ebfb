//! Copying from other servers what this one lacks: formats from every peer, names from the one that writes them.
//!
//! No peer is trusted. What it says is bounded, so that one which lists without end costs a round, and then a pause; each peer has a
//! thread of its own, so that it is in no other's way. Descriptions are compared with their tokens. What cannot be so is refused,
//! and this server asks again later. When copying from a peer begins to fail, and when it works again, the [`News`] are told.

use super::app::App;
use super::options::{News, Options, Peer};
use crate::resolve::Servers;
use crate::store::{is_dots, panicked, unless_it_panics};
use isoform_core::{Code, Error, Format, Resolver, Result, Token};
use serde_json::Value;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// The longest pause, in usual pauses. Each failure doubles it up to there.
const LONGEST: u32 = 30;
/// Changes that are asked for at once. If the answer is too large, fewer are asked for.
const PAGE: usize = 1000;
/// The bytes of a page of formats, and of what a page of names has beside the longest name that this server may store.
const FORMATS: u64 = 256 << 10;
const BESIDE: u64 = 1 << 20;
/// Descriptions that a peer may list in one round and not have. A server that has lost one must not keep others from the rest.
const BROKEN: usize = 100;
/// Formats that may give way in one round to those of a peer.
const GONE: usize = 10_000;
/// Pages of a list that are read again in one round, for formats that gave way.
const AGAIN: usize = 5;
/// Descriptions that are asked for at the same time.
const AT_ONCE: usize = 8;
/// Descriptions that are stored together: what a failure of this program can lose.
const STORED: usize = 200;

/// The threads that copy.
#[derive(Debug)]
pub(super) struct Replicas {
    stops: Vec<Sender<()>>,
}

impl Replicas {
    /// A thread for each server that is copied from.
    pub(super) fn start(app: &Arc<App>, options: &Options) -> Result<Replicas> {
        let mut stops = Vec::new();
        for (at, (peer, _, copy)) in tasks(options).enumerate() {
            let (stop, stopped) = channel();
            let (app, server) = (Arc::downgrade(app), options.peer_at(peer)?);
            let task = Task { at, server, copy, every: options.every, news: options.news.clone() };
            let thread = std::thread::Builder::new().name("isoform-replica".into());
            let spawned = thread.spawn(move || task.repeat(&app, &stopped));
            spawned.map_err(|error| Error::new(Code::Io).expected("a thread").found(error))?;
            stops.push(stop);
        }
        Ok(Replicas { stops })
    }

    /// Ends the threads: each after the request that is under way.
    pub(super) fn stop(&mut self) {
        self.stops.clear();
    }
}

/// What is copied from where.
fn tasks(options: &Options) -> impl Iterator<Item = (&Peer, &'static str, Copy)> {
    let formats = options.peers.iter().map(|peer| (peer, "formats", copy_formats as Copy));
    formats.chain(options.names_from.iter().map(|peer| (peer, "names", copy_names as Copy)))
}

/// Copies once what all peers have.
pub(super) fn copy(app: &App, options: &Options) -> Result<()> {
    tasks(options).try_for_each(|(peer, _, copy)| copy(app, &options.peer_at(peer)?))
}

/// How long ago everything was copied from one peer.
#[derive(Debug)]
pub(super) struct Copied {
    /// What is copied: `formats` or `names`.
    pub(super) what: &'static str,
    /// The URL of the peer, as texts show it.
    pub(super) url: String,
    /// When all of it had come, or when this server was started.
    last: Mutex<Instant>,
}

impl Copied {
    /// For each task.
    pub(super) fn of(options: &Options) -> Vec<Copied> {
        let new = |(peer, what, _): (&Peer, _, _)| Copied { what, url: peer.shown(), last: Mutex::new(Instant::now()) };
        tasks(options).map(new).collect()
    }

    /// The seconds since all of it had come.
    pub(super) fn age(&self) -> u64 {
        locked(&self.last).elapsed().as_secs()
    }
}

/// Copies everything that is new.
type Copy = fn(&App, &Servers) -> Result<()>;

/// What one thread copies.
struct Task {
    /// Which of the tasks this is.
    at: usize,
    server: Servers,
    copy: Copy,
    every: Duration,
    news: News,
}

impl Task {
    fn repeat(self, app: &Weak<App>, stopped: &Receiver<()>) {
        let (mut pause, mut fails) = (self.every, false);
        loop {
            let Some(app) = app.upgrade() else { return };
            let outcome = unless_it_panics(|| (self.copy)(&app, &self.server));
            let outcome = outcome.unwrap_or_else(|found| Err(panicked(found)));
            self.note(&app, &outcome, &mut fails);
            pause = if fails { (pause * 2).min(self.every * LONGEST) } else { self.every };
            drop(app);
            if stopped.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
                return;
            }
        }
    }

    /// Counts what came of it, and says so if it is not as before.
    fn note(&self, app: &App, outcome: &Result<()>, fails: &mut bool) {
        let copied = &app.copied[self.at];
        let failed = std::mem::replace(fails, outcome.is_err());
        let (what, url) = (copied.what, &copied.url);
        match outcome {
            Ok(()) => {
                *locked(&copied.last) = Instant::now();
                if failed {
                    self.news.tell(&format!("copying {what} from {url} works again"));
                }
            }
            Err(error) => {
                let is_lie = matches!(error.code(), Code::Text | Code::MessageSize | Code::TokenMismatch);
                let count = if is_lie { &app.metrics.refused } else { &app.metrics.unreached };
                count.fetch_add(1, Ordering::Relaxed);
                if !failed {
                    self.news.tell(&format!("cannot copy {what} from {url}, will try again: {error}"));
                }
            }
        }
    }
}

fn copy_formats(app: &App, server: &Servers) -> Result<()> {
    let key = format!("formats of {}", server.first());
    let mut round = Round::new(app, server, key, "changes", FORMATS)?;
    let mut formats = Formats { app, server, broken: 0 };
    // A peer lists each of its formats once. So it cannot list more known ones than there are.
    let (mut known, mut gone) = (0, 0);
    while let Some(changes) = round.next()? {
        let lacking = formats.lacking(&changes)?;
        known += (changes.len() - lacking.len()) as u64;
        if known > app.store.count()? {
            return Err(unfit().found("more known formats than this server has"));
        }
        let broken = formats.broken;
        gone += formats.take(&lacking)?;
        if formats.broken > broken {
            // The rest is taken, and the next round begins here again.
            round.stays();
        }
        round.keep(app)?;
        // The rest comes in later rounds: a peer that lists without end must not let the disk be written without end.
        if gone > GONE {
            let expected = "fewer formats than this server has room for";
            return Err(Error::new(Code::Budget).expected(expected).found("so many that others gave way to them"));
        }
    }
    formats.take_again()?;
    match formats.broken {
        0 => Ok(()),
        broken => Err(broken_promises(broken)),
    }
}

/// What comes of the formats that a peer lists.
struct Formats<'a> {
    app: &'a App,
    server: &'a Servers,
    /// Those that it listed, and does not have.
    broken: usize,
}

impl Formats<'_> {
    /// Those that this server lacks. Those that it has are a share of this peer, too.
    fn lacking(&self, changes: &[Value]) -> Result<Vec<Token>> {
        let (mut known, mut lacking) = (Vec::new(), Vec::new());
        for change in changes {
            let token: Token = change["token"].as_str().ok_or_else(unfit)?.parse()?;
            let is_known = self.app.store.get(token)?.is_some();
            if is_known { known.push(token) } else { lacking.push(token) }
        }
        self.app.store.share(&self.server.first(), &known)?;
        Ok(lacking)
    }

    /// Copies formats. Returns how many others gave way to them.
    fn take(&mut self, lacking: &[Token]) -> Result<usize> {
        let (app, mut gone) = (self.app, 0);
        // What came is stored even if something else did not come: the next time, there is less to ask for.
        for tokens in lacking.chunks(STORED) {
            let came = fetch(self.server, tokens);
            let copied = app.store.put_copies(&self.server.first(), &came.formats)?;
            app.metrics.copied.fetch_add(copied.new as u64, Ordering::Relaxed);
            came.outcome?;
            gone += copied.gone;
            app.metrics.refused.fetch_add(came.broken as u64, Ordering::Relaxed);
            self.broken += came.broken;
            if self.broken > BROKEN {
                return Err(broken_promises(self.broken));
            }
        }
        Ok(gone)
    }

    /// Copies what gave way, as far as this peer has less than its share: since it lists each format once, its list is read again, some
    /// pages in each round.
    fn take_again(&mut self) -> Result<()> {
        let peer = self.server.first();
        let key = format!("formats of {peer} again");
        let mut round = Round::new(self.app, self.server, key, "changes", FORMATS)?;
        for _ in 0..AGAIN {
            if self.app.store.shortfall(&peer)? == 0 {
                return Ok(());
            }
            match round.next()? {
                None => round.after = 0,
                Some(changes) => {
                    let mut lacking = self.lacking(&changes)?;
                    // More of them would make others of the same peer give way.
                    lacking.truncate(usize::try_from(self.app.store.shortfall(&peer)?).unwrap_or(usize::MAX));
                    self.take(&lacking)?;
                }
            }
            round.keep(self.app)?;
            if round.after == 0 {
                return Ok(());
            }
        }
        Ok(())
    }
}

fn broken_promises(count: usize) -> Error {
    Error::new(Code::TokenMismatch)
        .expected("the descriptions that the server lists")
        .found(format_args!("{count} that it does not have"))
}

/// What came of several questions.
struct Came {
    formats: Vec<Format>,
    /// Those that the server listed, and answers with something else.
    broken: usize,
    /// The first failure to ask.
    outcome: Result<()>,
}

/// Asks for descriptions, several at the same time, since a distant server takes long for each.
fn fetch(server: &Servers, tokens: &[Token]) -> Came {
    let came = Mutex::new(Came { formats: Vec::new(), broken: 0, outcome: Ok(()) });
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(&token) = tokens.get(next.fetch_add(1, Ordering::Relaxed)) {
            let answer = server.resolve(token);
            let mut came = locked(&came);
            match answer.map(|description| Format::parse(&description)) {
                Ok(Ok(format)) => came.formats.push(format),
                Ok(Err(_)) => came.broken += 1,
                Err(error) => match error.code() {
                    Code::UnknownFormat | Code::TokenMismatch | Code::DescriptionSize => came.broken += 1,
                    _ => {
                        if came.outcome.is_ok() {
                            came.outcome = Err(error);
                        }
                        return;
                    }
                },
            }
        }
    };
    std::thread::scope(|scope| (0..AT_ONCE.min(tokens.len())).for_each(|_| drop(scope.spawn(work))));
    came.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn copy_names(app: &App, server: &Servers) -> Result<()> {
    let key = format!("names of {}", server.first());
    let most = app.store.quota().name_bytes as u64 + BESIDE;
    let mut round = Round::new(app, server, key, "changes/names", most)?;
    // A list has each name once, and again if it changes meanwhile.
    let mut left = app.store.quota().names;
    while let Some(changes) = round.next()? {
        left = left
            .checked_sub(changes.len() as u64)
            .ok_or_else(|| unfit().found("more names than this server may have"))?;
        for change in &changes {
            let name = change["name"].as_str().ok_or_else(unfit)?;
            if is_dots(name) {
                // Servers accepted these once. No request reaches them, so they keep the others from nobody.
                app.metrics.refused.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            app.store.copy_name(name, &change["state"])?;
        }
        round.keep(app)?;
    }
    Ok(())
}

/// All changes since the last time, a page at a time, and how far they came.
struct Round<'a> {
    server: &'a Servers,
    key: String,
    path: &'a str,
    most: u64,
    limit: usize,
    id: String,
    after: u64,
    /// Whether the store of the peer was found to be another one in this round, and whether it is noted how far this came.
    began_anew: bool,
    stays: bool,
}

impl<'a> Round<'a> {
    fn new(app: &App, server: &'a Servers, key: String, path: &'a str, most: u64) -> Result<Round<'a>> {
        let (id, after) = app.store.progress(&key)?;
        Ok(Round { server, key, path, most, limit: PAGE, id, after, began_anew: false, stays: false })
    }

    /// The next page. `None` at the end.
    fn next(&mut self) -> Result<Option<Vec<Value>>> {
        loop {
            let path = format!("{}?after={}&limit={}", self.path, self.after, self.limit);
            let mut answer = match self.server.get_of(&path, self.most) {
                Err(error) if error.code() == Code::MessageSize && self.limit > 1 => {
                    self.limit = self.limit.div_ceil(4);
                    continue;
                }
                answer => answer?,
            };
            let id = answer["id"].as_str().filter(|id| is_id(id)).ok_or_else(unfit)?;
            if id != self.id {
                // Another store, which counts anew.
                if std::mem::replace(&mut self.began_anew, true) {
                    return Err(unfit().found("a store that is another one each time"));
                }
                self.id = id.into();
                if std::mem::take(&mut self.after) > 0 {
                    continue;
                }
            }
            let Value::Array(changes) = answer["changes"].take() else { return Err(unfit()) };
            if changes.len() > self.limit {
                return Err(unfit().found("more changes than were asked for"));
            }
            for change in &changes {
                let later = change["sequence"].as_u64().filter(|&sequence| sequence > self.after);
                self.after = later.ok_or_else(|| unfit().found("changes that do not ascend"))?;
            }
            return Ok((!changes.is_empty()).then_some(changes));
        }
    }

    /// Notes that the store has everything up to here, unless something did not come.
    fn keep(&self, app: &App) -> Result<()> {
        if self.stays { Ok(()) } else { app.store.set_progress(&self.key, &self.id, self.after) }
    }

    fn stays(&mut self) {
        self.stays = true;
    }
}

/// Whether a text is the id of a store.
fn is_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn unfit() -> Error {
    Error::new(Code::Text).expected("a list of changes")
}
