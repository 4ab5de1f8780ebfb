//! What results take from random records of random formats, judged by a walk through the values of the records.

use isoform_core::{Code, Dimension, Element, Format, Layout, Structure, Value, Verifier, View, value};
use isoform_query::{Account, Answer, Checked, Event, Query, layout_like};
use isoform_testing::mutate::Random;
use isoform_testing::{any_record, drawn, runner};

/// A step of a path.
#[derive(Clone)]
enum Step {
    Name(Box<str>),
    /// An index, and whether its dimension is fixed.
    Index(usize, bool),
    /// From, to, and each so many.
    Slice(usize, Option<usize>, usize),
}

/// Why there is no value.
struct Absent {
    is_fault: bool,
}

/// What is selected, and how it is written.
struct Path {
    text: String,
    steps: Vec<Step>,
    /// The same with an index into a dynamic dimension behind a slice, which might have no such element in some rows.
    refused: Option<String>,
}

impl Path {
    /// A field as a whole.
    fn whole(name: &str) -> Path {
        Path { text: quoted(name), steps: vec![Step::Name(name.into())], refused: None }
    }

    /// Any path that the specification allows: indices and slices in each order, within fixed dimensions, and within and
    /// beyond dynamic ones.
    fn any(structure: &Structure, random: &mut Random) -> Path {
        let field = &structure.fields()[random.below(structure.fields().len())];
        let mut path = Path::whole(&field.name);
        let wanted = random.below(field.dims.len() + 1);
        for (number, dim) in field.dims.iter().enumerate().take(wanted) {
            // The characters of a text are not sliced.
            let is_text = field.element == Element::Char && number + 1 == field.dims.len();
            let is_index_good = !path.is_sliced() || matches!(dim, Dimension::Fixed(_));
            path.refused = (!is_index_good).then(|| format!("{}[0]", path.text)).or(path.refused);
            path.push(match (is_index_good, is_text) {
                (false, true) => break,
                (true, true) => index(*dim, random),
                (true, false) if random.one_in(2) => index(*dim, random),
                _ => slice(*dim, random),
            });
        }
        match &field.element {
            Element::Structure(inner) if path.steps.len() > field.dims.len() && !path.is_sliced() => {
                let inner = Path::any(inner, random);
                let text = |inner: &str| format!("{}.{inner}", path.text);
                let refused = inner.refused.as_deref().map(text);
                Path { text: text(&inner.text), steps: [path.steps, inner.steps].concat(), refused }
            }
            _ => path,
        }
    }

    fn is_sliced(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Slice(..)))
    }

    fn push(&mut self, step: Step) {
        match step {
            Step::Name(_) => {}
            Step::Index(at, _) => self.text += &format!("[{at}]"),
            Step::Slice(from, to, by) => {
                let to = to.map_or(String::new(), |to| to.to_string());
                self.text += &format!("[{from}:{to}:{by}]");
            }
        }
        self.steps.push(step);
    }
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('\\', "\\\\").replace('`', "\\`"))
}

/// Dynamic dimensions have up to three elements.
fn index(dim: Dimension, random: &mut Random) -> Step {
    match dim {
        Dimension::Fixed(length) => Step::Index(random.below(length), true),
        Dimension::Field(_) => Step::Index(random.below(4), false),
    }
}

fn slice(dim: Dimension, random: &mut Random) -> Step {
    let length = if let Dimension::Fixed(length) = dim { length } else { 5 };
    let from = random.below(length);
    let to = (!random.one_in(3)).then(|| from + 1 + random.below(length - from));
    Step::Slice(from, to, 1 + random.below(2))
}

/// What is at a path in a value.
fn taken(value: &Value, steps: &[Step]) -> Result<Value, Absent> {
    let Some((step, rest)) = steps.split_first() else { return Ok(value.clone()) };
    let beyond = || Absent { is_fault: true };
    match (step, value) {
        (Step::Name(name), Value::Record(fields)) => {
            taken(&fields.iter().find(|(field, _)| field == name).expect("a field").1, rest)
        }
        (Step::Index(at, _), Value::Array(items)) => taken(items.get(*at).ok_or_else(beyond)?, rest),
        // Values of fixed texts are without the NULs at the end.
        (Step::Index(at, true), Value::String(text)) => Ok(Value::Char(text.get(*at).copied().unwrap_or(0))),
        (Step::Index(at, false), Value::String(text)) => text.get(*at).copied().map(Value::Char).ok_or_else(beyond),
        (Step::Slice(from, to, by), Value::Array(items)) => {
            let to = to.unwrap_or(items.len()).min(items.len());
            let items = items[..to].iter().skip(*from).step_by(*by);
            let items: Vec<_> = items.map(|item| taken(item, rest)).collect::<Result<_, _>>()?;
            // An array without elements has no rows.
            let is_empty = |item: &Value| matches!(item, Value::Array(items) if items.is_empty());
            Ok(Value::Array(if items.iter().all(is_empty) { Vec::new() } else { items }))
        }
        _ => Err(Absent { is_fault: false }),
    }
}

/// Characters that a slice takes make a text, whose NULs at the end mean nothing if its length is fixed.
fn text_like(found: &Value, taken: Value) -> Value {
    match (found, taken) {
        (Value::String(found), Value::Array(items)) => {
            let byte = |item| if let Value::Char(byte) = item { byte } else { panic!("{item:?} in a text") };
            let mut text: Vec<_> = items.into_iter().map(byte).collect();
            while text.len() > found.len() && text.last() == Some(&0) {
                text.pop();
            }
            Value::String(text)
        }
        (_, taken) => taken,
    }
}

