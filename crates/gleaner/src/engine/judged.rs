//! Judgement in the engine: what it says of others than the source, made ready to be written, told and acted on.

use gleaner_core::judgement::{HostMemory, Notice, PageVerdict, Verdict, judge_page};
use gleaner_core::network::Guard;
use gleaner_core::outcome::Outcome;
use gleaner_core::time::{Span, Time};
use serde_json::json;

use super::Inner;
use crate::store::{HostEffects, NewEvent, Spread};

/// Judges the fetch of a page.
pub(super) async fn page(
    inner: &Inner,
    outcome: &Outcome,
    memory: &mut HostMemory,
    now: Time,
) -> PageVerdict {
    let mut guard = inner.guard.lock().await;
    let verdict = judge_page(&inner.cx.config.judgement.rules, outcome, memory, &mut guard, now);
    note(inner, &guard);
    verdict
}

/// Lets everybody know what the guard knows.
pub(super) fn note(inner: &Inner, guard: &Guard) {
    inner.cx.metrics.set_network_down(guard.down().map(|down| down.since));
}

/// What a poll's verdict means for others than its source.
pub(super) fn host_effects(
    source_id: i64,
    verdict: &mut Verdict,
    memory: &HostMemory,
) -> Option<Box<HostEffects>> {
    let excused_by = verdict.decision.health.failing.as_ref().and_then(|row| row.excused_by.clone());
    let excuse = verdict.excused.zip(excused_by);
    let host_effects = HostEffects {
        memory: verdict.memory_changed.then(|| memory.clone()),
        lift_hold: lifts_hold(&verdict.notices),
        taken_back: std::mem::take(&mut verdict.taken_back),
        excused_since: verdict.excused_since.map(|since| (source_id, since)),
        excuse: excuse.clone(),
        release: verdict.release,
    };
    (host_effects != HostEffects { excuse, ..HostEffects::default() }).then(|| Box::new(host_effects))
}

/// The same of a page's.
pub(super) fn page_host_effects(verdict: PageVerdict, memory: &HostMemory) -> Option<Box<HostEffects>> {
    let host_effects = HostEffects {
        memory: verdict.memory_changed.then(|| memory.clone()),
        lift_hold: lifts_hold(&verdict.notices),
        release: verdict.release,
        ..HostEffects::default()
    };
    (host_effects != HostEffects::default()).then(|| Box::new(host_effects))
}

/// A host that is back, or whose sources are on their own, is not to be left alone any longer.
fn lifts_hold(notices: &[Notice]) -> bool {
    notices.iter().any(|notice| matches!(notice, Notice::HostBack(_) | Notice::HostGivenUp(_)))
}

/// What the world is told of a host or of the worker; the log hears it, too.
pub(super) fn events(inner: &Inner, host: &str, notices: &[Notice], now: Time) -> Vec<NewEvent> {
    let told = |notice: &Notice| {
        let reason = notice.reason(now);
        let of_worker = matches!(notice, Notice::NetworkDown(_) | Notice::NetworkBack(_));
        match notice {
            Notice::NetworkDown(_) | Notice::NetworkBack(_) => {
                tracing::warn!(worker = inner.owner, "{reason}")
            }
            Notice::HostBack(_) => tracing::info!(host, "{reason}"),
            _ => tracing::warn!(host, "{reason}"),
        }
        let payload = if of_worker {
            json!({ "worker": inner.owner, "reason": reason })
        } else {
            json!({ "host": host, "reason": reason })
        };
        NewEvent { kind: notice.name().to_owned(), source_id: None, payload: payload.to_string() }
    };
    notices.iter().map(told).collect()
}

/// Our own network is back: what waited does not come all at once.
pub(super) async fn resume(inner: &Inner, over: Option<Span>, now: Time) {
    let Some(within) = over else { return };
    let spread = Spread {
        now,
        interval: inner.cx.config.source.poll_interval,
        within,
        longest: Spread::LONGEST,
        lease: inner.cx.longest_lease(),
        overdue: true,
        excused: true,
    };
    if let Err(error) = inner.cx.store.spread(&spread).await {
        tracing::error!(%error, "polls could not be spread after our own network came back");
    }
}
