//! Streams: each message comes once and in order, however the bytes come and whatever is asked when.

use crate::refusal;
use isoform::message::{HEADER, Header};
use isoform::stream::Reader;
use isoform::{Code, Error, Incoming, Registry, Token, View};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};

/// So many bytes in front of the stream choose how it is read.
pub const CHOICES: usize = 8;

/// The input is a few bytes that choose how the stream is read, and the stream.
pub fn check(input: &[u8]) {
    let (choices, stream) = input.split_at(CHOICES.min(input.len()));
    header(stream);
    let events = read(stream);
    read_in_pieces(&events, choices, stream);
}

/// What a stream yields, one after another.
#[derive(Clone, Debug, PartialEq)]
enum Event {
    Message(Token, Vec<u8>),
    Refused(Code),
    /// After this nothing more comes. `None` is the end between two messages.
    Ended(Option<Code>),
}

/// A header that is accepted is written as it came, but for what is ignored.
fn header(stream: &[u8]) {
    if let Some(bytes) = stream.first_chunk::<HEADER>()
        && let Ok(header) = Header::parse(bytes)
    {
        let again = header.to_bytes();
        assert_eq!(Header::parse(&again), Ok(header));
    }
}

/// Reads a stream from its beginning to its end, and looks at what came.
fn read(stream: &[u8]) -> VecDeque<Event> {
    let mut reader = Reader::new(stream);
    let mut events = VecDeque::new();
    loop {
        let event = match reader.next() {
            Ok(Some(message)) => {
                match message.verify() {
                    Ok(body) => _ = View::new(body).to_value(),
                    Err(error) => refusal(&error),
                }
                Event::Message(message.token(), message.body().to_vec())
            }
            Ok(None) => Event::Ended(None),
            Err(error) => refused(&reader, &error),
        };
        events.push_back(event.clone());
        if events.len() == 1 {
            alone(stream, &mut reader.registry().clone(), &event);
        }
        if let Event::Ended(why) = event {
            assert!(why.is_some() || reader.position().next_multiple_of(16) >= stream.len() as u64);
            assert!(events.len() <= 1 + stream.len().div_ceil(HEADER), "more messages than there is room for");
            return events;
        }
    }
}

/// The first message is the same outside of a stream, where a description is none.
fn alone(stream: &[u8], registry: &mut Registry, first: &Event) {
    match (Incoming::parse(stream, registry), first) {
        (Ok(message), Event::Message(token, body)) => {
            assert_eq!((message.token(), message.body()), (*token, &body[..]))
        }
        (Ok(message), first) => panic!("{message:?} instead of {first:?}"),
        (Err(error), _) => refusal(&error),
    }
}

fn refused<R: Read>(reader: &Reader<R>, error: &Error) -> Event {
    refusal(error);
    if reader.goes_on_after(error) { Event::Refused(error.code()) } else { Event::Ended(Some(error.code())) }
}

