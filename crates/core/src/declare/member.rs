//! What a compiler tells of a member's type, compared with the words of a table.

use super::Layout;
use super::types::{Kind, Length, Type, Width};
use crate::error::{Code, Error, Result};
use crate::format::FloatKind;

/// The type of a member of a C struct, as the compiler tells it.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    /// The type of the member, or of the elements of an array: `float`, `char *`, `double complex`, `struct Point`, `char **`.
    /// `struct` alone is any type that is no number, no text and no pointer; `struct ?` is a type other than the one that the
    /// program has named; `? *` and `? **` are pointers of which no more is known.
    pub element: &'a str,
    /// The bytes of an element of the array, of an element of that, and so on; of the member itself where there is no array.
    /// 0 where that is unknown.
    pub rows: [usize; 7],
}

impl Member<'_> {
    /// The size of the element that the member points at, if the compiler has told it.
    pub(super) fn target(&self) -> Option<usize> {
        let word = self.element.strip_suffix(" *").filter(|word| !word.starts_with("struct"))?;
        Element::parse(word).ok()?.0.bytes()
    }
}

/// A member beside its words.
struct Compared<'a> {
    /// The word for its element, or for what it points at.
    word: &'a str,
    pointer: bool,
    extent: usize,
    rows: [usize; 7],
}

/// Refuses words that differ from the member, which has `extent` bytes. `stated` is the number of elements in the words,
/// `stated_size` the size of one in the row, and `structs` has the name of each structure with that of its struct.
pub(super) fn compare<'a>(
    member: &Member<'a>,
    extent: usize,
    stated: usize,
    stated_size: usize,
    words: &Type,
    mut structs: impl Iterator<Item = (&'a Box<str>, &'a Box<str>)> + Clone,
) -> Result<()> {
    if let Some(said) = only_a_pointer(member.element, words, stated_size) {
        return said;
    }
    let (word, pointer) = member.element.strip_suffix(" *").map_or((member.element, false), |word| (word, true));
    let size = extent / stated.max(1);
    let compared = Compared { word, pointer, extent, rows: member.rows };
    if !word.starts_with("struct") {
        let element = Element::parse(word)?;
        let fits = element.is(words, &compared, stated) && (pointer || compared.agrees(words, size));
        return if fits { Ok(()) } else { compared.refuse(words, word, element.size()) };
    }
    let known = match &words.kind {
        Kind::Structure(name) => structs.clone().find(|(structure, _)| **structure == *name).map(|(_, named)| &**named),
        _ => None,
    };
    let same = match (word, &words.kind) {
        ("struct ?", _) => false,
        ("struct", kind) => words.is_indirect() || !has_word(kind, size),
        (_, Kind::Structure(_)) => pointer == words.is_indirect() && known.is_none_or(|known| known == word),
        _ => false,
    };
    if same && (words.is_indirect() || compared.agrees(words, size)) {
        return Ok(());
    }
    let fit = structs.find(|(_, named)| ***named == *word).map(|(name, _)| &**name);
    match (word, fit) {
        ("struct", _) => Err(Error::new(Code::Declaration).expected(STRUCT).found(words)),
        ("struct ?", _) => Err(Error::new(Code::Declaration).expected(OWN).found(words)),
        (_, Some(fit)) => compared.refuse(words, fit, 0),
        (_, None) => compared.refuse(words, word.strip_prefix("struct ").unwrap_or(word), 0),
    }
}

/// Compares words with a member of which the compiler tells only that it is a pointer, or that it is one to a pointer. `None`
/// for all others.
fn only_a_pointer(element: &str, words: &Type, stated_size: usize) -> Option<Result<()>> {
    let is_behind = words.is_indirect();
    let (fits, expected) = match element {
        "char **" => (is_behind && words.kind == Kind::String, "string* or string[n], for a member char **".into()),
        _ if element.ends_with("**") => (false, "ISO_ROW, since no type is a pointer to a pointer".into()),
        "void *" => (
            is_behind || words.kind == Kind::String,
            "a type behind a pointer, such as double* or double[n], for a member void *".into(),
        ),
        "? *" => {
            let unknown = if stated_size > 0 { stated_size } else { size_of::<i32>() };
            let name = if let Kind::Structure(name) = &words.kind { name } else { "Point" };
            let such = format!("such as {name}* or {name}[n], since the member is a pointer");
            let expected = format!("a structure behind a pointer, {such}, or {ROW}");
            (is_behind && !has_word(&words.kind, words.kind.bytes().unwrap_or(unknown)), expected)
        }
        _ => return None,
    };
    Some(if fits { Ok(()) } else { Err(Error::new(Code::Declaration).expected(expected).found(words)) })
}

const ROW: &str = "ISO_ROW, which is not compared with the member";
/// What fits a member of which the compiler tells only that it is a struct or a union.
const STRUCT: &str = "the name of a structure, since the member is a struct or a union, or ISO_ROW, which is not compared with the member";
/// What fits a member that is of another type than the one that ISO_FIELD_STRUCT names.
const OWN: &str = "the member's own struct in ISO_FIELD_STRUCT, or ISO_ROW, which is not compared with the member";

