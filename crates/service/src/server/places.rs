//! Places for requests that need the processor for long: comparisons, searches, lists. Whoever asks for a format by its token needs
//! none, and so is answered however much the others ask for.

use super::access::{Client, network};
use super::problem::Problem;
use axum::http::StatusCode;
use isoform_core::{Code, Error};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Places for one kind of requests. Requests beyond them wait for their turn, and a client has a few that wait.
#[derive(Debug)]
pub(super) struct Places {
    room: Arc<Semaphore>,
    places: usize,
    each: usize,
    /// By network: the requests that have a place or wait for one.
    clients: Mutex<HashMap<IpAddr, usize>>,
}

impl Places {
    /// So many places, and so many requests of each client.
    pub(super) fn new(places: usize, each: usize) -> Places {
        Places { room: Arc::new(Semaphore::new(places)), places, each, clients: Mutex::default() }
    }

    /// How many requests have a place, and how many wait for one.
    pub(super) fn taken(&self) -> (usize, usize) {
        let all: usize = self.clients().values().sum();
        let used = self.places.saturating_sub(self.room.available_permits()).min(all);
        (used, all - used)
    }

    /// Waits for a place, which is given back when what this returns is dropped.
    pub(super) async fn place(self: &Arc<Places>, client: Client) -> Result<Place, Problem> {
        let turn = self.line_up(network(client.address))?;
        let room = self.room.clone().acquire_owned().await;
        let room = room.map_err(|closed| Error::new(Code::Internal).found(closed))?;
        Ok(Place { _room: room, _turn: turn })
    }

    fn line_up(self: &Arc<Places>, client: IpAddr) -> Result<Turn, Problem> {
        let mut clients = self.clients();
        let count = clients.entry(client).or_default();
        if *count == self.each {
            let error =
                Error::new(Code::Budget).expected(format_args!("at most {} of these requests at a time", self.each));
            return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, error));
        }
        *count += 1;
        Ok(Turn { places: self.clone(), client })
    }

    fn clients(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place.
#[derive(Debug)]
pub(super) struct Place {
    _room: OwnedSemaphorePermit,
    _turn: Turn,
}

/// A request that is counted for its client.
#[derive(Debug)]
struct Turn {
    places: Arc<Places>,
    client: IpAddr,
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut clients = self.places.clients();
        if let Some(count) = clients.get_mut(&self.client) {
            *count -= 1;
            if *count == 0 {
                clients.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    fn client(last: u8) -> Client {
        Client { address: [10, 0, 0, last].into(), certified: false }
    }

    #[test]
    fn a_client_has_its_share() {
        let places = Arc::new(Places::new(1, 2));
        let mut context = Context::from_waker(Waker::noop());
        let Poll::Ready(Ok(first)) = pin!(places.place(client(1))).poll(&mut context) else {
            panic!("there is a place")
        };
        let mut second = Box::pin(places.place(client(1)));
        assert!(second.as_mut().poll(&mut context).is_pending(), "it waits");
        let refused = pin!(places.place(client(1))).poll(&mut context);
        assert!(matches!(&refused, Poll::Ready(Err(problem)) if problem.error().code() == Code::Budget), "{refused:?}");
        let mut other = Box::pin(places.place(client(2)));
        assert!(other.as_mut().poll(&mut context).is_pending(), "another client may wait too");
        drop(first);
        drop(second);
        assert!(matches!(other.as_mut().poll(&mut context), Poll::Ready(Ok(_))), "its turn has come");
        drop(other);
        assert!(places.clients().is_empty());
    }
}
