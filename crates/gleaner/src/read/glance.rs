//! A glance at a page: what it calls itself, and how its text begins.
//!
//! For whoever wants to know what sort of page it is, whatever its server says it should be. Absent on purpose: a tree,
//! and what the page is about.

use gleaner_core::bot_wall::{self, BotWall};

use super::Page;
use super::decode::decode;
use super::html::{Token, Tokens};
use super::text::plain_text;

/// How much of a page is looked at: walls are short, and what is long is about something.
const GLANCED: usize = 256 << 10;
/// Tags that a page may begin with, and no feed does.
const FIRST: [&str; 16] = [
    "html", "head", "body", "title", "meta", "base", "link", "style", "script", "noscript", "div", "p", "h1",
    "center", "table", "form",
];

/// What a glance shows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Glance {
    /// What the page calls itself; empty: nothing.
    pub title: String,
    /// How its text begins.
    pub text: String,
}

/// Glances at a page; none where it is no HTML.
pub fn glance(page: &Page<'_>) -> Option<Glance> {
    let whole = decode(page.body, page.content_type);
    let html = beginning(&whole, GLANCED);
    let mut tags = Tokens::new(html.as_bytes()).filter_map(|token| match token {
        Token::Tag(tag) => Some(tag),
        _ => None,
    });
    tags.next().filter(|first| FIRST.iter().any(|name| first.is(name)))?;
    Some(Glance { title: title(html), text: plain_text(html) })
}

/// The wall that a page is, in place of what was asked for.
pub fn bot_wall(page: &Page<'_>) -> Option<BotWall> {
    // Walls are small, pictures and all.
    if page.body.len() > 2 * GLANCED {
        return None;
    }
    let seen = glance(page)?;
    let whole = decode(page.body, page.content_type);
    bot_wall::detect(beginning(&whole, GLANCED), &seen.title, &seen.text)
}

/// A text's first bytes, to the end of a character.
pub fn beginning(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text.get(..end).unwrap_or_default()
}

fn title(html: &str) -> String {
    let mut within = false;
    for token in Tokens::new(html.as_bytes()) {
        match token {
            Token::Tag(tag) if tag.is("title") => within = !tag.end,
            // A page's own title comes first; a picture further on may have one, too.
            Token::Tag(tag) if tag.is("body") => break,
            Token::Text(range) | Token::Verbatim(range) if within => {
                return plain_text(html.get(range).unwrap_or_default());
            }
            _ => {}
        }
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str) -> Option<Glance> {
        let url = url::Url::parse("https://a.example/").unwrap();
        glance(&Page { url: &url, content_type: b"application/rss+xml", body: body.as_bytes() })
    }

    #[test]
    fn a_page_is_known_whatever_it_is_sent_as() {
        let page = "<!doctype html><!-- x --><html><title>Just a &amp; moment</title><script>var a = '<p>';</script>\
             <body><p>Hello <b>you</b></p>";
        let seen = check(page).unwrap();
        assert_eq!(seen.title, "Just a & moment");
        assert!(seen.text.ends_with("Hello you"), "{}", seen.text);
        assert_eq!(check("<p>text</p><svg><title>a picture</title></svg>").unwrap().title, "a picture");
        assert_eq!(check("<html><body><svg><title>no").unwrap().title, "");
    }

    #[test]
    fn feeds_and_other_things_are_no_pages() {
        for other in
            ["", "text", "{\"version\": \"x\"}", "<?xml version='1.0'?><rss><channel/></rss>", "<urlset>"]
        {
            assert_eq!(check(other), None, "{other}");
        }
    }

    #[test]
    fn what_is_long_or_broken_ends() {
        let long = format!("<html><title>{}", "ä".repeat(GLANCED));
        assert!(check(&long).unwrap().text.len() <= GLANCED);
        assert_eq!(beginning("aä", 2), "a");
        assert_eq!(beginning("aä", 9), "aä");
    }
}
