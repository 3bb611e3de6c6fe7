//! The resources, one file each: handlers, types, and what the API's document says of them.

mod articles;
mod audit;
mod bulk;
mod collections;
mod docs;
mod events;
mod find;
mod health;
mod hosts;
mod keys;
mod login;
mod openapi;
mod policies;
mod posts;
mod replay;
mod source_actions;
mod source_types;
mod sources;
mod stream;
mod tokens;
mod transfer;
mod users;
mod webhooks;
mod workers;

use utoipa::OpenApi as _;
use utoipa_axum::router::OpenApiRouter;

use super::Web;

/// Every route, with its description.
pub(super) fn routes() -> OpenApiRouter<Web> {
    OpenApiRouter::with_openapi(openapi::Document::openapi()).merge(health::routes()).nest(
        "/api/v1",
        OpenApiRouter::new()
            .merge(openapi::routes())
            .merge(docs::routes())
            .merge(login::routes())
            .merge(tokens::routes())
            .merge(find::routes())
            .merge(transfer::routes())
            .merge(users::routes())
            .merge(audit::routes())
            .merge(collections::routes())
            .merge(sources::routes())
            .merge(source_actions::routes())
            .merge(bulk::routes())
            .merge(posts::routes())
            .merge(articles::routes())
            .merge(hosts::routes())
            .merge(policies::routes())
            .merge(replay::routes())
            .merge(keys::routes())
            .merge(events::routes())
            .merge(stream::routes())
            .merge(webhooks::routes())
            .merge(workers::routes()),
    )
}

/// What a worker has of them, too.
pub(super) fn health_routes() -> OpenApiRouter<Web> {
    health::routes()
}

pub(super) use docs::docs_page;
pub(super) use openapi::{described, openapi_document};
pub(super) use transfer::as_file;
