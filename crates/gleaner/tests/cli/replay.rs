//! `gleaner policy replay`, on either way and on both databases.

use gleaner_core::time::{Span, Time};
use serde_json::Value;
use sqlx::Connection as _;
use tokio::runtime::Runtime;

use super::Place;
use super::site::{CONFIG, Site, on_both_ways};
use crate::support::empty_postgres;

on_both_ways!(tells_what_would_have_been_different, mistakes_are_told);

const DEAD: &str = "https://dead.example/feed";

/// Runs SQL on a database.
fn sql(url: &str, text: &str) {
    let text = sqlx::AssertSqlSafe(text.to_owned());
    Runtime::new().unwrap().block_on(async {
        if url.starts_with("postgres:") {
            let mut connection = sqlx::PgConnection::connect(url).await.unwrap();
            sqlx::raw_sql(text).execute(&mut connection).await.unwrap();
        } else {
            let mut connection = sqlx::SqliteConnection::connect(url).await.unwrap();
            sqlx::raw_sql(text).execute(&mut connection).await.unwrap();
        }
    });
}

/// A row of the history of a source, at so many hours before now.
fn row(
    source: i64,
    [first, last]: [f64; 2],
    count: u32,
    error: Option<&str>,
    posts: u32,
    rule: &str,
) -> String {
    let now = std::time::UNIX_EPOCH.elapsed().unwrap();
    let now = Time::from_millis(i64::try_from(now.as_millis()).unwrap());
    let at = |hours: f64| (now - Span::from_hours(1).scale(hours)).as_millis();
    let (outcome, kind, words) = match error {
        Some(kind) => ("failed", format!("'{kind}'"), "'it failed'"),
        None => (if posts > 0 { "fetched" } else { "not_modified" }, "NULL".into(), "NULL"),
    };
    format!(
        "INSERT INTO polls (source_id, first_at, last_at, count, outcome, error_type, error, duration_ms, bytes, \
         new_posts, updated_posts, rule) VALUES ({source}, {}, {}, {count}, '{outcome}', {kind}, {words}, 5, 0, \
         {posts}, 0, '{rule}');",
        at(first),
        at(last)
    )
}

/// Two sources polled hourly under `standard`: one is always well, the other answers 404 for half a day.
fn history() -> String {
    let mut rows = vec![row(1, [100.0, 1.0], 100, None, 0, "interval")];
    rows.push(row(2, [100.0, 91.0], 10, None, 0, "interval"));
    for hours in [90.0, 89.0, 88.0, 87.0, 85.5, 83.25, 79.875] {
        rows.push(row(2, [hours; 2], 1, Some("not_found"), 0, "age"));
    }
    rows.push(row(2, [74.8125; 2], 1, None, 3, "interval"));
    rows.push(row(2, [73.8125, 0.8125], 74, None, 0, "interval"));
    rows.concat()
}

fn prepared(run: &dyn Fn(&[&str]) -> super::Run, url: &str) {
    run(&["add", "https://well.example/feed", "--interval", "60"]).ok();
    run(&["add", DEAD, "--interval", "60"]).ok();
    // A server polls them meanwhile.
    run(&["disable", "1", "2"]).ok();
    sql(url, &format!("DELETE FROM polls; {}", history()));
}

