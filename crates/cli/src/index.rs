//! `isoform index`, and `--from` and `--to` of streams: where their messages are, with the index in a file beside the stream, or
//! without one.

use crate::args::{self, Point};
use crate::failure::{Failure, no_option, notice, reason};
use crate::open::{Content, Input, no_messages, open};
use crate::output::{Output, plural};
use crate::source::{Bytes, Source};
use isoform::message::HEADER;
use isoform::stream::{Index, Reader};
use std::fs::File;
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};

pub(crate) fn run(arguments: &args::Index, output: &mut Output) -> Result<(), Failure> {
    for source in &arguments.sources {
        let Some(path) = path_of(source)? else {
            return Err(Failure::usage(format!("{source} is no file, and has nothing beside it")));
        };
        #[cfg(feature = "files")]
        if crate::open::is_recording(&path) {
            return Err(Failure::usage(format!("{source} is a recording, which has an index of its own")));
        }
        let opened = open(source, no_messages(), output)?;
        let Content::Stream(mut reader) = opened.content else {
            return Err(Failure::usage(format!("{} has no records", opened.name)).hint("give a stream"));
        };
        let index = Index::of(&mut reader).map_err(|error| Failure::from(error).about(&opened.name))?;
        let beside = beside(&path);
        write(&index, &beside)
            .map_err(|error| Failure::usage(format!("cannot write {}: {}", beside.display(), reason(&error))))?;
        let messages = plural(usize::try_from(index.messages()).unwrap_or(usize::MAX), "message");
        writeln!(output, "{}: {messages} in {} bytes", no_option(&beside), index.length())?;
        if reader.inner().length().is_some_and(|length| length > index.length()) {
            notice(&format!("{} cannot be read behind byte {}: `isoform check` says why", opened.name, index.length()));
        }
    }
    Ok(())
}

/// Goes to the first message of a stream that is wanted, by its index if there is one. Returns how many are in front of it.
pub(crate) fn go(reader: &mut Reader<Input>, source: &str, from: Point) -> Result<u64, Failure> {
    let stopped = |error| Failure::from(error).about(source);
    let mut number = match path_of(source)?.and_then(|path| of(&path, source)) {
        Some(index) => match from {
            Point::Number(number) => index.go_to_message(reader, number as u64 - 1),
            Point::Byte(byte) => index.go_to_position(reader, byte),
        }
        .map_err(stopped)?,
        None => 0,
    };
    loop {
        let is_there = match reader.peek() {
            Ok(None) => {
                let failure = Failure::usage(format!("--from {from} is behind the end of {source}"));
                return Err(failure.hint(format!("it has {}", plural(number as usize, "message"))));
            }
            Ok(Some(_)) => true,
            Err(error) if reader.goes_on_after(&error) => false,
            Err(error) => return Err(stopped(error)),
        };
        match from {
            Point::Number(first) if number + 1 >= first as u64 => return Ok(number),
            Point::Byte(first) if is_there && reader.position() - HEADER as u64 >= first => return Ok(number),
            _ => {}
        }
        reader.seek_past().map_err(stopped)?;
        number += 1;
    }
}

/// The index beside a stream, if it is that of this stream.
fn of(path: &Path, source: &str) -> Option<Index> {
    let beside = beside(path);
    let index = match open_beside(&beside) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => Err(reason(&error)),
        Ok(file) => Index::read(BufReader::new(file)).map_err(|error| error.to_string()),
    };
    let told = match index {
        Ok(index) => match File::open(path).map(|mut stream| index.fits(&mut stream)) {
            Ok(Ok(true)) => return Some(index),
            Ok(Ok(false)) => "it is of another stream".to_owned(),
            Ok(Err(error)) => error.to_string(),
            Err(error) => reason(&error),
        },
        Err(told) => told,
    };
    let source = no_option(Path::new(source));
    notice(&format!("{} is not used: {told}; `isoform index {source}` makes it anew", no_option(&beside)));
    None
}

/// Opens a file that the user has not named, beside one or in a folder. A pipe to which nobody writes, or a device, is an error there, and not a wait.
pub(crate) fn open_beside(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    let file = options.open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file")),
    }
}

/// The file that a source is.
fn path_of(source: &str) -> Result<Option<PathBuf>, Failure> {
    match Source::parse(source, Path::exists)? {
        Source::Bytes(Bytes { path, .. }) => Ok(path),
        _ => Ok(None),
    }
}

/// The name of the index of a stream: `river.iso.index`.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".index");
    name.into()
}

/// Writes a file that is whole or not there.
fn write(index: &Index, path: &Path) -> io::Result<()> {
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(format!(".{}.new", std::process::id()));
    let mut bytes = Vec::new();
    index.write(&mut bytes).map_err(io::Error::other)?;
    // The file of a process of the same number that ended before it was done. What lies there may also be a pipe, or a link to a file.
    _ = std::fs::remove_file(&unfinished);
    let written = File::create_new(&unfinished).and_then(|mut file| file.write_all(&bytes));
    let written = written.and_then(|()| std::fs::rename(&unfinished, path));
    written.inspect_err(|_| _ = std::fs::remove_file(&unfinished))
}