/// Reads it again, in pieces and in other ways: the same comes.
fn read_in_pieces(events: &VecDeque<Event>, choices: &[u8], stream: &[u8]) {
    let mut left = events.clone();
    let mut choices = Choices::of(choices);
    let mut reader = Reader::new(Pieces { stream, at: 0, choices: choices.clone(), waits: 0 });
    let mut place = vec![0; stream.len()];
    let mut reported = false;
    let mut ask = choices.ask();
    loop {
        let came = match ask {
            Ask::Next => reader.next().map(|message| message.map(|it| Some((it.token(), it.body().to_vec())))),
            Ask::Peek => reader.peek().map(|seen| seen.map(|_| None)),
            Ask::Skip => reader.skip().map(|skipped| skipped.then_some(None)),
            Ask::SeekPast => reader.seek_past().map(|skipped| skipped.then_some(None)),
            Ask::ReadInto => reader
                .read_into(&mut place)
                .map(|read| read.map(|(header, _)| Some((header.token, place[..header.length as usize].to_vec())))),
        };
        let skips = matches!(ask, Ask::Skip | Ask::SeekPast);
        // What was reported is behind whatever is asked next, but for a skip, which is about it.
        if reported && !skips {
            left.pop_front();
        }
        reported = false;
        let next = left.front().expect("nothing comes after the end");
        match came {
            Ok(None) if !reader.ended() => {}
            Ok(None) => {
                assert_eq!(*next, Event::Ended(None));
                return;
            }
            Ok(Some(message)) => {
                match (message, next) {
                    (Some((token, body)), Event::Message(expected, bytes)) => {
                        assert_eq!((token, &body), (*expected, bytes));
                    }
                    (None, Event::Message(..)) => {}
                    (None, Event::Refused(_)) if skips => {}
                    // A header is seen before it shows that the body is cut off.
                    (None, Event::Ended(Some(Code::Cut))) if matches!(ask, Ask::Peek) => {}
                    (came, next) => panic!("{came:?} instead of {next:?}"),
                }
                if !matches!(ask, Ask::Peek) {
                    left.pop_front();
                }
            }
            Err(error) if error.code() == Code::Cut && !reader.ended() => continue,
            // There is room for every body that has come wholly, and this one stays the next.
            Err(error)
                if matches!(ask, Ask::ReadInto)
                    && error.code() == Code::MessageSize
                    && !reader.goes_on_after(&error) =>
            {
                assert_eq!(*next, Event::Ended(Some(Code::Cut)));
            }
            Err(error) => match refused(&reader, &error) {
                Event::Refused(code) => {
                    assert_eq!(*next, Event::Refused(code));
                    reported = true;
                }
                ended => {
                    cut_within_what_was_refused(&ended, next);
                    return;
                }
            },
        }
        ask = choices.ask();
    }
}

/// Who skips a message that is refused and cut off learns of the cut only.
fn cut_within_what_was_refused(ended: &Event, expected: &Event) {
    let cut = *ended == Event::Ended(Some(Code::Cut));
    assert!(ended == expected || cut && matches!(expected, Event::Refused(_)), "{ended:?} instead of {expected:?}");
}

enum Ask {
    Next,
    Peek,
    Skip,
    SeekPast,
    ReadInto,
}

/// Numbers that follow from a few bytes.
#[derive(Clone)]
struct Choices(u64);

impl Choices {
    fn of(bytes: &[u8]) -> Choices {
        Choices(bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn ask(&mut self) -> Ask {
        match self.below(8) {
            0 => Ask::Peek,
            1 => Ask::Skip,
            2 => Ask::SeekPast,
            3 | 4 => Ask::ReadInto,
            _ => Ask::Next,
        }
    }
}

/// Gives some bytes at a time, and sometimes none for now.
struct Pieces<'a> {
    stream: &'a [u8],
    at: usize,
    choices: Choices,
    /// How often in a row nothing came.
    waits: u8,
}

impl Read for Pieces<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let wait = self.choices.below(8);
        if wait < 2 && self.waits < 4 {
            self.waits += 1;
            return Err(if wait == 0 { ErrorKind::Interrupted } else { ErrorKind::WouldBlock }.into());
        }
        self.waits = 0;
        let bound = [2, 20, 100, 5000][self.choices.below(4) as usize];
        let rest = &self.stream[self.at..];
        let length = (1 + self.choices.below(bound) as usize).min(rest.len()).min(to.len());
        to[..length].copy_from_slice(&rest[..length]);
        self.at += length;
        Ok(length)
    }
}

impl Seek for Pieces<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let end = self.stream.len() as i64;
        let to = match to {
            SeekFrom::Start(to) => to as i64,
            SeekFrom::End(by) => end + by,
            SeekFrom::Current(by) => self.at as i64 + by,
        };
        assert!((0..=end).contains(&to), "a seek beyond the end would hide that something is missing");
        self.at = to as usize;
        Ok(to as u64)
    }
}
