//! Which entries of a document become posts, which of them are read on their own pages, and when a page is tried again.

use crate::backfill::keep_recent;
use crate::identity::{EntryVerdict, Filter, Seen, Sifted, Skipped, sift};
use crate::post::{Entry, NewPost};
use crate::schedule::LONGEST_HOLD;
use crate::source::Kind;
use crate::time::{Jitter, Span, Time};

/// Decides what becomes of a document's entries. Polls and previews use the same rules.
#[derive(Debug, Clone, Copy)]
pub struct EntryRules {
    pub filter: Filter,
    pub follow: Follow,
    /// Maximum number of pages that one poll queues.
    pub page_limit: usize,
}

/// Which pages of a source's entries are fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Follow {
    Nothing,
    /// Pages of an index's new links.
    Index(Beyond),
    /// Pages of a feed's new and changed entries.
    Feed,
}

impl Follow {
    pub const fn of(kind: Kind, full_content: bool, is_first_poll: bool) -> Self {
        match kind {
            Kind::Watchlist if is_first_poll => Self::Index(Beyond::Seen),
            Kind::Watchlist => Self::Index(Beyond::Wait),
            Kind::Feed if full_content => Self::Feed,
            Kind::Feed | Kind::Website | Kind::X => Self::Nothing,
        }
    }
}

/// Splits a document's entries into new, changed and known ones, applies the limits of a first poll, and takes out the pages to
/// fetch. `is_complete` and `text` are those of [`sift`].
pub fn select_entries(
    entries: Vec<Entry>,
    known: &[Seen],
    rules: &EntryRules,
    is_complete: bool,
    now: Time,
    text: impl Fn(&Entry) -> String,
) -> Followed {
    let sifted = sift(entries, known, &rules.filter, is_complete, now, text);
    let sifted = keep_recent(sifted, &rules.filter);
    match rules.follow {
        Follow::Index(beyond) => follow_index(sifted, rules.page_limit, beyond),
        Follow::Feed => follow_feed(sifted, rules.page_limit),
        Follow::Nothing => Followed { rest: sifted, ..Followed::default() },
    }
}

/// What becomes of an index's new links beyond the cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beyond {
    /// They count as seen: the first look at an index is not to fetch its whole past.
    Seen,
    /// They stay unseen, and are met again at the next poll.
    Wait,
}

/// A document's verdict, with the pages that are to be fetched.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Followed {
    /// The verdict; it remembers the entries of all pages as seen.
    pub rest: Sifted,
    /// Pages to fetch, in the document's order.
    pub pages: Vec<PageToFetch>,
    /// How many entries wait for another poll.
    pub waiting: u32,
}

/// A page to fetch for an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageToFetch {
    /// The post as far as the document knows it.
    pub post: NewPost,
    /// What is remembered of its entry.
    pub seen: Seen,
    /// The entry has changed, so that another text of its page is a revision of its post.
    pub revises: bool,
}

/// Takes the first `cap` new links out of an index: each becomes a post when its page is there. A link whose text
/// changed is remembered and not stored, since the post says what its page says.
pub fn follow_index(sifted: Sifted, cap: usize, beyond: Beyond) -> Followed {
    let mut followed = Followed { rest: sifted, ..Followed::default() };
    let rest = &mut followed.rest;
    // New entries and their verdicts are in the same order.
    let mut verdicts = rest.verdicts.iter_mut().filter(|verdict| **verdict == EntryVerdict::New);
    for (post, seen) in std::mem::take(&mut rest.new) {
        let verdict = verdicts.next();
        if post.url.is_none() {
            rest.new.push((post, seen));
        } else if followed.pages.len() < cap {
            rest.remember.push(seen);
            followed.pages.push(PageToFetch { post, seen, revises: false });
        } else {
            let outcome = match beyond {
                Beyond::Seen => {
                    rest.remember.push(seen);
                    EntryVerdict::BeyondLimit
                }
                Beyond::Wait => {
                    followed.waiting += 1;
                    EntryVerdict::Waiting
                }
            };
            if let Some(verdict) = verdict {
                *verdict = outcome;
            }
        }
    }
    let changed = std::mem::take(&mut rest.changed);
    rest.remember.extend(changed.into_iter().map(|(_, _, seen)| seen));
    followed
}

