//! What the records within chunks mean: formats, channels, events and news.

use crate::foreign::Foreign;
use crate::lost::Lost;
use crate::profile::{Common, ENCODING, NEWS, NEWS_SCHEMA, RELAYED, Stamp, VIEWED};
use isoform_core::{Code, Error, Format, Limits, Result};
use mcap::records::{Channel, MessageHeader, Record};
use serde_json::Value;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::RangeInclusive;

/// The longest news, in bytes: the values of a source are at most 4,096, and errors have a limit of their own.
pub(crate) const LONGEST_NEWS: usize = 256 << 10;

/// What is known of a file, and of the message that was taken last.
#[derive(Debug)]
pub(crate) struct Contents {
    limits: Limits,
    /// Formats, by the number of their schema. Schemas of other encodings are not here.
    formats: HashMap<u16, Format>,
    /// The numbers of the schemas of news.
    news: HashSet<u16>,
    channels: HashMap<u16, (String, Kind)>,
    /// Messages that were recorded at other times are passed over.
    pub(crate) span: RangeInclusive<u64>,
    /// Messages of other channels are passed over, unless none is chosen.
    chosen: Vec<String>,
    /// The data of the event that was taken last.
    pub(crate) data: Vec<u8>,
    /// How many messages of other encodings were passed over.
    pub(crate) passed: u64,
    /// How many events of the present chunk were taken.
    pub(crate) came: u64,
    pub(crate) lost: Lost,
}

/// What a channel of the file has.
#[derive(Debug)]
pub(crate) enum Kind {
    Events(Common, Format),
    News,
    /// Messages for viewers, which repeat events (`spec/files.md`, "Viewers"), in this encoding, and how many of them were passed over.
    Repeated(String, u64),
    /// Messages of somebody else, in this encoding, and how many of them were passed over.
    Other(String, u64),
}

/// A message that is an event or news.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) channel: u16,
    pub(crate) recorded: u64,
    pub(crate) what: What,
}

#[derive(Debug)]
pub(crate) enum What {
    /// Its stamp, and the length of its body, which is at the beginning of the data.
    Event(Stamp, usize),
    News(Value),
}

