//! Claims due hosts, extends their leases and releases them.

use std::collections::{HashMap, HashSet};

use async_trait::async_trait;
use gleaner_core::identity::Seen;
use gleaner_core::judgement::HostMemory;
use gleaner_core::pacing::Success;
use gleaner_core::schedule::host_due;
use gleaner_core::time::{Span, Time};
use sqlx::Row as _;

use super::super::{LOCK, ROW_LOCK, Row, SKIP_LOCKED};
use super::source_json::{SOURCE_TABLES, end_sources, select_sources, sources};
use super::sources::not_found;
use super::state::{kind, poll_delay};
use super::{Query, Sql, Statement, Tx, id_pieces, ms, opt_ms, opt_time, pieces, push_ids, sql, with_values};
use crate::store::{
    ArticleCommit, ArticleWork, Claim, ClaimRequest, ClaimScope, Commit, CommitOutcome, HostKey, Lease,
    PollHold, Release, Result, Source, StoreError, Work, WorkPurpose,
};

/// What decides when a host is due: its earliest work, its hold, and the delay after its last request.
const DUE_INPUTS: &str = "hosts.id, hosts.hold_until, hosts.delay_until, \
    (SELECT MIN(next_poll_at) FROM source_state WHERE host_id = hosts.id AND next_poll_at IS NOT NULL) AS next_poll, \
    (SELECT MIN(next_try_at) FROM article_work WHERE host_id = hosts.id AND next_try_at IS NOT NULL) AS next_page";

#[async_trait]
impl Work for Sql {
    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claim>> {
        let mut tx = self.begin().await?;
        let claims = claim(&mut tx, request).await;
        self.end(tx, claims).await
    }

    async fn claim_source(&self, id: i64, request: &ClaimRequest) -> Result<Option<Claim>> {
        let mut tx = self.begin().await?;
        let claim = claim_source(&mut tx, id, request).await;
        self.end(tx, claim).await
    }

    async fn source_hosts(&self, ids: &[i64]) -> Result<Vec<(i64, i64)>> {
        let mut hosts = Vec::with_capacity(ids.len());
        for piece in id_pieces(ids) {
            let mut query = Query::new("SELECT source_id, host_id FROM source_state WHERE source_id IN ");
            push_ids(&mut query, piece);
            query.push(" ORDER BY source_id");
            hosts.extend(self.rows(query).await?.iter().map(|row| (row.get(0), row.get(1))));
        }
        Ok(hosts)
    }

    async fn claim_sources(&self, ids: &[i64], request: &ClaimRequest) -> Result<Vec<Claim>> {
        let mut tx = self.begin().await?;
        let claims = claim_sources(&mut tx, ids, request).await;
        self.end(tx, claims).await
    }

    async fn claim_pages(&self, source_ids: &[i64], request: &ClaimRequest) -> Result<Vec<Claim>> {
        let mut tx = self.begin().await?;
        let claims = claim_pages(&mut tx, source_ids, request).await;
        self.end(tx, claims).await
    }

    async fn poll_holds(&self, ids: &[i64]) -> Result<Vec<PollHold>> {
        let mut holds = Vec::with_capacity(ids.len());
        for piece in id_pieces(ids) {
            let mut query = Query::new(format!(
                "SELECT s.id, t.enabled, h.name, t.hold_until, h.hold_until AS host_until FROM {SOURCE_TABLES} \
                 WHERE s.id IN "
            ));
            push_ids(&mut query, piece);
            for row in &self.rows(query).await? {
                let read = || {
                    let until = opt_time(row, "hold_until")?.max(opt_time(row, "host_until")?);
                    let (source_id, enabled, host) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
                    Ok(PollHold { source_id, enabled, host, until })
                };
                holds.push(read().map_err(|error: sqlx::Error| self.fail(error))?);
            }
        }
        Ok(holds)
    }

