//! A source's page, its form, and adding one: over real HTTP, as a browser without script sends it.

mod adding;
mod editing;
mod looking;

use super::on_both;
use crate::api::client::Api;
use crate::support::http::{Reply, Server};
use crate::support::{Database, new_feed};

const FEED: &str = "<rss version='2.0'><channel><title>The letter</title><item><guid>1</guid><title>One</title>\
    <link>https://a.example/1</link><description>Text one</description></item></channel></rss>";

/// An answer, as far as a person sees it.
struct Seen {
    status: u16,
    location: Option<String>,
    text: String,
}

impl Seen {
    /// The text, where the status is as expected.
    #[track_caller]
    fn is(&self, status: u16) -> &str {
        assert_eq!(self.status, status, "{}", self.text);
        &self.text
    }

    #[track_caller]
    fn shows(&self, parts: &[&str]) {
        for part in parts {
            assert!(self.text.contains(part), "'{part}' is not in\n{}", self.text);
        }
    }

    #[track_caller]
    fn lacks(&self, parts: &[&str]) {
        for part in parts {
            assert!(!self.text.contains(part), "'{part}' is in\n{}", self.text);
        }
    }

    /// The value of a hidden field.
    fn hidden(&self, name: &str) -> String {
        let mark = format!("name=\"{name}\" value=\"");
        let value = self.text.split(&mark).nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
        value.replace("&#34;", "\"").replace("&#38;", "&").replace("&#60;", "<").replace("&#39;", "'")
    }
}

/// Somebody at a browser.
struct Person {
    api: Api,
    world: Server,
    client: reqwest::Client,
    cookie: String,
    form_token: String,
}

impl Person {
    /// Logged in by a link.
    async fn new(db: Database) -> Self {
        let (api, world) = (Api::new(db).await, Server::start().await);
        world.on("/feed", Reply::ok(FEED));
        #[expect(clippy::disallowed_methods, reason = "a client of the dashboard, not of the world")]
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .unwrap();
        let mut person = Self { api, world, client, cookie: String::new(), form_token: String::new() };
        let code = person.api.service.login_code("admin").await.unwrap().secret;
        let request = person.client.post(person.at("/login")).header("content-type", FORM);
        let response = request.body(encoded(&[("code", code.expose())])).send().await.unwrap();
        let cookie = response.headers()["set-cookie"].to_str().unwrap();
        person.cookie = cookie.split(';').next().unwrap().to_owned();
        person.form_token = person.get("/add").await.hidden("form_token");
        person
    }

    fn at(&self, path: &str) -> String {
        format!("{}{path}", self.api.base)
    }

    async fn get(&self, path: &str) -> Seen {
        seen(self.client.get(self.at(path)).header("cookie", &self.cookie)).await
    }

    /// Sends a form of ours.
    async fn send(&self, path: &str, fields: &[(&str, &str)]) -> Seen {
        let fields: Vec<(&str, &str)> =
            fields.iter().copied().chain([("form_token", self.form_token.as_str())]).collect();
        self.send_as_it_is(path, &fields).await
    }

    async fn send_as_it_is(&self, path: &str, fields: &[(&str, &str)]) -> Seen {
        let request = self.client.post(self.at(path)).header("cookie", &self.cookie);
        seen(request.header("content-type", FORM).body(encoded(fields))).await
    }

    /// Sends a form, and says what the next page says of it.
    async fn told(&mut self, path: &str, fields: &[(&str, &str)]) -> Seen {
        let fields: Vec<(&str, &str)> =
            fields.iter().copied().chain([("form_token", self.form_token.as_str())]).collect();
        let request = self.client.post(self.at(path)).header("cookie", &self.cookie);
        let response = request.header("content-type", FORM).body(encoded(&fields)).send().await.unwrap();
        assert_eq!(response.status(), 303);
        let to = response.headers()["location"].to_str().unwrap().to_owned();
        let said = response.headers()["set-cookie"].to_str().unwrap();
        let cookies = format!("{}; {}", self.cookie, said.split(';').next().unwrap());
        let next = seen(self.client.get(self.at(&to)).header("cookie", cookies)).await;
        Seen { location: Some(to), ..next }
    }

    async fn add(&self, path: &str) -> i64 {
        let new = new_feed(self.world.url(path));
        self.api.by().add(&new).await.unwrap().id
    }
}

const FORM: &str = "application/x-www-form-urlencoded";

fn encoded(fields: &[(&str, &str)]) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}

async fn seen(request: reqwest::RequestBuilder) -> Seen {
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let location = response.headers().get("location").map(|to| to.to_str().unwrap().to_owned());
    Seen { status, location, text: response.text().await.unwrap() }
}
