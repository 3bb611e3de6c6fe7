//! Leases: what is due, to whom, and for how long.

use gleaner_core::follow::PageState;

use super::*;

on_both!(
    a_source_that_is_asked_for_is_due,
    a_claim_leases_due_hosts_with_what_is_due,
    a_host_is_claimed_once_until_its_lease_ends,
    a_big_host_is_claimed_in_portions,
    a_heartbeat_keeps_only_what_is_ours,
    a_release_makes_the_host_due_with_its_next_source,
    one_source_can_be_claimed_by_hand,
    article_work_is_claimed_by_its_own_host,
    article_work_is_retried_and_given_up,
    pages_are_counted_on_their_source_and_their_poll,
    a_page_that_is_queued_again_begins_anew,
    given_up_pages_are_forgotten_in_the_end,
    ten_failed_pages_make_their_source_suspect,
    a_page_gives_its_text_to_the_post_of_its_entry,
    polls_and_pages_of_the_same_sources_end_side_by_side,
    a_host_hold_delays_its_sources,
    hosts_that_are_not_quick_take_a_share_of_a_claim,
    a_probe_is_of_a_source_that_worked,
    a_claim_counts_the_sources_of_a_host,
);

fn page(host: &str, key: i64) -> NewArticleWork {
    NewArticleWork {
        purpose: WorkPurpose::Article,
        host: HostKey { name: host.into(), slot: 0 },
        entry_key: key,
        url: format!("https://{host}/{key}"),
        draft: "{}".into(),
        next_try_at: start() + minutes(1),
    }
}

/// Commits an index page with these links, and remembers them as seen.
async fn index(db: &Database, pages: Vec<NewArticleWork>) {
    poll_once(db, start(), |commit| {
        commit.remember = pages.iter().map(|page| Seen { key: page.entry_key, ..Seen::default() }).collect();
        commit.articles = pages;
    })
    .await;
}

async fn a_claim_leases_due_hosts_with_what_is_due(db: Database) {
    let mut sources = vec![feed("a.example", "1"), feed("a.example", "2"), feed("a.example", "3")];
    sources.extend([feed("b.example", "1"), feed("c.example", "1")]);
    sources[1].next_poll_at = Some(start() + minutes(5));
    sources[2].next_poll_at = Some(start() - minutes(5));
    sources[4].next_poll_at = Some(start() + minutes(1));
    let ids = add(&db, &sources).await;
    let mut claims = db.store.claim(&request(start())).await.unwrap();
    claims.sort_by(|one, other| one.host.cmp(&other.host));
    let found: Vec<(&str, Vec<i64>)> = claims
        .iter()
        .map(|claim| (claim.host.as_str(), claim.sources.iter().map(|source| source.id).collect()))
        .collect();
    assert_eq!(found, [("a.example", vec![ids[2], ids[0]]), ("b.example", vec![ids[3]])]);
}

async fn a_host_is_claimed_once_until_its_lease_ends(db: Database) {
    add(&db, &[feed("a.example", "1")]).await;
    let first = claim_one(&db, start()).await;
    assert!(db.store.claim(&request(start() + Span::from_secs(59))).await.unwrap().is_empty());
    let second = claim_one(&db, start() + minutes(1)).await;
    assert!(second.lease.fence > first.lease.fence);
    // The first worker comes back too late: its release and its commit change nothing.
    db.store.release(&[Release::of(first.lease)]).await.unwrap();
    assert!(db.store.claim(&request(start() + minutes(1))).await.unwrap().is_empty());
    let late = db.store.commit(&[quiet(&first, 0, start() + minutes(1))], &[]).await.unwrap();
    assert_eq!(late, [CommitOutcome::Discarded]);
}

async fn a_big_host_is_claimed_in_portions(db: Database) {
    let sources: Vec<NewSource> = (0..7).map(|n| feed("a.example", &n.to_string())).collect();
    add(&db, &sources).await;
    let mut portions = Vec::new();
    loop {
        let claims = db.store.claim(&ClaimRequest { per_host: 3, ..request(start()) }).await.unwrap();
        let Some(claim) = claims.first() else { break };
        portions.push(claim.sources.len());
        let commits: Vec<Commit> =
            (0..claim.sources.len()).map(|place| quiet(claim, place, start())).collect();
        db.store.commit(&commits, &[]).await.unwrap();
        db.store.release(&[Release::of(claim.lease)]).await.unwrap();
    }
    assert_eq!(portions, [3, 3, 1]);
}

