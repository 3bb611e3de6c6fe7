//! Tests of the farm with a simple client.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use farm::{Farm, Fault, Options, Rates};

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

/// Sends one request on a new connection; `None` without a complete response.
fn try_get(url: &str, headers: &str) -> Option<Answer> {
    let (address, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(Answer { status, head: head.to_owned(), body: body.to_owned() })
}

fn get(url: &str, headers: &str) -> Answer {
    try_get(url, headers).unwrap()
}

fn start(feeds: u32) -> (Farm, Vec<String>) {
    let farm = Farm::start(Options { feeds, ..Options::default() }).unwrap();
    let urls = farm.urls();
    (farm, urls)
}

fn validators(answer: &Answer) -> String {
    let (etag, modified) = (answer.header("ETag").unwrap(), answer.header("Last-Modified").unwrap());
    format!("If-None-Match: {etag}\r\nIf-Modified-Since: {modified}\r\n")
}

fn ids(body: &str) -> Vec<String> {
    let after =
        |tag: &str| body.split(tag).skip(1).map(|rest| rest.split('<').next().unwrap().to_owned()).collect();
    let items: Vec<_> = after("<guid isPermaLink=\"false\">");
    if items.is_empty() { after("<entry>\n<id>") } else { items }
}

#[test]
fn two_farms_serve_the_same_bytes() {
    let ((one, urls), (_two, others)) = (start(20), start(20));
    for (url, other) in urls.iter().zip(&others) {
        assert_eq!(get(url, "").body, get(other, "").body);
    }
    let mut hosts: Vec<_> = urls.iter().map(|url| url.split(':').nth(1).unwrap()).collect();
    hosts.sort_unstable();
    hosts.dedup();
    assert_eq!(hosts.len(), 20);
    assert!(hosts.iter().all(|host| host.starts_with("//127.")));
    let atom = urls.iter().filter(|url| get(url, "").body.contains("<feed ")).count();
    assert_eq!(atom, 6);
    assert_eq!(one.ledger().most_at_once, 1);
}

#[test]
fn feeds_have_the_documented_size() {
    let (farm, urls) = start(220);
    let expected = farm.expected();
    assert_eq!(expected.entries, 220 * 25, "20 to 30 each");
    let mean = expected.bytes / expected.feeds;
    assert!((50_000..56_000).contains(&mean), "{mean} bytes on average");
    let sizes: u64 = urls.iter().map(|url| get(url, "").body.len() as u64).sum();
    assert_eq!(sizes, expected.bytes);
    let entries: u64 = urls.iter().map(|url| ids(&get(url, "").body).len() as u64).sum();
    assert_eq!(entries, expected.entries);
}

#[test]
fn matching_validators_get_304() {
    let (farm, urls) = start(10);
    let first = get(&urls[3], "");
    assert_eq!(first.status, 200);
    let second = get(&urls[3], &validators(&first));
    assert_eq!((second.status, second.body.as_str()), (304, ""));
    assert_eq!(second.header("ETag"), first.header("ETag"));
    let by_date = format!("if-modified-since: {}\r\n", first.header("Last-Modified").unwrap());
    assert_eq!(get(&urls[3], &by_date).status, 304);
    // The entity tag takes precedence.
    assert_eq!(get(&urls[3], &format!("If-None-Match: \"other\"\r\n{by_date}")).status, 200);
    let feed = &farm.feeds()[3];
    assert_eq!((feed.requests, feed.conditional, feed.full, feed.not_modified), (4, 3, 2, 2));
    assert_eq!((feed.wrong_validators, feed.unconditional_again), (1, 0));
    assert_eq!(feed.if_none_match.as_deref(), Some("\"other\""));
}

#[test]
fn a_generation_adds_an_entry_and_drops_the_oldest() {
    let (farm, urls) = start(10);
    for url in &urls {
        farm.set_generation(0);
        let before = get(url, "");
        farm.set_generation(1);
        let after = get(url, &validators(&before));
        assert_eq!(after.status, 200);
        let (old, new) = (ids(&before.body), ids(&after.body));
        assert_eq!(old.len(), new.len());
        assert_eq!(old[..old.len() - 1], new[1..]);
        assert!(!old.contains(&new[0]));
        assert_ne!(before.header("Last-Modified"), after.header("Last-Modified"));
    }
    assert_eq!(farm.expected().generation, 1);
    assert_eq!(farm.ledger().total.wrong_validators, 0);
}

#[test]
fn the_ledger_counts_impolite_requests() {
    let farm = Farm::start(Options { feeds: 6, hosts: 2, max_age: Some(60), ..Options::default() }).unwrap();
    let urls = farm.urls();
    farm.set_clock(0);
    let first = get(&urls[0], "");
    farm.set_clock(59_999);
    get(&urls[0], "");
    farm.set_clock(120_000);
    get(&urls[0], &validators(&first));
    get(&urls[1], "If-None-Match: \"never given\"\r\n");
    get(&urls[0].replace("/0.xml", "/1.xml"), "");
    let ledger = farm.ledger();
    assert_eq!(
        (ledger.requested, ledger.requested_once, ledger.most_requests, ledger.misdirected),
        (2, 1, 3, 1)
    );
    let total = &ledger.total;
    assert_eq!((total.early, total.unconditional_again, total.wrong_validators), (1, 1, 1));
    assert_eq!((total.first_at, total.last_at, total.allowed_at), (Some(0), Some(120_000), 180_000));
    farm.reset_ledger();
    assert_eq!(farm.ledger().total.requests, 0);
    // Sent validators stay known.
    get(&urls[0], "");
    assert_eq!(farm.ledger().total.unconditional_again, 1);
}

#[test]
fn concurrent_requests_are_counted_per_host() {
    let farm = Farm::start(Options { feeds: 4, hosts: 2, latency_ms: 200, ..Options::default() }).unwrap();
    let urls = farm.urls();
    let together = |pair: [usize; 2]| {
        let asking: Vec<_> =
            pair.map(|n| urls[n].clone()).map(|url| std::thread::spawn(move || get(&url, ""))).into();
        asking.into_iter().for_each(|thread| drop(thread.join().unwrap()));
    };
    together([0, 1]);
    assert_eq!(farm.ledger().most_at_once, 1, "different hosts");
    together([0, 2]);
    assert_eq!(farm.ledger().most_at_once, 2, "the same host");
    farm.reset_ledger();
    assert_eq!(farm.ledger().most_at_once, 0);
}

#[test]
fn faults_follow_their_rate_deterministically() {
    let mut rates = Rates::default();
    for fault in [Fault::NotFound, Fault::ServerError, Fault::RateLimited, Fault::Reset] {
        rates.set(fault, 0.2);
    }
    let round = || {
        let farm = Farm::start(Options { feeds: 100, rates, ..Options::default() }).unwrap();
        let statuses: Vec<_> =
            farm.urls().iter().map(|url| try_get(url, "").map(|answer| answer.status)).collect();
        (statuses, farm.ledger())
    };
    let (statuses, ledger) = round();
    assert_eq!((statuses.clone(), ledger.faults_served), (round().0, round().1.faults_served));
    let count = |status| statuses.iter().filter(|found| **found == status).count() as u64;
    assert_eq!([count(Some(404)), count(Some(500)), count(Some(429))], ledger.faults_served[..3]);
    assert!(
        [Some(404), Some(500), Some(429), Some(200)]
            .into_iter()
            .all(|status| (8..35).contains(&count(status)))
    );
    assert_eq!(ledger.total.full + ledger.total.faults, 100);
}

#[test]
fn timeouts_answer_nothing() {
    let (farm, urls) = start(1);
    let mut rates = Rates::default();
    rates.set(Fault::Timeout, 1.0);
    farm.set_rates(rates);
    assert!(try_get(&urls[0], "").is_none());
    farm.set_rates(Rates::default());
    assert_eq!(get(&urls[0], "").status, 200);
}

#[test]
fn control_over_http() {
    let (farm, urls) = start(10);
    let control = |path: &str| get(&format!("http://{}{path}", farm.control()), "");
    assert!(control("/generation?n=2").body.starts_with("{\"feeds\":10,\"generation\":2,\"entries\":"));
    get(&urls[0], "");
    assert!(control("/ledger").body.contains("\"requested\":1,\"requested_once\":1,"));
    assert_eq!(control("/feeds").body.lines().count(), 11);
    control("/reset");
    assert_eq!(farm.ledger().requested, 0);
    assert_eq!(control("/faults?not_found=1").status, 200);
    assert_eq!(get(&urls[0], "").status, 404);
    assert_eq!(control("/faults?not_found=2").status, 400);
    assert!(control("/cpu").body.contains("\"cpu_s\":"));
    assert_eq!(control("/nothing").status, 404);
    assert_eq!(control("/stop").status, 200);
    farm.wait();
}

#[test]
fn a_connection_serves_many_requests() {
    let (farm, urls) = start(1);
    let address = urls[0].split('/').nth(2).unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let length = get(&urls[0], "").header("Content-Length").unwrap().parse::<usize>().unwrap();
    for _ in 0..3 {
        write!(stream, "GET /feed/0.xml HTTP/1.1\r\n\r\n").unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.extend(byte);
        }
        stream.read_exact(&mut vec![0; length]).unwrap();
    }
    // Requested from the serving thread, which records a response after it is sent.
    let ledger = get(&format!("http://{}/ledger", farm.control()), "");
    assert!(ledger.body.contains("\"full\":4,"), "{}", ledger.body);
}
