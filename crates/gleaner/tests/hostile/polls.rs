//! Every spelling that a poll can meet: a source that was stored when more was open, a redirect of each status, the
//! link of an article, a robots.txt. Each ends in `blocked`.

use gleaner::fetch::NetworkOverrides;
use gleaner::store::{HostKey, NewSource as Stored, SourceSettings};
use gleaner_core::link;
use gleaner_core::source::Kind;
use gleaner_core::time::Span;

use super::canary::Canary;
use super::world::World;
use super::{spellings, tell_refused};
use crate::support::dns::{Answer, Dns};
use crate::support::http::{Reply, Server};
use crate::support::new_feed;
use crate::support::sqlite;

/// A source as it was stored before the guard was closed.
fn stored(url: &str, kind: Kind, now: gleaner_core::time::Time) -> Stored {
    Stored {
        canonical_url: link::canonical(url),
        host: HostKey { name: link::host(url).unwrap_or_default(), slot: 0 },
        next_poll_at: Some(now),
        health: gleaner_core::health::Health::new(),
        settings: SourceSettings { kind, ..SourceSettings::feed(1, url.to_owned()) },
    }
}

impl World {
    /// Stores sources behind the service's back, polls them, and sees to it that each was blocked.
    async fn are_blocked(&mut self, sources: &[Stored]) {
        let created = self.store().create_sources(sources, self.now()).await.unwrap();
        self.poll_due().await;
        let mut wrong = Vec::new();
        for (source, created) in sources.iter().zip(created) {
            let url = &source.settings.url;
            let id = match created {
                gleaner::store::Created::New(id) => id,
                gleaner::store::Created::Exists(_) => continue,
            };
            let poll = self.last_poll(id).await;
            match poll.record.error {
                Some((kind, _)) if kind.name() == "blocked" => {}
                other => wrong.push(format!("{url:?}: {} {other:?}", poll.record.outcome)),
            }
        }
        assert_eq!(wrong, [""; 0]);
    }
}

#[tokio::test]
async fn no_stored_spelling_is_polled() {
    let canary = Canary::start().await;
    let spelled = spellings::all(canary.port());
    for kind in [Kind::Feed, Kind::Website, Kind::Watchlist] {
        let mut world = World::new(sqlite().await, &[], &NetworkOverrides::default()).await;
        let all: Vec<Stored> =
            spelled.iter().map(|url| stored(&url.replace('\0', ""), kind, world.now())).collect();
        world.are_blocked(&all).await;
    }
    canary.met_nobody().await;
    tell_refused("polls", spelled.len(), 3 * spelled.len());
}

#[tokio::test]
async fn no_redirect_of_any_status_leads_inside() {
    let (canary, server) = (Canary::start().await, Server::start_on([127, 1, 0, 1]).await);
    let targets = spellings::in_headers(canary.port());
    let count = targets.len();
    server.on_all(move |request| {
        let mut words = request.path.split('/').skip(1);
        let mut number = || words.next().and_then(|word| word.parse::<usize>().ok()).unwrap_or_default();
        let status = u16::try_from(number()).unwrap();
        if status == 0 { Reply::status(404) } else { Reply::redirect(status, &targets[number()]) }
    });
    let mut world = World::new(
        sqlite().await,
        &["source.host_overrides.\"127.1.0.1\".concurrency=8"],
        &NetworkOverrides::default(),
    )
    .await;
    for status in [301, 302, 303, 307, 308] {
        let url = |number: usize| server.url(&format!("/{status}/{number}")).to_string();
        let all: Vec<Stored> = (0..count)
            .map(|number| Stored {
                host: HostKey { name: "127.1.0.1".to_owned(), slot: u32::try_from(number % 8).unwrap() },
                ..stored(&url(number), Kind::Feed, world.now())
            })
            .collect();
        world.are_blocked(&all).await;
    }
    assert_eq!(server.requests().len(), 5 * count);
    canary.met_nobody().await;
    tell_refused("redirects", count, 5 * count);
}

#[tokio::test]
async fn no_name_leads_inside() {
    let (canary, dns) = (Canary::start().await, Dns::start().await);
    let inside = [
        "127.0.0.1",
        "127.0.0.53",
        "0.0.0.0",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "198.18.0.1",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b:1::7f00:1",
        "2002:7f00:1::1",
        "fe80::1",
        "fd00::1",
        "ff02::1",
    ];
    let mut world = World::new(
        sqlite().await,
        &[],
        &NetworkOverrides { name_server: Some(dns.address()), ..NetworkOverrides::default() },
    )
    .await;
    let mut all = Vec::new();
    for (number, ip) in inside.iter().enumerate() {
        for (prefix, ips) in
            [("only", &[*ip][..]), ("beside", &["127.1.0.1", ip]), ("before", &[ip, "127.1.0.1"])]
        {
            let name = format!("{prefix}{number}.test");
            dns.set(&name, Answer::ips(ips));
            all.push(stored(&format!("http://{name}:{}/", canary.port()), Kind::Feed, world.now()));
        }
    }
    world.are_blocked(&all).await;
    canary.met_nobody().await;
    tell_refused("names", inside.len(), all.len());
}

