//! Known devices: a signed mark that a login leaves behind, so that strangers' guesses never lock out its owner.
//!
//! It lets nobody in, and whoever steals one may guess less often with it than strangers may without. It is bound to a
//! name and has an end; its signature is checked, and nothing about it is stored.

use gleaner_core::time::{Span, Time};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::{Service, ServiceError};
use crate::config::secret::Secret;
use crate::hex;
use crate::store::StoreError;
use crate::vault::{VaultError, random};

/// How long a device stays known after a login.
pub const DEVICE_LASTS: Span = Span::from_days(365);

impl Service {
    /// The mark for a device that has just logged in.
    pub(super) fn new_device(&self, name: &str, now: Time) -> Result<Secret, ServiceError> {
        let ends = (now + DEVICE_LASTS).as_millis();
        let text = format!("{ends}.{}", hex::encode(&random::<16>()?));
        let mac = hex::encode(&self.device_mac(name, &text)?.finalize().into_bytes());
        Ok(Secret::new(format!("{text}.{mac}")))
    }

    /// The id of the device, where its mark was made for this name and has not ended. A mark ends with the password that
    /// was in use when it was made.
    pub(super) async fn known_device(
        &self,
        name: &str,
        mark: &Secret,
        now: Time,
    ) -> Result<Option<String>, ServiceError> {
        let Some((text, mac)) = mark.expose().rsplit_once('.') else { return Ok(None) };
        let (Some(mac), Some((ends, id))) = (hex::decode(mac), text.split_once('.')) else { return Ok(None) };
        let Ok(ends) = ends.parse().map(Time::from_millis) else { return Ok(None) };
        if ends <= now || self.device_mac(name, text)?.verify_slice(&mac).is_err() {
            return Ok(None);
        }
        // Only whoever has logged in gets here: strangers cause no query.
        let set_at = match self.store.user_named(name).await {
            Ok(user) => user.password_set_at,
            Err(StoreError::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let made_at = ends - DEVICE_LASTS;
        Ok(Some(id.to_owned()).filter(|_| set_at.is_none_or(|set_at| made_at >= set_at)))
    }

    fn device_mac(&self, name: &str, text: &str) -> Result<Hmac<Sha256>, ServiceError> {
        let key = self.vault.derive("known devices")?;
        let mac = Hmac::<Sha256>::new_from_slice(&key).map_err(|_| VaultError::BadKey)?;
        // The text of a good mark has no such byte, so that nothing of it can pass for a part of the name.
        Ok(mac.chain_update(text).chain_update([0]).chain_update(name))
    }
}
