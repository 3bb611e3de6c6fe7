//! Which settings for sign-in go together: a header that names users needs proxies to trust, OpenID Connect its client.

use super::layers::Entry;
use super::load::Merged;
use super::parse;

/// Notes every combination that would let nobody in, or everybody.
pub(super) fn check(merged: &mut Merged) {
    check_build(merged, cfg!(feature = "oidc"));
}

fn check_build(merged: &mut Merged, has_oidc: bool) {
    let mut errors = Vec::new();
    let mut refuse = |entry: &Entry, problem: &str| errors.push(entry.error(problem));
    proxy_header(merged, &mut refuse);
    oidc(merged, has_oidc, &mut refuse);
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

fn oidc(merged: &Merged, has_oidc: bool, refuse: &mut impl FnMut(&Entry, &str)) {
    // What is set to its default is as good as not set; a table by itself sets nothing.
    let is_set = |entry: &&Entry| {
        entry.setting.is_some_and(|setting| setting.default_value().as_ref() != Some(&entry.value))
    };
    let set: Vec<&Entry> = merged.under(&["oidc"]).filter(is_set).collect();
    if !has_oidc {
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

#[cfg(test)]
mod tests {
    use super::super::layers::{self, Flag};
    use super::*;

    /// The keys that are refused, each with the beginning of why.
    fn check(has_oidc: bool, flags: &[&str], expected: &[(&str, &str)]) {
        let flag = |assignment: &&str| Flag { name: "set".to_owned(), assignment: (*assignment).to_owned() };
        let layer = layers::flags(&flags.iter().map(flag).collect::<Vec<_>>());
        let entries = layer.entries.into_iter().map(|entry| (entry.key.clone(), entry)).collect();
        let mut merged = Merged { entries, errors: layer.errors };
        check_build(&mut merged, has_oidc);
        let found: Vec<(&str, &str)> =
            merged.errors.iter().map(|error| (error.key.as_str(), error.problem.as_str())).collect();
        assert_eq!(found.len(), expected.len(), "{flags:?}: {found:?}");
        for ((key, problem), (expected_key, beginning)) in found.iter().zip(expected) {
            assert!(key == expected_key && problem.starts_with(beginning), "{flags:?}: {key}: {problem}");
        }
    }

    #[test]
    fn a_header_needs_proxies_that_are_not_everybody() {
        let header = "api.proxy_auth_header=Remote-User";
        let trusts = |networks: &str| format!("api.trusted_proxies={networks}");
        let nobody = [("api.proxy_auth_header", "needs api.trusted_proxies")];
        check(false, &[header, &trusts("[]")], &nobody);
        check(false, &[header, &trusts("[\"10.0.0.7\", \"fd00::7\"]")], &[]);
        let everybody = [("api.trusted_proxies", "trusts every address")];
        check(false, &[header, &trusts("[\"10.0.0.7\", \"0.0.0.0/0\"]")], &everybody);
        check(false, &[header, &trusts("[\"::/0\"]")], &everybody);
        check(false, &[&trusts("[\"0.0.0.0/0\"]")], &[]);
        check(false, &["api.proxy_auth_create=true"], &[("api.proxy_auth_create", "has no effect")]);
    }

    #[test]
    fn openid_connect_needs_its_build_a_client_and_an_address() {
        let issuer = "oidc.issuer=https://id.example";
        let (client, public) = ("oidc.client_id=gleaner", "api.public_url=https://gleaner.example");
        let absent = "this build has no OpenID Connect; build with --features oidc";
        check(false, &[issuer, client], &[("oidc.client_id", absent), ("oidc.issuer", absent)]);
        check(false, &["oidc.create_users=false"], &[]);
        check(true, &[issuer, client, public], &[]);
        check(true, &[client, public], &[("oidc.client_id", "has no effect without oidc.issuer")]);
        check(true, &[issuer, public], &[("oidc.issuer", "needs oidc.client_id")]);
        check(true, &[issuer, client], &[("oidc.issuer", "needs api.public_url")]);
    }

    #[test]
    fn names_of_headers_and_issuers_are_checked() {
        for good in ["Remote-User", "X-Forwarded-User", "x_auth_user"] {
            assert_eq!(parse::sign_in_header(good), Some(good.to_ascii_lowercase()));
        }
        for bad in ["", "Authorization", "cookie", "Sec-Fetch-Site", "X-Forwarded-For", "a b", "a:b", "ü"] {
            assert_eq!(parse::sign_in_header(bad), None, "{bad}");
        }
        for good in
            ["https://id.example", "https://id.example/realms/a/", "http://127.0.0.1:9/", "http://[::1]"]
        {
            assert_eq!(parse::issuer(good).as_deref(), Some(good), "as it is written");
        }
        for bad in
            ["http://id.example", "https://id.example/?a", "https://u@id.example", "id.example", "ftp://a"]
        {
            assert_eq!(parse::issuer(bad), None, "{bad}");
        }
    }
}
