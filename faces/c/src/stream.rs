//! Streams: messages one after another. Section "Streams" of the header.

use crate::decoder::Decoder;
use crate::error::{Number, answer, call};
use crate::format::{Format, Latest};
use crate::message::{Message, incoming};
use crate::pointer::{Held, Opened, Out, close, given, open, put, record, text};
use isoform::{Code, Error, Result, Token, memory, stream};
use std::ffi::{c_char, c_int, c_void};
use std::fs::File;
use std::io::{self, BufWriter, Read, Stdin, Stdout, Write};
use std::ptr;

/// So many formats a writer keeps an encoder for.
const ENCODERS: usize = 64;

/// `iso_put`
pub type Put = unsafe extern "C" fn(context: *mut c_void, bytes: *const c_void, count: usize) -> c_int;
/// `iso_get`
pub type Get = unsafe extern "C" fn(context: *mut c_void, bytes: *mut c_void, room: usize) -> isize;

/// `iso_writer`
pub struct Writer {
    writer: stream::Writer<BufWriter<Target>>,
    encoders: Vec<(Token, memory::Encoder)>,
}

/// Where a stream goes.
enum Target {
    File(File),
    Output(Stdout),
    Function(Put, *mut c_void),
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Target::File(file) => file.write(bytes),
            Target::Output(output) => output.write(bytes),
            // SAFETY: (1) of the crate: it may be called so, with the context that was given with it.
            Target::Function(put, context) => match unsafe { put(*context, bytes.as_ptr().cast(), bytes.len()) } {
                0 => Ok(bytes.len()),
                failed => Err(io::Error::other(format!("the program's function returned {failed}"))),
            },
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Target::File(file) => file.flush(),
            Target::Output(output) => output.flush(),
            Target::Function(..) => Ok(()),
        }
    }
}

impl Writer {
    fn new(target: Target) -> Writer {
        let capacity = if matches!(target, Target::Function(..)) { 0 } else { 64 << 10 };
        let writer = stream::Writer::new(BufWriter::with_capacity(capacity, target));
        Writer { writer, encoders: Vec::new() }
    }

    /// The encoder of a format, and what is written to.
    fn encoder(
        &mut self,
        format: &isoform::Format,
    ) -> Result<(&mut memory::Encoder, &mut stream::Writer<BufWriter<Target>>)> {
        let token = format.token();
        let place = match self.encoders.iter().position(|(known, _)| *known == token) {
            Some(place) => place,
            None => {
                if self.encoders.len() == ENCODERS {
                    self.encoders.clear();
                }
                self.encoders.push((token, memory::Encoder::new(format)?));
                self.encoders.len() - 1
            }
        };
        Ok((&mut self.encoders[place].1, &mut self.writer))
    }
}

fn io(path: &str, error: &io::Error) -> Error {
    Error::new(Code::Io).at(path).came(error)
}

/// `iso_writer_open_file`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_writer_open_file(path: *const c_char, writer: Opened<'_, Writer>) -> Number {
    call(|| {
        open(writer, "writer", || {
            // SAFETY: (1) of the crate.
            let target = match unsafe { text(path, "path")? } {
                "-" => Target::Output(io::stdout()),
                path => Target::File(File::create(path).map_err(|error| io(path, &error))?),
            };
            Ok(Writer::new(target))
        })
    })
}

/// `iso_writer_open`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_writer_open(
    function: Option<Put>,
    context: *mut c_void,
    writer: Opened<'_, Writer>,
) -> Number {
    call(|| open(writer, "writer", || Ok(Writer::new(Target::Function(given(function, "put")?, context)))))
}

/// `iso_writer_write`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_writer_write(
    writer: Option<&mut Writer>,
    format: Option<&Format>,
    data: *const c_void,
) -> Number {
    call(|| {
        let (encoder, writer) = given(writer, "writer")?.encoder(&given(format, "format")?.format)?;
        // SAFETY: (1) of the crate: a record of the format.
        writer.write(&unsafe { encoder.encode(record(data, "record")?)? })
    })
}

/// `iso_writer_write_many`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_writer_write_many(
    writer: Option<&mut Writer>,
    format: Option<&Format>,
    records: *const c_void,
    count: usize,
) -> Number {
    call(|| {
        let format = &given(format, "format")?.format;
        let (encoder, writer) = given(writer, "writer")?.encoder(format)?;
        if count == 0 {
            return Ok(());
        }
        let records = record(records, "records")?;
        if !format.structure().has_slots() {
            // SAFETY: (1) of the crate: so many records of the format.
            let batch = unsafe { encoder.encode_many(records, count)? };
            return batch.map_or(Ok(()), |batch| writer.write_batch(&batch));
        }
        (0..count).try_for_each(|i| {
            // SAFETY: as above.
            let message = unsafe { encoder.encode(records.add(i * format.size())) };
            writer.write(&message.map_err(|error| error.within(&format!("[{i}]")))?)
        })
    })
}

