//! What the tests of the languages share.

use isoform_core::{Layout, Result, Shape};
use isoform_xmit::{Alone, Declarations, Language};

/// Documents of one language, each alone and of this name.
pub(crate) struct One {
    pub(crate) language: Language,
    pub(crate) name: &'static str,
}

impl One {
    pub(crate) fn read(&self, text: &str) -> Result<Declarations> {
        Declarations::read(self.language, self.name, text, &mut Alone)
    }

    /// The fields of the record `R`, or why it is refused.
    pub(crate) fn fields(&self, text: &str) -> String {
        match self.read(text).and_then(|declarations| declarations.shape("R")) {
            Ok(shape) => {
                shape.on(&Layout::X86_64).unwrap();
                let text = shape.to_string();
                let record = text.split("record R\n").nth(1).unwrap();
                let fields = record.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
                fields.collect::<Vec<_>>().join("; ")
            }
            Err(error) => format!("refused: {error}"),
        }
    }

    /// Checks that the record `R`, or the document, is refused with these words.
    #[track_caller]
    pub(crate) fn refuses(&self, text: &str, says: &str) {
        let fields = self.fields(text);
        assert!(fields.starts_with("refused: ") && fields.contains(says), "{text}\n{fields}\nshould say: {says}");
    }
}

/// Checks that a record has the format of a text of shapes, on every layout.
#[track_caller]
pub(crate) fn same_as(declarations: &Declarations, record: &str, shape: &str) {
    let shape = Shape::parse(shape).unwrap();
    for layout in Layout::ALL {
        let (found, expected) = (declarations.bind(record, layout).unwrap(), shape.on(layout).unwrap());
        assert_eq!(found, expected, "{}\n{shape}", declarations.shape(record).unwrap());
        assert_eq!(found.token(), expected.token());
    }
}
