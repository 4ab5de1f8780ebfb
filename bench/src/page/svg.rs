//! Plots with logarithmic axes, as SVG: lines over the size of a record, each named where it ends.

use std::fmt::Write;

/// One line.
#[derive(Clone, Debug)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// What it is a line of, which decides how it looks.
    pub kind: Kind,
    /// Which of the colours of its kind it has.
    pub hue: usize,
    /// Where it goes, from left to right. Nothing may be zero or negative.
    pub points: Vec<(f64, f64)>,
}

/// What a line is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// What others do.
    Peer,
    /// What the machine can do, or what one would write by hand.
    Baseline,
    /// Isoform.
    Own,
}

/// Lines in one pair of axes: nanoseconds over bytes.
#[derive(Clone, Debug)]
pub struct Plot {
    /// What is along the horizontal axis.
    pub across: &'static str,
    /// What is along the vertical axis.
    pub up: &'static str,
    /// The lines.
    pub series: Vec<Series>,
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 440.0;
/// The axes' edges.
const LEFT: f64 = 70.0;
const RIGHT: f64 = 530.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 392.0;
/// Units, each a thousand times the one before.
const SIZES: [&str; 3] = ["B", "KB", "MB"];
const TIMES: [&str; 3] = ["ns", "µs", "ms"];
/// Between the names of two lines.
const LINE: f64 = 15.0;

const OWN: &[&str] = &["#0b57d0", "#d0390b", "#7a1fa2", "#00897b"];
const BASELINE: &[&str] = &["#000000", "#777777", "#a9885a", "#aaaaaa"];
const PEER: &[&str] = &[
    "#2e7d32", "#b8860b", "#c2185b", "#00838f", "#6d4c41", "#9e9d24", "#5e35b1", "#ef6c00", "#546e7a", "#8d1b3d",
    "#33691e",
];

impl Plot {
    /// The picture. It has no lines if there are no points.
    ///
    /// ```
    /// use isoform_bench::page::svg::{Kind, Plot, Series};
    /// let line = Series { name: "copy".into(), kind: Kind::Baseline, hue: 0, points: vec![(100.0, 2.0), (1e5, 1e3)] };
    /// let plot = Plot { across: "size", up: "time", series: vec![line] };
    /// assert!(plot.svg().starts_with("<svg") && plot.svg().contains("polyline"));
    /// ```
    pub fn svg(&self) -> String {
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
             font-family=\"sans-serif\" font-size=\"12\">\n"
        );
        let points = || self.series.iter().flat_map(|series| &series.points);
        if points().next().is_some() {
            let across = Axis::new(points().map(|point| point.0), LEFT, RIGHT);
            let up = Axis::new(points().map(|point| point.1), BOTTOM, TOP);
            self.grid(&mut svg, &across, &up);
            self.lines(&mut svg, &across, &up);
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn grid(&self, svg: &mut String, across: &Axis, up: &Axis) {
        for (value, major) in across.ticks() {
            let (x, colour) = (across.place(value), if major { "#cccccc" } else { "#f0f0f0" });
            line(svg, (x, TOP), (x, BOTTOM), colour);
            if major {
                text(svg, (x, BOTTOM + 16.0), "middle", "#333333", &scaled(value, SIZES));
            }
        }
        for (value, major) in up.ticks() {
            let (y, colour) = (up.place(value), if major { "#cccccc" } else { "#f0f0f0" });
            line(svg, (LEFT, y), (RIGHT, y), colour);
            if major {
                text(svg, (LEFT - 6.0, y + 4.0), "end", "#333333", &scaled(value, TIMES));
            }
        }
        text(svg, ((LEFT + RIGHT) / 2.0, BOTTOM + 36.0), "middle", "#333333", self.across);
        let y = (TOP + BOTTOM) / 2.0;
        let _ = writeln!(
            svg,
            "<text transform=\"translate(14 {y}) rotate(-90)\" text-anchor=\"middle\" fill=\"#333333\">{}</text>",
            escaped(self.up)
        );
    }

    fn lines(&self, svg: &mut String, across: &Axis, up: &Axis) {
        let mut names = Vec::new();
        // Isoform's own lie on top.
        let mut series: Vec<&Series> = self.series.iter().collect();
        series.sort_by_key(|series| series.kind);
        for series in series {
            let Some(&(end_x, end_y)) = series.points.last() else { continue };
            let (colours, width, dashes) = match series.kind {
                Kind::Own => (OWN, 2.8, ""),
                Kind::Baseline => (BASELINE, 1.6, " stroke-dasharray=\"6 4\""),
                Kind::Peer => (PEER, 1.3, ""),
            };
            let colour = colours[series.hue % colours.len()];
            let place = |&(x, y): &(f64, f64)| (across.place(x), up.place(y));
            let path: Vec<String> = series.points.iter().map(place).map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
            let _ = writeln!(
                svg,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"{dashes}/>",
                path.join(" ")
            );
            for point in &series.points {
                let (x, y) = place(point);
                let _ = writeln!(
                    svg,
                    "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{:.1}\" fill=\"{colour}\"><title>{}: {}</title></circle>",
                    width + 0.8,
                    escaped(&series.name),
                    escaped(&format!("{} ns at {} B", amount(point.1), amount(point.0)))
                );
            }
            names.push(Name {
                at: place(&(end_x, end_y)),
                y: 0.0,
                colour,
                bold: series.kind == Kind::Own,
                name: &series.name,
            });
        }
        spread(&mut names);
        for Name { at, y, colour, bold, name } in names {
            let weight = if bold { " font-weight=\"bold\"" } else { "" };
            line(svg, (at.0 + 4.0, at.1), (RIGHT + 14.0, y), "#bbbbbb");
            let _ = writeln!(
                svg,
                "<text x=\"{}\" y=\"{:.1}\" fill=\"{colour}\"{weight}>{}</text>",
                RIGHT + 18.0,
                y + 4.0,
                escaped(name)
            );
        }
    }
}

/// The name of a line, and where it is written.
struct Name<'a> {
    at: (f64, f64),
    y: f64,
    colour: &'a str,
    bold: bool,
    name: &'a str,
}

/// Places names beside the ends of their lines, one below the other.
fn spread(names: &mut [Name<'_>]) {
    names.sort_by(|a, b| a.at.1.total_cmp(&b.at.1));
    let mut next = TOP;
    for name in &mut *names {
        name.y = name.at.1.max(next);
        next = name.y + LINE;
    }
    let mut last = BOTTOM;
    for name in names.iter_mut().rev() {
        name.y = name.y.min(last);
        last = name.y - LINE;
    }
}

/// A logarithmic axis.
struct Axis {
    low: f64,
    high: f64,
    start: f64,
    end: f64,
}

impl Axis {
    fn new(values: impl Iterator<Item = f64> + Clone, start: f64, end: f64) -> Axis {
        let low = values.clone().fold(f64::INFINITY, f64::min).log10();
        let high = values.fold(0.0, f64::max).log10();
        // Room around what is there, and never nothing.
        let room = ((high - low) * 0.04).max(0.05);
        Axis { low: low - room, high: high + room, start, end }
    }

    fn place(&self, value: f64) -> f64 {
        self.start + (value.log10() - self.low) / (self.high - self.low) * (self.end - self.start)
    }

    /// Powers of ten, and twice and five times them; whether it is a power of ten.
    fn ticks(&self) -> impl Iterator<Item = (f64, bool)> {
        let inside = |&(value, _): &(f64, bool)| (self.low..=self.high).contains(&f64::log10(value));
        let decades = self.low.floor() as i32..=self.high.ceil() as i32;
        decades
            .flat_map(|e| [(1.0, true), (2.0, false), (5.0, false)].map(|(n, major)| (n * 10f64.powi(e), major)))
            .filter(inside)
    }
}

fn line(svg: &mut String, from: (f64, f64), to: (f64, f64), colour: &str) {
    let ((x, y), (to_x, to_y)) = (from, to);
    let _ = writeln!(
        svg,
        "<line x1=\"{x:.1}\" y1=\"{y:.1}\" x2=\"{to_x:.1}\" y2=\"{to_y:.1}\" stroke=\"{colour}\" stroke-width=\"0.7\"/>"
    );
}

fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, colour: &str, text: &str) {
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"{colour}\">{}</text>",
        escaped(text)
    );
}