    async fn pages_due(&self, source_ids: &[i64], now: Time) -> Result<u64> {
        let mut due = 0;
        for piece in id_pieces(source_ids) {
            let mut query = Query::new("SELECT COUNT(*) FROM article_work WHERE next_try_at <= ");
            query.push_bind(ms(now)).push(" AND source_id IN ");
            push_ids(&mut query, piece);
            for row in &self.rows(query).await? {
                due += u64::try_from(row.get::<i64, _>(0)).unwrap_or(0);
            }
        }
        Ok(due)
    }

    async fn wake_source(&self, id: i64, now: Time) -> Result<Option<Lease>> {
        let mut tx = self.begin().await?;
        let woken = wake_source(&mut tx, id, now).await;
        self.end(tx, woken).await?.ok_or_else(|| not_found(id))
    }

    async fn wake_sources(&self, ids: &[i64], now: Time) -> Result<()> {
        for piece in id_pieces(ids) {
            let mut tx = self.begin().await?;
            let woken = wake_sources(&mut tx, piece, now).await;
            // Sources of hosts that another transaction is writing are woken one by one, after it.
            for id in self.end(tx, woken).await? {
                match self.wake_source(id, now).await {
                    Err(StoreError::NotFound { .. }) => {}
                    woken => drop(woken?),
                }
            }
        }
        Ok(())
    }

    async fn heartbeat(&self, leases: &[Lease], until: Time) -> Result<Vec<Lease>> {
        let mut tx = self.begin().await?;
        let mut kept = Vec::new();
        for piece in pieces(leases) {
            let mut query = with_leases(piece);
            query.push("UPDATE hosts SET lease_until = ").push_bind(ms(until)).push(", next_due = ");
            query.push_bind(ms(until)).push(
                " FROM v WHERE hosts.id = v.host_id AND hosts.fence = v.fence AND lease_owner IS NOT NULL
                  RETURNING hosts.id, hosts.fence",
            );
            let rows = tx.rows(query).await.map_err(|error| self.fail(error))?;
            kept.extend(rows.iter().map(|row| Lease { host_id: row.get(0), fence: row.get(1) }));
        }
        self.finish(tx).await?;
        Ok(kept)
    }

    async fn known(&self, source_ids: &[i64]) -> Result<HashMap<i64, Vec<Seen>>> {
        let mut known: HashMap<i64, Vec<Seen>> = HashMap::with_capacity(source_ids.len());
        for piece in id_pieces(source_ids) {
            let mut query = Query::new(
                "SELECT source_id, entry_key, link, raw, title, content, published_at, post_id, absent_since \
                 FROM seen WHERE source_id IN ",
            );
            push_ids(&mut query, piece);
            let rows = self.rows(query).await?;
            for row in &rows {
                let seen = seen(row).map_err(|error| self.fail(error))?;
                known.entry(row.get(0)).or_default().push(seen);
            }
        }
        Ok(known)
    }

    async fn commit(&self, commits: &[Commit], releases: &[Release]) -> Result<Vec<CommitOutcome>> {
        #[cfg(feature = "test-faults")]
        let _open = crate::store::faults::Open::new(commits.len());
        #[cfg(feature = "test-faults")]
        if crate::store::faults::validators_first() {
            let mut tx = self.begin().await?;
            let stored = super::commit::store_validators(&mut tx, commits).await;
            self.end(tx, stored).await?;
        }
        let mut tx = self.begin().await?;
        let committed = super::commit::commit(&mut tx, commits).await;
        let committed = and_release(&mut tx, committed, releases).await;
        self.end(tx, committed).await
    }

    async fn commit_articles(
        &self,
        commits: &[ArticleCommit],
        releases: &[Release],
    ) -> Result<Vec<CommitOutcome>> {
        let mut tx = self.begin().await?;
        let committed = super::articles::commit(&mut tx, commits).await;
        let committed = and_release(&mut tx, committed, releases).await;
        self.end(tx, committed).await
    }

    async fn retry_pages(&self, source_id: i64, now: Time) -> Result<u64> {
        let mut tx = self.begin().await?;
        let retried = super::pages::retry(&mut tx, source_id, now).await;
        self.end(tx, retried).await
    }
}

