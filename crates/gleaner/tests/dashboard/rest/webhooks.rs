//! Webhooks and their logs.

use gleaner_core::time::Span;

use super::{Visitor, on_both};
use crate::support::Database;
use crate::support::http::{Reply, Server};

on_both!(a_webhook_is_made_tried_and_changed, what_was_given_up_is_tried_again, a_webhook_is_its_owners,);

/// Makes a webhook, and tells its page.
async fn make(visitor: &Visitor, url: &str, events: &str) -> String {
    let form = [("url", url), ("name", "hook"), ("events", events)];
    let made = visitor.post("/settings/webhooks", &form).await.is(200);
    made.has("It is shown this once").has("It is made");
    assert_eq!(made.between("readonly value=\"", "\"").len(), 64);
    let id = visitor.api.by().webhooks().await.unwrap().last().unwrap().id;
    format!("/settings/webhooks/{id}")
}

async fn a_webhook_is_made_tried_and_changed(db: Database) {
    let (visitor, server) = (Visitor::new(db).await, Server::start().await);
    visitor.get("/settings/webhooks").await.is(200).has("None yet");
    let bad =
        visitor.post("/settings/webhooks", &[("url", "http://10.0.0.1/"), ("events", "Post")]).await.is(422);
    bad.has("Nothing can be sent to http://10.0.0.1/")
        .has("is no type of events")
        .has("value=\"http://10.0.0.1/\"");
    bad.has("value=\"Post\"");
    server.on("/hook", Reply::status(204));
    let path = make(&visitor, server.url("/hook").as_str(), "post.created source.*").await;
    visitor
        .get(&path)
        .await
        .is(200)
        .has("class=\"status healthy\">enabled")
        .has("post.created, source.*")
        .lacks("shown this once");
    visitor
        .post(&format!("{path}/test"), &[])
        .await
        .is(200)
        .has("The test was delivered")
        .has("webhook.test");
    server.on("/hook", Reply::status(500));
    let failed = visitor.post(&format!("{path}/test"), &[]).await.is(200);
    failed.has("The test was not taken").has("500 Internal Server Error").lacks("Send again");
    let elsewhere = server.url("/else");
    let form = [("name", "other"), ("url", elsewhere.as_str()), ("events", "")];
    visitor.done(&path, &form, "The webhook other is changed.").await.has("/else").has("<dd>all</dd>");
    let wrong = visitor.post(&path, &[("name", "other"), ("url", "x"), ("events", "")]).await.is(422);
    wrong.has("value=\"x\"").has("aria-invalid=true");
    visitor.done(&format!("{path}/disable"), &[], "is disabled").await.has("class=\"status disabled\"");
    visitor.done(&format!("{path}/enable"), &[], "is enabled").await.has("class=\"status healthy\"");
    visitor
        .done(&format!("{path}/delete"), &[], "The webhook other is gone, with its log.")
        .await
        .has("None yet");
    visitor.get(&path).await.is(404);
}

async fn what_was_given_up_is_tried_again(db: Database) {
    let (visitor, server) = (Visitor::new(db).await, Server::start().await);
    server.on("/hook", Reply::status(500));
    let path = make(&visitor, server.url("/hook").as_str(), "import.*").await;
    let event = gleaner::service::NewEvent {
        kind: "import.finished".into(),
        source_id: None,
        payload: "{\"added\":1}".into(),
    };
    visitor.api.service.tell(event).await.unwrap();
    visitor.api.service.catch_up().await.unwrap();
    let sender = visitor.api.service.sender("test").unwrap();
    sender.send_due().await.unwrap();
    visitor.get(&path).await.has("class=\"status failing\">failing").has("waiting").has("Try again now");
    for _ in 0..30 {
        visitor.api.clock.advance(Span::from_hours(1));
        sender.send_due().await.unwrap();
    }
    let given_up = visitor.get(&path).await;
    given_up.has("class=\"status bad\">given up").has("500 Internal Server Error").has("Send again");
    server.on("/hook", Reply::status(200));
    visitor.done(&format!("{path}/retry"), &[], "It is tried again now").await;
    sender.send_due().await.unwrap();
    visitor.get(&path).await.has("class=\"status healthy\">enabled").has("delivered");
    let delivery = visitor.get(&path).await.between("/deliveries/", "/replay").to_owned();
    let replay = format!("{path}/deliveries/{delivery}/replay");
    visitor.done(&replay, &[], "import.finished is sent again now").await;
    let before = server.requests().len();
    sender.send_due().await.unwrap();
    assert_eq!(server.requests().len(), before + 1);
    visitor.done(&format!("{path}/disable"), &[], "is disabled").await;
    visitor.post(&replay, &[]).await.is(409).has("is disabled; enable it first");
    visitor.post(&format!("{path}/retry"), &[]).await.is(409).has("is disabled; enable it first");
    visitor.post(&format!("{path}/deliveries/999/replay"), &[]).await.is(404);
}

async fn a_webhook_is_its_owners(db: Database) {
    let mut visitor = Visitor::new(db).await;
    let path = make(&visitor, "https://a.example/", "").await;
    visitor.api.by().create_user("ada", false).await.unwrap();
    let code = visitor.api.service.login_code("ada").await.unwrap();
    visitor.log_in(&[("code", code.secret.expose())]).await;
    visitor.get("/settings/webhooks").await.is(200).lacks("a.example").has("Your webhooks");
    for action in ["", "/test", "/disable", "/retry", "/delete"] {
        visitor.post(&format!("{path}{action}"), &[]).await.is(404);
    }
}
