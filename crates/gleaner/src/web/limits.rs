//! How much, how often and how long: every request has its limits.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use gleaner_core::time::Span;

use super::problem::Problem;
use super::{MAX_SECONDS, Web};
use crate::service::{Actor, ServiceError};

/// Tokens that are remembered; those that were quiet for a while are forgotten first.
const TOKENS: usize = 10_000;

/// How often each token may ask: a bucket a token that fills up again with time.
#[derive(Clone)]
pub(super) struct Limits {
    per_minute: Option<f64>,
    buckets: Arc<Mutex<HashMap<i64, Bucket>>>,
}

#[derive(Clone, Copy)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl Limits {
    pub(super) fn new(per_minute: Option<NonZeroU32>) -> Self {
        Self { per_minute: per_minute.map(|n| f64::from(n.get())), buckets: Arc::default() }
    }

    /// Takes one from a token's bucket, or says how long to wait for it. A tenth of a minute's share may come at once.
    fn take(&self, token: i64, now: Instant) -> Result<(), Span> {
        let Some(per_minute) = self.per_minute else { return Ok(()) };
        let (rate, full) = (per_minute / 60.0, (per_minute / 10.0).max(1.0));
        let mut buckets = self.buckets.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if buckets.len() >= TOKENS {
            // What would be full again by now says nothing.
            buckets.retain(|_, bucket| now.duration_since(bucket.at).as_secs_f64() * rate < full);
        }
        let bucket = buckets.entry(token).or_insert(Bucket { left: full, at: now });
        bucket.left = (bucket.left + now.duration_since(bucket.at).as_secs_f64() * rate).min(full);
        bucket.at = now;
        if bucket.left >= 1.0 {
            bucket.left -= 1.0;
            return Ok(());
        }
        Err(Span::from_millis(((1.0 - bucket.left) / rate * 1000.0).ceil() as u64))
    }
}

/// Refuses a token that asks too often.
pub(super) async fn slow_down(State(limits): State<Limits>, request: Request, next: Next) -> Response {
    let token = request.extensions().get::<Actor>().and_then(|actor| actor.token_id);
    match token.map_or(Ok(()), |token| limits.take(token, Instant::now())) {
        Ok(()) => next.run(request).await,
        Err(wait) => Problem::from(ServiceError::TooMany(wait)).into_response(),
    }
}

/// Ends what takes too long, and measures the rest.
pub(super) async fn in_time(State(web): State<Web>, request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let limit = Duration::from_secs(MAX_SECONDS);
    let response = tokio::time::timeout(limit, next.run(request)).await.unwrap_or_else(|_| {
        let detail = format!("the request took longer than {MAX_SECONDS} s; nothing says how far it came");
        Problem::new(StatusCode::REQUEST_TIMEOUT, "timeout", "It took too long", detail).into_response()
    });
    web.service.metrics().record_request(response.status().as_u16(), begun.elapsed());
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_empties_and_fills_again() {
        let limits = Limits::new(NonZeroU32::new(60));
        let now = Instant::now();
        for _ in 0..6 {
            assert_eq!(limits.take(1, now), Ok(()));
        }
        assert_eq!(limits.take(1, now), Err(Span::from_secs(1)));
        assert_eq!(limits.take(2, now), Ok(()), "another token has its own");
        let later = now + Duration::from_secs(2);
        assert_eq!((limits.take(1, later), limits.take(1, later)), (Ok(()), Ok(())));
        assert!(limits.take(1, later).is_err());
        assert_eq!(Limits::new(None).take(1, now), Ok(()), "no limit is no limit");
    }
}
