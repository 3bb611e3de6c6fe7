//! Webhooks: signed, in order, tried again, given up, and in nobody's way.

use std::sync::Arc;
use std::time::Duration;

use gleaner::clock::{Clock as _, RandomSource};
use gleaner::engine::Sender;
use gleaner::service::Service;
use gleaner::store::{Options, open};
use gleaner_core::time::{Span, Time};
use hmac::{Hmac, KeyInit as _, Mac as _};
use reqwest::Method;
use serde_json::{Value, json};
use sha2::Sha256;

use super::client::Api;
use super::events::{Dispatcher, event};
use super::on_both;
use crate::support::http::{Received, Reply, Server};
use crate::support::{Database, minutes};

on_both!(
    webhooks_are_made_changed_and_deleted,
    a_webhook_is_its_owners_own,
    private_targets_are_refused,
    events_are_signed_and_sent_in_order,
    a_test_is_sent_at_once,
    a_failing_target_is_tried_for_a_day,
    what_nobody_was_there_to_send_is_tried_for_a_day_too,
    deliveries_survive_a_restart,
    deliveries_are_sent_again_by_hand,
    two_senders_send_once,
    a_target_that_hangs_holds_up_nobody_else,
    a_webhook_that_is_enabled_again_starts_from_there,
    redirects_are_not_followed,
);

/// An API, a target, and what sends to it.
struct Scene {
    api: Api,
    server: Server,
    sender: Sender,
}

impl Scene {
    async fn new(db: Database) -> Self {
        let (api, server) = (Api::new(db).await, Server::start().await);
        let sender = api.service.sender("first").unwrap();
        Self { api, server, sender }
    }

    /// A webhook at a path of the server: its id and secret.
    async fn hook(&self, path: &str, events: &[&str]) -> (i64, String) {
        let url = self.server.url(path).to_string();
        let made = self.api.post("/webhooks", json!({ "name": path, "url": url, "events": events })).await;
        let made = made.is(201);
        (made["id"].as_i64().unwrap(), made["secret"].as_str().unwrap().to_owned())
    }

    /// Something happens.
    async fn tell(&self, kind: &str, data: Value) {
        self.api.service.tell(event(kind, &data)).await.unwrap();
        self.api.db.store.number_events(100).await.unwrap();
    }

    async fn send(&self) -> u64 {
        self.sender.send_due().await.unwrap()
    }

    async fn read(&self, id: i64) -> Value {
        self.api.get(&format!("/webhooks/{id}")).await.is(200).clone()
    }

    /// The log, newest first.
    async fn log(&self, id: i64) -> Vec<Value> {
        let log = self.api.get(&format!("/webhooks/{id}/deliveries")).await;
        log.is(200)["items"].as_array().unwrap().clone()
    }

    fn received(&self, path: &str) -> Vec<Received> {
        self.server.requests().into_iter().filter(|request| request.path == path).collect()
    }

    /// The clock shows when the webhook is tried next.
    async fn to_next_try(&self, id: i64) -> Time {
        let at: Time = serde_json::from_value(self.read(id).await["next_try_at"].clone()).unwrap();
        self.api.clock.set(at);
        at
    }
}

fn body(request: &Received) -> Value {
    serde_json::from_slice(&request.body).unwrap()
}

/// What a receiver does with a signature.
fn is_signed(request: &Received, secret: &str) -> bool {
    let signature = request.header("gleaner-signature").unwrap();
    let (time, digits) = signature.strip_prefix("t=").unwrap().split_once(",v1=").unwrap();
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(format!("{time}.").as_bytes());
    mac.update(&request.body);
    let right: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    right == digits
}

