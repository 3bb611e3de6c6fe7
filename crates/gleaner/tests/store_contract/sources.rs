//! Sources: settings, edits, lists.

use gleaner_core::backfill::Backfill;

use super::*;

on_both!(
    a_source_comes_back_as_it_went_in,
    a_url_is_once_in_a_collection,
    sources_are_listed_by_filter_and_cursor,
    an_edit_of_something_older_changes_nothing,
    an_edit_does_not_undo_a_poll_that_came_in_between,
    a_source_can_be_created_disabled,
    an_edit_moves_a_source_to_its_new_host,
    hosts_are_listed_with_what_is_asked_from_them,
    policies_in_use_are_counted,
    deleting_a_source_takes_its_own_and_leaves_articles,
);

async fn a_source_comes_back_as_it_went_in(db: Database) {
    let mut new = feed("a.example", "feed?b=c");
    new.settings = SourceSettings {
        kind: Kind::Watchlist,
        name: Some("Übersicht \"漢字\"\n2".into()),
        interval: Interval::Minutes(7),
        poll_delay: Some(Span::from_secs(3)),
        article_selector: Some("article h2 a".into()),
        ignore_selector: Some(".ads".into()),
        full_content: true,
        backfill: Backfill::Recent,
        ignore_robots: true,
        policy: Some("cooldown".into()),
        duplicates: Some(gleaner_core::source::Duplicates::Content),
        secret: Some(vec![0, 159, 255]),
        ..new.settings
    };
    let id = add(&db, std::slice::from_ref(&new)).await[0];
    let source = db.store.source(id).await.unwrap();
    assert_eq!(source.settings, new.settings);
    assert_eq!(source.health, Health::new());
    assert_eq!((source.host.as_str(), source.next_poll_at), ("a.example", Some(start())));
    assert_eq!((source.created_at, source.version, source.memory), (start(), 1, Memory::default()));
    let missing = db.store.source(id + 1).await.unwrap_err();
    assert_eq!(missing.to_string(), format!("source {} does not exist", id + 1));
}

async fn a_url_is_once_in_a_collection(db: Database) {
    let other = db.store.create_collection("other", 1, start()).await.unwrap();
    let here = feed("a.example", "feed");
    let mut there = here.clone();
    there.settings.collection_id = other;
    let made = db.store.create_sources(&[here.clone(), here.clone(), there], start()).await.unwrap();
    let [Created::New(first), Created::Exists(same), Created::New(second)] = made[..] else {
        panic!("two are new: {made:?}");
    };
    assert_eq!(first, same);
    assert_ne!(first, second);
    assert_eq!(db.store.create_sources(&[here], start()).await.unwrap(), [Created::Exists(first)]);
}

async fn sources_are_listed_by_filter_and_cursor(db: Database) {
    let mut sources: Vec<NewSource> = (0..5).map(|n| feed("a.example", &format!("feed{n}"))).collect();
    sources.push(feed("b.example", "100%_sure"));
    sources[1].settings.kind = Kind::Website;
    sources[2].settings.name = Some("Grüne Wiese".into());
    let ids = add(&db, &sources).await;
    let edit = edit_of(&db.store.source(ids[0]).await.unwrap(), |edit| {
        edit.health = edit.health.disabled_by_hand(None);
        edit.next_poll_at = None;
    });
    db.store.edit_source(&edit, start()).await.unwrap();
    let list = async |filter: SourceFilter| {
        let found = db.store.sources(&filter, None, 100).await.unwrap();
        found.iter().map(|source| source.id).collect::<Vec<_>>()
    };
    let all = SourceFilter::default();
    assert_eq!(list(all.clone()).await, ids);
    assert_eq!(list(SourceFilter { status: Some(Status::Disabled), ..all.clone() }).await, ids[..1]);
    assert_eq!(list(SourceFilter { kind: Some(Kind::Website), ..all.clone() }).await, ids[1..2]);
    assert_eq!(list(SourceFilter { host: Some("b.example".into()), ..all.clone() }).await, ids[5..]);
    assert_eq!(list(SourceFilter { text: Some("wiese".into()), ..all.clone() }).await, ids[2..3]);
    assert_eq!(list(SourceFilter { text: Some("100%_S".into()), ..all.clone() }).await, ids[5..]);
    assert_eq!(list(SourceFilter { text: Some("d_".into()), ..all.clone() }).await, ids[..0]);
    assert_eq!(list(SourceFilter { active_at: Some(start()), ..all.clone() }).await, ids[1..]);
    assert_eq!(list(SourceFilter { collection_id: Some(2), ..all.clone() }).await, ids[..0]);
    let page = db.store.sources(&all, Some(ids[1]), 2).await.unwrap();
    assert_eq!(page.iter().map(|source| source.id).collect::<Vec<_>>(), ids[2..4]);
}

