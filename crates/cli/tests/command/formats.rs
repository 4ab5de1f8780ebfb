//! `format` and `layout`.

use super::*;
use isoform::stream::Reader;
use serde_json::Value;

const GAUGE: &str = "\
Gauge: 16 bytes, aligned to 8
machine  little-endian, 64-bit pointers
token    4db8acb39c1ce25075b0431b2fdd2ad3

offset  size  field  type  unit
     0     4  id     u32
     4     4  (gap)
     8     8  depth  f64   m
";

const TRACK: &str = "\
Track: 16 bytes, aligned to 4
machine  big-endian, 32-bit pointers
token    TOKEN

offset  size  field   type                          unit
     0     4  name    string
     4     4  state   enumeration(4){good=0,bad=1}
     8     4  count   i32
    12     4  points  Point[count]

Point: 16 bytes, aligned to 8

offset  size  field  type  unit
     0     8  x      f64
     8     8  y      f64
";

fn track_text() -> String {
    TRACK.replace("TOKEN", &track().token().to_string())
}

#[test]
fn every_format_of_a_stream() {
    let files = Files::new();
    let path = files.write("a.iso", stream());
    assert_eq!(isoform(&["format", &path]).good(), format!("{GAUGE}\n{}", track_text()));
    assert_eq!(isoform_reading(&["format", "-"], &stream()).good(), format!("{GAUGE}\n{}", track_text()));
    assert_eq!(isoform(&["format", &format!("{path}#Track")]).good(), track_text());
    assert_eq!(isoform(&["format", &format!("{path}#4db8a")]).good(), GAUGE);
    assert_eq!(isoform_reading(&["format", "-#Gauge"], &stream()).good(), GAUGE);
    let errors = isoform(&["format", &format!("{path}#Trek")]).bad(1);
    assert!(errors.contains("no format \"Trek\" in ") && errors.contains("hint: it has Gauge, Track"), "{errors}");
    let errors = isoform(&["format", &format!("{path}@s390x")]).bad(2);
    assert!(errors.contains("laid out already"), "{errors}");
}

#[test]
fn formats_that_are_only_described() {
    let mut writer = Writer::new(Vec::new());
    writer.describe(&gauge()).unwrap();
    assert_eq!(isoform_reading(&["format", "-"], writer.inner()).good(), GAUGE);
    assert!(isoform_reading(&["format", "-"], b"").bad(1).contains("no format in standard input"));
}

#[test]
fn what_comes_before_a_fault_is_shown() {
    let bytes = stream();
    let run = isoform_reading(&["format", "-"], &bytes[..bytes.len() - 20]);
    assert!(run.output.starts_with(GAUGE) && run.output.contains("Track"));
    let errors = run.bad(1);
    assert!(errors.contains("the stream ends within a message") && errors.contains("hint:"), "{errors}");

    let mut unknown = gauge_message_alone();
    unknown.extend(stream());
    let run = isoform_reading(&["format", "-#Track"], &unknown);
    assert_eq!(run.output, track_text());
    assert!(run.bad(1).contains(&format!("unknown format: expected a registered format, found {}", gauge().token())));
}

/// A message whose format the stream does not describe.
fn gauge_message_alone() -> Vec<u8> {
    let mut writer = Writer::new(Vec::new());
    writer.describe(&gauge()).unwrap();
    let described = writer.inner().len();
    writer.write_body(&gauge(), &gauge_body(9, 0.0)).unwrap();
    writer.into_inner().split_off(described)
}

#[test]
fn formats_as_json() {
    let lines = isoform_reading(&["format", "--json", "-"], &stream()).good();
    let formats: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(formats.len(), 2);
    assert_eq!(formats[0]["token"], gauge().token().to_string());
    assert_eq!(formats[0]["gaps"][0]["offset"], 4);
    assert_eq!(formats[0]["fields"][1]["unit"], "m");
    assert_eq!((&formats[1]["order"], &formats[1]["pointer"]), (&"big".into(), &4.into()));
    assert_eq!(formats[1]["fields"][3]["type"], "Point[count]");
    assert_eq!(formats[1]["structures"][0]["fields"][1]["offset"], 8);
}