async fn a_heartbeat_keeps_only_what_is_ours(db: Database) {
    add(&db, &[feed("a.example", "1")]).await;
    let claim = claim_one(&db, start()).await;
    let stale = Lease { fence: claim.lease.fence - 1, ..claim.lease };
    let kept = db.store.heartbeat(&[claim.lease, stale], start() + minutes(10)).await.unwrap();
    assert_eq!(kept, [claim.lease]);
    assert!(db.store.claim(&request(start() + minutes(9))).await.unwrap().is_empty());
    db.store.release(&[Release::of(claim.lease)]).await.unwrap();
    assert!(
        db.store.heartbeat(&[claim.lease], start() + minutes(20)).await.unwrap().is_empty(),
        "it was released"
    );
}

async fn a_release_makes_the_host_due_with_its_next_source(db: Database) {
    let mut sources = vec![feed("a.example", "1"), feed("a.example", "2")];
    sources[1].next_poll_at = Some(start() + minutes(10));
    add(&db, &sources).await;
    poll_once(&db, start(), |_| {}).await;
    assert!(db.store.claim(&request(start() + minutes(9))).await.unwrap().is_empty());
    let claim = claim_one(&db, start() + minutes(10)).await;
    db.store.commit(&[quiet(&claim, 0, start() + minutes(10))], &[]).await.unwrap();
    // Source 1 is due at 30 minutes, but the host wants a longer pause.
    let delay_until = Some(start() + minutes(35));
    db.store.release(&[Release { delay_until, ..Release::of(claim.lease) }]).await.unwrap();
    assert!(db.store.claim(&request(start() + minutes(34))).await.unwrap().is_empty());
    assert_eq!(claim_one(&db, start() + minutes(35)).await.sources[0].settings.url, "https://a.example/1");
}

async fn one_source_can_be_claimed_by_hand(db: Database) {
    let mut sources = vec![feed("a.example", "1"), feed("a.example", "2")];
    sources[1].next_poll_at = Some(start() + minutes(500));
    let ids = add(&db, &sources).await;
    let claim = db.store.claim_source(ids[1], &request(start())).await.unwrap().unwrap();
    assert_eq!(claim.sources.iter().map(|source| source.id).collect::<Vec<_>>(), [ids[1]]);
    assert!(db.store.claim_source(ids[0], &request(start())).await.unwrap().is_none(), "the host is taken");
    assert!(db.store.claim(&request(start())).await.unwrap().is_empty(), "by claims of what is due, too");
    db.store.release(&[Release::of(claim.lease)]).await.unwrap();
    assert!(db.store.claim_source(ids[0], &request(start())).await.unwrap().is_some());
    assert!(db.store.claim_source(999, &request(start())).await.unwrap().is_none());
}

