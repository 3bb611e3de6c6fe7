//! Connections in: so many at once, none that only trickles, and a quiet end.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tower::ServiceExt as _;

use super::connections::ClientAddress;
use super::{Web, health, router};

/// How long a client may take to send its headers.
const HEADERS: Duration = Duration::from_secs(10);
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
    let room = Arc::new(Semaphore::new(web.service.config().api.max_connections as usize));
    let graceful = GracefulShutdown::new();
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { break };
        let (stream, peer) = tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => (stream, ClientAddress(peer.ip().to_canonical())),
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(BREATH).await;
                    continue;
                }
            },
        };
        let router = router.clone().map_request(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(peer);
            request.map(Body::new)
        });
        let router = router.map_err(|never: Infallible| never);
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADERS)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // What a client does wrong is the client's business.
            let _ = connection.await;
            drop(place);
        });
    }
    drop(listener);
    // Streams are never done by themselves, and those that are under way would be waited for.
    web.service.end_streams();
    let _ = tokio::time::timeout(GRACE, graceful.shutdown()).await;
    Ok(())
}
