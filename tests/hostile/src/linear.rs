//! Time in proportion to the input, counted in instructions by valgrind: twice the input, twice the work.
//!
//! Each step of a receiver is counted by itself, or the slow ones would hide what grows too fast in the others.

use crate::families::{FAMILIES, Family};
use isoform::core::{ByteOrder, Layout, Plan, interp, value};
use isoform::stream::Reader;
use isoform::text::json;
use isoform::{Faults, Format, Incoming, Machine, Result, Rules, View};
use isoform_testing::moved;
use isoform_xmit::{Alone, Declarations};
use std::ffi::OsStr;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// What twice the input may cost at most, in thousandths: double, and what is left of growing tables.
const TWICE: u64 = 2300;
/// Instructions that do not count: buffers grow by leaps.
const LITTLE: u64 = 300_000;

/// Sources of each of sixteen nodes; and twice as many, which is nearly as many as a node may offer.
const SOURCES: usize = 2000;

/// Types of a document; and twice as many.
const TYPES: usize = 5000;

/// One step of a receiver.
type Step = fn(&[u8]);

const STEPS: &[(&str, Step)] = &[
    ("read", |stream| each(stream, |_| {})),
    ("verify", |stream| each(stream, |message| _ = message.verify())),
    ("view", |stream| views(stream, |_, view| walk(view))),
    ("value", |stream| views(stream, |format, view| _ = value::body(format, &view.to_value()))),
    ("json", |stream| views(stream, |_, view| _ = json::line(view))),
    ("parse", |stream| views(stream, |format, view| _ = json::parse(format, &json::line(view)))),
    ("convert", |stream| each(stream, |message| _ = convert(message))),
];

/// Counts all families, and says which grow too fast.
pub(crate) fn run() -> ExitCode {
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("*** SKIPPED: linear time. It is counted by valgrind: apt-get install valgrind ***");
        return ExitCode::SUCCESS;
    }
    let folder = std::env::temp_dir().join(format!("isoform-linear-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for streams");
    let nothing = folder.join("nothing");
    std::fs::write(&nothing, []).expect("an empty stream");
    let base: Vec<u64> = STEPS.iter().map(|(step, _)| instructions(step, &nothing)).collect();
    let mut tally = Tally::default();
    for family in FAMILIES {
        let files = [family.size, 2 * family.size].map(|size| written(&folder, family, size));
        for ((step, _), base) in STEPS.iter().zip(&base) {
            let counts = [&files[0], &files[1]].map(|file| instructions(step, file).saturating_sub(*base));
            tally.add(&format!("{step}, {}", family.name), family.size, counts);
        }
    }
    std::fs::remove_dir_all(&folder).expect("the folder of streams");
    let offers = |sources: usize| counted(&["offers".as_ref(), sources.to_string().as_ref()]);
    let base = offers(0);
    let counts = [SOURCES, 2 * SOURCES].map(|sources| offers(sources).saturating_sub(base));
    tally.add("offers on each of sixteen links", SOURCES, counts);
    let schema = |types: usize| counted(&["schema".as_ref(), types.to_string().as_ref()]);
    let base = schema(0);
    let counts = [TYPES, 2 * TYPES].map(|types| schema(types).saturating_sub(base));
    tally.add("types of an XML Schema", TYPES, counts);
    tally.end()
}

/// Loads a document of so many types, each with four fields, one of them the record before it, and binds the last.
pub(crate) fn schema(types: usize) {
    let mut text = String::from("<s:schema xmlns:s=\"http://www.w3.org/2001/XMLSchema\">\n<s:complexType name=\"T\">");
    for number in 0..types {
        let inner = if number % 8 == 0 { "s:double".into() } else { format!("T{}", number - 1) };
        _ = write!(
            text,
            "<s:element name=\"step\" type=\"s:int\"/></s:complexType>\n<s:complexType name=\"T{number}\">\
             <s:element name=\"name\" type=\"s:string\"/><s:element name=\"inner\" type=\"{inner}\"/>\
             <s:element name=\"values\" type=\"s:float\" maxOccurs=\"3\"/>"
        );
    }
    text += "<s:element name=\"step\" type=\"s:int\"/></s:complexType></s:schema>";
    let declarations = Declarations::from_xsd("many.xsd", &text, &mut Alone).expect("a schema");
    let last = declarations.names().last().expect("a type").to_owned();
    declarations.bind(&last, &Layout::NATIVE).expect("a format");
}

