//! What all requests share: the store, who may do what, and the counts.

use super::access::{Access, Client};
use super::metrics::Metrics;
use super::outgoing::Answers;
use super::places::{Place, Places};
use super::problem::Problem;
use super::replicas::Copied;
use crate::store::{Store, panicked, unless_it_panics};
use isoform_core::{Code, Error};
use std::sync::Arc;

/// What all requests share.
#[derive(Debug)]
pub(super) struct App {
    pub(super) store: Store,
    pub(super) access: Access,
    pub(super) metrics: Metrics,
    /// Answers that wait for their clients.
    pub(super) answers: Arc<Answers>,
    /// The URL of the server that writes names, if it is another one.
    pub(super) writer: Option<String>,
    /// How long ago everything was copied from each peer.
    pub(super) copied: Vec<Copied>,
    /// Places for searches and lists.
    pub(super) looks: Arc<Places>,
    /// Places for comparisons of versions.
    pub(super) comparisons: Arc<Places>,
    /// Places for changes that come as JSON.
    pub(super) changes: Arc<Places>,
}

impl App {
    /// Runs what may wait for the disk on a thread that may wait.
    pub(super) async fn blocking<T: Send + 'static>(
        self: Arc<App>,
        work: impl FnOnce(&App) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let done = tokio::task::spawn_blocking(move || unless_it_panics(|| work(&self))).await;
        let done = done.unwrap_or_else(|stopped| Err(stopped.to_string()));
        done.unwrap_or_else(|found| Err(panicked(found).into()))
    }

    /// Searches, lists, or makes JSON of a format.
    pub(super) async fn looking<T: Send + 'static>(
        self: Arc<App>,
        client: Client,
        work: impl FnOnce(&App) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let place = self.looks.place(client).await?;
        self.blocking(move |app| with(place, || work(app))).await
    }

    /// Compares versions.
    pub(super) async fn comparing<T: Send + 'static>(
        self: Arc<App>,
        client: Client,
        work: impl FnOnce(&App) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let place = self.comparisons.place(client).await?;
        self.blocking(move |app| with(place, || work(app))).await
    }

    /// Parses JSON and stores what it says.
    pub(super) async fn changing<T: Send + 'static>(
        self: Arc<App>,
        client: Client,
        work: impl FnOnce(&App) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let place = self.changes.place(client).await?;
        self.blocking(move |app| with(place, || work(app))).await
    }

    /// Refuses changes of names unless this server writes them.
    pub(super) fn writes_names(&self) -> Result<(), Problem> {
        match &self.writer {
            None => Ok(()),
            Some(writer) => Err(Error::new(Code::NotWriter).expected(writer).found("a replica").into()),
        }
    }
}

/// Works in a place: until the end, also if the client has gone meanwhile.
fn with<T>(_place: Place, work: impl FnOnce() -> T) -> T {
    work()
}
