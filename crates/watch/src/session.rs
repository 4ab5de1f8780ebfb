//! One page: what it asks for, and what it is told (`spec/watch.md`).

use crate::account;
use crate::feed::{Feed, Wish, refused};
use crate::outbox::{Letter, Outbox};
use crate::place::{Kind, Place};
#[cfg(feature = "files")]
use crate::recorded::{self, Part};
use crate::seats::Seat;
use crate::server::{self, MESSAGE, Shared};
use axum::extract::ws::{CloseFrame, Message, WebSocket};
use isoform::{Code, Error};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// How long a page may take to show its key, and to take a message.
const PATIENCE: Duration = Duration::from_secs(10);
/// What says which part of a recording a page wants.
const PARTS: [&str; 4] = ["at", "from", "to", "points"];
/// Subscriptions of a page.
const SUBSCRIPTIONS: usize = 64;
/// Threads of a page. That of a subscription ends a little later than the subscription.
const THREADS: usize = 2 * SUBSCRIPTIONS;
/// The longest first message, which shows the key, and the most Pings before it.
const FIRST: usize = 256;
const PINGS: usize = 16;
/// The times between two events of a subscription to the latest.
const PAUSES: std::ops::RangeInclusive<u64> = 50..=10_000;

/// The page has broken a rule.
const BROKEN: u16 = 4400;
/// There are as many pages as there may be.
const FULL: u16 = 4429;
/// A message is too long; the code that everybody uses for it.
pub(crate) const TOO_LONG: u16 = 1009;
/// The page has no key.
const NO_KEY: u16 = 4401;

/// The page of a connection that shows the key, with its seat. Another connection is told why it ends.
pub(crate) async fn admit(shared: Arc<Shared>, mut socket: WebSocket) -> Option<(WebSocket, Seat)> {
    let why = match timeout(PATIENCE, first(&mut socket)).await {
        Ok(Some(Ok(message))) if shows(&message, &shared.key) => match shared.pages.take() {
            Some(seat) => return Some((socket, seat)),
            None => (FULL, "too many pages are open: close one, and load this one again".into()),
        },
        _ => (
            NO_KEY,
            "the address of this page has no key, or an old one: open the address that isoform watch has printed"
                .into(),
        ),
    };
    close(&mut socket, why).await;
    None
}

/// Serves a page until its connection ends.
pub(crate) async fn run(shared: Arc<Shared>, mut socket: WebSocket, seat: Seat) {
    if let Err(why) = Session::new(shared, seat).run(&mut socket).await {
        close(&mut socket, why).await;
    }
}

async fn close(socket: &mut WebSocket, (code, reason): Broken) {
    let close = Message::Close(Some(CloseFrame { code, reason: reason.into() }));
    let _ = timeout(PATIENCE, socket.send(close)).await;
}

/// The first message. Pings are none.
async fn first(socket: &mut WebSocket) -> Option<Result<Message, axum::Error>> {
    for _ in 0..=PINGS {
        match socket.recv().await {
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
            other => return other,
        }
    }
    None
}

/// Whether a message shows the key.
fn shows(message: &Message, key: &str) -> bool {
    let Message::Text(text) = message else { return false };
    if text.len() > FIRST {
        return false;
    }
    let Ok(json) = serde_json::from_str::<Value>(text) else { return false };
    json.get("key").and_then(Value::as_str).is_some_and(|shown| server::shows(shown, key))
}

/// Why a connection ends: a code and a reason of at most 120 bytes.
pub(crate) type Broken = (u16, String);

struct Session {
    shared: Arc<Shared>,
    feeds: HashMap<u32, Feed>,
    threads: Arc<Semaphore>,
    seat: Seat,
}

impl Session {
    fn new(shared: Arc<Shared>, seat: Seat) -> Session {
        Session { shared, feeds: HashMap::new(), threads: Arc::new(Semaphore::new(THREADS)), seat }
    }

