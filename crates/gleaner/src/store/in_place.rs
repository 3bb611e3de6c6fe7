//! Pages of sources from SQLite, read on the thread that asks.
//!
//! sqlx gives each connection a thread, and each value a copy that is locked. For a page of fifty sources the way to that
//! thread and back, and the JSON that spares the copies, cost several times what the reading does. So a page by id is read
//! by rusqlite, in place: it reads as many rows as it shows, some twenty microseconds. Both drivers share one SQLite;
//! Cargo does not link two.
//!
//! Absent on purpose: whatever searches, which may take long and would hold up all else on the thread; and patience: what
//! is locked, missing or garbled is left to the usual way, which waits and explains.

use std::borrow::Cow;
use std::error::Error;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use gleaner_core::source::Interval;
use gleaner_core::time::{Span, Time};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};

use super::{Listed, Show, Text, packed};

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

    /// Shows the sources that a query for those after an id finds; false: not all of them, it failed.
    pub(super) fn page(&self, query: &str, after: i64, show: Show<'_>) -> bool {
        let shown = self.try_page(query, after, show);
        if let Err(error) = &shown {
            tracing::debug!(%error, "a page of sources could not be read in place");
        }
        shown.is_ok()
    }

    fn try_page(&self, query: &str, after: i64, show: Show<'_>) -> Result<()> {
        let idle = self.idle().pop();
        let connection = idle.map_or_else(|| self.connect(), Ok)?;
        let mut statement = connection.prepare_cached(query)?;
        let mut rows = statement.query([after])?;
        while let Some(row) = rows.next()? {
            show(listed(row)?);
        }
        drop(rows);
        drop(statement);
        self.idle().push(connection);
        Ok(())
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
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

impl<'a> Columns<'a> {
    fn take(&mut self) -> Result<ValueRef<'a>> {
        self.next += 1;
        Ok(self.row.get_ref(self.next - 1)?)
    }

    fn number(&mut self) -> Result<i64> {
        Ok(self.take()?.as_i64()?)
    }

    fn number_or_none(&mut self) -> Result<Option<i64>> {
        Ok(self.take()?.as_i64_or_null()?)
    }

    fn flag(&mut self) -> Result<bool> {
        Ok(self.number()? != 0)
    }

    fn time(&mut self) -> Result<Time> {
        Ok(Time::from_millis(self.number()?))
    }

    fn time_or_none(&mut self) -> Result<Option<Time>> {
        Ok(self.number_or_none()?.map(Time::from_millis))
    }

    fn text(&mut self) -> Result<Text<'a>> {
        Ok(Text(Cow::Borrowed(self.take()?.as_str()?)))
    }

    fn text_or_none(&mut self) -> Result<Option<Text<'a>>> {
        Ok(self.take()?.as_str_or_null()?.map(|text| Text(Cow::Borrowed(text))))
    }

    /// What is kept as JSON.
    fn json<T>(&mut self, read: impl FnOnce(&str) -> serde_json::Result<T>) -> Result<Option<T>> {
        Ok(self.take()?.as_str_or_null()?.map(read).transpose()?)
    }
}

/// A source from a row, whose columns are in the order of the fields.
fn listed<'a>(row: &'a Row<'a>) -> Result<Listed<'a>> {
    let mut row = Columns { row, next: 0 };
    Ok(Listed {
        id: row.number()?,
        url: row.text()?,
        kind: row.text()?.0.parse()?,
        name: row.text_or_none()?,
        collection_id: row.number()?,
        interval: Interval::from_stored(row.number_or_none()?),
        poll_delay: row.number_or_none()?.map(u64::try_from).transpose()?.map(Span::from_secs),
        article_selector: row.text_or_none()?,
        ignore_selector: row.text_or_none()?,
        full_content: row.flag()?,
        backfill: row.text()?.0.parse()?,
        policy: row.text_or_none()?,
        duplicates: row.text_or_none()?.map(|name| name.0.parse()).transpose()?,
        last_polled_at: row.time_or_none()?,
        last_success_at: row.time_or_none()?,
        next_poll_at: row.time_or_none()?,
        created_at: row.time()?,
        updated_at: row.time()?,
        host: row.text()?,
        version: row.number()?,
        suspect: row.json(|text| serde_json::from_str(text))?,
        elsewhere: row.json(|text| serde_json::from_str(text))?,
        pages_waiting: row.number()?,
        pages_failed: row.number()?,
        pages_given_up: row.number()?,
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
                "SELECT 7, {url}, 'feed', NULL, 1, NULL, 30, NULL, NULL, 0, 'all', NULL, NULL, NULL, NULL, NULL, 5, 6, \
                 'host', 2, NULL, NULL, 0, 0, 0, NULL WHERE ?1 = 0"
            )
        };
        let in_place = InPlace::new(path.clone());
        let page = |query: &str| {
            let mut found = Vec::new();
            let done =
                in_place.page(query, 0, &mut |source| found.push((source.id, source.url.0.into_owned())));
            (done, found)
        };
        let failed = (false, Vec::new());
        assert_eq!(page(&columns("'u'")), failed, "no file");
        let other = Connection::open(&path).unwrap();
        other.execute_batch("CREATE TABLE one (id)").unwrap();
        assert_eq!(page(&columns("'u'")), (true, vec![(7, "u".to_owned())]));
        assert_eq!(page(&columns("NULL")), failed, "a source without a URL");
        let second_fails = format!("{} UNION ALL {}", columns("'u'"), columns("NULL"));
        assert_eq!(page(&second_fails), (false, vec![(7, "u".to_owned())]), "and what was shown is known");
        assert_eq!(page("SELECT 1 FROM nothing"), failed, "no such table");
        assert_eq!(page("SELECT id FROM one WHERE ?1 = 0"), (true, Vec::new()));
        other.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE").unwrap();
        assert_eq!(page("SELECT id FROM one WHERE ?1 = 0"), failed, "locked");
    }
}
