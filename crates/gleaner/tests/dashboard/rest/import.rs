//! Lists in and out.

use std::time::Duration;

use gleaner_core::time::Span;
use reqwest::header::COOKIE;

use super::{Seen, Visitor, on_both, seen};
use crate::support::Database;
use crate::support::http::{Reply, Server};

on_both!(
    a_pasted_list_is_imported_and_told_line_by_line,
    a_file_is_sent_by_a_script,
    a_list_is_fetched,
    what_is_no_list_is_told,
    an_import_is_its_makers_and_forgotten_after_an_hour,
    sources_are_taken_away_as_a_list,
);

const LIST: &str = "<opml><outline text='News'>\n<outline text='A' xmlUrl='https://a.example/'/>\n\
    <outline text='B' xmlUrl='not a &lt;script&gt; url'/></outline></opml>";

/// The page of an import that has ended.
async fn ended(visitor: &Visitor, path: &str) -> Seen {
    assert!(path.starts_with("/import/"), "{path}");
    let end = async {
        loop {
            let page = visitor.get(path).await.is(200);
            if !page.html.contains("hx-trigger") {
                return page;
            }
            page.has("hx-trigger=\"every 1s\"").has("<progress");
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), end).await.expect("an import ends")
}

/// Sends a file as the page's script does.
async fn upload(visitor: &Visitor, query: &str, file: Vec<u8>, token: &str) -> Seen {
    let request =
        visitor.client.post(format!("{}/import?{query}", visitor.api.base)).header(COOKIE, &visitor.cookie);
    let request = request.header("content-type", "application/octet-stream").header("x-form-token", token);
    seen(request.body(file)).await
}

async fn a_pasted_list_is_imported_and_told_line_by_line(db: Database) {
    let visitor = Visitor::new(db).await;
    visitor
        .get("/import")
        .await
        .is(200)
        .has("name=\"list\"")
        .has("name=\"url\"")
        .has("href=\"/export?format=opml\"");
    let job = visitor.post("/import", &[("list", LIST), ("url", "")]).await.to();
    let page = ended(&visitor, &job).await;
    page.has("1 source added, and 1 collection made")
        .has("<b>1</b> new")
        .has("<b>0</b> already there")
        .has("<b>1</b> bad");
    page.has("not a &#60;script&#62; url").has("it must begin with http:// or https://; it was left out");
    let report = visitor.get(&format!("{job}/report")).await.is(200);
    assert_eq!(report.header("content-disposition"), "attachment; filename=\"import.tsv\"");
    report.has("line\toutcome\turl\tmessage\n3\tbad\tnot a <script> url\t");
    let again = visitor.post("/import", &[("list", LIST)]).await.to();
    ended(&visitor, &again).await.has("<b>0</b> new").has("<b>1</b> already there").has("/sources/");
}

async fn a_file_is_sent_by_a_script(db: Database) {
    let visitor = Visitor::new(db).await;
    let other = visitor.api.by().create_collection("other").await.unwrap().id;
    let lines: String = (0..1200).map(|n| format!("{{\"url\": \"https://a.example/{n}\"}}\n")).collect();
    let query = format!("name=feeds%20%3Cb%3E.jsonl&collection={other}");
    let job = upload(&visitor, &query, lines.into_bytes(), &visitor.token).await.to();
    ended(&visitor, &job).await.has("<b>1,200</b> new").has("Import of feeds &#60;b&#62;.jsonl");
    upload(&visitor, "name=x", b"{}".to_vec(), "wrong").await.is(403).has("The form is not accepted");
    let large = format!("{}<opml/>", " ".repeat(20 << 20));
    let job = upload(&visitor, "name=large", large.into_bytes(), &visitor.token).await.to();
    ended(&visitor, &job).await.has("<b>0</b> new");
    let too_large = " ".repeat((50 << 20) + 1).into_bytes();
    upload(&visitor, "name=large", too_large, &visitor.token).await.is(413).has("at most 50 MB");
}

async fn a_list_is_fetched(db: Database) {
    let (visitor, server) = (Visitor::new(db).await, Server::start().await);
    server.on("/list", Reply::ok(LIST));
    let url = server.url("/list").to_string();
    let job = visitor.post("/import", &[("url", &url), ("collection", "1")]).await.to();
    ended(&visitor, &job).await.has("1 source added").lacks("collection made");
    let none = server.url("/none").to_string();
    let job = visitor.post("/import", &[("url", &none)]).await.to();
    ended(&visitor, &job).await.has("It could not be imported").has("/none: 404 Not Found.");
}

async fn what_is_no_list_is_told(db: Database) {
    let visitor = Visitor::new(db).await;
    visitor.post("/import", &[]).await.is(422).has("There is nothing to import yet");
    let both = visitor.post("/import", &[("url", "https://a.example/"), ("list", LIST)]).await.is(422);
    both.has("leave one of them empty")
        .has("value=\"https://a.example/\"")
        .has("xmlUrl=&#39;https://a.example/&#39;");
    let bad = visitor.post("/import", &[("url", "gopher://x")]).await.is(422);
    bad.has("aria-invalid=true").has("value=\"gopher://x\"").has("only http and https are polled");
    let job = visitor.post("/import", &[("list", "<html></html>")]).await.to();
    ended(&visitor, &job)
        .await
        .has("It could not be imported")
        .has("lists are OPML, or a JSON object a line");
    visitor
        .post("/import", &[("list", LIST), ("collection", "99")])
        .await
        .is(404)
        .has("collection 99 does not exist");
}

async fn an_import_is_its_makers_and_forgotten_after_an_hour(db: Database) {
    let mut visitor = Visitor::new(db).await;
    let job = visitor.post("/import", &[("list", LIST)]).await.to();
    ended(&visitor, &job).await;
    visitor.api.by().create_user("other", false).await.unwrap();
    let (mine, code) = (visitor.cookie.clone(), visitor.api.service.login_code("other").await.unwrap());
    visitor.log_in(&[("code", code.secret.expose())]).await;
    visitor.get(&job).await.is(404).has("not known any more");
    visitor.cookie = mine;
    visitor.api.clock.advance(Span::from_mins(59));
    visitor.get(&job).await.is(200);
    visitor.api.clock.advance(Span::from_mins(2));
    visitor.get(&job).await.is(404).has("can be looked at for an hour");
}

async fn sources_are_taken_away_as_a_list(db: Database) {
    let visitor = Visitor::new(db).await;
    ended(&visitor, &visitor.post("/import", &[("list", LIST)]).await.to()).await;
    let opml = visitor.get("/export").await.is(200);
    assert_eq!(opml.header("content-disposition"), "attachment; filename=\"gleaner.opml\"");
    opml.has("<outline text=\"News\">");
    visitor.get("/export?format=json").await.is(200).has("\"url\":\"https://a.example/\"");
    visitor.get("/export?format=json&collection=1").await.is(200).lacks("a.example");
    visitor.get("/export?format=yaml").await.is(422).has("there is no format &#39;yaml&#39;");
}
