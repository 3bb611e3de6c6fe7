//! One's own password and sessions.

use askama::Template;
use axum::response::{IntoResponse, Response};
use gleaner_core::time::Time;

use super::Parts;
use crate::config::secret::Secret;
use crate::service::{ServiceError, TokenKind};
use crate::web::dashboard::form_input::FormInput;
use crate::web::dashboard::session::{go, keep_device};
use crate::web::dashboard::words::count;
use crate::web::dashboard::{Oops, Page, Shell, Visit};

#[derive(Template)]
#[template(path = "settings_account.html")]
struct AccountPage {
    shell: Shell,
    parts: Parts,
    has_password: bool,
    sessions: Vec<Session>,
    given: FormInput,
    /// The provider that one can sign in at, where there is one.
    oidc_issuer: Option<String>,
    oidc_connected: bool,
}

/// Somewhere where one is logged in.
struct Session {
    name: String,
    is_this: bool,
    created_at: Time,
    last_used_at: Option<Time>,
    expires_at: Time,
}

pub(super) async fn page(visit: Visit) -> Result<Response, Oops> {
    show(&visit, FormInput::default()).await
}

async fn show(visit: &Visit, given: FormInput) -> Result<Response, Oops> {
    let by = visit.by();
    let me = by.users().await?.into_iter().find(|user| user.id == visit.actor.user_id);
    let sessions = by.tokens(TokenKind::Session).await?;
    let mut sessions: Vec<Session> = sessions
        .into_iter()
        .filter(|token| token.token.expires_at > visit.web.service.now())
        .map(|token| Session {
            is_this: Some(token.id) == visit.actor.token_id,
            name: token.token.name,
            created_at: token.token.created_at,
            last_used_at: token.last_used_at,
            expires_at: token.token.expires_at,
        })
        .collect();
    sessions.sort_by_key(|session| (!session.is_this, std::cmp::Reverse(session.last_used_at)));
    let shell = visit.shell("settings");
    let page = AccountPage {
        parts: Parts::new(&shell, "/settings"),
        has_password: me.as_ref().is_some_and(|user| user.password_hash.is_some()),
        oidc_issuer: visit.web.service.config().oidc.as_ref().map(|oidc| oidc.issuer.clone()),
        oidc_connected: me.is_some_and(|user| user.oidc.is_some()),
        shell,
        sessions,
        given,
    };
    Ok((page.given.status(), Page(page)).into_response())
}

pub(super) async fn set_password(visit: Visit, mut given: FormInput) -> Result<Response, Oops> {
    let secrets = ["current_password", "password", "again"];
    if given.get("password") != given.get("again") {
        given.note("again", "the two are not the same; type both once more");
        return show(&visit, given.without(&secrets)).await;
    }
    let (current, password) = (given.some("current_password"), Secret::new(given.get("password")));
    let current = current.map(|_| Secret::new(given.get("current_password")));
    match visit.by().set_password(&visit.actor.name, current.as_ref(), &password).await {
        Ok(()) => {
            let said = "Your password is set. Your other sessions and what they made are ended.";
            let mut response = go(&visit.web, "/settings", said);
            keep_device(&visit, &mut response)?;
            Ok(response)
        }
        Err(error) => show(&visit, given.without(&secrets).refused_by(error)?).await,
    }
}

pub(super) async fn disconnect_oidc(visit: Visit) -> Result<Response, Oops> {
    visit.by().disconnect_oidc(&visit.actor.name).await?;
    Ok(go(&visit.web, "/settings", "Your account at the provider signs you in no more."))
}

/// Ends one session, or all but this one.
pub(super) async fn log_out(visit: Visit, given: FormInput) -> Result<Response, Oops> {
    if let Some(name) = given.some("name") {
        if !visit.by().revoke_token(TokenKind::Session, name).await? {
            return Err(ServiceError::missing("session", name).into());
        }
        return Ok(go(&visit.web, "/settings", "That session is logged out."));
    }
    let ended = visit.by().log_out_others().await?;
    let said = format!("{} logged out; this one stays.", count(ended, "other session"));
    Ok(go(&visit.web, "/settings", &said))
}
