//! Writes new poll times of many sources, which the core draws: when a host or the local network is back, and when the clock
//! has jumped.

use gleaner_core::judgement::Release;
use gleaner_core::redraw::{Corrected, PollTimes, Spread};
use gleaner_core::source::Interval;
use gleaner_core::time::Time;
use sqlx::Row as _;

use super::super::{Row, STATE_LOCK};
use super::claim::settle_hosts;
use super::retention::set_meta;
use super::{Query, Sql, Statement, Tx, id_pieces, ms, opt_ms, opt_time, pieces, push_ids, sql, with_values};
use crate::store::Result;

/// Maximum of a host's sources that a release draws anew; more are simply polled one after the other.
const RELEASED: i64 = 10_000;
/// How many sources one transaction of a spread reads.
const BATCH: usize = 1000;
/// When overdue sources were last spread, in `meta`.
const LAST_SPREAD: &str = "polls_spread_at";
/// The columns of [`times`].
const TIMES: &str = "t.source_id, t.host_id, t.next_poll_at, t.retry_at, t.hold_until, t.last_polled_at, t.excused_by, \
    s.poll_interval_minutes";

fn times(row: &Row) -> sqlx::Result<PollTimes> {
    Ok(PollTimes {
        source_id: row.try_get("source_id")?,
        next_poll_at: opt_time(row, "next_poll_at")?,
        retry_at: opt_time(row, "retry_at")?,
        hold_until: opt_time(row, "hold_until")?,
        last_polled_at: opt_time(row, "last_polled_at")?,
        excused_by: row.try_get("excused_by")?,
        interval: Interval::from_stored(row.try_get("poll_interval_minutes")?),
    })
}

async fn write(tx: &mut Tx, new: &[PollTimes]) -> sqlx::Result<()> {
    for piece in pieces(new) {
        let columns = "source_id, next_poll_at, retry_at, last_polled_at";
        let mut query = with_values(columns, piece, |list, times| {
            list.push_bind(times.source_id)
                .push_bind(opt_ms(times.next_poll_at))
                .push_bind(opt_ms(times.retry_at))
                .push_bind(opt_ms(times.last_polled_at));
        });
        query.push(
            "UPDATE source_state SET next_poll_at = v.next_poll_at, retry_at = v.retry_at, \
                 last_polled_at = v.last_polled_at \
             FROM v WHERE source_state.source_id = v.source_id",
        );
        tx.execute(query).await?;
    }
    Ok(())
}

/// Spreads a host's sources as a release says. The host is settled when its lease ends.
pub(super) async fn release_sources(
    tx: &mut Tx,
    host_id: i64,
    release: &Release,
    now: Time,
) -> sqlx::Result<()> {
    let query = sql!(
        "SELECT {TIMES} FROM source_state t JOIN sources s ON s.id = t.source_id \
         WHERE t.source_id IN (SELECT source_id FROM source_state WHERE host_id = $1 \
             AND (next_poll_at <= $2 OR ($3 AND next_poll_at IS NOT NULL AND excused_by IS NOT NULL)) \
             ORDER BY next_poll_at LIMIT {RELEASED}) \
         ORDER BY t.source_id{STATE_LOCK}",
        host_id,
        ms(now),
        release.excused,
    );
    let mut new = Vec::new();
    for row in tx.rows(query).await? {
        new.extend(release.redraw(&times(&row)?, now));
    }
    write(tx, &new).await
}

impl Sql {
    /// Corrects stored times in batches, each in a transaction of its own, so that polls go on beside it. Returns how many
    /// sources were drawn anew. What is cut off is done again: the time of the spread is written last.
    pub(super) async fn spread_polls(&self, spread: &Spread) -> Result<u64> {
        let last = self.last_spread().await?;
        self.correct_hosts(spread).await?;
        let (mut after, mut drawn) = (0, 0);
        loop {
            let mut tx = self.begin().await?;
            let batch = correct_batch(&mut tx, spread, last, after).await;
            let batch = self.end(tx, batch).await?;
            drawn += batch.drawn;
            match batch.next {
                Some(id) => after = id,
                None => break,
            }
        }
        if spread.overdue || last.is_some_and(|last| last > spread.now) {
            self.run(set_meta(LAST_SPREAD, &ms(spread.now).to_string())).await?;
        }
        Ok(drawn)
    }

