//! Who may do what on which channels: the rules of one node (`docs/book/reference/rules.md`).

use crate::credentials::Credentials;
use crate::shared::KeyName;
use isoform_core::{Code, Error, Result};
use std::fmt;
use std::sync::Arc;

/// The most bytes of a file of rules.
const BYTES: usize = 64 << 10;
/// The most bytes of a channel's name or a certificate's that a pattern is compared with.
const COMPARED: usize = 255;

/// Something that another node may do on a channel, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum Right {
    /// Open the channel: learn that it is there, and who is on it.
    See = 1 << 0,
    /// Have sources whose events reach sinks of this node.
    Publish = 1 << 1,
    /// Have sinks that get the events of this node's sources.
    Subscribe = 1 << 2,
    /// Let this node's sources wait for its sinks.
    Block = 1 << 3,
    /// Have this node's sources evaluate queries.
    Query = 1 << 4,
    /// Set the parameters of this node's sources.
    Parametrise = 1 << 5,
    /// Pass on events of others.
    Relay = 1 << 6,
    /// Steer the program.
    Steer = 1 << 7,
    /// Tell this node of further members.
    Introduce = 1 << 8,
    /// Ask for reports: sources, sinks, and the account of each.
    Ask = 1 << 9,
}

impl Right {
    /// Every right.
    pub const ALL: [Right; 10] = [
        Right::See,
        Right::Publish,
        Right::Subscribe,
        Right::Block,
        Right::Query,
        Right::Parametrise,
        Right::Relay,
        Right::Steer,
        Right::Introduce,
        Right::Ask,
    ];

    /// The word for it in a file.
    pub fn word(self) -> &'static str {
        match self {
            Right::See => "see",
            Right::Publish => "publish",
            Right::Subscribe => "subscribe",
            Right::Block => "block",
            Right::Query => "query",
            Right::Parametrise => "parametrise",
            Right::Relay => "relay",
            Right::Steer => "steer",
            Right::Introduce => "introduce",
            Right::Ask => "ask",
        }
    }
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// The rules of a node: who may do what on which channels. The first rule that is about a node, a right and a channel
/// decides; if there is none, the node may not.
///
/// ```
/// use isoform_channel_proto::{Credentials, Right, Rights};
///
/// let rights = Rights::parse("
///     allow user 1000 all on *
///     deny  anyone steer on *
///     allow name *.lab.example see,subscribe,ask on pump-* valve
/// ")?;
/// let colleague = Credentials { certificate: Some(vec!["desk.lab.example".into()]), ..Credentials::default() };
/// rights.expect(&colleague, Right::Subscribe, "pump-7")?;
/// let error = rights.expect(&colleague, Right::Steer, "pump-7").unwrap_err();
/// assert_eq!(error.to_string(), "forbidden at pump-7: expected the right to steer, found line 3 of the rules, \
///     which denies it to name desk.lab.example");
/// # Ok::<(), isoform_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights(Arc<[Rule]>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    line: usize,
    allows: bool,
    who: Who,
    /// The bits of [`Right`].
    rights: u16,
    channels: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Who {
    Anyone,
    User(u32),
    Key(KeyName),
    /// A pattern for a name in a certificate.
    Name(String),
}

impl Rights {
    /// Parses the text of a file.
    ///
    /// # Errors
    /// [`Code::Text`], with the line and what was expected there.
    pub fn parse(text: &str) -> Result<Rights> {
        if text.len() > BYTES {
            let expected = format_args!("at most {BYTES} bytes of rules");
            return Err(Error::new(Code::Text).expected(expected).found(text.len()));
        }
        let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.split('#').next().unwrap_or_default()));
        let rules = lines.filter(|(_, line)| !line.trim().is_empty()).map(|(at, line)| Rule::parse(at, line));
        rules.collect::<Result<Vec<Rule>>>().map(|rules| Rights(rules.into()))
    }

    /// Checks that a node with these credentials has a right on the channel of this name.
    ///
    /// # Errors
    /// [`Code::Forbidden`], with the line that denies it.
    pub fn expect(&self, credentials: &Credentials, right: Right, channel: &str) -> Result<()> {
        let is_about = |rule: &&Rule| rule.is_about(credentials, right, channel);
        let found = match self.0.iter().find(is_about) {
            Some(rule) if rule.allows => return Ok(()),
            Some(rule) => format!("line {} of the rules, which denies it to {credentials}", rule.line),
            None => format!("no line of the rules that allows it to {credentials}"),
        };
        Err(Error::new(Code::Forbidden).at(channel).expected(format_args!("the right to {right}")).found(found))
    }
}

