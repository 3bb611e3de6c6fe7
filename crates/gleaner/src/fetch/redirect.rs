//! The redirects of one request: where each points, and when it is enough.

use gleaner_core::classify::Fault;
use gleaner_core::redirect::keeps_credentials;
use url::Url;

use super::types::Hop;

/// Whether a status asks to look elsewhere.
pub(super) const fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// The way so far.
pub(super) struct Trail {
    start: Url,
    max: usize,
    pub(super) hops: Vec<Hop>,
}

impl Trail {
    pub(super) fn new(start: &Url, max: u32) -> Self {
        // A configured count of hops fits.
        Self { start: without_fragment(start.clone()), max: max as usize, hops: Vec::new() }
    }

    /// Where we are.
    pub(super) fn here(&self) -> &Url {
        self.hops.last().map_or(&self.start, |hop| &hop.target)
    }

    /// Whether no hop has left the origin of the start, or only for https instead of http. Once left it stays left: who
    /// sends us back chooses the path, and must not do so with credentials that are not its own.
    pub(super) fn is_at_home(&self) -> bool {
        let before = std::iter::once(&self.start).chain(self.hops.iter().map(|hop| &hop.target));
        before.zip(&self.hops).all(|(from, hop)| keeps_credentials(from, &hop.target))
    }

    /// Takes a redirect. The target is not yet guarded.
    pub(super) fn step(&mut self, status: u16, location: Option<&[u8]>) -> Result<(), Fault> {
        let Some(location) = location else {
            return Err(Fault::Other(format!("redirect {status} without a Location")));
        };
        // Some servers write URLs as Latin-1; each byte is then its own character.
        let text = std::str::from_utf8(location)
            .map_or_else(|_| location.iter().copied().map(char::from).collect(), str::to_owned);
        let Ok(target) = self.here().join(&text).map(without_fragment) else {
            // Like a source whose own URL is none: there is nowhere that we would go.
            return Err(Fault::Blocked(format!("redirect {status} to something that is no URL")));
        };
        if self.hops.len() >= self.max {
            return Err(Fault::Other(format!("more than {} redirects", self.max)));
        }
        if target == self.start || self.hops.iter().any(|hop| hop.target == target) {
            return Err(Fault::Other(format!("redirects in a circle at {}", shown(&target))));
        }
        self.hops.push(Hop { status, target });
        Ok(())
    }
}

fn without_fragment(mut url: Url) -> Url {
    url.set_fragment(None);
    url
}

/// A URL for a message: credentials and queries may hold secrets.
fn shown(url: &Url) -> String {
    format!("{}{}", url.origin().ascii_serialization(), url.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trail(max: u32) -> Trail {
        Trail::new(&Url::parse("https://a.example/dir/feed?key=1#top").unwrap(), max)
    }

    #[track_caller]
    fn check(location: &[u8], expected: &str) {
        let mut trail = trail(10);
        let end = match trail.step(302, Some(location)) {
            Ok(()) => trail.here().to_string(),
            Err(fault) => fault.to_string(),
        };
        assert_eq!(end, expected);
    }

    #[test]
    fn locations_are_relative_to_where_we_are() {
        check(b"other", "https://a.example/dir/other");
        check(b"/root?x#frag", "https://a.example/root?x");
        check(b"//b.example/", "https://b.example/");
        check(b"http://b.example", "http://b.example/");
        check(b"?page=2", "https://a.example/dir/feed?page=2");
        check("/é".as_bytes(), "https://a.example/%C3%A9");
        check(b"/\xe9", "https://a.example/%C3%A9");
        check(b"", "redirects in a circle at https://a.example/dir/feed");
        check(b"#bottom", "redirects in a circle at https://a.example/dir/feed");
        check(b"https://:0:/", "blocked: redirect 302 to something that is no URL");
        check(b"http://[::1", "blocked: redirect 302 to something that is no URL");
        check(b"\t/tab\n", "https://a.example/tab");
    }

    #[test]
    fn circles_end_and_chains_have_a_length() {
        let mut circle = trail(10);
        circle.step(301, Some(b"/one")).unwrap();
        circle.step(301, Some(b"/two")).unwrap();
        let end = circle.step(301, Some(b"/one")).unwrap_err();
        assert_eq!(end, Fault::Other("redirects in a circle at https://a.example/one".into()));
        let mut chain = trail(2);
        chain.step(301, Some(b"/1")).unwrap();
        chain.step(301, Some(b"/2")).unwrap();
        assert_eq!(chain.step(301, Some(b"/3")), Err(Fault::Other("more than 2 redirects".into())));
        assert_eq!(chain.step(303, None), Err(Fault::Other("redirect 303 without a Location".into())));
    }

    #[test]
    fn an_origin_once_left_stays_left() {
        let mut trail = trail(10);
        assert!(trail.is_at_home());
        trail.step(301, Some(b"/elsewhere")).unwrap();
        assert!(trail.is_at_home());
        trail.step(301, Some(b"https://a.example:444/")).unwrap();
        assert!(!trail.is_at_home());
        trail.step(301, Some(b"https://a.example/back")).unwrap();
        assert!(!trail.is_at_home());
    }

    #[test]
    fn an_upgrade_to_https_stays_at_home() {
        let at_home = |start: &str, location: &[u8]| {
            let mut trail = Trail::new(&Url::parse(start).unwrap(), 10);
            trail.step(301, Some(location)).unwrap();
            trail.is_at_home()
        };
        assert!(at_home("http://a.example/feed", b"https://a.example/feed"));
        assert!(!at_home("http://a.example/feed", b"https://b.example/feed"));
        assert!(!at_home("http://a.example:8080/feed", b"https://a.example/feed"));
        assert!(!at_home("http://a.example/feed", b"https://a.example:8443/feed"));
        assert!(!at_home("https://a.example/feed", b"http://a.example/feed"));
        let mut back = Trail::new(&Url::parse("http://a.example/feed").unwrap(), 10);
        back.step(301, Some(b"https://a.example/feed")).unwrap();
        back.step(301, Some(b"http://a.example/other")).unwrap();
        assert!(!back.is_at_home(), "back to http is a downgrade");
    }
}
