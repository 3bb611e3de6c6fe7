//! Splits a document's entries into new, changed and known ones, and says what to remember of them.
//!
//! An entry is the same as a known one by its guid; else by its link, where the guid was rotated; else by title, body and
//! date. Losing an entry is worse than storing one twice, so whatever is in doubt is new. What was seen stays seen, stored
//! or not. HTML becomes text in a function of the caller's, and only for entries that need it.

use std::cell::OnceCell;
use std::collections::HashSet;

use foldhash::fast::RandomState;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use xxhash_rust::xxh3::Xxh3Default;

use crate::backfill::{Backfill, RECENT_ENTRIES};
use crate::link;
use crate::post::{ContentHash, Entry, NewPost, content_hash, without_nul};
use crate::source::Duplicates;
use crate::time::{Span, Time};

/// What is remembered of one entry of a source. Several rows with one `post_id` are one post: a guid was rotated, or a
/// copy was published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Seen {
    /// What identifies it: the key of its guid, else of its link, else of what it says.
    pub key: i64,
    /// Its canonical link.
    pub link: Option<i64>,
    /// A fast hash of title and content as published: the same one needs no second look.
    pub raw: i64,
    /// Its title without regard to white space; none where that is blank.
    pub title: Option<i64>,
    /// Its body text; none where that is blank.
    pub content: Option<i64>,
    /// Its date as published, when it last appeared or changed.
    pub published_at: Option<Time>,
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
    /// Which entries are duplicates of others.
    #[serde(default)]
    pub duplicates: Duplicates,
    /// Maximum number of new entries that become posts, the newest first; see [`crate::backfill::keep_recent`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<u32>,
}

/// What to do about a document.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sifted {
    /// Entries to store as posts, each with what to remember of it, in the document's order.
    pub new: Vec<(NewPost, Seen)>,
    /// Posts whose entry may have changed, each with what to remember of it; the store knows what the post says.
    pub changed: Vec<(i64, NewPost, Seen)>,
    /// What to remember of entries that became no post, or came back.
    pub remember: Vec<Seen>,
    /// What to remember of copies of new entries: the key of the new entry, whose post is theirs, too.
    pub copies: Vec<(i64, Seen)>,
    /// Keys that the document no longer has.
    pub vanished: Vec<i64>,
    /// What was skipped, and why.
    pub skipped: Skipped,
    /// What becomes of each entry, in the document's order.
    pub verdicts: Vec<EntryVerdict>,
}

/// What becomes of one entry of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryVerdict {
    /// It is stored as a new post.
    New,
    /// Its post may have to be revised.
    Changed,
    /// It was met before.
    Known,
    /// It is a copy of another entry of this source.
    Duplicate,
    /// It was published longer ago than the maximum age.
    TooOld,
    /// It was published before the source was created, on its first poll.
    BeforeSource,
    /// It is not among the most recent, and no others are stored by the first poll.
    BeyondRecent,
    /// It is a link past those that the first poll of an index follows.
    BeyondLimit,
    /// It waits for a later poll: this one follows no more links.
    Waiting,
    /// It has neither id nor link nor title nor text.
    Empty,
}

