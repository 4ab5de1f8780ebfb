//! From bytes to records, in every way.

use crate::memory::{self, measure};
use crate::outcome::Outcome;
use crate::record;
use isoform::core::value;
use isoform::stream::Reader;
use isoform::text::json;
use isoform::{Code, Error, Format, Incoming, Registry, Resolver, Result, Token, message::Header};
use std::io::Read;

/// Does everything with a stream that a receiver can do.
///
/// ```
/// let outcome = isoform_hostile::receive(b"no stream");
/// assert_eq!(outcome.refusal, Some(isoform::Code::NotAMessage));
/// for seed in isoform_hostile::seeds::vectors() {
///     isoform_hostile::receive(&seed);
/// }
/// ```
///
/// # Panics
/// If anything is otherwise than `spec/` says: the same bytes are read as two things, what was accepted cannot be
/// used, an error does not say what it is about, memory was taken that is not in proportion. Each is a defect.
pub fn receive(stream: &[u8]) -> Outcome {
    let mut outcome = Outcome::default();
    let (ends, used) = measure(|| at_once(stream, &mut outcome));
    memory::check("reading", stream.len(), used);
    if !cfg!(miri) {
        assert_eq!(piecemeal(stream), ends, "read at once, and in pieces");
        skip(stream, &ends);
    }
    let mut formats: Vec<(Token, usize)> = Vec::new();
    each(stream, |format, body| {
        // A hostile stream may be all of one record; a few of each format do.
        let known = formats.iter().position(|(token, _)| *token == format.token());
        let at = known.unwrap_or_else(|| {
            formats.push((format.token(), 0));
            formats.len() - 1
        });
        formats[at].1 += 1;
        if formats[at].1 <= 4 {
            record::everything(format, body, &mut outcome);
        }
    });
    if outcome.reading.of(Code::UnknownFormat) > 0 {
        resolved(stream, &mut outcome);
    }
    outcome
}

/// Reads a record of a format from JSON that a stranger has sent.
///
/// # Panics
/// If what was accepted makes no right body, or an error does not say what it is about.
pub fn receive_text(format: &Format, text: &[u8]) -> Outcome {
    let mut outcome = Outcome::default();
    let Ok(text) = std::str::from_utf8(text) else { return outcome };
    let (body, used) = measure(|| json::parse_partial(format, text).and_then(|record| value::body(format, &record)));
    match body {
        Ok(body) => {
            memory::check("reading JSON", text.len() + format.size(), used);
            format.verify(&body).expect("a body that was made here is right");
            outcome.records += 1;
        }
        Err(error) => outcome.misfit_text(&error),
    }
    outcome
}

/// What came next, for comparison.
#[derive(Clone, Debug, PartialEq)]
enum End {
    Record(Token, usize),
    /// What is refused, and whether the reader goes on behind it. What exactly came depends on how much of it had come.
    Refused(Code, String, bool),
}

impl End {
    fn refused<R: Read>(error: &Error, reader: &Reader<R>) -> End {
        End::Refused(error.code(), error.path().into(), reader.goes_on_after(error))
    }

    fn is_last(&self) -> bool {
        matches!(self, End::Refused(_, _, false))
    }
}

/// Reads and verifies all.
fn at_once(stream: &[u8], outcome: &mut Outcome) -> Vec<End> {
    let mut ends = Vec::new();
    let mut reader = Reader::new(stream);
    loop {
        match next(&mut reader, |message| {
            match message.verify() {
                Ok(_) => outcome.records += 1,
                Err(error) => outcome.refuse(&error),
            }
            End::Record(message.token(), message.body().len())
        }) {
            Ok(Some(end)) => ends.push(end),
            Ok(None) => return ends,
            Err(error) => {
                outcome.refuse(&error);
                ends.push(End::refused(&error, &reader));
                if ends.last().is_some_and(End::is_last) {
                    return ends;
                }
            }
        }
    }
}

