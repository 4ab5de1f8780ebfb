//! Reads of Markdown what other files may depend on: links, and headings with the anchors that they get.
//!
//! It knows the Markdown of this repository: links as `[text](target)`, headings with `#`, code between fences or backticks.

use std::collections::BTreeMap;
use std::ops::Range;

/// A link: where its target stands in the text, and on which line.
pub(crate) struct Link {
    pub(crate) target: Range<usize>,
    pub(crate) line: usize,
}

/// All links of a text. Code holds none.
pub(crate) fn links(text: &str) -> Vec<Link> {
    let mut links = Vec::new();
    for (number, offset, line) in prose(text) {
        let line = without_code(line);
        let mut rest = 0;
        while let Some(open) = line[rest..].find("](").map(|at| rest + at + 2) {
            let Some(close) = line[open..].find(')').map(|at| open + at) else { break };
            links.push(Link { target: offset + open..offset + close, line: number });
            rest = close;
        }
    }
    links
}

/// The anchors of a text: one for each heading, made of its words; a repeated one gets a number.
pub(crate) fn anchors(text: &str) -> Vec<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let lines = prose(text)
        .map(|(_, _, line)| line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#')));
    let anchors = lines.flatten().map(|heading| {
        let anchor = anchor(heading.trim());
        let times = seen.entry(anchor.clone()).or_default();
        *times += 1;
        if *times == 1 { anchor } else { format!("{anchor}-{}", *times - 1) }
    });
    anchors.collect()
}

fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).flat_map(char::to_lowercase).collect()
}

/// Lines outside of fences: number, offset, text.
fn prose(text: &str) -> impl Iterator<Item = (usize, usize, &str)> {
    let mut offset = 0;
    let mut fenced = false;
    text.split_inclusive('\n').enumerate().filter_map(move |(number, line)| {
        let start = offset;
        offset += line.len();
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fenced && !fence).then_some((number + 1, start, line))
    })
}

/// The line with what stands between backticks blanked, byte for byte.
fn without_code(line: &str) -> String {
    let mut code = false;
    let blank = |c: char| " ".repeat(c.len_utf8());
    let mut kept = String::with_capacity(line.len());
    for c in line.chars() {
        if c == '`' {
            code = !code;
            kept.push(' ');
        } else if code {
            kept.push_str(&blank(c));
        } else {
            kept.push(c);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_outside_of_code() {
        let text = "see [a](b.md) and `[c](d.md)`\n```\n[e](f.md)\n```\nä `ü` [g](h.md#i)\n";
        let found: Vec<(&str, usize)> = links(text).into_iter().map(|link| (&text[link.target], link.line)).collect();
        assert_eq!(found, [("b.md", 1), ("h.md#i", 5)]);
    }

    #[test]
    fn anchors_are_the_words_of_headings() {
        let text = "# What is `promised`?\n```sh\n# no heading\n```\n## Ends\n## Ends\n#no heading\n";
        assert_eq!(anchors(text), ["what-is-promised", "ends", "ends-1"]);
    }
}
