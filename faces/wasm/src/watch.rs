//! Subscriptions, the formats that came, and what each source has sent.

use crate::entries::{self, Entry, entries, long};
use crate::history::History;
use crate::rows::{Row, Rows};
use isoform_core::text::{format, table};
use isoform_core::view::{Item, View};
use isoform_core::{Dimension, Element, Field, Format, Registry, Structure, Token};
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};

/// Numbers of a field that are kept: at ten thousand a second, a hundred seconds.
const KEPT: usize = if cfg!(test) { 1 << 12 } else { 1 << 20 };
/// Gaps of a source that are kept.
const GAPS: usize = 4096;
/// Kinds of records of a source. Beyond them, the one is forgotten that has gone longest without a record.
const KINDS: usize = 32;
/// Formats of a source whose kinds are remembered.
const KNOWN: usize = 256;
/// Events by which the pace of a source is told.
const PACE: usize = 1000;
/// Sources of a subscription.
const SOURCES: usize = 256;
/// Values that are shown of a record.
const LEAVES: usize = 1000;
/// Characters of a value that are shown.
const WIDTH: usize = 60;

/// Everything that a page watches.
#[derive(Default)]
pub(crate) struct Watch {
    registry: Registry,
    subscriptions: BTreeMap<u32, Subscription>,
}

/// A subscription: the fields that the page shows, and what has come.
#[derive(Default)]
struct Subscription {
    wanted: Vec<Wanted>,
    sources: BTreeMap<u32, Source>,
}

/// A field that the page shows.
#[derive(Clone)]
struct Wanted {
    path: String,
    is_array: bool,
    /// Each record stands for many: `path` is the least of their numbers, and this the greatest.
    greatest: Option<String>,
}

/// What a source has sent.
#[derive(Default)]
struct Source {
    node: String,
    is_present: bool,
    /// Whether it has declared its format, which is then that of all its records.
    is_declared: bool,
    refused: Option<String>,
    lost: u64,
    gaps: VecDeque<Gap>,
    kinds: Vec<Kind>,
    /// The number of the kind that the newest record has.
    current: u32,
    /// The kinds of formats that came; `None` if a format has none of the fields that the page shows.
    known: BTreeMap<Token, Option<u32>>,
    /// How many kinds there were.
    made: u32,
}

/// Records of a source that one line can show: what the page shows of them has the same units, symbols and ways to be shown. A line never goes on in
/// another unit.
struct Kind {
    number: u32,
    /// What the page shows of the records, as JSON.
    about: Value,
    format: Format,
    /// The body of the newest record.
    newest: Vec<u8>,
    sequence: u64,
    events: u64,
    /// When each event was submitted, in seconds since 1970.
    times: Vec<f64>,
    columns: Vec<Column>,
    /// The times behind which lines have a break.
    breaks: VecDeque<f64>,
    /// Whether each record has the least and the greatest number of many: there are two numbers for each time.
    is_thinned: bool,
    /// For each field, how many records lack their least or greatest number, because one of the numbers that they stand for is NaN.
    holes: Vec<u64>,
}

enum Column {
    Numbers(History),
    Array(Rows),
}

struct Gap {
    time: f64,
    count: u64,
    cause: String,
}

impl Watch {
    /// The page shows these fields of a subscription: a list of `{"path", "array"}`; or of `{"path", "greatest"}`, if each record has the least and the
    /// greatest number of many. What has come of it is forgotten.
    pub(crate) fn want(&mut self, subscription: u32, list: &[u8]) -> Option<()> {
        let list: Vec<Value> = serde_json::from_slice(list).ok()?;
        let wanted = list.iter().map(|wanted| {
            let is_array = wanted.get("array").and_then(Value::as_bool).unwrap_or(false);
            let greatest = wanted.get("greatest").and_then(Value::as_str).map(String::from);
            Some(Wanted { path: wanted.get("path")?.as_str()?.into(), is_array, greatest })
        });
        let wanted = wanted.collect::<Option<_>>()?;
        self.subscriptions.insert(subscription, Subscription { wanted, ..Subscription::default() });
        Some(())
    }

    /// The page has ended a subscription.
    pub(crate) fn forget(&mut self, subscription: u32) {
        self.subscriptions.remove(&subscription);
    }

    /// Takes a binary message of the server. What comes of subscriptions that the page has ended is passed over, except for
    /// formats, which later records may have.
    pub(crate) fn push(&mut self, message: &[u8]) -> Option<u32> {
        let (subscription, entries) = entries(message)?;
        for entry in entries {
            if entry.kind == entries::DESCRIPTION {
                // A description that is refused is one whose records are unknown.
                let _ = self.registry.learn(entry.content);
            } else if let Some(subscription) = self.subscriptions.get_mut(&subscription) {
                subscription.take(entry, &mut self.registry);
            }
        }
        Some(subscription)
    }

