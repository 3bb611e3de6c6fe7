//! The dashboard: pages for people, rendered here, with little script.
//!
//! One file a page: its handlers, what its template shows, and nothing else; the use cases are the service's. Pages
//! work as plain links and forms; a script makes them live. Absent on purpose: inline styles and scripts, anything from
//! another site, and a build of its own.

mod add;
mod api_page;
mod assets;
mod bulk;
mod bulk_plan;
mod edit;
mod entry;
mod form;
mod form_input;
mod hosts;
mod import;
mod live;
#[cfg(feature = "oidc")]
mod oidc;
mod oops;
mod overview;
mod paging;
mod policies;
mod posts;
mod session;
mod settings;
mod shell;
mod source;
mod sources;
mod step_up;
mod timeline;
mod webhooks;
mod words;

use axum::Router;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, header};
use axum::middleware;
use axum::response::Response;
use axum::routing::{get, post};

pub(super) use oops::Oops;
pub(super) use session::of_our_own;
use shell::{Page, Shell, Visit};

use super::Web;

/// Nothing but our own, and nothing inline.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// All pages.
pub(super) fn routes(web: &Web) -> Router<Web> {
    let routes = Router::new()
        .route("/", get(overview::page))
        .route("/live", get(live::follow))
        .route("/sources", get(sources::page))
        .route("/sources/bulk", get(bulk::back).post(bulk::act))
        .route("/hosts", get(hosts::page))
        .route("/sources/{id}", get(source::page))
        .route("/sources/{id}/poll", post(source::poll))
        .route("/sources/{id}/act", post(source::act))
        .route("/sources/{id}/edit", get(edit::page).post(edit::save))
        .route("/sources/{id}/edit/check", post(edit::check))
        .route("/sources/{id}/edit/preview", post(edit::preview))
        .route("/add", get(add::page).post(add::look))
        .route("/add/save", post(add::save))
        .route("/logout", post(session::log_out))
        .merge(posts::routes())
        .merge(policies::routes())
        .merge(import::routes())
        .merge(settings::routes())
        .merge(webhooks::routes())
        .merge(api_page::routes())
        .layer(middleware::from_fn_with_state(web.clone(), session::let_in))
        .route("/login", get(session::page).post(session::log_in))
        .route("/assets/{file}", get(assets::file));
    #[cfg(feature = "oidc")]
    let routes = routes.merge(oidc::routes());
    routes.layer(middleware::map_response(guarded))
}

/// What keeps a page from being made to do something else.
async fn guarded(mut response: Response) -> Response {
    let headers = response.headers_mut();
    let fixed: [(HeaderName, &'static str); 5] = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "same-origin"),
        (header::X_FRAME_OPTIONS, "DENY"),
        // What is shown is somebody's own, and of this moment.
        (CACHE_CONTROL, "no-store"),
    ];
    for (name, value) in fixed {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}
