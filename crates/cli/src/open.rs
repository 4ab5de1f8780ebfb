//! Opening a source: bytes that are a stream or the text of shapes, and the formats in them.

use crate::channel;
#[cfg(feature = "xmit")]
use crate::documents;
#[cfg(feature = "files")]
use crate::failure::no_option;
use crate::failure::{Failure, notice, reason};
use crate::output::Output;
#[cfg(feature = "service")]
use crate::service;
use crate::source::{Bytes, Source};
use isoform::core::declare::Shape;
use isoform::core::text::format::from_json;
use isoform::core::{Element, Layout, Structure};
use isoform::stream::Reader;
use isoform::{Error, Format, Limits, Rules, Token};
use isoform_dynamic::stream::Input as Origin;
use std::collections::{BTreeSet, HashSet, VecDeque};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// The first byte of a message, which no text begins with.
const MAGIC: u8 = 0x89;
/// The limit for the text of shapes, which is read as a whole.
const MAX_TEXT: u64 = 1 << 20;

/// Limits for commands that need only formats: every message is skipped.
pub(crate) fn no_messages() -> Limits {
    Limits { message: u64::MAX, ..Limits::default() }
}

/// A source that has been opened.
pub(crate) struct Opened {
    /// The name of the source in messages.
    pub(crate) name: String,
    pub(crate) content: Content,
    pub(crate) choice: Chosen,
    layout: Option<Layout>,
    /// The rules of a receiver that a document states for its records.
    pub(crate) rules: isoform::Result<Rules>,
}

/// The name of the format that was chosen, or the first digits of its token; `None` if all are welcome.
pub(crate) struct Chosen(Option<String>);

pub(crate) enum Content {
    Stream(Box<Reader<Input>>),
    Shape(Shape),
    /// The type of a channel, or what a format service has.
    Formats(Vec<Format>),
}

/// Opens a source. Output that was written before is shown before waiting for more input.
pub(crate) fn open(text: &str, limits: Limits, output: &Output) -> Result<Opened, Failure> {
    open_channels(text, &[], limits, output)
}

/// Opens a source, of which only these channels are wanted, if it is a recording; without any, all are.
pub(crate) fn open_channels(
    text: &str,
    channels: &[String],
    limits: Limits,
    output: &Output,
) -> Result<Opened, Failure> {
    let bytes = match Source::parse(text, Path::exists)? {
        Source::Bytes(bytes) => bytes,
        Source::Channel(id) => {
            let content = Content::Formats(vec![channel::format_of(&id)?]);
            return Ok(Opened { name: id, content, choice: Chosen(None), layout: None, rules: Ok(Rules::new()) });
        }
        #[cfg(feature = "service")]
        Source::Token(token) => {
            let content = Content::Formats(vec![service::format(token).map_err(Failure::of_source)?]);
            return Ok(Opened {
                name: text.into(),
                content,
                choice: Chosen(None),
                layout: None,
                rules: Ok(Rules::new()),
            });
        }
        #[cfg(feature = "service")]
        Source::Name(name) => {
            let content = Content::Formats(service::version(&name).map_err(Failure::of_source)?);
            return Ok(Opened {
                name: text.into(),
                content,
                choice: Chosen(name.format),
                layout: None,
                rules: Ok(Rules::new()),
            });
        }
        #[cfg(not(feature = "service"))]
        Source::Token(_) | Source::Name(_) => {
            return Err(Failure::usage(format!(
                "cannot open {text}: this command was built without the format service"
            )));
        }
        #[cfg(feature = "xmit")]
        Source::Document(document) => {
            let (content, rules) = documents::open(&document).map_err(|failure| failure.about(text))?;
            return Ok(Opened { name: text.into(), content, choice: Chosen(None), layout: document.layout, rules });
        }
        #[cfg(not(feature = "xmit"))]
        Source::Document(_) => {
            return Err(Failure::usage(format!("cannot open {text}: this command was built without documents")));
        }
        #[cfg(feature = "xmit")]
        Source::Program(program) => {
            let (format, rules) = documents::program(&program).map_err(|failure| failure.about(text))?;
            let content = Content::Formats(vec![format]);
            return Ok(Opened { name: text.into(), content, choice: Chosen(None), layout: None, rules });
        }
        #[cfg(not(feature = "xmit"))]
        Source::Program(_) => {
            return Err(Failure::usage(format!("cannot open {text}: this command was built without programs")));
        }
    };
    let Bytes { path, format: choice, layout } = bytes;
    let (name, mut input, first) = open_input(path.as_deref(), channels, output)?;
    if !channels.is_empty() && !input.is_recording() {
        return Err(Failure::usage(format!("--channel chooses channels of a recording, and {name} is none")));
    }
    let content = match first {
        Some(first) if first != MAGIC => input.formats(&name).map_err(|failure| failure.about(&name))?,
        _ => Content::Stream(Box::new(reader(input, limits)?)),
    };
    Ok(Opened { name, content, choice: Chosen(choice), layout, rules: Ok(Rules::new()) })
}

