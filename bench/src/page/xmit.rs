//! What the report says of formats from documents.

use super::svg::{amount, escaped};
use crate::Line;
use std::fmt::Write;

/// A table: the key that its lines have, a heading for it, and the other headings with their figures.
struct Table {
    key: &'static str,
    heading: &'static str,
    columns: &'static [(&'static str, &'static str)],
    explained: &'static str,
}

const TABLES: [Table; 5] = [
    Table {
        key: "rdm",
        heading: "format",
        columns: &[
            ("bytes of the struct", "struct_bytes"),
            ("compiled in", "native_ns"),
            ("from a table", "table_ns"),
            ("known", "xmit_ns"),
            ("× compiled in", "rdm"),
            ("parsed", "parsed_ns"),
            ("×", "parsed_rdm"),
            ("file", "file_ns"),
            ("×", "file_rdm"),
            ("HTTP", "http_ns"),
            ("×", "http_rdm"),
            ("HTTP by hand", "raw_http_ns"),
        ],
        explained: "<h2 id=\"xmit\">Formats from documents</h2>\n<p>Nanoseconds until a sender is ready for its first record: the format \
            is there, an encoder is made, the description is written. <b>compiled in</b>: from a struct (SimpleData: from a table of fields, as \
            programs in C have it). The others begin with the text of a document in XML Schema: in memory, where it is <b>known</b> by its \
            hash or <b>parsed</b> anew; in a <b>file</b>; at a server on loopback, with a connection of its own. The column × is the Remote \
            Discovery Multiplier of paper 003, which had 1.9 to 4.</p>\n",
    },
    Table {
        key: "encode_ratio",
        heading: "format",
        columns: &[
            ("bytes of the message", "bytes"),
            ("encode", "encode_ns"),
            ("× compiled in", "encode_ratio"),
            ("decode", "decode_ns"),
            ("×", "decode_ratio"),
            ("other byte order", "swap_ns"),
            ("×", "swap_ratio"),
        ],
        explained: "<p>Records of these formats: with the document's, and beside it the compiled-in one.</p>\n",
    },
    Table {
        key: "xml_ratio",
        heading: "format",
        columns: &[
            ("bytes of the message", "bytes"),
            ("bytes of XML", "xml_bytes"),
            ("×", "bytes_ratio"),
            ("write XML", "xml_write_ns"),
            ("read XML", "xml_read_ns"),
            ("× encode and decode", "xml_ratio"),
        ],
        explained: "<p>The same records as XML, as the document describes it.</p>\n",
    },
    Table {
        key: "types",
        heading: "",
        columns: &[
            ("types", "types"),
            ("bytes of the document", "schema_bytes"),
            ("read and bound", "schema_ns"),
            ("a type", "ns_per_type"),
            ("× the first", "ratio"),
        ],
        explained: "<p>Documents of many types: to read all of them, and bind the last.</p>\n",
    },
    Table {
        key: "parser_bytes",
        heading: "",
        columns: &[
            ("machine code of this program", "code_bytes"),
            ("of XMIT", "xmit_code_bytes"),
            ("of the parser of XML", "parser_bytes"),
            ("% of all", "parser_percent"),
        ],
        explained: "<p>Bytes. Paper 003 has 290 KB and 3.6 MB for two parsers.</p>\n",
    },
];

/// The tables of all of it.
pub(super) fn tables(page: &mut String, lines: &[Line]) {
    for table in &TABLES {
        let has = |line: &&Line| line.text("group") == "xmit" && line.number(table.key).is_some();
        let mut rows = lines.iter().filter(has).peekable();
        if rows.peek().is_none() {
            continue;
        }
        page.push_str(table.explained);
        page.push_str("<table><tr>");
        if !table.heading.is_empty() {
            _ = write!(page, "<th class=\"word\">{}", table.heading);
        }
        table.columns.iter().for_each(|(heading, _)| _ = write!(page, "<th>{heading}"));
        page.push_str("</tr>\n");
        for line in rows {
            page.push_str("<tr>");
            if !table.heading.is_empty() {
                _ = write!(page, "<td class=\"word\">{}", escaped(line.text(table.heading)));
            }
            table
                .columns
                .iter()
                .for_each(|(_, key)| _ = write!(page, "<td>{}", line.number(key).map_or("–".into(), amount)));
            page.push_str("</tr>\n");
        }
        page.push_str("</table>\n");
    }
}
