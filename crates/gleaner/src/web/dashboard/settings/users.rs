//! Users, for admins: made, let in by a link, made admins, deleted.

use askama::Template;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use gleaner_core::time::Time;

use super::{Parts, base};
use crate::service::User;
use crate::web::dashboard::form_input::FormInput;
use crate::web::dashboard::session::go;
use crate::web::dashboard::{Oops, Page, Shell, Visit};

#[derive(Template)]
#[template(path = "settings_users.html")]
struct UsersPage {
    shell: Shell,
    parts: Parts,
    users: Vec<User>,
    me: i64,
    made: Option<Link>,
    given: FormInput,
}

/// A link that was made just now.
struct Link {
    user: String,
    url: String,
    expires_at: Time,
}

pub(super) async fn page(visit: Visit) -> Result<Response, Oops> {
    show(&visit, FormInput::default(), None).await
}

async fn show(visit: &Visit, given: FormInput, made: Option<Link>) -> Result<Response, Oops> {
    visit.actor.must_manage()?;
    let users = visit.by().users().await?;
    let shell = visit.shell("settings");
    let (parts, me) = (Parts::new(&shell, "/settings/users"), visit.actor.user_id);
    let page = UsersPage { parts, shell, users, me, made, given };
    Ok((page.given.status(), Page(page)).into_response())
}

/// Makes a user, and the link that lets them in.
pub(super) async fn make(visit: Visit, headers: HeaderMap, given: FormInput) -> Result<Response, Oops> {
    match visit.by().create_user(given.get("name"), given.has("is_admin")).await {
        Ok(user) => {
            let link = make_link(&visit, &headers, &user.name).await?;
            show(&visit, FormInput::default(), Some(link)).await
        }
        Err(error) => show(&visit, given.refused_by(error)?, None).await,
    }
}

pub(super) async fn link(visit: Visit, headers: HeaderMap, given: FormInput) -> Result<Response, Oops> {
    let link = make_link(&visit, &headers, given.get("name")).await?;
    show(&visit, FormInput::default(), Some(link)).await
}

async fn make_link(visit: &Visit, headers: &HeaderMap, user: &str) -> Result<Link, Oops> {
    let granted = visit.by().make_login_code(user).await?;
    let url = format!("{}/login?code={}", base(&visit.web, headers), granted.secret.expose());
    Ok(Link { user: user.to_owned(), url, expires_at: granted.expires_at })
}

pub(super) async fn set_admin(visit: Visit, given: FormInput) -> Result<Response, Oops> {
    let (name, is_admin) = (given.get("name").to_owned(), given.get("is_admin") == "true");
    match visit.by().set_admin(&name, is_admin).await {
        Ok(()) => {
            let said = if is_admin { "is an admin now" } else { "is no admin any more" };
            // Who is no admin any more does not see users.
            let to = if name == visit.actor.name && !is_admin { "/settings" } else { "/settings/users" };
            Ok(go(&visit.web, to, &format!("{name} {said}.")))
        }
        Err(error) => show(&visit, FormInput::default().refused_by(error)?, None).await,
    }
}

pub(super) async fn delete(visit: Visit, given: FormInput) -> Result<Response, Oops> {
    let name = given.get("name").to_owned();
    match visit.by().delete_user(&name).await {
        Ok(()) => {
            Ok(go(&visit.web, "/settings/users", &format!("{name} is gone, with all that let them in.")))
        }
        Err(error) => show(&visit, FormInput::default().refused_by(error)?, None).await,
    }
}
