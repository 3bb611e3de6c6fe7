//! The lists of sources and of hosts, over real HTTP, as a browser without script uses them.

use std::time::Instant;

use gleaner::service::{BULK, SourceFilter, SourceSettings};
use gleaner::store::SourceEdit;
use gleaner_core::health::{Failing, Health, Status};
use gleaner_core::outcome::{ErrorKind, Failure};
use gleaner_core::source::{Interval, Kind};
use gleaner_core::time::Span;

use super::on_both;
use crate::api::client::Api;
use crate::support::{Database, feed, new_feed, new_source, start};

on_both!(
    nobody_is_let_in_without_a_session,
    an_empty_list_says_what_to_do,
    a_list_shows_what_is_and_why,
    a_list_is_filtered_and_sorted_by_its_address,
    a_list_is_turned_page_by_page_and_back,
    many_are_disabled_and_that_is_taken_back_as_it_was,
    many_are_moved_and_moved_back_each_to_where_it_was,
    a_field_of_many_is_set_and_set_back,
    what_fails_is_named_with_why,
    deleting_asks_first_and_says_what_is_lost,
    all_that_match_are_acted_on_a_thousand_at_a_time,
    a_form_without_a_token_changes_nothing,
    what_somebody_named_a_source_is_only_text,
    hosts_are_found_and_sorted,
    the_overview_names_the_sources_of_posts,
);

/// Somebody who is logged in.
struct Visitor {
    api: Api,
    client: reqwest::Client,
    cookie: String,
}

#[derive(Debug)]
struct Seen {
    status: u16,
    location: Option<String>,
    html: String,
}

impl Seen {
    #[track_caller]
    fn has(&self, text: &str) -> &Self {
        assert!(self.html.contains(text), "{text:?} is not in:\n{}", self.html);
        self
    }

    #[track_caller]
    fn lacks(&self, text: &str) -> &Self {
        assert!(!self.html.contains(text), "{text:?} is in:\n{}", self.html);
        self
    }

    /// The values of hidden and other fields of that name.
    fn fields(&self, name: &str) -> Vec<String> {
        let mark = format!("name=\"{name}\" value=\"");
        let parts = self.html.split(&mark).skip(1);
        parts.map(|part| part.split('"').next().unwrap_or_default().to_owned()).collect()
    }

    /// The ids of the rows, in their order.
    fn ids(&self) -> Vec<i64> {
        self.fields("id").iter().map(|id| id.parse().unwrap()).collect()
    }

    /// Where a link leads.
    fn link(&self, rel: &str) -> Option<String> {
        let end = self.html.find(&format!("\" rel=\"{rel}\""))?;
        let begin = self.html[..end].rfind("href=\"")? + 6;
        Some(self.html[begin..end].replace("&#38;", "&").replace("&amp;", "&"))
    }
}

impl Visitor {
    async fn new(db: Database) -> Self {
        let api = Api::new(db).await;
        #[expect(clippy::disallowed_methods, reason = "a browser, not a poller")]
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .unwrap();
        let code = api.service.login_code("admin").await.unwrap();
        let body = format!("code={}", code.secret.expose());
        let login = client.post(format!("{}/login", api.base)).header("content-type", FORM).body(body);
        let login = login.send().await.unwrap();
        let cookie = login.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
        Self { api, client, cookie }
    }

    async fn get(&self, path: &str) -> Seen {
        seen(self.client.get(format!("{}{path}", self.api.base)).header("cookie", &self.cookie)).await
    }

    /// Sends a form with its token.
    async fn send(&self, path: &str, fields: &[(&str, &str)]) -> Seen {
        let page = self.get("/sources").await;
        let token = page.fields("form_token").pop().unwrap();
        let fields: Vec<(&str, &str)> =
            fields.iter().copied().chain([("form_token", token.as_str())]).collect();
        self.send_as(path, &fields, &self.cookie).await
    }

    async fn send_as(&self, path: &str, fields: &[(&str, &str)], cookie: &str) -> Seen {
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let request = self.client.post(format!("{}{path}", self.api.base)).header("content-type", FORM);
        seen(request.header("cookie", cookie).body(body)).await
    }

    async fn status(&self, id: i64) -> Status {
        self.api.db.store.source(id).await.unwrap().health.status()
    }

