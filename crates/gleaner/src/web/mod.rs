//! The API over HTTP: routes and their types, each a translation of a request into a use case.
//!
//! Every route is closed unless it is listed as open. Absent on purpose: rules of its own, and another way in: the
//! command line sends its requests through the same router, without a network in between.

pub mod api;
mod auth;
mod json;
mod list;
mod params;
mod problem;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware;
use tokio::net::TcpListener;
use utoipa::openapi::OpenApi;

pub use list::{Limit, Page};
pub use problem::Problem;

use crate::service::{Actor, Service};

/// The largest body of a request.
const MAX_BODY: usize = 10 << 20;

/// What every handler has.
#[derive(Clone)]
pub struct Web {
    /// The use cases.
    pub service: Arc<Service>,
}

/// All routes, for everybody who has a token.
pub fn router(web: &Web) -> Router {
    let (api, _) = api::routes().split_for_parts();
    api.layer(middleware::from_fn_with_state(web.clone(), auth::let_in))
        .fallback(problem::no_such_route)
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(web.clone())
}

/// All routes, for whoever sits at the machine.
pub fn local(web: &Web, actor: Actor) -> Router {
    router(web).layer(axum::Extension(auth::Local(actor)))
}

/// Answers requests until `stop` is there, and then those that are under way.
pub async fn serve(
    listener: TcpListener,
    web: &Web,
    stop: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    axum::serve(listener, router(web)).with_graceful_shutdown(stop).await
}

/// What the routes are, for programs.
pub fn openapi() -> OpenApi {
    api::described(api::routes().split_for_parts().1)
}
