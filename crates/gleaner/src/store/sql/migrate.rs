//! Brings the schema up to date.

use sqlx::Row as _;

use super::super::{MIGRATION_LOCK, MIGRATIONS};
use super::{Limit, Sql, Tx, sql};
use crate::store::{Result, StoreError};

impl Sql {
    /// Brings the schema up to date, and refuses one that is newer.
    pub(in crate::store) async fn migrate(&self) -> Result<()> {
        let known = MIGRATIONS.last().map_or(0, |migration| migration.version);
        let mut tx = self.begin_within(Limit::Migration).await?;
        let found = migrate(&mut tx, known).await.map_err(|error| self.fail(error))?;
        if found > known {
            let database = self.database().to_owned();
            return Err(StoreError::Newer { database, found, known });
        }
        self.finish(tx).await
    }
}

/// Applies the migrations that are missing; returns the version before.
async fn migrate(tx: &mut Tx, known: i64) -> sqlx::Result<i64> {
    tx.script(MIGRATION_LOCK).await?;
    tx.script("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)").await?;
    let row = tx.one(sql!("SELECT MAX(version) FROM schema_version")).await?;
    let found: i64 = row.try_get::<Option<i64>, _>(0)?.unwrap_or(0);
    for migration in MIGRATIONS.iter().filter(|migration| migration.version > found && found <= known) {
        tx.script(migration.sql).await?;
        tx.execute(sql!("INSERT INTO schema_version (version) VALUES ($1)", migration.version)).await?;
    }
    Ok(found)
}
