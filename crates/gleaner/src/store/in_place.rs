//! Pages of sources from SQLite, read on the thread that asks.
//!
//! sqlx gives each connection a thread, and each value a copy that is locked. For a page of fifty sources the way to that
//! thread and back, and the JSON that spares the copies, cost several times what the reading does. So a page by id is read
//! by rusqlite, in place: it reads as many rows as it shows, some twenty microseconds. Both drivers share one SQLite;
//! Cargo does not link two.
//!
//! Absent on purpose: whatever searches, which may take long and would hold up all else on the thread; and patience: what
//! is locked, missing or garbled is left to the usual way, which waits and explains.

use std::error::Error;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use gleaner_core::source::Interval;
use gleaner_core::time::{Span, Time};
use rusqlite::{Connection, OpenFlags, Row, types::FromSql};

use super::{Listed, packed};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Connections, opened when they are needed; never more than there are threads that ask.
pub(super) struct InPlace {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

impl InPlace {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, idle: Mutex::default() }
    }

    /// The sources that a query for those after an id finds; none: it did not work.
    pub(super) fn page(&self, query: &str, after: i64) -> Option<Vec<Listed>> {
        let found = self.try_page(query, after);
        found
            .inspect_err(|error| tracing::debug!(%error, "a page of sources could not be read in place"))
            .ok()
    }

    fn try_page(&self, query: &str, after: i64) -> Result<Vec<Listed>> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = idle.map_or_else(|| self.connect(), Ok)?;
        let page =
            connection.prepare_cached(query)?.query_and_then([after], listed)?.collect::<Result<Vec<_>>>()?;
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        Ok(page)
    }

    fn connect(&self) -> Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags)?;
        connection.busy_timeout(std::time::Duration::ZERO)?;
        connection.pragma_update(None, "cache_size", -4000)?;
        Ok(connection)
    }
}

/// Takes one column after the other.
struct Columns<'a> {
    row: &'a Row<'a>,
    next: usize,
}

impl Columns<'_> {
    fn take<T: FromSql>(&mut self) -> Result<T> {
        self.next += 1;
        Ok(self.row.get(self.next - 1)?)
    }

    fn time(&mut self) -> Result<Option<Time>> {
        Ok(self.take::<Option<i64>>()?.map(Time::from_millis))
    }

    /// What is kept as JSON.
    fn json<T>(&mut self, read: impl FnOnce(&str) -> serde_json::Result<T>) -> Result<Option<T>> {
        Ok(self.take::<Option<String>>()?.map(|text| read(&text)).transpose()?)
    }
}

/// A source from a row, whose columns are in the order of the fields.
fn listed(row: &Row<'_>) -> Result<Listed> {
    let mut row = Columns { row, next: 0 };
    Ok(Listed {
        id: row.take()?,
        url: row.take()?,
        kind: row.take::<String>()?.parse()?,
        name: row.take()?,
        collection_id: row.take()?,
        interval: Interval::from_stored(row.take()?),
        poll_delay: row.take::<Option<u32>>()?.map(|seconds| Span::from_secs(seconds.into())),
        article_selector: row.take()?,
        ignore_selector: row.take()?,
        full_content: row.take()?,
        backfill: row.take()?,
        policy: row.take()?,
        last_polled_at: row.time()?,
        last_success_at: row.time()?,
        next_poll_at: row.time()?,
        created_at: Time::from_millis(row.take()?),
        updated_at: Time::from_millis(row.take()?),
        host: row.take()?,
        version: row.take()?,
        suspect: row.json(|text| serde_json::from_str(text))?,
        elsewhere: row.json(|text| serde_json::from_str(text))?,
        health: row.json(|text| packed::health(&mut serde_json::Deserializer::from_str(text)))?.flatten(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_in_place_is_left_to_the_usual_way() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("some.db");
        let columns = |url: &str| {
            format!(
                "SELECT 7, {url}, 'feed', NULL, 1, NULL, 30, NULL, NULL, 0, 1, NULL, NULL, NULL, NULL, 5, 6, \
                 'host', 2, NULL, NULL, NULL WHERE ?1 = 0"
            )
        };
        let in_place = InPlace::new(path.clone());
        assert_eq!(in_place.page(&columns("'u'"), 0), None, "no file");
        let other = Connection::open(&path).unwrap();
        other.execute_batch("CREATE TABLE one (id)").unwrap();
        let page = in_place.page(&columns("'u'"), 0).unwrap();
        assert_eq!((page[0].id, page[0].url.as_str(), page[0].backfill), (7, "u", true));
        assert_eq!(in_place.page(&columns("NULL"), 0), None, "a source without a URL");
        assert_eq!(in_place.page("SELECT 1 FROM nothing", 0), None, "no such table");
        other.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE").unwrap();
        assert_eq!(in_place.page("SELECT id FROM one WHERE ?1 = 0", 0), None, "locked");
    }
}
