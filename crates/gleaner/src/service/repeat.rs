//! Requests that are carried out once, however often they are sent.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::{By, ServiceError};
use crate::store::IdempotencyState;

impl By<'_> {
    /// What a request is known by. Keyed, since what was sent may hold secrets that are short enough to be guessed.
    pub fn fingerprint(&self, parts: &[&[u8]]) -> Result<Vec<u8>, ServiceError> {
        let broken = |_| {
            ServiceError::conflict(
                "no_fingerprint",
                "the request cannot be kept under its Idempotency-Key; send it without one",
            )
        };
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.signing_key()?).map_err(broken)?;
        for part in parts {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        Ok(mac.finalize().into_bytes().to_vec())
    }

    /// Begins a request under a key of its sender's.
    pub async fn begin_request(
        &self,
        key: &str,
        fingerprint: &[u8],
    ) -> Result<IdempotencyState, ServiceError> {
        Ok(self.store.begin_request(self.actor.user_id, key, fingerprint, self.clock.now()).await?)
    }

    /// Keeps its answer for a day; none: it was not carried out, and may be sent again.
    pub async fn end_request(&self, key: &str, answer: Option<(u16, &[u8])>) -> Result<(), ServiceError> {
        Ok(self.store.end_request(self.actor.user_id, key, answer).await?)
    }
}
