//! What another policy would have made of the recorded polls, a page of sources at a time.
//!
//! One source's history is in memory at a time, read in pages. Absent on purpose: the judging, which is
//! [`gleaner_core::replay`]'s, and sums over pages, which are the reader's.

use std::collections::BTreeMap;
use std::sync::Arc;

use gleaner_core::outcome::{Failure, Outcome};
use gleaner_core::overlay::{self, PolicyOverlay};
use gleaner_core::policy::Policy;
use gleaner_core::replay::{Recorded, Replayed, Subject, Window, replay};
use gleaner_core::source::Kind;
use gleaner_core::time::{Span, Time};

use super::{By, Poll, Scope, ServiceError, Source, SourceFilter, Wrong};

/// Rows of the history that are read at once.
const PAGE: u32 = 500;
/// The most rows of one source that are read; what is older is as if it were not kept.
const MOST_ROWS: usize = 20_000;
/// The most times at which a source's pages became posts.
const MOST_TIMES: u32 = 10_000;
/// Polls are not closer to each other.
const CLOSEST: u64 = 60_000;

/// The policy to try.
#[derive(Debug, Clone, PartialEq)]
pub enum Tried {
    /// One that config has.
    Named(String),
    /// A table, laid over a shipped one.
    Table(String, Box<PolicyOverlay>),
}

/// Which sources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplayOf {
    /// These.
    Ids(Vec<i64>),
    /// Those that a list would show, after that one, so many at most.
    Filter(Box<SourceFilter>, Option<i64>, u32),
}

/// What would have been, for a page of sources.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayPage {
    /// The policy that was tried.
    pub policy: String,
    /// The time that is told of.
    pub window: Window,
    /// Each source of the page.
    pub sources: Vec<ReplayedSource>,
    /// How many sources all pages have.
    pub total: u64,
    /// Where to go on; none: that were all.
    pub next: Option<i64>,
}

/// What would have been, for a source.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayedSource {
    /// Its id.
    pub id: i64,
    /// Its URL.
    pub url: String,
    /// The policy that it goes by.
    pub policy: String,
    /// The earliest poll that was replayed within the time; none: there was none.
    pub earliest: Option<Time>,
    /// What was, and what would have been.
    pub replayed: Replayed,
}

impl By<'_> {
    /// Runs the polls that were recorded since then through another policy.
    pub async fn replay(
        &self,
        tried: &Tried,
        since: Time,
        of: &ReplayOf,
    ) -> Result<ReplayPage, ServiceError> {
        self.actor.must(Scope::Read)?;
        let policy = Arc::new(self.tried(tried)?);
        let window = Window { since, until: self.clock.now() };
        let (page, total, next) = match of {
            ReplayOf::Ids(ids) => {
                let mut page = Vec::with_capacity(ids.len());
                for id in ids {
                    page.push(self.visible_source(*id).await?);
                }
                (page, ids.len() as u64, None)
            }
            ReplayOf::Filter(filter, after, limit) => {
                let filter = self.visible(filter).await?;
                let page = self.store.sources(&filter, *after, *limit).await?;
                let next = page.last().map(|source| source.id).filter(|_| page.len() == *limit as usize);
                (page, self.store.count_sources(&filter, u32::MAX).await?, next)
            }
        };
        let mut sources = Vec::with_capacity(page.len());
        for source in page {
            sources.push(self.replay_source(source, &policy, window).await?);
        }
        Ok(ReplayPage { policy: policy.name.clone(), window, sources, total, next })
    }

    /// The policy that is meant.
    fn tried(&self, tried: &Tried) -> Result<Policy, ServiceError> {
        match tried {
            Tried::Named(name) => {
                self.config.policies.get(name).cloned().ok_or_else(|| ServiceError::missing("policy", name))
            }
            Tried::Table(name, table) => {
                let overlays = BTreeMap::from([(name.clone(), (**table).clone())]);
                let built = overlay::build(self.config.source.knobs, &overlays).map_err(|errors| {
                    let wrong =
                        |error: overlay::PolicyError| Wrong { message: error.to_string(), field: error.key };
                    ServiceError::Invalid(errors.into_iter().map(wrong).collect())
                })?;
                built.get(name).cloned().ok_or_else(|| ServiceError::missing("policy", name))
            }
        }
    }

    async fn replay_source(
        &self,
        source: Source,
        other: &Arc<Policy>,
        window: Window,
    ) -> Result<ReplayedSource, ServiceError> {
        let history = self.recorded(&source, window.since).await?;
        let own = self.config.policy(source.settings.policy.as_deref()).clone();
        let interval = source.settings.interval.resolve(self.config.source.poll_interval);
        let (policy, other) = (own.name.clone(), Arc::clone(other));
        let earliest = history.iter().map(|poll| poll.at).find(|at| *at >= window.since);
        // A month of polls at every minute takes its time.
        let work = move || {
            let (health, hints) = (&source.health, &source.memory.hints);
            let subject = Subject { health, hints, interval, policy: &own };
            let replayed = replay(&subject, &history, &other, window);
            ReplayedSource { id: source.id, url: source.settings.url, policy, earliest, replayed }
        };
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(|_| ServiceError::conflict("interrupted", "gleaner is stopping; try again"))
    }

    /// A source's polls since then and those before them back to a success, which tells how it was; the oldest first.
    async fn recorded(&self, source: &Source, since: Time) -> Result<Vec<Recorded>, ServiceError> {
        let (mut rows, mut before, mut done) = (Vec::new(), None, false);
        while !done && rows.len() < MOST_ROWS {
            let page = self.store.polls(source.id, before, PAGE).await?;
            done = page.len() < PAGE as usize;
            before = page.last().map(|poll| poll.id);
            for row in page {
                let reached = row.record.at < since && row.record.error.is_none();
                rows.push(row);
                if reached {
                    done = true;
                    break;
                }
            }
        }
        let mut polls: Vec<Recorded> = rows.iter().rev().flat_map(polls_of).collect();
        if source.settings.kind == Kind::Watchlist || source.settings.full_content {
            let times = self.store.posts_by_time(source.id, since, MOST_TIMES).await?;
            credit(&mut polls, &times);
        }
        Ok(polls)
    }
}