async fn webhooks_are_made_changed_and_deleted(db: Database) {
    let api = Api::new(db).await;
    let made =
        api.post("/webhooks", json!({ "url": "https://hook.example/x", "events": ["source.*"] })).await;
    let (id, secret) = (made.is(201)["id"].as_i64().unwrap(), made.body["secret"].as_str().unwrap());
    assert_eq!(
        (secret.len(), &made.body["name"], &made.body["enabled"]),
        (64, &json!("hook.example"), &json!(true))
    );
    assert_eq!(
        api.post("/webhooks", json!({ "url": "https://hook.example/y" })).await.problem(409),
        "duplicate"
    );
    let list = api.get("/webhooks").await;
    assert_eq!(
        (&list.is(200)["items"][0]["events"], list.body["items"][0].get("secret")),
        (&json!(["source.*"]), None)
    );
    let path = format!("/webhooks/{id}");
    let edited = api.patch(&path, json!({ "name": "mine", "events": [], "enabled": false })).await;
    assert_eq!((&edited.is(200)["name"], &edited.body["events"]), (&json!("mine"), &json!([])));
    assert_eq!(edited.body["enabled"], false);
    let wrong = json!({ "name": "", "url": "ftp://a.example/", "events": ["posts"] });
    for answer in [api.post("/webhooks", wrong.clone()).await, api.patch(&path, wrong).await] {
        assert_eq!(answer.problem(422), "invalid");
        let fields: Vec<&Value> =
            answer.body["errors"].as_array().unwrap().iter().map(|error| &error["field"]).collect();
        assert_eq!(fields.len(), 3, "every wrong field is named: {fields:?}");
    }
    assert_eq!(api.get(&format!("{path}/deliveries")).await.is(200)["items"], json!([]));
    assert_eq!(api.post(&format!("{path}/deliveries/1/replay"), json!({})).await.problem(404), "not_found");
    api.delete(&path).await.is(204);
    for answer in
        [api.get(&path).await, api.delete(&path).await, api.get(&format!("{path}/deliveries")).await]
    {
        assert_eq!(answer.problem(404), "not_found");
    }
}

async fn a_webhook_is_its_owners_own(db: Database) {
    let scene = Scene::new(db).await;
    let (id, _) = scene.hook("/hook", &[]).await;
    let api = &scene.api;
    api.post("/users", json!({ "name": "ada" })).await.is(201);
    let code = api.post("/users/ada/login-code", json!({})).await.is(201)["code"].clone();
    let login = api.ask(Method::POST, "/api/v1/login", Some(json!({ "code": code })), &[]).await;
    let bearer = format!("Bearer {}", login.is(200)["token"].as_str().unwrap());
    let as_ada = async |method: Method, path: &str, body| {
        api.ask(method, &format!("/api/v1{path}"), body, &[("authorization", &bearer)]).await
    };
    assert_eq!(as_ada(Method::GET, "/webhooks", None).await.is(200)["items"], json!([]));
    let path = format!("/webhooks/{id}");
    as_ada(Method::GET, &path, None).await.problem(404);
    as_ada(Method::PATCH, &path, Some(json!({ "enabled": false }))).await.problem(404);
    as_ada(Method::DELETE, &path, None).await.problem(404);
    as_ada(Method::POST, &format!("{path}/test"), None).await.problem(404);
    as_ada(Method::GET, &format!("{path}/deliveries"), None).await.problem(404);
    let hers = as_ada(Method::POST, "/webhooks", Some(json!({ "url": "https://a.example/" }))).await;
    let hers = hers.is(201)["id"].as_i64().unwrap();
    assert_eq!(scene.read(hers).await["name"], "a.example", "an admin sees all");
}

