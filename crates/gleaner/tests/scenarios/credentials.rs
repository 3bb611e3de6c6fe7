//! A source's own credentials: encrypted, sent to its own origin only, never shown.

use gleaner::config::secret::Secret;
use gleaner::service::Credential;
use gleaner_core::elsewhere::ProposalReason;
use gleaner_core::outcome::ErrorKind;
use gleaner_core::source::Kind;

use super::on_both;
use super::world::{Answer, World};
use super::x::VAULT;
use crate::support::Database;
use crate::support::http::{Reply, Server};

on_both!(
    source_credential_is_sent_to_its_own_origin_only,
    source_header_is_sent_and_removed,
    source_credential_is_not_sent_where_the_source_moved,
    credentials_stop_a_move,
    credentials_move_along_within_their_origin,
    credentials_go_to_pages_of_the_own_origin,
    a_redirect_that_asks_for_credentials_is_explained,
);

fn basic() -> Credential {
    Credential::Basic { user: "ada".into(), password: Secret::new("hunter2") }
}

async fn source_credential_is_sent_to_its_own_origin_only(db: Database) {
    let mut world = World::new(db, &[VAULT]).await;
    let id = world.add("a.test", "/feed").await;
    world.answer("/feed", Answer::Status(401));
    world.poll_due().await;
    assert_eq!(world.source(id).await.health.failing.unwrap().kind, ErrorKind::Unauthorized);
    world.service().set_source_credential(id, Some(&basic())).await.unwrap();
    assert_eq!(world.source(id).await.next_poll_at, Some(world.now()), "who was refused is due at once");
    let other = Server::start().await;
    world.reply("/feed", Reply::redirect(302, other.url("/away").as_str()));
    other.on("/away", Reply::redirect(302, world.server().url_of("a.test", "/back").as_str()));
    world.answer("/back", Answer::feed(&["one"]));
    world.poll_due().await;
    assert_eq!(world.bodies(id).await, ["one"]);
    let sent = |path: &str| {
        let all = world.server().requests().into_iter().chain(other.requests());
        all.filter(|request| request.path == path)
            .map(|request| request.header("authorization"))
            .next_back()
            .unwrap()
    };
    assert_eq!(sent("/feed").as_deref(), Some("Basic YWRhOmh1bnRlcjI="));
    assert_eq!((sent("/away"), sent("/back")), (None, None));
    let stored = world.source(id).await.settings.secret.unwrap();
    assert!(!stored.windows(7).any(|bytes| bytes == b"hunter2"), "encrypted at rest");
    assert!(!world.log().contains("hunter2") && !world.log().contains("YWRhOmh1bnRlcjI"), "{}", world.log());
    assert!(!format!("{:?}", basic()).contains("hunter2"));
}

async fn source_header_is_sent_and_removed(db: Database) {
    let mut world = World::new(db, &[VAULT]).await;
    let id = world.add("a.test", "/feed").await;
    world.answer("/feed", Answer::feed(&["one"]));
    let header =
        |name: &str, value: &str| Credential::Header { name: name.into(), value: Secret::new(value) };
    let service = world.service();
    service.set_source_credential(id, Some(&header("X-Token", "hunter2"))).await.unwrap();
    for bad in [header("Host", "b.test"), header("a b", "c"), header("x-token", "hunter2\r\nHost: b")] {
        let refused = service.set_source_credential(id, Some(&bad)).await.unwrap_err().to_string();
        assert!(!refused.contains("hunter2"), "{refused}");
    }
    world.poll_due().await;
    world.service().set_source_credential(id, None).await.unwrap();
    world.poll_next(id).await;
    let sent: Vec<_> = world.server().requests().iter().map(|request| request.header("x-token")).collect();
    assert_eq!(sent, [Some("hunter2".to_owned()), None]);
}

async fn source_credential_is_not_sent_where_the_source_moved(db: Database) {
    let mut world = World::new(db, &[VAULT]).await;
    let id = world.add("a.test", "/feed").await;
    world.add_name("b.test");
    world.service().set_source_credential(id, Some(&basic())).await.unwrap();
    let moved = world.server().url_of("b.test", "/feed");
    world.database().behind_its_back(&format!("UPDATE sources SET url = '{moved}' WHERE id = {id}")).await;
    world.answer("/feed", Answer::feed(&["one"]));
    world.poll_due().await;
    let row = world.source(id).await.health.failing.expect("it failed");
    assert_eq!(row.kind, ErrorKind::Unauthorized);
    assert!(
        row.message.contains("credential is for a.test:") && row.message.ends_with("set it anew"),
        "{}",
        row.message
    );
    assert_eq!(world.requests("/feed"), 0);
    world.service().set_source_credential(id, Some(&basic())).await.unwrap();
    world.poll_due().await;
    assert_eq!(world.bodies(id).await, ["one"]);
}

