//! The leases that are ours, and until when we know them to be: nobody is asked under one that may be another's by now.
//!
//! A process that stood still, or was cut off from its database, finds out here, by its own clock, before it sends
//! anything; what it had asked before is refused by the fence. Absent on purpose: asking the database. An answer would be
//! as old as the way it came.

use std::collections::{HashMap, HashSet};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use gleaner_core::time::Time;

use crate::clock::Clock;
use crate::store::Lease;

/// How often at least it is looked whether a lease still holds.
const LOOK: Duration = Duration::from_secs(5);

/// Leases by host.
#[derive(Default)]
pub(super) struct Leases(Mutex<HashMap<i64, Held>>);

struct Held {
    lease: Lease,
    until: Time,
    /// For a person who waits for it, and who goes on waiting while the engine stops.
    by_hand: bool,
}

impl Leases {
    /// A lease is ours until then.
    pub(super) fn take(&self, lease: Lease, until: Time) {
        self.lock().insert(lease.host_id, Held { lease, until, by_hand: false });
    }

    /// The same for a poll by hand.
    pub(super) fn take_by_hand(&self, lease: Lease, until: Time) {
        self.lock().insert(lease.host_id, Held { lease, until, by_hand: true });
    }

    /// A lease is done with.
    pub(super) fn drop_one(&self, lease: Lease) {
        let mut leases = self.lock();
        if leases.get(&lease.host_id).is_some_and(|held| held.lease == lease) {
            leases.remove(&lease.host_id);
        }
    }

    /// All but those of polls by hand, which renew their own: nobody else knows whether they still are.
    pub(super) fn all(&self) -> Vec<Lease> {
        self.lock().values().filter(|held| !held.by_hand).map(|held| held.lease).collect()
    }

    /// All but those of polls by hand; they are not ours any more.
    pub(super) fn drain(&self) -> Vec<Lease> {
        self.lock().extract_if(|_, held| !held.by_hand).map(|(_, held)| held.lease).collect()
    }

    /// Of those that were asked after, these are kept until then; the rest is lost, and told.
    pub(super) fn renew(&self, asked: &[Lease], kept: &[Lease], until: Time) -> Vec<Lease> {
        let kept: HashSet<(i64, i64)> = kept.iter().map(|lease| (lease.host_id, lease.fence)).collect();
        let mut leases = self.lock();
        let mut lost = Vec::new();
        for lease in asked {
            let Some(held) = leases.get_mut(&lease.host_id).filter(|held| held.lease == *lease) else {
                // It was given back meanwhile.
                continue;
            };
            if kept.contains(&(lease.host_id, lease.fence)) {
                held.until = until;
            } else {
                lost.push(*lease);
                leases.remove(&lease.host_id);
            }
        }
        lost
    }

    /// Whether a lease is ours at that time, as far as we know.
    pub(super) fn holds(&self, lease: Lease, now: Time) -> bool {
        self.end(lease).is_some_and(|end| now < end)
    }

    /// Does something for as long as a lease is ours; none: it was lost on the way. The clock is looked at before every
    /// step, so that a process that stood still does not take one more.
    pub(super) async fn while_held<T>(
        &self,
        lease: Lease,
        clock: &dyn Clock,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let (mut work, mut lost) = (pin!(work), pin!(self.lost(lease, clock)));
        poll_fn(|cx| {
            if !self.holds(lease, clock.now()) || lost.as_mut().poll(cx).is_ready() {
                return Poll::Ready(None);
            }
            work.as_mut().poll(cx).map(Some)
        })
        .await
    }

    /// Waits until a lease is not ours any more.
    async fn lost(&self, lease: Lease, clock: &dyn Clock) {
        loop {
            let now = clock.now();
            let Some(end) = self.end(lease).filter(|end| now < *end) else { return };
            tokio::time::sleep(clock.real_duration(end.since(now)).clamp(Duration::from_millis(1), LOOK))
                .await;
        }
    }

    fn end(&self, lease: Lease) -> Option<Time> {
        self.lock().get(&lease.host_id).filter(|held| held.lease == lease).map(|held| held.until)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<i64, Held>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;

    #[tokio::test]
    async fn what_is_not_renewed_is_lost() {
        let at = Time::from_millis;
        let leases = Leases::default();
        let [first, second, newer] =
            [(1, 7), (2, 7), (2, 8)].map(|(host_id, fence)| Lease { host_id, fence });
        leases.take(first, at(60));
        leases.take(second, at(60));
        assert!(leases.holds(first, at(59)) && !leases.holds(first, at(60)), "it ends by the clock");
        assert_eq!(leases.renew(&[first, second], &[first], at(90)), [second]);
        assert!(leases.holds(first, at(89)) && !leases.holds(second, at(0)));
        leases.take(newer, at(60));
        leases.drop_one(second);
        assert!(leases.holds(newer, at(59)), "what is done is not what came after it");
        assert_eq!(leases.renew(&[second], &[], at(90)), [], "nobody misses what was given back");
        let clock = ManualClock::new(at(60));
        leases.lost(newer, &clock).await;
        assert_eq!(leases.while_held(newer, &clock, async { 1 }).await, None, "not a step more");
        assert_eq!(leases.while_held(first, &clock, async { 1 }).await, Some(1));
        leases.take_by_hand(second, at(60));
        assert_eq!(leases.drain(), [first], "a person goes on waiting");
        assert!(leases.holds(second, at(59)) && leases.all().is_empty());
    }
}
