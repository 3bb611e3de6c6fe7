//! Feeds on many hosts that show one entry at a time, and go on to the next when they are shown the validator of the one
//! before; the farm notes who asks a host while it still thinks about an answer.

use std::collections::{BTreeMap, HashMap};
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use gleaner::store::NewSource;

use crate::support::feed;
use crate::support::http::{Received, Reply, Server};

pub(super) struct Farm {
    server: Server,
    ledger: Arc<Mutex<Ledger>>,
    urls: Vec<(String, String)>,
}

#[derive(Default)]
struct Ledger {
    /// Which entry each feed shows.
    shown: HashMap<String, u32>,
    /// Who was asked since, and whether it had nothing new.
    asked: HashMap<String, bool>,
    /// How many entries there are, and may be.
    published: usize,
    most: usize,
    /// Who asked each host last, and until when it thinks about that; it answers no earlier.
    busy: HashMap<String, (Instant, String)>,
    /// Who asked while another was not answered.
    overlaps: Vec<String>,
}

impl Farm {
    /// So many hosts with so many feeds each; an answer takes so long.
    pub(super) async fn new(hosts: u16, feeds: u16, takes: Duration) -> Self {
        let server = Server::start_on(Ipv4Addr::UNSPECIFIED).await;
        let ledger = Arc::new(Mutex::new(Ledger::default()));
        let shared = Arc::clone(&ledger);
        server.on_all(move |request| {
            let mut ledger = shared.lock().unwrap();
            ledger.note(request, takes);
            answer(&mut ledger, request).after(takes)
        });
        let host = |n: u16| format!("127.0.{}.{}", 9 + n / 200, 1 + n % 200);
        let urls = (0..hosts).flat_map(|n| (0..feeds).map(move |feed| (host(n), feed)));
        let urls = urls.map(|(host, feed)| {
            let url = server.url_of(&host, &format!("/{feed}")).to_string();
            (host, url)
        });
        let urls = urls.collect();
        Self { server, ledger, urls }
    }

    pub(super) fn sources(&self) -> Vec<NewSource> {
        let source = |(host, url): &(String, String)| {
            let mut source = feed(host, "");
            source.canonical_url.clone_from(url);
            source.settings.url.clone_from(url);
            source
        };
        self.urls.iter().map(source).collect()
    }

    /// Lets it publish so many more.
    pub(super) fn publish(&self, more: usize) {
        let mut ledger = self.ledger.lock().unwrap();
        ledger.most = ledger.published + more;
    }

    /// Whether it has published all that it may.
    pub(super) fn has_published(&self) -> bool {
        let ledger = self.ledger.lock().unwrap();
        ledger.published >= ledger.most
    }

    /// Forgets who was asked.
    pub(super) fn begin(&self) {
        self.ledger.lock().unwrap().asked.clear();
    }

    /// How many feeds were asked since, and how many of them had nothing new.
    pub(super) fn asked(&self) -> (usize, usize) {
        let ledger = self.ledger.lock().unwrap();
        (ledger.asked.len(), ledger.asked.values().filter(|nothing_new| **nothing_new).count())
    }

    pub(super) fn feeds(&self) -> usize {
        self.urls.len()
    }

    /// The guid of every entry that was ever shown, each once.
    pub(super) fn guids(&self) -> BTreeMap<String, usize> {
        let ledger = self.ledger.lock().unwrap();
        let shown = ledger.shown.iter();
        shown.flat_map(|(url, last)| (1..=*last).map(move |n| (format!("{url} {n}"), 1))).collect()
    }

    /// Who was asked by two at once, and by whom.
    pub(super) fn overlaps(&self) -> Vec<String> {
        self.ledger.lock().unwrap().overlaps.clone()
    }

    pub(super) fn requests(&self) -> usize {
        self.server.requests().len()
    }
}

impl Ledger {
    fn note(&mut self, request: &Received, takes: Duration) {
        let host = request.header("host").unwrap_or_default();
        let who = request.header("user-agent").unwrap_or_default();
        let now = Instant::now();
        if let Some((until, other)) = self.busy.get(&host)
            && now < *until
        {
            let early = *until - now;
            self.overlaps
                .push(format!("{host}{} by {who}, {early:?} before {other} is answered", request.path));
        }
        self.busy.insert(host, (now + takes, who));
    }
}

fn answer(ledger: &mut Ledger, request: &Received) -> Reply {
    if request.path == "/robots.txt" {
        return Reply::status(404);
    }
    let url = format!("http://{}{}", request.header("host").unwrap_or_default(), request.path);
    let first = !ledger.shown.contains_key(&url);
    let shown = ledger.shown.entry(url.clone()).or_insert(1);
    let known = request.header("if-none-match").is_some_and(|etag| etag == format!("\"{shown}\""));
    let more = known && ledger.published < ledger.most;
    *shown += u32::from(more);
    ledger.published += usize::from(more || first);
    let (shown, nothing_new) = (*shown, known && !more);
    ledger.asked.insert(url.clone(), nothing_new);
    if nothing_new {
        return Reply::status(304);
    }
    let item = format!("<item><guid>{url} {shown}</guid><description>{url} {shown}</description></item>");
    let feed = format!("<rss version='2.0'><channel><title>Farm</title>{item}</channel></rss>");
    Reply::ok(feed).header("ETag", format!("\"{shown}\""))
}
