//! Streams, sequences of messages. Section "Streams" of the header.

use crate::decoder::Decoder;
use crate::error::{Status, answer, call};
use crate::format::{Format, Latest};
use crate::message::{Message, incoming};
use crate::pointer::{Held, Opened, Out, bytes_mut, close, given, open, put, record, records as many, text};
use isoform::stream::{Appended, Asked, Healed};
use isoform::{Code, Error, Query};
use isoform_dynamic::stream;
use std::ffi::{CString, c_char, c_int, c_void};
use std::io::{self, BufWriter, Read, Write};
use std::ptr;

/// So many bytes are gathered before they go to a file.
const GATHERED: usize = 64 << 10;

/// `iso_put`
pub type Put = unsafe extern "C" fn(context: *mut c_void, bytes: *const c_void, count: usize) -> c_int;
/// `iso_get`
pub type Get = unsafe extern "C" fn(context: *mut c_void, bytes: *mut c_void, room: usize) -> isize;

/// `iso_writer`
pub struct Writer(pub(crate) stream::Writer<BufWriter<Box<dyn Write>>>, Option<(Healed, CString)>);

/// A function of the program that takes bytes, with what it wants to be given.
struct Taker(Put, *mut c_void);

impl Write for Taker {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // SAFETY: (1) of the crate: it may be called so, with the context that was given with it.
        match unsafe { self.0(self.1, bytes.as_ptr().cast(), bytes.len()) } {
            0 => Ok(bytes.len()),
            failed => Err(io::Error::other(format!("the program's function returned {failed}"))),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Writer {
    /// A writer that gathers so many bytes.
    fn new(capacity: usize, target: impl Write + 'static) -> Writer {
        Writer(stream::Writer::new(BufWriter::with_capacity(capacity, Box::new(target))), None)
    }
}

/// `iso_writer_open_file`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_writer_open_file(path: *const c_char, writer: Opened<'_, Writer>) -> Status {
    call(|| {
        open(writer, "writer", || {
            // SAFETY: (1) of the crate.
            let path = unsafe { text(path, "path")? };
            Ok(Writer::new(GATHERED, stream::Output::named(path)?))
        })
    })
}

/// `iso_writer_append_file`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_writer_append_file(path: *const c_char, writer: Opened<'_, Writer>) -> Status {
    call(|| {
        open(writer, "writer", || {
            // SAFETY: (1) of the crate.
            let appended = Appended::open(unsafe { text(path, "path")? })?;
            let (mark, healed) = (appended.mark(), appended.healed().cloned());
            let mut writer = Writer::new(GATHERED, stream::Output::Appended(appended));
            if let Some(mark) = mark {
                writer.0.set_mark(mark);
            }
            writer.1 = healed.map(|healed| {
                // The name came from C, and has no NUL.
                let aside = CString::new(healed.aside.as_os_str().as_encoded_bytes()).unwrap_or_default();
                (healed, aside)
            });
            Ok(writer)
        })
    })
}

/// `iso_writer_healed`
#[unsafe(no_mangle)]
pub extern "C" fn iso_writer_healed(
    writer: Option<&Writer>,
    bytes: Out<'_, u64>,
    at: Out<'_, u64>,
    aside: Out<'_, *const c_char>,
) -> Status {
    call(|| {
        let bytes = given(bytes, "bytes")?.write(0);
        let (at, aside) = (at.map(|place| place.write(0)), aside.map(|place| place.write(ptr::null())));
        let Some((healed, path)) = &given(writer, "writer")?.1 else { return Ok(()) };
        *bytes = healed.bytes;
        if let Some(at) = at {
            *at = healed.at;
        }
        if let Some(aside) = aside {
            *aside = path.as_ptr();
        }
        Ok(())
    })
}

/// `iso_writer_open`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_writer_open(
    function: Option<Put>,
    context: *mut c_void,
    writer: Opened<'_, Writer>,
) -> Status {
    call(|| open(writer, "writer", || Ok(Writer::new(0, Taker(given(function, "put")?, context)))))
}

/// `iso_writer_write`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_writer_write(
    writer: Option<&mut Writer>,
    format: Option<&Format>,
    data: *const c_void,
) -> Status {
    call(|| {
        let (writer, format) = (&mut given(writer, "writer")?.0, &given(format, "format")?.format);
        // SAFETY: (1) of the crate: a record of the format.
        unsafe { writer.write(format, record(data, "record")?) }
    })
}

