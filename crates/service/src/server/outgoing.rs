//! Answers while clients take them: how many bytes wait for that, and which of them wait no longer.
//!
//! A client that asks and does not read costs memory until its connection ends. So the answers of each client that wait have a bound,
//! and so have those of all clients. Beyond it the connection ends whose answer has waited for longest: one of this client, or of the
//! client whose answers have most bytes. Small answers are not counted: `standing` bounds the connections, each of which has one.

use super::access::{Client, network};
use super::standing::Ender;
use axum::body::{Body, Bytes, HttpBody};
use axum::response::Response;
use http_body_util::BodyExt;
use hyper::body::{Frame, SizeHint};
use std::collections::HashMap;
use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::task::AbortHandle;

/// The most bytes of the answers that wait, and of those for one client.
const ALL: usize = 256 << 20;
pub(super) const EACH: usize = if cfg!(test) { 256 << 10 } else { 32 << 20 };
/// Answers of at most so many bytes are not counted. Others are sent in such pieces.
pub(super) const SMALL: usize = 16 << 10;
/// The time that a client has for an answer, and for each further piece of it: 16 KiB a second is a slow link.
const FIRST: Duration = Duration::from_secs(30);
pub(super) const PIECE: Duration = Duration::from_secs(1);

/// The answers that wait for their clients.
#[derive(Debug)]
pub(super) struct Answers {
    all: usize,
    each: usize,
    /// The one that has waited for longest is the first.
    waiting: Mutex<Vec<Arc<Waiting>>>,
    /// How many had no time left, or no room.
    ended: AtomicU64,
}

#[derive(Debug)]
struct Waiting {
    client: IpAddr,
    bytes: AtomicUsize,
    ender: Ender,
}

impl Default for Answers {
    fn default() -> Answers {
        Answers { all: ALL, each: EACH, waiting: Mutex::default(), ended: AtomicU64::new(0) }
    }
}

impl Answers {
    /// An answer whose bytes are counted until the client has taken them.
    pub(super) async fn counted(self: &Arc<Answers>, client: Client, ender: Ender, response: Response) -> Response {
        match response.body().size_hint().exact() {
            Some(length) if length <= SMALL as u64 => response,
            _ => {
                let (head, body) = response.into_parts();
                // Each answer is in memory, so this neither waits nor fails.
                let rest = body.collect().await.map_or_else(|_| Bytes::new(), |body| body.to_bytes());
                let time = FIRST + PIECE * u32::try_from(rest.len() / SMALL).unwrap_or(u32::MAX);
                let waiting = self.wait(client.address, rest.len(), ender);
                let late = late(self.clone(), waiting.clone(), time);
                let late = tokio::spawn(late).abort_handle();
                let turn = Turn { answers: self.clone(), waiting, late };
                Response::from_parts(head, Body::new(Outgoing { rest, turn }))
            }
        }
    }

    fn wait(&self, client: IpAddr, bytes: usize, ender: Ender) -> Arc<Waiting> {
        let client = network(client);
        let added = Arc::new(Waiting { client, bytes: AtomicUsize::new(bytes), ender });
        let mut waiting = self.waiting();
        waiting.push(added.clone());
        while let Some(client) = self.too_many(&waiting, client) {
            let Some(at) = waiting.iter().position(|one| one.client == client) else { break };
            self.end(&waiting.remove(at));
        }
        added
    }

    /// The client one of whose answers must go, after one was added for `client`.
    fn too_many(&self, waiting: &[Arc<Waiting>], client: IpAddr) -> Option<IpAddr> {
        let mut counts: HashMap<IpAddr, usize> = HashMap::new();
        waiting.iter().for_each(|one| *counts.entry(one.client).or_default() += one.bytes.load(Ordering::Relaxed));
        if counts.get(&client).is_some_and(|count| *count > self.each) {
            return Some(client);
        }
        let all: usize = counts.values().sum();
        if all <= self.all {
            None
        } else {
            counts.into_iter().max_by_key(|(_, count)| *count).map(|(client, _)| client)
        }
    }

    fn end(&self, waiting: &Waiting) {
        self.ended.fetch_add(1, Ordering::Relaxed);
        waiting.ender.end();
    }

    /// The bytes that wait.
    pub(super) fn bytes(&self) -> usize {
        self.waiting().iter().map(|one| one.bytes.load(Ordering::Relaxed)).sum()
    }

