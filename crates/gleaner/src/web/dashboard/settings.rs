//! Settings: one's own account and what lets in, collections, webhooks, and for admins the users. One file a part.

mod about;
mod account;
mod audit;
mod collections;
mod feeds;
mod keys;
mod tokens;
mod users;

use axum::Router;
use axum::http::HeaderMap;
use axum::http::header::HOST;
use axum::routing::{get, post};
use gleaner_core::time::Time;

use super::Shell;
use crate::service::Token;
use crate::web::Web;

pub(super) fn routes() -> Router<Web> {
    let routes = Router::new();
    #[cfg(feature = "oidc")]
    let routes = routes.route("/settings/oidc/connect", post(super::oidc::connect));
    routes
        .route("/settings/oidc/disconnect", post(account::disconnect_oidc))
        .route("/settings", get(account::page).post(account::set_password))
        .route("/settings/sessions", post(account::log_out))
        .route("/settings/tokens", get(tokens::page).post(tokens::make))
        .route("/settings/tokens/revoke", post(tokens::revoke))
        .route("/settings/feeds", get(feeds::page).post(feeds::make))
        .route("/settings/feeds/revoke", post(feeds::revoke))
        .route("/settings/keys", get(keys::page).post(keys::set))
        .route("/settings/keys/remove", post(keys::remove))
        .route("/settings/collections", get(collections::page).post(collections::make))
        .route("/settings/collections/{id}", post(collections::edit))
        .route("/settings/collections/{id}/delete", post(collections::delete))
        .route("/settings/users", get(users::page).post(users::make))
        .route("/settings/users/link", post(users::link))
        .route("/settings/users/admin", post(users::set_admin))
        .route("/settings/users/delete", post(users::delete))
        .route("/settings/audit", get(audit::page))
        .route("/settings/about", get(about::page))
}

/// The parts of the settings, and which of them is here.
pub(super) struct Parts {
    here: &'static str,
    is_admin: bool,
}

const PARTS: [(&str, &str, bool); 9] = [
    ("/settings", "Account", false),
    ("/settings/collections", "Collections", false),
    ("/settings/tokens", "API tokens", false),
    ("/settings/feeds", "Output feeds", false),
    ("/settings/keys", "X keys", false),
    ("/settings/webhooks", "Webhooks", false),
    ("/settings/users", "Users", true),
    ("/settings/audit", "Audit log", true),
    ("/settings/about", "About", false),
];

impl Parts {
    pub(super) const fn new(shell: &Shell, here: &'static str) -> Self {
        Self { here, is_admin: shell.is_admin }
    }

    /// Path, title, and whether that is here; those for admins only where that is one.
    pub(super) fn all(&self) -> impl Iterator<Item = (&'static str, &'static str, bool)> {
        let seen = PARTS.into_iter().filter(|(_, _, for_admins)| self.is_admin || !for_admins);
        seen.map(|(path, title, _)| (path, title, path == self.here))
    }
}

/// Where people reach this: as config says, else as they did just now.
pub(super) fn base(web: &Web, headers: &HeaderMap) -> String {
    if let Some(url) = &web.service.config().api.public_url {
        return url.as_str().trim_end_matches('/').to_owned();
    }
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or("localhost");
    format!("http://{host}")
}

/// A token in a list, without what lets in.
struct ShownToken {
    name: String,
    scopes: String,
    /// How many collections it is limited to.
    limited_to: Option<usize>,
    created_at: Time,
    expires_at: Time,
    last_used_at: Option<Time>,
}

impl From<Token> for ShownToken {
    fn from(Token { token, last_used_at, .. }: Token) -> Self {
        let (created_at, expires_at) = (token.created_at, token.expires_at);
        let limited_to = token.collection_ids.map(|ids| ids.len());
        Self { name: token.name, scopes: token.scopes, limited_to, created_at, expires_at, last_used_at }
    }
}
