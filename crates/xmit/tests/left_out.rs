//! Named types of programs that no record can be: each is listed with its place and the reason, and none is passed over.

#![cfg(target_os = "linux")]

mod compilers;

use compilers::{compile, compilers};
use isoform_core::{Code, Layout};
use isoform_xmit::{Alone, Declarations, Language, Program};

const C: &str = "
union value { int i; float f; };
typedef union { int i; float f; } Either;
typedef union value Value;
typedef const Value Fixed_value;
struct hidden;
typedef struct hidden Hidden;
union hidden_value;
enum colour { RED };
typedef int number;
typedef struct gauge { int step; } Gauge;
typedef Gauge Again;
typedef const volatile Again Fixed;
struct gauge gauge; union value value; Either either; Value other; Fixed_value fixed_value; struct hidden *hidden; Hidden *same;
union hidden_value *pointer; enum colour colour; number n; Gauge g; Again again; Fixed fixed;";

/// What is left out of a program, and why.
fn left_out(program: &Program) -> Vec<String> {
    program.left_out().iter().map(|left| format!("{}: {}", left.what, left.reason)).collect()
}

const UNIONS: [&str; 5] = ["Either", "Fixed_value", "Value", "hidden_value", "value"];
const DECLARED: [&str; 2] = ["Hidden", "hidden"];

#[test]
fn unions_and_what_is_only_declared_are_named_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let unions = UNIONS.iter().map(|name| format!("union {name}: a union is no record"));
    let declared =
        DECLARED.iter().map(|name| format!("struct {name}: the program only declares it, without its fields"));
    let expected: Vec<String> = unions.chain(declared).collect();
    for (compiler, _) in compilers() {
        let own: &[&str] = if compiler.starts_with("clang") { &[] } else { &["-gbtf", "-gctf"] };
        for kind in ["-gdwarf-2", "-gdwarf-4", "-gdwarf-5", "-gdwarf-4 -fdebug-types-section"].iter().chain(own) {
            let arguments: Vec<&str> = ["-c"].into_iter().chain(kind.split(' ')).collect();
            let program = Program::open(&compile(folder.path(), compiler, "a.c", C, &arguments)).unwrap();
            assert_eq!(left_out(&program), expected, "{compiler} {kind}");
            let places = program.left_out().iter().filter(|left| left.place.contains(':')).count();
            assert_eq!(places, expected.len());
            assert!(program.left_out().iter().all(|left| !left.is_refused));
            // Typedefs of typedefs, and of what is constant, are structs, too.
            assert_eq!(program.names().collect::<Vec<_>>(), ["Again", "Fixed", "Gauge", "gauge"], "{compiler} {kind}");
            assert_eq!(program.format("Fixed").unwrap().size(), 4, "{compiler} {kind}");
            for (name, says) in [("value", "union value: a union is no record"), ("Hidden", "only declares it")] {
                let error = program.format(name).unwrap_err();
                assert!(error.code() == Code::NoSuchField && error.to_string().contains(says), "{error}");
            }
        }
    }
}

/// Places are lines of DWARF, and the others state none.
#[test]
fn each_is_where_the_program_declares_it() {
    let folder = tempfile::tempdir().unwrap();
    let program = Program::open(&compile(folder.path(), "cc", "a.c", C, &["-c", "-g"])).unwrap();
    let value = program.left_out().iter().find(|left| &*left.what == "union value").unwrap();
    assert!(value.place.ends_with("a.c:2"), "{}", value.place);
}

/// One that a file declares may be whole in another, and several files have one union.
#[test]
fn files_of_one_program_tell_of_each_name_once() {
    let folder = tempfile::tempdir().unwrap();
    let whole = "struct hidden { int a; } here; union value { int i; float f; } v; int main(void) { return 0; }";
    for kind in ["-g", "-gbtf", "-gctf"] {
        let object = compile(folder.path(), "cc", "a.c", C, &["-c", kind]);
        let linked = compile(folder.path(), "cc", "main.c", whole, &[kind, object.to_str().unwrap()]);
        let program = Program::open(&linked).unwrap();
        let unions = left_out(&program).iter().filter(|left| left.starts_with("union value:")).count();
        assert_eq!(unions, 1, "{kind}");
        assert!(!left_out(&program).iter().any(|left| left.starts_with("struct hidden:")), "{kind}");
        assert_eq!(program.format("hidden").unwrap().size(), 4, "{kind}");
    }
}

const CPP: &str = "
namespace river { union Value { int i; float f; }; struct Hidden; }
template <class T> struct Box { T value; };
template <class T> union Any { T value; int i; };
template <class T> struct Later;
template <class T> struct River_with_a_long_name { T value; };
typedef River_with_a_long_name<River_with_a_long_name<River_with_a_long_name<River_with_a_long_name<River_with_a_long_name<
    River_with_a_long_name<River_with_a_long_name<River_with_a_long_name<River_with_a_long_name<River_with_a_long_name<
    River_with_a_long_name<Box<int> > > > > > > > > > > > Long;
