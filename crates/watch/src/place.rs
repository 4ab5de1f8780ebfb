//! What pages can watch: channels, and the channels of recordings.

#[cfg(feature = "files")]
use crate::recorded::Recorded;
use isoform_channel::{Channel, ChannelId};
use serde_json::{Value, json};
use std::sync::Arc;

/// Something that pages can watch: a channel, or a channel of a recording.
#[derive(Clone, Debug)]
pub struct Place(pub(crate) Kind);

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// With the id by which it was opened.
    Channel(Arc<Channel>, Option<ChannelId>),
    #[cfg(feature = "files")]
    Recorded(Arc<Recorded>),
}

impl From<Channel> for Place {
    fn from(channel: Channel) -> Place {
        Place(Kind::Channel(Arc::new(channel), None))
    }
}

impl Place {
    /// The channels of a recording, in the order of their names.
    ///
    /// ```no_run
    /// let places = isoform_watch::Place::recording("run.mcap".as_ref())?;
    /// let server = isoform_watch::start("127.0.0.1:0".parse().unwrap(), places)?;
    /// println!("open {}", server.url());
    /// # Ok::<(), isoform::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`isoform_files::Recording::times`]; [`Code::NoSuchChannel`](isoform::Code::NoSuchChannel) if it has no events.
    #[cfg(feature = "files")]
    pub fn recording(path: &std::path::Path) -> isoform::Result<Vec<Place>> {
        let recorded = Recorded::all(path)?;
        Ok(recorded.into_iter().map(|one| Place(Kind::Recorded(Arc::new(one)))).collect())
    }

    /// Pages show this id of a channel, by which it was opened. Without it, they show an address of the node that watches, which leads nowhere once
    /// that has ended. Keys are not shown.
    ///
    /// ```
    /// # let node = isoform_channel::Node::new()?;
    /// # let id = node.create_with("river", None)?.id();
    /// let place = isoform_watch::Place::from(node.open(id.to_string())?).opened_by(&id);
    /// # Ok::<(), isoform::Error>(())
    /// ```
    #[must_use]
    pub fn opened_by(self, id: &ChannelId) -> Place {
        match self.0 {
            Kind::Channel(channel, _) => Place(Kind::Channel(channel, Some(id.clone()))),
            #[cfg(feature = "files")]
            other @ Kind::Recorded(_) => Place(other),
        }
    }

    pub(crate) fn channel(&self) -> Option<Arc<Channel>> {
        match &self.0 {
            Kind::Channel(channel, _) => Some(channel.clone()),
            #[cfg(feature = "files")]
            Kind::Recorded(_) => None,
        }
    }

    /// How pages are told of it.
    pub(crate) fn told(&self) -> Value {
        match &self.0 {
            Kind::Channel(channel, opened) => {
                // Two channels that are derived from one have one name.
                let name = match channel.query() {
                    Some(query) => format!("{} | {query}", channel.name()),
                    None => channel.name().into(),
                };
                let id = opened.clone().unwrap_or_else(|| channel.id()).without_key();
                json!({"name": name, "id": id.to_string(), "kind": "channel"})
            }
            #[cfg(feature = "files")]
            Kind::Recorded(recorded) => recorded.told(),
        }
    }
}