/// Whether C has a word for elements of this kind and size, so that the compiler would have told it.
fn has_word(kind: &Kind, size: usize) -> bool {
    match kind {
        Kind::Float { .. } => matches!(size, 4 | 8),
        Kind::Complex { .. } | Kind::String => true,
        Kind::Integer { .. } | Kind::Char | Kind::Boolean { .. } | Kind::Enumeration { .. } => size <= 8,
        Kind::LongDouble { .. } => true,
        Kind::Structure(_) => false,
    }
}

impl Compared<'_> {
    /// Whether the words divide the array as the member does. One of them may have fewer dimensions: `float[2][300]` may be
    /// `float[600]`, but not `float[300][2]`.
    fn agrees(&self, words: &Type, element: usize) -> bool {
        let last = self.rows.into_iter().filter(|&row| row > 0).min().unwrap_or(self.extent);
        let between = |&row: &usize| element < row && row < self.extent;
        let told: Vec<usize> = self.rows.into_iter().filter(between).collect();
        let mut row = element;
        let stated = words.dims.iter().rev().map(|dim| {
            row *= if let Length::Fixed(count) = dim { *count } else { 1 };
            row
        });
        // What is within the last row that the compiler tells is not compared.
        let stated: Vec<usize> = stated.filter(|row| between(row) && *row >= last).collect();
        told.iter().all(|row| stated.contains(row)) || stated.iter().all(|row| told.contains(row))
    }

    /// The error, with the type that would fit: this word for elements of this size.
    fn refuse(&self, words: &Type, word: &str, size: usize) -> Result<()> {
        let plain = |word| if word == "_Bool" { "bool" } else { word };
        let fit = match (self.pointer, plain(word)) {
            (true, "char") => "string".into(),
            (true, word) => format!("{word}* or {word}[n]"),
            (false, word) => format!("{word}{}", self.dimensions(size)),
        };
        let declared = if self.pointer {
            format!("{} *", plain(self.word))
        } else {
            format!("{}{}", plain(self.word), self.dimensions(size))
        };
        let error = Error::new(Code::Declaration).expected(format_args!("{fit}, for a member {declared}"));
        Err(error.found(words))
    }

    /// The dimensions of the member, whose elements have this size; 0 if that is unknown.
    fn dimensions(&self, size: usize) -> String {
        let (mut text, mut outer) = (String::new(), self.extent);
        let element = if size > 0 { size } else { self.rows[6] };
        for row in self.rows.into_iter().chain([element]) {
            if row > 0 && row < outer {
                text += &format!("[{}]", outer / row);
                outer = row;
            }
        }
        text
    }
}

/// An element for which C has a word.
struct Element(Kind);

impl Element {
    fn parse(word: &str) -> Result<Element> {
        Ok(Element(match word.parse::<Type>()?.kind.settled(&Layout::NATIVE) {
            kind if kind.width() == Some(Width::Open) => kind.with_width(Width::Bytes(size_of::<f32>() as u8)),
            kind => kind,
        }))
    }

    fn is(&self, words: &Type, member: &Compared<'_>, stated: usize) -> bool {
        match (member.pointer, words.kind == Kind::String) {
            (true, true) => self.0 == Kind::Char && !words.is_indirect(),
            (true, false) => words.is_indirect() && self.is_of(&words.kind),
            (false, true) => false,
            (false, false) => !words.is_indirect() && self.is_of(&words.kind) && self.size() * stated == member.extent,
        }
    }

    /// Whether the compiler's element and that of the words are of one class and size. C has no type for some numbers: halves
    /// may be in integers, and every integer may be a boolean, a character or an enumeration. The sign of `char` is open.
    fn is_of(&self, kind: &Kind) -> bool {
        let size = match kind {
            // Without a size, it is C's.
            Kind::Float { kind: FloatKind::Ieee, width: Width::Open } => size_of::<f32>(),
            Kind::Char => 1,
            _ if kind.width() == Some(Width::Pointer) => size_of::<usize>(),
            _ => kind.bytes().unwrap_or(self.size()),
        };
        let whole = |kind: &Kind| {
            matches!(kind, Kind::Integer { .. } | Kind::Char | Kind::Boolean { .. } | Kind::Enumeration { .. })
        };
        let same = match (kind, &self.0) {
            (Kind::Float { kind, .. }, Kind::Float { kind: other, .. })
            | (Kind::Complex { kind, .. }, Kind::Complex { kind: other, .. }) => kind == other,
            (Kind::Integer { signed, .. }, Kind::Integer { signed: other, .. }) => signed == other,
            (Kind::Float { .. }, other) => whole(other) && size == 2,
            (kind, other) => whole(kind) && whole(other),
        };
        same && size == self.size()
    }

    fn size(&self) -> usize {
        if self.0 == Kind::Char { 1 } else { self.0.bytes().unwrap_or(1) }
    }
}
