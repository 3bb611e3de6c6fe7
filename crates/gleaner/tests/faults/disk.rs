//! A disk without room: a real one of a few megabytes, in a mount namespace of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::Site;
use crate::support::sqlite;

/// Names the small disk to the test that runs on it.
const DISK: &str = "TEST_SMALL_DISK";

/// Runs a test of this file once more, where a directory is a disk of 16 MB. What it is called there; none: it has run.
fn on_a_small_disk(test: &str) -> Option<PathBuf> {
    if let Ok(disk) = std::env::var(DISK) {
        return Some(disk.into());
    }
    let apart = || {
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--mount"]).stdin(Stdio::null());
        command
    };
    if !apart().arg("true").status().is_ok_and(|status| status.success()) {
        eprintln!("nothing can be mounted here; a full disk was not tried");
        return None;
    }
    let directory = tempfile::tempdir().unwrap();
    let ran = apart()
        .args(["sh", "-c", "mount -t tmpfs -o size=16m small \"$0\" && exec \"$@\""])
        .arg(directory.path())
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &format!("faults::disk::{test}"), "--nocapture"])
        .env(DISK, directory.path())
        .status()
        .unwrap();
    assert!(ran.success());
    None
}

/// Takes all the room that is left.
fn fill(disk: &Path) -> PathBuf {
    let ballast = disk.join("ballast");
    let mut file = std::fs::File::create(&ballast).unwrap();
    let full = std::io::copy(&mut std::io::repeat(0), &mut file).unwrap_err();
    assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
    ballast
}

#[tokio::test]
async fn a_full_disk_is_told_and_goes_on_when_there_is_room() {
    let Some(disk) = on_a_small_disk("a_full_disk_is_told_and_goes_on_when_there_is_room") else { return };
    let database = disk.join("gleaner.db");
    let mut site = Site::new(&database.display().to_string()).await;
    let ballast = fill(&disk);
    site.log.says("has no room left to write; free some disk space").await;
    assert!(!site.running().tasks[0].is_finished(), "it tries again");
    std::fs::remove_file(ballast).unwrap();
    site.agrees().await;
    is_sound(&database).await;
}

#[tokio::test]
async fn starting_on_a_full_disk_says_so() {
    let Some(disk) = on_a_small_disk("starting_on_a_full_disk_says_so") else { return };
    fill(&disk);
    let output = Command::new("timeout")
        .args(["15", env!("CARGO_BIN_EXE_gleaner"), "serve", "--set", "api.listen=127.0.0.1:0", "--set"])
        .arg(format!("store.url={}", disk.join("gleaner.db").display()))
        .env("HOME", &disk)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(6), "{told}");
    assert!(told.contains("has no room left to write; free some disk space"), "{told}");
}

/// SQLite finds nothing wrong with a file.
pub(super) async fn is_sound(database: &Path) {
    use sqlx::{Connection as _, Row as _};
    let mut connection = sqlx::SqliteConnection::connect(&database.display().to_string()).await.unwrap();
    let row = sqlx::query("PRAGMA integrity_check").fetch_one(&mut connection).await.unwrap();
    assert_eq!(row.get::<String, _>(0), "ok");
}

#[tokio::test]
async fn the_check_of_a_file_can_tell() {
    let db = sqlite().await;
    is_sound(Path::new(&db.url)).await;
}
