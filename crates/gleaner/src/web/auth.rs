//! Who asks. A request gets through with a good token, or to one of the few routes that are open.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::Web;
use super::connections::{ClientAddress, Connection};
use super::problem::Problem;
use super::proxy_user::{self, Head};
use crate::service::{Actor, By, ServiceError};

/// Routes that need no access token. Feeds have one of their own in their URL, and look at it themselves.
const OPEN: [&str; 4] = ["/healthz", "/readyz", "/api/v1/login", "/feeds/{file}"];

/// Pages that need no session.
const OPEN_PAGES: [&str; 4] = ["/login", "/login/oidc", "/login/oidc/callback", "/assets/{file}"];

/// Whether a route, or what is none, is answered to strangers.
pub(super) fn is_open(route: Option<&str>) -> bool {
    route.is_none_or(|route| OPEN.contains(&route) || OPEN_PAGES.contains(&route))
}

/// Notes that somebody is logged in on the connection that a request came by.
pub(super) fn authenticated(request: &Request) {
    if let Some(connection) = request.extensions().get::<Arc<Connection>>() {
        connection.set_authenticated();
    }
}

/// Somebody at the machine itself. Only code can put it into a request.
#[derive(Debug, Clone)]
pub(super) struct Local(pub(super) Actor);

/// Lets in who has a token, and everybody where it is open.
pub(super) async fn let_in(State(web): State<Web>, mut request: Request, next: Next) -> Response {
    if let Some(Local(actor)) = request.extensions().get::<Local>().cloned() {
        request.extensions_mut().insert(actor);
        return next.run(request).await;
    }
    let open = request.extensions().get::<MatchedPath>().is_some_and(|path| OPEN.contains(&path.as_str()));
    if open {
        return next.run(request).await;
    }
    match actor_of(&web, Head::of(&request)).await {
        Ok(actor) => {
            authenticated(&request);
            let actor = actor.at(address_of(&request));
            request.extensions_mut().insert(actor);
            next.run(request).await
        }
        Err(error) => Problem::from(error).into_response(),
    }
}

/// Who asks: by their token, or by the word of a trusted reverse proxy.
async fn actor_of(web: &Web, head: Head<'_>) -> Result<Actor, ServiceError> {
    if let Some(actor) = proxy_user::api_actor(web, head).await? {
        return Ok(actor);
    }
    let actor = web.service.actor(&bearer(head.headers)?).await?;
    if proxy_user::still_vouched(&actor, head) {
        return Ok(actor);
    }
    let message = "the reverse proxy that made this session no longer names its user; sign in there again";
    Err(ServiceError::Unauthenticated(message.to_owned()))
}

/// Where a request comes from; none: this machine, without a network in between.
pub(super) fn address_of(request: &Request) -> Option<IpAddr> {
    request.extensions().get::<ClientAddress>().map(|address| address.0)
}

fn bearer(headers: &HeaderMap) -> Result<String, ServiceError> {
    let header = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    match header.and_then(|header| header.split_once(' ')) {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Ok(token.trim().to_owned()),
        _ => {
            Err(ServiceError::Unauthenticated("send an access token: Authorization: Bearer TOKEN".to_owned()))
        }
    }
}

/// The use cases, as whoever asks.
pub(crate) struct As {
    web: Web,
    actor: Actor,
}

impl As {
    /// The use cases.
    pub(crate) fn by(&self) -> By<'_> {
        self.web.service.by(&self.actor)
    }

    /// Who asks.
    pub(crate) const fn actor(&self) -> &Actor {
        &self.actor
    }
}

impl FromRequestParts<Web> for As {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, web: &Web) -> Result<Self, Problem> {
        match parts.extensions.get::<Actor>() {
            Some(actor) => Ok(Self { web: web.clone(), actor: actor.clone() }),
            // An open route that asks who it is: there is nobody.
            None => Err(ServiceError::Unauthenticated("this needs an access token".to_owned()).into()),
        }
    }
}
