//! Fetches and caches robots.txt, once a day per origin, with the same client as everything else.
//!
//! As in RFC 9309: a 4xx status (except 429, which is temporary) or a failing redirect means that there is no
//! robots.txt, and everything is allowed. If the server fails or cannot be reached, nothing is allowed: the poll
//! fails with the error of robots.txt rather than with `blocked`, because it may pass. An older copy is used
//! meanwhile. After 30 days of failures it counts as absent.
//!
//! There is no copy on disk: after a restart robots.txt is fetched again, and the 30 days start again. If a page
//! redirects to another origin, that origin's robots.txt is not checked.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gleaner_core::classify::Fault;
use gleaner_core::outcome::Failure;
use gleaner_core::time::{Span, Time};
use url::{Position, Url};

use super::client::Fetcher;
use super::robots::Robots;
use super::types::{FetchError, Request};

/// How long a robots.txt is used.
const LIFETIME: Span = Span::from_hours(24);
/// How long a failure is remembered: no source is polled more often, and all sources of a host share it.
const FAILURE_LIFETIME: Span = Span::from_mins(1);
/// After failing for so long, robots.txt counts as absent.
const MAX_FAILING_TIME: Span = Span::from_days(30);
/// Maximum number of cached origins.
const MAX_ORIGINS: usize = 10_000;
/// Maximum size of all cached rules, in bytes.
const MAX_WEIGHT: usize = 32 << 20;

#[derive(Default)]
pub(super) struct Cache(Mutex<HashMap<String, CachedRobots>>);

/// What is known about the robots.txt of an origin.
#[derive(Clone, Default)]
struct CachedRobots {
    read: Option<(Time, Arc<Robots>)>,
    failing: Option<RobotsFailure>,
    /// See [`Robots::weight`], which takes linear time.
    weight: usize,
}

#[derive(Clone)]
struct RobotsFailure {
    since: Time,
    last: Time,
    failure: Failure,
}

impl Fetcher {
    /// Fails if robots.txt disallows a page, or cannot be fetched now.
    pub async fn check_robots(&self, url: &Url, now: Time) -> Result<(), Failure> {
        let robots = self.robots(url, now).await?;
        if robots.allows(&url[Position::BeforePath..Position::AfterQuery]) {
            return Ok(());
        }
        let host = url.host_str().unwrap_or_default();
        let why =
            format!("robots.txt of {host} disallows it; set ignore_robots on the source to fetch it anyway");
        Err(Fault::Blocked(why).into_failure(None))
    }

    /// The rules for the origin of a URL, from the cache if they are fresh.
    pub async fn robots(&self, url: &Url, now: Time) -> Result<Arc<Robots>, Failure> {
        let origin = url.origin().ascii_serialization();
        let cached = self.robots.get(&origin);
        if let Some(answer) = cached.answer(now) {
            return answer;
        }
        let cached = cached.with_result(self.read_robots(url, now).await, now);
        self.robots.put(origin, cached.clone());
        cached.answer(now).unwrap_or_else(|| Ok(Arc::default()))
    }

    async fn read_robots(&self, url: &Url, now: Time) -> Result<Robots, Failure> {
        let Ok(address) = url.join("/robots.txt") else { return Ok(Robots::default()) };
        let request = Request { accept: "text/plain,*/*;q=0.5".to_owned(), ..Request::new(address) };
        match self.fetch(&request, now).await {
            Ok(response) => Ok(Robots::parse(&response.body)),
            Err(failed) if is_absent(&failed) => Ok(Robots::default()),
            Err(failed) => {
                let failure = Failure::from(failed);
                let host = url.host_str().unwrap_or_default();
                Err(Failure { message: format!("robots.txt of {host}: {}", failure.message), ..failure })
            }
        }
    }
}

/// Whether a failure means that there is no robots.txt, rather than that it cannot be fetched now.
fn is_absent(failed: &FetchError) -> bool {
    match (&failed.fault, failed.status) {
        (Fault::Status(429), _) => false,
        (Fault::Status(_) | Fault::Other(_), Some(status)) => status < 500,
        // The origin may not be fetched at all; the request for the page itself reports that.
        (Fault::Blocked(_), _) => true,
        _ => false,
    }
}

impl CachedRobots {
    /// The answer from the cache; `None` if robots.txt must be fetched.
    fn answer(&self, now: Time) -> Option<Result<Arc<Robots>, Failure>> {
        match (&self.read, &self.failing) {
            (Some((at, robots)), _) if within(*at, now, LIFETIME) => Some(Ok(Arc::clone(robots))),
            (read, Some(failing)) if within(failing.last, now, FAILURE_LIFETIME) => {
                let copy = read.as_ref().map(|(_, robots)| Arc::clone(robots));
                Some(match copy {
                    _ if now.since(failing.since) >= MAX_FAILING_TIME => Ok(Arc::default()),
                    Some(copy) => Ok(copy),
                    None => Err(failing.failure.clone()),
                })
            }
            _ => None,
        }
    }

    /// Adds the result of a fetch.
    fn with_result(self, result: Result<Robots, Failure>, now: Time) -> Self {
        match result {
            Ok(robots) => {
                Self { weight: robots.weight(), read: Some((now, Arc::new(robots))), failing: None }
            }
            Err(failure) => {
                let since = self.failing.map_or(now, |before| before.since);
                Self { failing: Some(RobotsFailure { since, last: now, failure }), ..self }
            }
        }
    }

    fn last_fetched_at(&self) -> Option<Time> {
        self.read.as_ref().map(|(at, _)| *at).max(self.failing.as_ref().map(|failing| failing.last))
    }
}

/// Whether two times are less than `span` apart, in either order, since clocks may jump.
fn within(at: Time, now: Time, span: Span) -> bool {
    now.since(at) < span && at.since(now) < span
}

impl Cache {
    fn get(&self, origin: &str) -> CachedRobots {
        self.lock().get(origin).cloned().unwrap_or_default()
    }

    /// Stores an entry, and evicts the oldest ones if the cache is too large.
    fn put(&self, origin: String, cached: CachedRobots) {
        let mut all = self.lock();
        all.insert(origin, cached);
        let mut weight: usize = all.values().map(|cached| cached.weight).sum();
        while all.len() > MAX_ORIGINS || weight > MAX_WEIGHT {
            let oldest = all
                .iter()
                .min_by_key(|(_, cached)| cached.last_fetched_at())
                .map(|(origin, _)| origin.clone());
            let Some(gone) = oldest.and_then(|origin| all.remove(&origin)) else { return };
            weight -= gone.weight;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, CachedRobots>> {
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
        let small = |n: usize| CachedRobots::default().with_result(Ok(Robots::default()), at(n));
        cache.lock().extend((0..MAX_ORIGINS).map(|n| (n.to_string(), small(n))));
        cache.put("new".into(), small(MAX_ORIGINS));
        assert_eq!(cache.lock().len(), MAX_ORIGINS);
        assert!(cache.get("0").read.is_none() && cache.get("new").read.is_some(), "the oldest is gone");
        let line = format!("Disallow: /{}\n", "a".repeat(1000));
        let large = Robots::parse(format!("User-agent: *\n{}", line.repeat(400)).as_bytes());
        for n in 0..100 {
            cache.put(
                format!("large {n}"),
                CachedRobots::default().with_result(Ok(large.clone()), at(1_000_000 + n)),
            );
        }
        let weight: usize = cache.lock().values().map(|cached| cached.weight).sum();
        assert!(weight <= MAX_WEIGHT && weight > MAX_WEIGHT / 2, "{weight}");
    }
}
