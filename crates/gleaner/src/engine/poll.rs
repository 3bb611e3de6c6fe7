//! A poll, whole: tried, decided, committed.

use gleaner_core::classify::Fault;
use gleaner_core::follow::Followed;
use gleaner_core::health::{Decision, StatusEventKind};
use gleaner_core::identity::Sifted;
use gleaner_core::incident::Asked;
use gleaner_core::judgement::{self, HostMemory, Verdict, judge};
use gleaner_core::network::Guard;
use gleaner_core::outcome::{Failure, Level, Outcome};
use gleaner_core::pacing::Success;
use gleaner_core::schedule::{Situation, answered_quickly};
use gleaner_core::source::Duplicates;
use gleaner_core::suspect::{Change, Sight};
use gleaner_core::time::{Span, Time};

use super::attempt::{Attempt, attempt};
use super::record::Shared;
use super::{Context, Inner, Place, article, elsewhere, judged};
use crate::config::registrable;
use crate::log::Redacted;
use crate::metrics::add;
use crate::store::{
    Commit, CommitOutcome, Lease, NewEvent, PollRecord, Release, Source, SourceMove, StoreError,
};

/// A source's turn, among what is due of its host.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    /// The lease of the host.
    pub(super) lease: Lease,
    /// How many sources of the host are polled, counted up to three.
    pub(super) host_sources: u32,
    /// Whether it is one of several, so that they share a connection.
    pub(super) many: bool,
    /// Whether it is the last, with which the host is given back.
    pub(super) last: bool,
    /// The pause that config asks for after it.
    pub(super) delay: Span,
}

impl Turn {
    /// The end of the lease, where it ends with this: it is the last, a pause follows, or judgement ends it.
    pub(super) fn release(
        &self,
        ends: bool,
        gap: Span,
        served: Option<Success>,
        quick: Option<bool>,
        now: Time,
    ) -> Option<Release> {
        let pause = self.delay.max(gap);
        let delay_until = (pause > Span::ZERO).then(|| now + pause);
        (self.last || ends || delay_until.is_some()).then_some(Release {
            lease: self.lease,
            delay_until,
            served,
            quick,
        })
    }
}

/// What a poll leaves to whoever runs the host.
pub(super) struct Polled {
    /// The host was given back with it.
    pub(super) released: bool,
    /// Its outcome was recorded.
    pub(super) stored: bool,
    /// Whether the host answered quickly; none: nothing was learned of that.
    pub(super) quick: Option<bool>,
    /// How the poll of a source ended, where that was recorded.
    pub(super) ended: Option<PollEnd>,
}

/// How a recorded poll of a source ended.
#[derive(Debug, Clone, PartialEq)]
pub enum PollEnd {
    /// The document was read.
    Fetched {
        /// Posts that are new.
        new: usize,
        /// Posts that changed.
        changed: usize,
    },
    /// The document is unchanged.
    NotModified,
    /// The poll failed.
    Failed(Failure),
}

impl PollEnd {
    fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Failed(failure) => Self::Failed(failure.clone()),
            Outcome::NotModified { .. } => Self::NotModified,
            Outcome::Fetched { .. } => Self::Fetched { new: 0, changed: 0 },
        }
    }

    fn with_posts(self, new: usize, changed: usize) -> Self {
        match self {
            Self::Fetched { .. } => Self::Fetched { new, changed },
            other => other,
        }
    }
}

impl Polled {
    /// The lease ran out before there was an answer: whoever has the host now asks, and nothing is left to give back.
    pub(super) fn broken_off(url: &str) -> Self {
        tracing::warn!(url = %Redacted(url), "a lease ran out before there was an answer; it is asked again");
        Self { released: true, stored: false, quick: None, ended: None }
    }
}