async fn private_targets_are_refused(db: Database) {
    let scene = Scene::new(db).await;
    for url in
        ["http://10.0.0.1/", "http://[::1]/", "http://169.254.169.254/latest", "http://user:pass@a.example/"]
    {
        let answer = scene.api.post("/webhooks", json!({ "url": url })).await;
        assert_eq!(
            (answer.problem(422), &answer.body["errors"][0]["field"]),
            ("invalid", &json!("url")),
            "{url}"
        );
    }
    // The network is closed after the webhook was made.
    scene.server.on("/hook", Reply::status(204));
    let (id, _) = scene.hook("/hook", &[]).await;
    let mut config = scene.api.service.config().clone();
    config.fetch.allow_private_networks.clear();
    let (store, clock) = (Arc::clone(&scene.api.db.store), Arc::clone(&scene.api.clock));
    let closed = Service::new(store, config, clock, RandomSource::seeded(3));
    scene.tell("test.one", json!({})).await;
    assert_eq!(closed.sender("closed").unwrap().send_due().await.unwrap(), 1);
    let log = scene.log(id).await;
    assert!(log[0]["error"].as_str().unwrap().starts_with("blocked"), "{}", log[0]);
    assert!(scene.server.requests().is_empty());
}

async fn events_are_signed_and_sent_in_order(db: Database) {
    let scene = Scene::new(db).await;
    scene.tell("source.failing", json!({ "n": 0 })).await;
    scene.server.on_all(|_| Reply::ok("thanks"));
    let (id, secret) = scene.hook("/some", &["source.*", "import.finished"]).await;
    let (all, other) = scene.hook("/all", &[]).await;
    for n in 1..=9 {
        let kind = ["source.failing", "test.other", "import.finished"][n % 3];
        scene.tell(kind, json!({ "n": n, "text": "<>&\"é\u{0}" })).await;
    }
    assert_eq!(scene.send().await, 15);
    assert_eq!(scene.send().await, 0, "each once");
    let some = scene.received("/some");
    let told: Vec<(u64, String)> = some
        .iter()
        .map(|request| {
            (body(request)["data"]["n"].as_u64().unwrap(), request.header("gleaner-event").unwrap())
        })
        .collect();
    let (failing, finished) = ("source.failing".to_owned(), "import.finished".to_owned());
    let expected =
        [(2, &finished), (3, &failing), (5, &finished), (6, &failing), (8, &finished), (9, &failing)];
    assert_eq!(told, expected.map(|(n, kind)| (n, kind.clone())));
    assert_eq!(scene.received("/all").len(), 9, "from when it was made on");
    for request in &some {
        assert!(is_signed(request, &secret) && !is_signed(request, &other));
        assert_eq!(request.method, "POST");
        assert_eq!(request.header("content-type").as_deref(), Some("application/json"));
        let event_id = body(request)["id"].as_i64().unwrap();
        assert_eq!(request.header("gleaner-delivery"), Some(format!("{id}-{event_id}")));
        let signature = request.header("gleaner-signature").unwrap();
        let seconds = scene.api.clock.now().as_millis() / 1000;
        assert!(signature.starts_with(&format!("t={seconds},v1=")), "{signature}");
    }
    let listed = scene.api.get("/events?order=asc&limit=500").await.body["items"].clone();
    assert_eq!(body(&some[0]), listed[2], "the same in every channel");
    let log = scene.log(id).await;
    assert_eq!(log.len(), 6);
    assert_eq!(
        (&log[0]["status"], &log[0]["status_code"], &log[0]["tries"], &log[0]["event_id"]),
        (&json!("delivered"), &json!(200), &json!(1), &json!(10))
    );
    assert!(log[0]["duration_ms"].is_u64() && log[0]["tried_at"].is_string());
    assert_eq!(scene.read(all).await["last_event_id"], 10);
}

