//! Who may use whom: `core <- {fetch, read, store} <- engine <- service <- web <- cli <- main`.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Each part, and the parts it must not name.
const FORBIDDEN: [(&str, &[&str]); 15] = [
    ("fetch", &["read", "store", "engine", "service", "web", "cli", "demo"]),
    ("read", &["fetch", "store", "engine", "service", "web", "cli", "demo"]),
    ("store", &["fetch", "read", "engine", "service", "web", "cli", "demo"]),
    ("event_payload", &["fetch", "read", "store", "engine", "service", "web", "cli", "demo"]),
    ("engine", &["service", "web", "cli", "demo"]),
    ("service", &["web", "cli", "demo"]),
    ("web", &["store", "cli", "demo"]),
    ("cli", &["store"]),
    // Only its command names the demo: no server that runs for real has anything of it.
    ("demo", &["store", "web", "cli"]),
    ("config", &["fetch", "read", "store", "engine", "service", "web", "cli", "demo"]),
    ("source_fields", &["config", "fetch", "read", "store", "engine", "service", "web", "cli", "demo"]),
    ("vault", &["fetch", "read", "store", "engine", "service", "web", "cli", "demo"]),
    ("metrics", &["fetch", "read", "store", "engine", "service", "web", "cli", "demo"]),
    ("clock", &["fetch", "read", "store", "engine", "service", "web", "cli", "demo"]),
    (
        "simulate",
        &["config", "fetch", "read", "store", "engine", "service", "web", "cli", "clock", "metrics"],
    ),
];

/// What the core must never depend on, directly or not.
const IMPURE: [&str; 5] = ["tokio", "sqlx", "reqwest", "hyper", "rand"];

#[test]
fn uses_point_one_way() {
    let mut wrong = Vec::new();
    for (part, forbidden) in FORBIDDEN {
        for file in files_of(part) {
            let text = std::fs::read_to_string(&file).unwrap();
            for (number, line) in text.lines().enumerate() {
                let named = |other: &&&str| line.contains(&format!("crate::{other}"));
                if let Some(other) = forbidden.iter().find(named) {
                    wrong.push(format!("{}:{}: {part} names {other}", file.display(), number + 1));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The files of a part: `src/part.rs`, and all below `src/part/`.
fn files_of(part: &str) -> Vec<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = vec![source.join(format!("{part}.rs"))];
    let mut directories = vec![source.join(part)];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() { directories.push(path) } else { files.push(path) }
        }
    }
    files.retain(|file| file.is_file());
    files
}

#[test]
fn the_core_and_the_parser_stay_pure() {
    for package in ["gleaner-core", "gleaner-feed"] {
        let output = Command::new(env!("CARGO"))
            .args(["tree", "--offline", "--edges", "normal", "--prefix", "none", "--package", package])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .unwrap();
        let tree = String::from_utf8_lossy(&output.stdout);
        assert!(tree.starts_with(package), "cargo tree failed: {}", String::from_utf8_lossy(&output.stderr));
        let impure =
            tree.lines().find(|line| IMPURE.iter().any(|name| line.starts_with(&format!("{name} "))));
        assert_eq!(impure, None, "{package} must not depend on it");
    }
}

/// Every statement has its time limit because it is run in one of these files, which set it.
const RUN_STATEMENTS: [&str; 2] = ["store/sql/connection.rs", "store/maintenance.rs"];

#[test]
fn statements_run_only_where_they_have_a_time_limit() {
    let calls = [
        ".build()",
        "sqlx::query(",
        "query_with(",
        "raw_sql(",
        ".fetch_one(",
        ".fetch_all(",
        ".fetch_optional(",
        "PgConnection::connect",
    ];
    let files =
        files_of("store").into_iter().filter(|file| !RUN_STATEMENTS.iter().any(|own| file.ends_with(own)));
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let found = calls.iter().find(|call| text.contains(**call));
        assert_eq!(found, None, "{} runs a statement by itself", file.display());
    }
}

/// Reads of one thing that may be in a private collection.
const GUARDED: [&str; 5] =
    ["store.source(", "store.post(", "store.article(", "store.source_names(", "store.collections("];
/// Files of the service that read so, and why they may.
const MAY_READ: [(&str, &str, &str); 5] = [
    ("visibility.rs", "store.", "it decides"),
    ("keys.rs", "store.collections(", "whose keys are set, their own are made due"),
    ("import.rs", "store.collections(", "it keeps those that may be seen"),
    ("open_callers.rs", "store.collections(", "it ends streams of those who do not see them any more"),
    ("content.rs", "store.article(", "it was looked at before, or made just now"),
];

#[test]
fn what_may_be_private_is_read_in_one_place() {
    let mut wrong = Vec::new();
    for file in files_of("service") {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&file).unwrap();
        for (number, line) in text.lines().enumerate() {
            for call in GUARDED.iter().filter(|call| line.contains(**call)) {
                if !MAY_READ.iter().any(|(file, may, _)| *file == name && call.starts_with(may)) {
                    wrong.push(format!("{name}:{}: {call}…) goes around visibility.rs", number + 1));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
