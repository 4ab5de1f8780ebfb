//! Holds the text in `spec/` to the code: what stands there in tables and examples is what the code does.

use isoform_core::message::{Split, split};
use isoform_core::{Class, Code, Element, FloatKind, Format, Layout, Limits};

fn spec(file: &str) -> String {
    let path = format!("{}/../../spec/{file}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The cells of every row of every table in a file, heads and rules left out.
fn rows(text: &str) -> Vec<Vec<String>> {
    let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_string()).collect();
    let row = |line: &&str| line.starts_with('|') && !line.starts_with("|---") && !line.starts_with("| number");
    text.lines().filter(row).map(cells).collect()
}

#[test]
fn errors_are_listed_as_they_are() {
    let class = |code: Code| match code.class() {
        Class::BadInput => "bad input",
        Class::Limit => "limit",
        Class::Mismatch => "mismatch",
        Class::Unavailable => "unavailable",
        Class::Usage => "usage",
        Class::Internal => "internal",
    };
    let expected: Vec<String> = (Code::ALL.iter())
        .map(|&code| format!("{} | {} | {} | {}", code as u16, code.name(), class(code), code.text()))
        .collect();
    let listed: Vec<String> = (rows(&spec("errors.md")).iter())
        .filter(|row| row[0].parse::<u16>().is_ok())
        .map(|row| row[..4].join(" | "))
        .collect();
    assert_eq!(listed, expected, "spec/errors.md and Code differ; the table should read\n{}", expected.join("\n"));
    assert!(Code::ALL.windows(2).all(|pair| (pair[0] as u16) < pair[1] as u16), "by ascending number");
}

#[test]
fn limits_are_listed_as_they_are() {
    let Limits { depth, fields, description, message, formats, registry } = Limits::default();
    let expected = [
        ("`depth`", depth as u64, "Depth"),
        ("`fields`", fields as u64, "Fields"),
        ("`description`", description as u64, "DescriptionSize"),
        ("`message`", message, "MessageSize"),
        ("`formats`", formats as u64, "-"),
        ("`registry`", registry as u64, "-"),
    ];
    let rows = rows(&spec("../docs/book/reference/limits.md"));
    let listed: Vec<(&str, u64, &str)> = (rows.iter())
        .filter(|row| row.len() == 5 && row[0].starts_with('`'))
        .map(|row| (&*row[0], row[1].parse().unwrap(), &*row[4]))
        .collect();
    assert_eq!(listed, expected);
}

/// The bytes of the block that begins with this line, each line of it being bytes, two spaces, and a remark.
fn example(text: &str, head: &str) -> Vec<u8> {
    let (_, rest) = text.split_once(&format!("```{head}\n")).unwrap_or_else(|| panic!("no example {head}"));
    let (block, _) = rest.split_once("```").unwrap();
    let byte = |digits: &str| u8::from_str_radix(digits, 16).unwrap_or_else(|_| panic!("{digits} in {head}"));
    block.lines().flat_map(|line| line.split("  ").next().unwrap().split(' ').map(byte)).collect()
}

#[test]
fn descriptions_are_as_in_the_examples() {
    let text = spec("format.md");
    for (name, size) in [("small_record", 40), ("Track", 16)] {
        let format = Format::parse(&example(&text, &format!("description {name}"))).unwrap();
        assert_eq!((format.name(), format.size()), (name, size));
        let token = format!("Its token is `{}`.", format.token());
        assert!(text.contains(&token), "{name}: {token}");
    }
}

#[test]
fn the_message_is_as_in_the_example() {
    let bytes = example(&spec("message.md"), "message Track");
    let format = Format::parse(&example(&spec("format.md"), "description Track")).unwrap();
    let Split::Whole { header, body, length } = split(&bytes).unwrap() else { panic!("not whole") };
    assert_eq!((header.token, body.len(), length), (format.token(), 40, 80));
}

#[test]
fn layouts_are_listed_as_they_are() {
    let row = |layout: &Layout| {
        let order = format!("{:?}", layout.order).to_lowercase();
        let long = layout.long_double;
        let other = layout.align_of(&Element::Float { kind: FloatKind::Ieee, size: 16 });
        let kind = match (long.kind, long.size) {
            (FloatKind::Ieee, 8) => "double",
            (FloatKind::Ieee, _) => "quad",
            (kind, _) => kind.word(),
        };
        let long_double = format!("{kind}, {} bytes, at {}", long.size, long.align);
        let [i8, i16, double] = [layout.align_integer8, layout.align_integer16, layout.align_double];
        format!(
            "| {} | {order} | {} | {} | {i8} | {i16} | {double} | {long_double} | {other} |",
            layout.name, layout.pointer, layout.long
        )
    };
    let expected: Vec<String> = Layout::ALL.iter().map(row).collect();
    let text = spec("layouts.md");
    let listed: Vec<&str> =
        text.lines().filter(|line| line.contains(" | little | ") || line.contains(" | big | ")).collect();
    assert_eq!(listed, expected, "spec/layouts.md and Layout differ; the table should read\n{}", expected.join("\n"));
}
