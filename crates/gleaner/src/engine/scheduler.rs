//! Due work by host: claims, runs hosts side by side and each host's sources one after another, keeps leases.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use gleaner_core::judgement::HostMemory;
use gleaner_core::network::Leave;
use gleaner_core::schedule::LONGEST_HOLD;
use gleaner_core::time::{Span, Time};
use tokio::task::JoinSet;

use super::cleanup::Cleaner;
use super::now::Poller;
use super::poll::Turn;
use super::poll_run::Reports;
use super::{Context, Inner, article, indexer, poll, reschedule};
use crate::clock::Clock;
use crate::store::{
    ArticleWork, Claim, ClaimRequest, ClaimScope, Lease, Release, Source, Spread, StoreError,
};

/// How many hosts one claim takes at most.
const CLAIM: usize = 100;
/// How many sources of one host are polled under one lease.
pub(super) const PER_HOST: u32 = 50;
/// How long polls under way have to end when the engine stops; the process has a few seconds more.
const GRACE: Duration = Duration::from_secs(20);
/// How long the loop waits at most, so that what other processes add is noticed.
const PAUSE: Span = Span::from_secs(1);

/// Polls what is due.
pub struct Engine {
    pub(super) inner: Arc<Inner>,
    pub(super) tasks: JoinSet<()>,
    cleaner: Cleaner,
    heartbeat_at: Option<Time>,
    pub(super) owner: String,
}

/// What a tick did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ticked {
    /// Hosts that were claimed.
    pub hosts: usize,
    /// Sources that will be polled.
    pub sources: usize,
}

impl Engine {
    /// An engine that has done nothing yet; `owner` names it among workers.
    pub fn new(cx: Context, owner: impl Into<String>) -> Self {
        let owner = owner.into();
        let inner = Arc::new(Inner::new(cx, owner.clone()));
        Self { inner, tasks: JoinSet::new(), cleaner: Cleaner::default(), heartbeat_at: None, owner }
    }

    /// What polls single sources by hand, with this engine's client and writer.
    pub fn poller(&self) -> Poller {
        Poller::of(Arc::clone(&self.inner), format!("{} by hand", self.owner))
    }

    /// The work of one moment: leases are kept, what is old is cleaned up, and what is due is begun. It does not
    /// wait for polls.
    pub async fn tick(&mut self, now: Time) -> Result<Ticked, StoreError> {
        while let Some(done) = self.tasks.try_join_next() {
            report(done);
        }
        self.inner.cx.metrics.record_tick();
        self.count();
        self.keep_leases(now).await?;
        if let Err(error) = self.cleaner.run(&self.inner.cx, now).await {
            tracing::error!(%error, "what is too old could not be cleaned up; polling goes on");
        }
        let room = self.room();
        if self.inner.is_stopping() || room.total < room.worth_a_claim {
            return Ok(Ticked::default());
        }
        let rules = &self.inner.cx.config.judgement.rules.guard;
        let leave = self.inner.guard.lock().await.leave(rules, now);
        let hosts = self.at_once().min(room.total);
        let slow_hosts = room.slow.min((hosts * 3 / 4).max(1));
        let (hosts, slow_hosts, per_host, scope) = match leave {
            Leave::All => (hosts as u32, slow_hosts as u32, PER_HOST, ClaimScope::All),
            Leave::Probe => (1, 1, 1, ClaimScope::Probe),
            Leave::Wait(_) => return Ok(Ticked::default()),
        };
        let (lease, owner) = (self.inner.cx.lease(), self.owner.clone());
        let request = ClaimRequest { now, lease, owner, hosts, slow_hosts, per_host, scope };
        let claims = self.inner.cx.store.claim(&request).await?;
        let probe = scope == ClaimScope::Probe;
        if probe && claims.is_empty() {
            self.inner.guard.lock().await.probe_later(now);
        }
        let ticked =
            Ticked { hosts: claims.len(), sources: claims.iter().map(|claim| claim.sources.len()).sum() };
        for claim in claims {
            self.inner.leases.take(claim.lease, now + lease);
            let lane = Lane::new(&self.inner, claim.quick);
            self.tasks.spawn(work(Arc::clone(&self.inner), claim, lane, probe, None));
        }
        self.count();
        Ok(ticked)
    }

