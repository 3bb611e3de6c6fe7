//! Hashing passwords: slow and large on purpose, so one at a time, with a short queue before it.
//!
//! Strangers have a queue of their own. However many of them guess, whoever has logged in before waits for nobody else.

use std::sync::Arc;
use std::time::Duration;

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use gleaner_core::time::Span;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::ServiceError;
use crate::config::secret::Secret;

/// How many wait in each queue, the one that is hashed included. Each holds a password of at most a kilobyte.
const PLACES: usize = 16;
/// How long somebody waits; a hash takes some 20 ms.
const PATIENCE: Duration = Duration::from_secs(10);
/// When to come again where the queue is full.
const AGAIN: Span = Span::from_secs(2);

/// Who waits for a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Caller {
    /// Anybody.
    Stranger,
    /// Somebody who is logged in, or whose device was.
    Known,
}

/// The queues of a process.
pub(super) struct Passwords {
    strangers: Queue,
    known: Queue,
}

struct Queue {
    places: Arc<Semaphore>,
    turn: Arc<Semaphore>,
}

/// A place in a queue.
pub(super) struct Place {
    _place: OwnedSemaphorePermit,
    turn: Arc<Semaphore>,
}

impl Default for Queue {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(PLACES)), turn: Arc::new(Semaphore::new(1)) }
    }
}

impl Default for Passwords {
    fn default() -> Self {
        Self { strangers: Queue::default(), known: Queue::default() }
    }
}

impl Passwords {
    /// A place in the queue, where there is one.
    pub(super) fn queue(&self, caller: Caller) -> Result<Place, ServiceError> {
        let queue = match caller {
            Caller::Stranger => &self.strangers,
            Caller::Known => &self.known,
        };
        match Arc::clone(&queue.places).try_acquire_owned() {
            Ok(place) => Ok(Place { _place: place, turn: Arc::clone(&queue.turn) }),
            Err(_) => Err(ServiceError::Busy(AGAIN)),
        }
    }
}

impl Place {
    /// Whether a password is the one of a hash. Without a hash the same work is done, so that nobody learns by the clock
    /// which names there are.
    pub(super) async fn matches(self, password: Secret, hash: Option<String>) -> Result<bool, ServiceError> {
        self.run(move || password_matches(&password, hash.as_deref())).await
    }

    /// The hash of a new password.
    pub(super) async fn hash(self, password: Secret, salt: [u8; 16]) -> Result<String, ServiceError> {
        self.run(move || hash_password(&password, &salt)).await?
    }

    async fn run<T: Send + 'static>(
        self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ServiceError> {
        let turn = tokio::time::timeout(PATIENCE, Arc::clone(&self.turn).acquire_owned()).await;
        let Ok(Ok(turn)) = turn else { return Err(ServiceError::Busy(AGAIN)) };
        let ended = tokio::task::spawn_blocking(move || {
            let done = work();
            // Until here, even if whoever asked has hung up: what runs is what counts.
            drop((turn, self));
            done
        });
        let stopping = |_| ServiceError::conflict("interrupted", "gleaner is stopping; try again");
        ended.await.map_err(stopping)
    }
}

fn hash_password(password: &Secret, salt: &[u8]) -> Result<String, ServiceError> {
    let hash = Argon2::default().hash_password_with_salt(password.expose().as_bytes(), salt);
    let hash: PasswordHash = hash.map_err(|error| ServiceError::invalid("password", error.to_string()))?;
    Ok(hash.to_string())
}

fn password_matches(password: &Secret, hash: Option<&str>) -> bool {
    let Some(hash) = hash else {
        let _ = hash_password(password, &[0; 16]);
        return false;
    };
    let matches = |hash| Argon2::default().verify_password(password.expose().as_bytes(), &hash).is_ok();
    PasswordHash::new(hash).is_ok_and(matches)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_queue_is_short_and_everybody_has_an_own_one() {
        let passwords = Passwords::default();
        let places: Vec<Place> =
            (0..PLACES).map(|_| passwords.queue(Caller::Stranger).ok().unwrap()).collect();
        assert!(matches!(passwords.queue(Caller::Stranger), Err(ServiceError::Busy(_))));
        let known = passwords.queue(Caller::Known).ok().unwrap();
        let hash = known.hash(Secret::new("correct horse"), [1; 16]).await.unwrap();
        drop(places);
        let check = async |password: &str, hash: Option<&str>| {
            let place = passwords.queue(Caller::Stranger).ok().unwrap();
            place.matches(Secret::new(password), hash.map(str::to_owned)).await.unwrap()
        };
        assert!(check("correct horse", Some(&hash)).await);
        assert!(!check("wrong horse", Some(&hash)).await);
        assert!(!check("correct horse", None).await);
    }
}