/// Chooses the first `cap` new or changed entries of a feed whose pages are fetched. All new entries are posts at once;
/// the text of a page replaces the feed's when it arrives. A changed entry beyond the cap is met again at the next poll.
pub fn follow_feed(sifted: Sifted, cap: usize) -> Followed {
    let mut followed = Followed { rest: sifted, ..Followed::default() };
    let (rest, pages) = (&mut followed.rest, &mut followed.pages);
    for (post, seen) in rest.new.iter().filter(|(post, _)| post.url.is_some()).take(cap) {
        pages.push(PageToFetch { post: post.clone(), seen: *seen, revises: false });
    }
    for (id, post, seen) in std::mem::take(&mut rest.changed) {
        if post.url.is_some() {
            if pages.len() >= cap {
                followed.waiting += 1;
                continue;
            }
            pages.push(PageToFetch { post: post.clone(), seen, revises: true });
        }
        rest.changed.push((id, post, seen));
    }
    followed
}

/// Where a page stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PageState {
    /// It has not failed yet.
    Waiting,
    /// It has failed, and is tried again.
    Failed,
    /// It has failed too often; only a person retries it.
    GivenUp,
}

impl PageState {
    /// All states.
    pub const ALL: [Self; 3] = [Self::Waiting, Self::Failed, Self::GivenUp];

    /// The name in the API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Failed => "failed",
            Self::GivenUp => "given_up",
        }
    }
}

/// How many pages of a source are in each state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PageCounts {
    /// Not fetched yet.
    pub waiting: u32,
    /// Failed, and tried again.
    pub failed: u32,
    /// Given up.
    pub given_up: u32,
}

impl PageCounts {
    /// Whether there are none at all.
    pub const fn is_empty(&self) -> bool {
        self.waiting == 0 && self.failed == 0 && self.given_up == 0
    }
}

impl std::fmt::Display for PageCounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { waiting, failed, given_up } = self;
        write!(f, "{waiting} waiting, {failed} failed and tried again, {given_up} given up")
    }
}

/// Why a page of that date becomes no post, as one more skipped entry of its poll; none: it does.
pub fn skipped_by_age(filter: &Filter, published_at: Option<Time>) -> Option<Skipped> {
    if filter.passes(published_at) {
        return None;
    }
    let before_source =
        filter.created_at.is_some_and(|created| published_at.is_some_and(|date| date < created));
    Some(if before_source {
        Skipped { before_source: 1, ..Skipped::default() }
    } else {
        Skipped { too_old: 1, ..Skipped::default() }
    })
}

/// The sum of what was skipped.
pub const fn skipped_sum(one: Skipped, other: Skipped) -> Skipped {
    Skipped {
        known: one.known.saturating_add(other.known),
        duplicate: one.duplicate.saturating_add(other.duplicate),
        too_old: one.too_old.saturating_add(other.too_old),
        before_source: one.before_source.saturating_add(other.before_source),
        beyond_recent: one.beyond_recent.saturating_add(other.beyond_recent),
        empty: one.empty.saturating_add(other.empty),
    }
}

/// How long after each failure a page is tried again; after the last of them it is given up.
const GAPS: [Span; 4] = [Span::from_hours(1), Span::from_hours(6), Span::from_hours(24), Span::from_days(3)];

