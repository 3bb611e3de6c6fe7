//! A source's form: checked, tried, saved, and not over somebody else's words.

use gleaner::service::{SourceFields, SourceSettings};
use gleaner_core::source::Kind;

use super::{Person, Seen, on_both};
use crate::support::http::Reply;
use crate::support::{Database, new_feed, new_source};

on_both!(
    a_form_is_checked_while_nothing_is_stored,
    a_form_changes_what_was_changed,
    two_editors_do_not_overwrite_each_other,
    credentials_are_set_and_never_shown,
    a_selector_is_tried_against_the_page,
    what_a_website_would_say_is_shown,
    a_preview_heeds_robots_and_sends_credentials,
);

/// The fields of a form as it is, but for these.
fn filled(form: &Seen, changes: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
    let was = form.hidden("was");
    let values: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&was).unwrap();
    let names = [
        "url",
        "kind",
        "name",
        "collection_id",
        "poll_interval_minutes",
        "poll_delay_seconds",
        "article_selector",
        "ignore_selector",
        "policy",
        "duplicates",
        "full_content",
        "backfill",
        "ignore_robots",
        "enabled",
    ];
    let value = |name: &str| values[name].as_str().unwrap().to_owned();
    let mut fields: Vec<(&'static str, String)> = names.into_iter().map(|name| (name, value(name))).collect();
    fields.retain(|(name, value)| {
        let is_flag = matches!(*name, "full_content" | "ignore_robots" | "enabled");
        !(is_flag && value.is_empty() || changes.iter().any(|(changed, _)| changed == name))
    });
    fields.extend(changes.iter().map(|(name, value)| (*name, (*value).to_owned())));
    fields.extend([("version", form.hidden("version")), ("was", was)]);
    fields
}

