//! Sources and targets of streams: files, by their paths, and Python objects with `read` or `write`.
//!
//! They are used without the GIL. They take it to call an object, and to check whether a signal such as Ctrl-C should
//! stop them.

use crate::error::{raise, wrong_type};
use crate::face::face;
use isoform::core::message::Mark;
use isoform::stream::{Appended, Asked, Healed, Reader};
use isoform::{Code, Query};
use isoform_dynamic::stream::{Input as Origin, Seconds, Stamp};
use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::fs::File;
use std::io::{BufWriter, Error, ErrorKind, Read, Result, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// The size of the buffer for small writes to a file.
const BUFFER: usize = 256 << 10;

/// Something to read.
pub(crate) struct Input {
    from: From,
    fault: Arc<Fault>,
    damage: Damage,
}

/// What is wanted of a recording, and of a damaged one.
#[derive(Default)]
pub(crate) struct Part {
    /// Only channels of these names, unless there are none.
    pub(crate) channels: Vec<String>,
    pub(crate) seconds: Seconds,
    pub(crate) damage: Damage,
}

/// What happens where a file is cut or damaged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Damage {
    /// It is an error, behind what is whole.
    #[default]
    Error,
    /// It is passed over, with a warning.
    Skip,
    /// It is passed over without one.
    Ignore,
}

enum From {
    File(Origin),
    Object {
        read: Py<PyAny>,
    },
    /// What a query makes of another stream.
    Query(Box<Asked<Input>>),
}

/// Something to write to.
pub(crate) struct Output {
    to: To,
    fault: Arc<Fault>,
}

enum To {
    File(BufWriter<Interruptible>),
    Object { write: Py<PyAny>, flush: Option<Py<PyAny>> },
}

/// A file to write to. A signal that interrupts writing is for Python to look at, where a bare file would be tried again.
struct Interruptible {
    file: File,
    fault: Arc<Fault>,
    /// It is a pipe or a device, where writing can wait for ever.
    can_wait: bool,
}

/// The exception with which Python has ended the last call: it comes out again as it was.
#[derive(Default)]
pub(crate) struct Fault {
    kept: Mutex<Option<PyErr>>,
    /// The name of the file, for errors that are about it as a whole.
    name: Option<String>,
}

impl Fault {
    fn keep(&self, error: PyErr) -> Error {
        let text = Error::other(error.to_string());
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        text
    }

    /// Looks after signals when a call was interrupted, and has it repeated if they raise nothing.
    fn retry<R>(&self, mut call: impl FnMut() -> Result<R>) -> Result<R> {
        loop {
            match call() {
                Err(error) if error.kind() == ErrorKind::Interrupted => self.look()?,
                done => return done,
            }
        }
    }

    /// Looks after signals.
    fn look(&self) -> Result<()> {
        Python::attach(|py| py.check_signals()).map_err(|error| self.keep(error))
    }

    /// The exception of a failure to read or to write.
    pub(crate) fn raise(&self, error: isoform::Error) -> PyErr {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).take();
        kept.unwrap_or_else(|| crate::error::raise(self.of_file(error)))
    }

    /// Passes over damage, perhaps with a warning.
    pub(crate) fn pass(&self, error: isoform::Error, damage: Damage) -> Result<()> {
        if damage == Damage::Ignore {
            return Ok(());
        }
        let text = format!("{}; what is whole was read", self.of_file(error));
        let text = std::ffi::CString::new(text.replace('\0', " ")).unwrap_or_default();
        let warn = |py: Python<'_>| PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &text, 1);
        Python::attach(warn).map_err(|error| self.keep(error))
    }

    fn of_file(&self, error: isoform::Error) -> isoform::Error {
        match &self.name {
            Some(name) => in_file(error, name),
            None => error,
        }
    }
}

