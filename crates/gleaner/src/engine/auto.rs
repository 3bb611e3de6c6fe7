//! The interval `auto`: what a source is wont to publish is learned from its polls, and what all such sources may ask
//! together is shared among them.
//!
//! How sources stand by their habit is counted by the database, over an index of theirs alone, and the one number that
//! follows from it is good for a while.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use gleaner_core::adaptive::{Budget, Rules};
use gleaner_core::follow::Followed;
use gleaner_core::post::NewPost;
use gleaner_core::source::Interval;
use gleaner_core::time::{Span, Time};

use super::Inner;
use super::attempt::Attempt;
use crate::config::Config;
use crate::store::{AdaptiveState, Memory, Source, Store, StoreError};

/// How long the scale is good for. Habits change over days.
const GOOD_FOR: Span = Span::from_mins(10);

/// The scale that all intervals share, and when it was found.
#[derive(Default)]
pub(super) struct Scale(Mutex<Option<(Time, f64)>>);

/// Finds the scale by what the database counts.
pub async fn scale(store: &dyn Store, config: &Config) -> Result<f64, StoreError> {
    let mut budget = Budget::default();
    for (class, count) in store.adaptive_classes().await? {
        budget.add(usize::from(class), count);
    }
    Ok(budget.scale(config.source.poll_interval, &config.judgement.rules.adaptive))
}

impl Inner {
    /// How often a source is polled.
    pub(super) async fn interval(&self, source: &Source, memory: &Memory, now: Time) -> Span {
        let config = &self.cx.config;
        let fixed = source.settings.interval.resolve(config.source.poll_interval);
        let rules = &config.judgement.rules.adaptive;
        let (Interval::Auto, Some(kept), true) = (source.settings.interval, &memory.habit, rules.on) else {
            return fixed;
        };
        match self.scale(now).await {
            Ok(scale) => kept.habit.at(now).interval(scale, rules, now),
            Err(error) => {
                tracing::warn!(%error, "what all sources publish could not be read; the default interval is used");
                fixed
            }
        }
    }

    async fn scale(&self, now: Time) -> Result<f64, StoreError> {
        let kept = || self.auto.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, scale)) = *kept()
            && at <= now
            && now.since(at) < GOOD_FOR
        {
            return Ok(scale);
        }
        let scale = scale(&*self.cx.store, &self.cx.config).await?;
        *kept() = Some((now, scale));
        Ok(scale)
    }
}

/// Whether nothing is known yet of when a source publishes that is to be asked by it: its document is read whole.
pub(super) fn is_unknown(source: &Source) -> bool {
    source.settings.interval == Interval::Auto && source.memory.habit.is_none()
}

/// What a poll teaches of a source's habit goes into its memory; of other sources nothing is kept.
pub(super) fn learn(rules: &Rules, source: &Source, attempt: &mut Attempt, now: Time) {
    let memory = attempt.memory.as_ref().unwrap_or(&source.memory);
    let learned = match source.settings.interval {
        Interval::Auto if attempt.outcome.failure().is_none() => learned(rules, memory, attempt, now),
        Interval::Auto => return,
        Interval::Default | Interval::Minutes(_) => None,
    };
    if learned != memory.habit {
        let memory = attempt.memory.take().unwrap_or_else(|| source.memory.clone());
        attempt.memory = Some(Memory { habit: learned, ..memory });
    }
}

/// The new entries of a document: those that are posts at once, and those that become one with their page.
fn new_posts(found: &Followed) -> impl Iterator<Item = &NewPost> {
    let stored: HashSet<i64> = found.rest.new.iter().map(|(_, seen)| seen.key).collect();
    let pages = found.pages.iter().filter(move |page| !page.revises && !stored.contains(&page.seen.key));
    found.rest.new.iter().map(|(post, _)| post).chain(pages.map(|page| &page.post))
}

fn learned(rules: &Rules, memory: &Memory, attempt: &Attempt, now: Time) -> Option<AdaptiveState> {
    let known = memory.habit.as_ref();
    // Without a document there is nothing to learn the first time.
    if known.is_none() && attempt.found.is_none() {
        return None;
    }
    let mut habit = known.map(|kept| kept.habit.clone()).unwrap_or_default();
    let found = attempt.found.iter().flat_map(new_posts);
    let dates: Vec<Time> = match known {
        Some(_) => found.map(|post| post.published_at.unwrap_or(now)).collect(),
        None => attempt.dates.clone(),
    };
    if known.is_none() || !dates.is_empty() {
        habit.saw(dates, now);
    }
    let weight = habit.at(now).weight(rules, now);
    // There are a few dozen classes.
    let class = u8::try_from(Budget::class(weight)).unwrap_or(u8::MAX);
    Some(AdaptiveState { habit, class })
}
