//! `isoform record`: the events of channels, in files. The file itself is in `isoform-files`.

use super::find::Wanted;
use super::stop::{LOOK, Stop};
use super::{about_query, asking, cannot_open, news, short, whole_query};
use crate::args;
use crate::failure::{Failure, no_option, notice};
use crate::output::{Output, plural};
use isoform::{Code, Error, Incoming, Messages};
use isoform_channel::{Channel, ChannelId, Event, Node, Policy, SinkBuilder, SourceRef, Window};
use isoform_dynamic::words::keeping;
use isoform_files::{Options, Origin, Recorder, Stamp, Topic, Written};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The bytes that wait at a source: a recorder is to lose nothing while its disk is busy.
const QUEUE: u64 = 64 << 20;
/// Sources that are remembered although they have left.
const SOURCES: usize = 1024;
/// The time between two moments at which everything is put on disk.
const SYNC: Duration = Duration::from_secs(1);

pub(super) fn run(arguments: &args::Record, output: &mut Output) -> Result<(), Failure> {
    super::check_wishes(arguments.query.as_deref(), arguments.parameters.as_deref())?;
    let stop = Stop::new()?;
    let node = super::node(&arguments.network)?;
    let names = names(&arguments.channels)?;
    let parts = Mutex::new(Parts::create(arguments, &names)?);
    if !arguments.progress {
        notice(&format!("recording {} in {}; Ctrl-C ends it", names.join(", "), no_option(&arguments.output)));
    }
    let over = AtomicBool::new(false);
    let shared = Shared { arguments, stop: &stop, parts: &parts, over: &over };
    let began = Instant::now();
    let mut failures = std::thread::scope(|scope| {
        let recorders: Vec<_> = (arguments.channels.iter().enumerate())
            .map(|(number, id)| {
                let node = &node;
                scope.spawn(move || {
                    let recorded = shared.record(node, number, id);
                    // The others go on, so this is said now, and again at the end.
                    if let (Err(Failure::Told { message, .. }), true) = (&recorded, arguments.channels.len() > 1) {
                        notice(&format!("not recorded: {message}"));
                    }
                    recorded
                })
            })
            .collect();
        let mut progress = Progress::new(arguments.progress);
        let mut failures: Vec<Failure> = Vec::new();
        while recorders.iter().any(|recorder| !recorder.is_finished()) && !shared.ends() {
            if arguments.seconds.is_some_and(|seconds| began.elapsed().as_secs_f64() >= seconds) {
                break;
            }
            shared.stop.sleep_until(Instant::now() + LOOK);
            match parts.lock().expect("no panic").sync_if_due() {
                Ok(Some(written)) => progress.tell(written),
                Ok(None) => {}
                Err(failure) => {
                    failures.push(failure);
                    break;
                }
            }
        }
        over.store(true, Ordering::Relaxed);
        failures.extend(recorders.into_iter().filter_map(|recorder| recorder.join().expect("no panic").err()));
        progress.end();
        failures
    });
    let parts = parts.into_inner().expect("no panic");
    if failures.is_empty() {
        return parts.end(output);
    }
    // The first failure is the reason for what follows from it.
    match parts.is_blank() {
        true => parts.discard(),
        false => _ = parts.end(output),
    }
    Err(failures.swap_remove(0))
}

/// The names of the channels of ids, in the recording: with a number behind it if one was there before.
fn names(ids: &[String]) -> Result<Vec<String>, Failure> {
    let (mut names, mut known): (Vec<String>, Vec<ChannelId>) = (Vec::new(), Vec::new());
    for id in ids {
        let id: ChannelId = id.parse().map_err(|error| cannot_open(id, error))?;
        if known.contains(&id) {
            let failure = Failure::usage(format!("{} is there twice", super::shown(&id.to_string())));
            return Err(failure.hint("each channel is recorded once"));
        }
        known.push(id.clone());
        let numbered = (2..).map(|number| format!("{} {number}", id.name()));
        let free = std::iter::once(id.name().to_string()).chain(numbered).find(|name| !names.contains(name));
        names.extend(free);
    }
    Ok(names)
}