/// The same error, at the file if it is about that as a whole.
fn in_file(error: isoform::Error, name: &str) -> isoform::Error {
    match error.path().is_empty() && (is_damage(error.code()) || error.code() == Code::Io) {
        true => error.at(name),
        false => error,
    }
}

/// Whether bytes of a file are missing, or others than they were.
fn is_damage(code: Code) -> bool {
    matches!(code, Code::Cut | Code::Damaged | Code::NotAMessage | Code::Version | Code::Flags)
}

/// An exception that is `isoform.Unavailable` and that of Python's own `open`. It names the file.
fn cannot_open(error: Error, path: PathBuf) -> PyErr {
    let Some(code) = error.raw_os_error() else { return error.into() };
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default().to_owned();
    Python::attach(|py| {
        let error = face(py).and_then(|face| face.cannot_open.bind(py).call1((code, text, path.into_os_string())));
        error.map_or_else(|fault| fault, PyErr::from_value)
    })
}

/// Refuses a file that was opened for text.
fn no_text(file: &Bound<'_, PyAny>) -> PyResult<()> {
    let text = file.py().import("io")?.getattr("TextIOBase")?;
    match file.is_instance(&text)? {
        true => Err(raise(wrong_type("a file for bytes, as of open(path, 'rb') and open(path, 'wb')", file))),
        false => Ok(()),
    }
}

impl Input {
    /// A file of this path, or an object with `read`. Of a recording, only channels of these names, unless there are none.
    pub(crate) fn of(source: &Bound<'_, PyAny>, part: Part) -> PyResult<Input> {
        let (chooses, damage) = (!part.channels.is_empty(), part.damage);
        let is_part = part.seconds != Seconds::default();
        let expected = match chooses {
            true => "a recording, which has channels to choose from",
            false => "a recording, of which a part can be chosen",
        };
        if let Ok(path) = source.extract::<PathBuf>() {
            let name = path.display().to_string();
            let mut file = opened(source.py(), path, |path| Origin::open_channels(Some(&path), part.channels))?;
            if (chooses || is_part) && !file.has_channels() {
                let error = isoform::Error::new(isoform::Code::WrongType).at(name).expected(expected);
                return Err(raise(error.found("a stream of records, or another file")));
            }
            if is_part {
                let within = |file: Origin| file.within(part.seconds);
                file = source.py().detach(|| within(file)).map_err(|error| raise(in_file(error, &name)))?;
            }
            return Ok(Input {
                from: From::File(file),
                fault: Arc::new(Fault { name: Some(name), ..Fault::default() }),
                damage,
            });
        }
        if chooses || is_part {
            return Err(raise(wrong_type(expected, source)));
        }
        no_text(source)?;
        // `read1` returns the available bytes, where `read` waits for all.
        let read = match source.getattr_opt("read1")? {
            Some(read) => Some(read),
            None => source.getattr_opt("read")?,
        };
        let read = read.ok_or_else(|| raise(wrong_type("the path of a file, or an object with `read`", source)))?;
        Ok(Input { from: From::Object { read: read.unbind() }, fault: Arc::default(), damage })
    }

    /// What a query makes of a stream.
    ///
    /// # Errors
    /// Those of [`Query::parse`].
    pub(crate) fn asked(reader: Reader<Input>, query: &str) -> isoform::Result<Input> {
        let (name, has_end) = (reader.inner().fault.name.clone(), reader.inner().has_end());
        let mut asked = Asked::new(reader, Query::parse(query)?).with_times(Input::submitted);
        if has_end {
            asked = asked.until_the_end();
        }
        let fault = Arc::new(Fault { name, ..Fault::default() });
        Ok(Input { from: From::Query(Box::new(asked)), fault, damage: Damage::Error })
    }

    /// When the event at a position was submitted, in a recording.
    fn submitted(&mut self, position: u64) -> Option<u64> {
        match &mut self.from {
            From::File(file) => file.submitted(position),
            From::Object { .. } | From::Query(_) => None,
        }
    }

