//! Conditions that limit queries to the collections that a caller may see.
//!
//! Where nothing is left out, they add nothing to a query.

use super::super::PAYLOAD_HOST;
use super::{Query, push_ids};
use crate::store::Visibility;

/// Collections that are private to others.
fn push_hidden(query: &mut Query, user_id: i64) {
    query.push("(SELECT id FROM collections WHERE private AND owner_id <> ").push_bind(user_id).push(")");
}

fn push_only(query: &mut Query, ids: &[i64]) {
    if ids.is_empty() {
        // No collection has this id.
        query.push("(-1)");
    } else {
        push_ids(query, ids);
    }
}

/// Limits rows by a column that holds a collection's id.
pub(super) fn push_visible(query: &mut Query, collection: &str, visibility: &Visibility) {
    if let Some(user_id) = visibility.user_id {
        query.push(format!(" AND {collection} NOT IN "));
        push_hidden(query, user_id);
    }
    if let Some(ids) = &visibility.only {
        query.push(format!(" AND {collection} IN "));
        push_only(query, ids);
    }
}

/// Limits rows by a column that holds a source's id. Looked up row by row: a page is short, and a private collection
/// may hold most sources.
pub(super) fn push_visible_source(query: &mut Query, source: &str, visibility: &Visibility) {
    if let Some(user_id) = visibility.user_id {
        query.push(" AND (SELECT c.private AND c.owner_id <> ").push_bind(user_id);
        query.push(" FROM sources vs JOIN collections c ON c.id = vs.collection_id WHERE vs.id = ");
        query.push(format!("{source}) IS NOT TRUE"));
    }
    if let Some(ids) = &visibility.only {
        query.push(format!(" AND {source} IN (SELECT id FROM sources WHERE collection_id IN "));
        push_only(query, ids);
        query.push(")");
    }
}

/// Limits events: by the collection that their source was in, which may be gone, and by the one that it is in now. Those
/// of a host are for those who see a source of it.
pub(super) fn push_visible_event(query: &mut Query, visibility: &Visibility) {
    if visibility.is_everything() {
        return;
    }
    if let Some(user_id) = visibility.user_id {
        query.push(" AND (outbox.collection_id IS NULL OR outbox.collection_id IN ");
        query.push("(SELECT id FROM collections WHERE NOT private OR owner_id = ").push_bind(user_id);
        query.push(")) AND (SELECT c.private AND c.owner_id <> ").push_bind(user_id);
        query.push(" FROM sources vs JOIN collections c ON c.id = vs.collection_id ");
        query.push("WHERE vs.id = outbox.source_id) IS NOT TRUE");
    }
    if let Some(ids) = &visibility.only {
        query.push(" AND (kind LIKE 'host.%' OR outbox.collection_id IN ");
        push_only(query, ids);
        query.push(") AND (SELECT vs.collection_id NOT IN ");
        push_only(query, ids);
        query.push(" FROM sources vs WHERE vs.id = outbox.source_id) IS NOT TRUE");
    }
    // Not EXISTS, which PostgreSQL may answer by reading all sources once.
    query.push(" AND (kind NOT LIKE 'host.%' OR (SELECT 1 FROM hosts h JOIN source_state t ");
    query.push("ON t.host_id = h.id JOIN sources s ON s.id = t.source_id WHERE h.name = ");
    query.push(PAYLOAD_HOST);
    push_visible(query, "s.collection_id", visibility);
    query.push(" LIMIT 1) IS NOT NULL)");
}

/// Limits hosts, `h`, to those of a source that may be seen.
pub(super) fn push_visible_host(query: &mut Query, visibility: &Visibility) {
    if visibility.is_everything() {
        return;
    }
    query.push(" AND (SELECT 1 FROM source_state vt JOIN sources vs ON vs.id = vt.source_id ");
    query.push("WHERE vt.host_id = h.id");
    push_visible(query, "vs.collection_id", visibility);
    query.push(" LIMIT 1) IS NOT NULL");
}

/// Limits articles to those that were made from nothing hidden.
pub(super) fn push_visible_article(query: &mut Query, visibility: &Visibility) {
    const POSTS: &str = "(SELECT 1 FROM article_posts ap JOIN posts p ON p.id = ap.post_id \
        JOIN sources s ON s.id = p.source_id WHERE ap.article_id = articles.id";
    if visibility.is_everything() {
        return;
    }
    if let Some(user_id) = visibility.user_id {
        query.push(" AND (private_to IS NULL OR private_to = ").push_bind(user_id);
        query.push(format!(") AND NOT EXISTS {POSTS} AND s.collection_id IN "));
        push_hidden(query, user_id);
        query.push(")");
    }
    if let Some(ids) = &visibility.only {
        query.push(format!(" AND EXISTS {POSTS}) AND NOT EXISTS {POSTS} AND s.collection_id NOT IN "));
        push_only(query, ids);
        query.push(")");
    }
}
