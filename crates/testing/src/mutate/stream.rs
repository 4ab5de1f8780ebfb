//! Streams taken apart into messages, and put together again.

use super::{Random, body, bytes, format};
use isoform_core::message::{ALIGNMENT, HEADER};
use isoform_core::{Faults, Format, Missing, Plan, Rules, Token, Value, interp, value};

/// Messages, and what is no message behind them.
#[derive(Clone)]
pub(super) struct Stream {
    messages: Vec<Message>,
    rest: Vec<u8>,
}

#[derive(Clone)]
struct Message {
    header: [u8; HEADER],
    body: Vec<u8>,
    padding: Vec<u8>,
}

/// So large a record is not made for the sake of a mutant.
const LARGE: usize = 64 << 10;

impl Message {
    fn new(token: Token, body: Vec<u8>) -> Message {
        let header = isoform_core::message::Header::new(token, body.len() as u64).to_bytes();
        let mut message = Message { header, body, padding: Vec::new() };
        message.settle();
        message
    }

    fn token(&self) -> Token {
        Token::from_bytes(self.header[8..24].try_into().expect("16 bytes"))
    }

    fn set_token(&mut self, token: Token) {
        self.header[8..24].copy_from_slice(token.as_bytes());
    }

    /// Says how long the body is, and pads it.
    fn settle(&mut self) {
        self.header[24..].copy_from_slice(&(self.body.len() as u64).to_le_bytes());
        self.padding = vec![0; self.body.len().next_multiple_of(ALIGNMENT) - self.body.len()];
    }
}

impl Stream {
    pub(super) fn parse(mut bytes: &[u8]) -> Stream {
        let mut messages = Vec::new();
        while let Some((header, rest)) = bytes.split_first_chunk::<HEADER>() {
            let length = u64::from_le_bytes(header[24..].try_into().expect("8 bytes"));
            let Some((body, rest)) = usize::try_from(length).ok().and_then(|length| rest.split_at_checked(length))
            else {
                break;
            };
            let padding = (body.len().next_multiple_of(ALIGNMENT) - body.len()).min(rest.len());
            let (padding, rest) = rest.split_at(padding);
            messages.push(Message { header: *header, body: body.to_vec(), padding: padding.to_vec() });
            bytes = rest;
        }
        Stream { messages, rest: bytes.to_vec() }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for message in &self.messages {
            bytes.extend_from_slice(&message.header);
            bytes.extend_from_slice(&message.body);
            bytes.extend_from_slice(&message.padding);
        }
        bytes.extend_from_slice(&self.rest);
        bytes
    }

    /// Changes one thing in it.
    pub(super) fn edit(&mut self, random: &mut Random) {
        match random.below(8) {
            0 => self.anything(random),
            1 => self.header(random),
            2 => self.order(random),
            3..=5 => self.description(random),
            _ => self.body(random),
        }
    }

    fn anything(&mut self, random: &mut Random) {
        let mut all = self.to_bytes();
        bytes::edit(&mut all, random);
        *self = Stream::parse(&all);
    }

    fn descriptions(&self) -> Vec<usize> {
        let all = self.messages.iter().enumerate();
        all.filter(|(_, message)| message.token() == Token::ZERO).map(|(at, _)| at).collect()
    }

    fn header(&mut self, random: &mut Random) {
        let tokens: Vec<Token> = self.messages.iter().map(Message::token).collect();
        let at = random.below(self.messages.len());
        let Some(message) = self.messages.get_mut(at) else { return };
        match random.below(9) {
            0 => message.header[random.below(4)] ^= 1 << random.below(8),
            1 => message.header[4] = random.byte(),
            2 => message.header[5] = 1 << random.below(8),
            3 => message.header[6] = random.byte(),
            4 => message.header[7] = random.byte(),
            5 => message.set_token(random.of_these(&tokens).unwrap_or(Token::ZERO)),
            6 => message.header[8 + random.below(16)] ^= 1 << random.below(8),
            _ => {
                let length = random.instead_of(message.body.len() as u64);
                message.header[24..].copy_from_slice(&length.to_le_bytes());
            }
        }
    }