    async fn add(&self, paths: &[&str]) -> Vec<i64> {
        let new: Vec<_> = paths.iter().map(|path| feed("a.example", path)).collect();
        let made = self.api.db.store.create_sources(&new, start()).await.unwrap();
        made.into_iter().map(|created| created.id()).collect()
    }

    /// Writes failures into a source's state, as so many polls would have.
    async fn fail(&self, id: i64, times: u32, message: &str) {
        let source = self.api.db.store.source(id).await.unwrap();
        let since = start() - Span::from_days(2);
        let message = message.into();
        let failure = Failure { kind: ErrorKind::NotFound, status: Some(404), message, retry_after: None };
        let failing = Failing::repeated(&failure, times, since);
        let health = Health { failing: Some(failing), ..source.health.clone() };
        let edit = SourceEdit { health, ..SourceEdit::of(&source) };
        self.api.db.store.edit_source(&edit, start()).await.unwrap();
    }
}

const FORM: &str = "application/x-www-form-urlencoded";

async fn seen(request: reqwest::RequestBuilder) -> Seen {
    let response = request.send().await.unwrap();
    let location = response.headers().get("location").map(|value| value.to_str().unwrap().to_owned());
    Seen { status: response.status().as_u16(), location, html: response.text().await.unwrap() }
}

async fn nobody_is_let_in_without_a_session(db: Database) {
    let visitor = Visitor::new(db).await;
    for path in ["/sources?status=failing", "/hosts", "/sources/bulk"] {
        let seen = seen(visitor.client.get(format!("{}{path}", visitor.api.base))).await;
        let login = seen.location.unwrap_or_default();
        assert!(
            seen.status == 303 && login.starts_with("/login?next=%2F"),
            "{path}: {} {login}",
            seen.status
        );
    }
    let posted = visitor.send_as("/sources/bulk", &[("action", "poll"), ("id", "1")], "").await;
    assert_eq!((posted.status, posted.location.as_deref()), (303, Some("/login")));
}

async fn an_empty_list_says_what_to_do(db: Database) {
    let visitor = Visitor::new(db).await;
    visitor.get("/sources").await.has("No sources yet").has("href=\"/add\"").has("href=\"/import\"");
    visitor.get("/hosts").await.has("hosts come with their sources");
    visitor.add(&["feed"]).await;
    let page = visitor.get("/sources?q=elsewhere").await;
    page.has("No source matches all of this").has("value=\"elsewhere\"");
    visitor.get("/hosts?q=elsewhere").await.has("No host here has “elsewhere” in its name");
}

async fn a_list_shows_what_is_and_why(db: Database) {
    let visitor = Visitor::new(db).await;
    let ids = visitor.add(&["well", "ill"]).await;
    visitor.fail(ids[1], 4, "404 Not Found").await;
    let page = visitor.get("/sources").await;
    page.has("2 sources")
        .has("a.example/well")
        .has("404 Not Found")
        .has("×4")
        .has("class=\"status failing\"");
    page.has(&format!("href=\"/sources/{}\"", ids[0])).has("data-label=\"Next poll\"");
    assert_eq!(page.ids(), [ids[1], ids[0]], "the newest first");
    page.lacks("not only this page");
}

async fn a_list_is_filtered_and_sorted_by_its_address(db: Database) {
    let visitor = Visitor::new(db).await;
    let by = visitor.api.by();
    let b = by.add(&new_feed("https://b.example/")).await.unwrap().id;
    let a = by.add(&new_source(Kind::Website, "https://a.example/")).await.unwrap().id;
    let c = by.add(&SourceSettings { name: Some("Über uns".into()), ..new_feed("https://c.example/") }).await;
    let c = c.unwrap().id;
    visitor.fail(b, 2, "gone").await;
    visitor.api.by().set_enabled(a, false).await.unwrap();
    for (query, expected) in [
        ("", vec![c, a, b]),
        ("sort=added", vec![b, a, c]),
        ("sort=address", vec![a, b, c]),
        ("sort=-address", vec![c, b, a]),
        ("sort=-failures", vec![b, c, a]),
        ("sort=next_poll", vec![b, c, a]),
        ("status=failing", vec![b]),
        ("status=disabled&kind=website", vec![a]),
        ("kind=feed&sort=address", vec![b, c]),
        ("host=c.example", vec![c]),
        ("q=uns", vec![c]),
        ("collection=1&status=&kind=&q=+&sort=added", vec![b, a, c]),
        ("collection=77", vec![]),
        ("waits=person", vec![]),
        ("error=not_found&policy=standard&sort=address", vec![b]),
        ("error=network", vec![]),
        ("policy=standard", vec![c, a, b]),
        ("policy=nobody&sort=next_poll", vec![]),
        ("sort=nonsense&unknown=1&after=nonsense", vec![c, a, b]),
    ] {
        let page = visitor.get(&format!("/sources?{query}")).await;
        assert_eq!((page.status, page.ids()), (200, expected), "{query}");
    }
    let page = visitor.get("/sources?status=failing&q=b.ex&sort=address").await;
    page.has("<option value=\"failing\" selected>").has("<option value=\"address\" selected>");
    for query in ["status=ill", "kind=book", "collection=default", "error=odd"] {
        assert_eq!(visitor.get(&format!("/sources?{query}")).await.status, 422, "{query}");
    }
}

