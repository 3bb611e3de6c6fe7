//! For the tests that kill the process: a file records whether a transaction was open when it died, and the process can be
//! made to store validators before posts, which those tests must notice. No release contains this.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::sync::LazyLock;

static MARKS: LazyLock<Option<File>> = LazyLock::new(|| {
    let path = std::env::var_os("TEST_GLEANER_MARKS")?;
    OpenOptions::new().append(true).create(true).open(path).ok()
});

static WRONG: LazyLock<bool> =
    LazyLock::new(|| std::env::var_os("TEST_GLEANER_FAULT").is_some_and(|fault| fault == "validators_first"));

/// Whether validators are to be saved first.
pub(super) fn validators_first() -> bool {
    *WRONG
}

/// A transaction that writes polls, as long as it lives.
pub(super) struct Open;

impl Open {
    /// Begins one, if there is anything to commit.
    pub(super) fn new(commits: usize) -> Option<Self> {
        (commits > 0).then(|| {
            mark(b"b");
            Self
        })
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        mark(b"e");
    }
}

/// A byte in the file, which outlives the process.
fn mark(byte: &[u8]) {
    if let Some(mut file) = MARKS.as_ref() {
        let _ = file.write_all(byte);
    }
}