/// Opens a part of a recording; `None` if the source is none. Its seconds are counted from its beginning.
#[cfg(feature = "files")]
pub(crate) fn open_part(
    text: &str,
    channels: &[String],
    span: &crate::args::Span,
    limits: Limits,
    output: &Output,
) -> Result<Option<Opened>, Failure> {
    let Some((path, choice)) = recording(text)? else { return Ok(None) };
    let name = path.display().to_string();
    let about = |error| Failure::from(error).about(&name);
    let mut part = isoform_files::Recording::open(&path).map_err(about)?;
    let span = span.of(&mut part, &name)?;
    let part = part.within(span).map_err(about)?.only(channels.to_vec());
    let input = Input { origin: Origin::of_recording(part), first: None, output: output.clone() };
    let content = Content::Stream(Box::new(Reader::within(input, limits)));
    Ok(Some(Opened { name, content, choice, layout: None, rules: Ok(Rules::new()) }))
}

/// A reader of a stream, which also asks format services, if the user has named some.
fn reader(input: Input, limits: Limits) -> Result<Reader<Input>, Failure> {
    let reader = Reader::within(input, limits);
    #[cfg(feature = "service")]
    if let Some(search) = service::search()? {
        reader.registry().set_resolver(search);
    }
    Ok(reader)
}

/// Records to be published: a stream, or text with one in a line.
pub(crate) enum Records {
    Stream(Box<Reader<Input>>),
    Lines(BufReader<Input>),
}

/// Opens what holds records, and returns what to call it in messages, too.
pub(crate) fn open_records(text: &str, limits: Limits, output: &Output) -> Result<(String, Records), Failure> {
    let Source::Bytes(Bytes { path, format: None, layout: None }) = Source::parse(text, Path::exists)? else {
        return Err(Failure::usage(format!("{text:?} is not a file"))
            .hint("this command reads records from a file, or from - for standard input"));
    };
    let (name, input, first) = open_input(path.as_deref(), &[], output)?;
    let records = match first {
        Some(MAGIC) => Records::Stream(Box::new(reader(input, limits)?)),
        _ => Records::Lines(BufReader::new(input)),
    };
    Ok((name, records))
}

/// The path of the recording, if this is one, and the format that was chosen.
#[cfg(feature = "files")]
pub(crate) fn recording(source: &str) -> Result<Option<(std::path::PathBuf, Chosen)>, Failure> {
    let Source::Bytes(Bytes { path: Some(path), format, layout: None }) = Source::parse(source, Path::exists)? else {
        return Ok(None);
    };
    Ok(is_recording(&path).then_some((path, Chosen(format))))
}

