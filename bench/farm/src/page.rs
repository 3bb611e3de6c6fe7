//! HTML pages: an index of articles and the articles themselves, rendered on request.
//!
//! Each feed has an index, `/index/12`, that links to its articles, `/page/12/3`: some in the first generation, and
//! one more in each following. There are no validators, and requests are not in the ledger.

use crate::options::Options;
use crate::words::{self, Random};

/// Links on an index in the first generation.
const LINKS: u64 = 5;
/// Bytes of HTML in an article, which makes a page of 12 KB.
const ARTICLE: usize = 8 << 10;

/// The response to a request for a page, if it exists.
pub(crate) fn answer(options: &Options, target: &str, generation: u64) -> Option<Vec<u8>> {
    let mut path = target.strip_prefix('/')?.split('/');
    let (kind, feed) = (path.next()?, path.next()?.parse().ok().filter(|feed| *feed < options.feeds)?);
    let html = match (kind, path.next()) {
        ("index", None) => index(options, feed, generation),
        ("page", Some(number)) => page(options, feed, number.parse().ok()?),
        _ => return None,
    };
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\r\n",
        html.len()
    );
    Some([head.into_bytes(), html.into_bytes()].concat())
}

fn title(options: &Options, feed: u32, number: u64) -> String {
    let mut title = String::new();
    words::words(&mut title, &mut Random::new(options.seed ^ 0x9a6e, u64::from(feed), number), 6);
    format!("{title} {number}")
}

fn index(options: &Options, feed: u32, generation: u64) -> String {
    let link = |number| {
        let title = title(options, feed, number);
        format!("<article><h2><a href=\"/page/{feed}/{number}\">{title}</a></h2></article>\n")
    };
    let links: String = (0..LINKS + generation).rev().map(link).collect();
    around("All articles", &format!("<main>\n{links}</main>"))
}

fn page(options: &Options, feed: u32, number: u64) -> String {
    let title = title(options, feed, number);
    let mut random = Random::new(options.seed ^ 0x9a6f, u64::from(feed), number);
    let (author, text) = (words::name(&mut random), words::article(&mut random, ARTICLE));
    let article = format!(
        "<main><article><h1>{title}</h1><p class=\"byline\">By {author}</p>\n{text}</article></main>"
    );
    around(&title, &article)
}

/// The layout of every page.
fn around(title: &str, content: &str) -> String {
    let links: String = (0..20).map(|n| format!("<li><a href=\"/about/{n}\">About {n}</a></li>\n")).collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\n\
         <style>body {{ margin: 2em auto; max-width: 40em }}</style></head>\n<body><header><nav><ul>\n{links}</ul></nav></header>\n\
         {content}\n<aside><h3>Read on</h3><ul>\n{links}</ul></aside><footer><p>All rights reserved.</p></footer>\n\
         <script>document.title += \"\";</script></body></html>\n"
    )
}