/// How many entries were skipped, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Skipped {
    /// Met before.
    #[serde(skip_serializing_if = "is_zero")]
    pub known: u32,
    /// A copy of another entry of this source.
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

    fn add(&mut self, verdict: EntryVerdict) {
        match verdict {
            EntryVerdict::New | EntryVerdict::Changed => {}
            // Set after the entries were counted.
            EntryVerdict::BeyondLimit | EntryVerdict::Waiting => {}
            EntryVerdict::Known => self.known += 1,
            EntryVerdict::Duplicate => self.duplicate += 1,
            EntryVerdict::TooOld => self.too_old += 1,
            EntryVerdict::BeforeSource => self.before_source += 1,
            EntryVerdict::BeyondRecent => self.beyond_recent += 1,
            EntryVerdict::Empty => self.empty += 1,
        }
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
            Backfill::None => Self { not_older_than, created_at: Some(created_at), ..Self::default() },
            Backfill::Recent => Self { not_older_than, at_most: Some(RECENT_ENTRIES), ..Self::default() },
            Backfill::All => Self::default(),
        }
    }

    /// The same with another rule of what is a duplicate.
    #[must_use]
    pub fn with_duplicates(self, duplicates: Duplicates) -> Self {
        Self { duplicates, ..self }
    }

    /// Whether an entry of that date is stored. Without a date it always is.
    pub fn passes(&self, published_at: Option<Time>) -> bool {
        self.refuses(published_at).is_none()
    }

    /// Why an entry of that date is skipped.
    fn refuses(&self, published_at: Option<Time>) -> Option<EntryVerdict> {
        let date = published_at?;
        if self.created_at.is_some_and(|created| date < created) {
            Some(EntryVerdict::BeforeSource)
        } else if self.not_older_than.is_some_and(|oldest| date < oldest) {
            Some(EntryVerdict::TooOld)
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

/// Dates further apart than this belong to different editions, where only the title or only the text is the same.
const EDITION: Span = Span::from_hours(18);

/// A document that was made for this request is not older than this.
const JUST_NOW: Span = Span::from_mins(10);

/// Splits a document's entries into new, changed and known ones. `known` is all that is remembered of the source;
/// `complete` is false where the document may lack entries (it ended early, or was longer than the limit), so that nothing
/// counts as vanished; `text` makes plain text of an entry's HTML.
///
/// Entries are looked at three times: those with a known guid first, then those with a known link, then the rest. So an entry
/// is never taken for a copy of one that this very document changes, whatever their order.
pub fn sift(
    entries: Vec<Entry>,
    known: &[Seen],
    filter: &Filter,
    complete: bool,
    now: Time,
    text: impl Fn(&Entry) -> String,
) -> Sifted {
    let mut guids: Vec<Option<i64>> = entries.iter().map(|entry| own_guid(entry).map(guid_key)).collect();
    let mut counts = count(guids.iter().copied());
    let repeats = exact_repeats(&entries, &guids, &mut counts);
    let mut sifter = Sifter::new(known, filter, now, text, entries.len());
    sifter.dates_say_nothing = are_made_up(&entries, now);
    sifter.ignore_shared_guids(&mut guids, &counts);
    let mut rest = Vec::new();
    let mut repeated = repeats.iter().map(|(place, _)| *place).peekable();
    for (place, (entry, guid)) in entries.into_iter().zip(guids).enumerate() {
        if repeated.next_if_eq(&place).is_none() {
            rest.extend(sifter.take_by_guid(place, entry, guid));
        }
    }
    let links = count(rest.iter().map(|item: &Item<'_>| item.link));
    for item in &mut rest {
        item.own_link = item.link.filter(|link| links[link] == 1);
    }
    let rest: Vec<Item<'_>> = rest.into_iter().filter_map(|item| sifter.take_by_link(item)).collect();
    let (diverged, rest): (Vec<_>, Vec<_>) = rest.into_iter().partition(|item| item.diverging.is_some());
    for item in diverged.into_iter().chain(rest) {
        sifter.take_by_text(item);
    }
    for (place, first) in repeats {
        let verdict = match sifter.sifted.verdicts[first] {
            EntryVerdict::New => EntryVerdict::Duplicate,
            EntryVerdict::Changed => EntryVerdict::Known,
            verdict => verdict,
        };
        sifter.set(place, verdict);
    }
    if complete {
        let gone = |row: &&Seen| row.absent_since.is_none() && !sifter.met.contains(&row.key);
        sifter.sifted.vanished = known.iter().filter(gone).map(|row| row.key).collect();
    }
    sifter.finish()
}

fn own_guid(entry: &Entry) -> Option<&str> {
    entry.guid.as_deref().map(str::trim).filter(|guid| !guid.is_empty())
}

fn own_link(entry: &Entry) -> Option<i64> {
    entry.url.as_deref().filter(|_| !entry.shares_url).map(link_key)
}

fn count(keys: impl Iterator<Item = Option<i64>>) -> Map<u32> {
    let mut counts = Map::default();
    for key in keys.flatten() {
        *counts.entry(key).or_insert(0) += 1;
    }
    counts
}

/// Whether all entries of a document have one and the same date, that of the document itself.
fn are_made_up(entries: &[Entry], now: Time) -> bool {
    let mut dates = entries.iter().map(|entry| entry.published_at);
    let first = dates.next().flatten();
    let is_now = first.is_some_and(|date| date <= now && now.since(date) <= JUST_NOW);
    is_now && entries.len() > 1 && dates.all(|date| date == first)
}

/// Entries that are there twice, word for word: their place, and that of the first. They count as one.
fn exact_repeats(entries: &[Entry], guids: &[Option<i64>], counts: &mut Map<u32>) -> Vec<(usize, usize)> {
    let mut firsts: Map<usize> = Map::default();
    let mut repeats = Vec::new();
    for (place, (entry, guid)) in entries.iter().zip(guids).enumerate() {
        if guid.is_some_and(|guid| counts[&guid] == 1) {
            continue;
        }
        let mut hash = Xxh3Default::new();
        hash.update(&guid.unwrap_or_default().to_be_bytes());
        hash.update(&raw_hash(entry).to_be_bytes());
        hash.update(&entry.published_at.map_or(i64::MIN, Time::as_millis).to_be_bytes());
        hash.update(entry.url.as_deref().unwrap_or_default().as_bytes());
        match firsts.entry(hash.digest() as i64) {
            std::collections::hash_map::Entry::Occupied(first) => repeats.push((place, *first.get())),
            std::collections::hash_map::Entry::Vacant(free) => {
                free.insert(place);
            }
        }
    }
    for (place, _) in &repeats {
        if let Some(count) = guids[*place].and_then(|guid| counts.get_mut(&guid)) {
            *count -= 1;
        }
    }
    repeats
}

/// Keys are hashes already, but whoever writes a feed can choose some of their bits.
type Map<T> = std::collections::HashMap<i64, T, RandomState>;
type Set = HashSet<i64, RandomState>;

/// Turns the key of a guid into the key of the row that says that several entries share it, and back.
const SHARED: i64 = 0x5eed_5a4e_d61d_0001;
/// [`Seen::raw`] of such a row, which says nothing else.
const SHARED_GUID: i64 = 0x5a4e_d61d;

/// An entry that no known guid decides.
struct Item<'a> {
    place: usize,
    entry: Entry,
    /// Where it identifies the entry.
    guid: Option<i64>,
    link: Option<i64>,
    /// The link, where no other entry here has it.
    own_link: Option<i64>,
    raw: i64,
    text: Option<Text>,
    /// The row of a copy that no longer says what the entry does that it was a copy of.
    diverging: Option<&'a Seen>,
}

/// What an entry says.
struct Text {
    body: String,
    title: Option<i64>,
    content: Option<i64>,
    hash: ContentHash,
}

impl Text {
    fn is_blank(&self) -> bool {
        self.title.is_none() && self.content.is_none()
    }
}

/// Something that was said by an entry, known or in this document.
struct Twin<'a> {
    date: Option<Time>,
    /// The row of a known entry; none of one that is new in this document.
    row: Option<&'a Seen>,
    /// The entry's key.
    key: i64,
    /// Whether this is from this document, not from before it.
    fresh: bool,
    /// The twin before it that says the same.
    before: Option<u32>,
}

/// Who said what, by [`Sifter::text_key`].
#[derive(Default)]
struct Texts<'a> {
    latest: Map<u32>,
    twins: Vec<Twin<'a>>,
}

impl<'a> Texts<'a> {
    fn add(&mut self, text: i64, twin: Twin<'a>) {
        let place = u32::try_from(self.twins.len()).unwrap_or(u32::MAX);
        let before = self.latest.insert(text, place);
        self.twins.push(Twin { before, ..twin });
    }

    fn of(&self, text: i64) -> impl Iterator<Item = &Twin<'a>> {
        let at = |place: u32| self.twins.get(place as usize);
        let first = self.latest.get(&text).and_then(|place| at(*place));
        std::iter::successors(first, move |twin| twin.before.and_then(at))
    }
}

