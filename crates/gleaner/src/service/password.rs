//! Hashing passwords: slow and large on purpose, so one at a time, with a short queue before it.
//!
//! Strangers have a queue and a thread of their own. However many of them guess, whoever has logged in before waits for
//! nobody else, and after each of their guesses the thread rests for as long as that took: guesses never take more than
//! half a processor. Threads are few and stay, since each that hashes keeps the memory of its largest hash.

use std::cell::RefCell;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use argon2::password_hash::PasswordVerifier as _;
use argon2::password_hash::phc::{Output, ParamsString, PasswordHash, Salt};
use argon2::{ARGON2ID_IDENT, Argon2, Block, Params, Version};
use gleaner_core::time::Span;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

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
#[derive(Default)]
pub(super) struct Passwords {
    strangers: OnceLock<Queue>,
    known: OnceLock<Queue>,
}

type Job = Box<dyn FnOnce() + Send>;

struct Queue {
    places: Arc<Semaphore>,
    jobs: Sender<Job>,
}

/// A place in a queue.
pub(super) struct Place {
    place: OwnedSemaphorePermit,
    jobs: Sender<Job>,
}

impl Queue {
    fn start(caller: Caller) -> Self {
        let (jobs, waiting) = channel();
        let name = "passwords".to_owned();
        let rests = caller == Caller::Stranger;
        if let Err(error) = std::thread::Builder::new().name(name).spawn(move || work(&waiting, rests)) {
            tracing::error!(%error, "no thread for passwords could be started; nobody can log in by password");
        }
        Self { places: Arc::new(Semaphore::new(PLACES)), jobs }
    }
}

/// Does one after the other, until nobody can bring more.
fn work(waiting: &Receiver<Job>, rests: bool) {
    while let Ok(job) = waiting.recv() {
        let begun = Instant::now();
        job();
        if rests {
            std::thread::sleep(begun.elapsed());
        }
    }
}

impl Passwords {
    /// A place in the queue, where there is one.
    pub(super) fn queue(&self, caller: Caller) -> Result<Place, ServiceError> {
        let queue = match caller {
            Caller::Stranger => &self.strangers,
            Caller::Known => &self.known,
        };
        let queue = queue.get_or_init(|| Queue::start(caller));
        match Arc::clone(&queue.places).try_acquire_owned() {
            Ok(place) => Ok(Place { place, jobs: queue.jobs.clone() }),
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
        let Self { place, jobs } = self;
        let (done, result) = oneshot::channel();
        let job = move || {
            // Who has hung up learns nothing any more.
            if !done.is_closed() {
                let _ = done.send(work());
            }
            drop(place);
        };
        let stopping = || ServiceError::conflict("interrupted", "gleaner is stopping; try again");
        jobs.send(Box::new(job)).map_err(|_| stopping())?;
        match tokio::time::timeout(PATIENCE, result).await {
            Ok(result) => result.map_err(|_| stopping()),
            Err(_) => Err(ServiceError::Busy(AGAIN)),
        }
    }
}

thread_local! {
    /// The memory of this thread's hashes. Freed and allocated for each of them, it would fragment the heap and keep
    /// several times its size.
    static MEMORY: RefCell<Vec<Block>> = const { RefCell::new(Vec::new()) };
}

/// argon2 with its default parameters, in memory that the thread keeps.
fn derive(password: &Secret, salt: &[u8]) -> argon2::Result<[u8; 32]> {
    let (argon2, mut output) = (Argon2::default(), [0; 32]);
    MEMORY.with_borrow_mut(|memory| {
        memory.resize(argon2.params().block_count(), Block::new());
        argon2.hash_password_into_with_memory(password.expose().as_bytes(), salt, &mut output, memory)
    })?;
    Ok(output)
}

fn hash_password(password: &Secret, salt: &[u8]) -> Result<String, ServiceError> {
    let invalid = |error: String| ServiceError::invalid("password", error);
    let output = derive(password, salt).map_err(|error| invalid(error.to_string()))?;
    let argon2 = Argon2::default();
    let params = ParamsString::try_from(argon2.params()).map_err(|error| invalid(error.to_string()))?;
    let hash = PasswordHash {
        algorithm: ARGON2ID_IDENT,
        version: Some(Version::V0x13.into()),
        params,
        salt: Some(Salt::new(salt).map_err(|error| invalid(error.to_string()))?),
        hash: Some(Output::new(&output).map_err(|error| invalid(error.to_string()))?),
    };
    Ok(hash.to_string())
}

fn password_matches(password: &Secret, hash: Option<&str>) -> bool {
    let Some(hash) = hash else {
        let _ = derive(password, &[0; 16]);
        return false;
    };
    let Ok(stored) = PasswordHash::new(hash) else { return false };
    let (Some(salt), Some(expected)) = (&stored.salt, &stored.hash) else { return false };
    if !has_default_parameters(&stored) {
        return Argon2::default().verify_password(password.expose().as_bytes(), &stored).is_ok();
    }
    // Compares in constant time.
    derive(password, salt)
        .ok()
        .and_then(|output| Output::new(&output).ok())
        .is_some_and(|output| output == *expected)
}

fn has_default_parameters(hash: &PasswordHash) -> bool {
    let costs = |params: &Params| (params.m_cost(), params.t_cost(), params.p_cost());
    hash.algorithm == ARGON2ID_IDENT
        && hash.version == Some(Version::V0x13.into())
        && Params::try_from(hash).is_ok_and(|params| costs(&params) == costs(Argon2::default().params()))
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
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        let known = Argon2::default().verify_password(b"correct horse", &PasswordHash::new(&hash).unwrap());
        assert!(known.is_ok(), "any argon2 reads it");
        assert!(check("correct horse", Some(&hash)).await);
        assert!(!check("wrong horse", Some(&hash)).await);
        assert!(!check("correct horse", None).await);
    }
}
