//! Queries of streams: what a query makes of a stream is another stream.

use super::{Reader, Writer};
use isoform_core::declare::Layout;
use isoform_core::{Code, Error, Format, Result, Token, Verifier, View};
use isoform_query::{Event, Query, Run, Verdict};
use std::collections::HashMap;
use std::fmt;
use std::io::{self, Read};

/// The most formats of a stream that a query is evaluated for. Each has a state of its own.
const FORMATS: usize = 1_000;

/// What a query makes of the records of a stream (`spec/query.md`): another stream, for a [`Reader`]. [`Reader::query`] makes both.
///
/// The first record of a format that the query does not fit is an error. If the query has fitted another format before, records of
/// this one are left out. With [`until_the_end`](Asked::until_the_end), they are left out in any case, and it is an error at the end if
/// the query has fitted none. At the end of the stream, windows that are open give their results. An error about one record does not end
/// the stream.
pub struct Asked<R> {
    reader: Reader<R>,
    query: Query,
    /// Its state for each format; `None` where it does not fit.
    formats: HashMap<Token, Option<Ready>>,
    /// Says when the event at a position of the stream was submitted.
    times: Option<fn(&mut R, u64) -> Option<u64>>,
    /// The results that were made last, of which the first bytes were read.
    made: Writer<Vec<u8>>,
    read: usize,
    result: Vec<u8>,
    /// Whether there were records since the windows gave their last results.
    is_open: bool,
    /// The input has an end, up to which formats are looked for that the query fits.
    has_end: bool,
    /// Why the query did not fit the first format, as long as it fits none.
    unfit: Option<Error>,
}

/// The query at work on records of one format.
struct Ready {
    run: Run,
    verifier: Verifier,
    uses_time: bool,
    /// Records of the format so far.
    records: u64,
}

impl<R: Read> Reader<R> {
    /// Asks for less: reads what a query makes of the records, in place of the records.
    ///
    /// ```
    /// use isoform::stream::{Reader, Writer};
    /// use isoform::{Decoder, Encoder, Record};
    ///
    /// #[derive(Record)]
    /// #[repr(C)]
    /// struct Gauge {
    ///     step: u64,
    ///     depth: [f64; 100],
    /// }
    /// #[derive(Record)]
    /// #[repr(C)]
    /// struct Deep {
    ///     step: u64,
    ///     deep: f64,
    /// }
    ///
    /// let mut writer = Writer::new(Vec::new());
    /// let mut encoder = Encoder::<Gauge>::new();
    /// for step in 0..10 {
    ///     writer.write(&encoder.encode(&Gauge { step, depth: [step as f64 / 2.0; 100] })?)?;
    /// }
    /// let stream = writer.into_inner();
    ///
    /// let mut reader = Reader::new(&stream[..]).query("where any(depth > 4) | select step, deep = max(depth)")?;
    /// let mut decoder = Decoder::<Deep>::new();
    /// let message = reader.next()?.expect("a result");
    /// let deep = decoder.decode(&message)?;
    /// assert_eq!((deep.step, deep.deep), (9, 4.5));
    /// assert!(reader.next()?.is_none());
    /// # Ok::<(), isoform::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Code::Text`], with line and column, what was expected there, and what was found. A query that does not fit the records is an
    /// error of the first record.
    pub fn query(self, text: &str) -> Result<Reader<Asked<R>>> {
        Ok(Reader::new(Asked::new(self, Query::parse(text)?)))
    }
}

impl<R: Read> Asked<R> {
    /// The stream of results of a query.
    pub fn new(reader: Reader<R>, query: Query) -> Asked<R> {
        let (formats, made, result) = (HashMap::new(), Writer::new(Vec::new()), Vec::new());
        Asked {
            reader,
            query,
            formats,
            times: None,
            made,
            read: 0,
            result,
            is_open: false,
            has_end: false,
            unfit: None,
        }
    }

    /// Lets `times` say when the event at a position of the stream was submitted, in nanoseconds since 1970. Without times, queries with
    /// durations or `time()` are refused.
    pub fn with_times(mut self, times: fn(&mut R, u64) -> Option<u64>) -> Asked<R> {
        self.times = Some(times);
        self
    }

    /// For an input with an end, such as a file: a query that does not fit the first format may fit another one further on. It is an error
    /// only at the end, if it has fitted none.
    pub fn until_the_end(mut self) -> Asked<R> {
        self.has_end = true;
        self
    }

    /// The input of the stream that is asked.
    pub fn inner(&self) -> &R {
        self.reader.inner()
    }

