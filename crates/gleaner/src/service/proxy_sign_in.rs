//! Sign-in by a header of a trusted reverse proxy. Who is trusted is decided before, from the connection.
//!
//! A user has one session for each network that they come from, whatever number of requests arrives without its cookie.
//! It is good only together with the header: callers must compare the two on every request.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use gleaner_core::time::Span;
use serde_json::json;

use super::access::checked_name;
use super::audit::{Target, network};
use super::{Actor, Scope, Service, ServiceError, jwt};
use crate::config::secret::Secret;
use crate::printable::is_hidden;
use crate::store::{StoreError, Token, TokenKind, User};

/// How such actors came in, for the audit log.
pub(super) const VIA: &str = "reverse proxy";
/// What the names of such sessions begin with.
const SESSION: &str = "reverse proxy ";
/// The header makes the next one when this one ends.
const LASTS: Span = Span::from_days(1);
/// How many sessions are remembered by name.
const REMEMBERED: usize = 10_000;

/// Whether a reverse proxy's header made a session.
pub(super) fn is_session(token: &Token) -> bool {
    token.token.kind == TokenKind::Session && token.token.name.starts_with(SESSION)
}

/// A session that a reverse proxy's header made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxySession {
    pub actor: Actor,
    /// The value of the session's cookie; the same for all requests of the session.
    pub secret: Secret,
}

/// The secrets of sessions by their user's name and network.
#[derive(Default)]
pub(super) struct ProxySessions(Mutex<HashMap<(String, String), Secret>>);

impl ProxySessions {
    fn get(&self, key: &(String, String)) -> Option<Secret> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    fn insert(&self, key: (String, String), secret: Secret) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(key, secret);
    }
}

impl Service {
    /// The session of the user whom a trusted reverse proxy names. An unknown user is refused, or created where
    /// `api.proxy_auth_create` says so.
    pub async fn proxy_sign_in(
        &self,
        name: &str,
        address: Option<IpAddr>,
    ) -> Result<ProxySession, ServiceError> {
        let name = match checked_name("name", name) {
            Ok(name) if !name.contains(is_hidden) => name,
            _ => {
                let message = "the reverse proxy names a user with 1 to 100 characters that can be seen";
                return Err(ServiceError::Unauthenticated(message.to_owned()));
            }
        };
        let key = (name, address.map(network).unwrap_or_default());
        if let Some(secret) = self.proxy_sessions.get(&key) {
            match self.actor(secret.expose()).await {
                Ok(actor) => return Ok(ProxySession { actor, secret }),
                // It was ended, or has ended: there will be another one.
                Err(ServiceError::Unauthenticated(_)) => {}
                Err(error) => return Err(error),
            }
        }
        let user = self.proxy_user(&key.0, address).await?;
        let secret = self.proxy_session(&user, &key.1, address).await?;
        let actor = self.actor(secret.expose()).await?;
        self.proxy_sessions.insert(key, secret.clone());
        Ok(ProxySession { actor, secret })
    }

    /// Ends a session that the reverse proxy no longer vouches for.
    pub async fn end_proxy_session(&self, actor: &Actor) -> Result<(), ServiceError> {
        self.by(actor).log_out().await
    }

    async fn proxy_user(&self, name: &str, address: Option<IpAddr>) -> Result<User, ServiceError> {
        match self.store.user_named(name).await {
            Err(StoreError::NotFound { .. }) => {}
            found => return Ok(found?),
        }
        if !self.config.api.proxy_auth_create {
            self.audit_failed_login(None, VIA, address).await;
            return Err(ServiceError::Forbidden(format!(
                "the reverse proxy signed you in as {name}, and gleaner has no such user; an admin can add it: \
                 `gleaner user add NAME`"
            )));
        }
        match self.store.create_user(name, false, self.clock.now()).await {
            // Another request made it at the same time.
            Ok(_) | Err(StoreError::Duplicate { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let user = self.store.user_named(name).await?;
        let actor = Actor::without_token(user.clone(), VIA).at(address);
        let made = json!({ "is_admin": false });
        self.by(&actor).audit("user.create", Target::user(&user), Some(made)).await;
        Ok(user)
    }

    /// The secret of the user's session from this network, which is made where there is none.
    async fn proxy_session(
        &self,
        user: &User,
        network: &str,
        address: Option<IpAddr>,
    ) -> Result<Secret, ServiceError> {
        let name = format!("{SESSION}{network}");
        // Twice: another request may make it in between.
        for _ in 0..2 {
            let sessions = self.store.tokens(user.id, TokenKind::Session).await?;
            if let Some(found) = sessions.into_iter().find(|token| token.token.name == name) {
                if found.token.expires_at > self.clock.now() {
                    return self.secret_of(user, &found);
                }
                self.store.delete_token(found.id).await?;
            }
            let scopes = [Scope::Read, Scope::Write];
            let (token, secret) = self.new_token(user, TokenKind::Session, &name, &scopes, LASTS)?;
            match self.store.create_token(&token).await {
                Ok(id) => {
                    let token = Token { id, token, last_used_at: None };
                    self.audit_login(&Actor::by_token(user.clone(), &token), VIA, address).await;
                    return Ok(secret);
                }
                Err(StoreError::Duplicate { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(ServiceError::Busy(Span::from_secs(1)))
    }

    /// The same text as when the session was made, so that forms of pages that are open stay good.
    fn secret_of(&self, user: &User, token: &Token) -> Result<Secret, ServiceError> {
        let token = &token.token;
        let signed =
            jwt::sign(&self.signing_key()?, &token.key, &user.name, token.created_at, token.expires_at);
        let failed = |error| ServiceError::conflict("token_not_signed", format!("{error}"));
        Ok(Secret::new(signed.map_err(failed)?))
    }
}
