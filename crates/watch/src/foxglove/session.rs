//! One viewer: what it asks for, and what it is told (`spec/watch.md`, "Viewers that people have").

use super::feed::{Feed, Post, Shown};
use super::request::Request;
use super::told::{self, Level};
use super::topics::{Source, Topic};
use super::{MESSAGE, parameters, scout::Scout};
use crate::outbox::Outbox;
use crate::seats::Seat;
use crate::server::Shared;
use crate::session::TOO_LONG;
use axum::extract::ws::{CloseFrame, Message, WebSocket};
use futures_util::{SinkExt, stream};
use isoform_channel::Parameters;
use serde_json::Value;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// How long a viewer may take to take a message.
const PATIENCE: Duration = Duration::from_secs(60);
/// Subscriptions of a viewer.
const SUBSCRIPTIONS: usize = 256;
/// Sources that they are for.
const SOURCES: usize = 64;
/// Threads of a viewer. That of a source ends a little later than the last subscription.
const THREADS: usize = 2 * SOURCES;
/// Parameters whose changes a viewer is told, and changes that have no answer yet.
const NAMES: usize = 1024;
const CHANGES: usize = 64;
/// Advertisements are sent when they have so many bytes.
const ADVERTISED: usize = 64 << 10;

/// The viewer has gone.
struct Gone;

/// Serves a viewer until its connection ends.
pub(super) async fn run(shared: &Arc<Shared>, mut socket: WebSocket, seat: Seat) {
    let places = shared.clone();
    let scout = tokio::task::spawn_blocking(move || places.viewers.scout()).await;
    let scout = match scout {
        Ok(Ok(scout)) => scout,
        Ok(Err(error)) => {
            let why = told::status(Level::Error, &error.to_string(), None);
            let _ = timeout(PATIENCE, socket.send(why)).await;
            return;
        }
        Err(_) => return,
    };
    let (outbox, waiting) = Outbox::new();
    let session = Session {
        shared: shared.clone(),
        socket,
        outbox,
        advertised: BTreeMap::new(),
        subscriptions: BTreeMap::new(),
        feeds: HashMap::new(),
        threads: Arc::new(Semaphore::new(THREADS)),
        given: BTreeMap::new(),
        updates: Updates::default(),
        changes: Vec::new(),
        hidden: 0,
        seat,
        _scout: scout,
    };
    let _ = session.run(waiting).await;
}

struct Session {
    shared: Arc<Shared>,
    socket: WebSocket,
    outbox: Outbox<Post>,
    advertised: BTreeMap<u32, Arc<Topic>>,
    /// By their numbers, the topics.
    subscriptions: BTreeMap<u32, u32>,
    feeds: HashMap<Source, Feed>,
    threads: Arc<Semaphore>,
    /// The parameters of the sources that the viewer has subscriptions to.
    given: BTreeMap<Source, Parameters>,
    updates: Updates,
    /// Changes of parameters whose sources have not answered, with the id of the request.
    changes: Vec<(Source, String)>,
    /// How many topics have no room.
    hidden: usize,
    seat: Seat,
    _scout: Arc<Scout>,
}

/// The parameters whose changes a viewer is told.
#[derive(Default)]
struct Updates {
    all: bool,
    names: BTreeSet<String>,
}

impl Session {
    async fn run(mut self, mut waiting: tokio::sync::mpsc::Receiver<Post>) -> Result<(), Gone> {
        let mut changes = self.shared.viewers.topics.changes();
        self.send(told::server_info(&self.shared.viewers.session)).await?;
        self.look(true).await?;
        loop {
            tokio::select! {
                message = self.socket.recv() => match message {
                    Some(Ok(Message::Text(text))) if text.len() > MESSAGE => return self.refuse().await,
                    Some(Ok(Message::Text(text))) => self.asked(&text).await?,
                    Some(Ok(Message::Binary(_))) => self.warn("this server takes no messages of viewers").await?,
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return Ok(()),
                },
                post = waiting.recv() => {
                    // This session holds the outbox, so there is always one.
                    let Some(post) = post else { return Ok(()) };
                    self.posted(post).await?;
                }
                changed = changes.changed() => {
                    if changed.is_err() {
                        return Ok(());
                    }
                    self.look(false).await?;
                }
            }
        }
    }

