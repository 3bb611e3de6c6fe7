//! Keys of users for services, and credentials of sources: set, asked after, removed; never shown.

use gleaner_core::health::{Decision, Health, Quarantine, by_hand};
use gleaner_core::outcome::ErrorKind;
use gleaner_core::source::Kind;
use gleaner_core::time::Time;

use super::audit::Target;
use super::{By, Scope, ServiceError};
use crate::config::secret::Secret;
use crate::engine::{self, seal_credential, seal_key};
use crate::fetch::Credential;
use crate::store::{SourceEdit, SourceFilter, StoreError};

/// The services that take keys.
pub const SERVICES: [&str; 1] = [engine::X];
/// Sources read at once.
const PAGE: u32 = 500;

impl By<'_> {
    /// Sets a user's key for a service. The sources that failed for want of one are due at once; how many those are.
    pub async fn set_key(&self, user: &str, service: &str, key: &Secret) -> Result<u64, ServiceError> {
        check_service(service)?;
        let key = checked(key)?;
        let owner = self.owner(user).await?;
        let sealed = seal_key(&self.vault, owner, service, &key)?;
        let target = Target::new("key", Some(owner), &format!("{user}: {service}"));
        let store = self.audited("key.set", target, None);
        store.set_credential(owner, service, Some(&sealed), self.clock.now()).await?;
        self.wake_unauthorized(owner).await
    }

    /// The services that one has keys for oneself, and since when.
    pub async fn keys(&self) -> Result<Vec<(String, Time)>, ServiceError> {
        self.actor.must(Scope::Read)?;
        self.actor.must_be_unlimited()?;
        Ok(self.store.credentials(self.actor.user_id).await?)
    }

    /// Whether a user has a key for a service.
    pub async fn has_key(&self, user: &str, service: &str) -> Result<bool, ServiceError> {
        check_service(service)?;
        let owner = self.owner(user).await?;
        Ok(self.store.credential(owner, service).await?.is_some())
    }

    /// Removes a user's key for a service; whether there was one.
    pub async fn remove_key(&self, user: &str, service: &str) -> Result<bool, ServiceError> {
        let had = self.has_key(user, service).await?;
        let owner = self.owner(user).await?;
        let target = Target::new("key", Some(owner), &format!("{user}: {service}"));
        let store = self.audited("key.remove", target, None);
        store.set_credential(owner, service, None, self.clock.now()).await?;
        Ok(had)
    }

    /// The user whose keys are meant: everybody sets their own, and who is at the machine sets anybody's.
    async fn owner(&self, user: &str) -> Result<i64, ServiceError> {
        self.actor.must(Scope::Write)?;
        self.actor.must_be_unlimited()?;
        if user != self.actor.name && self.actor.token_id.is_some() {
            return Err(ServiceError::Forbidden(format!("the keys of {user} are set by {user} alone")));
        }
        Ok(self.store.user_named(user).await?.id)
    }

    /// Sets the credential that a source is asked with, sent to its own origin only; none removes it.
    pub async fn set_source_credential(
        &self,
        id: i64,
        credential: Option<&Credential>,
    ) -> Result<(), ServiceError> {
        self.actor.must(Scope::Write)?;
        if let Some(why) = credential.and_then(Credential::problem) {
            return Err(ServiceError::invalid("credential", why));
        }
        self.edit_source(id, |source, now| {
            let mut edit = SourceEdit::of(source);
            let seal = |credential| seal_credential(&self.vault, &source.settings.url, credential);
            edit.settings.secret = credential.map(seal).transpose()?;
            Ok(Some(match woken(&source.health, now) {
                Some(decision) => edit.deciding(decision),
                None => edit,
            }))
        })
        .await
        .map(|_| ())
    }

    /// Makes an owner's sources due that failed for want of a key.
    async fn wake_unauthorized(&self, owner_id: i64) -> Result<u64, ServiceError> {
        let mut woken_up = 0;
        let collections = self.store.collections().await?;
        for collection in collections.into_iter().filter(|collection| collection.owner_id == owner_id) {
            let filter = SourceFilter {
                kind: Some(Kind::X),
                collection_id: Some(collection.id),
                ..SourceFilter::default()
            };
            let mut after = None;
            loop {
                let page = self.store.sources(&filter, after, PAGE).await?;
                let Some(last) = page.last() else { break };
                after = Some(last.id);
                for source in page {
                    woken_up += u64::from(self.wake(source.id).await?);
                }
            }
        }
        Ok(woken_up)
    }

    async fn wake(&self, id: i64) -> Result<bool, ServiceError> {
        let woken = self.edit_source(id, |source, now| {
            Ok(woken(&source.health, now).map(|decision| SourceEdit::of(source).deciding(decision)))
        });
        match woken.await {
            // It was deleted meanwhile.
            Err(ServiceError::Store(StoreError::NotFound { .. })) => Ok(false),
            result => result,
        }
    }
}

/// A source that failed for want of a key, due at once; what a person disabled or set aside stays so, and whether the
/// key is any good the poll will tell.
pub(super) fn woken(health: &Health, now: Time) -> Option<Decision> {
    let row = health.failing.as_ref()?;
    let held = health.quarantine.as_ref();
    if row.kind != ErrorKind::Unauthorized
        || health.disabled.is_some()
        || held.is_some_and(|held| held.by_hand)
    {
        return None;
    }
    let quarantine = held.map(|held| Quarantine { retry_at: Some(now), ..held.clone() });
    Some(by_hand(Health { quarantine, ..health.clone() }, Vec::new(), now))
}

fn check_service(service: &str) -> Result<(), ServiceError> {
    if SERVICES.contains(&service) {
        return Ok(());
    }
    let known = SERVICES.join(", ");
    Err(ServiceError::invalid(
        "service",
        format!("'{service}' is no service that takes a key; there are {known}"),
    ))
}

/// A key as it can stand in a header. People paste them with what stands before them.
fn checked(key: &Secret) -> Result<Secret, ServiceError> {
    let text = key.expose().trim();
    let text = text.strip_prefix("Bearer ").unwrap_or(text).trim();
    let fits = !text.is_empty() && text.len() <= 4096 && text.bytes().all(|byte| byte.is_ascii_graphic());
    if fits {
        return Ok(Secret::new(text));
    }
    Err(ServiceError::invalid("key", "a key is up to 4096 letters, digits and signs, without spaces"))
}
