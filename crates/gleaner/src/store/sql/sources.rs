//! Sources: what people say about them, and edits that raise their fence.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use async_trait::async_trait;
use gleaner_core::health::Status;
use gleaner_core::judgement::HostMemory;
use gleaner_core::time::Time;
use sqlx::Row as _;

use super::super::{LOCK, Row};
use super::claim::{host_ids, host_memory, settle_hosts};
use super::commit::insert_events;
use super::source_json::{SOURCE_TABLES, end_sources, select_sources, sources};
use super::state::{HEALTH, assignments, push_health};
use super::visibility::push_visible;
use super::{Query, Sql, Tx, Values, id_pieces, ms, opt_ms, pieces, push_ids, sorting, with_values};
use crate::source_fields::ColumnValue;
use crate::store::{
    Created, HeldSources, Host, HostKey, HostOrder, NewSource, PagePosition, PolicyFilter, Result, SortOrder,
    SortPosition, Source, SourceEdit, SourceFilter, SourceOrder, SourceSettings, Sources, StoreError,
    Visibility,
};

/// Policies, kinds and statuses are few; names that config no longer has could be many.
const MOST_HELD: i64 = 2000;
/// The columns that [`push_settings`] fills, in its order.
static SETTINGS: LazyLock<String> = LazyLock::new(|| {
    let columns: Vec<&str> = SourceSettings::COLUMNS.iter().map(|(name, _)| *name).collect();
    format!("{}, canonical_url, updated_at", columns.join(", "))
});

fn push_settings(list: &mut Values<'_>, settings: &SourceSettings, canonical_url: &str, now: Time) {
    for value in settings.values() {
        match value {
            ColumnValue::Text(text) => list.push_bind(text.map(Cow::into_owned)),
            ColumnValue::Integer(number) => list.push_bind(number),
            ColumnValue::Flag(flag) => list.push_bind(flag),
            ColumnValue::Bytes(bytes) => list.push_bind(bytes.map(<[u8]>::to_vec)),
        };
    }
    list.push_bind(canonical_url.to_owned()).push_bind(ms(now));
}

#[async_trait]
impl Sources for Sql {
    async fn create_sources(&self, sources: &[NewSource], now: Time) -> Result<Vec<Created>> {
        let mut tx = self.begin().await?;
        let created = create(&mut tx, sources, now).await;
        self.end(tx, created).await
    }

    async fn source(&self, id: i64) -> Result<Source> {
        let mut query = select_sources();
        query.push(" WHERE s.id = ").push_bind(id);
        end_sources(&mut query);
        self.read_sources(query).await?.pop().ok_or_else(|| not_found(id))
    }

    async fn sources(&self, filter: &SourceFilter, after: Option<i64>, limit: u32) -> Result<Vec<Source>> {
        let mut found = self.read_sources(list(select_sources(), filter, after, limit)).await?;
        if !found.is_sorted_by_key(|source| source.id) {
            found.sort_unstable_by_key(|source| source.id);
        }
        Ok(found)
    }

    async fn sources_sorted(
        &self,
        filter: &SourceFilter,
        order: SortOrder<SourceOrder>,
        turn: &PagePosition,
        limit: u32,
    ) -> Result<Vec<(SortPosition, Source)>> {
        let places = self.places(sorting::sources(filter, order, turn, limit), turn).await?;
        let mut found = HashMap::with_capacity(places.len());
        for piece in id_pieces(&places.iter().map(|place| place.id).collect::<Vec<_>>()) {
            let mut query = select_sources();
            query.push(" WHERE s.id IN ");
            push_ids(&mut query, piece);
            end_sources(&mut query);
            found.extend(self.read_sources(query).await?.into_iter().map(|source| (source.id, source)));
        }
        // One that was deleted in between is left out.
        let with = |place: SortPosition| found.remove(&place.id).map(|source| (place, source));
        Ok(places.into_iter().filter_map(with).collect())
    }

    async fn count_sources(&self, filter: &SourceFilter, most: u32) -> Result<u64> {
        let found = self.all(sorting::count(filter, most), |row| row.try_get::<i64, _>(0)).await?;
        Ok(found.first().map_or(0, |count| u64::try_from(*count).unwrap_or(0)))
    }

    async fn sources_at(&self, canonical_url: &str) -> Result<Vec<(i64, i64)>> {
        let mut query = Query::new("SELECT id, collection_id FROM sources WHERE canonical_url = ");
        query.push_bind(canonical_url).push(" ORDER BY id");
        self.all(query, |row| Ok((row.try_get(0)?, row.try_get(1)?))).await
    }