river::Value value; river::Hidden *hidden; Box<int> box; Any<float> any; Later<int> *later; Long deep;
Box<unsigned int> spaced;
";

/// An instance of a template is a record if its name can be one's; otherwise it is named with the reason.
#[test]
fn instances_of_templates_are_records_or_said_to_be_none() {
    let folder = tempfile::tempdir().unwrap();
    for compiler in ["g++", "clang++"].into_iter().filter(|compiler| compilers::has(compiler)) {
        for kind in ["-gdwarf-4", "-gdwarf-5", "-gdwarf-4 -fdebug-types-section"] {
            let arguments: Vec<&str> = ["-c"].into_iter().chain(kind.split(' ')).collect();
            let program = Program::open(&compile(folder.path(), compiler, "a.cpp", CPP, &arguments)).unwrap();
            assert_eq!(program.layout().name, Layout::NATIVE.name);
            assert_eq!(program.format("Box<int>").unwrap().size(), 4);
            let left = left_out(&program);
            let is_there =
                |start: &str, end: &str| left.iter().any(|left| left.starts_with(start) && left.ends_with(end));
            assert!(is_there("union Value:", "a union is no record"), "{left:#?}");
            assert!(is_there("union Any<float>:", "a union is no record"), "{left:#?}");
            assert!(is_there("struct Hidden:", "only declares it, without its fields"), "{left:#?}");
            assert!(is_there("struct Later<int>:", "only declares it, without its fields"), "{left:#?}");
            let long = "struct River_with_a_long_name<River_with_a_long_name<";
            assert!(is_there(long, "a name of at most 255 bytes"), "{left:#?}");
            let refused = program.left_out().iter().filter(|left| left.is_refused).count();
            // The innermost instances have shorter names, and are records.
            assert_eq!(refused, program.left_out().iter().filter(|left| left.what.starts_with(long)).count());
            assert!(program.names().all(|name| name.len() <= 255));
            // Its typedef has a name, and the fields within it have none that a record can have.
            assert!(program.format("Long").unwrap_err().to_string().contains("1 to 255 bytes"));
            // A name with a space is refused where it is asked for, with the reason.
            let error = program.format("Box<unsigned int>").unwrap_err().to_string();
            assert!(error.contains("without space"), "{error}");
        }
    }
}

/// However many there are, the list is bounded and says how many it leaves out.
#[test]
fn many_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let text: String = (0..1100).map(|at| format!("union value_{at} {{ int i; float f; }} v_{at};\n")).collect();
    let program = Program::open(&compile(folder.path(), "cc", "a.c", &text, &["-c", "-g"])).unwrap();
    assert_eq!(program.left_out().len(), 1024);
    assert_eq!(&*program.left_out().last().unwrap().what, "77 more");
}

const HEADER: &str =
    "enum mode { A = 1, B, FIRST = 1, LAST = B, Z = -1, MINUS = -1 }; struct gauge { enum mode mode; int step; };";
const ENUMERATIONS: &str = "
enum mode { A = 1, B, FIRST = 1, LAST = B, Z = -1, MINUS = -1 };
enum { UNUSED = 3, UNUSED_TOO = 3 } unused;
struct gauge { enum mode mode; int step; } gauge;
struct second { enum mode mode; } second;
int main(void) { return 0; }";

/// The first name of a number is its symbol, as in a C header, and the others are listed.
#[test]
fn second_names_of_a_number_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    for (compiler, layout) in compilers() {
        let own: &[&str] = if compiler.starts_with("clang") { &[] } else { &["-c -gbtf", "-c -gctf"] };
        let own = if compiler == "cc" { [own, &["-gbtf -s", "-gctf -s"]].concat() } else { own.to_vec() };
        for kind in ["-c -gdwarf-2", "-c -gdwarf-5"].into_iter().chain(own) {
            let arguments: Vec<&str> = kind.split(' ').collect();
            let program = Program::open(&compile(folder.path(), compiler, "a.c", ENUMERATIONS, &arguments)).unwrap();
            let format = program.format("gauge").unwrap_or_else(|error| panic!("{compiler} {kind}: {error}"));
            let header = Declarations::read(Language::C, "a.h", HEADER, &mut Alone).unwrap();
            assert_eq!(format, header.bind("gauge", &layout).unwrap(), "{compiler} {kind}");
            let mut names = Vec::new();
            let left = program.each(|name, format| format.map(|_| names.push(name.to_owned()))).unwrap();
            assert_eq!(names, ["gauge", "second"], "{compiler} {kind}");
            let said: Vec<String> = left.iter().map(|left| format!("{}: {}", left.what, left.reason)).collect();
            let all = [("FIRST", "A"), ("LAST", "B"), ("MINUS", "Z")];
            let all =
                all.map(|(name, first)| format!("enumerator {name}: {first} has the same number, and is its symbol"));
            assert_eq!(said, all, "{compiler} {kind}");
            assert!(left.iter().all(|left| left.place.contains(':') && !left.place.ends_with(":0")), "{left:#?}");
        }
    }
}
