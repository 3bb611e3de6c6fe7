//! Styles, scripts and pictures, compiled in. Their address changes with their content, so browsers keep them for ever.

use std::io::Write as _;
use std::sync::OnceLock;

use axum::extract::Path;
use axum::http::HeaderMap;
use axum::http::header::{ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, VARY};
use axum::response::{IntoResponse as _, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use xxhash_rust::xxh3::xxh3_64;

use super::Oops;

struct Asset {
    name: &'static str,
    kind: &'static str,
    bytes: &'static [u8],
    /// The same compressed, from the first time on that somebody wants it so.
    gzip: OnceLock<Vec<u8>>,
}

impl Asset {
    fn gzip(&'static self) -> &'static [u8] {
        self.gzip.get_or_init(|| {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
            // Into memory: this cannot fail, and if it did the asset would be empty at once and for all to see.
            encoder.write_all(self.bytes).and_then(|()| encoder.finish()).unwrap_or_default()
        })
    }
}

macro_rules! asset {
    ($name:literal, $kind:literal) => {
        Asset {
            name: $name,
            kind: $kind,
            bytes: include_bytes!(concat!("../../../static/", $name)),
            gzip: OnceLock::new(),
        }
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
pub(super) async fn file(headers: HeaderMap, Path(name): Path<String>) -> Response {
    let Some(asset) = ASSETS.iter().find(|asset| asset.name == name) else {
        return Oops::missing(&format!("/assets/{name}")).into_response();
    };
    let accepts = headers.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut accepts = accepts.split(',').map(|one| one.trim().to_ascii_lowercase().replace(' ', ""));
    let accepts_gzip = accepts.any(|one| one.starts_with("gzip") && !one.ends_with("q=0"));
    let kept = [
        (CONTENT_TYPE, asset.kind),
        (CACHE_CONTROL, "public, max-age=31536000, immutable"),
        (VARY, "accept-encoding"),
    ];
    if accepts_gzip {
        return (kept, [(CONTENT_ENCODING, "gzip")], asset.gzip()).into_response();
    }
    (kept, asset.bytes).into_response()
}
