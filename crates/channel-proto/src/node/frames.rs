//! What comes over a connection: bytes to frames, and frames to those whom they are for.

use super::Node;
use super::link::Part;
use crate::Time;
use crate::account::{Cause, Count, Gap};
use crate::control::Control;
use crate::frame::{self, HEADER, Header, Kind};
use crate::keys::{ConnId, LinkKey, ReceivingKey};
use crate::memory::{Body, Storage};
use crate::receiving::{Long, Stage};
use crate::wire::Reader;
use isoform_core::{Code, Error, Result};

/// Who has not read so much is answered nothing more: far more than all that has to be said when a connection begins.
const UNREAD: usize = 4 << 20;

/// The least room that a long body gets when its first part comes.
const ROOM: usize = 64 << 10;

/// A fragment whose bytes can be read straight to where they belong: `missing` bytes from `at` on.
pub struct Large<S> {
    /// The memory: at least `at + missing` bytes.
    pub storage: S,
    /// Where the next byte goes.
    pub at: usize,
    /// How many bytes of the fragment are missing.
    pub missing: usize,
    /// How many bytes of the event come behind this fragment, in further ones.
    pub behind: usize,
    /// The number of the subscription.
    pub subscription: u32,
}

/// The frame at the beginning of some bytes, with its payload and its length; `None` if it is not whole.
#[inline]
pub(super) fn split(input: &[u8]) -> Result<Option<(Header, &[u8], usize)>> {
    let Some(bytes) = input.first_chunk::<HEADER>() else { return Ok(None) };
    let header = Header::parse(bytes)?;
    let Some(frame) = input.get(..header.extent()) else { return Ok(None) };
    Ok(Some((header, &frame[HEADER..HEADER + header.length as usize], frame.len())))
}

impl<B: Body, S: Storage> Node<B, S> {
    /// Takes what came over a connection, and says how much of it was used: the rest is to be given again, with more behind
    /// it. A fragment of a long body is used as far as it is there; [`take_large`](Node::take_large) then
    /// spares a copy of the rest.
    ///
    /// # Errors
    /// What is wrong with what came. The connection is closed for that, and the other side told why, as
    /// [`Action::Close`](crate::Action::Close) has it.
    pub fn receive(&mut self, now: Time, id: ConnId, input: &[u8]) -> Result<usize> {
        let mut used = 0;
        loop {
            match self.step(now, id, &input[used..]) {
                Ok(0) => return Ok(used),
                Ok(length) if used + length == input.len() => return Ok(input.len()),
                Ok(length) => used += length,
                Err(error) => {
                    self.refuse(now, id, &error);
                    return Err(error);
                }
            }
        }
    }

    /// Uses what it can of the input: at most one frame of those that are not for events.
    fn step(&mut self, now: Time, id: ConnId, input: &[u8]) -> Result<usize> {
        let Some(connection) = self.connections.get(&id) else { return Ok(input.len()) };
        let Some(link) = connection.link else { return self.shake(now, id, input) };
        if !input.is_empty() {
            self.links[link].heard = now;
        }
        if self.links[link].part.is_some() {
            return self.more_of_part(link, input);
        }
        let used = self.events(link, input)?;
        if used > 0 {
            return Ok(used);
        }
        let Some(bytes) = input.first_chunk::<HEADER>() else { return Ok(0) };
        let header = Header::parse(bytes)?;
        if header.kind == Some(Kind::Part) {
            self.begin_part(link, &header)?;
            return Ok(HEADER);
        }
        let Some((header, payload, length)) = split(input)? else { return Ok(0) };
        self.frame(now, link, &header, payload)?;
        Ok(length)
    }

    /// The frames at the beginning of the input that are whole events: most of what comes.
    fn events(&mut self, key: LinkKey, input: &[u8]) -> Result<usize> {
        let (mut used, mut woken) = (0, None);
        while let Some((header, body, length)) = split(&input[used..])? {
            if header.kind != Some(Kind::Event) {
                break;
            }
            let link = &self.links[key];
            let (format, time) = (link.formats.at(header.index)?, link.time + u64::from(header.time));
            let at = ReceivingKey(header.subscription);
            let receiving = self.receivings.get_mut(at);
            let receiving = receiving
                .filter(|receiving| matches!(receiving.from, crate::receiving::From::Link(from, _) if from == key))
                .ok_or_else(|| unknown(header.subscription))?;
            used += length;
            if receiving.stage == Stage::Leaving {
                continue;
            }
            expect_running(receiving.stage, receiving.long.is_some())?;
            receiving.admit(body.len() as u64)?;
            let (sink, stamp) = (receiving.sink, receiving.receive(at, time, body.len()));
            let Some(entry) = self.sinks.get_mut(sink) else { continue };
            entry.inbox.copy(stamp, format, |storage| storage.append(body));
            if woken != Some(sink) {
                woken = Some(sink);
                self.wake(sink);
            }
        }
        Ok(used)
    }