/// When a page that failed is tried again; none: it is given up. `tries` are those before this one.
pub fn retry(tries: i64, retry_after: Option<Span>, now: Time, jitter: Jitter) -> Option<Time> {
    let gap = usize::try_from(tries).ok().and_then(|tries| GAPS.get(tries))?;
    let gap = gap.scale(jitter.around_one(0.1));
    Some(now + gap.max(retry_after.unwrap_or_default().min(LONGEST_HOLD)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::post::content_hash;

    fn entry(n: i64, url: bool) -> (NewPost, Seen) {
        let body = n.to_string();
        let post = NewPost {
            guid: body.clone(),
            url: url.then(|| format!("https://a.example/{n}")),
            title: None,
            content_hash: content_hash(None, None, &body),
            body,
            raw_content: None,
            author: None,
            published_at: None,
        };
        (post, Seen { key: n, raw: n, content: Some(n), ..Seen::default() })
    }

    fn changed(n: i64, url: bool) -> (i64, NewPost, Seen) {
        let (post, seen) = entry(n, url);
        (100 + n, post, seen)
    }

    fn keys(followed: &Followed) -> (Vec<i64>, Vec<i64>, Vec<i64>, u32) {
        (
            followed.pages.iter().map(|page| page.seen.key).collect(),
            followed.rest.new.iter().map(|(_, seen)| seen.key).collect(),
            followed.rest.remember.iter().map(|seen| seen.key).collect(),
            followed.waiting,
        )
    }

    #[test]
    fn the_first_links_of_an_index_are_followed() {
        let check = |beyond, expected: (&[i64], &[i64], &[i64], u32)| {
            let new = vec![entry(1, true), entry(2, false), entry(3, true), entry(4, true)];
            let followed = follow_index(Sifted { new, ..Sifted::default() }, 2, beyond);
            let (pages, rest, remember, waiting) = keys(&followed);
            assert_eq!((&pages[..], &rest[..], &remember[..], waiting), expected, "{beyond:?}");
        };
        check(Beyond::Seen, (&[1, 3], &[2], &[1, 3, 4], 0));
        check(Beyond::Wait, (&[1, 3], &[2], &[1, 3], 1));
        let sifted = Sifted { changed: vec![changed(1, true)], ..Sifted::default() };
        assert_eq!(
            keys(&follow_index(sifted, 2, Beyond::Wait)),
            (vec![], vec![], vec![1], 0),
            "a change of a link is remembered, not stored"
        );
    }

    #[test]
    fn entries_of_a_feed_are_posts_at_once_and_pages_besides() {
        let new = vec![entry(1, true), entry(2, false), entry(3, true), entry(4, true)];
        let followed = follow_feed(Sifted { new, ..Sifted::default() }, 2);
        assert_eq!(keys(&followed), (vec![1, 3], vec![1, 2, 3, 4], vec![], 0));
        assert!(followed.pages.iter().all(|page| !page.revises));
    }

    #[test]
    fn a_changed_entrys_page_is_fetched_again_or_waits() {
        let sifted = Sifted {
            new: vec![entry(1, true)],
            changed: vec![changed(2, false), changed(3, true), changed(4, true)],
            ..Sifted::default()
        };
        let followed = follow_feed(sifted, 2);
        let pages: Vec<_> = followed.pages.iter().map(|page| (page.seen.key, page.revises)).collect();
        assert_eq!(pages, [(1, false), (3, true)]);
        let stored: Vec<i64> = followed.rest.changed.iter().map(|(_, _, seen)| seen.key).collect();
        assert_eq!(
            (stored, followed.waiting),
            (vec![2, 3], 1),
            "what waits is neither stored nor remembered"
        );
    }

    #[test]
    fn a_page_is_tried_five_times_over_four_days() {
        let now = Time::from_millis(1_000_000);
        let middle = Jitter::new(0.5);
        let gaps: Vec<u64> =
            (0..4).map(|tries| retry(tries, None, now, middle).unwrap().since(now).as_mins() / 60).collect();
        assert_eq!(gaps, [1, 6, 24, 72]);
        assert_eq!(retry(4, None, now, middle), None);
        assert_eq!(retry(-1, None, now, middle), None, "nobody counts so");
        let day = Span::from_hours(24);
        assert_eq!(retry(0, Some(day), now, middle), Some(now + day), "a server's Retry-After is a floor");
        assert_eq!(retry(3, Some(day), now, middle), Some(now + GAPS[3]));
    }

    #[test]
    fn a_page_that_is_too_old_is_counted_by_reason() {
        let at = |days: i64| Time::from_millis(days * 86_400_000);
        let filter = Filter { not_older_than: Some(at(10)), created_at: Some(at(15)), ..Filter::default() };
        let too_old = Skipped { too_old: 1, ..Skipped::default() };
        let before_source = Skipped { before_source: 1, ..Skipped::default() };
        assert_eq!(skipped_by_age(&filter, Some(at(12))), Some(before_source));
        assert_eq!(skipped_by_age(&Filter { created_at: None, ..filter }, Some(at(9))), Some(too_old));
        assert_eq!(skipped_by_age(&filter, Some(at(15))), None);
        assert_eq!(skipped_by_age(&filter, None), None);
        let sum = skipped_sum(skipped_sum(too_old, before_source), too_old);
        assert_eq!((sum.too_old, sum.before_source, sum.known), (2, 1, 0));
    }
}
