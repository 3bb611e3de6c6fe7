//! What of a document is new: table tests, then what holds for any document.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::{HashMap, HashSet};

use gleaner_core::backfill::Backfill;
use gleaner_core::identity::{Filter, Seen, Sifted, sift};
use gleaner_core::post::{ContentHash, Entry};
use gleaner_core::time::{Span, Time};
use proptest::prelude::*;

fn start() -> Time {
    Time::parse("2026-11-15T00:00:00Z").unwrap()
}

/// `guid|link|text`; what is empty is missing. The title is the text's.
fn entry(spec: &str) -> Entry {
    let mut parts = spec.split('|').map(|part| (!part.is_empty()).then(|| part.to_owned()));
    let (guid, url, text) = (parts.next().flatten(), parts.next().flatten(), parts.next().flatten());
    let title = text.as_ref().map(|text| format!("On {text}"));
    Entry { guid, url, title, raw_content: text, author: None, published_at: None, shares_url: false }
}

fn text(entry: &Entry) -> String {
    entry.raw_content.clone().unwrap_or_default()
}

/// A source that remembers, as a store does.
#[derive(Default)]
struct Source {
    seen: Vec<Seen>,
    posts: HashMap<i64, ContentHash>,
    filter: Filter,
}

impl Source {
    /// Reads a document and keeps what it says: new posts, changed posts, by their text.
    fn read(&mut self, specs: &[&str]) -> (Vec<String>, Vec<String>) {
        self.read_entries(specs.iter().map(|spec| entry(spec)).collect(), true)
    }

    fn read_entries(&mut self, entries: Vec<Entry>, complete: bool) -> (Vec<String>, Vec<String>) {
        let sifted = sift(entries, &self.seen, &self.filter, complete, start(), text);
        let new = sifted.new.iter().map(|(post, _)| post.body.clone()).collect();
        let changed = sifted.changed.iter().map(|(_, post, _)| post.body.clone()).collect();
        self.keep(sifted);
        (new, changed)
    }

    fn keep(&mut self, sifted: Sifted) {
        let mut rows: Vec<Seen> = sifted.remember;
        for (id, post, seen) in sifted.changed {
            self.posts.insert(id, post.content_hash);
            rows.push(seen);
        }
        for (post, seen) in sifted.new {
            let id = self.posts.len() as i64 + 1;
            self.posts.insert(id, post.content_hash);
            rows.push(Seen { post_id: Some(id), ..seen });
        }
        let texts: HashSet<ContentHash> = self.posts.values().copied().collect();
        assert_eq!(texts.len(), self.posts.len(), "no text is there twice");
        let keys: HashSet<i64> = rows.iter().map(|row| row.key).collect();
        assert_eq!(keys.len(), rows.len(), "no key is written twice");
        self.seen.retain(|row| !keys.contains(&row.key));
        self.seen.extend(rows);
        for key in sifted.vanished {
            self.seen.iter_mut().find(|row| row.key == key).unwrap().absent_since = Some(start());
        }
    }
}

/// Documents one after the other, and what each brings: `+` new, `~` changed.
fn check(steps: &[(&[&str], &[&str])]) {
    let mut source = Source::default();
    for (place, (document, expected)) in steps.iter().enumerate() {
        let (new, changed) = source.read(document);
        let found: Vec<String> = new
            .iter()
            .map(|text| format!("+{text}"))
            .chain(changed.iter().map(|text| format!("~{text}")))
            .collect();
        assert_eq!(found, *expected, "document {place}");
    }
}

#[test]
fn a_guid_identifies_an_entry() {
    check(&[
        (&["1|a|one", "2|b|two"], &["+one", "+two"]),
        (&["1|a|one", "2|b|two", "3|c|three"], &["+three"]),
    ]);
    check(&[(&["1|a|one"], &["+one"]), (&["1|elsewhere|one"], &[])]);
}

#[test]
fn a_guid_that_occurs_twice_identifies_nothing() {
    check(&[
        (&["same|a|one", "same|b|two", "same|c|three"], &["+one", "+two", "+three"]),
        (&["same|a|one", "same|b|two", "same|c|three"], &[]),
        (&["same|d|four", "same|a|one", "same|b|two"], &["+four"]),
        (&["same|a|one, edited", "same|b|two"], &["~one, edited"]),
    ]);
    check(&[
        (&["same||one", "same||two"], &["+one", "+two"]),
        (&["same||one", "same||two", "same||three"], &["+three"]),
    ]);
}

#[test]
fn a_rotated_guid_is_known_by_its_link() {
    check(&[
        (&["1|https://a/1|one", "2|https://a/2|two"], &["+one", "+two"]),
        (&["x1|https://a/1?utm_source=rss#c|one", "x2|https://a/2|two"], &[]),
        (&["x1|https://a/1|one, edited", "x2|https://a/2|two"], &["~one, edited"]),
        (&["x1|https://a/1|one, edited", "2|https://a/2|two"], &[]),
    ]);
    // The former guid is still there: these are two entries with one link.
    check(&[(&["1|a|one"], &["+one"]), (&["1|a|one", "2|a|two"], &["+two"])]);
    // A link that occurs twice says nothing.
    check(&[(&["1|a|one"], &["+one"]), (&["2|a|two", "3|a|three"], &["+two", "+three"])]);
}

#[test]
fn without_guid_the_link_and_without_link_the_content_identify() {
    check(&[(&["|a|one", "|b|two"], &["+one", "+two"]), (&["|a|one, edited", "|b|two"], &["~one, edited"])]);
    check(&[(&["||one", "||two"], &["+one", "+two"]), (&["||one", "||two", "||three"], &["+three"])]);
    check(&[(&["|a|one", "|a|two"], &["+one", "+two"]), (&["|a|one", "|a|two", "|a|three"], &["+three"])]);
    // The feed stops giving guids.
    check(&[(&["1|a|one"], &["+one"]), (&["|a|one"], &[]), (&["|a|one"], &[])]);
}