/// `iso_writer_pass`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_writer_pass(writer: Option<&mut Writer>, message: Option<&Message>) -> Number {
    call(|| {
        // SAFETY: (1, 3) of the crate.
        let message = unsafe { incoming(message)? };
        given(writer, "writer")?.writer.write_body(message.format(), message.body())
    })
}

/// `iso_writer_flush`
#[unsafe(no_mangle)]
pub extern "C" fn iso_writer_flush(writer: Option<&mut Writer>) -> Number {
    call(|| given(writer, "writer")?.writer.flush())
}

/// `iso_writer_close`
#[unsafe(no_mangle)]
pub extern "C" fn iso_writer_close(writer: Held<'_, Writer>) -> Number {
    call(|| match writer.and_then(Option::take) {
        Some(mut writer) => writer.writer.flush(),
        None => Ok(()),
    })
}

/// `iso_reader`
pub struct Reader {
    reader: stream::Reader<Origin>,
    latest: Latest,
    /// Whether the next call goes on, if the last one failed.
    goes_on: bool,
}

/// Where a stream comes from.
enum Origin {
    File(File),
    Input(Stdin),
    Function(Get, *mut c_void),
}

impl Read for Origin {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match self {
            Origin::File(file) => file.read(room),
            Origin::Input(input) => input.read(room),
            // SAFETY: (1) of the crate: it may be called so, with the context that was given with it.
            Origin::Function(get, context) => match unsafe { get(*context, room.as_mut_ptr().cast(), room.len()) } {
                failed if failed < 0 => Err(io::Error::other(format!("the program's function returned {failed}"))),
                came => Ok(came.cast_unsigned().min(room.len())),
            },
        }
    }
}

impl Reader {
    fn new(origin: Origin) -> Reader {
        Reader { reader: stream::Reader::new(origin), latest: Latest::default(), goes_on: true }
    }

    /// The next message, if there is one.
    fn next(&mut self) -> Result<Option<(isoform::Incoming<'_>, &mut Latest)>> {
        if let Err(error) = self.reader.peek() {
            self.goes_on = self.reader.goes_on_after(&error);
            return Err(error);
        }
        // What fails behind a header that could be read is the stream.
        self.goes_on = false;
        let message = self.reader.next()?;
        self.goes_on = true;
        Ok(message.map(|message| (message, &mut self.latest)))
    }
}

/// `iso_reader_open_file`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_reader_open_file(path: *const c_char, reader: Opened<'_, Reader>) -> Number {
    call(|| {
        open(reader, "reader", || {
            // SAFETY: (1) of the crate.
            let origin = match unsafe { text(path, "path")? } {
                "-" => Origin::Input(io::stdin()),
                path => Origin::File(File::open(path).map_err(|error| io(path, &error))?),
            };
            Ok(Reader::new(origin))
        })
    })
}

/// `iso_reader_open`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_reader_open(
    function: Option<Get>,
    context: *mut c_void,
    reader: Opened<'_, Reader>,
) -> Number {
    call(|| open(reader, "reader", || Ok(Reader::new(Origin::Function(given(function, "get")?, context)))))
}

/// `iso_reader_next`
#[unsafe(no_mangle)]
pub extern "C" fn iso_reader_next(reader: Option<&mut Reader>, message: Out<'_, Message>) -> Number {
    call(|| {
        let place = given(message, "message")?;
        place.write(Message::NONE);
        match given(reader, "reader")?.next()? {
            Some((came, latest)) => put(Some(place), "message", Message::of(&came, latest)),
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
) -> Number {
    call(|| {
        let place = given(record, "record")?;
        place.write(ptr::null());
        let decoder = &mut given(decoder, "decoder")?.0;
        match given(reader, "reader")?.next()? {
            Some((message, _)) => put(Some(place), "record", decoder.decode(&message)?.as_ptr().cast()),
            None => Ok(()),
        }
    })
}

/// `iso_reader_goes_on`
#[unsafe(no_mangle)]
pub extern "C" fn iso_reader_goes_on(reader: Option<&Reader>) -> c_int {
    reader.is_some_and(|reader| reader.goes_on).into()
}

/// `iso_reader_close`
#[unsafe(no_mangle)]
pub extern "C" fn iso_reader_close(reader: Held<'_, Reader>) {
    answer((), || close(reader));
}