    /// The sources of a subscription as JSON, once for each kind of records. `kind` is null as long as none has come.
    pub(crate) fn sources(&self, subscription: u32) -> String {
        let Some(subscription) = self.subscriptions.get(&subscription) else { return "[]".into() };
        let sources = subscription.sources.iter().flat_map(|(number, source)| {
            let about = json!({
                "source": number, "node": source.node, "present": source.is_present, "declared": source.is_declared,
                "refused": source.refused, "lost": source.lost, "kind": null, "events": 0,
            });
            if source.kinds.is_empty() {
                return vec![about];
            }
            let kind = |kind: &Kind| {
                let mut about = about.clone();
                for (name, value) in [
                    ("kind", json!(kind.number)),
                    ("current", json!(kind.number == source.current)),
                    ("format", json!(kind.format.name())),
                    ("token", json!(kind.format.token().to_string())),
                    ("events", json!(kind.events)),
                    ("pace", json!(kind.pace())),
                    ("holes", json!(kind.holes)),
                    ("sequence", json!(kind.sequence)),
                    ("first", json!(kind.times.first())),
                    ("last", json!(kind.times.last())),
                ] {
                    about[name] = value;
                }
                about
            };
            source.kinds.iter().map(kind).collect()
        });
        Value::Array(sources.collect()).to_string()
    }

    /// The time of the newest record of a subscription.
    pub(crate) fn last(&self, subscription: u32) -> f64 {
        let sources = self.subscriptions.get(&subscription).into_iter().flat_map(|known| known.sources.values());
        let times = sources.flat_map(|source| &source.kinds).filter_map(|kind| kind.times.last());
        times.copied().fold(0.0, f64::max)
    }

    /// What the page shows of a kind of records, as JSON: a list of fields with unit and symbols, in the order in which the page wants them. A field
    /// is null if the records have none of its name.
    pub(crate) fn about(&self, subscription: u32, source: u32, kind: u32) -> String {
        self.kind(subscription, source, kind).map_or_else(|| "null".into(), |kind| kind.about["fields"].to_string())
    }

