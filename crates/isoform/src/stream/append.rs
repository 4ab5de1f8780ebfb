//! Appends to a stream in a file, and heals it before (`spec/message.md`, "Appending").

use super::{Reader, Writer, io_error};
use isoform_core::message::Mark;
use isoform_core::{Code, Error, Limits, Result};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// So many names are tried for the bytes that were cut off.
const NAMES: u32 = 10_000;

/// A file whose stream is whole, for a [`Writer`] at its end. As long as it is open, nobody else can open the file for appending.
#[derive(Debug)]
pub struct Appended {
    file: File,
    mark: Option<Mark>,
    healed: Option<Healed>,
}

/// What was cut off from a file, since nobody could have read what follows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Healed {
    /// The position of the first of these bytes, where the stream goes on now.
    pub at: u64,
    /// Their number.
    pub bytes: u64,
    /// The file that has them now, beside the stream.
    pub aside: PathBuf,
    /// What was wrong with them.
    pub error: Error,
}

/// The end of a stream.
struct End {
    /// Where the next message begins.
    at: u64,
    mark: Option<Mark>,
    /// Why there are bytes behind it that cannot be read.
    error: Option<Error>,
}

impl Appended {
    /// Opens a file for appending, creates it if it is not there, and heals it: if its last message is cut, or what follows the last
    /// message is none, these bytes move to another file beside it (`river.iso.cut`), and the stream ends in front of them.
    ///
    /// The stream is read to its end. For that time, and until this is dropped, the file is locked.
    ///
    /// # Errors
    /// - [`Code::Io`], also if another program is appending to the file;
    /// - [`Code::NotAMessage`] if the file has something else than a stream, [`Code::Version`] or [`Code::Flags`] if a newer version has
    ///   written it. The file is then unchanged.
    pub fn open(path: impl AsRef<Path>) -> Result<Appended> {
        let path = path.as_ref();
        let failed = |error: io::Error| io_error(&error).at(path.display().to_string());
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::Error(error)) => return Err(failed(error)),
            Err(TryLockError::WouldBlock) => {
                let error = Error::new(Code::Io)
                    .at(path.display().to_string())
                    .expected("a file that nobody else is appending to");
                return Err(error.found("a locked one"));
            }
        }
        let End { at, mark, error } = end(&file).map_err(|error| within(error, path))?;
        let length = file.metadata().map_err(failed)?.len();
        let healed = match error {
            Some(error) => Some(cut_off(&file, path, at, length, error).map_err(failed)?),
            None => None,
        };
        // The padding of the last message may lack.
        file.set_len(at).map_err(failed)?;
        (&file).seek(SeekFrom::Start(at)).map_err(failed)?;
        Ok(Appended { file, mark, healed })
    }

    /// The mark of the seals, if the stream is sealed.
    pub fn mark(&self) -> Option<Mark> {
        self.mark
    }

    /// What was cut off, if the stream was not whole.
    pub fn healed(&self) -> Option<&Healed> {
        self.healed.as_ref()
    }

    /// The file, which is locked until it is closed.
    pub fn into_file(self) -> File {
        self.file
    }
}

