//! Polls chosen sources once, now, by the scheduler's own path: leases by host, `fetch.concurrency`, the batched writer,
//! the delays between requests. Sources that are held are reported, not polled.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use gleaner_core::time::Time;
use tokio::sync::mpsc;
use tokio::task::{Id, JoinSet};

use super::poll::PollEnd;
use super::record::Shared;
use super::scheduler::{Engine, Lane, PER_HOST, work};
use crate::store::{Claim, ClaimRequest, Release, StoreError};

/// How a poll of a source ended; none: it was discarded.
pub(super) type Reports = mpsc::UnboundedSender<(i64, Shared<Option<PollEnd>>)>;

/// First and longest pause before a host that was not free is tried again.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// How long polls under way may take to end once the run is interrupted.
const GRACE: Duration = Duration::from_secs(5);
/// A host that gives no sign of life for this much longer than a lease, a request and its delay is given up.
const PATIENCE: Duration = Duration::from_secs(15);

/// What became of a chosen source.
#[derive(Debug, Clone, PartialEq)]
pub enum SourceReport {
    /// It was polled, and its poll ended so.
    Polled(PollEnd),
    /// Its server asked to be left alone until then (`Retry-After`).
    Held(Time),
    /// It is disabled.
    Disabled,
    /// It does not exist.
    Missing,
    /// It was not polled, for this reason.
    NotPolled(String),
}

/// Sources of a host that are still to be polled.
struct HostQueue {
    host_id: i64,
    sources: BTreeSet<i64>,
    /// When it is tried again, and how long to wait after that.
    ready_at: Instant,
    pause: Duration,
    /// When it last made progress.
    progress_at: Instant,
    /// The longest configured delay after one of its sources.
    delay: Duration,
}

/// Everything that is still to be done.
struct Run {
    waiting: VecDeque<HostQueue>,
    running: HashMap<Id, HostQueue>,
    tasks: JoinSet<()>,
}

impl Engine {
    /// Polls these sources once, and reports each exactly once. Ends when all are reported, or soon after `stop`; what was
    /// not polled by then is reported so, and every lease is given back. Pages that the polls leave to be fetched are
    /// fetched once, too. Returns the number of posts that are new, from feeds and from pages.
    pub async fn poll_sources(
        &mut self,
        ids: &[i64],
        force: bool,
        report: &mut dyn FnMut(i64, SourceReport),
        stop: impl Future<Output = ()>,
    ) -> Result<u64, StoreError> {
        let metrics = Arc::clone(&self.inner.cx.metrics);
        let before = metrics.posts_new.load(Ordering::Relaxed);
        let stop = std::pin::pin!(stop);
        let done = self.poll_and_fetch(ids, force, report, stop).await;
        self.tasks.shutdown().await;
        let left: Vec<Release> = self.inner.leases.drain().into_iter().map(Release::of).collect();
        let released = self.inner.cx.store.release(&left).await;
        done.and(released)?;
        Ok(metrics.posts_new.load(Ordering::Relaxed).saturating_sub(before))
    }