async fn article_work_is_claimed_by_its_own_host(db: Database) {
    let id = add(&db, &[feed("index.example", "")]).await[0];
    index(
        &db,
        vec![page("a.example", 1), page("a.example", 2), page("index.example", 3), page("a.example", 1)],
    )
    .await;
    assert!(db.store.claim(&request(start())).await.unwrap().is_empty(), "not before its time");
    let now = start() + minutes(1);
    let claims = db.store.claim(&request(now)).await.unwrap();
    let found: HashMap<&str, Vec<i64>> = claims
        .iter()
        .map(|claim| (claim.host.as_str(), claim.articles.iter().map(|work| work.entry_key).collect()))
        .collect();
    assert_eq!(found, HashMap::from([("a.example", vec![1, 2]), ("index.example", vec![3])]));
    assert_eq!(claims[0].articles[0].source_url, "https://index.example/");
    let claim = claims.iter().find(|claim| claim.host == "a.example").unwrap();
    let done = ArticleCommit {
        lease: claim.lease,
        work_id: claim.articles[0].id,
        source_id: id,
        at: now,
        host_hold_until: None,
        outcome: ArticleOutcome::Post(Box::new(post("an article"))),
        unique_text: false,
        events: Vec::new(),
        host_effects: None,
    };
    let stale = ArticleCommit {
        lease: Lease { fence: 0, ..claim.lease },
        work_id: claim.articles[1].id,
        ..done.clone()
    };
    let committed = db.store.commit_articles(&[done.clone(), stale], &[]).await.unwrap();
    let [CommitOutcome::Stored { new, .. }, CommitOutcome::Discarded] = &committed[..] else {
        panic!("{committed:?}")
    };
    assert_eq!(db.store.post(new[0]).await.unwrap().source_id, id);
    assert_eq!(only_seen(&db, id, 1).await.post_id, Some(new[0]));
    assert_eq!(
        db.store.commit_articles(&[done], &[]).await.unwrap(),
        [CommitOutcome::Discarded],
        "it is done"
    );
    assert_eq!(db.store.number_events(10).await.unwrap(), 1);
}

async fn article_work_is_retried_and_given_up(db: Database) {
    let id = add(&db, &[feed("index.example", "")]).await[0];
    index(&db, vec![page("a.example", 1)]).await;
    let mut now = start() + minutes(1);
    for tries in 0..3 {
        let claim = db.store.claim(&request(now)).await.unwrap().remove(0);
        assert_eq!(claim.articles[0].tries, tries);
        let outcome = match tries {
            2 => ArticleOutcome::GivenUp { error: "410 Gone".into() },
            _ => ArticleOutcome::Retry {
                at: now + minutes(5),
                error: "timeout after 30s".into(),
                counts: true,
            },
        };
        let (lease, work_id) = (claim.lease, claim.articles[0].id);
        let commit = ArticleCommit {
            lease,
            work_id,
            source_id: id,
            at: now,
            host_hold_until: None,
            outcome,
            unique_text: false,
            events: Vec::new(),
            host_effects: None,
        };
        db.store.commit_articles(&[commit], &[Release::of(lease)]).await.unwrap();
        assert!(db.store.claim(&request(now + minutes(4))).await.unwrap().is_empty());
        now = now + minutes(5);
    }
    assert!(db.store.claim(&request(now)).await.unwrap().is_empty(), "it was given up");
    assert_eq!(only_seen(&db, id, 1).await.post_id, None, "and stays seen");
    let page = db.store.waiting_pages(id, Some(PageState::GivenUp), None, 10).await.unwrap().remove(0);
    assert_eq!((page.tries, page.error.as_deref(), page.next_try_at), (3, Some("410 Gone"), None));
    assert_eq!(db.store.retry_pages(id, now).await.unwrap(), 1);
    assert_eq!(db.store.retry_pages(id, now).await.unwrap(), 0, "it is not given up any more");
    let claim = db.store.claim(&request(now)).await.unwrap().remove(0);
    assert_eq!(claim.articles[0].tries, 0, "with all its tries before it");
}

/// Claims the pages of one host and ends each as told.
async fn end_pages(
    db: &Database,
    now: Time,
    outcome: impl Fn(&ArticleWork) -> ArticleOutcome,
) -> Vec<CommitOutcome> {
    let mut ended = Vec::new();
    for claim in db.store.claim(&request(now)).await.unwrap() {
        let commits: Vec<ArticleCommit> = claim
            .articles
            .iter()
            .map(|work| ArticleCommit {
                unique_text: false,
                lease: claim.lease,
                work_id: work.id,
                source_id: work.source_id,
                at: now,
                host_hold_until: None,
                outcome: outcome(work),
                events: Vec::new(),
                host_effects: None,
            })
            .collect();
        ended.extend(db.store.commit_articles(&commits, &[Release::of(claim.lease)]).await.unwrap());
    }
    ended
}

fn retry(at: Time) -> ArticleOutcome {
    ArticleOutcome::Retry { at, error: "403 Forbidden".into(), counts: true }
}

