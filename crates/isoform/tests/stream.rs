//! Streams as their users meet them: whole, arriving in drops, cut anywhere, joined, and hostile.

use isoform::core::{ByteOrder, Element, Enumeration, Field, Structure};
use isoform::stream::{Reader, Writer};
use isoform::{Code, Error, Format, Limits, Machine, Registry, Resolver, Token};
use isoform_core::message::Header;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, Cursor, ErrorKind, Read};
use std::rc::Rc;
use std::sync::Arc;

const MACHINE: Machine = Machine { order: ByteOrder::Big, pointer: 4 };

fn format(name: &str, count: usize) -> Format {
    let element = Element::Integer { signed: false, size: 1 };
    let dims = [isoform::core::Dimension::Fixed(count)].into();
    let field = Field { name: "bytes".into(), element, dims, indirect: false, offset: 0, unit: None };
    Format::new(Structure::new(name, MACHINE, count, 1, vec![field]).unwrap().into()).unwrap()
}

/// Bodies that differ in every message.
fn body(size: usize, seed: usize) -> Vec<u8> {
    (0..size).map(|i| (i * 31 + seed * 7 + 1) as u8).collect()
}

/// A stream of these messages, and where each of them ends.
fn stream(messages: &[(&Format, Vec<u8>)]) -> (Vec<u8>, Vec<usize>) {
    let mut writer = Writer::new(Vec::new());
    let mut ends = Vec::new();
    for (format, body) in messages {
        writer.write_body(format, body).unwrap();
        ends.push(writer.inner().len() - body.len().wrapping_neg() % 16);
    }
    (writer.into_inner(), ends)
}

/// Names of formats, and bodies.
type Messages = Vec<(String, Vec<u8>)>;

fn sample() -> (Messages, Vec<u8>, Vec<usize>) {
    let (gauge, flow) = (format("Gauge", 5), format("Flow", 40));
    let messages = [(&gauge, body(5, 0)), (&flow, body(48, 1)), (&gauge, body(5, 2)), (&gauge, body(16, 3))];
    let (bytes, ends) = stream(&messages);
    (messages.iter().map(|(format, body)| (format.name().to_string(), body.clone())).collect(), bytes, ends)
}

/// Everything that can be read now, and what stopped it.
fn read_all<R: Read>(reader: &mut Reader<R>) -> (Messages, Option<Code>) {
    let mut messages = Vec::new();
    loop {
        match reader.next() {
            Ok(Some(message)) => {
                assert_eq!(message.body().as_ptr() as usize % 16, 0, "bodies are aligned");
                assert_eq!(message.header().token, message.format().token());
                messages.push((message.format().name().to_string(), message.body().to_vec()));
            }
            Ok(None) => return (messages, None),
            Err(error) => return (messages, Some(error.code())),
        }
    }
}

#[test]
fn what_was_written_is_read() {
    let (messages, bytes, _) = sample();
    assert_eq!(bytes.len() % 16, 0);
    let mut reader = Reader::new(&bytes[..]);
    assert_eq!(read_all(&mut reader), (messages, None));
    assert_eq!(reader.position(), bytes.len() as u64);
    assert!(reader.ended());
    assert_eq!(reader.registry().formats().len(), 2);
    assert!(Reader::new(&[][..]).next().unwrap().is_none());
}

#[test]
fn a_reader_tells_whether_it_would_wait() {
    let (messages, bytes, ends) = sample();
    let mut reader = Reader::new(&bytes[..ends[2] - 1]);
    assert!(!reader.is_ready());
    assert!(reader.next().unwrap().is_some());
    assert!(reader.is_ready(), "a description can be answered, too");
    reader.peek().unwrap();
    assert!(reader.is_ready());
    assert_eq!(reader.next().unwrap().unwrap().body(), messages[1].1);
    assert!(!reader.is_ready());
    assert_eq!(reader.next().unwrap_err().code(), Code::Cut);
    assert!(!reader.is_ready());
}

