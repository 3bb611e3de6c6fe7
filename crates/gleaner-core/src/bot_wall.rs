//! Recognises pages that ask a visitor to prove that it is human, served in place of the content that was requested.
//!
//! The signs are few and come from the walls themselves: what their scripts and elements are called, or words that a
//! short page says. A page with much text is never a wall, whatever it quotes.

use crate::suspect::{self, Reason};

/// A page with more visible text than this has content of its own.
const LONGEST_WALL_TEXT: usize = 1500;

/// Parts of the HTML of walls that no other page of the same operator has. hCaptcha has none: its script stands in every
/// page with a form that it guards, too, and its walls are recognised by what they say.
const MARKERS: [(&str, &[&str]); 7] = [
    ("Cloudflare", &["window._cf_chl_opt", "id=\"challenge-error-text\"", "id=\"cf-challenge-running\""]),
    ("DataDome", &["geo.captcha-delivery.com/", "ct.captcha-delivery.com/"]),
    ("Akamai", &["sec-if-cpt-container", "/_sec/cp_challenge/"]),
    ("PerimeterX", &["id=\"px-captcha\"", "captcha.px-cdn.net/", "window._pxUuid"]),
    ("Imperva", &["/_Incapsula_Resource?CWUDNSAI"]),
    ("Anubis", &["id=\"anubis_challenge\"", "/.within.website/x/cmd/anubis/"]),
    ("AWS WAF", &["window.gokuProps"]),
];

/// A wall in place of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BotWall {
    /// Who runs it, where that is known.
    pub operator: Option<&'static str>,
    /// What it was recognised by, for people.
    pub evidence: String,
}

impl BotWall {
    /// What happened, for people; `wanted` is what was expected, such as `feed`.
    pub fn message(&self, wanted: &str) -> String {
        let operator = self.operator.map(|operator| format!(" ({operator})")).unwrap_or_default();
        format!("a bot wall{operator} came instead of the {wanted}: {}", self.evidence)
    }
}

/// Recognises a wall by the beginning of its HTML, its title and its visible text.
pub fn detect(html: &str, title: &str, text: &str) -> Option<BotWall> {
    if text.trim().len() > LONGEST_WALL_TEXT {
        return None;
    }
    let marked = MARKERS.iter().find_map(|(operator, markers)| {
        let marker = markers.iter().find(|marker| html.contains(**marker))?;
        Some(BotWall { operator: Some(operator), evidence: format!("its HTML has {marker}") })
    });
    marked.or_else(|| {
        let (place, sign) = suspect::sign_of(Reason::BotWall, title, text)?;
        Some(BotWall { operator: None, evidence: format!("its {place} says \"{sign}\"") })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walls_are_recognised_by_their_parts() {
        for (html, operator) in [
            ("<script>(function(){window._cf_chl_opt = {cvId: '3'", "Cloudflare"),
            ("<script data-cfasync='false' src='https://ct.captcha-delivery.com/c.js'>", "DataDome"),
            ("<div id=\"sec-if-cpt-container\" role=\"main\">", "Akamai"),
            ("<div id=\"px-captcha\"></div>", "PerimeterX"),
            ("<iframe id=\"main-iframe\" src=\"/_Incapsula_Resource?CWUDNSAI=23", "Imperva"),
            ("<script id=\"anubis_challenge\" type=\"application/json\">", "Anubis"),
            ("<script>window.gokuProps = {", "AWS WAF"),
        ] {
            let wall = detect(html, "", "Please wait").unwrap();
            assert_eq!(wall.operator, Some(operator));
            assert!(
                wall.message("page")
                    .starts_with(&format!("a bot wall ({operator}) came instead of the page: "))
            );
        }
    }

    #[test]
    fn a_short_page_that_says_so_is_a_wall() {
        let wall = detect("<title>Just a moment...</title>", "Just a moment...", "").unwrap();
        assert_eq!(
            wall.message("feed"),
            "a bot wall came instead of the feed: its title says \"just a moment...\""
        );
        let hcaptcha = "<script src='https://js.hcaptcha.com/1/api.js' async></script>";
        assert!(detect(hcaptcha, "", "Please verify you are human to go on").is_some());
    }

    #[test]
    fn a_page_with_content_is_none() {
        let long = "How we put up a wall that says: verify you are human. ".repeat(40);
        assert_eq!(detect("<script>window._cf_chl_opt", "Just a moment...", &long), None);
        // What these operators put into every page that they let through.
        let usual = "<script src='/cdn-cgi/challenge-platform/scripts/jsd/main.js'></script>\
             <script src='https://js.datadome.co/tags.js'></script><script>window._pxAppId = 'PX1'</script>\
             <script src='https://js.hcaptcha.com/1/api.js' async></script>\
             <script src='https://a.edge.sdk.awswaf.com/a/challenge.js'></script>\
             <script src='https://a.b.token.awswaf.com/a/b/challenge.js'></script>";
        assert_eq!(detect(usual, "Notes", "A short page about a garden."), None);
        assert_eq!(detect("", "Opening hours", "Closed today."), None);
    }
}
