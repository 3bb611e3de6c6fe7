//! Converts the text of a post on X to HTML, expanding links and keeping line breaks.
//!
//! X escapes `&`, `<` and `>` in its texts and shortens every link. The positions of links are not used, because
//! they refer to unescaped text; the short links are searched instead, in one pass.

use std::borrow::Cow;
use std::collections::HashMap;

use memchr::memmem;

use super::x::Tweet;

/// The prefix of all short links.
const SHORT: &str = "https://t.co/";

/// A post's own text; a link to the quoted post is removed, since its text follows.
pub(super) fn html(tweet: &Tweet, quoted_id: Option<&str>) -> String {
    let (text, entities) = match &tweet.note_tweet {
        Some(note) => (&note.text, &note.entities),
        None => (&tweet.text, &tweet.entities),
    };
    let is_quoted = |target: &str| quoted_id.is_some_and(|id| is_status(target, id));
    let links: HashMap<&str, &str> = entities
        .urls
        .iter()
        .filter_map(|link| Some((link.url.as_str(), link.expanded_url.as_deref()?)))
        .collect();
    let text = htmlize::unescape(text.as_str());
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for at in memmem::find_iter(text.as_bytes(), SHORT) {
        let rest = &text[at + SHORT.len()..];
        let code = rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
        let end = at + SHORT.len() + code;
        let Some(target) = links.get(&text[at..end]) else { continue };
        out.push_str(&escape(&text[done..at]));
        done = end;
        if !is_quoted(target) {
            let target = escape(target);
            out.push_str(&format!("<a href=\"{target}\">{target}</a>"));
        }
    }
    out.push_str(&escape(&text[done..]));
    out.trim_end().to_owned()
}

/// Whether a URL is that of a post, whatever the user name in it.
fn is_status(target: &str, id: &str) -> bool {
    let path = target.split(['?', '#']).next().unwrap_or_default();
    path.strip_suffix(id).is_some_and(|before| before.ends_with("/status/"))
}

fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>', '"', '\n']) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for char in text.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("<br>"),
            char => out.push(char),
        }
    }
    Cow::Owned(out)
}
