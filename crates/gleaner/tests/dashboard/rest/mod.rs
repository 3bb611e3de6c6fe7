//! Posts, policies, imports and settings on the dashboard, over real HTTP, as a browser without script uses them.

mod import;
mod policies;
mod posts;
mod settings;
mod webhooks;

use reqwest::header::{COOKIE, LOCATION, SET_COOKIE};

use super::on_both;
use crate::api::client::Api;
use crate::support::Database;

on_both!(
    nobody_is_let_in_without_a_session,
    forms_without_a_token_change_nothing,
    the_api_is_shown_with_a_session
);

/// Somebody with a browser.
struct Visitor {
    api: Api,
    client: reqwest::Client,
    cookie: String,
    token: String,
}

/// A page.
#[derive(Debug)]
struct Seen {
    status: u16,
    headers: reqwest::header::HeaderMap,
    html: String,
}

impl Seen {
    #[track_caller]
    fn is(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.html);
        self
    }

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

    fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// Where it leads on to.
    #[track_caller]
    fn to(&self) -> String {
        assert_eq!(self.status, 303, "{}", self.html);
        self.header(LOCATION.as_str()).to_owned()
    }

    /// What stands between two texts, for the first time.
    #[track_caller]
    fn between(&self, before: &str, after: &str) -> &str {
        let (_, rest) =
            self.html.split_once(before).unwrap_or_else(|| panic!("no {before:?} in:\n{}", self.html));
        rest.split_once(after).map_or(rest, |(text, _)| text)
    }
}

impl Visitor {
    async fn new(db: Database) -> Self {
        let api = Api::new(db).await;
        Self::over(api, "admin").await
    }

    /// Somebody who logs in by a link.
    async fn over(api: Api, user: &str) -> Self {
        let code = api.service.login_code(user).await.unwrap();
        let mut visitor = Self { api, client: client(), cookie: String::new(), token: String::new() };
        visitor.log_in(&[("code", code.secret.expose())]).await;
        visitor
    }

    /// Logs in anew, in another browser.
    async fn log_in(&mut self, form: &[(&str, &str)]) {
        let answer = self.client.post(format!("{}/login", self.api.base)).body(encoded(form));
        let answer = answer.header("content-type", "application/x-www-form-urlencoded").send().await.unwrap();
        assert_eq!(answer.status(), 303, "{}", answer.text().await.unwrap());
        let cookies = answer.headers().get_all(SET_COOKIE).iter().filter_map(|value| value.to_str().ok());
        let session = cookies
            .filter_map(|cookie| cookie.split(';').next())
            .find(|one| one.starts_with("gleaner_session="));
        self.cookie = session.unwrap().to_owned();
        let page = self.get("/settings").await.is(200);
        self.token = page.between("name=\"form_token\" value=\"", "\"").to_owned();
    }

    async fn get(&self, path: &str) -> Seen {
        seen(self.client.get(format!("{}{path}", self.api.base)).header(COOKIE, &self.cookie)).await
    }

    /// Sends a form with its token.
    async fn post(&self, path: &str, form: &[(&str, &str)]) -> Seen {
        let with_token: Vec<(&str, &str)> =
            [("form_token", self.token.as_str())].into_iter().chain(form.iter().copied()).collect();
        self.send(path, &with_token).await
    }

    async fn send(&self, path: &str, form: &[(&str, &str)]) -> Seen {
        let request = self.client.post(format!("{}{path}", self.api.base)).header(COOKIE, &self.cookie);
        seen(request.header("content-type", "application/x-www-form-urlencoded").body(encoded(form))).await
    }

    /// Sends a form that is carried out, and follows to the page that says so.
    async fn done(&self, path: &str, form: &[(&str, &str)], said: &str) -> Seen {
        let answer = self.post(path, form).await;
        let cookies = answer.headers.get_all(SET_COOKIE).iter().filter_map(|value| value.to_str().ok());
        let word = cookies
            .filter_map(|cookie| cookie.split(';').next())
            .find(|one| one.starts_with("gleaner_said="));
        let word = word.unwrap_or_else(|| panic!("nothing is said by {answer:?}")).to_owned();
        let request = self.client.get(format!("{}{}", self.api.base, answer.to()));
        let page = seen(request.header(COOKIE, format!("{}; {word}", self.cookie))).await.is(200);
        page.has(said);
        page
    }
}

fn client() -> reqwest::Client {
    #[expect(clippy::disallowed_methods, reason = "a browser of the dashboard, not of the world")]
    let builder = reqwest::Client::builder();
    builder.no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap()
}

fn encoded(form: &[(&str, &str)]) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish()
}

async fn seen(request: reqwest::RequestBuilder) -> Seen {
    let answer = request.send().await.unwrap();
    let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
    Seen { status, headers, html: answer.text().await.unwrap() }
}

const PAGES: [&str; 14] = [
    "/posts",
    "/posts/1",
    "/policies",
    "/import",
    "/import/abc",
    "/export",
    "/settings",
    "/settings/tokens",
    "/settings/feeds",
    "/settings/keys",
    "/settings/collections",
    "/settings/webhooks",
    "/settings/users",
    "/api",
];

async fn nobody_is_let_in_without_a_session(db: Database) {
    let mut visitor = Visitor::new(db).await;
    visitor.cookie = "gleaner_session=nonsense".to_owned();
    for path in PAGES {
        let to = visitor.get(path).await.to();
        assert!(to.starts_with("/login?next="), "{path}: {to}");
    }
    assert_eq!(visitor.send("/settings/tokens", &[("name", "x")]).await.to(), "/login");
}

async fn forms_without_a_token_change_nothing(db: Database) {
    let visitor = Visitor::new(db).await;
    let forms = [
        "/import",
        "/settings",
        "/settings/sessions",
        "/settings/tokens",
        "/settings/feeds",
        "/settings/keys",
        "/settings/collections",
        "/settings/users",
        "/settings/webhooks",
    ];
    for path in forms {
        for token in ["", "0123456789abcdef"] {
            let form = [("form_token", token), ("name", "sneaky"), ("url", "https://a.example/")];
            visitor.send(path, &form).await.is(403).has("The form is not accepted");
        }
    }
    let by = visitor.api.by();
    assert!(by.users().await.unwrap().iter().all(|user| user.name != "sneaky"));
    assert!(by.collections().await.unwrap().iter().all(|one| one.name != "sneaky"));
    assert!(by.webhooks().await.unwrap().is_empty());
}

async fn the_api_is_shown_with_a_session(db: Database) {
    let visitor = Visitor::new(db).await;
    visitor.get("/settings/about").await.is(200).has("href=\"/api\"").has(env!("CARGO_PKG_VERSION"));
    let page = visitor.get("/api").await.is(200);
    page.has("href='/api/openapi.json'").has("/api/v1/sources");
    let document = visitor.get("/api/openapi.json").await.is(200);
    assert_eq!(document.header("content-type"), "application/json");
    document.has("\"openapi\":\"3.1");
    visitor.get("/posts/abc").await.is(404).has("There is nothing at /posts/abc");
}
