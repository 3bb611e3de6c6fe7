//! A source's page, and what is done to it there.

use std::time::{Duration, Instant};

use gleaner_core::time::Span;

use super::{Person, on_both};
use crate::support::Database;
use crate::support::http::Reply;

on_both!(
    a_source_tells_why_and_draws_its_polls,
    two_thousand_polls_are_drawn_quickly_and_thinned_out,
    what_is_done_to_a_source_is_told,
    a_source_that_is_to_be_left_alone_is_polled_only_by_force,
    a_redirect_under_observation_is_told,
    a_suspect_is_marked_counted_and_told,
    failing_pages_are_listed_and_retried_with_one_button,
    a_proposal_is_used_with_one_button,
    nobody_comes_in_without_a_session_or_a_token,
    what_others_write_stays_text,
);

async fn a_source_tells_why_and_draws_its_polls(db: Database) {
    let mut me = Person::new(db).await;
    let id = me.add("/feed").await;
    let path = format!("/sources/{id}");
    let new = me.get(&path).await;
    new.is(200);
    new.shows(&["Not polled yet.", "No poll in this time", "never", "None yet."]);
    me.told(&format!("{path}/poll"), &[]).await.shows(&["Polled: 1 new post."]);
    me.api.clock.advance(Span::from_mins(30));
    for _ in 0..3 {
        me.told(&format!("{path}/poll"), &[]).await.shows(&["Polled: not modified."]);
        me.api.clock.advance(Span::from_hours(1));
    }
    me.world.on("/feed", Reply::status(404));
    me.told(&format!("{path}/poll"), &[]).await.shows(&["Polled; it failed: 404 Not Found."]);
    let page = me.get(&path).await;
    page.shows(&[
        "Failing: 404 Not Found.",
        "5 polls, 1 failed, 1 new post",
        "class=\"mark new\"",
        "class=\"mark unchanged\"",
        "class=\"mark permanent\"",
        "class=\"mark posts\"",
        "and 2 more within 2 h: not modified",
        "not modified, 3 times",
        "/posts/1\">One</a>",
        "rel=\"noreferrer noopener\"",
    ]);
    for (days, tick) in [(1, ":00</text>"), (7, "Nov</text>"), (30, "Nov</text>")] {
        let zoomed = me.get(&format!("{path}?days={days}")).await;
        zoomed.shows(&[tick, &format!("?days={days}\" aria-current=\"true\"")]);
    }
    assert_eq!(me.get("/sources/999").await.status, 404);
    assert_eq!(me.get("/sources/nothing").await.status, 404);
}

async fn failing_pages_are_listed_and_retried_with_one_button(db: Database) {
    let mut me = Person::new(db).await;
    let links = "<article><h2><a href=/p1>Story 1</a></h2></article><article><h2><a href=/p2>Story 2</a></h2></article>";
    me.world.on("/index", Reply::ok(links).header("Content-Type", "text/html"));
    me.world.on("/p1", Reply::status(403));
    me.world.on("/p2", Reply::status(410));
    let new = serde_json::json!({
        "url": me.world.url("/index").as_str(), "kind": "watchlist", "article_selector": "h2 a",
    });
    let id = me.api.post("/sources", new).await.is(201)["id"].as_i64().unwrap();
    let path = format!("/sources/{id}");
    me.get(&path).await.lacks(&["Article pages"]);
    me.told(&format!("{path}/poll"), &[]).await.shows(&["Polled: 2 article pages: 2 waiting."]);
    me.get(&path).await.shows(&["Article pages", "2 waiting, 0 failed and tried again, 0 given up"]);
    let mut engine = me.api.service.engine("test").unwrap();
    for _ in 0..5 {
        me.api.clock.advance(Span::from_days(4));
        engine.run_due(gleaner::clock::Clock::now(&*me.api.clock)).await.unwrap();
    }
    let page = me.get(&path).await;
    page.shows(&[
        "0 waiting, 0 failed and tried again, 2 given up",
        "403 Forbidden",
        "410 Gone",
        "Retry given-up pages",
    ]);
    let act = format!("{path}/act");
    me.told(&act, &[("action", "retry_pages")])
        .await
        .shows(&["2 pages are fetched again.", "2 waiting, 0 failed"]);
    me.get(&path).await.lacks(&["Retry given-up pages"]);
    me.api.db.store.number_events(1000).await.unwrap();
    me.get("/").await.shows(&["lost a page"]);
}