    /// The format of a kind of records as JSON (`text.md`), with the paths that can be shown.
    pub(crate) fn format(&self, subscription: u32, source: u32, kind: u32) -> String {
        self.kind(subscription, source, kind).map_or_else(
            || "null".into(),
            |Kind { format: known, .. }| {
                let mut paths = Vec::new();
                list("", known.structure(), &mut paths);
                format!(r#"{{"format":{},"paths":{}}}"#, format::to_json(known), Value::Array(paths))
            },
        )
    }

    /// The values of the newest record of a kind, as a list of pairs: path, and value as text.
    pub(crate) fn values(&self, subscription: u32, source: u32, kind: u32) -> String {
        let Some(kind) = self.kind(subscription, source, kind) else { return "[]".into() };
        let mut values = Vec::new();
        if let Ok(body) = kind.format.verify(&kind.newest) {
            leaves("", View::new(body), &mut values);
        }
        Value::Array(values).to_string()
    }

    /// The gaps of a source: time, count and cause of each.
    pub(crate) fn gaps(&self, subscription: u32, source: u32) -> String {
        let Some(source) = self.source(subscription, source) else { return "[]".into() };
        let gaps = source.gaps.iter().map(|gap| json!({"time": gap.time, "count": gap.count, "cause": gap.cause}));
        Value::Array(gaps.collect()).to_string()
    }

    /// What can be drawn of a field between two times, `pixels` wide: triples of a time, the least and the greatest number. If there
    /// are more numbers than that, each triple stands for those of one pixel, so that no peak is hidden.
    pub(crate) fn draw(
        &self,
        [subscription, source, kind]: [u32; 3],
        column: usize,
        span: [f64; 2],
        pixels: usize,
    ) -> Vec<f64> {
        let Some(kind) = self.kind(subscription, source, kind) else { return Vec::new() };
        let Some(Column::Numbers(history)) = kind.columns.get(column) else { return Vec::new() };
        let [from, to] = span;
        let at = |time: f64| kind.times.partition_point(|&known| known < time);
        // One before and one behind, so that lines reach the edges.
        let (mut first, mut last) = (at(from).saturating_sub(1), at(to) + 1);
        if kind.is_thinned {
            // Of these two, the least and the greatest number.
            first = kind.times.get(first).map_or(first, |&time| at(time));
            last += 1;
        }
        let last = last.min(kind.times.len());
        let pixels = pixels.clamp(1, 8192);
        let mut drawn = Vec::new();
        if last.saturating_sub(first) <= 2 * pixels {
            let number = |index: usize| history.get(index).filter(|_| index < last).unwrap_or(f64::NAN);
            let mut index = first;
            while index < last {
                let (time, least, next) = (kind.times[index], number(index), number(index + 1));
                let is_pair = kind.is_thinned && !next.is_nan() && kind.times[index + 1] == time;
                drawn.extend([time, least, if is_pair { next } else { least }]);
                index += if is_pair { 2 } else { 1 };
            }
            return drawn;
        }
        let step = (to - from) / pixels as f64;
        let mut begin = at(from);
        for pixel in 0..pixels {
            let end = at(from + step * (pixel + 1) as f64);
            if end > begin {
                let found = history.span(begin, end);
                let [least, greatest] = found.map_or([f64::NAN; 2], |span| [span.least, span.greatest]);
                let middle = from + step * (pixel as f64 + 0.5);
                drawn.extend([middle, least, greatest]);
                let broken = |time: f64| kind.breaks.partition_point(|&known| known < time);
                if broken(kind.times[begin]) < broken(kind.times[end - 1].next_up()) {
                    drawn.extend([middle, f64::NAN, f64::NAN]);
                }
            }
            begin = end;
        }
        drawn
    }

    /// The newest array of a field: the number of its dimensions, their lengths, the elements.
    pub(crate) fn newest(&self, place: [u32; 3], column: usize) -> Vec<f64> {
        let Some(rows) = self.rows(place, column) else { return Vec::new() };
        let dims = rows.dims.iter().map(|&length| length as f64);
        std::iter::once(rows.dims.len() as f64).chain(dims).chain(rows.newest().iter().copied()).collect()
    }

    /// An array over time: the number of dimensions of the newest one, their lengths; then for each row, its time, the number of its elements,
    /// the number of its cells, and the cells.
    pub(crate) fn heat(&self, place: [u32; 3], column: usize) -> Vec<f64> {
        let Some(rows) = self.rows(place, column) else { return Vec::new() };
        let dims = std::iter::once(rows.dims.len()).chain(rows.dims.iter().copied()).map(|number| number as f64);
        let row = |row: &Row| {
            let head = [row.time, row.elements as f64, row.cells.len() as f64];
            head.into_iter().chain(row.cells.iter().copied()).collect::<Vec<_>>()
        };
        dims.chain(rows.rows().flat_map(row)).collect()
    }

    fn source(&self, subscription: u32, source: u32) -> Option<&Source> {
        self.subscriptions.get(&subscription)?.sources.get(&source)
    }

    fn kind(&self, subscription: u32, source: u32, kind: u32) -> Option<&Kind> {
        self.source(subscription, source)?.kinds.iter().find(|known| known.number == kind)
    }

    fn rows(&self, [subscription, source, kind]: [u32; 3], column: usize) -> Option<&Rows> {
        match self.kind(subscription, source, kind)?.columns.get(column)? {
            Column::Array(rows) => Some(rows),
            Column::Numbers(_) => None,
        }
    }
}

impl Subscription {
    fn take(&mut self, entry: Entry<'_>, registry: &mut Registry) {
        if self.sources.len() == SOURCES && !self.sources.contains_key(&entry.source) {
            // The source that left is forgotten, so that one that comes back is seen, as often as it does.
            let gone = self.sources.iter().find(|(_, source)| !source.is_present).map(|(number, _)| *number);
            let Some(gone) = gone else { return };
            self.sources.remove(&gone);
        }
        let source =
            self.sources.entry(entry.source).or_insert_with(|| Source { is_present: true, ..Source::default() });
        match entry.kind {
            entries::RECORD => source.record(&self.wanted, entry, registry),
            entries::GAP => source.gap(entry),
            entries::JOINED => {
                let told: Value = serde_json::from_slice(entry.content).unwrap_or_default();
                source.node = told.get("node").and_then(Value::as_str).unwrap_or_default().into();
                source.is_declared = told.get("format").is_some_and(Value::is_string);
                source.is_present = true;
            }
            entries::LEFT => source.is_present = false,
            entries::REFUSED => source.refused = Some(String::from_utf8_lossy(entry.content).into()),
            _ => {}
        }
    }
}

impl Column {
    fn new(wanted: &Wanted) -> Column {
        if wanted.is_array { Column::Array(Rows::default()) } else { Column::Numbers(History::default()) }
    }
}

impl Source {
    fn record(&mut self, wanted: &[Wanted], entry: Entry<'_>, registry: &mut Registry) {
        let Some((token, body)) = entry.content.split_first_chunk() else { return };
        let format = match registry.lookup(Token::from_bytes(*token)) {
            Ok(format) => format.clone(),
            Err(error) => return self.refused = Some(error.to_string()),
        };
        let verified = match format.verify(body) {
            Ok(body) => View::new(body),
            Err(error) => return self.refused = Some(error.to_string()),
        };
        let Some(number) = self.kind_of(wanted, &format) else { return };
        if number != self.current {
            // A line ends where records of another kind come between.
            self.kinds.iter_mut().filter(|kind| kind.number == self.current).for_each(Kind::end_lines);
            self.current = number;
        }
        if let Some(kind) = self.kinds.iter_mut().find(|kind| kind.number == number) {
            kind.record(wanted, entry, verified, &format, body);
        }
    }