/// Whether a file begins as a recording, or is named as one and ends before it could begin.
#[cfg(feature = "files")]
pub(crate) fn is_recording(path: &Path) -> bool {
    // What is read of a pipe is gone.
    if !path.is_file() {
        return false;
    }
    let mut first = Vec::new();
    let read =
        std::fs::File::open(path).and_then(|file| file.take(isoform_files::MAGIC.len() as u64).read_to_end(&mut first));
    read.is_ok() && isoform_dynamic::stream::begins_recording(path, &first)
}

/// Refuses what is no recording, and says what it is, as far as that is known.
#[cfg(feature = "files")]
pub(crate) fn expect_recording(path: &Path) -> Result<(), Failure> {
    let name = path.display();
    let cannot = |error: io::Error| Failure::usage(format!("cannot open {name}: {}", reason(&error)));
    let about = std::fs::metadata(path).map_err(cannot)?;
    if about.is_dir() {
        return Err(Failure::usage(format!("{name} is a folder")).hint("give a recording in it"));
    }
    if is_recording(path) {
        return Ok(());
    }
    let mut first = Vec::new();
    if about.is_file() {
        let file = std::fs::File::open(path).map_err(cannot)?;
        file.take(8).read_to_end(&mut first).map_err(cannot)?;
    }
    let failure = Failure::usage(format!("{name} is not a recording"));
    Err(match (first.first(), table_of(&first)) {
        (Some(&MAGIC), _) => failure.hint(format!(
            "it may be a stream: `isoform dump {path}` shows it, and `isoform pub NAME {path}` publishes its records",
            path = no_option(path)
        )),
        (_, Some(hint)) => failure.hint(hint),
        _ => failure.hint("`isoform record` makes recordings"),
    })
}

/// What to do with a table of another form, of which these are the first bytes.
fn table_of(first: &[u8]) -> Option<&'static str> {
    const READERS: [(&[u8], &str); 2] = [
        (
            b"PAR1",
            "it is a table of Parquet, which pandas, Polars and DuckDB read; `isoform export` only writes such tables",
        ),
        (b"ARROW1", "it is a table of Arrow, which pyarrow and Polars read; `isoform export` only writes such tables"),
    ];
    READERS.iter().find(|(magic, _)| first.starts_with(magic)).map(|(_, hint)| *hint)
}

/// Opens bytes that are neither a stream nor text, and returns what to call them.
pub(crate) fn open_raw(text: &str, output: &Output) -> Result<(String, Input), Failure> {
    let Source::Bytes(Bytes { path, format: None, layout: None }) = Source::parse(text, Path::exists)? else {
        return Err(Failure::usage(format!("{text:?} is not a file"))
            .hint("--raw reads records from a file, or from - for standard input"));
    };
    open_input(path.as_deref(), &[], output).map(|(name, input, _)| (name, input))
}

/// Refuses what [`open_records`] cannot open since it is not there, without a look into it.
pub(crate) fn expect_records(text: &str) -> Result<(), Failure> {
    let Source::Bytes(Bytes { path: Some(path), .. }) = Source::parse(text, Path::exists)? else { return Ok(()) };
    let cannot = |error| Failure::usage(format!("cannot open {}: {}", path.display(), reason(&error)));
    std::fs::metadata(&path).map_err(cannot).map(drop)
}

/// Opens a file or standard input, and returns what to call it, and the first byte.
fn open_input(
    path: Option<&Path>,
    channels: &[String],
    output: &Output,
) -> Result<(String, Input, Option<u8>), Failure> {
    let name = path.map_or("standard input".to_string(), |path| path.display().to_string());
    let cannot = |error: io::Error| Failure::usage(format!("cannot open {name}: {}", reason(&error)));
    let mut input = Input::open(path, channels, output.clone()).map_err(|error| match seems_channel(&name) {
        true => cannot(error).hint(format!("a channel is iso://{name}")),
        false if has_word(&name) => cannot(error).hint("`isoform help sources` has the words in front of sources"),
        false if name.starts_with("http:") || name.starts_with("https:") => {
            cannot(error).hint(format!("a document is xsd:{name}#RECORD; see `isoform help sources`"))
        }
        false => cannot(error),
    })?;
    // A recording is read for its first byte, and says what is wrong with it.
    let first =
        input.first_byte().map_err(|error| match error.get_ref().and_then(|of| of.downcast_ref::<Error>()) {
            Some(found) => Failure::from(found.clone()).about(&name).of_source(),
            None => cannot(error),
        })?;
    Ok((name, input, first))
}