    /// Sends. A viewer that is hidden or slow may take long; one that takes nothing has gone.
    async fn send(&mut self, message: Message) -> Result<(), Gone> {
        match timeout(PATIENCE, self.socket.send(message)).await {
            Ok(Ok(())) => Ok(()),
            _ => Err(Gone),
        }
    }

    /// Ends the connection for a message that is too long.
    async fn refuse(&mut self) -> Result<(), Gone> {
        let reason = format!("a message of a viewer has at most {MESSAGE} bytes");
        self.send(Message::Close(Some(CloseFrame { code: TOO_LONG, reason: reason.into() }))).await
    }

    async fn warn(&mut self, what: &str) -> Result<(), Gone> {
        self.send(told::status(Level::Warning, what, None)).await
    }

    /// Advertises what has come, and takes back what has gone.
    async fn look(&mut self, is_first: bool) -> Result<(), Gone> {
        let (now, hidden) = self.shared.viewers.topics.all();
        let gone: Vec<Arc<Topic>> =
            self.advertised.values().filter(|topic| !now.contains_key(&topic.id)).cloned().collect();
        let mut unadvertised = Vec::new();
        for topic in gone {
            // The events that the source has left behind come first.
            match self.feeds.get(&topic.source) {
                Some(feed) => feed.finish(),
                None => unadvertised.push(topic.id),
            }
        }
        self.forget(&unadvertised).await?;
        let (mut new, mut bytes) = (Vec::new(), 0);
        for (id, topic) in now {
            if self.advertised.contains_key(&id) {
                continue;
            }
            let told = told::topic(&topic);
            bytes += told["schema"].as_str().map_or(0, str::len) + topic.name.len() + 200;
            new.push(told);
            self.advertised.insert(id, topic);
            if bytes >= ADVERTISED {
                bytes = 0;
                self.send(told::advertise(std::mem::take(&mut new))).await?;
            }
        }
        // Viewers wait for the first one.
        if !new.is_empty() || is_first {
            self.send(told::advertise(new)).await?;
        }
        if hidden != self.hidden {
            self.hidden = hidden;
            let name = "topics";
            let message = match hidden {
                0 => told::remove_status(name),
                _ => told::status(
                    Level::Warning,
                    &format!("{hidden} topics are not shown: there are too many"),
                    Some(name),
                ),
            };
            self.send(message).await?;
        }
        Ok(())
    }

    /// Takes back topics.
    async fn forget(&mut self, topics: &[u32]) -> Result<(), Gone> {
        if topics.is_empty() {
            return Ok(());
        }
        self.advertised.retain(|id, _| !topics.contains(id));
        self.subscriptions.retain(|_, topic| !topics.contains(topic));
        self.send(told::unadvertise(topics)).await
    }

    async fn posted(&mut self, post: Post) -> Result<(), Gone> {
        match post {
            // The room is free when the last one was sent.
            Post::Events(events, _room) => {
                // The viewer may have ended a subscription meanwhile, and used its number for another one.
                let subscriptions = &self.subscriptions;
                let is_wanted = |shown: &Shown| subscriptions.get(&shown.subscription) == Some(&shown.topic);
                let wanted = events.into_iter().filter(is_wanted).map(|shown| Ok(Message::binary(shown.message)));
                // Together, so that a short one costs no call of the system.
                match timeout(PATIENCE, self.socket.send_all(&mut stream::iter(wanted))).await {
                    Ok(Ok(())) => Ok(()),
                    _ => Err(Gone),
                }
            }
            Post::Lost(source, what) => self.tell(source, "lost", &what).await,
            Post::Refused(source, why) => self.tell(source, "refused", &why).await,
            Post::Given(source, values, refused) => {
                if !self.feeds.contains_key(&source) {
                    return Ok(());
                }
                self.given.insert(source, values);
                if let Some(why) = refused {
                    self.tell(source, "parameters", &why).await?;
                }
                self.given_anew(source).await
            }
            Post::Ended(source) => {
                self.end(source).await?;
                let gone: Vec<u32> =
                    self.advertised.values().filter(|topic| topic.source == source).map(|topic| topic.id).collect();
                self.forget(&gone).await
            }
        }
    }

