//! Settings: what lets in, and what belongs to whom.

use gleaner::config::secret::Secret;
use gleaner::service::TokenKind;
use gleaner_core::time::Span;
use reqwest::Method;

use super::{Visitor, on_both};
use crate::support::Database;

on_both!(
    a_password_is_set_and_lets_in,
    other_sessions_are_ended,
    a_password_is_changed_with_the_current_one,
    a_form_waits_until_its_sender_has_confirmed,
    who_has_no_password_confirms_by_a_login_link,
    a_token_is_shown_once_and_revoked,
    feeds_are_read_by_a_token_in_their_address,
    keys_are_set_and_never_shown,
    collections_are_made_changed_and_deleted,
    admins_manage_users,
    others_do_not_see_users,
    what_people_name_things_is_only_text,
);

async fn a_password_is_set_and_lets_in(db: Database) {
    let mut visitor = Visitor::new(db).await;
    visitor.get("/settings").await.is(200).has("You have none yet");
    let short = visitor.post("/settings", &[("password", "short"), ("again", "short")]).await.is(422);
    short.has("A password has at least 10 characters.").has("aria-invalid=true").lacks("value=\"short\"");
    let other = visitor.post("/settings", &[("password", "correct horse"), ("again", "correct hose")]).await;
    other.is(422).has("The two are not the same").lacks("correct horse");
    let form = [("password", "correct horse"), ("again", "correct horse")];
    visitor.done("/settings", &form, "Your password is set.").await.has("have a password").lacks("none yet");
    visitor.log_in(&[("name", "admin"), ("password", "correct horse")]).await;
}

async fn a_password_is_changed_with_the_current_one(db: Database) {
    let mut visitor = Visitor::new(db).await;
    let first = (visitor.cookie.clone(), visitor.token.clone());
    let form = [("password", "correct horse"), ("again", "correct horse")];
    visitor.done("/settings", &form, "Your password is set.").await.has("Current password");
    visitor.log_in(&[("name", "admin"), ("password", "correct horse")]).await;
    let form = [("password", "another horse"), ("again", "another horse")];
    visitor.post("/settings", &form).await.is(422).has("Your current password is needed to set a new one.");
    let with = |current: &'static str| [form[0], form[1], ("current_password", current)];
    let wrong = visitor.post("/settings", &with("wrong horse")).await.is(422);
    wrong.has("This is not your current password.").lacks("value=\"wrong horse\"");
    visitor.done("/settings", &with("correct horse"), "Your other sessions").await;
    let here = visitor.post("/settings", &with("correct horse")).await;
    here.is(422);
    (visitor.cookie, visitor.token) = first;
    assert!(visitor.get("/settings").await.to().starts_with("/login"), "the other browser is logged out");
}

async fn a_form_waits_until_its_sender_has_confirmed(db: Database) {
    let mut visitor = Visitor::new(db).await;
    let password = Secret::new("correct horse");
    visitor.api.by().set_password("admin", None, &password).await.unwrap();
    for name in ["ada \"<b>", "bo"] {
        visitor.api.by().create_user(name, false).await.unwrap();
    }
    visitor.log_in(&[("name", "admin"), ("password", "correct horse")]).await;
    visitor.api.clock.advance(Span::from_mins(16));
    let form = [("name", "ada \"<b>"), ("is_admin", "true")];
    let asked = visitor.post("/settings/users/admin", &form).await.is(403);
    asked
        .has("Confirm who you are before you change who is an admin")
        .has("action=\"/settings/users/admin\"");
    asked.has("name=\"name\" value=\"ada &#34;&#60;b&#62;\"").has("name=\"is_admin\" value=\"true\"");
    assert_eq!(
        asked.html.matches("name=\"form_token\"").count(),
        2,
        "of this form, and of the one that logs out"
    );
    let with = |proof: &'static str| [form[0], form[1], ("confirm_password", proof)];
    let wrong = visitor.post("/settings/users/admin", &with("wrong horse")).await.is(422);
    wrong.has("This is not your current password.").lacks("wrong horse").has("value=\"true\"");
    assert!(!visitor.api.db.store.user_named("ada \"<b>").await.unwrap().is_admin, "nothing is done yet");
    visitor.done("/settings/users/admin", &with("correct horse"), "is an admin now.").await;
    // The proof holds for a while, for whatever is done next.
    visitor.done("/settings/users/delete", &[("name", "bo")], "bo is gone").await;
    visitor.api.clock.advance(Span::from_mins(16));
    visitor.post("/settings/users/link", &[("name", "admin")]).await.is(403).has("make a login link");
    visitor.post("/settings/users", &[("name", "eve")]).await.is(403).has("add a user");
    let bulk = visitor.post("/sources/bulk", &[("action", "delete"), ("id", "1"), ("sure", "1")]).await;
    bulk.is(403).has("delete sources in bulk").has("name=\"sure\" value=\"1\"");
    // Six wrong proofs are one too many.
    for _ in 0..5 {
        visitor.post("/settings/users/admin", &with("wrong horse")).await.is(422);
    }
    visitor.post("/settings/users/admin", &with("correct horse")).await.is(429);
    let rows = visitor.api.get("/audit?action=session.confirm").await;
    assert_eq!(rows.is(200)["items"].as_array().unwrap().len(), 1);
}