/// `iso_writer_write_many`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_writer_write_many(
    writer: Option<&mut Writer>,
    format: Option<&Format>,
    records: *const c_void,
    count: usize,
) -> Status {
    call(|| {
        let (format, writer) = (&given(format, "format")?.format, &mut given(writer, "writer")?.0);
        if count == 0 {
            return Ok(());
        }
        let start = many(records, count, format.size())?;
        // SAFETY: (1) of the crate: so many records of the format.
        unsafe { writer.write_many(format, start, count) }
    })
}

/// `iso_writer_pass`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_writer_pass(writer: Option<&mut Writer>, message: Option<&Message>) -> Status {
    call(|| {
        // SAFETY: (1, 3) of the crate.
        let message = unsafe { incoming(message)? };
        given(writer, "writer")?.0.pass(&message)
    })
}

/// `iso_writer_flush`
#[unsafe(no_mangle)]
pub extern "C" fn iso_writer_flush(writer: Option<&mut Writer>) -> Status {
    call(|| given(writer, "writer")?.0.flush())
}

/// `iso_writer_set_sealed`
#[unsafe(no_mangle)]
pub extern "C" fn iso_writer_set_sealed(writer: Option<&mut Writer>, is_sealed: c_int) -> Status {
    call(|| {
        given(writer, "writer")?.0.set_sealed(is_sealed != 0);
        Ok(())
    })
}

/// `iso_writer_close`
#[unsafe(no_mangle)]
pub extern "C" fn iso_writer_close(writer: Held<'_, Writer>) -> Status {
    call(|| match writer.and_then(Option::take) {
        Some(mut writer) => writer.0.flush(),
        None => Ok(()),
    })
}

/// `iso_reader`
pub struct Reader {
    pub(crate) reader: stream::Reader<Box<dyn Source>>,
    latest: Latest,
}

/// The source of a stream, which may know when its events were submitted.
pub(crate) trait Source: Read {
    fn submitted(&mut self, _: u64) -> Option<u64> {
        None
    }
}

impl Source for stream::Input {
    fn submitted(&mut self, position: u64) -> Option<u64> {
        stream::Input::submitted(self, position)
    }
}
impl Source for Giver {}
impl<R: Read> Source for Asked<R> {}
impl Source for io::Empty {}

/// A function of the program that has bytes, with what it wants to be given.
pub(crate) struct Giver(Get, *mut c_void);

impl Giver {
    /// The function may be called with the context for as long as this lives.
    pub(crate) fn new(function: Get, context: *mut c_void) -> Giver {
        Giver(function, context)
    }
}

impl Read for Giver {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        // SAFETY: (1) of the crate: it may be called so, with the context that was given with it.
        match unsafe { self.0(self.1, room.as_mut_ptr().cast(), room.len()) } {
            failed if failed < 0 => Err(io::Error::other(format!("the program's function returned {failed}"))),
            came => Ok(came.cast_unsigned().min(room.len())),
        }
    }
}

impl Reader {
    fn new(origin: impl Source + 'static) -> Reader {
        Reader { reader: stream::Reader::new(Box::new(origin)), latest: Latest::default() }
    }
}

/// `iso_reader_open_file`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_reader_open_file(path: *const c_char, reader: Opened<'_, Reader>) -> Status {
    call(|| {
        open(reader, "reader", || {
            // SAFETY: (1) of the crate.
            let path = unsafe { text(path, "path")? };
            Ok(Reader::new(stream::Input::named(path)?))
        })
    })
}

/// `iso_reader_open`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_reader_open(
    function: Option<Get>,
    context: *mut c_void,
    reader: Opened<'_, Reader>,
) -> Status {
    call(|| open(reader, "reader", || Ok(Reader::new(Giver(given(function, "get")?, context)))))
}

