//! Hosts, with what is asked from them, for people.

use sqlx::Row as _;

use super::super::Row;
use super::sources::pattern;
use super::{Query, opt_time};
use crate::store::Host;

/// The query that lists hosts.
pub(super) fn list(text: Option<&str>, after: Option<i64>, limit: u32) -> Query {
    let mut query = Query::new(
        "SELECT h.id, h.name, h.slot, h.hold_until, h.next_due, h.lease_owner, h.lease_until, \
             (SELECT COUNT(*) FROM source_state t WHERE t.host_id = h.id) AS sources, \
             (SELECT COUNT(*) FROM source_state t WHERE t.host_id = h.id \
                 AND t.status IN ('failing', 'quarantined')) AS failing \
         FROM hosts h WHERE h.id > ",
    );
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
    })
}
