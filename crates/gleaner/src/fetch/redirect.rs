//! The redirects of one request: their targets, their number, and loops.

use gleaner_core::classify::Fault;
use gleaner_core::redirect::keeps_credentials;
use url::Url;

use super::types::Hop;

pub(super) const fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// The redirects followed so far.
pub(super) struct RedirectChain {
    start: Url,
    max: usize,
    pub(super) hops: Vec<Hop>,
}

impl RedirectChain {
    pub(super) fn new(start: &Url, max: u32) -> Self {
        // The configured maximum fits.
        Self { start: without_fragment(start.clone()), max: max as usize, hops: Vec::new() }
    }

    /// The URL to request next.
    pub(super) fn current(&self) -> &Url {
        self.hops.last().map_or(&self.start, |hop| &hop.target)
    }

    /// Whether all redirects stayed on the origin of the first URL, or only upgraded it to https. Leaving it once
    /// is final: another origin that redirects back chooses the path, and must not do so with credentials that are
    /// not its own.
    pub(super) fn keeps_origin(&self) -> bool {
        let before = std::iter::once(&self.start).chain(self.hops.iter().map(|hop| &hop.target));
        before.zip(&self.hops).all(|(from, hop)| keeps_credentials(from, &hop.target))
    }

    /// Follows a redirect. The target is not checked yet.
    pub(super) fn follow(&mut self, status: u16, location: Option<&[u8]>) -> Result<(), Fault> {
        let Some(location) = location else {
            return Err(Fault::Other(format!("redirect {status} without a Location")));
        };
        // Some servers write URLs in Latin-1.
        let text = std::str::from_utf8(location)
            .map_or_else(|_| location.iter().copied().map(char::from).collect(), str::to_owned);
        let Ok(target) = self.current().join(&text).map(without_fragment) else {
            // Like a source with an invalid URL: there is nothing to request.
            return Err(Fault::Blocked(format!("redirect {status} to an invalid URL")));
        };
        if self.hops.len() >= self.max {
            return Err(Fault::Other(format!("more than {} redirects", self.max)));
        }
        if target == self.start || self.hops.iter().any(|hop| hop.target == target) {
            return Err(Fault::Other(format!("redirect loop at {}", without_secrets(&target))));
        }
        self.hops.push(Hop { status, target });
        Ok(())
    }
}

fn without_fragment(mut url: Url) -> Url {
    url.set_fragment(None);
    url
}

/// A URL for a message, without credentials and query, which may contain secrets.
fn without_secrets(url: &Url) -> String {
    format!("{}{}", url.origin().ascii_serialization(), url.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(max: u32) -> RedirectChain {
        RedirectChain::new(&Url::parse("https://a.example/dir/feed?key=1#top").unwrap(), max)
    }

    #[track_caller]
    fn check(location: &[u8], expected: &str) {
        let mut chain = chain(10);
        let end = match chain.follow(302, Some(location)) {
            Ok(()) => chain.current().to_string(),
            Err(fault) => fault.to_string(),
        };
        assert_eq!(end, expected);
    }

    #[test]
    fn locations_are_relative_to_the_current_url() {
        check(b"other", "https://a.example/dir/other");
        check(b"/root?x#frag", "https://a.example/root?x");
        check(b"//b.example/", "https://b.example/");
        check(b"http://b.example", "http://b.example/");
        check(b"?page=2", "https://a.example/dir/feed?page=2");
        check("/é".as_bytes(), "https://a.example/%C3%A9");
        check(b"/\xe9", "https://a.example/%C3%A9");
        check(b"", "redirect loop at https://a.example/dir/feed");
        check(b"#bottom", "redirect loop at https://a.example/dir/feed");
        check(b"https://:0:/", "blocked: redirect 302 to an invalid URL");
        check(b"http://[::1", "blocked: redirect 302 to an invalid URL");
        check(b"\t/tab\n", "https://a.example/tab");
    }

    #[test]
    fn loops_and_long_chains_are_refused() {
        let mut circle = chain(10);
        circle.follow(301, Some(b"/one")).unwrap();
        circle.follow(301, Some(b"/two")).unwrap();
        let end = circle.follow(301, Some(b"/one")).unwrap_err();
        assert_eq!(end, Fault::Other("redirect loop at https://a.example/one".into()));
        let mut chain = chain(2);
        chain.follow(301, Some(b"/1")).unwrap();
        chain.follow(301, Some(b"/2")).unwrap();
        assert_eq!(chain.follow(301, Some(b"/3")), Err(Fault::Other("more than 2 redirects".into())));
        assert_eq!(chain.follow(303, None), Err(Fault::Other("redirect 303 without a Location".into())));
    }

    #[test]
    fn leaving_the_origin_is_final() {
        let mut chain = chain(10);
        assert!(chain.keeps_origin());
        chain.follow(301, Some(b"/elsewhere")).unwrap();
        assert!(chain.keeps_origin());
        chain.follow(301, Some(b"https://a.example:444/")).unwrap();
        assert!(!chain.keeps_origin());
        chain.follow(301, Some(b"https://a.example/back")).unwrap();
        assert!(!chain.keeps_origin());
    }

    #[test]
    fn an_upgrade_to_https_keeps_the_origin() {
        let at_home = |start: &str, location: &[u8]| {
            let mut chain = RedirectChain::new(&Url::parse(start).unwrap(), 10);
            chain.follow(301, Some(location)).unwrap();
            chain.keeps_origin()
        };
        assert!(at_home("http://a.example/feed", b"https://a.example/feed"));
        assert!(!at_home("http://a.example/feed", b"https://b.example/feed"));
        assert!(!at_home("http://a.example:8080/feed", b"https://a.example/feed"));
        assert!(!at_home("http://a.example/feed", b"https://a.example:8443/feed"));
        assert!(!at_home("https://a.example/feed", b"http://a.example/feed"));
        let mut back = RedirectChain::new(&Url::parse("http://a.example/feed").unwrap(), 10);
        back.follow(301, Some(b"https://a.example/feed")).unwrap();
        back.follow(301, Some(b"http://a.example/other")).unwrap();
        assert!(!back.keeps_origin(), "back to http is a downgrade");
    }
}
