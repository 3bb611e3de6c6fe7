//! The one HTTP client: a [`Request`] goes in, a [`Response`] or a typed fault comes out.
//!
//! Everything that takes a URL from outside goes through here, since here is the guard: schemes, ports and
//! literal addresses are checked before each hop, names when they are resolved, and the connected address again.
//! Limits of time and size hold whatever the other side does, and each way to fail is told apart by real error
//! types, never by message text.
//!
//! Absent on purpose: cookies, referers, logging, waiting for hosts and the wall clock, which arrives as `now`.
//! What a fault means for a source is the core's business.

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

pub use client::{Fetcher, Outside, Unusable};
pub use headers::Hints;
pub use post::Post;
pub use robots::Robots;
pub use types::{Credential, Failed, Hop, Request, Response, Validators};
