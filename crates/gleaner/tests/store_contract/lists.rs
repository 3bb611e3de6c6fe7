//! Lists in an order of their reader's choice: every order, both ways, page by page and back again.

use super::*;

on_both!(sources_are_listed_in_every_order, hosts_are_listed_in_every_order, what_would_be_lost_is_counted);

/// Odd and even ones differ, some are alike, some have never been polled.
const STATES: &str = "UPDATE source_state SET \
    next_poll_at = CASE WHEN source_id % 4 = 1 THEN NULL ELSE 1000 * (source_id % 3) END, \
    last_success_at = CASE WHEN source_id % 5 = 2 THEN NULL ELSE 5000 - 100 * (source_id % 2) END, \
    consecutive_failures = source_id % 3, failing_since = 1, last_error_type = 'not_found', \
    status = CASE WHEN source_id % 3 = 0 THEN 'healthy' ELSE 'failing' END";

/// What a source is ordered by.
fn key(source: &Source, by: SourceOrder) -> SortKey {
    let number = |at: Option<Time>, none: i64| SortKey::Number(at.map_or(none, Time::as_millis));
    match by {
        SourceOrder::Added => SortKey::Number(source.id),
        SourceOrder::Address => SortKey::Text(gleaner_core::link::canonical(&source.settings.url)),
        SourceOrder::NextPoll => number(source.next_poll_at, i64::MAX),
        SourceOrder::LastSuccess => number(source.health.last_success_at, -1),
        SourceOrder::Failures => {
            SortKey::Number(source.health.failing.as_ref().map_or(0, |row| row.count.into()))
        }
    }
}

fn sorted<T>(mut rows: Vec<T>, place: impl Fn(&T) -> SortPosition, descending: bool) -> Vec<i64> {
    let pair = |row: &T| {
        let place = place(row);
        match place.key {
            SortKey::Number(number) => (number, String::new(), place.id),
            SortKey::Text(text) => (0, text, place.id),
        }
    };
    rows.sort_by_key(pair);
    if descending {
        rows.reverse();
    }
    rows.iter().map(|row| place(row).id).collect()
}

/// Reads a list from page to page, forwards to its end and backwards to its beginning.
async fn walk<T>(page: impl AsyncFn(&PagePosition) -> Vec<(SortPosition, T)>) -> Vec<i64> {
    let (mut forwards, mut turn) = (Vec::new(), PagePosition::First);
    let mut last = None;
    loop {
        let rows = page(&turn).await;
        let Some((place, _)) = rows.last() else { break };
        turn = PagePosition::After(place.clone());
        last = Some(place.clone());
        forwards.extend(rows.iter().map(|(place, _)| place.id));
    }
    let mut backwards: Vec<i64> = last.iter().map(|place| place.id).collect();
    while let Some(place) = last {
        let rows = page(&PagePosition::Before(place)).await;
        backwards.extend(rows.iter().rev().map(|(place, _)| place.id));
        last = rows.first().map(|(place, _)| place.clone());
    }
    backwards.reverse();
    assert_eq!(forwards, backwards);
    forwards
}