async fn a_list_is_turned_page_by_page_and_back(db: Database) {
    let visitor = Visitor::new(db).await;
    let paths: Vec<String> = (0..120).map(|n| format!("{}?a=b&c={n}", n * 7 % 13)).collect();
    let ids = visitor.add(&paths.iter().map(String::as_str).collect::<Vec<_>>()).await;
    for sort in ["added", "address", "next_poll", "-last_success"] {
        let path = format!("/sources?host=a.example&sort={sort}");
        let first = visitor.get(&path).await;
        let second = visitor.get(&first.link("next").unwrap()).await;
        let third = visitor.get(&second.link("next").unwrap()).await;
        assert_eq!((first.ids().len(), second.ids().len(), third.ids().len()), (50, 50, 20), "{sort}");
        assert_eq!((first.link("prev"), third.link("next")), (None, None));
        let mut all: Vec<i64> = [&first, &second, &third].into_iter().flat_map(Seen::ids).collect();
        if sort == "added" {
            assert_eq!(all, ids);
        }
        all.sort_unstable();
        assert_eq!(all, ids, "each once");
        let back = visitor.get(&third.link("prev").unwrap()).await;
        assert_eq!(back.ids(), second.ids());
        let begin = visitor.get(&back.link("prev").unwrap()).await;
        assert_eq!((begin.ids(), begin.link("prev")), (first.ids(), None));
        second.has("« First");
    }
}

async fn many_are_disabled_and_that_is_taken_back_as_it_was(db: Database) {
    let visitor = Visitor::new(db).await;
    let ids = visitor.add(&["a", "b", "c", "d"]).await;
    visitor.fail(ids[0], 2, "404 Not Found").await;
    visitor.api.by().set_enabled(ids[2], false).await.unwrap();
    let chosen: Vec<String> = ids[..3].iter().map(i64::to_string).collect();
    let mut fields = vec![("action", "disable")];
    fields.extend(chosen.iter().map(|id| ("id", id.as_str())));
    let page = visitor.send("/sources/bulk?sort=address", &fields).await;
    assert_eq!(page.status, 200);
    page.has("Disabled 2 sources. 1 was disabled already.").has("<option value=\"address\" selected>");
    assert_eq!(visitor.status(ids[0]).await, Status::Disabled);
    assert_eq!(visitor.status(ids[3]).await, Status::Pending);
    let undo = page.fields("plan").pop().unwrap();
    let page = visitor.send("/sources/bulk", &[("plan", &undo)]).await;
    page.has("Enabled again, as before: 2 sources.");
    assert_eq!(visitor.status(ids[0]).await, Status::Failing, "what was held against it still is");
    assert_eq!(visitor.status(ids[1]).await, Status::Pending);
    assert_eq!(visitor.status(ids[2]).await, Status::Disabled, "it was so before");
    let again = page.fields("plan").pop().unwrap();
    visitor.send("/sources/bulk", &[("plan", &again)]).await.has("Disabled 2 sources.");
    assert_eq!(visitor.status(ids[1]).await, Status::Disabled);
    let reload = visitor.get("/sources/bulk?sort=address").await;
    assert_eq!((reload.status, reload.location.as_deref()), (303, Some("/sources?sort=address")));
}