/// Ends leases where all went well before.
async fn and_release<T>(tx: &mut Tx, before: sqlx::Result<T>, releases: &[Release]) -> sqlx::Result<T> {
    let done = before?;
    release(tx, releases).await?;
    Ok(done)
}

/// The query that finds due hosts, the longest due first, and leases them. Hosts that are not quick come from a lane of their
/// own, so that they cannot take all places.
pub(super) fn claim_hosts(request: &ClaimRequest) -> Statement {
    let hosts = request.hosts;
    let (quick, slow) = match request.scope {
        ClaimScope::All => (hosts, request.slow_hosts.min(hosts)),
        ClaimScope::Probe => (PROBED_AMONG, PROBED_AMONG),
    };
    let (probed, order) = match request.scope {
        ClaimScope::All => ("", "next_due"),
        ClaimScope::Probe => (
            "AND (last_success_at IS NOT NULL OR next_due <= $4)",
            "quick DESC, last_success_at DESC NULLS LAST",
        ),
    };
    sql!(
        "WITH quick_hosts AS MATERIALIZED (
             SELECT id, next_due, quick, last_success_at FROM hosts WHERE quick = TRUE AND next_due <= $1 {probed}
             ORDER BY next_due LIMIT {quick}{SKIP_LOCKED}
         ), slow_hosts AS MATERIALIZED (
             SELECT id, next_due, quick, last_success_at FROM hosts WHERE quick = FALSE AND next_due <= $1 {probed}
             ORDER BY next_due LIMIT {slow}{SKIP_LOCKED}
         ), due AS (
             SELECT id FROM (SELECT * FROM quick_hosts UNION ALL SELECT * FROM slow_hosts) b
             ORDER BY {order} LIMIT {hosts}
         )
         UPDATE hosts SET fence = fence + 1, lease_owner = $2, lease_until = $3, next_due = $3
         WHERE id IN (SELECT id FROM due) RETURNING {LEASED}",
        ms(request.now),
        request.owner.as_str(),
        ms(request.now + request.lease),
        ms(request.now - PROBED_ANYWAY),
    )
}

/// What a claim reads of a host.
const LEASED: &str = "id, name, fence, hold_until, memory, last_success_at, last_success_source_id, quick, \
    (SELECT COUNT(*) FROM (SELECT 1 FROM source_state WHERE host_id = hosts.id AND next_poll_at IS NOT NULL LIMIT 3) n) \
    AS host_sources";
/// A probe of our own network is chosen among so many due hosts of each lane.
const PROBED_AMONG: u32 = 1000;
/// A host that never succeeded is probed only where it has been due for so long and no other is.
const PROBED_ANYWAY: Span = Span::from_hours(1);

fn push_lease(query: &mut Query, request: &ClaimRequest) {
    let until = ms(request.now + request.lease);
    query.push("UPDATE hosts SET fence = fence + 1, lease_owner = ").push_bind(request.owner.as_str());
    query.push(", lease_until = ").push_bind(until).push(", next_due = ").push_bind(until);
}

/// The query that finds what is due of leased hosts, so many of each.
pub(super) fn due_sources(hosts: &[i64], request: &ClaimRequest) -> Query {
    let mut query = select_sources();
    query.push(" JOIN (SELECT source_id, ROW_NUMBER() OVER (PARTITION BY host_id ORDER BY ");
    query.push(match request.scope {
        ClaimScope::All => "next_poll_at",
        ClaimScope::Probe => "CASE WHEN last_success_at IS NULL THEN 1 ELSE 0 END, last_success_at DESC",
    });
    query.push(") AS place FROM source_state WHERE next_poll_at <= ");
    query.push_bind(ms(request.now)).push(" AND host_id IN ");
    push_ids(&mut query, hosts);
    query.push(") d ON d.source_id = s.id WHERE d.place <= ");
    query.push_bind(i64::from(request.per_host));
    end_sources(&mut query);
    query
}

