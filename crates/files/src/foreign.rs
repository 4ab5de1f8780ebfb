//! What of a file is not Isoform's: messages in other encodings, by their channel.

use isoform_core::{Code, Error};
use std::collections::BTreeMap;
use std::fmt;

/// So many channels are named, each with so many bytes.
const NAMED: usize = 5;
const LONGEST: usize = 40;

/// Messages that are not records of Isoform, by the topic and the encoding of their channel.
///
/// Its text is a sentence: `100 messages in the encoding cdr on /pt are not records of Isoform`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Foreign {
    channels: BTreeMap<(String, String), u64>,
}

impl Foreign {
    pub(crate) fn add(&mut self, topic: &str, encoding: &str, messages: u64) {
        if messages > 0 {
            *self.channels.entry((topic.into(), encoding.into())).or_default() += messages;
        }
    }

    /// Whether there are none.
    pub fn is_none(&self) -> bool {
        self.channels.is_empty()
    }

    /// The number of messages of all channels.
    pub fn messages(&self) -> u64 {
        self.channels.values().sum()
    }

    /// The topic, the encoding and the number of messages of each channel, in the order of the topics.
    pub fn channels(&self) -> impl Iterator<Item = (&str, &str, u64)> {
        self.channels.iter().map(|((topic, encoding), messages)| (&**topic, &**encoding, *messages))
    }

    /// Why nothing was read.
    pub(crate) fn error(&self) -> Error {
        Error::new(Code::NoSuchChannel).expected("a channel with records of Isoform").found(self)
    }
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.channels.len();
        for (at, (topic, encoding, messages)) in self.channels().take(NAMED).enumerate() {
            let comma = match at {
                0 => "",
                _ if at + 1 == all => " and ",
                _ => ", ",
            };
            let plural = if messages == 1 { "" } else { "s" };
            write!(f, "{comma}{messages} message{plural} in the encoding {} on {}", Name(encoding), Name(topic))?;
        }
        if all > NAMED {
            let rest: u64 = self.channels.values().skip(NAMED).sum();
            write!(f, " and {rest} on {} other channels", all - NAMED)?;
        }
        let is = if self.messages() == 1 { "is not a record" } else { "are not records" };
        write!(f, " {is} of Isoform")
    }
}

/// A name of somebody else, cut where it is long.
struct Name<'a>(&'a str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            "" => f.write_str("\"\""),
            name if name.len() > LONGEST => write!(f, "{}..", &name[..name.floor_char_boundary(LONGEST)]),
            name => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_says_what_is_there() {
        let mut foreign = Foreign::default();
        foreign.add("/pt", "cdr", 1);
        assert_eq!(foreign.to_string(), "1 message in the encoding cdr on /pt is not a record of Isoform");
        foreign.add("/pt", "cdr", 99);
        foreign.add("", "", 3);
        let text = "3 messages in the encoding \"\" on \"\" and 100 messages in the encoding cdr on /pt \
                    are not records of Isoform";
        assert_eq!(foreign.to_string(), text);
        for topic in 0..9 {
            foreign.add(&format!("/t{topic}/{}", "é".repeat(100)), "json", 2);
        }
        let text = foreign.to_string();
        assert!(text.ends_with("é.. and 12 on 6 other channels are not records of Isoform"), "{text}");
        assert!(text.len() < 600, "{text}");
        assert_eq!((foreign.messages(), foreign.channels().count()), (121, 11));
    }
}