/// The links of an index, and of a feed whose entries are read on their own pages.
#[tokio::test]
async fn no_article_is_read_inside() {
    let (canary, server) = (Canary::start().await, Server::start_on([127, 1, 0, 1]).await);
    let escaped = |url: &String| url.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
    let all = spellings::in_documents(canary.port());
    let links: String = all
        .iter()
        .map(|url| format!("<p><a class=x href=\"{}\">A title of some words</a></p>", escaped(url)))
        .collect();
    let items: String = all
        .iter()
        .enumerate()
        .map(|(n, url)| {
            format!(
                "<item><guid>{n}</guid><link>{}</link><description>Summary {n}</description></item>",
                escaped(url)
            )
        })
        .collect();
    server.on("/index", Reply::ok(links).header("Content-Type", "text/html; charset=utf-8"));
    server.on("/feed", Reply::ok(format!("<rss><channel>{items}</channel></rss>")));
    let mut world =
        World::new(sqlite().await, &["source.max_articles_per_poll=5000"], &NetworkOverrides::default())
            .await;
    let watchlist = SourceSettings {
        kind: Kind::Watchlist,
        article_selector: Some("a.x".to_owned()),
        ..new_feed(server.url("/index"))
    };
    let feed = SourceSettings { full_content: true, ..new_feed(server.url("/feed")) };
    let watchlist = world.by().add(&watchlist).await.unwrap().id;
    let feed = world.by().add(&feed).await.unwrap().id;
    world.poll_due().await;
    for id in [watchlist, feed] {
        assert_eq!(world.last_poll(id).await.record.outcome, "fetched");
    }
    let followed = world.database().count("article_work").await;
    for _ in 0..4 {
        world.advance(Span::from_days(4));
        world.poll_due().await;
    }
    let (again, given_up) = (world.logged("page failed; tried again"), world.logged("page given up"));
    assert!(given_up.len() >= 300, "{} of {followed} were given up", given_up.len());
    let others: Vec<_> =
        again.iter().chain(&given_up).filter(|line| line["error_type"] != "blocked").collect();
    assert!(others.is_empty(), "{others:?}");
    let left = world.database().count("article_work WHERE state <> 'given_up'").await;
    assert_eq!(left, 0, "none is tried for ever");
    // What the feed itself says is kept; an index says nothing.
    let posts = world.store().posts(&Default::default(), None, 10_000).await.unwrap();
    assert_eq!(posts.len(), all.len(), "each entry of the feed is a post");
    assert!(posts.iter().all(|post| post.source_id == feed && post.content.body.starts_with("Summary ")));
    canary.met_nobody().await;
    tell_refused("articles", all.len(), again.len() + given_up.len());
}

/// A robots.txt that is moved inside is none, and the page beside it is read.
#[tokio::test]
async fn no_robots_txt_is_read_inside() {
    let (canary, dns) = (Canary::start().await, Dns::start().await);
    let server = Server::start_on([127, 1, 0, 1]).await;
    let targets = spellings::in_headers(canary.port());
    let sample: Vec<String> = targets.iter().step_by(10).cloned().collect();
    let count = sample.len();
    server.on_all(move |request| {
        let host = request.header("host").unwrap_or_default();
        let number: usize = host.trim_start_matches('h').split('.').next().unwrap().parse().unwrap();
        match request.path.as_str() {
            "/robots.txt" => Reply::redirect([301, 302, 303, 307, 308][number % 5], &sample[number]),
            _ => Reply::ok("<article><p>Words of the page.</article>").header("Content-Type", "text/html"),
        }
    });
    let network_overrides =
        NetworkOverrides { name_server: Some(dns.address()), ..NetworkOverrides::default() };
    let mut world = World::new(sqlite().await, &[], &network_overrides).await;
    let mut ids = Vec::new();
    for number in 0..count {
        let host = format!("h{number}.test");
        dns.set(&host, Answer::ip("127.1.0.1"));
        let source = SourceSettings { kind: Kind::Website, ..new_feed(server.url_of(&host, "/")) };
        ids.push(world.by().add(&source).await.unwrap().id);
    }
    world.poll_due().await;
    for id in ids {
        assert_eq!(world.last_poll(id).await.record.outcome, "fetched");
    }
    canary.met_nobody().await;
    tell_refused("robots.txt", count, count);
}