/// Polls one claimed source. Whatever happens on the way, exactly one outcome is committed; only a store failure
/// returns early, and then the lease runs out and the source is due again. The host is given back with the commit
/// where its turn ends so, and where the host asks for it.
pub(super) async fn poll(
    inner: &Inner,
    place: Place<'_>,
    turn: Turn,
    memory: &mut HostMemory,
    source: Source,
) -> Shared<Polled> {
    let metrics = &inner.cx.metrics;
    if let Some(due) = source.next_poll_at {
        metrics.due_lag_seconds.observe(inner.cx.clock.now().since(due).as_millis() as f64 / 1000.0);
    }
    // A future of eleven kilobytes, which would be moved with the host's task whenever that is.
    let asking = Box::pin(attempt(inner, &source, turn.many));
    let Some(attempt) = inner.leases.while_held(turn.lease, &*inner.cx.clock, asking).await else {
        return Ok(Polled::broken_off(&source.settings.url));
    };
    let attempt = attempt?;
    metrics.record_poll(outcome_name(&attempt.outcome), attempt.duration, attempt.bytes);
    // The next host is asked while this poll is recorded.
    drop(place);
    let quick = answered_quickly(&attempt.outcome, attempt.duration);
    let now = inner.cx.clock.now();
    let interval = inner.interval(&source, attempt.memory.as_ref().unwrap_or(&source.memory), now).await;
    let before = memory.clone();
    let mut guard = inner.guard.lock().await;
    let verdict = judged(&inner.cx, turn, &source, &attempt, interval, memory, &mut guard, now);
    judged::note(inner, &guard);
    let ends =
        verdict.decision.host_hold_until.is_some() || verdict.release.is_some() || guard.down().is_some();
    let release = turn.release(ends, verdict.host_gap, memory.latest_success, quick, now);
    let (released, resume_over) = (release.is_some(), verdict.resume_over);
    let told = Told::of(&inner.cx, &source, &attempt, &verdict);
    let end = PollEnd::of(&attempt.outcome);
    let commit = commit(inner, turn.lease, &source, attempt, verdict, memory, now);
    let moved = commit.moved.clone();
    let recorded = inner.recorder.commit(commit, release).await;
    drop(guard);
    let committed = match recorded.await {
        Err(error) if error.is_about_a_row() => {
            *memory = before;
            return refused(inner, turn, &source, interval, memory, &error).await;
        }
        recorded => recorded?,
    };
    judged::resume(inner, resume_over, now).await;
    let stored = matches!(committed, CommitOutcome::Stored { .. });
    let mut ended = None;
    match committed {
        CommitOutcome::Stored { new, changed } => {
            ended = Some(end.with_posts(new.len(), changed.len()));
            add(&metrics.posts_new, new.len() as u64);
            add(&metrics.posts_updated, changed.len() as u64);
            told.log(&source, new.len(), changed.len());
            if let Some(moved) = moved {
                log_move(inner, &source, &moved).await;
            }
        }
        CommitOutcome::Discarded => {
            *memory = before;
            tracing::debug!(url = %Redacted(&source.settings.url), "a poll was overtaken; discarded")
        }
    }
    Ok(Polled { released, stored, quick, ended })
}

/// Logs whether a source that was to move did, which its collection may have refused.
async fn log_move(inner: &Inner, source: &Source, moved: &SourceMove) {
    let (from, to) = (Redacted(&moved.from), Redacted(&moved.url));
    match inner.cx.store.source(source.id).await {
        Ok(now) if now.settings.url == moved.url => {
            tracing::info!(url = %to, %from, %to, reason = moved.reason, "source moved");
        }
        Ok(_) if moved.redirect.taken_by.is_none() => {
            tracing::warn!(url = %from, %from, %to, "source not moved: its collection has the new URL already");
        }
        // It was refused before, or is deleted by now.
        Ok(_) | Err(_) => {}
    }
}

/// The database takes other polls, but not this one. Only that is recorded, as a failure of ours: else it would be
/// polled whenever its lease runs out, and before all others of its host.
async fn refused(
    inner: &Inner,
    turn: Turn,
    source: &Source,
    interval: Span,
    memory: &mut HostMemory,
    error: &StoreError,
) -> Shared<Polled> {
    tracing::error!(url = %Redacted(&source.settings.url), %error, "a poll could not be recorded; nothing of it is kept");
    let fault = Fault::Internal(format!("it could not be recorded: {error}"));
    let attempt = Attempt::failed(fault.into_failure(None));
    let now = inner.cx.clock.now();
    let mut guard = inner.guard.lock().await;
    let verdict = judged(&inner.cx, turn, source, &attempt, interval, memory, &mut guard, now);
    let release = turn.release(false, verdict.host_gap, memory.latest_success, None, now);
    let released = release.is_some();
    let end = PollEnd::of(&attempt.outcome);
    let commit = commit(inner, turn.lease, source, attempt, verdict, memory, now);
    let recorded = inner.recorder.commit(commit, release).await;
    drop(guard);
    let stored = matches!(recorded.await?, CommitOutcome::Stored { .. });
    Ok(Polled { released, stored, quick: None, ended: stored.then_some(end) })
}

/// What a poll is counted as: a failure by its kind.
fn outcome_name(outcome: &Outcome) -> &'static str {
    outcome.failure().map_or_else(|| outcome.name(), |failure| failure.kind.name())
}

#[expect(clippy::too_many_arguments, reason = "all that a verdict depends on, and nothing else")]
fn judged(
    cx: &Context,
    turn: Turn,
    source: &Source,
    attempt: &Attempt,
    interval: Span,
    memory: &mut HostMemory,
    guard: &mut Guard,
    now: Time,
) -> Verdict {
    let at = Situation {
        health: &source.health,
        hints: &attempt.memory.as_ref().unwrap_or(&source.memory).hints,
        interval,
        policy: cx.policy(source),
    };
    let poll = judgement::Poll {
        asked: Asked { source: source.id, fence: source.fence },
        host: &source.host,
        domain: registrable(&source.host).unwrap_or(&source.host),
        host_sources: turn.host_sources,
        outcome: &attempt.outcome,
    };
    judge(&cx.config.judgement.rules, &at, &poll, memory, guard, now, cx.random.jitter())
}