/// What the threads that record a channel each have in common.
#[derive(Clone, Copy)]
struct Shared<'a> {
    arguments: &'a args::Record,
    stop: &'a Stop,
    parts: &'a Mutex<Parts>,
    over: &'a AtomicBool,
}

impl Shared<'_> {
    fn ends(&self) -> bool {
        self.stop.is_asked() || self.over.load(Ordering::Relaxed)
    }

    /// Records a channel until the end is asked for, or until it is there no more.
    fn record(self, node: &Node, number: usize, id: &str) -> Result<(), Failure> {
        let mut wanted = Wanted::new(id, self.arguments.once);
        while let Some(channel) = wanted.find_before(node, self.stop, || self.ends())? {
            self.record_while_there(&channel, number)?;
            if self.ends() || !wanted.waits() {
                break;
            }
            wanted.was_lost(&channel, &format!("no other node has {} open any more", super::shown(id)));
        }
        wanted.missed().map_or(Ok(()), Err)
    }

    fn record_while_there(&self, channel: &Channel, number: usize) -> Result<(), Failure> {
        let sink = configured(channel.sink_builder(), self.arguments)?.build::<Messages>();
        let mut sink = sink.map_err(|error| Failure::from(error).about(channel.id().name()))?;
        let query = whole_query(channel, self.arguments.query.as_deref());
        let mut parts = self.parts.lock().expect("no panic");
        if let (Some(query), true) = (&query, channel.query().is_some()) {
            notice(&format!("{}: {query}", parts.names[number]));
        }
        parts.queries[number] = query;
        drop(parts);
        let result = loop {
            if self.ends() {
                break Ok(());
            }
            match sink.recv_timeout(LOOK)? {
                Some(event) => {
                    let mut parts = self.parts.lock().expect("no panic");
                    let taken = parts.take(number, event);
                    if parts.left == 0 {
                        self.over.store(true, Ordering::Relaxed);
                    }
                    drop(parts);
                    if let Err(failure) = taken {
                        break Err(failure);
                    }
                }
                None if channel.members().len() <= 1 => break Ok(()),
                None if self.arguments.once && self.parts.lock().expect("no panic").have_left(number) => break Ok(()),
                None => {}
            }
        };
        self.parts.lock().expect("no panic").sources_are_gone(number)?;
        result
    }
}

fn configured(sink: SinkBuilder, arguments: &args::Record) -> Result<SinkBuilder, Failure> {
    let policy = keeping(arguments.policy, None, Some(QUEUE));
    let sink = asking(sink, arguments.query.as_deref(), arguments.parameters.as_deref())?
        .policy(policy)
        .longest(arguments.max_message);
    Ok(match policy {
        _ if arguments.lossless => sink.lossless(),
        Policy::DropOldest { events, .. } => sink.window(Window { events, bytes: 0 }),
        _ => sink,
    })
}

/// A recording in one or several files.
struct Parts {
    path: PathBuf,
    options: Options,
    /// A part ends behind so many bytes, or after this time.
    most: Option<u64>,
    longest: Option<Duration>,
    /// The events that are still wanted.
    left: u64,
    names: Vec<String>,
    /// Those of the names.
    topics: Vec<Topic>,
    /// Of each channel, once it is open.
    queries: Vec<Option<String>>,
    number: u32,
    recorder: Option<Recorder>,
    began: Instant,
    synced: Instant,
    /// Events and bytes of the parts before.
    before: Written,
    /// Events of all parts that are on disk.
    on_disk: u64,
    /// Whether something could not be written.
    failed: bool,
    /// By the number of their channel, and their own.
    sources: BTreeMap<(usize, u32), Account>,
    /// Sources that have left, beyond those.
    others: Others,
}

/// What has come of a source.
#[derive(Default)]
struct Account {
    node: String,
    /// What was said when it joined; `None` once it has left.
    joined: Option<Value>,
    /// Whether the source has been refused, or has refused the recorder.
    refused: bool,
    recorded: u64,
    /// By their causes.
    lost: BTreeMap<String, u64>,
    superseded: u64,
    /// Events that it submitted before, and that do not come.
    earlier: u64,
}

/// How many sources have left that are not listed, and the sums of their events.
#[derive(Default)]
struct Others {
    count: u64,
    recorded: u64,
    lost: u64,
    earlier: u64,
}

