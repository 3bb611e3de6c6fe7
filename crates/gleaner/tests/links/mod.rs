//! Links of index pages: pages in the manner of common generators, each with the links to be found in it.

mod hostile;
mod selector;

use std::path::Path;

use gleaner::read::Page;
use gleaner::read::links::{Link, guess};
use url::Url;

/// A page of `fixtures/links`: its address, the links expected as lines, and the whole of it.
struct Fixture {
    name: String,
    url: Url,
    expected: Vec<String>,
    html: String,
}

impl Fixture {
    /// Reads `<!-- URL, then a line for each link or `nothing` -->` and what follows.
    fn read(path: &Path) -> Self {
        let html = std::fs::read_to_string(path).unwrap();
        let head = html.strip_prefix("<!--").and_then(|rest| rest.split_once("-->")).unwrap().0;
        let mut lines = head.lines().map(str::trim).filter(|line| !line.is_empty() && *line != "nothing");
        let url = Url::parse(lines.next().unwrap()).unwrap();
        let expected = lines.map(str::to_owned).collect();
        Self { name: path.file_stem().unwrap().to_string_lossy().into_owned(), url, expected, html }
    }

    fn named(name: &str) -> Self {
        Self::read(&directory().join(format!("{name}.html")))
    }

    fn page(&self) -> Page<'_> {
        Page { url: &self.url, content_type: b"text/html; charset=utf-8", body: self.html.as_bytes() }
    }
}

fn directory() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/links")
}

/// `URL | title | date`, as far as there is one.
fn line(link: &Link) -> String {
    let title = link.title.iter().map(|title| format!(" | {title}"));
    let date = link.published_at.iter().map(|date| format!(" | {date}"));
    std::iter::once(link.url.to_string()).chain(title).chain(date).collect()
}

#[test]
fn articles_are_found_on_all_sorts_of_index_pages() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for entry in std::fs::read_dir(directory()).unwrap() {
        let fixture = Fixture::read(&entry.unwrap().path());
        let found: Vec<String> = guess(&fixture.page()).iter().map(line).collect();
        if found != fixture.expected {
            wrong.push(format!("{}: found {found:#?}, expected {:#?}", fixture.name, fixture.expected));
        }
        count += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 12, "only {count} fixtures");
}