impl Contents {
    pub(crate) fn new(limits: Limits) -> Contents {
        Contents {
            limits,
            formats: HashMap::new(),
            news: HashSet::new(),
            channels: HashMap::new(),
            span: 0..=u64::MAX,
            chosen: Vec::new(),
            data: Vec::new(),
            passed: 0,
            came: 0,
            lost: Lost::default(),
        }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The name of a channel of the file, and what it has.
    pub(crate) fn channel(&self, id: u16) -> Option<&(String, Kind)> {
        self.channels.get(&id)
    }

    /// The names of the channels of events that were found so far, in order.
    pub(crate) fn topics(&self) -> Vec<String> {
        let events = self.channels.values().filter(|(_, kind)| matches!(kind, Kind::Events(..)));
        events.map(|(topic, _)| topic.clone()).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The messages of others that were passed over. Those for viewers are some of these if there is nothing that they repeat.
    pub(crate) fn foreign(&self) -> Foreign {
        let (mut foreign, has_own) = (Foreign::default(), self.has_own());
        for (topic, kind) in self.channels.values() {
            match kind {
                Kind::Repeated(..) if has_own => {}
                Kind::Repeated(encoding, messages) | Kind::Other(encoding, messages) => {
                    foreign.add(topic, encoding, *messages)
                }
                Kind::Events(..) | Kind::News => {}
            }
        }
        foreign
    }

    /// Whether a channel that is wanted has events or news.
    pub(crate) fn has_own(&self) -> bool {
        let mut channels = self.channels.iter();
        channels.any(|(id, (_, kind))| matches!(kind, Kind::Events(..) | Kind::News) && !self.is_left_out(*id))
    }

    /// Forgets what was counted: the file is read again.
    pub(crate) fn restart(&mut self) {
        (self.passed, self.lost) = (0, Lost::default());
        for (_, kind) in self.channels.values_mut() {
            if let Kind::Repeated(_, messages) | Kind::Other(_, messages) = kind {
                *messages = 0;
            }
        }
    }

    /// From now on passes over messages of other channels.
    pub(crate) fn choose(&mut self, channels: Vec<String>) {
        self.chosen = channels;
    }

    /// Whether messages of a channel are passed over since others were chosen.
    pub(crate) fn is_left_out(&self, id: u16) -> bool {
        let is_other = |(topic, _): &(String, _)| !self.chosen.contains(topic);
        !self.chosen.is_empty() && self.channels.get(&id).is_some_and(is_other)
    }

    /// At the end: fails if a channel was chosen that the file does not have.
    pub(crate) fn check_chosen(&self) -> Result<()> {
        let known: BTreeSet<&str> = self.channels.values().map(|(topic, _)| &**topic).collect();
        let Some(missing) = self.chosen.iter().find(|name| !known.contains(&***name)) else { return Ok(()) };
        let names: Vec<String> = known.iter().map(|name| format!("{name:?}")).collect();
        Err(Error::new(Code::NoSuchChannel).at(missing).expected(names.join(", ")))
    }

    /// Takes a record of the chunk or record that begins at this place of the file. Passes over one that is wrong, and notes it.
    pub(crate) fn take(&mut self, at: u64, record: Record<'_>) -> Option<Found> {
        let taken = match record {
            Record::Schema { header, data } => {
                self.add_schema(header.id, &header.name, &header.encoding, &data).map(|()| None)
            }
            Record::Channel(channel) => self.add_channel(channel).map(|()| None),
            Record::Message { header, .. } if !self.span.contains(&header.log_time) => Ok(None),
            Record::Message { header, .. } if self.is_left_out(header.channel_id) => Ok(None),
            Record::Message { header, data } => self.message(&header, &data),
            _ => Ok(None),
        };
        taken.unwrap_or_else(|error| {
            self.lost.note(at, error);
            None
        })
    }

    fn message(&mut self, header: &MessageHeader, data: &[u8]) -> Result<Option<Found>> {
        let Some((topic, kind)) = self.channels.get_mut(&header.channel_id) else {
            self.lost.more = true;
            return Err(Error::new(Code::Damaged).expected("a message of a known channel").found(header.channel_id));
        };
        let what = match kind {
            Kind::Repeated(_, messages) | Kind::Other(_, messages) => {
                self.passed += 1;
                *messages += 1;
                return Ok(None);
            }
            Kind::Events(common, _) => {
                self.came += 1;
                let (stamp, body) =
                    common.stamp(header.sequence, header.publish_time, data).inspect_err(|_| self.lost.events += 1)?;
                self.data.clear();
                self.data.extend_from_slice(body);
                What::Event(stamp, body.len())
            }
            Kind::News if data.len() > LONGEST_NEWS => {
                let error = Error::new(Code::Damaged).at(&**topic);
                return Err(error.expected(format_args!("news of at most {LONGEST_NEWS} bytes")).found(data.len()));
            }
            Kind::News => What::News(
                serde_json::from_slice(data)
                    .map_err(|error| Error::new(Code::Damaged).at(&**topic).expected("JSON").found(error))?,
            ),
        };
        Ok(Some(Found { channel: header.channel_id, recorded: header.log_time, what }))
    }

    /// A schema may come again unchanged.
    fn add_schema(&mut self, id: u16, name: &str, encoding: &str, data: &[u8]) -> Result<()> {
        if name == NEWS_SCHEMA {
            self.news.insert(id);
        }
        if encoding == ENCODING && !self.formats.contains_key(&id) {
            self.formats.insert(id, Format::parse_within(data, &self.limits)?);
        }
        Ok(())
    }

    fn add_channel(&mut self, channel: Channel) -> Result<()> {
        if self.channels.contains_key(&channel.id) {
            return Ok(());
        }
        let (name, kind) = match &*channel.message_encoding {
            encoding @ (ENCODING | RELAYED) => {
                let at = |error: Error| error.within(&channel.topic);
                let common = Common::parse(encoding, &channel.metadata).map_err(at)?;
                let format = self.formats.get(&channel.schema_id).ok_or_else(|| {
                    at(Error::new(Code::Damaged)
                        .expected("a schema of the encoding isoform")
                        .found(format!("none of number {}", channel.schema_id)))
                })?;
                (channel.topic, Kind::Events(common, format.clone()))
            }
            "json" if channel.topic.ends_with(NEWS) && self.news.contains(&channel.schema_id) => {
                (channel.topic[..channel.topic.len() - NEWS.len()].into(), Kind::News)
            }
            _ if channel.metadata.contains_key(VIEWED) => (channel.topic, Kind::Repeated(channel.message_encoding, 0)),
            _ => (channel.topic, Kind::Other(channel.message_encoding, 0)),
        };
        self.channels.insert(channel.id, (name, kind));
        Ok(())
    }
}
