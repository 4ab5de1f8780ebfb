//! `export`, read by the libraries of Arrow, CSV and JSON.

use super::*;
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, TimestampNanosecondType, UInt32Type, UInt64Type};
use isoform_files::{Options, Recorder, Stamp};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value, json};
use std::fs::{self, File};

/// A gauge whose depth has another size or unit.
fn other_gauge(size: usize, unit: &str) -> Format {
    let fields = FieldList::new("Gauge").field("depth", "float", size, 0).unit(unit).field("id", "unsigned", 4, size);
    fields.format(Layout::POWERPC.machine(), 2 * size, size).unwrap()
}

/// Gauges of two machines whose fields are in another order, and a track.
fn mixed() -> Vec<u8> {
    let mut writer = Writer::new(stream());
    let body = [&2.5_f64.to_be_bytes()[..], &[0, 0, 0, 9, 0, 0, 0, 0]].concat();
    writer.write_body(&other_gauge(8, "m"), &body).unwrap();
    writer.into_inner()
}

/// The rows of a Parquet file.
fn parquet(path: &str) -> RecordBatch {
    let mut reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap().build().unwrap();
    let batch = reader.next().unwrap().unwrap();
    assert!(reader.next().is_none());
    batch
}

fn numbers(batch: &RecordBatch, name: &str) -> Vec<f64> {
    batch[name].as_primitive::<Float64Type>().values().to_vec()
}

#[test]
fn records_of_one_name_and_any_machine_are_one_table() {
    let files = Files::new();
    let source = files.write("mixed.iso", mixed());
    let folder = files.path("tables").display().to_string();
    let said = isoform(&["export", &source, &format!("{folder}/")]).good();
    assert_eq!(said, format!("{folder}/Gauge.parquet: 4 rows of Gauge\n{folder}/Track.parquet: 1 row of Track\n"));
    let gauges = parquet(&format!("{folder}/Gauge.parquet"));
    assert_eq!(numbers(&gauges, "depth"), [0.5, 1.0, 1.5, 2.5]);
    assert_eq!(gauges["id"].as_primitive::<UInt32Type>().values(), &[1, 2, 3, 9]);
    assert_eq!(gauges.schema().field_with_name("depth").unwrap().metadata()["unit"], "m");
    let tracks = parquet(&format!("{folder}/Track.parquet"));
    assert_eq!(tracks["name"].as_string::<i64>().value(0), "north");
    let points = tracks["points"].as_list::<i64>().value(0);
    assert_eq!(points.as_struct()["y"].as_primitive::<Float64Type>().values(), &[2.5, 1e300]);
    // Nothing is replaced unless that is asked for.
    let errors = isoform(&["export", &source, &format!("{folder}/")]).bad(2);
    assert!(errors.contains("Gauge.parquet is there already") && errors.contains("--force"), "{errors}");
    isoform(&["export", "--force", &source, &folder]).good();
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "no half files stay");
}