async fn two_thousand_polls_are_drawn_quickly_and_thinned_out(db: Database) {
    let me = Person::new(db).await;
    let id = me.add("/feed").await;
    let now = gleaner::clock::Clock::now(&*me.api.clock).as_millis();
    let rows: Vec<String> = (0..2100_i64)
        .map(|n| {
            let at = now - (2100 - n) * 1_200_000;
            let (outcome, error) =
                if n % 10 == 0 { ("failed", "'upstream_failure'") } else { ("fetched", "NULL") };
            format!("({id}, {at}, {at}, 1, '{outcome}', {error}, {error}, 200, 90, 10, 1, 0)")
        })
        .collect();
    let into = "INSERT INTO polls (source_id, first_at, last_at, count, outcome, error_type, error, status_code, \
        duration_ms, bytes, new_posts, updated_posts) VALUES";
    me.api.db.behind_its_back(&format!("{into} {}", rows.join(", "))).await;
    let begun = Instant::now();
    let page = me.get(&format!("/sources/{id}?days=30")).await;
    let took = begun.elapsed();
    page.shows(&[
        "Only the latest 2,000 rows are drawn.",
        "2,000 rows are drawn as",
        "shares one",
        "polls here",
    ]);
    let marks = page.text.matches("data-tip=").count();
    assert!((100..=400).contains(&marks), "{marks} marks");
    assert!(page.text.len() < 400_000, "{} bytes", page.text.len());
    assert!(took < Duration::from_secs(5), "{took:?}");
    let week = me.get(&format!("/sources/{id}?days=7")).await;
    week.lacks(&["Only the latest"]);
}

async fn what_is_done_to_a_source_is_told(db: Database) {
    let mut me = Person::new(db).await;
    let id = me.add("/feed").await;
    let act = format!("/sources/{id}/act");
    me.told(&act, &[("action", "disable")]).await.shows(&["Disabled; it is not polled", "Disabled by hand."]);
    me.told(&format!("/sources/{id}/poll"), &[]).await.shows(&["is disabled"]);
    me.told(&act, &[("action", "enable")]).await.shows(&["Enabled; it is polled at once."]);
    me.told(&act, &[("action", "set_aside"), ("reason", " ")]).await.shows(&["A reason has 1 to 500"]);
    me.told(&act, &[("action", "set_aside"), ("reason", "on holiday")]).await.shows(&[
        "Set aside by hand since",
        "on holiday",
        "Lift: poll it again",
    ]);
    me.told(&act, &[("action", "lift")]).await.shows(&["Lifted; it is polled at once."]);
    assert_eq!(me.send(&act, &[("action", "bake")]).await.status, 404);
    let gone = me.told(&act, &[("action", "delete")]).await;
    assert_eq!(gone.location.as_deref(), Some("/sources"));
    assert_eq!(me.get(&format!("/sources/{id}")).await.status, 404);
}

async fn a_source_that_is_to_be_left_alone_is_polled_only_by_force(db: Database) {
    let mut me = Person::new(db).await;
    let id = me.add("/feed").await;
    me.world.on("/feed", Reply::status(503).header("Retry-After", "7200"));
    let poll = format!("/sources/{id}/poll");
    me.told(&poll, &[]).await.shows(&[
        "Polled; it failed: 503",
        "asked to be left alone",
        "Poll all the same",
    ]);
    me.told(&poll, &[]).await.lacks(&["Polled; it failed"]);
    assert_eq!(me.world.requests().len(), 1);
    me.told(&poll, &[("force", "true")]).await.shows(&["Polled; it failed"]);
    assert_eq!(me.world.requests().len(), 2);
}

async fn a_redirect_under_observation_is_told(db: Database) {
    let mut me = Person::new(db).await;
    me.world.on("/old", Reply::redirect(301, "/feed"));
    let id = me.add("/old").await;
    let page = me.told(&format!("/sources/{id}/poll"), &[]).await;
    page.shows(&[&format!("It leads to {} for good", me.world.url("/feed")), "seen in 1 poll"]);
}

