//! Never falsely green: what API, command line, dashboard and metrics show of sources with random histories.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use gleaner_core::policy::Policy;
use gleaner_core::time::Span;
use serde_json::Value;

use super::world::{Answer, World};
use crate::api::client::Api;
use crate::support::{Database, until};

type Statuses = BTreeMap<i64, String>;

#[tokio::test]
async fn failed_sources_are_never_shown_as_healthy_on_sqlite() {
    for (seed, judged) in [(1, true), (2, false)] {
        run(crate::support::sqlite().await, seed, judged).await;
    }
}

#[tokio::test]
async fn failed_sources_are_never_shown_as_healthy_on_postgres() {
    run(crate::support::postgres().await, 3, true).await;
}

/// Twelve sources of three hosts under all policies, each answering at random.
async fn run(db: Database, seed: u64, judged: bool) {
    let settings: Vec<String> =
        Policy::NAMES.iter().map(|name| format!("policies.{name}.judged={judged}")).collect();
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let shown = Shown::new(db.share(), &settings).await;
    let mut world = World::new(db, &settings).await;
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut sources = Vec::new();
    for place in 0..12 {
        let (host, path) = (format!("h{}.test", place % 3), format!("/{place}"));
        let policy = Policy::NAMES[place / 3].to_owned();
        sources.push((world.add_with(&host, &path, |new| new.policy = Some(policy)).await, path));
    }
    shown.agree(&world, &sources).await;
    // A host at a time is well, or fails as a whole, or each of its sources does as it likes.
    for step in 0..40 {
        for (place, (_, path)) in sources.iter().enumerate() {
            let whole = rng.u8(..) % 3;
            if place < 3 || whole == 0 {
                world.answer(path, answer(&mut rng));
            }
        }
        if step % 5 == 4 {
            let together = answer(&mut rng);
            let host = rng.usize(..3);
            let members = sources.iter().enumerate().filter(|(place, _)| place % 3 == host);
            members.for_each(|(_, (_, path))| world.answer(path, together.clone()));
        }
        for _ in 0..rng.u8(1..8) {
            world.advance(Span::from_mins(rng.u64(1..40)));
            world.poll_due().await;
        }
        if step % 4 == 3 {
            shown.agree(&world, &sources).await;
        }
    }
}

fn answer(rng: &mut fastrand::Rng) -> Answer {
    match rng.u8(..10) {
        0..4 => Answer::feed(&["one"]),
        4 => Answer::Status(404),
        5 => Answer::Status(410),
        6 => Answer::Status(403),
        7 => Answer::Status(429),
        8 => Answer::Status(503),
        _ => Answer::Reset,
    }
}

/// Whatever shows sources.
struct Shown {
    api: Api,
    cookie: String,
    client: reqwest::Client,
}

impl Shown {
    async fn new(db: Database, settings: &[&str]) -> Self {
        let api = Api::with(db, settings).await;
        #[expect(clippy::disallowed_methods, reason = "a browser, not a poller")]
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .unwrap();
        let code = api.service.login_code("admin").await.unwrap();
        let login = client
            .post(format!("{}/login", api.base))
            .header("content-type", "application/x-www-form-urlencoded")
            .body(format!("code={}", code.secret.expose()));
        let login = login.send().await.unwrap();
        let cookie = login.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
        Self { api, cookie, client }
    }

    /// All say the same of each source, and that is what its latest poll says.
    async fn agree(&self, world: &World, sources: &[(i64, String)]) {
        let api = self.by_api().await;
        for (id, path) in sources {
            let latest = world.polls(*id).await.into_iter().next();
            let status = api[id].as_str();
            let source = world.source(*id).await;
            let excused_by = source.health.failing.and_then(|row| row.excused_by);
            // The shortest gap of every policy is the interval; only the end of an incident polls excused ones earlier.
            if let (Some(polled), Some(next), None) =
                (source.health.last_polled_at, source.next_poll_at, &excused_by)
            {
                assert!(next.since(polled) >= Span::from_mins(30), "{path}: {polled}, {next}");
            }
            match latest.map(|poll| poll.record) {
                None => assert_eq!(status, "pending", "{path}"),
                Some(poll) if poll.error.is_none() => assert_eq!(status, "healthy", "{path}"),
                Some(poll) => {
                    assert!(
                        ["failing", "quarantined", "disabled"].contains(&status),
                        "{path} is {status}: {poll:?}"
                    );
                    assert_eq!(excused_by, poll.excused_by, "{path}");
                }
            }
        }
        assert_eq!(self.by_dashboard().await, api);
        if let Some(listed) = self.by_command_line() {
            assert_eq!(listed, api);
        }
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for status in api.values() {
            *counts.entry(status).or_default() += 1;
        }
        // Counts are kept for a moment.
        let expected = |text: &str| {
            ["disabled", "quarantined", "failing", "pending", "healthy"].iter().all(|status| {
                let count = counts.get(status).copied().unwrap_or(0);
                text.contains(&format!("gleaner_sources{{status=\"{status}\"}} {count}\n"))
            })
        };
        let bearer = format!("Bearer {}", self.api.token);
        let text = async || {
            self.api.ask(reqwest::Method::GET, "/metrics", None, &[("authorization", &bearer)]).await.text
        };
        until(Duration::from_secs(30), async || expected(&text().await).then_some(()), text).await;
        let right = self.page("/").await.contains("Everything is all right");
        let well = api.values().all(|status| status == "healthy");
        assert!(well || !right, "the overview says that all is well: {api:?}");
    }

    async fn by_api(&self) -> Statuses {
        let listed = self.api.get("/sources?limit=100").await;
        statuses(listed.is(200)["items"].as_array().unwrap())
    }

    async fn page(&self, path: &str) -> String {
        let request = self.client.get(format!("{}{path}", self.api.base)).header("cookie", &self.cookie);
        request.send().await.unwrap().text().await.unwrap()
    }

    async fn by_dashboard(&self) -> Statuses {
        let html = self.page("/sources").await;
        let mut found = Statuses::new();
        for row in html.split("name=\"id\" value=\"").skip(1) {
            let id = row.split('"').next().unwrap().parse().unwrap();
            let status = row.split("<span class=\"status ").nth(1).unwrap().split('"').next().unwrap();
            found.insert(id, status.to_owned());
        }
        found
    }

    /// The real binary, on the same database file.
    fn by_command_line(&self) -> Option<Statuses> {
        let url = &self.api.db.url;
        if url.starts_with("postgres:") {
            return None;
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_gleaner"));
        command.args(["list", "--json"]).env_clear().env("HOME", "/nowhere").env("GLEANER_STORE__URL", url);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let listed: Vec<Value> = match serde_json::from_str(&text) {
            Ok(Value::Array(all)) => all,
            _ => text.lines().map(|line| serde_json::from_str(line).unwrap()).collect(),
        };
        Some(statuses(&listed))
    }
}

fn statuses(listed: &[Value]) -> Statuses {
    let status =
        |source: &Value| (source["id"].as_i64().unwrap(), source["status"].as_str().unwrap().to_owned());
    listed.iter().map(status).collect()
}