/// The polls that a row stands for; of those that share it only the first and the last time are known.
fn polls_of(row: &Poll) -> impl Iterator<Item = Recorded> {
    let (first, last) = (row.first_at, row.record.at);
    let between = last.since(first).as_millis();
    let count = u64::try_from(row.count).unwrap_or(1).clamp(1, between / CLOSEST + 1);
    let outcome = match (&row.record.error, row.record.outcome.as_str()) {
        (Some((kind, message)), _) => Outcome::Failed(Failure {
            kind: *kind,
            status: row.record.status_code,
            message: message.clone(),
            retry_after: None,
        }),
        (None, "not_modified") => Outcome::NotModified { retry_after: None },
        (None, _) => Outcome::Fetched { retry_after: None },
    };
    let posts = u64::try_from(row.new_posts).unwrap_or(0);
    let (rule, excused) = (row.record.rule.clone(), row.record.excused.is_some());
    (0..count).map(move |n| Recorded {
        at: if n + 1 == count { last } else { first + Span::from_millis(between / (count - 1) * n) },
        outcome: outcome.clone(),
        rule: rule.clone(),
        posts: if n == 0 { posts } else { 0 },
        excused,
    })
}

/// Pages of their own became posts some time after the poll that found them: they are that poll's.
fn credit(polls: &mut [Recorded], times: &[(Time, u64)]) {
    for poll in polls.iter_mut() {
        poll.posts = 0;
    }
    for (at, count) in times {
        let before = polls.partition_point(|poll| poll.at <= *at);
        let found = polls.get_mut(..before).unwrap_or_default().iter_mut().rev();
        if let Some(poll) = found.into_iter().find(|poll| poll.outcome.failure().is_none()) {
            poll.posts = poll.posts.saturating_add(*count);
        }
    }
}

#[cfg(test)]
mod tests {
    use gleaner_core::identity::Skipped;

    use super::*;
    use crate::store::PollRecord;

    fn row(first: i64, last: i64, count: i64) -> Poll {
        let record = PollRecord {
            at: Time::from_millis(last),
            outcome: "not_modified".into(),
            error: None,
            status_code: Some(304),
            duration: Span::ZERO,
            bytes: 0,
            skipped: Skipped::default(),
            note: None,
            rule: Some("interval".into()),
            excused: None,
            excused_by: None,
        };
        Poll {
            id: 1,
            first_at: Time::from_millis(first),
            count,
            new_posts: 1,
            updated_posts: 0,
            pages: Default::default(),
            record,
        }
    }

    fn times(row: &Poll) -> Vec<i64> {
        polls_of(row).map(|poll| poll.at.as_millis()).collect()
    }

    #[test]
    fn a_row_stands_for_its_polls() {
        assert_eq!(times(&row(0, 0, 1)), [0]);
        assert_eq!(times(&row(0, 180_000, 4)), [0, 60_000, 120_000, 180_000]);
        assert_eq!(times(&row(0, 180_000, 2)), [0, 180_000]);
        assert_eq!(times(&row(0, 120_000, i64::MAX)), [0, 60_000, 120_000], "no more than can have been");
        assert_eq!(times(&row(60_000, 0, -7)), [0], "a clock that went back");
        assert_eq!(polls_of(&row(0, 180_000, 4)).map(|poll| poll.posts).sum::<u64>(), 1);
    }

    #[test]
    fn pages_are_credited_to_the_poll_that_found_them() {
        let mut polls: Vec<Recorded> = polls_of(&row(0, 180_000, 4)).collect();
        let failure = Failure {
            kind: gleaner_core::outcome::ErrorKind::NotFound,
            status: None,
            message: String::new(),
            retry_after: None,
        };
        polls[2].outcome = Outcome::Failed(failure);
        let at = Time::from_millis;
        credit(&mut polls, &[(at(150_000), 3), (at(180_000), 1), (at(-1), 9)]);
        assert_eq!(polls.iter().map(|poll| poll.posts).collect::<Vec<_>>(), [0, 3, 0, 1]);
    }
}
