//! Sign-in by OpenID Connect, against a certified provider that runs beside the test, driven as a browser drives it.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use gleaner::clock::{Clock as _, ManualClock, SystemClock};
use gleaner::service::{AuditFilter, TokenKind};
use gleaner_core::time::Span;
use serde_json::json;
use url::Url;

use super::browser::{Browser, Page};
use crate::api::client::Api;
use crate::api::on_both;
use crate::support::Database;

on_both!(
    an_unknown_account_becomes_a_new_user_where_that_is_set,
    a_user_connects_their_account_and_signs_in_with_it,
    an_admin_connects_an_account,
    answers_that_belong_to_no_sign_in_of_this_browser_are_refused,
    what_the_provider_refuses_is_told,
    clocks_that_differ_are_told,
);

/// What people call gleaner; the test's browser knows where that is.
const PUBLIC: &str = "http://gleaner.example";

/// The provider, in a process of its own.
struct Provider {
    process: Child,
    issuer: String,
}

impl Provider {
    fn start() -> Self {
        let package = std::env::var("OIDC_PROVIDER").expect(
            "OIDC_PROVIDER names the directory of the npm package oidc-provider; scripts/run-tests sets it",
        );
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sign_in/provider.mjs");
        let mut command = Command::new("node");
        command.arg(script).env("OIDC_PROVIDER", package);
        let mut process =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        // It prints warnings about its development keys first.
        let issuer = lines.map_while(Result::ok).find(|line| line.starts_with("http://"));
        Self { process, issuer: issuer.expect("the provider starts") }
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

struct Scene {
    api: Api,
    provider: Provider,
}

impl Scene {
    async fn new(db: Database, more: &[&str]) -> Self {
        let provider = tokio::task::spawn_blocking(Provider::start).await.unwrap();
        let settings = [
            format!("oidc.issuer={}", provider.issuer),
            "oidc.client_id=gleaner".to_owned(),
            "oidc.client_secret=a secret between the two of them".to_owned(),
            format!("api.public_url={PUBLIC}"),
        ];
        let settings: Vec<&str> = settings.iter().map(String::as_str).chain(more.iter().copied()).collect();
        // The provider's tokens are of today.
        let clock = Arc::new(ManualClock::new(SystemClock.now()));
        let api = Api::by_clock(db, &settings, Arc::clone(&clock), clock).await;
        Self { api, provider }
    }

    /// Where a URL really is.
    fn at(&self, url: &Url) -> String {
        match url.as_str().strip_prefix(PUBLIC) {
            Some(rest) => format!("{}{rest}", self.api.base),
            None => url.to_string(),
        }
    }

    /// From the page to log in to the provider and through its own pages; where that sends the browser.
    async fn authorize(&self, browser: &mut Browser, login: &str) -> Url {
        let page = browser.get(&format!("{}/login?next=/sources", self.api.base)).await.is(200);
        let link = page.has("Sign in with OpenID Connect").between("href=\"/login/oidc", "\"");
        let start = browser.get(&format!("{}/login/oidc{link}", self.api.base)).await.is(303);
        self.at_provider(browser, start.to().unwrap(), login).await
    }

    /// Signs in at the provider, and agrees; where it sends the browser back to.
    async fn at_provider(&self, browser: &mut Browser, url: Url, login: &str) -> Url {
        assert!(url.as_str().starts_with(&self.provider.issuer), "{url}");
        let mut url = url;
        for _ in 0..10 {
            let page = browser.get(url.as_str()).await;
            let next = match page.to() {
                Some(next) => next,
                None => {
                    let page = page.is(200);
                    let action = page.url.join(&page.between("action=\"", "\"")).unwrap();
                    let prompt = page.between("name=\"prompt\" value=\"", "\"");
                    let form = [("prompt", prompt.as_str()), ("login", login), ("password", "x")];
                    browser.post(action.as_str(), &form).await.is(303).to().unwrap()
                }
            };
            if next.as_str().starts_with(PUBLIC) {
                return next;
            }
            url = next;
        }
        panic!("the provider leads nowhere: {url}");
    }

    /// Signs in from beginning to end.
    async fn sign_in(&self, browser: &mut Browser, login: &str) -> Page {
        let back = self.authorize(browser, login).await;
        browser.get(&self.at(&back)).await
    }

    async fn audited(&self, action: &str) -> Vec<(String, String)> {
        let filter = AuditFilter { action: Some(action.to_owned()), ..AuditFilter::default() };
        let rows = self.api.by().audit_log(&filter, None, 100).await.unwrap();
        let rows = rows.into_iter().filter(|row| row.entry.action == action);
        rows.map(|row| (row.entry.target_name, row.entry.via)).collect()
    }

    async fn add_user(&self, name: &str) {
        self.api.post("/users", json!({ "name": name })).await.is(201);
    }

    /// A browser in which a user is logged in by a link, with a password set.
    async fn logged_in(&self, user: &str) -> Browser {
        let code = self.api.service.login_code(user).await.unwrap();
        let mut browser = Browser::new();
        let form = [("code", code.secret.expose())];
        browser.post(&format!("{}/login", self.api.base), &form).await.is(303);
        browser
    }

    /// Begins to connect an account: the page that leads to the provider.
    async fn connect(&self, browser: &mut Browser) -> Page {
        let settings = browser.get(&format!("{}/settings", self.api.base)).await.is(200);
        let form = [("form_token", settings.form_token())];
        let form: Vec<(&str, &str)> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
        browser.post(&format!("{}/settings/oidc/connect", self.api.base), &form).await
    }
}

fn unescaped(text: &str) -> Url {
    Url::parse(&text.replace("&#38;", "&").replace("&amp;", "&")).unwrap()
}

async fn an_unknown_account_becomes_a_new_user_where_that_is_set(db: Database) {
    let scene = Scene::new(db, &["oidc.create_users=true"]).await;
    let mut browser = Browser::new();
    let page = scene.sign_in(&mut browser, "sub-ada").await.is(303);
    assert_eq!(page.to().unwrap().path(), "/sources");
    browser.get(&format!("{}/sources", scene.api.base)).await.is(200);
    let ada = scene.api.db.store.user_named("ada").await.unwrap();
    assert!(!ada.is_admin && ada.password_hash.is_none());
    let account = ada.oidc.unwrap();
    assert_eq!((account.issuer, account.subject), (scene.provider.issuer.clone(), "sub-ada".to_owned()));
    assert!(browser.cookie("gleaner_oidc").is_none(), "the sign-in is over");
    // Again, elsewhere: the same user.
    scene.sign_in(&mut Browser::new(), "sub-ada").await.is(303);
    assert_eq!(scene.api.by().users().await.unwrap().len(), 2);
    // A name that somebody has is never taken over.
    let mut other = Browser::new();
    scene.sign_in(&mut other, "admin").await.is(303);
    let admin_2 = scene.api.db.store.user_named("admin 2").await.unwrap();
    assert!(!admin_2.is_admin);
    let page = other.get(&format!("{}/settings", scene.api.base)).await.is(200);
    assert!(page.between("<h2 id=\"oidc\">", "<form").contains("signs you in"));
    let mine = other.get(&format!("{}/settings/users", scene.api.base)).await;
    assert_eq!(mine.status, 403, "no admin");
    assert_eq!(scene.audited("login").await.len(), 2);
    assert_eq!(scene.audited("user.create").await.len(), 2);
}

async fn a_user_connects_their_account_and_signs_in_with_it(db: Database) {
    let scene = Scene::new(db, &[]).await;
    scene.add_user("ada").await;
    // Nobody has that account yet, though one has the name.
    let page = scene.sign_in(&mut Browser::new(), "sub-ada").await.is(401);
    page.has("connected to no user here").has("sub-ada");
    assert_eq!(scene.audited("login.failed").await.len(), 1);
    let mut browser = scene.logged_in("ada").await;
    let page = scene.connect(&mut browser).await.is(200);
    let url = unescaped(&page.between("content=\"0;url=", "\""));
    let back = scene.at_provider(&mut browser, url, "sub-ada").await;
    assert_eq!(browser.get(&scene.at(&back)).await.is(303).to().unwrap().path(), "/settings");
    browser.get(&format!("{}/settings", scene.api.base)).await.is(200).has("signs you in");
    assert_eq!(scene.audited("user.connect").await, [("ada".to_owned(), "session".to_owned())]);
    let mut elsewhere = Browser::new();
    scene.sign_in(&mut elsewhere, "sub-ada").await.is(303);
    assert_eq!(elsewhere.get(&format!("{}/api/openapi.json", scene.api.base)).await.status, 200);
    // The account is one user's alone.
    let mut admin = scene.logged_in("admin").await;
    let page = scene.connect(&mut admin).await.is(200);
    let url = unescaped(&page.between("content=\"0;url=", "\""));
    let back = scene.at_provider(&mut admin, url, "sub-ada").await;
    admin.get(&scene.at(&back)).await.is(303);
    assert!(scene.api.db.store.user_named("admin").await.unwrap().oidc.is_none());
    // Who began to connect must still be there at the end.
    let page = scene.connect(&mut admin).await.is(200);
    let url = unescaped(&page.between("content=\"0;url=", "\""));
    let back = scene.at_provider(&mut admin, url, "sub-grace").await;
    *admin.cookie("gleaner_session").unwrap() = elsewhere.cookie("gleaner_session").unwrap().clone();
    admin.get(&scene.at(&back)).await.is(303);
    assert!(scene.api.db.store.user_named("admin").await.unwrap().oidc.is_none());
    assert_eq!(scene.api.db.store.user_named("ada").await.unwrap().oidc.unwrap().subject, "sub-ada");
    // No other site begins it.
    let foreign = browser.post(&format!("{}/settings/oidc/connect", scene.api.base), &[]).await;
    assert_eq!(foreign.status, 403);
    let settings = browser.get(&format!("{}/settings", scene.api.base)).await;
    let token = settings.form_token();
    let form = [("form_token", token.as_str())];
    browser.post(&format!("{}/settings/oidc/disconnect", scene.api.base), &form).await.is(303);
    scene.sign_in(&mut Browser::new(), "sub-ada").await.is(401);
}

async fn an_admin_connects_an_account(db: Database) {
    let scene = Scene::new(db, &[]).await;
    scene.add_user("ada").await;
    scene.add_user("grace").await;
    let connect = async |name: &str, subject: &str| {
        scene.api.put(&format!("/users/{name}/oidc"), json!({ "subject": subject })).await
    };
    assert_eq!(connect("ada", "sub-ada").await.is(200)["is_connected"], true);
    assert_eq!(connect("grace", "sub-ada").await.problem(409), "oidc_account_taken");
    assert_eq!(connect("nobody", "sub-x").await.problem(404), "not_found");
    for subject in ["", "\u{7}", "é", &"x".repeat(256)] {
        connect("grace", subject).await.problem(422);
    }
    let mut browser = Browser::new();
    scene.sign_in(&mut browser, "sub-ada").await.is(303);
    let user = scene.api.db.store.user_named("ada").await.unwrap();
    assert_eq!(scene.api.db.store.tokens(user.id, TokenKind::Session).await.unwrap().len(), 1);
    scene.api.delete("/users/ada/oidc").await.is(204);
    scene.sign_in(&mut Browser::new(), "sub-ada").await.is(401);
}

async fn answers_that_belong_to_no_sign_in_of_this_browser_are_refused(db: Database) {
    let scene = Scene::new(db, &["oidc.create_users=true"]).await;
    let wrong = "belongs to no sign-in that this browser began";
    let gone = "was not begun in this browser";
    // Another's answer, in a browser that began nothing, and in one that began another.
    let mut ada = Browser::new();
    let back = scene.authorize(&mut ada, "sub-ada").await;
    Browser::new().get(&scene.at(&back)).await.is(401).has(gone);
    let mut other = Browser::new();
    scene.authorize(&mut other, "sub-other").await;
    other.get(&scene.at(&back)).await.is(401).has(wrong);
    // Without a state, and with a mistaken issuer.
    let mut without = back.clone();
    without.set_query(Some("code=x"));
    let mut third = Browser::new();
    scene.authorize(&mut third, "sub-third").await;
    third.get(&scene.at(&without)).await.is(401).has(wrong);
    // What a stranger writes is shown to nobody who did not begin a sign-in.
    let mut injected = back.clone();
    injected.set_query(Some("state=x&error=access_denied&error_description=call+0900"));
    let page = ada.get(&scene.at(&injected)).await.is(401);
    assert!(!page.text.contains("0900"), "{}", page.text);
    // That ended the sign-in: it has to begin anew.
    ada.get(&scene.at(&back)).await.is(401).has(gone);
    // A cookie that was tampered with.
    let back = scene.authorize(&mut ada, "sub-ada").await;
    let cookie = ada.cookie("gleaner_oidc").unwrap();
    let last = if cookie.ends_with('0') { "1" } else { "0" };
    cookie.replace_range(cookie.len() - 1.., last);
    ada.get(&scene.at(&back)).await.is(401).has(gone);
    // An answer that comes too late.
    let back = scene.authorize(&mut ada, "sub-ada").await;
    scene.api.clock.advance(Span::from_mins(11));
    ada.get(&scene.at(&back)).await.is(401).has(gone);
    scene.api.clock.set(SystemClock.now());
    // A code that was used: the cookie is put back, as a thief of both would.
    let back = scene.authorize(&mut ada, "sub-ada").await;
    let pending = ada.cookie("gleaner_oidc").unwrap().clone();
    ada.get(&scene.at(&back)).await.is(303);
    let mut thief = Browser::new().with("cookie", &format!("gleaner_oidc={pending}"));
    thief.get(&scene.at(&back)).await.is(401).has("provider refuses the sign-in: invalid_grant");
    assert_eq!(scene.api.by().users().await.unwrap().len(), 2, "nobody else was let in");
    assert!(!scene.audited("login.failed").await.is_empty());
    // Many from one address are slowed down.
    let mut statuses = Vec::new();
    for _ in 0..40 {
        statuses.push(Browser::new().get(&format!("{}/login/oidc", scene.api.base)).await.status.as_u16());
    }
    assert!(statuses.contains(&429), "{statuses:?}");
}

async fn what_the_provider_refuses_is_told(db: Database) {
    let scene = Scene::new(db, &["oidc.create_users=true"]).await;
    let mut browser = Browser::new();
    // A person who cancels: the provider's own page has a link for it.
    let start = browser.get(&format!("{}/login/oidc", scene.api.base)).await.is(303);
    let page = browser.get(start.to().unwrap().as_str()).await.is(303);
    let page = browser.get(page.to().unwrap().as_str()).await.is(200);
    let abort = page.url.join(&page.between("<a href=\"", "\"")).unwrap();
    let back = browser.get(abort.as_str()).await.is(303).to().unwrap();
    let back = browser.get(back.as_str()).await.is(303).to().unwrap();
    browser.get(&scene.at(&back)).await.is(401).has("denied or cancelled at the provider");
    // A client that the provider has struck off while somebody signs in.
    let back = scene.authorize(&mut browser, "sub-ada").await;
    browser.post(&format!("{}/test/remove-client", scene.provider.issuer), &[]).await.is(200);
    browser.get(&scene.at(&back)).await.is(401).has("provider refuses the sign-in: invalid_client");
    assert!(scene.api.db.store.user_named("ada").await.is_err());
    // A provider that is gone.
    let Scene { api, provider } = scene;
    let issuer = provider.issuer.clone();
    drop(provider);
    api.clock.advance(Span::from_mins(2));
    let page = browser.get(&format!("{}/login/oidc", api.base)).await.is(422);
    page.has(&format!("The OpenID Connect provider {issuer} cannot be used: "));
    assert!(api.by().revoke_token(TokenKind::Api, "all").await.unwrap());
    // A provider on a private address that is not open.
    let closed = Scene::new(api.db.share(), &["fetch.allow_private_networks=[]"]).await;
    let issuer = &closed.provider.issuer;
    let page = browser.get(&format!("{}/login/oidc", closed.api.base)).await.is(422);
    page.has(&format!("The OpenID Connect provider {issuer} cannot be used: "));
}

async fn clocks_that_differ_are_told(db: Database) {
    let scene = Scene::new(db, &["oidc.create_users=true"]).await;
    for hours in [2_i64, -2] {
        let now = SystemClock.now();
        let span = Span::from_hours(2);
        scene.api.clock.set(if hours > 0 { now + span } else { now - span });
        let page = scene.sign_in(&mut Browser::new(), "sub-ada").await.is(401);
        page.has("the clocks of the provider and of gleaner differ");
    }
    scene.api.clock.set(SystemClock.now() + Span::from_mins(1));
    let mut browser = Browser::new();
    scene.sign_in(&mut browser, "sub-ada").await.is(303);
    browser.get(&format!("{}/sources", scene.api.base)).await.is(200);
}