impl Write for Appended {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn write_vectored(&mut self, pieces: &[io::IoSlice<'_>]) -> io::Result<usize> {
        self.file.write_vectored(pieces)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Writer<Appended> {
    /// Appends to a stream in a file, and heals it before: see [`Appended::open`]. To a sealed stream it appends sealed messages.
    ///
    /// ```
    /// use isoform::stream::{Reader, Writer};
    /// use isoform::{Decoder, Encoder, Record};
    /// #[derive(Record)]
    /// #[repr(C)]
    /// struct Gauge {
    ///     id: u64,
    /// }
    /// # let folder = std::env::temp_dir().join(format!("isoform-append-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder).unwrap();
    /// # let path = folder.join("gauges.iso");
    /// let mut encoder = Encoder::new();
    /// let mut writer = Writer::append(&path)?; // creates it
    /// writer.write(&encoder.encode(&Gauge { id: 1 })?)?;
    /// writer.write(&encoder.encode(&Gauge { id: 2 })?)?;
    /// drop(writer);
    ///
    /// // The program was killed while it wrote.
    /// let length = std::fs::metadata(&path).unwrap().len();
    /// std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(length - 20).unwrap();
    ///
    /// let mut writer = Writer::append(&path)?;
    /// let healed = writer.inner().healed().expect("it was cut");
    /// assert_eq!((healed.bytes, healed.aside.ends_with("gauges.iso.cut")), (28, true));
    /// writer.write(&encoder.encode(&Gauge { id: 3 })?)?;
    /// drop(writer);
    ///
    /// let mut reader = Reader::new(std::fs::File::open(&path).unwrap());
    /// let (mut decoder, mut ids) = (Decoder::<Gauge>::new(), Vec::new());
    /// while let Some(message) = reader.next()? {
    ///     ids.push(decoder.decode(&message)?.id);
    /// }
    /// assert_eq!(ids, [1, 3]);
    /// # std::fs::remove_dir_all(&folder).unwrap();
    /// # Ok::<(), isoform::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Appended::open`].
    pub fn append(path: impl AsRef<Path>) -> Result<Writer<Appended>> {
        let appended = Appended::open(path)?;
        let mark = appended.mark();
        let mut writer = Writer::new(appended);
        if let Some(mark) = mark {
            writer.set_mark(mark);
        }
        Ok(writer)
    }
}

/// Finds the end of the stream in a file. Bodies are seeked over at first: only the search behind damage needs them.
fn end(file: &File) -> Result<End> {
    match walk(file, |reader| reader.seek_past())? {
        End { error: Some(_), mark: Some(_), .. } => walk(file, |reader| Ok(reader.next()?.is_some())),
        end => Ok(end),
    }
}

/// Goes through a stream message by message, and behind damage if it is sealed.
fn walk(mut file: &File, mut next: impl FnMut(&mut Reader<&File>) -> Result<bool>) -> Result<End> {
    file.rewind().map_err(|error| io_error(&error))?;
    let mut reader = Reader::within(file, Limits { message: u64::MAX, ..Limits::default() });
    loop {
        let error = match next(&mut reader) {
            Ok(true) => continue,
            Ok(false) => return Ok(End { at: reader.place(), mark: reader.mark(), error: None }),
            Err(error) if reader.goes_on_after(&error) => continue,
            Err(error) => error,
        };
        let at = reader.place();
        match error.code() {
            Code::Cut => {}
            Code::NotAMessage | Code::Damaged if at > 0 => {}
            _ => return Err(error),
        }
        if reader.resume()?.is_none() {
            return Ok(End { at, mark: reader.mark(), error: Some(error) });
        }
    }
}

/// Moves the bytes from here on to another file beside it. They are there, on disk, before they leave this one.
fn cut_off(mut file: &File, path: &Path, at: u64, length: u64, error: Error) -> io::Result<Healed> {
    let bytes = length.saturating_sub(at);
    let (aside, mut copy) = beside(path)?;
    let copied = file.seek(SeekFrom::Start(at)).and_then(|_| {
        let came = io::copy(&mut file.take(bytes), &mut copy)?;
        copy.sync_all()?;
        if came == bytes { sync_folder(&aside) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    });
    if let Err(error) = copied {
        let _ = std::fs::remove_file(&aside); // the bytes are where they were
        return Err(error);
    }
    file.set_len(at)?;
    file.sync_all()?;
    Ok(Healed { at, bytes, aside, error })
}

/// A new file: `river.iso.cut`, or `river.iso.cut-2`, and so on.
fn beside(path: &Path) -> io::Result<(PathBuf, File)> {
    for number in 1..NAMES {
        let mut name = path.as_os_str().to_owned();
        name.push(".cut");
        if number > 1 {
            name.push(format!("-{number}"));
        }
        match File::create_new(&name) {
            Ok(file) => return Ok((name.into(), file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Puts the name of a new file on disk.
fn sync_folder(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder)?.sync_all()?;
    }
    let _ = path;
    Ok(())
}

/// The error with the file's name, unless it has a path of its own.
fn within(error: Error, path: &Path) -> Error {
    if error.path().is_empty() { error.at(path.display().to_string()) } else { error }
}