    async fn count_by_status(&self, visibility: &Visibility) -> Result<Vec<(Status, u64)>> {
        let mut query = Query::new("SELECT t.status, COUNT(*) FROM source_state t");
        push_visible_state(&mut query, visibility);
        query.push(" GROUP BY t.status");
        let found =
            self.all(query, |row| Ok((row.try_get::<String, _>(0)?, row.try_get::<i64, _>(1)?))).await?;
        let count = |status: Status| {
            let found = found.iter().find(|(name, _)| name == status.name());
            found.map_or(0, |(_, count)| u64::try_from(*count).unwrap_or(0))
        };
        Ok(Status::ALL.map(|status| (status, count(status))).to_vec())
    }

    async fn edit_source(&self, edit: &SourceEdit, now: Time) -> Result<()> {
        let mut tx = self.begin().await?;
        let edited = edit_source(&mut tx, edit, now).await;
        if matches!(edited, Ok(Edited::Done)) {
            return self.finish(tx).await;
        }
        self.undo(tx).await;
        match edited {
            Ok(Edited::Done) => Ok(()),
            Ok(Edited::Missing) => Err(not_found(edit.id)),
            Ok(Edited::Changed) => Err(StoreError::Changed { entity: "source", key: edit.id.to_string() }),
            Err(error) if error.as_database_error().is_some_and(|error| error.is_unique_violation()) => {
                let id = self.source_at(edit.settings.collection_id, &edit.canonical_url).await?;
                let key = edit.settings.url.clone();
                Err(StoreError::Duplicate { entity: "source", key, id })
            }
            Err(error) => Err(self.fail(error)),
        }
    }

    async fn delete_source(&self, id: i64) -> Result<()> {
        let mut tx = self.begin().await?;
        let found = delete(&mut tx, id).await.map_err(|error| self.fail(error))?;
        if !found {
            return Err(not_found(id));
        }
        self.finish(tx).await
    }

    async fn hosts(
        &self,
        visibility: &Visibility,
        text: Option<&str>,
        after: Option<i64>,
        limit: u32,
    ) -> Result<Vec<Host>> {
        self.all(super::hosts::list(visibility, text, after, limit), super::hosts::host).await
    }

    async fn hosts_sorted(
        &self,
        visibility: &Visibility,
        text: Option<&str>,
        order: SortOrder<HostOrder>,
        turn: &PagePosition,
        limit: u32,
    ) -> Result<Vec<(SortPosition, Host)>> {
        let places = self.places(sorting::hosts(visibility, text, order, turn, limit), turn).await?;
        let mut found = HashMap::with_capacity(places.len());
        for piece in id_pieces(&places.iter().map(|place| place.id).collect::<Vec<_>>()) {
            let read = self.all(super::hosts::by_ids(visibility, piece), super::hosts::host).await?;
            found.extend(read.into_iter().map(|host| (host.id, host)));
        }
        let with = |place: SortPosition| found.remove(&place.id).map(|host| (place, host));
        Ok(places.into_iter().filter_map(with).collect())
    }

    async fn host_memory(&self, source_id: i64) -> Result<HostMemory> {
        let mut query = Query::new(format!(
            "SELECT h.memory, h.last_success_at, h.last_success_source_id FROM {SOURCE_TABLES} WHERE s.id = "
        ));
        query.push_bind(source_id);
        let row = self.row(query).await?.ok_or_else(|| not_found(source_id))?;
        host_memory(&row).map_err(|error| self.fail(error))
    }

    async fn adaptive_classes(&self) -> Result<Vec<(u8, u64)>> {
        let query = Query::new(
            "SELECT adaptive_class, COUNT(*) FROM source_state \
             WHERE adaptive_class IS NOT NULL AND status IN ('healthy', 'failing', 'pending') GROUP BY adaptive_class",
        );
        let class = |class: i64| u8::try_from(class).unwrap_or(u8::MAX);
        self.all(query, |row| {
            Ok((class(row.try_get(0)?), u64::try_from(row.try_get::<i64, _>(1)?).unwrap_or(0)))
        })
        .await
    }

    async fn policy_uses(&self, visibility: &Visibility) -> Result<Vec<(Option<String>, u64)>> {
        let mut query = Query::new("SELECT policy, COUNT(*) FROM sources WHERE TRUE");
        push_visible(&mut query, "collection_id", visibility);
        query.push(" GROUP BY policy");
        self.all(query, |row| Ok((row.try_get(0)?, u64::try_from(row.try_get::<i64, _>(1)?).unwrap_or(0))))
            .await
    }

