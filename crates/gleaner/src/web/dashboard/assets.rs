//! Styles, scripts and pictures, compiled in. Their address changes with their content, so browsers keep them for ever.

use std::sync::OnceLock;

use axum::extract::Path;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use xxhash_rust::xxh3::xxh3_64;

use super::Oops;

struct Asset {
    name: &'static str,
    kind: &'static str,
    bytes: &'static [u8],
}

macro_rules! asset {
    ($name:literal, $kind:literal) => {
        Asset { name: $name, kind: $kind, bytes: include_bytes!(concat!("../../../static/", $name)) }
    };
}

static ASSETS: [Asset; 8] = [
    asset!("app.css", "text/css; charset=utf-8"),
    asset!("app.js", "text/javascript; charset=utf-8"),
    asset!("htmx-2.0.11.min.js", "text/javascript; charset=utf-8"),
    asset!("import.js", "text/javascript; charset=utf-8"),
    asset!("settings.js", "text/javascript; charset=utf-8"),
    asset!("sources.js", "text/javascript; charset=utf-8"),
    asset!("icon.svg", "image/svg+xml"),
    asset!("source.js", "text/javascript; charset=utf-8"),
];

/// Where an asset is, as it is now.
pub(super) fn address(name: &str) -> String {
    static MARK: OnceLock<u64> = OnceLock::new();
    // One mark for all: they change together.
    let mark = MARK.get_or_init(|| ASSETS.iter().fold(0, |sum, asset| sum ^ xxh3_64(asset.bytes)));
    format!("/assets/{name}?v={mark:x}")
}

/// One of them.
pub(super) async fn file(Path(name): Path<String>) -> Response {
    match ASSETS.iter().find(|asset| asset.name == name) {
        Some(asset) => {
            let headers =
                [(CONTENT_TYPE, asset.kind), (CACHE_CONTROL, "public, max-age=31536000, immutable")];
            (headers, asset.bytes).into_response()
        }
        None => Oops::missing(&format!("/assets/{name}")).into_response(),
    }
}