async fn sources_are_listed_in_every_order(db: Database) {
    let mut sources: Vec<NewSource> =
        (0..11).map(|n| feed(["a.example", "b.example"][n % 2], &format!("{}/{n}", 97 * n % 11))).collect();
    for (place, source) in sources.iter_mut().enumerate() {
        source.settings.kind = if place % 4 == 0 { Kind::Website } else { Kind::Feed };
    }
    add(&db, &sources).await;
    db.behind_its_back(STATES).await;
    let all = SourceFilter::default();
    let filters = [
        all.clone(),
        SourceFilter { status: Some(Status::Failing), ..all.clone() },
        SourceFilter { status: Some(Status::Healthy), ..all.clone() },
        SourceFilter { kind: Some(Kind::Feed), ..all.clone() },
        SourceFilter { kind: Some(Kind::Website), ..all.clone() },
        SourceFilter { collection_id: Some(1), text: Some("EXAMPLE/1".into()), ..all.clone() },
        SourceFilter { host: Some("b.example".into()), ..all.clone() },
        SourceFilter { waits_for_person: true, ..all.clone() },
        SourceFilter {
            error: Some(ErrorKind::NotFound),
            goes_by_policy: Some(PolicyFilter {
                name: "standard".into(),
                unless: Some(vec!["cooldown".into()]),
            }),
            ..all.clone()
        },
    ];
    let orders = [
        SourceOrder::Added,
        SourceOrder::Address,
        SourceOrder::NextPoll,
        SourceOrder::LastSuccess,
        SourceOrder::Failures,
    ];
    for filter in &filters {
        let found = db.store.sources(filter, None, 100).await.unwrap();
        assert_eq!(db.store.count_sources(filter, 100).await.unwrap(), found.len() as u64);
        for by in orders {
            for descending in [false, true] {
                let order = SortOrder { by, descending };
                let place = |source: &Source| SortPosition { key: key(source, by), id: source.id };
                let page = async |turn: &PagePosition| {
                    db.store.sources_sorted(filter, order, turn, 2).await.unwrap()
                };
                assert_eq!(
                    walk(page).await,
                    sorted(found.clone(), place, descending),
                    "{filter:?} {order:?}"
                );
                for (at, source) in
                    db.store.sources_sorted(filter, order, &PagePosition::First, 50).await.unwrap()
                {
                    assert_eq!(at, place(&source));
                    assert!(found.contains(&source), "it is read whole");
                }
            }
        }
    }
    assert_eq!(db.store.count_sources(&all, 3).await.unwrap(), 3, "counted no further");
}

async fn hosts_are_listed_in_every_order(db: Database) {
    let sources: Vec<NewSource> =
        (0..12).map(|n| feed(&format!("h{}.example", 97 * n % 7), &format!("{n}"))).collect();
    add(&db, &sources).await;
    db.behind_its_back(STATES).await;
    db.behind_its_back("UPDATE hosts SET next_due = CASE WHEN id = 3 THEN NULL ELSE 9 - id % 2 END").await;
    let hosts = db.store.hosts(&Visibility::default(), None, None, 100).await.unwrap();
    for by in [HostOrder::Name, HostOrder::Failing, HostOrder::Sources, HostOrder::Due] {
        for descending in [false, true] {
            let place = |host: &Host| {
                let key = match by {
                    HostOrder::Name => SortKey::Text(host.name.clone()),
                    HostOrder::Failing => SortKey::Number(host.failing),
                    HostOrder::Sources => SortKey::Number(host.sources),
                    HostOrder::Due => SortKey::Number(host.next_due.map_or(0, Time::as_millis)),
                };
                SortPosition { key, id: host.id }
            };
            let listed: Vec<Host> =
                hosts.iter().filter(|host| place(host).key != SortKey::Number(0)).cloned().collect();
            let order = SortOrder { by, descending };
            let page = async |turn: &PagePosition| {
                db.store.hosts_sorted(&Visibility::default(), None, order, turn, 2).await.unwrap()
            };
            assert_eq!(walk(page).await, sorted(listed, place, descending), "{order:?}");
            let found = db
                .store
                .hosts_sorted(&Visibility::default(), Some("H1.EX"), order, &PagePosition::First, 50)
                .await
                .unwrap();
            assert!(found.iter().all(|(at, host)| host.name == "h1.example" && *at == place(host)));
        }
    }
}

async fn what_would_be_lost_is_counted(db: Database) {
    let ids = add(&db, &[feed("a.example", "feed"), feed("b.example", "feed")]).await;
    let claims = db.store.claim(&request(start())).await.unwrap();
    let commits: Vec<Commit> = claims
        .iter()
        .map(|claim| Commit { new: vec![new_post("one"), new_post("two")], ..quiet(claim, 0, start()) })
        .collect();
    db.store.commit(&commits, &[]).await.unwrap();
    assert_eq!(db.store.count_posts(&ids).await.unwrap(), 4);
    assert_eq!(db.store.count_posts(&ids[..1]).await.unwrap(), 2);
    assert_eq!(db.store.count_posts(&[]).await.unwrap(), 0);
}