#[test]
fn descriptions_are_written_once() {
    let gauge = format("Gauge", 5);
    let mut writer = Writer::new(Vec::new());
    writer.describe(&gauge).unwrap();
    writer.describe(&gauge).unwrap();
    let described = writer.inner().len();
    writer.write_body(&gauge, &body(5, 0)).unwrap();
    assert_eq!(writer.inner().len(), described + 48);
    assert_eq!(writer.write_body(&gauge, &body(4, 0)).unwrap_err().code(), Code::BodyLength);
    assert_eq!(writer.inner().len(), described + 48);
}

/// Input that is given bit by bit; it says that it has ended, or would block, whenever it is empty.
#[derive(Clone, Default)]
struct Dripping(Rc<RefCell<VecDeque<u8>>>, Option<ErrorKind>);

impl Read for Dripping {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        match self.1 {
            Some(kind) if self.0.borrow().is_empty() => Err(kind.into()),
            _ => self.0.borrow_mut().read(to),
        }
    }
}

#[test]
fn a_cut_at_any_byte_loses_nothing_before_it_and_the_rest_may_still_come() {
    let (messages, bytes, ends) = sample();
    for cut in 0..=bytes.len() {
        let input = Dripping::default();
        let mut reader = Reader::new(input.clone());
        input.0.borrow_mut().extend(&bytes[..cut]);
        let (before, stopped) = read_all(&mut reader);
        let whole = ends.iter().filter(|&&end| end <= cut).count();
        assert_eq!(before, messages[..whole], "cut at {cut}");
        assert!(matches!(stopped, None | Some(Code::Cut)));
        assert_eq!(read_all(&mut reader), (vec![], stopped), "the same answer again");
        input.0.borrow_mut().extend(&bytes[cut..]);
        assert_eq!(read_all(&mut reader), (messages[whole..].to_vec(), None), "continued at {cut}");
    }
}

#[test]
fn a_cut_says_how_much_was_found() {
    let (_, bytes, ends) = sample();
    let error = {
        let mut reader = Reader::new(&bytes[..ends[0] - 2]);
        reader.next().unwrap_err()
    };
    let begin = ends[0] - 37;
    assert_eq!(error.code(), Code::Cut);
    assert_eq!(error.expectation(), format!("37 bytes of the message at byte {begin}"));
    assert_eq!(error.actual(), "35");
    let mut reader = Reader::new(&bytes[..7]);
    let error = reader.next().unwrap_err();
    assert!(error.expectation().ends_with("bytes of the message at byte 0"), "{error}");
    assert_eq!(error.actual(), "7");
}

struct ByteByByte<R>(R, bool);

impl<R: Read> Read for ByteByByte<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.1 = !self.1;
        if self.1 {
            return Err(ErrorKind::Interrupted.into());
        }
        let one = to.len().min(1);
        self.0.read(&mut to[..one])
    }
}

#[test]
fn one_byte_at_a_time_with_signals_between() {
    let (messages, bytes, _) = sample();
    assert_eq!(read_all(&mut Reader::new(ByteByByte(&bytes[..], false))), (messages, None));
}

#[test]
fn an_input_that_would_block_has_not_ended() {
    let (messages, bytes, _) = sample();
    let input = Dripping(Rc::default(), Some(ErrorKind::WouldBlock));
    let mut reader = Reader::new(input.clone());
    let mut came = Vec::new();
    for byte in bytes {
        input.0.borrow_mut().push_back(byte);
        came.extend(read_all(&mut reader).0);
        assert!(!reader.ended());
    }
    assert_eq!(came, messages);
}

#[test]
fn streams_one_after_another_are_a_stream() {
    let (messages, bytes, _) = sample();
    let twice = [&bytes[..], &bytes[..]].concat();
    assert_eq!(read_all(&mut Reader::new(&twice[..])), ([&messages[..], &messages[..]].concat(), None));
}

#[test]
fn the_last_padding_may_be_missing() {
    let (messages, bytes, ends) = sample();
    let mut padded = stream(&[(&format("Gauge", 5), body(5, 0))]).0;
    padded.truncate(padded.len() - 11);
    assert_eq!(read_all(&mut Reader::new(&padded[..])).1, None);
    assert_eq!(read_all(&mut Reader::new(&bytes[..ends[3]])), (messages, None));
}