impl Others {
    fn add(&mut self, account: &Account) {
        (self.count, self.recorded) = (self.count + 1, self.recorded + account.recorded);
        // Sources state these, and may lie.
        self.lost = account.lost.values().fold(self.lost, |lost, &count| lost.saturating_add(count));
        self.earlier = self.earlier.saturating_add(account.earlier);
    }
}

impl Parts {
    fn create(arguments: &args::Record, names: &[String]) -> Result<Parts, Failure> {
        let mut parts = Parts {
            path: arguments.output.clone(),
            options: Options { compression: arguments.compression.into(), viewers: arguments.viewers },
            most: arguments.part_size,
            longest: arguments.part_seconds.map(Duration::from_secs_f64),
            left: arguments.count.unwrap_or(u64::MAX),
            names: names.to_vec(),
            topics: Vec::new(),
            queries: vec![None; names.len()],
            number: 0,
            recorder: None,
            began: Instant::now(),
            synced: Instant::now(),
            before: Written::default(),
            on_disk: 0,
            failed: false,
            sources: BTreeMap::new(),
            others: Others::default(),
        };
        parts.begin()?;
        Ok(parts)
    }

    /// Begins the next part.
    fn begin(&mut self) -> Result<(), Failure> {
        self.number += 1;
        let path = part(&self.path, self.number);
        let mut recorder = Recorder::create(&path, self.options).map_err(|error| match self.number {
            1 => cannot_create(&path, error),
            _ => cannot_write(error),
        })?;
        let now = now();
        self.topics = self.names.iter().map(|name| recorder.topic(name)).collect();
        for topic in &self.topics {
            recorder.news(*topic, now, &json!({"part": {"number": self.number}})).map_err(cannot_write)?;
        }
        for ((channel, _), account) in &self.sources {
            if let Some(joined) = &account.joined {
                recorder.news(self.topics[*channel], now, joined).map_err(cannot_write)?;
            }
        }
        self.recorder = Some(recorder);
        self.began = Instant::now();
        Ok(())
    }

    fn recorder(&mut self) -> Result<&mut Recorder, Failure> {
        self.recorder.as_mut().ok_or_else(|| Failure::data("the recording has ended, since it could not be written"))
    }

    /// Records what has happened. After an error, nothing more is written.
    fn take(&mut self, channel: usize, event: Event<Incoming<'_>>) -> Result<(), Failure> {
        let taken = self.put(channel, event);
        if taken.is_err() {
            self.fail();
        }
        taken
    }

    fn put(&mut self, channel: usize, event: Event<Incoming<'_>>) -> Result<(), Failure> {
        let (now, topic) = (now(), self.topics[channel]);
        if let Some(mut line) = news::line(&event) {
            if let (Some(joined), Some(query)) = (line.get_mut("joined"), &self.queries[channel]) {
                joined["query"] = json!(query);
            }
            self.recorder()?.news(topic, now, &line).map_err(cannot_write)?;
            self.account(channel, &event, line)?;
            return match event {
                // The source has not the fields that were asked for, and nothing before had them: as `echo` does.
                Event::Refused(_, error) if self.is_blank() && is_about_the_query(error.code()) => {
                    let failure = Failure::from(error).about(&self.names[channel]);
                    Err(about_query(failure, self.queries[channel].as_deref()))
                }
                Event::Refused(SourceRef(source), error) => {
                    notice(&format!("{}: source {source} cannot be recorded: {error}", self.names[channel]));
                    Ok(())
                }
                _ => Ok(()),
            };
        }
        let Event::Record { stamp, record } = event else { return Ok(()) };
        let Some(left) = self.left.checked_sub(1) else { return Ok(()) };
        self.left = left;
        let source = stamp.source.0;
        let origin =
            stamp.origin.map(|origin| Origin { node: origin.node.0, source: origin.source, sequence: origin.sequence });
        let stamp = Stamp { source, sequence: stamp.sequence, nanoseconds: stamp.nanoseconds, origin };
        self.recorder()?.record(topic, now, stamp, record.format(), record.body()).map_err(cannot_write)?;
        self.sources.entry((channel, source)).or_default().recorded += 1;
        let most = self.most.unwrap_or(u64::MAX);
        let is_full = self.recorder.as_ref().is_some_and(|recorder| recorder.size() >= most || recorder.is_full());
        if is_full || self.longest.is_some_and(|longest| self.began.elapsed() >= longest) {
            self.finish()?;
            self.begin()?;
        }
        Ok(())
    }

