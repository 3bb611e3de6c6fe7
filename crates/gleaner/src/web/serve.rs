//! Connections in: so many at once, none that only trickles, and a quiet end.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::header::{CONNECTION, CONTENT_TYPE};
use axum::http::{HeaderName, HeaderValue, Request};
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tower::ServiceExt as _;

use super::connections::{Connection, Connections, Limits, Watched};
use super::{Web, health, proxy_user, router};

/// How long a client may take to send its headers, and how long it may stay without a request.
const HEADERS: Duration = Duration::from_secs(10);
/// The largest head of a request; as much of an answer waits to be sent.
const BUFFER: usize = 32 << 10;
/// How long requests under way have to end when gleaner stops.
const GRACE: Duration = Duration::from_secs(10);
/// How long to wait where no connection can be accepted, for want of files.
const BREATH: Duration = Duration::from_millis(100);

/// Answers requests until `stop` is there, and then those that are under way.
pub async fn serve(
    listener: TcpListener,
    web: &Web,
    stop: impl Future<Output = ()> + Send,
) -> std::io::Result<()> {
    answer(listener, web, router(web), stop).await
}

/// The same for a worker, which only tells how it is.
pub async fn serve_health(
    listener: TcpListener,
    web: &Web,
    stop: impl Future<Output = ()> + Send,
) -> std::io::Result<()> {
    answer(listener, web, health(web), stop).await
}

async fn answer(
    listener: TcpListener,
    web: &Web,
    router: Router,
    stop: impl Future<Output = ()> + Send,
) -> std::io::Result<()> {
    let mut stop = std::pin::pin!(stop);
    let api = &web.service.config().api;
    let connections = Connections::new(Limits {
        all: api.max_connections as usize,
        per_address: api.max_connections_per_address as usize,
        proxies: api.trusted_proxies.clone(),
    });
    // It was checked when the settings were read.
    let user_header =
        api.proxy_auth_header.as_ref().and_then(|name| HeaderName::try_from(name.as_str()).ok());
    let graceful = GracefulShutdown::new();
    loop {
        let (stream, peer) = tokio::select! {
            // First: however many come, this is not forgotten.
            biased;
            () = &mut stop => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => (stream, peer.ip()),
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    connections.give_up_one();
                    tokio::select! {
                        () = &mut stop => break,
                        () = tokio::time::sleep(BREATH) => continue,
                    }
                }
            },
        };
        // Where nobody can be asked to go, this one is.
        let Some(place) = connections.admit(peer) else { continue };
        let (router, connection) = (router.clone(), place.connection());
        let limits = Arc::clone(&connections);
        let user_header = user_header.clone();
        let answering = {
            let connection = Arc::clone(&connection);
            hyper::service::service_fn(move |mut request: Request<Incoming>| {
                let (router, connection) = (router.clone(), Arc::clone(&connection));
                let client = limits.limits().client(peer, request.headers());
                request.extensions_mut().insert(client);
                if let Some(name) = &user_header {
                    let is_trusted = limits.limits().is_proxy(peer.to_canonical());
                    let user = proxy_user::take(name, is_trusted, request.headers_mut());
                    user.map(|user| request.extensions_mut().insert(user));
                }
                request.extensions_mut().insert(Arc::clone(&connection));
                async move { Ok::<_, Infallible>(one(router, &connection, request.map(Body::new)).await) }
            })
        };
        let http = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADERS)
            .max_buf_size(BUFFER)
            .serve_connection(TokioIo::new(Watched::new(stream, Arc::clone(&connection))), answering);
        let http = graceful.watch(http);
        tokio::spawn(async move {
            tokio::select! {
                // What a client does wrong is the client's business.
                _ = http => {}
                () = connection.closed() => {}
            }
            drop(place);
        });
    }
    drop(listener);
    // Streams are never done by themselves, and those that are under way would be waited for.
    web.service.end_streams();
    let _ = tokio::time::timeout(GRACE, graceful.shutdown()).await;
    Ok(())
}

/// Answers one request.
async fn one(router: Router, connection: &Connection, request: Request<Body>) -> Response {
    connection.request_begins();
    let is_health_check = matches!(request.uri().path(), "/healthz" | "/readyz");
    match connection.delay().filter(|_| !is_health_check) {
        Some(delay) => tokio::time::sleep(delay).await,
        // Pipelined requests wait behind those of other connections.
        None if connection.is_stranger() => tokio::task::yield_now().await,
        None => {}
    }
    let mut response = router.oneshot(request).await.unwrap_or_else(|never| match never {});
    let kind = response.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    let is_stream = kind.is_some_and(|kind| kind.starts_with(b"text/event-stream"));
    connection.request_ends(is_stream);
    if connection.is_spent() {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}
