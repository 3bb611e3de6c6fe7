//! `gleaner serve`: polls and answers until it is told to stop.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use sd_notify::NotifyState;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::{Context, Failure, client};
use crate::config::{Loaded, Origin, Role};
use crate::engine::Engine;
use crate::service::Service;
use crate::web::{self, Web};

/// How long after it was told to stop the process ends, whatever is still under way. Service managers wait longer.
const STOPS_WITHIN: Duration = Duration::from_secs(25);
/// After so long nothing is waited for any more: what is left has a second to be given up in order.
const WAITS: Duration = Duration::from_secs(23);

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// What this process does: all; worker: poll and send; api: answer people and programs [default: serve.role]
    #[arg(long, value_name = "ROLE", value_parser = ["all", "worker", "api"])]
    role: Option<String>,
}

/// What a process has to do with.
pub(super) struct Site {
    pub(super) role: Role,
    /// What polls, where it does.
    pub(super) engine: Option<Engine>,
    /// Where requests come, if anywhere.
    pub(super) listener: Option<TcpListener>,
}

pub(super) async fn run(args: &Args, context: &mut Context<'_>) -> Result<(), Failure> {
    if let Some(role) = args.role.as_deref().and_then(Role::named) {
        context.loaded.config.serve.role = role;
    }
    crate::log::init(&context.loaded.config.log);
    let told = stop();
    let service = Arc::new(context.service().await?);
    let config = &context.loaded.config;
    let role = config.serve.role;
    let engine = if role.polls() { Some(service.engine(service.name())?) } else { None };
    // Several workers on one machine need no address each; who wants to look at one names it.
    let listener = match role.answers() || is_set(&context.loaded, "api.listen") {
        true => Some(listen(config.api.listen).await?),
        false => None,
    };
    let base = match (&config.api.public_url, &listener) {
        (Some(_), _) if role.answers() => client::base(config),
        // Which may be another port than was asked for: 0 takes any that is free.
        (_, Some(listener)) => format!("http://{}", listener.local_addr()?),
        (_, None) => "none".to_owned(),
    };
    let (store, name, version) = (config.store.url.to_string(), service.name(), env!("CARGO_PKG_VERSION"));
    match role {
        Role::All => tracing::info!(version, store, name, api = base, "gleaner is polling"),
        Role::Worker => {
            tracing::info!(version, store, name, health = base, "gleaner is polling, as a worker")
        }
        Role::Api => tracing::info!(version, store, name, api = base, "gleaner is answering; workers poll"),
    }
    if role.answers()
        && let Some(code) = service.first_login_code().await?
    {
        // The only secret that is ever printed; it is good once.
        writeln!(context.out, "Log in for the first time: {base}/login?code={}", code.expose())?;
        context.out.flush()?;
    }
    notify(&[NotifyState::Ready]);
    let watched = tokio::spawn(watchdog(Arc::clone(&service), role));
    let stopped = async {
        told.await;
        end_in_any_case();
    };
    let served = until_stopped(&service, Site { role, engine, listener }, stopped).await;
    watched.abort();
    served?;
    tracing::info!("gleaner has stopped");
    Ok(())
}

/// Whether somebody said what a setting is.
fn is_set(loaded: &Loaded, key: &str) -> bool {
    loaded.values.values().any(|value| value.setting.key == key && value.origin != Origin::Default)
}

/// Polls, answers, numbers and sends, as its role is, until `stop` is there.
pub(super) async fn until_stopped(
    service: &Arc<Service>,
    site: Site,
    stop: impl Future<Output = ()>,
) -> Result<(), Failure> {
    let Site { role, engine, listener } = site;
    // Requests and streams end at once; events are numbered and sent until the last poll is recorded.
    let (told, told_to_stop) = watch::channel(false);
    let (stopping, stopped) = watch::channel(false);
    let stop = async {
        stop.await;
        notify(&[NotifyState::Stopping]);
        told.send_replace(true);
    };
    let web = Web { service: Arc::clone(service) };
    let answering = async {
        match listener {
            Some(listener) if role.answers() => web::serve(listener, &web, until(told_to_stop.clone())).await,
            Some(listener) => web::serve_health(listener, &web, until(told_to_stop.clone())).await,
            None => Ok(()),
        }
    };
    // Streams of an API without a worker live of what is numbered, too.
    let telling = service.dispatch(until(stopped.clone()));
    let sender = if role.polls() { Some(service.sender(service.name())?) } else { None };
    let sending = async {
        if let Some(sender) = &sender {
            service.send_events(sender, until(stopped.clone())).await;
        }
    };
    let streaming = service.stream_events(role, until(stopped.clone()));
    let touching = service.keep_in_touch(role, until(stopped.clone()));
    let polling = async {
        match engine {
            Some(engine) => engine.run(stop).await,
            None => stop.await,
        }
        stopping.send_replace(true);
    };
    let all = async { tokio::join!(answering, telling, sending, streaming, touching, polling).0 };
    let too_long = async {
        until(told_to_stop.clone()).await;
        tokio::time::sleep(WAITS).await;
    };
    tokio::select! {
        answered = all => Ok(answered?),
        () = too_long => {
            tracing::warn!(
                seconds = WAITS.as_secs(),
                "stopping: what is still under way is given up; polls are due again when their leases run out"
            );
            Ok(())
        }
    }
}

/// Ends the process when its time to stop is over, or at once when it is told to stop again. It asks nothing of the
/// runtime, which may have no thread left.
fn end_in_any_case() {
    let end = |why: &str| {
        tracing::error!("stopping: {why}; the process ends now");
        std::process::exit(1);
    };
    std::thread::spawn(move || {
        std::thread::sleep(STOPS_WITHIN);
        end("it has taken too long");
    });
    tokio::spawn(async move {
        stop().await;
        end("it was told a second time");
    });
}

/// Tells the service manager, where there is one.
fn notify(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::debug!(%error, "the service manager could not be told");
    }
}

/// Tells the service manager that all is well, as often as it wants to know; where it is not, it hears nothing and
/// starts gleaner anew.
async fn watchdog(service: Arc<Service>, role: Role) {
    let Some(every) = sd_notify::watchdog_enabled() else { return };
    loop {
        tokio::time::sleep(every / 3).await;
        let age = service.metrics().tick_age();
        // Without a scheduler, that this runs at all is what there is to tell.
        if age.map_or(!role.polls(), |age| age < every) {
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

/// Ctrl-C, or what a service manager sends. It is listened for from here on, not only when it is waited for.
pub(super) fn stop() -> impl Future<Output = ()> {
    #[cfg(unix)]
    let mut signals = {
        use tokio::signal::unix::{SignalKind, signal};
        [SignalKind::interrupt(), SignalKind::terminate()].map(|kind| signal(kind).ok())
    };
    async move {
        #[cfg(unix)]
        {
            let [interrupted, terminated] = &mut signals;
            tokio::select! {
                () = next(interrupted) => {}
                () = next(terminated) => {}
            }
        }
        #[cfg(not(unix))]
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(unix)]
async fn next(signal: &mut Option<tokio::signal::unix::Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}
