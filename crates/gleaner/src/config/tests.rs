//! Whole configurations: what wins, what is refused and in which words, what comes out.

use std::collections::BTreeMap;
use std::io;

use gleaner_core::outcome::ErrorKind;
use gleaner_core::overlay;
use gleaner_core::policy::{Policy, Then};
use gleaner_core::source::Kind;
use gleaner_core::time::Span;

use super::settings::SETTINGS;
use super::*;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

fn load(file: &str, env: &[(&str, &str)], flags: &[&str]) -> Result<Loaded, ConfigErrors> {
    let home = [("HOME", "/home/me")];
    let env = home.iter().chain(env).map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let flags =
        flags.iter().map(|set| Flag { name: "--set".into(), assignment: (*set).to_owned() }).collect();
    let read = |path: &std::path::Path| match path.to_str() {
        Some("/run/token") => Ok(format!("{TOKEN}\n")),
        Some("/run/short") => Ok("hunter2\n".to_owned()),
        _ => Err(io::Error::from(io::ErrorKind::NotFound)),
    };
    let file = File { path: "config.toml".into(), text: file.to_owned() };
    Config::load(&Inputs { file: Some(file), env, flags, read: &read })
}

fn config(file: &str) -> Config {
    load(file, &[], &[]).map_err(|errors| panic!("{errors}")).unwrap().config
}

fn refused(file: &str, expected: &str) {
    assert_eq!(load(file, &[], &[]).unwrap_err().to_string(), expected);
}

#[test]
fn flags_win_over_variables_over_the_file_over_defaults() {
    let file = "[source]\nmax_failures = 1\nkeep_polls_days = 1\npoll_interval_minutes = 1";
    let env = [("GLEANER_SOURCE__MAX_FAILURES", "2"), ("GLEANER_SOURCE__KEEP_POLLS_DAYS", "2")];
    let loaded = load(file, &env, &["source.max_failures=3", "source.max_failures = 4"]).unwrap();
    let source = &loaded.config.source;
    assert_eq!(source.knobs.max_failures, 4);
    assert_eq!(source.keep_polls, Span::from_days(2));
    assert_eq!(source.poll_interval, Span::from_mins(1));
    assert_eq!(source.max_articles_per_poll, 20);
    let origin = |key: &str| {
        let (_, value) = loaded.values.iter().find(|(known, _)| known.to_string() == key).unwrap();
        value.origin.to_string()
    };
    assert_eq!(origin("source.max_failures"), "--set");
    assert_eq!(origin("source.keep_polls_days"), "GLEANER_SOURCE__KEEP_POLLS_DAYS");
    assert_eq!(origin("source.poll_interval_minutes"), "config.toml:4");
    assert_eq!(origin("source.max_articles_per_poll"), "default");
}

#[test]
fn everything_becomes_its_type() {
    let config = config(
        "[source]\nmax_article_age_days = 0\npoll_delay_seconds = { rss = 1.5, x = 0 }\n\
         [source.host_overrides]\n\"Example.ORG\".concurrency = 4\n\"b.example\".poll_delay_seconds = 2\n\
         [fetch]\nallow_private_networks = [\"10.0.0.0/8\", \"::1\"]\nproxy = \"socks5://p:1\"\n\
         [policies.mine]\nbase = \"cooldown\"\non.gone.cooldown_hours = 1.5",
    );
    assert_eq!(config.source.max_article_age, None);
    assert_eq!(config.source.keep_unlinked_posts, Some(Span::from_days(90)));
    let delays = BTreeMap::from([(Kind::Feed, Span::from_millis(1500)), (Kind::X, Span::ZERO)]);
    assert_eq!(config.source.poll_delay, delays);
    let hosts = &config.source.host_overrides;
    assert_eq!(hosts["example.org"], HostOverride { poll_delay: None, concurrency: 4, scope: None });
    assert_eq!(
        hosts["b.example"],
        HostOverride { poll_delay: Some(Span::from_secs(2)), concurrency: 1, scope: None }
    );
    assert_eq!(config.fetch.allow_private_networks.len(), 2);
    assert_eq!(config.store.url.to_string(), "/home/me/.local/share/gleaner/gleaner.db");
    let gone = config.policies["mine"].rule(ErrorKind::Gone).aside.unwrap();
    assert_eq!(gone.then, Then::CoolDown(Span::from_mins(90)));
}

