//! Pages of sorted lists: selects ids and sort values of a page. The rows are read afterwards, so that little is sorted.
//!
//! Pages by id, URL and name are found by an index. The other orders read all rows that match the filter: every poll writes
//! their columns, so that an index would cost each poll.

use gleaner_core::health::Status;
use gleaner_core::source::Kind;
use sqlx::Row as _;

use super::super::Row;
use super::Query;
use super::sources::{pattern, push_filter};
use super::visibility::{push_visible, push_visible_host};
use crate::store::{
    HostOrder, PagePosition, SortKey, SortOrder, SortPosition, SourceFilter, SourceOrder, Visibility,
};

/// The query for a page of sources.
pub(super) fn sources(
    filter: &SourceFilter,
    order: SortOrder<SourceOrder>,
    turn: &PagePosition,
    limit: u32,
) -> Query {
    let few = is_few(filter);
    let by_setting = filter.status.is_none() && (filter.collection_id.is_some() || filter.kind.is_some());
    let key = match order.by {
        SourceOrder::Added if by_setting => "s.id",
        SourceOrder::Added => "t.source_id",
        SourceOrder::Address => "s.canonical_url",
        SourceOrder::NextPoll => "COALESCE(t.next_poll_at, 9223372036854775807)",
        SourceOrder::LastSuccess => "COALESCE(t.last_success_at, -1)",
        SourceOrder::Failures => "t.consecutive_failures",
    };
    let SourceFilter { kind, collection_id, text, goes_by_policy, visibility, .. } = filter;
    let settings = kind.is_some()
        || collection_id.is_some()
        || text.is_some()
        || goes_by_policy.is_some()
        || !visibility.is_everything();
    // A cross join tells SQLite, which counts nothing, where to begin; to PostgreSQL it is a join like any other.
    let (id, tables) = match order.by {
        SourceOrder::Address if few => {
            ("s.id", "source_state t CROSS JOIN sources s WHERE s.id = t.source_id")
        }
        SourceOrder::Address => ("s.id", "sources s CROSS JOIN source_state t WHERE t.source_id = s.id"),
        SourceOrder::Added if by_setting => {
            ("s.id", "sources s JOIN source_state t ON t.source_id = s.id WHERE TRUE")
        }
        _ if settings => ("t.source_id", "source_state t JOIN sources s ON s.id = t.source_id WHERE TRUE"),
        _ => ("t.source_id", "source_state t WHERE TRUE"),
    };
    let mut query = Query::new(format!("SELECT {id}, {key} FROM {tables}"));
    match filter.kind {
        // Most are feeds: an index by kind would lead through nearly all of them, to be sorted.
        Some(Kind::Feed) if order.by == SourceOrder::Address => {
            query.push(" AND s.kind || '' = ").push_bind(Kind::Feed.name());
            push_filter(&mut query, &SourceFilter { kind: None, ..filter.clone() });
        }
        _ => push_filter(&mut query, filter),
    }
    push_turn(&mut query, key, id, order.descending, turn, limit);
    query
}

/// The query that counts sources up to so many.
pub(super) fn count(filter: &SourceFilter, most: u32) -> Query {
    let mut query = Query::new(
        "SELECT COUNT(*) FROM (SELECT 1 FROM source_state t JOIN sources s ON s.id = t.source_id WHERE TRUE",
    );
    push_filter(&mut query, filter);
    query.push(format!(" LIMIT {most}) found"));
    query
}

/// Whether a filter lets few sources through, as far as anybody can tell: most are healthy, on many hosts.
fn is_few(filter: &SourceFilter) -> bool {
    let unwell = filter.status.is_some_and(|status| status != Status::Healthy);
    unwell || filter.waits_for_person || filter.host.is_some() || filter.error.is_some() || filter.suspect
}

/// The query for a page of hosts.
pub(super) fn hosts(
    visibility: &Visibility,
    text: Option<&str>,
    order: SortOrder<HostOrder>,
    turn: &PagePosition,
    limit: u32,
) -> Query {
    let key = match order.by {
        HostOrder::Name => "h.name",
        HostOrder::Due => "h.next_due",
        HostOrder::Sources | HostOrder::Failing => "n.count",
    };
    let mut query = Query::new(format!("SELECT h.id, {key} FROM "));
    match order.by {
        HostOrder::Name => {
            query.push("hosts h WHERE TRUE");
        }
        HostOrder::Due => {
            query.push("hosts h WHERE h.next_due IS NOT NULL");
        }
        HostOrder::Sources | HostOrder::Failing => {
            query.push("(SELECT t.host_id, COUNT(*) AS count FROM source_state t");
            if !visibility.is_everything() {
                query.push(" JOIN sources s ON s.id = t.source_id");
            }
            let failing = order.by == HostOrder::Failing;
            query.push(if failing { " WHERE t.status IN ('failing', 'quarantined')" } else { " WHERE TRUE" });
            push_visible(&mut query, "s.collection_id", visibility);
            query.push(" GROUP BY t.host_id) n JOIN hosts h ON h.id = n.host_id WHERE TRUE");
        }
    }
    push_visible_host(&mut query, visibility);
    if let Some(text) = text {
        query.push(" AND LOWER(h.name) LIKE ").push_bind(pattern(text)).push(" ESCAPE '\\'");
    }
    push_turn(&mut query, key, "h.id", order.descending, turn, limit);
    query
}

/// Which page, and its order. A page before a place is read from there backwards.
fn push_turn(query: &mut Query, key: &str, id: &str, descending: bool, turn: &PagePosition, limit: u32) {
    let (place, backwards) = match turn {
        PagePosition::First => (None, false),
        PagePosition::After(place) => (Some(place), false),
        PagePosition::Before(place) => (Some(place), true),
    };
    let falling = descending != backwards;
    let (beyond, way) = if falling { ("<", "DESC") } else { (">", "ASC") };
    if let Some(place) = place {
        // The first condition is what an index is entered by.
        query.push(format!(" AND {key} {beyond}= "));
        push_key(query, &place.key);
        query.push(format!(" AND ({key} {beyond} "));
        push_key(query, &place.key);
        query.push(format!(" OR {id} {beyond} ")).push_bind(place.id).push(")");
    }
    let order = if key == id { format!("{id} {way}") } else { format!("{key} {way}, {id} {way}") };
    query.push(format!(" ORDER BY {order} LIMIT {limit}"));
}

fn push_key(query: &mut Query, key: &SortKey) {
    match key {
        SortKey::Number(number) => query.push_bind(*number),
        SortKey::Text(text) => query.push_bind(text.clone()),
    };
}

/// A place from a row of such a query.
pub(super) fn place(row: &Row) -> sqlx::Result<SortPosition> {
    let key = match row.try_get::<i64, _>(1) {
        Ok(number) => SortKey::Number(number),
        Err(_) => SortKey::Text(row.try_get(1)?),
    };
    Ok(SortPosition { key, id: row.try_get(0)? })
}
