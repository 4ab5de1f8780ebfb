//! Inputs to begin with: out of `vectors/`, random records, and what nodes say that mean no harm.

use crate::conversion::GENERATED;
use crate::mutate::{damaged, messages_of};
use crate::parts::join;
use isoform::core::declare::Type;
use isoform::core::{Layout, Shape, value};
use isoform::text::format::to_json;
use isoform::text::json;
use isoform::{Format, View};
use isoform_hostile::links;
use isoform_testing::mutate::Random;
use isoform_testing::{any_record, any_value, drawn};
use isoform_xmit::Language;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// So many random records, besides those of the vectors.
const RANDOM: usize = 150;

/// Larger inputs are not worth their time.
const LARGEST: usize = 16 << 10;

/// The inputs that a target begins with, each once.
///
/// # Panics
/// If `vectors/` cannot be read.
pub fn of(target: &str) -> BTreeSet<Vec<u8>> {
    match target {
        "description" => messages().into_iter().map(|(description, _)| description).collect(),
        "message" => messages().iter().map(|(description, body)| join(&[description, body])).collect(),
        "conversion" => conversions(),
        "stream" => streams().iter().map(|stream| [&[0; 8], &stream[..]].concat()).collect(),
        "field_list" => declarations(),
        "json" => records_as_json(),
        "handshake" => short(links::handshake_seeds()),
        "frames" => short(links::frame_seeds()),
        "query" => queries(),
        "rules" => rules(),
        "document" => documents(),
        "program" => programs(),
        "body" => bodies(),
        _ => BTreeSet::new(),
    }
}

/// What clients of a format service send: each body alone and behind others, with its length and in chunks.
fn bodies() -> BTreeSet<Vec<u8>> {
    let formats = Layout::ALL.iter().map(crate::body::river);
    let formats: Vec<(Vec<u8>, String)> =
        formats.map(|format| (format.description().as_bytes().to_vec(), to_json(&format))).collect();
    let inline = format!(
        "{{\"formats\":[{},{}],\"rules\":{{\"River\":{{\"n\":{{\"default\":7}},\"points\":{{\"required\":true}}}},\"Point\":{{\"x\":{{\"default\":{{}}}}}}}}}}",
        formats[0].1, formats[1].1
    );
    let prose = br#"{"about":"Rivers","owner":"us","fields":{"points.x":"east"}}"#.to_vec();
    let version = crate::body::version().to_string().into_bytes();
    let mut seeds = BTreeSet::new();
    for (at, (description, json)) in formats.into_iter().enumerate() {
        // In the order of the doors.
        let rule = ["NONE", "FULL", "BACKWARD_TRANSITIVE"][at % 3];
        let rule = format!("{{\"rule\":\"{rule}\"}}").into_bytes();
        let texts =
            [description, json.into(), version.clone(), inline.clone().into(), version.clone(), prose.clone(), rule];
        for door in 0..texts.len() {
            for (how, count) in [(0, 1), (255, 1), (130, 2), (0, 3), (130, 4)] {
                let following: Vec<&[u8]> =
                    texts[door..].iter().take(count).map(Vec::as_slice).chain([&[][..]]).collect();
                seeds.insert([&[door as u8, how], &join(&following)[..]].concat());
            }
        }
    }
    for (description, _) in messages().into_iter().step_by(4) {
        if let Ok(format) = Format::parse(&description) {
            seeds.insert([&[0, 0], &join(&[&description, to_json(&format).as_bytes(), &[]])[..]].concat());
        }
    }
    seeds.retain(|seed| seed.len() <= LARGEST);
    seeds
}

/// The queries of the vectors and of the tests, each with some records of the format that they are about.
fn queries() -> BTreeSet<Vec<u8>> {
    let file = std::fs::read_to_string(vectors().join("query/queries.json")).expect("the vectors");
    let file: serde_json::Value = serde_json::from_str(&file).expect("JSON");
    let format = crate::query::format();
    let mut runner = TestRunner::deterministic();
    let mut body = || value::body(&format, &drawn(any_value(&format), &mut runner)).expect("a record");
    let texts =
        file["queries"].as_array().expect("queries").iter().map(|query| query["query"].as_str().expect("a text"));
    let texts: Vec<&str> = texts.chain(STAGES.iter().copied()).collect();
    let inputs = texts.iter().flat_map(|text| [text; 3]);
    let inputs = inputs.map(|text| join(&[b"", text.as_bytes(), &body(), &body(), &body(), b""]));
    inputs.filter(|input| input.len() <= LARGEST).collect()
}