    /// The number of the kind that records of a format have. `None` if the page shows nothing of them.
    fn kind_of(&mut self, wanted: &[Wanted], format: &Format) -> Option<u32> {
        if let Some(known) = self.known.get(&format.token()) {
            return *known;
        }
        let about = about(wanted, format);
        let is_shown =
            wanted.is_empty() || about["fields"].as_array().is_some_and(|all| !all.iter().all(Value::is_null));
        let known = self.kinds.iter().find(|kind| kind.about == about).map(|kind| kind.number);
        let number = is_shown.then(|| known.unwrap_or_else(|| self.add(wanted, about, format.clone())));
        if self.known.len() == KNOWN {
            self.known.clear();
        }
        self.known.insert(format.token(), number);
        number
    }

    fn add(&mut self, wanted: &[Wanted], about: Value, format: Format) -> u32 {
        if self.kinds.len() == KINDS {
            let last = |kind: &Kind| kind.times.last().copied().unwrap_or(0.0);
            let oldest = (0..KINDS).min_by(|&a, &b| last(&self.kinds[a]).total_cmp(&last(&self.kinds[b])));
            if let Some(oldest) = oldest {
                self.kinds.remove(oldest);
            }
            self.known.clear();
        }
        let number = self.made;
        self.made = self.made.wrapping_add(1);
        let columns = wanted.iter().map(Column::new).collect();
        let (newest, times, breaks) = (Vec::new(), Vec::new(), VecDeque::new());
        let is_thinned = wanted.iter().any(|wanted| wanted.greatest.is_some());
        let (sequence, events, holes) = (0, 0, vec![0; wanted.len()]);
        self.kinds.push(Kind {
            number,
            about,
            format,
            newest,
            sequence,
            events,
            times,
            columns,
            breaks,
            is_thinned,
            holes,
        });
        number
    }

    /// Lines have a break where events are lost, and where the time of a replay is another one.
    fn gap(&mut self, entry: Entry<'_>) {
        let Some(count) = long(entry.content, 0) else { return };
        if count == 0 {
            return self.kinds.iter_mut().for_each(Kind::end_lines);
        }
        let cause = String::from_utf8_lossy(&entry.content[8..]).into();
        self.lost = self.lost.saturating_add(count);
        let times = self.kinds.iter().filter_map(|kind| kind.times.last().copied());
        let time = times.reduce(f64::max).unwrap_or_else(|| seconds(entry.nanoseconds));
        if self.gaps.len() == GAPS {
            self.gaps.pop_front();
        }
        self.gaps.push_back(Gap { time, count, cause });
        self.kinds.iter_mut().for_each(Kind::end_lines);
    }
}

impl Kind {
    fn record(&mut self, wanted: &[Wanted], entry: Entry<'_>, verified: View<'_>, format: &Format, body: &[u8]) {
        let time = self.time(entry.nanoseconds);
        self.times.push(time);
        for (column, Wanted { path, .. }) in self.columns.iter_mut().zip(wanted) {
            let item = verified.get(path).unwrap_or(Item::Null);
            match column {
                Column::Numbers(history) => history.push(number(item)),
                Column::Array(rows) => {
                    if let Item::Array(array) = item {
                        rows.push(time, array.dims(), array.elements().map(number));
                    }
                }
            }
        }
        if self.is_thinned {
            self.times.push(time);
            let columns = self.columns.iter_mut().zip(&mut self.holes);
            for ((column, holes), Wanted { path, greatest, .. }) in columns.zip(wanted) {
                let Column::Numbers(history) = column else { continue };
                let greatest = number(verified.get(greatest.as_deref().unwrap_or(path)).unwrap_or(Item::Null));
                *holes += u64::from(greatest.is_nan());
                history.push(greatest);
            }
        }
        (self.sequence, self.events) = (entry.sequence, self.events + 1);
        self.newest.clear();
        self.newest.extend_from_slice(body);
        if self.format.token() != format.token() {
            self.format = format.clone();
        }
        self.keep();
    }

    /// How many seconds the newest events took; `None` if there are fewer.
    fn pace(&self) -> Option<f64> {
        let from = self.times.len().checked_sub(PACE)?;
        Some(self.times.last()? - self.times[from])
    }

    /// What comes next begins other lines.
    fn end_lines(&mut self) {
        let Some(&time) = self.times.last() else { return };
        if self.breaks.back() == Some(&time) {
            return;
        }
        if self.breaks.len() == GAPS {
            self.breaks.pop_front();
        }
        self.breaks.push_back(time);
        self.times.push(time);
        for column in &mut self.columns {
            if let Column::Numbers(history) = column {
                history.push(f64::NAN);
            }
        }
        self.keep();
    }