#[test]
fn an_unknown_format_is_named_and_the_stream_goes_on() {
    let (gauge, flow) = (format("Gauge", 5), format("Flow", 40));
    let mut bytes = stream(&[(&gauge, body(5, 0))]).0;
    let strange = Token::from_bytes([9; 16]);
    bytes.extend(Header::new(strange, 3).to_bytes());
    bytes.extend([1, 2, 3].into_iter().chain([0; 13]));
    bytes.extend(stream(&[(&flow, body(40, 1)), (&gauge, body(5, 2))]).0);
    let mut reader = Reader::new(&bytes[..]);
    assert_eq!(reader.next().unwrap().unwrap().format(), &gauge);
    let error = reader.next().unwrap_err();
    assert_eq!(error.token(), Some(strange));
    assert!(reader.goes_on_after(&error));
    assert_eq!(reader.next().unwrap().unwrap().format(), &flow);
    assert_eq!(reader.next().unwrap().unwrap().format(), &gauge);
    assert!(reader.next().unwrap().is_none());

    let mut reader = Reader::new(&bytes[..]);
    assert!(reader.skip().unwrap());
    assert_eq!(reader.peek().unwrap_err().token(), Some(strange));
    assert!(reader.skip().unwrap(), "the message at fault");
    assert_eq!(reader.peek().unwrap().unwrap().1, flow);

    let mut reader = Reader::new(&bytes[..]);
    assert_eq!((0..5).filter(|_| reader.skip().unwrap()).count(), 4, "nothing needs to be known to be skipped");
}

#[test]
fn formats_may_be_known_from_elsewhere() {
    let gauge = format("Gauge", 5);
    let mut bytes = Header::new(gauge.token(), 5).to_bytes().to_vec();
    bytes.extend(body(5, 0));
    let registry = Registry::new();
    registry.register(&gauge).unwrap();
    assert_eq!(read_all(&mut Reader::with_registry(&bytes[..], registry)).0.len(), 1);
    assert_eq!(read_all(&mut Reader::new(&bytes[..])).1, Some(Code::UnknownFormat));
}

/// Of any code: what a resolver says is about one message, and not about the stream.
#[test]
fn a_reader_goes_on_after_a_failure_of_its_resolver() {
    struct Unreachable(Code);
    impl Resolver for Unreachable {
        fn resolve(&self, _: Token) -> Result<Vec<u8>, Error> {
            Err(Error::new(self.0))
        }
    }
    let (unknown, known) = (format("Unknown", 2), format("Known", 3));
    for code in [Code::Io, Code::Cut, Code::Deadline] {
        let mut writer = Writer::new(Vec::new());
        writer.set_registrar(|_| Ok(()));
        for format in [&unknown, &known, &unknown] {
            writer.write_body(format, &body(format.size(), 1)).unwrap();
        }
        let bytes = writer.into_inner();
        let registry = Registry::new();
        registry.register(&known).unwrap();
        registry.set_resolver(Unreachable(code));
        let mut reader = Reader::with_registry(&bytes[..], registry);
        let error = reader.next().unwrap_err();
        assert!(error.code() == code && reader.goes_on_after(&error));
        assert_eq!(reader.next().unwrap().unwrap().format(), &known);
        let error = reader.next().unwrap_err();
        assert!(error.code() == code && reader.goes_on_after(&error));
        assert!(reader.next().unwrap().is_none());
        // An input that fails while such a message is passed over is another matter.
        let mut reader = Reader::new(&bytes[..bytes.len() - unknown.size().next_multiple_of(16) + 1]);
        reader.registry().set_resolver(Unreachable(code));
        for _ in 0..3 {
            let error = reader.next().unwrap_err();
            assert!(reader.goes_on_after(&error));
        }
        let error = reader.next().unwrap_err();
        assert!(error.code() == Code::Cut && !reader.goes_on_after(&error));
    }
}

