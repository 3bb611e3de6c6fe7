//! The one HTTP client: a [`Request`] goes in, a [`Response`] or a typed fault comes out.
//!
//! Every URL from outside is fetched through this module, because it contains the address guard: scheme, port and
//! literal addresses are checked before each request, names when they are resolved, and the connected address
//! again. Limits on time and size always apply, and kinds of failure are told apart by error types, never by
//! messages.
//!
//! Not done here: cookies, referers, logging, waiting between requests to a host, and reading the clock (`now` is a
//! parameter). What a fault means for a source is decided in gleaner-core.

mod body;
mod client;
#[cfg(feature = "oidc")]
mod exchange;
mod fault;
pub mod guard;
mod headers;
mod post;
mod redirect;
mod resolve;
mod robots;
mod robots_cache;
mod tls;
mod types;

pub use client::{ClientSetupError, Fetcher, NetworkOverrides};
pub use headers::Hints;
pub use post::PostRequest;
pub use robots::Robots;
pub use types::{Credential, FetchError, Hop, Request, Response, Validators};
