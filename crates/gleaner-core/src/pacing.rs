//! Pacing: how far apart a host wants to be asked, learned from its refusals.
//!
//! A 429 says so outright; a 403 says so where siblings are served and the source itself was not refused
//! before. The spacing holds for all sources of the host, and is kept with the host's memory, across restarts
//! and workers. It shrinks with each success, so that a limit that is gone is forgotten.
//!
//! Absent on purpose: health. A refusal counts against its source as the policy says, and spacing only ever delays: no
//! source is due before its policy's gap or its interval because of it.

use serde::{Deserialize, Serialize};

use crate::health::Health;
use crate::outcome::{ErrorKind, Failure};
use crate::schedule::LONGEST_HOST_HOLD;
use crate::time::{Span, Time};

/// How spacing is learned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// The switch.
    pub on: bool,
    /// The spacing after the first refusal; it doubles with each further one...
    pub first: Span,
    /// ...up to this.
    pub longest: Span,
    /// What a success leaves of it...
    pub shrink: f64,
    /// ...and what where it comes near what was refused before.
    pub shrink_near: f64,
    /// How near that is.
    pub near: f64,
    /// Below this it is forgotten.
    pub least: Span,
    /// A 403 is a limit only where a sibling was served not longer ago.
    pub sibling_within: Span,
    /// A source that gets a 403 so often in a row gets it for a reason of its own.
    pub refusals: u32,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            on: true,
            first: Span::from_secs(30),
            longest: Span::from_mins(10),
            shrink: 0.995,
            shrink_near: 0.9998,
            near: 1.15,
            least: Span::from_secs(15),
            sibling_within: Span::from_hours(1),
            refusals: 3,
        }
    }
}

/// The spacing of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Pace {
    /// How far apart its sources are asked; none where it has not refused us.
    pub gap: Span,
    /// The longest spacing at which it refused right after it had served; its limit is not below that.
    pub refused_at: Span,
    /// It refused the latest request, too. What it refuses in a row says nothing of its limit: it may refuse all.
    pub refusing: bool,
}

/// The latest success of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Success {
    /// When.
    pub at: Time,
    /// Of which source.
    pub source: i64,
}

impl Pace {
    /// Whether a failure says that the host is asked too often.
    pub fn is_limit(
        failure: &Failure,
        source: i64,
        health: &Health,
        latest: Option<Success>,
        rules: &Rules,
        now: Time,
    ) -> bool {
        let run = health.failing.as_ref().and_then(|row| row.counted);
        let run = run.filter(|run| run.kind.same_kind(failure.kind));
        let again = run.map_or(0, |run| run.kind_run) >= rules.refusals;
        match failure.kind {
            ErrorKind::RateLimited => true,
            ErrorKind::Forbidden => {
                let served = latest.filter(|success| success.source != source);
                !again && served.is_some_and(|success| now.since(success.at) <= rules.sibling_within)
            }
            _ => false,
        }
    }

    /// The host refused: until when it is left alone.
    pub fn refused(&mut self, retry_after: Option<Span>, rules: &Rules, now: Time) -> Time {
        if !self.refusing {
            self.refused_at = self.refused_at.max(self.gap);
        }
        self.refusing = true;
        self.gap = self.gap.doubled(1).max(rules.first).min(rules.longest);
        now + retry_after.unwrap_or(Span::ZERO).min(LONGEST_HOST_HOLD).max(self.gap)
    }

    /// The host served: whether the spacing changed.
    pub fn served(&mut self, rules: &Rules) -> bool {
        let was = *self;
        let near = was.gap <= was.refused_at.scale(rules.near);
        let gap = was.gap.scale(if near { rules.shrink_near } else { rules.shrink });
        *self = if gap < rules.least { Self::default() } else { Self { gap, refusing: false, ..was } };
        was != *self
    }

    /// `asked at most every 90 seconds, as it answered when asked more often`.
    pub fn in_words(&self) -> Option<String> {
        (self.gap > Span::ZERO)
            .then(|| format!("asked at most every {}, since it refused to be asked more often", self.gap))
    }
}