/// The query that finds pages that are due of leased hosts, or only those of some sources.
pub(super) fn due_articles(hosts: &[i64], sources: Option<&[i64]>, request: &ClaimRequest) -> Query {
    let mut query = Query::new(
        "SELECT d.id, d.source_id, d.host_id, d.purpose, d.entry_key, d.url, d.draft, d.tries, s.kind, s.poll_delay_seconds, \
             s.ignore_robots, s.url AS source_url, s.secret, t.enabled FROM (SELECT *, \
             ROW_NUMBER() OVER (PARTITION BY host_id ORDER BY next_try_at, id) AS place \
         FROM article_work WHERE next_try_at <= ",
    );
    query.push_bind(ms(request.now)).push(" AND host_id IN ");
    push_ids(&mut query, hosts);
    if let Some(sources) = sources {
        query.push(" AND source_id IN ");
        push_ids(&mut query, sources);
    }
    query.push(
        ") d JOIN sources s ON s.id = d.source_id JOIN source_state t ON t.source_id = d.source_id WHERE place <= ",
    );
    query.push_bind(i64::from(request.per_host)).push(" ORDER BY d.host_id, d.place");
    query
}

async fn claim(tx: &mut Tx, request: &ClaimRequest) -> sqlx::Result<Vec<Claim>> {
    let rows = tx.rows(claim_hosts(request)).await?;
    let mut claims = rows.iter().map(leased).collect::<sqlx::Result<Vec<Claim>>>()?;
    let hosts: Vec<i64> = claims.iter().map(|claim| claim.lease.host_id).collect();
    let mut due: HashMap<i64, Vec<Source>> = HashMap::new();
    let mut articles: HashMap<i64, Vec<_>> = HashMap::new();
    for piece in id_pieces(&hosts) {
        let row = tx.one(due_sources(piece, request)).await?;
        for (host_id, source) in sources(&row)? {
            due.entry(host_id).or_default().push(source);
        }
        for row in tx.rows(due_articles(piece, None, request)).await? {
            articles.entry(row.try_get("host_id")?).or_default().push(article_work(&row)?);
        }
    }
    for claim in &mut claims {
        claim.sources = due.remove(&claim.lease.host_id).unwrap_or_default();
        claim.sources.sort_by_key(|source| (source.next_poll_at, source.id));
        claim.articles = articles.remove(&claim.lease.host_id).unwrap_or_default();
    }
    Ok(claims)
}

async fn claim_source(tx: &mut Tx, id: i64, request: &ClaimRequest) -> sqlx::Result<Option<Claim>> {
    let query = sql!(
        "UPDATE hosts SET fence = fence + 1, lease_owner = $1, lease_until = $2, next_due = $2
         WHERE id = (SELECT host_id FROM source_state WHERE source_id = $3)
             AND (lease_owner IS NULL OR lease_until <= $4)
         RETURNING {LEASED}",
        request.owner.as_str(),
        ms(request.now + request.lease),
        id,
        ms(request.now),
    );
    let Some(row) = tx.row(query).await? else { return Ok(None) };
    let mut claim = leased(&row)?;
    let mut query = select_sources();
    query.push(" WHERE s.id = ").push_bind(id);
    end_sources(&mut query);
    let row = tx.one(query).await?;
    claim.sources = sources(&row)?.into_iter().map(|(_, source)| source).collect();
    Ok(Some(claim))
}

/// Leases hosts that are free now, of those that `which` selects.
async fn claim_free_hosts(
    tx: &mut Tx,
    request: &ClaimRequest,
    which: impl FnOnce(&mut Query),
) -> sqlx::Result<Vec<Claim>> {
    let now = ms(request.now);
    let mut query = Query::new("WITH free AS MATERIALIZED (SELECT id FROM hosts WHERE id IN (");
    which(&mut query);
    query.push(") AND (lease_owner IS NULL OR lease_until <= ").push_bind(now);
    query.push(") AND (delay_until IS NULL OR delay_until <= ").push_bind(now).push(")");
    query.push(SKIP_LOCKED).push(") ");
    push_lease(&mut query, request);
    query.push(" WHERE id IN (SELECT id FROM free) RETURNING ").push(LEASED);
    tx.rows(query).await?.iter().map(leased).collect()
}

