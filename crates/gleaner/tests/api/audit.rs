//! The audit log: what is in it, who reads it, and what never gets there.

use gleaner::config::secret::Secret;
use gleaner::service::Scope;
use gleaner::store::{Cleanup, NewAudit};
use gleaner_core::time::Span;
use reqwest::Method;
use serde_json::{Value, json};

use super::client::Api;
use super::on_both;
use crate::support::{Database, start};

on_both!(
    changes_are_written_down_with_who_made_them,
    many_changes_at_once_are_one_row,
    no_secret_is_written_down,
    failed_logins_are_counted_in_few_rows,
    only_admins_read_it_page_by_page,
    old_rows_are_deleted,
    admins_see_it_as_a_page,
);

const WRITE: &[Scope] = &[Scope::Read, Scope::Write];

async fn rows(api: &Api, query: &str) -> Vec<Value> {
    api.get(&format!("/audit?limit=500&{query}")).await.is(200)["items"].as_array().unwrap().clone()
}

fn actions(rows: &[Value]) -> Vec<&str> {
    rows.iter().rev().map(|row| row["action"].as_str().unwrap()).collect()
}

async fn changes_are_written_down_with_who_made_them(db: Database) {
    let api = Api::new(db).await;
    let ada = api.token_of("ada", "laptop", WRITE, None).await;
    let send = async |method: Method, path: &str, body: Value| {
        let answer = api.ask_as(&ada, method, path, Some(body)).await;
        assert!(answer.status < 300, "{path}: {}", answer.text);
        answer.body
    };
    let collection = send(Method::POST, "/collections", json!({ "name": "blogs" })).await["id"].clone();
    let url = "https://a.example/feed?api_key=hush-hush";
    let new = json!({ "url": url, "kind": "website", "collection_id": collection });
    let source = send(Method::POST, "/sources", new).await["id"].clone();
    let path = format!("/sources/{source}");
    send(Method::PATCH, &path, json!({ "name": "A", "poll_interval_minutes": 60 })).await;
    send(Method::PATCH, &path, json!({ "enabled": false })).await;
    send(Method::PATCH, &path, json!({ "name": "A" })).await;
    send(Method::PATCH, &format!("/collections/{collection}"), json!({ "private": true })).await;
    let hook = json!({ "name": "hook", "url": "https://b.example/hook" });
    let hook = send(Method::POST, "/webhooks", hook).await["id"].clone();
    send(Method::PATCH, &format!("/webhooks/{hook}"), json!({ "enabled": false })).await;
    send(Method::PUT, "/keys/x", json!({ "key": "hush-key" })).await;
    send(Method::DELETE, &path, Value::Null).await;
    let found = rows(&api, "user=ada").await;
    // The first was made on the machine itself, in her name.
    assert_eq!(
        actions(&found),
        [
            "token.create",
            "collection.create",
            "source.create",
            "source.update",
            "source.update",
            "collection.update",
            "webhook.create",
            "webhook.update",
            "key.set",
            "source.delete"
        ],
        "what changes nothing is not written down"
    );
    assert!(found.last().unwrap()["via"].as_str().unwrap().starts_with("command line (OS user "));
    assert_eq!(found.last().unwrap()["address"], Value::Null);
    let update = &found[found.len() - 4];
    assert_eq!((&update["via"], &update["address"]), (&json!("token laptop"), &json!("127.0.0.1")));
    assert_eq!((&update["target_kind"], &update["target_id"]), (&json!("source"), &source));
    let changes = json!({ "name": [null, "A"], "poll_interval_minutes": [null, 60] });
    assert_eq!(update["changes"], changes);
    assert_eq!(found[found.len() - 5]["changes"], json!({ "enabled": [true, false] }));
    assert_eq!(found[found.len() - 6]["changes"], json!({ "private": [false, true] }));
    assert!(!update["target_name"].as_str().unwrap().contains("hush"), "{update}");
    // An edit that fails leaves no row.
    api.ask_as(&ada, Method::PATCH, "/sources/99", Some(json!({ "name": "B" }))).await.problem(404);
    assert_eq!(rows(&api, "user=ada").await.len(), found.len());
    assert_eq!(rows(&api, "action=source&user=ada").await.len(), 4);
    assert_eq!(rows(&api, "action=source.update").await.len(), 2);
    assert_eq!(rows(&api, &format!("target_kind=source&target_id={source}")).await.len(), 4);
    assert_eq!(rows(&api, "address=127.0.0.1").await.len(), 9);
    assert_eq!(rows(&api, "address=192.0.2.1").await.len(), 0);
    assert_eq!(rows(&api, "from=2100-01-01T00:00:00Z").await.len(), 0);
    api.get("/audit?nonsense=1").await.problem(400);
}

