//! `isoform replay`: a recording is published again. Reading it is in `isoform-files`.

use super::account::{self, Account};
use super::stop::{LOOK, Stop};
use super::{build, node_builder};
use crate::args;
use crate::failure::{Failure, notice};
use crate::open::expect_recording;
use crate::output::{Output, plural};
use isoform::message::Header;
use isoform::{Incoming, Messages};
#[cfg(feature = "watch")]
use isoform_channel::SinkLedger;
use isoform_channel::{Channel, Node, NodeId, Origin, Source};
use isoform_dynamic::wait::{in_turns, unless_late};
use isoform_files::{Item, Recording, Stamp};
use serde_json::Value;
#[cfg(feature = "watch")]
use std::collections::HashSet;
use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::{Duration, Instant};

pub(super) fn run(arguments: &args::Replay, output: &mut Output) -> Result<(), Failure> {
    let stop = Stop::new()?;
    let about = Survey::of(arguments)?;
    let mut replay = Replay::new(arguments, &about)?;
    let (mut submitted, mut damage) = (0, None);
    if replay.wait(arguments, &stop)? {
        let (mut span, mut is_sought) = (about.span.clone(), false);
        loop {
            let (count, sought) = replay.play(arguments, &about, (span, is_sought), &stop, &mut damage)?;
            submitted += count;
            let next = match sought {
                Some(at) => Some(at),
                None if arguments.again && submitted > 0 && !stop.is_asked() => Some(*about.span.start()),
                None => replay.wait_for_page(&stop),
            };
            match next {
                Some(from) => {
                    (span, is_sought) = (from..=*about.span.end(), true);
                    #[cfg(feature = "watch")]
                    replay.tell_jump();
                }
                None => break,
            }
        }
    }
    replay.end(arguments, output)?;
    match damage {
        Some(error) => Err(cannot_read(&arguments.file)(error)),
        None if submitted == 0 && !stop.is_asked() => {
            Err(Failure::data(format!("no events between these times in {}", arguments.file.display())))
        }
        None => Ok(()),
    }
}

fn cannot_read(path: &Path) -> impl Fn(isoform::Error) -> Failure {
    move |error| Failure::from(error).about(&path.display().to_string())
}

/// What is in a recording.
struct Survey {
    /// The names of its channels.
    names: Vec<String>,
    /// The times that are wanted: nanoseconds since 1970.
    span: RangeInclusive<u64>,
    /// The nodes of its sources.
    nodes: HashMap<u32, NodeId>,
    /// The times of what is wanted: of the first and the last entry.
    #[cfg(feature = "watch")]
    times: RangeInclusive<u64>,
}

impl Survey {
    fn of(arguments: &args::Replay) -> Result<Survey, Failure> {
        let (path, name) = (&*arguments.file, arguments.file.display().to_string());
        expect_recording(path)?;
        let mut recording = Recording::open(path).map_err(|error| cannot_read(path)(error).of_source())?;
        let span = arguments.span.of(&mut recording, &name)?;
        #[cfg(feature = "watch")]
        let times = {
            let (first, last) =
                recording.times().map_err(cannot_read(path))?.map_or((0, 0), RangeInclusive::into_inner);
            first.max(*span.start())..=last.min(*span.end())
        };
        let (mut names, mut nodes): (Vec<String>, _) = (Vec::new(), HashMap::new());
        let damage = loop {
            match recording.next_entry() {
                Ok(Some(entry)) => match entry.item {
                    Item::Event { .. } if names.iter().all(|name| name != entry.topic) => {
                        names.push(entry.topic.into())
                    }
                    Item::Event { .. } => {}
                    Item::News(news) => nodes.extend(joined(&news)),
                },
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
        };
        match damage {
            Some(error) if names.is_empty() => Err(cannot_read(path)(error)),
            None if names.is_empty() => Err(Failure::data(format!("no events in {name}"))),
            damage => {
                damage.iter().for_each(|error| notice(&format!("{name}: {error}; the rest is replayed")));
                Ok(Survey {
                    names,
                    span,
                    nodes,
                    #[cfg(feature = "watch")]
                    times,
                })
            }
        }
    }
}

/// A replay in progress.
struct Replay {
    /// They outlive the sources.
    _node: Node,
    _channels: Vec<Channel>,
    sources: BTreeMap<String, Source<Messages>>,
    #[cfg(feature = "watch")]
    page: Option<Page>,
}

/// The page that leads a replay.
#[cfg(feature = "watch")]
struct Page {
    player: isoform_watch::Player,
    /// The nodes of its sinks. The replay does not wait for these.
    nodes: HashSet<NodeId>,
    /// By channel: its place in the page, and the sequence number of its next event.
    next: BTreeMap<String, (usize, u64)>,
    _server: isoform_watch::Server,
}

impl Replay {
    fn new(arguments: &args::Replay, about: &Survey) -> Result<Replay, Failure> {
        if let Some(unknown) = arguments.channel.iter().find(|name| !about.names.contains(name)) {
            let failure = Failure::usage(format!("no channel {unknown:?} in {}", arguments.file.display()));
            return Err(failure.hint(format!("it has {}", about.names.join(", "))));
        }
        let node = arguments.listen.iter().fold(node_builder(&arguments.network), |node, address| node.listen(address));
        let node = build(node)?;
        let (mut channels, mut sources) = (Vec::new(), BTreeMap::new());
        for name in about.names.iter().filter(|name| arguments.channel.is_empty() || arguments.channel.contains(name)) {
            let channel = node.create_with(name, None)?;
            channel.ids().for_each(|id| notice(&id.to_string()));
            let source = channel.source_builder();
            let source = if arguments.lossless || arguments.max { source.lossless() } else { source };
            sources.insert(name.clone(), source.build::<Messages>()?);
            channels.push(channel);
        }
        #[cfg(feature = "watch")]
        let page = match arguments.watch {
            None => None,
            Some(address) => {
                let player = isoform_watch::Player::new(about.times.clone(), arguments.rate);
                // Nodes of their own, so that the page gets events as any sink does.
                let watching = build(node_builder(&arguments.network))?;
                let watched = channels.iter().map(|channel| watching.open(channel.id().to_string()));
                let watched = watched.collect::<isoform::Result<Vec<_>>>()?;
                // The first member is the node itself.
                let nodes = watched.iter().filter_map(|channel| channel.members().first().copied()).collect();
                let ids = channels.iter().map(|channel| channel.id().to_string());
                let places = watched.into_iter().zip(ids).map(|(one, id)| super::watch::placed(one, &id)).collect();
                let server = super::watch::serve_replay(address, places, player.clone())?;
                let next = channels.iter().enumerate().map(|(place, one)| (one.name().into(), (place, 0))).collect();
                Some(Page { player, nodes, next, _server: server })
            }
        };
        Ok(Replay {
            _node: node,
            _channels: channels,
            sources,
            #[cfg(feature = "watch")]
            page,
        })
    }