#[test]
fn a_message_whose_format_was_refused_is_not_written() {
    let format = format("Level", 2);
    let mut writer = Writer::new(Vec::new());
    let mut calls = 0;
    writer.set_registrar(move |_| {
        calls += 1;
        if calls <= 2 { Err(Error::new(Code::Forbidden)) } else { Ok(()) }
    });
    assert_eq!(writer.describe(&format).unwrap_err().code(), Code::Forbidden);
    assert_eq!(writer.write_body(&format, &body(format.size(), 1)).unwrap_err().code(), Code::Forbidden);
    assert_eq!(writer.inner().len(), 0);
    writer.describe(&format).unwrap();
    assert_eq!(writer.inner().len(), 0, "it was registered, and not described");
    writer.write_body(&format, &body(format.size(), 1)).unwrap();
    assert_eq!(writer.inner()[..32], Header::new(format.token(), format.size() as u64).to_bytes()[..32]);
}

#[test]
fn a_format_that_nobody_could_be_asked_to_register_is_described_in_the_stream() {
    let (format, other) = (format("Level", 2), format("Other", 1));
    for code in [Code::Io, Code::Deadline] {
        let mut writer = Writer::new(Vec::new());
        let unreachable = format.token();
        let (count, counted) = std::sync::mpsc::channel();
        writer.set_registrar(move |format| {
            count.send(format.token()).unwrap();
            if format.token() == unreachable { Err(Error::new(code)) } else { Ok(()) }
        });
        let mut plain = Writer::new(Vec::new());
        for at in 0..2 {
            writer.write_body(&format, &body(format.size(), at)).unwrap();
            plain.write_body(&format, &body(format.size(), at)).unwrap();
        }
        assert_eq!(writer.inner(), plain.inner(), "described once");
        writer.write_body(&other, &body(other.size(), 1)).unwrap();
        assert_eq!(counted.try_iter().collect::<Vec<_>>(), [format.token(), other.token()], "asked once for each");
        let described = writer.inner().len() - plain.inner().len();
        assert_eq!(described, (32 + other.size()).next_multiple_of(16), "the other one was registered");
    }
}

#[test]
fn a_malformed_description_is_reported_and_the_stream_goes_on() {
    for (length, code) in [(48, Code::Version), (0, Code::Description), (65 << 10, Code::DescriptionSize)] {
        let mut bytes = Header::new(Token::ZERO, length as u64).to_bytes().to_vec();
        bytes.resize(bytes.len() + length, 0);
        let (messages, good, _) = sample();
        bytes.extend(good);
        let mut reader = Reader::new(&bytes[..]);
        assert_eq!(reader.next().unwrap_err().code(), code);
        assert_eq!(read_all(&mut reader), (messages, None));
        let mut reader = Reader::new(&bytes[..]);
        assert_eq!(reader.peek().unwrap_err().code(), code);
        assert!(reader.skip().unwrap());
        assert_eq!(read_all(&mut reader).0.len(), 4);
    }
}

#[test]
fn a_claim_to_be_huge_costs_nothing() {
    // Where pointers have 32 bits, there is no need to wait for the bytes.
    let refused = if size_of::<usize>() == 8 { Code::Cut } else { Code::Size };
    for length in [1 << 40, u64::MAX, u64::MAX - 31] {
        let gauge = format("Gauge", 5);
        let mut bytes = stream(&[(&gauge, body(5, 0))]).0;
        bytes.extend(Header::new(gauge.token(), length).to_bytes());
        bytes.extend([0; 100]);
        let mut reader = Reader::new(&bytes[..]);
        assert!(reader.next().unwrap().is_some());
        assert_eq!(reader.next().unwrap_err().code(), Code::MessageSize);
        assert_eq!(reader.next().unwrap_err().code(), Code::Cut);
        let mut reader = Reader::within(&bytes[..], Limits { message: u64::MAX, ..Limits::default() });
        assert!(reader.next().unwrap().is_some());
        assert!(reader.peek().unwrap().is_some());
        assert_eq!(reader.next().unwrap_err().code(), refused);
        assert_eq!(reader.read_into(&mut [0; 200]).unwrap_err().code(), Code::MessageSize);
        assert_eq!(reader.skip().unwrap_err().code(), Code::Cut);
    }
}

