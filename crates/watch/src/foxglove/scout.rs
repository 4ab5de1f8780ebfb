//! Finds the sources of channels and their formats, as long as there are viewers.
//!
//! No source has a subscription because of it, with one exception: a source that has not declared a format is asked for its
//! newest event, once.

use super::feed::LONGEST;
use super::topics::{Source, Topics};
use isoform::{Error, Messages, Result};
use isoform_channel::{Channel, Event, Policy, Sink};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long it rests between two looks.
const REST: Duration = Duration::from_millis(100);
/// The most sources of a channel that are asked for an event at a time.
const ASKED: usize = 64;
/// The most events that are taken of one at a time.
const TAKEN: usize = 64;

/// It looks until this is dropped.
#[derive(Debug)]
pub(super) struct Scout {
    stop: Arc<AtomicBool>,
}

impl Drop for Scout {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl Scout {
    /// Begins to look.
    ///
    /// # Errors
    /// [`Code::Io`](isoform::Code::Io) if the system has no thread for it; [`Code::Closed`](isoform::Code::Closed).
    pub(super) fn start(channels: &[Arc<Channel>], topics: Arc<Topics>) -> Result<Scout> {
        let mut grounds = Vec::new();
        for (place, channel) in channels.iter().cloned().enumerate() {
            let look = channel.sink_builder().only([]).build::<Messages>()?;
            grounds.push(Ground { place, channel, look, asked: HashMap::new() });
        }
        // What was seen for viewers of before is not shown as if it were there.
        grounds.iter_mut().for_each(|ground| ground.look(&topics));
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let run = move || {
            while !stopped.load(Ordering::Relaxed) {
                grounds.iter_mut().for_each(|ground| ground.look(&topics));
                std::thread::sleep(REST);
            }
        };
        let thread = std::thread::Builder::new().name("isoform-scout".into()).spawn(run);
        thread.map_err(|error| Error::new(isoform::Code::Io).expected("a thread that finds sources").found(error))?;
        Ok(Scout { stop })
    }
}

/// A channel whose sources are found.
struct Ground {
    place: usize,
    channel: Arc<Channel>,
    look: Sink<Messages>,
    /// Sources that have not said which format they have.
    asked: HashMap<Source, Sink<Messages>>,
}

impl Ground {
    fn look(&mut self, topics: &Topics) {
        let Ground { place, channel, look, asked } = self;
        let offered = look.sources();
        topics.set_sources(*place, &offered);
        let source_of = |node, number| Source { place: *place, node, number };
        asked.retain(|source, _| offered.iter().any(|one| source_of(one.node, one.number) == *source));
        for one in offered {
            let source = source_of(one.node, one.number);
            match one.format {
                Ok(Some(format)) => topics.add(source, &format),
                Ok(None) if !topics.has_format(source) => {
                    if asked.len() < ASKED && !asked.contains_key(&source) {
                        let sink = channel.sink_builder().only([(source.node, source.number)]);
                        let sink = sink.policy(Policy::Latest).longest(LONGEST as u64).build::<Messages>();
                        asked.extend(sink.ok().map(|sink| (source, sink)));
                    }
                }
                Ok(None) | Err(_) => {}
            }
        }
        asked.retain(|source, sink| {
            for _ in 0..TAKEN {
                match sink.try_recv() {
                    Ok(Some(Event::Record { record, .. })) => topics.add(*source, record.format()),
                    Ok(Some(_)) => {}
                    Ok(None) | Err(_) => break,
                }
            }
            !topics.has_format(*source)
        });
    }
}
