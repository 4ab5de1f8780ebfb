use super::*;
use crate::names::Rule;
use isoform_core::{Format, Layout, Shape, Token};
use redb::StorageBackend;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

fn memory(quota: Quota) -> Store {
    Store::in_memory(quota).unwrap()
}

fn format(name: &str, fields: &[&str]) -> Format {
    fields.iter().fold(Shape::new(name), |shape, field| shape.field(*field, "int")).on(&Layout::NATIVE).unwrap()
}

fn declaration(formats: &[&Format]) -> Value {
    json!({ "formats": formats.iter().map(|format| format.token().to_string()).collect::<Vec<_>>() })
}

#[test]
fn formats_are_found_by_token_name_and_field() {
    let store = memory(Quota::default());
    let (a, b) = (format("Gauge", &["step", "depth"]), format("Gauge", &["step"]));
    let shapes = "record Point\n x double\n y double\nrecord Track\n n int\n points Point[n]\n";
    let track = Shape::parse(shapes).unwrap().on(&Layout::NATIVE).unwrap();
    for format in [&a, &b, &track] {
        assert!(store.put(format).unwrap().is_new);
        assert!(!store.put(format).unwrap().is_new);
        assert_eq!(store.format(format.token()).unwrap().as_ref(), Some(format));
    }
    assert_eq!(store.count().unwrap(), 3);
    assert_eq!(store.get(Token::from_bytes([7; 16])).unwrap(), None);
    let search = |name, field| store.search(name, field, None, 10).unwrap().tokens;
    let sorted = |formats: &[&Format]| {
        let mut tokens: Vec<Token> = formats.iter().map(|format| format.token()).collect();
        tokens.sort();
        tokens
    };
    assert_eq!(search(None, None), sorted(&[&a, &b, &track]));
    assert_eq!(search(Some("Gauge"), None), sorted(&[&a, &b]));
    assert_eq!(search(Some("Gauge"), Some("depth")), sorted(&[&a]));
    assert_eq!(search(None, Some("step")), sorted(&[&a, &b]));
    assert_eq!(search(None, Some("x")), sorted(&[&track]));
    assert_eq!(search(None, Some("points.x")), sorted(&[&track]));
    assert_eq!(search(None, Some("point.x")), []);
    assert_eq!(search(None, Some("x.points")), []);
    assert_eq!(search(Some("Lake"), None), []);
    // A page at a time.
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = store.search(None, None, after, 1).unwrap();
        all.extend(page.tokens.iter().copied());
        after = page.tokens.last().copied();
        if !page.more {
            break;
        }
        assert_eq!(page.tokens.len(), 1);
    }
    assert_eq!(all, sorted(&[&a, &b, &track]));
    let (changes, last) = store.changes(1, 10).unwrap();
    assert_eq!((changes, last), (vec![(2, b.token()), (3, track.token())], 3));
}

#[test]
fn quotas_refuse_and_change_nothing() {
    let quota = Quota { formats: 2, names: 1, versions: 2, name_bytes: 400 };
    let store = memory(quota);
    let formats = [format("A", &["a"]), format("B", &["a"]), format("C", &["a"])];
    store.put(&formats[0]).unwrap();
    store.put(&formats[1]).unwrap();
    assert_eq!(store.put(&formats[2]).unwrap_err().code(), Code::Budget);
    store.put(&formats[0]).unwrap();
    assert_eq!(store.changes(0, 10).unwrap().1, 2);
    store.set_rule("river", Rule::None).unwrap();
    assert_eq!(store.set_rule("lake", Rule::None).unwrap_err().code(), Code::Budget);
    let one = declaration(&[&formats[0]]);
    let two = declaration(&[&formats[1]]);
    assert_eq!(store.add_version("river", &one).unwrap().unwrap(), (1, true));
    assert_eq!(store.add_version("river", &two).unwrap().unwrap(), (2, true));
    assert_eq!(store.add_version("river", &one).unwrap_err().code(), Code::Budget);
    let long = Prose { about: "x".repeat(500), ..Prose::default() };
    assert_eq!(store.set_prose("river", long).unwrap_err().code(), Code::Budget);
    assert_eq!(store.name("river").unwrap().unwrap().versions.len(), 2);
    for name in ["", "a\nb", &"x".repeat(256)] {
        assert_eq!(store.set_rule(name, Rule::None).unwrap_err().code(), Code::Text);
    }
}

