//! Bodies of requests while they come: `standing` is told when one is whole, since only then its connection is busy.

use super::standing::Asking;
use axum::body::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use std::pin::Pin;
use std::task::{Context, Poll};

/// The body of a request. Until all of it has come, the server waits for the client, so the connection gives way to others like one on
/// which nothing is asked.
pub(super) struct Incoming {
    body: hyper::body::Incoming,
    /// None if all of it has come.
    asking: Option<Asking>,
}

impl Incoming {
    pub(super) fn new(body: hyper::body::Incoming, asking: Asking) -> Incoming {
        let asking = (!body.is_end_stream()).then_some(asking);
        asking.iter().for_each(Asking::waits);
        Incoming { body, asking }
    }
}

impl Body for Incoming {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        let has_ended = matches!(polled, Poll::Ready(None | Some(Err(_)))) || self.body.is_end_stream();
        if has_ended && let Some(asking) = self.asking.take() {
            asking.goes_on();
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
