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
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// What twice the input may cost at most, in thousandths: double, and what is left of growing tables.
const TWICE: u64 = 2300;
/// Instructions that do not count: buffers grow by leaps.
const LITTLE: u64 = 300_000;

/// What more sinks with a query may cost a source at most when it submits, in thousandths: nothing, whether they want none of its events or all.
const SAME: u64 = 1050;
/// Such sinks, and events.
const QUIET: usize = 100;
const EVENTS: usize = 1000;

/// Queries for which there is no time, and what each may cost a source with each event, built with as little optimisation as this program: a third of
/// what it takes to look at it.
const UNPAID: usize = 32;
const OF_UNPAID: u64 = 450;

/// Sources of each of sixteen nodes; and twice as many, which is nearly as many as a node may offer.
const SOURCES: usize = 2000;

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
            tally.add(&format!("{step}, {}", family.name), family.size, counts, TWICE);
        }
    }
    std::fs::remove_dir_all(&folder).expect("the folder of streams");
    let offers = |sources: usize| counted(&["offers".as_ref(), sources.to_string().as_ref()]);
    let base = offers(0);
    let counts = [SOURCES, 2 * SOURCES].map(|sources| offers(sources).saturating_sub(base));
    tally.add("offers on each of sixteen links", SOURCES, counts, TWICE);
    let submit = |mode: &str, sinks: usize, events: usize| {
        counted(&[mode.as_ref(), sinks.to_string().as_ref(), events.to_string().as_ref()])
    };
    for (mode, wanted) in [("quiet", "none of them"), ("passing", "all of them, and get them later")] {
        let submit = |sinks, events| submit(mode, sinks, events);
        let counts = [QUIET, 2 * QUIET].map(|sinks| submit(sinks, 2 * EVENTS).saturating_sub(submit(sinks, EVENTS)));
        tally.add(&format!("events for sinks that want {wanted}"), QUIET, counts, SAME);
    }
    let unpaid = |events| submit("unpaid", 2 * UNPAID, events).saturating_sub(submit("unpaid", UNPAID, events));
    // The first events use the time up.
    let more = unpaid(3 * EVENTS).saturating_sub(unpaid(2 * EVENTS));
    tally.expect("each query without time, with each event", more / (UNPAID * EVENTS) as u64, OF_UNPAID);
    for shape in SHAPES {
        let schema = |count: usize| counted(&["schema".as_ref(), shape.name.as_ref(), count.to_string().as_ref()]);
        let base = schema(0);
        let counts = [shape.count, 2 * shape.count].map(|count| schema(count).saturating_sub(base));
        tally.add(&format!("XML Schema, {}", shape.name), shape.count, counts, TWICE);
    }
    tally.end()
}

/// A shape of documents in XML Schema.
struct Shape {
    name: &'static str,
    /// How many parts the document has; and twice as many.
    count: usize,
    /// What stands in the document, without its first and last line.
    text: fn(usize) -> String,
}

/// Shapes in which one part could be looked at for each of the others.
const SHAPES: &[Shape] = &[
    Shape { name: "types", count: 5000, text: types },
    Shape { name: "attributes", count: 500, text: attributes },
    Shape { name: "one-element", count: 20_000, text: one_element },
    Shape { name: "namespaces", count: 4000, text: namespaces },
    Shape { name: "extensions", count: 5000, text: extensions },
    Shape { name: "restrictions", count: 1000, text: restrictions },
    Shape { name: "refused", count: 5000, text: refused },
    Shape { name: "twins", count: 5000, text: twins },
];

/// Each type has four fields, one of them the record before it.
fn types(count: usize) -> String {
    let types = (0..count).map(|number| {
        let inner = if number % 8 == 0 { "s:double".into() } else { format!("T{}", number - 1) };
        format!(
            "<s:complexType name=\"T{number}\"><s:element name=\"name\" type=\"s:string\"/>\
             <s:element name=\"inner\" type=\"{inner}\"/><s:element name=\"values\" type=\"s:float\" maxOccurs=\"3\"/>\
             <s:element name=\"step\" type=\"s:int\"/></s:complexType>\n"
        )
    });
    types.collect()
}