impl Rule {
    fn parse(line: usize, text: &str) -> Result<Rule> {
        let mut words = text.split_whitespace();
        let mut next =
            |expected: &'static str| words.next().ok_or_else(|| wrong(line, expected, "the end of the line"));
        let allows = match next(VERBS)? {
            "allow" => true,
            "deny" => false,
            other => return Err(wrong(line, VERBS, other)),
        };
        let who = match next(WHO)? {
            "anyone" => Who::Anyone,
            "user" => Who::User(parsed(line, next(USER)?, USER, |word| word.parse().ok())?),
            "key" => Who::Key(parsed(line, next(KEY)?, KEY, key_name)?),
            "name" => Who::Name(next("a name in a certificate, in which * stands for any characters")?.to_lowercase()),
            other => return Err(wrong(line, WHO, other)),
        };
        let mut rights = 0;
        for word in next(RIGHTS)?.split(',') {
            rights |= match Right::ALL.into_iter().find(|right| right.word() == word) {
                Some(right) => right as u16,
                None if word == "all" => Right::ALL.into_iter().fold(0, |all, right| all | right as u16),
                None => return Err(wrong(line, RIGHTS, word)),
            };
        }
        match next(ON)? {
            "on" => {}
            other => return Err(wrong(line, ON, other)),
        }
        let mut channels = vec![next(CHANNELS)?.to_owned()];
        channels.extend(words.map(str::to_owned));
        Ok(Rule { line, allows, who, rights, channels })
    }

    fn is_about(&self, credentials: &Credentials, right: Right, channel: &str) -> bool {
        self.rights & right as u16 != 0
            && self.who.is(credentials)
            && self.channels.iter().any(|pattern| matches(pattern, channel))
    }
}

impl Who {
    fn is(&self, credentials: &Credentials) -> bool {
        match self {
            Who::Anyone => true,
            Who::User(user) => credentials.local_user == Some(*user),
            Who::Key(key) => credentials.key == Some(*key),
            Who::Name(pattern) => {
                let names = credentials.certificate.iter().flatten();
                names.into_iter().any(|name| matches(pattern, &name.to_lowercase()))
            }
        }
    }
}

const VERBS: &str = "allow or deny";
const WHO: &str = "anyone, user NUMBER, key NAME, or name CERTIFICATE-NAME";
const USER: &str = "the number of a user";
const KEY: &str = "the name of a shared key: 16 hexadecimal digits";
const RIGHTS: &str = "all, or some of see, publish, subscribe, block, query, parametrise, relay, steer, introduce, ask, with commas between";
const ON: &str = "on";
const CHANNELS: &str = "the names of channels, in which * stands for any characters";

fn wrong(line: usize, expected: &str, found: &str) -> Error {
    Error::new(Code::Text).at(format!("line {line}")).expected(expected).found(found)
}

fn parsed<T>(line: usize, word: &str, expected: &str, parse: impl Fn(&str) -> Option<T>) -> Result<T> {
    parse(word).ok_or_else(|| wrong(line, expected, word))
}

fn key_name(word: &str) -> Option<KeyName> {
    let is_name = word.len() == 16 && word.bytes().all(|digit| digit.is_ascii_hexdigit());
    Some(KeyName(u64::from_str_radix(word, 16).ok().filter(|_| is_name)?.to_be_bytes()))
}