async fn pages_are_counted_on_their_source_and_their_poll(db: Database) {
    let id = add(&db, &[feed("index.example", "")]).await[0];
    index(&db, (1..=5).map(|key| page("a.example", key)).collect()).await;
    let counts = async || {
        let source = db.store.source(id).await.unwrap();
        (source.pages.waiting, source.pages.failed, source.pages.given_up)
    };
    let poll = async || db.store.polls(id, None, 10).await.unwrap().remove(0);
    assert_eq!(counts().await, (5, 0, 0));
    assert_eq!(poll().await.pages, PollPages { queued: 5, ..PollPages::default() });
    let now = start() + minutes(1);
    let later = now + minutes(60);
    let too_old = Skipped { too_old: 1, ..Skipped::default() };
    end_pages(&db, now, |work| match work.entry_key {
        1 => ArticleOutcome::Post(Box::new(post("one"))),
        2 => ArticleOutcome::Unused(too_old),
        3 => retry(later),
        4 => ArticleOutcome::GivenUp { error: "404 Not Found".into() },
        _ => ArticleOutcome::Retry { at: later, error: "our network".into(), counts: false },
    })
    .await;
    assert_eq!(counts().await, (1, 1, 1));
    let row = poll().await;
    assert_eq!((row.new_posts, row.record.skipped.too_old), (1, 1));
    assert_eq!(row.pages, PollPages { queued: 5, fetched: 2, failed: 1, given_up: 1 });
    let page_of = async |state| db.store.waiting_pages(id, Some(state), None, 10).await.unwrap();
    assert_eq!(page_of(PageState::Failed).await[0].error.as_deref(), Some("403 Forbidden"));
    assert_eq!(page_of(PageState::Waiting).await.len(), 1);
    assert_eq!(db.store.waiting_pages(id, None, None, 2).await.unwrap().len(), 2);
    let all = db.store.waiting_pages(id, None, None, 10).await.unwrap();
    assert_eq!(db.store.waiting_pages(id, None, Some(all[0].id), 10).await.unwrap(), all[1..]);
    let latest = db.store.latest_page_failure(id).await.unwrap().unwrap();
    assert_eq!(latest, ("https://a.example/5".to_owned(), "our network".to_owned()));
    // All that failed comes after all.
    assert_eq!(db.store.retry_pages(id, later).await.unwrap(), 1);
    assert_eq!((counts().await, poll().await.pages.given_up), ((2, 1, 0), 0));
    end_pages(&db, later, |work| ArticleOutcome::Post(Box::new(post(&work.url)))).await;
    assert_eq!(counts().await, (0, 0, 0));
    let row = poll().await;
    assert_eq!((row.new_posts, row.pages), (4, PollPages { queued: 5, fetched: 5, failed: 0, given_up: 0 }));
    assert!(db.store.waiting_pages(id, None, None, 10).await.unwrap().is_empty());
    let hours = db.store.activity(start() - minutes(60)).await.unwrap();
    assert_eq!(hours.iter().map(|hour| hour.posts).sum::<i64>(), 4);
}

async fn a_page_that_is_queued_again_begins_anew(db: Database) {
    let id = add(&db, &[feed("index.example", "")]).await[0];
    index(&db, vec![page("a.example", 1), page("a.example", 2)]).await;
    end_pages(&db, start() + minutes(1), |work| match work.entry_key {
        1 => retry(start() + minutes(600)),
        _ => ArticleOutcome::GivenUp { error: "404 Not Found".into() },
    })
    .await;
    let at = start() + minutes(30);
    poll_once(&db, at, |commit| commit.articles = vec![page("b.example", 1), page("b.example", 2)]).await;
    let source = db.store.source(id).await.unwrap();
    assert_eq!((source.pages.waiting, source.pages.failed, source.pages.given_up), (2, 0, 0));
    let polls = db.store.polls(id, None, 10).await.unwrap();
    assert_eq!((polls[0].pages.queued, polls[1].pages), (2, PollPages::default()));
    let claims = db.store.claim(&request(at)).await.unwrap();
    assert_eq!((claims.len(), claims[0].host.as_str(), claims[0].articles.len()), (1, "b.example", 2));
    assert!(claims[0].articles.iter().all(|work| work.tries == 0));
}

