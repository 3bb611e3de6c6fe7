//! Whom rules hold, and what pages need besides.

use super::*;

on_both!(
    whom_rules_hold_is_counted_and_listed,
    posts_know_their_neighbours_and_show_their_beginning,
    a_user_becomes_an_admin_and_is_none_again,
);

/// A source that fails so.
async fn failing(db: &Database, path: &str, policy: Option<&str>, kind: ErrorKind, aside: bool) -> i64 {
    let mut new = feed("a.example", path);
    new.settings.policy = policy.map(str::to_owned);
    let id = add(db, &[new]).await[0];
    let read = db.store.source(id).await.unwrap();
    let failure = Failure { kind, status: None, message: "no".into(), retry_after: None };
    let row = Failing::repeated(&failure, 1, start());
    let held = || Quarantine { at: start(), reason: "no".into(), by_hand: false, retry_at: None };
    let health = Health { failing: Some(row), quarantine: aside.then(held), ..Health::default() };
    db.store.edit_source(&SourceEdit { health, ..SourceEdit::of(&read) }, start()).await.unwrap();
    id
}

async fn whom_rules_hold_is_counted_and_listed(db: Database) {
    add(&db, &[feed("a.example", "well")]).await;
    let a = failing(&db, "a", None, ErrorKind::NotFound, false).await;
    let b = failing(&db, "b", None, ErrorKind::NotFound, false).await;
    let c = failing(&db, "c", Some("cooldown"), ErrorKind::Network(Cause::Dns), true).await;
    let d = failing(&db, "d", Some("gone"), ErrorKind::NotFound, false).await;
    let mut held = db.store.held_by_rules(&Visibility::default()).await.unwrap();
    held.sort_by_key(|row| row.policy.clone());
    let row = |policy: Option<&str>, kind: &str, status, sources| HeldSources {
        policy: policy.map(str::to_owned),
        kind: kind.to_owned(),
        status,
        sources,
    };
    let expected = [
        row(None, "not_found", Status::Failing, 2),
        row(Some("cooldown"), "network", Status::Quarantined, 1),
        row(Some("gone"), "not_found", Status::Failing, 1),
    ];
    assert_eq!(held, expected);
    let list = async |filter: SourceFilter| -> Vec<i64> {
        db.store.sources(&filter, None, 10).await.unwrap().into_iter().map(|source| source.id).collect()
    };
    let known = vec!["standard".to_owned(), "cooldown".to_owned()];
    let standard = PolicyFilter { name: "standard".into(), unless: Some(known) };
    let not_found = SourceFilter { error: Some(ErrorKind::NotFound), ..SourceFilter::default() };
    assert_eq!(list(not_found.clone()).await, [a, b, d]);
    assert_eq!(list(SourceFilter { goes_by_policy: Some(standard), ..not_found }).await, [a, b, d]);
    let cooldown = PolicyFilter { name: "cooldown".into(), unless: None };
    assert_eq!(list(SourceFilter { goes_by_policy: Some(cooldown), ..SourceFilter::default() }).await, [c]);
}

async fn posts_know_their_neighbours_and_show_their_beginning(db: Database) {
    add(&db, &[feed("a.example", "one"), feed("b.example", "two")]).await;
    let long = "word ".repeat(200);
    let claims = db.store.claim(&request(start())).await.unwrap();
    let commits: Vec<Commit> = claims
        .iter()
        .map(|claim| {
            let mut commit = quiet(claim, 0, start());
            commit.new = ["x", "y", &long].map(new_post).to_vec();
            commit
        })
        .collect();
    db.store.commit(&commits, &[]).await.unwrap();
    let posts = db.store.posts(&PostFilter::default(), None, 10).await.unwrap();
    let source = posts[0].source_id;
    let mut own: Vec<i64> =
        posts.iter().filter(|post| post.source_id == source).map(|post| post.id).collect();
    own.sort_unstable();
    let [first, second, third] = own[..] else { panic!("three posts: {own:?}") };
    assert_eq!(db.store.neighbours(source, second).await.unwrap(), (Some(first), Some(third)));
    assert_eq!(db.store.neighbours(source, first).await.unwrap(), (None, Some(second)));
    assert_eq!(db.store.neighbours(source, third).await.unwrap(), (Some(second), None));
    let brief = PostFilter { brief: true, source_ids: vec![source], ..PostFilter::default() };
    let brief = db.store.posts(&brief, None, 10).await.unwrap();
    let longest = brief.iter().map(|post| post.content.body.chars().count()).max();
    assert_eq!((brief.len(), longest), (3, Some(400)));
    assert!(brief.iter().all(|post| post.content.raw_content.is_none()));
}

async fn a_user_becomes_an_admin_and_is_none_again(db: Database) {
    let id = db.store.create_user("ada", false, start()).await.unwrap();
    for is_admin in [true, false] {
        db.store.set_admin(id, is_admin).await.unwrap();
        assert_eq!(db.store.user_named("ada").await.unwrap().is_admin, is_admin);
    }
    assert!(db.store.set_admin(id + 1, true).await.is_err());
}