#[test]
fn one_file_has_one_table_and_is_not_written_for_two() {
    let files = Files::new();
    let source = files.write("mixed.iso", mixed());
    let [arrow, csv, lines] = ["t.arrow", "t.csv", "t.jsonl"].map(|name| files.path(name).display().to_string());
    for kind in [&arrow, &csv] {
        let errors = isoform(&["export", &source, kind]).bad(2);
        assert!(errors.contains("records of Gauge and of Track") && errors.contains("SOURCE#Track"), "{errors}");
    }
    let mut evolved = Writer::new(Vec::new());
    evolved.write_body(&gauge(), &gauge_body(1, 0.5)).unwrap();
    evolved.write_body(&other_gauge(8, "cm"), &[0; 16]).unwrap();
    let evolved = files.write("evolved.iso", evolved.into_inner());
    let errors = isoform(&["export", &evolved, &csv]).bad(2);
    assert!(errors.contains("Gauge with other fields") && errors.contains("DIR/"), "{errors}");
    assert!(errors.contains("by --kind: 1 has id u32, depth f64; 2 has depth f64, id u32"), "{errors}");
    assert_eq!(fs::read_dir(files.path("")).unwrap().count(), 2, "only the sources are there");
    isoform(&["export", &format!("{source}#Gauge"), &arrow]).good();
    let mut reader = arrow_ipc::reader::FileReader::try_new(File::open(&arrow).unwrap(), None).unwrap();
    assert_eq!(numbers(&reader.next().unwrap().unwrap(), "depth"), [0.5, 1.0, 1.5, 2.5]);
    isoform(&["export", "--fields", "name,points,points[1].x", &format!("{source}#Track"), &csv]).good();
    let mut reader = csv::Reader::from_path(&csv).unwrap();
    assert_eq!(reader.headers().unwrap(), vec!["name", "points", "points[1].x"]);
    let row = reader.records().next().unwrap().unwrap();
    assert_eq!(&row, &vec!["north", r#"[{"x":1.0,"y":2.5},{"x":-3.0,"y":1e300}]"#, "-3.0"][..]);
    isoform(&["export", "--query", "where depth > 0.7 | select deep = depth * 2", &format!("{source}#Gauge"), &lines])
        .good();
    assert_eq!(fs::read_to_string(&lines).unwrap(), "{\"deep\":2.0}\n{\"deep\":3.0}\n{\"deep\":5.0}\n");
}

#[test]
fn one_kind_of_fields_of_a_name_is_chosen() {
    let files = Files::new();
    let mut kinds = Writer::new(Vec::new());
    for id in 1..4 {
        kinds.write_body(&gauge(), &gauge_body(id, f64::from(id))).unwrap();
        let body = [&(f64::from(id) * 100.0).to_be_bytes()[..], &[0; 8]].concat();
        kinds.write_body(&other_gauge(8, "cm"), &body).unwrap();
    }
    let source = files.write("kinds.iso", kinds.into_inner());
    let [one, two, three] = ["1.csv", "2.csv", "3.csv"].map(|name| files.path(name).display().to_string());
    let said = isoform(&["export", "--kind", "1", &source, &one]).good();
    assert!(said.ends_with("1.csv: 3 rows of Gauge, kind 1: id u32, depth f64\n"), "{said}");
    isoform(&["export", "--kind", "2", "--fields", "depth", &format!("{source}#Gauge"), &two]).good();
    assert_eq!(fs::read_to_string(&one).unwrap(), "id,depth\n1,1.0\n2,2.0\n3,3.0\n");
    assert_eq!(fs::read_to_string(&two).unwrap(), "depth\n100.0\n200.0\n300.0\n");
    let errors = isoform(&["export", "--kind", "3", &source, &three]).bad(2);
    assert!(errors.contains("no records of kind 3: no name has more than 2 kinds"), "{errors}");
    // The names of files have the same numbers, and the command says what they stand for.
    let folder = format!("{}/", files.path("tables").display());
    let said = isoform(&["export", &source, &folder]).good();
    assert!(said.contains("Gauge-2.parquet: 3 rows of Gauge, kind 2: depth f64, id u32\n"), "{said}");
}

#[test]
fn a_query_may_fit_a_format_further_on_in_a_file() {
    let files = Files::new();
    let source = files.write("mixed.iso", mixed());
    let table = files.path("t.csv").display().to_string();
    let exported = isoform(&["export", "--query", "select name", &source, &table]);
    assert_eq!((exported.status, &*fs::read_to_string(&table).unwrap()), (0, "name\nnorth\n"), "{}", exported.errors);
    assert!(
        exported.errors.contains("left out 4 records of formats that the query does not fit"),
        "{}",
        exported.errors
    );
    assert_eq!(isoform(&["query", "--json", &source, "select name"]).output, "{\"name\":\"north\"}\n");
    let errors = isoform(&["query", &source, "select nobody"]).bad(2);
    assert!(errors.contains("#Gauge: no such field"), "{errors}");
    // A pipe may have no end.
    let errors = isoform_reading(&["query", "-", "select name"], &mixed()).bad(2);
    assert!(errors.contains("\"name\" at line 1 column 8"), "{errors}");
}

#[test]
fn rows_of_a_recording_have_the_stamps_of_its_events() {
    let files = Files::new();
    let path = files.path("run.mcap");
    let mut recorder = Recorder::create(&path, Options::default()).unwrap();
    let topic = recorder.topic("river");
    for id in [1, 2, 5] {
        let stamp = Stamp { source: 3, sequence: id.into(), nanoseconds: 1_000_000_000 * u64::from(id), origin: None };
        recorder.record(topic, 7 + stamp.nanoseconds, stamp, &gauge(), &gauge_body(id, 0.5)).unwrap();
    }
    recorder.news(topic, 0, &json!({"gap": {"source": 3, "first": 3, "count": 2, "cause": "slow"}})).unwrap();
    recorder.finish().unwrap();
    let run = path.display().to_string();
    let [table, lines, some] = ["t.parquet", "t.jsonl", "some.csv"].map(|name| files.path(name).display().to_string());
    let said = isoform(&["export", &run, &table]);
    assert_eq!((said.status, &*said.errors), (0, "-- 2 events missing: the recording says which, and why\n"));
    let rows = parquet(&table);
    assert_eq!(rows["isoform.topic"].as_string::<i32>().value(2), "river");
    assert_eq!(rows["isoform.sequence"].as_primitive::<UInt64Type>().values(), &[1, 2, 5]);
    let submitted = rows["isoform.submitted"].as_primitive::<TimestampNanosecondType>();
    assert_eq!(submitted.value(2), 5_000_000_000);
    isoform(&["export", &run, &lines]);
    let line = fs::read_to_string(&lines).unwrap();
    let line: Value = serde_json::from_str(line.lines().next().unwrap()).unwrap();
    let stamp = json!({"isoform.topic": "river", "isoform.source": 3, "isoform.sequence": 1,
        "isoform.submitted": 1_000_000_000, "isoform.recorded": 1_000_000_007, "id": 1, "depth": 0.5});
    assert_eq!(line, stamp);
    let other = files.path("other.csv").display().to_string();
    let unknown = isoform(&["export", "--channel", "lake", &run, &other]).bad(2);
    assert!(unknown.contains("no such channel at lake") && unknown.contains("\"river\""), "{unknown}");
    for (from, says) in [("-1", "seconds from the beginning"), ("22:30:20", "seconds from the beginning")] {
        let errors = isoform(&["export", "--from", from, &run, &other]).bad(2);
        assert!(errors.contains(says) && errors.contains(from), "{errors}");
    }
    isoform(&["export", "--from", "0", "--to", "1e9", "--no-stamps", &run, &other]);
    assert_eq!(fs::read_to_string(&other).unwrap(), "id,depth\n1,0.5\n2,0.5\n5,0.5\n");
    isoform(&["export", "--from", "1", "--to", "2", "--no-stamps", &run, &some]);
    assert_eq!(fs::read_to_string(&some).unwrap(), "id,depth\n2,0.5\n");
}

#[test]
fn what_is_damaged_is_said_and_the_rest_is_there() {
    let files = Files::new();
    let mut bytes = Writer::new(stream());
    bytes.write_body(&track(), &track_body("south", 0, &[])).unwrap();
    let mut bytes = bytes.into_inner();
    // The text of the last record has no end.
    let at = bytes.windows(5).position(|part| part == b"south").unwrap();
    bytes[at + 5..].fill(b'x');
    let source = files.write("damaged.iso", &bytes);
    let table = files.path("t.parquet").display().to_string();
    let errors = isoform(&["export", &format!("{source}#Track"), &table]).bad(1);
    assert!(errors.contains("record 2") && errors.contains("name"), "{errors}");
    assert_eq!(parquet(&table).num_rows(), 1);
    let cut = files.write("cut.iso", &bytes[..at]);
    let errors = isoform(&["export", "--force", &format!("{cut}#Gauge"), &table]).bad(1);
    assert!(errors.contains("cut"), "{errors}");
    assert_eq!(parquet(&table).num_rows(), 3);
    let errors = isoform(&["export", "--force", &recordings::damaged(&files), &table]).bad(1);
    assert!(errors.contains("passed over: 1 event in 1 chunk"), "{errors}");
    assert_eq!(numbers(&parquet(&table), "depth"), [0.0, 1.0]);
}

#[test]
fn mistakes_are_told_before_a_file_is_made() {
    let files = Files::new();
    let source = files.write("stream.iso", stream());
    let empty = files.write("empty.iso", Writer::new(Vec::new()).into_inner());
    let table = files.path("t.parquet").display().to_string();
    let other = files.path("t.txt").display().to_string();
    for (arguments, said) in [
        (&["export", &source, &other][..], "does not say what to write"),
        (&["export", "--fields", "nobody", &source, &table], "nobody"),
        (&["export", "--query", "where nobody > 1", &source, &table], "nobody"),
        (&["export", "--fields", "id,depth,id", &format!("{source}#Gauge"), &table], "--fields has id twice"),
        (&["export", "--from", "1", &source, &table], "no recording"),
        (
            &["export", "--query", "where depth > 100", &format!("{source}#Gauge"), &table],
            "passes none of the 3 records",
        ),
        (&["export", &format!("{source}#Nobody"), &table], "it has Gauge, Track"),
        (&["export", &empty, &table], "no record"),
        (&["export", &source, "/nowhere/t.csv"], "cannot write /nowhere/t.csv"),
    ] {
        let run = isoform(arguments);
        assert!(run.status != 0 && run.errors.contains(said), "{arguments:?}: {}", run.errors);
    }
    let mut left: Vec<_> = fs::read_dir(files.path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["empty.iso", "stream.iso"]);
}

/// A value is never in a column of another precision or unit.
#[test]
fn other_types_and_units_are_other_tables() {
    let files = Files::new();
    let mut writer = Writer::new(mixed());
    let km = [&1.0_f64.to_be_bytes()[..], &[0, 0, 0, 1, 0, 0, 0, 0]].concat();
    writer.write_body(&other_gauge(8, "km"), &km).unwrap();
    let single = [&1.0_f32.to_be_bytes()[..], &[0, 0, 0, 2]].concat();
    writer.write_body(&other_gauge(4, "m"), &single).unwrap();
    let source = files.write("all.iso", writer.into_inner());
    let folder = files.path("t").display().to_string();
    let said = isoform(&["export", &source, &format!("{folder}/"), "--type", "csv"]).good();
    let names: Vec<&str> = said.lines().map(|line| line[folder.len() + 1..].split(':').next().unwrap()).collect();
    assert_eq!(names, ["Gauge.csv", "Track.csv", "Gauge-2.csv", "Gauge-3.csv"]);
    assert_eq!(fs::read_to_string(files.path("t/Gauge-3.csv")).unwrap(), "depth,id\n1.0,2\n");
}

/// A null text is no empty one. Other programs tell them apart by the quotes.
#[test]
fn null_is_nothing_and_an_empty_text_is_quoted() {
    let files = Files::new();
    let fields = FieldList::new("R").field("id", "integer", 8, 0).field("name", "string", 8, 8);
    let format = fields.format(Layout::X86_64.machine(), 16, 8).unwrap();
    let mut writer = Writer::new(Vec::new());
    for (id, name) in [None, Some(""), Some("a \"b\", c\nd"), Some(" ")].into_iter().enumerate() {
        let slot = if name.is_some() { 16_u64 } else { 0 };
        let text: Vec<u8> = name.into_iter().flat_map(|name| name.bytes().chain([0])).collect();
        writer.write_body(&format, &[&id.to_le_bytes()[..], &slot.to_le_bytes(), &text].concat()).unwrap();
    }
    let source = files.write("r.iso", writer.into_inner());
    let table = files.path("r.csv").display().to_string();
    isoform(&["export", &source, &table]).good();
    let rows = "id,name\n0,\n1,\"\"\n2,\"a \"\"b\"\", c\nd\"\n3, \n";
    assert_eq!(fs::read_to_string(&table).unwrap(), rows);
    let mut reader = csv::Reader::from_path(&table).unwrap();
    let names: Vec<_> = reader.records().map(|row| row.unwrap()[1].to_string()).collect();
    assert_eq!(names, ["", "", "a \"b\", c\nd", " "]);
    // A line without anything would be no row.
    isoform(&["export", "--fields", "name", &source, &table, "--force"]).good();
    assert_eq!(csv::Reader::from_path(&table).unwrap().records().count(), 4);
}

/// A spreadsheet takes texts for formulas. CSV has them as they are, unless it is for one; numbers stay numbers.
#[test]
fn formulas_are_texts_in_a_spreadsheet() {
    let files = Files::new();
    let fields = FieldList::new("R").field("text", "char[8]", 1, 0).field("number", "float", 8, 8);
    let format = fields.format(Layout::X86_64.machine(), 16, 8).unwrap();
    let mut writer = Writer::new(Vec::new());
    let formulas = [
        "=1+1",
        "+1",
        "-1",
        "@A1",
        "\tx",
        "\rx",
        "\nx",
        " =1",
        "\u{200b}=1",
        "\u{ff1d}1",
        "\u{ff0b}1",
        "\u{ff0d}1",
        "\u{ff20}1",
    ];
    let texts = [&formulas[..], &["a=1", "'=1", "\"=1", " 1", ""]].concat();
    for text in &texts {
        let mut body = [0; 16];
        body[..text.len()].copy_from_slice(text.as_bytes());
        body[8..].copy_from_slice(&(-1.5_f64).to_le_bytes());
        writer.write_body(&format, &body).unwrap();
    }
    let source = files.write("r.iso", writer.into_inner());
    let table = files.path("r.csv").display().to_string();
    let cells = |more: &[&str]| {
        isoform(&[&["export", "--force", &source, &table], more].concat()).good();
        let mut reader = csv::Reader::from_path(&table).unwrap();
        reader.records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect::<Vec<Vec<_>>>()
    };
    let exact: Vec<Vec<String>> = texts.iter().map(|text| vec![text.to_string(), "-1.5".into()]).collect();
    assert_eq!(cells(&[]), exact);
    let escaped = |text: &str| if formulas.contains(&text) { format!("'{text}") } else { text.into() };
    let expected: Vec<Vec<String>> = texts.iter().map(|text| vec![escaped(text), "-1.5".into()]).collect();
    assert_eq!(cells(&["--spreadsheet"]), expected);
    let errors = isoform(&["export", "--spreadsheet", &source, &files.path("r.parquet").display().to_string()]).bad(2);
    assert!(errors.contains("--spreadsheet is for CSV"), "{errors}");
}

/// A file whose name begins like an option is named so that a command takes it.
#[test]
fn a_file_that_looks_like_an_option_is_named_with_its_folder() {
    let files = Files::new();
    let mut writer = Writer::new(Vec::new());
    for id in 0..2 {
        writer.write_body(&gauge(), &gauge_body(id, 0.5)).unwrap();
    }
    let source = files.write("g.iso", writer.into_inner());
    let within = |arguments: &[&str]| Run::of(command(arguments).current_dir(files.path("")).output().unwrap());
    assert_eq!(within(&["export", &source, "--", "-rf.parquet"]).good(), "./-rf.parquet: 2 rows of Gauge\n");
    fs::rename(&source, files.path("-g.iso")).unwrap();
    assert!(within(&["index", "--", "-g.iso"]).good().starts_with("./-g.iso.index: 2 messages in "));
    let bytes = fs::read(files.path("-g.iso")).unwrap();
    fs::write(files.path("-cut.iso"), &bytes[..bytes.len() - 5]).unwrap();
    let run = within(&["check", "--", "-cut.iso"]);
    assert!(
        run.output.contains(" ./-cut.iso > NEW") && run.output.contains("`isoform append ./-cut.iso`"),
        "{}",
        run.output
    );
}

/// A file that may not grow any more: a part of a table is none.
#[test]
#[cfg(unix)]
fn a_full_disk_leaves_no_file() {
    let files = Files::new();
    let mut writer = Writer::new(Vec::new());
    for id in 0..5_000_u32 {
        let depth = f64::from(id.wrapping_mul(2_654_435_761));
        writer.write_body(&gauge(), &gauge_body(id, depth)).unwrap();
    }
    let source = files.write("many.iso", writer.into_inner());
    for kind in ["parquet", "arrow", "csv", "jsonl"] {
        let table = files.path(&format!("t.{kind}")).display().to_string();
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_isoform")]);
        let errors = Run::of(shell.args(["export", &source, &table]).output().unwrap()).bad(2);
        assert!(errors.contains(&format!("t.{kind}: cannot write: ")), "{errors}");
        assert_eq!(fs::read_dir(files.path("")).unwrap().count(), 1, "{kind}: only the source is there");
        isoform(&["export", &source, &table]).good();
        fs::remove_file(&table).unwrap();
    }
}

/// Of many records, one with a text that is none is left out, and costs no other.
#[test]
fn a_text_that_is_none_is_one_record_of_many() {
    let files = Files::new();
    let fields = FieldList::new("R").field("name", "char[4]", 1, 0).field("id", "unsigned", 4, 4);
    let format = fields.format(Layout::X86_64.machine(), 8, 4).unwrap();
    let mut writer = Writer::new(Vec::new());
    for name in [*b"ab\0\0", *b"\xff\xfe\0\0", *b"cd\0\xff"] {
        writer.write_body(&format, &[&name[..], &[1, 0, 0, 0]].concat()).unwrap();
    }
    let source = files.write("r.iso", writer.into_inner());
    for kind in ["parquet", "csv"] {
        let table = files.path(&format!("r.{kind}")).display().to_string();
        let run = isoform(&["export", &source, &table]);
        assert_eq!(run.status, 1);
        assert!(run.errors.contains("record 2") && run.errors.contains("name"), "{}", run.errors);
        assert!(run.output.contains("2 rows of R"), "{}", run.output);
    }
}

/// What stays stays: other files, the source, what is no file.
#[test]
fn only_a_file_of_its_own_is_replaced() {
    let files = Files::new();
    let source = files.write("stream.iso", stream());
    let one = format!("{source}#Gauge");
    let said = isoform(&["export", "--force", "--type", "csv", &one, &source]).bad(2);
    assert!(said.contains("is the source"), "{said}");
    assert_eq!(fs::read(files.path("stream.iso")).unwrap(), stream());
    let said = isoform(&["export", &one, "-", "--type", "csv"]).bad(2);
    assert!(said.contains("not to standard output"), "{said}");
    #[cfg(unix)]
    {
        let link = files.path("link.csv");
        let victim = files.write("victim", "precious");
        std::os::unix::fs::symlink(&victim, &link).unwrap();
        let said = isoform(&["export", "--force", &one, &link.display().to_string()]).bad(2);
        assert!(said.contains("no regular file"), "{said}");
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        // A pipe is read once.
        let run = std::process::Command::new("sh")
            .args([
                "-c",
                "cat \"$1\" | \"$0\" export \"/dev/stdin#Gauge\" \"$2\"",
                env!("CARGO_BIN_EXE_isoform"),
                &source,
            ])
            .arg(files.path("piped.csv"))
            .output()
            .unwrap();
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        assert!(fs::read_to_string(files.path("piped.csv")).unwrap().starts_with("id,depth\n1,0.5\n"));
    }
}

/// A kind that Parquet cannot hold, names as long as they may be, and many kinds of one name.
#[test]
fn one_kind_of_records_is_no_obstacle_to_others() {
    let files = Files::new();
    let long = "n".repeat(255);
    let mut writer = Writer::new(stream());
    let wide = FieldList::new("Wide").field("n", "integer", 16, 0);
    writer.write_body(&wide.format(Layout::X86_64.machine(), 16, 16).unwrap(), &[0; 16]).unwrap();
    for count in 1..=300_usize {
        let format = FieldList::new(long.clone()).field(format!("f{count}"), "unsigned", 1, 0);
        writer.write_body(&format.format(Layout::X86_64.machine(), 1, 1).unwrap(), &[1]).unwrap();
    }
    for id in 4..=6 {
        writer.write_body(&gauge(), &gauge_body(id, 0.0)).unwrap();
    }
    let source = files.write("many.iso", writer.into_inner());
    let folder = files.path("t").display().to_string();
    let run = isoform(&["export", &source, &format!("{folder}/")]);
    assert_eq!(run.status, 1);
    assert!(run.errors.contains("1 record of Wide left out") && run.errors.contains("256 tables"), "{}", run.errors);
    assert_eq!(parquet(&format!("{folder}/Gauge.parquet")).num_rows(), 6);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 256);
}
