//! Records in a text that comes in pieces, one after another, as bodies: for programs that take either language, and keep what they read with.

use super::read::Xml;
use super::{Hydration, MAX_TEXT};
use isoform_core::error::Position;
use isoform_core::{Code, Error, Result, value};
use std::fmt;
use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;

/// The bodies of the records in a text: in XML as [`Hydration::records`] reads them, or in JSON, one record on each line. It reads no more than
/// it needs for the next record. After an error there are no more.
///
/// ```
/// # use isoform_core::{Layout, Shape};
/// # use isoform_xmit::{Hydration, Markup, Texts};
/// let format = Shape::new("Gauge").field("step", "int").on(&Layout::NATIVE)?;
/// let hydration = std::sync::Arc::new(Hydration::new(&format, &Markup::plain("Gauge"))?);
/// let text = "<river><Gauge><step>7</step></Gauge>\n<Gauge><step>8</step></Gauge></river>";
/// let xml = Texts::xml(hydration.clone(), text.as_bytes(), Some("river")).collect::<Result<Vec<_>, _>>()?;
/// let json = Texts::json(hydration, "{\"step\": 7}\n\n{\"step\": 8}".as_bytes()).collect::<Result<Vec<_>, _>>()?;
/// assert_eq!((xml.len(), xml), (2, json));
/// # Ok::<(), isoform_core::Error>(())
/// ```
pub struct Texts<R> {
    hydration: Arc<Hydration>,
    input: Input<R>,
    is_done: bool,
}

enum Input<R> {
    Xml(Box<Xml<R>>),
    Json(Lines<R>),
}

/// Lines, of which each has a record or nothing.
struct Lines<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    number: usize,
}

impl<R: Read> Texts<R> {
    /// Reads XML: documents of one record each, or the records in one element of the name `within`.
    pub fn xml(hydration: Arc<Hydration>, input: R, within: Option<&str>) -> Texts<R> {
        Texts { hydration, input: Input::Xml(Box::new(Xml::new(input, within))), is_done: false }
    }

    /// Reads JSON: a record on each line that is not empty.
    pub fn json(hydration: Arc<Hydration>, input: R) -> Texts<R> {
        let lines = Lines { input: BufReader::new(input), line: Vec::new(), number: 0 };
        Texts { hydration, input: Input::Json(lines), is_done: false }
    }

    /// What the records are read with.
    pub fn hydration(&self) -> &Hydration {
        &self.hydration
    }

    fn read(&mut self) -> Result<Option<Vec<u8>>> {
        let hydration = &*self.hydration;
        match &mut self.input {
            Input::Xml(xml) => {
                let record = xml.read(hydration).map_err(|error| xml.place(error))?;
                let body = record.map(|record| value::body(hydration.format(), &record)).transpose();
                body.map_err(|error| xml.place(error))
            }
            Input::Json(lines) => {
                while lines.next()? {
                    if lines.line.trim_ascii().is_empty() {
                        continue;
                    }
                    let text = std::str::from_utf8(&lines.line).map_err(|error| Error::new(Code::Utf8).found(error));
                    let body = text.and_then(|text| hydration.body_of_json(text));
                    return body.map(Some).map_err(|error| lines.place(error));
                }
                Ok(None)
            }
        }
    }
}

impl<R: Read> Iterator for Texts<R> {
    type Item = Result<Vec<u8>>;

    fn next(&mut self) -> Option<Result<Vec<u8>>> {
        if self.is_done {
            return None;
        }
        let next = self.read();
        self.is_done = !matches!(next, Ok(Some(_)));
        next.transpose()
    }
}

impl<R> fmt::Debug for Texts<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let language = if matches!(self.input, Input::Xml(_)) { "XML" } else { "JSON" };
        f.debug_struct("Texts").field("format", self.hydration.format()).field("language", &language).finish()
    }
}

impl<R: Read> Lines<R> {
    /// The next line, unless there is none.
    fn next(&mut self) -> Result<bool> {
        self.line.clear();
        self.number += 1;
        let mut bounded = (&mut self.input).take(MAX_TEXT as u64 + 1);
        bounded.read_until(b'\n', &mut self.line).map_err(|error| self.place(Error::new(Code::Io).found(error)))?;
        if self.line.len() > MAX_TEXT {
            let error = Error::new(Code::MessageSize).expected(format_args!("a line of at most {MAX_TEXT} bytes"));
            return Err(self.place(error));
        }
        Ok(!self.line.is_empty())
    }

    /// An error in this line.
    fn place(&self, error: Error) -> Error {
        let column = error.position().map_or(self.line.len(), |position| position.column);
        error.positioned(Position { line: self.number, column })
    }
}
