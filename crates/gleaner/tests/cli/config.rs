//! `gleaner config`.

use super::{IntoRun, Place};

const CONFIG: &str = r#"
[source]
policy = "mine"
max_failures = 3

[source.host_overrides."Feeds.Example.ORG"]
concurrency = 4

[fetch]
contact = "ops@example.org"
timeout_seconds = 8

[policies.mine]
base = "backoff"

[policies.mine.on.not_found]
threshold = 7
"#;

/// The lines that are no comment, as people would write them.
fn values(printed: &str) -> String {
    let lines = printed.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn prints_every_setting_with_its_default() {
    insta::assert_snapshot!(Place::new().run(&["config"]).ok());
}

#[test]
fn says_where_each_value_came_from() {
    let place = Place::with_config(CONFIG);
    let mut command = place.command(&["--config", "gleaner.toml", "config", "--set", "log.level=debug"]);
    command.env("GLEANER_SOURCE__MAX_FAILURES", "4").env("GLEANER_LOG__LEVEL", "warn");
    insta::assert_snapshot!(values(&command.into_run().ok()));
}

#[test]
fn prints_json_for_programs() {
    let place = Place::with_config(CONFIG);
    let printed = place.run(&["config", "--json", "--config", "gleaner.toml"]).ok();
    let whole: serde_json::Value = serde_json::from_str(&printed).unwrap();
    let settings = whole["settings"].as_array().unwrap();
    let find = |key: &str| settings.iter().find(|row| row["key"] == key).unwrap();
    assert_eq!(find("source.host_overrides.\"feeds.example.org\".concurrency")["value"], 4);
    assert_eq!(find("fetch.proxy")["value"], serde_json::Value::Null);
    insta::assert_snapshot!(format!("{:#}", find("source.max_failures")), @r#"
    {
      "about": "Permanent failures in a row until the backoff policy disables a source.",
      "allowed": "a whole number from 1 to 4294967295",
      "at": "gleaner.toml:4",
      "from": "file",
      "key": "source.max_failures",
      "value": 3,
      "variable": "GLEANER_SOURCE__MAX_FAILURES"
    }
    "#);
}

#[test]
fn finds_the_file_by_flag_variable_and_platform() {
    let place = Place::with_config("[log]\nlevel = \"debug\"");
    place.write("other.toml", "[log]\nlevel = \"trace\"");
    let level = |run: super::Run| {
        let printed = run.ok();
        printed.lines().find(|line| line.starts_with("level = ")).unwrap().to_owned()
    };
    let mut by_variable = place.command(&["config"]);
    by_variable.env("GLEANER_CONFIG", "gleaner.toml");
    assert_eq!(level(by_variable.into_run()), "level = \"debug\"  # gleaner.toml:2");
    let mut by_flag = place.command(&["config", "--config", "other.toml"]);
    by_flag.env("GLEANER_CONFIG", "gleaner.toml");
    assert_eq!(level(by_flag.into_run()), "level = \"trace\"  # other.toml:2");
    assert_eq!(level(place.run(&["config"])), "level = \"info\"  # default");
    if cfg!(target_os = "linux") {
        place.write("xdg/gleaner/config.toml", "log.level = \"error\"");
        let mut by_platform = place.command(&["config"]);
        by_platform.env("XDG_CONFIG_HOME", place.path().join("xdg"));
        assert!(level(by_platform.into_run()).starts_with("level = \"error\"  # "));
    }
}

#[test]
fn a_named_file_must_be_there() {
    let complaint = Place::new().run(&["config", "--config", "absent.toml"]).failed(2);
    assert!(complaint.contains("absent.toml (named by --config): cannot be read: "), "{complaint}");
}

#[test]
fn check_only_validates() {
    let place = Place::with_config("[source]\nmax_failures = 3\n");
    assert_eq!(place.run(&["config", "check"]).ok(), "the configuration is right\n");
    let run = place.run(&["config", "check", "--config", "gleaner.toml"]);
    assert_eq!((run.code, run.out.as_str()), (0, "the configuration is right\n"));
    assert_eq!(
        run.err,
        "warning: gleaner.toml:2: source.max_failures: has no effect under the policy standard; policies that use \
         it: backoff\n"
    );
}

#[test]
fn every_mistake_is_named_and_nothing_printed() {
    let place = Place::with_config(
        "[source]\nmax_failure = 3\npoll_interval_minutes = 0\n[policies.standard.on.teapot]\nthreshold = 3\n\
         [policies.cooldown.on.gone]\ncooldown_hours = -1\n[policies.cooldown.on.not_found]\nthreshold = 0",
    );
    let mut command = place.command(&["config", "--config", "gleaner.toml", "--set", "fetch.concurrency=0"]);
    command.env("GLEANER_API__LISTEN", "here").env("GLEANER_NONSENSE", "1");
    insta::assert_snapshot!(command.into_run().failed(2), @r#"
    error: the configuration is wrong:
    gleaner.toml:2: source.max_failure: unknown key; did you mean source.max_failures?
    gleaner.toml:3: source.poll_interval_minutes = 0: must be a whole number from 1 to 525600
    gleaner.toml:4: policies.standard.on.teapot: 'teapot' is no error kind; there are rate_limited, unauthorized, forbidden, not_found, gone, upstream_failure, network, parse_error, too_large, blocked, unexpected, internal
    gleaner.toml:7: policies.cooldown.on.gone.cooldown_hours = -1: must be a length of time above 0 up to 100 years
    gleaner.toml:9: policies.cooldown.on.not_found.threshold = 0: must be a whole number from 1 to 4294967295
    GLEANER_API__LISTEN: api.listen = here: must be an address and a port such as 127.0.0.1:8080 or [::1]:8080
    GLEANER_NONSENSE: nonsense: unknown key; `gleaner config` lists all that there are
    --set: fetch.concurrency = 0: must be a whole number from 1 to 10000
    "#);
}

#[test]
fn secrets_are_never_printed() {
    let place = Place::new();
    place.write("secret", "hunter2-hunter2-hunter2-hunter2-hunter2\n");
    for args in [&["config"][..], &["config", "--json"], &["config", "check"]] {
        let mut command = place.command(args);
        command
            .env("GLEANER_API__JWT_SECRET_FILE", "secret")
            .env("GLEANER_STORE__URL", "postgres://me:hunter2@db.example/gleaner");
        let printed = command.into_run().ok();
        assert!(!printed.contains("hunter2"), "{printed}");
        assert!(args.contains(&"check") || printed.contains("postgres://me:(set)@db.example/gleaner"));
    }
    let bad = place.run(&["config", "--set", "api.jwt_secret=hunter2"]).failed(2);
    assert_eq!(
        bad,
        "error: the configuration is wrong:\n--set: api.jwt_secret = (set): must be a text of at least 32 bytes that is hard to guess\n"
    );
}
