//! Ends event streams and long waits of callers whose access ended or changed.
//!
//! While any is open, one task checks all of them together about once a second, and at once where this process ended
//! somebody's access. So a revocation by another process takes effect within a second, too.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};

use super::{Actor, By, Service, ServiceError};
use crate::clock::Clock;
use crate::store::{Collection, Store, StoreError};

/// How long after a check the next one is. A little less than the second that is promised.
const CHECK_EVERY: Duration = Duration::from_millis(900);

/// All callers with an open stream or wait.
#[derive(Default)]
pub(super) struct OpenCallers(Arc<Registry>);

#[derive(Default)]
struct Registry {
    state: Mutex<State>,
    check_now: Notify,
}

#[derive(Default)]
struct State {
    open: HashMap<u64, Entry>,
    next_id: u64,
    is_checked: bool,
}

struct Entry {
    actor: Actor,
    is_stream: bool,
    /// The collections that the caller saw at the last check.
    visible: Option<BTreeSet<i64>>,
    ended: watch::Sender<bool>,
}

/// A caller who is told when their access ends. Dropped, the caller is not checked any more.
pub(super) struct OpenCaller {
    id: u64,
    registry: Arc<Registry>,
    ended: watch::Receiver<bool>,
}

impl Drop for OpenCaller {
    fn drop(&mut self) {
        self.registry.lock().open.remove(&self.id);
    }
}

impl OpenCaller {
    pub(super) fn is_ended(&self) -> bool {
        *self.ended.borrow()
    }

    /// Waits until the caller's access ends or changes.
    pub(super) async fn ended(&self) {
        // The sender lives in the registry as long as this does.
        let _ = self.ended.clone().wait_for(|ended| *ended).await;
    }
}

impl OpenCallers {
    /// Has all callers checked at once, because access was ended in this process.
    pub(super) fn check_now(&self) {
        self.0.check_now.notify_one();
    }
}

impl Service {
    /// Watches a caller's access. With `max_streams`, as a stream, and refused where the user has as many open.
    pub(super) async fn watch_caller(
        &self,
        actor: &Actor,
        max_streams: Option<u32>,
    ) -> Result<OpenCaller, ServiceError> {
        let caller = self.register(actor, max_streams)?;
        // What let the caller in may be a second old.
        self.open_callers.0.check(&*self.store, &*self.clock, Some(caller.id)).await?;
        if caller.is_ended() {
            return Err(access_ended());
        }
        Ok(caller)
    }

    fn register(&self, actor: &Actor, max_streams: Option<u32>) -> Result<OpenCaller, ServiceError> {
        let registry = &self.open_callers.0;
        let mut state = registry.lock();
        if let Some(limit) = max_streams {
            let of_user = |entry: &&Entry| entry.is_stream && entry.actor.user_id == actor.user_id;
            if state.open.values().filter(of_user).count() >= limit as usize {
                return Err(ServiceError::TooManyStreams(limit));
            }
        }
        let (id, (sender, ended)) = (state.next_id, watch::channel(false));
        state.next_id += 1;
        let is_stream = max_streams.is_some();
        let entry = Entry { actor: actor.clone(), is_stream, visible: None, ended: sender };
        state.open.insert(id, entry);
        if !std::mem::replace(&mut state.is_checked, true) {
            tokio::spawn(check(Arc::clone(registry), Arc::clone(&self.store), Arc::clone(&self.clock)));
        }
        Ok(OpenCaller { id, registry: Arc::clone(registry), ended })
    }
}

impl By<'_> {
    /// Waits for something as long as the caller's access lasts.
    pub(super) async fn while_let_in<T>(&self, wait: impl Future<Output = T>) -> Result<T, ServiceError> {
        let caller = self.watch_caller(self.actor, None).await?;
        tokio::select! {
            done = wait => Ok(done),
            () = caller.ended() => Err(access_ended()),
        }
    }
}

pub(super) fn access_ended() -> ServiceError {
    let message = "the access of this token or session ended or changed meanwhile; log in again";
    ServiceError::Unauthenticated(message.to_owned())
}

/// Checks all callers until none is open.
async fn check(registry: Arc<Registry>, store: Arc<dyn Store>, clock: Arc<dyn Clock>) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(CHECK_EVERY) => {}
            () = registry.check_now.notified() => {}
        }
        {
            let mut state = registry.lock();
            if state.open.is_empty() {
                state.is_checked = false;
                return;
            }
        }
        if let Err(error) = registry.check(&*store, &*clock, None).await {
            tracing::warn!(%error, "the access of open event streams could not be checked; they stay open until it can");
        }
    }
}

impl Registry {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends those whose access ended or changed; of all, or of one.
    async fn check(&self, store: &dyn Store, clock: &dyn Clock, one: Option<u64>) -> Result<(), StoreError> {
        let (tokens, sees_less) = {
            let state = self.lock();
            let actors = || {
                let meant = state.open.iter().filter(|(id, _)| one.is_none_or(|one| **id == one));
                meant.map(|(_, entry)| &entry.actor)
            };
            let tokens: BTreeSet<i64> = actors().filter_map(|actor| actor.token_id).collect();
            (tokens, actors().any(|actor| !actor.visibility().is_everything()))
        };
        let ids: Vec<i64> = tokens.into_iter().collect();
        let found = store.callers(&ids).await?;
        let collections = if sees_less { store.collections().await? } else { Vec::new() };
        let now = clock.now();
        let current: HashMap<i64, Actor> = found
            .into_iter()
            .filter(|(token, _)| token.token.expires_at > now)
            .map(|(token, user)| (token.id, Actor::by_token(user, &token)))
            .collect();
        for (_, entry) in self.lock().open.iter_mut().filter(|(id, _)| one.is_none_or(|one| **id == one)) {
            // Those that came meanwhile were not asked for.
            let Some(token_id) = entry.actor.token_id.filter(|id| ids.binary_search(id).is_ok()) else {
                continue;
            };
            let same = current.get(&token_id).is_some_and(|actor| actor.has_same_access(&entry.actor));
            if !same || entry.lost_a_collection(&collections) {
                entry.ended.send_replace(true);
            }
        }
        Ok(())
    }
}

impl Entry {
    /// Whether a collection that is still there was visible at the last check and is not any more.
    fn lost_a_collection(&mut self, collections: &[Collection]) -> bool {
        if self.actor.visibility().is_everything() {
            return false;
        }
        let viewer = self.actor.viewer();
        let (visible, hidden): (Vec<&Collection>, Vec<&Collection>) =
            collections.iter().partition(|collection| viewer.may_see(collection.access()));
        let visible = visible.into_iter().map(|collection| collection.id).collect();
        let before = self.visible.replace(visible).unwrap_or_default();
        hidden.iter().any(|collection| before.contains(&collection.id))
    }
}
