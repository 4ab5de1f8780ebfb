//! What one element of a document may have, before the XML parser reads it: its time for the attributes of an element, and the memory
//! for the namespaces at one place, grow faster than the text.

use crate::documents::Faults;
use isoform_core::{Code, Result};
use memchr::memmem;

/// Attributes of an element, with those that declare namespaces.
const MAX_ATTRIBUTES: usize = 256;
/// Declarations of namespaces at one place.
const MAX_NAMESPACES: usize = 128;

/// A start tag.
struct Tag {
    length: usize,
    attributes: usize,
    namespaces: usize,
    /// Whether it is the end of its element, too.
    is_empty: bool,
}

/// Refuses a document with an element beyond the limits. What is not well-formed is left to the parser, which stops there.
pub(super) fn check(faults: Faults<'_>) -> Result<()> {
    let bytes = faults.text.as_bytes();
    // How many namespaces have been declared in each element that is open, and around it.
    let mut open: Vec<usize> = Vec::new();
    let mut at = 0;
    while let Some(start) = memchr::memchr(b'<', &bytes[at..]).map(|found| at + found) {
        let rest = &bytes[start..];
        let behind = |from: usize, mark: &str| {
            memmem::find(&rest[from..], mark.as_bytes()).map(|found| start + from + found + mark.len())
        };
        let end = match rest {
            [_, b'!', b'-', b'-', ..] => behind(4, "-->"),
            [_, b'!', b'[', ..] => behind(3, "]]>"),
            [_, b'?', ..] => behind(2, "?>"),
            // A DTD, which the parser refuses.
            [_, b'!', ..] => None,
            [_, b'/', ..] => {
                open.pop();
                behind(2, ">")
            }
            _ => match tag(rest) {
                Some(tag) => {
                    let namespaces = tag.namespaces + open.last().copied().unwrap_or_default();
                    limited(tag.attributes, MAX_ATTRIBUTES, "attributes of an element", faults, start)?;
                    limited(namespaces, MAX_NAMESPACES, "namespaces at one place", faults, start)?;
                    if !tag.is_empty {
                        open.push(namespaces);
                    }
                    Some(start + tag.length)
                }
                None => None,
            },
        };
        let Some(end) = end else { return Ok(()) };
        at = end;
    }
    Ok(())
}

fn limited(count: usize, most: usize, what: &str, faults: Faults<'_>, start: usize) -> Result<()> {
    match count > most {
        true => Err(faults.at(Code::Fields, start).expected(format_args!("at most {most} {what}")).found(count)),
        false => Ok(()),
    }
}

/// The tag that begins here; `None` if it has no end.
fn tag(bytes: &[u8]) -> Option<Tag> {
    let mut tag = Tag { length: 1, attributes: 0, namespaces: 0, is_empty: false };
    loop {
        let rest = &bytes[tag.length..];
        let mark = memchr::memchr3(b'"', b'\'', b'>', rest)?;
        if rest[mark] == b'>' {
            tag.is_empty = bytes[..tag.length + mark].ends_with(b"/");
            tag.length += mark + 1;
            return Some(tag);
        }
        // The name of an attribute stands behind the value before it, or behind the name of the element.
        let name = rest[..mark].trim_ascii_end().strip_suffix(b"=").unwrap_or(&rest[..mark]).trim_ascii_end();
        let name = name.rsplit(u8::is_ascii_whitespace).next().unwrap_or_default();
        tag.attributes += 1;
        tag.namespaces += usize::from(name.starts_with(b"xmlns"));
        tag.length += mark + 1;
        tag.length += memchr::memchr(rest[mark], &bytes[tag.length..])? + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<String> {
        check(Faults::new("a", text)).err().map(|error| format!("{} {}", error.path(), error.actual()))
    }

    #[test]
    fn elements_have_so_many_attributes_and_namespaces() {
        let attributes = |count: usize| (0..count).map(|number| format!(" a{number} = '>'")).collect::<String>();
        let spaces = |count: usize| (0..count).map(|number| format!("\n xmlns:n{number}=\"<\"")).collect::<String>();
        assert_eq!(found(&format!("<a{}/>", attributes(256))), None);
        assert_eq!(found(&format!("<!-- < --><?a < ?>\n<a{}/>", attributes(257))), Some("a:2 257".into()));
        assert_eq!(found(&format!("<a><![CDATA[<]]><b{}>", attributes(300))), Some("a:1 300".into()));
        assert_eq!(found(&format!("<a{}/>", spaces(128))), None);
        assert_eq!(found(&format!("<a{}/>", spaces(129))), Some("a:1 129".into()));
        // Those of an element that has ended do not count.
        let nested = format!("<a{0}><b{0}/><b{0}></b><b{0}", spaces(64));
        assert_eq!(found(&format!("{nested}/></a>")), None);
        assert_eq!(found(&format!("{nested}>\n<c xmlns='x'/>")), Some("a:258 129".into()));
        for odd in ["", "<", "<a", "<a b='", "<!", "<!--", "</", "</a></a>", "<?", "<![CDATA["] {
            assert_eq!(found(odd), None, "{odd}");
        }
    }
}