/// The whole verdict, ready to be written.
fn commit(
    inner: &Inner,
    lease: Lease,
    source: &Source,
    attempt: Attempt,
    mut verdict: Verdict,
    memory: &HostMemory,
    now: Time,
) -> Commit {
    let host_effects = judged::host_effects(source.id, &mut verdict, memory);
    let Verdict { decision, excused, notices, .. } = verdict;
    let mut events = NewEvent::of_decision(source.id, &source.settings.url, &decision);
    events.extend(judged::events(inner, &source.host, &notices, now));
    let search = elsewhere::search(inner, source, &attempt, excused.is_some(), now);
    events.extend(search.event);
    let Followed { rest, pages, .. } = attempt.found.unwrap_or_default();
    let mut articles = article::queue(inner, source, pages, now);
    articles.extend(search.work);
    let Sifted { new, changed, remember, copies, vanished, skipped, .. } = rest;
    let failure = attempt.outcome.failure();
    let row = decision.health.failing.as_ref();
    let excused_by = row.and_then(|row| row.excused_by.clone()).filter(|_| excused.is_some());
    let poll = PollRecord {
        at: now,
        outcome: attempt.outcome.name().to_owned(),
        error: failure.map(|failure| (failure.kind, failure.message.clone())),
        status_code: attempt.status,
        duration: attempt.duration,
        bytes: attempt.bytes,
        skipped,
        note: attempt.note,
        rule: decision.next.map(|next| next.why.name().to_owned()),
        excused,
        excused_by,
    };
    // What is not the source's fault is no sign either.
    let sight = if excused.is_some() { Sight::Nothing } else { attempt.sight };
    let suspect = sight.change(source.suspect.as_ref(), now);
    let told = |change| NewEvent::of_suspicion(source.id, &source.settings.url, change);
    events.extend(match (&suspect, &source.pages_suspect) {
        // It still is suspect, because its pages fail.
        (Some(Change::Cleared), Some(pages)) => Some(told(&Change::Suspected(pages.clone()))),
        (suspect, _) => suspect.as_ref().map(told),
    });
    Commit {
        lease,
        source_id: source.id,
        fence: source.fence,
        was: source.health.clone(),
        next_poll_at: decision.next.map(|next| next.at),
        host_hold_until: decision.host_hold_until,
        memory: attempt.memory,
        moved: attempt.moved,
        suspect,
        elsewhere: search.change,
        new,
        changed,
        remember,
        copies,
        unique_text: inner.cx.duplicates(source) == Duplicates::Content,
        vanished,
        articles,
        poll,
        events,
        health: decision.health,
        host_effects,
    }
}

/// What the log says of a poll once it is recorded.
struct Told {
    failure: Option<(Level, &'static str, Option<u16>, String)>,
    excused_by: Option<String>,
    /// Quarantined or disabled: the reason, the kind of the latest failure and the count of failures in a row.
    set_aside: Option<(String, &'static str, u32)>,
    recovered: Option<String>,
}

impl Told {
    fn of(cx: &Context, source: &Source, attempt: &Attempt, verdict: &Verdict) -> Self {
        let decision: &Decision = &verdict.decision;
        let failure = attempt.outcome.failure().map(|failure| {
            let level = cx.policy(source).rule(failure.kind).level;
            (level, failure.kind.name(), failure.status, failure.message.clone())
        });
        let event = |kinds: &[StatusEventKind]| {
            decision.events.iter().find(|event| kinds.contains(&event.kind)).map(|event| event.reason.clone())
        };
        let failing = decision.health.failing.as_ref();
        let (error_type, count) = failing.map_or(("", 0), |row| (row.kind.name(), row.count));
        let set_aside = event(&[StatusEventKind::Quarantined, StatusEventKind::Disabled])
            .map(|reason| (reason, error_type, count));
        let excused_by = failing.filter(|_| verdict.excused.is_some()).and_then(|row| row.excused_by.clone());
        Self { failure, excused_by, set_aside, recovered: event(&[StatusEventKind::Recovered]) }
    }

    /// One line a failed poll, and one a change that people should hear of. Sources go by their URL.
    fn log(self, source: &Source, new: usize, changed: usize) {
        let url = Redacted(&source.settings.url);
        let excused_by = self.excused_by.as_deref();
        match &self.failure {
            Some((Level::Warn, error_type, status_code, error)) => {
                tracing::warn!(%url, error_type, status_code, error = %Redacted(error), excused_by, "poll failed");
            }
            Some((Level::Error, error_type, status_code, error)) => {
                tracing::error!(%url, error_type, status_code, error = %Redacted(error), excused_by, "poll failed");
            }
            None => tracing::debug!(%url, new, changed, "polled"),
        }
        if let Some((reason, error_type, count)) = &self.set_aside {
            tracing::warn!(%url, error_type, reason = %Redacted(reason), count, "feed disabled");
        }
        if let Some(reason) = &self.recovered {
            tracing::info!(%url, reason = %Redacted(reason), "feed recovered");
        }
    }
}
