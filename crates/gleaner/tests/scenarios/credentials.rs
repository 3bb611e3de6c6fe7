//! A source's own credentials: encrypted, sent to its own origin only, never shown.

use gleaner::config::secret::Secret;
use gleaner::service::Credential;
use gleaner_core::outcome::ErrorKind;

use super::on_both;
use super::world::{Answer, World};
use super::x::VAULT;
use crate::support::Database;
use crate::support::http::{Reply, Server};

on_both!(
    source_credential_is_sent_to_its_own_origin_only,
    source_header_is_sent_and_removed,
    source_credential_is_not_sent_where_the_source_moved,
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
