//! Which entries of a document are new, which are known, which changed, and what to remember of it.
//!
//! An entry is known by its guid, where that occurs once in the document; else by its canonical link; else by
//! its content. What was seen stays seen, stored or not. Absent on purpose: turning HTML into text, which a
//! caller's function does, and only for entries that need it.

use std::collections::HashSet;

use foldhash::fast::RandomState;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use xxhash_rust::xxh3::Xxh3Default;

use crate::backfill::{Backfill, RECENT_ENTRIES};
use crate::link;
use crate::post::{ContentHash, Entry, NewPost, content_hash, without_nul};
use crate::time::{Span, Time};

/// What is remembered of one entry of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// What identifies it: see [`guid_key`], [`link_key`], [`ContentHash::key`].
    pub key: i64,
    /// Its canonical link.
    pub link: Option<i64>,
    /// A fast hash of title and content as published: the same one needs no second look.
    pub raw: i64,
    /// [`ContentHash::key`] of its text.
    pub content: i64,
    /// The post it became, if it did and that still exists.
    pub post_id: Option<i64>,
    /// The time of the first document that no longer had it.
    pub absent_since: Option<Time>,
}

/// Which new entries become posts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Filter {
    /// Entries published before this are too old.
    pub not_older_than: Option<Time>,
    /// On a first poll: entries published before the source was created.
    pub created_at: Option<Time>,
    /// Maximum number of new entries that become posts, the newest first; see [`crate::backfill::keep_recent`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<u32>,
}

/// What to do about a document.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sifted {
    /// Entries to store as posts, each with what to remember of it.
    pub new: Vec<(NewPost, Seen)>,
    /// Posts whose entry may have changed, each with what to remember of it; the store knows what the post says.
    pub changed: Vec<(i64, NewPost, Seen)>,
    /// What to remember of entries that became no post, or came back.
    pub remember: Vec<Seen>,
    /// Keys that the document no longer has.
    pub vanished: Vec<i64>,
    /// What was skipped, and why.
    pub skipped: Skipped,
}

/// How many entries were skipped, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Skipped {
    /// Met before.
    #[serde(skip_serializing_if = "is_zero")]
    pub known: u32,
    /// The text is that of another entry of this source.
    #[serde(skip_serializing_if = "is_zero")]
    pub duplicate: u32,
    /// Published longer ago than the maximum age.
    #[serde(skip_serializing_if = "is_zero")]
    pub too_old: u32,
    /// Published before the source was created, on its first poll.
    #[serde(skip_serializing_if = "is_zero")]
    pub before_source: u32,
    /// More than the first poll stores of what is there already.
    #[serde(skip_serializing_if = "is_zero")]
    pub beyond_recent: u32,
    /// Neither id nor link nor title nor text.
    #[serde(skip_serializing_if = "is_zero")]
    pub empty: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Skipped {
    /// All that were skipped for another reason than being known.
    pub const fn not_known(&self) -> u32 {
        self.duplicate + self.too_old + self.before_source + self.beyond_recent + self.empty
    }
}

impl Filter {
    /// The filter of a poll. `max_age` none: no limit. `backfill` matters on a first poll only (no success yet).
    pub fn new(
        now: Time,
        max_age: Option<Span>,
        first_poll: bool,
        backfill: Backfill,
        created_at: Time,
    ) -> Self {
        let not_older_than = max_age.map(|age| now - age);
        match backfill {
            _ if !first_poll => Self { not_older_than, ..Self::default() },
            Backfill::None => Self { not_older_than, created_at: Some(created_at), at_most: None },
            Backfill::Recent => Self { not_older_than, created_at: None, at_most: Some(RECENT_ENTRIES) },
            Backfill::All => Self::default(),
        }
    }

    /// Whether an entry of that date is stored. Without a date it always is.
    pub fn passes(&self, published_at: Option<Time>) -> bool {
        self.refuses(published_at).is_none()
    }

    /// Why an entry of that date is skipped.
    fn refuses(&self, published_at: Option<Time>) -> Option<fn(&mut Skipped) -> &mut u32> {
        let date = published_at?;
        if self.created_at.is_some_and(|created| date < created) {
            Some(|skipped| &mut skipped.before_source)
        } else if self.not_older_than.is_some_and(|oldest| date < oldest) {
            Some(|skipped| &mut skipped.too_old)
        } else {
            None
        }
    }
}

/// The key of a guid. 64 bits of SHA-256, so that nobody can make two that clash.
pub fn guid_key(guid: &str) -> i64 {
    key(b"guid\0", guid)
}