    /// Any other frame.
    fn frame(&mut self, now: Time, link: LinkKey, header: &Header, payload: &[u8]) -> Result<()> {
        let mut fields = Reader::new(payload, "payload");
        match header.kind {
            // Of a later version, and may be passed over.
            None => Ok(()),
            Some(Kind::Format) => self.named(link, header.index, payload),
            Some(Kind::Time) => {
                self.links[link].time = fields.u64()?.min(u64::MAX - u64::from(u32::MAX));
                Ok(())
            }
            Some(Kind::Begin) => self.begin_long(link, header, fields.u64()?),
            Some(Kind::Gap) => {
                self.expect_moderation(link)?;
                let (first, count, cause) = (fields.u64()?, fields.u64()?, Cause::of(fields.u16()?));
                self.lost(link, header.subscription, Gap { first, count, cause })
            }
            Some(Kind::Ack) => self.acknowledged(link, &mut fields),
            Some(_) => match Control::parse(header, payload)? {
                Some(control) => {
                    self.expect_moderation(link)?;
                    self.control(now, link, control)
                }
                None => Ok(()),
            },
        }
    }

    /// Refuses to answer somebody who does not read the answers, and to hear from somebody who tells too much.
    fn expect_moderation(&self, link: LinkKey) -> Result<()> {
        let link = &self.links[link];
        if link.too_much_news {
            let error = Error::new(Code::Frame).at("sink");
            return Err(error.expected("fewer reports of gaps, and of sources that join and leave"));
        }
        let unread = link.outbox.length();
        if unread <= UNREAD {
            return Ok(());
        }
        let error = Error::new(Code::Frame).at("request");
        Err(error.expected("a node that reads earlier answers").came(format_args!("{unread} bytes unread")))
    }

    fn named(&mut self, key: LinkKey, index: u16, description: &[u8]) -> Result<()> {
        let (registry, link) = (&self.settings.registry, &mut self.links[key]);
        link.formats.admit(index, registry.limits())?;
        link.formats.name(index, registry.learn(description)?)
    }

    fn lost(&mut self, link: LinkKey, number: u32, gap: Gap) -> Result<()> {
        let at = ReceivingKey(number);
        let receiving = self.receiving(link, at)?;
        if receiving.stage == Stage::Leaving {
            return Ok(());
        }
        expect_running(receiving.stage, receiving.long.is_some())?;
        receiving.lose(gap)?;
        self.tell_gap(link, at, gap);
        Ok(())
    }

    fn acknowledged(&mut self, link: LinkKey, fields: &mut Reader<'_>) -> Result<()> {
        while !fields.is_empty() {
            let (number, _) = (fields.u32()?, fields.u32()?);
            let taken = Count { events: fields.u64()?, bytes: fields.u64()? };
            // It may have crossed with an End.
            if let Some(&sending) = self.links[link].sendings.get(&number) {
                self.sendings[sending].acknowledge(taken)?;
                self.pump(sending);
                let source = self.sendings[sending].source;
                self.make_room(source);
            }
        }
        Ok(())
    }

    /// A body longer than a frame begins.
    fn begin_long(&mut self, key: LinkKey, header: &Header, length: u64) -> Result<()> {
        let link = &self.links[key];
        let (format, time) = (link.formats.at(header.index)?.clone(), link.time + u64::from(header.time));
        let receiving = self.receiving(key, ReceivingKey(header.subscription))?;
        if receiving.stage == Stage::Leaving {
            return Ok(());
        }
        expect_running(receiving.stage, receiving.long.is_some())?;
        receiving.admit(length)?;
        let length = usize::try_from(length).map_err(|_| Error::new(Code::Size).at("event").came(length))?;
        if length <= frame::PAYLOAD {
            let error = Error::new(Code::Frame).at("length");
            return Err(error.expected(format_args!("more than {} bytes", frame::PAYLOAD)).came(length));
        }
        receiving.long = Some(Long { storage: S::default(), filled: 0, length, format, time });
        Ok(())
    }

    /// A fragment of a long body begins.
    fn begin_part(&mut self, key: LinkKey, header: &Header) -> Result<()> {
        let length = header.length as usize;
        let receiving = self.receiving(key, ReceivingKey(header.subscription))?;
        let wanted = match (&receiving.long, receiving.stage) {
            (_, Stage::Leaving) => None,
            (Some(long), _) if length == long.missing().min(frame::PAYLOAD) => Some(ReceivingKey(header.subscription)),
            (long, _) => {
                let missing = long.as_ref().map_or(0, Long::missing).min(frame::PAYLOAD);
                let error = Error::new(Code::Frame).at("part");
                return Err(error.expected(format_args!("{missing} bytes")).came(length));
            }
        };
        // Not before: until now the application may have been at the event in front, whose storage is best used again.
        if let Some(at) = wanted
            && let Some(receiving) = self.receivings.get_mut(at)
            && let Some(long) = receiving.long.as_mut().filter(|long| long.filled == 0)
            && let Some(entry) = self.sinks.get_mut(receiving.sink)
        {
            long.storage = entry.inbox.storage();
        }
        let padding = length.wrapping_neg() % HEADER;
        self.links[key].part = Some(Part { receiving: wanted, missing: length, padding });
        self.finish_part(key);
        Ok(())
    }

