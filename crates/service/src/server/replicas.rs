//! Copying from other servers what this one lacks: formats from every peer, names from the one that writes them.

use super::app::App;
use super::options::Options;
use crate::resolve::Servers;
use isoform_core::{Code, Error, Format, Resolver, Result, Token};
use serde_json::Value;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// The longest pause, in usual pauses. Each failure doubles it up to there.
const LONGEST: u32 = 30;
/// Changes that are asked for at once.
const PAGE: usize = 1000;
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
        for (server, copy) in tasks(options)? {
            let (app, (stop, stopped)) = (Arc::downgrade(app), channel());
            let every = options.every;
            let thread = std::thread::Builder::new().name("isoform-replica".into());
            let spawned = thread.spawn(move || repeat(&app, &server, copy, &stopped, every));
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
fn tasks(options: &Options) -> Result<Vec<(Servers, Copy)>> {
    let formats = options.peers.iter().map(|url| (url, copy_formats as Copy));
    let names = options.names_from.iter().map(|url| (url, copy_names as Copy));
    formats.chain(names).map(|(url, copy)| Ok((options.peer_at(url)?, copy))).collect()
}

/// Copies once what all peers have.
pub(super) fn copy(app: &App, options: &Options) -> Result<()> {
    tasks(options)?.iter().try_for_each(|(server, copy)| copy(app, server))
}

/// Copies everything that is new.
type Copy = fn(&App, &Servers) -> Result<()>;

fn repeat(app: &Weak<App>, server: &Servers, copy: Copy, stopped: &Receiver<()>, every: Duration) {
    let mut pause = every;
    loop {
        let Some(app) = app.upgrade() else { return };
        match copy(&app, server) {
            Ok(()) => pause = every,
            Err(_) => {
                app.metrics.unreached.fetch_add(1, Ordering::Relaxed);
                pause = (pause * 2).min(every * LONGEST);
            }
        }
        drop(app);
        if stopped.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
            return;
        }
    }
}

fn copy_formats(app: &App, server: &Servers) -> Result<()> {
    let key = format!("formats of {}", server.first());
    pages(app, server, &key, "changes", |changes| {
        let mut lacking = Vec::new();
        for change in changes {
            let token: Token = change["token"].as_str().ok_or_else(unfit)?.parse()?;
            if app.store.get(token)?.is_none() {
                lacking.push(token);
            }
        }
        // What came is stored even if something else did not come: the next time, there is less to ask for.
        lacking.chunks(STORED).try_for_each(|tokens| {
            let (new, outcome) = fetch(server, tokens);
            let count = app.store.put_all(&new)?;
            app.metrics.copied.fetch_add(count as u64, Ordering::Relaxed);
            outcome
        })
    })
}

/// Asks for descriptions, several at the same time, since a distant server takes long for each. Returns the formats that came,
/// and the first failure.
fn fetch(server: &Servers, tokens: &[Token]) -> (Vec<Format>, Result<()>) {
    let (formats, outcome) = (Mutex::new(Vec::new()), Mutex::new(Ok(())));
    let next = AtomicUsize::new(0);
    let one = |token| match server.resolve(token) {
        Ok(description) => {
            let format = Format::parse(&description)?;
            locked(&formats).push(format);
            Ok(())
        }
        // A server that lists a format and does not have it keeps nobody from the next one.
        Err(error) if error.code() == Code::UnknownFormat => Ok(()),
        Err(error) => Err(error),
    };
    let work = || {
        while let Some(&token) = tokens.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(error) = one(token) {
                let mut outcome = locked(&outcome);
                if outcome.is_ok() {
                    *outcome = Err(error);
                }
                return;
            }
        }
    };
    std::thread::scope(|scope| (0..AT_ONCE.min(tokens.len())).for_each(|_| drop(scope.spawn(work))));
    let formats = formats.into_inner().unwrap_or_else(PoisonError::into_inner);
    (formats, outcome.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn copy_names(app: &App, server: &Servers) -> Result<()> {
    let key = format!("names of {}", server.first());
    pages(app, server, &key, "changes/names", |changes| {
        changes.iter().try_for_each(|change| {
            let name = change["name"].as_str().ok_or_else(unfit)?;
            app.store.copy_name(name, &change["state"])
        })
    })
}

/// Takes all changes since the last time, a page at a time, and notes how far it came.
fn pages(app: &App, server: &Servers, key: &str, path: &str, take: impl Fn(&[Value]) -> Result<()>) -> Result<()> {
    let (mut id, mut after) = app.store.progress(key)?;
    loop {
        let answer = server.get(&format!("{path}?after={after}&limit={PAGE}"))?;
        let its_id = answer["id"].as_str().ok_or_else(unfit)?;
        if its_id != id {
            // Another store, which counts anew.
            id = its_id.into();
            if after > 0 {
                after = 0;
                continue;
            }
        }
        let changes = answer["changes"].as_array().ok_or_else(unfit)?;
        if changes.is_empty() {
            return Ok(());
        }
        take(changes)?;
        for change in changes {
            after = change["sequence"].as_u64().filter(|&sequence| sequence > after).ok_or_else(unfit)?;
        }
        app.store.set_progress(key, &id, after)?;
    }
}

fn unfit() -> Error {
    Error::new(Code::Text).expected("a list of changes")
}