async fn claim_sources(tx: &mut Tx, ids: &[i64], request: &ClaimRequest) -> sqlx::Result<Vec<Claim>> {
    let mut claims: Vec<Claim> = Vec::new();
    for piece in id_pieces(ids) {
        claims.extend(
            claim_free_hosts(tx, request, |query| {
                query.push("SELECT host_id FROM source_state WHERE source_id IN ");
                push_ids(query, piece);
            })
            .await?,
        );
    }
    // A host whose sources are in several pieces was leased with the first of them.
    let places: HashMap<i64, usize> =
        claims.iter().enumerate().map(|(place, claim)| (claim.lease.host_id, place)).collect();
    for piece in id_pieces(ids).filter(|_| !places.is_empty()) {
        let mut query = select_sources();
        query.push(" WHERE s.id IN ");
        push_ids(&mut query, piece);
        end_sources(&mut query);
        for (host_id, source) in sources(&tx.one(query).await?)? {
            if let Some(claim) = places.get(&host_id).and_then(|place| claims.get_mut(*place)) {
                claim.sources.push(source);
            }
        }
    }
    for claim in &mut claims {
        claim.sources.sort_by_key(|source| source.id);
    }
    Ok(claims)
}

async fn claim_pages(tx: &mut Tx, ids: &[i64], request: &ClaimRequest) -> sqlx::Result<Vec<Claim>> {
    let mut claims: Vec<Claim> = Vec::new();
    for piece in id_pieces(ids) {
        claims.extend(
            claim_free_hosts(tx, request, |query| {
                query
                    .push("SELECT host_id FROM article_work WHERE next_try_at <= ")
                    .push_bind(ms(request.now));
                query.push(" AND source_id IN ");
                push_ids(query, piece);
            })
            .await?,
        );
    }
    let hosts: Vec<i64> = claims.iter().map(|claim| claim.lease.host_id).collect();
    let mut pages: HashMap<i64, Vec<ArticleWork>> = HashMap::new();
    for piece in id_pieces(ids).filter(|_| !hosts.is_empty()) {
        for hosts in id_pieces(&hosts) {
            for row in tx.rows(due_articles(hosts, Some(piece), request)).await? {
                pages.entry(row.try_get("host_id")?).or_default().push(article_work(&row)?);
            }
        }
    }
    for claim in &mut claims {
        claim.articles = pages.remove(&claim.lease.host_id).unwrap_or_default();
    }
    Ok(claims)
}

/// Makes a source due; the outer none: there is no such source.
async fn wake_source(tx: &mut Tx, id: i64, now: Time) -> sqlx::Result<Option<Option<Lease>>> {
    let query = sql!(
        "SELECT h.id, h.fence, h.lease_owner, h.lease_until FROM {SOURCE_TABLES} WHERE s.id = $1{LOCK}",
        id,
    );
    let Some(row) = tx.row(query).await? else { return Ok(None) };
    let lease = Lease { host_id: row.try_get(0)?, fence: row.try_get(1)? };
    let leased = row.try_get::<Option<&str>, _>(2)?.is_some()
        && row.try_get::<Option<i64>, _>(3)?.is_some_and(|until| until > ms(now));
    tx.execute(sql!(
        "UPDATE source_state SET next_poll_at = $1
         WHERE source_id = $2 AND enabled AND (next_poll_at IS NULL OR next_poll_at > $1)",
        ms(now),
        id,
    ))
    .await?;
    settle_hosts(tx, &[lease.host_id]).await?;
    Ok(Some(leased.then_some(lease)))
}

