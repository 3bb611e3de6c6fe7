//! Polling a source by hand: now, whatever its interval and hints say, but not while its server asks to be left alone.

use std::collections::HashMap;
use std::time::Duration;

use gleaner_core::time::{Span, Time};

use super::{By, Poll, Scope, ServiceError};
use crate::engine::{Poller, SourceReport};
use crate::store::{Claim, Lease, PollHold, Source, StoreError};

/// How often a host that is given back and taken again at that moment is asked for.
const TRIES: u32 = 5;
/// How often somebody else's poll is looked for.
const LOOK: Duration = Duration::from_millis(200);
/// How much longer than a whole request somebody waits for a poll of another's.
const PATIENCE: Span = Span::from_secs(20);

/// How a poll by hand is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PollRequest {
    /// Whether to wait for its outcome.
    pub wait: bool,
    /// Whether to poll even though its server asked to be left alone.
    pub force: bool,
}

/// What became of a poll by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolledNow {
    /// It is under way.
    Running {
        /// Which poll, the same for everybody who asks while it runs.
        id: String,
    },
    /// It has ended so.
    Done(Box<Poll>),
}

impl By<'_> {
    /// Polls a source now. Where its host is being asked already, that goes on, and the source comes next if it is
    /// not the one.
    pub async fn poll_now(&self, id: i64, request: PollRequest) -> Result<PolledNow, ServiceError> {
        self.actor.must(Scope::Write)?;
        let (source, now) = (self.visible_source(id).await?, self.clock.now());
        may_poll(&source, request.force, now)?;
        let latest = self.latest(id).await?;
        let poller = self.poller()?;
        for _ in 0..TRIES {
            if let Some(claim) = poller.claim(id, now).await? {
                // A host that fails as a whole has asked for nothing, and a person may look whether it is back.
                let asked = claim.memory.incidents.open.is_none() && !request.force;
                if let Some(until) = claim.hold_until.filter(|until| *until > now && asked) {
                    poller.give_back(claim.lease).await?;
                    return Err(held(id, &source.host, until));
                }
                // If this process dies on the way, the source is due again.
                self.store.wake_source(id, now).await?;
                return self.run(poller, claim, id, request.wait).await;
            }
            if let Some(lease) = self.store.wake_source(id, now).await? {
                return if request.wait {
                    self.await_other(id, latest.as_ref(), lease).await
                } else {
                    Ok(PolledNow::Running { id: poll_id(lease) })
                };
            }
        }
        Err(ServiceError::conflict("host_busy", format!("{} is being asked now; try again", source.host)))
    }

    /// Polls these sources in this process, without a server, by the scheduler's own path: host by host, as many at once
    /// as `fetch.concurrency` says. Reports each exactly once. Returns the number of posts that are new.
    pub async fn poll_sources(
        &self,
        ids: &[i64],
        force: bool,
        report: &mut dyn FnMut(i64, SourceReport),
        stop: impl Future<Output = ()>,
    ) -> Result<u64, ServiceError> {
        self.actor.must(Scope::Write)?;
        let visible = self.visible_sources(ids).await?;
        for id in ids.iter().filter(|id| !visible.contains(id)) {
            report(*id, SourceReport::Missing);
        }
        let ids: Vec<i64> = ids.iter().copied().filter(|id| visible.contains(id)).collect();
        let mut engine = self.engine(&format!("{} poll", self.name))?;
        Ok(engine.poll_sources(&ids, force, report, stop).await?)
    }

    /// The latest poll of each of these sources; those that were never polled or may not be seen are left out.
    pub async fn latest_polls(&self, ids: &[i64]) -> Result<HashMap<i64, Poll>, ServiceError> {
        self.actor.must(Scope::Read)?;
        let ids: Vec<i64> = self.visible_sources(ids).await?.into_iter().collect();
        Ok(self.store.latest_polls(&ids).await?)
    }

    /// Makes sources due, to be polled by whoever polls what is due; those that are disabled or held are refused.
    pub(super) async fn make_due(
        &self,
        ids: &[i64],
    ) -> Result<Vec<(i64, Result<(), ServiceError>)>, ServiceError> {
        let now = self.clock.now();
        let visible: Vec<i64> = self.visible_sources(ids).await?.into_iter().collect();
        let holds = self.store.poll_holds(&visible).await?;
        let holds: HashMap<i64, PollHold> = holds.into_iter().map(|hold| (hold.source_id, hold)).collect();
        let (mut each, mut due) = (Vec::with_capacity(ids.len()), Vec::with_capacity(ids.len()));
        for id in ids.iter().copied() {
            let refused = match holds.get(&id) {
                None => Some(ServiceError::missing("source", &id.to_string())),
                Some(hold) if !hold.enabled => Some(super::hand::is_disabled(id)),
                Some(hold) => {
                    hold.until.filter(|until| *until > now).map(|until| held(id, &hold.host, until))
                }
            };
            if refused.is_none() {
                due.push(id);
            }
            each.push((id, refused.map_or(Ok(()), Err)));
        }
        self.store.wake_sources(&due, now).await?;
        Ok(each)
    }

    /// Polls what was claimed, to its end even if nobody waits any more.
    async fn run(
        &self,
        poller: &Poller,
        claim: Claim,
        id: i64,
        wait: bool,
    ) -> Result<PolledNow, ServiceError> {
        let (poller, lease) = (poller.clone(), claim.lease);
        let task = tokio::spawn(async move {
            let polled = poller.poll(claim).await;
            if let Err(error) = &polled {
                tracing::error!(source_id = id, %error, "a poll by hand could not be recorded");
            }
            polled
        });
        if !wait {
            return Ok(PolledNow::Running { id: poll_id(lease) });
        }
        let lost = |why: String| ServiceError::conflict("poll_discarded", why);
        match self.while_let_in(task).await? {
            Ok(Ok(true)) => self
                .latest(id)
                .await?
                .map(|poll| PolledNow::Done(Box::new(poll)))
                .ok_or_else(|| lost(format!("source {id} was polled, and its history deleted meanwhile"))),
            Ok(Ok(false)) => Err(lost(format!("source {id} was changed while it was polled; poll it again"))),
            Ok(Err(error)) => Err(lost(format!("the poll of source {id} could not be recorded: {error}"))),
            Err(_) => Err(lost(format!("the poll of source {id} broke off; poll it again"))),
        }
    }

    /// Waits until the source has been polled by somebody else, or long enough.
    async fn await_other(
        &self,
        id: i64,
        before: Option<&Poll>,
        lease: Lease,
    ) -> Result<PolledNow, ServiceError> {
        let seen = |poll: Option<&Poll>| poll.map(|poll| (poll.id, poll.count));
        let waiting = async {
            loop {
                match self.latest(id).await? {
                    Some(poll) if seen(Some(&poll)) != seen(before) => {
                        return Ok(PolledNow::Done(Box::new(poll)));
                    }
                    _ => tokio::time::sleep(LOOK).await,
                }
            }
        };
        let patience = self.config.fetch.timeout.as_millis() + PATIENCE.as_millis();
        let waiting = tokio::time::timeout(Duration::from_millis(patience), waiting);
        match self.while_let_in(waiting).await? {
            Ok(ended) => ended,
            Err(_) => Ok(PolledNow::Running { id: poll_id(lease) }),
        }
    }

    async fn latest(&self, id: i64) -> Result<Option<Poll>, StoreError> {
        Ok(self.store.polls(id, None, 1).await?.into_iter().next())
    }
}

/// The lease that a poll runs under is its name while it runs.
fn poll_id(lease: Lease) -> String {
    format!("{}-{}", lease.host_id, lease.fence)
}

/// Refuses what is disabled, and what is to be left alone.
fn may_poll(source: &Source, force: bool, now: Time) -> Result<(), ServiceError> {
    if source.health.disabled.is_some() {
        return Err(super::hand::is_disabled(source.id));
    }
    match source.health.hold_until.filter(|until| *until > now && !force) {
        Some(until) => Err(held(source.id, &source.host, until)),
        None => Ok(()),
    }
}

fn held(id: i64, host: &str, until: Time) -> ServiceError {
    ServiceError::Conflict {
        code: "retry_after",
        message: format!(
            "{host} asked to be left alone until {until} (Retry-After); poll it then, or with force=true"
        ),
        id: Some(id),
        at: Some(until),
    }
}