#[test]
fn all_mistakes_are_reported_at_once() {
    let file =
        "[source]\nmax_failures = 0\npoll_intervall_minutes = 5\n[fech]\na = 1\nb = 2\n[log]\nlevel = 3";
    let env = [("GLEANER_FETCH__CONCURRENCY", "none"), ("GLEANER_SOURCE_POLICY", "backoff")];
    let errors = load(file, &env, &["x.base_url=ftp://x", "nonsense"]).unwrap_err();
    insta::assert_snapshot!(errors, @r#"
    config.toml:2: source.max_failures = 0: must be a whole number from 1 to 4294967295
    config.toml:3: source.poll_intervall_minutes: unknown key; did you mean source.poll_interval_minutes?
    config.toml:4: fech: unknown key; did you mean fetch?
    config.toml:8: log.level = 3: must be one of error, warn, info, debug, trace
    GLEANER_FETCH__CONCURRENCY: fetch.concurrency = none: must be a whole number from 1 to 10000
    GLEANER_SOURCE_POLICY: two underscores stand between the parts of a key; did you mean GLEANER_SOURCE__POLICY?
    --set: nonsense: must be KEY=VALUE, as in source.max_failures=3
    --set: x.base_url = ftp://x: must be an http or https URL
    "#);
}

#[test]
fn bad_values_name_key_value_place_and_what_is_allowed() {
    let errors = load(
        "source = 1\n[fetch]\ntimeout_seconds = \"30\"\nmax_body_bytes = 99999999999999999999\n\
         max_redirects = 1.5\nconcurrency = -1\ncontact = \"me (at) home\"\n\
         allow_private_networks = [\"10.0.0.0/8\", \"10.0.0.0/99\"]\nproxy = \"gopher://p\"\n\
         [api]\nlisten = \"localhost\"\npublic_url = \"example.org\"\n[store]\nurl = { path = \"x\" }",
        &[],
        &[],
    );
    insta::assert_snapshot!(errors.unwrap_err(), @r#"
    config.toml:1: source: is a section of settings, not a value
    config.toml:3: fetch.timeout_seconds = "30": must be a number from 0.001 to 3600
    config.toml:4: fetch.max_body_bytes = 99999999999999999999: must be a whole number from 1024 to 1073741824
    config.toml:5: fetch.max_redirects = 1.5: must be a whole number from 0 to 50
    config.toml:6: fetch.concurrency = -1: must be a whole number from 1 to 10000
    config.toml:7: fetch.contact = "me (at) home": must be an http or https URL or a mail address
    config.toml:8: fetch.allow_private_networks = ["10.0.0.0/8", "10.0.0.0/99"]: must be a list, each a network such as 10.0.0.0/8 or fd00::/8, or an address
    config.toml:9: fetch.proxy = "gopher://p": must be an http, https, socks5 or socks5h URL
    config.toml:11: api.listen = "localhost": must be an address and a port such as 127.0.0.1:8080 or [::1]:8080
    config.toml:12: api.public_url = "example.org": must be an http or https URL
    config.toml:14: store.url = (set): must be the path of a SQLite file, or a postgres:// URL
    "#);
}

#[test]
fn bad_names_are_refused() {
    let errors = load(
        "[source.poll_delay_seconds]\npodcast = 1\n[source.host_overrides.\"https://a.example\"]\nconcurrency = 1\n\
         [source.host_overrides.\"a.example:80\"]\nconcurrency = 1\n[policies.\"My Own\"]\nbase = \"standard\"",
        &[],
        &[],
    );
    insta::assert_snapshot!(errors.unwrap_err(), @r#"
    config.toml:2: source.poll_delay_seconds.podcast: 'podcast' is no kind of source; there are feed, website, watchlist, x
    config.toml:3: source.host_overrides."https://a.example": 'https://a.example' is no host; write it as in example.org, without scheme or port
    config.toml:5: source.host_overrides."a.example:80": 'a.example:80' is no host; write it as in example.org, without scheme or port
    config.toml:7: policies."My Own": 'My Own' is no name for a policy; use up to 64 of a to z, 0 to 9, _ and -
    "#);
}

#[test]
fn bad_policies_are_refused_with_their_place() {
    let errors = load(
        "[policies.standard.on.teapot]\nthreshold = 1\n[policies.cooldown.on.gone]\ncooldown_hours = -3\n\
         [policies.cooldown.on.not_found]\nthreshold = 0\n[policies.standard.on.internal]\nlevel = \"warn\"\n\
         [policies.mine]\n[policies.backoff.on.gone]\ngap = \"soon\"\nset_asid = \"never\"\n\
         [policies.backoff.on.empty_kind]",
        &[],
        &["policies.standard.age.cap_days=inf"],
    );
    insta::assert_snapshot!(errors.unwrap_err(), @r#"
    config.toml:1: policies.standard.on.teapot: 'teapot' is no error kind; there are rate_limited, unauthorized, forbidden, not_found, gone, upstream_failure, network, parse_error, too_large, blocked, unexpected, internal
    config.toml:4: policies.cooldown.on.gone.cooldown_hours = -3: must be a length of time above 0 up to 100 years
    config.toml:6: policies.cooldown.on.not_found.threshold = 0: must be a whole number from 1 to 4294967295
    config.toml:8: policies.standard.on = internal: our own faults are never held against a source; there is nothing to set
    config.toml:9: policies.mine.base = mine: must be one of the shipped policies: standard, backoff, cooldown, quarantine
    config.toml:11: policies.backoff.on.gone.gap = "soon": must be one of interval, backoff, age
    config.toml:12: policies.backoff.on.gone.set_asid: unknown key; did you mean policies.backoff.on.gone.set_aside?
    config.toml:13: policies.backoff.on.empty_kind: 'empty_kind' is no error kind; there are rate_limited, unauthorized, forbidden, not_found, gone, upstream_failure, network, parse_error, too_large, blocked, unexpected, internal
    --set: policies.standard.age.cap_days = inf: must be a length of time above 0 up to 100 years
    "#);
    refused(
        "[source]\npolicy = \"mine\"\n[policies.yours]\nbase = \"backoff\"",
        "config.toml:2: source.policy = \"mine\": must be the name of a policy; there are backoff, cooldown, \
         quarantine, standard, yours",
    );
}

#[test]
fn a_file_that_is_no_toml_is_refused() {
    let errors = load("[source\npolicy = ", &[], &["x.base=1"]).unwrap_err().to_string();
    assert!(errors.starts_with("config.toml:1: this is not TOML: "), "{errors}");
    assert!(errors.contains("--set: x.base: unknown key; did you mean x.base_url?"), "{errors}");
}

#[test]
fn limits_lie_within_each_other() {
    let fetch = config("[fetch]\ntimeout_seconds = 2").fetch;
    assert_eq!((fetch.connect_timeout, fetch.dns_timeout), (fetch.timeout, fetch.timeout));
    refused(
        "[fetch]\nconnect_timeout_seconds = 40",
        "config.toml:2: fetch.connect_timeout_seconds = 40: must not be longer than fetch.timeout_seconds = 30 \
         (default), which it is a part of",
    );
}

#[test]
fn settings_that_no_policy_in_use_reads_draw_a_warning() {
    let warnings = |file: &str| {
        let loaded = load(file, &[], &[]).unwrap();
        loaded.warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    let text = "config.toml:2: source.max_failures: has no effect under the policy standard; policies that use it: \
                backoff";
    assert_eq!(warnings("[source]\nmax_failures = 3"), text);
    assert_eq!(warnings("[source]\nmax_failures = 3\npolicy = \"backoff\""), "");
    assert_eq!(warnings("[source]\nmax_backoff_hours = 3"), "", "standard backs off when rate limited");
    let quarantine = warnings("[source]\nmax_backoff_hours = 3\npolicy = \"quarantine\"");
    assert!(quarantine.contains("source.max_backoff_hours: has no effect"), "{quarantine}");
    let loaded = load("[source]\nmax_failures = 3", &[], &[]).unwrap();
    assert_eq!(loaded.unused_settings(&["backoff"]), vec![]);
}

#[test]
fn variables_have_no_types() {
    let env = [
        ("GLEANER_FETCH__ALLOW_PRIVATE_NETWORKS", "10.0.0.0/8, ::1"),
        ("GLEANER_STORE__URL", "123"),
        ("GLEANER_API__JWT_SECRET", "01234567890123456789012345678901"),
        ("GLEANER_FETCH__PROXY", ""),
        ("GLEANER_POLICIES__COOLDOWN__ON__NOT_FOUND__THRESHOLD", "7"),
        ("GLEANER_CONFIG", "elsewhere.toml"),
    ];
    let config = load("", &env, &["fetch.allow_private_networks=[\"fd00::/8\"]"]).unwrap().config;
    assert_eq!(config.fetch.allow_private_networks, ["fd00::/8".parse().unwrap()]);
    assert_eq!(config.store.url, StoreUrl::Sqlite("123".into()));
    assert_eq!(config.fetch.proxy, None);
    assert_eq!(config.policies["cooldown"].rule(ErrorKind::NotFound).aside.unwrap().threshold, 7);
}

#[test]
fn secrets_come_from_files_too() {
    let by_variable = load("", &[("GLEANER_API__JWT_SECRET_FILE", "/run/token")], &[]).unwrap();
    assert_eq!(by_variable.config.api.jwt_secret.as_ref().unwrap().expose(), TOKEN);
    let by_file = config("[api]\njwt_secret_file = \"/run/token\"");
    assert_eq!(by_file.api.jwt_secret.unwrap().expose(), TOKEN);
    let absent = load("", &[("GLEANER_API__JWT_SECRET_FILE", "/run/absent")], &[]).unwrap_err().to_string();
    assert!(absent.contains("api.jwt_secret = (set): cannot be read from /run/absent: "), "{absent}");
    let twice = [("GLEANER_API__JWT_SECRET_FILE", "/run/token"), ("GLEANER_API__JWT_SECRET", TOKEN)];
    let twice = load("", &twice, &[]).unwrap_err().to_string();
    assert!(twice.contains("is set by GLEANER_API__JWT_SECRET already"), "{twice}");
}

#[test]
fn no_secret_is_ever_shown() {
    let secret = "hunter2-hunter2-hunter2-hunter2-hunter2";
    let file = format!(
        "[api]\njwt_secret = \"{secret}\"\n[store]\nurl = \"postgres://me:{secret}@db.example/g\"\n\
         [fetch]\nproxy = \"http://me:{secret}@p.example\""
    );
    let loaded = load(&file, &[], &[]).unwrap();
    let json = serde_json::to_string(&render::rows(&loaded)).unwrap();
    let shown = [format!("{:?}", loaded.config), format!("{loaded:?}"), render::toml(&loaded), json];
    for text in shown {
        assert!(!text.contains("hunter2"), "{text}");
        assert!(text.contains("me:(set)@db.example") && text.contains("me:(set)@p.example"), "{text}");
    }
    let bad = [
        ("GLEANER_API__JWT_SECRET", "hunter2"),
        ("GLEANER_STORE__URL", "mysql://me:hunter2@db.example/g"),
        ("GLEANER_FETCH__PROXY_FILE", "/run/short"),
    ];
    let flags = ["api.jwt_secret=hunter2", "api.jwt_secrett=hunter2", "hunter 2=hunter2"];
    let errors = load("[api]\njwt_secret = [\"hunter2\"]", &bad, &flags).unwrap_err();
    assert_eq!(errors.0.len(), 7);
    assert!(!format!("{errors} {errors:?}").contains("hunter2"), "{errors}");
}

#[test]
fn what_is_printed_reads_back_as_itself() {
    let file = "[source]\npolicy = \"mine\"\n[source.host_overrides.\"a.example\"]\nconcurrency = 3\n\
                [source.poll_delay_seconds]\nfeed = 2\n[fetch]\nallow_private_networks = [\"10.0.0.0/8\"]\n\
                [policies.mine]\nbase = \"backoff\"\non.gone.threshold = 2\nage.cap_days = 3";
    let loaded = load(file, &[], &[]).unwrap();
    assert_eq!(config(&render::toml(&loaded)), loaded.config);
}

#[test]
fn every_setting_is_printed_with_its_words() {
    let printed = render::toml(&load("", &[], &[]).unwrap());
    for setting in SETTINGS {
        let leaf = setting.key.rsplit('.').next().unwrap();
        let words =
            [setting.about.to_owned(), setting.takes.to_string(), setting.variable(), format!("{leaf} =")];
        for text in words {
            assert!(printed.contains(&text), "{}: {text}", setting.key);
        }
    }
}

#[test]
fn the_table_knows_every_key_of_a_policy_and_what_it_takes() {
    let standard = Policy::builtin("cooldown", Default::default()).unwrap();
    let mut table = overlay::table(&standard);
    table.base = Some("standard".to_owned());
    table.on.retain(|kind, _| kind == "gone");
    table.on.values_mut().for_each(|rule| rule.share = Some(0.5));
    let mut keys = Vec::new();
    leaves("policies.<policy>", &toml::Value::try_from(table).unwrap(), &mut keys);
    let mut known: Vec<&str> =
        SETTINGS.iter().map(|setting| setting.key).filter(|key| key.starts_with("policies.")).collect();
    known.sort_unstable();
    keys.sort_unstable();
    assert_eq!(known, keys);

    let on = SETTINGS.iter().filter_map(|setting| {
        let key = setting.key.strip_prefix("policies.<policy>.on.<error kind>.")?;
        Some((key, setting.takes.to_string().strip_prefix("one of ")?.to_owned()))
    });
    let mut checked = 0;
    for (key, words) in on {
        for word in words.split(", ") {
            config(&format!("[policies.standard.on.not_found]\n{key} = \"{word}\""));
            checked += 1;
        }
    }
    assert_eq!(checked, 2 + 3 + 5 + 3, "levels, gaps, ways to be set aside, ways to count");
}

fn leaves(path: &str, value: &toml::Value, keys: &mut Vec<String>) {
    match value.as_table() {
        Some(table) => table.iter().for_each(|(name, value)| {
            let name = if path.ends_with(".on") { "<error kind>" } else { name };
            leaves(&format!("{path}.{name}"), value, keys);
        }),
        None => keys.push(path.to_owned()),
    }
}

#[test]
fn the_schedule_hash_follows_what_times_polls_and_nothing_else() {
    let hash = |file: &str| config(file).schedule_hash();
    let plain = hash("");
    assert_eq!(plain.len(), 64);
    for same in [
        "[fetch]\nconcurrency = 3",
        "[source]\nkeep_polls_days = 3",
        "[source.poll_delay_seconds]\nfeed = 3",
        "[policies.standard.on.gone]\nlevel = \"error\"",
        "[source]\npoll_interval_minutes = 30",
    ] {
        assert_eq!(hash(same), plain, "{same}");
    }
    let others = [
        "[source]\npoll_interval_minutes = 31",
        "[source]\nmax_failures = 6",
        "[source]\nmax_backoff_hours = 6",
        "[source]\npolicy = \"backoff\"",
        "[policies.standard.age]\ncap_days = 8",
        "[policies.mine]\nbase = \"standard\"",
    ];
    let mut hashes: Vec<String> = others.iter().map(|file| hash(file)).chain([plain]).collect();
    hashes.sort();
    hashes.dedup();
    assert_eq!(hashes.len(), others.len() + 1);
}

#[test]
fn the_reference_has_every_section_and_every_setting() {
    let page = reference::page();
    let headings: Vec<&str> = page.lines().filter(|line| line.starts_with('#')).collect();
    for setting in SETTINGS {
        let section = setting.key.split('.').next().unwrap();
        assert!(headings.contains(&format!("## `[{section}]`").as_str()), "no section of {}", setting.key);
        assert!(headings.contains(&format!("### `{}`", setting.key).as_str()), "{}", setting.key);
        assert!(reference::about(section).is_some_and(|about| !about.is_empty()), "[{section}] says nothing");
    }
    let sections = reference::sections();
    assert_eq!(headings.len(), 1 + sections.len() + SETTINGS.len(), "nothing twice, nothing else");
}