fn tells_what_would_have_been_different(site: &Site) {
    let url = site.place.path().join("gleaner.db").display().to_string();
    prepared(&|args| site.run(args), &url);
    let same = site.run(&["policy", "replay", "--policy", "standard"]).ok();
    assert!(same.ends_with("nothing would have been different\n"), "{same}");
    // At 0, 1, 2, 3 and 4.5 hours: the fifth is one too many, and nobody comes.
    let whole = site.json(&["policy", "replay", "--policy", "quarantine"]);
    check_quarantine(&whole);
    let told = site.run(&["policy", "replay", "--policy", "quarantine"]).ok();
    let lines: Vec<&str> = told.lines().collect();
    assert!(lines[0].starts_with("2 sources under quarantine, polls since 20"), "{told}");
    assert_eq!(lines[1], "  different: 1 source");
    assert_eq!(lines[2], "  requests:  115 instead of 192, 77 saved");
    assert!(lines[3].starts_with("  set aside: 1 source for 4 days instead of 0 sources"), "{told}");
    assert_eq!(lines[4], "  posts:     none late; 3 not found by the end");
    let (head, row) = (lines[6], lines[7]);
    assert!(head.starts_with("id  requests  set aside  would have been"), "{told}");
    assert!(row.starts_with("2   92 -> 15  -          quarantined 20"), "{told}");
    assert!(row.contains(", not_found for 4 days  3 missing  https://dead.example/feed"), "{told}");
    // Half of it, and one source of it.
    let later = site.json(&["policy", "replay", "--policy", "quarantine", "--since", "3030m"]);
    assert_eq!((&later["requests"]["recorded"], &later["missing_posts"]), (&Value::from(100), &0.into()));
    for source in ["1", "https://well.example/feed"] {
        let one = site.json(&["policy", "replay", "--policy", "quarantine", "--source", source]);
        assert_eq!((&one["sources"], &one["different"]), (&Value::from(1), &0.into()));
    }
    let mine = "[policies.mine]\nbase = 'quarantine'\n[policies.mine.on.not_found]\nset_aside = 'never'\n";
    site.place.write("mine.toml", mine);
    let mine = site.json(&["policy", "replay", "--policy", "mine.toml", "--collection", "default"]);
    assert_eq!((&mine["policy"], &mine["missing_posts"]), (&Value::from("mine"), &0.into()));
    // Hourly through the whole outage, where `standard` asked seven times.
    assert_eq!(mine["items"][0]["requests"]["replayed"], 99);
}

fn check_quarantine(whole: &Value) {
    assert_eq!((&whole["sources"], &whole["different"]), (&Value::from(2), &1.into()));
    let item = &whole["items"][0];
    assert_eq!(
        (&item["id"], &item["url"], &item["policy"]),
        (&Value::from(2), &DEAD.into(), &"standard".into())
    );
    assert_eq!(item["requests"], serde_json::json!({ "recorded": 92, "replayed": 15 }));
    assert_eq!((&item["missing_posts"], &item["late_posts"]), (&Value::from(3), &0.into()));
    let aside = &item["set_aside"]["replayed"][0];
    assert_eq!((&aside["status"], &aside["reason"]), (&Value::from("quarantined"), &"not_found".into()));
    assert!(aside["to"].is_null() && item["set_aside"]["recorded"].as_array().unwrap().is_empty());
}

#[test]
fn is_the_same_on_postgres() {
    let url = Runtime::new().unwrap().block_on(empty_postgres());
    let place = Place::with_config(&CONFIG.replace("gleaner.db", &url));
    let run = |args: &[&str]| place.run(&[&["--config", "gleaner.toml"], args].concat());
    prepared(&run, &url);
    let told = run(&["policy", "replay", "--policy", "quarantine", "--json"]).ok();
    check_quarantine(&serde_json::from_str(&told).unwrap());
}

fn mistakes_are_told(site: &Site) {
    let none = site.run(&["policy", "replay", "--policy", "standard"]).ok();
    assert!(none.starts_with("no polls are recorded since 20"), "{none}");
    let wrong = |args: &[&str], code: i32| site.run(&[&["policy", "replay"], args].concat()).failed(code);
    assert_eq!(wrong(&["--policy", "strict"], 3), "error: policy strict does not exist\n");
    assert!(
        wrong(&["--policy", "gone.toml"], 2).starts_with("error: --policy gone.toml: it cannot be read: ")
    );
    site.place.write("bad.toml", "base = 'standard'\n[on.gone]\nthreshold = 0\n[on.nope]\ngap = 'age'\n");
    let told = wrong(&["--policy", "./bad.toml"], 2);
    assert!(told.contains("policies.bad.on.gone.threshold = 0: must be") && told.contains("nope"), "{told}");
    wrong(&["--policy", "standard", "--since", "yesterday"], 2);
    wrong(&["--policy", "standard", "--source", "9"], 3);
    wrong(&["--policy", "standard", "--collection", "nowhere"], 3);
}