    /// Waits until each channel has its sinks. `false` if it was asked to stop meanwhile.
    fn wait(&self, arguments: &args::Replay, stop: &Stop) -> Result<bool, Failure> {
        #[cfg(feature = "watch")]
        if let Some(page) = &self.page {
            return Ok(self.wait_beside(page, arguments.wait, stop));
        }
        for (name, source) in &self.sources {
            if source.sinks() < arguments.wait {
                notice(&format!("waiting for {} of {name}", plural(arguments.wait, "sink")));
            }
            let turn = |longest| unless_late(source.wait_for_sinks(arguments.wait, longest));
            if in_turns(None, LOOK, turn, || Ok::<bool, isoform::Error>(!stop.is_asked()))?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// As `wait`, but sinks of the page do not count. The replay also starts when a person plays or seeks in the page.
    #[cfg(feature = "watch")]
    fn wait_beside(&self, page: &Page, count: usize, stop: &Stop) -> bool {
        let counts = |sink: &SinkLedger| sink.present && !page.nodes.contains(&sink.node);
        let lacks = |source: &Source<Messages>| source.ledger().iter().filter(|sink| counts(sink)).count() < count;
        if !self.sources.values().any(lacks) {
            return true;
        }
        page.player.pause();
        for (name, _) in self.sources.iter().filter(|(_, source)| lacks(source)) {
            notice(&format!("waiting for {} of {name}, beside the page", plural(count, "sink")));
        }
        notice("Play replay in the page starts it without them");
        while self.sources.values().any(lacks) {
            if !stop.sleep_until(Instant::now() + LOOK) {
                return false;
            }
            if page.player.is_led() {
                return true;
            }
        }
        page.player.resume();
        true
    }

    /// Publishes the events of this time once, and returns how many they were, and the time at which to go on if a page has sought another
    /// one. Damage among them ends nothing.
    fn play(
        &mut self,
        arguments: &args::Replay,
        about: &Survey,
        (span, is_sought): (RangeInclusive<u64>, bool),
        stop: &Stop,
        damage: &mut Option<isoform::Error>,
    ) -> Result<(u64, Option<u64>), Failure> {
        let recording = Recording::open(&arguments.file).and_then(|recording| recording.within(span));
        let mut recording = recording.map_err(cannot_read(&arguments.file))?;
        let (mut pace, mut submitted) = (Pace::new(arguments, is_sought), 0);
        while !stop.is_asked() {
            let entry = match recording.next_entry() {
                Ok(Some(entry)) => entry,
                end => {
                    *damage = end.err();
                    break;
                }
            };
            let Item::Event { stamp, format, body } = entry.item else { continue };
            let Some(source) = self.sources.get_mut(entry.topic) else { continue };
            #[cfg(feature = "watch")]
            let player = self.page.as_ref().map(|page| &page.player);
            match pace.wait(
                entry.recorded,
                stop,
                #[cfg(feature = "watch")]
                player,
            ) {
                Turn::Now => {}
                Turn::Stop => break,
                #[cfg(feature = "watch")]
                Turn::Seek(at) => return Ok((submitted, Some(at))),
            }
            let message = Incoming::new(Header::new(format.token(), body.len() as u64), format, body);
            let _sequence = source.relay(&message, origin(&stamp, &about.nodes))?;
            #[cfg(feature = "watch")]
            if let Some(page) = &mut self.page
                && let Some((_, next)) = page.next.get_mut(entry.topic)
            {
                *next = _sequence + 1;
            }
            submitted += 1;
        }
        Ok((submitted, None))
    }

    /// The next events are of another time.
    #[cfg(feature = "watch")]
    fn tell_jump(&self) {
        let Some(page) = &self.page else { return };
        page.next.values().for_each(|&(place, sequence)| page.player.jumped(place, sequence));
    }

    /// At the end of the recording: where to go on, if a page leads this replay.
    #[cfg(feature = "watch")]
    fn wait_for_page(&self, stop: &Stop) -> Option<u64> {
        let player = &self.page.as_ref()?.player;
        player.stop();
        loop {
            if !stop.sleep_until(Instant::now() + LOOK) {
                return None;
            }
            if let Some(at) = player.sought() {
                return Some(at);
            }
        }
    }

    #[cfg(not(feature = "watch"))]
    fn wait_for_page(&self, _: &Stop) -> Option<u64> {
        None
    }

    fn end(self, arguments: &args::Replay, output: &mut Output) -> Result<(), Failure> {
        let mut accounts = Vec::new();
        for (name, source) in self.sources {
            let ledgers = source.close(Duration::from_secs_f64(arguments.patience))?;
            accounts.extend(Account::of(&name, &ledgers));
        }
        account::write(&accounts, output)?;
        account::check(&accounts)
    }
}

/// When each event is due.
struct Pace {
    /// `None` if no time passes between events.
    rate: Option<f64>,
    /// A moment, and the time of the recording then.
    began: Option<(Instant, u64)>,
    /// The first event of a time that was sought comes also while the replay stands, so that everybody sees that time.
    is_sought: bool,
}

/// What is due.
enum Turn {
    /// The event.
    Now,
    /// The end.
    Stop,
    /// Another time of the recording.
    #[cfg(feature = "watch")]
    Seek(u64),
}

impl Pace {
    fn new(arguments: &args::Replay, is_sought: bool) -> Pace {
        Pace { rate: (!arguments.max).then_some(arguments.rate), began: None, is_sought }
    }

    /// Waits until an event is due.
    fn wait(
        &mut self,
        recorded: u64,
        stop: &Stop,
        #[cfg(feature = "watch")] player: Option<&isoform_watch::Player>,
    ) -> Turn {
        while !stop.is_asked() {
            #[cfg(feature = "watch")]
            if let Some(player) = player {
                if let Some(at) = player.sought() {
                    return Turn::Seek(at);
                }
                player.moved(recorded);
                if std::mem::take(&mut self.is_sought) {
                    return Turn::Now;
                }
                if player.is_paused() {
                    self.began = None;
                    stop.sleep_until(Instant::now() + LOOK);
                    continue;
                }
                if self.rate != Some(player.rate()) {
                    (self.rate, self.began) = (Some(player.rate()), None);
                }
            }
            let Some(rate) = self.rate else { return Turn::Now };
            let (began, first) = *self.began.get_or_insert_with(|| (Instant::now(), recorded));
            // In a file of somebody else, times may go back.
            let due = began + Duration::from_nanos(recorded.saturating_sub(first)).div_f64(rate);
            match due.saturating_duration_since(Instant::now()) {
                Duration::ZERO => return Turn::Now,
                left => _ = stop.sleep_until(Instant::now() + left.min(LOOK)),
            }
        }
        Turn::Stop
    }
}

/// Where an event was first submitted.
fn origin(stamp: &Stamp, nodes: &HashMap<u32, NodeId>) -> Origin {
    match stamp.origin {
        Some(origin) => Origin { node: NodeId(origin.node), source: origin.source, sequence: origin.sequence },
        None => Origin {
            node: nodes.get(&stamp.source).copied().unwrap_or(NodeId::ANY),
            source: stamp.source,
            sequence: stamp.sequence,
        },
    }
}

/// A source that has joined, and its node.
fn joined(news: &Value) -> Option<(u32, NodeId)> {
    let joined = news.get("joined")?;
    let source = u32::try_from(joined.get("source")?.as_u64()?).ok()?;
    let digits = joined.get("node")?.as_str()?.as_bytes();
    let mut node = [0; 16];
    let pairs = digits.as_chunks::<2>().0;
    if pairs.len() != node.len() {
        return None;
    }
    for (byte, pair) in node.iter_mut().zip(pairs) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some((source, NodeId(node)))
}