/// Queries that remember something, and other words than the vectors have.
const STAGES: &[&str] = &[
    "every 3 | every 2",
    "every 1 ns | select t = time(), s = seq()",
    "where open | every 5 min | where not open",
    "key station | every 2 | changed flow by 1",
    "key code, open, state | changed max(depth) by 1e300 m or every 2 h | select station",
    "changed rows[0:2][::2] by 1 | changed count by 0",
    "key n // 0, count | changed step by 1",
    "select grid[0:1], wide, rows[1:][0:3:2], x = rows * 2, h = hist(flow, -1, 1e9, 64)",
    "select a = percentile(rows, 99.9), b = std(depth), c = first(flow) if any(isnan(depth)) else last(flow), d = -count",
    "where grid[1].name in (station, code, \"\") or contains(grid[0].name, station) | select state, grid[1].rho",
    "select a = (\"x\" if step > 0 else station) if open else code, b = rows + depth[0] / 1 m, c = flow // flow",
    "where not all(flow % 2 m^3/s == 0) and count(depth < 1) + len(flow) > 2 and startswith(station, \"O\")",
];

/// The example of the reference, and other files, for nodes of several kinds.
fn rules() -> BTreeSet<Vec<u8>> {
    let reference = include_str!("../../docs/book/reference/rules.md");
    let example = reference.split("```").find_map(|block| block.strip_prefix("text\n")).expect("an example");
    let mut all = BTreeSet::new();
    for text in FILES.iter().copied().chain([example]) {
        for (number, names) in
            [(0, ""), (0, "b.example"), (0, "x,C.Example,localhost"), (1, ""), (2, "d.lab.example"), (3, "")]
        {
            for channel in ["fields", "pump-7"] {
                all.insert([&[number], &join(&[names.as_bytes(), channel.as_bytes(), text.as_bytes()])[..]].concat());
            }
        }
    }
    all
}

/// Files of rules, the last ones wrong.
const FILES: &[&str] = &[
    "",
    " # nothing\n\n",
    "allow anyone all on *",
    "allow name b.example see,publish on fields\nallow name C.Example see,subscribe on f*\ndeny name * all on *\n",
    "deny user 1 steer,parametrise on *\r\nallow user 1 all on fields pump-*\r\n",
    "\tallow  key 0202020202020202 see,introduce,relay on *ld* # ours\nallow key 0303030303030303 ask,query,block on ***",
    "deny anyone see on f*e*d*s*\nallow anyone see,see,all on fields\n",
    "allow name *.LAB.* all on pump-? pump-7 p*-*7\ndeny anyone all on *",
    "allow anyone see on fields*s pump*-*7*7\nallow name b.*.example publish on *\nallow name *.d.* all on ?ump-7 *",
    "allow anyone all on *\ndeny anyone\n",
    "permit anyone all on *",
    "allow user -1 see on x\nallow",
    "\nallow key 02 see on *",
    "allow anyone see,write on *",
    "allow anyone see on # all",
];

fn short(inputs: BTreeSet<Vec<u8>>) -> BTreeSet<Vec<u8>> {
    inputs.into_iter().filter(|input| input.len() <= LARGEST).collect()
}

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors")
}

fn streams() -> Vec<Vec<u8>> {
    let entries = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).expect("the folder of the vectors");
        entries.map(|entry| entry.expect("a vector").path()).collect()
    };
    let folders = entries(&vectors()).into_iter().filter(|path| path.is_dir());
    let files = folders.flat_map(|folder| entries(&folder)).filter(|path| path.extension().is_some_and(|e| e == "bin"));
    let streams = files.map(|file| std::fs::read(file).expect("a vector"));
    streams.filter(|stream| stream.len() <= LARGEST).collect()
}