async fn an_edit_of_something_older_changes_nothing(db: Database) {
    let id = add(&db, &[feed("a.example", "feed"), feed("a.example", "taken")]).await[0];
    let source = db.store.source(id).await.unwrap();
    let edit = edit_of(&source, |edit| edit.settings.name = Some("first".into()));
    db.store.edit_source(&edit, start()).await.unwrap();
    let late = edit_of(&source, |edit| edit.settings.name = Some("second".into()));
    let refused = db.store.edit_source(&late, start()).await.unwrap_err();
    assert_eq!(refused.to_string(), format!("source {id} was changed meanwhile; read it again"));
    let source = db.store.source(id).await.unwrap();
    assert_eq!((source.settings.name.as_deref(), source.version), (Some("first"), 2));
    let clash = edit_of(&source, |edit| {
        edit.settings.url = "https://a.example/taken".into();
        edit.canonical_url = "https://a.example/taken".into();
    });
    let refused = db.store.edit_source(&clash, start()).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!("source https://a.example/taken already exists, with the id {}", id + 1)
    );
    assert!(matches!(refused, StoreError::Duplicate { id: Some(taken), .. } if taken != id));
    assert_eq!(db.store.source(id).await.unwrap(), source);
}

async fn an_edit_does_not_undo_a_poll_that_came_in_between(db: Database) {
    let id = add(&db, &[feed("a.example", "feed")]).await[0];
    let before = db.store.source(id).await.unwrap();
    poll_once(&db, start(), |_| {}).await;
    let late = edit_of(&before, |edit| edit.settings.name = Some("late".into()));
    assert!(matches!(db.store.edit_source(&late, start()).await, Err(StoreError::Changed { .. })));
    let source = db.store.source(id).await.unwrap();
    assert_eq!((source.version, source.health.last_polled_at), (1, Some(start())));
}

async fn a_source_can_be_created_disabled(db: Database) {
    let id = add(
        &db,
        &[NewSource {
            health: Health::new().disabled_by_hand(None),
            next_poll_at: None,
            ..feed("a.example", "feed")
        }],
    )
    .await[0];
    let source = db.store.source(id).await.unwrap();
    assert_eq!((source.health.status(), source.next_poll_at), (Status::Disabled, None));
    assert!(db.store.claim(&request(start())).await.unwrap().is_empty());
}

async fn an_edit_moves_a_source_to_its_new_host(db: Database) {
    let id = add(&db, &[feed("a.example", "feed")]).await[0];
    poll_once(&db, start(), |commit| {
        commit.memory = Some(Memory { etag: Some(b"\"v1\"".to_vec()), ..Memory::default() });
    })
    .await;
    let source = db.store.source(id).await.unwrap();
    assert_eq!(source.memory.etag.as_deref(), Some(&b"\"v1\""[..]));
    let edit = edit_of(&source, |edit| {
        edit.host.name = "b.example".into();
        edit.next_poll_at = Some(start());
        edit.forget = true;
    });
    db.store.edit_source(&edit, start()).await.unwrap();
    let claim = claim_one(&db, start()).await;
    assert_eq!((claim.host.as_str(), claim.sources[0].id), ("b.example", id));
    assert_eq!(claim.sources[0].memory, Memory::default());
}

