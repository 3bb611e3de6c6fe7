//! `gleaner serve`: polls until it is told to stop.

use super::{Context, Failure};

#[derive(Debug, clap::Args)]
pub(super) struct Args {}

pub(super) async fn run(_: &Args, context: &mut Context<'_>) -> Result<(), Failure> {
    crate::log::start(&context.loaded.config.log);
    let owner = format!("{}@{}", std::process::id(), hostname());
    let engine = context.service().await?.engine(&owner)?;
    let store = context.loaded.config.store.url.to_string();
    tracing::info!(version = env!("CARGO_PKG_VERSION"), store, "gleaner is polling");
    engine.run(stop()).await;
    tracing::info!("gleaner has stopped");
    Ok(())
}

fn hostname() -> String {
    std::fs::read_to_string("/etc/hostname")
        .map_or_else(|_| "localhost".into(), |name| name.trim().to_owned())
}

/// Ctrl-C, or what a service manager sends.
async fn stop() {
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