    /// Times never go back, so that one can be found by halves.
    fn time(&self, nanoseconds: u64) -> f64 {
        seconds(nanoseconds).max(self.times.last().copied().unwrap_or(0.0))
    }

    fn keep(&mut self) {
        if self.times.len() <= KEPT {
            return;
        }
        let histories = self.columns.iter_mut().filter_map(|column| match column {
            Column::Numbers(history) => Some(history),
            Column::Array(_) => None,
        });
        let gone = histories.map(|history| history.forget(KEPT / 8)).last().unwrap_or(KEPT / 8);
        self.times.drain(..gone);
    }
}

/// What tells kinds of records apart: the name of the record; and the fields that the page shows, or all of them for a page that shows the list.
fn about(wanted: &[Wanted], format: &Format) -> Value {
    let mut all = Vec::new();
    list("", format.structure(), &mut all);
    all.iter_mut().filter_map(Value::as_object_mut).for_each(|field| drop(field.remove("fixed")));
    let found =
        |Wanted { path, .. }: &Wanted| all.iter().find(|field| field["path"] == **path).cloned().unwrap_or_default();
    let fields = if wanted.is_empty() { all.clone() } else { wanted.iter().map(found).collect() };
    json!({"record": format.name(), "fields": fields})
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

/// A value as a number: that of a symbol, 0 or 1 for a condition.
fn number(item: Item<'_>) -> f64 {
    match item {
        Item::Boolean(value) => f64::from(value),
        Item::Char(value) => f64::from(value),
        Item::Symbol(symbol) => symbol.value as f64,
        Item::Complex([real, imaginary]) => real.to_f64().hypot(imaginary.to_f64()),
        other => other.to_f64().unwrap_or(f64::NAN),
    }
}

/// The fields that a page can show, with their paths. Fields of nested records follow; those of arrays of records do not.
fn list(before: &str, structure: &Structure, paths: &mut Vec<Value>) {
    for field in structure.fields() {
        if paths.len() == LEAVES {
            return;
        }
        let path = format!("{before}{}", field.name);
        if let (Element::Structure(inner), true) = (&field.element, field.dims.is_empty()) {
            list(&format!("{path}."), inner, paths);
            continue;
        }
        let symbols = match &field.element {
            Element::Enumeration(enumeration) => {
                let symbols = enumeration.symbols().iter();
                symbols.map(|symbol| json!([symbol.value as f64, &*symbol.name])).collect()
            }
            _ => Value::Null,
        };
        paths.push(json!({
            "path": path, "unit": field.unit.as_deref(), "symbols": symbols,
            "shown": shown(field), "dimensions": field.dims.len(),
            "fixed": field.dims.iter().map(|dim| if let Dimension::Fixed(length) = dim { json!(length) } else { Value::Null }).collect::<Value>(),
        }));
    }
}

/// How a field can be shown: as a number, an array of numbers, or a text.
fn shown(field: &Field) -> &'static str {
    let is_text = match &field.element {
        Element::String | Element::Structure(_) => true,
        Element::Char => return "text",
        _ => false,
    };
    match (is_text, field.dims.is_empty()) {
        (true, _) => "text",
        (false, true) => "number",
        (false, false) => "array",
    }
}

fn leaves(before: &str, view: View<'_>, values: &mut Vec<Value>) {
    for (field, item) in view.fields() {
        if values.len() == LEAVES {
            return;
        }
        let path = format!("{before}{}", field.name);
        match item {
            Item::Record(inner) => leaves(&format!("{path}."), inner, values),
            item => values.push(json!([path, table::cell(item, WIDTH)])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entries::tests::message;
    use isoform_core::{Layout, Shape, Value as Record, value};

    const SECOND: u64 = 1_000_000_000;

    fn format() -> Format {
        let inner = Shape::new("Place").field("x", "double").unit("m");
        let shape =
            Shape::new("Gauge").nested(inner).field("step", "long").field("name", "string").field("at", "Place");
        shape.field("depth", "float[2][3]").on(&Layout::S390X).unwrap()
    }

    fn record(format: &Format, step: i128) -> Vec<u8> {
        let row = |from: u8| (from..from + 3).map(|index| Record::Float(f64::from(index) + 0.5)).collect();
        let rows = vec![Record::Array(row(0)), Record::Array(row(3))];
        let place = Record::Record(vec![("x".into(), Record::Float(step as f64 / 2.0))]);
        let fields = vec![
            ("step".into(), Record::Integer(step)),
            ("name".into(), Record::String(b"Old Mill".to_vec())),
            ("at".into(), place),
            ("depth".into(), Record::Array(rows)),
        ];
        let mut content = format.token().as_bytes().to_vec();
        content.extend_from_slice(&value::body(format, &Record::Record(fields)).unwrap());
        content
    }

    fn watch(wanted: &str) -> Watch {
        let mut watch = Watch::default();
        watch.want(1, wanted.as_bytes()).unwrap();
        watch.push(&message(1, entries::DESCRIPTION, 0, 0, format().description().as_bytes())).unwrap();
        watch
    }

    #[test]
    fn foreign_records_become_lines_and_gaps() {
        let mut watch = watch(r#"[{"path":"at.x"},{"path":"depth","array":true},{"path":"nowhere"}]"#);
        let format = format();
        for step in 0..1000_u64 {
            watch.push(&message(1, entries::RECORD, step, (step + 1) * SECOND, &record(&format, step.into()))).unwrap();
        }
        let mut gap = 17_u64.to_le_bytes().to_vec();
        gap.extend_from_slice(b"too slow");
        watch.push(&message(1, entries::GAP, 1000, 0, &gap)).unwrap();

        let drawn = watch.draw([1, 7, 0], 0, [10.0, 12.0], 100);
        assert_eq!(
            drawn,
            [9.0, 4.0, 4.0, 10.0, 4.5, 4.5, 11.0, 5.0, 5.0, 12.0, 5.5, 5.5],
            "each number, and one on each side"
        );
        let reduced = watch.draw([1, 7, 0], 0, [1.0, 1001.0], 10);
        assert_eq!(reduced.len(), 33, "and the break at the end");
        assert_eq!(reduced[..3], [51.0, 0.0, 49.5], "the least and the greatest of a hundred");
        // A gap of no events is a break.
        watch.push(&message(1, entries::GAP, 1000, 0, &[0; 8])).unwrap();
        // What came after the gap is another line, also where each pixel has many numbers.
        for step in 1100..2000_u64 {
            watch.push(&message(1, entries::RECORD, step, (step + 1) * SECOND, &record(&format, step.into()))).unwrap();
        }
        let reduced = watch.draw([1, 7, 0], 0, [1.0, 2001.0], 20);
        let breaks: Vec<f64> = reduced.as_chunks::<3>().0.iter().filter(|of| of[1].is_nan()).map(|of| of[0]).collect();
        assert_eq!((breaks, reduced.len()), (vec![951.0], 60));
        assert!(watch.draw([1, 7, 0], 2, [0.0, 5.0], 100).iter().skip(1).step_by(3).all(|number| number.is_nan()));
        assert_eq!(watch.newest([1, 7, 0], 1), [2.0, 2.0, 3.0, 0.5, 1.5, 2.5, 3.5, 4.5, 5.5]);
        let heat = watch.heat([1, 7, 0], 1);
        assert_eq!((heat.len(), &heat[..3]), (3 + 512 * 9, &[2.0, 2.0, 3.0][..]));
        assert_eq!(heat[4..12], [6.0, 6.0, 0.5, 1.5, 2.5, 3.5, 4.5, 5.5]);
        assert_eq!(watch.gaps(1, 7), r#"[{"time":1000.0,"count":17,"cause":"too slow"}]"#);
        let sources: Value = serde_json::from_str(&watch.sources(1)).unwrap();
        assert_eq!((&sources[0]["lost"], &sources[0]["events"]), (&json!(17), &json!(1900)));
    }

    #[test]
    fn integers_that_doubles_do_not_hold_are_shown_exactly() {
        let mut watch = watch("[]");
        let content = record(&format(), (1 << 53) + 1);
        watch.push(&message(1, entries::RECORD, 0, 1, &content)).unwrap();
        assert!(watch.values(1, 7, 0).contains(r#"["step","9007199254740993"]"#), "{}", watch.values(1, 7, 0));
        assert!(watch.values(1, 7, 0).contains(r#"["name","Old Mill"]"#), "{}", watch.values(1, 7, 0));
        let told: Value = serde_json::from_str(&watch.format(1, 7, 0)).unwrap();
        let shown: Vec<_> = told["paths"]
            .as_array()
            .unwrap()
            .iter()
            .map(|path| (path["path"].clone(), path["shown"].clone()))
            .collect();
        let expected = [("step", "number"), ("name", "text"), ("at.x", "number"), ("depth", "array")];
        assert_eq!(shown, expected.map(|(path, shown)| (json!(path), json!(shown))));
    }

    /// A record with one number of this type and unit.
    fn told(watch: &mut Watch, shape: Shape, second: u64, value: Record) {
        let format = shape.on(&Layout::NATIVE).unwrap();
        watch.push(&message(1, entries::DESCRIPTION, 0, 0, format.description().as_bytes())).unwrap();
        let mut content = format.token().as_bytes().to_vec();
        let name = format.structure().fields()[0].name.clone();
        content.extend_from_slice(&value::body(&format, &Record::Record(vec![(name, value)])).unwrap());
        watch.push(&message(1, entries::RECORD, second, second * SECOND, &content)).unwrap();
    }

    fn kinds(watch: &Watch) -> Vec<(Value, Value)> {
        let sources: Value = serde_json::from_str(&watch.sources(1)).unwrap();
        sources.as_array().unwrap().iter().map(|one| (one["kind"].clone(), one["events"].clone())).collect()
    }

    #[test]
    fn another_unit_is_another_line_and_ends_the_one_before() {
        let mut watch = watch(r#"[{"path":"v"}]"#);
        let metres = |kind: &str| Shape::new("Mast").field("v", kind).unit("m");
        let feet = || Shape::new("Mast").field("v", "double").unit("ft");
        told(&mut watch, metres("double"), 1, Record::Float(1.5));
        told(&mut watch, metres("long"), 2, Record::Integer(2)); // another type, which one line shows as well
        told(&mut watch, feet(), 3, Record::Float(300.0));
        told(&mut watch, feet(), 4, Record::Float(400.0));
        told(&mut watch, metres("double"), 5, Record::Float(5.0));
        assert_eq!(kinds(&watch), [(json!(0), json!(3)), (json!(1), json!(2))]);
        let drawn = watch.draw([1, 7, 0], 0, [0.0, 9.0], 100);
        assert_eq!((&drawn[..6], &drawn[9..]), (&[1.0, 1.5, 1.5, 2.0, 2.0, 2.0][..], &[5.0; 3][..]));
        assert!(drawn[6] == 2.0 && drawn[7].is_nan() && drawn[8].is_nan(), "a break: {drawn:?}");
        assert_eq!(watch.draw([1, 7, 1], 0, [0.0, 9.0], 100)[..6], [3.0, 300.0, 300.0, 4.0, 400.0, 400.0]);
        let units =
            [0, 1].map(|kind| serde_json::from_str::<Value>(&watch.about(1, 7, kind)).unwrap()[0]["unit"].clone());
        assert_eq!(units, [json!("m"), json!("ft")]);
        assert_eq!((watch.about(1, 7, 2), watch.last(1)), ("null".into(), 5.0));
    }

    #[test]
    fn records_of_many_have_a_least_and_a_greatest_number() {
        let mut watch = watch(r#"[{"path":"c0","greatest":"d0"},{"path":"d0","greatest":"c0"}]"#);
        let format = Shape::new("Mast").field("c0", "double").field("d0", "double").on(&Layout::NATIVE).unwrap();
        watch.push(&message(1, entries::DESCRIPTION, 0, 0, format.description().as_bytes())).unwrap();
        let tell = |watch: &mut Watch, second: u64, numbers: [f64; 2]| {
            let body = numbers.map(f64::to_ne_bytes).concat();
            let content = [&format.token().as_bytes()[..], &body].concat();
            watch.push(&message(1, entries::RECORD, second, second * SECOND, &content)).unwrap();
        };
        tell(&mut watch, 1, [-1.0, 5.0]);
        tell(&mut watch, 2, [-2.0, -2.0]);
        // At the edges of what is seen, too.
        assert_eq!(watch.draw([1, 7, 0], 0, [1.5, 1.6], 100), [1.0, -1.0, 5.0, 2.0, -2.0, -2.0]);
        watch.push(&message(1, entries::GAP, 3, 0, &7_u64.to_le_bytes())).unwrap();
        tell(&mut watch, 3, [0.0, 3.0]);
        assert!(watch.draw([1, 7, 0], 0, [2.5, 2.6], 100).ends_with(&[3.0, 0.0, 3.0]));
        let drawn = watch.draw([1, 7, 0], 0, [0.0, 9.0], 100);
        assert_eq!((&drawn[..6], &drawn[9..]), (&[1.0, -1.0, 5.0, 2.0, -2.0, -2.0][..], &[3.0, 0.0, 3.0][..]));
        assert!(drawn[6] == 2.0 && drawn[7].is_nan(), "{drawn:?}");
        assert_eq!(watch.draw([1, 7, 0], 0, [0.0, 4.0], 1)[..3], [2.0, -2.0, 5.0]);
        assert!(watch.sources(1).contains(r#""holes":[0,0]"#));
        tell(&mut watch, 4, [1.0, f64::NAN]);
        assert!(watch.sources(1).contains(r#""holes":[1,0]"#) && watch.sources(1).contains(r#""events":4"#));
    }

    #[test]
    fn records_without_the_field_break_no_line() {
        let mut watch = watch(r#"[{"path":"v"}]"#);
        for second in 1..=4 {
            told(&mut watch, Shape::new("Mast").field("v", "double"), second, Record::Float(second as f64));
            told(&mut watch, Shape::new("Mast").field("w", "double"), second, Record::Float(0.5));
        }
        assert_eq!(kinds(&watch), [(json!(0), json!(4))]);
        assert_eq!(watch.draw([1, 7, 0], 0, [0.0, 9.0], 100)[..6], [1.0, 1.0, 1.0, 2.0, 2.0, 2.0]);
        // The list of a page shows all of them.
        let mut watch = super::tests::watch("[]");
        told(&mut watch, Shape::new("Mast").field("v", "double"), 1, Record::Float(1.0));
        told(&mut watch, Shape::new("Mast").field("w", "double"), 2, Record::Float(2.0));
        assert_eq!(watch.values(1, 7, 0), r#"[["v","1.0"]]"#);
        assert_eq!(watch.values(1, 7, 1), r#"[["w","2.0"]]"#);
    }

    #[test]
    fn there_is_an_end_to_kinds() {
        let mut watch = watch(r#"[{"path":"v"}]"#);
        for second in 1..=3 * KINDS as u64 {
            let shape = Shape::new("Mast").field("v", "double").unit(format!("u{second}"));
            told(&mut watch, shape, second, Record::Float(second as f64));
        }
        let numbers: Vec<_> = kinds(&watch).into_iter().map(|(number, _)| number.as_u64().unwrap()).collect();
        assert_eq!(numbers, (2 * KINDS as u64..3 * KINDS as u64).collect::<Vec<_>>());
    }

    #[test]
    fn the_oldest_numbers_are_forgotten() {
        let mut watch = watch(r#"[{"path":"step"}]"#);
        let content = record(&format(), 5);
        for step in 0..KEPT as u64 + 10 {
            watch.push(&message(1, entries::RECORD, step, step * 1000, &content)).unwrap();
        }
        let kind = watch.kind(1, 7, 0).unwrap();
        assert_eq!(kind.times.len(), KEPT + 10 - KEPT / 8);
        assert_eq!(watch.draw([1, 7, 0], 0, [0.0, 10.0], 4).len() % 3, 0);
    }

    #[test]
    fn a_source_tells_whether_it_has_declared_its_format() {
        let mut watch = watch("[]");
        for (told, is_declared) in [(r#"{"format":"Mast"}"#, true), (r#"{"format":null}"#, false), ("{}", false)] {
            watch.push(&message(1, entries::JOINED, 0, 0, told.as_bytes()));
            let sources: Value = serde_json::from_str(&watch.sources(1)).unwrap();
            assert_eq!(sources[0]["declared"], json!(is_declared), "{told}");
        }
    }

    #[test]
    fn a_source_that_comes_back_is_seen_as_often_as_it_does() {
        let mut watch = watch(r#"[{"path":"step"}]"#);
        let content = record(&format(), 5);
        let from = |source: u32, kind: u32, content: &[u8]| {
            let mut message = message(1, kind, 0, SECOND, content);
            message[12..16].copy_from_slice(&source.to_le_bytes());
            message
        };
        for source in 0..2 * SOURCES as u32 {
            watch.push(&from(source, entries::JOINED, b"{}"));
            watch.push(&from(source, entries::RECORD, &content));
            assert_eq!(watch.draw([1, source, 0], 0, [0.0, 5.0], 10).len(), 3, "source {source}");
            watch.push(&from(source, entries::LEFT, b""));
        }
        // Those that are there keep their places.
        for source in 0..SOURCES as u32 + 1 {
            watch.push(&from(1000 + source, entries::JOINED, b"{}"));
        }
        assert!(watch.source(1, 1000).is_some() && watch.source(1, 1000 + SOURCES as u32).is_none());
    }

    #[test]
    fn hostile_messages_do_no_harm() {
        let mut watch = watch(r#"[{"path":"at.x"},{"path":"depth","array":true}]"#);
        let whole = message(1, entries::RECORD, 0, 1, &record(&format(), 5));
        let mut state = 7_u64;
        for _ in 0..20_000 {
            let mut bytes = whole.clone();
            for _ in 0..3 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let at = usize::try_from(state >> 33).unwrap() % bytes.len();
                bytes[at] ^= (state >> 20) as u8;
            }
            watch.push(&bytes);
        }
        watch.draw([1, 7, 0], 0, [f64::NAN, f64::INFINITY], 0);
        watch.draw([1, 7, 0], 0, [5.0, -5.0], 100);
        watch.draw([1, 7, 0], 9, [0.0, 1.0], usize::MAX);
        assert!(watch.subscriptions[&1].sources.len() <= SOURCES);
        assert!(watch.want(2, b"[{}]").is_none() && watch.want(2, b"\xff").is_none());
        // What comes of an unknown format is told, and the rest goes on.
        watch.push(&message(1, entries::RECORD, 0, 1, &[0; 40]));
        assert!(watch.sources(1).contains("unknown format"), "{}", watch.sources(1));
    }
}