/// Whether a file's name begins as a source with a word in front, which is none of those that there are.
fn has_word(name: &str) -> bool {
    let word = name.split_once(':').filter(|(_, rest)| !rest.starts_with("//"));
    word.is_some_and(|(word, _)| word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_lowercase()))
}

/// Whether a file's name is what a channel's id has behind `iso://`: host, port and name.
fn seems_channel(name: &str) -> bool {
    let port = name.split_once('/').and_then(|(place, _)| place.rsplit_once(':'));
    port.is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
}

/// Whether a text has at its beginning what a text of shapes has there; one with nothing in it but comments passes.
fn begins_like_shapes(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim_start).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let first_word = lines.next().map(|line| line.split_whitespace().next().unwrap_or_default());
    matches!(first_word, None | Some("record" | "packed"))
}

/// The word that stands in front of a document whose name ends like this one.
fn in_front(name: &str) -> Option<&'static str> {
    Some(match Path::new(name).extension()?.to_str()? {
        "xsd" => "xsd",
        "idl" => "idl",
        "msg" => "msg",
        "proto" => "proto",
        "h" | "c" => "c",
        "json" => "jsonschema",
        _ => return None,
    })
}

fn in_words(word: &str, name: &str) -> String {
    format!("a document has its language in front: {word}:{name}#RECORD; see `isoform help sources`")
}

fn neither() -> Failure {
    Failure::usage("neither a stream of records nor the text of shapes").hint(
        "a stream begins with the bytes 89 49 53 4f, a text of shapes with `record NAME`; see `isoform help sources`",
    )
}

fn nested_names(structure: &Structure) -> impl Iterator<Item = String> {
    structure.fields().iter().filter_map(|field| match &field.element {
        Element::Structure(inner) => Some(inner.name().to_string()),
        _ => None,
    })
}

impl Opened {
    /// The formats that were chosen, as they are met, and the failures on the way.
    ///
    /// # Errors
    /// If a shape cannot be laid out, or a layout was named for a stream.
    pub(crate) fn formats(self) -> Result<Formats, Failure> {
        let rest = match (&self.content, &self.layout) {
            (Content::Shape(shape), layout) => {
                Some(self.laid_out(shape, layout.as_ref().unwrap_or(&Layout::NATIVE))?.into())
            }
            (Content::Formats(formats), _) => Some(formats.clone().into()),
            (Content::Stream(_), None) => None,
            (Content::Stream(_), Some(_)) => {
                let failure =
                    Failure::usage(format!("{} is a stream, and its formats are laid out already", self.name));
                return Err(
                    failure.hint("omit the @ and the layout; `isoform layout` shows the formats on other machines")
                );
            }
        };
        Ok(Formats { opened: self, met: HashSet::new(), names: BTreeSet::new(), rest })
    }

    /// The formats that were chosen, as they would be on each of these machines.
    pub(crate) fn formats_on(self, layouts: &[Layout]) -> Result<Vec<Vec<Format>>, Failure> {
        if let Content::Shape(shape) = &self.content {
            let mut on: Vec<Vec<Format>> = Vec::new();
            for layout in layouts {
                let formats = self.laid_out(shape, layout)?.into_iter().filter(|format| self.choice.is(format));
                formats.enumerate().for_each(|(i, format)| match on.get_mut(i) {
                    Some(formats) => formats.push(format),
                    None => on.push(vec![format]),
                });
            }
            return if on.is_empty() { Err(self.formats()?.none()) } else { Ok(on) };
        }
        let mut formats = self.formats()?;
        let met = formats.by_ref().collect::<Result<Vec<Format>, Failure>>()?;
        if met.is_empty() {
            return Err(formats.none());
        }
        let on = |format: &Format| layouts.iter().map(|layout| Ok(format.on(layout)?)).collect();
        met.iter().map(on).collect()
    }