    fn account(&mut self, channel: usize, event: &Event<Incoming<'_>>, line: Value) -> Result<(), Failure> {
        match event {
            Event::Joined { source: SourceRef(source), node, earlier, .. } => {
                let account = self.sources.entry((channel, *source)).or_default();
                (account.node, account.joined, account.earlier) = (short(*node), Some(line), *earlier);
            }
            Event::Gap(SourceRef(source), gap) => {
                let account = self.sources.entry((channel, *source)).or_default();
                match gap.cause.is_loss() {
                    true => *account.lost.entry(gap.cause.to_string()).or_default() += gap.count,
                    false => account.superseded += gap.count,
                }
            }
            Event::Refused(SourceRef(source), _) => {
                self.sources.entry((channel, *source)).or_default().refused = true;
            }
            Event::Left(SourceRef(source), _) => self.source_is_gone(channel, *source)?,
            _ => {}
        }
        Ok(())
    }

    fn source_is_gone(&mut self, channel: usize, source: u32) -> Result<(), Failure> {
        let Some(account) = self.sources.get_mut(&(channel, source)) else { return Ok(()) };
        if account.joined.take().is_none() {
            return Ok(());
        }
        let lost: Map<String, Value> =
            account.lost.iter().map(|(cause, count)| (cause.clone(), json!(count))).collect();
        let Account { recorded, superseded, earlier, .. } = account;
        let line = json!({"account": {"source": source, "recorded": recorded, "superseded": superseded, "lost": lost, "earlier": earlier}});
        if self.sources.len() > SOURCES
            && let Some(account) = self.sources.remove(&(channel, source))
        {
            self.others.add(&account);
        }
        let topic = self.topics[channel];
        self.recorder()?.news(topic, now(), &line).map_err(cannot_write)
    }

    /// The recorder does not listen to the channel any more.
    fn sources_are_gone(&mut self, channel: usize) -> Result<(), Failure> {
        let there: Vec<u32> =
            self.sources.range((channel, 0)..=(channel, u32::MAX)).map(|((_, source), _)| *source).collect();
        match self.recorder {
            Some(_) => there.into_iter().try_for_each(|source| self.source_is_gone(channel, source)),
            None => Ok(()),
        }
    }

    /// Whether there were sources on the channel, and nothing comes of any of them now.
    fn have_left(&self, channel: usize) -> bool {
        let mut sources = self.sources.range((channel, 0)..=(channel, u32::MAX)).peekable();
        sources.peek().is_some() && sources.all(|(_, account)| account.joined.is_none() || account.refused)
    }

    /// Puts everything on disk once a second, and says how much that is.
    fn sync_if_due(&mut self) -> Result<Option<Written>, Failure> {
        if self.synced.elapsed() < SYNC {
            return Ok(None);
        }
        let before = self.before;
        let Some(recorder) = &mut self.recorder else { return Ok(None) };
        let written = recorder.sync();
        if written.is_err() {
            self.fail();
        }
        let written = written.map_err(cannot_write)?;
        self.synced = Instant::now();
        self.on_disk = before.events + written.events;
        Ok(Some(Written { events: self.on_disk, bytes: before.bytes + written.bytes }))
    }

    /// Nothing more is written.
    fn fail(&mut self) {
        (self.recorder, self.failed) = (None, true);
    }

    /// Ends a part.
    fn finish(&mut self) -> Result<(), Failure> {
        let Some(recorder) = self.recorder.take() else { return Ok(()) };
        let written = recorder.finish();
        self.failed |= written.is_err();
        let written = written.map_err(cannot_write)?;
        self.before.events += written.events;
        self.before.bytes += written.bytes;
        self.on_disk = self.before.events;
        Ok(())
    }

    /// Whether no event was recorded.
    fn is_blank(&self) -> bool {
        self.others.recorded == 0 && self.sources.values().all(|account| account.recorded == 0)
    }

