//! `gleaner serve`: polls and answers until it is told to stop.

use std::net::SocketAddr;
use std::sync::Arc;

use sd_notify::NotifyState;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::{Context, Failure, client};
use crate::engine::Engine;
use crate::service::Service;
use crate::web::{self, Web};

#[derive(Debug, clap::Args)]
pub(super) struct Args {}

pub(super) async fn run(_: &Args, context: &mut Context<'_>) -> Result<(), Failure> {
    crate::log::start(&context.loaded.config.log);
    let service = Arc::new(context.service().await?);
    let engine = service.engine(&owner())?;
    let config = &context.loaded.config;
    let listener = listen(config.api.listen).await?;
    let base = match &config.api.public_url {
        Some(_) => client::base(config),
        // Which may be another port than was asked for: 0 takes any that is free.
        None => format!("http://{}", listener.local_addr()?),
    };
    let store = config.store.url.to_string();
    tracing::info!(version = env!("CARGO_PKG_VERSION"), store, api = base, "gleaner is polling");
    if let Some(code) = service.first_login_code().await? {
        // The only secret that is ever printed; it is good once.
        writeln!(context.out, "Log in for the first time: {base}/login?code={}", code.expose())?;
        context.out.flush()?;
    }
    notify(&[NotifyState::Ready]);
    let watched = tokio::spawn(watchdog(Arc::clone(&service)));
    let served = until_stopped(&service, engine, listener, stop()).await;
    watched.abort();
    served?;
    tracing::info!("gleaner has stopped");
    Ok(())
}

/// Polls, answers, numbers and sends until `stop` is there.
pub(super) async fn until_stopped(
    service: &Arc<Service>,
    engine: Engine,
    listener: TcpListener,
    stop: impl Future<Output = ()>,
) -> Result<(), Failure> {
    let sender = service.sender(&owner())?;
    let (stopping, stopped) = watch::channel(false);
    let web = Web { service: Arc::clone(service) };
    let answering = web::serve(listener, &web, until(stopped.clone()));
    let telling = service.dispatch(until(stopped.clone()));
    let sending = service.send_events(&sender, until(stopped));
    let polling = async {
        engine.run(stop).await;
        notify(&[NotifyState::Stopping]);
        stopping.send_replace(true);
    };
    let (answered, (), (), ()) = tokio::join!(answering, telling, sending, polling);
    Ok(answered?)
}

/// Names this process among workers.
fn owner() -> String {
    format!("{}@{}", std::process::id(), hostname())
}

/// Tells the service manager, where there is one.
fn notify(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::debug!(%error, "the service manager could not be told");
    }
}

/// Tells the service manager that all is well, as often as it wants to know; where it is not, it hears nothing and
/// starts gleaner anew.
async fn watchdog(service: Arc<Service>) {
    let Some(every) = sd_notify::watchdog_enabled() else { return };
    loop {
        tokio::time::sleep(every / 3).await;
        let age = service.metrics().tick_age();
        if age.is_some_and(|age| age < every) {
            notify(&[NotifyState::Watchdog]);
        }
    }
}

/// Until it is said that all is to stop.
async fn until(mut stopped: watch::Receiver<bool>) {
    // Whoever could say so is gone: that is the end, too.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

async fn listen(address: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).await.map_err(|error| {
        Failure::Usage(format!(
            "cannot listen on {address}: {error}; --set api.listen=127.0.0.1:PORT takes another"
        ))
    })
}

fn hostname() -> String {
    std::fs::read_to_string("/etc/hostname")
        .map_or_else(|_| "localhost".into(), |name| name.trim().to_owned())
}

/// Ctrl-C, or what a service manager sends.
pub(super) async fn stop() {
    let interrupted = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    #[cfg(unix)]
    let terminated = async {
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut signal) => drop(signal.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    #[cfg(not(unix))]
    let terminated = std::future::pending::<()>();
    tokio::select! {
        () = interrupted => {}
        () = terminated => {}
    }
}