    async fn held_by_rules(&self, visibility: &Visibility) -> Result<Vec<HeldSources>> {
        let mut query = Query::new(
            "SELECT s.policy, t.last_error_type, t.status, COUNT(*) \
             FROM source_state t JOIN sources s ON s.id = t.source_id \
             WHERE t.status IN ('failing', 'quarantined', 'disabled') AND t.last_error_type IS NOT NULL \
             AND (t.status <> 'disabled' OR t.disabled_reason IS NOT NULL)",
        );
        push_visible(&mut query, "s.collection_id", visibility);
        query.push(format!(
            " GROUP BY s.policy, t.last_error_type, t.status \
             ORDER BY s.policy, t.last_error_type, t.status LIMIT {MOST_HELD}"
        ));
        Ok(self.all(query, held).await?.into_iter().flatten().collect())
    }
}

/// Goes on after `source_state t` with the sources that may be seen.
fn push_visible_state(query: &mut Query, visibility: &Visibility) {
    if !visibility.is_everything() {
        query.push(" JOIN sources s ON s.id = t.source_id WHERE TRUE");
        push_visible(query, "s.collection_id", visibility);
    }
}

fn held(row: &Row) -> sqlx::Result<Option<HeldSources>> {
    let status: String = row.try_get(2)?;
    let status = Status::ALL.into_iter().find(|one| one.name() == status);
    let (policy, kind) = (row.try_get(0)?, row.try_get(1)?);
    let sources = u64::try_from(row.try_get::<i64, _>(3)?).unwrap_or(0);
    Ok(status.map(|status| HeldSources { policy, kind, status, sources }))
}

/// What `LIKE` finds a text by, wherever it stands.
pub(super) fn pattern(text: &str) -> String {
    let escaped = text.to_lowercase().replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
    format!("%{escaped}%")
}

impl Sql {
    /// The sources that a query of [`select_sources`] finds.
    async fn read_sources(&self, query: Query) -> Result<Vec<Source>> {
        let Some(row) = self.row(query).await? else { return Ok(Vec::new()) };
        let found = sources(&row).map_err(|error| self.fail(error))?;
        Ok(found.into_iter().map(|(_, source)| source).collect())
    }

    /// The places that a query of [`sorting`] finds, in the order of the list.
    async fn places(&self, query: Query, turn: &PagePosition) -> Result<Vec<SortPosition>> {
        let mut places = self.all(query, sorting::place).await?;
        if matches!(turn, PagePosition::Before(_)) {
            places.reverse();
        }
        Ok(places)
    }

    /// The source of a collection that has this canonical URL.
    async fn source_at(&self, collection_id: i64, canonical_url: &str) -> Result<Option<i64>> {
        let mut query = Query::new("SELECT id FROM sources WHERE collection_id = ");
        query.push_bind(collection_id).push(" AND canonical_url = ").push_bind(canonical_url);
        let row = self.execute_returning(query).await.map_err(|error| self.fail(error))?;
        Ok(row.map(|row| row.get(0)))
    }
}

pub(super) fn not_found(id: i64) -> StoreError {
    StoreError::NotFound { entity: "source", key: id.to_string() }
}

/// The query that lists sources, from its beginning on.
pub(super) fn list(mut query: Query, filter: &SourceFilter, after: Option<i64>, limit: u32) -> Query {
    // By the table whose index leads to what is looked for, so that nothing is sorted.
    let by_setting = filter.status.is_none() && (filter.collection_id.is_some() || filter.kind.is_some());
    let (id, other) = if by_setting { ("s.id", "t.source_id") } else { ("t.source_id", "s.id") };
    query.push(format!(" WHERE {id} > ")).push_bind(after.unwrap_or(0));
    // Both tables by their own index from there on: PostgreSQL may merge them, the other one from its beginning.
    query.push(format!(" AND {other} > ")).push_bind(after.unwrap_or(0));
    push_filter(&mut query, filter);
    query.push(format!(" ORDER BY {id} LIMIT ")).push(i64::from(limit));
    end_sources(&mut query);
    query
}

