//! `gleaner policy`.

use super::Place;

const CONFIG: &str = r#"
[source]
policy = "mine"

[policies.mine]
base = "standard"
max_backoff_hours = 6

[policies.mine.on.gone]
set_aside = "disable"
threshold = 2

[policies.mine.on.parse_error]
gap = "interval"
"#;

#[test]
fn shows_the_shipped_tables() {
    insta::assert_snapshot!(Place::new().run(&["policy", "show"]).ok());
}

#[test]
fn shows_one_table_with_its_changes() {
    let place = Place::with_config(CONFIG);
    insta::assert_snapshot!(place.run(&["policy", "show", "mine", "--config", "gleaner.toml"]).ok());
}

#[test]
fn what_toml_prints_can_be_pasted() {
    let place = Place::with_config(CONFIG);
    let pasted = place.run(&["policy", "show", "--toml", "--config", "gleaner.toml"]).ok();
    place.write("pasted.toml", &format!("source.policy = \"mine\"\n{pasted}"));
    let json = |file: &str| place.run(&["policy", "show", "--json", "--config", file]).ok();
    assert_eq!(json("pasted.toml"), json("gleaner.toml"));
    assert!(pasted.contains("[policies.mine.on.gone]\n"), "{pasted}");
}

#[test]
fn prints_json_for_programs() {
    let printed = Place::new().run(&["policy", "show", "cooldown", "--json"]).ok();
    let whole: serde_json::Value = serde_json::from_str(&printed).unwrap();
    let policy = &whole["policies"][0];
    assert_eq!((&policy["name"], &policy["default"]), (&"cooldown".into(), &false.into()));
    assert_eq!(policy["table"]["on"]["gone"]["cooldown_hours"], 72.0);
}

#[test]
fn an_unknown_policy_is_told_the_known_ones() {
    let complaint = Place::new().run(&["policy", "show", "strict"]).failed(2);
    assert_eq!(
        complaint,
        "error: there is no policy 'strict'; there are standard, backoff, cooldown, quarantine\n"
    );
}