/// Whether a text is one that a pattern stands for. Longer texts than any name match nothing.
fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    // Where to continue, if what follows the last * does not match: with one more byte for that *.
    let (mut at, mut read, mut again) = (0, 0, None);
    while read < text.len() {
        if pattern.get(at) == Some(&b'*') {
            again = Some((at, read));
            at += 1;
        } else if pattern.get(at) == Some(&text[read]) {
            (at, read) = (at + 1, read + 1);
        } else if let Some((star, from)) = again {
            again = Some((star, from + 1));
            (at, read) = (star + 1, from + 1);
        } else {
            return false;
        }
    }
    text.len() <= COMPARED && pattern[at..].iter().all(|&rest| rest == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_user(user: u32) -> Credentials {
        Credentials { local_user: Some(user), ..Credentials::default() }
    }

    #[test]
    fn the_first_rule_that_is_about_it_decides() {
        let text = "# mine\nallow user 7 all on a*\n\ndeny anyone see on abc\nallow anyone see on ab* x # and x\n";
        let rights = Rights::parse(text).unwrap();
        for right in Right::ALL {
            rights.expect(&of_user(7), right, "abc").unwrap();
        }
        for (channel, found) in [("abc", "line 4 of"), ("b", "no line of")] {
            let error = rights.expect(&of_user(8), Right::See, channel).unwrap_err();
            assert_eq!(error.code(), Code::Forbidden);
            assert!(error.actual().starts_with(found), "{error}");
        }
        rights.expect(&of_user(8), Right::See, "abx").unwrap();
        rights.expect(&Credentials::default(), Right::See, "x").unwrap();
        assert!(rights.expect(&of_user(8), Right::Ask, "x").is_err());
        assert!(Rights::default().expect(&of_user(7), Right::See, "a").is_err(), "nothing is allowed without a line");
    }

    #[test]
    fn everyone_is_named_by_what_the_node_knows_of_them() {
        let text = "allow key 0102030405060708 see on *\nallow name *.Lab.example publish on *\n";
        let rights = Rights::parse(text).unwrap();
        let key = Credentials { key: Some(KeyName([1, 2, 3, 4, 5, 6, 7, 8])), ..Credentials::default() };
        let names = vec!["other".to_owned(), "desk.lab.EXAMPLE".to_owned()];
        let name = Credentials { certificate: Some(names), ..Credentials::default() };
        rights.expect(&key, Right::See, "a").unwrap();
        assert!(rights.expect(&key, Right::Publish, "a").is_err());
        rights.expect(&name, Right::Publish, "a").unwrap();
        assert!(rights.expect(&name, Right::See, "a").is_err());
    }

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, text) in [("*", ""), ("*", "a"), ("a*", "a"), ("*a", "xa"), ("a*b*c", "a--b--bc"), ("**", "é")] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("", "a"), ("a", "ab"), ("a*", "b"), ("a*b", "abc"), ("?", "a"), ("*ab", "xab ")] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
        assert!(!matches(&"*a".repeat(100), &"b".repeat(100_000)));
    }

    /// Every text of at most so many of these characters.
    fn all(characters: &str, most: usize) -> Vec<String> {
        let mut all = vec![String::new()];
        let mut done = 0;
        for _ in 0..most {
            let longest = all[done..].to_vec();
            done = all.len();
            all.extend(longest.iter().flat_map(|text| characters.chars().map(move |c| format!("{text}{c}"))));
        }
        all
    }

    #[test]
    fn a_pattern_matches_exactly_what_its_definition_says() {
        fn is_one(pattern: &[u8], text: &[u8]) -> bool {
            match pattern.split_first() {
                None => text.is_empty(),
                Some((b'*', rest)) => (0..=text.len()).any(|from| is_one(rest, &text[from..])),
                Some((one, rest)) => text.first() == Some(one) && is_one(rest, &text[1..]),
            }
        }
        let texts = all("ab", 6);
        for pattern in all("ab*", 5) {
            for text in &texts {
                assert_eq!(matches(&pattern, text), is_one(pattern.as_bytes(), text.as_bytes()), "{pattern} {text}");
            }
        }
    }

    #[test]
    fn a_wrong_line_is_named_with_what_was_expected() {
        let wrong = [
            ("permit", "line 1: expected allow or deny, found permit"),
            (
                "\nallow",
                "line 2: expected anyone, user NUMBER, key NAME, or name CERTIFICATE-NAME, found the end of the line",
            ),
            ("allow user -1", "line 1: expected the number of a user, found -1"),
            ("deny key 12 ", "line 1: expected the name of a shared key: 16 hexadecimal digits, found 12"),
            ("allow anyone see", "line 1: expected on, found the end of the line"),
            ("allow anyone see at", "line 1: expected on, found at"),
            ("allow anyone see,all,write on *", "with commas between, found write"),
            ("allow anyone see on # x", "in which * stands for any characters, found the end of the line"),
        ];
        for (text, expected) in wrong {
            let error = Rights::parse(text).unwrap_err();
            assert_eq!(error.code(), Code::Text);
            assert!(error.to_string().contains(expected), "{error}");
        }
        assert!(Rights::parse(&"#".repeat(BYTES + 1)).is_err());
        assert_eq!(Rights::parse(" # nothing\n").unwrap(), Rights::default());
    }
}