async fn send(me: &Person, path: &str, fields: &[(&'static str, String)]) -> Seen {
    let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    me.send(path, &fields).await
}

async fn a_form_is_checked_while_nothing_is_stored(db: Database) {
    let me = Person::new(db).await;
    let id = me.add("/feed").await;
    let edit = format!("/sources/{id}/edit");
    let form = me.get(&edit).await;
    form.shows(&["Edit ", "as configured: standard"]);
    let changes = [
        ("url", "gopher://a.example/"),
        ("poll_interval_minutes", "often"),
        ("article_selector", "a["),
        ("credential", "header"),
        ("credential_name", "Host"),
    ];
    let wrong = send(&me, &format!("{edit}/check"), &filled(&form, &changes)).await;
    wrong.is(200);
    let wrongs = [
        "only http and https",
        "whole number of minutes",
        "is not a valid CSS selector",
        "is set by gleaner itself",
    ];
    wrong.shows(&wrongs);
    wrong.shows(&[
        "id=\"wrong-name\" class=\"field-wrong\" hx-swap-oob=\"true\" aria-live=\"polite\"></span>",
    ]);
    let refused = send(&me, &edit, &filled(&form, &changes)).await;
    refused.is(422);
    refused.shows(&wrongs);
    refused.shows(&["value=\"gopher://a.example/\"", "aria-invalid", "It was not saved"]);
    assert_eq!(me.api.by().source(id).await.unwrap().version, 1);
}

async fn a_form_changes_what_was_changed(db: Database) {
    let me = Person::new(db).await;
    let id = me.add("/feed").await;
    let edit = format!("/sources/{id}/edit");
    let other = me.api.by().create_collection("other").await.unwrap().id;
    let form = me.get(&edit).await;
    let collection = other.to_string();
    let changes = [
        ("name", " A letter "),
        ("collection_id", collection.as_str()),
        ("poll_interval_minutes", "auto"),
        ("poll_delay_seconds", "5"),
        ("policy", "backoff"),
        ("full_content", "true"),
    ];
    let saved = send(&me, &edit, &filled(&form, &changes)).await;
    assert_eq!((saved.status, saved.location), (303, Some(format!("/sources/{id}"))));
    let settings = me.api.by().source(id).await.unwrap().settings;
    assert_eq!((settings.name.as_deref(), settings.collection_id), (Some("A letter"), other));
    assert_eq!(settings.interval, gleaner_core::source::Interval::Auto);
    assert_eq!((settings.policy.as_deref(), settings.full_content), (Some("backoff"), true));
    me.get(&format!("/sources/{id}")).await.shows(&["A letter", "by its own habit", "backoff"]);
    // Another source of that collection has this URL already.
    let same = SourceSettings { collection_id: other, ..new_feed(me.world.url("/other")) };
    let same = me.api.by().add(&same).await.unwrap().id;
    let form = me.get(&format!("/sources/{same}/edit")).await;
    let url = me.world.url("/feed").to_string();
    let taken = send(&me, &format!("/sources/{same}/edit"), &filled(&form, &[("url", &url)])).await;
    taken.is(409);
    taken.shows(&["Its collection has that URL already"]);
}

async fn two_editors_do_not_overwrite_each_other(db: Database) {
    let me = Person::new(db).await;
    let id = me.add("/feed").await;
    let edit = format!("/sources/{id}/edit");
    let form = me.get(&edit).await;
    let theirs = SourceFields {
        name: Some(Some("Theirs".to_owned())),
        policy: Some(Some("backoff".to_owned())),
        ..SourceFields::default()
    };
    me.api.by().change_source(id, None, &theirs, Default::default()).await.unwrap();
    let late = send(&me, &edit, &filled(&form, &[("name", "Mine"), ("poll_delay_seconds", "7")])).await;
    late.is(409);
    late.shows(&["Somebody else changed this source meanwhile", "Theirs", ">yours<", ">theirs<"]);
    late.shows(&["name=\"name\" maxlength=\"1000\" value=\"Mine\"", "value=\"backoff\" selected"]);
    assert_eq!(me.api.by().source(id).await.unwrap().settings.name.as_deref(), Some("Theirs"));
    let again = filled(&late, &[("name", "Mine"), ("poll_delay_seconds", "7"), ("policy", "backoff")]);
    assert_eq!(send(&me, &edit, &again).await.status, 303);
    let settings = me.api.by().source(id).await.unwrap().settings;
    assert_eq!((settings.name.as_deref(), settings.policy.as_deref()), (Some("Mine"), Some("backoff")));
}

async fn credentials_are_set_and_never_shown(db: Database) {
    let me = Person::new(db).await;
    let id = me.add("/feed").await;
    let edit = format!("/sources/{id}/edit");
    let basic = [("credential", "basic"), ("credential_user", "ada"), ("credential_password", "hush-hush")];
    let form = me.get(&edit).await;
    assert_eq!(send(&me, &edit, &filled(&form, &basic)).await.status, 303);
    let form = me.get(&edit).await;
    form.shows(&["it is set, and never shown", "remove it"]);
    form.lacks(&["hush-hush", "value=\"ada\""]);
    me.get(&format!("/sources/{id}")).await.shows(&["set, and never shown"]);
    // What is wrong beside them does not bring them back, either.
    let wrong = [basic.as_slice(), &[("poll_interval_minutes", "x")]].concat();
    send(&me, &edit, &filled(&form, &wrong)).await.lacks(&["hush-hush"]);
    assert_eq!(send(&me, &edit, &filled(&form, &[("name", "kept")])).await.status, 303);
    assert!(me.api.by().source(id).await.unwrap().settings.secret.is_some());
    let form = me.get(&edit).await;
    assert_eq!(send(&me, &edit, &filled(&form, &[("credential", "none")])).await.status, 303);
    assert!(me.api.by().source(id).await.unwrap().settings.secret.is_none());
}

async fn a_selector_is_tried_against_the_page(db: Database) {
    let me = Person::new(db).await;
    let page = "<title>Index</title><main><h2><a href='/a/1'>The first article of all</a></h2>\
        <h2><a href='/a/2'>The second article of all</a></h2></main><p><a href='/imprint'>Imprint</a></p>";
    me.world.on("/index", Reply::ok(page).header("content-type", "text/html"));
    let new = new_source(Kind::Watchlist, me.world.url("/index"));
    let id = me.api.by().add(&new).await.unwrap().id;
    let (edit, preview) = (format!("/sources/{id}/edit"), format!("/sources/{id}/edit/preview"));
    let form = me.get(&edit).await;
    let found = send(&me, &preview, &filled(&form, &[("article_selector", "main h2 a")])).await;
    found.is(200);
    found.shows(&["2 links would be followed", "The first article of all", "value=\"main h2 a\""]);
    let other = send(&me, &preview, &filled(&form, &[("article_selector", "p a")])).await;
    other.shows(&["1 link would be followed", "Imprint"]);
    let none = send(&me, &preview, &filled(&form, &[("article_selector", "h6 a")])).await;
    none.shows(&["The article_selector finds no links"]);
    let asked = me.world.requests().len();
    let wrong = send(&me, &preview, &filled(&form, &[("article_selector", "a[")])).await;
    wrong.shows(&["is not a valid CSS selector"]);
    assert_eq!(me.world.requests().len(), asked, "what is wrong is not asked for");
    let source = me.api.by().source(id).await.unwrap();
    assert_eq!((source.settings.article_selector, source.version), (None, 1));
}

async fn what_a_website_would_say_is_shown(db: Database) {
    let me = Person::new(db).await;
    let page = "<title>Hours</title><article><p>Open from nine.</p><p class=count>12345 visits</p></article>";
    me.world.on("/page", Reply::ok(page).header("content-type", "text/html"));
    let id = me.api.by().add(&new_source(Kind::Website, me.world.url("/page"))).await.unwrap().id;
    let preview = format!("/sources/{id}/edit/preview");
    let form = me.get(&format!("/sources/{id}/edit")).await;
    send(&me, &preview, &filled(&form, &[])).await.shows(&["Open from nine.", "12345 visits"]);
    let less = send(&me, &preview, &filled(&form, &[("ignore_selector", ".count")])).await;
    less.shows(&["Open from nine.", "The ignore_selector removes 13 of 28 characters."]);
    less.lacks(&["12345 visits"]);
}

async fn a_preview_heeds_robots_and_sends_credentials(db: Database) {
    let me = Person::new(db).await;
    me.world.on("/robots.txt", Reply::ok("User-agent: *\nDisallow: /page"));
    me.world.on("/page", Reply::ok("<article>text</article>").header("content-type", "text/html"));
    let id = me.api.by().add(&new_source(Kind::Website, me.world.url("/page"))).await.unwrap().id;
    let (edit, preview) = (format!("/sources/{id}/edit"), format!("/sources/{id}/edit/preview"));
    let form = me.get(&edit).await;
    send(&me, &preview, &filled(&form, &[])).await.shows(&["robots.txt"]);
    assert!(me.world.requests().iter().all(|request| request.path == "/robots.txt"));
    let header = [
        ("credential", "header"),
        ("credential_name", "X-Key"),
        ("credential_value", "k"),
        ("ignore_robots", "true"),
    ];
    send(&me, &preview, &filled(&form, &header)).await.shows(&["<blockquote tabindex=\"0\">text"]);
    let asked = me.world.requests();
    assert_eq!(asked.last().unwrap().header("x-key").as_deref(), Some("k"));
}
