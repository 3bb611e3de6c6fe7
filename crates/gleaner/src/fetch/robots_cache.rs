//! robots.txt as it is asked for: once a day an origin, by the same guarded client as everything else.
//!
//! As RFC 9309 has it: a 4xx (but 429, which only asks for patience) or a redirect that leads nowhere means that there
//! is no robots.txt, and everything may be fetched. A server that fails, or cannot be reached, means that nothing may:
//! the poll then fails as robots.txt did, and not as `blocked`, since it may pass. Meanwhile an older copy still
//! counts. After 30 days of that it is as if there were none.
//!
//! Absent on purpose: a copy on disk. A restart asks again, and counts the 30 days anew. Where a page redirects to
//! another origin, that one's robots.txt is not asked.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gleaner_core::classify::Fault;
use gleaner_core::outcome::Failure;
use gleaner_core::time::{Span, Time};
use url::{Position, Url};

use super::client::Fetcher;
use super::robots::Robots;
use super::types::{Failed, Request};

/// How long a robots.txt counts.
const LIFETIME: Span = Span::from_hours(24);
/// How long a failure counts: no source is polled more often, and a host's sources share it.
const FAILURE_LIFETIME: Span = Span::from_mins(1);
/// How long a server may fail until it counts as having none.
const PATIENCE: Span = Span::from_days(30);
/// How many origins are remembered.
const MAX_ORIGINS: usize = 10_000;
/// How much all their rules take together, in bytes: most are small, and a few are made not to be.
const MAX_WEIGHT: usize = 32 << 20;

/// What is known of origins.
#[derive(Default)]
pub(super) struct Cache(Mutex<HashMap<String, Known>>);

/// What is known of an origin.
#[derive(Clone, Default)]
struct Known {
    read: Option<(Time, Arc<Robots>)>,
    failing: Option<Failing>,
    /// See [`Robots::weight`], which takes time in proportion to it.
    weight: usize,
}

#[derive(Clone)]
struct Failing {
    since: Time,
    last: Time,
    failure: Failure,
}

impl Fetcher {
    /// Whether robots.txt lets us fetch a page; else why the page is not to be fetched now.
    pub async fn allowed(&self, url: &Url, now: Time) -> Result<(), Failure> {
        let robots = self.robots(url, now).await?;
        if robots.allows(&url[Position::BeforePath..Position::AfterQuery]) {
            return Ok(());
        }
        let host = url.host_str().unwrap_or_default();
        let why = format!(
            "robots.txt of {host} refuses it; ignore_robots on the source would fetch it all the same"
        );
        Err(Fault::Blocked(why).into_failure(None))
    }

    /// The rules for us at the origin of a URL, from the cache where they are fresh.
    pub async fn robots(&self, url: &Url, now: Time) -> Result<Arc<Robots>, Failure> {
        let origin = url.origin().ascii_serialization();
        let known = self.robots.get(&origin);
        if let Some(answer) = known.answer(now) {
            return answer;
        }
        let known = known.learn(self.read_robots(url, now).await, now);
        self.robots.put(origin, known.clone());
        known.answer(now).unwrap_or_else(|| Ok(Arc::default()))
    }

    async fn read_robots(&self, url: &Url, now: Time) -> Result<Robots, Failure> {
        let Ok(address) = url.join("/robots.txt") else { return Ok(Robots::default()) };
        let request = Request { accept: "text/plain,*/*;q=0.5".to_owned(), ..Request::new(address) };
        match self.fetch(&request, now).await {
            Ok(response) => Ok(Robots::parse(&response.body)),
            Err(failed) if means_none(&failed) => Ok(Robots::default()),
            Err(failed) => {
                let failure = Failure::from(failed);
                let host = url.host_str().unwrap_or_default();
                Err(Failure { message: format!("robots.txt of {host}: {}", failure.message), ..failure })
            }
        }
    }
}

/// Whether a failure means that there is no robots.txt, rather than one that cannot be read now.
fn means_none(failed: &Failed) -> bool {
    match (&failed.fault, failed.status) {
        (Fault::Status(429), _) => false,
        (Fault::Status(_) | Fault::Other(_), Some(status)) => status < 500,
        // Nothing is there that we would go to; and what may be said of the page itself its own request says.
        (Fault::Blocked(_), _) => true,
        _ => false,
    }
}

impl Known {
    /// What can be said without asking; none: it is to be asked.
    fn answer(&self, now: Time) -> Option<Result<Arc<Robots>, Failure>> {
        match (&self.read, &self.failing) {
            (Some((at, robots)), _) if within(*at, now, LIFETIME) => Some(Ok(Arc::clone(robots))),
            (read, Some(failing)) if within(failing.last, now, FAILURE_LIFETIME) => {
                let copy = read.as_ref().map(|(_, robots)| Arc::clone(robots));
                Some(match copy {
                    _ if now.since(failing.since) >= PATIENCE => Ok(Arc::default()),
                    Some(copy) => Ok(copy),
                    None => Err(failing.failure.clone()),
                })
            }
            _ => None,
        }
    }

    /// The same with what asking has brought.
    fn learn(self, brought: Result<Robots, Failure>, now: Time) -> Self {
        match brought {
            Ok(robots) => {
                Self { weight: robots.weight(), read: Some((now, Arc::new(robots))), failing: None }
            }
            Err(failure) => {
                let since = self.failing.map_or(now, |before| before.since);
                Self { failing: Some(Failing { since, last: now, failure }), ..self }
            }
        }
    }

    fn latest(&self) -> Option<Time> {
        self.read.as_ref().map(|(at, _)| *at).max(self.failing.as_ref().map(|failing| failing.last))
    }
}

/// Whether a time lies no further away than that, in either direction: clocks jump.
fn within(at: Time, now: Time, span: Span) -> bool {
    now.since(at) < span && at.since(now) < span
}

impl Cache {
    fn get(&self, origin: &str) -> Known {
        self.lock().get(origin).cloned().unwrap_or_default()
    }

    /// Remembers, and forgets what was learned longest ago where it becomes too much.
    fn put(&self, origin: String, known: Known) {
        let mut all = self.lock();
        all.insert(origin, known);
        let mut weight: usize = all.values().map(|known| known.weight).sum();
        while all.len() > MAX_ORIGINS || weight > MAX_WEIGHT {
            let oldest = all.iter().min_by_key(|(_, known)| known.latest()).map(|(origin, _)| origin.clone());
            let Some(gone) = oldest.and_then(|origin| all.remove(&origin)) else { return };
            weight -= gone.weight;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_bounded() {
        let cache = Cache::default();
        let at = |n: usize| Time::from_millis(i64::try_from(n).unwrap());
        let small = |n: usize| Known::default().learn(Ok(Robots::default()), at(n));
        cache.lock().extend((0..MAX_ORIGINS).map(|n| (n.to_string(), small(n))));
        cache.put("new".into(), small(MAX_ORIGINS));
        assert_eq!(cache.lock().len(), MAX_ORIGINS);
        assert!(cache.get("0").read.is_none() && cache.get("new").read.is_some(), "the oldest is gone");
        let line = format!("Disallow: /{}\n", "a".repeat(1000));
        let large = Robots::parse(format!("User-agent: *\n{}", line.repeat(400)).as_bytes());
        for n in 0..100 {
            cache.put(format!("large {n}"), Known::default().learn(Ok(large.clone()), at(1_000_000 + n)));
        }
        let weight: usize = cache.lock().values().map(|known| known.weight).sum();
        assert!(weight <= MAX_WEIGHT && weight > MAX_WEIGHT / 2, "{weight}");
    }
}
