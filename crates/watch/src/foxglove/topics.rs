//! What there is to see: a topic for each channel, source and format.

use isoform::{Format, Token};
use isoform_channel::{NodeId, Offered};
use isoform_files::TopicNames;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// The most topics at a time.
const TOPICS: usize = 1024;
/// The most formats of a source.
const FORMATS: usize = 64;

/// A source of a channel: the place of the channel, the source's node, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Source {
    pub(super) place: usize,
    pub(super) node: NodeId,
    pub(super) number: u32,
}

/// The events of one format of a source.
#[derive(Debug)]
pub(super) struct Topic {
    /// The number by which viewers know it. No other topic of this server ever has it.
    pub(super) id: u32,
    pub(super) name: String,
    /// The beginning of the name, which the source's topics have in common: `CHANNEL/SOURCE`.
    pub(super) source_name: String,
    pub(super) source: Source,
    pub(super) format: Format,
}

/// All topics. Viewers learn when they change.
#[derive(Debug)]
pub(super) struct Topics {
    state: Mutex<State>,
    changed: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct State {
    /// The names of the channels. No two have the same.
    channels: Vec<String>,
    all: BTreeMap<u32, Arc<Topic>>,
    known: HashMap<(Source, Token), u32>,
    /// Of each source that is there: the number that names have, and how many formats are known.
    sources: HashMap<Source, (u32, usize)>,
    names: TopicNames,
    next: u32,
    /// Formats that had no room.
    hidden: HashSet<(Source, Token)>,
}

impl Topics {
    pub(super) fn new<'n>(names: impl Iterator<Item = &'n str>) -> Topics {
        let mut channels: Vec<String> = Vec::new();
        for name in names {
            let numbered = (2..).map(|number| format!("{name} {number}"));
            let free = std::iter::once(name.to_string()).chain(numbered).find(|name| !channels.contains(name));
            channels.extend(free);
        }
        Topics { state: Mutex::new(State { channels, ..State::default() }), changed: watch::Sender::new(()) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What says that something has changed.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// All topics by their numbers, and how many more there would be.
    pub(super) fn all(&self) -> (BTreeMap<u32, Arc<Topic>>, usize) {
        let state = self.state();
        (state.all.clone(), state.hidden.len())
    }

    /// Whether a format of this source is known.
    pub(super) fn has_format(&self, source: Source) -> bool {
        self.state().sources.get(&source).is_some_and(|(_, formats)| *formats > 0)
    }

    /// These are the sources of a place. The topics of others go.
    pub(super) fn set_sources(&self, place: usize, offered: &[Offered]) {
        let mut state = self.state();
        let now: HashMap<Source, u32> =
            offered.iter().map(|one| (Source { place, node: one.node, number: one.number }, one.source.0)).collect();
        let is_there = |source: &Source| source.place != place || now.contains_key(source);
        let State { all, known, sources, names, hidden, .. } = &mut *state;
        let before = all.len();
        sources.retain(|source, _| is_there(source));
        hidden.retain(|(source, _)| is_there(source));
        known.retain(|(source, _), _| is_there(source));
        all.retain(|_, topic| {
            let stays = is_there(&topic.source);
            if !stays {
                names.forget(&topic.name);
            }
            stays
        });
        for (source, shown) in now {
            sources.entry(source).or_insert((shown, 0));
        }
        let have_gone = all.len() != before;
        drop(state);
        if have_gone {
            self.changed.send_replace(());
        }
    }

    /// A source that is there has this format.
    pub(super) fn add(&self, source: Source, format: &Format) {
        let mut state = self.state();
        let State { channels, all, known, sources, names, next, hidden } = &mut *state;
        let Some((shown, formats)) = sources.get_mut(&source) else { return };
        let key = (source, format.token());
        if known.contains_key(&key) {
            return;
        }
        if all.len() == TOPICS || *formats == FORMATS {
            if hidden.len() == TOPICS || !hidden.insert(key) {
                return;
            }
        } else {
            let name = names.name(&channels[source.place], *shown, format.name());
            let source_name = format!("{}/{shown}", channels[source.place]);
            let topic = Topic { id: *next, name, source_name, source, format: format.clone() };
            all.insert(*next, Arc::new(topic));
            known.insert(key, *next);
            hidden.remove(&key);
            // After four billions of topics there are no further ones.
            *next = next.saturating_add(1);
            *formats += 1;
        }
        drop(state);
        self.changed.send_replace(());
    }
}