/// The key of a link, by its canonical form.
pub fn link_key(url: &str) -> i64 {
    key(b"link\0", &link::canonical(url))
}

fn key(domain: &[u8], text: &str) -> i64 {
    let mut sha = Sha256::new();
    sha.update(domain);
    sha.update(text);
    ContentHash(sha.finalize().into()).key()
}

/// A clash here only hides one edit of its own author, so the fast hash will do.
fn raw_hash(entry: &Entry) -> i64 {
    let mut hash = Xxh3Default::new();
    for part in [&entry.title, &entry.raw_content] {
        hash.update(part.as_deref().unwrap_or_default().as_bytes());
        hash.update(&[0]);
    }
    hash.digest() as i64
}

/// A publication date further ahead than this is not to be believed.
const FUTURE: Span = Span::from_hours(24);

/// A publication date, unless it lies too far ahead.
pub fn believable(published_at: Option<Time>, now: Time) -> Option<Time> {
    published_at.filter(|date| *date <= now + FUTURE)
}

/// Sorts the entries of a document. `known` is all that is remembered of the source; `complete` is false where
/// the document may lack entries (it ended early, or was longer than the limit), so that nothing counts as
/// vanished; `text` makes plain text of an entry's HTML.
pub fn sift(
    entries: Vec<Entry>,
    known: &[Seen],
    filter: &Filter,
    complete: bool,
    now: Time,
    text: impl Fn(&Entry) -> String,
) -> Sifted {
    let keys: Vec<Option<i64>> = entries.iter().map(|entry| own_guid(entry).map(guid_key)).collect();
    let guids = count(keys.iter().copied());
    let once = |key: Option<i64>| key.filter(|key| guids[key] == 1);
    let keys: Vec<Option<i64>> = keys.into_iter().map(once).collect();
    let mut sifter = Sifter::new(known, guids, filter, now, text);
    // Links matter only where no guid decides; a known guid's link stands in its row.
    let links: Vec<Option<i64>> = entries
        .iter()
        .zip(&keys)
        .map(|(entry, key)| match key {
            Some(key) if sifter.by_key.contains_key(key) => None,
            _ if entry.shares_url => None,
            _ => entry.url.as_deref().map(link_key),
        })
        .collect();
    let link_counts = count(links.iter().copied());
    for ((entry, key), link) in entries.into_iter().zip(keys).zip(links) {
        let once = link.filter(|link| link_counts[link] == 1);
        sifter.take(entry, key, link, once);
    }
    if complete {
        let gone = |row: &&Seen| row.absent_since.is_none() && !sifter.met.contains(&row.key);
        sifter.sifted.vanished = known.iter().filter(gone).map(|row| row.key).collect();
    }
    sifter.sifted
}

fn own_guid(entry: &Entry) -> Option<&str> {
    entry.guid.as_deref().map(str::trim).filter(|guid| !guid.is_empty())
}

fn count(keys: impl Iterator<Item = Option<i64>>) -> Map<u32> {
    let mut counts = Map::default();
    for key in keys.flatten() {
        *counts.entry(key).or_insert(0) += 1;
    }
    counts
}

/// Keys are hashes already, but whoever writes a feed can choose some of their bits.
type Map<T> = std::collections::HashMap<i64, T, RandomState>;

struct Sifter<'a, T> {
    by_key: Map<&'a Seen>,
    /// In the order of links.
    by_link: Vec<(i64, &'a Seen)>,
    /// Content met so far, and the key it belongs to.
    contents: Map<i64>,
    /// How often each guid occurs in this document.
    guids: Map<u32>,
    /// Keys that this document has.
    met: HashSet<i64, RandomState>,
    filter: &'a Filter,
    now: Time,
    text: T,
    sifted: Sifted,
}

impl<'a, T: Fn(&Entry) -> String> Sifter<'a, T> {
    fn new(known: &'a [Seen], guids: Map<u32>, filter: &'a Filter, now: Time, text: T) -> Self {
        let mut by_link: Vec<_> = known.iter().filter_map(|row| Some((row.link?, row))).collect();
        by_link.sort_by_key(|(link, _)| *link);
        Self {
            by_key: known.iter().map(|row| (row.key, row)).collect(),
            by_link,
            contents: known.iter().map(|row| (row.content, row.key)).collect(),
            guids,
            met: HashSet::with_capacity_and_hasher(known.len(), RandomState::default()),
            filter,
            now,
            text,
            sifted: Sifted::default(),
        }
    }

