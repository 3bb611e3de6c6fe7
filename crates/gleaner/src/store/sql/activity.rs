//! Polls and posts by hour, added up in the transaction of the polls.

use std::collections::BTreeMap;

use gleaner_core::time::Time;
use sqlx::Row as _;

use super::super::Row;
use super::{Statement, Tx, ms, sql};
use crate::store::Activity;

/// Workers that commit at the same time add to different rows, mostly.
const SLOTS: i64 = 16;

const HOUR: i64 = 3_600_000;

/// Adds up. `host_id` chooses the slot; one for a whole transaction, so that none waits for another in a circle.
pub(super) async fn add(tx: &mut Tx, host_id: i64, done: impl Iterator<Item = Activity>) -> sqlx::Result<()> {
    let mut hours: BTreeMap<i64, Activity> = BTreeMap::new();
    for one in done {
        let sum = hours.entry(ms(one.hour).div_euclid(HOUR) * HOUR).or_default();
        sum.polls += one.polls;
        sum.failed += one.failed;
        sum.posts += one.posts;
    }
    for (hour, sum) in hours {
        let statement = sql!(
            "INSERT INTO activity (hour, slot, polls, failed, posts) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (hour, slot) DO UPDATE SET polls = activity.polls + excluded.polls,
                 failed = activity.failed + excluded.failed, posts = activity.posts + excluded.posts",
            hour,
            host_id.rem_euclid(SLOTS),
            sum.polls,
            sum.failed,
            sum.posts,
        );
        tx.execute(statement).await?;
    }
    Ok(())
}

/// Hours since then, the oldest first; those in which nothing was done are left out.
pub(super) fn since(from: Time) -> Statement {
    sql!(
        "SELECT hour, CAST(SUM(polls) AS BIGINT), CAST(SUM(failed) AS BIGINT), CAST(SUM(posts) AS BIGINT)
         FROM activity WHERE hour >= $1 GROUP BY hour ORDER BY hour",
        ms(from),
    )
}

/// An hour from a row of it.
pub(super) fn activity(row: &Row) -> sqlx::Result<Activity> {
    Ok(Activity {
        hour: Time::from_millis(row.try_get(0)?),
        polls: row.try_get(1)?,
        failed: row.try_get(2)?,
        posts: row.try_get(3)?,
    })
}

/// Forgets hours before.
pub(super) async fn forget(tx: &mut Tx, before: Time) -> sqlx::Result<()> {
    tx.execute(sql!("DELETE FROM activity WHERE hour < $1", ms(before))).await?;
    Ok(())
}
