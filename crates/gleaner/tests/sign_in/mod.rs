//! Sign-in by others than gleaner: a reverse proxy, an OpenID Connect provider. Over real HTTP, on both databases.

mod browser;
#[cfg(feature = "oidc")]
mod oidc;
mod proxy;