    fn count(&self) {
        self.inner.cx.metrics.hosts_in_flight.store(self.tasks.len() as u64, Ordering::Relaxed);
    }

    /// Waits until nothing is under way.
    pub async fn idle(&mut self) {
        while let Some(done) = self.tasks.join_next().await {
            report(done);
        }
    }

    /// Ticks until nothing is due any more at this moment, and waits for all of it.
    pub async fn run_due(&mut self, now: Time) -> Result<Ticked, StoreError> {
        let mut all = Ticked::default();
        loop {
            let ticked = self.tick(now).await?;
            all.hosts += ticked.hosts;
            all.sources += ticked.sources;
            if ticked.hosts == 0 && self.tasks.is_empty() {
                return Ok(all);
            }
            if ticked.hosts == 0 {
                self.tasks.join_next().await.into_iter().for_each(report);
            }
        }
    }

    /// Ticks for ever, until `stop` is there; then lets polls end, and gives back what is left.
    pub async fn run(mut self, stop: impl Future<Output = ()>) {
        let mut stop = std::pin::pin!(stop);
        let mut jumps = Jumps::default();
        let inner = Arc::clone(&self.inner);
        let rescheduling = tokio::spawn(async move {
            if let Err(error) = reschedule::run(&inner).await {
                tracing::error!(%error, "next polls could not be computed anew; the next start tries again");
            }
        });
        let inner = Arc::clone(&self.inner);
        let indexing = tokio::spawn(async move { indexer::run(&inner.cx).await });
        loop {
            let now = self.inner.cx.clock.now();
            if !self.heed_jumps(jumps.see(now, &*self.inner.cx.clock), now).await {
                jumps = Jumps::default();
            }
            let claimed = match self.tick(now).await {
                Ok(ticked) => ticked.hosts,
                Err(error) => {
                    tracing::error!(%error, "the scheduler cannot reach its database; trying again");
                    0
                }
            };
            if claimed == self.at_once() && self.room().total >= claimed {
                continue;
            }
            let pause = tokio::time::sleep(self.inner.cx.clock.real_duration(PAUSE));
            tokio::select! {
                () = &mut stop => break,
                () = pause => {}
                () = self.inner.room.notified(), if !self.tasks.is_empty() => {}
            }
        }
        rescheduling.abort();
        indexing.abort();
        self.stop().await;
    }

    /// Makes all posts searchable that are not yet; how many events told of them. [`Engine::run`] does it by itself.
    pub async fn index(&self) -> Result<u64, StoreError> {
        indexer::all(&self.inner.cx).await
    }

    /// Computes next polls anew where the tables have changed since the last start; how many changed. [`Engine::run`]
    /// does it by itself.
    pub async fn reschedule(&self) -> Result<u64, StoreError> {
        reschedule::run(&self.inner).await
    }

    /// At the start, and when the clock has jumped: nothing waits for a time that no rule could have set, and after
    /// a jump what is overdue does not come all at once. Whether that could be seen to.
    async fn heed_jumps(&self, jump: Option<Jump>, now: Time) -> bool {
        let cx = &self.inner.cx;
        let Some(jump) = jump else { return true };
        let interval = cx.config.source.poll_interval;
        let longest = cx.config.policies.values().map(|policy| policy.longest_gap(interval)).max();
        let spread = Spread {
            now,
            interval,
            within: Spread::LONGEST,
            longest: longest.unwrap_or_default().max(LONGEST_HOLD).max(Spread::LONGEST),
            lease: cx.longest_lease(),
            overdue: jump == Jump::Seen,
            excused: false,
        };
        if jump == Jump::Seen {
            tracing::warn!(%now, "the clock has jumped; each overdue source is spread over its interval");
        }
        let spread = cx.store.spread(&spread).await;
        if let Err(error) = &spread {
            tracing::error!(%error, "times could not be set right after a jump of the clock; trying again");
        }
        spread.is_ok()
    }

