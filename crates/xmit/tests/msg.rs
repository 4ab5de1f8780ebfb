//! ROS messages to shapes: the table of `spec/xmit.md`, and what it refuses.

mod common;

use common::{One, same_as};
use isoform_core::{Code, Error, Result, Value};
use isoform_xmit::{Declarations, Language, Loader};

const MSG: One = One { language: Language::Msg, name: "river/msg/R.msg" };

#[test]
fn built_in_types() {
    for (name, words) in [
        ("bool", "bool"),
        ("byte", "u8"),
        ("char", "u8"),
        ("int8", "i8"),
        ("uint8", "u8"),
        ("int16", "i16"),
        ("uint16", "u16"),
        ("int32", "i32"),
        ("uint32", "u32"),
        ("int64", "i64"),
        ("uint64", "u64"),
        ("float32", "f32"),
        ("float64", "f64"),
        ("string", "string"),
        ("string<=8", "string"),
        ("float64[3]", "f64[3]"),
        ("float64[]", "f64[x_len]; x_len u64"),
        ("float64[<=3]", "f64[x_len]; x_len u64"),
        ("string<=8[<=3]", "string[x_len]; x_len u64"),
    ] {
        assert_eq!(MSG.fields(&format!("{name} x")), format!("x {words}"), "{name}");
    }
}

#[test]
fn times_constants_defaults_and_comments() -> Result<()> {
    let text = "# A gauge\n# of a river\n\nint32 MOST=7 # no field\nstring NAME= a # b\ntime at\n\n# above the sill\nfloat64 level 1.5 # unit=\"m\"\n
        string site \"a # b\"\nbool good True\nbuiltin_interfaces/Time now\nduration[2] waits\n";
    let r = MSG.read(text)?;
    let expected = "record time\n sec u32 unit=\"s\"\n nsec u32 unit=\"ns\"
        record Time\n sec i32 unit=\"s\"\n nanosec u32 unit=\"ns\"
        record duration\n sec i32 unit=\"s\"\n nsec i32 unit=\"ns\"
        record R\n at time\n level double unit=\"m\"\n site string\n good bool\n now Time\n waits duration[2]";
    same_as(&r, "R", expected);
    let record = r.get("R")?;
    assert_eq!(record.prose.as_deref(), Some("A gauge\nof a river"));
    assert_eq!(record.fields[1].prose.as_deref(), Some("above the sill"));
    let rules = isoform_core::plan::Rules::new()
        .default("R", "level", Value::Float(1.5))
        .default("R", "site", Value::String(b"a # b"[..].into()))
        .default("R", "good", Value::Boolean(true));
    assert_eq!(r.rules("R")?, rules);
    Ok(())
}

#[test]
fn a_recording_has_all_messages_in_one_text() {
    let text = "Header header\ngeometry_msgs/Point[] points\nOwn own\n================\nMSG: std_msgs/Header\nuint32 seq\ntime stamp\n
        ===\nMSG: geometry_msgs/Point\nfloat64 x\n====\nMSG: river/msg/Own\nbool x\n";
    let expected = "record time\n sec u32 unit=\"s\"\n nsec u32 unit=\"ns\"\nrecord Header\n seq u32\n stamp time
        record Point\n x double\nrecord Own\n x bool\nrecord R\n header Header\n points Point[points_len]\n points_len u64\n own Own";
    same_as(&MSG.read(text).unwrap(), "R", expected);
}

#[test]
fn messages_in_other_documents() -> Result<()> {
    struct Packages(Vec<String>);
    impl Loader for Packages {
        fn locate(&mut self, base: &str, location: &str) -> Result<String> {
            let folder = base.rsplit_once('/').map_or("", |(folder, _)| folder);
            let mut parts: Vec<&str> = folder.split('/').collect();
            for part in location.split('/') {
                match part {
                    ".." => _ = parts.pop(),
                    part => parts.push(part),
                }
            }
            Ok(parts.join("/"))
        }
        fn load(&mut self, name: &str) -> Result<String> {
            self.0.push(name.into());
            match name {
                "river/msg/Own.msg" => Ok("geometry_msgs/Point at".into()),
                "geometry_msgs/msg/Point.msg" => Ok("float64 x\nfloat64 y".into()),
                _ => Err(Error::new(Code::Source).found(name)),
            }
        }
    }
    let mut packages = Packages(Vec::new());
    let r = Declarations::read(Language::Msg, MSG.name, "Own own\ngeometry_msgs/Point[2] two", &mut packages)?;
    same_as(&r, "R", "record Point\n x double\n y double\nrecord Own\n at Point\nrecord R\n own Own\n two Point[2]");
    let missing = Declarations::read(Language::Msg, MSG.name, "Missing own", &mut packages)?;
    assert_eq!(missing.shape("R").unwrap_err().code(), Code::Source);
    let many: String = (0..200).map(|i| format!("M{i} x{i}\n")).collect();
    packages.0.clear();
    let refused = Declarations::read(Language::Msg, MSG.name, &many, &mut packages).unwrap_err();
    assert_eq!((refused.code(), packages.0.len()), (Code::MessageSize, 63));
    Ok(())
}

#[test]
fn refusals_name_the_line_and_the_reason() {
    MSG.refuses("int32 a\nwstring b", "R.msg:2: expected a type that a record can have, found wstring");
    MSG.refuses("int32[2] a [1, 2]", "R.msg:1: expected no default, since the field is an array");
    MSG.refuses("int32[0] a", "[], [N] or [<=N] behind a type");
    MSG.refuses("int32[2][3] a", "[], [N] or [<=N] behind a type");
    MSG.refuses("int32<=3 a", "a limit of a string alone");
    MSG.refuses("int32", "a type and the name of a field");
    MSG.refuses("int32 a\nint32 a", "R.msg:2: expected one field of each name");
    MSG.refuses("R a", "found R > R");
    MSG.refuses("", "a record with a field or more");
    MSG.refuses("int32 a\n===\nint32 b", "R.msg:2: expected MSG: and the type");
    MSG.refuses("a/b/c/d x", "expected a type");
}
