//! Locators: where the formats of messages are described (`spec/message.md`, "Locators").

use super::{ALIGNMENT, HEADER, Header};
use crate::error::{Code, Error, Result};
use crate::token::Token;

/// The most bytes of the body of a locator message.
pub const MAX_LOCATORS: usize = 2048;
/// The most URLs in it.
const MAX_URLS: usize = 8;

/// URLs of servers that know the formats of the messages behind them. Nobody connects to one unless the program allows its host.
///
/// ```
/// use isoform_core::message::Locators;
/// let locators = Locators::new(["http://sim7:7460"])?;
/// assert_eq!(Locators::parse(b"http://sim7:7460")?, locators);
/// assert!(Locators::new(["ftp://sim7"]).is_err());
/// # Ok::<(), isoform_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Locators(Box<[Box<str>]>);

impl Locators {
    /// Locators at these URLs.
    ///
    /// # Errors
    /// [`Code::Text`] for something else than 1 to 8 URLs of servers, [`Code::MessageSize`] for more than 2,048 bytes.
    pub fn new<U: Into<Box<str>>>(urls: impl IntoIterator<Item = U>) -> Result<Locators> {
        let urls: Box<[Box<str>]> = urls.into_iter().take(MAX_URLS + 1).map(Into::into).collect();
        if urls.is_empty() || urls.len() > MAX_URLS {
            return Err(Error::new(Code::Text).expected("1 to 8 URLs").found(urls.len()));
        }
        if let Some(url) = urls.iter().find(|url| !is_server(url)) {
            let error = Error::new(Code::Text).expected("the URL of a server, such as http://HOST:PORT");
            // In front of the last `@` may be a password.
            let (hidden, shown) = url.rsplit_once('@').map_or(("", &**url), |(_, host)| ("..@", host));
            let shown: String = hidden.chars().chain(shown.chars().take(200)).collect();
            return Err(error.found(format_args!("{shown:?}")));
        }
        let length = urls.iter().map(|url| url.len() + 1).sum::<usize>() - 1;
        match length <= MAX_LOCATORS {
            true => Ok(Locators(urls)),
            false => Err(too_long(length as u64)),
        }
    }

    /// The locators in the body of a locator message.
    ///
    /// # Errors
    /// As [`Locators::new`].
    pub fn parse(body: &[u8]) -> Result<Locators> {
        let text = std::str::from_utf8(body).map_err(|_| Error::new(Code::Text).expected("URLs in ASCII"))?;
        Locators::new(text.split('\n'))
    }

    /// The URLs. There are none by [`Default`] only.
    pub fn urls(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|url| &**url)
    }

    /// The bytes of the locator message without its padding.
    pub fn length(&self) -> usize {
        HEADER + self.0.iter().map(|url| url.len() + 1).sum::<usize>().saturating_sub(1)
    }

    /// The locator message, with padding.
    pub fn message(&self) -> Vec<u8> {
        let body = self.0.join("\n");
        let mut bytes = Header::new(Token::LOCATORS, body.len() as u64).to_bytes().to_vec();
        bytes.extend_from_slice(body.as_bytes());
        bytes.resize((HEADER + body.len()).next_multiple_of(ALIGNMENT), 0);
        bytes
    }
}

pub(crate) fn too_long(length: u64) -> Error {
    Error::new(Code::MessageSize).expected(format_args!("locators of at most {MAX_LOCATORS} bytes")).found(length)
}

/// Whether a text can be the URL of a server. The host is for those who follow it.
fn is_server(url: &str) -> bool {
    let host = url.strip_prefix("http://").or(url.strip_prefix("https://")).unwrap_or_default();
    let authority = host.split('/').next().unwrap_or_default();
    let is_plain = url.bytes().all(|byte| (0x21..=0x7e).contains(&byte) && !b"?#".contains(&byte));
    is_plain && !authority.is_empty() && !authority.contains('@')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_list_of_servers_is_refused() {
        let long = format!("http://h/{}", "x".repeat(MAX_LOCATORS));
        let many = ["http://h"; 9].join("\n");
        for (body, code) in [
            ("", Code::Text),
            ("http://h\n", Code::Text),
            ("\nhttp://h", Code::Text),
            ("http://", Code::Text),
            ("http:///formats", Code::Text),
            ("http://user@h", Code::Text),
            ("http://h/?a", Code::Text),
            ("http://h#a", Code::Text),
            ("http://h /", Code::Text),
            ("http://h\r", Code::Text),
            ("http://\u{e9}", Code::Text),
            ("HTTP://h", Code::Text),
            ("file:///etc", Code::Text),
            (&many, Code::Text),
            (&long, Code::MessageSize),
        ] {
            assert_eq!(Locators::parse(body.as_bytes()).unwrap_err().code(), code, "{body:?}");
        }
        let error = Locators::new(["http://user:secret@h:1"]).unwrap_err();
        assert!(error.actual().contains("..@h:1") && !error.to_string().contains("secret"), "{error}");
        assert_eq!(Locators::parse(b"\xff").unwrap_err().code(), Code::Text);
    }

    #[test]
    fn a_message_holds_the_urls_line_by_line() {
        let locators = Locators::new(["http://a:1", "https://b/river"]).unwrap();
        let message = locators.message();
        assert_eq!(message.len(), 64);
        assert_eq!(message[8..24], *Token::LOCATORS.as_bytes());
        assert_eq!(Locators::parse(&message[32..32 + message[24] as usize]).unwrap(), locators);
        assert_eq!(locators.urls().collect::<Vec<_>>(), ["http://a:1", "https://b/river"]);
    }
}