async fn given_up_pages_are_forgotten_in_the_end(db: Database) {
    let id = add(&db, &[feed("index.example", "")]).await[0];
    index(&db, vec![page("a.example", 1), page("a.example", 2)]).await;
    let now = start() + minutes(1);
    end_pages(&db, now, |work| match work.entry_key {
        1 => ArticleOutcome::GivenUp { error: "404 Not Found".into() },
        _ => retry(now + Span::from_days(1000)),
    })
    .await;
    let cleaned = |days| super::maintenance::cleanup(now + Span::from_days(days));
    assert_eq!(db.store.clean_up(&cleaned(90)).await.unwrap().pages, 0);
    assert_eq!(db.store.clean_up(&cleaned(91)).await.unwrap().pages, 1);
    let left = db.store.source(id).await.unwrap().pages;
    assert_eq!((left.waiting, left.failed, left.given_up), (0, 1, 0), "one that is tried again stays");
    assert_eq!(db.store.waiting_pages(id, None, None, 10).await.unwrap().len(), 1);
}

async fn ten_failed_pages_make_their_source_suspect(db: Database) {
    let id = add(&db, &[feed("index.example", "")]).await[0];
    index(&db, (1..=12).map(|key| page("a.example", key)).collect()).await;
    let now = start() + minutes(1);
    let later = now + minutes(60);
    end_pages(
        &db,
        now,
        |work| if work.entry_key <= 9 { retry(later) } else { retry_uncounted(now + minutes(1)) },
    )
    .await;
    let suspect = async || db.store.source(id).await.unwrap().pages_suspect;
    let listed = SourceFilter { suspect: true, ..SourceFilter::default() };
    assert_eq!(suspect().await, None, "nine are not ten");
    end_pages(&db, now + minutes(1), |_| retry(later)).await;
    let suspected = suspect().await.expect("twelve are");
    assert_eq!(suspected.reason, gleaner_core::suspect::Reason::PagesFailing);
    assert_eq!(db.store.sources(&listed, None, 10).await.unwrap().len(), 1);
    // The index is read again, and finds nothing wrong; that is about another thing.
    poll_once(&db, start() + minutes(30), |commit| {
        commit.suspect = Some(gleaner_core::suspect::Change::Cleared);
    })
    .await;
    assert_eq!(suspect().await, Some(suspected));
    let kinds = async || {
        db.store.number_events(100).await.unwrap();
        let events = db.store.events(0, 100).await.unwrap();
        let kinds =
            events.into_iter().map(|event| event.event.kind).filter(|kind| kind.starts_with("source."));
        kinds.collect::<Vec<_>>()
    };
    assert_eq!(kinds().await, ["source.suspect"]);
    end_pages(&db, later, |work| match work.entry_key {
        5 => ArticleOutcome::Post(Box::new(post("five"))),
        _ => retry(later + minutes(60)),
    })
    .await;
    assert_eq!(suspect().await, None, "one that can be fetched ends it");
    assert_eq!(kinds().await, ["source.suspect", "source.cleared"]);
    assert!(db.store.sources(&listed, None, 10).await.unwrap().is_empty());
}

fn retry_uncounted(at: Time) -> ArticleOutcome {
    ArticleOutcome::Retry { at, error: "its host is down".into(), counts: false }
}