/// `iso_reader_set_query`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_reader_set_query(reader: Option<&mut Reader>, query: *const c_char) -> Status {
    call(|| {
        let reader = given(reader, "reader")?;
        // SAFETY: (1) of the crate.
        let query = unsafe { text(query, "query")? };
        if reader.reader.position() > 0 {
            let error = Error::new(Code::WrongType).at("reader");
            return Err(error.expected("a reader that has read nothing yet").found("a later one"));
        }
        let query = Query::parse(query)?;
        let read = std::mem::replace(reader, Reader::new(io::empty()));
        *reader = Reader::new(read.reader.query(query, |source, position| source.submitted(position)));
        Ok(())
    })
}

/// `iso_reader_next`
#[unsafe(no_mangle)]
pub extern "C" fn iso_reader_next(reader: Option<&mut Reader>, message: Out<'_, Message>) -> Status {
    call(|| {
        let place = given(message, "message")?;
        place.write(Message::NONE);
        let Reader { reader, latest } = given(reader, "reader")?;
        match reader.next()? {
            Some(came) => put(Some(place), "message", Message::of(&came, latest)),
            None => Ok(()),
        }
    })
}

/// `iso_reader_peek`
#[unsafe(no_mangle)]
pub extern "C" fn iso_reader_peek(reader: Option<&mut Reader>, head: Out<'_, Message>) -> Status {
    call(|| {
        let place = given(head, "head")?;
        place.write(Message::NONE);
        let Reader { reader, latest } = given(reader, "reader")?;
        match reader.peek()? {
            Some(head) => put(Some(place), "head", Message::at(ptr::null(), head, latest)?),
            None => Ok(()),
        }
    })
}

/// `iso_reader_skip`
#[unsafe(no_mangle)]
pub extern "C" fn iso_reader_skip(reader: Option<&mut Reader>, skipped: Out<'_, c_int>) -> Status {
    call(|| {
        let skipped = skipped.map(|place| place.write(0));
        let done = given(reader, "reader")?.reader.skip()?;
        if let Some(place) = skipped {
            *place = done.into();
        }
        Ok(())
    })
}

/// `iso_reader_read_into`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_reader_read_into(
    reader: Option<&mut Reader>,
    body: *mut c_void,
    room: usize,
    message: Out<'_, Message>,
) -> Status {
    call(|| {
        let place = given(message, "message")?;
        place.write(Message::NONE);
        let Reader { reader, latest } = given(reader, "reader")?;
        // SAFETY: (1) of the crate.
        match reader.read_into(unsafe { bytes_mut(body, room, "body")? })? {
            Some(head) => put(Some(place), "message", Message::at(body, head, latest)?),
            None => Ok(()),
        }
    })
}

/// `iso_reader_read`
#[unsafe(no_mangle)]
pub extern "C" fn iso_reader_read(
    reader: Option<&mut Reader>,
    decoder: Option<&mut Decoder>,
    record: Out<'_, *const c_void>,
) -> Status {
    call(|| {
        let place = given(record, "record")?;
        place.write(ptr::null());
        let decoder = &mut given(decoder, "decoder")?.decoder;
        match given(reader, "reader")?.reader.next()? {
            Some(message) => put(Some(place), "record", decoder.decode(&message)?.as_ptr().cast()),
            None => Ok(()),
        }
    })
}

/// `iso_reader_goes_on`
#[unsafe(no_mangle)]
pub extern "C" fn iso_reader_goes_on(reader: Option<&Reader>) -> c_int {
    reader.is_some_and(|reader| reader.reader.goes_on()).into()
}

/// `iso_reader_resume`
#[unsafe(no_mangle)]
pub extern "C" fn iso_reader_resume(
    reader: Option<&mut Reader>,
    resumed: Out<'_, c_int>,
    from: Out<'_, u64>,
    to: Out<'_, u64>,
) -> Status {
    call(|| {
        let resumed = given(resumed, "resumed")?.write(0);
        let (from, to) = (from.map(|place| place.write(0)), to.map(|place| place.write(0)));
        let Some(gap) = given(reader, "reader")?.reader.resume()? else { return Ok(()) };
        *resumed = 1;
        for (place, position) in [(from, gap.from), (to, gap.to)] {
            if let Some(place) = place {
                *place = position;
            }
        }
        Ok(())
    })
}

/// `iso_reader_close`
#[unsafe(no_mangle)]
pub extern "C" fn iso_reader_close(reader: Held<'_, Reader>) {
    answer((), || close(reader));
}