    /// Makes results until there are some, or no more records have arrived.
    fn refill(&mut self) -> Result<()> {
        self.made.inner_mut().clear();
        self.read = 0;
        while self.made.inner().is_empty() {
            if !self.next()? {
                return self.finish();
            }
        }
        Ok(())
    }

    /// What the query makes of the next record. `false` if no more have arrived.
    fn next(&mut self) -> Result<bool> {
        let Asked { reader, query, formats, times, made, result, is_open, has_end, unfit, .. } = self;
        let time = match times {
            Some(times) => {
                if reader.peek()?.is_none() {
                    return Ok(false);
                }
                // The last byte of the message's header.
                let position = reader.position().saturating_sub(1);
                times(reader.inner_mut(), position)
            }
            None => None,
        };
        let Some(message) = reader.next()? else { return Ok(false) };
        let format = message.format();
        if !formats.contains_key(&format.token()) {
            let ready = match admit(query, formats, format) {
                Err(error) if *has_end && error.code() != Code::Budget => {
                    unfit.get_or_insert(error);
                    None
                }
                ready => ready?,
            };
            if ready.is_some() {
                *unfit = None;
            }
            formats.insert(format.token(), ready);
        }
        let Some(Some(ready)) = formats.get_mut(&format.token()) else { return Ok(true) };
        if ready.uses_time && time.is_none() {
            return Err(without_times());
        }
        *is_open = true;
        let event = Event::at(ready.records, time.unwrap_or(0));
        ready.records += 1;
        let view = View::new(ready.verifier.verify(message.body())?);
        match ready.run.record_into(view, event, result)? {
            Verdict::Filtered => {}
            Verdict::Passed => made.write_body(format, message.body())?,
            Verdict::Result => made.write_body(ready.run.format(), result)?,
        }
        Ok(true)
    }

    /// At the end, the windows give what they have.
    fn finish(&mut self) -> Result<()> {
        if let Some(error) = self.unfit.take_if(|_| self.reader.ended()) {
            return Err(error);
        }
        // An input that would block is not at its end.
        if !self.reader.ended() || !std::mem::take(&mut self.is_open) {
            return Ok(());
        }
        for ready in self.formats.values_mut().flatten() {
            for result in ready.run.finish()? {
                self.made.write_body(ready.run.format(), &result)?;
            }
        }
        Ok(())
    }
}

/// The query for a format that it meets first. `None` if it does not fit, and has fitted others.
fn admit(query: &Query, known: &HashMap<Token, Option<Ready>>, format: &Format) -> Result<Option<Ready>> {
    if known.len() >= FORMATS {
        let error = Error::new(Code::Budget).at("query");
        return Err(error.expected(format_args!("at most {FORMATS} formats")).found("more"));
    }
    match query.check(format, &Layout::NATIVE) {
        Ok(checked) => {
            let (run, verifier) = (checked.run(), Verifier::new(format));
            Ok(Some(Ready { run, verifier, uses_time: checked.uses_time(), records: 0 }))
        }
        Err(_) if known.values().any(Option::is_some) => Ok(None),
        Err(error) => Err(error),
    }
}

fn without_times() -> Error {
    let error = Error::new(Code::WrongType).at("query").expected("a query that does not need the times of records");
    error.found("records of a stream, which have no times; recordings have them")
}

impl<R: Read> Read for Asked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read == self.made.inner().len() {
            self.refill().map_err(io::Error::other)?;
        }
        let count = (&self.made.inner()[self.read..]).read(buffer)?;
        self.read += count;
        Ok(count)
    }
}

