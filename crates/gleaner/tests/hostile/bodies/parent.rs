//! The servers, and the test: what the child tells is held against the table.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use super::{Case, Serves, cases, good, tls};
use crate::support::ca::Ca;
use crate::support::dns::{Answer, Dns};
use crate::support::http::{Reply, Server};

/// Names the file that tells the child where everything is.
pub(super) const PLACES: &str = "GLEANER_TEST_HOSTILE_PLACES";

/// What a body may cost beyond what the process had before it, in bytes. What the allocator keeps for later, of all
/// bodies together, is told beside it.
const GROWTH: i64 = 64 << 20;

/// What the child says about one case.
struct Told {
    ended: String,
    error: String,
    /// Whether the tag is still the good one.
    kept: bool,
    milliseconds: u64,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_body_ends_as_it_should() {
    if let Ok(places) = std::env::var(PLACES) {
        return super::child::run(&places).await;
    }
    let begun = Instant::now();
    let cases = cases();
    assert!(cases.len() >= 150, "{} cases", cases.len());
    let (ca, dns, server) = (Ca::new(), Dns::start().await, Server::start_on([127, 1, 0, 1]).await);
    let mut tasks = tokio::task::JoinSet::new();
    let mut urls = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let name = format!("case{number}.test");
        dns.set(&name, Answer::ip("127.1.0.1"));
        urls.push(match &case.serves {
            Serves::Http(_) => server.url_of(&name, &format!("/case/{number}")).to_string(),
            Serves::Tls(wrong) => {
                let (address, task) = tls::serve(*wrong, &name, &ca, good(case.kind).bytes()).await;
                tasks.spawn(task);
                format!("https://{name}:{}/", address.port())
            }
        });
    }
    dns.set("beside.test", Answer::ip("127.1.0.1"));
    let beside = server.url_of("beside.test", "/beside").to_string();
    let places = json!({
        "urls": urls, "beside": beside, "name_server": dns.address().to_string(), "root": ca.root().as_ref(),
    });
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("places.json");
    std::fs::write(&file, places.to_string()).unwrap();
    serve(&server, &cases);
    let lines = tokio::task::block_in_place(|| run_child(&file, &server, &cases));
    judge(&cases, &lines, begun, &server);
}

/// Paths that cases share; each case's own is answered while it is run, since all their bodies at once are much.
fn serve(server: &Server, cases: &[Case]) {
    for (number, case) in cases.iter().enumerate() {
        server.on(&format!("/case/{number}"), good(case.kind));
    }
    server.on("/circle/a", Reply::redirect(302, "/circle/b"));
    server.on("/circle/b", Reply::redirect(302, "/circle/a"));
    let mut count = 0;
    server.on_all(move |request| match request.path.as_str() {
        "/beside" => {
            count += 1;
            let item = format!("<item><guid>{count}</guid><description>Beside {count}.</description></item>");
            Reply::ok(super::rss(&item)).header("ETag", format!("\"{count}\""))
        }
        path => match path.strip_prefix("/chain/").and_then(|number| number.parse::<u64>().ok()) {
            Some(number) => Reply::redirect(302, format!("/chain/{}", number + 1)),
            None => Reply::status(404),
        },
    });
}

/// Runs the engine in a process of its own. It asks for each round's bodies before it polls them.
fn run_child(places: &Path, server: &Server, cases: &[Case]) -> Vec<Value> {
    let name = "hostile::bodies::parent::every_body_ends_as_it_should";
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--nocapture"]).env(PLACES, places);
    if std::env::var_os("HOSTILE_PLAIN_ALLOCATOR").is_none() {
        // What is freed is given back at once, so that each round is measured by itself.
        command.envs([("MALLOC_MMAP_THRESHOLD_", "131072"), ("MALLOC_TRIM_THRESHOLD_", "131072")]);
    }
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut asked = child.stdin.take().unwrap();
    let mut told = Vec::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok) {
        let Some((_, line)) = line.split_once("CHILD ") else { continue };
        if std::env::var_os("HOSTILE_VERBOSE").is_some() {
            eprintln!("{line}");
        }
        let line: Value = serde_json::from_str(line).unwrap();
        let Some(round) = line["ready"].as_array() else {
            told.push(line);
            continue;
        };
        for number in round.iter().filter_map(Value::as_u64) {
            if let Serves::Http(reply) = &cases[number as usize].serves {
                server.on(&format!("/case/{number}"), reply());
            }
        }
        // Where it has ended meanwhile, how it ended says more.
        let _ = asked.write_all(b"go\n");
    }
    assert!(child.wait().unwrap().success(), "the child failed");
    told
}

fn judge(cases: &[Case], lines: &[Value], begun: Instant, server: &Server) {
    let told: HashMap<u64, Told> =
        lines.iter().filter_map(|line| Some((line["case"].as_u64()?, told(line)))).collect();
    let mut wrong = Vec::new();
    let mut kinds: std::collections::BTreeMap<String, u64> = Default::default();
    for (number, case) in cases.iter().enumerate() {
        let Some(told) = told.get(&(number as u64)) else {
            wrong.push(format!("{}: never polled", case.name));
            continue;
        };
        let kind = told.ended.split(' ').take(if told.ended.starts_with("network") { 2 } else { 1 });
        *kinds.entry(kind.collect::<Vec<_>>().join(" ")).or_default() += 1;
        if let Some(why) = complaint(case, told) {
            wrong.push(format!("{}: {why} ({}, {} ms)", case.name, told.error, told.milliseconds));
        }
    }
    let rounds: Vec<&Value> = lines.iter().filter(|line| line["round"].is_u64()).collect();
    let most = |name: &str| rounds.iter().filter_map(|round| round[name].as_i64()).max().unwrap_or_default();
    let slowest = told.values().map(|told| told.milliseconds).max();
    let growth = most("growth_in_round");
    super::super::tell(&json!({
        "cases": cases.len(), "rounds": rounds.len(), "wrong": wrong.len(), "kinds": kinds,
        "most_growth_mb": growth >> 20, "growth_over_all_mb": most("growth") >> 20, "slowest_poll_ms": slowest,
        "beside_polled": rounds.len(), "beside_latest_ms": most("beside_ms"), "seconds": begun.elapsed().as_secs(),
    }));
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    assert!(growth < GROWTH, "memory grew by {growth} bytes");
    let asked = server.requests();
    assert!(!asked.iter().any(|request| request.path == "/dtd"), "an entity was fetched");
}

fn told(line: &Value) -> Told {
    let text = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
    Told {
        ended: text("ended"),
        error: text("error"),
        kept: line["kept"].as_bool().unwrap(),
        milliseconds: line["ms"].as_u64().unwrap(),
    }
}

/// What is wrong with how a case ended, if anything is.
fn complaint(case: &Case, told: &Told) -> Option<String> {
    let is = |wish: &str| told.ended == wish || wish == "fetched" && told.ended.starts_with("fetched ");
    let (ends, truncated) = match case.ends.strip_prefix("truncated ") {
        Some(ends) => (ends, true),
        None => (case.ends.as_str(), false),
    };
    if !ends.split('|').any(is) {
        return Some(format!("ended in {}, not {}", told.ended, case.ends));
    }
    if (truncated || !told.ended.starts_with("fetched")) && !told.kept {
        return Some(format!("ended in {}, and the tag that came with it was kept", told.ended));
    }
    // The limit of a request is 4 s; reading may take longer where nothing is optimised.
    let limit = if cfg!(debug_assertions) { 30_000 } else { 5_000 };
    (told.milliseconds > limit).then(|| "took too long".to_owned())
}