async fn many_changes_at_once_are_one_row(db: Database) {
    let api = Api::new(db).await;
    let list: String = (0..5).map(|n| format!("{{\"url\": \"https://a.example/{n}\"}}\n")).collect();
    let kind = "application/x-ndjson";
    api.send_file(Method::POST, "/import", kind, list.into_bytes()).await.is(200);
    let disable = json!({ "filter": {}, "action": "disable" });
    api.post("/sources/bulk", disable).await.is(200);
    let delete = json!({ "filter": {}, "action": "delete" });
    api.post("/sources/bulk", delete).await.is(200);
    let found = rows(&api, "action=source").await;
    assert_eq!(actions(&found), ["source.import", "source.bulk_disable", "source.bulk_delete"]);
    assert_eq!(found[2]["changes"], json!({ "added": 5, "duplicates": 0, "bad": 0 }));
    assert_eq!(found[0]["changes"]["count"], 5);
    assert_eq!(found[0]["changes"]["ids"].as_array().unwrap().len(), 5);
}

async fn no_secret_is_written_down(db: Database) {
    let api = Api::new(db).await;
    let secrets = ["hush-password", "hush-basic", "hush-key", "hush-query", "hush-guess"];
    api.put("/users/admin/password", json!({ "password": secrets[0] })).await.is(204);
    let new = json!({ "url": "https://a.example/?token=hush-query", "kind": "website" });
    let source = api.post("/sources", new).await.is(201)["id"].clone();
    let basic = json!({ "credential": { "basic": { "user": "u", "password": secrets[1] } } });
    api.patch(&format!("/sources/{source}"), basic).await.is(200);
    api.put("/keys/x", json!({ "key": secrets[2] })).await;
    let hook = json!({ "name": "h", "url": "https://b.example/?token=hush-query" });
    let secret = api.post("/webhooks", hook).await.is(201)["secret"].as_str().unwrap().to_owned();
    let token =
        api.post("/tokens", json!({ "name": "t" })).await.is(201)["token"].as_str().unwrap().to_owned();
    // A password in the place of the name.
    let guess = json!({ "name": "hush-guess", "password": "hush-guess" });
    api.ask(Method::POST, "/api/v1/login", Some(guess), &[]).await.problem(401);
    let text = api.get("/audit?limit=500").await.text;
    for secret in secrets.iter().copied().chain([secret.as_str(), token.as_str()]) {
        assert!(!text.contains(secret), "{secret} is in {text}");
    }
    assert!(text.contains("\"credential\":[\"none\",\"replaced\"]"), "{text}");
    assert!(text.contains("unknown name"), "{text}");
}

