//! Documents as sources: `xsd:PLACE#TYPE@LAYOUT`, and the same in other languages; and compiled programs, `elf:PATH#STRUCT`.

use crate::failure::{Failure, notice};
use crate::open::Content;
use crate::source::{Document, Program};
use crate::surroundings;
use isoform::core::Layout;
use isoform::core::declare::Kind;
use isoform::{Code, Error, Format, Rules};
use isoform_xmit::{Declarations, Fetcher, Language, Overlay};
use std::collections::{BTreeSet, HashSet};
use std::sync::{Mutex, PoisonError};

/// The most structs of a program that a failure names.
const LISTED: usize = 24;

/// What was said of documents whose servers do not answer.
static TOLD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// The declarations of a document, which servers are asked for.
pub(crate) fn declarations(document: &Document) -> Result<Declarations, Failure> {
    let mut fetcher = Fetcher::new().language(document.language.parse::<Language>()?);
    if let Some(folder) = surroundings::cache() {
        fetcher = fetcher.cache(folder.join("isoform/documents"));
    }
    for host in surroundings::hosts() {
        fetcher = fetcher.allow(&host);
    }
    if let Some(file) = &document.overlay {
        fetcher = fetcher.overlay(file);
    }
    let declarations = fetcher.declarations(&document.place).map_err(|error| not_loaded(document, error))?;
    for error in fetcher.unasked() {
        let notes = format!("{error}; the document is taken as it was before");
        // A command may load a document several times.
        if TOLD.lock().unwrap_or_else(PoisonError::into_inner).insert(notes.clone()) {
            notice(&notes);
        }
    }
    Ok(declarations)
}

fn not_loaded(document: &Document, error: Error) -> Failure {
    let (code, is_answer) = (error.code(), error.actual().starts_with("HTTP status"));
    let failure = Failure::from(error).of_source();
    match code {
        Code::NotAdmitted | Code::Forbidden if is_answer => {
            failure.hint("the server does not let everyone read it; a copy on this machine is a source, too: its path stands in place of the URL")
        }
        Code::Source if is_answer => failure.hint("the server has no document at this path"),
        Code::Source if document.overlay.is_none() => {
            failure.hint(format!("{}: is followed by the path or the URL of a document", document.language))
        }
        Code::Io | Code::Deadline => failure.hint("a document can be a file, too: its path stands in place of the URL"),
        Code::Forbidden => failure.hint(format!(
            "the variable {} has the hosts from which documents may bring in others",
            surroundings::HOSTS
        )),
        _ => failure,
    }
}

/// The shape of the type that a source names, or the formats of all types that no other nests; and the rules that the document
/// states for a receiver of these.
pub(crate) fn open(document: &Document) -> Result<(Content, isoform::Result<Rules>), Failure> {
    let declarations = declarations(document)?;
    if let Some(name) = &document.name {
        return Ok((Content::Shape(declarations.shape(name)?), declarations.rules(name)));
    }
    // All records are there, so those that one nests are those of its own fields, and of theirs.
    let mut nested: HashSet<&str> = HashSet::new();
    for name in declarations.names() {
        nested.extend(declarations.get(name)?.fields.iter().filter_map(|field| match &field.kind.kind {
            Kind::Structure(inner) => Some(&**inner),
            _ => None,
        }));
    }
    let outer = || declarations.names().filter(|name| !nested.contains(name));
    let mut records = Records::new(&declarations, document);
    let formats =
        outer().map(|name| records.bind(name)?).collect::<Result<_, _>>().map_err(|error| match error.code() {
            Code::Fields if records.left == 0 => {
                Failure::from(error).of_source().hint("SOURCE#NAME chooses one record")
            }
            _ => Failure::from(error),
        })?;
    let rules = match declarations.has_twins() {
        // Rules name records without their scopes.
        true => Err(Error::new(Code::NoSuchField)
            .at(&*document.place)
            .expected("one record of the document behind #")
            .found("several records of one name")),
        false => outer().try_fold(Rules::new(), |all, name| Ok(all.and(declarations.rules(name)?))),
    };
    Ok((Content::Formats(formats), rules))
}

/// The program of a source.
pub(crate) fn opened(source: &Program) -> Result<isoform_xmit::Program, Failure> {
    let program = isoform_xmit::Program::open(&source.path).map_err(of_program)?;
    match &source.overlay {
        Some(file) => Ok(program.over(Overlay::read(file).map_err(of_program)?)),
        None => Ok(program),
    }
}

