//! Which new entries are read on their own pages, how many at once, and when a page is tried again.

use crate::identity::{Seen, Sifted};
use crate::post::NewPost;
use crate::schedule::LONGEST_HOLD;
use crate::time::{Jitter, Span, Time};

/// What becomes of new entries beyond the cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beyond {
    /// They count as seen: the first look at an index is not to fetch its whole past.
    Seen,
    /// They stay unseen, and are met again at the next poll.
    Wait,
    /// They become posts as they are.
    Post,
}

/// A document's verdict, with the pages that are to be fetched taken out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Followed {
    /// The rest of the verdict; it remembers the entries of the pages as seen.
    pub rest: Sifted,
    /// Posts whose pages are to be fetched first, in the document's order.
    pub pages: Vec<(NewPost, Seen)>,
    /// How many entries wait for another poll.
    pub waiting: u32,
}

/// Takes the first `cap` new entries that have a link out of a verdict. What changed in an entry is remembered but not
/// stored, since the post says what its page says.
pub fn follow(sifted: Sifted, cap: usize, beyond: Beyond) -> Followed {
    let mut followed = Followed { rest: sifted, ..Followed::default() };
    let rest = &mut followed.rest;
    for (post, seen) in std::mem::take(&mut rest.new) {
        if post.url.is_none() {
            rest.new.push((post, seen));
        } else if followed.pages.len() < cap {
            rest.remember.push(seen);
            followed.pages.push((post, seen));
        } else {
            match beyond {
                Beyond::Seen => rest.remember.push(seen),
                Beyond::Wait => followed.waiting += 1,
                Beyond::Post => rest.new.push((post, seen)),
            }
        }
    }
    let changed = std::mem::take(&mut rest.changed);
    rest.remember.extend(changed.into_iter().map(|(_, _, seen)| seen));
    followed
}

/// How long a page is left alone after each failure; after the last of them it is given up.
const GAPS: [Span; 2] = [Span::from_mins(15), Span::from_hours(4)];

/// When a page that failed is tried again; none: it was the last try. `tries` are those before this one.
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

    fn keys(followed: &Followed) -> (Vec<i64>, Vec<i64>, Vec<i64>, u32) {
        let key = |(_, seen): &(NewPost, Seen)| seen.key;
        (
            followed.pages.iter().map(key).collect(),
            followed.rest.new.iter().map(key).collect(),
            followed.rest.remember.iter().map(|seen| seen.key).collect(),
            followed.waiting,
        )
    }

    #[test]
    fn the_first_links_are_followed_and_the_rest_is_as_told() {
        let check = |beyond, expected: (&[i64], &[i64], &[i64], u32)| {
            let new = vec![entry(1, true), entry(2, false), entry(3, true), entry(4, true)];
            let followed = follow(Sifted { new, ..Sifted::default() }, 2, beyond);
            let (pages, rest, remember, waiting) = keys(&followed);
            assert_eq!((&pages[..], &rest[..], &remember[..], waiting), expected, "{beyond:?}");
        };
        check(Beyond::Seen, (&[1, 3], &[2], &[1, 3, 4], 0));
        check(Beyond::Wait, (&[1, 3], &[2], &[1, 3], 1));
        check(Beyond::Post, (&[1, 3], &[2, 4], &[1, 3], 0));
    }

    #[test]
    fn a_change_is_remembered_and_not_stored() {
        let (post, seen) = entry(1, true);
        let sifted = Sifted { changed: vec![(7, post, seen)], ..Sifted::default() };
        assert_eq!(keys(&follow(sifted, 2, Beyond::Wait)), (vec![], vec![], vec![1], 0));
    }

    #[test]
    fn a_page_is_tried_three_times() {
        let now = Time::from_millis(1_000_000);
        let middle = Jitter::new(0.5);
        assert_eq!(retry(0, None, now, middle), Some(now + GAPS[0]));
        assert_eq!(retry(1, None, now, middle), Some(now + GAPS[1]));
        assert_eq!(retry(2, None, now, middle), None);
        let hour = Span::from_hours(1);
        assert_eq!(retry(0, Some(hour), now, middle), Some(now + hour), "a server's word is a floor");
    }
}
