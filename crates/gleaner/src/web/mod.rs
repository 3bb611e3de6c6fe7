//! The API over HTTP: routes and their types, each a translation of a request into a use case.
//!
//! Every route is closed unless it is listed as open. Absent on purpose: rules of its own, and another way in: the
//! command line sends its requests through the same router, without a network in between.

pub mod api;
mod auth;
mod bodies;
mod connections;
mod dashboard;
mod feeds;
mod json;
mod limits;
mod list;
mod params;
mod problem;
mod proxy_user;
mod repeat;
mod serve;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate, SizeAbove};
use utoipa::openapi::OpenApi;

pub use list::{Limit, Page};
pub use problem::Problem;
pub use serve::{serve, serve_health};

use crate::service::{Actor, Service};

/// How long a request may take, that for a poll and its outcome included.
const MAX_SECONDS: u64 = 60;

/// The least answer that is compressed, in bytes.
const WORTH_COMPRESSING: u16 = 4096;

/// What every handler has.
#[derive(Clone)]
pub struct Web {
    /// The use cases.
    pub service: Arc<Service>,
}

/// All routes, for everybody who has a token.
pub fn router(web: &Web) -> Router {
    let (api, _) = api::routes().split_for_parts();
    let limits = limits::Limits::new(web.service.config().api.requests_per_minute);
    api.layer(middleware::from_fn_with_state(web.clone(), repeat::once))
        .merge(feeds::routes())
        .layer(middleware::from_fn_with_state(limits, limits::slow_down))
        .layer(middleware::from_fn_with_state(web.clone(), auth::let_in))
        .merge(dashboard::routes(web))
        .fallback(problem::no_such_route)
        // The one limit on bodies is the next.
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(bodies::Bodies::default(), bodies::bounded))
        .layer(middleware::from_fn_with_state(web.clone(), limits::in_time))
        .layer(compression())
        .with_state(web.clone())
}

/// Compresses what is worth it. What strangers get is smaller, or compressed already: an answer that nobody reads would
/// hold a third of a megabyte for its compressor.
fn compression() -> CompressionLayer<impl Predicate> {
    let large = SizeAbove::new(WORTH_COMPRESSING);
    CompressionLayer::new().compress_when(large.and(NotForContentType::IMAGES).and(NotForContentType::SSE))
}

/// How a worker is, and what it measures.
fn health(web: &Web) -> Router {
    let (api, _) = api::health_routes().split_for_parts();
    let limits = limits::Limits::new(web.service.config().api.requests_per_minute);
    api.layer(middleware::from_fn_with_state(limits, limits::slow_down))
        .layer(middleware::from_fn_with_state(web.clone(), auth::let_in))
        .fallback(problem::no_such_route)
        .layer(middleware::from_fn_with_state(web.clone(), limits::in_time))
        .with_state(web.clone())
}

/// All routes, for whoever sits at the machine.
pub fn local(web: &Web, actor: Actor) -> Router {
    router(web).layer(axum::Extension(auth::Local(actor)))
}

/// What the routes are, for programs.
pub fn openapi() -> OpenApi {
    api::described(api::routes().split_for_parts().1)
}
