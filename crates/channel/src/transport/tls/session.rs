//! A connection over TLS, or one that was asked for TLS: see [`Session`].
//!
//! The thread that reads also makes the handshake. What the connection does not take of it at once waits with the records of
//! the node, and the node is told to write it ([`Connection::has_unwritten`]). The first bytes that the node writes wait for
//! the end of the handshake. From then on, each direction has a key and a lock of its own. Only the thread that reads, or
//! the one that writes, takes it. Both meet where keys change, which happens every few hundred gigabytes.

use super::certificates::{Certificates, Current};
use super::handshake::Handshake;
use super::records::{self, Keys, Opener, PLAIN, RECORD, Sealer, WITHIN};
use super::trust::{Of, names};
use super::words;
use crate::transport::{Connection, Credentials, LITTLE, LITTLE_OF_EVENT, MOST_SLICES, Moved, Ready, Watch};
use isoform::{Error, Result};
use rustls::ContentType;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::fmt;
use std::io::{IoSlice, IoSliceMut};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

/// The first byte of what a node says without TLS.
const PLAINLY: u8 = 0x89;
/// The answer to that: an alert of TLS, handshake_failure, by which a node recognises TLS.
const ALERT: [u8; 7] = [21, 3, 3, 0, 2, 2, 40];
/// The answer to the first bytes of TLS if there is no room: an alert, internal_error.
const NO_ROOM: [u8; 7] = [21, 3, 3, 0, 2, 2, 80];
/// The size of the first buffer, for the handshake of a stranger; and of the largest.
const FIRST: usize = 4 << 10;
const MOST: usize = 256 << 10;
/// The most bytes of a handshake that wait for more.
const HANDSHAKE: usize = 64 << 10;
/// The most bytes that wait for the end of the handshake. A node writes hardly anything before the other side answers.
const EARLY: usize = 64 << 10;
/// The number of records that are sealed before they are written together.
const TOGETHER: usize = 4;
/// The number of reads in one call, if each of them brings as much as there is room for.
const READS: usize = 16;
/// The records that are opened in one call, in which a change of keys counts as so many.
const OPENED: usize = 256;
const OF_CHANGE: usize = 32;
/// The pieces of a record are at least so long on average, as a network divides it.
const PIECE: usize = 1_024;

/// A connection that speaks TLS, or that may turn out not to.
pub(super) struct Session {
    inner: Box<dyn Connection>,
    certificates: Arc<Certificates>,
    /// The side of the other node.
    of: Of,
    reading: Mutex<Reading>,
    writing: Mutex<Writing>,
    keys: OnceLock<Mutex<Keys>>,
    /// The other side has asked for new keys in its direction.
    is_asked: AtomicBool,
    /// Bytes that are not the node's wait to be written.
    has_unwritten: AtomicBool,
    peer: OnceLock<Peer>,
    /// Why the connection was ended on this side.
    ended: OnceLock<Error>,
}

/// What is known of the other side.
struct Peer {
    credentials: Credentials,
    /// Its certificate, and those that lead to its authority.
    chain: Vec<CertificateDer<'static>>,
    /// Seconds since 1970.
    not_after: u64,
    /// The number of the certificates against which it was checked.
    checked: Mutex<u64>,
}

struct Reading {
    stage: Stage,
    /// Bytes that have arrived: `ready` are opened and for the node, and `from..to` are what follows.
    input: Vec<u8>,
    ready: std::ops::Range<usize>,
    from: usize,
    to: usize,
    failed: Option<Error>,
    is_closed: bool,
    /// The number of reads since one has delivered something.
    pieces: usize,
    /// The number of records that this read has opened.
    opened: usize,
}

enum Stage {
    /// Accepted: the first byte decides. Whether it may be that of a connection without TLS.
    Any(bool),
    Handshake(Box<Handshake>, Arc<Current>),
    Open(Opener),
    Plain,
    Over,
}

struct Writing {
    sealer: Sealed,
    /// Bytes that are not written, each with the number of bytes that the node gave for them and still counts as not written:
    /// parts of the handshake, with none, and sealed records.
    queue: VecDeque<(Vec<u8>, usize)>,
    /// The number of bytes of the first one that are written.
    written: usize,
}

