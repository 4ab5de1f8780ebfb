//! Whatever a stream holds, however its bytes come, and whatever is asked when: each message comes once, in order.

use isoform::core::Layout;
use isoform::stream::{Reader, Writer};
use isoform::{Code, FieldList, Format, Token};
use isoform_core::message::Header;
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::rc::Rc;

/// What a stream holds.
#[derive(Clone, Debug)]
enum Part {
    /// A message of the format of this number.
    Record(usize, Vec<u8>),
    /// A message of a format that nobody described.
    Unknown(usize),
    /// A description that is none.
    Malformed(Vec<u8>),
}

/// What a reader is asked.
#[derive(Clone, Copy, Debug)]
enum Ask {
    Next,
    Peek,
    Skip,
    SeekPast,
    ReadInto,
}

fn part() -> impl Strategy<Value = Part> {
    let size = prop_oneof![9 => 8..200usize, 1 => 60_000..140_000usize];
    prop_oneof![
        6 => (0..3usize, size, any::<u8>()).prop_map(|(format, size, byte)| Part::Record(format, vec![byte; size])),
        1 => (0..100usize).prop_map(Part::Unknown),
        1 => prop::collection::vec(any::<u8>(), 0..40).prop_map(Part::Malformed),
    ]
}

fn ask() -> impl Strategy<Value = Ask> {
    prop::sample::select(vec![Ask::Next, Ask::Next, Ask::Peek, Ask::Skip, Ask::SeekPast, Ask::ReadInto])
}

fn format(number: usize) -> Format {
    let fields = FieldList::new(format!("F{number}")).field("a", "integer", 8, 0);
    fields.format(Layout::S390X.machine(), 8, 8).unwrap()
}

fn message(token: Token, body: &[u8]) -> Vec<u8> {
    let mut bytes = Header::new(token, body.len() as u64).to_bytes().to_vec();
    bytes.extend(body);
    bytes.resize(bytes.len().next_multiple_of(16), 0);
    bytes
}

fn stream(parts: &[Part]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes);
    for part in parts {
        match part {
            Part::Record(number, body) => writer.write_body(&format(*number), body).unwrap(),
            Part::Unknown(length) => {
                io::Write::write_all(writer.inner_mut(), &message(Token::from_bytes([1; 16]), &vec![0; *length]))
                    .unwrap()
            }
            Part::Malformed(body) => {
                let body: Vec<u8> = [&[9], &body[..]].concat();
                io::Write::write_all(writer.inner_mut(), &message(Token::ZERO, &body)).unwrap();
            }
        }
    }
    bytes
}

/// Gives so many bytes at a time, and nothing for a while where that is 0.
#[derive(Clone)]
struct Chunks {
    data: Rc<Vec<u8>>,
    at: Rc<RefCell<usize>>,
    sizes: Rc<RefCell<VecDeque<usize>>>,
}

impl Read for Chunks {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let size = self.sizes.borrow_mut().pop_front();
        let mut at = self.at.borrow_mut();
        match size {
            Some(1) => return Err(ErrorKind::Interrupted.into()),
            Some(2) => return Err(ErrorKind::WouldBlock.into()),
            _ => {}
        }
        let length = size.unwrap_or(usize::MAX).min(to.len()).min(self.data.len() - *at);
        to[..length].copy_from_slice(&self.data[*at..*at + length]);
        *at += length;
        Ok(length)
    }
}

impl Seek for Chunks {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let mut at = self.at.borrow_mut();
        *at = match to {
            SeekFrom::Start(to) => to as usize,
            SeekFrom::End(by) => (self.data.len() as i64 + by) as usize,
            SeekFrom::Current(by) => (*at as i64 + by) as usize,
        };
        Ok(*at as u64)
    }
}

proptest! {
    #[test]
    fn every_message_comes_once_and_in_order(
        parts in prop::collection::vec(part(), 0..12),
        asks in prop::collection::vec(ask(), 1..30),
        sizes in prop::collection::vec(prop_oneof![0..100usize, 0..70_000usize], 0..200),
    ) {
        let input = Chunks {
            data: Rc::new(stream(&parts)),
            at: Rc::default(),
            sizes: Rc::new(RefCell::new(sizes.into())),
        };
        let mut reader = Reader::new(input.clone());
        let mut left: VecDeque<Part> = parts.into();
        let mut place = vec![0; 150_000];
        let asks = [asks, vec![Ask::Next]].concat();
        let mut asks = asks.iter().cycle();
        let mut reported = false;
        let mut ask = *asks.next().unwrap();
        loop {
            let came = match ask {
                Ask::Next => reader.next().map(|message| message.map(|m| (m.format().clone(), Some(m.body().to_vec())))),
                Ask::Peek => reader.peek().map(|seen| seen.map(|(_, format)| (format, None))),
                Ask::Skip => reader.skip().map(|skipped| skipped.then(|| (format(0), None))),
                Ask::SeekPast => reader.seek_past().map(|skipped| skipped.then(|| (format(0), None))),
                Ask::ReadInto => reader.read_into(&mut place).map(|read| {
                    read.map(|(header, format)| (format, Some(place[..header.length as usize].to_vec())))
                }),
            };
            let skips = matches!(ask, Ask::Skip | Ask::SeekPast);
            // What was reported as an error is behind whatever is asked next, but a skip.
            match came {
                Ok(None) => {
                    if reported { left.pop_front(); reported = false; }
                    // At a boundary, what would block looks like the end.
                    if input.sizes.borrow().is_empty() && *input.at.borrow() >= input.data.len() { break; }
                }
                Err(error) if error.code() == Code::Cut => continue, // ask the same again
                Err(error) => {
                    if reported { left.pop_front(); }
                    reported = true;
                    prop_assert!(reader.goes_on_after(&error));
                    match left.front() {
                        Some(Part::Unknown(_)) => prop_assert_eq!(error.code(), Code::UnknownFormat),
                        Some(Part::Malformed(_)) => prop_assert_eq!(error.code(), Code::Version),
                        other => prop_assert!(false, "{} at {:?}", error, other),
                    }
                }
                Ok(Some((met, body))) => {
                    if reported && !skips { left.pop_front(); }
                    reported = false;
                    let part = left.front().cloned();
                    match part {
                        Some(Part::Record(number, expected)) => {
                            prop_assert!(skips || met == format(number));
                            prop_assert!(body.is_none_or(|body| body == expected));
                        }
                        Some(_) => prop_assert!(skips),
                        None => prop_assert!(false, "more arrived than was sent"),
                    }
                    if !matches!(ask, Ask::Peek) { left.pop_front(); }
                }
            }
            ask = *asks.next().unwrap();
        }
        prop_assert!(left.is_empty(), "{:?}", left);
    }

    #[test]
    fn no_bytes_make_a_reader_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..300), headers in prop::collection::vec((0..300usize, any::<u64>(), any::<bool>()), 0..4)) {
        for (at, length, small) in headers {
            let token = Token::from_bytes([0; 16]);
            let header = Header::new(token, if small { length % 64 } else { length }).to_bytes();
            let at = at.min(bytes.len()) / 16 * 16;
            bytes.splice(at..(at + 32).min(bytes.len()), header);
        }
        let mut reader = Reader::new(&bytes[..]);
        for _ in 0..100 {
            let came = reader.next().map(|message| message.is_some());
            match came {
                Ok(false) => break,
                Ok(true) => {}
                Err(error) if reader.goes_on_after(&error) => {}
                Err(_) => break,
            }
        }
    }
}