#[test]
fn the_same_text_is_one_post() {
    check(&[(&["1|a|same", "2|b|same"], &["+same"]), (&["3|c|same"], &[]), (&["1|a|same", "3|c|new"], &[])]);
    check(&[
        (&["1|a|one", "2|b|two"], &["+one", "+two"]),
        (&["1|a|two", "2|b|two"], &[]),
        (&["1|a|three", "2|b|two"], &["~three"]),
    ]);
}

#[test]
fn what_says_nothing_is_dropped() {
    let mut source = Source::default();
    assert_eq!(source.read(&["||", "1||", "||text"]).0, ["", "text"]);
    let sifted = sift(vec![entry("||")], &[], &Filter::default(), true, start(), text);
    assert_eq!((sifted.skipped.empty, sifted.remember.len()), (1, 0));
}

#[test]
fn nothing_comes_back_from_the_dead() {
    let mut source = Source::default();
    source.read(&["1|a|one"]);
    source.read(&["2|b|two"]);
    assert_eq!(source.seen.iter().filter(|row| row.absent_since.is_some()).count(), 1);
    // The post was cleaned up meanwhile.
    source.seen.iter_mut().for_each(|row| row.post_id = None);
    assert_eq!(source.read(&["1|a|one", "2|b|two, edited"]), (vec![], vec![]));
    assert!(source.seen.iter().all(|row| row.absent_since.is_none()), "and it is present again");
}

#[test]
fn an_incomplete_document_lets_nothing_vanish() {
    let mut source = Source::default();
    source.read(&["1|a|one", "2|b|two"]);
    source.read_entries(vec![entry("1|a|one")], false);
    assert!(source.seen.iter().all(|row| row.absent_since.is_none()));
}

#[test]
fn a_poll_without_news_writes_nothing() {
    let mut source = Source::default();
    source.read(&["1|a|one", "|b|two", "||three"]);
    let entries = ["1|a|one", "|b|two", "||three"].map(entry).to_vec();
    let sifted = sift(entries, &source.seen, &Filter::default(), true, start(), text);
    assert_eq!(sifted.skipped.known, 3);
    assert_eq!(Sifted { skipped: sifted.skipped, ..Sifted::default() }, sifted);
}

#[test]
fn known_entries_are_never_turned_into_text() {
    let mut source = Source::default();
    source.read(&["1|a|one", "2|b|two"]);
    let entries = vec![entry("1|a|one"), entry("2|b|two")];
    sift(entries, &source.seen, &Filter::default(), true, start(), |_| panic!("no need to look at it"));
}

fn dated(guid: &str, age: Span) -> Entry {
    Entry { published_at: Some(start() - age), ..entry(&format!("{guid}||text {guid}")) }
}

#[test]
fn old_entries_are_skipped_and_stay_skipped() {
    let week = Some(Span::from_days(7));
    let created = start() - Span::from_hours(1);
    let entries = || {
        vec![
            dated("new", Span::from_mins(1)),
            dated("before the source", Span::from_hours(2)),
            dated("old", Span::from_days(8)),
            entry("undated||undated"),
        ]
    };
    let read = |filter| {
        let mut source = Source { filter, ..Source::default() };
        let first = source.read_entries(entries(), true).0.len();
        source.filter = Filter::default();
        assert!(source.read_entries(entries(), true).0.is_empty(), "what was skipped stays skipped");
        first
    };
    assert_eq!(read(Filter::new(start(), week, true, Backfill::None, created)), 2);
    assert_eq!(read(Filter::new(start(), week, false, Backfill::None, created)), 3);
    assert_eq!(read(Filter::new(start(), week, true, Backfill::All, created)), 4, "backfill overrides both");
    assert_eq!(read(Filter::new(start(), week, false, Backfill::All, created)), 3, "on the first poll only");
    assert_eq!(read(Filter::new(start(), None, false, Backfill::None, created)), 4);
}

#[test]
fn a_date_far_ahead_is_not_believed() {
    let ahead = |hours| Entry { published_at: Some(start() + Span::from_hours(hours)), ..entry("1||text") };
    let date = |hours| {
        let sifted = sift(vec![ahead(hours)], &[], &Filter::default(), true, start(), text);
        sifted.new[0].0.published_at
    };
    assert_eq!(date(24), Some(start() + Span::from_hours(24)));
    assert_eq!(date(25), None);
}

#[test]
fn a_post_says_who_and_where() {
    let full = Entry {
        author: Some("  ".into()),
        raw_content: Some("nul\0s".into()),
        ..entry("|https://a.example/1|x")
    };
    let sifted = sift(vec![full], &[], &Filter::default(), true, start(), text);
    let post = &sifted.new[0].0;
    assert_eq!((post.guid.as_str(), post.author.as_deref()), ("https://a.example/1", None));
    assert_eq!((post.body.as_str(), post.raw_content.as_deref()), ("nuls", Some("nuls")));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    /// A few guids, links and texts in any mixture, in a few documents: no text is stored twice, no key written
    /// twice, and a document that was read brings nothing when it is read again.
    #[test]
    fn nothing_is_stored_twice(
        documents in prop::collection::vec(prop::collection::vec("[ab]?\\|[xy]?\\|[1-4]?", 0..6), 1..6),
    ) {
        let mut source = Source::default();
        for document in &documents {
            let document: Vec<&str> = document.iter().map(String::as_str).collect();
            source.read(&document);
            let (new, _) = source.read(&document);
            prop_assert!(new.is_empty(), "{:?} brought {:?} again", document, new);
        }
    }
}
