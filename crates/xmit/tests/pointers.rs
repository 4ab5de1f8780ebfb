//! What pointers are, which neither a C header nor a compiled program says: an overlay does (`spec/xmit.md`, "Overlay").

#![cfg(target_os = "linux")]

mod compilers;

use compilers::{compile, compilers};
use isoform_core::{Code, Error, Format, Layout, Result, Shape};
use isoform_xmit::{Alone, Declarations, Language, Overlay, Program};

const C: &str = "
    struct place { const char *label; double x; };
    typedef const char *text;
    typedef float row[3];
    struct run {
        char *name;
        double *values;
        int count;
        const struct place *start;
        row *rows;
        unsigned short ny;
        char **words;
        int nx;
        double *grid;
        text title;
        int *three;
        struct run *next;
        void *context;
        unsigned long last;
        double level;
    };
    struct run run;";
const OVERLAY: &str = r#"{
    "place": {"fields": {"label": {"pointer": "text"}, "x": {"unit": "m", "name": "at"}}},
    "run": {"name": "Run", "fields": {
        "name": {"pointer": "text"},
        "values": {"pointer": "[count]", "unit": "m/s"},
        "start": {"pointer": "one"},
        "rows": {"pointer": "[ny]"},
        "words": {"pointer": "text[count]"},
        "grid": {"pointer": "[ny][nx]"},
        "title": {"pointer": "text"},
        "three": {"pointer": "[3]"},
        "next": null,
        "context": null,
        "nx": {"name": "width", "default": 7}
    }}
}"#;
const SHAPE: &str = "
record place
  label  string
  at     double  unit=\"m\"
record Run
  name    string
  values  double[count]  unit=\"m/s\"
  count   int
  start   place*
  rows    float[ny][3]
  ny      u16
  words   string[count]
  width   int
  grid    double[ny][width]
  title   string
  three   int[3]*
";

fn ours() -> Overlay {
    Overlay::parse("mine.json", OVERLAY).unwrap()
}

/// The format without the fields that a document would not have, as the program lays it out.
fn expected(layout: &Layout) -> Format {
    let whole = format!("{SHAPE}  next  u8*\n  context  u8*\n  last  unsigned long\n  level  double\n");
    let whole = Shape::parse(&whole).unwrap().on(layout).unwrap();
    let structure = whole.structure();
    let fields = structure.fields().iter().filter(|field| !matches!(&*field.name, "next" | "context")).cloned();
    let (size, align) = (structure.size(), structure.align());
    let of = isoform_core::Structure::new("Run", structure.machine(), size, align, fields.collect()).unwrap();
    Format::new(of.into()).unwrap()
}

#[test]
fn structs_with_pointers_become_records_on_every_machine() {
    let folder = tempfile::tempdir().unwrap();
    for (compiler, layout) in compilers() {
        for kind in ["-g", "-gbtf", "-gctf"] {
            if compiler.starts_with("clang") && kind != "-g" {
                continue;
            }
            let object = compile(folder.path(), compiler, "a.c", C, &["-c", kind]);
            let program = Program::open(&object).unwrap().over(ours());
            let format = program.format("run").unwrap_or_else(|error| panic!("{compiler} {kind}: {error}"));
            assert_eq!(format, expected(&layout), "{compiler} {kind}");
            assert_eq!(format.token(), expected(&layout).token());
            let rules = format!("{:?}", program.rules("run").unwrap());
            assert!(rules.contains("width") && rules.contains('7'), "{rules}");
        }
    }
    // Stripped and linked.
    let text = format!("{C}\nint main(void) {{ return 0; }}");
    let linked = compile(folder.path(), "cc", "a.c", &text, &["-gctf", "-s"]);
    assert_eq!(Program::open(&linked).unwrap().over(ours()).format("run").unwrap(), expected(&Layout::NATIVE));
}

/// A header says no more than a program. Fields that are dropped leave no gap there, since the header has no layout.
#[test]
fn structs_of_headers_with_pointers_become_records() {
    let read = || Declarations::read(Language::C, "run.h", C, &mut Alone).unwrap();
    let error = read().bind("run", &Layout::NATIVE).unwrap_err();
    assert_eq!(error.code(), Code::Declaration);
    assert!(error.to_string().contains("run.h:7") && error.to_string().contains("the pointer values"), "{error}");
    let declarations = ours().over(read()).unwrap();
    for layout in [Layout::X86_64, Layout::I386, Layout::S390X] {
        let shape = Shape::parse(&format!("{SHAPE}  last  unsigned long\n  level  double\n")).unwrap();
        assert_eq!(declarations.bind("Run", &layout).unwrap(), shape.on(&layout).unwrap());
    }
}

