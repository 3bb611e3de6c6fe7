//! Writes that fail, and writes that take their time.

use gleaner::service::{BulkAction, BulkOf};
use sqlx::{Connection as _, Executor as _};

use super::Site;
use crate::support::{Database, empty_postgres};

/// What makes writes fail: all of them, or those of one source's posts.
struct Trap {
    make: &'static [&'static str],
    undo: &'static str,
}

const ALL_ON_SQLITE: Trap = Trap {
    make: &["CREATE TRIGGER trap BEFORE INSERT ON polls BEGIN SELECT RAISE(ABORT, 'no more'); END"],
    undo: "DROP TRIGGER trap",
};
const ONE_ON_SQLITE: Trap = Trap {
    make: &["CREATE TRIGGER trap BEFORE INSERT ON posts WHEN NEW.source_id = 1 \
             BEGIN SELECT RAISE(ABORT, 'no more'); END"],
    undo: "DROP TRIGGER trap",
};
const FUNCTION: &str = "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql \
    AS $$ BEGIN RAISE EXCEPTION 'no more'; END $$";
const ALL_ON_POSTGRES: Trap = Trap {
    make: &[FUNCTION, "CREATE TRIGGER trap BEFORE INSERT ON polls FOR EACH ROW EXECUTE FUNCTION refuse()"],
    undo: "DROP TRIGGER trap ON polls",
};
const ONE_ON_POSTGRES: Trap = Trap {
    make: &[
        FUNCTION,
        "CREATE TRIGGER trap BEFORE INSERT ON posts FOR EACH ROW WHEN (NEW.source_id = 1) \
         EXECUTE FUNCTION refuse()",
    ],
    undo: "DROP TRIGGER trap ON posts",
};

#[tokio::test]
async fn writes_that_fail_are_made_up_for_on_sqlite() {
    let db = crate::support::sqlite().await;
    fails_for_a_while(&db, &ALL_ON_SQLITE).await;
}

#[tokio::test]
async fn writes_that_fail_are_made_up_for_on_postgres() {
    let db = crate::support::postgres().await;
    fails_for_a_while(&db, &ALL_ON_POSTGRES).await;
}

async fn fails_for_a_while(db: &Database, trap: &Trap) {
    let mut site = Site::new(&db.url).await;
    for sql in trap.make {
        db.behind_its_back(sql).await;
    }
    site.log.says("a poll could not be recorded; it is due again when the lease runs out").await;
    assert!(site.log.text().contains("no more"), "with what the database said");
    let posts = db.count("posts").await;
    // Polled again and again, and nothing of it is kept.
    let asked = site.farm.requests();
    super::until(async || site.farm.requests() > asked + 8, || "nobody polls any more".to_owned()).await;
    assert_eq!(db.count("posts").await, posts);
    db.behind_its_back(trap.undo).await;
    // One may just have been refused, and that it was is taken now: it would be tried again in an hour.
    let insisting = async {
        loop {
            let asked = site.farm.requests();
            polled_by_hand(&site, (1..=12).collect()).await;
            super::until(async || site.farm.requests() > asked, || "nobody polls any more".to_owned()).await;
        }
    };
    tokio::select! {
        () = site.publishes(2) => {}
        () = insisting => {}
    }
    site.agrees().await;
}

#[tokio::test]
async fn one_bad_poll_does_not_hold_up_the_others_on_sqlite() {
    let db = crate::support::sqlite().await;
    one_fails(&db, &ONE_ON_SQLITE).await;
}

#[tokio::test]
async fn one_bad_poll_does_not_hold_up_the_others_on_postgres() {
    let db = crate::support::postgres().await;
    one_fails(&db, &ONE_ON_POSTGRES).await;
}

async fn one_fails(db: &Database, trap: &Trap) {
    let mut site = Site::new(&db.url).await;
    for sql in trap.make {
        db.behind_its_back(sql).await;
    }
    site.log.says("a poll could not be recorded; nothing of it is kept").await;
    // Those of the same host, too.
    let (others, siblings) = ("posts WHERE source_id > 3", "posts WHERE source_id IN (2, 3)");
    let before = (db.count(others).await, db.count(siblings).await);
    let more = async || db.count(others).await > before.0 + 18 && db.count(siblings).await > before.1 + 4;
    super::until(more, || format!("the others wait:\n{}", site.log.text())).await;
    let refusals = site.log.text().matches("a poll could not be recorded").count();
    assert_eq!(refusals, 1, "it is our fault, and tried again in an hour");
    db.behind_its_back(trap.undo).await;
    polled_by_hand(&site, vec![1]).await;
    site.agrees().await;
}

async fn polled_by_hand(site: &Site, ids: Vec<i64>) {
    let service = &site.running().service;
    let actor = service.local().await.unwrap();
    service.by(&actor).bulk(&BulkOf::Ids(ids), &BulkAction::Poll).await.unwrap();
}

#[tokio::test]
async fn slow_writes_only_take_longer_on_sqlite() {
    let db = crate::support::sqlite().await;
    let mut site = Site::new(&db.url).await;
    let mut other = sqlx::SqliteConnection::connect(&db.url).await.unwrap();
    // For longer than leases last, and than anybody waits for a lock.
    other.execute("BEGIN IMMEDIATE").await.unwrap();
    site.log.says("is locked by another process; stop that one, or wait until it is done").await;
    other.execute("ROLLBACK").await.unwrap();
    site.agrees().await;
}

#[tokio::test]
async fn slow_writes_only_take_longer_on_postgres() {
    let url = empty_postgres().await;
    let mut site = Site::new(&url).await;
    let mut other = sqlx::PgConnection::connect(&url).await.unwrap();
    other.execute("BEGIN; LOCK TABLE polls IN ACCESS EXCLUSIVE MODE").await.unwrap();
    site.log.says("is locked by another process; stop that one, or wait until it is done").await;
    other.execute("ROLLBACK").await.unwrap();
    site.agrees().await;
}