    /// Tells something of a source. It takes the place of what was told before.
    async fn tell(&mut self, source: Source, kind: &str, what: &str) -> Result<(), Gone> {
        let Some(name) = self.name_of(source) else { return Ok(()) };
        let message = told::status(Level::Warning, &format!("{name}: {what}"), Some(&format!("{kind} {name}")));
        self.send(message).await
    }

    /// The name of a source with an advertised topic: `CHANNEL/SOURCE`.
    fn name_of(&self, source: Source) -> Option<String> {
        let topic = self.advertised.values().find(|topic| topic.source == source)?;
        Some(topic.source_name.clone())
    }

    /// There is no subscription to this source any more.
    async fn end(&mut self, source: Source) -> Result<(), Gone> {
        self.feeds.remove(&source);
        self.changes.retain(|(changed, _)| *changed != source);
        if self.given.remove(&source).is_some() { self.given_anew(source).await } else { Ok(()) }
    }

    async fn asked(&mut self, text: &str) -> Result<(), Gone> {
        let answer = match Request::parse(text) {
            Ok(Request::Subscribe(all)) => self.subscribe(all).await,
            Ok(Request::Unsubscribe(all)) => return self.unsubscribe(all).await,
            Ok(Request::Parameters { names, id }) => {
                let values = self.values(|name| names.is_empty() || names.iter().any(|known| known == name));
                return self.send(told::parameters(values, id.as_deref())).await;
            }
            Ok(Request::SetParameters { values, id }) => self.set_parameters(values, id),
            Ok(Request::Updates { names, wanted }) => self.updates.want(names, wanted),
            Err(what) => Err(what),
        };
        match answer {
            Ok(()) => Ok(()),
            Err(what) => self.warn(&what).await,
        }
    }

    /// Subscribes. The first that cannot be is told, and none behind it is made.
    async fn subscribe(&mut self, all: Vec<(u32, u32)>) -> Result<(), String> {
        for (subscription, id) in all {
            if self.subscriptions.contains_key(&subscription) || self.subscriptions.values().any(|other| *other == id) {
                return Err(format!("there is a subscription {subscription}, or one to the channel {id}, already"));
            }
            if self.subscriptions.len() == SUBSCRIPTIONS {
                return Err(format!("at most {SUBSCRIPTIONS} subscriptions"));
            }
            let topic = self.advertised.get(&id).cloned().ok_or_else(|| format!("there is no channel {id}"))?;
            self.feed(&topic, subscription).await?;
            self.subscriptions.insert(subscription, id);
        }
        Ok(())
    }

    /// Has the events of a topic come.
    async fn feed(&mut self, topic: &Topic, subscription: u32) -> Result<(), String> {
        let (count, source, format) = (self.feeds.len(), topic.source, topic.format.token());
        // Viewers ask once, so that one which has nothing yet would stay without. Another one goes on with what it has.
        let is_new = count < SOURCES && !self.feeds.contains_key(&source);
        if self.feeds.is_empty() {
            self.seat.subscribe().await;
        } else if is_new && !self.seat.may_subscribe(None) {
            return Err("fewer new subscriptions in a second".into());
        }
        match self.feeds.entry(source) {
            Entry::Occupied(known) => known.get().add(format, topic.id, subscription),
            Entry::Vacant(_) if count == SOURCES => return Err(format!("subscriptions to at most {SOURCES} sources")),
            Entry::Vacant(new) => {
                let turn = self.threads.clone().try_acquire_owned();
                let turn = turn.map_err(|_| "too many subscriptions have just ended: try again")?;
                let viewers = &self.shared.viewers;
                let (channel, topics) = (&viewers.channels[source.place], viewers.topics.clone());
                let first = (source, format, (topic.id, subscription));
                let feed = Feed::start(channel, first, topics, self.outbox.clone(), turn);
                new.insert(feed.map_err(|error| error.to_string())?);
            }
        }
        Ok(())
    }