/// The result of a query for a record, as the verifier accepts it.
fn result(checked: &Checked, view: View<'_>, text: &str) -> (Vec<u8>, Account) {
    let mut run = checked.run();
    let answer = run.record(view, Event::default()).unwrap_or_else(|error| panic!("{text}: {error}"));
    let Answer::Result(body) = answer else { panic!("{text}: no result") };
    Verifier::new(checked.format()).verify(&body).unwrap_or_else(|error| panic!("{text}: {error}"));
    (body, run.account())
}

/// The values of a body.
fn values(format: &Format, body: &[u8]) -> Vec<(Box<str>, Value)> {
    let verifier = Verifier::new(format);
    match View::new(verifier.verify(body).expect("a good body")).to_value() {
        Value::Record(fields) => fields,
        other => panic!("{other:?}"),
    }
}

/// Formats; a hundred times as many in `make soak`.
fn formats() -> usize {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse::<usize>().ok());
    cases.map_or(1_000, |cases| (cases * 4).clamp(64, 100_000))
}

/// What has been tried: arrays, slices, slices with something behind them, values that are absent, and what is refused.
#[derive(Debug, Default)]
struct Tried {
    arrays: usize,
    sliced: usize,
    followed: usize,
    absent: usize,
    refused: usize,
}

impl Tried {
    fn count(&mut self, path: &Path, found: &Result<Value, Absent>) {
        let is_array = matches!(found, Ok(Value::Array(items)) if !items.is_empty());
        let slice = path.steps.iter().position(|step| matches!(step, Step::Slice(..)));
        self.arrays += usize::from(is_array);
        self.sliced += usize::from(is_array && slice.is_some());
        self.followed += usize::from(is_array && slice.is_some_and(|at| at + 1 < path.steps.len()));
        self.absent += usize::from(found.is_err());
    }
}

/// A value of a result, by the number of its path.
fn of(values: &[(Box<str>, Value)], number: usize) -> Value {
    let name = format!("q{number}");
    values.iter().find(|(field, _)| **field == *name).expect("a field of the result").1.clone()
}

/// A value of a result is what its path leads to, or what stands for an absent one.
fn expect_equal(path: &Path, found: &Value, taken: Result<Value, Absent>, absent: Value) {
    let is_single = matches!(found, Value::Float(number) if number.is_nan());
    let expected = match taken {
        // A single number that is absent is none, also one that is taken by its pointer.
        Err(_) | Ok(Value::Null) if is_single => return,
        Err(_) => absent,
        Ok(taken) => text_like(found, taken),
    };
    assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{}", path.text);
}

/// A result has what its paths lead to in a record, and the account counts what is absent.
fn expect_taken(paths: &[Path], record: &Value, format: &Format, body: &[u8], account: Account, tried: &mut Tried) {
    let found = values(format, body);
    let absent = value::body(format, &Value::Record(Vec::new())).expect("a result of what is absent");
    let absent = values(format, &absent);
    let (mut faults, mut missing) = (0, 0);
    for (number, path) in paths.iter().enumerate() {
        let expected = taken(record, &path.steps);
        tried.count(path, &expected);
        missing += u64::from(expected.is_err());
        faults += u64::from(expected.as_ref().is_err_and(|absent| absent.is_fault));
        expect_equal(path, &of(&found, number), expected, of(&absent, number));
    }
    assert_eq!((account.absent, account.faults), (missing, faults));
    // The writer of values makes quiet numbers of other ones.
    if !format!("{found:?}").contains("NaN") {
        assert_eq!(body, value::body(format, &Value::Record(found)).expect("a body"));
    }
}

/// What a result takes from a record is what the record has, or is absent and counted; and its bytes are those that a
/// writer of values gives it: blocks in their order, and zeros in the gaps. So it is on the machine of the record,
/// where bytes are copied, and on others, where values are.
#[test]
fn results_have_the_values_that_they_take() {
    let mut random = Random::new(42);
    let mut cases = runner(&mut random);
    let mut tried = Tried::default();
    for _ in 0..formats() {
        let (format, record) = drawn(any_record(), &mut cases);
        let body = value::body(&format, &record).expect("a record of the format");
        let verifier = Verifier::new(&format);
        let view = View::new(verifier.verify(&body).expect("a good body"));
        let structure = format.structure();
        let mut paths: Vec<_> = structure.fields().iter().map(|field| Path::whole(&field.name)).collect();
        paths.extend((0..8).map(|_| Path::any(structure, &mut random)));
        let items: Vec<_> = paths.iter().enumerate().map(|(at, path)| format!("q{at} = {}", path.text)).collect();
        let text = format!("select {}", items.join(", "));
        let query = Query::parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let is_other = |layout: &&Layout| layout.machine() != format.machine();
        let other = Layout::ALL.iter().find(is_other).expect("another machine");
        for layout in [layout_like(&format), other] {
            let checked = query.check(&format, layout).unwrap_or_else(|error| panic!("{text}: {error}"));
            let (body, account) = result(&checked, view, &text);
            expect_taken(&paths, &view.to_value(), checked.format(), &body, account, &mut tried);
        }
        for refused in paths.iter().filter_map(|path| path.refused.as_deref()) {
            let error = Query::parse(&format!("select a = {refused}")).and_then(|query| query.check(&format, other));
            assert_eq!(error.map_err(|error| error.code()).err(), Some(Code::WrongType), "{refused}");
            tried.refused += 1;
        }
    }
    let Tried { arrays, sliced, followed, absent, refused } = tried;
    assert!([arrays, sliced, absent, followed, refused].iter().all(|count| *count > 0), "{tried:?}");
    assert!(arrays > formats() && [sliced, absent].iter().all(|count| *count > formats() / 2), "{tried:?}");
}
