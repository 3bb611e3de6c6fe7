//! Whether everything is all right, and what was done of late: what somebody who looks in wants to know first.

use gleaner_core::time::{Span, Time};

use super::health::Counts;
use super::{Activity, By, EventQuery, Post, PostFilter, Readiness, ServiceError, Source, Told, Webhook};

/// How many hours are told.
const HOURS: i64 = 24;
/// How many events and posts are told.
const LATELY: u32 = 12;
/// What changed, without the posts.
const CHANGES: &str = "source.*,page.*,import.*,webhook.*,host.*,network.*";

/// What somebody who looks in wants to know.
#[derive(Debug, Clone, PartialEq)]
pub struct Overview {
    /// How many sources there are of each status.
    pub counts: Counts,
    /// The first sources that wait for a person.
    pub waiting: Vec<Source>,
    /// How many sources answer and yet seem to be wrong.
    pub suspects: u64,
    /// Webhooks that were given up.
    pub given_up: Vec<Webhook>,
    /// Whether gleaner itself is all right.
    pub readiness: Readiness,
    /// Whether whoever looks has no password yet.
    pub no_password: bool,
    /// Every hour of the last day, the oldest first; none where it would tell of what is hidden from the caller.
    pub activity: Vec<Activity>,
    /// What changed lately, the newest first.
    pub changes: Vec<Told>,
    /// What came lately, the newest first.
    pub posts: Vec<Post>,
}

impl By<'_> {
    /// All of it.
    pub async fn overview(&self) -> Result<Overview, ServiceError> {
        let counted = self.counted().await?;
        let (counts, waiting) = (counted.counts.clone(), counted.waiting.clone());
        let given_up =
            self.webhooks().await?.into_iter().filter(|one| one.progress.given_up_at.is_some()).collect();
        let me = self.store.users().await?.into_iter().find(|user| user.id == self.actor.user_id);
        let query = EventQuery { kinds: CHANGES.to_owned(), source_id: None };
        Ok(Overview {
            counts,
            waiting,
            suspects: counted.suspects,
            given_up,
            readiness: self.readiness().await,
            no_password: me.is_some_and(|user| user.password_hash.is_none()),
            activity: if self.visibility().await?.is_everything() {
                self.last_day().await?
            } else {
                Vec::new()
            },
            changes: self.events(&query, None, LATELY).await?,
            posts: self.posts(&PostFilter::default(), None, LATELY).await?,
        })
    }

    /// Every hour of the last day, also those in which nothing was done.
    async fn last_day(&self) -> Result<Vec<Activity>, ServiceError> {
        let hour = i64::try_from(Span::from_hours(1).as_millis()).unwrap_or(1);
        let this = self.clock.now().as_millis().div_euclid(hour) * hour;
        let first = this - (HOURS - 1) * hour;
        let done = self.store.activity(Time::from_millis(first)).await?;
        let hours = (0..HOURS).map(|n| Time::from_millis(first + n * hour));
        let of = |at: Time| done.iter().find(|one| one.hour == at).copied();
        Ok(hours.map(|at| of(at).unwrap_or(Activity { hour: at, ..Activity::default() })).collect())
    }
}