/// Makes the sources due whose hosts nobody is writing at this moment; returns the others.
async fn wake_sources(tx: &mut Tx, ids: &[i64], now: Time) -> sqlx::Result<Vec<i64>> {
    let mut query =
        Query::new("SELECT id FROM hosts WHERE id IN (SELECT host_id FROM source_state WHERE source_id IN ");
    push_ids(&mut query, ids);
    query.push(")").push(SKIP_LOCKED);
    let rows = tx.rows(query).await?;
    let hosts = rows.iter().map(|row| row.try_get(0)).collect::<sqlx::Result<Vec<i64>>>()?;
    let mut woken = HashSet::with_capacity(ids.len());
    for hosts in id_pieces(&hosts) {
        let mut query = Query::new("SELECT source_id FROM source_state WHERE source_id IN ");
        push_ids(&mut query, ids);
        query.push(" AND host_id IN ");
        push_ids(&mut query, hosts);
        for row in tx.rows(query).await? {
            woken.insert(row.try_get::<i64, _>(0)?);
        }
    }
    for piece in id_pieces(&woken.iter().copied().collect::<Vec<_>>()) {
        let mut query = Query::new("UPDATE source_state SET next_poll_at = ");
        query.push_bind(ms(now)).push(" WHERE enabled AND (next_poll_at IS NULL OR next_poll_at > ");
        query.push_bind(ms(now)).push(") AND source_id IN ");
        push_ids(&mut query, piece);
        tx.execute(query).await?;
    }
    settle_hosts(tx, &hosts).await?;
    Ok(ids.iter().copied().filter(|id| !woken.contains(id)).collect())
}

fn leased(row: &Row) -> sqlx::Result<Claim> {
    Ok(Claim {
        lease: Lease { host_id: row.try_get("id")?, fence: row.try_get("fence")? },
        host: row.try_get("name")?,
        hold_until: opt_time(row, "hold_until")?,
        memory: host_memory(row)?,
        quick: row.try_get("quick")?,
        host_sources: u32::try_from(row.try_get::<i64, _>("host_sources")?).unwrap_or(0),
        sources: Vec::new(),
        articles: Vec::new(),
    })
}

/// What is known of a host. What an older version or a stranger's hand wrote and nobody can read is forgotten.
pub(super) fn host_memory(row: &Row) -> sqlx::Result<HostMemory> {
    let stored: Option<&str> = row.try_get("memory")?;
    let memory: HostMemory = stored.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let served =
        opt_time(row, "last_success_at")?.zip(row.try_get::<Option<i64>, _>("last_success_source_id")?);
    Ok(HostMemory { latest_success: served.map(|(at, source)| Success { at, source }), ..memory })
}

fn article_work(row: &Row) -> sqlx::Result<ArticleWork> {
    Ok(ArticleWork {
        id: row.try_get("id")?,
        source_id: row.try_get("source_id")?,
        purpose: WorkPurpose::from_name(row.try_get("purpose")?),
        entry_key: row.try_get("entry_key")?,
        url: row.try_get("url")?,
        draft: row.try_get("draft")?,
        tries: row.try_get("tries")?,
        kind: kind(row)?,
        poll_delay: poll_delay(row)?,
        ignore_robots: row.try_get("ignore_robots")?,
        source_url: row.try_get("source_url")?,
        secret: row.try_get("secret")?,
        enabled: row.try_get("enabled")?,
    })
}

/// By place: there are dozens of these rows for each source.
fn seen(row: &Row) -> sqlx::Result<Seen> {
    Ok(Seen {
        key: row.try_get(1)?,
        link: row.try_get(2)?,
        raw: row.try_get(3)?,
        title: row.try_get(4)?,
        content: row.try_get(5)?,
        published_at: row.try_get::<Option<i64>, _>(6)?.map(Time::from_millis),
        post_id: row.try_get(7)?,
        absent_since: row.try_get::<Option<i64>, _>(8)?.map(Time::from_millis),
    })
}

fn with_leases(leases: &[Lease]) -> Query {
    with_values("host_id, fence", leases, |list, lease| {
        list.push_bind(lease.host_id).push_bind(lease.fence);
    })
}

