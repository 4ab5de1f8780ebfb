//! The report is made of recorded lines alone, and what it shows is well-formed.

use isoform_bench::page::figures::figures;
use isoform_bench::{Line, Options, page, run};

/// What a quick run gives, as it is recorded.
fn recorded() -> Vec<Line> {
    let words = ["send", "receive", "convert", "generate", "evolve", "--quick", "--alone", "K01", "K1", "A1", "swap"];
    let options = Options::parse(words.into_iter().chain(["same", "front"]).map(str::to_string)).unwrap();
    let mut lines = vec![Line::about("a machine with < 2 cores & \"quotes\"").json()];
    run(&options, |line| {
        lines.push(line.json());
        Ok(())
    })
    .unwrap();
    let peer = |group, ns| Line::new(group, "K1").word("case", "same").word("peer", "a <peer>").figure("ns", ns);
    let event = Line::of("channel").word("measure", "rtt").word("transport", "a <socket>").count("cores", 1);
    lines.push(event.count("bytes", 100).figure("p50_ns", 9_876.0).figure("ratio", 1.1).json());
    lines.extend([peer("send", 50.0).json(), peer("receive", 60.0).json(), Line::skipped("another", "a & b").json()]);
    lines.iter().map(|line| Line::parse(line).unwrap()).collect()
}

#[test]
fn a_page_is_made_of_recorded_lines() {
    let lines = recorded();
    let page = page::of(&lines);
    for part in [
        "To reach",
        "What the sender pays",
        "Contiguous arrays",
        "paid after",
        "a &lt;peer&gt;",
        "a &amp; b",
        "a &lt;socket&gt;",
        "9,876",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("NaN") && !page.contains("inf,"));
    let first = lines.iter().find(|line| line.number("first_record_ns").is_some()).unwrap();
    assert!(page.contains(&page::svg::amount(first.number("first_record_ns").unwrap())));
}

#[test]
fn the_page_says_how_much_longer_a_record_is_in_xml() {
    let line = Line::new("send", "K1").word("peer", "Expat XML").figure("ns", 5.0).figure("expansion", 3.25);
    let page = page::of(&[Line::about("a machine"), line]);
    let row = page.lines().find(|line| line.contains("Expat XML: × as long as the record")).unwrap();
    assert!(row.contains(&page::svg::amount(3.25)), "{row}");
}

#[test]
fn plots_are_well_formed() {
    let figures = figures(&recorded());
    assert!(figures.len() >= 5, "{}", figures.len());
    for figure in figures {
        let svg = figure.plot.svg();
        well_formed(&svg);
        let drawn = figure.plot.series.iter().filter(|series| !series.points.is_empty());
        assert_eq!(svg.matches("<polyline").count(), drawn.count(), "{}", figure.title);
    }
}

#[test]
fn without_lines_there_is_a_page_without_plots() {
    let page = page::of(&[]);
    assert!(page.ends_with("</html>\n") && !page.contains("<svg"));
}

/// Every element is closed in its turn, and nothing that has a meaning stands in text.
fn well_formed(xml: &str) {
    let mut open = Vec::new();
    for part in xml.split('<').skip(1) {
        let (tag, text) = part.split_once('>').unwrap();
        assert!(!text.contains('>'), "{part}");
        let entities = ["&amp;", "&lt;", "&gt;", "&quot;"];
        let plain = entities.iter().fold(part.to_string(), |text, entity| text.replace(entity, ""));
        assert!(!plain.contains('&'), "{part}");
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        let name = tag.split([' ', '/']).next().unwrap();
        match (tag.strip_prefix('/'), tag.ends_with('/')) {
            (Some(name), _) => assert_eq!(open.pop(), Some(name)),
            (None, true) => {}
            (None, false) => open.push(name),
        }
    }
    assert_eq!(open, [""; 0]);
}