    /// No new claims; polls under way get a while; leases are given back.
    async fn stop(mut self) {
        self.inner.stopping.store(true, Ordering::Relaxed);
        tracing::info!(hosts = self.tasks.len(), "stopping: waiting for polls under way");
        if tokio::time::timeout(GRACE, self.idle()).await.is_err() {
            tracing::warn!(hosts = self.tasks.len(), "stopping: polls that did not end are given up");
            self.tasks.shutdown().await;
        }
        let left: Vec<Release> = self.inner.leases.drain().into_iter().map(Release::of).collect();
        if let Err(error) = self.inner.cx.store.release(&left).await {
            tracing::error!(%error, "leases could not be given back; they run out by themselves");
        }
    }

    /// How many hosts one claim takes.
    pub(super) fn at_once(&self) -> usize {
        (self.inner.cx.config.fetch.concurrency as usize).min(CLAIM)
    }

    /// Whether there is room for as many hosts as one claim takes.
    pub(super) fn has_room(&self) -> bool {
        self.room().total >= self.at_once()
    }

    /// How many more hosts may be begun. Beside those that are asked, some wait for their turn and some for their
    /// polls to be recorded, so that neither the network nor the writer stands still. A quarter is kept for quick hosts.
    fn room(&self) -> Room {
        let most = 3 * self.inner.cx.config.fetch.concurrency as usize;
        let slow = self.inner.slow_tasks.load(Ordering::Relaxed);
        Room {
            total: most.saturating_sub(self.tasks.len()),
            slow: (most * 3 / 4).max(1).saturating_sub(slow),
            // A claim is a transaction: a few for many hosts, not one for each that ends.
            worth_a_claim: self.at_once().min(most.saturating_sub(slow) / 3).max(1),
        }
    }

    /// Moves the end of our leases, well before they run out.
    pub(super) async fn keep_leases(&mut self, now: Time) -> Result<(), StoreError> {
        let lease = self.inner.cx.lease();
        let due = self.heartbeat_at.is_none_or(|at| now >= at || at > now + lease);
        if !due {
            return Ok(());
        }
        self.heartbeat_at = Some(now + self.inner.cx.heartbeat());
        let leases = self.inner.leases.all();
        if leases.is_empty() {
            return Ok(());
        }
        let kept = self.inner.cx.store.heartbeat(&leases, now + lease).await?;
        for lost in self.inner.leases.renew(&leases, &kept, now + lease) {
            tracing::warn!(host_id = lost.host_id, "a lease was lost; what it polls is discarded");
        }
        Ok(())
    }
}

/// How many more hosts may be begun.
struct Room {
    total: usize,
    /// Of these, so many that are not quick.
    slow: usize,
    /// With less room than this nothing is claimed.
    worth_a_claim: usize,
}

/// Whether a host's task counts as one of a quick host; any other counts among the slow ones as long as it runs.
pub(super) struct Lane {
    inner: Arc<Inner>,
    quick: bool,
}

impl Lane {
    pub(super) fn new(inner: &Arc<Inner>, quick: bool) -> Self {
        let mut lane = Self { inner: Arc::clone(inner), quick: true };
        lane.set(quick);
        lane
    }

    fn set(&mut self, quick: bool) {
        match (self.quick, quick) {
            (true, false) => self.inner.slow_tasks.fetch_add(1, Ordering::Relaxed),
            (false, true) => self.inner.slow_tasks.fetch_sub(1, Ordering::Relaxed),
            _ => 0,
        };
        self.quick = quick;
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.set(true);
    }
}

fn report(done: Result<(), tokio::task::JoinError>) {
    if let Err(error) = done
        && error.is_panic()
    {
        tracing::error!(%error, "a host's task panicked; its lease runs out and its sources are due again");
    }
}

/// Notices when the clock and the time that really passed disagree.
#[derive(Default)]
struct Jumps {
    last: Option<(Time, Instant)>,
}

/// Why times are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Jump {
    /// The engine has just started, and the clock may have been wrong before.
    Start,
    /// The clock has jumped.
    Seen,
}

impl Jumps {
    /// A difference of more than this is a jump.
    const TOLERATED: Duration = Duration::from_secs(300);

    fn see(&mut self, now: Time, clock: &dyn Clock) -> Option<Jump> {
        let Some((then, instant)) = self.last.replace((now, Instant::now())) else {
            return Some(Jump::Start);
        };
        let passed = instant.elapsed();
        let (forward, backward) =
            (clock.real_duration(now.since(then)), clock.real_duration(then.since(now)));
        let off = forward.abs_diff(passed).max(backward);
        (off > Self::TOLERATED).then_some(Jump::Seen)
    }
}

