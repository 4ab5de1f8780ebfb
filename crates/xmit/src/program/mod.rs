//! Compiled programs: the formats of their structs, from debug information (`spec/xmit.md`, "Programs").
//!
//! [`mod@file`] opens the ELF file and knows the machine, and [`expand`] what is compressed in it. [`separate`] finds the files that have
//! the debug information in its place. [`units`] reads DWARF, [`btf`] BTF and [`ctf`] CTF; each is a [`source`] of entries, and
//! finds types by name. [`types`] turns a type into a structure, and [`others`] says which types are none. A program is bytes from a stranger: all work for one format has a limit.

mod btf;
mod ctf;
mod expand;
mod file;
mod others;
mod separate;
mod source;
mod types;
mod units;

use crate::left_out::{LeftOut, List};
use crate::overlay::Overlay;
use btf::Btf;
use ctf::Ctf;
use expand::Budget;
use file::File;
use isoform_core::plan::Rules;
use isoform_core::{Code, Error, Format, Layout, Result};
use others::Why;
use separate::Beside;
use source::{Candidate, Source};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use types::Other;
use units::Units;

/// The largest program that is read.
const MAX_PROGRAM: u64 = 1 << 30;
/// How many types of one name an error lists.
const LISTED: usize = 12;
/// How many entries of debug information are read for the formats of all structs together, besides one for each byte of the program. Each of
/// many names may lead to a large type.
const MAX_ENTRIES: usize = 1 << 24;
/// Bytes of a format's description that count as one such entry.
const DESCRIBED: usize = 16;

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
    left_out: Vec<LeftOut>,
    /// How many entries are read for all structs together.
    most: usize,
}

