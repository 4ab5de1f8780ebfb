//! A connection whose other side must go on taking what is sent: if it takes nothing for some time, or next to nothing, writing fails.

use super::outgoing::{PIECE, SMALL};
use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// A stream that waits so long for its other side, and no longer.
///
/// The time begins when the other side does not take all at once, and ends when it has taken everything. What it takes meanwhile gives
/// it more time, as much as a slow link needs for that. So who takes a byte now and then does not stay.
#[derive(Debug)]
pub(super) struct Patient<S> {
    stream: S,
    patience: Duration,
    /// While the other side has not taken everything.
    behind: Option<Pin<Box<Sleep>>>,
}

impl<S> Patient<S> {
    pub(super) fn new(stream: S, patience: Duration) -> Patient<S> {
        Patient { stream, patience, behind: None }
    }

    /// What has become of writing some bytes.
    fn written(&mut self, context: &mut Context<'_>, polled: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let (Some(behind), Poll::Ready(Ok(count))) = (&mut self.behind, &polled) {
            let more = PIECE.mul_f64(*count as f64 / SMALL as f64);
            let until = (behind.deadline() + more).min(Instant::now() + self.patience);
            behind.as_mut().reset(until);
        }
        self.waiting(context, polled)
    }

    /// What has become of sending everything.
    fn sent(&mut self, context: &mut Context<'_>, polled: Poll<io::Result<()>>) -> Poll<io::Result<()>> {
        if polled.is_ready() {
            self.behind = None;
        }
        self.waiting(context, polled)
    }

    fn waiting<T>(&mut self, context: &mut Context<'_>, polled: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            return polled;
        }
        let patience = self.patience;
        let behind = self.behind.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        ready!(behind.as_mut().poll(context));
        Poll::Ready(Err(ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, room: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, room)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.written(context, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.written(context, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        self.sent(context, polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_shutdown(context);
        self.sent(context, polled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;

    /// Takes so many bytes, and then nothing.
    struct Full(usize);

    impl AsyncWrite for Full {
        fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            let count = bytes.len().min(self.0);
            self.0 -= count;
            if count == 0 { Poll::Pending } else { Poll::Ready(Ok(count)) }
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Pending
        }
    }

    #[test]
    fn who_takes_nothing_is_left() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let mut stream = Patient::new(Full(5), Duration::from_millis(1));
            for taken in [3, 2] {
                let written = poll_fn(|context| Pin::new(&mut stream).poll_write(context, b"abc")).await;
                assert_eq!(written.unwrap(), taken);
            }
            let refused = poll_fn(|context| Pin::new(&mut stream).poll_write(context, b"abc")).await;
            assert_eq!(refused.unwrap_err().kind(), ErrorKind::TimedOut);
            poll_fn(|context| Pin::new(&mut stream).poll_flush(context)).await.unwrap();
            let refused = poll_fn(|context| Pin::new(&mut stream).poll_shutdown(context)).await;
            assert_eq!(refused.unwrap_err().kind(), ErrorKind::TimedOut);
        });
    }

    /// Takes a byte, then nothing until it is asked again, and so on.
    struct Trickle(bool);

    impl AsyncWrite for Trickle {
        fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
            self.0 = !self.0;
            if self.0 {
                return Poll::Ready(Ok(1));
            }
            std::thread::sleep(Duration::from_millis(1));
            context.waker().wake_by_ref();
            Poll::Pending
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[test]
    fn who_takes_a_byte_now_and_then_is_left_unless_everything_was_taken() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            // Each byte takes a millisecond, for which a slow link has 16 bytes.
            let patience = Duration::from_millis(20);
            let mut stream = Patient::new(Trickle(false), patience);
            let mut write = async |flushes: bool| {
                for _ in 0..100 {
                    poll_fn(|context| Pin::new(&mut stream).poll_write(context, b"abc")).await?;
                    if flushes {
                        poll_fn(|context| Pin::new(&mut stream).poll_flush(context)).await?;
                    }
                }
                Ok::<_, io::Error>(())
            };
            write(true).await.unwrap();
            assert_eq!(write(false).await.unwrap_err().kind(), ErrorKind::TimedOut);
        });
    }
}
