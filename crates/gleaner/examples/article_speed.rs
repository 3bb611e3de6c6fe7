//! Measures article extraction, compared to `dom_smoothie` alone: `article_speed [DIRECTORY]`.
//!
//! Reads the HTML files of a directory, or generates pages. Passes alternate, and the fastest pass of each counts,
//! so that load on the machine affects both equally.
#![expect(clippy::print_stdout, reason = "printing is its purpose")]

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use dom_smoothie::{Config, Readability, TextMode};
use gleaner::read::Page;
use gleaner::read::article::extract;
use url::Url;

const PASSES: usize = 7;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pages = match std::env::args_os().nth(1) {
        Some(directory) => read(Path::new(&directory))?,
        None => (0..60).map(made_up).collect(),
    };
    let bytes: usize = pages.iter().map(String::len).sum();
    let url = Url::parse("https://site.example/2024/05/17/article")?;
    let (mut ours, mut alone) = (f64::MAX, f64::MAX);
    for _ in 0..PASSES {
        alone = alone.min(seconds(&pages, |page| by_smoothie(page, &url)));
        ours = ours.min(seconds(&pages, |page| {
            extract(&Page { url: &url, content_type: b"text/html", body: page.as_bytes() }).text.len()
        }));
    }
    let told = |name: &str, seconds: f64| {
        let (rate, size) = (pages.len() as f64 / seconds, bytes as f64 / 1e6 / seconds);
        println!("{name:14} {rate:8.0} pages/s {size:8.1} MB/s");
    };
    println!("{} pages, {:.1} MB", pages.len(), bytes as f64 / 1e6);
    told("gleaner", ours);
    told("dom_smoothie", alone);
    println!("ratio          {:8.2}", alone / ours);
    Ok(())
}

fn seconds(pages: &[String], work: impl Fn(&str) -> usize) -> f64 {
    let start = Instant::now();
    for page in pages {
        black_box(work(page));
    }
    start.elapsed().as_secs_f64()
}

fn by_smoothie(page: &str, url: &Url) -> usize {
    let config = Config { text_mode: TextMode::Formatted, ..Config::default() };
    let reader = Readability::new(page, Some(url.as_str()), Some(config));
    reader.and_then(|mut reader| reader.parse()).map_or(0, |article| article.text_content.len())
}

fn read(directory: &Path) -> std::io::Result<Vec<String>> {
    let mut pages = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "html") {
            pages.push(String::from_utf8_lossy(&std::fs::read(path)?).into_owned());
        }
    }
    Ok(pages)
}

/// A typical page: scripts, menus, an article, and lists of other articles.
fn made_up(seed: usize) -> String {
    let script = "window.data = {items: [1, 2, 3], text: \"words in a script\"};\n".repeat(600);
    let item = |n: usize| {
        format!("<li class=\"menu-item item-{n}\"><a href=\"/{n}\" data-id=\"{n}\">Section {n}</a></li>")
    };
    let menu: String = (0..80).map(item).collect();
    let sentence = "The river rose, as it does every year, and nobody was surprised, though many were wet. ";
    let paragraph = |n: usize| format!("<p class=\"text\">{}</p>\n", sentence.repeat(2 + (seed + n) % 5));
    let text: String = (0..30).map(paragraph).collect();
    let card = |n: usize| {
        format!(
            "<div class=\"card related\"><a href=\"/r/{n}\"><img src=\"/{n}.jpg\"><h3>Another story, number {n}</h3></a></div>"
        )
    };
    let cards: String = (0..40).map(card).collect();
    format!(
        "<!DOCTYPE html><html lang=en><head><title>The river rose again ({seed}) | Site</title>\
         <meta name=author content=\"Jane Doe\"><script>{script}</script></head><body><nav><ul>{menu}</ul></nav>\
         <main><article><h1>The river rose again ({seed})</h1><div class=\"share\">Share</div>{text}</article></main>\
         <section>{cards}</section><script>{script}</script></body></html>"
    )
}