async fn credentials_stop_a_move(db: Database) {
    let mut world = World::new(db, &[VAULT, "source.poll_interval_minutes=600"]).await;
    world.answer("/old", Answer::feed(&["one"]));
    let id = world.add("a.test", "/old").await;
    world.service().set_source_credential(id, Some(&basic())).await.unwrap();
    world.add_name("b.test");
    world.poll_due().await;
    let (from, to) = (world.server().url_of("a.test", "/old"), world.server().url_of("b.test", "/new"));
    world.reply("/old", Reply::redirect(301, to.as_str()));
    world.answer("/new", Answer::feed(&["one", "two"]));
    world.poll_times(id, 10).await;
    let source = world.source(id).await;
    assert_eq!(source.settings.url, from.as_str(), "it is not moved by itself");
    assert_eq!(world.bodies(id).await, ["two", "one"], "and still read");
    let proposal = source.elsewhere.unwrap().proposal.unwrap();
    assert_eq!((proposal.url.as_str(), proposal.reason), (to.as_str(), ProposalReason::Redirected));
    let store = world.store();
    store.number_events(100).await.unwrap();
    let events = store.events(0, 100).await.unwrap();
    let of = |kind: &str| events.iter().filter(|event| event.event.kind == kind).count();
    assert_eq!((of("source.proposal"), of("source.moved")), (1, 0), "proposed once");
    let explained = world.service().explain(id).await.unwrap();
    assert_eq!(explained.proposal.as_deref(), Some(to.as_str()));
    assert!(explained.notices.iter().any(|notice| notice.contains("credentials")), "{:?}", explained.notices);
    let sent = world.server().requests().into_iter().filter(|request| request.path == "/new");
    assert!(sent.map(|request| request.header("authorization")).all(|header| header.is_none()));
    // A person decides; the credentials stay where they were meant for, and are set anew.
    world.service().use_proposal(id, to.as_str()).await.unwrap();
    assert_eq!(world.source(id).await.settings.url, to.as_str());
    world.poll_due().await;
    assert_eq!(world.source(id).await.health.failing.unwrap().kind, ErrorKind::Unauthorized);
    world.service().set_source_credential(id, Some(&basic())).await.unwrap();
    world.poll_due().await;
    let source = world.source(id).await;
    assert_eq!((source.health.failing, source.elsewhere), (None, None));
}

async fn credentials_move_along_within_their_origin(db: Database) {
    let mut world = World::new(db, &[VAULT, "source.poll_interval_minutes=600"]).await;
    world.answer("/old", Answer::feed(&["one"]));
    let id = world.add("a.test", "/old").await;
    world.service().set_source_credential(id, Some(&basic())).await.unwrap();
    world.poll_due().await;
    world.reply("/old", Reply::redirect(308, "/new"));
    world.answer("/new", Answer::feed(&["one"]));
    world.poll_times(id, 8).await;
    let source = world.source(id).await;
    assert_eq!(source.settings.url, world.server().url_of("a.test", "/new").as_str());
    assert_eq!((source.health.failing, source.elsewhere), (None, None));
    let last = world.server().requests().pop().unwrap();
    assert_eq!((last.path.as_str(), last.header("authorization").is_some()), ("/new", true));
}

async fn credentials_go_to_pages_of_the_own_origin(db: Database) {
    let mut world = World::new(db, &[VAULT]).await;
    world.add_name("b.test");
    let (a, b) = (world.server().url_of("a.test", "/"), world.server().url_of("b.test", "/"));
    let links: String = [format!("{a}own"), format!("{b}other"), format!("{a}leaves")]
        .iter()
        .map(|url| format!("<article><h2><a href='{url}'>A story</a></h2></article>"))
        .collect();
    world.answer("/", Answer::body(&links));
    world.reply("/leaves", Reply::redirect(302, format!("{b}landed")));
    let text = "<p>Some text, with commas, and a good number of words, and so on.</p>".repeat(5);
    for path in ["/own", "/other", "/landed"] {
        world.answer(
            path,
            Answer::body(&format!("<title>{path}</title><article><h1>{path}</h1>{text}{path}</article>")),
        );
    }
    let id = world
        .add_with("a.test", "/", |new| {
            new.kind = Kind::Watchlist;
            new.article_selector = Some("h2 a".into());
        })
        .await;
    world.service().set_source_credential(id, Some(&basic())).await.unwrap();
    world.poll_due().await;
    assert_eq!(world.posts(id).await.len(), 3);
    let sent = |path: &str| {
        let request = world.server().requests().into_iter().find(|request| request.path == path).unwrap();
        request.header("authorization").is_some()
    };
    assert_eq!((sent("/"), sent("/own"), sent("/leaves")), (true, true, true));
    assert_eq!((sent("/other"), sent("/landed")), (false, false), "never to another origin");
    assert!(!sent("/robots.txt"));
}

async fn a_redirect_that_asks_for_credentials_is_explained(db: Database) {
    let mut world = World::new(db, &[VAULT]).await;
    let id = world.add("a.test", "/feed").await;
    world.service().set_source_credential(id, Some(&basic())).await.unwrap();
    let other = Server::start().await;
    world.reply("/feed", Reply::redirect(301, other.url("/feed").as_str()));
    other.on("/feed", Reply::status(401));
    world.poll_due().await;
    let row = world.source(id).await.health.failing.unwrap();
    assert_eq!((row.kind, row.status), (ErrorKind::Unauthorized, Some(401)));
    assert!(row.message.contains("its credentials are sent to its own origin only"), "{}", row.message);
}