async fn who_has_no_password_confirms_by_a_login_link(db: Database) {
    let visitor = Visitor::new(db).await;
    visitor.api.by().create_user("ada", false).await.unwrap();
    visitor.api.clock.advance(Span::from_mins(16));
    let asked = visitor.post("/settings/users/delete", &[("name", "ada")]).await.is(403);
    asked.has("gleaner user link admin").has("name=\"confirm_link\"").lacks("confirm_password");
    let hers = visitor.api.service.login_code("ada").await.unwrap();
    let form = |link: &str| [("name", "ada".to_owned()), ("confirm_link", link.to_owned())];
    let post = async |link: &str| {
        let form = form(link);
        let form: Vec<(&str, &str)> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
        visitor.post("/settings/users/delete", &form).await
    };
    post(hers.secret.expose()).await.is(422).has("another user");
    let code = visitor.api.service.login_code("admin").await.unwrap();
    let link = format!("{}/login?code={}", visitor.api.base, code.secret.expose());
    assert_eq!(post(&link).await.to(), "/settings/users");
    assert!(visitor.api.db.store.user_named("ada").await.is_err());
    visitor.api.by().create_user("ada", false).await.unwrap();
    visitor.api.clock.advance(Span::from_mins(16));
    post(&link).await.is(422).has("This link was used already");
}

async fn other_sessions_are_ended(db: Database) {
    let mut visitor = Visitor::new(db).await;
    let first = (visitor.cookie.clone(), visitor.token.clone());
    for _ in 0..2 {
        let code = visitor.api.service.login_code("admin").await.unwrap();
        visitor.log_in(&[("code", code.secret.expose())]).await;
    }
    let page = visitor.get("/settings").await;
    assert_eq!(page.html.matches("this browser").count(), 1);
    assert_eq!(page.html.matches(">Log out</button></form></td>").count(), 2);
    let name = page.between("name=\"name\" value=\"", "\"").to_owned();
    visitor.done("/settings/sessions", &[("name", &name)], "That session is logged out.").await;
    visitor.done("/settings/sessions", &[], "1 other session logged out; this one stays.").await;
    assert_eq!(visitor.api.by().tokens(TokenKind::Session).await.unwrap().len(), 1);
    (visitor.cookie, visitor.token) = first;
    assert!(visitor.get("/settings").await.to().starts_with("/login"));
}