async fn a_test_is_sent_at_once(db: Database) {
    let scene = Scene::new(db).await;
    scene.server.on_each("/hook", [Reply::status(500), Reply::status(202)]);
    let (id, secret) = scene.hook("/hook", &["source.*"]).await;
    let path = format!("/webhooks/{id}/test");
    let failed = scene.api.post(&path, json!({})).await;
    assert_eq!((&failed.is(200)["status"], &failed.body["status_code"]), (&json!("given_up"), &json!(500)));
    assert_eq!(failed.body["error"], "500 Internal Server Error");
    let sent = scene.api.post(&path, json!({})).await;
    assert_eq!((&sent.is(200)["status"], &sent.body["event_id"]), (&json!("delivered"), &Value::Null));
    let request = &scene.received("/hook")[1];
    assert_eq!(body(request)["type"], "webhook.test");
    assert!(is_signed(request, &secret));
    assert_eq!(scene.log(id).await.len(), 2);
    let again = format!("/webhooks/{id}/deliveries/{}/replay", sent.body["id"]);
    assert_eq!(scene.api.post(&again, json!({})).await.problem(409), "is_test");
    assert_eq!(scene.send().await, 0);
}

async fn a_failing_target_is_tried_for_a_day(db: Database) {
    let scene = Scene::new(db).await;
    scene.server.on("/hook", Reply::status(503));
    let (id, _) = scene.hook("/hook", &["host.*"]).await;
    let began = scene.api.clock.now();
    scene.tell("host.down", json!({})).await;
    scene.tell("host.back", json!({})).await;
    let mut at = began;
    let mut pauses = Vec::new();
    loop {
        assert_eq!(scene.send().await, 1, "one at a time, in order");
        assert_eq!(scene.send().await, 0, "not before its time");
        if scene.log(id).await.iter().any(|row| row["status"] == "given_up") {
            break;
        }
        let next = scene.to_next_try(id).await;
        pauses.push(next.since(at).as_millis() as f64 / 1000.0);
        at = next;
        if pauses.len() == 20 {
            scene.tell("host.paced", json!({})).await;
        }
    }
    for (n, pause) in pauses.iter().enumerate() {
        let expected = (30.0 * 2_f64.powi(n as i32)).min(3600.0);
        assert!((0.9 * expected..=1.1 * expected).contains(pause), "{n}: {pause}");
    }
    let lasted = at.since(began);
    assert!(lasted >= Span::from_days(1) && lasted < Span::from_hours(26), "{lasted}");
    assert!(scene.received("/hook").iter().all(|request| body(request)["type"] == "host.down"));
    let log = scene.log(id).await;
    let rows: Vec<(&Value, &Value)> = log.iter().map(|row| (&row["type"], &row["status"])).collect();
    let (second, first, given_up) = (json!("host.back"), json!("host.down"), json!("given_up"));
    assert_eq!(rows, [(&second, &given_up), (&first, &given_up)], "what waited for as long goes with it");
    assert_eq!((&log[1]["error"], &log[0]["tries"]), (&json!("503 Service Unavailable"), &json!(0)));
    scene.api.db.store.number_events(10).await.unwrap();
    let told = scene.api.get("/events?type=webhook.*").await.body["items"].clone();
    assert_eq!((&told[0]["type"], &told[0]["data"]["name"]), (&json!("webhook.failing"), &json!("/hook")));
    assert_eq!(told[0]["data"]["failing_since"], json!(began));
    assert!(!told.to_string().contains("http://"), "a target's URL may be a secret");
    // What is younger is still tried, and the world hears when it works again.
    scene.server.on("/hook", Reply::status(200));
    assert_eq!(scene.send().await, 0);
    scene.to_next_try(id).await;
    assert_eq!(scene.send().await, 1);
    assert_eq!(body(scene.received("/hook").last().unwrap())["type"], "host.paced");
    scene.api.db.store.number_events(10).await.unwrap();
    let told = scene.api.get("/events?type=webhook.*").await.body["items"].clone();
    assert_eq!((told.as_array().unwrap().len(), &told[0]["type"]), (2, &json!("webhook.recovered")));
    assert_eq!(scene.read(id).await["failing_since"], Value::Null);
}