    /// How many answers have not been taken in time, or had to make room.
    pub(super) fn ended(&self) -> u64 {
        self.ended.load(Ordering::Relaxed)
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Arc<Waiting>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends a connection whose answer is not taken in time.
async fn late(answers: Arc<Answers>, waiting: Arc<Waiting>, time: Duration) {
    tokio::time::sleep(time).await;
    answers.end(&waiting);
}

/// The turn of an answer that waits. When this is dropped, it waits no longer.
struct Turn {
    answers: Arc<Answers>,
    waiting: Arc<Waiting>,
    late: AbortHandle,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.late.abort();
        self.answers.waiting().retain(|one| !Arc::ptr_eq(one, &self.waiting));
    }
}

/// The body of an answer.
struct Outgoing {
    rest: Bytes,
    turn: Turn,
}

impl HttpBody for Outgoing {
    type Data = Bytes;
    type Error = Infallible;

    /// The next piece, when there is room for it on the way.
    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let length = self.rest.len().min(SMALL);
        let piece = self.rest.split_to(length);
        self.turn.waiting.bytes.store(self.rest.len(), Ordering::Relaxed);
        Poll::Ready((!piece.is_empty()).then_some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::standing::{Guest, Standing};
    use std::task::Waker;

    fn guests<const N: usize>(addresses: [u8; N]) -> [(IpAddr, Guest); N] {
        let standing = Standing::new(100, 100);
        addresses.map(|last| {
            let address = IpAddr::from([10, 0, 0, last]);
            (address, standing.enter(address).unwrap())
        })
    }

    fn has_left((_, guest): &(IpAddr, Guest)) -> bool {
        std::pin::pin!(guest.left()).poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    #[test]
    fn the_oldest_answer_of_the_client_with_most_gives_way() {
        let answers = Answers { all: 100, each: 50, ..Answers::default() };
        let guests = guests([1, 1, 2, 3, 1, 4]);
        let mut left = Vec::new();
        for ((address, guest), bytes) in guests.iter().zip([20, 20, 45, 5, 20, 30]) {
            answers.wait(*address, bytes, guest.ender());
            left.push([0, 1, 2, 3, 4, 5].map(|at| has_left(&guests[at])));
            assert!(answers.bytes() <= 100);
        }
        let at = |at: usize| [0, 1, 2, 3, 4, 5].map(|one| one == at);
        // The fifth is more than the client may have, and the sixth more than all may have.
        assert_eq!(left, [at(9), at(9), at(9), at(9), at(0), at(2)]);
        assert_eq!((answers.bytes(), answers.ended()), (75, 2));
    }

    #[test]
    fn an_answer_is_counted_until_it_is_taken() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let [(address, guest)] = guests([1]);
        let answers = Arc::new(Answers::default());
        let client = Client { address, certified: false };
        let sent: Vec<u8> = (0..100_000).map(|at| (at % 251) as u8).collect();
        let answer = |bytes: &[u8]| {
            let response = Response::new(Body::from(bytes.to_vec()));
            runtime.block_on(answers.counted(client, guest.ender(), response)).into_body()
        };
        let small = answer(&sent[..SMALL]);
        assert_eq!(answers.bytes(), 0);
        let mut large = answer(&sent);
        assert_eq!((large.size_hint().exact(), answers.bytes()), (Some(100_000), 100_000));
        let (mut taken, mut left) = (Vec::new(), 100_000);
        while let Some(frame) = runtime.block_on(large.frame()) {
            taken.extend_from_slice(frame.unwrap().data_ref().unwrap());
            assert!(answers.bytes() < left);
            left = answers.bytes();
        }
        assert_eq!((taken, left), (sent.clone(), 0));
        drop((small, large));
        drop(answer(&sent));
        assert_eq!((answers.bytes(), answers.ended()), (0, 0));
        assert!(answers.waiting().is_empty());
    }

    #[test]
    fn an_answer_that_is_not_taken_in_time_ends() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let [guest] = guests([1]);
        let answers = Arc::new(Answers::default());
        let waiting = answers.wait(guest.0, 7, guest.1.ender());
        assert!(!has_left(&guest));
        runtime.block_on(late(answers.clone(), waiting, Duration::from_millis(1)));
        assert!(has_left(&guest) && answers.ended() == 1);
    }
}