async fn a_page_gives_its_text_to_the_post_of_its_entry(db: Database) {
    let id = add(&db, &[feed("a.example", "feed")]).await[0];
    let (summary, seen) = new_post("a summary");
    poll_once(&db, start(), |commit| {
        commit.new = vec![(summary.clone(), seen), new_post("another text")];
        commit.articles = vec![NewArticleWork { entry_key: seen.key, ..page("a.example", 1) }];
    })
    .await;
    let post_id = only_seen(&db, id, seen.key).await.post_id.unwrap();
    let text = |body: &str, revises| ArticleOutcome::Text {
        post: Box::new(NewPost { author: Some("Ada".into()), title: Some("Not this".into()), ..post(body) }),
        revises,
    };
    let now = start() + minutes(1);
    let ended = end_pages(&db, now, |_| text("the whole story", false)).await;
    assert_eq!(ended, [CommitOutcome::Stored { new: vec![], changed: vec![post_id] }]);
    let stored = db.store.post(post_id).await.unwrap();
    assert_eq!(
        (stored.content.body.as_str(), stored.revision, stored.updated_at),
        ("the whole story", 1, now)
    );
    assert_eq!(stored.content.title, summary.title, "the feed's title stays");
    assert_eq!(stored.content.author.as_deref(), Some("Ada"), "it had none");
    assert_eq!(
        only_seen(&db, id, seen.key).await.content,
        seen.content,
        "the feed's own text is what is known of it"
    );
    // The entry changes: its title at once, its text with its page.
    let known = only_seen(&db, id, seen.key).await;
    let at = start() + minutes(30);
    let edited =
        NewPost { title: Some("Corrected".into()), guid: summary.guid.clone(), ..post("a new summary") };
    poll_once(&db, at, |commit| {
        commit.changed = vec![(post_id, edited, Seen { raw: 2, ..known })];
        commit.articles =
            vec![NewArticleWork { entry_key: seen.key, next_try_at: at, ..page("a.example", 1) }];
    })
    .await;
    let stored = db.store.post(post_id).await.unwrap();
    assert_eq!(
        (stored.content.title.as_deref(), stored.content.body.as_str(), stored.revision),
        (Some("Corrected"), "the whole story", 2)
    );
    end_pages(&db, at, |_| text("the whole story", true)).await;
    assert_eq!(db.store.post(post_id).await.unwrap().revision, 2, "the same text is no revision");
    let at = at + minutes(30);
    poll_once(&db, at, |commit| {
        commit.articles =
            vec![NewArticleWork { entry_key: seen.key, next_try_at: at, ..page("a.example", 1) }];
    })
    .await;
    end_pages(&db, at, |_| text("the story, corrected", true)).await;
    let stored = db.store.post(post_id).await.unwrap();
    assert_eq!((stored.content.body.as_str(), stored.revision), ("the story, corrected", 3));
    assert_eq!(db.store.posts(&PostFilter::default(), None, 10).await.unwrap().len(), 2);
    db.store.number_events(100).await.unwrap();
    let events = db.store.events(0, 100).await.unwrap();
    let kinds: Vec<&str> = events.iter().map(|event| event.event.kind.as_str()).collect();
    assert_eq!(kinds, ["post.created", "post.updated", "post.updated", "post.updated"]);
}

async fn polls_and_pages_of_the_same_sources_end_side_by_side(db: Database) {
    let ids = add(&db, &[feed("a.example", "index"), feed("b.example", "index")]).await;
    for round in 0..40_i64 {
        let now = start() + minutes(30 * u64::try_from(round).unwrap());
        let claims = db.store.claim(&request(now)).await.unwrap();
        // Each index has links to the other host, so that both commits need both sources and both hosts.
        let mut polls = Vec::new();
        for claim in &claims {
            for place in 0..claim.sources.len() {
                let other = if claim.host == "a.example" { "b.example" } else { "a.example" };
                let queued = (1..4).map(|n| NewArticleWork {
                    next_try_at: now + minutes(30),
                    ..page(other, 10 * round + n)
                });
                polls.push(Commit { articles: queued.collect(), ..quiet(claim, place, now) });
            }
        }
        let work = claims.iter().flat_map(|claim| claim.articles.iter().map(move |work| (claim, work)));
        let mut pages: Vec<ArticleCommit> = work
            .map(|(claim, work)| ArticleCommit {
                unique_text: false,
                lease: claim.lease,
                work_id: work.id,
                source_id: work.source_id,
                at: now,
                host_hold_until: None,
                outcome: if work.entry_key % 2 == 0 {
                    ArticleOutcome::Post(Box::new(post(&format!("{} {}", work.source_id, work.entry_key))))
                } else {
                    ArticleOutcome::GivenUp { error: "403 Forbidden".into() }
                },
                events: Vec::new(),
                host_effects: None,
            })
            .collect();
        pages.reverse();
        let (polled, fetched) =
            tokio::join!(db.store.commit(&polls, &[]), db.store.commit_articles(&pages, &[]));
        assert!(polled.unwrap().iter().all(|one| *one != CommitOutcome::Discarded));
        assert!(fetched.unwrap().iter().all(|one| *one != CommitOutcome::Discarded));
        let releases: Vec<Release> = claims.iter().map(|claim| Release::of(claim.lease)).collect();
        db.store.release(&releases).await.unwrap();
    }
    for id in ids {
        let counts = db.store.source(id).await.unwrap().pages;
        assert_eq!((counts.waiting, counts.failed, counts.given_up), (3, 0, 39 * 2));
        assert_eq!(db.store.waiting_pages(id, Some(PageState::GivenUp), None, 500).await.unwrap().len(), 78);
    }
    assert_eq!(db.store.posts(&PostFilter::default(), None, 500).await.unwrap().len(), 78);
}

