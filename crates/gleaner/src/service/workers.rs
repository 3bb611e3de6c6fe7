//! The processes that share a database: what each is called, how it is, and who has fallen silent.

use std::sync::atomic::Ordering;

use gleaner_core::time::{Span, Time};

use super::{By, Scope, Service, ServiceError, Worker};
use crate::config::Role;
use crate::hex;
use crate::metrics::{self, Metrics};
use crate::vault::random;

/// How often a process tells how it is.
const BEAT: Span = Span::from_secs(15);
/// One that has not told for so long is silent.
const SILENT: Span = Span::from_secs(60);
/// One that has been silent for so long is forgotten.
const FORGOTTEN: Span = Span::from_days(1);

/// A process that serves from this database, seen from now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerNow {
    /// What it told last.
    pub worker: Worker,
    /// It has not been heard from for a while: it is dead, cut off, or stands still.
    pub silent: bool,
}

impl Service {
    /// What this process is called among those that use the database: the same never comes again.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Tells how this process is, until `stop` is there; then it is not missed.
    pub async fn keep_in_touch(&self, role: Role, stop: impl Future<Output = ()>) {
        let mut stop = std::pin::pin!(stop);
        let mut lately = Lately::new(self.clock.now());
        loop {
            if let Err(error) = self.beat(role, &mut lately).await {
                tracing::warn!(%error, "this process could not tell the others how it is; trying again");
            }
            let pause = self.clock.real_duration(self.clock.span_of_real(BEAT));
            tokio::select! {
                () = &mut stop => break,
                () = tokio::time::sleep(pause) => {}
            }
        }
        if let Err(error) = self.store.leave(&self.name).await {
            tracing::warn!(%error, "this process could not say that it stops; it counts as silent for a day");
        }
    }

    async fn beat(&self, role: Role, lately: &mut Lately) -> Result<(), ServiceError> {
        let now = self.clock.now();
        let forget = now - self.clock.span_of_real(FORGOTTEN);
        self.store.beat(&lately.worker(self, role, now), forget).await?;
        if !role.polls() {
            // Who has no worker of its own knows of the network what the workers know.
            let workers = self.store.workers().await?;
            let polls = |worker: &&WorkerNow| !worker.silent && worker.worker.role != Role::Api.name();
            let seen: Vec<WorkerNow> = workers.into_iter().map(|worker| self.seen(worker)).collect();
            let down: Vec<Option<Time>> =
                seen.iter().filter(polls).map(|seen| seen.worker.network_down_since).collect();
            let since = if down.contains(&None) { None } else { down.into_iter().flatten().min() };
            self.metrics.set_network_down(since);
        }
        Ok(())
    }

    fn seen(&self, worker: Worker) -> WorkerNow {
        let silent = self.clock.now().since(worker.seen_at) > self.clock.span_of_real(SILENT);
        WorkerNow { worker, silent }
    }
}

impl By<'_> {
    /// The processes that serve from this database, and served within a day.
    pub async fn workers(&self) -> Result<Vec<WorkerNow>, ServiceError> {
        self.actor.must(Scope::Read)?;
        self.actor.must_be_unlimited()?;
        Ok(self.store.workers().await?.into_iter().map(|worker| self.seen(worker)).collect())
    }
}

/// The processes, for Prometheus.
pub(super) fn measured(workers: &[WorkerNow]) -> String {
    let heard = || workers.iter().filter(|seen| !seen.silent).map(|seen| &seen.worker);
    let roles = [Role::All, Role::Worker, Role::Api].map(Role::name);
    let roles = roles.map(|role| (role, heard().filter(|worker| worker.role == role).count() as u64));
    let down = heard().filter(|worker| worker.network_down_since.is_some()).count() as u64;
    metrics::render_workers(&roles, workers.iter().filter(|seen| seen.silent).count() as u64, down)
}

/// What was done up to the last time that somebody was told.
struct Lately {
    started: Time,
    at: Time,
    polls: u64,
    /// Polls an hour, as a mean over [`LATELY`].
    rate: f64,
    late: (u64, f64),
}

/// Sources of one interval are polled in bursts, so that the rate of a moment says nothing.
const LATELY: Span = Span::from_mins(5);

impl Lately {
    fn new(now: Time) -> Self {
        Self { started: now, at: now, polls: 0, rate: 0.0, late: (0, 0.0) }
    }

    fn worker(&mut self, service: &Service, role: Role, now: Time) -> Worker {
        let metrics: &Metrics = &service.metrics;
        let (polls, late) = (metrics.polls(), metrics.due_lag_seconds.total());
        let rate = self.rate(polls, now);
        let begun = late.0.saturating_sub(self.late.0);
        let due_lag = (begun > 0).then(|| Span::from_secs(1).scale((late.1 - self.late.1) / begun as f64));
        let started_at = self.started;
        *self = Self { started: self.started, at: now, polls, rate, late };
        Worker {
            name: service.name.clone(),
            role: role.name().to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at,
            seen_at: now,
            hosts: metrics.hosts_in_flight.load(Ordering::Relaxed),
            polls,
            posts: metrics.posts_new.load(Ordering::Relaxed),
            polls_per_hour: rate as u64,
            due_lag,
            network_down_since: metrics.network_down_since(),
        }
    }

    /// The rate with what was polled since the last time: the mean of all at first, later a mean that forgets.
    fn rate(&self, polls: u64, now: Time) -> f64 {
        let passed = now.since(self.at).as_millis() as f64;
        if passed == 0.0 {
            return self.rate;
        }
        let latest = polls.saturating_sub(self.polls) as f64 * 3_600_000.0 / passed;
        let weight = passed / now.since(self.started).min(LATELY).as_millis().max(1) as f64;
        self.rate + weight.min(1.0) * (latest - self.rate)
    }
}

/// A name for this process: its machine, its number there, and chance, since containers all begin with the same
/// number and may be called the same.
pub(super) fn process_name() -> String {
    let read = |path| std::fs::read_to_string(path).ok().map(|name: String| name.trim().to_owned());
    let host = ["/proc/sys/kernel/hostname", "/etc/hostname"].into_iter().find_map(read);
    let host = host.filter(|host| !host.is_empty()).unwrap_or_else(|| "localhost".to_owned());
    let chance = random::<4>().map(|bytes| hex::encode(&bytes)).unwrap_or_default();
    let short: String = host.chars().take(64).collect();
    format!("{short}.{}.{chance}", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_that_of_the_last_minutes() {
        let at = |seconds: i64| Time::from_millis(seconds * 1000);
        let mut lately = Lately::new(at(0));
        let mut told = |polls: u64, seconds: i64| {
            let rate = lately.rate(polls, at(seconds));
            (lately.polls, lately.rate, lately.at) = (polls, rate, at(seconds));
            rate.round() as u64
        };
        // Five a minute, all at once.
        assert_eq!(told(5, 15), 1200);
        assert_eq!([told(5, 30), told(5, 45), told(5, 60)], [600, 400, 300]);
        for minute in 1..60 {
            told(5 + 5 * minute as u64, minute * 60 + 15);
        }
        assert!((200..400).contains(&told(300, 3600)), "in whatever moment one looks");
        assert_eq!(told(300, 3600), told(300, 3600), "no time, no change");
        assert_eq!(told(300, 4000), 0, "what was before is forgotten");
    }

    #[test]
    fn no_two_are_called_the_same() {
        let (one, other) = (process_name(), process_name());
        assert_ne!(one, other);
        assert!(one.contains(&std::process::id().to_string()), "{one}");
    }
}