    /// Sorts one entry: `guid` where it decides, `link` where there is one, `once` where it occurs but once.
    fn take(&mut self, entry: Entry, guid: Option<i64>, link: Option<i64>, once: Option<i64>) {
        if let Some(row) = guid.and_then(|key| self.by_key.get(&key).copied()) {
            return self.take_known(entry, row, row.key);
        }
        if let Some(row) = once.and_then(|link| self.known_by_link(link)) {
            // The publisher gave it a new guid, or none any more: the new key is an alias of the old.
            return self.take_known(entry, row, guid.or(once).unwrap_or(row.key));
        }
        let body = without_nul((self.text)(&entry));
        if own_guid(&entry).is_none()
            && entry.url.is_none()
            && entry.title.as_deref().is_none_or(|title| title.trim().is_empty())
            && body.trim().is_empty()
        {
            self.sifted.skipped.empty += 1;
            return;
        }
        let hash = content_hash(entry.title.as_deref(), entry.url.as_deref(), &body);
        let key = guid.or(once).unwrap_or_else(|| hash.key());
        match self.by_key.get(&key).copied() {
            Some(row) => self.take_known(entry, row, key),
            None => self.take_new(entry, body, hash, key, link),
        }
    }

    /// The row that a link leads to, unless a guid it had before stands in this document for another entry.
    fn known_by_link(&self, link: i64) -> Option<&'a Seen> {
        let start = self.by_link.partition_point(|(other, _)| *other < link);
        let rows = self.by_link[start..].iter().take_while(|(other, _)| *other == link).map(|(_, row)| *row);
        let taken = |row: &Seen| self.guids.get(&row.key) == Some(&1) || self.met.contains(&row.key);
        let free = !rows.clone().any(taken);
        rows.filter(|_| free).max_by_key(|row| (row.key == link, row.post_id))
    }

    fn take_known(&mut self, entry: Entry, row: &Seen, key: i64) {
        if !self.met.insert(key) {
            self.sifted.skipped.duplicate += 1;
            return;
        }
        let raw = raw_hash(&entry);
        let mut seen = Seen { key, raw, absent_since: None, ..*row };
        if raw == row.raw || row.post_id.is_none() {
            self.sifted.skipped.known += 1;
        } else if let Some(post_id) = row.post_id {
            let body = without_nul((self.text)(&entry));
            let hash = content_hash(entry.title.as_deref(), entry.url.as_deref(), &body);
            if self.contents.get(&hash.key()).is_some_and(|owner| !self.same_post(*owner, post_id)) {
                self.sifted.skipped.duplicate += 1;
            } else {
                seen.content = hash.key();
                self.contents.insert(hash.key(), row.key);
                self.sifted.changed.push((post_id, self.post(entry, body, hash), seen));
                return;
            }
        }
        if seen != *row {
            self.sifted.remember.push(seen);
        }
    }

    fn same_post(&self, key: i64, post_id: i64) -> bool {
        self.by_key.get(&key).is_some_and(|row| row.post_id == Some(post_id))
    }

    fn take_new(&mut self, entry: Entry, body: String, hash: ContentHash, key: i64, link: Option<i64>) {
        if !self.met.insert(key) {
            self.sifted.skipped.duplicate += 1;
            return;
        }
        let raw = raw_hash(&entry);
        let seen = Seen { key, link, raw, content: hash.key(), post_id: None, absent_since: None };
        if self.contents.insert(hash.key(), key).is_some() {
            self.sifted.skipped.duplicate += 1;
        } else if let Some(reason) = self.filter.refuses(believable(entry.published_at, self.now)) {
            *reason(&mut self.sifted.skipped) += 1;
        } else {
            let post = self.post(entry, body, hash);
            self.sifted.new.push((post, seen));
            return;
        }
        self.sifted.remember.push(seen);
    }

    fn post(&self, entry: Entry, body: String, content_hash: ContentHash) -> NewPost {
        let guid =
            own_guid(&entry).or(entry.url.as_deref()).map_or_else(|| content_hash.to_hex(), str::to_owned);
        NewPost {
            guid: without_nul(guid),
            url: entry.url.map(without_nul),
            title: entry.title.map(without_nul),
            body,
            raw_content: entry.raw_content.map(without_nul),
            author: entry.author.map(without_nul).filter(|name| !name.trim().is_empty()),
            published_at: believable(entry.published_at, self.now),
            content_hash,
        }
    }
}
