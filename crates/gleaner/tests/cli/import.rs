//! `import` and `export`: lists of all shapes, thousands of feeds, and a process that dies in the middle.

use std::process::Stdio;
use std::time::{Duration, Instant};

use gleaner::store::{Options, SourceFilter, open};
use tokio::runtime::Runtime;

use super::site::{Site, on_both_ways};
use crate::support::http::{Reply, Server};

on_both_ways!(
    a_list_is_imported_and_told_line_by_line,
    json_keeps_all_that_is_set,
    a_list_is_fetched,
    ten_thousand_feeds_take_seconds,
    wrong_lists_are_told,
);

const LIST: &str = "<opml version='2.0'><body>\n\
    <outline text='Top' xmlUrl='https://top.example/feed'/>\n\
    <outline text='News'><outline text='World'>\n\
    <outline text='A' xmlUrl='https://a.example/feed'/>\n\
    <outline text='A again' xmlUrl='https://a.example/feed#again'/>\n\
    <outline text='Bad' xmlUrl='ftp://b.example/'/>\n\
    <outline text='Private' xmlUrl='http://10.0.0.1/feed'/>\n\
    </outline></outline></body></opml>\n";

/// A list of so many feeds.
fn many(count: usize) -> String {
    let feed =
        |n| format!("<outline type='rss' text='Feed {n}' xmlUrl='https://h{}.example/feed/{n}'/>\n", n % 997);
    format!("<opml><body>\n{}</body></opml>", (0..count).map(feed).collect::<String>())
}

fn count(site: &Site) -> usize {
    site.run(&["list", "--json"]).ok().lines().count()
}

fn a_list_is_imported_and_told_line_by_line(site: &Site) {
    site.place.write("list.opml", LIST);
    let run = site.run(&["import", "list.opml"]);
    assert_eq!(
        (run.code, run.err.as_str()),
        (1, "error: 2 could not be imported, see the lines above; the others were\n")
    );
    insta::assert_snapshot!("imported", run.out);
    let again = site.run_with(&["import", "-", "--json"], LIST);
    let told: serde_json::Value = serde_json::from_str(&again.out).unwrap();
    assert_eq!((&told["added"], &told["duplicates"], &told["bad"]), (&0.into(), &3.into(), &2.into()));
    let exported = site.run(&["export"]).ok();
    insta::assert_snapshot!("exported", exported);
    let news = site.run(&["export", "--collection", "News/World", "--format", "json"]).ok();
    assert_eq!(
        news,
        "{\"backfill\":\"recent\",\"collection\":\"News/World\",\"kind\":\"feed\",\"name\":\"A\",\"url\":\"https://a.example/feed\"}\n"
    );
    let other = Site::local();
    other.run_with(&["import", "-"], &exported).ok();
    assert_eq!(other.run(&["export"]).ok(), exported, "what is written is read again");
}

fn json_keeps_all_that_is_set(site: &Site) {
    let line = r#"{"url":"https://a.example/","kind":"watchlist","collection":"Blogs","name":"A","poll_interval_minutes":15,"poll_delay_seconds":3,"article_selector":"h2 a","ignore_robots":true,"policy":"backoff","duplicates":"content","enabled":false}"#;
    let lines = format!(
        "{line}\n\n{}\nnonsense\n[1]\n{}\n{}\n",
        r#"{"url":"https://b.example/","id":7,"status":"healthy"}"#,
        r#"{"name":"no url"}"#,
        r#"{"url":"https://c.example/","collour":"red","policy":"none"}"#,
    );
    let run = site.run_with(&["import", "-"], &lines);
    assert_eq!(run.code, 1);
    insta::assert_snapshot!("imported_json", run.out);
    let exported = site.run(&["export", "--format", "json"]).ok();
    let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    let kept = exported.lines().map(value).find(|source| source["url"] == "https://a.example/").unwrap();
    let mut expected = value(line);
    expected["backfill"] = "recent".into();
    assert_eq!(kept, expected, "an import by a person brings recent entries");
    assert_eq!(site.run(&["export", "-o", "out.opml"]).ok(), "wrote out.opml\n");
    let opml = std::fs::read_to_string(site.place.path().join("out.opml")).unwrap();
    assert!(
        opml.contains("<outline type=\"watchlist\" text=\"A\" title=\"A\" url=\"https://a.example/\"/>"),
        "{opml}"
    );
}

