//! `gleaner simulate`.

use serde_json::Value;

use super::Place;

const SMALL: [&str; 9] =
    ["simulate", "--sources", "100", "--days", "15", "--policy", "standard", "--policy", "backoff"];

#[test]
fn prints_a_row_for_each_policy_with_and_without_judgement() {
    let table = Place::new().run(&[&SMALL[..], &["--auto"]].concat()).ok();
    let names: Vec<&str> =
        table.lines().skip(2).filter_map(|line| line.split('|').nth(1)).map(str::trim).collect();
    let of = |policy: &str| {
        ["", ", judged", ", judged, auto"]
            .map(|what| format!("{policy}{what}"))
            .into_iter()
            .collect::<Vec<_>>()
    };
    assert_eq!(names, [of("standard"), of("backoff")].concat());
}

#[test]
fn the_same_seed_prints_the_same_objects() {
    let place = Place::new();
    let run = |more: &[&str]| place.run(&[&SMALL[..], &["--json", "--seed", "7"], more].concat()).ok();
    let text = run(&[]);
    assert_eq!(run(&[]), text);
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 4);
    assert_eq!(rows[1]["judgement"], serde_json::json!(["incidents", "guard", "pacing"]));
    assert!(rows[0]["measures"]["requests_per_source_day"].as_f64().unwrap() > 10.0);
    let without = run(&["--without", "incidents,pacing"]);
    assert!(without.contains(r#""judgement":["guard"]"#), "{without}");
}

#[test]
fn an_unknown_policy_is_named_with_those_there_are() {
    let run = Place::new().run(&["simulate", "--policy", "hope"]);
    assert_eq!(run.code, 2);
    assert!(run.err.contains("there is no policy 'hope'; there are backoff, cooldown"), "{}", run.err);
}