async fn many_are_moved_and_moved_back_each_to_where_it_was(db: Database) {
    let visitor = Visitor::new(db).await;
    let ids = visitor.add(&["a", "b", "c"]).await;
    let store = &visitor.api.db.store;
    let one = store.create_collection("<b>one</b>", 1, start()).await.unwrap();
    let two = store.create_collection("two", 1, start()).await.unwrap();
    let (first, second) = (ids[0].to_string(), ids[1].to_string());
    let to = |id: i64| id.to_string();
    let page =
        visitor.send("/sources/bulk", &[("action", "move"), ("collection", &to(one)), ("id", &first)]).await;
    page.has("Moved 1 source to &#60;b&#62;one");
    let all: Vec<String> = ids.iter().map(i64::to_string).collect();
    let target = to(two);
    let mut fields = vec![("action", "move"), ("collection", target.as_str())];
    fields.extend(all.iter().map(|id| ("id", id.as_str())));
    let page = visitor.send("/sources/bulk", &fields).await;
    page.has("Moved 3 sources to two.");
    let undo = page.fields("plan").pop().unwrap();
    visitor.send("/sources/bulk", &[("plan", &undo)]).await.has("Moved 3 sources");
    let collection = async |id: i64| store.source(id).await.unwrap().settings.collection_id;
    assert_eq!((collection(ids[0]).await, collection(ids[1]).await), (one, 1));
    let none = visitor.send("/sources/bulk", &[("action", "move"), ("id", &second)]).await;
    assert_eq!(none.status, 422);
    none.has("choose the collection");
}