async fn deleting_a_source_takes_its_own_and_leaves_articles(db: Database) {
    let ids = add(&db, &[feed("a.example", "feed"), feed("b.example", "feed")]).await;
    let claims = db.store.claim(&request(start())).await.unwrap();
    let commits: Vec<Commit> = claims
        .iter()
        .map(|claim| Commit { new: vec![new_post("text")], ..quiet(claim, 0, start()) })
        .collect();
    db.store.commit(&commits, &[]).await.unwrap();
    let posts = db.store.posts(&PostFilter::default(), None, 10).await.unwrap();
    let mine = posts.iter().find(|post| post.source_id == ids[0]).unwrap();
    let article = NewArticle {
        title: "Made of it".into(),
        body: String::new(),
        url: None,
        published_at: None,
        post_ids: vec![mine.id],
    };
    let article = db.store.create_article(&article, start()).await.unwrap();
    db.store.delete_source(ids[0]).await.unwrap();
    assert!(db.store.source(ids[0]).await.is_err());
    let left = db.store.posts(&PostFilter::default(), None, 10).await.unwrap();
    assert_eq!(left.iter().map(|post| post.source_id).collect::<Vec<_>>(), [ids[1]]);
    assert_eq!(db.store.known(&ids).await.unwrap().keys().collect::<Vec<_>>(), [&ids[1]]);
    assert!(db.store.polls(ids[0], None, 10).await.unwrap().is_empty());
    assert!(db.store.article(article).await.unwrap().content.post_ids.is_empty());
    let again = db.store.delete_source(ids[0]).await.unwrap_err();
    assert!(matches!(again, StoreError::NotFound { .. }));
}

async fn hosts_are_listed_with_what_is_asked_from_them(db: Database) {
    let ids = add(&db, &[feed("a.example", "1"), feed("a.example", "2"), feed("b_.example", "3")]).await;
    let edit = edit_of(&db.store.source(ids[1]).await.unwrap(), |edit| {
        edit.health = edit.health.set_aside_by_hand("odd", start());
    });
    db.store.edit_source(&edit, start()).await.unwrap();
    let claim = db.store.claim_source(ids[0], &request(start())).await.unwrap().unwrap();
    let hosts = db.store.hosts(&Visibility::default(), None, None, 10).await.unwrap();
    let host = |name: &str| hosts.iter().find(|host| host.name == name).unwrap();
    let (a, b) = (host("a.example"), host("b_.example"));
    assert_eq!((a.id, a.sources, a.failing), (claim.lease.host_id, 2, 1));
    assert_eq!(a.lease, Some(("test".to_owned(), start() + minutes(1))));
    assert_eq!((b.sources, b.failing, &b.lease, b.next_due), (1, 0, &None, Some(start())));
    assert_eq!(db.store.hosts(&Visibility::default(), Some("B_"), None, 10).await.unwrap().len(), 1);
    assert_eq!(db.store.hosts(&Visibility::default(), Some("a_"), None, 10).await.unwrap().len(), 0);
    assert_eq!(
        db.store.hosts(&Visibility::default(), None, Some(hosts[0].id), 10).await.unwrap(),
        hosts[1..]
    );
    assert_eq!(db.store.hosts(&Visibility::default(), None, None, 1).await.unwrap(), hosts[..1]);
}

async fn policies_in_use_are_counted(db: Database) {
    let mut sources = [feed("a.example", "1"), feed("a.example", "2"), feed("a.example", "3")];
    sources[2].settings.policy = Some("backoff".into());
    add(&db, &sources).await;
    let mut uses = db.store.policy_uses(&Visibility::default()).await.unwrap();
    uses.sort();
    assert_eq!(uses, [(None, 2), (Some("backoff".to_owned()), 1)]);
}