async fn a_host_hold_delays_its_sources(db: Database) {
    let mut sources = vec![feed("a.example", "1"), feed("a.example", "2")];
    sources[1].next_poll_at = Some(start() + minutes(5));
    add(&db, &sources).await;
    poll_once(&db, start(), |commit| commit.host_hold_until = Some(start() + minutes(20))).await;
    assert!(db.store.claim(&request(start() + minutes(19))).await.unwrap().is_empty());
    // A source added meanwhile waits, too.
    add(&db, &[feed("a.example", "3")]).await;
    assert!(db.store.claim(&request(start() + minutes(19))).await.unwrap().is_empty());
    let claims = db.store.claim(&request(start() + minutes(20))).await.unwrap();
    assert_eq!(claims[0].sources.len(), 2);
    assert_eq!(claims[0].hold_until, Some(start() + minutes(20)));
}

async fn a_source_that_is_asked_for_is_due(db: Database) {
    let ids = add(&db, &[feed("a.example", "feed"), feed("b.example", "feed")]).await;
    for claim in db.store.claim(&request(start())).await.unwrap() {
        let release = Release::of(claim.lease);
        db.store.commit(&[quiet(&claim, 0, start())], &[release]).await.unwrap();
    }
    let now = start() + minutes(1);
    assert!(db.store.claim(&request(now)).await.unwrap().is_empty(), "nothing is due");
    assert_eq!(db.store.wake_source(ids[0], now).await.unwrap(), None, "nobody asks its host");
    let claim = claim_one(&db, now).await;
    assert_eq!(claim.sources[0].id, ids[0]);
    // Under a lease the poll that runs goes on, and its commit counts.
    assert_eq!(db.store.wake_source(ids[0], now).await.unwrap(), Some(claim.lease));
    let release = Release::of(claim.lease);
    let committed = db.store.commit(&[quiet(&claim, 0, now)], &[release]).await.unwrap();
    assert!(matches!(committed[..], [CommitOutcome::Stored { .. }]));
    assert!(db.store.claim(&request(now)).await.unwrap().is_empty(), "it was polled");
    let missing = db.store.wake_source(999, now).await.unwrap_err();
    assert!(matches!(missing, StoreError::NotFound { .. }));
    let disabled = db.store.source(ids[1]).await.unwrap();
    let edit = edit_of(&disabled, |edit| {
        edit.health = edit.health.disabled_by_hand(None);
        edit.next_poll_at = None;
    });
    db.store.edit_source(&edit, now).await.unwrap();
    db.store.wake_source(ids[1], now).await.unwrap();
    assert_eq!(db.store.source(ids[1]).await.unwrap().next_poll_at, None, "only a person enables it");
}