fn next<R: Read, T>(reader: &mut Reader<R>, done: impl FnOnce(&Incoming<'_>) -> T) -> Result<Option<T>> {
    Ok(reader.next()?.map(|message| done(&message)))
}

/// The same of bytes that come a few at a time.
fn piecemeal(stream: &[u8]) -> Vec<End> {
    let mut ends = Vec::new();
    let mut reader = Reader::new(Few(stream));
    let mut place = Vec::new();
    loop {
        let step = ends.len();
        let came = reader.peek().and_then(|peeked| {
            let Some((header, _)) = peeked else { return Ok(None) };
            if step % 2 == 0 {
                return next(&mut reader, |message| (message.token(), message.body().len()));
            }
            // No more room than bytes can come.
            place.resize(header.length.min(stream.len() as u64) as usize, 0);
            if place.len() as u64 == header.length {
                Ok(reader.read_into(&mut place)?.map(|(header, _)| (header.token, header.length as usize)))
            } else {
                next(&mut reader, |message| (message.token(), message.body().len()))
            }
        });
        match came {
            Ok(Some((token, length))) => ends.push(End::Record(token, length)),
            Ok(None) => return ends,
            Err(error) => {
                ends.push(End::refused(&error, &reader));
                if ends.last().is_some_and(End::is_last) {
                    return ends;
                }
            }
        }
    }
}

struct Few<'a>(&'a [u8]);

impl Read for Few<'_> {
    fn read(&mut self, place: &mut [u8]) -> std::io::Result<usize> {
        let few = (1 + self.0.len() % 61).min(place.len());
        self.0.read(&mut place[..few])
    }
}

/// Passing over messages finds as many of them.
fn skip(stream: &[u8], ends: &[End]) {
    let mut reader = Reader::new(std::io::Cursor::new(stream));
    let mut passed = 0;
    while let Ok(true) = if passed % 2 == 0 { reader.skip() } else { reader.seek_past() } {
        passed += 1;
    }
    let all = ends.iter().filter(|end| !end.is_last()).count();
    // What was refused for its header, and is then cut, is not passed over.
    let cut = matches!(ends, [.., End::Refused(_, _, true), End::Refused(Code::Cut, _, _)]);
    assert!((all - usize::from(cut)..=all).contains(&passed), "passed over {passed} of {ends:?}");
}

/// Every record of a stream, unverified.
fn each(stream: &[u8], mut done: impl FnMut(&Format, &[u8])) {
    let mut reader = Reader::new(stream);
    loop {
        match next(&mut reader, |message| done(message.format(), message.body())) {
            Ok(Some(())) => {}
            Ok(None) => return,
            Err(error) if reader.goes_on_after(&error) => {}
            Err(_) => return,
        }
    }
}

/// Reads again with somebody to ask for unknown formats, who answers with whatever description there is.
fn resolved(stream: &[u8], outcome: &mut Outcome) {
    struct Answer(Vec<u8>);
    impl Resolver for Answer {
        fn resolve(&self, _: Token) -> Result<Vec<u8>> {
            Ok(self.0.clone())
        }
    }
    let zeros = stream.windows(24).position(|start| start[..4] == *b"\x89ISO" && start[8..] == [0; 16]);
    let Some(message) = zeros.map(|at| &stream[at..]) else { return };
    let Some(header) = message.first_chunk().and_then(|header| Header::parse(header).ok()) else { return };
    let registry = Registry::new();
    let length = usize::try_from(header.length).unwrap_or(usize::MAX).min(message.len() - 32);
    registry.set_resolver(Answer(message[32..][..length].to_vec()));
    let mut reader = Reader::with_registry(stream, registry);
    loop {
        match next(&mut reader, |_| ()) {
            Ok(Some(())) => {}
            Ok(None) => return,
            Err(error) => {
                outcome.refuse(&error);
                if !reader.goes_on_after(&error) {
                    return;
                }
            }
        }
    }
}