/// A power of ten in the largest unit of which it is a whole number.
fn scaled(value: f64, units: [&str; 3]) -> String {
    let step = [1e6, 1e3].iter().position(|step| value >= *step).map_or(0, |index| 2 - index);
    format!("{} {}", amount(value / 1e3f64.powi(step as i32)), units[step])
}

/// A number as one reads it: three digits, thousands set apart.
pub fn amount(value: f64) -> String {
    if value.fract() != 0.0 && value < 10.0 {
        return format!("{value:.2}");
    }
    if value.fract() != 0.0 && value < 100.0 {
        return format!("{value:.1}");
    }
    let digits = format!("{value:.0}");
    let mut result = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            result.push(',');
        }
        result.push(digit);
    }
    result
}

/// Text for HTML and SVG.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_lie_on_each_other() {
        let name = |y| Name { at: (0.0, y), y: 0.0, colour: "", bold: false, name: "" };
        let mut names = [name(390.0), name(391.0), name(100.0), name(101.0), name(391.5)];
        spread(&mut names);
        let places: Vec<f64> = names.iter().map(|name| name.y).collect();
        assert_eq!(places, [100.0, 115.0, 362.0, 377.0, 392.0]);
    }

    #[test]
    fn amounts_are_short() {
        assert_eq!(
            [0.5, 9.876, 12.34, 123.4, 1_234_567.0, 10.0].map(amount),
            ["0.50", "9.88", "12.3", "123", "1,234,567", "10"]
        );
    }
}