async fn what_nobody_was_there_to_send_is_tried_for_a_day_too(db: Database) {
    let scene = Scene::new(db).await;
    scene.server.on_each("/hook", [Reply::status(503), Reply::status(200)]);
    let (id, _) = scene.hook("/hook", &[]).await;
    scene.tell("test.first", json!({})).await;
    scene.api.clock.advance(Span::from_days(3));
    assert_eq!(scene.send().await, 1);
    assert_eq!(scene.log(id).await[0]["status"], "pending");
    scene.to_next_try(id).await;
    assert_eq!(scene.send().await, 1);
    assert_eq!((&scene.log(id).await[0]["status"], scene.log(id).await.len()), (&json!("delivered"), 1));
}

async fn deliveries_survive_a_restart(db: Database) {
    let scene = Scene::new(db).await;
    scene.server.on_each("/hook", [Reply::raw("").reset(), Reply::status(200)]);
    let (id, _) = scene.hook("/hook", &[]).await;
    for n in 0..3 {
        scene.tell("test.one", json!({ "n": n })).await;
    }
    assert_eq!(scene.send().await, 1);
    let Scene { api, server, sender } = scene;
    drop(sender);
    // Another process, with nothing but the database.
    let store = open(&Options::new(&api.db.url)).await.unwrap();
    let (config, clock) = (api.service.config().clone(), Arc::clone(&api.clock));
    let service = Service::new(store, config, clock, RandomSource::seeded(4));
    let scene = Scene { sender: service.sender("second").unwrap(), api, server };
    assert_eq!(scene.send().await, 0, "the pause is kept, too");
    scene.to_next_try(id).await;
    assert_eq!(scene.send().await, 3);
    let names: Vec<Option<String>> =
        scene.received("/hook").iter().map(|request| request.header("gleaner-delivery")).collect();
    assert_eq!(names, [1, 1, 2, 3].map(|seq| Some(format!("{id}-{seq}"))));
    let log = scene.log(id).await;
    assert_eq!((&log[2]["tries"], &log[2]["status"], log.len()), (&json!(2), &json!("delivered"), 3));
}

async fn deliveries_are_sent_again_by_hand(db: Database) {
    let scene = Scene::new(db).await;
    scene.server.on("/hook", Reply::status(200));
    let (id, _) = scene.hook("/hook", &[]).await;
    for n in 0..3 {
        scene.tell("test.one", json!({ "n": n })).await;
    }
    assert_eq!(scene.send().await, 3);
    let first = scene.log(id).await[2]["id"].clone();
    let path = format!("/webhooks/{id}/deliveries/{first}/replay");
    scene.server.on_each("/hook", [Reply::status(500), Reply::status(200)]);
    let replayed = scene.api.post(&path, json!({})).await;
    assert_eq!(replayed.is(202)["status"], "pending");
    assert_eq!(scene.send().await, 1);
    assert_eq!((&scene.log(id).await[2]["status"], scene.send().await), (&json!("pending"), 0));
    // What failed by hand holds up nothing that happens.
    scene.tell("test.one", json!({ "n": 3 })).await;
    assert_eq!(scene.send().await, 1);
    scene.api.clock.advance(minutes(1));
    assert_eq!(scene.send().await, 1);
    assert_eq!(scene.log(id).await[3]["status"], "delivered");
    let told: Vec<u64> =
        scene.received("/hook").iter().map(|request| body(request)["data"]["n"].as_u64().unwrap()).collect();
    assert_eq!(told, [0, 1, 2, 0, 3, 0]);
    let names: Vec<Option<String>> =
        scene.received("/hook").iter().map(|request| request.header("gleaner-delivery")).collect();
    assert_eq!((&names[0], &names[0]), (&names[3], &names[5]), "under the same name");
    scene.api.patch(&format!("/webhooks/{id}"), json!({ "enabled": false })).await.is(200);
    assert_eq!(scene.api.post(&path, json!({})).await.problem(409), "webhook_disabled");
    scene.api.patch(&format!("/webhooks/{id}"), json!({ "enabled": true })).await.is(200);
    scene.api.db.behind_its_back("DELETE FROM outbox WHERE seq < 3").await;
    assert_eq!(scene.api.post(&path, json!({})).await.problem(409), "event_gone");
}

