//! The latest events in memory, read from the database once for all streams that may see the same.
//!
//! Ten thousand streams that are woken by one event would ask the database ten thousand times. Streams that are further
//! behind than what is kept here read the database themselves. What somebody may see can change: what was read for those
//! who do not see everything is kept for a moment only.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;

use crate::engine::{Told, tell};
use crate::store::{EventCursor, EventFilter, Store, StoreError, Visibility};

/// How many are kept: some may tell of a hundred posts.
const KEPT: usize = 200;
/// How long events are kept for those who do not see everything.
const REMEMBERED: Duration = Duration::from_secs(1);
/// For so many different limits on what may be seen; streams with further ones read the database themselves.
const LIMITS: usize = 100;

/// The latest events; none before a stream has asked.
#[derive(Default)]
pub(super) struct RecentEvents(Mutex<HashMap<Visibility, Recent>>);

struct Recent {
    /// All events after this one that may be seen are here, up to `last`.
    after: i64,
    last: i64,
    events: VecDeque<Arc<Told>>,
    /// Since when there are events here.
    since: Instant,
}

impl RecentEvents {
    /// All events after that one that may be seen, up to the latest, and which one that is; none where they are not all
    /// here.
    pub(super) async fn after(
        &self,
        store: &dyn Store,
        visibility: &Visibility,
        after: i64,
        latest: i64,
    ) -> Result<Option<(Vec<Arc<Told>>, i64)>, StoreError> {
        if latest <= 0 || after > latest {
            return Ok(None);
        }
        let mut all = self.0.lock().await;
        if !all.contains_key(visibility) {
            if all.len() >= LIMITS {
                all.retain(|visibility, recent| visibility.is_everything() || !recent.is_old());
            }
            if all.len() >= LIMITS {
                return Ok(None);
            }
        }
        let recent = all.entry(visibility.clone()).or_insert_with(|| Recent::none_until(latest));
        if !visibility.is_everything() && recent.is_old() {
            *recent = Recent::none_until(recent.last);
        }
        while recent.last < latest {
            recent.read_on(store, visibility, latest).await?;
        }
        if after < recent.after {
            return Ok(None);
        }
        let known = recent.events.partition_point(|event| event.id <= after);
        Ok(Some((recent.events.range(known..).cloned().collect(), recent.last)))
    }
}

impl Recent {
    fn none_until(last: i64) -> Self {
        Self { after: last, last, events: VecDeque::new(), since: Instant::now() }
    }

    fn is_old(&self) -> bool {
        self.since.elapsed() >= REMEMBERED
    }

    async fn read_on(
        &mut self,
        store: &dyn Store,
        visibility: &Visibility,
        latest: i64,
    ) -> Result<(), StoreError> {
        if latest - self.last > KEPT as i64 {
            // More than is kept: what is before is the database's.
            *self = Self::none_until(latest);
            return Ok(());
        }
        let filter = EventFilter { visibility: visibility.clone(), ..EventFilter::default() };
        let events = store.list_events(&filter, EventCursor::After(self.last), KEPT as u32).await?;
        let told = tell(store, &events).await?;
        // Where there are fewer, the others were deleted meanwhile or may not be seen.
        let seen = if told.len() < KEPT { latest } else { 0 };
        self.last = told.last().map_or(0, |event| event.id).max(seen).max(self.last + 1);
        self.events.extend(told.into_iter().map(Arc::new));
        while self.events.len() > KEPT {
            self.after = self.events.pop_front().map_or(self.after, |event| event.id);
        }
        Ok(())
    }
}