    async fn poll_and_fetch(
        &mut self,
        ids: &[i64],
        force: bool,
        report: &mut dyn FnMut(i64, SourceReport),
        mut stop: impl Future<Output = ()> + Unpin,
    ) -> Result<(), StoreError> {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let mut run = self.queue(ids, report).await?;
        let mut ended = Vec::new();
        let interrupted = loop {
            self.keep_leases(self.inner.cx.clock.now()).await?;
            while let Some(task) = run.tasks.try_join_next_with_id() {
                ended.push(task);
            }
            // A task reports before it ends: what it has polled is known before the rest comes in another turn.
            run.take_reports(&mut receiver, report);
            for task in ended.drain(..) {
                run.ended(&task, report);
            }
            if run.waiting.is_empty() && run.running.is_empty() {
                break false;
            }
            let pause = self.begin(&mut run, force, &sender, report).await?;
            tokio::select! {
                biased;
                () = &mut stop => break true,
                Some(task) = run.tasks.join_next_with_id() => ended.push(task),
                Some((id, end)) = receiver.recv() => run.done(id, end, report),
                () = tokio::time::sleep(pause) => {}
            }
        };
        if !interrupted && !self.fetch_pages(ids, &mut stop).await? {
            return Ok(());
        }
        self.inner.stopping.store(true, Ordering::Relaxed);
        let ending = async { while run.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(GRACE, ending).await.is_err() {
            run.tasks.shutdown().await;
        }
        run.take_reports(&mut receiver, report);
        for id in run.left() {
            report(id, SourceReport::NotPolled("interrupted".to_owned()));
        }
        Ok(())
    }

    /// The sources by host.
    async fn queue(&self, ids: &[i64], report: &mut dyn FnMut(i64, SourceReport)) -> Result<Run, StoreError> {
        let hosts = self.inner.cx.store.source_hosts(ids).await?;
        let known: BTreeSet<i64> = hosts.iter().map(|(id, _)| *id).collect();
        for id in ids.iter().filter(|id| !known.contains(id)) {
            report(*id, SourceReport::Missing);
        }
        let mut by_host: HashMap<i64, HostQueue> = HashMap::new();
        let mut order = Vec::new();
        let now = Instant::now();
        for (id, host_id) in hosts {
            let queue = by_host.entry(host_id).or_insert_with(|| {
                order.push(host_id);
                HostQueue {
                    host_id,
                    sources: BTreeSet::new(),
                    ready_at: now,
                    pause: FIRST_PAUSE,
                    progress_at: now,
                    delay: Duration::ZERO,
                }
            });
            queue.sources.insert(id);
        }
        let waiting = order.into_iter().filter_map(|host_id| by_host.remove(&host_id)).collect();
        Ok(Run { waiting, running: HashMap::new(), tasks: JoinSet::new() })
    }

    /// Leases hosts as far as there is room and begins their polls. Returns how long to wait before the next try.
    async fn begin(
        &self,
        run: &mut Run,
        force: bool,
        sender: &Reports,
        report: &mut dyn FnMut(i64, SourceReport),
    ) -> Result<Duration, StoreError> {
        let room = (3 * self.inner.cx.config.fetch.concurrency as usize).saturating_sub(run.tasks.len());
        // A claim is a transaction: a few for many hosts, not one for each that ends.
        if room < self.at_once().min(run.waiting.len()) {
            return Ok(LONGEST_PAUSE);
        }
        let started = Instant::now();
        let mut chosen = Vec::new();
        run.waiting.retain_mut(|queue| {
            if chosen.len() >= self.at_once() || queue.ready_at > started {
                return true;
            }
            chosen.push(queue.take());
            false
        });
        if chosen.is_empty() {
            let next = run.waiting.iter().map(|queue| queue.ready_at).min();
            let pause = next.map_or(LONGEST_PAUSE, |at| at.saturating_duration_since(started));
            return Ok(pause.clamp(Duration::from_millis(5), LONGEST_PAUSE));
        }
        let ids: Vec<i64> =
            chosen.iter().flat_map(|queue| queue.sources.iter().take(PER_HOST as usize)).copied().collect();
        let now = self.inner.cx.clock.now();
        let request = self.request(now);
        let claims = self.inner.cx.store.claim_sources(&ids, &request).await?;
        let mut claims: HashMap<i64, Claim> =
            claims.into_iter().map(|claim| (claim.lease.host_id, claim)).collect();
        for claim in claims.values() {
            self.inner.leases.take(claim.lease, now + request.lease);
        }
        for mut queue in chosen {
            let Some(claim) = claims.remove(&queue.host_id) else {
                if started.duration_since(queue.progress_at) > self.patience() + queue.delay {
                    queue.give_up(report);
                } else {
                    queue.wait(started);
                    run.waiting.push_back(queue);
                }
                continue;
            };
            queue.pause = FIRST_PAUSE;
            let claim = self.admitted(claim, &mut queue, force, now, report);
            if claim.sources.is_empty() {
                self.inner.leases.drop_one(claim.lease);
                self.inner.cx.store.release(&[Release::of(claim.lease)]).await?;
                if !queue.sources.is_empty() {
                    run.waiting.push_back(queue);
                }
                continue;
            }
            let lane = Lane::new(&self.inner, claim.quick);
            let work = work(Arc::clone(&self.inner), claim, lane, true, Some(sender.clone()));
            run.running.insert(run.tasks.spawn(work).id(), queue);
        }
        // A claimed host that is not among the chosen took over a source that moved there meanwhile.
        for claim in claims.into_values() {
            self.inner.leases.drop_one(claim.lease);
            self.inner.cx.store.release(&[Release::of(claim.lease)]).await?;
        }
        Ok(FIRST_PAUSE)
    }

    /// A claim with only what may be polled now; the rest is reported.
    fn admitted(
        &self,
        mut claim: Claim,
        queue: &mut HostQueue,
        force: bool,
        now: Time,
        report: &mut dyn FnMut(i64, SourceReport),
    ) -> Claim {
        // A host that fails as a whole has asked for nothing, and a person may look whether it is back.
        let host_hold = claim.hold_until.filter(|_| claim.memory.incidents.open.is_none());
        let (cx, host) = (&self.inner.cx, claim.host.clone());
        claim.sources.retain(|source| {
            let hold = source.health.hold_until.max(host_hold).filter(|until| *until > now && !force);
            let refused = match hold {
                _ if source.health.disabled.is_some() => SourceReport::Disabled,
                Some(until) => SourceReport::Held(until),
                None => {
                    let delay = cx.clock.real_duration(cx.delay(
                        source.settings.poll_delay,
                        source.settings.kind,
                        &host,
                    ));
                    queue.delay = queue.delay.max(delay);
                    return true;
                }
            };
            queue.sources.remove(&source.id);
            report(source.id, refused);
            false
        });
        claim
    }

    /// Fetches the pages of these sources that are due, each once: a page that fails is due again hours later. Returns
    /// whether it was interrupted.
    async fn fetch_pages(
        &mut self,
        ids: &[i64],
        stop: &mut (impl Future<Output = ()> + Unpin),
    ) -> Result<bool, StoreError> {
        let (mut pause, mut idle_since) = (FIRST_PAUSE, Instant::now());
        loop {
            let now = self.inner.cx.clock.now();
            self.keep_leases(now).await?;
            if self.tasks.is_empty() {
                let due = self.inner.cx.store.pages_due(ids, now).await?;
                if due == 0 || idle_since.elapsed() > self.patience() {
                    return Ok(false);
                }
            }
            if self.has_room() {
                let request = self.request(now);
                for claim in self.inner.cx.store.claim_pages(ids, &request).await? {
                    self.inner.leases.take(claim.lease, now + request.lease);
                    let lane = Lane::new(&self.inner, claim.quick);
                    self.tasks.spawn(work(Arc::clone(&self.inner), claim, lane, true, None));
                    (pause, idle_since) = (FIRST_PAUSE, Instant::now());
                }
            }
            tokio::select! {
                biased;
                () = &mut *stop => return Ok(true),
                () = tokio::time::sleep(pause) => pause = (pause * 2).min(LONGEST_PAUSE),
            }
            while self.tasks.try_join_next().is_some() {
                pause = FIRST_PAUSE;
            }
        }
    }

    fn request(&self, now: Time) -> ClaimRequest {
        ClaimRequest::all(now, self.inner.cx.lease(), self.owner.clone(), u32::MAX, PER_HOST)
    }

    /// How long a host may stay leased by somebody else: a lease, and a whole request after it.
    fn patience(&self) -> Duration {
        let cx = &self.inner.cx;
        cx.clock.real_duration(cx.lease())
            + Duration::from_millis(cx.config.fetch.timeout.as_millis())
            + PATIENCE
    }
}

impl HostQueue {
    /// Itself, out of the place it is in.
    fn take(&mut self) -> Self {
        Self { sources: std::mem::take(&mut self.sources), ..*self }
    }

