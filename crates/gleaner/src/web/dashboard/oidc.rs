//! Sign-in by OpenID Connect: off to the provider, and back with its answer.

use askama::Template;
use axum::extract::{Query, Request, State};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use axum::{Extension, Router};
use serde::Deserialize;

use super::entry::enter;
use super::session::{self, LASTS, cookie, go, inside, logged_in_to, not_logged_in, set_cookie};
use super::{Oops, Page, Visit, assets, words};
use crate::config::secret::Secret;
use crate::service::{OidcAnswer, OidcEnd, OidcStart};
use crate::web::Web;
use crate::web::auth::address_of;
use crate::web::connections::ClientAddress;
use crate::web::proxy_user::Head;

/// The cookie of a sign-in under way.
const PENDING: &str = "gleaner_oidc";

/// What strangers reach.
pub(super) fn routes() -> Router<Web> {
    Router::new().route("/login/oidc", get(begin)).route("/login/oidc/callback", get(end))
}

#[derive(Deserialize)]
struct BeginQuery {
    next: Option<String>,
}

/// A link, not a form: pages of ours send forms to gleaner alone, whatever a redirect says.
async fn begin(
    State(web): State<Web>,
    client: Option<Extension<ClientAddress>>,
    Query(BeginQuery { next }): Query<BeginQuery>,
) -> Response {
    let next = inside(next);
    let address = client.map(|Extension(ClientAddress(address))| address);
    match web.service.begin_oidc(address, &next, None).await {
        Ok(start) => {
            let mut response = Redirect::to(start.url.as_str()).into_response();
            keep(&mut response, &web, &start);
            response
        }
        Err(error) => not_logged_in(&web, error, next, String::new()),
    }
}

async fn end(State(web): State<Web>, Query(answer): Query<OidcAnswer>, request: Request) -> Response {
    let actor = match enter(&web, Head::of(&request)).await {
        Ok(entered) => entered.map(|entered| entered.actor.at(address_of(&request))),
        Err(oops) => return oops.into_response(),
    };
    let pending = cookie(request.headers(), PENDING).map(Secret::new);
    let address = address_of(&request);
    let ended = web.service.end_oidc(address, pending.as_ref(), &answer, actor.as_ref(), LASTS).await;
    let mut response = match ended {
        Ok(OidcEnd::SignedIn(logged_in, next)) => logged_in_to(&web, &logged_in, &inside(Some(next))),
        Ok(OidcEnd::Connected) => go(&web, "/settings", "Your account is connected."),
        Err(error) if actor.is_some() => go(
            &web,
            "/settings",
            &format!("The provider did not sign you in: {}", words::sentence(&error.to_string())),
        ),
        Err(error) => not_logged_in(&web, error, "/".to_owned(), String::new()),
    };
    set_cookie(&mut response, &web, PENDING, "", 0);
    response
}

/// Leads on to the provider.
#[derive(Template)]
#[template(path = "oidc_connect.html")]
struct ConnectPage {
    url: String,
}

impl ConnectPage {
    fn asset(&self, name: &str) -> String {
        assets::address(name)
    }
}

/// Begins to connect one's account. A form, so that no other site can begin it; its answer is a page that leads on, since
/// browsers hold redirects of forms to the rule for forms.
pub(super) async fn connect(visit: Visit, request: Request) -> Result<Response, Oops> {
    let address = address_of(&request);
    let start = visit.web.service.begin_oidc(address, "/settings", Some(&visit.actor)).await?;
    let mut response = Page(ConnectPage { url: start.url.to_string() }).into_response();
    keep(&mut response, &visit.web, &start);
    Ok(response)
}

fn keep(response: &mut Response, web: &Web, start: &OidcStart) {
    session::set_cookie(response, web, PENDING, start.pending.expose(), start.lasts.as_millis() / 1000);
}
