//! The monitor: a program of this machine, with a struct of its own, written when the simulation's was another.

use crate::failure::Failure;
use crate::output::{Output, Tone};
use isoform::{Enumeration, Record, Slice, Str};
use std::io::Write;

/// The same symbols as the simulation's, with other numbers.
#[derive(Enumeration, Clone, Copy, Debug, PartialEq)]
#[repr(i8)]
enum Stage {
    Flood,
    Rising,
    Low,
}

#[derive(Record)]
#[repr(C)]
struct Gauge<'a> {
    name: Str<'a>,
    #[isoform(unit = "m")]
    level: f32,
}

/// The monitor's record: `depth` and `step` are wider, `residual` is gone, `temperature` is new.
#[derive(Record)]
#[isoform(rename = "Reach")]
#[repr(C)]
pub(super) struct Reach<'a> {
    step: i64,
    #[isoform(unit = "s")]
    time: f64,
    #[isoform(unit = "m")]
    depth: Slice<'a, f64>,
    #[isoform(unit = "m3/s")]
    flow: Slice<'a, f32>,
    gauges: Slice<'a, Gauge<'a>>,
    stage: Stage,
    #[isoform(unit = "mm/h")]
    rain: f32,
    #[isoform(unit = "degC", default = 11.5)]
    temperature: f32,
    sum: f64,
}

impl Reach<'_> {
    /// Whether it is what was sent, by the sum that was sent with it.
    pub(super) fn is_as_sent(&self) -> bool {
        let depths = self.depth.as_slice().iter().copied();
        let flows = self.flow.as_slice().iter().map(|&flow| f64::from(flow));
        let sum: f64 = depths.chain(flows).sum();
        sum == self.sum && self.temperature == 11.5 && self.gauges.as_slice().len() == 3
    }
}

pub(super) fn heading(output: &mut Output) -> Result<(), Failure> {
    let head = format!("{:>6}  {:>5}  {:<48}  {:>7}  reach", "time", "mm/h", "depth along 24 km of river", "Harbour");
    writeln!(output, "{}", output.paint(Tone::Faint, &head))?;
    Ok(output.flush()?)
}

/// The state of the river, on one line.
pub(super) fn line(reach: &Reach<'_>, output: &mut Output) -> Result<(), Failure> {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let bar = |depth: &f64| BARS[((depth - 0.6) / 1.8 * 8.0).clamp(0.0, 7.0) as usize];
    let profile: String = reach.depth.as_slice().iter().map(bar).collect();
    let minutes = (reach.time / 60.0) as u64;
    let harbour = reach.gauges.as_slice().iter().find(|gauge| gauge.name.to_bytes() == b"Harbour");
    let level = harbour.map_or(f32::NAN, |gauge| gauge.level);
    let (tone, stage) = match reach.stage {
        Stage::Low => (Tone::Good, "low"),
        Stage::Rising => (Tone::Warning, "rising"),
        Stage::Flood => (Tone::Bad, "flood"),
    };
    let (hours, minutes) = (minutes / 60, minutes % 60);
    let stage = output.paint(tone, stage);
    writeln!(output, "{hours:>3}:{minutes:02}  {:>5.1}  {profile}  {level:>5.2} m  {stage}", reach.rain)?;
    Ok(output.flush()?)
}