    async fn unsubscribe(&mut self, all: Vec<u32>) -> Result<(), Gone> {
        let mut unknown = 0;
        for subscription in all {
            let topic = self.subscriptions.remove(&subscription).and_then(|id| self.advertised.get(&id).cloned());
            let Some(topic) = topic else {
                unknown += 1;
                continue;
            };
            if self.feeds.get(&topic.source).is_some_and(|feed| !feed.remove(topic.format.token())) {
                if let Some(name) = self.name_of(topic.source) {
                    self.send(told::remove_status(&format!("lost {name}"))).await?;
                }
                self.end(topic.source).await?;
                // The source may have left, and nothing says so any more.
                self.look(false).await?;
            }
        }
        match unknown {
            0 => Ok(()),
            _ => self.warn(&format!("there were no such subscriptions: {unknown}")).await,
        }
    }

    /// The parameters with wanted names.
    fn values(&self, wanted: impl Fn(&str) -> bool) -> Vec<(String, Value)> {
        let all =
            self.given.iter().filter_map(|(source, values)| Some(parameters::named(&self.name_of(*source)?, values)));
        all.flatten().filter(|(name, _)| wanted(name)).collect()
    }

    fn set_parameters(&mut self, values: Vec<(String, Value)>, id: Option<String>) -> Result<(), String> {
        let mut by_source: BTreeMap<Source, Vec<(String, Value)>> = BTreeMap::new();
        for (name, value) in values {
            let of = self.given.keys().find_map(|source| {
                let field = name.strip_prefix(&self.name_of(*source)?)?.strip_prefix('/')?;
                Some((*source, field.to_string()))
            });
            let (source, field) = of.ok_or_else(|| format!("there is no parameter {name}"))?;
            by_source.entry(source).or_default().push((field, value));
        }
        for (source, changes) in by_source {
            if !self.seat.may_set_parameters() {
                return Err("fewer changes of parameters in a second".into());
            }
            let (Some(values), Some(feed)) = (self.given.get(&source), self.feeds.get(&source)) else { continue };
            feed.set_parameters(parameters::changed(values, &changes)?);
            if let Some(id) = &id
                && self.changes.len() < CHANGES
            {
                self.changes.push((source, id.clone()));
            }
        }
        Ok(())
    }

    /// The parameters of a source are others: answers changes, and tells if that is wanted.
    async fn given_anew(&mut self, source: Source) -> Result<(), Gone> {
        let Some(prefix) = self.name_of(source).map(|name| format!("{name}/")) else { return Ok(()) };
        let values = self.values(|name| name.starts_with(&prefix));
        let answered: Vec<String> =
            self.changes.iter().filter(|(changed, _)| *changed == source).map(|(_, id)| id.clone()).collect();
        self.changes.retain(|(changed, _)| *changed != source);
        for id in answered {
            self.send(told::parameters(values.clone(), Some(&id))).await?;
        }
        let told: Vec<_> = values.into_iter().filter(|(name, _)| self.updates.has(name)).collect();
        match told.is_empty() {
            true => Ok(()),
            false => self.send(told::parameters(told, None)).await,
        }
    }
}

impl Updates {
    fn want(&mut self, names: Vec<String>, wanted: bool) -> Result<(), String> {
        match (wanted, names.is_empty()) {
            (_, true) => *self = Updates { all: wanted, names: BTreeSet::new() },
            (true, _) if self.names.len() + names.len() > NAMES => {
                return Err(format!("updates of at most {NAMES} parameters"));
            }
            (true, _) => self.names.extend(names),
            (false, _) => names.iter().for_each(|name| _ = self.names.remove(name)),
        }
        Ok(())
    }

    fn has(&self, name: &str) -> bool {
        self.all || self.names.contains(name)
    }
}