/// What was counted.
#[derive(Default)]
struct Tally {
    counted: usize,
    slow: usize,
    /// The ratio in thousandths, and what it is about.
    worst: (u64, String),
}

impl Tally {
    /// Instructions for an input of this size, and for twice that.
    fn add(&mut self, what: &str, size: usize, [one, two]: [u64; 2]) {
        let ratio = 1000 * two.saturating_sub(LITTLE) / one.max(LITTLE);
        let text = format!("{what}: {one} instructions for {size}, {two} for twice that");
        if ratio > TWICE {
            self.slow += 1;
            println!("TOO SLOW: {text}: {}.{:03} times", ratio / 1000, ratio % 1000);
        }
        self.counted += 1;
        self.worst = std::mem::take(&mut self.worst).max((ratio, text));
    }

    fn end(self) -> ExitCode {
        let Tally { counted, slow, worst: (ratio, text) } = self;
        println!("worst: {text}");
        println!(
            "linear: {counted} pairs of runs, {slow} too slow, twice the input is at most {}.{:03} times the instructions",
            ratio / 1000,
            ratio % 1000
        );
        if slow == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

/// Takes one step with the stream in a file.
pub(crate) fn step(name: &str, file: &str) -> Option<ExitCode> {
    let (_, step) = STEPS.iter().find(|(step, _)| *step == name)?;
    step(&std::fs::read(file).ok()?);
    Some(ExitCode::SUCCESS)
}

fn written(folder: &Path, family: &Family, size: usize) -> PathBuf {
    let path = folder.join(size.to_string());
    std::fs::write(&path, (family.stream)(size)).expect("a place for streams");
    path
}

fn instructions(step: &str, file: &Path) -> u64 {
    counted(&["step".as_ref(), step.as_ref(), file.as_ref()])
}

/// The instructions of this program, called so.
fn counted(words: &[&OsStr]) -> u64 {
    let mut command = Command::new("valgrind");
    command.args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]);
    let program = std::env::current_exe().expect("the path of this program");
    let output = command.arg(program).args(words).output().expect("valgrind");
    let text = String::from_utf8_lossy(&output.stderr);
    let refs = text.lines().find_map(|line| line.split_once("I   refs:").or(line.split_once("I refs:")));
    let count = refs.and_then(|(_, count)| count.trim().replace(',', "").parse().ok());
    count.filter(|_| output.status.success()).unwrap_or_else(|| panic!("valgrind failed: {text}"))
}

fn each(stream: &[u8], mut done: impl FnMut(&Incoming<'_>)) {
    let mut reader = Reader::new(stream);
    loop {
        match reader.next().map(|message| message.map(|message| done(&message))) {
            Ok(Some(())) => {}
            Ok(None) => return,
            Err(error) if reader.goes_on_after(&error) => {}
            Err(_) => return,
        }
    }
}

fn views(stream: &[u8], mut done: impl FnMut(&Format, View<'_>)) {
    each(stream, |message| {
        if let Ok(view) = message.view() {
            done(message.format(), view);
        }
    });
}

fn walk(view: View<'_>) {
    for (field, _) in view.fields() {
        std::hint::black_box(view.get(&field.name)).expect("a field");
    }
    std::hint::black_box(format!("{view:?}"));
}

/// To another machine.
fn convert(message: &Incoming<'_>) -> Result<Vec<u8>> {
    let Machine { order, pointer } = message.format().machine();
    let order = if order == ByteOrder::Big { ByteOrder::Little } else { ByteOrder::Big };
    let native = moved(message.format(), Machine { order, pointer: 12 - pointer })?;
    let plan = Plan::new(message.format(), &native, &Rules::new(), Faults::Error)?;
    let mut out = Vec::new();
    interp::run(&plan, message.verify()?, &mut out)?;
    Ok(out)
}