async fn failed_logins_are_counted_in_few_rows(db: Database) {
    let api = Api::new(db).await;
    api.by().set_password("admin", None, &Secret::new("correct horse")).await.unwrap();
    let log_in = async |name: &str, password: &str| {
        let login = json!({ "name": name, "password": password });
        api.ask(Method::POST, "/api/v1/login", Some(login), &[]).await.status
    };
    for n in 0..3 {
        assert_eq!(log_in("admin", "wrong horse").await, 401);
        assert_eq!(log_in(&format!("nobody-{n}"), "wrong horse").await, 401);
    }
    assert_eq!(log_in("admin", "correct horse").await, 200);
    let failed = rows(&api, "action=login.failed").await;
    let told: Vec<_> =
        failed.iter().map(|row| (row["target_name"].as_str().unwrap(), row["count"].as_i64())).collect();
    assert_eq!(told, [("unknown name", Some(3)), ("admin", Some(3))]);
    assert!(failed.iter().all(|row| row["address"] == "127.0.0.1" && row["user_id"].is_null()));
    let logins = rows(&api, "action=login").await;
    assert_eq!(logins[0]["action"], "login");
    assert_eq!((&logins[0]["user_name"], &logins[0]["via"]), (&json!("admin"), &json!("password")));
    api.clock.advance(Span::from_hours(1));
    assert_eq!(log_in("admin", "wrong horse").await, 401);
    assert_eq!(rows(&api, "action=login.failed").await.len(), 3, "another hour, another row");
}

async fn only_admins_read_it_page_by_page(db: Database) {
    let api = Api::new(db).await;
    let ada = api.token_of("ada", "all", WRITE, None).await;
    assert_eq!(api.ask_as(&ada, Method::GET, "/audit", None).await.problem(403), "forbidden");
    let cookie = format!("gleaner_session={ada}");
    assert_eq!(api.ask(Method::GET, "/settings/audit", None, &[("cookie", &cookie)]).await.status, 403);
    for n in 0..7 {
        api.post("/collections", json!({ "name": format!("c{n}") })).await.is(201);
    }
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = api.get(&format!("/audit?action=collection&limit=3{cursor}")).await;
        let items = page.is(200)["items"].as_array().unwrap().clone();
        seen.extend(items.iter().map(|row| row["target_name"].as_str().unwrap().to_owned()));
        match page.body["next_cursor"].as_i64() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen, ["c6", "c5", "c4", "c3", "c2", "c1", "c0"]);
}

async fn old_rows_are_deleted(db: Database) {
    let row = |days: u64, key: Option<&str>| NewAudit {
        at: start() + Span::from_days(days),
        user_id: Some(1),
        user_name: "admin".into(),
        via: "session".into(),
        address: None,
        action: "source.update".into(),
        target_kind: "source".into(),
        target_id: Some(1),
        target_name: "a".into(),
        changes: None,
        fold_key: key.map(str::to_owned),
    };
    for days in [0, 1, 2] {
        db.store.append_audit(&row(days, None)).await.unwrap();
    }
    // A row that counts is as old as its latest.
    db.store.append_audit(&row(0, Some("k"))).await.unwrap();
    db.store.append_audit(&row(2, Some("k"))).await.unwrap();
    let old = start();
    let cleanup = Cleanup {
        articles_before: None,
        posts_before: None,
        seen_before: old,
        polls_before: old,
        polls_per_source: 10,
        activity_before: old,
        pages_before: old,
        events_before: old,
        audit_before: start() + Span::from_days(2),
        batch: 100,
    };
    assert_eq!(db.store.clean_up(&cleanup).await.unwrap().audit, 2);
    let left = db.store.audit(&Default::default(), None, 10).await.unwrap();
    assert_eq!(left.iter().map(|row| row.count).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(left[0].first_at, start());
}

async fn admins_see_it_as_a_page(db: Database) {
    let api = Api::new(db).await;
    api.post("/collections", json!({ "name": "<b>bold</b>" })).await.is(201);
    let cookie = format!("gleaner_session={}", api.token);
    let page = async |path: &str| api.ask(Method::GET, path, None, &[("cookie", &cookie)]).await;
    let all = page("/settings/audit").await;
    assert_eq!(all.status, 200, "{}", all.text);
    assert!(all.text.contains("collection.create") && !all.text.contains("<b>bold"), "{}", all.text);
    let none = page("/settings/audit?action=user").await;
    assert!(!none.text.contains("collection.create"));
    assert!(page("/settings").await.text.contains("/settings/audit"));
}