async fn a_token_is_shown_once_and_revoked(db: Database) {
    let visitor = Visitor::new(db).await;
    let form = [("name", "reader <b>"), ("scopes", "read"), ("days", "30")];
    let made = visitor.post("/settings/tokens", &form).await.is(200);
    made.has("It is shown this once").has("The token reader &#60;b&#62;");
    let secret = made.between("readonly value=\"", "\"").to_owned();
    let bearer = format!("Bearer {secret}");
    let headers = [("authorization", bearer.as_str())];
    let ask = || visitor.api.ask(Method::GET, "/api/v1/sources", None, &headers);
    ask().await.is(200);
    visitor.get("/settings/tokens").await.is(200).has("reader &#60;b&#62;").lacks(&secret);
    let again = visitor.post("/settings/tokens", &form).await.is(422);
    again.has("There is a token of that name already; choose another.").has("value=\"reader &#60;b&#62;\"");
    again.has("<option value=\"30\" selected>");
    let empty =
        visitor.post("/settings/tokens", &[("name", " "), ("scopes", "all"), ("days", "0")]).await.is(422);
    empty.has("A token lasts 1 to 3650 days.").has("Choose what it may do.");
    visitor
        .post("/settings/tokens", &[("name", ""), ("scopes", "read"), ("days", "7")])
        .await
        .is(422)
        .has("A name has 1 to 100 characters.");
    visitor
        .done("/settings/tokens/revoke", &[("name", "reader <b>")], "lets nobody in any more")
        .await
        .lacks("<b>reader");
    ask().await.problem(401);
    visitor.post("/settings/tokens/revoke", &[("name", "nobody")]).await.is(404);
}

