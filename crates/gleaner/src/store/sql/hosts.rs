//! Hosts, with what is asked from them, for people.

use sqlx::Row as _;

use super::super::Row;
use super::claim::host_memory;
use super::sources::pattern;
use super::{Query, opt_time, push_ids};
use crate::store::Host;

const SELECT: &str = "SELECT h.id, h.name, h.slot, h.hold_until, h.next_due, h.lease_owner, h.lease_until, \
    h.memory, h.served_at, h.served_id, \
    (SELECT COUNT(*) FROM source_state t WHERE t.host_id = h.id) AS sources, \
    (SELECT COUNT(*) FROM source_state t WHERE t.host_id = h.id AND t.status IN ('failing', 'quarantined')) AS failing \
    FROM hosts h";

/// The query that reads hosts by id, in no order.
pub(super) fn by_ids(ids: &[i64]) -> Query {
    let mut query = Query::new(SELECT);
    query.push(" WHERE h.id IN ");
    push_ids(&mut query, ids);
    query
}

/// The query that lists hosts.
pub(super) fn list(text: Option<&str>, after: Option<i64>, limit: u32) -> Query {
    let mut query = Query::new(SELECT);
    query.push(" WHERE h.id > ");
    query.push_bind(after.unwrap_or(0));
    if let Some(text) = text {
        query.push(" AND LOWER(h.name) LIKE ").push_bind(pattern(text)).push(" ESCAPE '\\'");
    }
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
