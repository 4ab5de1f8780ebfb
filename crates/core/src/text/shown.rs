//! Makes text from strangers safe to print.

use std::fmt::{self, Display, Formatter, Write};

/// Displays a text and escapes, as Rust does, every character that controls a terminal, changes the direction of
/// writing, or is invisible.
///
/// ```
/// use isoform_core::text::Shown;
/// assert_eq!(Shown("größe \u{1b}]0;x\u{7}\u{202e}\n").to_string(), r"größe \u{1b}]0;x\u{7}\u{202e}\n");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Shown<T>(pub T);

impl<T: Display> Display for Shown<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(Escaped(f), "{}", self.0)
    }
}

struct Escaped<'a, 'b>(&'a mut Formatter<'b>);

impl Write for Escaped<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some(at) = rest.find(is_hidden) {
            self.0.write_str(&rest[..at])?;
            let mut behind = rest[at..].chars();
            behind.next().map_or(Ok(()), |hidden| write!(self.0, "{}", hidden.escape_default()))?;
            rest = behind.as_str();
        }
        self.0.write_str(rest)
    }
}

/// Whether a character is more than a visible sign: a control, a change of direction, a character without width, or an
/// end of a line or paragraph.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || c >= '\u{ad}'
            && matches!(c,
                '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
                | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
                | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}