#[test]
fn a_message_beyond_the_limit_is_passed_over() {
    let (messages, bytes, _) = sample();
    let within = |message| Reader::within(&bytes[..], Limits { message, ..Limits::default() });
    let mut reader = within(16);
    assert!(reader.next().unwrap().is_some());
    let error = reader.next().unwrap_err();
    assert_eq!(error.code(), Code::MessageSize);
    assert_eq!(error.to_string(), "message too large: expected at most 16 bytes (limit: message), found 48");
    assert_eq!(read_all(&mut reader), (messages[2..].to_vec(), None));
    assert_eq!(read_all(&mut within(48)), (messages, None));
}

#[test]
fn what_is_no_stream_stays_an_error() {
    let (_, mut bytes, _) = sample();
    for text in [&b"track.shape"[..], b"\x89PNG", b"x"] {
        let mut reader = Reader::new(text);
        let error = reader.next().unwrap_err();
        assert_eq!(error.code(), Code::NotAMessage);
        assert!(!reader.goes_on_after(&error));
        assert_eq!(reader.next().unwrap_err().code(), Code::NotAMessage);
    }
    let gauge = stream(&[(&format("Gauge", 5), body(5, 0))]).0.len();
    bytes[gauge] ^= 1;
    let mut reader = Reader::new(&bytes[..]);
    assert!(reader.next().unwrap().is_some());
    let error = reader.next().unwrap_err();
    assert!(error.actual().ends_with(&format!("at byte {gauge} of the stream")), "{error}");
    bytes[gauge] ^= 1;
    bytes[gauge + 4] = 9;
    assert_eq!(read_all(&mut Reader::new(&bytes[..])).1, Some(Code::Version));
}

#[test]
fn large_messages_among_small_ones() {
    let (small, large) = (format("Small", 24), format("Large", 1000));
    let messages: Vec<(&Format, Vec<u8>)> = (0..300)
        .map(|i| match i % 13 {
            7 => (&large, body(1000 + i * 997, i)),
            _ => (&small, body(24 + i % 50, i)),
        })
        .collect();
    let (bytes, _) = stream(&messages);
    let (came, stopped) = read_all(&mut Reader::new(&bytes[..]));
    assert_eq!(stopped, None);
    assert!(came.iter().map(|(_, body)| body).eq(messages.iter().map(|(_, body)| body)));
}

#[test]
fn a_receiver_chooses_where_the_body_goes() {
    let (messages, bytes, ends) = sample();
    let mut place = [0; 64];
    let mut reader = Reader::new(&bytes[..]);
    for (name, body) in &messages {
        let (header, format) = reader.peek().unwrap().unwrap();
        assert_eq!((format.name(), header.length), (&**name, body.len() as u64));
        assert_eq!(reader.read_into(&mut place[..4]).unwrap_err().code(), Code::MessageSize);
        assert_eq!(reader.read_into(&mut place).unwrap().unwrap().1, format);
        assert_eq!(&place[..body.len()], body);
    }
    assert!(reader.read_into(&mut place).unwrap().is_none());

    let input = Dripping::default();
    let mut reader = Reader::new(input.clone());
    for (i, byte) in bytes.iter().enumerate() {
        input.0.borrow_mut().push_back(*byte);
        let whole = ends.iter().position(|&end| end == i + 1);
        match reader.read_into(&mut place) {
            Ok(Some(_)) => assert_eq!(place[..messages[whole.unwrap()].1.len()], messages[whole.unwrap()].1),
            Ok(None) | Err(_) => assert!(whole.is_none(), "at {i}"),
        }
    }
    input.0.borrow_mut().extend(&bytes[..ends[0] - 1]);
    assert_eq!(reader.read_into(&mut place).unwrap_err().code(), Code::Cut);
    input.0.borrow_mut().extend(&bytes[ends[0] - 1..]);
    assert_eq!(read_all(&mut reader), (messages[1..].to_vec(), None), "a body begun and left is passed over");
}