    /// What is known of the event at a position, in a recording.
    pub(crate) fn stamp(&mut self, position: u64) -> Option<Stamp> {
        match &mut self.from {
            From::File(file) => file.stamp(position),
            From::Object { .. } | From::Query(_) => None,
        }
    }

    /// Whether it is a file with an end, and no pipe.
    fn has_end(&self) -> bool {
        match &self.from {
            From::File(Origin::File(file)) => file.metadata().is_ok_and(|about| about.is_file()),
            From::File(file) => file.has_channels(),
            From::Object { .. } | From::Query(_) => false,
        }
    }

    /// Whether what is cut or damaged is passed over.
    pub(crate) fn damage(&self) -> Damage {
        match &self.from {
            From::Query(asked) => asked.inner().damage,
            From::File(_) | From::Object { .. } => self.damage,
        }
    }

    /// Whether it is a recording itself, and not what a query makes of one.
    pub(crate) fn is_recording(&self) -> bool {
        matches!(&self.from, From::File(file) if file.has_channels())
    }

    pub(crate) fn fault(&self) -> Arc<Fault> {
        self.fault.clone()
    }

    /// The Python object that it holds.
    pub(crate) fn object(&self) -> Option<&Py<PyAny>> {
        match &self.from {
            From::File(_) => None,
            From::Object { read } => Some(read),
            From::Query(asked) => asked.inner().object(),
        }
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let Input { from, fault, damage: treatment } = self;
        match from {
            From::File(file) => {
                let read = fault.retry(|| file.read(buffer));
                let damage = read.as_ref().err().and_then(|error| error.get_ref()?.downcast_ref::<isoform::Error>());
                match damage.filter(|error| {
                    *treatment != Damage::Error && !matches!(error.code(), Code::Io | Code::NoSuchChannel)
                }) {
                    // A recording says at its end what was passed over.
                    Some(error) => fault.pass(error.clone(), *treatment).map(|()| 0),
                    None => read,
                }
            }
            From::Object { read } => Python::attach(|py| {
                let bytes = read.bind(py).call1((buffer.len(),)).map_err(|error| fault.keep(error))?;
                if bytes.is_none() {
                    return Err(ErrorKind::WouldBlock.into());
                }
                let bytes = bytes.cast::<PyBytes>().map_err(|_| Error::other("`read` returned no bytes"))?.as_bytes();
                let place = buffer.get_mut(..bytes.len()).ok_or_else(|| Error::other("`read` returned too much"))?;
                place.copy_from_slice(bytes);
                Ok(bytes.len())
            }),
            From::Query(asked) => {
                let damage = asked.inner().damage;
                asked.read(buffer).or_else(|error| {
                    let own = error.get_ref().and_then(|own| own.downcast_ref::<isoform::Error>()).cloned();
                    let own = own.unwrap_or_else(|| isoform::Error::new(Code::Io).found(error));
                    match damage != Damage::Error && own.code() == Code::Cut {
                        true => fault.pass(own, damage).map(|()| 0),
                        false => Err(fault.keep(asked.inner().fault.raise(own))),
                    }
                })
            }
        }
    }
}

impl Seek for Input {
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        match &mut self.from {
            From::File(file) => file.seek(to),
            From::Object { .. } | From::Query(_) => Err(ErrorKind::NotSeekable.into()),
        }
    }
}

impl Output {
    /// A file of this path, made anew, or an object with `write`.
    pub(crate) fn of(target: &Bound<'_, PyAny>) -> PyResult<Output> {
        if let Ok(path) = target.extract::<PathBuf>() {
            let name = path.to_string_lossy().into_owned();
            return Ok(Output::to(opened(target.py(), path, File::create)?, name));
        }
        no_text(target)?;
        let write = target.getattr_opt("write")?;
        let write = write.ok_or_else(|| raise(wrong_type("the path of a file, or an object with `write`", target)))?;
        let flush = target.getattr_opt("flush")?.map(Bound::unbind);
        let to = To::Object { write: write.unbind(), flush };
        Ok(Output { to, fault: Arc::default() })
    }

