//! The one body of SQL. This file and its neighbours are compiled once for each database; `super` is that one.
//!
//! Sets, never rows: statements take many rows at once, in a few fixed sizes, so that their plans are reused. Limits
//! stand in the text: SQLite prepares a statement anew whenever a bound limit changes or is merely bound again.

mod access;
mod activity;
mod articles;
mod audit;
mod claim;
mod commit;
mod connection;
mod content;
mod events;
mod host_effects;
mod hosts;
mod migrate;
mod pages;
mod people;
mod redraw;
mod retention;
mod search;
mod sorting;
mod source_json;
mod sources;
mod state;
mod streams;
mod suspicion;
mod visibility;
mod webhooks;
mod workers;

use gleaner_core::time::Time;
use sqlx::{Arguments as _, Row as _};

use super::{Db, Row};

use connection::{Limit, Statement, Tx};

pub(in crate::store) use connection::Sql;

type Arguments = <Db as sqlx::Database>::Arguments;
type Query = sqlx::QueryBuilder<Db>;
type Values<'q> = sqlx::query_builder::Separated<'q, Db, &'static str>;

/// A whole statement, with values for `$1`, `$2`, …; `{NAME}` stands for a constant. [`Query`] is for statements whose text
/// depends on what is asked for: lists of ids, rows of values, filters.
macro_rules! sql {
    ($text:literal $(, $value:expr)* $(,)?) => {{
        #[allow(unused_mut, reason = "some statements have no values")]
        let mut arguments = super::Arguments::default();
        $(super::bind(&mut arguments, $value);)*
        super::Statement::new(format!($text), arguments)
    }};
}
use sql;

/// Adds the value of the next parameter. Panics, as [`Query::push_bind`] does, where it cannot be encoded; numbers, texts and
/// bytes always can.
fn bind<'v, T>(arguments: &mut Arguments, value: T)
where
    T: sqlx::Encode<'v, Db> + sqlx::Type<Db> + 'v,
{
    arguments.add(value).expect("numbers, texts and bytes can be encoded");
}

/// How many rows one statement takes: few sizes, so that statements are prepared once, and close enough that any
/// number of rows needs few statements.
const SIZES: [usize; 8] = [200, 100, 50, 20, 10, 5, 2, 1];

/// Cuts rows into pieces of a few fixed sizes, so that each statement has one of a few texts.
fn pieces<T>(rows: &[T]) -> impl Iterator<Item = &[T]> {
    let mut rest = rows;
    std::iter::from_fn(move || {
        let size = SIZES.into_iter().find(|size| rest.len() >= *size)?;
        let (piece, left) = rest.split_at(size);
        rest = left;
        Some(piece)
    })
}

/// Writes `WITH v(columns) AS (VALUES …)`, a row for each of `rows`, as a table to join.
fn with_values<'r, T>(columns: &str, rows: &'r [T], push: impl Fn(&mut Values<'_>, &'r T)) -> Query {
    let mut query = Query::new(format!("WITH v({columns}) AS ("));
    query.push_values(rows, |mut list, row| push(&mut list, row));
    query.push(") ");
    query
}

/// Cuts ids into pieces for [`push_ids`].
fn id_pieces(ids: &[i64]) -> impl Iterator<Item = &[i64]> {
    ids.chunks(SIZES[0])
}

/// `(id, id, …)`, filled up with the last of them to one of a few sizes, which changes no set.
fn push_ids(query: &mut Query, ids: &[i64]) {
    let size = SIZES.into_iter().rev().find(|size| *size >= ids.len()).unwrap_or(ids.len());
    let filling = ids.last().into_iter().cycle().take(size - ids.len());
    query.push("(");
    let mut list = query.separated(", ");
    for id in ids.iter().chain(filling) {
        list.push_bind(*id);
    }
    list.push_unseparated(")");
}

fn ms(time: Time) -> i64 {
    time.as_millis()
}

fn opt_ms(time: Option<Time>) -> Option<i64> {
    time.map(Time::as_millis)
}

fn time(row: &Row, column: &str) -> sqlx::Result<Time> {
    row.try_get(column).map(Time::from_millis)
}

fn opt_time(row: &Row, column: &str) -> sqlx::Result<Option<Time>> {
    Ok(row.try_get::<Option<i64>, _>(column)?.map(Time::from_millis))
}

/// An error of the driver for a value that no gleaner has written.
fn garbled(column: &str, error: impl std::error::Error + Send + Sync + 'static) -> sqlx::Error {
    sqlx::Error::ColumnDecode { index: column.to_owned(), source: Box::new(error) }
}
