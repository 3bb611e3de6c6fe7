//! The latest events in memory, read from the database once for all streams.
//!
//! Ten thousand streams that are woken by one event would ask the database ten thousand times. Streams that are further
//! behind than what is kept here read the database themselves.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::Mutex;

use crate::engine::{Told, tell};
use crate::store::{EventFilter, Seek, Store, StoreError};

/// How many are kept: some may tell of a hundred posts.
const KEPT: usize = 200;

/// The latest events; none before a stream has asked.
#[derive(Default)]
pub(super) struct RecentEvents(Mutex<Option<Recent>>);

struct Recent {
    /// All events after this one are here, up to `last`.
    after: i64,
    last: i64,
    events: VecDeque<Arc<Told>>,
}

impl RecentEvents {
    /// All events after that one, up to the latest; none where they are not all here.
    pub(super) async fn after(
        &self,
        store: &dyn Store,
        after: i64,
        latest: i64,
    ) -> Result<Option<Vec<Arc<Told>>>, StoreError> {
        if latest <= 0 || after > latest {
            return Ok(None);
        }
        let mut recent = self.0.lock().await;
        let recent =
            recent.get_or_insert_with(|| Recent { after: latest, last: latest, events: VecDeque::new() });
        while recent.last < latest {
            recent.read_on(store, latest).await?;
        }
        if after < recent.after {
            return Ok(None);
        }
        let known = recent.events.partition_point(|event| event.id <= after);
        Ok(Some(recent.events.range(known..).cloned().collect()))
    }
}

impl Recent {
    async fn read_on(&mut self, store: &dyn Store, latest: i64) -> Result<(), StoreError> {
        if latest - self.last > KEPT as i64 {
            // More than is kept: what is before is the database's.
            *self = Self { after: latest, last: latest, events: VecDeque::new() };
            return Ok(());
        }
        let events = store.list_events(&EventFilter::default(), Seek::After(self.last), KEPT as u32).await?;
        let told = tell(store, &events).await?;
        // Where there are none, they were deleted meanwhile.
        self.last = told.last().map_or(latest, |event| event.id).max(self.last + 1);
        self.events.extend(told.into_iter().map(Arc::new));
        while self.events.len() > KEPT {
            self.after = self.events.pop_front().map_or(self.after, |event| event.id);
        }
        Ok(())
    }
}