    /// The formats of a shape on a machine: all records if one is to be chosen, otherwise those that no other record
    /// nests.
    fn laid_out(&self, shape: &Shape, layout: &Layout) -> Result<Vec<Format>, Failure> {
        let mut formats = shape.all_on(layout).map_err(|error| Failure::from(error).about(&self.name))?;
        if self.choice.0.is_none() {
            let nested: HashSet<String> = formats.iter().flat_map(|format| nested_names(format.structure())).collect();
            formats.retain(|format| !nested.contains(format.name()));
        }
        Ok(formats)
    }
}

impl Chosen {
    /// No choice: all formats are welcome.
    pub(crate) fn all() -> Chosen {
        Chosen(None)
    }

    /// Whether this format was chosen.
    pub(crate) fn is(&self, format: &Format) -> bool {
        let Some(choice) = self.0.as_deref() else { return true };
        choice == format.name()
            || choice.len() >= 4 && format.token().to_string().starts_with(&choice.to_ascii_lowercase())
    }

    /// The failure that what was chosen is not in a source, at whose end it is known to have formats of these names.
    pub(crate) fn none(&self, source: &str, names: &BTreeSet<String>) -> Failure {
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        match &self.0 {
            Some(choice) if known.is_empty() => {
                Failure::data(format!("no format in {source}, and so none named {choice:?}"))
            }
            Some(choice) => {
                Failure::data(format!("no format {choice:?} in {source}")).hint(format!("it has {}", known.join(", ")))
            }
            None => Failure::data(format!("no format in {source}")),
        }
    }

    /// At the end of a stream that has these formats: fails if one was chosen and is not among them.
    pub(crate) fn check(&self, source: &str, formats: &[Format]) -> Result<(), Failure> {
        match self.0.is_none() || formats.iter().any(|format| self.is(format)) {
            true => Ok(()),
            false => Err(self.none(source, &formats.iter().map(|format| format.name().to_string()).collect())),
        }
    }
}

/// Goes through the formats of a source.
pub(crate) struct Formats {
    opened: Opened,
    met: HashSet<Token>,
    names: BTreeSet<String>,
    /// Those that are left once the stream has been read.
    rest: Option<VecDeque<Format>>,
}

impl Iterator for Formats {
    type Item = Result<Format, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let format = match self.rest.as_mut() {
                Some(rest) => rest.pop_front()?,
                None => match self.of_next_message() {
                    Ok(Some(format)) => format,
                    Ok(None) => continue,
                    Err(failure) => return Some(Err(failure)),
                },
            };
            if self.met.insert(format.token()) {
                self.names.insert(format.name().to_string());
                if self.opened.choice.is(&format) {
                    return Some(Ok(format));
                }
            }
        }
    }
}

impl Formats {
    /// The failure that what was chosen is not there, once it has been looked for.
    pub(crate) fn none(mut self) -> Failure {
        self.by_ref().for_each(drop);
        self.opened.choice.none(&self.opened.name, &self.names)
    }

    /// At the end of the stream, the formats follow that it described and did not use.
    fn of_next_message(&mut self) -> Result<Option<Format>, Failure> {
        let Content::Stream(reader) = &mut self.opened.content else { return Ok(None) };
        let met = reader.peek().and_then(|met| reader.seek_past().map(|_| met));
        let ended = match &met {
            Ok(met) => met.is_none(),
            Err(error) => !reader.goes_on_after(error),
        };
        if ended {
            self.rest = Some(reader.registry().formats().into());
        }
        match met {
            Ok(Some((_, format))) => Ok(Some(format)),
            Ok(None) => {
                reader.inner_mut().tell_foreign();
                Ok(None)
            }
            Err(error) => Err(Failure::from(error).about(&self.opened.name)),
        }
    }
}