/// What the search for formats has taken, and what it met that is no symbol of an enumeration.
#[derive(Default)]
struct Work {
    entries: usize,
    /// Entries that are read to tell types of one name apart.
    scopes: usize,
    others: Vec<Other>,
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
            Box::new(Ctf::new(file.ctf, file.sections.file, &layout, &mut budget)?)
        } else {
            Box::new(Btf::new(file.btf, file.sections.file, &layout, file.gcc)?)
        };
        let most = MAX_ENTRIES.saturating_add(bytes.len());
        Ok(Program { layout, left_out: others::listed(&*source), source, overlay: None, most })
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

    /// The named types that no record can be, and why: unions, structs that the program only declares, and those whose name is too long. Each
    /// name is there once; of more than 1,024 entries, the last one stands for all others.
    ///
    /// ```no_run
    /// let program = isoform_xmit::Program::open("./simulation".as_ref())?;
    /// program.left_out().iter().for_each(|left| println!("{} ({}): {}", left.what, left.place, left.reason));
    /// # Ok::<(), isoform_core::Error>(())
    /// ```
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// The format of a struct: that of the struct in the memory of the program. `name` is its tag, or the name of a typedef; in C++ the
    /// namespaces and classes around it may stand in front, as in `river::Gauge`. If several types have this name, `NAME@UNIT:LINE` chooses one.
    ///
    /// # Errors
    /// [`Code::NoSuchField`] if there is no struct of this name, or several different ones. [`Code::Declaration`] with the path of
    /// a field that has no format, such as a pointer without an overlay. [`Code::Depth`], [`Code::Fields`] and [`Code::Size`] beyond the limits.
    /// For an overlay, as [`Overlay::over`].
    pub fn format(&self, name: &str) -> Result<Format> {
        self.find(name, &mut Work::default()).map(|(.., format)| format)
    }

    /// Calls a function for each of its structs, with the format or the reason why there is none. Returns what is left out: names of enumerations
    /// that are no symbols, [`Program::left_out`], and the structs that the function was not called for, since those before them took
    /// as much work as is done for all together. [`Program::format`] has no such limit.
    ///
    /// ```no_run
    /// let program = isoform_xmit::Program::open("./simulation".as_ref())?;
    /// let left_out = program.each(|name, format| {
    ///     println!("{name}: {} bytes", format?.size());
    ///     Ok::<(), isoform_core::Error>(())
    /// })?;
    /// # Ok::<(), isoform_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of the function, of which the first one ends the calls.
    pub fn each<E>(
        &self,
        mut then: impl FnMut(&str, Result<Format>) -> std::result::Result<(), E>,
    ) -> std::result::Result<Vec<LeftOut>, E> {
        let (mut work, mut known, mut list) = (Work::default(), HashSet::new(), List::default());
        let mut names = self.names();
        while work.entries < self.most
            && let Some(name) = names.next()
        {
            then(name, self.find(name, &mut work).map(|(.., format)| format))?;
            // A header's enumeration is in each unit that uses it.
            let new = work.others.drain(..).filter(|other| known.insert(other.name.clone()));
            new.for_each(|Other { name, symbol, of }| {
                let reason = format!("{symbol} has the same number, and is its symbol");
                list.add(&format!("enumerator {name}"), self.source.place(&of), &reason, false);
            });
        }
        for left in &self.left_out {
            list.add(&left.what, &*left.place, &left.reason, left.is_refused);
        }
        let most = self.most;
        let reason = format!("the structs before it took {most} entries of debug information; ask for it by its name");
        for name in names {
            let place = self.source.names().of(name).first().map(|candidate| self.source.place(candidate));
            list.add(&format!("struct {name}"), place.unwrap_or_default(), &reason, true);
        }
        Ok(list.into_entries())
    }

    /// The rules of a receiver that the overlay states: the defaults of a struct and of those that it nests, and the program's names of
    /// fields that it renames, as aliases.
    ///
    /// # Errors
    /// As [`Program::format`].
    pub fn rules(&self, name: &str) -> Result<Rules> {
        let (candidate, tag, _) = self.find(name, &mut Work::default())?;
        let mut builder = types::Builder::new(&*self.source, &self.layout, self.overlay.as_ref());
        builder.format(candidate, tag)?;
        Ok(builder.rules())
    }

    /// The type of a name, the name of its record, and its format.
    fn find<'n>(&self, name: &'n str, work: &mut Work) -> Result<(&Candidate, &'n str, Format)> {
        let (name, place) = match (self.source.names().of(name), name.split_once('@')) {
            ([], Some((name, place))) => (name, Some(place)),
            _ => (name, None),
        };
        let (tag, mut all) = self.named(name, work)?;
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
        let records = builder.check_records();
        let (entries, others) = builder.into_work();
        work.entries = work.entries.saturating_add(entries).saturating_add(1);
        work.others.extend(others);
        match found.len() {
            0 => Err(self.unknown(name, tag, place, work)?),
            1 => {
                let (candidate, format) = found.remove(0);
                let format = format?;
                work.entries = work.entries.saturating_add(format.description().as_bytes().len() / DESCRIBED);
                records?;
                Ok((candidate, tag, format))
            }
            _ => {
                let all: Vec<&Candidate> = found.iter().map(|(candidate, _)| *candidate).collect();
                let choices = self.choices(name, tag, &all, work)?.join(", ");
                let error = Error::new(Code::NoSuchField).at(name);
                Err(error.expected(format_args!("one of {choices}")).found("several types of this name"))
            }
        }
    }

    /// What chooses one of several types of a name: where each is declared, or its scopes where the places do not differ, as in Rust.
    fn choices(&self, name: &str, tag: &str, all: &[&Candidate], work: &mut Work) -> Result<Vec<String>> {
        let are_different = |names: &[String]| names.iter().collect::<HashSet<_>>().len() == names.len();
        let places: Vec<String> =
            all.iter().map(|candidate| format!("{name}@{}", self.source.place(candidate))).collect();
        if are_different(&places) {
            return Ok(places);
        }
        // Whole units are read for scopes. Of too many names, only the places are told.
        if work.scopes >= self.most {
            return Ok(places);
        }
        let scopes = self.source.scopes(all, &mut work.scopes)?;
        let full: Vec<String> = (scopes.iter().zip(all))
            .map(|(scope, _)| if scope.is_empty() { tag.into() } else { format!("{scope}::{tag}") })
            .collect();
        Ok(if are_different(&full) { full } else { places })
    }

    /// The types that a name may mean, and what their records are called: the name without the scopes in front of it.
    fn named<'n>(&self, name: &'n str, work: &mut Work) -> Result<(&'n str, Vec<&Candidate>)> {
        let names = self.source.names();
        let (scope, tag) = match names.of(name) {
            [] => in_scope(name),
            _ => ("", name),
        };
        let mut all: Vec<&Candidate> = names.of(tag).iter().collect();
        if !scope.is_empty() {
            let scopes = self.source.scopes(&all, &mut work.scopes)?;
            let mut of = scopes.iter();
            all.retain(|_| of.next().is_some_and(|of| of == scope));
        }
        Ok((tag, all))
    }

    /// The error of a type that is not there.
    fn unknown(&self, name: &str, tag: &str, place: Option<&str>, work: &mut Work) -> Result<Error> {
        let error = Error::new(Code::NoSuchField).at(name);
        let others: Vec<&Candidate> = self.source.names().of(tag).iter().take(LISTED).collect();
        if place.is_some() && !others.is_empty() {
            let places: Vec<String> = others.iter().map(|found| self.source.place(found)).collect();
            return Ok(error.expected(format_args!("one of the places {}", places.join(", "))));
        }
        if !others.is_empty() {
            let mut scopes = self.source.scopes(&others, &mut work.scopes)?;
            scopes.sort_unstable();
            scopes.dedup();
            let full = scopes.iter().map(|scope| if scope.is_empty() { tag.into() } else { format!("{scope}::{tag}") });
            let full = full.collect::<Vec<_>>().join(", ");
            return Ok(error.expected(format_args!("one of the structs {full}")).found(name));
        }
        let absent = self.source.absent();
        // A file that is not there may have the whole of what is only declared here.
        if let Some(why) = self.source.names().why_none(tag).filter(|why| absent.is_empty() || *why != Why::Declared) {
            let found = format_args!("{}: {}", why.what(tag), why.reason());
            return Ok(error.expected("a struct that can be a record").found(found));
        }
        if let [absent, rest @ ..] = absent {
            let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
            let expected = format!("debug information in {absent}{more}");
            return Ok(error.expected(expected).found("no such file"));
        }
        // Names that begin so are those of compilers and libraries.
        let (theirs, own): (Vec<&str>, Vec<&str>) = self.names().partition(|name| name.starts_with('_'));
        let mut known: Vec<&str> = own.into_iter().chain(theirs).collect();
        if known.is_empty() {
            return Ok(error.expected("a struct").found("a program whose debug information has none"));
        }
        // The nearest ones come first; the others stay in their order.
        known.sort_by_key(|known| distance(name, known));
        known.truncate(LISTED);
        Ok(error.expected(format_args!("a struct of the program, such as {}", known.join(", "))).found(name))
    }
}

/// How far a name is from what was asked for: 0 if only letters' case differs, 1 if one has the other in it, and 2 otherwise. Names of
/// templates come last.
fn distance(name: &str, known: &str) -> u8 {
    let (name, plain) = (name.to_lowercase(), known.to_lowercase());
    match plain.contains('<') {
        true => 3,
        false if plain == name => 0,
        false if plain.contains(&name) || name.contains(&plain) => 1,
        false => 2,
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
