//! One source polled now, because somebody asks for it, under the same lease as everybody's.

use std::sync::Arc;

use gleaner_core::time::Time;
use tokio::sync::Semaphore;

use super::poll::{Turn, poll};
use super::record::Shared;
use super::{Context, Inner};
use crate::store::{Claim, ClaimRequest, Lease, Release, StoreError};

/// How many sources are polled by hand at once; people do not wait behind what is due.
const AT_ONCE: usize = 16;

/// Polls single sources.
#[derive(Clone)]
pub struct Poller {
    inner: Arc<Inner>,
    permits: Arc<Semaphore>,
    owner: String,
}

impl Poller {
    /// One without an engine; `owner` names it among workers.
    pub fn new(cx: Context, owner: impl Into<String>) -> Self {
        let owner = owner.into();
        Self::of(Arc::new(Inner::new(cx, owner.clone())), owner)
    }

    /// One that shares an engine's client and its writer.
    pub(super) fn of(inner: Arc<Inner>, owner: String) -> Self {
        Self { inner, permits: Arc::new(Semaphore::new(AT_ONCE)), owner }
    }

    /// Leases the host of a source; none where somebody else has it.
    pub async fn claim(&self, id: i64, now: Time) -> Result<Option<Claim>, StoreError> {
        let lease = self.inner.cx.lease();
        let request = ClaimRequest::all(now, lease, &*self.owner, 1, 1);
        let claim = self.inner.cx.store.claim_source(id, &request).await?;
        if let Some(claim) = &claim {
            self.inner.leases.take_by_hand(claim.lease, now + lease);
        }
        Ok(claim)
    }

    /// Gives a host back without polling.
    pub async fn give_back(&self, lease: Lease) -> Result<(), StoreError> {
        self.inner.leases.drop_one(lease);
        self.inner.cx.store.release(&[Release::of(lease)]).await
    }

    /// Polls a claimed source and gives its host back; whether the outcome was recorded. It was not where the source
    /// was edited or deleted meanwhile.
    pub async fn poll(&self, claim: Claim) -> Shared<bool> {
        let lease = claim.lease;
        let polled = self.poll_held(claim).await;
        self.inner.leases.drop_one(lease);
        polled
    }

    async fn poll_held(&self, claim: Claim) -> Shared<bool> {
        let Claim { lease, host, mut memory, host_sources, sources, .. } = claim;
        let polling = async {
            let Some(source) = sources.into_iter().next() else {
                return self.give_back(lease).await.map(|()| false).map_err(Arc::new);
            };
            let delay = self.inner.cx.delay(source.settings.poll_delay, source.settings.kind, &host);
            let turn = Turn { lease, host_sources, many: false, last: true, delay };
            match self.permits.acquire().await {
                Ok(permit) => poll(&self.inner, permit.into(), turn, &mut memory, source)
                    .await
                    .map(|polled| polled.stored),
                Err(_) => Ok(false),
            }
        };
        let mut polling = std::pin::pin!(polling);
        let heartbeat = self.inner.cx.clock.real_duration(self.inner.cx.heartbeat());
        loop {
            tokio::select! {
                polled = &mut polling => return polled,
                () = tokio::time::sleep(heartbeat) => self.renew(lease).await,
            }
        }
    }

    async fn renew(&self, lease: Lease) {
        let until = self.inner.cx.clock.now() + self.inner.cx.lease();
        match self.inner.cx.store.heartbeat(&[lease], until).await {
            Ok(kept) => {
                self.inner.leases.renew(&[lease], &kept, until);
            }
            Err(error) => {
                tracing::warn!(%error, "the lease of a poll by hand could not be renewed; it may be discarded")
            }
        }
    }
}