enum Sealed {
    /// What waits for the handshake.
    NotYet(Vec<u8>),
    By(Sealer),
    /// The other side speaks without TLS.
    Not,
    /// Nothing may be sealed behind the record that says so.
    Over,
}

/// A [`Session`] as a node has it.
#[derive(Debug)]
pub(super) struct Shared(pub(super) Arc<Session>);

impl Session {
    /// A connection that this node has made.
    pub(super) fn dial(
        inner: Box<dyn Connection>,
        certificates: &Arc<Certificates>,
        to: ServerName<'static>,
    ) -> Result<Arc<Session>> {
        let current = certificates.valid()?;
        let failed = |error| words::explain(inner.peer(), &error, certificates);
        let mut handshake = Handshake::dial(&current.dialer, to).map_err(failed)?;
        let hello = handshake.advance(&mut []).out;
        let stage = Stage::Handshake(Box::new(handshake), current);
        let session = Session::new(inner, certificates, Of::Acceptor, stage);
        session.writing().write_own(&session, hello)?;
        Ok(session)
    }

    /// A connection that this node has accepted. Whether the other side may also do without TLS.
    pub(super) fn accept(inner: Box<dyn Connection>, certificates: &Arc<Certificates>, plainly: bool) -> Arc<Session> {
        Session::new(inner, certificates, Of::Dialer, Stage::Any(plainly))
    }

    fn new(inner: Box<dyn Connection>, certificates: &Arc<Certificates>, of: Of, stage: Stage) -> Arc<Session> {
        let reading = Reading {
            stage,
            input: Vec::new(),
            ready: 0..0,
            from: 0,
            to: 0,
            failed: None,
            is_closed: false,
            pieces: 0,
            opened: 0,
        };
        let writing = Writing { sealer: Sealed::NotYet(Vec::new()), queue: VecDeque::new(), written: 0 };
        Arc::new(Session {
            inner,
            certificates: certificates.clone(),
            of,
            reading: Mutex::new(reading),
            writing: Mutex::new(writing),
            keys: OnceLock::new(),
            is_asked: AtomicBool::new(false),
            has_unwritten: AtomicBool::new(false),
            peer: OnceLock::new(),
            ended: OnceLock::new(),
        })
    }

    /// Ends the connection if the other side's certificate is not accepted any more.
    pub(super) fn check_again(&self, current: &Current, now: UnixTime) {
        let Some(peer) = self.peer.get() else { return };
        let mut checked = peer.checked.lock().unwrap_or_else(PoisonError::into_inner);
        if *checked == current.number && now.as_secs() <= peer.not_after {
            return;
        }
        let Some((certificate, intermediates)) = peer.chain.split_first() else { return };
        match current.trust.check(self.of, certificate, intermediates, now) {
            Ok(()) => *checked = current.number,
            Err(error) => {
                _ = self.ended.set(words::explain(self.inner.peer(), &error, &self.certificates));
                self.end();
            }
        }
    }

