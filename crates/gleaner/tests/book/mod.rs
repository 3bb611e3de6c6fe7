//! The book in `docs/`: what is generated is what the code says, and what is written by hand leads somewhere.
//!
//! `make reference` runs these with `UPDATE_REFERENCE` set, which writes instead of comparing.

mod timelines;

use std::path::{Path, PathBuf};
use std::process::Command;

use gleaner_core::outcome::{Cause, ErrorKind};

/// The repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_default()
}

/// Compares a committed file with what it should be, or writes it where that was asked for.
fn check(path: &str, expected: &str) {
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        std::fs::write(root().join(path), expected).unwrap();
    }
    assert!(read(path) == expected, "{path} is stale: `make reference` writes it anew");
}

#[test]
fn the_committed_commands_are_those_of_the_command_line() {
    check("docs/commands.md", &gleaner::cli::reference::page());
}

#[test]
fn the_committed_settings_are_those_of_the_table() {
    check("docs/settings.md", &gleaner::config::reference::page());
    check("deploy/config.toml", &gleaner::config::reference::file());
}

#[test]
fn the_committed_source_fields_are_those_of_the_table() {
    check("docs/source-fields.md", &gleaner::source_fields::page());
}

#[test]
fn the_committed_timelines_are_what_the_tables_do() {
    check("docs/policies.md", &timelines::renewed(&read("docs/policies.md")));
}

#[test]
fn the_default_config_is_right_and_so_is_each_of_its_keys() {
    let file = gleaner::config::reference::file();
    // Keys with a default, set to it; those that stand for names have none that could be meant.
    let named = file.find("#[source.poll_delay_seconds").unwrap()..file.find("[fetch]").unwrap();
    let plain = format!("{}{}", &file[..named.start], &file[named.end..]);
    let plain = plain.split("#[policies").next().unwrap();
    let set = plain.lines().map(|line| match line.strip_prefix('#') {
        Some(key) if !key.starts_with(' ') && !key.ends_with('=') => key,
        _ => line,
    });
    let directory = tempfile::tempdir().unwrap();
    for text in [file.clone(), set.collect::<Vec<_>>().join("\n")] {
        let path = directory.path().join("config.toml");
        std::fs::write(&path, text).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_gleaner"));
        command.args(["config", "check", "--config"]).arg(&path).env_clear().env("HOME", directory.path());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn every_error_kind_has_its_section() {
    let page = read("docs/troubleshooting.md");
    for kind in ErrorKind::all() {
        assert!(
            page.contains(&format!("\n## `{kind}`\n")),
            "docs/troubleshooting.md has no section on {kind}"
        );
    }
    for cause in Cause::ALL {
        let section = format!("\n### `network` by `{}`\n", cause.name());
        assert!(page.contains(&section), "docs/troubleshooting.md has no section on {}", cause.name());
    }
}

#[test]
fn links_lead_to_files_and_headings_that_exist() {
    let mut pages = vec![root().join("README.md"), root().join("CHANGELOG.md")];
    let mut directories = vec![root().join("docs")];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    let mut wrong = Vec::new();
    for page in &pages {
        let text = std::fs::read_to_string(page).unwrap();
        for target in links(&text).into_iter().filter(|target| !is_elsewhere(target)) {
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let path = if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
            let there = path.exists() && (heading.is_empty() || has_heading(&path, heading));
            if !there {
                wrong.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "links that lead nowhere:\n{}", wrong.join("\n"));
}

#[test]
fn the_summary_names_every_page() {
    let summary = read("docs/SUMMARY.md");
    let listed = links(&summary);
    for directory in ["docs", "docs/decisions"] {
        for entry in std::fs::read_dir(root().join(directory)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let path = format!("{directory}/{name}");
            let path = path.strip_prefix("docs/").unwrap();
            if name.ends_with(".md") && path != "SUMMARY.md" {
                assert!(listed.contains(&path), "docs/SUMMARY.md does not name {path}");
            }
        }
    }
}

/// The benchmarks have a workspace of their own, and Cargo takes profiles from nowhere else.
#[test]
fn what_is_measured_is_built_like_what_is_shipped() {
    let profile = |path, name| {
        let text = read(path);
        let begin = text.find(name).unwrap();
        text[begin..].replace("profile.dist", "profile.release").replace("inherits = \"release\"\n", "")
    };
    assert_eq!(
        profile("bench/polls/Cargo.toml", "[profile.release]"),
        profile("Cargo.toml", "[profile.dist]")
    );
}

fn is_elsewhere(target: &str) -> bool {
    ["https://", "http://", "mailto:"].iter().any(|scheme| target.starts_with(scheme))
}

/// What the links and pictures of a Markdown page lead to; code is left out.
fn links(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        // Every other part is between backticks.
        let mut rest = if fenced { "" } else { line };
        while let Some((before, after)) = rest.split_once("](") {
            let target = after.split([')', ' ']).next().unwrap_or_default();
            if before.matches('`').count() % 2 == 0 || before.ends_with('`') {
                found.push(target);
            }
            rest = after;
        }
    }
    found
}

/// Whether a page has a heading of that anchor, made as GitHub and mdBook make them.
fn has_heading(page: &Path, anchor: &str) -> bool {
    let text = std::fs::read_to_string(page).unwrap();
    let mut headings = text.lines().filter(|line| line.starts_with('#'));
    headings.any(|line| {
        let text = line.trim_start_matches('#').trim().to_lowercase();
        let kept = text.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>() == anchor
    })
}
