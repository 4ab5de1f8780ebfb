//! `dump`.

use super::*;
use isoform::Token;
use isoform::core::{Shape, value};
use isoform::message::Header;
use isoform::text::json;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Read};

const LINES: &str = "\
Gauge  message 3 at byte 160
  id     3
  depth  1.5 m

Track  message 4 at byte 320
  name    north
  state   bad
  count   2
  points  [{x: 1.0, y: 2.5}, {x: -3.0, y: 1e300}]
";

const TABLE: &str = "\
Gauge
id  depth
        m
 1    0.5
 2    1.0
 3    1.5

Track
name   state  count  points
north  bad        2  [… 2 records]
";

pub(super) const JSON: &str = "\
{\"id\":1,\"depth\":0.5}
{\"id\":2,\"depth\":1.0}
{\"id\":3,\"depth\":1.5}
{\"name\":\"north\",\"state\":\"bad\",\"count\":2,\"points\":[{\"x\":1.0,\"y\":2.5},{\"x\":-3.0,\"y\":1e300}]}
";

#[test]
fn records_in_every_style() {
    let files = Files::new();
    let path = files.write("a.iso", stream());
    let text = isoform(&["dump", &path]).good();
    assert!(text.ends_with(LINES), "{text}");
    assert_eq!(isoform(&["dump", "--table", &path]).good(), TABLE);
    assert_eq!(isoform(&["dump", "--json", &path]).good(), JSON);
    assert_eq!(isoform_reading(&["dump", "--json", "-"], &stream()).good(), JSON);
    assert!(isoform(&["dump", "--json", "--table", &path]).bad(2).contains("cannot be used with"));
}

#[test]
fn some_records_and_some_fields() {
    let files = Files::new();
    let path = files.write("a.iso", stream());
    let lines = |arguments: &[&str]| isoform(&[&["dump", "--json"], arguments].concat()).good().lines().count();
    assert_eq!(lines(&[&path, "--count", "2"]), 2);
    assert_eq!(lines(&[&path, "-n", "0"]), 0);
    assert_eq!(lines(&[&format!("{path}#Gauge")]), 3);
    assert_eq!(lines(&[&format!("{path}#Track"), "-n", "5"]), 1);
    let track = format!("{path}#Track");
    let json = isoform(&["dump", "--json", "--fields", "points[1].x,name", &track]).good();
    assert_eq!(json, "{\"points[1].x\":-3.0,\"name\":\"north\"}\n");
    let text = isoform(&["dump", "--fields", "points[1].x,points", &track]).good();
    assert_eq!(text.lines().nth(1), Some("  points[1].x  -3.0"));
    let table = isoform(&["dump", "--table", "--fields", "depth", &format!("{path}#Gauge")]).good();
    assert_eq!(table, "Gauge\ndepth\n    m\n  0.5\n  1.0\n  1.5\n");
}

#[test]
fn fields_that_are_not_there() {
    let run = isoform_reading(&["dump", "--json", "--fields", "depth", "-"], &stream());
    assert_eq!(run.output, "{\"depth\":0.5}\n{\"depth\":1.0}\n{\"depth\":1.5}\n");
    let errors = run.bad(2);
    assert!(errors.contains("message 4 at byte 320: no such field: expected one of name, state"), "{errors}");
    let errors = isoform_reading(&["dump", "--fields", "deep", "-#Gauge"], &stream()).bad(2);
    assert_eq!(errors.matches("no such field").count(), 1, "told once, not for each record: {errors}");
    assert!(errors.contains("hint: `isoform format` lists the fields"), "{errors}");
    assert!(!errors.contains("more"), "nothing can be shown, so it stops: {errors}");
    let errors = isoform_reading(&["dump", "--fields", "points.x", "-#Track"], &[stream(), stream()].concat()).bad(2);
    assert_eq!(errors.matches("wrong type at points: expected a record, found an array").count(), 1, "{errors}");
}

#[test]
fn fields_that_one_record_has_not() {
    let point = Shape::new("Point").field("x", "double");
    let shape = Shape::new("Best").nested(point).field("n", "int").field("best", "Point*").field("all", "Point[n]");
    let format = shape.on(&Layout::X86_64).unwrap();
    let mut writer = Writer::new(Vec::new());
    for line in [r#"{"best":{"x":1},"all":[{"x":2}]}"#, "{}"] {
        let record = json::parse_partial(&format, line).unwrap();
        writer.write_body(&format, &value::body(&format, &record).unwrap()).unwrap();
    }
    let bytes = writer.into_inner();
    let json = isoform_reading(&["dump", "--json", "--fields", "best.x,all[0].x", "-"], &bytes).good();
    assert_eq!(json, "{\"best.x\":1.0,\"all[0].x\":2.0}\n{\"best.x\":null,\"all[0].x\":null}\n");
    let table = isoform_reading(&["dump", "--table", "--fields", "best.x,all[0].x", "-"], &bytes).good();
    assert_eq!(table, "Best\nbest.x  all[0].x\n   1.0       2.0\n  null      null\n");
    for (path, says) in [("best.y", "no such field"), ("all[0].y", "no such field"), ("all.x", "wrong type")] {
        let run = isoform_reading(&["dump", "--fields", path, "-"], &bytes);
        assert!(run.output.is_empty(), "{path}: {}", run.output);
        assert!(run.bad(2).contains(says), "{path}");
    }
}

#[test]
fn large_messages_are_passed_over() {
    let run = isoform_reading(&["dump", "--json", "--max-message", "16", "-"], &stream());
    assert_eq!(run.output, JSON.split_inclusive('\n').take(3).collect::<String>());
    let errors = run.bad(1);
    assert!(errors.contains("message too large: expected at most 16 bytes (limit: message), found 56"), "{errors}");
    assert!(errors.contains("hint: `dump --max-message BYTES`"), "{errors}");
    assert_eq!(isoform_reading(&["dump", "--json", "--max-message", "56", "-"], &stream()).good(), JSON);
}

#[test]
fn a_format_that_is_not_there() {
    let run = isoform_reading(&["dump", "-#Trek"], &stream());
    assert_eq!(run.output, "");
    let errors = run.bad(1);
    assert!(errors.contains("no format \"Trek\" in standard input\n  hint: it has Gauge, Track\n"), "{errors}");
    assert!(isoform_reading(&["dump", "-#Trek"], b"").bad(1).contains("and so none named"));
}

#[test]
fn a_cut_stream_shows_what_came() {
    let bytes = stream();
    for cut in (0..bytes.len()).step_by(5) {
        let run = isoform_reading(&["dump", "--json", "-"], &bytes[..cut]);
        assert!(JSON.starts_with(&run.output), "cut at {cut}: {}", run.output);
        match run.status {
            0 => assert_eq!(run.errors, "", "cut at {cut}"),
            _ => assert!(run.bad(1).contains("the stream ends within a message"), "cut at {cut}"),
        }
    }
}

#[test]
fn a_message_that_cannot_be_shown_is_told_of_and_passed_over() {
    let mut bytes = stream();
    let strange = Token::from_bytes([7; 16]);
    bytes.extend(Header::new(strange, 16).to_bytes());
    bytes.extend([0; 16]);
    let mut writer = Writer::new(Vec::new());
    let mut body = track_body("south", 0, &[]);
    writer.write_body(&track(), &body).unwrap();
    body[3] = 1;
    writer.write_body(&track(), &body).unwrap();
    bytes.extend(writer.into_inner());
    bytes.extend(stream());
    let run = isoform_reading(&["dump", "--json", "-"], &bytes);
    assert_eq!(run.output.lines().count(), 9);
    let errors = run.bad(1);
    assert!(
        errors
            .contains(&format!("message 5 at byte 416: unknown format: expected a registered format, found {strange}")),
        "{errors}"
    );
    assert!(errors.contains("pointer slot out of place at name"), "{errors}");
    assert!(errors.contains("hint: "), "{errors}");

    let many: Vec<u8> = (0..50).flat_map(|_| [&Header::new(strange, 16).to_bytes()[..], &[0; 16]].concat()).collect();
    let errors = isoform_reading(&["dump", "-"], &many).bad(1);
    assert!(errors.matches("unknown format").count() == 10 && errors.contains("40 messages more"), "{errors}");
}

#[test]
fn what_is_no_stream() {
    assert!(isoform_reading(&["dump", "-"], SHAPES.as_bytes()).bad(2).contains("holds shapes, not records"));
    for text in ["root:x:0:0:root:/root:/bin/bash\n", "{\"a\": 1}", "time,depth\n1,2\n", "\0\u{1}"] {
        let errors = isoform_reading(&["dump", "-"], text.as_bytes()).bad(2);
        assert!(
            errors.contains("neither a stream of records nor the text of shapes\n  hint: a stream begins"),
            "{errors}"
        );
    }
    let errors = isoform_reading(&["dump", "-"], b"\x89PNG\r\n").bad(1);
    assert!(errors.contains("not an Isoform message") && errors.contains("hint: a stream begins with"), "{errors}");
    assert_eq!(isoform_reading(&["dump", "-"], b"").good(), "");
}

#[test]
fn a_reader_that_has_seen_enough() {
    let mut writer = Writer::new(Vec::new());
    (0..20_000).for_each(|id| writer.write_body(&gauge(), &gauge_body(id, 0.0)).unwrap());
    let files = Files::new();
    let path = files.write("long.iso", writer.into_inner());
    for style in ["--json", "--table"] {
        let mut child = command(&["dump", style, &path]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let run = Run::of(child.wait_with_output().unwrap());
        assert_eq!((run.status, &*run.errors), (0, ""));
    }
}

#[test]
fn records_are_shown_as_they_come() {
    for style in ["--json", "--table"] {
        let mut child = command(&["dump", style, "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut writer = Writer::new(Vec::new());
        for id in 100..105 {
            writer.write_body(&gauge(), &gauge_body(id, 0.0)).unwrap();
            input.write_all(&std::mem::take(writer.inner_mut())).unwrap();
            let mut line = String::new();
            while !line.contains(&id.to_string()) {
                line.clear();
                assert!(output.read_line(&mut line).unwrap() > 0);
            }
        }
        drop(input);
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn a_file_is_followed_while_it_grows() {
    let files = Files::new();
    let bytes = stream();
    let path = files.write("growing.iso", b"");
    let mut child =
        command(&["dump", "--json", "--follow", "--count", "4", &path]).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    let mut line = String::new();
    file.write_all(&bytes[..170]).unwrap();
    output.read_line(&mut line).unwrap();
    file.write_all(&bytes[170..300]).unwrap();
    output.read_line(&mut line).unwrap();
    file.write_all(&bytes[300..]).unwrap();
    output.read_to_string(&mut line).unwrap();
    assert_eq!(line, JSON);
    assert!(child.wait().unwrap().success());
    let run = isoform_reading(&["dump", "--json", "--follow", "-"], &bytes);
    assert_eq!(run.good(), JSON, "a pipe that was closed does not grow");
}

#[test]
fn a_file_that_is_written_anew_is_not_followed() {
    let files = Files::new();
    let path = files.write("anew.iso", stream());
    let mut child = command(&["dump", "--json", "--follow", &path]);
    let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    (0..4).for_each(|_| assert!(output.read_line(&mut String::new()).unwrap() > 0));
    files.write("anew.iso", b"");
    assert!(Run::of(child.wait_with_output().unwrap()).bad(1).contains("is now shorter"));
}

#[test]
fn a_query_chooses_records_and_makes_others_of_them() {
    let files = Files::new();
    let path = files.write("a.iso", stream());
    let gauges = format!("{path}#Gauge");
    let dump = |query: &str| isoform(&["dump", "--json", "--query", query, &gauges]).good();
    assert_eq!(dump("where depth > 0.5 m"), "{\"id\":2,\"depth\":1.0}\n{\"id\":3,\"depth\":1.5}\n");
    assert_eq!(dump("every 2 | select id"), "{\"id\":1}\n{\"id\":3}\n");
    assert_eq!(dump("where id == 3 | select twice = depth * 2"), "{\"twice\":3.0}\n");
    let table = isoform(&["query", "--table", &gauges, "where id == 2 | select id"]).good();
    assert_eq!(table, "Gauge\nid\n 2\n");
    let units = isoform(&["dump", "--query", "where id == 3 | select area = depth * depth", &gauges]).good();
    assert!(units.contains("area  2.25 m^2"), "{units}");
    // Records of other formats, which the query does not fit, are left out, whether others have passed before or not.
    for (query, passed) in [("where id == 3 | select id", "{\"id\":3}\n"), ("where id > 9", "")] {
        let run = isoform(&["dump", "--json", "--query", query, &path]);
        assert!(run.errors.contains("of formats that the query does not fit"), "{}", run.errors);
        assert_eq!((run.status, run.output), (0, passed.into()));
    }
}

#[test]
fn a_query_is_explained_before_it_is_asked() {
    let files = Files::new();
    let path = files.write("gauge.shape", "record Gauge\n  id  int\n  n  int\n  depth  double[n]  unit=\"m\"\n");
    let explain = |query: &str| isoform(&["explain", &path, "--query", query]).good();
    let text = explain("where id>3 | changed depth by 0.5 or every 1000 ms | select id, d = depth[::2]");
    for line in [
        "query      where id > 3 | changed depth by 0.5 or every 1 s | select id, d = depth[0::2]",
        "looks at   id, depth, depth[0::2]",
        "steps      at most 44 for a record, and 11 for each element of its longest array, \
         and 2 for each 8 bytes of its texts and of arrays that it takes",
        "remembers  at most 64 KiB",
        "goes by    the times of events, which channels and recordings have",
        "makes      a record of its own:",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    assert!(text.contains("d_count") && text.contains("f64[d_count]"), "{text}");
    let text = explain("where id > 3");
    assert!(text.contains("remembers  nothing\nmakes      the records as they are\n"), "{text}");
    assert_eq!(text.matches("\nengine     ").count(), 1, "{text}");
    // Its result has a text, which no code is generated for.
    let json = isoform(&["explain", "--json", &path, "--query", "select s = \"high\""]).good();
    assert!(json.contains(r#""engine":"interpreter""#), "{json}");
    let json = isoform(&["explain", "--json", &path, "--query", "key id | every 2"]).good();
    assert!(json.contains(r#""fields":["id"]"#) && json.contains(r#""remembers":65536"#), "{json}");
    let refused = isoform(&["explain", &path, "--query", "where level > 3"]).bad(2);
    assert!(refused.contains("expected one of id, n, depth, found \"level\" at line 1 column 7"), "{refused}");
    isoform(&["explain", &path]).bad(2);
    isoform(&["explain", &path, &path, "--query", "every 2"]).bad(2);
}

#[test]
fn a_query_that_does_not_fit_is_refused_with_its_place() {
    let files = Files::new();
    let path = files.write("a.iso", stream());
    let refused = |query: &str| isoform(&["dump", "--query", query, &path]).bad(2);
    let error = refused("where dept > 1");
    assert!(error.contains("expected one of id, depth, found \"dept\" at line 1 column 7"), "{error}");
    assert!(error.contains("a.iso#Gauge"), "which of its records: {error}");
    let error = refused("where depth = 1");
    assert!(error.contains("expected ==, to compare") && error.contains("line 1 column 13"), "{error}");
    let error = refused("where depth >");
    assert!(error.contains("found the end at line 1 column 14"), "{error}");
}

#[test]
fn a_sealed_stream_is_checked_to_its_end() {
    use isoform::stream::{Reader, Writer};
    let (files, plain) = (Files::new(), stream());
    let mut writer = Writer::new(Vec::new());
    writer.set_sealed(true);
    let (mut reader, mut begins) = (Reader::new(&plain[..]), Vec::new());
    while let Some(message) = reader.next().unwrap() {
        begins.push(writer.inner().len());
        writer.write_body(message.format(), message.body()).unwrap();
    }
    let mut bytes = writer.into_inner();
    let path = files.write("sealed.iso", &bytes);
    assert!(isoform(&["check", &path]).good().starts_with(&format!("{path}: whole\n")));
    let (from, to) = (begins[1], begins[2]);
    bytes[from + 48 + 32] ^= 1;
    let path = files.write("damaged.iso", &bytes);
    let run = isoform(&["check", &path]);
    assert_eq!(run.status, 1, "{}", run.output);
    let told = format!(
        "byte {from}, message 2, Gauge {}: damaged file: expected a message that fits its seal, found another one, at byte {from} of the stream\n  \
         whole: 1 message in front, 2 messages behind; {} bytes are missing, up to byte {to}\n",
        gauge().token(),
        to - from
    );
    assert!(run.output.starts_with(&format!("{path}: not whole\n")) && run.output.ends_with(&told), "{}", run.output);
    let json: serde_json::Value = serde_json::from_str(&isoform(&["check", "--json", &path]).output).unwrap();
    assert_eq!(json["gaps"], serde_json::json!([{"from": from, "to": to}]));
    let fault = &json["faults"][0];
    assert_eq!((&fault["message"], &fault["before"], &fault["after"]), (&2.into(), &1.into(), &2.into()), "{fault}");
    assert_eq!((&fault["expected"], &fault["format"]), (&"a message that fits its seal".into(), &"Gauge".into()));
    let records: u64 = json["parts"].as_array().unwrap().iter().map(|part| part["records"].as_u64().unwrap()).sum();
    assert_eq!(records as usize, begins.len() - 1);
}

#[test]
fn what_is_whole_is_told_apart_from_what_is_not() {
    let files = Files::new();
    let whole = files.write("whole.iso", stream());
    let said = isoform(&["check", &whole]).good();
    assert_eq!(
        said,
        format!("{whole}: whole\nformat  records  damaged\nGauge         3        0\nTrack         1        0\n")
    );
    let bytes = stream();
    let cut = files.write("cut.iso", &bytes[..bytes.len() - 20]);
    let run = isoform(&["check", "--json", &whole, &cut]);
    assert_eq!(run.status, 1);
    let lines: Vec<serde_json::Value> = run.output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["whole"], &lines[1]["whole"]), (&true.into(), &false.into()));
    // So many bytes are a stream that is whole.
    let kept = lines[1]["whole_bytes"].as_u64().unwrap() as usize;
    let healed = files.write("healed.iso", &bytes[..kept]);
    assert!(isoform(&["check", &healed]).good().contains("Gauge         3"));
    let run = isoform(&["check", &cut]);
    assert!(run.output.contains(&format!("head -c {kept} {cut} > NEW")), "{}", run.output);
    let fault = &lines[1]["faults"][0];
    assert_eq!(
        (&fault["message"], &fault["format"], &fault["before"]),
        (&4.into(), &"Track".into(), &3.into()),
        "{fault}"
    );
    assert_eq!(fault["to"], serde_json::Value::Null);
    let length = |key: &str| fault[key].as_str().unwrap().split(' ').next().unwrap().parse::<u64>().unwrap();
    assert_eq!((fault["byte"].as_u64().unwrap() + length("found"), length("expected")), (bytes.len() as u64 - 20, 88));
    // A text that does not end is damage of one record.
    let mut bytes = stream();
    let at = bytes.windows(5).position(|part| part == b"north").unwrap();
    bytes[at..].fill(b'x');
    let run = isoform(&["check", &files.write("damaged.iso", &bytes)]);
    assert!(run.status == 1 && run.output.contains("Track         1        1"), "{}", run.output);
}

#[test]
fn a_stream_that_was_cut_is_healed_before_it_goes_on() {
    let (files, bytes) = (Files::new(), stream());
    let path = files.write("a.iso", &bytes[..bytes.len() - 20]);
    let run = isoform_reading(&["append", &path, "-"], &bytes);
    assert_eq!((&*run.output, run.status), ("", 0), "{}", run.errors);
    // It had 76 of 88 bytes, and padding for 8 of those that lack.
    let at = bytes.len() - 96;
    let told = format!("{} bytes from byte {at} on are in {path}.cut now", bytes.len() - 20 - at);
    assert!(run.errors.starts_with(&format!("-- {path}: the stream ends within a message")), "{}", run.errors);
    assert!(run.errors.trim_end().ends_with(&told), "{}", run.errors);
    assert_eq!(std::fs::read(format!("{path}.cut")).unwrap(), &bytes[at..bytes.len() - 20]);
    let said = isoform(&["check", &path]).good();
    assert!(said.contains("Gauge         6        0\nTrack         1        0"), "{said}");
    // Once healed, it is whole.
    isoform(&["append", &path]).good();
    // A new file, sealed from its beginning.
    let new = files.path("new.iso").display().to_string();
    isoform(&["append", "--sealed", &new, &path]).good();
    isoform(&["append", &new, &path]).good();
    let said = isoform(&["check", &new]).good();
    assert!(said.contains("Gauge        12        0\nTrack         2        0"), "{said}");
    let seals = std::fs::read(&new).unwrap();
    assert!(seals.windows(16).filter(|bytes| *bytes == isoform::Token::SEAL.as_bytes()).count() > 14);
    // Nothing is made, and nothing is changed, if it cannot be.
    isoform(&["append", &path, &path]).bad(2);
    isoform(&["append", &files.path("none.iso").display().to_string(), "no-such-file"]).bad(2);
    assert!(!files.path("none.iso").exists());
    let text = files.write("text.csv", "a,b\n");
    assert!(isoform(&["append", &text, &path]).bad(2).contains("text.csv"));
    assert_eq!(std::fs::read(&text).unwrap(), b"a,b\n");
}

#[test]
fn a_part_of_a_stream_is_found_with_an_index_and_without() {
    let files = Files::new();
    let mut writer = Writer::new(Vec::new());
    // The second format is described where it is first used, behind the first megabyte.
    for id in 1..=60_000 {
        match id % 20_000 {
            0 => writer.write_body(&track(), &track_body("north", 1, &[[1.0, 2.5], [-3.0, 1e300]])).unwrap(),
            _ => writer.write_body(&gauge(), &gauge_body(id, 0.5)).unwrap(),
        }
    }
    let bytes = writer.into_inner();
    let path = files.write("long.iso", &bytes);
    let ids = |more: &[&str]| {
        let output = isoform(&[&["dump", "--json"], more, &[&path]].concat()).good();
        output.lines().map(|line| line.split([',', ':']).nth(1).unwrap().to_owned()).collect::<Vec<_>>()
    };
    let place = (bytes.len() - 32 - 16 - 3 * 48).to_string();
    let mut found = Vec::new();
    for has_index in [false, true] {
        if has_index {
            let said = isoform(&["index", &path]).good();
            assert_eq!(said, format!("{path}.index: 60000 messages in {} bytes\n", bytes.len()));
        }
        found.push([
            ids(&["--from", "54321", "--to", "54323"]),
            ids(&["--from", "39999", "-n", "3"]),
            ids(&["--from", "59999"]),
            ids(&["--to", "2"]),
            ids(&["--from", &format!("byte:{place}")]),
            ids(&["--from", "byte:1", "--to", "byte:400"]),
        ]);
        let query = ["query", "--json", "--from", "50001", "--to", "50002", &path, "select id"];
        assert_eq!(isoform(&query).good(), "{\"id\":50001}\n{\"id\":50002}\n");
        let behind = isoform(&["dump", "--from", "60001", &path]).bad(2);
        assert!(behind.contains("behind the end") && behind.contains("it has 60000 messages"), "{behind}");
        for number in ["1.5", "0"] {
            let errors = isoform(&["dump", "--from", number, &path]).bad(2);
            assert!(errors.contains(&format!("no message {number}")), "{errors}");
        }
        for [from, to] in [["5", "2"], ["byte:400", "byte:1"]] {
            let errors = isoform(&["dump", "--from", from, "--to", to, &path]).bad(2);
            assert!(errors.contains(&format!("--from {from} is behind --to {to}")), "{errors}");
        }
        assert!(isoform(&["dump", "--from", "-1", &path]).bad(2).contains("from 1, or byte:N"));
    }
    assert_eq!(found[0], found[1]);
    assert_eq!(found[0][0], ["54321", "54322", "54323"]);
    assert_eq!((&*found[0][1][0], &*found[0][1][2]), ("39999", "40001"));
    assert_eq!((found[0][2].len(), &found[0][3]), (2, &vec!["1".to_owned(), "2".to_owned()]));
    assert!(found[0][4].len() >= 2 && !found[0][5].is_empty());
    // A stream that has grown has its index still; another one has not.
    std::fs::write(&path, [&bytes[..], &stream()].concat()).unwrap();
    assert_eq!(ids(&["--from", "60001", "--to", "60002"]), ["1", "2"]);
    let mut other = bytes.clone();
    *other.last_mut().unwrap() ^= 1;
    std::fs::write(&path, other).unwrap();
    let run = isoform(&["dump", "--json", "--from", "54321", "-n", "1", &path]);
    assert!(run.output.starts_with("{\"id\":54321,") && run.status == 0, "{}", run.output);
    assert!(run.errors.contains(&format!("{path}.index is not used: it is of another stream")), "{}", run.errors);
    // What cannot be read is not indexed, and that is said.
    let cut = files.write("cut.iso", &bytes[..bytes.len() - 50]);
    let run = isoform(&["index", &cut]);
    assert!(run.status == 0 && run.errors.contains("cannot be read behind byte"), "{}", run.errors);
    isoform(&["index", "-"]).bad(2);
}

/// What is beside a stream, and no file, is no reason to wait: a pipe, a folder, a device.
#[test]
#[cfg(unix)]
fn what_is_no_file_is_no_index() {
    let files = Files::new();
    let path = files.write("river.iso", stream());
    let beside = files.path("river.iso.index");
    let makes: [(&str, &dyn Fn()); 4] = [
        ("pipe", &|| assert!(std::process::Command::new("mkfifo").arg(&beside).status().unwrap().success())),
        ("folder", &|| std::fs::create_dir(&beside).unwrap()),
        ("device", &|| std::os::unix::fs::symlink("/dev/zero", &beside).unwrap()),
        ("socket", &|| drop(std::os::unix::net::UnixListener::bind(&beside).unwrap())),
    ];
    for (what, make) in makes {
        make();
        let run = isoform(&["dump", "--json", "--fields", "id", "--from", "2", "--to", "3", &path]);
        assert_eq!((&*run.output, run.status), ("{\"id\":2}\n{\"id\":3}\n", 0), "{what}: {}", run.errors);
        assert!(run.errors.contains("river.iso.index is not used: "), "{what}: {}", run.errors);
        match what {
            "folder" => std::fs::remove_dir(&beside).unwrap(),
            _ => std::fs::remove_file(&beside).unwrap(),
        }
    }
}

/// An index is written under a name that nothing has, so that a pipe or a link of others in the folder is left alone.
#[test]
#[cfg(unix)]
fn an_index_is_not_written_into_what_lies_there() {
    let files = Files::new();
    let path = files.write("river.iso", stream());
    let kept = files.write("kept", "kept");
    let in_the_way = files.path("river.iso.index.new");
    let makes: [&dyn Fn(); 2] =
        [&|| assert!(std::process::Command::new("mkfifo").arg(&in_the_way).status().unwrap().success()), &|| {
            std::os::unix::fs::symlink(&kept, &in_the_way).unwrap()
        }];
    for make in makes {
        make();
        assert!(isoform(&["index", &path]).good().contains("river.iso.index: "));
        assert!(std::fs::symlink_metadata(&in_the_way).is_ok());
        std::fs::remove_file(&in_the_way).unwrap();
        let shown = isoform(&["dump", "--json", "--fields", "id", "--from", "2", "--to", "2", &path]).good();
        assert_eq!(shown, "{\"id\":2}\n");
    }
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), "kept");
    let names = std::fs::read_dir(std::path::Path::new(&path).parent().unwrap()).unwrap();
    let names: std::collections::BTreeSet<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["kept", "river.iso", "river.iso.index"].map(Into::into).into());
}

#[test]
fn a_dump_resumes_only_if_it_is_asked() {
    let (files, plain) = (Files::new(), stream());
    let mut writer = Writer::new(Vec::new());
    writer.set_sealed(true);
    let mut begins = Vec::new();
    for id in 1..=5 {
        begins.push(writer.inner().len());
        writer.write_body(&gauge(), &gauge_body(id, 0.5)).unwrap();
    }
    let mut bytes = writer.into_inner();
    bytes[begins[2] + 48 + 40] ^= 1;
    let path = files.write("damaged.iso", &bytes);
    let stopped = isoform(&["dump", "--json", "--fields", "id", &path]);
    assert_eq!((&*stopped.output, stopped.status), ("{\"id\":1}\n{\"id\":2}\n", 1));
    for arguments in [&["dump", "--fields", "id"][..], &["query"]] {
        let query = if arguments[0] == "query" { &["select id"][..] } else { &[] };
        let run = isoform(&[arguments, &["--resume", "--json", &path], query].concat());
        assert_eq!(run.output, "{\"id\":1}\n{\"id\":2}\n{\"id\":4}\n{\"id\":5}\n");
        let told = format!("bytes {} to {} are passed over", begins[2], begins[3]);
        assert!(run.bad(1).contains(&told));
    }
    // Nobody knows where the next message of an unsealed stream begins.
    let mut bytes = plain;
    let at = bytes.windows(4).rposition(|part| part == b"\x89ISO").unwrap();
    bytes[at + 1] ^= 1;
    let path = files.write("plain.iso", &bytes);
    let (plain, asked) = (isoform(&["dump", &path]).bad(1), isoform(&["dump", "--resume", &path]).bad(1));
    assert_eq!(plain, asked);
}
