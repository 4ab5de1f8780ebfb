//! Compiled programs: the formats of their structs, from debug information (`spec/xmit.md`, "Programs").
//!
//! [`mod@file`] opens the ELF file and knows the machine, and [`expand`] what is compressed in it. [`separate`] finds the files that have
//! the debug information in its place. [`units`] reads DWARF, [`btf`] BTF and [`ctf`] CTF; each is a [`source`] of entries, and
//! finds types by name. [`types`] turns a type into a structure. A program is bytes from a stranger: all work for one format has a limit.

mod btf;
mod ctf;
mod expand;
mod file;
mod separate;
mod source;
mod types;
mod units;

use crate::overlay::Overlay;
use btf::Btf;
use ctf::Ctf;
use expand::Budget;
use file::File;
use isoform_core::plan::Rules;
use isoform_core::{Code, Error, Format, Layout, Result};
use separate::Beside;
use source::{Candidate, Source};
use std::path::{Path, PathBuf};
use units::Units;

/// The largest program that is read.
const MAX_PROGRAM: u64 = 1 << 30;
/// How many types of one name an error lists.
const LISTED: usize = 12;

/// A compiled program or object file, whose structs have formats.
///
/// ```no_run
/// let program = isoform_xmit::Program::open("./simulation".as_ref())?;
/// let format = program.format("KSdata1")?;
/// # Ok::<(), isoform_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Program {
    layout: Layout,
    source: Box<dyn Source>,
    overlay: Option<Overlay>,
}

impl Program {
    /// Reads the program at a path, and the files that have its debug information: split ones, their package `PROGRAM.dwp`, a
    /// separate file beside the program, in `.debug` there, or in `/usr/lib/debug`, and one that `dwz -m` made for several programs.
    ///
    /// # Errors
    /// [`Code::Io`] if a file cannot be read; [`Code::MessageSize`] if it is larger than 1 GiB, as are all others together; and those of
    /// [`Program::read`].
    pub fn open(path: &Path) -> Result<Program> {
        Program::open_with(path, &["/usr/lib/debug".into()])
    }

    /// The same with other folders of separate debug information than `/usr/lib/debug`: each has files by build id, such as
    /// `.build-id/3f/90c2.debug`, and by the path of the program.
    ///
    /// ```no_run
    /// let program = isoform_xmit::Program::open_with("./simulation".as_ref(), &["/srv/symbols".into()])?;
    /// # Ok::<(), isoform_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Program::open`].
    pub fn open_with(path: &Path, folders: &[PathBuf]) -> Result<Program> {
        let bytes = separate::read(path, MAX_PROGRAM)?;
        Program::new(&bytes, Some(&mut Beside::new(path, folders)))
    }

    /// Reads the bytes of an ELF file, and no other file.
    ///
    /// # Errors
    /// [`Code::Declaration`] if they are not an ELF file of a machine in `spec/layouts.md`, or have no usable debug information;
    /// [`Code::MessageSize`] if compressed sections become too large.
    pub fn read(bytes: &[u8]) -> Result<Program> {
        Program::new(bytes, None)
    }

    fn new(bytes: &[u8], mut beside: Option<&mut Beside<'_>>) -> Result<Program> {
        let mut budget = Budget::default();
        let mut file = File::read(bytes, &mut budget)?;
        let mut path = None;
        if let (true, Some(beside)) = (file.is_bare(), &mut beside)
            && let Some((debug, at)) = beside.debug(&file, &mut budget)?
        {
            (file, path) = (debug, Some(at));
        }
        if file.is_bare() {
            let expected = "a program that was compiled with -g, -gbtf or -gctf, or a file with its debug information";
            return Err(file::unusable("no debug information").expected(expected));
        }
        let layout = file.layout;
        let source: Box<dyn Source> = if !file.sections.info.is_empty() {
            let mut units = Units::new();
            units.add(file.sections)?;
            if let Some((stated, id)) = file.separate.shared {
                let shared = match &mut beside {
                    Some(beside) => beside.shared(&stated, &id, path.as_deref(), &layout, &mut budget)?,
                    None => None,
                };
                match shared {
                    Some(sections) => units.add_shared(sections)?,
                    None => units.lacks(stated),
                }
            }
            match beside {
                Some(beside) => beside.split(&mut units, &layout, &mut budget)?,
                None => units.split()?.into_iter().for_each(|split| units.lacks(split.file)),
            }
            units.index_all()?;
            Box::new(units)
        } else if !file.ctf.ctf.is_empty() {
            Box::new(Ctf::new(file.ctf, &layout, &mut budget)?)
        } else {
            Box::new(Btf::new(file.btf, &layout, file.is_gcc)?)
        };
        Ok(Program { layout, source, overlay: None })
    }

    /// The machine for which the program was compiled.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Changes what the structs of the program are by an overlay, which says above all what their pointers point at. Fields keep their
    /// offsets, and a field that is dropped leaves a gap.
    ///
    /// ```no_run
    /// # use isoform_xmit::{Overlay, Program};
    /// let ours = r#"{"run": {"fields": {"name": {"pointer": "text"}, "values": {"pointer": "[count]"}, "next": null}}}"#;
    /// let program = Program::open("./simulation".as_ref())?.over(Overlay::parse("mine.json", ours)?);
    /// let format = program.format("run")?;
    /// # Ok::<(), isoform_core::Error>(())
    /// ```
    pub fn over(self, overlay: Overlay) -> Program {
        Program { overlay: Some(overlay), ..self }
    }

