//! Viewers that people have: the protocol that Foxglove and its kin speak (`spec/watch.md`, "Viewers that people have").
//!
//! | file | what |
//! |---|---|
//! | `session` | one viewer: what it asks for, and what it is told |
//! | `request` | its texts |
//! | `told` | the texts that it gets |
//! | `topics` | what there is to see |
//! | `scout` | finds sources and their formats |
//! | `feed` | the events of a source become messages |
//! | `losses` | what a viewer did not get |
//! | `parameters` | parameters of sources, as viewers name them |

mod feed;
mod losses;
mod parameters;
mod request;
mod scout;
mod session;
mod told;
mod topics;

use crate::place::{Kind, Place};
use crate::seats::Seats;
use crate::server::{READ, Shared, new_key, shows};
use axum::extract::{Path, State, WebSocketUpgrade};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use isoform::Result;
use isoform_channel::Channel;
use scout::Scout;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use topics::Topics;

/// The names of the protocol, the newer one first. Both have the same messages.
const PROTOCOLS: [&str; 2] = ["foxglove.sdk.v1", "foxglove.websocket.v1"];
/// The most viewers at a time.
const VIEWERS: usize = 32;
/// The units of each: see those of pages.
const UNITS: u32 = 256;
/// The most bytes of a message of a viewer.
const MESSAGE: usize = 64 << 10;

/// What all viewers share.
#[derive(Debug)]
pub(crate) struct Viewers {
    /// What stands in their address. The page has another key, since viewers keep addresses.
    key: String,
    /// What tells viewers that they are connected to the same server as before.
    session: String,
    channels: Vec<Arc<Channel>>,
    topics: Arc<Topics>,
    /// There is one as long as there are viewers.
    scout: Mutex<Weak<Scout>>,
    seats: Seats,
}

impl Viewers {
    pub(crate) fn new(places: &[Place]) -> Result<Viewers> {
        let channels: Vec<_> = places.iter().filter_map(channel_of).collect();
        Ok(Viewers {
            key: new_key()?,
            session: new_key()?,
            topics: Arc::new(Topics::new(channels.iter().map(|channel| channel.name()))),
            channels,
            scout: Mutex::default(),
            seats: Seats::new(VIEWERS, UNITS),
        })
    }

    /// The path of their address, if there is something for them.
    pub(crate) fn path(&self) -> Option<String> {
        (!self.channels.is_empty()).then(|| format!("/viewers/{}", self.key))
    }

    /// What finds sources, for a viewer that holds it.
    fn scout(&self) -> Result<Arc<Scout>> {
        let mut scout = self.scout.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(scout) = scout.upgrade() {
            return Ok(scout);
        }
        let new = Arc::new(Scout::start(&self.channels, self.topics.clone())?);
        *scout = Arc::downgrade(&new);
        Ok(new)
    }
}

/// Viewers see channels. They open recordings themselves.
fn channel_of(place: &Place) -> Option<Arc<Channel>> {
    match &place.0 {
        Kind::Channel(channel, _) => Some(channel.clone()),
        Kind::Recorded(_) => None,
    }
}

/// Makes a request a viewer, if it has the key. Viewers in browsers come from pages of others.
pub(crate) async fn open(
    State(shared): State<Arc<Shared>>,
    Path(key): Path<String>,
    upgrade: WebSocketUpgrade,
) -> Response {
    if !shows(&key, &shared.viewers.key) {
        return (
            StatusCode::FORBIDDEN,
            "the key is missing, or old: take the address that isoform watch has printed\n",
        )
            .into_response();
    }
    // A message that is a little too long is read, so that the viewer is told.
    let upgrade = upgrade.protocols(PROTOCOLS).max_message_size(READ).max_frame_size(READ);
    if upgrade.selected_protocol().is_none() {
        return (StatusCode::BAD_REQUEST, "this address is for foxglove.sdk.v1 and foxglove.websocket.v1\n")
            .into_response();
    }
    let Some(seat) = shared.viewers.seats.take() else {
        return (StatusCode::SERVICE_UNAVAILABLE, "too many viewers are connected\n").into_response();
    };
    upgrade.on_upgrade(async move |socket| session::run(&shared, socket, seat).await)
}