    /// Bytes of the fragment that is under way.
    fn more_of_part(&mut self, key: LinkKey, input: &[u8]) -> Result<usize> {
        let link = &mut self.links[key];
        let Some(part) = &mut link.part else { return Ok(0) };
        let length = part.missing.min(input.len());
        let padding = part.padding.min(input.len() - length);
        let wanted =
            part.receiving.and_then(|at| self.receivings.get_mut(at)).and_then(|receiving| receiving.long.as_mut());
        if let Some(long) = wanted {
            make_room(&mut long.storage, long.filled, length, long.length);
            long.storage.bytes_mut()[long.filled..long.filled + length].copy_from_slice(&input[..length]);
            long.filled += length;
        }
        part.missing -= length;
        part.padding -= padding;
        self.finish_part(key);
        Ok(length + padding)
    }

    /// Looks whether the fragment that is under way is whole, and the body with it.
    fn finish_part(&mut self, key: LinkKey) {
        let link = &mut self.links[key];
        let Some(Part { receiving, missing: 0, padding }) = link.part else { return };
        // The padding does not matter to whoever waits for the body.
        link.part = (padding > 0).then_some(Part { receiving: None, missing: 0, padding });
        let Some((number, receiving)) = receiving.and_then(|at| Some((at, self.receivings.get_mut(at)?))) else {
            return;
        };
        let Some(Long { storage, length, format, time, .. }) =
            receiving.long.take_if(|long| long.filled == long.length)
        else {
            return;
        };
        let (sink, stamp) = (receiving.sink, receiving.receive(number, time, length));
        if let Some(entry) = self.sinks.get_mut(sink) {
            entry.inbox.long(stamp, &format, storage);
            self.wake(sink);
        }
    }

    /// The memory for the rest of the fragment that is under way, if it belongs to a body. To be given
    /// [back](Node::put_large) before anything else is said of this connection.
    pub fn take_large(&mut self, id: ConnId) -> Option<Large<S>> {
        let link = self.connections.get(&id)?.link?;
        let part = self.links[link].part.as_ref().filter(|part| part.missing > 0)?;
        let (receiving, missing) = (part.receiving?, part.missing);
        let long = self.receivings.get_mut(receiving)?.long.as_mut()?;
        make_room(&mut long.storage, long.filled, missing, long.length);
        let (at, behind) = (long.filled, long.length - long.filled - missing);
        Some(Large { storage: std::mem::take(&mut long.storage), at, missing, behind, subscription: receiving.0 })
    }

    /// Gives the memory of a fragment back, with so many bytes more in it.
    pub fn put_large(&mut self, now: Time, id: ConnId, large: Large<S>, got: usize) {
        let Some(link) = self.connections.get(&id).and_then(|connection| connection.link) else { return };
        let entry = &mut self.links[link];
        entry.heard = now;
        let Some(part) = &mut entry.part else { return };
        let got = got.min(part.missing);
        part.missing -= got;
        // Unless the sink has left meanwhile.
        if let Some(receiving) = self.receivings.get_mut(ReceivingKey(large.subscription))
            && let Some(long) = &mut receiving.long
        {
            long.storage = large.storage;
            long.filled += got;
        }
        self.finish_part(link);
    }
}

/// Makes room for so many bytes of a long body: for all of it if so much has come before, else twice what has come, so
/// that a length alone reserves nothing.
fn make_room<S: Storage>(storage: &mut S, filled: usize, more: usize, length: usize) {
    let needed = filled + more;
    if storage.bytes().len() < needed {
        storage.resize(length.min((2 * needed).max(ROOM)));
    }
    if needed == length {
        storage.resize(length);
    }
}

fn expect_running(stage: Stage, is_amid: bool) -> Result<()> {
    if stage == Stage::Running && !is_amid {
        return Ok(());
    }
    let error = Error::new(Code::Frame).at("subscription");
    Err(match is_amid {
        true => error.expected("the rest of the event that has begun").came("another one"),
        false => error.expected("no event before Started or after End").came("one"),
    })
}

#[cold]
fn unknown(number: u32) -> Error {
    Error::new(Code::Frame).at("subscription").expected("one of this link").came(number)
}