    /// Removes a file that holds no event. So the next attempt does not find it in its way.
    fn discard(mut self) {
        if self.number == 1 && self.finish().is_ok() {
            _ = std::fs::remove_file(part(&self.path, 1));
        }
    }

    /// Ends the recording, and says what is in it.
    fn end(mut self, output: &mut Output) -> Result<(), Failure> {
        let finished = self.finish();
        let recorded = if self.failed { "came" } else { "recorded" };
        for ((channel, source), account) in &self.sources {
            let (name, node) = (&self.names[*channel], &account.node);
            let lost: u64 = account.lost.values().sum();
            let causes: Vec<String> = account.lost.iter().map(|(cause, count)| format!("{count} {cause}")).collect();
            let causes = if causes.is_empty() { String::new() } else { format!(" ({})", causes.join(", ")) };
            let superseded = match account.superseded {
                0 => String::new(),
                superseded => format!(", {superseded} superseded"),
            };
            writeln!(
                output,
                "{name}: source {source} at node {node}: {} {recorded}, {lost} lost{causes}{superseded}{}",
                account.recorded,
                news::earlier(account.earlier)
            )?;
        }
        if let Others { count: count @ 1.., recorded: came, lost, earlier } = self.others {
            let earlier = news::earlier(earlier);
            writeln!(output, "{count} other sources that have left: {came} {recorded}, {lost} lost{earlier}")?;
        }
        let path = no_option(&self.path);
        if self.failed {
            let on_disk = plural(self.on_disk as usize, "event");
            writeln!(output, "{path}: {on_disk} on disk, and perhaps some of those that came later")?;
            return finished;
        }
        let Written { events, bytes } = self.before;
        let files = plural(self.number as usize, "file");
        writeln!(output, "{path}: {} and {bytes} bytes in {files}", plural(events as usize, "event"))?;
        match self.sources.values().any(|account| account.refused) {
            true => Err(Failure::Shown { status: 1 }),
            false => Ok(()),
        }
    }
}

/// Whether a source refuses the query, and not the node that asks.
fn is_about_the_query(code: Code) -> bool {
    matches!(code, Code::NoSuchField | Code::WrongType | Code::Unit)
}

/// The path of a part: `run.mcap`, `run-2.mcap`, `run-3.mcap`.
fn part(path: &Path, number: u32) -> PathBuf {
    if number == 1 {
        return path.into();
    }
    let mut name = path.file_stem().unwrap_or_default().to_os_string();
    name.push(format!("-{number}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

/// The first file, before anything is recorded.
fn cannot_create(path: &Path, error: Error) -> Failure {
    match path.symlink_metadata() {
        Ok(_) => Failure::usage(format!("{} is there already", path.display()))
            .hint("choose another name: a recording replaces no file"),
        Err(_) => Failure::usage(format!("cannot create the recording: {error}")),
    }
}

fn cannot_write(error: Error) -> Failure {
    Failure::data(format!("cannot write the recording: {error}"))
        .hint("what was reported as on disk can be read: `isoform dump FILE`")
}

/// Says once a second how much is on disk.
struct Progress {
    lines: bool,
    over: bool,
    said: bool,
}

impl Progress {
    fn new(lines: bool) -> Progress {
        Progress { lines, over: !lines && std::io::stderr().is_terminal(), said: false }
    }

    fn tell(&mut self, written: Written) {
        let text = format!("{} on disk, {} bytes", plural(written.events as usize, "event"), written.bytes);
        if self.lines {
            notice(&text);
        } else if self.over {
            self.said = true;
            _ = write!(std::io::stderr(), "\r-- {text}\u{1b}[K");
        }
    }

    /// Ends the line.
    fn end(self) {
        if self.said {
            _ = writeln!(std::io::stderr());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lying_sources_state_does_not_overflow() {
        let lost = ["a", "b"].map(|cause| (cause.into(), u64::MAX / 3)).into();
        let account = Account { recorded: 2, lost, earlier: u64::MAX / 2, ..Account::default() };
        let mut others = Others::default();
        (0..3).for_each(|_| others.add(&account));
        assert_eq!((others.count, others.recorded, others.lost, others.earlier), (3, 6, u64::MAX, u64::MAX));
    }
}