    fn reading(&self) -> MutexGuard<'_, Reading> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn writing(&self) -> MutexGuard<'_, Writing> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keys(&self) -> Option<MutexGuard<'_, Keys>> {
        Some(self.keys.get()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn explain(&self, error: &rustls::Error) -> Error {
        words::explain(self.inner.peer(), error, &self.certificates)
    }

    /// Says that nothing follows, if no other thread writes and all before it is written.
    fn say_end(&self) {
        let mut writing = match self.writing.try_lock() {
            Ok(writing) => writing,
            Err(TryLockError::Poisoned(writing)) => writing.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        // The node refuses the connection before it has read anything.
        if let Sealed::NotYet(early) = &writing.sealer
            && let Ok(reading) = self.reading.try_lock()
            && let Stage::Any(plainly) = reading.stage
        {
            let mut first = [0; FIRST];
            // What is not read when a connection is closed may take what was written with it.
            let came = self.inner.read(&mut [IoSliceMut::new(&mut first)], false);
            let speaks_plainly = match came {
                Ok(Moved::Bytes(1..)) => first[0] == PLAINLY,
                _ => plainly,
            };
            let said = if speaks_plainly && plainly { early } else { &NO_ROOM[..] };
            _ = self.inner.write(&[IoSlice::new(said)], false);
            writing.sealer = Sealed::Over;
        }
        if writing.queue.is_empty()
            && let Sealed::By(sealer) = &mut writing.sealer
            && let Ok(record) = sealer.seal(ContentType::Alert, &[&[1, 0]])
        {
            _ = self.inner.write(&[IoSlice::new(&record)], false);
            writing.sealer = Sealed::Over;
        }
    }

    fn end(&self) {
        self.say_end();
        self.inner.end();
    }
}

impl Reading {
    fn read(&mut self, session: &Session, places: &mut [IoSliceMut<'_>], mut wait: bool) -> Result<Moved> {
        let mut places = Places { places, at: 0, within: 0, filled: 0 };
        let mut all = 0;
        self.opened = 0;
        for _ in 0..READS {
            self.deliver(session, &mut places);
            if let Some(moved) = self.moved(&places) {
                return moved;
            }
            if self.opened >= OPENED {
                break;
            }
            if matches!(self.stage, Stage::Plain) {
                return session.inner.read(places.places, wait);
            }
            let room = self.make_room();
            let came = session.inner.read(&mut [IoSliceMut::new(&mut self.input[self.to..])], wait);
            wait = false;
            match came {
                Ok(Moved::Bytes(count)) if count <= room => {
                    self.to += count;
                    all += count;
                    if count < room {
                        break;
                    }
                }
                Ok(Moved::Bytes(_) | Moved::Blocked) => break,
                Ok(Moved::Closed) => {
                    self.is_closed = true;
                    if let Stage::Handshake(..) = self.stage {
                        self.failed = Some(words::silent(session.inner.peer()));
                    }
                    break;
                }
                Err(error) => {
                    self.failed = Some(error);
                    break;
                }
            }
        }
        self.deliver(session, &mut places);
        self.moved(&places).unwrap_or(match places.filled {
            // Little of a record came, or records without anything for the node, so the caller counts the read.
            0 if self.is_little(all) || self.opened > 0 => Ok(Moved::Bytes(0)),
            0 => Ok(Moved::Blocked),
            filled => Ok(Moved::Bytes(filled)),
        })
    }

    /// Whether a read has brought so little of a record that the caller counts it.
    fn is_little(&mut self, came: usize) -> bool {
        self.pieces += 1;
        let is_divided = matches!(self.stage, Stage::Open(_)) && self.to - self.from >= self.pieces * PIECE;
        (1..if is_divided { LITTLE_OF_EVENT } else { LITTLE }).contains(&came)
    }

    /// The result, if no more is to be read.
    fn moved(&self, places: &Places<'_, '_>) -> Option<Result<Moved>> {
        if places.filled > 0 && (self.failed.is_some() || self.is_closed || places.is_full()) {
            return Some(Ok(Moved::Bytes(places.filled)));
        }
        match &self.failed {
            Some(error) => Some(Err(error.clone())),
            None => self.is_closed.then_some(Ok(Moved::Closed)),
        }
    }

    /// Passes on what has arrived, and continues the handshake.
    fn deliver(&mut self, session: &Session, places: &mut Places<'_, '_>) {
        loop {
            let taken = places.fill(&self.input[self.ready.clone()]);
            self.ready.start += taken;
            if taken > 0 {
                self.pieces = 0;
            }
            let is_enough = !self.ready.is_empty() || self.opened >= OPENED;
            if is_enough || self.failed.is_some() || self.is_closed {
                return;
            }
            match self.step(session) {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => self.failed = Some(error),
            }
        }
    }

    /// Takes a step with the bytes that have arrived. Returns whether there may be more to do without further ones.
    fn step(&mut self, session: &Session) -> Result<bool> {
        match &mut self.stage {
            Stage::Plain => {
                self.ready = self.from..self.to;
                self.from = self.to;
                Ok(!self.ready.is_empty())
            }
            Stage::Over => Ok(false),
            Stage::Any(plainly) => {
                let Some(&first) = self.input[..self.to].first() else { return Ok(false) };
                if first != PLAINLY {
                    let current = session.certificates.current()?;
                    let accepted = Handshake::accept(&current.acceptor);
                    let handshake = accepted.map_err(|error| session.explain(&error))?;
                    self.stage = Stage::Handshake(Box::new(handshake), current);
                } else if *plainly {
                    self.stage = Stage::Plain;
                    let mut writing = session.writing();
                    if let Sealed::NotYet(early) = std::mem::replace(&mut writing.sealer, Sealed::Not) {
                        writing.write_own(session, early)?;
                    }
                } else {
                    // The error matters more than whether this was written.
                    _ = session.inner.write(&[IoSlice::new(&ALERT)], false);
                    return Err(words::plain_dialer(session.inner.peer()));
                }
                Ok(true)
            }
            Stage::Handshake(..) => self.go_on(session),
            Stage::Open(_) => self.open(session),
        }
    }

    fn go_on(&mut self, session: &Session) -> Result<bool> {
        let Stage::Handshake(handshake, _) = &mut self.stage else { return Ok(false) };
        let input = &mut self.input[self.from..self.to];
        if input.is_empty() {
            return Ok(false);
        }
        if session.of == Of::Acceptor && input[0] == PLAINLY {
            return Err(words::plain_acceptor(session.inner.peer()));
        }
        let advanced = handshake.advance(input);
        self.from += advanced.used;
        let sent = session.writing().write_own(session, advanced.out);
        if let Some(error) = advanced.failed {
            return Err(session.explain(&error));
        }
        sent?;
        if advanced.is_done {
            return self.finish(session).map(|()| true);
        }
        if self.to - self.from > HANDSHAKE {
            return Err(session.explain(&rustls::Error::PeerSentOversizedRecord));
        }
        Ok(false)
    }

    fn finish(&mut self, session: &Session) -> Result<()> {
        let Stage::Handshake(handshake, current) = std::mem::replace(&mut self.stage, Stage::Over) else {
            return Ok(());
        };
        let done = handshake.finish().map_err(|error| session.explain(&error))?;
        let peer = Peer::new(done.chain, done.binding, current.number)
            .ok_or_else(|| session.explain(&rustls::Error::NoCertificatesPresented))?;
        // Each of them is set once, since the stage is left once.
        _ = session.keys.set(Mutex::new(done.keys));
        _ = session.peer.set(peer);
        self.stage = Stage::Open(done.opener);
        let mut writing = session.writing();
        let early = std::mem::replace(&mut writing.sealer, Sealed::By(done.sealer));
        if let Sealed::NotYet(early) = early {
            for part in early.chunks(PLAIN) {
                let record = writing.seal(session, &[part]).map_err(|error| session.explain(&error))?;
                writing.write_own(session, record)?;
            }
        }
        Ok(())
    }

    /// Opens the next record, if it is there.
    fn open(&mut self, session: &Session) -> Result<bool> {
        let Stage::Open(opener) = &mut self.stage else { return Ok(false) };
        let input = &mut self.input[self.from..self.to];
        let length = records::length(input).map_err(|error| session.explain(&error))?;
        let Some(record) = length.and_then(|length| input.get_mut(..length)) else { return Ok(false) };
        let (kind, length) = opener.open(record).map_err(|error| session.explain(&error))?;
        let content = self.from + WITHIN..self.from + WITHIN + length;
        self.from += record.len();
        self.opened += 1;
        match kind {
            ContentType::ApplicationData => self.ready = content,
            ContentType::Alert => self.alerted(session, content)?,
            ContentType::Handshake => self.told(session, content)?,
            _ => return Err(session.explain(&rustls::Error::DecryptError)),
        }
        Ok(true)
    }

    fn alerted(&mut self, session: &Session, content: std::ops::Range<usize>) -> Result<()> {
        match self.input[content] {
            // That nothing follows; and that the user wanted that.
            [_, 0] => self.is_closed = true,
            [_, 90] => {}
            [_, kind] => return Err(session.explain(&rustls::Error::AlertReceived(kind.into()))),
            _ => return Err(session.explain(&rustls::Error::DecryptError)),
        }
        Ok(())
    }

    /// Messages of the handshake that come behind it: tickets, which nobody uses, and changes of keys.
    fn told(&mut self, session: &Session, content: std::ops::Range<usize>) -> Result<()> {
        const TICKET: u8 = 4;
        const KEY_UPDATE: u8 = 24;
        let unexpected = || session.explain(&rustls::Error::General("a message that may not come here".into()));
        let mut rest = &self.input[content];
        while let Some((&[kind, a, b, c], behind)) = rest.split_first_chunk::<4>() {
            let length = u32::from_be_bytes([0, a, b, c]) as usize;
            let (message, others) = behind.split_at_checked(length).ok_or_else(unexpected)?;
            rest = others;
            match (kind, message) {
                (TICKET, _) => {}
                // A change of keys ends its record, as the next one has the new key.
                (KEY_UPDATE, [asks @ (0 | 1)]) if rest.is_empty() => {
                    if *asks == 1 {
                        session.is_asked.store(true, Ordering::Release);
                    }
                    self.opened += OF_CHANGE - 1;
                    let mut keys = session.keys().ok_or_else(unexpected)?;
                    self.stage = Stage::Open(keys.next_opener().map_err(|error| session.explain(&error))?);
                }
                _ => return Err(unexpected()),
            }
        }
        if rest.is_empty() { Ok(()) } else { Err(unexpected()) }
    }

    /// Makes room behind what has arrived. Returns how much.
    fn make_room(&mut self) -> usize {
        if self.from > 0 {
            // Nothing of what was opened is left.
            self.input.copy_within(self.from..self.to, 0);
            (self.to, self.from, self.ready) = (self.to - self.from, 0, 0..0);
        }
        let least = if matches!(self.stage, Stage::Open(_)) { RECORD } else { FIRST };
        let length = self.input.len();
        // More than before if all was filled, and in any case so much that the next record fits.
        let wanted = if self.to == length && length > 0 { (4 * length).min(MOST) } else { length }.max(least);
        if wanted > length {
            self.input.resize(wanted, 0);
        }
        self.input.len() - self.to
    }

    /// Whether reading would return something without further bytes.
    fn has_more(&self) -> bool {
        if !self.ready.is_empty() || self.failed.is_some() || self.is_closed {
            return true;
        }
        match &self.stage {
            Stage::Open(_) => {
                let length = records::length(&self.input[self.from..self.to]);
                length.map_or(true, |length| length.is_some_and(|length| length <= self.to - self.from))
            }
            _ => false,
        }
    }
}

impl Writing {
    /// Writes bytes that the node does not count, now or when there is room.
    fn write_own(&mut self, session: &Session, bytes: Vec<u8>) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.queue.push_back((bytes, 0));
        match self.flush(session, false, &mut 0)? {
            Some(Moved::Closed) => Err(words::silent(session.inner.peer())),
            Some(_) => {
                session.has_unwritten.store(true, Ordering::Release);
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn write(&mut self, session: &Session, slices: &[IoSlice<'_>], wait: bool) -> Result<Moved> {
        let mut done = 0;
        if let Some(moved) = self.flush(session, wait, &mut done)? {
            return Ok(moved);
        }
        // The first bytes are those of the records that were not written whole the last time.
        let mut rest = Slices { slices, at: 0, within: 0 };
        rest.skip(done);
        loop {
            while self.queue.len() < TOGETHER {
                let mut places = SmallVec::<[&[u8]; 8]>::new();
                let count = rest.take(PLAIN, &mut places);
                if count == 0 {
                    break;
                }
                let record = self.seal(session, &places).map_err(|error| session.explain(&error))?;
                self.queue.push_back((record, count));
            }
            if self.queue.is_empty() {
                return Ok(Moved::Bytes(done));
            }
            if let Some(moved) = self.flush(session, wait, &mut done)? {
                return Ok(moved);
            }
        }
    }

    /// Seals bytes of the node; before, changes the key if that is needed.
    fn seal(&mut self, session: &Session, places: &[&[u8]]) -> Result<Vec<u8>, rustls::Error> {
        let Sealed::By(sealer) = &mut self.sealer else { return Err(rustls::Error::HandshakeNotComplete) };
        if sealer.is_spent() || session.is_asked.swap(false, Ordering::AcqRel) {
            const KEY_UPDATE: [u8; 5] = [24, 0, 0, 1, 0];
            let said = sealer.seal(ContentType::Handshake, &[&KEY_UPDATE])?;
            *sealer = session.keys().ok_or(rustls::Error::HandshakeNotComplete)?.next_sealer()?;
            self.queue.push_back((said, 0));
        }
        sealer.seal(ContentType::ApplicationData, places)
    }

    /// Writes what is sealed, and adds to `done` how many of the node's bytes that were. Returns the result of the whole
    /// call, if it was not all.
    fn flush(&mut self, session: &Session, wait: bool, done: &mut usize) -> Result<Option<Moved>> {
        while let Some((first, _)) = self.queue.front() {
            let mut slices = SmallVec::<[IoSlice<'_>; TOGETHER + 1]>::new();
            slices.push(IoSlice::new(&first[self.written..]));
            slices.extend(self.queue.iter().skip(1).take(MOST_SLICES - 1).map(|(record, _)| IoSlice::new(record)));
            let count = match session.inner.write(&slices, wait)? {
                Moved::Bytes(count) => count,
                other => return Ok(Some(if *done > 0 { Moved::Bytes(*done) } else { other })),
            };
            let offered: usize = slices.iter().map(|slice| slice.len()).sum();
            drop(slices);
            self.advance(count, done);
            if count < offered {
                return Ok(Some(if *done > 0 { Moved::Bytes(*done) } else { Moved::Blocked }));
            }
        }
        session.has_unwritten.store(false, Ordering::Release);
        Ok(None)
    }

    fn advance(&mut self, mut count: usize, done: &mut usize) {
        while let Some((record, plain)) = self.queue.front() {
            let left = record.len() - self.written;
            if count < left {
                self.written += count;
                return;
            }
            count -= left;
            *done += plain;
            self.written = 0;
            self.queue.pop_front();
        }
    }
}

impl Peer {
    fn new(chain: Vec<CertificateDer<'static>>, binding: [u8; 32], number: u64) -> Option<Peer> {
        let first = chain.first()?;
        let names = names(&webpki::EndEntityCert::try_from(first).ok()?);
        let not_after = super::der::Said::of(first)?.not_after;
        let credentials = Credentials { binding, certificate: Some(names), ..Credentials::default() };
        Some(Peer { credentials, chain, not_after, checked: Mutex::new(number) })
    }
}

impl Connection for Shared {
    fn read(&self, places: &mut [IoSliceMut<'_>], wait: bool) -> Result<Moved> {
        let session = &*self.0;
        if let Some(error) = session.ended.get() {
            return Err(error.clone());
        }
        let moved = session.reading().read(session, places, wait);
        match (moved, session.ended.get()) {
            (Ok(Moved::Closed), Some(error)) => Err(error.clone()),
            (moved, _) => moved,
        }
    }

    fn peek(&self, place: &mut [u8]) -> usize {
        self.0.inner.peek(place)
    }

    fn write(&self, slices: &[IoSlice<'_>], wait: bool) -> Result<Moved> {
        let session = &*self.0;
        let mut writing = session.writing();
        if !matches!(writing.sealer, Sealed::By(_))
            && let Some(moved) = writing.flush(session, wait, &mut 0)?
        {
            return Ok(moved);
        }
        match &mut writing.sealer {
            Sealed::By(_) => writing.write(session, slices, wait),
            Sealed::Over => Ok(Moved::Closed),
            Sealed::Not => {
                drop(writing);
                session.inner.write(slices, wait)
            }
            Sealed::NotYet(early) => {
                let before = early.len();
                for slice in slices.iter().filter(|slice| !slice.is_empty()) {
                    early.extend_from_slice(&slice[..slice.len().min(EARLY - early.len())]);
                }
                match early.len() - before {
                    0 => Ok(Moved::Blocked),
                    count => Ok(Moved::Bytes(count)),
                }
            }
        }
    }

    fn end(&self) {
        self.0.end();
    }

    fn end_writing(&self) {
        self.0.say_end();
        self.0.inner.end_writing();
    }

    fn watch(&self) -> Watch<'_> {
        self.0.inner.watch()
    }

    fn has_more(&self) -> bool {
        self.0.reading().has_more()
    }

    fn opened(&self) -> usize {
        self.0.reading().opened
    }

    fn has_unwritten(&self) -> bool {
        self.0.has_unwritten.load(Ordering::Acquire)
    }

    fn tell(&self, ready: Ready) {
        self.0.inner.tell(ready);
    }

    fn own(&self) -> Option<SocketAddr> {
        self.0.inner.own()
    }

    fn peer(&self) -> &str {
        self.0.inner.peer()
    }

    fn credentials(&self) -> Credentials {
        let known = self.0.peer.get().map(|peer| peer.credentials.clone()).unwrap_or_default();
        Credentials { address: self.0.inner.credentials().address, ..known }
    }

    fn begins_with_work(&self) -> bool {
        true
    }

    fn ahead(&self) -> Option<usize> {
        self.0.inner.ahead()
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Session({})", self.inner.peer())
    }
}

/// Places that are filled one after the other.
struct Places<'p, 'b> {
    places: &'p mut [IoSliceMut<'b>],
    at: usize,
    within: usize,
    filled: usize,
}

impl Places<'_, '_> {
    fn fill(&mut self, mut bytes: &[u8]) -> usize {
        let before = bytes.len();
        while let Some(place) = self.places.get_mut(self.at) {
            let place = &mut place[self.within..];
            let count = place.len().min(bytes.len());
            place[..count].copy_from_slice(&bytes[..count]);
            bytes = &bytes[count..];
            if count < place.len() {
                self.within += count;
                break;
            }
            (self.at, self.within) = (self.at + 1, 0);
        }
        self.filled += before - bytes.len();
        before - bytes.len()
    }

    fn is_full(&self) -> bool {
        self.at == self.places.len()
    }
}

/// Slices that are taken one after the other.
struct Slices<'s> {
    slices: &'s [IoSlice<'s>],
    at: usize,
    within: usize,
}

impl<'s> Slices<'s> {
    fn skip(&mut self, mut count: usize) {
        while let Some(slice) = self.slices.get(self.at)
            && count > 0
        {
            let taken = count.min(slice.len() - self.within);
            (self.within, count) = (self.within + taken, count - taken);
            if self.within == slice.len() {
                (self.at, self.within) = (self.at + 1, 0);
            }
        }
    }

    /// Takes up to this many bytes. Returns how many.
    fn take(&mut self, most: usize, into: &mut SmallVec<[&'s [u8]; 8]>) -> usize {
        let mut left = most;
        while let Some(slice) = self.slices.get(self.at)
            && left > 0
        {
            let slice: &'s [u8] = slice;
            let taken = left.min(slice.len() - self.within);
            if taken > 0 {
                into.push(&slice[self.within..self.within + taken]);
            }
            (self.within, left) = (self.within + taken, left - taken);
            if self.within == slice.len() {
                (self.at, self.within) = (self.at + 1, 0);
            }
        }
        most - left
    }
}

#[cfg(test)]
impl Session {
    pub(super) fn certificates(&self) -> &Certificates {
        &self.certificates
    }

    /// As if the present key were good for this many records.
    pub(super) fn limit_key(&self, records: u64) {
        if let Sealed::By(sealer) = &mut self.writing().sealer {
            sealer.limit(records);
        }
    }
}

#[cfg(test)]
impl Shared {
    /// Writes bytes that are no record.
    pub(super) fn write_beneath(&self, bytes: &[u8]) -> Moved {
        self.0.inner.write(&[IoSlice::new(bytes)], false).unwrap()
    }
}