async fn release(tx: &mut Tx, releases: &[Release]) -> sqlx::Result<()> {
    for piece in pieces(releases) {
        let columns = "host_id, fence, delay_until, last_success_at, last_success_source_id, quick";
        let mut query = with_values(columns, piece, |list, release| {
            list.push_bind(release.lease.host_id)
                .push_bind(release.lease.fence)
                .push_bind(opt_ms(release.delay_until))
                .push_bind(release.served.map(|success| ms(success.at)))
                .push_bind(release.served.map(|success| success.source))
                .push_bind(release.quick);
        });
        // A host that is given back without a request keeps the delay after the request before.
        query.push(format!(
            "UPDATE hosts SET lease_owner = NULL, lease_until = NULL, \
                 delay_until = COALESCE(v.delay_until, hosts.delay_until), \
                 last_success_at = COALESCE(v.last_success_at, hosts.last_success_at), \
                 last_success_source_id = COALESCE(v.last_success_source_id, hosts.last_success_source_id), \
                 quick = COALESCE(v.quick, hosts.quick) \
             FROM v WHERE hosts.id = v.host_id AND hosts.fence = v.fence RETURNING {DUE_INPUTS}"
        ));
        let rows = tx.rows(query).await?;
        write_due(tx, &rows).await?;
    }
    Ok(())
}

/// Makes hosts due with the earliest of their work. One that is leased is settled when it is released.
pub(super) async fn settle_hosts(tx: &mut Tx, hosts: &[i64]) -> sqlx::Result<()> {
    for piece in id_pieces(hosts) {
        if !ROW_LOCK.is_empty() {
            // Before their work is read, so that what another transaction committed meanwhile is seen.
            let mut query = Query::new("SELECT id FROM hosts WHERE lease_owner IS NULL AND id IN ");
            push_ids(&mut query, piece);
            query.push(" ORDER BY id").push(ROW_LOCK);
            tx.rows(query).await?;
        }
        let mut query =
            Query::new(format!("SELECT {DUE_INPUTS} FROM hosts WHERE lease_owner IS NULL AND id IN "));
        push_ids(&mut query, piece);
        let rows = tx.rows(query).await?;
        write_due(tx, &rows).await?;
    }
    Ok(())
}

/// Writes when hosts are due, from rows of [`DUE_INPUTS`].
async fn write_due(tx: &mut Tx, rows: &[Row]) -> sqlx::Result<()> {
    let mut due = Vec::with_capacity(rows.len());
    for row in rows {
        let work = opt_time(row, "next_poll")?.into_iter().chain(opt_time(row, "next_page")?).min();
        let at = host_due(work, opt_time(row, "hold_until")?, opt_time(row, "delay_until")?);
        due.push((row.try_get::<i64, _>("id")?, at));
    }
    for piece in pieces(&due) {
        let mut query = with_values("host_id, next_due", piece, |list, (id, at)| {
            list.push_bind(*id).push_bind(opt_ms(*at));
        });
        query.push("UPDATE hosts SET next_due = v.next_due FROM v WHERE hosts.id = v.host_id");
        tx.execute(query).await?;
    }
    Ok(())
}

/// The ids of hosts, made where they are missing.
pub(super) async fn host_ids(
    tx: &mut Tx,
    keys: impl Iterator<Item = &HostKey>,
) -> sqlx::Result<HashMap<HostKey, i64>> {
    let mut unique: Vec<&HostKey> = keys.collect();
    unique.sort_by(|a, b| (&a.name, a.slot).cmp(&(&b.name, b.slot)));
    unique.dedup();
    let mut ids = HashMap::with_capacity(unique.len());
    for piece in pieces(&unique) {
        let mut query = Query::new("INSERT INTO hosts (name, slot) ");
        query.push_values(piece, |mut list, key| {
            list.push_bind(key.name.as_str()).push_bind(i64::from(key.slot));
        });
        // A row that is there already is returned only if it is written.
        query.push(" ON CONFLICT (name, slot) DO UPDATE SET slot = excluded.slot RETURNING id, name, slot");
        for row in tx.rows(query).await? {
            let slot = u32::try_from(row.try_get::<i64, _>("slot")?).unwrap_or(0);
            ids.insert(HostKey { name: row.try_get("name")?, slot }, row.try_get("id")?);
        }
    }
    Ok(ids)
}