#[test]
fn bodies_are_skipped_by_reading_or_seeking() {
    let (small, large) = (format("Small", 24), format("Large", 1000));
    let messages =
        [(&small, body(24, 0)), (&large, body(300_001, 1)), (&small, body(24, 2)), (&large, body(200_000, 3))];
    let (bytes, ends) = stream(&messages);
    type Skip<'a> = fn(&mut Reader<Cursor<&'a [u8]>>) -> isoform::Result<bool>;
    for skip in [Reader::skip as Skip<'_>, Reader::seek_past] {
        let mut reader = Reader::new(Cursor::new(&bytes[..]));
        let mut kept = Vec::new();
        while let Some((_, format)) = reader.peek().unwrap() {
            match format.name() {
                "Small" => kept.push(reader.next().unwrap().unwrap().body().to_vec()),
                _ => assert!(skip(&mut reader).unwrap()),
            }
        }
        assert_eq!(kept, [messages[0].1.clone(), messages[2].1.clone()]);
        assert!(!skip(&mut reader).unwrap());

        let mut reader = Reader::new(Cursor::new(&bytes[..ends[1] - 1]));
        assert!(skip(&mut reader).unwrap());
        for _ in 0..2 {
            let error = skip(&mut reader).unwrap_err();
            assert_eq!((error.code(), error.actual()), (Code::Cut, "300032"));
            assert!(error.expectation().starts_with("300033 bytes of the message at byte"), "{error}");
            assert!(!reader.goes_on_after(&error));
        }
    }
}

/// Takes only a few bytes at a time, from a few segments, and then refuses.
struct Reluctant(Vec<u8>, usize);

impl io::Write for Reluctant {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() % 5 == 1 {
            self.0.push(bytes[0]);
            return Ok(1);
        }
        if self.0.len() >= self.1 {
            return Err(ErrorKind::StorageFull.into());
        }
        let taken = bytes.len().min(5 - self.0.len() % 5 + 1);
        self.0.extend(&bytes[..taken]);
        Ok(taken)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_writer_goes_on_until_all_is_written_and_stops_after_a_failure() {
    let (gauge, flow) = (format("Gauge", 5), format("Flow", 40));
    let mut writer = Writer::new(Reluctant(vec![], usize::MAX));
    writer.write_body(&gauge, &body(5, 0)).unwrap();
    writer.write_body(&flow, &body(48, 1)).unwrap();
    let (_, bytes, ends) = sample();
    assert_eq!(writer.into_inner().0, bytes[..ends[1]]);

    let mut writer = Writer::new(Reluctant(vec![], 100));
    let failures: Vec<_> = (0..4).filter_map(|i| writer.write_body(&gauge, &body(5, i)).err()).collect();
    assert!(failures.len() >= 3 && failures.iter().all(|error| error.code() == Code::Io));
    assert!(writer.inner().0.len() < 110, "nothing is written behind a message that is there only in part");
}

#[test]
fn more_formats_than_a_reader_keeps() {
    for formats in [many_formats(), large_formats()] {
        more_than_a_reader_keeps(&formats);
    }
}

fn many_formats() -> Vec<Format> {
    (0..Limits::default().formats + 300).map(|i| format(&format!("F{i}"), 1 + i % 7)).collect()
}

/// Formats whose descriptions have 60,000 bytes, more of them than a reader keeps.
fn large_formats() -> Vec<Format> {
    let format = |i: usize| {
        let symbols = (0..600).map(|n| (format!("{n:x>98}"), n));
        let element = Element::Enumeration(Arc::new(Enumeration::new(true, 4, symbols).unwrap()));
        let field = Field { name: "e".into(), element, dims: [].into(), indirect: false, offset: 0, unit: None };
        Format::new(Structure::new(format!("L{i}"), MACHINE, 4, 4, vec![field]).unwrap().into()).unwrap()
    };
    (0..Limits::default().registry / 60_000 + 20).map(format).collect()
}

fn more_than_a_reader_keeps(formats: &[Format]) {
    let mut writer = Writer::new(Vec::new());
    let mut count = 0;
    for i in 0..3 * formats.len() {
        for format in [&formats[i % formats.len()], &formats[i * 7 % 11]] {
            writer.write_body(format, &body(format.size(), i)).unwrap();
            count += 1;
        }
    }
    let bytes = writer.into_inner();
    let mut reader = Reader::new(&bytes[..]);
    let (came, stopped) = read_all(&mut reader);
    assert_eq!((came.len(), stopped), (count, None));
    assert!(reader.registry().formats().len() < formats.len(), "some are forgotten");
}

/// A resolver that remembers the locators with which it was asked.
struct Asked(std::sync::Arc<std::sync::Mutex<Vec<String>>>, Format);

impl isoform::core::Resolver for Asked {
    fn resolve(&self, token: isoform::Token) -> isoform::Result<Vec<u8>> {
        Err(Error::unknown_format(token))
    }

