//! Each file in `fixtures/` is a document, and the `.expect` file beside it lists everything that is parsed from
//! it.
//!
//! To add a case, add the document, run the tests with `UPDATE_FIXTURES=1`, and review the written file before
//! committing it. `Content-Type` and URL are the same for all.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::render;
use gleaner_feed::{Options, parse};

fn documents() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let files = fs::read_dir(directory).expect("the fixtures are there");
    let mut files: Vec<PathBuf> = files.flatten().map(|file| file.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension != "expect"));
    files.sort();
    files
}

#[test]
fn every_document_reads_as_expected() {
    let update = std::env::var_os("UPDATE_FIXTURES").is_some();
    let mut wrong = Vec::new();
    for file in documents() {
        let options = Options { url: Some("https://feeds.example.com/dir/feed"), ..Options::default() };
        let read = match parse(&fs::read(&file).unwrap(), &options) {
            Ok(feed) => render(&feed),
            Err(error) => format!("error: {error}\n"),
        };
        let expectation = file.with_extension("expect");
        if update {
            fs::write(&expectation, &read).unwrap();
        }
        let expected = fs::read_to_string(&expectation).unwrap_or_default();
        if read != expected {
            wrong.push(format!("{}:\n{}", file.display(), difference(&expected, &read)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_expectation_has_a_document() {
    let documents = documents();
    assert!(documents.len() > 70);
    let directory = documents[0].parent().unwrap();
    for file in fs::read_dir(directory).unwrap().map(|file| file.unwrap().path()) {
        let known = |document: &PathBuf| document.with_extension("expect") == file;
        assert!(file.extension().unwrap() != "expect" || documents.iter().any(known), "{}", file.display());
    }
}

/// The lines that are in only one of the two.
fn difference(expected: &str, read: &str) -> String {
    let missing = expected.lines().filter(|line| !read.lines().any(|other| other == *line));
    let surplus = read.lines().filter(|line| !expected.lines().any(|other| other == *line));
    missing.map(|line| format!("- {line}\n")).chain(surplus.map(|line| format!("+ {line}\n"))).collect()
}