fn a_list_is_fetched(site: &Site) {
    let runtime = Runtime::new().unwrap();
    let server = runtime.block_on(Server::start());
    let latin: Vec<u8> =
        LIST.replace("Top", "Fran\u{e7}ais").chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
    let declared = [&b"<?xml version='1.0' encoding='iso-8859-1'?>"[..], &latin].concat();
    server.on("/list", Reply::ok(declared));
    let run = site.run(&["import", server.url("/list").as_str(), "--collection", "default"]);
    assert!(run.out.contains("\nadded 2, 1 were there already, 2 are bad\n"), "{}{}", run.out, run.err);
    assert!(site.run(&["list", "--json"]).ok().contains("Fran\u{e7}ais"));
    assert_eq!(site.run(&["collection", "list"]).ok().lines().count(), 2, "no folder became one");
    let missing = site.run(&["import", server.url("/none").as_str()]).failed(1);
    assert!(missing.contains("404 Not Found"), "{missing}");
    let private = site.run(&["import", "http://10.0.0.1/list"]).failed(1);
    assert!(private.contains("blocked"), "{private}");
}

fn ten_thousand_feeds_take_seconds(site: &Site) {
    site.place.write("many.opml", &many(10_000));
    let began = Instant::now();
    let told = site.run(&["import", "many.opml"]).ok();
    let took = began.elapsed();
    assert_eq!(
        told,
        "added 10000, 0 were there already, 0 are bad\n\
         first polls within 5 minutes, by a running gleaner; they store up to 10 recent entries each\n"
    );
    assert!(took < Duration::from_secs(20), "{took:?}");
    // Not all at once, but soon: each within 5 minutes.
    let listed = site.run(&["list", "--json"]).ok();
    let next =
        |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["next_poll_at"].to_string();
    let times: std::collections::HashSet<String> = listed.lines().map(next).collect();
    assert!(times.len() > 5000, "{}", times.len());
}

fn wrong_lists_are_told(site: &Site) {
    for (list, words) in [
        ("", "it is not OPML: it has no <opml> element"),
        ("<html><body>Not here</body></html>", "it is not OPML"),
        ("<rss version='2.0'/>", "it is not OPML"),
    ] {
        let failed = site.run_with(&["import", "-"], list).failed(2);
        assert!(failed.contains(words), "{failed}");
    }
    let empty = site.run_with(&["import", "-"], "<opml><body/></opml>").ok();
    assert_eq!(empty, "added 0, 0 were there already, 0 are bad\n");
    assert!(site.run(&["import", "no.opml"]).failed(2).contains("no.opml cannot be read: No such file"));
    let format = site.run(&["import", "-", "--format", "yaml"]).failed(2);
    assert!(format.contains("there is no format 'yaml'; there are opml, json"), "{format}");
    let missing = site.run_with(&["import", "-", "--collection", "none"], LIST).failed(3);
    assert!(missing.contains("there is no collection 'none'"), "{missing}");
    let deep =
        format!("<opml>{}<outline xmlUrl='https://deep.example/'/>", "<outline text='d'>".repeat(100_000));
    let told = site.run_with(&["import", "-"], &deep).ok();
    assert!(told.starts_with("added 1, 0 were there already, 0 are bad; made 1 collection\n"), "{told}");
}

#[test]
fn what_was_imported_before_a_crash_is_kept() {
    const MANY: usize = 30_000;
    let (site, runtime) = (Site::local(), Runtime::new().unwrap());
    site.place.write("many.opml", &many(MANY));
    let database = site.place.path().join("gleaner.db").display().to_string();
    let store = runtime.block_on(open(&Options::new(database))).unwrap();
    let mut child = site.command(&["import", "many.opml"]).stdout(Stdio::null()).spawn().unwrap();
    // Some are there, and not all.
    while runtime.block_on(store.sources(&SourceFilter::default(), None, 1)).unwrap().is_empty() {
        assert!(child.try_wait().unwrap().is_none(), "it was too fast");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let kept = count(&site);
    assert!(kept > 0 && kept < MANY && kept.is_multiple_of(500), "{kept}");
    let told = site.run(&["import", "many.opml", "--json"]).ok();
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["duplicates"].as_u64().unwrap(), kept as u64);
    assert_eq!((told["added"].as_u64().unwrap() + kept as u64, count(&site)), (MANY as u64, MANY));
}