#[test]
fn names_have_versions_that_keep_their_rule() {
    let store = memory(Quota::default());
    let (one, two) = (format("River", &["a"]), format("River", &["a", "b"]));
    store.put(&one).unwrap();
    assert_eq!(store.add_version("river", &declaration(&[&two])).unwrap_err().code(), Code::UnknownFormat);
    assert_eq!(store.name("river").unwrap(), None, "a refused version makes no name");
    store.put(&two).unwrap();
    assert_eq!(store.add_version("river", &declaration(&[&two])).unwrap().unwrap(), (1, true));
    assert_eq!(store.add_version("river", &declaration(&[&two])).unwrap().unwrap(), (1, false));
    // BACKWARD: readers of fewer fields read what there is; the reverse is refused with the field.
    assert_eq!(store.add_version("river", &declaration(&[&one])).unwrap().unwrap(), (2, true));
    let refused = store.add_version("river", &declaration(&[&two])).unwrap().unwrap_err();
    assert_eq!((refused[0].reader, refused[0].writer, refused[0].fields[0].path()), (3, 2, "b"));
    assert_eq!(store.check("river", &declaration(&[&two])).unwrap().len(), 1);
    // Retired versions no longer count.
    assert!(store.retire("river", 2).unwrap());
    assert!(!store.retire("river", 7).unwrap());
    assert!(!store.retire("lake", 1).unwrap());
    assert!(store.check("river", &declaration(&[&two])).unwrap().is_empty());
    let state = store.name("river").unwrap().unwrap();
    assert_eq!(state.latest().unwrap().number, 1);
    assert_eq!(Name::from_json(&state.to_json()).unwrap().to_json(), state.to_json());
    let (list, next) = store.names("riv", "", None, 10).unwrap();
    assert_eq!((list.len(), list[0].versions, list[0].latest, next), (1, 2, Some(1), None));
    // Each name is listed once among the changes, with its last one.
    store.set_rule("lake", Rule::Full).unwrap();
    store.set_rule("river", Rule::Full).unwrap();
    let (changes, last) = store.name_changes(0, 10).unwrap();
    let names: Vec<&str> = changes.iter().map(|change| &*change.name).collect();
    assert_eq!((names, last), (vec!["lake", "river"], changes[1].sequence));
}

/// A disk that loses what was not synced when the power fails, as it does again and again.
#[derive(Clone, Debug, Default)]
struct Disk(Arc<Mutex<Sectors>>);

#[derive(Debug, Default)]
struct Sectors {
    synced: Vec<u8>,
    now: Vec<u8>,
    /// The pages of `now` that were written since the last sync.
    unsynced: BTreeSet<usize>,
    /// The state of the coin that is tossed: the same in each run.
    coin: u64,
    /// What was left after each loss of power, with the number of changes that were acknowledged before it.
    losses: Vec<(usize, Vec<u8>)>,
    acknowledged: usize,
}

const PAGE: usize = 512;

impl Sectors {
    fn toss(&mut self) -> bool {
        self.coin = self.coin.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.coin >> 63 == 1
    }