/// The struct of a program that a source names, and the rules that its overlay states for a receiver of it.
pub(crate) fn program(source: &Program) -> Result<(Format, isoform::Result<Rules>), Failure> {
    let program = opened(source)?;
    let Some(name) = &source.name else { return Err(unnamed(source, &program)) };
    let format = program.format(name).map_err(of_program)?;
    Ok((format, program.rules(name)))
}

/// The failure that a source names no struct, with those that it could name. Names that begin with `_` are those of compilers and
/// libraries, and come last.
fn unnamed(source: &Program, program: &isoform_xmit::Program) -> Failure {
    let (theirs, own): (Vec<&str>, Vec<&str>) = program.names().partition(|name| name.starts_with('_'));
    let all: Vec<&str> = own.into_iter().chain(theirs).collect();
    let shown = all.iter().take(LISTED).copied().collect::<Vec<_>>().join(", ");
    let more = match all.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let path = source.path.display();
    match all.first() {
        None => Failure::usage("the debug information has no structs"),
        Some(first) => Failure::usage(format!("this program has the structs {shown}{more}; the source names none"))
            .hint(format!("such as elf:{path}#{first}; `isoform xmit load elf:{path}` lists them with their fields")),
    }
}

fn of_program(error: Error) -> Failure {
    let failure = Failure::from(error.clone()).of_source();
    match error.code() {
        Code::NoSuchField => failure.hint("`isoform xmit load elf:FILE` lists the structs and their fields"),
        _ => failure,
    }
}

/// A record of a document: its format and the rules that the document states, or why it cannot be represented.
pub(crate) type Bound = (String, isoform::Result<(Format, Rules)>);

/// All records of a document.
pub(crate) fn each(document: &Document) -> Result<Vec<Bound>, Failure> {
    let declarations = declarations(document)?;
    let mut records = Records::new(&declarations, document);
    let mut bound = |name: &str| Ok((records.bind(name)??, declarations.rules(name)?));
    Ok(declarations.names().map(|name| (name.to_owned(), bound(name))).collect())
}

/// Fields of all records of a document together, and symbols of these, that are laid out if nobody has chosen a record.
pub(crate) const MAX_FIELDS: usize = 1 << 20;

/// Lays out records of a document, within one limit for all of them. Many records may nest the same large ones.
pub(crate) struct Records<'d> {
    declarations: &'d Declarations,
    layout: &'d Layout,
    left: usize,
}

impl<'d> Records<'d> {
    pub(crate) fn new(declarations: &'d Declarations, document: &'d Document) -> Records<'d> {
        Records { declarations, layout: document.layout.as_ref().unwrap_or(&Layout::NATIVE), left: MAX_FIELDS }
    }

    /// The format of a record.
    ///
    /// # Errors
    /// [`Code::Fields`] if nothing is left of the limit; within, why the record has no format.
    pub(crate) fn bind(&mut self, name: &str) -> isoform::Result<isoform::Result<Format>> {
        if self.left == 0 {
            let error = Error::new(Code::Fields).at(name);
            return Err(error.expected(format_args!("at most {MAX_FIELDS} fields and symbols in all records together")));
        }
        // What is refused has been laid out, too.
        self.left = self.left.saturating_sub(self.parts(name));
        Ok(self.declarations.bind(name, self.layout))
    }

    /// How many fields a record has with those that it nests, and symbols, each as often as a field has it.
    fn parts(&self, name: &str) -> usize {
        let (mut known, mut open, mut count) = (HashSet::from([name]), vec![name], 0usize);
        while let Some(name) = open.pop() {
            for field in self.declarations.get(name).map_or(&[][..], |record| &record.fields) {
                count = count.saturating_add(1);
                match &field.kind.kind {
                    Kind::Structure(inner) if known.insert(inner) => open.push(inner),
                    Kind::Enumeration { symbols, .. } => count = count.saturating_add(symbols.len()),
                    _ => {}
                }
            }
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::LANGUAGES;

    #[test]
    fn each_language_has_a_word() {
        assert_eq!(Language::ALL.iter().map(|language| language.word()).collect::<Vec<_>>(), LANGUAGES);
    }
}
