//! The end of SQLite's log is torn, as a machine without power leaves it: what was whole stays, the rest is polled anew.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use sqlx::{Connection as _, Executor as _};

use super::Site;
use super::disk::is_sound;
use crate::support::sqlite;

/// What becomes of the end of a log.
type Damage = fn(&mut File, u64);

#[tokio::test]
async fn a_log_cut_off_in_the_middle_of_a_frame() {
    survives(|file, length| file.set_len(length - 5000).unwrap()).await;
}

#[tokio::test]
async fn a_log_with_flipped_bits_near_its_end() {
    survives(|file, length| {
        let mut byte = [0];
        file.seek(SeekFrom::Start(length - 12_000)).unwrap();
        file.read_exact(&mut byte).unwrap();
        file.seek(SeekFrom::Start(length - 12_000)).unwrap();
        file.write_all(&[!byte[0]]).unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_log_that_ends_in_zeros_and_noise() {
    survives(|file, length| {
        file.seek(SeekFrom::Start(length - 20_000)).unwrap();
        file.write_all(&[0; 10_000]).unwrap();
        let noise: Vec<u8> = (0..30_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        file.write_all(&noise).unwrap();
    })
    .await;
}

/// Copies a database in use as it lies on the disk, damages the copy's log, and goes on with that.
async fn survives(damage: Damage) {
    let db = sqlite().await;
    let mut site = Site::new(&db.url).await;
    let directory = tempfile::tempdir().unwrap();
    let copy = directory.path().join("gleaner.db");
    let mut other = sqlx::SqliteConnection::connect(&db.url).await.unwrap();
    // Nothing is written meanwhile, so that the two files belong together.
    other.execute("BEGIN IMMEDIATE").await.unwrap();
    std::fs::copy(&db.url, &copy).unwrap();
    let log = directory.path().join("gleaner.db-wal");
    std::fs::copy(format!("{}-wal", db.url), &log).unwrap();
    other.execute("ROLLBACK").await.unwrap();
    site.stop().await;
    let mut file = OpenOptions::new().read(true).write(true).open(&log).unwrap();
    let length = file.metadata().unwrap().len();
    assert!(length > 60_000, "there is a log to damage: {length}");
    damage(&mut file, length);
    drop(file);
    site.url = copy.display().to_string();
    site.start().await;
    site.agrees().await;
    is_sound(Path::new(&copy)).await;
}
