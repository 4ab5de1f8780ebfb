//! Shapes: their text, and where the fields lie on different machines.

use isoform_core::{Class, Format, Layout, Shape};

/// Offsets of the fields, then size and alignment.
fn places(format: &Format) -> Vec<usize> {
    let structure = format.structure();
    let offsets = structure.fields().iter().map(|field| field.offset);
    offsets.chain([structure.size(), structure.align()]).collect()
}

#[test]
fn each_machine_has_its_own_places() {
    let shape = Shape::new("r")
        .field("c", "char")
        .field("d", "double")
        .field("l", "long")
        .field("s", "string")
        .field("b", "bool")
        .field("e", "long double")
        .field("i", "i128")
        .field("z", "complex float");
    for (name, expected) in [
        ("x86_64", vec![0, 8, 16, 24, 32, 48, 64, 80, 96, 16]),
        ("aarch64", vec![0, 8, 16, 24, 32, 48, 64, 80, 96, 16]),
        ("i386", vec![0, 4, 12, 16, 20, 24, 48, 64, 80, 16]),
        ("windows-x64", vec![0, 8, 16, 24, 32, 40, 48, 64, 80, 16]),
        ("armv7", vec![0, 8, 16, 20, 24, 32, 40, 56, 64, 8]),
        ("powerpc", vec![0, 8, 16, 20, 24, 32, 48, 64, 80, 16]),
        ("s390x", vec![0, 8, 16, 24, 32, 40, 56, 72, 80, 8]),
    ] {
        let format = shape.on(&name.parse().unwrap()).unwrap();
        assert_eq!(places(&format), expected, "{name}");
    }
}

#[test]
fn packed_records_have_no_gaps() {
    let inner = Shape::new("inner").field("c", "char").field("d", "double");
    let outer = Shape::new("outer").nested(inner).packed().field("c", "char").field("i", "inner").field("n", "int");
    let format = outer.on(&Layout::X86_64).unwrap();
    assert_eq!(places(&format), [0, 1, 17, 21, 1]);
    assert_eq!(Shape::parse(&outer.to_string()).unwrap(), outer);
}

#[test]
fn the_text_of_a_format_declares_it_again() {
    let text = r##"
        record "record"
            "packed"  complex f32[2][3]  unit="m/s \"\\"
            "#5"      u16
            5         i8            # the length of the next
            x         bf16["5"]
            unit      unsigned enumeration(1){a=1,b(c)=200}
        record Outer
            record_   "record"[5]*
            name      string[2]
            note      char[4]
            one       char(1)*
            wide      x87(12)
    "##;
    let shape = Shape::parse(text).unwrap();
    for layout in Layout::ALL {
        let format = shape.on(layout).unwrap();
        let printed = Shape::of(&format).to_string();
        assert_eq!(Shape::parse(&printed).unwrap().on(layout).unwrap(), format, "{printed}");
    }
}

#[test]
fn a_name_that_ends_in_a_colon_is_written_in_quotes() {
    let shape = Shape::new("a:").field("x:", "int").field("y", "a::b");
    assert_eq!(shape.to_string(), "record \"a:\"\n  \"x:\"  i32\n  y     a::b\n");
    let known = Shape::new("a:").field("x:", "int");
    assert_eq!(Shape::parse(&known.to_string()).unwrap(), known);
}

#[test]
fn a_long_name_moves_no_other() {
    let long = "x".repeat(70_000);
    let text = format!("record r\n  {long}  i32\n  y{:39}  f64\n", "");
    let shape = Shape::parse(&text).unwrap();
    assert_eq!(shape.to_string(), text);
    assert!(shape.on(&Layout::NATIVE).unwrap_err().to_string().len() < 2000);
}

