//! What `doctor` finds out about sign-in by a reverse proxy and by OpenID Connect, where they are set up.

use ipnet::IpNet;
use serde_json::Value;
use url::Url;

use super::Finding;
use crate::clock::{Clock as _, SystemClock};
use crate::config::Config;
use crate::fetch::{Fetcher, Request};

/// Trusted networks with more host bits than this have room for more machines than proxies.
const HOST_BITS: u8 = 8;

/// Who may name users by the header.
pub(super) fn proxy_header(config: &Config) -> Option<Finding> {
    let header = config.api.proxy_auth_header.as_ref()?;
    let proxies = &config.api.trusted_proxies;
    let shown = |networks: &[&IpNet]| {
        networks.iter().map(|network| network.to_string()).collect::<Vec<_>>().join(", ")
    };
    let wide: Vec<&IpNet> = proxies
        .iter()
        .filter(|network| network.max_prefix_len() - network.prefix_len() > HOST_BITS)
        .collect();
    if !wide.is_empty() {
        return Some(Finding::warning(
            "sign-in",
            format!("every machine in {} can sign in as anybody by sending {header}", shown(&wide)),
            "list the addresses of the reverse proxies alone in api.trusted_proxies",
        ));
    }
    let proxies = shown(&proxies.iter().collect::<Vec<_>>());
    Some(Finding::ok("sign-in", format!("whatever sends {header} from {proxies} can sign in as anybody")))
}

/// Whether the provider can be reached, and is the one that is configured.
pub(super) async fn provider(config: &Config, fetcher: &Fetcher) -> Option<Finding> {
    let issuer = &config.oidc.as_ref()?.issuer;
    let url = format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
    let advice =
        "check oidc.issuer, the network, and fetch.allow_private_networks where the provider is inside";
    let Ok(url) = Url::parse(&url) else {
        return Some(Finding::wrong("provider", format!("{url} is no URL"), advice));
    };
    let request = Request { keep_connection: false, ..Request::new(url.clone()) };
    let found = match fetcher.fetch(&request, SystemClock.now()).await {
        Ok(response) => serde_json::from_slice::<Value>(&response.body).unwrap_or_default(),
        Err(failed) => return Some(Finding::wrong("provider", format!("{url}: {failed}"), advice)),
    };
    Some(match found["issuer"].as_str() {
        Some(named) if named == issuer => Finding::ok("provider", format!("{issuer} answers")),
        Some(named) => Finding::wrong(
            "provider",
            format!("{url} belongs to the issuer {named}"),
            format!("set oidc.issuer to \"{named}\", to the letter"),
        ),
        None => Finding::wrong("provider", format!("{url} is no OpenID Connect configuration"), advice),
    })
}