/// What a list is limited to; `s` and `t` are settings and state.
pub(super) fn push_filter(query: &mut Query, filter: &SourceFilter) {
    push_visible(query, "s.collection_id", &filter.visibility);
    if let Some(status) = filter.status {
        query.push(" AND t.status = ").push_bind(status.name());
    }
    if let Some(kind) = filter.kind {
        query.push(" AND s.kind = ").push_bind(kind.name());
    }
    if let Some(collection_id) = filter.collection_id {
        query.push(" AND s.collection_id = ").push_bind(collection_id);
    }
    if let Some(host) = &filter.host {
        query
            .push(" AND t.host_id IN (SELECT id FROM hosts WHERE name = ")
            .push_bind(host.as_str())
            .push(")");
    }
    if let Some(text) = &filter.text {
        let pattern = pattern(text);
        query.push(" AND (LOWER(s.url) LIKE ").push_bind(pattern.clone());
        query.push(" ESCAPE '\\' OR LOWER(s.name) LIKE ").push_bind(pattern).push(" ESCAPE '\\')");
    }
    if let Some(error) = filter.error {
        query.push(" AND t.last_error_type = ").push_bind(error.name());
    }
    if filter.suspect {
        // By their own index: SQLite would rather go through all of them.
        query.push(" AND t.source_id IN (SELECT source_id FROM source_state ");
        query.push("WHERE suspect IS NOT NULL OR pages_suspect IS NOT NULL)");
    }
    if let Some(PolicyFilter { name, unless }) = &filter.goes_by_policy {
        query.push(" AND (s.policy = ").push_bind(name.as_str());
        if let Some(others) = unless {
            query.push(" OR s.policy IS NULL OR s.policy NOT IN (");
            let mut list = query.separated(", ");
            others.iter().for_each(|other| {
                list.push_bind(other.as_str());
            });
            query.push(")");
        }
        query.push(")");
    }
    if filter.waits_for_person {
        query.push(
            " AND t.status IN ('disabled', 'quarantined') AND t.next_poll_at IS NULL \
             AND (t.disabled_reason IS NOT NULL OR (t.enabled AND NOT t.quarantined_manually))",
        );
    }
    if let Some(now) = filter.active_at {
        query
            .push(" AND t.enabled AND (t.quarantined_at IS NULL OR t.retry_at <= ")
            .push_bind(ms(now))
            .push(")");
    }
}

async fn create(tx: &mut Tx, sources: &[NewSource], now: Time) -> sqlx::Result<Vec<Created>> {
    let hosts = host_ids(tx, sources.iter().map(|source| &source.host)).await?;
    // Those that are there already first: what is inserted below is told apart by not being here.
    let existing = existing_ids(tx, sources).await?;
    let mut ids = existing.clone();
    let mut fresh: Vec<&NewSource> = Vec::with_capacity(sources.len());
    for source in sources {
        let key = (source.settings.collection_id, source.canonical_url.clone());
        if let std::collections::hash_map::Entry::Vacant(place) = ids.entry(key) {
            place.insert(0);
            fresh.push(source);
        }
    }
    for piece in pieces(&fresh) {
        let mut query =
            Query::new(format!("INSERT INTO sources ({}, version, created_at) ", SETTINGS.as_str()));
        query.push_values(piece, |mut list, source| {
            push_settings(&mut list, &source.settings, &source.canonical_url, now);
            list.push_bind(1_i64).push_bind(ms(now));
        });
        query.push(" RETURNING id, collection_id, canonical_url");
        for row in tx.rows(query).await? {
            ids.insert((row.try_get(1)?, row.try_get(2)?), row.try_get(0)?);
        }
        insert_states(tx, piece, &ids, &hosts).await?;
    }
    settle_hosts(tx, &hosts.into_values().collect::<Vec<_>>()).await?;
    let mut told = std::collections::HashSet::new();
    let created = sources.iter().map(|source| {
        let key = (source.settings.collection_id, source.canonical_url.clone());
        let id = ids.get(&key).copied().unwrap_or_default();
        let new = !existing.contains_key(&key) && told.insert(id);
        if new { Created::New(id) } else { Created::Exists(id) }
    });
    Ok(created.collect())
}

async fn existing_ids(tx: &mut Tx, sources: &[NewSource]) -> sqlx::Result<HashMap<(i64, String), i64>> {
    let mut ids = HashMap::new();
    for piece in pieces(sources) {
        let mut query = with_values("collection_id, canonical_url", piece, |list, source| {
            list.push_bind(source.settings.collection_id).push_bind(source.canonical_url.as_str());
        });
        query.push("SELECT s.id, s.collection_id, s.canonical_url FROM v JOIN sources s ");
        query.push("ON s.collection_id = v.collection_id AND s.canonical_url = v.canonical_url");
        for row in tx.rows(query).await? {
            ids.insert((row.try_get(1)?, row.try_get(2)?), row.try_get(0)?);
        }
    }
    Ok(ids)
}