    /// The names of its structs, and of typedefs of structs, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.source.names().all()
    }

    /// The format of a struct: that of the struct in the memory of the program. `name` is its tag, or the name of a typedef; in C++ the
    /// namespaces and classes around it may stand in front, as in `river::Gauge`. If several types have this name, `NAME@UNIT:LINE` chooses one.
    ///
    /// # Errors
    /// [`Code::NoSuchField`] if there is no struct of this name, or several different ones. [`Code::Declaration`] with the path of
    /// a field that has no format, such as a pointer without an overlay. [`Code::Depth`], [`Code::Fields`] and [`Code::Size`] beyond the limits.
    /// For an overlay, as [`Overlay::over`].
    pub fn format(&self, name: &str) -> Result<Format> {
        self.find(name).map(|(.., format)| format)
    }

    /// The rules of a receiver that the overlay states: the defaults of a struct and of those that it nests, and the program's names of
    /// fields that it renames, as aliases.
    ///
    /// # Errors
    /// As [`Program::format`].
    pub fn rules(&self, name: &str) -> Result<Rules> {
        let (candidate, tag, _) = self.find(name)?;
        let mut builder = types::Builder::new(&*self.source, &self.layout, self.overlay.as_ref());
        builder.format(candidate, tag)?;
        Ok(builder.rules())
    }

    /// The type of a name, the name of its record, and its format.
    fn find<'n>(&self, name: &'n str) -> Result<(&Candidate, &'n str, Format)> {
        let (name, place) = name.split_once('@').map_or((name, None), |(name, place)| (name, Some(place)));
        let (tag, mut all) = self.named(name)?;
        if let Some(place) = place {
            all.retain(|candidate| self.source.place(candidate) == place);
        }
        let mut builder = types::Builder::new(&*self.source, &self.layout, self.overlay.as_ref());
        let mut found: Vec<(&Candidate, Result<Format>)> = Vec::new();
        for candidate in all {
            let format = builder.format(candidate, tag);
            if !found.iter().any(|(_, other)| same(other, &format)) {
                found.push((candidate, format));
            }
            if found.len() > LISTED {
                break;
            }
        }
        match found.len() {
            0 => Err(self.unknown(name, tag, place)?),
            1 => {
                let (candidate, format) = found.remove(0);
                let format = format?;
                builder.check_records()?;
                Ok((candidate, tag, format))
            }
            _ => {
                let places: Vec<String> =
                    found.iter().map(|(candidate, _)| format!("{name}@{}", self.source.place(candidate))).collect();
                let error = Error::new(Code::NoSuchField).at(name);
                Err(error.expected(format_args!("one of {}", places.join(", "))).found("several types of this name"))
            }
        }
    }

    /// The types that a name may mean, and what their records are called: the name without the scopes in front of it.
    fn named<'n>(&self, name: &'n str) -> Result<(&'n str, Vec<&Candidate>)> {
        let names = self.source.names();
        let (scope, tag) = match names.of(name) {
            [] => in_scope(name),
            _ => ("", name),
        };
        let mut all: Vec<&Candidate> = names.of(tag).iter().collect();
        if !scope.is_empty() {
            let scopes = self.source.scopes(&all)?;
            let mut of = scopes.iter();
            all.retain(|_| of.next().is_some_and(|of| of == scope));
        }
        Ok((tag, all))
    }

    /// The error of a type that is not there.
    fn unknown(&self, name: &str, tag: &str, place: Option<&str>) -> Result<Error> {
        let error = Error::new(Code::NoSuchField).at(name);
        let others: Vec<&Candidate> = self.source.names().of(tag).iter().take(LISTED).collect();
        if place.is_some() && !others.is_empty() {
            let places: Vec<String> = others.iter().map(|found| self.source.place(found)).collect();
            return Ok(error.expected(format_args!("one of the places {}", places.join(", "))));
        }
        if !others.is_empty() {
            let mut scopes = self.source.scopes(&others)?;
            scopes.sort_unstable();
            scopes.dedup();
            let full = scopes.iter().map(|scope| if scope.is_empty() { tag.into() } else { format!("{scope}::{tag}") });
            let full = full.collect::<Vec<_>>().join(", ");
            return Ok(error.expected(format_args!("one of the structs {full}")).found(name));
        }
        if let [absent, rest @ ..] = self.source.absent() {
            let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
            let expected = format!("debug information in {absent}{more}");
            return Ok(error.expected(expected).found("no such file"));
        }
        // Names that begin so are those of compilers and libraries.
        let (theirs, own): (Vec<&str>, Vec<&str>) = self.names().partition(|name| name.starts_with('_'));
        let known: Vec<&str> = own.into_iter().chain(theirs).take(LISTED).collect();
        if known.is_empty() {
            return Ok(error.expected("a struct").found("a program whose debug information has none"));
        }
        Ok(error.expected(format_args!("a struct of the program, such as {}", known.join(", "))).found(name))
    }
}

/// The scopes in front of a name, and the rest. What stands between `<` and `>` belongs to the name.
fn in_scope(name: &str) -> (&str, &str) {
    let plain = name.split('<').next().unwrap_or(name);
    plain.rsplit_once("::").map_or(("", name), |(scope, _)| (scope, &name[scope.len() + 2..]))
}

/// Whether two candidates have the same result, so that it does not matter which one is meant.
fn same(a: &Result<Format>, b: &Result<Format>) -> bool {
    match (a, b) {
        (Ok(a), Ok(b)) => a.token() == b.token(),
        (Err(a), Err(b)) => a.to_string() == b.to_string(),
        _ => false,
    }
}