impl<R> fmt::Debug for Asked<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Asked({})", self.query)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isoform_core::Value;
    use isoform_core::declare::Shape;
    use isoform_core::value::body;

    const GAUGE: &str = "record Gauge\n step long\n depth double";
    const NOTE: &str = "record Note\n text string";

    fn write(writer: &mut Writer<Vec<u8>>, shape: &str, entries: &[(&str, Value)]) {
        let format = Shape::parse(shape).unwrap().on(&Layout::NATIVE).unwrap();
        let record = Value::Record(entries.iter().map(|(name, value)| ((*name).into(), value.clone())).collect());
        writer.write_body(&format, &body(&format, &record).unwrap()).unwrap();
    }

    /// Records of two formats: steps from 0 on, and a note behind every third.
    fn stream(steps: i128) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new());
        for step in 0..steps {
            let depth = Value::Float(step as f64 / 2.0);
            write(&mut writer, GAUGE, &[("step", Value::Integer(step)), ("depth", depth)]);
            if step % 3 == 2 {
                write(&mut writer, NOTE, &[("text", Value::String(b"so far".to_vec()))]);
            }
        }
        writer.into_inner()
    }

    /// All results, as JSON.
    fn results<R: Read>(reader: &mut Reader<R>) -> Result<Vec<String>> {
        let mut all = Vec::new();
        while let Some(message) = reader.next()? {
            all.push(isoform_core::text::json::line(message.view()?));
        }
        Ok(all)
    }

    fn ask(stream: &[u8], query: &str) -> Result<Vec<String>> {
        results(&mut Reader::new(stream).query(query)?)
    }

    #[test]
    fn records_of_formats_that_do_not_fit_are_left_out_if_others_did() {
        let all = ask(&stream(7), "where depth > 1.4 and step % 2 == 1 | select step").unwrap();
        assert_eq!(all, [r#"{"step":3}"#, r#"{"step":5}"#]);
        let error = ask(&stream(7), "where text == \"x\"").unwrap_err();
        assert!(error.to_string().contains("\"text\" at line 1 column 7"), "{error}");
        assert_eq!(ask(&stream(7), "where depth >").unwrap_err().code(), Code::Text);
    }

    #[test]
    fn in_a_file_the_query_may_fit_a_format_further_on() {
        let ask = |query: &str| {
            let (bytes, query) = (stream(7), Query::parse(query)?);
            results(&mut Reader::new(Asked::new(Reader::new(&bytes[..]), query).until_the_end()))
        };
        assert_eq!(ask("select text").unwrap(), vec![r#"{"text":"so far"}"#; 2]);
        let error = ask("select nobody").unwrap_err();
        assert!(error.to_string().contains("\"nobody\" at line 1 column 8"), "{error}");
    }

    #[test]
    fn windows_give_what_they_have_at_the_end() {
        let query = "where step >= 0 | window 4 | select count(), last = last(step)";
        let expected = [r#"{"count":4,"last":3}"#, r#"{"count":4,"last":7}"#, r#"{"count":2,"last":9}"#];
        assert_eq!(ask(&stream(10), query).unwrap(), expected);
        assert_eq!(ask(&stream(8), query).unwrap(), expected[..2]);
        assert_eq!(ask(&stream(0), query).unwrap(), [""; 0]);
    }

    /// A stream of which more and more arrives.
    struct Growing {
        bytes: Vec<u8>,
        read: usize,
        until: usize,
        blocks: bool,
    }

    impl Read for Growing {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            let count = (&self.bytes[self.read..self.until]).read(room)?;
            self.read += count;
            match count == 0 && self.blocks {
                true => Err(io::ErrorKind::WouldBlock.into()),
                false => Ok(count),
            }
        }
    }

    #[test]
    fn a_stream_that_only_waits_has_not_ended() {
        let bytes = stream(6);
        let until = bytes.len() - 200;
        let reader = Reader::new(Growing { bytes, read: 0, until, blocks: true });
        let mut reader = reader.query("where step >= 0 | window 100 | select count()").unwrap();
        assert_eq!(results(&mut reader).unwrap_or_default(), [""; 0]);
        let growing = reader.inner_mut().reader.inner_mut();
        (growing.until, growing.blocks) = (growing.bytes.len(), false);
        assert_eq!(results(&mut reader).unwrap(), [r#"{"count":6}"#]);
        assert_eq!(results(&mut reader).unwrap(), [""; 0], "once");
    }

    #[test]
    fn times_are_those_of_the_input() {
        let bytes = stream(9);
        let plain = Reader::new(&bytes[..]).query("every 1 s").and_then(|mut reader| results(&mut reader));
        assert!(plain.unwrap_err().to_string().contains("which have no times"));
        // A microsecond for each byte of the stream: 100,000 and something a second.
        let times = |_: &mut &[u8], position: u64| Some(position * 1_000);
        let query = Query::parse("select step, at = time()").unwrap();
        let asked = Asked::new(Reader::new(&bytes[..]), query).with_times(times);
        let all = results(&mut Reader::new(asked)).unwrap();
        assert_eq!(all.len(), 9);
        let at = |line: &String| -> u64 { line.rsplit(':').next().unwrap().trim_end_matches('}').parse().unwrap() };
        assert!(all.is_sorted_by_key(at) && at(&all[8]) < bytes.len() as u64 * 1_000, "{all:?}");
    }
}