    async fn last_spread(&self) -> Result<Option<Time>> {
        let rows = self.rows(sql!("SELECT value FROM meta WHERE name = $1", LAST_SPREAD)).await?;
        let value = rows.first().and_then(|row| row.get::<String, _>(0).parse().ok());
        Ok(value.map(Time::from_millis))
    }

    /// Ends leases, holds and delays that no rule could have set, and makes pages due that a clock ahead had timed.
    async fn correct_hosts(&self, spread: &Spread) -> Result<()> {
        let mut tx = self.begin().await?;
        let corrected = correct_hosts(&mut tx, spread).await;
        let hosts = self.end(tx, corrected).await?;
        for piece in id_pieces(&hosts) {
            let mut tx = self.begin().await?;
            let settled = settle_hosts(&mut tx, piece).await;
            self.end(tx, settled).await?;
        }
        Ok(())
    }
}

async fn correct_hosts(tx: &mut Tx, spread: &Spread) -> sqlx::Result<Vec<i64>> {
    let (now, ahead) = (ms(spread.now), ms(spread.now + spread.lease));
    let longest = ms(spread.now + spread.longest);
    // Pages before hosts, as commits of pages lock them.
    let statements = [
        sql!(
            "UPDATE article_work SET next_try_at = $1 \
             WHERE (created_at > $2 OR failed_at > $2) AND next_try_at > $1 RETURNING host_id",
            now,
            ahead,
        ),
        sql!(
            "UPDATE hosts SET lease_owner = NULL, lease_until = NULL, fence = fence + 1 \
             WHERE lease_until > $1 RETURNING id",
            ahead,
        ),
        sql!("UPDATE hosts SET hold_until = NULL WHERE hold_until > $1 RETURNING id", longest),
        sql!("UPDATE hosts SET delay_until = NULL WHERE delay_until > $1 RETURNING id", longest),
    ];
    let mut hosts = Vec::new();
    for statement in statements {
        for row in tx.rows(statement).await? {
            hosts.push(row.try_get::<i64, _>(0)?);
        }
    }
    hosts.sort_unstable();
    hosts.dedup();
    Ok(hosts)
}

/// What one transaction of a spread did.
struct Batch {
    drawn: u64,
    /// Where the next one begins; none: this was the last.
    next: Option<i64>,
}

async fn correct_batch(tx: &mut Tx, spread: &Spread, last: Option<Time>, after: i64) -> sqlx::Result<Batch> {
    let rows = tx.rows(suspicious(spread, last, after)).await?;
    let next = rows.last().filter(|_| rows.len() == BATCH).map(|row| row.try_get(0)).transpose()?;
    let (mut new, mut hosts, mut ahead, mut drawn) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for row in &rows {
        let Some(Corrected { times, was_ahead, drawn: is_drawn }) = spread.correct(&times(row)?, last) else {
            continue;
        };
        let host_id: i64 = row.try_get("host_id")?;
        drawn += u64::from(is_drawn);
        ahead.extend(was_ahead.then_some(host_id));
        hosts.push(host_id);
        new.push(times);
    }
    write(tx, &new).await?;
    for piece in id_pieces(&ahead) {
        let mut query = Query::new("UPDATE hosts SET hold_until = NULL, delay_until = NULL WHERE id IN ");
        push_ids(&mut query, piece);
        tx.execute(query).await?;
    }
    hosts.sort_unstable();
    hosts.dedup();
    settle_hosts(tx, &hosts).await?;
    Ok(Batch { drawn, next })
}

/// The query for the next sources whose times may have to be corrected, by id. No index serves it, and a spread is rare.
fn suspicious(spread: &Spread, last: Option<Time>, after: i64) -> Statement {
    let rows = spread.suspicious(last);
    sql!(
        "SELECT {TIMES} FROM source_state t JOIN sources s ON s.id = t.source_id \
         WHERE t.source_id > $1 AND (t.last_polled_at > $2 OR t.next_poll_at > $3 OR t.next_poll_at <= $4 \
             OR t.next_poll_at >= $5 OR t.excused_by LIKE $6) \
         ORDER BY t.source_id LIMIT {BATCH}{STATE_LOCK}",
        after,
        ms(rows.polled_after),
        ms(rows.due_after),
        opt_ms(rows.due_by),
        opt_ms(rows.spread_ahead_at),
        rows.excused_by.map(|start| format!("{start}%")),
    )
}
