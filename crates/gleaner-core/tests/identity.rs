//! What of a document is new: table tests, then what holds for any document.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::{HashMap, HashSet};

use gleaner_core::backfill::Backfill;
use gleaner_core::identity::{EntryVerdict, Filter, Seen, Sifted, sift};
use gleaner_core::post::Entry;
use gleaner_core::source::Duplicates;
use gleaner_core::time::{Span, Time};
use proptest::prelude::*;

fn start() -> Time {
    Time::parse("2026-11-15T00:00:00Z").unwrap()
}

/// `guid|link|text` with a title made of the text, or `guid|link|title|html|age in hours`; what is empty is missing.
fn entry(spec: &str) -> Entry {
    let parts: Vec<Option<String>> =
        spec.split('|').map(|part| (!part.is_empty()).then(|| part.to_owned())).collect();
    let (guid, url) = (parts[0].clone(), parts[1].clone());
    let (title, raw_content) = match &parts[2..] {
        [text] => (text.as_ref().map(|text| format!("On {text}")), text.clone()),
        [title, html, ..] => (title.clone(), html.clone()),
        [] => (None, None),
    };
    let age = parts.get(4).cloned().flatten().map(|hours| Span::from_hours(hours.parse().unwrap()));
    let published_at = age.map(|age| start() - age);
    Entry { guid, url, title, raw_content, author: None, published_at, shares_url: false }
}

/// Without tags.
fn text(entry: &Entry) -> String {
    let html = entry.raw_content.clone().unwrap_or_default();
    html.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text)).collect()
}

/// A source that remembers, as a store does.
#[derive(Default)]
struct Source {
    seen: Vec<Seen>,
    /// Title and text of each post.
    posts: HashMap<i64, (Option<String>, String)>,
    filter: Filter,
}

impl Source {
    /// Reads a document and keeps what it says: new posts, changed posts, by their text.
    fn read(&mut self, specs: &[&str]) -> (Vec<String>, Vec<String>) {
        self.read_entries(specs.iter().map(|spec| entry(spec)).collect(), true)
    }

    fn read_entries(&mut self, entries: Vec<Entry>, complete: bool) -> (Vec<String>, Vec<String>) {
        let count = entries.len();
        let sifted = sift(entries, &self.seen, &self.filter, complete, start(), text);
        assert_eq!(sifted.verdicts.len(), count, "each entry has a verdict");
        let stored = sifted.verdicts.iter().filter(|verdict| **verdict == EntryVerdict::New).count();
        assert_eq!(stored, sifted.new.len(), "and it is what becomes of it");
        let new = sifted.new.iter().map(|(post, _)| post.body.clone()).collect();
        let changed = sifted.changed.iter().map(|(_, post, _)| post.body.clone()).collect();
        self.keep(sifted);
        (new, changed)
    }

    fn keep(&mut self, sifted: Sifted) {
        let mut rows: Vec<Seen> = sifted.remember;
        for (id, post, seen) in sifted.changed {
            self.posts.insert(id, (post.title, post.body));
            rows.push(seen);
        }
        let mut ids = HashMap::new();
        for (post, seen) in sifted.new {
            let id = self.posts.len() as i64 + 1;
            self.posts.insert(id, (post.title, post.body));
            ids.insert(seen.key, id);
            rows.push(Seen { post_id: Some(id), ..seen });
        }
        rows.extend(
            sifted.copies.into_iter().map(|(of, seen)| Seen { post_id: ids.get(&of).copied(), ..seen }),
        );
        let keys: HashSet<i64> = rows.iter().map(|row| row.key).collect();
        assert_eq!(keys.len(), rows.len(), "no key is written twice");
        self.seen.retain(|row| !keys.contains(&row.key));
        self.seen.extend(rows);
        for key in sifted.vanished {
            self.seen.iter_mut().find(|row| row.key == key).unwrap().absent_since = Some(start());
        }
    }

    /// Title and text of all posts, sorted.
    fn texts(&self) -> Vec<(Option<String>, String)> {
        let mut texts: Vec<_> = self.posts.values().cloned().collect();
        texts.sort();
        texts
    }
}

/// Documents one after the other, and what each brings: `+` new, `~` changed.
fn check(steps: &[(&[&str], &[&str])]) {
    check_by(Duplicates::Entry, steps);
}