async fn a_field_of_many_is_set_and_set_back(db: Database) {
    let visitor = Visitor::new(db).await;
    let ids = visitor.add(&["a", "b"]).await;
    let interval = async |id: i64| visitor.api.db.store.source(id).await.unwrap().settings.interval;
    let set = |value: &'static str| {
        let action = [("action", "edit"), ("field", "poll_interval_minutes"), ("value", value), ("all", "1")];
        let visitor = &visitor;
        async move { visitor.send("/sources/bulk", &action).await }
    };
    let first = ids[0].to_string();
    let one = [("action", "edit"), ("field", "poll_interval_minutes"), ("value", "15"), ("id", &first)];
    visitor.send("/sources/bulk", &one).await.has("Changed 1 source.");
    let page = set("auto").await;
    page.has("Changed 2 sources.");
    assert_eq!((interval(ids[0]).await, interval(ids[1]).await), (Interval::Auto, Interval::Auto));
    set("auto").await.has("Changed 0 sources. 2 were set so already.");
    let undo = page.fields("plan").pop().unwrap();
    visitor.send("/sources/bulk", &[("plan", &undo)]).await.has("Changed 2 sources.");
    assert_eq!((interval(ids[0]).await, interval(ids[1]).await), (Interval::Minutes(15), Interval::Default));
    let wrong = set("soon").await;
    assert_eq!(wrong.status, 422);
    wrong.has("must be a whole number of minutes from 1 to 525600");
    // A form is no way around what can be set of many.
    let name = [("action", "edit"), ("field", "name"), ("value", "x"), ("id", first.as_str())];
    assert_eq!(visitor.send("/sources/bulk", &name).await.status, 422);
    let plan = format!("edit*{}*{first}", hex(br#"{"name":"x"}"#));
    assert_eq!(visitor.send("/sources/bulk", &[("plan", &plan)]).await.status, 422);
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

async fn what_fails_is_named_with_why(db: Database) {
    let visitor = Visitor::new(db).await;
    let ids = visitor.add(&["a", "b"]).await;
    visitor.api.by().set_enabled(ids[0], false).await.unwrap();
    let (first, second) = (ids[0].to_string(), ids[1].to_string());
    let fields = [("action", "poll"), ("id", first.as_str()), ("id", second.as_str()), ("id", "987654")];
    let page = visitor.send("/sources/bulk", &fields).await;
    page.has("as soon as their hosts are free: 1 source. 2 failed:");
    page.has(&format!("<a href=\"/sources/{first}\">a.example/a</a>: it is disabled; enable it first"));
    page.has("source 987654</a>: it is gone already");
    for (fields, said) in [
        (vec![("action", "poll")], "Nothing was selected"),
        (vec![("id", "1")], "use one of the buttons"),
        (vec![("action", "burn"), ("id", "1")], "use one of the buttons"),
        (vec![("plan", "burn*1")], "the form is garbled"),
        (vec![("plan", "disable*1-99999999999")], "the form is garbled"),
    ] {
        let page = visitor.send("/sources/bulk", &fields).await;
        assert_eq!(page.status, 422, "{fields:?}");
        page.has(said);
    }
}

async fn deleting_asks_first_and_says_what_is_lost(db: Database) {
    let visitor = Visitor::new(db).await;
    let ids = visitor.add(&["a", "b", "c"]).await;
    visitor.post_to(ids[0], "One").await;
    let (first, second) = (ids[0].to_string(), ids[1].to_string());
    let fields = [("action", "delete"), ("id", first.as_str()), ("id", second.as_str())];
    let page = visitor.send("/sources/bulk?q=a.ex", &fields).await;
    page.has("Delete 2 sources?").has("1 post will be gone for good").has("a.example/b");
    page.has("href=\"/sources?q=a.ex\"");
    assert_eq!(visitor.get("/sources").await.ids().len(), 3, "nothing has happened yet");
    let sure: Vec<(&str, &str)> = fields.into_iter().chain([("sure", "1")]).collect();
    let page = visitor.send("/sources/bulk", &sure).await;
    page.has("Deleted 2 sources.").lacks(">Undo<");
    assert_eq!(visitor.get("/sources").await.ids(), [ids[2]]);
    let page = visitor.send("/sources/bulk?status=pending", &[("action", "delete"), ("all", "1")]).await;
    page.has("Delete 1 source?").has("all their posts will be gone for good");
}

async fn all_that_match_are_acted_on_a_thousand_at_a_time(db: Database) {
    let visitor = Visitor::new(db).await;
    let many = BULK as usize + 20;
    let paths: Vec<String> = (0..many).map(|n| n.to_string()).collect();
    visitor.add(&paths.iter().map(String::as_str).collect::<Vec<_>>()).await;
    visitor.api.by().add(&new_feed("https://other.example/")).await.unwrap();
    let list = "/sources/bulk?host=a.example";
    let page = visitor.send(list, &[("action", "disable"), ("all", "1")]).await;
    page.has("Disabled 1,000 sources so far; going on.").has("hx-trigger=\"load");
    let mut rest = Vec::new();
    for name in ["action", "all", "from", "done", "same", "failed", "undo"] {
        let said = page.html.split("<form").nth(2).unwrap();
        let part = Seen { status: 0, location: None, html: said.to_owned() };
        rest.extend(part.fields(name).into_iter().map(|value| (name, value)));
    }
    let rest: Vec<(&str, &str)> = rest.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let page = visitor.send(list, &rest).await;
    page.has("Disabled 1,020 sources.");
    let disabled = SourceFilter { status: Some(Status::Disabled), ..SourceFilter::default() };
    assert_eq!(visitor.api.by().count_sources(&disabled, 5000).await.unwrap(), many as u64);
    let undo = page.fields("plan").pop().unwrap();
    let page = visitor.send(list, &[("plan", &undo)]).await;
    page.has("Enabled again, as before: 1,000 sources so far; going on.");
    let plan = page.fields("plan").pop().unwrap();
    visitor.send(list, &[("plan", &plan)]).await.has("Enabled again, as before: 20 sources.");
    assert_eq!(visitor.api.by().count_sources(&disabled, 5000).await.unwrap(), 0);
}

async fn a_form_without_a_token_changes_nothing(db: Database) {
    let visitor = Visitor::new(db).await;
    let ids = visitor.add(&["a"]).await;
    let id = ids[0].to_string();
    for token in ["", "0000", "x"] {
        let fields = [("action", "disable"), ("id", id.as_str()), ("form_token", token)];
        assert_eq!(visitor.send_as("/sources/bulk", &fields, &visitor.cookie).await.status, 403);
    }
    assert_eq!(visitor.status(ids[0]).await, Status::Pending);
}

async fn what_somebody_named_a_source_is_only_text(db: Database) {
    let visitor = Visitor::new(db).await;
    let evil = "\"><script>alert(1)</script><img src=x onerror=alert(1)>'";
    let new = SourceSettings { name: Some(evil.into()), ..new_feed("https://a.example/?\"><script>") };
    let id = visitor.api.by().add(&new).await.unwrap().id;
    visitor.fail(id, 1, evil).await;
    visitor.api.by().create_collection(evil).await.unwrap();
    let query: String = url::form_urlencoded::byte_serialize(evil.as_bytes()).collect();
    let (text, own) = (id.to_string(), [("action", "delete")]);
    let sure = visitor.send("/sources/bulk", &[own[0], ("id", text.as_str())]).await;
    let failed =
        visitor.send("/sources/bulk", &[("action", "move"), ("collection", "99"), ("id", &text)]).await;
    for page in [
        visitor.get("/sources").await,
        visitor.get("/sources?q=%3Cscript%3E").await,
        visitor.get(&format!("/sources?q={query}&host={query}&status=failing")).await,
        visitor.get(&format!("/sources?status={query}")).await,
        visitor.get(&format!("/hosts?q={query}&sort={query}&after={query}")).await,
        sure,
        failed,
    ] {
        page.lacks("<script>").lacks("<img src=x");
    }
}

async fn hosts_are_found_and_sorted(db: Database) {
    let visitor = Visitor::new(db).await;
    let new: Vec<_> = ["c", "a", "b", "b"]
        .into_iter()
        .enumerate()
        .map(|(n, host)| feed(&format!("{host}.example"), &n.to_string()))
        .collect();
    let made = visitor.api.db.store.create_sources(&new, start()).await.unwrap();
    visitor.fail(made[0].id(), 2, "gone").await;
    visitor
        .api
        .db
        .behind_its_back(&format!(
            "UPDATE hosts SET hold_until = {} WHERE name = 'a.example'",
            (start() + Span::from_hours(2)).as_millis()
        ))
        .await;
    let names = |page: &Seen| -> Vec<String> {
        let parts =
            page.html.split("href=\"/sources?host=").skip(1).filter(|part| !part.contains("failing</a>"));
        parts.filter_map(|part| part.split('"').next().map(str::to_owned)).collect()
    };
    let page = visitor.get("/hosts").await;
    page.has("1 failing").has("in 2 h").has("nobody now");
    let in_order = |html: &str, all: [&str; 3]| {
        let places: Vec<usize> =
            all.iter().map(|name| html.find(&format!(">{name}.example</a>")).unwrap()).collect();
        assert!(places.is_sorted(), "{all:?}");
    };
    in_order(&page.html, ["a", "b", "c"]);
    in_order(&visitor.get("/hosts?sort=-name").await.html, ["c", "b", "a"]);
    let most = visitor.get("/hosts?sort=-sources").await;
    in_order(&most.html, ["b", "c", "a"]);
    let failing = visitor.get("/hosts?sort=-failing").await;
    failing.has(">c.example</a>").lacks(">a.example</a>").has("Only hosts with failing sources");
    assert_eq!(names(&visitor.get("/hosts?q=B.EX").await), ["b.example"]);
}

async fn the_overview_names_the_sources_of_posts(db: Database) {
    let visitor = Visitor::new(db).await;
    let ids = visitor.add(&["letters"]).await;
    visitor.post_to(ids[0], "A post").await;
    let page = visitor.get("/").await;
    page.has("A post").has(&format!("<a class=\"of\" href=\"/sources/{}\">a.example/letters</a>", ids[0]));
}

impl Visitor {
    /// Gives a source a post.
    async fn post_to(&self, id: i64, title: &str) {
        // A hash is bytes, which the two databases write differently.
        let hash = if self.api.db.url.starts_with("postgres:") { "'\\x00'::bytea" } else { "x'00'" };
        let sql = format!(
            "INSERT INTO posts (source_id, guid, title, content_hash, entry_key, created_at, updated_at, body) \
             VALUES ({id}, 'guid', '{title}', {hash}, 0, 0, 0, 'text')"
        );
        self.api.db.behind_its_back(&sql).await;
    }
}

/// A list of 100,000 stays quick, on any page and in any order that an index leads through.
#[tokio::test]
async fn a_hundred_thousand_sources_are_listed_quickly() {
    let visitor = Visitor::new(crate::support::sqlite().await).await;
    let new: Vec<_> = (0..100_000).map(|n| feed(&format!("h{}.example", n / 3), &n.to_string())).collect();
    for piece in new.chunks(10_000) {
        visitor.api.db.store.create_sources(piece, start()).await.unwrap();
    }
    for path in
        ["/sources", "/sources?sort=address", "/sources?sort=next_poll", "/hosts", "/hosts?sort=-failing"]
    {
        let begun = Instant::now();
        let mut page = visitor.get(path).await;
        for _ in 0..3 {
            let Some(next) = page.link("next") else { break };
            page = visitor.get(&next).await;
        }
        println!("{path}: four pages in {:?}", begun.elapsed());
        // Far above what it takes, and far below what going through all of them for each row would.
        assert!(begun.elapsed() < std::time::Duration::from_secs(8), "{path}: {:?}", begun.elapsed());
    }
}