async fn a_suspect_is_marked_counted_and_told(db: Database) {
    let mut me = Person::new(db).await;
    let id = me.add("/feed").await;
    let path = format!("/sources/{id}");
    me.told(&format!("{path}/poll"), &[]).await.shows(&["Polled: 1 new post."]);
    for page in ["/", "/sources", &path] {
        me.get(page).await.lacks(&["tag suspect"]);
    }
    me.world.on("/feed", Reply::ok("<title>Log in to continue <b></title><form>Name <input></form>"));
    me.told(&format!("{path}/poll"), &[]).await.shows(&["Polled; it failed"]);
    me.get(&path).await.shows(&[
        "tag suspect",
        "login wall: the page&#39;s title says &#34;log in to continue&#34;",
        "Its server asks to log in: give it a credential",
    ]);
    for list in ["/sources", "/sources?suspect=yes", "/sources?suspect=yes&sort=address"] {
        me.get(list).await.shows(&[">login wall</span>"]);
    }
    me.get("/sources?suspect=yes&status=healthy").await.lacks(&[">login wall</span>"]);
    // What is counted may be a moment old.
    while !me.get("/").await.text.contains("<a href=\"/sources?suspect=yes\">") {}
    me.api.db.store.number_events(100).await.unwrap();
    me.get("/").await.shows(&["seems to be wrong", "answer, and seem to be wrong"]);
    me.get("/sources").await.shows(&["/sources?suspect=yes"]);
}

async fn a_proposal_is_used_with_one_button(db: Database) {
    let mut me = Person::new(db).await;
    let id = me.add("/feed").await;
    let path = format!("/sources/{id}");
    me.told(&format!("{path}/poll"), &[]).await.shows(&["Polled: 1 new post."]);
    let link =
        "<link rel=alternate type=application/rss+xml href='/new?a=\"><b>' title='<script>x</script> News'>";
    me.world.on("/feed", Reply::ok(format!("<html>{link}")));
    for _ in 0..3 {
        me.told(&format!("{path}/poll"), &[]).await.shows(&["it failed"]);
        me.api.clock.advance(Span::from_hours(20));
    }
    let page = me.get(&path).await;
    page.shows(&["Its site now advertises", "value=\"use\">Use"]);
    page.lacks(&["<script>x", "\"><b>"]);
    let url = page.hidden("url");
    assert!(url.ends_with("/new?a=%22%3E%3Cb%3E"), "{url}");
    let act = format!("{path}/act");
    me.told(&act, &[("action", "use"), ("url", "https://evil.example/")]).await.shows(&["look again"]);
    me.told(&act, &[("action", "use"), ("url", &url)]).await.shows(&["Its address was changed"]);
    let page = me.get(&path).await;
    page.shows(&["/new?a=", "/posts/1\">One</a>"]);
    page.lacks(&["Its site now advertises"]);
}

async fn nobody_comes_in_without_a_session_or_a_token(db: Database) {
    let me = Person::new(db).await;
    let id = me.add("/feed").await;
    for path in [format!("/sources/{id}"), format!("/sources/{id}/edit"), "/add".to_owned()] {
        let stranger = super::seen(me.client.get(me.at(&path))).await;
        assert_eq!(stranger.status, 303);
        assert!(stranger.location.unwrap().starts_with("/login?next="), "{path}");
    }
    let edit = format!("/sources/{id}/edit");
    let changing = [
        format!("/sources/{id}/poll"),
        format!("/sources/{id}/act"),
        edit.clone(),
        format!("{edit}/check"),
        format!("{edit}/preview"),
        "/add".to_owned(),
        "/add/save".to_owned(),
    ];
    for path in changing {
        let forged = me.send_as_it_is(&path, &[("action", "delete"), ("form_token", "guessed")]).await;
        assert_eq!(forged.status, 403, "{path}");
    }
    assert!(me.world.requests().is_empty());
    me.get(&format!("/sources/{id}")).await.is(200);
}

async fn what_others_write_stays_text(db: Database) {
    let mut me = Person::new(db).await;
    let bad = "&lt;script&gt;alert(1)&lt;/script&gt;\" onmouseover=\"x";
    me.world.on(
        "/bad",
        Reply::ok(format!(
            "<rss version='2.0'><channel><title>{bad}</title><item><guid>1</guid><title>{bad}</title>\
             <link>javascript:alert(1)</link><description>{bad}</description></item></channel></rss>"
        )),
    );
    let id = me.add("/bad").await;
    let by = me.api.by();
    let name = Some(Some("<b onclick=x>\"'".to_owned()));
    let fields = gleaner::service::SourceFields { name, ..Default::default() };
    by.change_source(id, None, &fields, Default::default()).await.unwrap();
    by.set_aside(id, "<img src=x onerror=alert(1)>").await.unwrap();
    let page = me.told(&format!("/sources/{id}/poll"), &[]).await;
    let found = me.send("/add", &[("url", me.world.url("/bad").as_str())]).await;
    found.shows(&["It is a feed"]);
    for page in [page, me.get(&format!("/sources/{id}/edit")).await, found] {
        page.lacks(&["<script>alert", "\" onmouseover", "<b onclick", "<img src=x", "href=\"javascript:"]);
    }
}