#[test]
fn errors_point_at_line_and_column() {
    for (text, message) in [
        ("", "expected `record NAME`, found a text without records"),
        ("x int", "expected `record NAME`, found a field in line 1"),
        ("record", "expected the name of a record, found the end at column 7 in line 1"),
        ("record a b", "expected the end of the line, found `b` at column 10 in line 1"),
        (
            "record a\n\n  x flaot(4)",
            "at a.x: expected `unit=` or the end of the line, found `(4` at column 10 in line 3",
        ),
        ("record a\n  x int units=\"m\"", "at a.x: expected `unit=` or the end of the line"),
        ("record a\n  x int unit=m", "at a.x: expected a unit in double quotes, found `m` at column 14 in line 2"),
        ("record a\n  x int unit=\"m\" y", "expected the end of the line, found `y` at column 18 in line 2"),
        ("record a\n  x: int", "expected a name without a colon, found `x:` at column 3 in line 2"),
        ("record a:\n  x int", "expected a name without a colon, found `a:` at column 8 in line 1"),
        ("record a\n  x", "at a.x: expected a type, found the end at column 4 in line 2"),
        ("record a\n  packed int", "expected `record` (a field named packed is written in quotes), found `int`"),
        ("record a\n  x int\nrecord a\n  x int", "at a: two different records of this name"),
        ("record a\n  x b", "at a.x: expected a type, or the name of a structure declared before, found `b` in line 2"),
        ("record a\n  x a", "at a.x: expected a type, or the name of a structure declared before, found `a` in line 2"),
        ("record a\n  x int[0]", "at a.x: a dimension of 0"),
        ("record a\n  x int\n  x int", "at a.x: two fields of this name"),
        ("record a", "at a: expected at least one field"),
    ] {
        let error = Shape::parse(text).and_then(|shape| shape.on(&Layout::NATIVE)).expect_err(text);
        assert!(error.to_string().contains(message), "{text:?}: {error}");
        assert_eq!(error.class(), Class::BadInput);
    }
}

#[test]
fn what_cannot_be_addressed_is_refused() {
    for words in
        ["f64[1099511627776]", "f64[99999999999][99999999999]", "f64[137438953471]", "f64[n][18446744073709551615]"]
    {
        let shape = Shape::new("r").field("n", "int").field("x", words).field("y", words);
        assert!(shape.on(&Layout::X86_64).is_err(), "{words}");
    }
}

#[test]
fn nested_shapes_are_merged_by_name() {
    let point = || Shape::new("Point").field("x", "float");
    let line = || Shape::new("Line").nested(point()).field("from", "Point").field("to", "Point");
    let shape = Shape::new("r").nested(line()).nested(point()).field("line", "Line").field("at", "Point");
    assert_eq!(shape.on(&Layout::NATIVE).unwrap().size(), 12);
    let other = shape.nested(Shape::new("Point").field("y", "float"));
    assert!(other.on(&Layout::NATIVE).unwrap_err().to_string().contains("at Point: two different records"));
}

#[test]
fn another_machine_has_its_own_long_double() {
    let shape = Shape::parse("record r\n a i64\n b long double[2]\n c complex long double\n d string").unwrap();
    for from in Layout::ALL.iter().filter(|layout| layout.long_double.size > 8) {
        let format = shape.on(from).unwrap();
        for to in Layout::ALL {
            assert_eq!(format.on(to).unwrap(), shape.on(to).unwrap(), "{} to {}", from.name, to.name);
        }
    }
}

/// What packs and aligns, as text and on machines.
#[test]
fn shapes_are_packed_and_aligned() {
    for (text, places) in [
        ("record r  pack=2\n  a  i8\n  b  f64\n", vec![0, 2, 10, 2]),
        ("packed record r  align=4\n  a  i8\n  b  f64\n", vec![0, 1, 12, 4]),
        ("record r  align=2\n  a  i8\n  b  i32\n", vec![0, 4, 8, 4]),
        ("record r\n  a  i8\n  b  i32  align=1\n  c  i8\n", vec![0, 1, 5, 6, 1]),
        ("record r\n  a  i8\n  b  i32  align>=2\n", vec![0, 4, 8, 4]),
        ("record r\n  a  i8\n  b  i8  align>=16  unit=\"m\"\n", vec![0, 16, 32, 16]),
        ("packed record r\n  a  i8\n  b  i32  align=2\n", vec![0, 2, 6, 2]),
        ("record r  pack=4\n  a  i8\n  b  i32  align>=16\n", vec![0, 4, 8, 4]),
        ("record r  pack=4\n  a  i8\n  b  i32  align=16\n", vec![0, 16, 32, 16]),
    ] {
        let shape = Shape::parse(text).unwrap();
        assert_eq!(shape.to_string(), text);
        assert_eq!(self::places(&shape.on(&Layout::X86_64).unwrap()), places, "{text}");
    }
    for (text, says) in [
        ("record r  pack=3\n  a  i8\n", "at r: expected an alignment that is a power of two, up to 65536, found 3"),
        ("record r  align=131072\n  a  i8\n", "found 131072"),
        ("record r\n  a  i8  align=0\n", "at r.a: expected an alignment"),
        ("record r  pack=\n  a  i8\n", "expected a number of bytes, found the end at column 16 in line 1"),
        ("record r\n  a  i8  align>4\n", "at r.a: expected "),
        ("packed record r  pack=2\n  a  i8\n", "expected the end of the line, found `pack` at column 18 in line 1"),
    ] {
        let error = Shape::parse(text).and_then(|shape| shape.on(&Layout::X86_64)).unwrap_err().to_string();
        assert!(error.contains(says), "{text}{error}");
    }
}