    /// Not free: the next try comes later each time.
    fn wait(&mut self, now: Instant) {
        self.ready_at = now + self.pause;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }

    fn give_up(self, report: &mut dyn FnMut(i64, SourceReport)) {
        for id in self.sources {
            let why = "its host is polled by another process, or limits requests; try again later";
            report(id, SourceReport::NotPolled(why.to_owned()));
        }
    }
}

impl Run {
    fn take_reports(
        &mut self,
        from: &mut mpsc::UnboundedReceiver<(i64, Shared<Option<PollEnd>>)>,
        report: &mut dyn FnMut(i64, SourceReport),
    ) {
        while let Ok((id, end)) = from.try_recv() {
            self.done(id, end, report);
        }
    }

    /// A source was polled.
    fn done(&mut self, id: i64, end: Shared<Option<PollEnd>>, report: &mut dyn FnMut(i64, SourceReport)) {
        let mut queues = self.running.values_mut().chain(&mut self.waiting);
        if let Some(queue) = queues.find_map(|queue| queue.sources.remove(&id).then_some(queue)) {
            queue.progress_at = Instant::now();
            report(id, reported(end));
        }
    }

    /// The task of a host has ended; what it did not poll comes in another turn.
    fn ended(
        &mut self,
        task: &Result<(Id, ()), tokio::task::JoinError>,
        report: &mut dyn FnMut(i64, SourceReport),
    ) {
        let (id, panicked) = match task {
            Ok((id, ())) => (*id, false),
            Err(error) => (error.id(), true),
        };
        let Some(mut queue) = self.running.remove(&id) else { return };
        if panicked {
            for id in queue.sources {
                report(
                    id,
                    SourceReport::NotPolled("its poll broke off, which is a mistake of gleaner's".to_owned()),
                );
            }
        } else if !queue.sources.is_empty() {
            queue.ready_at = Instant::now();
            self.waiting.push_back(queue);
        }
    }

    /// Everything that was not polled.
    fn left(&self) -> Vec<i64> {
        self.running.values().chain(&self.waiting).flat_map(|queue| queue.sources.iter().copied()).collect()
    }
}

fn reported(ended: Shared<Option<PollEnd>>) -> SourceReport {
    match ended {
        Ok(Some(end)) => SourceReport::Polled(end),
        Ok(None) => SourceReport::NotPolled("it was changed while it was polled; poll it again".to_owned()),
        Err(error) => SourceReport::NotPolled(format!("its poll could not be recorded: {error}")),
    }
}