async fn two_senders_send_once(db: Database) {
    let scene = Scene::new(db).await;
    scene.server.on("/hook", Reply::status(200));
    let (id, _) = scene.hook("/hook", &[]).await;
    for n in 0..20 {
        scene.tell("test.one", json!({ "n": n })).await;
    }
    let second = scene.api.service.sender("second").unwrap();
    while scene.read(id).await["last_event_id"] != 20 {
        let (one, other) = tokio::join!(scene.sender.send_due(), second.send_due());
        one.unwrap();
        other.unwrap();
    }
    let told: Vec<u64> =
        scene.received("/hook").iter().map(|request| body(request)["data"]["n"].as_u64().unwrap()).collect();
    assert_eq!(told, (0..20).collect::<Vec<_>>());
}

async fn a_target_that_hangs_holds_up_nobody_else(db: Database) {
    let scene = Scene::new(db).await;
    scene.server.on("/hangs", Reply::raw("").stall());
    scene.server.on("/answers", Reply::status(200));
    let (hangs, _) = scene.hook("/hangs", &[]).await;
    scene.hook("/answers", &[]).await;
    let _dispatcher = Dispatcher::of(&scene.api.service);
    let (service, sender) = (Arc::clone(&scene.api.service), scene.api.service.sender("loop").unwrap());
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let sending = tokio::spawn(async move {
        service.send_events(&sender, async move { drop(stopped.await) }).await;
    });
    for n in 0..10 {
        scene.api.service.tell(event("test.one", &json!({ "n": n }))).await.unwrap();
        scene.server.until_asked("/answers", n + 1).await;
    }
    scene.server.until_asked("/hangs", 1).await;
    assert_eq!(scene.received("/hangs").len(), 1, "one request at a time");
    assert_eq!(scene.read(hangs).await["last_event_id"], 0);
    stop.send(()).unwrap();
    tokio::time::timeout(Duration::from_secs(20), sending)
        .await
        .expect("nor does it hold up the end")
        .unwrap();
}

async fn a_webhook_that_is_enabled_again_starts_from_there(db: Database) {
    let scene = Scene::new(db).await;
    scene.server.on("/hook", Reply::status(503));
    let (id, _) = scene.hook("/hook", &[]).await;
    scene.tell("test.one", json!({})).await;
    assert_eq!(scene.send().await, 1);
    let path = format!("/webhooks/{id}");
    scene.api.patch(&path, json!({ "enabled": false })).await.is(200);
    scene.tell("test.two", json!({})).await;
    scene.api.clock.advance(minutes(5));
    assert_eq!(scene.send().await, 0);
    scene.server.on("/hook", Reply::status(200));
    let enabled = scene.api.patch(&path, json!({ "enabled": true })).await;
    assert_eq!((&enabled.is(200)["failures"], &enabled.body["next_try_at"]), (&json!(0), &Value::Null));
    scene.tell("test.three", json!({})).await;
    scene.send().await;
    let told: Vec<Value> =
        scene.received("/hook").iter().map(|request| body(request)["type"].clone()).collect();
    assert_eq!(told[1..].iter().filter(|kind| **kind == "test.two").count(), 0);
    assert_eq!(told.last(), Some(&json!("test.three")));
}

async fn redirects_are_not_followed(db: Database) {
    let scene = Scene::new(db).await;
    scene.server.on("/hook", Reply::redirect(307, "/elsewhere"));
    let (id, _) = scene.hook("/hook", &[]).await;
    scene.tell("test.one", json!({})).await;
    assert_eq!(scene.send().await, 1);
    let log = scene.log(id).await;
    assert_eq!((&log[0]["status_code"], &log[0]["status"]), (&json!(307), &json!("pending")));
    assert!(scene.received("/elsewhere").is_empty());
}