fn check_by(duplicates: Duplicates, steps: &[(&[&str], &[&str])]) {
    let filter = Filter::default().with_duplicates(duplicates);
    let mut source = Source { filter, ..Source::default() };
    for (place, (document, expected)) in steps.iter().enumerate() {
        let (new, changed) = source.read(document);
        let found: Vec<String> = new
            .iter()
            .map(|text| format!("+{text}"))
            .chain(changed.iter().map(|text| format!("~{text}")))
            .collect();
        assert_eq!(found, *expected, "document {place}");
        let (new, _) = source.read(document);
        assert!(new.is_empty(), "document {place} brought {new:?} again");
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
fn a_reused_guid_is_a_new_entry() {
    // At least three of link, title, text and date are given, and none is what it was.
    check(&[
        (&["1|a|One|one|40"], &["+one"]),
        (&["1|b|Two|two|20"], &["+two"]),
        (&["1|b|Two|two, edited|20"], &["~two, edited"]),
        (&["1|c|Three|three|1"], &["+three"]),
    ]);
    check(&[(&["1|a|One|one|"], &["+one"]), (&["1|b|Two|two|"], &["+two"])]);
    check(&[(&["1||One|one|40"], &["+one"]), (&["1||Two|two|20"], &["+two"])]);
    // Something is still the same, or too little is known: an edit.
    check(&[(&["1|a|One|one|40"], &["+one"]), (&["1|a|Two|two|20"], &["~two"])]);
    check(&[(&["1|a|One|one|40"], &["+one"]), (&["1|b|One|two|20"], &["~two"])]);
    check(&[(&["1|a|One|one|40"], &["+one"]), (&["1|b|Two|two|40"], &["~two"])]);
    check(&[(&["1||One|one|"], &["+one"]), (&["1||Two|two|"], &["~two"])]);
    // Guids that are places in the list.
    check(&[
        (&["1|a|A|aa|40", "2|b|B|bb|50"], &["+aa", "+bb"]),
        (&["1|n|N|nn|1", "2|a|A|aa|40", "3|b|B|bb|50"], &["+nn"]),
        (&["1|m|M|mm|0", "2|n|N|nn|1", "3|a|A|aa|40"], &["+mm"]),
    ]);
    check(&[
        (&["1|a|A|aa|", "2|b|B|bb|"], &["+aa", "+bb"]),
        (&["1|n|N|nn|", "2|a|A|aa|", "3|b|B|bb|"], &["+nn"]),
    ]);
}

#[test]
fn a_guid_that_occurs_twice_identifies_nothing() {
    check(&[
        (&["same|a|one", "same|b|two", "same|c|three"], &["+one", "+two", "+three"]),
        (&["same|d|four", "same|a|one", "same|b|two"], &["+four"]),
        (&["same|a|On one|one, edited", "same|b|two"], &["~one, edited"]),
    ]);
    check(&[
        (&["same||one", "same||two"], &["+one", "+two"]),
        (&["same||one", "same||two", "same||three"], &["+three"]),
    ]);
}

#[test]
fn one_guid_for_all_in_a_window_of_any_length() {
    // Now and for ever: what is left in the window is not what had the guid first.
    check(&[
        (&["same|a|one"], &["+one"]),
        (&["same|b|two", "same|a|one"], &["+two"]),
        (&["same|b|two"], &[]),
        (&["same|c|three"], &["+three"]),
        (&["same|d|four", "same|c|three"], &["+four"]),
        (&["same|d|four"], &[]),
        (&["same|d|On four|four, edited"], &["~four, edited"]),
    ]);
    check(&[
        (&["same||one"], &["+one"]),
        (&["same||two", "same||one"], &["+two"]),
        (&["same||two"], &[]),
        (&["same||three"], &["+three"]),
    ]);
    check(&[
        (&["same||one", "same||two"], &["+one", "+two"]),
        (&["same||three"], &["+three"]),
        (&["same||four"], &["+four"]),
    ]);
    // An entry that is there twice, word for word, does not spoil its guid.
    check(&[
        (&["1|a|one", "1|a|one", "2|b|two"], &["+one", "+two"]),
        (&["1|a|one, edited", "2|b|two"], &["~one, edited"]),
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
    // Title or text is still the same.
    check(&[(&["1|a|One|one|"], &["+one"]), (&["2|a|One|one, edited|"], &["~one, edited"])]);
    check(&[(&["1|a|One|one|"], &["+one"]), (&["2|a|Another|one|"], &["~one"])]);
    // The former guid is still there: these are two entries with one link.
    check(&[(&["1|a|one"], &["+one"]), (&["1|a|one", "2|a|two"], &["+two"])]);
    // A link that occurs twice says nothing.
    check(&[(&["1|a|one"], &["+one"]), (&["2|a|two", "3|a|three"], &["+two", "+three"])]);
}

#[test]
fn a_constant_link_identifies_nothing() {
    // The latest release.
    check(&[
        (&["1|a|v1|first|"], &["+first"]),
        (&["2|a|v2|second|"], &["+second"]),
        (&["3|a|v3|third|"], &["+third"]),
        (&["2|a|v2|second, edited|"], &["~second, edited"]),
    ]);
    // The photo of the day: the same title, another day.
    check(&[(&["1|a|Photo|one|60"], &["+one"]), (&["2|a|Photo|two|36"], &["+two"])]);
    check(&[(&["1|a|Photo|one|60"], &["+one"]), (&["2|a|Photo|two|59"], &["~two"])]);
    // Dates that were made anew say nothing where all else is the same.
    check(&[(&["1|a|One|one|60"], &["+one"]), (&["2|a|One|one|1"], &[])]);
    check(&[(&["1|a|Photo|<img 1>|60"], &["+"]), (&["2|a|Photo|<img 2>|36"], &["+"])]);
    check(&[(&["1|a|||60"], &["+"]), (&["2|a|||36"], &["+"]), (&["3|a|||35"], &[])]);
    // A window with one link for all.
    check(&[
        (&["1|a|T|one|", "2|a|T|two|"], &["+one", "+two"]),
        (&["2|a|T|two|", "3|a|T|three|"], &["+three"]),
        (&["4|a|T|four|", "5|a|T|five|"], &["+four", "+five"]),
    ]);
}

#[test]
fn without_guid_the_link_and_without_link_the_content_identify() {
    check(&[(&["|a|One|one|", "|b|two"], &["+one", "+two"]), (&["|a|One|edited|", "|b|two"], &["~edited"])]);
    check(&[(&["|a|One|one|9"], &["+one"]), (&["|a|Two|two|9"], &["~two"])]);
    check(&[(&["|a|One|one|9"], &["+one"]), (&["|a|Two|two|3"], &["+two"]), (&["|a|Two|3|3"], &["~3"])]);
    check(&[(&["||one", "||two"], &["+one", "+two"]), (&["||one", "||two", "||three"], &["+three"])]);
    check(&[(&["|a|one", "|a|two"], &["+one", "+two"]), (&["|a|one", "|a|two", "|a|three"], &["+three"])]);
    // The date counts where it is given.
    check(&[
        (&["||Down|it is down|9", "||Down|it is down|5"], &["+it is down", "+it is down"]),
        (&["||Down|it is down|5", "||Down|it is down|1"], &["+it is down"]),
    ]);
    check(&[(&["||Down|it is down|"], &["+it is down"]), (&["||Down|it is down|1"], &[])]);
    // The feed stops giving guids, and begins again.
    check(&[(&["1|a|one"], &["+one"]), (&["|a|one"], &[]), (&["1|a|one"], &[]), (&["2|a|one"], &[])]);
}

#[test]
fn dates_that_are_made_with_each_document_say_nothing() {
    let document = |at: Time| {
        let dated = |spec: &str| Entry { published_at: Some(at - Span::from_secs(3)), ..entry(spec) };
        vec![dated("||One|one|"), dated("||Two|two|")]
    };
    let mut source = Source::default();
    let sifted = sift(document(start()), &[], &source.filter, true, start(), text);
    assert_eq!(sifted.new.len(), 2);
    source.keep(sifted);
    let later = start() + Span::from_hours(1);
    let sifted = sift(document(later), &source.seen, &source.filter, true, later, text);
    assert_eq!((sifted.new.len(), sifted.skipped.known), (0, 2));
    // One that is dated otherwise shows that the dates are real.
    let mut other = document(later);
    other.push(entry("||Three|three|5"));
    assert_eq!(sift(other, &source.seen, &source.filter, true, later, text).new.len(), 3);
}

#[test]
fn equal_texts_of_entries_are_posts_of_their_own() {
    check(&[
        (&["1|a|A|same|", "2|b|B|same|"], &["+same", "+same"]),
        (&["3|c|C|same|"], &["+same"]),
        (&["1|a|A|same|", "3|c|C|new|"], &["~new"]),
    ]);
    check(&[(&["1|a|A|one|", "2|b|B|two|"], &["+one", "+two"]), (&["1|a|A|two|", "2|b|B|two|"], &["~two"])]);
    check(&[(&["1|a|A||1", "2|b|A||1"], &["+", "+"])]);
    check(&[(&["1|a|A|<img 1>|1", "2|b|A|<img 2>|1"], &["+", "+"]), (&["3|c|A|<img 1>|1"], &[])]);
}

#[test]
fn a_republished_copy_is_the_same_post() {
    check(&[
        (&["1|a|One|one|9"], &["+one"]),
        (&["2|b|One|one|9"], &[]),
        (&["2|b|One|one, edited|9"], &["~one, edited"]),
    ]);
    check(&[(&["1|a|One|one|9", "2|b|One|one|9"], &["+one"]), (&["2|b|One|one|9"], &[])]);
    // Without a date, or with another one, nobody knows.
    check(&[(&["1|a|One|one|"], &["+one"]), (&["2|b|One|one|"], &["+one"])]);
    check(&[(&["1|a|One|one|9"], &["+one"]), (&["2|b|One|one|8"], &["+one"])]);
}

#[test]
fn a_copy_that_goes_its_own_way_is_a_post_of_its_own() {
    let soon = ["1|a|Soon|more to come|9", "2|b|Soon|more to come|9"];
    check(&[
        (&soon, &["+more to come"]),
        (&["1|a|Soon|more to come|9", "2|b|Second|the second|9"], &["+the second"]),
        (&["1|a|First|the first|9", "2|b|Second|the second|9"], &["~the first"]),
    ]);
    check(&[
        (&soon, &["+more to come"]),
        (&["1|a|First|the first|9", "2|b|Second|the second|9"], &["+the second", "~the first"]),
    ]);
    // Both are edited alike.
    check(&[(&soon, &["+more to come"]), (&["1|a|One|one|9", "2|b|One|one|9"], &["~one", "~one"])]);
}

#[test]
fn an_entry_is_no_copy_of_what_this_document_changes() {
    // Guids that are places in the list, with one link for all: each text is there, wherever it moved.
    for reversed in [false, true] {
        let mut source = Source::default();
        source.read(&["1|l|A|aa|9", "2|l|B|bb|9"]);
        let mut shifted = vec!["1|l|N|nn|9", "2|l|A|aa|9", "3|l|B|bb|9"];
        if reversed {
            shifted.reverse();
        }
        source.read(&shifted);
        let texts: Vec<String> = source.texts().into_iter().map(|(_, text)| text).collect();
        assert_eq!(texts, ["aa", "bb", "nn"]);
    }
}

#[test]
fn by_content_an_equal_text_is_a_duplicate() {
    let by_content = |steps| check_by(Duplicates::Content, steps);
    by_content(&[
        (&["1|a|A|same|", "2|b|B|same|"], &["+same"]),
        (&["3|c|C|same|1"], &[]),
        (&["1|a|A|same|", "3|c|C|new|1"], &["+new"]),
    ]);
    by_content(&[
        (&["1|a|one", "2|b|two"], &["+one", "+two"]),
        (&["1|a|two", "2|b|two"], &[]),
        (&["1|a|three", "2|b|two"], &["~three"]),
    ]);
    by_content(&[(&["1|a|A||", "2|b|A||"], &["+", "+"])]);
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
    let (skipped, verdicts) = (sifted.skipped, sifted.verdicts.clone());
    assert_eq!(Sifted { skipped, verdicts, ..Sifted::default() }, sifted);
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

    /// A few guids, links, titles, texts and dates in any mixture, in a few documents: no key is written twice, and a document
    /// that was read brings nothing when it is read again, by either rule.
    #[test]
    fn a_document_brings_nothing_twice(
        documents in prop::collection::vec(
            prop::collection::vec("[ab]?\\|[xy]?\\|[TU]?\\|[1-3]?\\|[79]?", 0..6), 1..6),
        by_content in any::<bool>(),
    ) {
        let duplicates = if by_content { Duplicates::Content } else { Duplicates::Entry };
        let filter = Filter::default().with_duplicates(duplicates);
        let mut source = Source { filter, ..Source::default() };
        for document in &documents {
            let document: Vec<&str> = document.iter().map(String::as_str).collect();
            source.read(&document);
            let (new, _) = source.read(&document);
            prop_assert!(new.is_empty(), "{:?} brought {:?} again", document, new);
        }
    }

    /// Entries with guids, links, titles and texts of their own, in windows of any length and order, edited now and then: each
    /// is one post, and says what it said last.
    #[test]
    fn each_entry_is_one_post(
        windows in prop::collection::vec(prop::collection::vec((0..8usize, any::<bool>()), 1..8), 1..12),
        equal_texts in any::<bool>(),
        dated in any::<bool>(),
    ) {
        let (mut source, mut editions, mut latest) = (Source::default(), [0; 8], HashMap::new());
        for window in windows {
            let mut document: Vec<String> = Vec::new();
            let mut here = HashSet::new();
            for (n, edited) in window {
                if !here.insert(n) {
                    continue;
                }
                editions[n] += usize::from(edited && latest.contains_key(&n));
                let edition = editions[n];
                let text = if equal_texts { format!("text {edition}") } else { format!("text {n} {edition}") };
                let date = if dated { n.to_string() } else { String::new() };
                latest.insert(n, (Some(format!("Title {n}")), text.clone()));
                document.push(format!("g{n}|l{n}|Title {n}|{text}|{date}"));
            }
            source.read(&document.iter().map(String::as_str).collect::<Vec<_>>());
        }
        let mut expected: Vec<_> = latest.into_values().collect();
        expected.sort();
        prop_assert_eq!(source.texts(), expected);
    }
}
