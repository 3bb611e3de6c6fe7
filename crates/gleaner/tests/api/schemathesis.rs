//! The API against its own document: schemathesis makes requests of every shape, good and bad.
//!
//! A thousand cases here; `make fuzz-api` runs fifty times as many. Its findings are settings of `schemathesis.toml`
//! or bugs.

use std::path::PathBuf;
use std::process::Command;

use super::client::Api;
use super::on_both;
use crate::support::Database;

on_both!(the_api_is_what_its_document_says);

/// Cases for each operation.
fn examples() -> String {
    std::env::var("SCHEMATHESIS_EXAMPLES").unwrap_or_else(|_| "15".to_owned())
}

/// The same cases each time, unless another seed is given: a test must not fail by chance.
fn seed() -> String {
    std::env::var("SCHEMATHESIS_SEED").unwrap_or_else(|_| "1".to_owned())
}

/// Where `scripts/setup` puts it.
fn program() -> PathBuf {
    let usual =
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/schemathesis/bin/schemathesis"));
    std::env::var_os("SCHEMATHESIS").map_or_else(usual, PathBuf::from)
}

async fn the_api_is_what_its_document_says(db: Database) {
    let api = Api::with(db, &["api.requests_per_minute=0"]).await;
    let directory = tempfile::tempdir().unwrap();
    let document = directory.path().join("openapi.json");
    std::fs::write(&document, api.get("/openapi.json").await.text).unwrap();
    let config = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/api/schemathesis.toml");
    let mut command = Command::new(program());
    command
        .args(["--config-file", config, "run"])
        .arg(&document)
        .args(["--url", &api.base, "--header", &format!("Authorization: Bearer {}", api.token)])
        .args(["--checks", "all", "--no-color", "--max-examples", &examples(), "--seed", &seed()])
        // The token would end with the first of these.
        .args(["--exclude-path", "/api/v1/logout", "--exclude-path", "/api/v1/tokens/{name}"])
        .args(["--exclude-path", "/api/v1/users/{name}/password"])
        // This one never ends.
        .args(["--exclude-path", "/api/v1/events/stream"])
        .current_dir(directory.path());
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap();
    let output = output.unwrap_or_else(|error| panic!("`make setup` installs schemathesis: {error}"));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("Tested:"), "{said}");
}