/// What a `char *` is without an overlay, and what an overlay makes of it.
#[test]
fn a_pointer_to_characters_is_text_in_a_header_unless_an_overlay_says_otherwise() {
    let text = "struct R { char *raw; int n; };";
    let read = || Declarations::read(Language::C, "r.h", text, &mut Alone).unwrap();
    assert_eq!(read().shape("R").unwrap().to_string(), "record R\n  raw  string\n  n    i32\n");
    let ours = Overlay::parse("mine.json", r#"{"R": {"fields": {"raw": {"pointer": "[n]"}}}}"#).unwrap();
    let shape = ours.over(read()).unwrap().shape("R").unwrap().to_string();
    assert_eq!(shape, "record R\n  raw  char[n]\n  n    i32\n");
}

#[test]
fn what_makes_no_sense_is_refused_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let object = compile(folder.path(), "cc", "a.c", C, &["-c", "-g"]);
    let header = |ours: &Overlay| -> Result<()> {
        let declarations = Declarations::read(Language::C, "run.h", C, &mut Alone)?;
        ours.over(declarations)?.bind("run", &Layout::NATIVE).map(drop)
    };
    let drops = r#""name": null, "values": null, "start": null, "rows": null, "words": null, "grid": null,
        "title": null, "three": null, "next": null, "context": null"#;
    for (field, change, code, says) in [
        ("values", r#"{"pointer": "text"}"#, Code::Declaration, "a pointer to characters"),
        ("values", r#"{"pointer": "[counts]"}"#, Code::NoSuchField, "an integer field of the record as the length"),
        ("values", r#"{"pointer": "[level]"}"#, Code::Declaration, "an integer field of the record as the length"),
        ("words", r#"{"pointer": "text"}"#, Code::Declaration, "a pointer to characters"),
        ("context", r#"{"pointer": "one"}"#, Code::Declaration, ""),
        ("next", r#"{"pointer": "one"}"#, Code::Declaration, ""),
        ("count", r#"{"pointer": "one"}"#, Code::Declaration, "a pointer"),
        ("missing", r#"{"pointer": "one"}"#, Code::NoSuchField, "missing"),
        ("nothing", "null", Code::NoSuchField, "nothing"),
    ] {
        // A second member of a name would be refused for itself.
        let rest = drops.replace(&format!("\"{field}\": null,"), "").replace(&format!(", \"{field}\": null"), "");
        let ours = format!(r#"{{"run": {{"fields": {{{rest}, "{field}": {change}}}}}}}"#);
        let ours = Overlay::parse("mine.json", &ours).unwrap();
        let program = Program::open(&object).unwrap().over(ours.clone()).format("run").map(drop);
        for (of, result) in [("program", program), ("header", header(&ours))] {
            let error: Error = result.expect_err(field);
            // Structs that contain themselves are too deep in a program, and known as such in a document.
            let is_deep = field == "next" && error.code() == Code::Depth;
            assert!(error.code() == code || is_deep, "{of} {field}: {error}");
            assert!(error.to_string().contains(says), "{of} {field}: {error}");
        }
    }
    for pointer in ["", "texts", "one[n]", "[]", "[0]", "[n", "[3n]", "[n]x", "n", "[a][a][a][a][a][a][a][a][a]"] {
        let ours = format!(r#"{{"run": {{"fields": {{"values": {{"pointer": "{pointer}"}}}}}}}}"#);
        let error = Overlay::parse("mine.json", &ours).unwrap_err();
        assert!(error.code() == Code::Text && error.to_string().contains("mine.json.run.values"), "{error}");
    }
    // Without an overlay, and with one for a struct that is not there.
    let error = Program::open(&object).unwrap().format("run").unwrap_err();
    let says =
        "run.name: expected an overlay that says what it points at (text, one, or [n]) or drops it, found a pointer";
    assert!(error.to_string().contains(says), "{error}");
    let ours = Overlay::parse("mine.json", r#"{"ruin": {}}"#).unwrap();
    let error = Program::open(&object).unwrap().over(ours).format("place").unwrap_err();
    assert_eq!(error.code(), Code::Declaration, "{error}");
    let all = OVERLAY.replacen('{', r#"{"ruin": {}, "#, 1);
    let ours = Overlay::parse("mine.json", &all).unwrap();
    let error = Program::open(&object).unwrap().over(ours).format("run").unwrap_err();
    assert!(error.code() == Code::NoSuchField && error.to_string().contains("mine.json.ruin"), "{error}");
}

/// What no record holds can be left out: the rest stays where it is.
#[test]
fn fields_that_no_record_can_have_are_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let text = "struct R { int a; union { int i; float f; } either; int low : 3; void (*call)(void); double b; } r;";
    let ours = r#"{"R": {"fields": {"either": null, "low": null, "call": null, "b": {"unit": "m"}}}}"#;
    let ours = Overlay::parse("mine.json", ours).unwrap();
    for kind in ["-g", "-gbtf", "-gctf"] {
        let object = compile(folder.path(), "cc", "a.c", text, &["-c", kind]);
        let format = Program::open(&object).unwrap().over(ours.clone()).format("R").unwrap();
        let fields: Vec<_> = format.structure().fields().iter().map(|field| (&*field.name, field.offset)).collect();
        let at = if size_of::<usize>() == 8 { 24 } else { 16 };
        assert_eq!(fields, [("a", 0), ("b", at)], "{kind}");
    }
}

#[test]
fn mutants_of_an_overlay_of_a_program_do_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let object = std::fs::read(compile(folder.path(), "cc", "a.c", C, &["-c", "-gctf"])).unwrap();
    let mut accepted = 0;
    for place in 0..OVERLAY.len() {
        for byte in [b'"', b'}', b'n', b'[', b' ', b'0'] {
            let mut mutant = OVERLAY.as_bytes().to_vec();
            mutant[place] = byte;
            let Ok(ours) = Overlay::parse("mine.json", std::str::from_utf8(&mutant).unwrap()) else { continue };
            let program = Program::read(&object).unwrap().over(ours);
            accepted += usize::from(program.format("run").is_ok());
            let _ = program.rules("run");
        }
    }
    assert!(accepted > 50, "{accepted}");
}