#[test]
fn shapes_are_laid_out_for_any_machine() {
    let files = Files::new();
    let path = files.write("track.shape", SHAPES);
    let here = isoform(&["format", &path]).good();
    let size = match Layout::NATIVE {
        Layout::WINDOWS_X64 => 16,
        layout if layout.pointer == 8 => 24,
        _ => 12,
    };
    assert!(here.starts_with(&format!("Track: {size} bytes")), "{here}");
    let there = isoform(&["format", &format!("{path}@powerpc")]).good();
    assert!(there.starts_with("Track: 12 bytes, aligned to 4\nmachine  big-endian, 32-bit pointers\n"), "{there}");
    let inner = isoform(&["format", &format!("{path}#Point@powerpc")]).good();
    assert!(inner.starts_with("Point: 16 bytes"), "{inner}");
    let errors = isoform_reading(&["format", "-"], b"record P\n  x  doubl\n").bad(1);
    assert!(errors.contains("standard input: invalid declaration at P.x"), "{errors}");
}

#[test]
fn the_layouts_that_are_known() {
    let text = isoform(&["layout"]).good();
    assert_eq!(
        text.lines().filter(|line| line.contains(" little ") || line.contains(" big ")).count(),
        Layout::ALL.len()
    );
    assert!(text.contains("i386           little            4     4  8@4"), "{text}");
    let lines = isoform(&["layout", "--json", "--on", "windows-x64"]).good();
    let layout: Value = serde_json::from_str(&lines).unwrap();
    assert_eq!((&layout["name"], &layout["long"]), (&"windows-x64".into(), &4.into()));
    assert!(isoform(&["layout", "--on", "vax"]).bad(2).contains("hint: one of"));
}

#[test]
fn a_shape_side_by_side() {
    let text = isoform_reading(&["layout", "-"], SHAPES.as_bytes()).good();
    let expected = "\
Track      A       B       C
  id       0  +8   0  +4   0  +4
  n        8  +4   4  +4   4  +4
  points  16  +8   8  +4   8  +8
  (size)  24      12      16

Point      A       B       C
  x        0  +8   0  +8   0  +8
  y        8  +8   8  +8   8  +8
  (size)  16      16      16

A  little-endian x86_64 aarch64 aarch64-macos riscv64 powerpc64le
   big-endian    powerpc64 s390x sparc64
B  little-endian i386 armv7
   big-endian    powerpc sparc mips
C  little-endian windows-x64
offset +size, in bytes
";
    assert_eq!(text, expected);
    let one = isoform_reading(&["layout", "-", "--on", "powerpc"], SHAPES.as_bytes()).good();
    assert!(one.starts_with("Track: 12 bytes"), "{one}");
    let lines = isoform_reading(&["layout", "-", "--json"], SHAPES.as_bytes()).good();
    assert_eq!(lines.lines().count(), Layout::ALL.len());
    assert!(lines.lines().all(|line| serde_json::from_str::<Value>(line).unwrap()["layout"].is_string()));
}

#[test]
fn the_records_of_a_stream_on_another_machine() {
    let text = isoform_reading(&["layout", "-#Gauge", "--on", "i386"], &stream()).good();
    assert!(text.starts_with("Gauge: 12 bytes, aligned to 4"), "{text}");
    assert_eq!(Reader::new(&stream()[..]).peek().unwrap().unwrap().1.size(), 16);
}

/// Emitted records have the names of their places, such as `river/step`.
#[test]
fn a_format_is_chosen_by_a_name_with_a_slash() {
    let files = Files::new();
    let fields = FieldList::new("river/step").field("id", "unsigned", 4, 0);
    let format = fields.format(Layout::X86_64.machine(), 4, 4).unwrap();
    let mut writer = Writer::new(stream());
    writer.write_body(&format, &[7, 0, 0, 0]).unwrap();
    let source = files.write("emitted.iso", writer.into_inner());
    assert_eq!(isoform(&["dump", "--json", &format!("{source}#river/step")]).good(), "{\"id\":7}\n");
    // A file of such a name comes first.
    let other = files.write("emitted.iso#x", stream());
    assert!(isoform(&["dump", "--json", &format!("{other}#Gauge")]).good().contains("depth"));
}
