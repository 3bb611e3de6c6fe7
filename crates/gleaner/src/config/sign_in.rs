//! Which settings for sign-in go together: a header that names users needs proxies to trust, OpenID Connect its client.

use super::error::Origin;
use super::layers::Entry;
use super::load::Merged;
use super::parse;

/// Notes every combination that would let nobody in, or everybody.
pub(super) fn check(merged: &mut Merged) {
    let mut errors = Vec::new();
    let mut refuse = |entry: &Entry, problem: &str| errors.push(entry.error(problem));
    proxy_header(merged, &mut refuse);
    oidc(merged, &mut refuse);
    merged.errors.extend(errors);
}

fn proxy_header(merged: &Merged, refuse: &mut impl FnMut(&Entry, &str)) {
    let Some(header) = merged.get("api.proxy_auth_header") else {
        if let Some(create) = merged.get("api.proxy_auth_create").filter(|create| is_true(create)) {
            refuse(create, "has no effect without api.proxy_auth_header; set that, too, or remove this");
        }
        return;
    };
    let Some(proxies) = merged.get("api.trusted_proxies") else { return };
    let networks = proxies.value.as_array().map(Vec::as_slice).unwrap_or_default();
    let networks = networks.iter().filter_map(|network| parse::network(network.as_str()?));
    let prefixes: Vec<u8> = networks.map(|network| network.prefix_len()).collect();
    if prefixes.is_empty() {
        let problem = "needs api.trusted_proxies: the addresses of the reverse proxies that may name a user; \
            without them anybody could";
        refuse(header, problem);
    } else if prefixes.contains(&0) {
        let problem = "trusts every address, and with api.proxy_auth_header anybody could sign in as anybody; \
            list the addresses of the reverse proxies alone";
        refuse(proxies, problem);
    }
}

fn oidc(merged: &Merged, refuse: &mut impl FnMut(&Entry, &str)) {
    let set: Vec<&Entry> = merged.under(&["oidc"]).filter(|entry| entry.origin != Origin::Default).collect();
    if !cfg!(feature = "oidc") {
        for entry in set {
            refuse(entry, "this build has no OpenID Connect; build with --features oidc");
        }
        return;
    }
    let Some(first) = set.first() else { return };
    match (merged.get("oidc.issuer"), merged.get("oidc.client_id"), merged.get("api.public_url")) {
        (None, ..) => refuse(first, "has no effect without oidc.issuer; set that, too"),
        (Some(issuer), None, _) => refuse(issuer, "needs oidc.client_id: what the provider calls gleaner"),
        (Some(issuer), _, None) => {
            refuse(
                issuer,
                "needs api.public_url: the provider sends people back to /login/oidc/callback below it",
            );
        }
        (Some(_), Some(_), Some(_)) => {}
    }
}

fn is_true(entry: &Entry) -> bool {
    entry.value.as_bool() == Some(true)
}
