//! The report: one page of HTML with tables and plots, made of the lines of a run and of nothing else.

pub mod bars;
pub mod channel;
pub mod figures;
pub mod papers;
mod query;
mod roundtrip;
mod service;
pub mod svg;
mod tables;
mod xmit;

use crate::Line;
use std::fmt::Write;
use svg::escaped;

/// The page for the lines of a run.
///
/// ```
/// use isoform_bench::{Line, page};
/// let page = page::of(&[Line::about("a machine"), Line::new("send", "K1").figure("ns", 11.0).figure("memcpy_ns", 7.0)]);
/// assert!(page.contains("a machine") && page.contains("<svg"));
/// ```
pub fn of(lines: &[Line]) -> String {
    let mut page = String::from(HEAD);
    for line in lines.iter().filter(|line| line.text("group") == "about") {
        let _ = writeln!(page, "<p class=\"about\">{}</p>", escaped(line.text("machine")));
    }
    page.push_str(EXPLAINED);
    tables::skipped(&mut page, lines);
    tables::bars(&mut page, lines);
    papers::list(&mut page, lines);
    page.push_str("<h2>The papers' figures</h2>\n<div class=\"figures\">\n");
    for figure in figures::figures(lines) {
        let _ = writeln!(
            page,
            "<figure id=\"{}\"><figcaption><b>{}</b> {}</figcaption>\n{}</figure>",
            figure.place,
            escaped(figure.title),
            escaped(figure.note),
            figure.plot.svg()
        );
    }
    page.push_str("</div>\n");
    roundtrip::table(&mut page, lines);
    tables::generation(&mut page, lines);
    tables::peers(&mut page, lines);
    channel::table(&mut page, lines);
    service::table(&mut page, lines);
    xmit::tables(&mut page, lines);
    query::table(&mut page, lines);
    tables::everything(&mut page, lines);
    page.push_str("</main></body></html>\n");
    page
}

const HEAD: &str = "<!doctype html>
<html lang=\"en\"><head><meta charset=\"utf-8\"><title>What exchanging records costs</title>
<meta name=\"viewport\" content=\"width=device-width\">
<style>
body { font: 15px/1.5 sans-serif; color: #222; margin: 0; background: #fff }
main { max-width: 1480px; margin: 0 auto; padding: 1em 2em 4em }
h1 { font-size: 1.7em; margin: .6em 0 0 } h2 { font-size: 1.25em; margin: 2em 0 .5em }
p { max-width: 60em; margin: .4em 0 } .about { color: #666 }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .5em 0 }
th, td { padding: .15em .7em; border-bottom: 1px solid #e4e4e4; text-align: right; vertical-align: top }
th { font-weight: 600; border-bottom: 1px solid #999 } th:first-child, .word { text-align: left } td.word + td.word, th { white-space: nowrap }
.bars td { white-space: nowrap } .bars td:last-child { white-space: normal }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(620px, 1fr)); gap: 2em }
figure { margin: 0 } figcaption { min-height: 4.6em; max-width: 44em }
svg { width: 100%; height: auto }
.yes, .no { white-space: nowrap; margin-right: 1.1em; display: inline-block } .yes { color: #1b6e20 } .no { color: #b3261e }
td:first-child { white-space: nowrap } .dim { color: #777 } summary { cursor: pointer }
</style></head><body><main>
<h1>What exchanging records costs</h1>
";

const EXPLAINED: &str = "<p>Times are medians in nanoseconds, of contestants that took turns on the same buffers. \
<i>compiled</i> is C written for exactly that pair of structs, <code>cc -O3 -march=native</code>. Before anything was timed, \
its result was compared with the record that must arrive. Figures in grey are with buffers that rotate over 640 KB; all \
others with buffers that stay in the first cache, if they fit. The lines that this page is made of are beside it, in \
<code>bench.jsonl</code>.</p>
<p>The records: <b>K100</b>, a mechanical-engineering record of 100 KB, scalars and arrays of doubles; <b>K10</b>, <b>K1</b>, \
<b>K01</b>, its first fields, of 10 KB, 1 KB and 100 bytes. <b>M100</b>, a hundred scalars of five types in turn. <b>S10</b> to \
<b>S100k</b>, two strings and a dynamic array of as many doubles. <b>T</b>, a thousand nested records of mixed scalars. \
<b>A01</b> to <b>A100</b>, one array of doubles, of 100 bytes to 100 KB.</p>
<p>The cases: the sender's record is the <i>same</i>; has one more field at the end (<i>appended</i>), in <i>front</i> or in the \
<i>middle</i>; comes in the other byte order (<i>swap</i>), with one more field in front (<i>swapfront</i>) or at the end \
(<i>swapappended</i>) as well, or from a machine of 32 bits too \
(<i>swap32</i>; <i>layout32</i> in the same order); has narrower or wider numbers (<i>widen</i>, <i>narrow</i>), its fields in \
another order (<i>shuffled</i>), or a hundred of which three are wanted (<i>project</i>).</p>";