async fn insert_states(
    tx: &mut Tx,
    sources: &[&NewSource],
    ids: &HashMap<(i64, String), i64>,
    hosts: &HashMap<HostKey, i64>,
) -> sqlx::Result<()> {
    let mut query = Query::new(format!("INSERT INTO source_state (source_id, host_id, fence, {HEALTH}) "));
    query.push_values(sources, |mut list, source| {
        let key = (source.settings.collection_id, source.canonical_url.clone());
        list.push_bind(ids.get(&key).copied()).push_bind(hosts.get(&source.host).copied()).push_bind(1_i64);
        push_health(&mut list, &source.health, source.next_poll_at);
    });
    tx.execute(query).await?;
    Ok(())
}

enum Edited {
    Done,
    Missing,
    Changed,
}

async fn edit_source(tx: &mut Tx, edit: &SourceEdit, now: Time) -> sqlx::Result<Edited> {
    let mut query = Query::new(format!(
        "SELECT s.version, t.fence, t.host_id, t.last_polled_at FROM {SOURCE_TABLES} WHERE s.id = "
    ));
    query.push_bind(edit.id).push(LOCK);
    let Some(row) = tx.row(query).await? else { return Ok(Edited::Missing) };
    let (version, fence, old_host): (i64, i64, i64) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
    let polled_at: Option<i64> = row.try_get(3)?;
    if (version, fence, polled_at) != (edit.version, edit.fence, opt_ms(edit.polled_at)) {
        return Ok(Edited::Changed);
    }
    let hosts = host_ids(tx, std::iter::once(&edit.host)).await?;
    let host = hosts.get(&edit.host).copied().unwrap_or(old_host);
    let one = std::slice::from_ref(edit);
    let mut query = with_values(&SETTINGS, one, |list, edit| {
        push_settings(list, &edit.settings, &edit.canonical_url, now);
    });
    query.push(format!(
        "UPDATE sources SET {}, version = version + 1 FROM v WHERE id = ",
        assignments(&SETTINGS)
    ));
    tx.execute(query.push_bind(edit.id)).await?;
    let mut query = with_values(HEALTH, one, |list, edit| push_health(list, &edit.health, edit.next_poll_at));
    query.push(format!("UPDATE source_state SET {}, fence = fence + 1, host_id = ", assignments(HEALTH)));
    query.push_bind(host);
    if edit.forget {
        query.push(", etag = NULL, last_modified = NULL, body_hash = NULL, reader_version = NULL, hints = NULL, redirect = NULL, cursor = NULL, suspect = NULL, relocation = NULL, pages_suspect = NULL, pages_failed_in_a_row = 0");
    }
    tx.execute(query.push(" FROM v WHERE source_id = ").push_bind(edit.id)).await?;
    settle_hosts(tx, &[old_host, host]).await?;
    insert_events(tx, &edit.events.iter().map(|event| (event.clone(), now)).collect::<Vec<_>>()).await?;
    if let Some(entry) = &edit.audit {
        super::audit::append(tx, entry).await?;
    }
    Ok(Edited::Done)
}

async fn delete(tx: &mut Tx, id: i64) -> sqlx::Result<bool> {
    let mut hosts = Vec::new();
    for table in ["source_state", "article_work"] {
        let mut query = Query::new(format!("SELECT host_id FROM {table} WHERE source_id = "));
        let rows = tx.rows(query.push_bind(id)).await?;
        hosts.extend(rows.iter().map(|row| row.get::<i64, _>(0)));
    }
    hosts.sort_unstable();
    hosts.dedup();
    // A claim or commit that runs now ends first, or finds the source gone.
    for piece in id_pieces(&hosts) {
        let mut query = Query::new("UPDATE hosts SET slot = slot WHERE id IN ");
        push_ids(&mut query, piece);
        tx.execute(query).await?;
    }
    // Articles stay; those that were made from a private collection's posts stay as private as they were.
    let mut query = Query::new(
        "UPDATE articles SET private_to = c.owner_id FROM sources s JOIN collections c ON c.id = s.collection_id \
         WHERE c.private AND s.id = ",
    );
    query.push_bind(id);
    query.push(
        " AND articles.id IN (SELECT ap.article_id FROM posts p JOIN article_posts ap ON ap.post_id = p.id ",
    );
    tx.execute(query.push("WHERE p.source_id = ").push_bind(id).push(")")).await?;
    let mut query = Query::new("DELETE FROM sources WHERE id = ");
    let deleted = tx.execute(query.push_bind(id)).await?;
    settle_hosts(tx, &hosts).await?;
    Ok(deleted > 0)
}
