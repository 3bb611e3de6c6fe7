//! Lists of hosts with counts of their sources.

use sqlx::Row as _;

use super::super::Row;
use super::claim::host_memory;
use super::sources::pattern;
use super::visibility::{push_visible, push_visible_host};
use super::{Query, opt_time, push_ids};
use crate::store::{Host, Visibility};

const COLUMNS: &str = "h.id, h.name, h.slot, h.hold_until, h.next_due, h.lease_owner, h.lease_until, \
    h.memory, h.last_success_at, h.last_success_source_id";

/// The beginning of a query for hosts, with how many of their sources may be seen.
fn select(visibility: &Visibility) -> Query {
    let mut query = Query::new(format!("SELECT {COLUMNS}"));
    let join = if visibility.is_everything() { "" } else { " JOIN sources s ON s.id = t.source_id" };
    for (which, name) in [("", "sources"), (" AND t.status IN ('failing', 'quarantined')", "failing")] {
        query.push(format!(", (SELECT COUNT(*) FROM source_state t{join} WHERE t.host_id = h.id{which}"));
        push_visible(&mut query, "s.collection_id", visibility);
        query.push(format!(") AS {name}"));
    }
    query.push(" FROM hosts h");
    query
}

/// The query that reads hosts by id, in no order.
pub(super) fn by_ids(visibility: &Visibility, ids: &[i64]) -> Query {
    let mut query = select(visibility);
    query.push(" WHERE h.id IN ");
    push_ids(&mut query, ids);
    query
}

/// The query that lists hosts.
pub(super) fn list(visibility: &Visibility, text: Option<&str>, after: Option<i64>, limit: u32) -> Query {
    let mut query = select(visibility);
    query.push(" WHERE h.id > ");
    query.push_bind(after.unwrap_or(0));
    if let Some(text) = text {
        query.push(" AND LOWER(h.name) LIKE ").push_bind(pattern(text)).push(" ESCAPE '\\'");
    }
    push_visible_host(&mut query, visibility);
    query.push(" ORDER BY h.id LIMIT ").push(i64::from(limit));
    query
}

/// A host from a row of it.
pub(super) fn host(row: &Row) -> sqlx::Result<Host> {
    let owner: Option<String> = row.try_get("lease_owner")?;
    Ok(Host {
        id: row.try_get("id")?,
        name: row.try_get("name")?,
        slot: u32::try_from(row.try_get::<i64, _>("slot")?).unwrap_or(0),
        sources: row.try_get("sources")?,
        failing: row.try_get("failing")?,
        hold_until: opt_time(row, "hold_until")?,
        next_due: opt_time(row, "next_due")?,
        lease: owner.zip(opt_time(row, "lease_until")?),
        memory: host_memory(row)?,
    })
}
