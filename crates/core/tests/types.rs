//! The text of types: what is accepted, how it is printed again, and what errors say.

use isoform_core::declare::Type;

#[test]
fn words_have_one_meaning_and_one_spelling() {
    for (text, printed) in [
        ("integer", "integer"),
        (" unsigned   integer ", "unsigned integer"),
        ("unsigned", "unsigned integer"),
        ("integer(4)[5]", "i32[5]"),
        ("unsigned(2)", "u16"),
        ("unsigned long", "unsigned long"),
        ("long long", "i64"),
        ("float(8)[nx][ny]", "f64[nx][ny]"),
        ("x87(12)", "x87(12)"),
        ("double-double", "double-double"),
        ("complex float", "complex float"),
        ("double complex", "complex f64"),
        ("complex double-double(16)", "complex double-double(16)"),
        ("long double", "long double"),
        ("boolean(1)", "bool"),
        ("boolean(4)", "boolean(4)"),
        ("char*", "string"),
        ("char * [3]", "string[3]"),
        ("char[3]*", "char[3]*"),
        ("char(1)*", "char(1)*"),
        ("char(1)", "char"),
        ("string*", "string*"),
        ("enumeration{red, green, blue=7}", "enumeration{red=0,green=1,blue=7}"),
        ("unsigned enumeration(1){a=255}", "unsigned enumeration(1){a=255}"),
        ("enumeration{low=-3,next}", "enumeration{low=-3,next=-2}"),
        ("Point[3]*", "Point[3]*"),
        ("struct Point", "Point"),
        ("\"float\"[2]", "\"float\"[2]"),
        ("struct \"a(b)\"", "\"a(b)\""),
        ("\"a\\\"\\\\b\"", "\"a\\\"\\\\b\""),
        ("float[\"5\"][5]", "float[\"5\"][5]"),
        ("größe", "größe"),
    ] {
        let first: Type = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(first.to_string(), printed);
        assert_eq!(printed.parse::<Type>().unwrap(), first, "{printed}");
    }
}

#[test]
fn errors_point_at_the_place() {
    for (text, message) in [
        ("", "expected a type, found the end at column 1"),
        ("unsigned float", "expected a type, found `unsigned float` at column 1"),
        ("complex complex float", "expected a type, found `complex complex float` at column 1"),
        ("complex int", "expected a type, found `complex int` at column 1"),
        ("float[3", "expected `]`, found the end at column 8"),
        ("float[]", "expected a number or the name of an integer field, found `]` at column 7"),
        ("float[99999999999999999999]", "found `99999999999999999999` at column 7"),
        ("größe[3)", "expected `]`, found `)` at column 8"),
        ("double(8)", "expected no size, since this type has one already, found `(8` at column 7"),
        ("Point(8)", "expected `[`, `*` or the end, found `(8` at column 6"),
        ("integer(300)", "expected a size in bytes that this type can have, found `300` at column 9"),
        ("integer(0)", "expected a size"),
        ("char(2)", "expected a size"),
        ("float[n]*", "expected no `*`"),
        ("Point*[3]", "expected the end after `*`, found `[3` at column 7"),
        ("Point]", "expected `[`, `*` or the end, found `]` at column 6"),
        ("float # note", "expected `[`, `*` or the end, found `#` at column 7"),
        ("enumeration", "expected `{`, found the end at column 12"),
        ("enumeration{}", "expected a symbol, found `}` at column 13"),
        ("enumeration{a=x}", "expected a number, found `x` at column 15"),
        ("enumeration{a=}", "expected a number, found `}` at column 15"),
        ("enumeration{a=+1}", "expected a number, found `+1` at column 15"),
        ("enumeration{a b}", "expected `,` or `}`, found `b` at column 15"),
        ("enumeration{a,}", "expected a symbol"),
        ("\"open", "expected a closing `\"`, found `\"open` at column 1"),
        ("\"a\\n\"", "expected `\"` or `\\` after a backslash, found `n` at column 4"),
    ] {
        match text.parse::<Type>() {
            Ok(other) => panic!("{text} was taken for {other:?}"),
            Err(error) => assert!(error.to_string().contains(message), "{text}: {error}"),
        }
    }
}

#[test]
fn long_texts_are_refused_without_trouble() {
    assert!(format!("{}float", "complex ".repeat(100_000)).parse::<Type>().is_err());
    assert!("[".repeat(100_000).parse::<Type>().is_err());
    assert!(format!("float{}", "[2]".repeat(100_000)).parse::<Type>().is_ok(), "the rank is for the format to refuse");
}