    /// A file of this path whose stream goes on; the mark of its seals, and what was cut off for that.
    pub(crate) fn appended(target: &Bound<'_, PyAny>) -> PyResult<(Output, Option<Mark>, Option<Healed>)> {
        let Ok(path) = target.extract::<PathBuf>() else {
            return Err(raise(wrong_type("the path of a file, to append to it", target)));
        };
        let name = path.to_string_lossy().into_owned();
        let appended = target.py().detach(|| Appended::open(path)).map_err(raise)?;
        let (mark, healed) = (appended.mark(), appended.healed().cloned());
        Ok((Output::to(appended.into_file(), name), mark, healed))
    }

    fn to(file: File, name: String) -> Output {
        let fault = Arc::new(Fault { name: Some(name), ..Fault::default() });
        let can_wait = file.metadata().map_or(true, |about| !about.is_file());
        let file = Interruptible { file, fault: fault.clone(), can_wait };
        Output { to: To::File(BufWriter::with_capacity(BUFFER, file)), fault }
    }

    pub(crate) fn fault(&self) -> Arc<Fault> {
        self.fault.clone()
    }

    pub(crate) fn is_file(&self) -> bool {
        matches!(self.to, To::File(_))
    }

    /// The Python objects that it holds.
    pub(crate) fn objects(&self) -> impl Iterator<Item = &Py<PyAny>> {
        let (write, flush) = match &self.to {
            To::File(_) => (None, None),
            To::Object { write, flush } => (Some(write), flush.as_ref()),
        };
        write.into_iter().chain(flush)
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let Output { to, fault } = self;
        match to {
            To::File(file) => file.write(bytes),
            To::Object { write, .. } => Python::attach(|py| {
                let written = write.bind(py).call1((PyBytes::new(py, bytes),)).map_err(|error| fault.keep(error))?;
                // Some objects return `None` when they have taken all bytes.
                if written.is_none() {
                    return Ok(bytes.len());
                }
                let written: i64 = written.extract().map_err(|error| fault.keep(error))?;
                let taken = usize::try_from(written).ok().filter(|&taken| taken <= bytes.len());
                taken.ok_or_else(|| Error::other(format!("`write` took {written} of {} bytes", bytes.len())))
            }),
        }
    }

    fn flush(&mut self) -> Result<()> {
        match &mut self.to {
            To::File(file) => file.flush(),
            To::Object { flush: None, .. } => Ok(()),
            To::Object { flush: Some(flush), .. } => {
                Python::attach(|py| flush.bind(py).call0().map(drop)).map_err(|error| self.fault.keep(error))
            }
        }
    }
}

impl Write for Interruptible {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        // A signal may have come while the bytes were encoded, or when the pipe had taken some of those before. It does
        // not interrupt this call any more.
        if self.can_wait {
            self.fault.look()?;
        }
        self.fault.retry(|| self.file.write(bytes))
    }

    fn flush(&mut self) -> Result<()> {
        self.file.flush()
    }
}

/// Opens a file while other Python threads run.
fn opened<F: Send + 'static>(
    py: Python<'_>,
    path: PathBuf,
    open: impl FnOnce(PathBuf) -> Result<F> + Send + 'static,
) -> PyResult<F> {
    // Opening a named pipe waits for the program at its other end, or for Ctrl-C.
    #[cfg(unix)]
    if std::fs::metadata(&path).is_ok_and(|found| std::os::unix::fs::FileTypeExt::is_fifo(&found.file_type())) {
        let pipe = path.clone();
        return crate::wait::aside(py, move || Ok(open(pipe)))?.map_err(|error| cannot_open(error, path));
    }
    py.detach(|| open(path.clone())).map_err(|error| cannot_open(error, path))
}
