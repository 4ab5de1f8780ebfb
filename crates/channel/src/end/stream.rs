//! Events as a stream, for asynchronous programs.

use super::sink::Sink;
use crate::Event;
use futures_core::Stream;
use isoform::form::Form;
use isoform::{Owned, Record, Result};
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The events of a sink, each with an owned record. [`Sink::into_stream`] creates it.
pub struct Events<T: Form>(Sink<T>);

impl<T: Record<Static = T> + 'static> Sink<T> {
    /// Returns its events as a stream, for any executor. The stream ends when the channel does.
    ///
    /// ```
    /// use isoform::Record;
    /// use isoform_channel::{Event, Node};
    /// use std::{pin::pin, task::{Context, Poll, Waker}};
    /// # use futures_core::Stream;
    /// #[derive(Record, Debug, PartialEq)]
    /// struct Note {
    ///     text: String,
    /// }
    /// let node = Node::new()?;
    /// let channel = node.create::<Note>("notes")?;
    /// let mut events = pin!(channel.sink::<Note>()?.into_stream());
    /// channel.source::<Note>()?.submit(&Note { text: "all is well".into() })?;
    /// // Usually this is done by an executor, and read as `while let Some(event) = events.next().await`.
    /// let mut context = Context::from_waker(Waker::noop());
    /// loop {
    ///     if let Poll::Ready(Some(Ok(Event::Record { record, .. }))) = events.as_mut().poll_next(&mut context) {
    ///         assert_eq!(record.text, "all is well");
    ///         break;
    ///     }
    /// }
    /// # Ok::<(), isoform::Error>(())
    /// ```
    pub fn into_stream(self) -> Events<T>
    where
        T: Owned + for<'a> Record<Native<'a> = <T as Owned>::Native<'a>>,
    {
        Events(self)
    }
}

impl<T> Stream for Events<T>
where
    T: Owned + Record<Static = T> + 'static + for<'a> Record<Native<'a> = <T as Owned>::Native<'a>>,
{
    type Item = Result<Event<T>>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let sink = &mut self.0;
        match sink.poll(context) {
            Poll::Pending => Poll::Pending,
            // Whether the channel was closed.
            Poll::Ready(Err(_)) => Poll::Ready(None),
            Poll::Ready(Ok(())) => Poll::Ready(Some(sink.next_owned())),
        }
    }
}

impl<T: Form> Unpin for Events<T> {}

impl<T: Form> fmt::Debug for Events<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Events({:?})", self.0)
    }
}