async fn hosts_that_are_not_quick_take_a_share_of_a_claim(db: Database) {
    // Those that will be quick are the last to be due.
    let source = |n: u64| NewSource {
        next_poll_at: Some(start() - minutes(8 - n)),
        ..feed(&format!("h{n}.example"), "1")
    };
    add(&db, &(0..8).map(source).collect::<Vec<_>>()).await;
    let claims = db.store.claim(&request(start())).await.unwrap();
    assert!(claims.iter().all(|claim| !claim.quick), "nobody has answered yet");
    // Two hosts answer quickly; what was known of the others stays.
    let release = |claim: &Claim| {
        let quick = ["h6.example", "h7.example"].contains(&claim.host.as_str()).then_some(true);
        Release { quick, ..Release::of(claim.lease) }
    };
    db.store.release(&claims.iter().map(release).collect::<Vec<_>>()).await.unwrap();
    let few = ClaimRequest { hosts: 4, slow_hosts: 3, ..request(start()) };
    let names = |claims: Vec<Claim>| {
        let mut names: Vec<(String, bool)> =
            claims.into_iter().map(|claim| (claim.host, claim.quick)).collect();
        names.sort();
        names
    };
    let claimed = names(db.store.claim(&few).await.unwrap());
    assert_eq!((claimed.len(), claimed.iter().filter(|(_, quick)| *quick).count()), (4, 1), "{claimed:?}");
    let none_slow = ClaimRequest { hosts: 4, slow_hosts: 0, ..request(start()) };
    let claimed = names(db.store.claim(&none_slow).await.unwrap());
    assert_eq!((claimed.len(), claimed[0].1), (1, true), "{claimed:?}");
    assert_eq!(db.store.claim(&request(start())).await.unwrap().len(), 3, "the others are still due");
}

async fn a_probe_is_of_a_source_that_worked(db: Database) {
    let mut dead = feed("dead.example", "1");
    dead.next_poll_at = Some(start() - minutes(50));
    let mut unpolled = feed("worked.example", "unpolled");
    unpolled.next_poll_at = Some(start() - minutes(40));
    let ids =
        add(&db, &[dead, unpolled, feed("worked.example", "worked"), feed("lately.example", "1")]).await;
    let probe =
        |now| ClaimRequest { hosts: 1, slow_hosts: 1, per_host: 1, scope: ClaimScope::Probe, ..request(now) };
    assert!(db.store.claim(&probe(start())).await.unwrap().is_empty(), "nobody has ever worked");
    for (id, minute) in [(ids[2], 0), (ids[3], 1)] {
        let at = start() + minutes(minute);
        let claim = db.store.claim_source(id, &request(at)).await.unwrap().unwrap();
        let mut commit = quiet(&claim, 0, at);
        commit.next_poll_at = Some(at);
        let served = Some(gleaner_core::pacing::Success { at, source: id });
        let release = Release { served, quick: Some(true), ..Release::of(claim.lease) };
        db.store.commit(&[commit], &[release]).await.unwrap();
    }
    let mut probed = Vec::new();
    while let Some(claim) = db.store.claim(&probe(start() + minutes(2))).await.unwrap().pop() {
        probed.push(claim.sources[0].id);
    }
    assert_eq!(probed, [ids[3], ids[2]], "the latest success first, and never one that did not work");
    let later = db.store.claim(&probe(start() + minutes(11))).await.unwrap();
    assert_eq!(
        later[0].host, "lately.example",
        "its lease has run out; the dead one is due for an hour by now"
    );
}

async fn a_claim_counts_the_sources_of_a_host(db: Database) {
    let mut sources = vec![feed("one.example", "1"), feed("two.example", "1"), feed("two.example", "2")];
    sources.extend((0..5).map(|n| feed("many.example", &n.to_string())));
    let ids = add(&db, &sources).await;
    let read = db.store.source(ids[7]).await.unwrap();
    let edit = SourceEdit { next_poll_at: None, ..SourceEdit::of(&read) };
    db.store.edit_source(&edit, start()).await.unwrap();
    let claims = db.store.claim(&request(start())).await.unwrap();
    let mut counts: Vec<(String, u32)> =
        claims.into_iter().map(|claim| (claim.host, claim.host_sources)).collect();
    counts.sort();
    let expected = [("many.example", 3), ("one.example", 1), ("two.example", 2)];
    assert_eq!(counts, expected.map(|(host, count)| (host.to_owned(), count)));
}