async fn feeds_are_read_by_a_token_in_their_address(db: Database) {
    let visitor = Visitor::new(db).await;
    visitor.api.by().create_collection("a/b & c").await.unwrap();
    visitor
        .get("/settings/feeds")
        .await
        .is(200)
        .has("/feeds/default.atom?token=TOKEN")
        .has("/feeds/events.atom?token=TOKEN");
    let made = visitor.post("/settings/feeds", &[("name", "phone")]).await.is(200);
    made.has("shown this once");
    let urls: Vec<String> = made
        .html
        .split("readonly value=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .map(|url| url.replace("&#38;", "&"))
        .collect();
    assert_eq!(urls.len(), 5, "{urls:?}");
    for url in &urls {
        assert_eq!(read(&visitor, url).await, 200, "{url}");
    }
    let said = "Feeds are not read by the token phone any more.";
    visitor.done("/settings/feeds/revoke", &[("name", "phone")], said).await;
    assert_eq!(read(&visitor, &urls[0]).await, 404);
}

/// What a feed reader gets.
async fn read(visitor: &Visitor, url: &str) -> u16 {
    let path = url.strip_prefix(&visitor.api.base).unwrap();
    visitor.api.ask(Method::GET, path, None, &[]).await.status
}

async fn keys_are_set_and_never_shown(db: Database) {
    let visitor = Visitor::new(db).await;
    visitor.get("/settings/keys").await.is(200).has("no key yet");
    let bad = visitor.post("/settings/keys", &[("service", "x"), ("key", "two words")]).await.is(422);
    bad.has("A key is up to 4096 letters").lacks("two words");
    visitor
        .post("/settings/keys", &[("service", "fax"), ("key", "abc")])
        .await
        .is(422)
        .has("is no service that takes a key");
    let set =
        visitor.done("/settings/keys", &[("service", "x"), ("key", "s3cret-key")], "Your key is set.").await;
    set.has("Remove the key").lacks("s3cret-key").lacks("no key yet");
    visitor
        .done("/settings/keys/remove", &[("service", "x")], "Your key is removed.")
        .await
        .has("no key yet");
}

async fn collections_are_made_changed_and_deleted(db: Database) {
    let visitor = Visitor::new(db).await;
    visitor.api.by().create_user("ada", false).await.unwrap();
    visitor
        .done("/settings/collections", &[("name", "News")], "The collection News is made, and yours.")
        .await;
    let twice = visitor.post("/settings/collections", &[("name", "News")]).await.is(422);
    twice
        .has("There is a collection of that name already; choose another.")
        .has("value=\"News\" autocomplete");
    let id =
        visitor.api.by().collections().await.unwrap().into_iter().find(|one| one.name == "News").unwrap().id;
    let path = format!("/settings/collections/{id}");
    let changed =
        visitor.done(&path, &[("name", "Olds"), ("owner", "ada")], "The collection Olds is changed.").await;
    changed.has("owned by ada");
    let taken = visitor.post(&path, &[("name", "default"), ("owner", "ada")]).await.is(422);
    taken.has("<details class=\"edit\" open>").has("value=\"default\"");
    visitor
        .post(&path, &[("name", "Olds"), ("owner", "nobody")])
        .await
        .is(422)
        .has("There is no user nobody.");
    let fields =
        gleaner::service::SourceFields { url: Some("https://a.example/".into()), ..Default::default() };
    visitor.api.by().create_source(&fields, gleaner::service::Checks::default()).await.unwrap();
    let held = visitor.post("/settings/collections/1/delete", &[]).await.is(409);
    held.has("cannot be deleted: it holds sources.");
    visitor.done(&format!("{path}/delete"), &[], "The collection Olds is gone.").await;
    visitor.post(&format!("{path}/delete"), &[]).await.is(404);
}

async fn admins_manage_users(db: Database) {
    let mut visitor = Visitor::new(db).await;
    let made = visitor.post("/settings/users", &[("name", "ada")]).await.is(200);
    made.has("A link for ada");
    let link = made.between("readonly value=\"", "\"").to_owned();
    let code = link.split_once("/login?code=").unwrap().1.to_owned();
    visitor.get("/settings/users").await.is(200).has("ada").has("none yet").lacks(&code);
    visitor
        .post("/settings/users", &[("name", "ada")])
        .await
        .is(422)
        .has("There is a user of that name already");
    let last =
        visitor.post("/settings/users/admin", &[("name", "admin"), ("is_admin", "false")]).await.is(409);
    last.has("Admin is the last admin; make another one first.");
    visitor
        .done("/settings/users/admin", &[("name", "ada"), ("is_admin", "true")], "ada is an admin now.")
        .await;
    visitor.log_in(&[("code", &code)]).await;
    visitor.get("/settings").await.has("<span class=\"me\">ada</span>").has("/settings/users");
    let again = visitor.post("/settings/users/link", &[("name", "admin")]).await.is(200);
    again.has("/login?code=");
    visitor.post("/settings/users/delete", &[("name", "admin")]).await.is(409).has("it owns a collection");
    visitor
        .done("/settings/users/admin", &[("name", "ada"), ("is_admin", "false")], "ada is no admin any more.")
        .await
        .lacks("/settings/users");
    let code = visitor.api.service.login_code("admin").await.unwrap();
    visitor.log_in(&[("code", code.secret.expose())]).await;
    visitor.done("/settings/users/delete", &[("name", "ada")], "ada is gone").await;
}

async fn others_do_not_see_users(db: Database) {
    let mut visitor = Visitor::new(db).await;
    visitor.api.by().create_user("ada", false).await.unwrap();
    let code = visitor.api.service.login_code("ada").await.unwrap();
    visitor.log_in(&[("code", code.secret.expose())]).await;
    visitor.get("/settings").await.is(200).lacks("/settings/users");
    visitor.get("/settings/users").await.is(403).has("ada is no admin");
    visitor.post("/settings/users", &[("name", "eve")]).await.is(403);
    visitor.post("/settings/users/link", &[("name", "admin")]).await.is(403);
    visitor.post("/settings/users/admin", &[("name", "ada"), ("is_admin", "true")]).await.is(403);
    visitor.post("/settings/users/delete", &[("name", "admin")]).await.is(403);
}

async fn what_people_name_things_is_only_text(db: Database) {
    let visitor = Visitor::new(db).await;
    let hostile = "\"><script>alert(1)</script>";
    let by = visitor.api.by();
    by.create_user(hostile, false).await.unwrap();
    by.create_collection(hostile).await.unwrap();
    by.create_feed_token(hostile).await.unwrap();
    for path in ["/settings/users", "/settings/collections", "/settings/feeds", "/posts", "/import"] {
        visitor.get(path).await.is(200).has("&#60;script&#62;alert(1)").lacks("<script>alert");
    }
    for path in ["/settings/tokens", "/settings/webhooks", "/settings/collections"] {
        let form = [
            ("name", hostile),
            ("url", hostile),
            ("events", hostile),
            ("days", hostile),
            ("scopes", hostile),
        ];
        visitor.post(path, &form).await.is(422).has("&#60;script&#62;alert(1)").lacks("<script>alert");
    }
}
