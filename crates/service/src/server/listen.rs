//! Accepting connections: how many, for how long, over TLS or not.

use super::access::Client;
use super::app::App;
use super::incoming::Incoming;
use super::patient::Patient;
use super::routes::{Routes, answer};
use super::standing::{Guest, Standing};
use axum::http::{HeaderValue, header};
use hyper::Request;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// The most connections at a time, and those of one client.
const CONNECTIONS: usize = 1024;
pub(super) const EACH: usize = 256;
/// For how long a client may do nothing, neither ask nor take its answer, and how long it may take for the lines of a request or for
/// the handshake of TLS.
const PATIENCE: Duration = Duration::from_secs(30);
/// The most bytes of the head of a request, and of an answer that `outgoing` has given away and the client has not taken.
const BUFFER: usize = 32 << 10;
/// For how long a connection lasts. Clients that go on open another one.
const LIFE: Duration = Duration::from_secs(600);

/// Accepts connections until the task is dropped.
pub(super) async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>, app: Arc<App>, routes: Routes) {
    let standing = Standing::new(CONNECTIONS, EACH);
    loop {
        let (stream, address) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(_) => {
                // Most often there are no descriptors left. Some come back as connections end.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let Some(guest) = standing.enter(address.ip().to_canonical()) else {
            app.metrics.turned_away.fetch_add(1, Ordering::Relaxed);
            continue;
        };
        app.metrics.connections.fetch_add(1, Ordering::Relaxed);
        tokio::spawn(connection(stream, address, tls.clone(), app.clone(), routes.clone(), guest));
    }
}

async fn connection(
    stream: TcpStream,
    address: SocketAddr,
    tls: Option<TlsAcceptor>,
    app: Arc<App>,
    routes: Routes,
    guest: Guest,
) {
    app.metrics.standing.fetch_add(1, Ordering::Relaxed);
    _ = stream.set_nodelay(true);
    let stream = Patient::new(stream, PATIENCE);
    let client = Client { address: address.ip().to_canonical(), certified: false };
    let converse = async {
        match tls {
            None => serve(stream, client, &app, &routes, &guest).await,
            Some(tls) => {
                if let Ok(Ok(stream)) = tokio::time::timeout(PATIENCE, tls.accept(stream)).await {
                    let certified = stream.get_ref().1.peer_certificates().is_some();
                    serve(stream, Client { certified, ..client }, &app, &routes, &guest).await;
                }
            }
        }
    };
    let (mut converse, mut left) = (pin!(converse), pin!(guest.left()));
    poll_fn(|context| match left.as_mut().poll(context) {
        Poll::Ready(()) => Poll::Ready(()),
        Poll::Pending => converse.as_mut().poll(context),
    })
    .await;
    app.metrics.standing.fetch_sub(1, Ordering::Relaxed);
}

async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    client: Client,
    app: &Arc<App>,
    routes: &Routes,
    guest: &Guest,
) {
    let service = service_fn(|request: Request<hyper::body::Incoming>| {
        let asking = guest.asks();
        // While a client still sends the body, its connection gives way to others.
        let request = request.map(|body| Incoming::new(body, asking.clone()));
        let (answer, ender) = (answer(app.clone(), routes.clone(), client, request), guest.ender());
        async move {
            let mut response = answer.await?;
            if asking.is_waiting() {
                // The rest of the body has no reader, so no other request can follow. The client is told not to try.
                response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            Ok::<_, Infallible>(app.answers.counted(client, ender, response).await)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        // A client may end its side when it has sent its request.
        .half_close(true)
        .max_buf_size(BUFFER)
        .max_headers(64)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    if tokio::time::timeout(LIFE, connection.as_mut()).await.is_err() {
        // An answer that the client takes now still reaches it.
        connection.as_mut().graceful_shutdown();
        _ = tokio::time::timeout(PATIENCE, connection).await;
    }
}
