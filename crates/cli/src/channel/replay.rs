//! `isoform replay`: a recording is published again. Reading it is in `isoform-files`.

use super::account::{self, Account};
use super::stop::{LOOK, Stop};
use super::{build, node_builder};
use crate::args;
use crate::failure::{Failure, notice};
use crate::open::is_recording;
use crate::output::{Output, plural};
use isoform::Incoming;
use isoform::message::Header;
use isoform_channel::{Channel, MessageSource, Node, NodeId, Origin};
use isoform_dynamic::wait::{in_turns, unless_late};
use isoform_files::{Item, Recording, Stamp};
use serde_json::Value;
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
        loop {
            submitted += replay.play(arguments, &about, &stop, &mut damage)?;
            if !arguments.again || submitted == 0 || stop.is_asked() {
                break;
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
}

impl Survey {
    fn of(arguments: &args::Replay) -> Result<Survey, Failure> {
        let (path, name) = (&*arguments.file, arguments.file.display().to_string());
        let mut recording = Recording::open(path).map_err(|error| cannot_read(path)(error).of_source())?;
        if !is_recording(path) {
            let failure = Failure::usage(format!("{name} is not a recording"));
            return Err(
                failure.hint(format!("`isoform dump {name}` shows a stream; `isoform pub NAME {name}` publishes it"))
            );
        }
        let span = arguments.span.of(&mut recording, &name)?;
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
                Ok(Survey { names, span, nodes })
            }
        }
    }
}

/// A replay in progress.
struct Replay {
    /// They outlive the sources.
    _node: Node,
    _channels: Vec<Channel>,
    sources: BTreeMap<String, MessageSource>,
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
            sources.insert(name.clone(), source.build_messages()?);
            channels.push(channel);
        }
        Ok(Replay { _node: node, _channels: channels, sources })
    }

    /// Waits until each channel has its sinks. `false` if it was asked to stop meanwhile.
    fn wait(&self, arguments: &args::Replay, stop: &Stop) -> Result<bool, Failure> {
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

    /// Publishes the events once, and returns how many they were. Damage among them ends nothing.
    fn play(
        &mut self,
        arguments: &args::Replay,
        about: &Survey,
        stop: &Stop,
        damage: &mut Option<isoform::Error>,
    ) -> Result<u64, Failure> {
        let recording = Recording::open(&arguments.file).and_then(|recording| recording.within(about.span.clone()));
        let mut recording = recording.map_err(cannot_read(&arguments.file))?;
        let (began, mut first, mut submitted) = (Instant::now(), None, 0);
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
            // In a file of somebody else, times may go back.
            let passed = entry.recorded.saturating_sub(*first.get_or_insert(entry.recorded));
            if !arguments.max && !stop.sleep_until(began + Duration::from_nanos(passed).div_f64(arguments.rate)) {
                break;
            }
            let message = Incoming::new(Header::new(format.token(), body.len() as u64), format, body);
            source.relay(&message, origin(&stamp, &about.nodes))?;
            submitted += 1;
        }
        Ok(submitted)
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