/// One thing that is due of a host.
enum Work {
    Source(Box<Source>),
    Article(Box<ArticleWork>),
}

/// What is due of a host, sources first. Where one thing is asked at a time, sources and pages take turns, so that
/// neither starves; but whether a host that fails as a whole is back, a source is asked.
fn in_order(
    memory: &HostMemory,
    lease: Lease,
    sources: Vec<Source>,
    articles: Vec<ArticleWork>,
) -> Vec<Work> {
    let pages_first = memory.pace.gap > Span::ZERO && memory.incidents.open.is_none() && lease.fence % 2 == 0;
    let pages = articles.len();
    let sources = sources.into_iter().map(|source| Work::Source(Box::new(source)));
    let articles = articles.into_iter().map(|article| Work::Article(Box::new(article)));
    if pages_first && pages > 0 {
        articles.chain(sources).collect()
    } else {
        sources.chain(articles).collect()
    }
}

/// Does what is due of a host, one thing after another, and gives the host back. A pause after each is kept by the
/// host's row, not here, so that it holds across restarts and workers.
///
/// While our own network is down only a probe is made; what was claimed before is given back, and is due again.
/// How each poll of a source ended goes to `reports`, where somebody wants to know.
pub(super) async fn work(
    inner: Arc<Inner>,
    claim: Claim,
    mut lane: Lane,
    probe: bool,
    reports: Option<Reports>,
) {
    let Claim { lease, host, mut memory, host_sources, sources, articles, .. } = claim;
    let many = sources.len() + articles.len() > 1;
    let mut due = in_order(&memory, lease, sources, articles).into_iter().peekable();
    let mut released = false;
    while let Some(work) = due.next() {
        let Some(permit) = inner.place(lane.quick).await else { return };
        if inner.is_stopping() || inner.cx.metrics.network_down_since().is_some() && !probe {
            break;
        }
        let delay = match &work {
            Work::Source(source) => inner.cx.delay(source.settings.poll_delay, source.settings.kind, &host),
            Work::Article(work) => inner.cx.delay(work.poll_delay, work.kind, &host),
        };
        let last = due.peek().is_none() || memory.one_at_a_time();
        let turn = Turn { lease, host_sources, many, last, delay };
        let source_id = match &work {
            Work::Source(source) => Some(source.id),
            Work::Article(_) => None,
        };
        let polled = match work {
            Work::Source(source) => poll::poll(&inner, permit, turn, &mut memory, *source).await,
            Work::Article(work) => article::article(&inner, permit, turn, &host, &mut memory, *work).await,
        };
        if let Some((reports, id)) = reports.as_ref().zip(source_id) {
            let ended = polled.as_ref().map(|polled| polled.ended.clone()).map_err(Arc::clone);
            // Nobody may be left to hear it.
            let _ = reports.send((id, ended));
        }
        match polled {
            Ok(polled) => {
                released = polled.released;
                lane.set(polled.quick.unwrap_or(lane.quick));
            }
            Err(error) => {
                tracing::error!(host, %error, "a poll could not be recorded; it is due again when the lease runs out");
                return done(&inner, lease);
            }
        }
        if released {
            break;
        }
    }
    if !released && let Err(error) = inner.recorder.release(Release::of(lease)).await {
        tracing::error!(host, %error, "a lease could not be ended; it runs out by itself");
    }
    done(&inner, lease);
}

/// There is room for another host.
fn done(inner: &Inner, lease: Lease) {
    inner.leases.drop_one(lease);
    inner.room.notify_one();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemClock;

    #[test]
    fn jumps_are_told_from_time_that_passes() {
        let mut jumps = Jumps::default();
        let at = |seconds: i64| Time::from_millis(seconds * 1000);
        assert_eq!(jumps.see(at(0), &SystemClock), Some(Jump::Start));
        assert_eq!(jumps.see(at(200), &SystemClock), None, "a little is nothing");
        assert_eq!(jumps.see(at(86_400), &SystemClock), Some(Jump::Seen));
        assert_eq!(jumps.see(at(86_401), &SystemClock), None);
        assert_eq!(jumps.see(at(0), &SystemClock), Some(Jump::Seen), "back is a jump, too");
    }
}
