//! The title of a page and the beginning of its text, whatever its `Content-Type`, without building a tree.

use gleaner_core::bot_wall::{self, BotWall};

use super::Page;
use super::decode::decode;
use super::html::{Token, Tokens};
use super::text::plain_text;

/// Bytes of a page that are read: bot walls are short.
const MAX_BYTES: usize = 256 << 10;
/// Tags that pages start with, and feeds do not.
const FIRST_TAGS: [&str; 16] = [
    "html", "head", "body", "title", "meta", "base", "link", "style", "script", "noscript", "div", "p", "h1",
    "center", "table", "form",
];

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PageSummary {
    /// Empty if there is none.
    pub title: String,
    pub text: String,
}

/// Summarises a page; `None` if it is not HTML.
pub fn summarize(page: &Page<'_>) -> Option<PageSummary> {
    let whole = decode(page.body, page.content_type);
    let html = &whole[..whole.floor_char_boundary(MAX_BYTES)];
    let mut tags = Tokens::new(html.as_bytes()).filter_map(|token| match token {
        Token::Tag(tag) => Some(tag),
        _ => None,
    });
    tags.next().filter(|first| FIRST_TAGS.iter().any(|name| first.is(name)))?;
    Some(PageSummary { title: title(html), text: plain_text(html) })
}

/// Detects a bot wall in place of the requested document.
pub fn bot_wall(page: &Page<'_>) -> Option<BotWall> {
    // Bot walls are small, even with images.
    if page.body.len() > 2 * MAX_BYTES {
        return None;
    }
    let seen = summarize(page)?;
    let whole = decode(page.body, page.content_type);
    bot_wall::detect(&whole[..whole.floor_char_boundary(MAX_BYTES)], &seen.title, &seen.text)
}

fn title(html: &str) -> String {
    let mut within = false;
    for token in Tokens::new(html.as_bytes()) {
        match token {
            Token::Tag(tag) if tag.is("title") => within = !tag.end,
            // The page's own title comes first; an image further on may have one too.
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

    fn check(body: &str) -> Option<PageSummary> {
        let url = url::Url::parse("https://a.example/").unwrap();
        summarize(&Page { url: &url, content_type: b"application/rss+xml", body: body.as_bytes() })
    }

    #[test]
    fn pages_are_recognised_whatever_their_content_type() {
        let page = "<!doctype html><!-- x --><html><title>Just a &amp; moment</title><script>var a = '<p>';</script>\
             <body><p>Hello <b>you</b></p>";
        let seen = check(page).unwrap();
        assert_eq!(seen.title, "Just a & moment");
        assert!(seen.text.ends_with("Hello you"), "{}", seen.text);
        assert_eq!(check("<p>text</p><svg><title>a picture</title></svg>").unwrap().title, "a picture");
        assert_eq!(check("<html><body><svg><title>no").unwrap().title, "");
    }

    #[test]
    fn feeds_and_other_documents_are_not_pages() {
        for other in
            ["", "text", "{\"version\": \"x\"}", "<?xml version='1.0'?><rss><channel/></rss>", "<urlset>"]
        {
            assert_eq!(check(other), None, "{other}");
        }
    }

    #[test]
    fn long_pages_are_truncated() {
        let long = format!("<html><title>{}", "ä".repeat(MAX_BYTES));
        assert!(check(&long).unwrap().text.len() <= MAX_BYTES);
    }
}