/// A file or standard input, of which the first byte can be looked at.
pub(crate) struct Input {
    origin: Origin,
    first: Option<u8>,
    output: Output,
}

impl Input {
    fn open(path: Option<&Path>, channels: &[String], output: Output) -> io::Result<Input> {
        if path.is_some_and(Path::is_dir) {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        Ok(Input { origin: Origin::open_channels(path, channels.to_vec())?, first: None, output })
    }

    fn first_byte(&mut self) -> io::Result<Option<u8>> {
        let mut byte = [0];
        let came = loop {
            match self.read(&mut byte) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                came => break came?,
            }
        };
        self.first = (came == 1).then_some(byte[0]);
        Ok(self.first)
    }

    /// All of it: a text of shapes, or a format as `isoform formats get` writes it, with `--json` or without.
    fn formats(&mut self, name: &str) -> Result<Content, Failure> {
        let mut bytes = Vec::new();
        self.take(MAX_TEXT + 1).read_to_end(&mut bytes).map_err(|error| Failure::usage(reason(&error)))?;
        if let Some(hint) = table_of(&bytes) {
            return Err(neither().hint(hint));
        }
        if bytes.len() as u64 > MAX_TEXT {
            let failure =
                Failure::usage(format!("neither a stream nor a text of at most {MAX_TEXT} bytes (limit: text)"));
            return Err(failure.hint(
                "a stream begins with the bytes 89 49 53 4f; tables such as CSV are for other programs; see `isoform help sources`",
            ));
        }
        if let Ok(format) = Format::parse(&bytes) {
            return Ok(Content::Formats(vec![format]));
        }
        match String::from_utf8(bytes) {
            Ok(text) if text.trim_start().starts_with('{') && text.contains("\"structures\"") => {
                Ok(Content::Formats(vec![from_json(&text)?]))
            }
            Ok(text) if !text.contains('\0') && begins_like_shapes(&text) => Ok(Content::Shape(Shape::parse(&text)?)),
            Err(error) if error.as_bytes().starts_with(b"\x7fELF") => {
                let hint =
                    format!("a struct of a program is elf:{name}#STRUCT; `isoform xmit load elf:{name}` lists them");
                Err(neither().hint(hint))
            }
            _ => Err(in_front(name).map_or_else(neither, |word| neither().hint(in_words(word, name)))),
        }
    }

    /// When the event at a position of the stream was submitted, if it is a recording's.
    pub(crate) fn submitted(&mut self, position: u64) -> Option<u64> {
        self.origin.submitted(position)
    }

    /// At the end: says what a recording has that is not Isoform's.
    pub(crate) fn tell_foreign(&mut self) {
        self.origin.foreign().iter().for_each(|foreign| notice(foreign));
    }

    pub(crate) fn is_recording(&self) -> bool {
        #[cfg(feature = "files")]
        return matches!(self.origin, Origin::Recording(_));
        #[cfg(not(feature = "files"))]
        false
    }

    /// Whether the input can grow after its end. A file can, a closed pipe cannot.
    pub(crate) fn may_grow(&self) -> bool {
        self.length().is_some()
    }

    /// The length of a file now.
    pub(crate) fn length(&self) -> Option<u64> {
        let Origin::File(file) = &self.origin else { return None };
        file.metadata().ok().filter(|about| about.is_file()).map(|about| about.len())
    }
}

impl Read for Input {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if let (Some(first), false) = (self.first, to.is_empty()) {
            to[0] = first;
            self.first = None;
            return Ok(1);
        }
        let _ = self.output.flush(); // whoever waits for the output need not wait for the input; it fails again later
        self.origin.read(to)
    }
}

impl Seek for Input {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        // The first byte was read before its turn.
        let to = match (self.first, to) {
            (Some(_), SeekFrom::Current(by)) => SeekFrom::Current(by - 1),
            (_, to) => to,
        };
        let at = self.origin.seek(to)?;
        self.first = None;
        Ok(at)
    }
}