    /// Notes what would be left if the power failed now: of the pages that were not synced, any may have arrived.
    fn lose_power(&mut self) {
        let mut left = self.synced.clone();
        if self.now.len() > left.len() && self.toss() {
            left.resize(self.now.len(), 0);
        }
        for page in self.unsynced.clone() {
            let end = ((page + 1) * PAGE).min(left.len()).min(self.now.len());
            if page * PAGE < end && self.toss() {
                left[page * PAGE..end].copy_from_slice(&self.now[page * PAGE..end]);
            }
        }
        self.losses.push((self.acknowledged, left));
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> Result<u64, std::io::Error> {
        Ok(self.0.lock().unwrap().now.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), std::io::Error> {
        let start = offset as usize;
        out.copy_from_slice(&self.0.lock().unwrap().now[start..start + out.len()]);
        Ok(())
    }

    fn set_len(&self, length: u64) -> Result<(), std::io::Error> {
        self.0.lock().unwrap().now.resize(length as usize, 0);
        Ok(())
    }

    fn sync_data(&self) -> Result<(), std::io::Error> {
        let sectors = &mut *self.0.lock().unwrap();
        sectors.lose_power();
        sectors.synced.clone_from(&sectors.now);
        sectors.unsynced.clear();
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), std::io::Error> {
        let sectors = &mut *self.0.lock().unwrap();
        let start = offset as usize;
        sectors.now[start..start + data.len()].copy_from_slice(data);
        sectors.unsynced.extend(start / PAGE..=(start + data.len()).saturating_sub(1) / PAGE);
        Ok(())
    }
}

#[test]
#[allow(clippy::print_stdout, reason = "the account is what the test is for")]
fn a_loss_of_power_loses_nothing_that_was_acknowledged() {
    let open = |disk: Disk| Store::of(Database::builder().create_with_backend(disk).unwrap(), Quota::default());
    let disk = Disk::default();
    let store = open(disk.clone()).unwrap();
    disk.0.lock().unwrap().losses.clear();
    let formats: Vec<Format> = (0..30).map(|round| format("River", &[&format!("field{round}")])).collect();
    for format in &formats {
        store.put(format).unwrap();
        disk.0.lock().unwrap().acknowledged += 1;
        assert_eq!(
            store.add_version(format.token().to_string().as_str(), &declaration(&[format])).unwrap(),
            Ok((1, true))
        );
        disk.0.lock().unwrap().acknowledged += 1;
    }
    let losses = std::mem::take(&mut disk.0.lock().unwrap().losses);
    assert!(losses.len() >= 60, "{} losses", losses.len());
    let account = format!("{} losses of power, {} changes", losses.len(), 2 * formats.len());
    for (at, (acknowledged, left)) in losses.into_iter().enumerate() {
        let sectors = Sectors { synced: left.clone(), now: left, ..Sectors::default() };
        let after = open(Disk(Arc::new(Mutex::new(sectors)))).unwrap_or_else(|error| panic!("loss {at}: {error}"));
        for (number, format) in formats.iter().enumerate() {
            let (there, named) =
                (after.format(format.token()).unwrap(), after.name(&format.token().to_string()).unwrap());
            assert!(there.is_some() || 2 * number >= acknowledged, "loss {at}: format {number} of {acknowledged}");
            assert!(named.is_some() || 2 * number + 1 >= acknowledged, "loss {at}: name {number} of {acknowledged}");
        }
        // What was under way is there as a whole or not at all.
        let count = after.count().unwrap();
        assert_eq!(after.changes(0, 1000).unwrap().0.len() as u64, count);
        assert_eq!(after.search(Some("River"), None, None, 1000).unwrap().tokens.len() as u64, count);
    }
    println!("{account}: none is lost that was acknowledged before a loss");
}

#[test]
fn one_page_of_a_search_parses_few_formats() {
    let store = memory(Quota::default());
    let formats: Vec<Format> = (0..17).map(|i| format("Gauge", &["step", &["f", &i.to_string()].concat()])).collect();
    formats.iter().for_each(|format| assert!(store.put(format).unwrap().is_new));
    let pages = |field: &str| {
        let (mut found, mut pages, mut after) = (Vec::new(), 0, None);
        loop {
            let page = store.search(Some("Gauge"), Some(field), after, 100).unwrap();
            found.extend(page.tokens);
            pages += 1;
            after = page.last;
            if !page.more {
                return (found, pages);
            }
        }
    };
    // Five are parsed for each page of the tests.
    assert_eq!(pages("nowhere"), (vec![], 4));
    assert_eq!(pages("f16"), (vec![formats[16].token()], 4));
    assert_eq!(pages("step").0.len(), 17);
}

#[test]
fn a_text_is_found_within_names_and_each_page_looks_at_little() {
    let store = memory(Quota::default());
    let mut formats: Vec<Format> =
        (0..60).map(|number| format(&format!("Gauge{number}"), &["step", &format!("waterDepth{number}")])).collect();
    let with_unit = Shape::new("Wind").field("speed", "float").unit("depthless").on(&Layout::NATIVE).unwrap();
    formats.push(with_unit);
    store.put_all(&formats).unwrap();
    let pages = |text: &str, limit: usize| {
        let (mut found, mut pages, mut after) = (Vec::new(), 0, None);
        loop {
            let page = store.containing(text, after, limit).unwrap();
            assert!(page.tokens.len() <= limit && (!page.more || page.last > after));
            found.extend(page.tokens);
            pages += 1;
            after = page.last;
            if !page.more {
                return (found, pages);
            }
        }
    };
    assert_eq!(pages("DEPTH59", 100).0, [formats[59].token()]);
    assert_eq!(pages("auge5", 100).0.len(), 11);
    assert_eq!(pages("depthless", 100).0, [], "a unit is no name");
    let (all, count) = pages("waterdepth", 100);
    assert_eq!(all.len(), 60);
    assert!(all.is_sorted() && count >= 60 / 5, "{count} pages, each of which parses five");
    assert!(pages("nowhere", 100).1 > 1, "each looks through 2,000 bytes");
    assert_eq!(pages("", 1).0.len(), 61);
    for number in 0..30 {
        let prose = Prose { about: "x".repeat(300), ..Prose::default() };
        store.set_prose(&format!("River {number}"), prose).unwrap();
    }
    let names = |prefix: &str, text: &str| {
        let (mut found, mut pages, mut after) = (Vec::new(), 0, None);
        loop {
            let (page, next) = store.names(prefix, text, after.as_deref(), 100).unwrap();
            found.extend(page.into_iter().map(|name| name.name));
            pages += 1;
            if next.is_none() {
                return (found, pages);
            }
            assert!(next > after);
            after = next;
        }
    };
    assert_eq!(names("", "VER 29").0, ["River 29"]);
    assert_eq!(names("River 1", "5").0, ["River 15"]);
    let (all, count) = names("", "river");
    assert!(all.len() == 30 && count > 3, "{} names in {count} pages", all.len());
    // What replicas ask for has a bound too, and nothing is left out.
    let (mut after, mut seen, mut pages) = (0, 0, 0);
    loop {
        let (changes, last) = store.name_changes(after, 1000).unwrap();
        (seen, pages) = (seen + changes.len(), pages + 1);
        after = changes.last().unwrap().sequence;
        if after == last {
            break;
        }
    }
    assert!(seen == 30 && pages > 3, "{seen} changes in {pages} pages");
}

#[test]
fn a_version_that_is_too_much_to_compare_is_refused_and_retiring_others_helps() {
    let store = memory(Quota::default());
    let wide = |more: usize| {
        let fields: Vec<String> = (0..500 + more).map(|number| format!("f{number}")).collect();
        format("Wide", &fields.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let formats: Vec<Format> = (0..4).map(wide).collect();
    store.put_all(&formats).unwrap();
    store.set_rule("wide", Rule::None).unwrap();
    let turned = |turn: usize| {
        let mut formats: Vec<&Format> = formats.iter().collect();
        formats.rotate_left(turn % 4);
        declaration(&formats)
    };
    for turn in 0..40 {
        assert_eq!(store.add_version("wide", &turned(turn)).unwrap(), Ok((turn as u64 + 1, true)));
    }
    let one = declaration(&[&formats[3]]);
    assert!(store.check("wide", &one).unwrap().is_empty(), "NONE compares nothing");
    store.set_rule("wide", Rule::ForwardTransitive).unwrap();
    assert_eq!(store.check("wide", &one).unwrap_err().code(), Code::Fields);
    assert_eq!(store.add_version("wide", &one).unwrap_err().code(), Code::Fields);
    assert_eq!(store.name("wide").unwrap().unwrap().versions.len(), 40);
    (1..=30).for_each(|number| assert!(store.retire("wide", number).unwrap()));
    assert_eq!(store.add_version("wide", &one).unwrap(), Ok((41, true)));
}

#[test]
fn writers_of_one_name_lose_nothing() {
    let store = memory(Quota::default());
    let formats: Vec<Format> = (0..8).map(|number| format("Gauge", &["step", &format!("f{number}")])).collect();
    store.put_all(&formats).unwrap();
    store.set_rule("gauge", Rule::None).unwrap();
    std::thread::scope(|scope| {
        for format in &formats {
            let store = &store;
            scope.spawn(move || {
                for other in ["a", "b", "c"] {
                    let version = json!({ "formats": [format.token().to_string()], "rules": { "Gauge": { "step": { "aliases": [other] } } } });
                    store.add_version("gauge", &version).unwrap().unwrap();
                }
            });
        }
    });
    let numbers: Vec<u64> =
        store.name("gauge").unwrap().unwrap().versions.iter().map(|version| version.number).collect();
    assert_eq!(numbers, (1..=24).collect::<Vec<u64>>());
}

#[test]
fn a_copied_name_is_listed_once_and_the_same_again_is_no_change() {
    let (first, copy) = (memory(Quota::default()), memory(Quota::default()));
    let gauge = format("Gauge", &["step"]);
    first.put(&gauge).unwrap();
    first.set_rule("empty", Rule::Backward).unwrap();
    for rule in [Rule::None, Rule::Full, Rule::None] {
        first.set_rule("gauge", rule).unwrap();
        for _ in 0..2 {
            for change in first.name_changes(0, 100).unwrap().0 {
                copy.copy_name(&change.name, &change.state.to_json()).unwrap();
            }
        }
    }
    let (changes, end) = copy.name_changes(0, 100).unwrap();
    let listed: Vec<&str> = changes.iter().map(|change| &*change.name).collect();
    assert_eq!((listed, end), (vec!["empty", "gauge"], 4), "one of the one, three of the other");
    assert_eq!(copy.name("gauge").unwrap().unwrap().rule, Rule::None);
}

#[test]
fn a_name_that_cannot_be_is_not_copied() {
    let store = memory(Quota::default());
    let gauge = format("Gauge", &["step"]);
    store.put(&gauge).unwrap();
    let token = gauge.token().to_string();
    let version = |number: u64| json!({ "number": number, "registered": 5, "retired": false, "formats": [token] });
    let name = |versions: Value| json!({ "rule": "NONE", "versions": versions, "prose": {} });
    let with = |entry: &str, value: Value| {
        let mut version = version(1);
        version[entry] = value;
        name(json!([version]))
    };
    for state in [
        with("number", json!(0)),
        with("number", json!(u64::MAX)),
        with("registered", json!(u64::MAX)),
        with("formats", json!([])),
        with("formats", json!(vec![&token; 65])),
        with("formats", json!([token.to_uppercase() + "A"])),
        with("formats", json!(["ABCDEF00000000000000000000000000"])),
        with("rules", json!({"x": 5})),
        with("rules", json!({"Gauge": {"step": {"aliases": 7}}})),
        name(json!([version(2), version(2)])),
    ] {
        assert_eq!(store.copy_name("evil", &state).unwrap_err().code(), Code::Text, "{state}");
    }
    // The largest number of all leaves none for another version.
    store.copy_name("full", &name(json!([version((1 << 53) - 1)]))).unwrap();
    let next = json!({ "formats": [token], "rules": { "Gauge": { "step": { "aliases": ["s"] } } } });
    assert_eq!(store.add_version("full", &next).unwrap_err().code(), Code::Budget);
    assert_eq!(store.check("full", &next).unwrap(), []);
    assert!(store.name("full").unwrap().is_some());
}

type Damage = fn(&mut Vec<u8>);

/// A file that the disk has damaged, or that is another program's: an error that says what to do, whatever the database makes of it.
#[test]
fn a_damaged_store_is_an_error_that_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("formats.redb");
    let formats: Vec<Format> = (0..50).map(|number| format("Gauge", &["step", &format!("f{number}")])).collect();
    Store::open(&file, Quota::default()).unwrap().put_all(&formats).unwrap();
    let whole = std::fs::read(&file).unwrap();
    let damages: [Damage; 7] = [
        |bytes| bytes.truncate(bytes.len() / 2),
        |bytes| bytes.truncate(100),
        |bytes| bytes[..4096].fill(0),
        |bytes| bytes[64..4096].fill(0xff),
        |bytes| bytes[4096..].fill(0),
        |bytes| bytes[4096..].fill(0xff),
        |bytes| *bytes = b"no database at all".repeat(1000),
    ];
    for (at, damage) in damages.iter().enumerate() {
        let mut bytes = whole.clone();
        damage(&mut bytes);
        std::fs::write(&file, bytes).unwrap();
        // Some damage shows later, when what is there is read.
        if let Err(error) = Store::open(&file, Quota::default()) {
            let told = error.to_string();
            assert!(error.code() == Code::Io && told.contains("formats.redb"), "{at}: {told}");
            assert!(told.contains("restore a backup"), "{at}: {told}");
        }
    }
}

/// A damaged entry is an error that names its token, and not the end of a thread.
#[test]
fn a_damaged_entry_is_an_error_that_names_its_token() {
    let store = memory(Quota::default());
    let gauge = format("Gauge", &["step", "depth"]);
    let token = gauge.token();
    store.put(&gauge).unwrap();
    for damaged in [&[][..], &[7; 31], &[7; 40]] {
        let write = store.begin_write().unwrap();
        write.open_table(FORMATS).unwrap().insert(token.as_bytes(), damaged).unwrap();
        store.commit(write).unwrap();
        let errors = [
            store.format(token).map(|_| ()),
            store.search(Some("Gauge"), Some("depth"), None, 9).map(|_| ()),
            store.containing("", None, 9).map(|_| ()),
        ];
        for outcome in errors {
            let error = outcome.unwrap_err();
            assert_eq!(error.code(), Code::Io);
            assert!(error.to_string().contains(&token.to_string()), "{error}");
        }
        let put = store.put(&gauge);
        assert!(put.is_err(), "{put:?}");
        if damaged.len() < 32 {
            assert!(store.get(token).unwrap_err().to_string().contains(&token.to_string()));
        }
    }
}

/// Formats that differ by a field.
fn formats(letter: &str, count: usize) -> Vec<Format> {
    (0..count).map(|number| format(&format!("{letter}{number}"), &[&*format!("{letter}{number}")])).collect()
}

fn there(store: &Store, all: &[Format]) -> Vec<bool> {
    let there: Vec<bool> = all.iter().map(|format| store.get(format.token()).unwrap().is_some()).collect();
    for (format, is_there) in all.iter().zip(&there) {
        // The indexes and the list for replicas say the same.
        let by = |name, field| store.search(name, field, None, 10).unwrap().tokens == [format.token()];
        assert_eq!((by(Some(format.name()), None), by(None, Some(format.name()))), (*is_there, *is_there));
        let (changes, _) = store.changes(0, 1000).unwrap();
        assert_eq!(changes.iter().any(|(_, token)| *token == format.token()), *is_there);
    }
    there
}

fn count(store: &Store, all: &[Format]) -> usize {
    there(store, all).iter().filter(|is_there| **is_there).count()
}

#[test]
fn copies_leave_the_room_to_clients_and_share_it() {
    let store = memory(Quota { formats: 10, ..Quota::default() });
    let (own, lies, honest) = (formats("o", 11), formats("l", 100), formats("h", 4));
    own[..3].iter().for_each(|format| assert!(store.put(format).unwrap().is_new));
    let copied = store.put_copies("liar", &lies).unwrap();
    assert_eq!((copied, store.count().unwrap()), (Copied { new: 100, gone: 93 }, 10));
    assert_eq!((count(&store, &own), count(&store, &lies[93..])), (3, 7), "the oldest have gone");
    // Another peer gets an equal share of what is left, and keeps it.
    assert_eq!(store.put_copies("honest", &honest).unwrap(), Copied { new: 4, gone: 4 });
    assert_eq!((count(&store, &own), count(&store, &lies), count(&store, &honest)), (3, 3, 4));
    store.put_copies("liar", &lies[..90]).unwrap();
    assert_eq!((count(&store, &own), count(&store, &lies), count(&store, &honest)), (3, 4, 3));
    // Clients have all of it if they want.
    own[3..10].iter().for_each(|format| assert!(store.put(format).unwrap().is_new));
    assert_eq!((count(&store, &own), store.count().unwrap()), (10, 10));
    assert_eq!(store.put(&own[10]).unwrap_err().code(), Code::Budget);
    assert_eq!(store.put_copies("honest", &honest).unwrap_err().code(), Code::Budget);
    assert_eq!(count(&store, &own), 10);
}

#[test]
fn what_clients_ask_for_gives_way_last() {
    let store = memory(Quota { formats: 4, ..Quota::default() });
    let lies = formats("l", 8);
    store.put_copies("liar", &lies[..4]).unwrap();
    store.note_use(lies[0].token());
    store.put_copies("liar", &lies[4..7]).unwrap();
    assert_eq!(there(&store, &lies), [true, false, false, false, true, true, true, false]);
    store.put_copies("liar", &lies[7..]).unwrap();
    assert_eq!(there(&store, &lies), [false, false, false, false, true, true, true, true], "once more by one");
}

#[test]
fn copies_that_clients_store_or_names_have_stay() {
    let store = memory(Quota { formats: 4, ..Quota::default() });
    let (lies, known) = (formats("l", 20), formats("k", 3));
    store.put_copies("liar", &known).unwrap();
    assert!(!store.put(&known[0]).unwrap().is_new);
    store.add_version("river", &declaration(&[&known[1]])).unwrap().unwrap();
    let state = json!({
        "rule": "NONE", "prose": null,
        "versions": [{"number": 1, "registered": 1, "retired": false, "formats": [known[2].token().to_string()]}],
    });
    store.copy_name("lake", &state).unwrap();
    store.put_copies("liar", &lies).unwrap();
    assert_eq!((count(&store, &known), count(&store, &lies), store.count().unwrap()), (3, 1, 4));
}

fn version_of(format: &Format) -> Value {
    let formats = [format.token().to_string()];
    let version = json!({ "number": 1, "registered": 1, "retired": false, "formats": formats });
    json!({ "rule": "NONE", "prose": null, "versions": [version] })
}

#[test]
fn formats_that_come_after_their_name_stay() {
    let store = memory(Quota { formats: 4, ..Quota::default() });
    let (lies, known) = (formats("l", 20), formats("k", 2));
    store.copy_name("lake", &version_of(&known[0])).unwrap();
    store.put_copies("honest", &known).unwrap();
    store.put_copies("liar", &lies).unwrap();
    assert!(!store.is_copy(known[0].token()).unwrap() && store.is_copy(known[1].token()).unwrap());
    (0..4).for_each(|at| drop(store.put(&lies[at])));
    assert_eq!(there(&store, &known), [true, false]);
    // A name that no longer has a format needs it no more.
    let store = memory(Quota { formats: 4, ..Quota::default() });
    store.copy_name("lake", &version_of(&known[0])).unwrap();
    store.copy_name("lake", &version_of(&known[1])).unwrap();
    store.put_copies("honest", &known).unwrap();
    store.put_copies("honest", &lies).unwrap();
    assert_eq!(there(&store, &known), [false, true]);
}

/// A store of an older version does not say which formats its names have.
#[test]
fn formats_of_names_are_known_when_a_store_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let open = || Store::open(&folder.path().join("formats.redb"), Quota { formats: 3, ..Quota::default() }).unwrap();
    let (lies, known) = (formats("l", 20), formats("k", 2));
    let store = open();
    store.put_copies("honest", &known[..1]).unwrap();
    store.copy_name("lake", &version_of(&known[1])).unwrap();
    store.copy_name("river", &version_of(&known[0])).unwrap();
    let write = store.begin_write().unwrap();
    assert!(write.delete_multimap_table(NAMED).unwrap());
    store.commit(write).unwrap();
    drop(store);
    let store = open();
    store.put_copies("honest", &known[1..]).unwrap();
    store.put_copies("liar", &lies).unwrap();
    assert_eq!(there(&store, &known), [true, true]);
}

/// What two peers have is a share of both, whichever lists it first.
#[test]
fn formats_that_two_peers_have_are_shared() {
    let store = memory(Quota { formats: 10, ..Quota::default() });
    let all = formats("f", 10);
    let tokens: Vec<Token> = all.iter().map(Format::token).collect();
    store.put_copies("a", &all[..6]).unwrap();
    store.share("b", &tokens).unwrap();
    assert_eq!(store.shortfall("b").unwrap(), 0, "there is room");
    store.put_copies("a", &all[6..]).unwrap();
    assert_eq!((store.shortfall("a").unwrap(), store.shortfall("b").unwrap()), (0, 2));
    store.put_copies("b", &all).unwrap();
    assert_eq!((store.shortfall("a").unwrap(), store.shortfall("b").unwrap()), (0, 0));
    store.share("a", &tokens).unwrap();
    store.share("unknown", &[]).unwrap();
    assert_eq!((store.shortfall("a").unwrap(), store.shortfall("unknown").unwrap()), (0, 2));
}

/// A store that was closed knows its copies, and one of an older version has none.
#[test]
fn copies_are_known_when_a_store_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let open = || Store::open(&folder.path().join("formats.redb"), Quota { formats: 3, ..Quota::default() }).unwrap();
    let (own, lies) = (formats("o", 3), formats("l", 3));
    open().put_copies("liar", &lies).unwrap();
    let store = open();
    own.iter().for_each(|format| assert!(store.put(format).unwrap().is_new));
    assert_eq!((count(&store, &own), count(&store, &lies)), (3, 0));
}
