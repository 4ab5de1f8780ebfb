//! What nodes tell each other of errors: a number and a text.

use isoform_core::{Class, Code, Error};

/// The most bytes that are kept of the text of a node that refuses a connection or a channel: anybody may be there.
const TEXT: usize = 200;

/// The code and the text that another node is told of an error. It learns which right it lacks, but not what the rules
/// say.
pub(crate) fn told(error: &Error) -> (u16, String) {
    let text = match error.code() {
        Code::Forbidden => Error::new(Code::Forbidden).at(error.path()).expected(error.expectation()).to_string(),
        _ => error.to_string(),
    };
    (error.code() as u16, text)
}

/// The error that another node sent as a number and the text of its error. Mostly, that text begins with the words of the
/// code. This error says them once.
pub(crate) fn error_of(number: u16, text: &str) -> Error {
    let code = Code::ALL.iter().copied().find(|code| *code as u16 == number).unwrap_or(Code::Unreachable);
    let rest = match text.strip_prefix(code.text()) {
        Some("") => "",
        Some(rest) if rest.starts_with(" at ") => &rest[1..],
        Some(rest) => rest.strip_prefix(": ").unwrap_or(text),
        None => text,
    };
    Error::new(code).found(rest)
}

/// The same for a node that refuses a connection or a channel. It cannot make its refusal look like a mistake of this program.
pub(crate) fn refusal_of(number: u16, text: &str) -> Error {
    let error = error_of(number, &text[..text.floor_char_boundary(TEXT)]);
    match error.class() {
        Class::BadInput | Class::Limit | Class::Unavailable if error.code() != Code::Closed => error,
        _ => Error::new(Code::Handshake).found(format_args!("{}: {}", error.code(), error.actual())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_short_and_no_mistake_of_this_program() {
        let long = refusal_of(Code::Peers as u16, &"ü".repeat(5_000));
        assert_eq!((long.code(), long.actual().len()), (Code::Peers, TEXT));
        for code in [Code::Address, Code::Insecure, Code::Closed, Code::Internal] {
            assert_eq!(refusal_of(code as u16, "x").code(), Code::Handshake);
        }
        assert_eq!(refusal_of(Code::NoSuchChannel as u16, "x").code(), Code::NoSuchChannel);
    }

    #[test]
    fn the_error_of_another_node_names_its_code_once() {
        let theirs = Error::new(Code::NotGranted).at("policy").expected("a").found("b");
        let ours = error_of(theirs.code() as u16, &theirs.to_string());
        assert_eq!(ours.to_string(), "not granted: at policy: expected a, found b");
        for (text, shown) in [
            ("not granted", "not granted"),
            ("not granted: no", "not granted: no"),
            ("not granted by me", "not granted: not granted by me"),
            ("never", "not granted: never"),
        ] {
            assert_eq!(error_of(Code::NotGranted as u16, text).to_string(), shown);
        }
        assert_eq!(error_of(u16::MAX, "x").code(), Code::Unreachable);
    }
}