/// Descriptions with bodies, valid or not: those of the vectors, then random ones.
fn messages() -> Vec<(Vec<u8>, Vec<u8>)> {
    let random = random_records().into_iter().map(|(format, body)| (format.description().as_bytes().to_vec(), body));
    streams().iter().flat_map(|stream| messages_of(stream)).chain(random).collect()
}

/// The same ones every time.
fn random_records() -> Vec<(Format, Vec<u8>)> {
    let mut runner = TestRunner::deterministic();
    let mut record = || {
        let (format, record) = any_record().new_tree(&mut runner).expect("any record").current();
        let body = value::body(&format, &record).expect("a record that can be written");
        (format, body)
    };
    (0..RANDOM).map(|_| record()).collect()
}

/// The cases of the vectors; records of the vectors as other machines want them; random ones, the same.
fn conversions() -> BTreeSet<Vec<u8>> {
    let mut all = BTreeSet::new();
    let mut add = |choice: u8, wire: &[u8], native: &[u8], body: &[u8]| {
        all.insert([&[choice], &join(&[wire, native, body])[..]].concat());
    };
    let index = std::fs::read_to_string(vectors().join("conversion/index.json")).expect("the cases of conversions");
    let index: serde_json::Value = serde_json::from_str(&index).expect("JSON");
    for case in index.as_array().expect("a list of cases") {
        for result in case["results"].as_array().expect("a list of results") {
            for choice in [0, GENERATED] {
                add(choice, &hexadecimal(&case["wire"]), &hexadecimal(&case["native"]), &hexadecimal(&result["body"]));
            }
        }
    }
    for (i, (wire, body)) in messages().iter().enumerate() {
        let Ok(format) = Format::parse(wire) else { continue };
        let layout = &Layout::ALL[i % Layout::ALL.len()];
        if let Ok(native) = format.on(layout) {
            add(i as u8, wire, native.description().as_bytes(), body);
        }
    }
    all
}

fn hexadecimal(digits: &serde_json::Value) -> Vec<u8> {
    let digits = digits.as_str().unwrap_or("").as_bytes();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("digits"), 16).expect("two digits");
    digits.chunks(2).map(byte).collect()
}

fn formats() -> Vec<Format> {
    messages().iter().filter_map(|(description, _)| Format::parse(description).ok()).collect()
}

/// Shapes, the types in them, and rows of field lists.
fn declarations() -> BTreeSet<Vec<u8>> {
    let mut all = BTreeSet::new();
    for format in formats() {
        let structure = format.structure();
        all.insert(Shape::of(&format).to_string().into_bytes());
        let mut rows = format!("{}|{}|{}", structure.size(), structure.align(), structure.machine().pointer);
        for field in structure.fields() {
            let words = Type::of(field, structure);
            all.insert(words.to_string().into_bytes());
            let (words, size) = (words.without_size(), field.element_size(structure.machine().pointer));
            rows += &format!("\n{}|{words}|{size}|{}", field.name, field.offset);
            rows += &field.unit.as_ref().map_or(String::new(), |unit| format!("|{unit}"));
        }
        all.insert(rows.into_bytes());
    }
    all
}

