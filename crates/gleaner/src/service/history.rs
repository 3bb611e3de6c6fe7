//! What became of a source's polls, from some time on: what a picture of it is drawn from.

use gleaner_core::time::Time;

use super::{By, Poll, Scope, ServiceError};

/// The most rows that are told.
const MOST: usize = 2000;
/// Rows read at once.
const PAGE: u32 = 500;
/// The most times of posts that are told.
const MOST_TIMES: u32 = 2000;

/// A source's history from some time on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    /// Rows of polls, the newest first.
    pub polls: Vec<Poll>,
    /// When posts were stored and how many each time, the latest first.
    pub posts: Vec<(Time, u64)>,
    /// Whether that is all; else there are older rows than are told.
    pub whole: bool,
}

impl By<'_> {
    /// A source's polls that ended since then, and its posts that were stored since then.
    pub async fn history(&self, id: i64, since: Time) -> Result<History, ServiceError> {
        self.actor.must(Scope::Read)?;
        self.visible_source(id).await?;
        let (mut polls, mut before, mut whole) = (Vec::new(), None, true);
        loop {
            let page = self.store.polls(id, before, PAGE).await?;
            let more = page.len() == PAGE as usize;
            before = page.last().map(|poll| poll.id);
            let reached = page.last().is_none_or(|poll| poll.record.at < since);
            polls.extend(page.into_iter().filter(|poll| poll.record.at >= since));
            if !more || reached {
                break;
            }
            if polls.len() >= MOST {
                let next = self.store.polls(id, before, 1).await?;
                whole = next.first().is_none_or(|poll| poll.record.at < since);
                break;
            }
        }
        Ok(History { polls, posts: self.store.posts_by_time(id, since, MOST_TIMES).await?, whole })
    }
}