/// Each element has as many attributes of another namespace as it may have.
fn attributes(count: usize) -> String {
    let foreign: String = (0..240).map(|number| format!(" f:a{number}=\"\"")).collect();
    let elements = (0..count).map(|number| format!("<s:element name=\"e{number}\" type=\"s:int\"{foreign}/>\n"));
    format!(
        "<s:complexType name=\"T\"><s:sequence xmlns:f=\"urn:f\">{}</s:sequence></s:complexType>",
        elements.collect::<String>()
    )
}

/// One element has all attributes: too many.
fn one_element(count: usize) -> String {
    let foreign: String = (0..count).map(|number| format!(" f:a{number}=\"\"")).collect();
    format!("<s:element xmlns:f=\"urn:f\" name=\"e\" type=\"s:int\"{foreign}/>")
}

/// Each element has a namespace of its own, within many others.
fn namespaces(count: usize) -> String {
    let outer: String = (0..120).map(|number| format!(" xmlns:o{number}=\"urn:o{number}\"")).collect();
    let elements =
        (0..count).map(|number| format!("<s:element xmlns:n=\"urn:n{number}\" name=\"e{number}\" type=\"n:T\"/>\n"));
    format!(
        "<s:complexType name=\"T\"{outer}><s:sequence>{}</s:sequence></s:complexType>",
        elements.collect::<String>()
    )
}

/// Each type extends the one before it.
fn extensions(count: usize) -> String {
    let types = (0..count).map(|number| {
        let base = number.checked_sub(1).map_or("s:anyType".into(), |before| format!("T{before}"));
        format!(
            "<s:complexType name=\"T{number}\"><s:complexContent><s:extension base=\"{base}\"><s:sequence>\
             <s:element name=\"e{number}\" type=\"s:int\"/></s:sequence></s:extension></s:complexContent></s:complexType>\n"
        )
    });
    types.collect()
}

/// A restriction states all attributes of its base again.
fn restrictions(count: usize) -> String {
    let attributes: String =
        (0..count).map(|number| format!("<s:attribute name=\"a{number}\" type=\"s:int\"/>\n")).collect();
    format!(
        "<s:complexType name=\"B\">{attributes}</s:complexType><s:complexType name=\"T\"><s:complexContent>\
         <s:restriction base=\"B\">{attributes}</s:restriction></s:complexContent></s:complexType>"
    )
}

/// Each type is refused, with its line.
fn refused(count: usize) -> String {
    let types = (0..count).map(|number| format!("<s:complexType name=\"T{number}\"><s:any/></s:complexType>\n"));
    types.collect()
}

/// Each element has the name of a type.
fn twins(count: usize) -> String {
    let types = (0..count).map(|number| {
        let inner = "<s:sequence><s:element name=\"e\" type=\"s:int\"/></s:sequence></s:complexType>";
        format!(
            "<s:complexType name=\"T{number}\">{inner}<s:element name=\"T{number}\"><s:complexType>{inner}</s:element>\n"
        )
    });
    types.collect()
}

/// Loads a document of a shape, and binds each of its last records that can be.
pub(crate) fn schema(name: &str, count: usize) -> Option<()> {
    let shape = SHAPES.iter().find(|shape| shape.name == name)?;
    let text = (shape.text)(count);
    let text = format!("<s:schema xmlns:s=\"http://www.w3.org/2001/XMLSchema\">\n{text}</s:schema>");
    if let Ok(declarations) = Declarations::from_xsd("many.xsd", &text, &mut Alone) {
        let all: Vec<&str> = declarations.names().collect();
        for name in all.iter().rev().take(3) {
            _ = std::hint::black_box(declarations.bind(name, &Layout::NATIVE));
        }
    }
    Some(())
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
    /// Instructions for an input of this size, and for twice that: at most so many thousandths of them.
    fn add(&mut self, what: &str, size: usize, [one, two]: [u64; 2], most: u64) {
        let ratio = 1000 * two.saturating_sub(LITTLE) / one.max(LITTLE);
        let text = format!("{what}: {one} instructions for {size}, {two} for twice that");
        if ratio > most {
            self.slow += 1;
            println!("TOO SLOW: {text}: {}.{:03} times", ratio / 1000, ratio % 1000);
        }
        self.counted += 1;
        self.worst = std::mem::take(&mut self.worst).max((ratio, text));
    }

    /// At most so many instructions.
    fn expect(&mut self, what: &str, count: u64, most: u64) {
        println!("{what}: {count} instructions");
        if count > most {
            self.slow += 1;
            println!("TOO SLOW: {what}: at most {most}");
        }
        self.counted += 1;
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
