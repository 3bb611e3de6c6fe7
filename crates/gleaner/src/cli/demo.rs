//! `gleaner demo`: gleaner at work on a small internet of its own, by a fast clock, until it is told to stop.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use gleaner_core::time::Time;
use serde_json::json;
use tokio::net::TcpListener;

use super::serve::{self, stop};
use super::{Context, Failure, progress};
use crate::clock::{Clock as _, FastClock, RandomSource, SystemClock};
use crate::config::{Config, Loaded, Role};
use crate::demo::{self, Behaviour, DemoServer, NEWCOMER, PUBLISHERS, Scenario, TempDirectory};
use crate::engine::Engine;
use crate::service::Service;

/// Where the dashboard is, if nobody else is there.
const USUAL: u16 = 8080;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "The config file, variables and the database are neither used nor touched; --set is heeded."
)]
pub(super) struct Args {
    /// How many minutes pass in a second
    #[arg(long, value_name = "MINUTES", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=1440))]
    speed: u32,
    /// How many days have passed when the page opens
    #[arg(long, value_name = "DAYS", default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=30))]
    ahead: u32,
    /// What the posts' words are drawn by
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// The address of the dashboard [default: 127.0.0.1:8080, or another port where that is taken]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// All that runs.
struct Demo {
    engine: Engine,
    service: Arc<Service>,
    clock: Arc<FastClock>,
    scenario: Scenario,
    /// The sources, in the order of the cast.
    ids: Vec<i64>,
    server: DemoServer,
}

/// Where the demo keeps its database.
pub(super) fn place() -> Result<TempDirectory, Failure> {
    TempDirectory::create()
        .map_err(|error| Failure::Failed(format!("cannot make a temporary directory: {error}")))
}

/// The demo's own settings, for it works where those of this machine do not.
pub(super) fn settings(place: &TempDirectory, set: &[String]) -> Result<Loaded, Failure> {
    demo::settings(place.path(), set).map_err(|errors| Failure::Config(errors.to_string()))
}

pub(super) async fn run(args: &Args, context: &mut Context<'_>) -> Result<(), Failure> {
    context.must_be_local("demo")?;
    let mut stopping = std::pin::pin!(stop());
    let config = context.loaded.config.clone();
    let waiting = (!args.json).then(|| progress::spinner("some days pass first"));
    let prepared = async {
        let listener = listen(args.listen).await?;
        Ok::<_, Failure>((listener, prepare(args, config).await?))
    };
    // Who changes their mind meanwhile finds nothing left behind, either.
    let (listener, demo) = tokio::select! {
        prepared = prepared => prepared?,
        () = &mut stopping => return Ok(()),
    };
    drop(waiting);
    let base = format!("http://{}", listener.local_addr()?);
    greet(args, context, &demo, &base).await?;
    let Demo { engine, service, server: _world, .. } = demo;
    let site = serve::Site { role: Role::All, engine: Some(engine), listener: Some(listener) };
    serve::until_stopped(&service, site, stopping).await
}

/// Makes a world, and runs some days of it.
async fn prepare(args: &Args, config: Config) -> Result<Demo, Failure> {
    crate::log::init(&config.log);
    let now = SystemClock.now().as_millis();
    let opening = Time::from_millis(now - now.rem_euclid(60_000));
    let begin = Time::from_millis(opening.as_millis() - i64::from(args.ahead) * 86_400_000);
    let clock = Arc::new(FastClock::new(begin, args.speed * 60));
    let scenario = Scenario { seed: args.seed, opening };
    let server = DemoServer::start(scenario, Arc::clone(&clock)).await;
    let server = server.map_err(|error| Failure::Failed(format!("cannot listen on 127.0.0.1: {error}")))?;
    let (ticking, random) = (Arc::clone(&clock) as _, RandomSource::seeded(args.seed));
    let service = Arc::new(Service::open_in(config, server.network_overrides(), ticking, random).await?);
    let ids = demo::add_sources(&service).await?;
    let mut engine = service.engine("demo")?;
    demo::run_ahead(&mut engine, &service, &clock, opening).await?;
    Ok(Demo { engine, service, clock, scenario, ids, server })
}

/// Says where to look, and at what.
async fn greet(args: &Args, context: &mut Context<'_>, demo: &Demo, base: &str) -> Result<(), Failure> {
    let code = demo.service.login_code("admin").await?.secret;
    let login = format!("{base}/login?code={}", code.expose());
    if args.json {
        context.json(&json!({ "url": base, "login_url": login }))?;
        return Ok(context.out.flush()?);
    }
    let minutes = args.speed;
    writeln!(context.out, "{}\n", context.paint.bold(format!("Log in, once: {login}")))?;
    writeln!(
        context.out,
        "{} sources of a small internet of its own; {minutes} minutes pass in a second, and {} days have passed.\n",
        demo.ids.len(),
        args.ahead
    )?;
    let hour = demo.scenario.hour(demo.clock.now());
    for (publisher, id) in PUBLISHERS.iter().zip(&demo.ids) {
        let Some(why) = publisher.highlight else { continue };
        let when = publisher
            .next_change(hour)
            .map(|hours| (hours * 60 / i64::from(minutes), publisher.behaviour(hour)));
        let when = match when {
            Some((seconds, Behaviour::Normal)) => format!("; it begins in {seconds} s"),
            Some((seconds, _)) => format!("; it ends in {seconds} s"),
            None => String::new(),
        };
        writeln!(context.out, "  {} {why}{when}\n    {base}/sources/{id}", publisher.name)?;
    }
    writeln!(context.out, "  {NEWCOMER} waits to be added: http://newcomer.example/\n    {base}/add")?;
    writeln!(context.out, "\nCtrl-C ends it and leaves nothing behind.")?;
    Ok(context.out.flush()?)
}

/// The address that was asked for, else the usual one, else any that is free.
async fn listen(asked: Option<SocketAddr>) -> Result<TcpListener, Failure> {
    let taken = |address: SocketAddr| {
        move |error| Failure::Usage(format!("cannot listen on {address}: {error}; --listen takes another"))
    };
    if let Some(address) = asked {
        return TcpListener::bind(address).await.map_err(taken(address));
    }
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    match TcpListener::bind((Ipv4Addr::LOCALHOST, USUAL)).await {
        Ok(listener) => Ok(listener),
        Err(_) => TcpListener::bind(any).await.map_err(taken(any)),
    }
}