    async fn run(mut self, socket: &mut WebSocket) -> Result<(), Broken> {
        let (page, mut waiting) = Outbox::new();
        let places: Vec<_> = self.shared.places.iter().map(Place::told).collect();
        let mut hello = json!({"places": places});
        if let Some(player) = &self.shared.player {
            hello["player"] = player.told();
        }
        let hello = Message::text(hello.to_string());
        if !sent(socket, hello).await {
            return Ok(());
        }
        loop {
            tokio::select! {
                message = socket.recv() => match message {
                    Some(Ok(Message::Text(text))) if text.len() > MESSAGE => return Err(too_long()),
                    Some(Ok(Message::Text(text))) => {
                        // Nothing more is read before it is answered: a page that asks without end waits for its answers.
                        if let Some(answer) = self.asked(&text, &page)? && !sent(socket, answer).await {
                            return Ok(());
                        }
                    }
                    Some(Ok(Message::Binary(_))) => return Err(broken("a page sends texts only")),
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                    Some(Err(_)) => return Err(broken("a message that cannot be read, or is far too long")),
                    Some(Ok(Message::Close(_))) | None => return Ok(()),
                },
                letter = waiting.recv() => {
                    // This session holds the outbox, so there is always one. The room is free when the message was sent.
                    let Some(Letter { message, room: _room }) = letter else { return Ok(()) };
                    if !sent(socket, message).await {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Returns the answer, if there is one at once.
    fn asked(&mut self, text: &str, page: &Outbox) -> Result<Option<Message>, Broken> {
        let json: Value = serde_json::from_str(text).map_err(|_| broken("not a JSON object"))?;
        let number = |name: &str| whole(&json, name);
        let subscription = |name: &str| match number(name)?.map(u32::try_from) {
            Some(Err(_)) => Err(broken(&format!("{name} is a number below 2^32"))),
            number => Ok(number.and_then(Result::ok)),
        };
        if let Some(ended) = subscription("unsubscribe")? {
            self.feeds.remove(&ended);
            return Ok(None);
        }
        if let Some(place) = number("info")? {
            return self.tell(place, page.clone());
        }
        if let Some(wish) = json.get("player") {
            let player = self.shared.player.as_ref().ok_or_else(|| broken("there is no replay"))?;
            player.asked(wish).map_err(broken)?;
            return Ok(Some(Message::text(json!({"player": player.told()}).to_string())));
        }
        let Some(new) = subscription("subscribe")? else { return Err(broken("an unknown request")) };
        // Parts of recordings end by themselves.
        self.feeds.retain(|_, feed| !feed.has_ended());
        if self.feeds.len() == SUBSCRIPTIONS || self.feeds.contains_key(&new) {
            return Err(broken("too many subscriptions, or two of one number"));
        }
        let number_of_place = number("place")?.and_then(|place| usize::try_from(place).ok());
        let found = number_of_place.and_then(|at| Some((at, self.shared.places.get(at)?)));
        let Some((at, place)) = found else { return Err(broken("an unknown place")) };
        let query = match json.get("query") {
            None | Some(Value::Null) => None,
            Some(Value::String(query)) => Some(query.clone()),
            Some(_) => return Err(broken("query is a text")),
        };
        let latest = match number("latest")? {
            Some(pause) if !PAUSES.contains(&pause) => return Err(broken("a latest event each 50 to 10,000 ms")),
            pause => pause.map(Duration::from_millis),
        };
        // A part of a recording asks nobody else.
        if place.channel().is_some() && !self.seat.may_subscribe(query.as_deref()) {
            return Ok(Some(refused(new, &Error::new(Code::Budget).expected("fewer new subscriptions in a second"))));
        }
        let Ok(thread) = self.threads.clone().try_acquire_owned() else {
            return Ok(Some(refused(new, &Error::new(Code::Budget).expected("fewer new subscriptions at a time"))));
        };
        let begun = match &place.0 {
            Kind::Channel(..) if PARTS.iter().any(|name| json.get(name).is_some_and(|part| !part.is_null())) => {
                return Err(broken("at, from, to and points are for recordings"));
            }
            Kind::Channel(channel, _) => {
                let replay = self.shared.player.clone().map(|player| (player, at));
                Feed::start(channel.clone(), Wish { subscription: new, query, latest, replay }, page.clone(), thread)
            }
            #[cfg(feature = "files")]
            Kind::Recorded(recorded) => {
                let part = Part::of(&json).map_err(|why| broken(&why))?;
                recorded::start(recorded.clone(), new, query.as_deref(), part, page.clone(), thread)
            }
        };
        match begun {
            Ok(feed) => _ = self.feeds.insert(new, feed),
            Err(error) => return Ok(Some(refused(new, &error))),
        }
        Ok(None)
    }

    /// Tells what is known of a place, as soon as members have answered.
    fn tell(&self, place: u64, page: Outbox) -> Result<Option<Message>, Broken> {
        let index = usize::try_from(place).ok().filter(|&place| place < self.shared.places.len());
        let Some(index) = index else { return Err(broken("an unknown place")) };
        // One at a time: a page that asks faster than members answer gets no answer to what is too much.
        let Ok(turn) = self.shared.asking.clone().try_acquire_owned() else {
            let error = Error::new(Code::Budget).expected("fewer questions at a time");
            return Ok(Some(Message::text(json!({"info": place, "error": error.to_string()}).to_string())));
        };
        let Some(channel) = self.shared.places[index].channel() else {
            return Err(broken("a recording has no members"));
        };
        tokio::spawn(async move {
            let told = tokio::task::spawn_blocking(move || account::of(index, &channel)).await;
            // A page that takes no answer keeps no turn.
            drop(turn);
            if let Ok(told) = told {
                page.put(Message::text(told.to_string()).into()).await;
            }
        });
        Ok(None)
    }
}

/// Whether the page has taken a message. A page that is hidden or slow may take long; one that takes nothing has gone.
async fn sent(socket: &mut WebSocket, message: Message) -> bool {
    matches!(timeout(6 * PATIENCE, socket.send(message)).await, Ok(Ok(())))
}

/// A whole number of a text; `None` if it is not there.
pub(crate) fn whole(json: &Value, name: &str) -> Result<Option<u64>, Broken> {
    match json.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => value.as_u64().map(Some).ok_or_else(|| broken(&format!("{name} is a whole number from 0"))),
    }
}

fn too_long() -> Broken {
    (TOO_LONG, format!("a message of a page has at most {MESSAGE} bytes"))
}

fn broken(reason: &str) -> Broken {
    (BROKEN, reason.into())
}
