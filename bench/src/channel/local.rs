//! Within one thread: from a source to a handler, and to nobody.

use super::Measure;
use super::cores::{Pinned, Place};
use super::event::{Event, Small};
use super::ours::{Alone, Handled};
use super::turns::turns;
use crate::measure::Times;
use crate::{Line, Options, Result};
use std::hint::black_box;
use std::sync::mpsc;
use std::time::Instant;

/// Events of a round are fewer than those that go one way to another process, by this factor.
const FEWER: u32 = 10;

/// Takes an event from here to there.
type Contestant<'a> = Box<dyn FnMut(&Small) -> Result<()> + 'a>;

/// Measures handlers of an equal and of another type.
pub(super) fn handled(options: &Options, line: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
    let _pinned = Pinned::new(Place::Last);
    let (mut equal, mut different) = (Handled::equal()?, Handled::different()?);
    let mut contestants: [Contestant<'_>; 3] =
        [queue(), Box::new(|event| equal.handle(event)), Box::new(|event| different.handle(event))];
    let figures = turns(options.effort.rounds, 3, |who| round(&mut contestants[who], options))?;
    for (case, own) in [("equal", &figures[1]), ("different", &figures[2])] {
        let result = about(Measure::Local).word("case", case).count("bytes", size_of::<Small>()).count("cores", 1);
        let result = figures[0].with_rate(own.with_rate(result, ""), "raw_");
        line(result.figure("ratio", own.ratio(&figures[0])))?;
    }
    Ok(())
}

/// Measures a source that has no sink.
pub(super) fn idle(options: &Options, line: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
    let _pinned = Pinned::new(Place::Last);
    let mut alone = Alone::new()?;
    let mut contestant: Contestant<'_> = Box::new(|event| alone.submit(event));
    let figures = turns(options.effort.rounds, 1, |_| round(&mut contestant, options))?;
    let result = about(Measure::Idle).count("bytes", size_of::<Small>()).count("cores", 1);
    line(figures[0].with_rate(result, ""))
}

fn about(measure: Measure) -> Line {
    Line::of("channel").word("measure", measure.name()).word("transport", "local")
}

/// The time of an event, on average.
fn round(contestant: &mut Contestant<'_>, options: &Options) -> Result<Times> {
    let (mut event, count) = (Small::new(0), options.effort.events / FEWER);
    let start = Instant::now();
    for step in 0..count {
        event.step = step;
        contestant(black_box(&event))?;
    }
    Ok([start.elapsed().as_nanos() as f64 / f64::from(count)].into_iter().collect())
}

/// What the standard library has for the purpose.
fn queue<'a>() -> Contestant<'a> {
    let (sender, receiver) = mpsc::channel();
    Box::new(move |event| {
        sender.send(event.clone())?;
        black_box(receiver.recv()?);
        Ok(())
    })
}