    fn resolve_near(&self, _: isoform::Token, locators: &isoform::core::message::Locators) -> isoform::Result<Vec<u8>> {
        self.0.lock().unwrap().extend(locators.urls().map(str::to_owned));
        Ok(self.1.description().as_bytes().to_vec())
    }
}

#[test]
fn locators_are_for_the_messages_behind_them() {
    use isoform::core::message::{Header, Locators};
    let gauge = isoform::core::Shape::new("Gauge").field("depth", "float").on(&isoform::core::Layout::NATIVE).unwrap();
    let write = |urls: &[&str]| {
        let mut writer = Writer::new(Vec::new());
        writer.set_registrar(|_| Ok(()));
        if !urls.is_empty() {
            writer.set_locators(Locators::new(urls.iter().copied()).unwrap());
        }
        writer.write_body(&gauge, &[0; 4]).unwrap();
        writer.write_body(&gauge, &[0; 4]).unwrap();
        writer.into_inner()
    };
    let read = |bytes: &[u8]| {
        let asked = std::sync::Arc::default();
        let mut reader = Reader::new(bytes);
        reader.registry().set_resolver(Asked(std::sync::Arc::clone(&asked), gauge.clone()));
        let mut codes = Vec::new();
        loop {
            match reader.next() {
                Ok(Some(_)) => codes.push(None),
                Ok(None) => break,
                Err(error) => codes.push(Some(error.code())),
            }
        }
        (codes, asked.lock().unwrap().clone())
    };
    let near = write(&["http://sim7:7460", "https://formats"]);
    assert_eq!(near.len(), 64 + 2 * 48, "the locators are written once");
    assert_eq!(read(&near), (vec![None; 2], vec!["http://sim7:7460".to_owned(), "https://formats".to_owned()]));
    assert_eq!(read(&write(&[])).0, [Some(Code::UnknownFormat); 2]);
    // A program that follows no locators says where it could have asked.
    let error = Reader::new(&near[..]).next().unwrap_err();
    assert_eq!(
        (error.code(), error.expectation()),
        (Code::UnknownFormat, "a registered format, or leave to ask for it at http://sim7:7460")
    );
    // Malformed ones are an error of that message, and the ones before them hold no longer.
    let message = |body: &[u8]| {
        let mut bytes = Header::new(isoform::Token::LOCATORS, body.len() as u64).to_bytes().to_vec();
        bytes.extend_from_slice(body);
        bytes.resize(bytes.len().next_multiple_of(16), 0);
        bytes
    };
    let good = Locators::new(["http://sim7"]).unwrap().message();
    let stream = [good.clone(), message(b"gopher://x"), write(&[])].concat();
    assert_eq!(read(&stream), (vec![Some(Code::Text), Some(Code::UnknownFormat), Some(Code::UnknownFormat)], vec![]));
    let stream = [message(&[b'x'; 2049]), good.clone(), write(&[])].concat();
    assert_eq!(read(&stream), (vec![Some(Code::MessageSize), None, None], vec!["http://sim7".to_owned()]));
    assert_eq!(read(&[good.clone(), good].concat()), (vec![], vec![]), "locators alone are an empty stream");
    // A part of one is cut.
    assert_eq!(Reader::new(&message(b"http://sim7")[..40]).next().unwrap_err().code(), Code::Cut);
}