    fn order(&mut self, random: &mut Random) {
        let at = random.below(self.messages.len());
        if self.messages.is_empty() {
            return self.anything(random);
        }
        match random.below(9) {
            0 => drop(self.messages.remove(at)),
            1 => self.messages.insert(at, self.messages[random.below(self.messages.len())].clone()),
            2 => self.messages.extend(random.two_of(self.messages.len()).map(|(a, _)| self.messages[a].clone())),
            3 => {
                if let Some((a, b)) = random.two_of(self.messages.len()) {
                    self.messages.swap(a, b);
                }
            }
            4 => self.messages.extend_from_within(..),
            5 => bytes::edit(&mut self.messages[at].padding, random),
            6 => self.messages[at].padding.iter_mut().for_each(|byte| *byte = 0xff),
            7 => self.messages.truncate(at),
            _ => {
                let length = random.below(64);
                self.rest.extend((0..length).map(|_| random.byte()));
            }
        }
    }

    /// Changes a description; mostly its messages follow, under the new token and, where that works, with new bodies.
    fn description(&mut self, random: &mut Random) {
        let all = self.descriptions();
        let (Some(at), Some(other)) = (random.of_these(&all), random.of_these(&all)) else {
            return self.order(random);
        };
        let (old, other) = (self.messages[at].body.clone(), self.messages[other].body.clone());
        let new = format::edited(&old, &other, random);
        let (before, after) = (Token::of(&old), Token::of(&new));
        self.messages[at].body = new.clone();
        self.messages[at].settle();
        if random.one_in(4) {
            return;
        }
        let converter = if random.one_in(4) { None } else { Converter::new(&old, &new) };
        for message in self.messages.iter_mut().filter(|message| message.token() == before && before != after) {
            message.set_token(after);
            if let Some(body) = converter.as_ref().and_then(|converter| converter.body(&message.body)) {
                message.body = body;
                message.settle();
            }
        }
    }

    fn body(&mut self, random: &mut Random) {
        let at = random.below(self.messages.len());
        let Some(message) = self.messages.get(at).filter(|message| message.token() != Token::ZERO) else {
            return self.description(random);
        };
        let descriptions = self.messages.iter().filter(|message| message.token() == Token::ZERO);
        let description = descriptions.map(|message| &message.body).find(|body| Token::of(body) == message.token());
        let format = description.and_then(|bytes| Format::parse(bytes).ok());
        let message = &mut self.messages[at];
        match format {
            Some(format) => body::edit(&format, &mut message.body, random),
            None => bytes::edit(&mut message.body, random),
        }
        if !random.one_in(16) {
            message.settle();
        }
    }
}

/// From bodies of a description to bodies of what became of it, so that some get past the verifier.
struct Converter {
    old: Format,
    new: Format,
    plan: Option<Plan>,
}

impl Converter {
    fn new(old: &[u8], new: &[u8]) -> Option<Converter> {
        let (old, new) = (Format::parse(old).ok()?, Format::parse(new).ok()?);
        if new.size() > LARGE {
            return None;
        }
        let plan = Plan::new(&old, &new, &Rules::new().missing(Missing::Zero), Faults::Wrap).ok();
        Some(Converter { old, new, plan })
    }

    fn body(&self, body: &[u8]) -> Option<Vec<u8>> {
        let converted = || {
            let mut out = Bounded(Vec::new());
            interp::run(self.plan.as_ref()?, self.old.verify(body).ok()?, &mut out).ok()?;
            Some(out.0)
        };
        converted().or_else(|| value::body(&self.new, &Value::Record(Vec::new())).ok())
    }
}

/// A record that may not become large.
struct Bounded(Vec<u8>);

impl interp::Output for Bounded {
    fn bytes(&mut self) -> &mut [u8] {
        &mut self.0
    }

    fn resize(&mut self, length: usize) -> isoform_core::Result<()> {
        if length > 16 * LARGE {
            return Err(isoform_core::Error::new(isoform_core::Code::Size));
        }
        self.0.resize(length, 0);
        Ok(())
    }
}

/// A stream of one record: the description of its format, and a message.
pub fn stream_of(format: &Format, body: &[u8]) -> Vec<u8> {
    let description = Message::new(Token::ZERO, format.description().as_bytes().to_vec());
    let messages = vec![description, Message::new(format.token(), body.to_vec())];
    Stream { messages, rest: Vec::new() }.to_bytes()
}