struct Sifter<'a, T> {
    known: &'a [Seen],
    by_key: Map<&'a Seen>,
    /// In the order of links.
    by_link: OnceCell<Vec<(i64, &'a Seen)>>,
    by_post: OnceCell<Vec<(i64, &'a Seen)>>,
    by_raw: OnceCell<Vec<(i64, &'a Seen)>>,
    texts: OnceCell<Texts<'a>>,
    /// Guids that identify nothing, since several entries have or had them at once.
    shared: Set,
    /// Keys that this document has.
    met: Set,
    /// Keys of known entries that say something else now.
    restated: Set,
    /// Guids that stand for another entry than the one that is known by them.
    reused: Set,
    /// Links of entries that have a known guid and have changed.
    taken_links: Set,
    /// Keys of known entries that have another link now.
    moved: Set,
    /// Keys of entries that have changed and share their post with others: what becomes of them is decided last.
    pending: Set,
    /// Whether all entries are dated with the time of the document.
    dates_say_nothing: bool,
    filter: &'a Filter,
    now: Time,
    text: T,
    sifted: Sifted,
    /// Positions in the document of `sifted.new`.
    new_places: Vec<usize>,
}

impl<'a, T: Fn(&Entry) -> String> Sifter<'a, T> {
    fn new(known: &'a [Seen], filter: &'a Filter, now: Time, text: T, entries: usize) -> Self {
        Self {
            known,
            by_key: known.iter().map(|row| (row.key, row)).collect(),
            by_link: OnceCell::new(),
            by_post: OnceCell::new(),
            by_raw: OnceCell::new(),
            texts: OnceCell::new(),
            shared: Set::default(),
            met: HashSet::with_capacity_and_hasher(known.len(), RandomState::default()),
            restated: Set::default(),
            reused: Set::default(),
            taken_links: Set::default(),
            moved: Set::default(),
            pending: Set::default(),
            dates_say_nothing: false,
            filter,
            now,
            text,
            sifted: Sifted { verdicts: vec![EntryVerdict::Known; entries], ..Sifted::default() },
            new_places: Vec::new(),
        }
    }

    /// The result, with new entries in the document's order.
    fn finish(mut self) -> Sifted {
        if !self.new_places.is_sorted() {
            let new = std::mem::take(&mut self.sifted.new);
            let mut placed: Vec<_> = self.new_places.into_iter().zip(new).collect();
            placed.sort_by_key(|(place, _)| *place);
            self.sifted.new = placed.into_iter().map(|(_, new)| new).collect();
        }
        self.sifted
    }

    fn set(&mut self, place: usize, verdict: EntryVerdict) {
        self.sifted.verdicts[place] = verdict;
        self.sifted.skipped.add(verdict);
    }

    /// A guid that several entries of a document have identifies none of them, now and later: in a feed with one guid for
    /// all and a window of changing length, the last entry left is not the one that had the guid first.
    fn ignore_shared_guids(&mut self, guids: &mut [Option<i64>], counts: &Map<u32>) {
        let any_before = self.known.iter().any(|row| row.raw == SHARED_GUID);
        if !any_before && counts.values().all(|count| *count == 1) {
            return;
        }
        for guid in guids {
            let Some(key) = *guid else { continue };
            let row = self.by_key.get(&(key ^ SHARED)).filter(|row| row.raw == SHARED_GUID);
            if row.is_none() && counts[&key] == 1 {
                continue;
            }
            *guid = None;
            self.shared.insert(key);
            if self.met.insert(key ^ SHARED) && row.is_none_or(|row| row.absent_since.is_some()) {
                let shared = Seen { key: key ^ SHARED, raw: SHARED_GUID, ..Seen::default() };
                self.sifted.remember.push(shared);
            }
        }
    }

    /// Decides an entry whose guid is known; returns any other, and one that only has the guid of a known one.
    fn take_by_guid(&mut self, place: usize, entry: Entry, guid: Option<i64>) -> Option<Item<'a>> {
        let raw = raw_hash(&entry);
        let row = guid.and_then(|guid| self.by_key.get(&guid).copied());
        if let Some(row) = row.filter(|row| row.raw == raw) {
            self.keep(place, row);
            return None;
        }
        let link = own_link(&entry);
        let mut item = Item { place, entry, guid, link, own_link: None, raw, text: None, diverging: None };
        let Some(row) = row else { return Some(item) };
        let text = item.text.insert(self.read(&item.entry));
        if is_reused(row, link, text, item.entry.published_at) {
            self.reused.insert(row.key);
            return Some(Item { guid: None, ..item });
        }
        self.met.insert(row.key);
        self.taken_links.extend(link);
        if link.is_some_and(|link| row.link != Some(link)) {
            self.moved.insert(row.key);
        }
        if row.post_id.is_some() && self.siblings(row).next().is_some() {
            self.pending.insert(row.key);
            return Some(Item { diverging: Some(row), ..item });
        }
        self.revise(item, row, row.key);
        None
    }

    /// Decides an entry whose link leads to a known one under another guid, or under none; returns any other.
    fn take_by_link(&mut self, mut item: Item<'a>) -> Option<Item<'a>> {
        let Some(link) = item.own_link.filter(|_| item.diverging.is_none()) else { return Some(item) };
        let rows = rows_of(&self.by_link, self.known, link, |row| row.link);
        let rows = rows.iter().map(|(_, row)| *row).filter(|row| !self.moved.contains(&row.key));
        // The former guid is here: these are two entries with one link.
        if self.taken_links.contains(&link) || rows.clone().any(|row| self.met.contains(&row.key)) {
            return Some(Item { own_link: None, ..item });
        }
        if rows.clone().next().is_none() {
            return Some(item);
        }
        let date = item.entry.published_at;
        let as_before = |row: &&Seen| row.raw == item.raw && !far_apart(row.published_at, date);
        let unchanged = rows.clone().filter(as_before).max_by_key(|row| row.post_id);
        let row = match unchanged {
            Some(row) => row,
            None => {
                let text = match item.text.take() {
                    Some(text) => text,
                    None => self.read(&item.entry),
                };
                let text = item.text.insert(text);
                let guidless = item.guid.is_none();
                let likeness = |row: &Seen| likeness(row, text, item.raw, &item.entry, guidless);
                let alike = rows.filter_map(|row| Some((likeness(row)?, row.post_id, row)));
                match alike.max_by_key(|(likeness, post_id, _)| (*likeness, *post_id)) {
                    Some((_, _, row)) => row,
                    None => return Some(item),
                }
            }
        };
        let key = self.key_under(&mut item, row);
        self.revise(item, row, key);
        None
    }

    /// The key under which a known entry goes on: a new guid is an alias; so is another key, where the former guid stands for
    /// another entry now.
    fn key_under(&self, item: &mut Item<'_>, row: &Seen) -> i64 {
        match item.guid {
            Some(guid) => guid,
            None if !self.reused.contains(&row.key) => row.key,
            None => {
                let text = match item.text.take() {
                    Some(text) => text,
                    None => self.read(&item.entry),
                };
                let said = self.text_key(&text, item.raw, item.link);
                let key = self.free_key(item, &text, said);
                item.text = Some(text);
                key
            }
        }
    }

    /// Decides an entry that neither guid nor link identify.
    fn take_by_text(&mut self, mut item: Item<'a>) {
        let has_own_id = item.guid.is_some() || item.own_link.is_some();
        if !has_own_id
            && item.text.is_none()
            && let Some(row) = self.as_before(&item)
        {
            if self.met.contains(&row.key) {
                return self.set(item.place, EntryVerdict::Known);
            }
            let key = self.key_under(&mut item, row);
            return self.revise(item, row, key);
        }
        let text = match item.text.take() {
            Some(text) => text,
            None => self.read(&item.entry),
        };
        if own_guid(&item.entry).is_none()
            && item.entry.url.is_none()
            && text.is_blank()
            && item.diverging.is_none()
        {
            return self.set(item.place, EntryVerdict::Empty);
        }
        let said = self.text_key(&text, item.raw, item.link);
        let date = item.entry.published_at;
        let fits = |twin: &Twin<'_>| match self.filter.duplicates {
            Duplicates::Content => true,
            Duplicates::Entry if has_own_id => {
                let has_content = text.content.is_some() || has_raw_content(&item.entry);
                has_content && date.is_some() && twin.date == date
            }
            Duplicates::Entry => self.may_be_same(twin.date, date),
        };
        // One with the same link is not a copy, but the entry itself.
        let itself = |twin: &Twin<'_>| {
            let row = twin.row.filter(|row| !self.met.contains(&row.key));
            item.guid.is_none() && row.is_some_and(|row| row.link == item.link) && fits(twin)
        };
        let (itself, twin) = (self.twin(said, itself), self.twin(said, fits));
        match (item.diverging, itself.or(twin)) {
            (Some(row), twin) => self.take_diverging(item, text, row, said, twin),
            (None, Some((row, key))) if has_own_id && itself.is_none() => {
                self.take_copy(item, text, row, key)
            }
            (None, Some((Some(row), key))) if !self.met.contains(&key) => {
                item.text = Some(text);
                let key = self.key_under(&mut item, row);
                self.revise(item, row, key);
            }
            (None, Some((Some(_), _))) => self.set(item.place, EntryVerdict::Known),
            (None, Some((None, _))) => self.set(item.place, EntryVerdict::Duplicate),
            (None, None) => self.take_new(item, text, said),
        }
    }

    /// An entry that was a copy of another, and has changed: a copy still, another edition of the post that both are, or from
    /// now on a post of its own, since the other one is still here and says what it did.
    fn take_diverging(
        &mut self,
        item: Item<'a>,
        text: Text,
        row: &'a Seen,
        said: i64,
        twin: Option<(Option<&'a Seen>, i64)>,
    ) {
        self.pending.remove(&row.key);
        let is_same_post = |other: &Seen| other.post_id == row.post_id;
        let replaced = self.siblings(row).all(|other| {
            let is_copy = other.title == row.title && other.published_at == row.published_at;
            let same_entry = is_copy || other.link.is_some() && other.link == row.link;
            same_entry && (!self.met.contains(&other.key) || self.pending.contains(&other.key))
        });
        match twin {
            Some((Some(other), _)) if is_same_post(other) => {
                self.revise(Item { text: Some(text), ..item }, row, row.key);
            }
            Some((other, of)) => {
                self.restated.insert(row.key);
                self.remember_copy(&item, &text, row.key, other, of);
                self.set(item.place, EntryVerdict::Duplicate);
            }
            None if replaced => self.revise(Item { text: Some(text), ..item }, row, row.key),
            None => {
                self.restated.insert(row.key);
                let key = own_text_key(said, item.entry.published_at);
                let known = self.by_key.get(&key).copied();
                self.remember_copy(&item, &text, row.key, known, key);
                match known {
                    Some(_) => self.set(item.place, EntryVerdict::Known),
                    None => self.take_new_as(item, text, said, key),
                }
            }
        }
    }

    /// Remembers a copy of another entry, under that entry's post.
    fn take_copy(&mut self, item: Item<'a>, text: Text, row: Option<&'a Seen>, of: i64) {
        let said = self.text_key(&text, item.raw, item.link);
        let key = self.free_key(&item, &text, said);
        if self.met.insert(key) {
            self.remember_copy(&item, &text, key, row, of);
        }
        self.set(item.place, EntryVerdict::Duplicate);
    }

    /// `row` is that of the entry it is a copy of, where that is known; `of` its key.
    fn remember_copy(&mut self, item: &Item<'_>, text: &Text, key: i64, row: Option<&Seen>, of: i64) {
        let seen = self.seen(item, text, key, row.and_then(|row| row.post_id));
        match row {
            Some(_) => self.sifted.remember.push(seen),
            None => self.sifted.copies.push((of, seen)),
        }
    }

    fn take_new(&mut self, item: Item<'a>, text: Text, said: i64) {
        let key = self.free_key(&item, &text, said);
        self.take_new_as(item, text, said, key);
    }

    fn take_new_as(&mut self, item: Item<'a>, text: Text, said: i64, key: i64) {
        if !self.met.insert(key) {
            return self.set(item.place, EntryVerdict::Duplicate);
        }
        let seen = self.seen(&item, &text, key, None);
        let date = item.entry.published_at;
        if let Some(refused) = self.filter.refuses(believable(date, self.now)) {
            self.sifted.remember.push(seen);
            self.set(item.place, refused);
        } else {
            let post = self.post(item.entry, text);
            self.sifted.new.push((post, seen));
            self.new_places.push(item.place);
            self.set(item.place, EntryVerdict::New);
        }
        self.texts_mut().add(said, Twin { date, row: None, key, fresh: true, before: None });
    }

    /// The best key of an entry that is not taken yet: guid, link, and what it says. What it says may be the key of an entry
    /// that has changed since.
    fn free_key(&self, item: &Item<'_>, text: &Text, said: i64) -> i64 {
        let is_free = |key: &i64| !self.by_key.contains_key(key) && !self.met.contains(key);
        let of_text = match self.filter.duplicates {
            Duplicates::Entry => own_text_key(said, item.entry.published_at),
            Duplicates::Content => text.hash.key(),
        };
        let own = [item.guid, item.own_link, Some(of_text)].into_iter().flatten().find(is_free);
        own.unwrap_or_else(|| {
            let others = (1..).map(|n| own_text_key(said.wrapping_add(n), item.entry.published_at));
            others.take(1000).find(is_free).unwrap_or(of_text)
        })
    }

    /// An entry that says what it did.
    fn keep(&mut self, place: usize, row: &Seen) {
        self.met.insert(row.key);
        if row.absent_since.is_some() {
            self.sifted.remember.push(Seen { absent_since: None, ..*row });
        }
        self.set(place, EntryVerdict::Known);
    }

    /// A known entry, under `key` from now on, which may say something else.
    fn revise(&mut self, item: Item<'a>, row: &'a Seen, key: i64) {
        if !self.met.insert(key) && key != row.key {
            return self.set(item.place, EntryVerdict::Known);
        }
        let mut seen = Seen { key, raw: item.raw, absent_since: None, ..*row };
        let date = item.entry.published_at.or(row.published_at);
        // Some feeds date their entries anew with each document, which is not worth a row.
        if item.raw != row.raw || key != row.key || far_apart(date, row.published_at) {
            seen.published_at = date;
            seen.link = item.link.or(row.link);
            if seen.link != row.link {
                self.moved.insert(row.key);
            }
        }
        let text = item.text.filter(|_| item.raw != row.raw);
        if let Some(text) = text {
            let said = self.text_key(&text, item.raw, seen.link);
            (seen.title, seen.content) = (text.title, text.content);
            let other_post = |twin: &Twin<'_>| twin.row.is_none_or(|twin| twin.post_id != row.post_id);
            if let Some(post_id) = row.post_id {
                let by_content = self.filter.duplicates == Duplicates::Content;
                if by_content && self.twin(said, other_post).is_some() {
                    let before = Seen { key, raw: item.raw, absent_since: None, ..*row };
                    self.sifted.remember.push(before);
                    return self.set(item.place, EntryVerdict::Duplicate);
                }
                self.restated.insert(row.key);
                self.texts_mut().add(said, Twin { date, row: Some(row), key, fresh: true, before: None });
                let post = self.post(item.entry, text);
                self.sifted.changed.push((post_id, post, seen));
                return self.set(item.place, EntryVerdict::Changed);
            }
        }
        if seen != *row {
            self.sifted.remember.push(seen);
        }
        self.set(item.place, EntryVerdict::Known);
    }

    /// Other rows of a row's post.
    fn siblings(&self, row: &'a Seen) -> impl Iterator<Item = &'a Seen> {
        let post = row.post_id.unwrap_or_default();
        let rows = rows_of(&self.by_post, self.known, post, |row| row.post_id);
        rows.iter().map(|(_, row)| *row).filter(move |other| other.key != row.key)
    }

    /// The row of an entry without guid and link that was published like this.
    fn as_before(&self, item: &Item<'_>) -> Option<&'a Seen> {
        let date = item.entry.published_at;
        let rows = rows_of(&self.by_raw, self.known, item.raw, |row| Some(row.raw));
        let agrees = |row: &&Seen| self.may_be_same(row.published_at, date);
        let by_entry = self.filter.duplicates == Duplicates::Entry;
        let holds = |row: &&Seen| {
            let stands_for_itself = by_entry || row.content.is_some() || row.link == item.link;
            stands_for_itself && row.raw != SHARED_GUID && !self.restated.contains(&row.key)
        };
        let rows = rows.iter().map(|(_, row)| *row).filter(holds).filter(agrees);
        rows.max_by_key(|row| (row.published_at == date, row.post_id))
    }

    /// Whether two dates of entries that have nothing but their text may be of one entry.
    fn may_be_same(&self, before: Option<Time>, now: Option<Time>) -> bool {
        before == now || before.is_none() || now.is_none() || self.dates_say_nothing
    }

    /// Who said this before, by its row where it is a known entry, and by its key.
    fn twin(&self, said: i64, fits: impl Fn(&Twin<'_>) -> bool) -> Option<(Option<&'a Seen>, i64)> {
        let holds = |twin: &&Twin<'_>| twin.fresh || !self.restated.contains(&twin.key);
        let twin = self.texts().of(said).filter(holds).find(|twin| fits(twin))?;
        Some((twin.row, twin.key))
    }

    fn texts(&self) -> &Texts<'a> {
        self.texts.get_or_init(|| {
            let mut texts = Texts::default();
            for row in self.known.iter().filter(|row| row.raw != SHARED_GUID) {
                let said = said(self.filter.duplicates, row.title, row.content, row.raw, row.link);
                let date = row.published_at;
                texts.add(said, Twin { date, row: Some(row), key: row.key, fresh: false, before: None });
            }
            texts
        })
    }

    fn texts_mut(&mut self) -> &mut Texts<'a> {
        self.texts();
        self.texts.get_mut().expect("it was made just now")
    }

    fn text_key(&self, text: &Text, raw: i64, link: Option<i64>) -> i64 {
        said(self.filter.duplicates, text.title, text.content, raw, link)
    }

    fn read(&self, entry: &Entry) -> Text {
        let body = without_nul((self.text)(entry));
        let hash = content_hash(entry.title.as_deref(), entry.url.as_deref(), &body);
        let content = (!body.trim().is_empty()).then(|| hash.key());
        Text { body, title: entry.title.as_deref().and_then(title_key), content, hash }
    }

    fn seen(&self, item: &Item<'_>, text: &Text, key: i64, post_id: Option<i64>) -> Seen {
        Seen {
            key,
            link: item.link,
            raw: item.raw,
            title: text.title,
            content: text.content,
            published_at: item.entry.published_at,
            post_id,
            absent_since: None,
        }
    }

    fn post(&self, entry: Entry, text: Text) -> NewPost {
        let Text { body, hash: content_hash, .. } = text;
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

/// The rows with one value, from an index that is made when it is first needed.
fn rows_of<'s, 'a>(
    index: &'s OnceCell<Vec<(i64, &'a Seen)>>,
    known: &'a [Seen],
    value: i64,
    by: impl Fn(&Seen) -> Option<i64>,
) -> &'s [(i64, &'a Seen)] {
    let rows = index.get_or_init(|| {
        let mut rows: Vec<_> = known.iter().filter_map(|row| Some((by(row)?, row))).collect();
        rows.sort_by_key(|(value, _)| *value);
        rows
    });
    let start = rows.partition_point(|(other, _)| *other < value);
    let end = start + rows[start..].partition_point(|(other, _)| *other == value);
    &rows[start..end]
}

/// The key of a title without regard to white space; none where it is blank.
fn title_key(title: &str) -> Option<i64> {
    let mut hash = Xxh3Default::new();
    let mut blank = true;
    for word in title.split_whitespace() {
        hash.update(word.as_bytes());
        hash.update(b" ");
        blank = false;
    }
    (!blank).then(|| hash.digest() as i64)
}

fn has_raw_content(entry: &Entry) -> bool {
    entry.raw_content.as_deref().is_some_and(|html| !html.trim().is_empty())
}

fn far_apart(one: Option<Time>, other: Option<Time>) -> bool {
    one.zip(other).is_some_and(|(one, other)| one.since(other).max(other.since(one)) > EDITION)
}

/// Whether a known guid stands for another entry now: at least three of link, title, body and date are given before and now,
/// and whatever is given has changed.
fn is_reused(row: &Seen, link: Option<i64>, text: &Text, date: Option<Time>) -> bool {
    let changed = [
        link.zip(row.link).map(|(now, before)| now != before),
        text.title.zip(row.title).map(|(now, before)| now != before),
        text.content.zip(row.content).map(|(now, before)| now != before),
        date.zip(row.published_at).map(|(now, before)| now != before),
    ];
    !changed.contains(&Some(false)) && changed.iter().flatten().count() >= 3
}

/// The same for a post that is still kept, though its entry was forgotten; `url` to `date` are the kept post's.
pub fn is_another(
    post: &NewPost,
    url: Option<&str>,
    title: Option<&str>,
    hash: ContentHash,
    date: Option<Time>,
) -> bool {
    let row = Seen {
        link: url.map(link_key),
        title: title.and_then(title_key),
        content: Some(hash.key()),
        published_at: date,
        ..Seen::default()
    };
    let (title, content) = (post.title.as_deref().and_then(title_key), Some(post.content_hash.key()));
    let text = Text { body: String::new(), title, content, hash: post.content_hash };
    is_reused(&row, post.url.as_deref().map(link_key), &text, post.published_at)
}

/// How much an entry is like a known one with its link; none: it is another one.
fn likeness(row: &Seen, text: &Text, raw: i64, entry: &Entry, guidless: bool) -> Option<u8> {
    let title = text.title.is_some() && text.title == row.title;
    let body = match (text.content, row.content) {
        (None, None) => raw == row.raw && has_raw_content(entry),
        (now, before) => now == before,
    };
    let apart = far_apart(row.published_at, entry.published_at);
    let same_date = entry.published_at.is_some() && entry.published_at == row.published_at;
    match (title, body) {
        (true, true) => Some(3),
        (true, false) | (false, true) if !apart => Some(2),
        // Without guids a link and a date say enough.
        (false, false) if guidless && same_date => Some(1),
        (false, false) if text.is_blank() && raw == row.raw && !apart => Some(1),
        _ => None,
    }
}

/// The key of what an entry says: the same in title and text, or under [`Duplicates::Content`] in text alone. Where there is
/// no text, the markup or the link stands for it.
fn said(by: Duplicates, title: Option<i64>, content: Option<i64>, raw: i64, link: Option<i64>) -> i64 {
    let parts = match (by, content) {
        (Duplicates::Content, Some(content)) => [Some(content), None, None],
        (Duplicates::Content, None) => [None, title, link],
        (Duplicates::Entry, Some(content)) => [Some(content), title, None],
        (Duplicates::Entry, None) => [None, title, Some(raw)],
    };
    let mut hash = Xxh3Default::new();
    for part in parts {
        hash.update(&[u8::from(part.is_some())]);
        hash.update(&part.unwrap_or_default().to_be_bytes());
    }
    hash.digest() as i64
}

/// The key of an entry that has nothing of its own but what it says, and when.
fn own_text_key(said: i64, date: Option<Time>) -> i64 {
    let mut sha = Sha256::new();
    sha.update(b"text\0");
    sha.update(said.to_be_bytes());
    sha.update(date.map_or(i64::MIN, Time::as_millis).to_be_bytes());
    ContentHash(sha.finalize().into()).key()
}