/// A document of each language, for every layout, with what may stand behind it.
fn documents() -> BTreeSet<Vec<u8>> {
    let languages = Language::ALL;
    let mut all = BTreeSet::new();
    for (at, language) in languages.iter().enumerate() {
        let document = match language {
            Language::XmlSchema => XML_SCHEMA,
            Language::Idl => {
                "enum C { A, B }; struct P { double x; }; struct R { string s; C c; P at[2]; sequence<P> path; @optional long n; };"
            }
            Language::Msg => "string s\nfloat64 x 0.5\nint32[] path\ntime at\n",
            Language::JsonSchema => JSON_SCHEMA,
            Language::Proto => {
                "syntax = \"proto3\"; message R { string s = 1; repeated double x = 2; optional int32 n = 3; bytes raw = 4; enum E { A = 0; } E e = 5; }"
            }
            Language::C => "struct P { double x; }; struct R { char name[8]; struct P at[2]; int n; };",
            _ => continue,
        };
        for layout in 0..Layout::ALL.len() {
            let choice = (at + layout * languages.len()) as u8;
            let texts = [
                "",
                "<R><s>a &amp; b</s><x>1.5</x><at x=\"1\"/></R>",
                "<r:R xmlns:r=\"urn:r\" at=\"2026-11-23T12:00:00Z\"><r:s>x</r:s><c>a.b</c><raw>Zm9v</raw><l>1 2 3</l></r:R>",
                r#"{"s":"x","at":"2026-11-23T12:00:00Z","kind":"a.b","raw":"Zm9v","path":[{"x":1.0},{}]}"#,
                r#"{"R":{"name":"S","fields":{"s":{"name":"text","default":"none"}}}}"#,
                r#"{"record":"R","records":{"R":{"tag":"r","fields":{"s":{"as":"attribute","optional":true}}}}}"#,
            ];
            for text in [texts[layout % texts.len()], texts[(layout + 3) % texts.len()]] {
                all.insert([&[choice], document.as_bytes(), b"\0", text.as_bytes()].concat());
            }
        }
    }
    all
}

const XML_SCHEMA: &str = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:r="urn:r" targetNamespace="urn:r">
<xs:simpleType name="C"><xs:restriction base="xs:string"><xs:enumeration value="a.b"/></xs:restriction></xs:simpleType>
<xs:simpleType name="L"><xs:list itemType="xs:float"/></xs:simpleType>
<xs:complexType name="R"><xs:sequence><xs:element name="s" type="xs:string" form="qualified"/><xs:element name="c" type="r:C"/>
<xs:element name="raw" type="xs:base64Binary"/><xs:element name="l" type="r:L"/><xs:element name="d" type="xs:duration" minOccurs="0"/>
<xs:element name="v" type="xs:int" minOccurs="0" maxOccurs="*" dimensionName="n"/></xs:sequence>
<xs:attribute name="at" type="xs:dateTime" use="required"/></xs:complexType></xs:schema>"#;

const JSON_SCHEMA: &str = r##"{"title":"R","type":"object","required":["s","at"],"properties":{"s":{"type":"string"},
"at":{"type":"string","format":"date-time"},"kind":{"enum":["a.b","c"]},"raw":{"type":"string","contentEncoding":"base64"},
"path":{"type":"array","items":{"$ref":"#/$defs/P"}}},"$defs":{"P":{"type":"object","properties":{"x":{"type":"number"}}}}}"##;

/// Small object files, as compilers write them, and damaged: DWARF, with units of single types in version 4; BTF and CTF, each also as a
/// linker leaves them of two files that declare different structs of one name.
fn programs() -> BTreeSet<Vec<u8>> {
    let mut all = BTreeSet::new();
    let mut random = Random::new(17);
    for program in [
        &include_bytes!("../programs/dwarf4.o")[..],
        include_bytes!("../programs/dwarf5.o"),
        include_bytes!("../programs/types.o"),
        include_bytes!("../programs/btf.o"),
        include_bytes!("../programs/btf-linked"),
        include_bytes!("../programs/ctf.o"),
        include_bytes!("../programs/ctf-archive"),
    ] {
        all.insert(program.to_vec());
        for _ in 0..40 {
            all.insert(damaged(program, &mut random));
        }
    }
    short(all)
}

fn records_as_json() -> BTreeSet<Vec<u8>> {
    let mut all = BTreeSet::new();
    for (i, (description, body)) in messages().iter().enumerate() {
        let Ok(format) = Format::parse(description) else { continue };
        let Ok(body) = format.verify(body) else { continue };
        let (shape, line) = (Shape::of(&format), json::line(View::new(body)));
        let path = &format.structure().fields()[i % format.structure().fields().len()].name;
        let mut input = vec![i as u8];
        input.extend_from_slice(format!("{shape}\0{line}\0{path}").as_bytes());
        all.insert(input);
    }
    all
}
