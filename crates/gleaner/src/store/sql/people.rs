//! Users, collections and credentials.

use async_trait::async_trait;
use gleaner_core::time::Time;
use sqlx::Row as _;

use super::super::Row;
use super::{Sql, Statement, Tx, audit, ms, opt_time, sql, time};
use crate::store::{
    Collection, CollectionEdit, NewAudit, OidcAccount, PasswordChange, People, Result, StoreError, User,
};

const USER: &str =
    "id, name, password_hash, password_set_at, is_admin, oidc_issuer, oidc_subject, created_at";

#[async_trait]
impl People for Sql {
    async fn create_user(&self, name: &str, is_admin: bool, now: Time) -> Result<i64> {
        let query = sql!(
            "INSERT INTO users (name, is_admin, created_at) VALUES ($1, $2, $3) RETURNING id",
            name,
            is_admin,
            ms(now),
        );
        self.insert(query, "user", name).await
    }

    async fn users(&self) -> Result<Vec<User>> {
        self.all(sql!("SELECT {USER} FROM users ORDER BY id"), user).await
    }

    async fn user_named(&self, name: &str) -> Result<User> {
        let query = sql!("SELECT {USER} FROM users WHERE name = $1", name);
        let found = self.all(query, user).await?.into_iter().next();
        found.ok_or_else(|| StoreError::NotFound { entity: "user", key: name.to_owned() })
    }

    async fn user_of_oidc(&self, account: &OidcAccount) -> Result<Option<User>> {
        let query = sql!(
            "SELECT {USER} FROM users WHERE oidc_issuer = $1 AND oidc_subject = $2",
            account.issuer.as_str(),
            account.subject.as_str(),
        );
        Ok(self.all(query, user).await?.into_iter().next())
    }

    async fn create_oidc_user(&self, name: &str, account: &OidcAccount, now: Time) -> Result<i64> {
        let query = sql!(
            "INSERT INTO users (name, is_admin, oidc_issuer, oidc_subject, created_at)
             VALUES ($1, $2, $3, $4, $5) RETURNING id",
            name,
            false,
            account.issuer.as_str(),
            account.subject.as_str(),
            ms(now),
        );
        self.insert(query, "user", name).await
    }

    async fn set_oidc(&self, user_id: i64, account: Option<&OidcAccount>) -> Result<()> {
        let statement = sql!(
            "UPDATE users SET oidc_issuer = $1, oidc_subject = $2 WHERE id = $3",
            account.map(|account| account.issuer.as_str()),
            account.map(|account| account.subject.as_str()),
            user_id,
        );
        self.change(statement, "user", user_id).await
    }

    async fn set_password(&self, change: &PasswordChange) -> Result<u64> {
        let mut tx = self.begin().await?;
        let set = set_password(&mut tx, change, self.audit_row()).await;
        match self.end(tx, set).await? {
            Some(ended) => Ok(ended),
            None => Err(StoreError::NotFound { entity: "user", key: change.user_id.to_string() }),
        }
    }

    async fn set_admin(&self, user_id: i64, is_admin: bool) -> Result<()> {
        let statement = sql!("UPDATE users SET is_admin = $1 WHERE id = $2", is_admin, user_id);
        self.change(statement, "user", user_id).await
    }

    async fn delete_user(&self, id: i64) -> Result<()> {
        self.delete(sql!("DELETE FROM users WHERE id = $1", id), "user", id, "it owns a collection").await
    }

    async fn add_collection(&self, collection: &CollectionEdit, now: Time) -> Result<i64> {
        let CollectionEdit { name, owner_id, private } = collection;
        let query = sql!(
            "INSERT INTO collections (name, owner_id, private, created_at) VALUES ($1, $2, $3, $4) RETURNING id",
            name.as_str(),
            *owner_id,
            *private,
            ms(now),
        );
        self.insert(query, "collection", name).await
    }

    async fn collections(&self) -> Result<Vec<Collection>> {
        let query = sql!("SELECT id, name, owner_id, private, created_at FROM collections ORDER BY id");
        self.all(query, collection).await
    }

    async fn edit_collection(&self, id: i64, edit: &CollectionEdit) -> Result<()> {
        let statement = sql!(
            "UPDATE collections SET name = $1, owner_id = $2, private = $3 WHERE id = $4",
            edit.name.as_str(),
            edit.owner_id,
            edit.private,
            id,
        );
        self.change(statement, "collection", id).await
    }

    async fn delete_collection(&self, id: i64) -> Result<()> {
        let statement = sql!("DELETE FROM collections WHERE id = $1", id);
        self.delete(statement, "collection", id, "it holds sources").await
    }

    async fn set_credential(
        &self,
        owner_id: i64,
        service: &str,
        secret: Option<&[u8]>,
        now: Time,
    ) -> Result<()> {
        let statement = match secret {
            Some(secret) => sql!(
                "INSERT INTO credentials (owner_id, service, secret, updated_at) VALUES ($1, $2, $3, $4)
                 ON CONFLICT (owner_id, service) DO UPDATE SET
                     secret = excluded.secret, updated_at = excluded.updated_at",
                owner_id,
                service,
                secret,
                ms(now),
            ),
            None => sql!("DELETE FROM credentials WHERE owner_id = $1 AND service = $2", owner_id, service),
        };
        match self.execute_audited(statement).await {
            Ok(_) => Ok(()),
            Err(error) if is_foreign_key(&error) => {
                Err(StoreError::NotFound { entity: "user", key: owner_id.to_string() })
            }
            Err(error) => Err(self.fail(error)),
        }
    }

    async fn credential(&self, owner_id: i64, service: &str) -> Result<Option<Vec<u8>>> {
        let query =
            sql!("SELECT secret FROM credentials WHERE owner_id = $1 AND service = $2", owner_id, service);
        Ok(self.all(query, |row| row.try_get("secret")).await?.into_iter().next())
    }

    async fn credentials(&self, owner_id: i64) -> Result<Vec<(String, Time)>> {
        let query = sql!(
            "SELECT service, updated_at FROM credentials WHERE owner_id = $1 ORDER BY service",
            owner_id
        );
        self.all(query, |row| Ok((row.try_get(0)?, time(row, "updated_at")?))).await
    }
}

/// What most methods here are made of.
impl Sql {
    /// Runs an `INSERT … RETURNING id`; reports a name that is taken or an owner that is missing.
    pub(super) async fn insert(
        &self,
        statement: impl Into<Statement>,
        entity: &'static str,
        key: &str,
    ) -> Result<i64> {
        match self.insert_audited(statement.into()).await {
            Ok(id) => Ok(id),
            Err(error) if is_unique_violation(&error) => {
                Err(StoreError::Duplicate { entity, key: key.to_owned(), id: None })
            }
            Err(error) if is_foreign_key(&error) => {
                Err(StoreError::NotFound { entity: "user", key: format!("that owns {entity} {key}") })
            }
            Err(error) => Err(self.fail(error)),
        }
    }

    pub(super) async fn all<T>(
        &self,
        query: impl Into<Statement>,
        read: impl Fn(&Row) -> sqlx::Result<T>,
    ) -> Result<Vec<T>> {
        let rows = self.rows(query).await?;
        rows.iter().map(read).collect::<sqlx::Result<_>>().map_err(|error| self.fail(error))
    }

    /// Runs a statement; how many rows it touched.
    pub(super) async fn run(&self, query: impl Into<Statement>) -> Result<u64> {
        self.execute_audited(query.into()).await.map_err(|error| self.fail(error))
    }

    /// Runs a statement, and where it touched rows adds the audit row of this store in the same transaction.
    async fn execute_audited(&self, statement: Statement) -> sqlx::Result<u64> {
        let Some(entry) = self.audit_row() else { return self.execute(statement).await };
        let mut tx = self.try_begin().await?;
        let done = async {
            let rows = tx.execute(statement).await?;
            if rows > 0 {
                audit::append(&mut tx, entry).await?;
            }
            Ok(rows)
        };
        let done = done.await;
        self.try_end(tx, done).await
    }

    /// Runs an `INSERT … RETURNING id`. The audit row of this store gets the id where it has none.
    async fn insert_audited(&self, statement: Statement) -> sqlx::Result<i64> {
        let Some(entry) = self.audit_row() else {
            return self.execute_returning(statement).await?.ok_or(sqlx::Error::RowNotFound)?.try_get(0);
        };
        let mut tx = self.try_begin().await?;
        let done = async {
            let id: i64 = tx.one(statement).await?.try_get(0)?;
            let entry = NewAudit { target_id: entry.target_id.or(Some(id)), ..entry.clone() };
            audit::append(&mut tx, &entry).await?;
            Ok(id)
        };
        let done = done.await;
        self.try_end(tx, done).await
    }

    pub(super) async fn change(
        &self,
        query: impl Into<Statement>,
        entity: &'static str,
        id: i64,
    ) -> Result<()> {
        match self.execute_audited(query.into()).await {
            Ok(0) => Err(StoreError::NotFound { entity, key: id.to_string() }),
            Ok(_) => Ok(()),
            Err(error) if is_unique_violation(&error) => {
                Err(StoreError::Duplicate { entity, key: id.to_string(), id: None })
            }
            Err(error) => Err(self.fail(error)),
        }
    }

    pub(super) async fn delete(
        &self,
        query: impl Into<Statement>,
        entity: &'static str,
        id: i64,
        why: &'static str,
    ) -> Result<()> {
        match self.change(query, entity, id).await {
            Err(StoreError::Database { source, .. }) if is_foreign_key(&source) => {
                Err(StoreError::InUse { entity, key: id.to_string(), why })
            }
            result => result,
        }
    }
}

pub(super) fn is_unique_violation(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| error.is_unique_violation())
}

fn is_foreign_key(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| error.is_foreign_key_violation())
}

/// Sets a password and ends what the former one let in; returns how many sessions and tokens ended, or none where there is
/// no such user.
async fn set_password(
    tx: &mut Tx,
    change: &PasswordChange,
    entry: Option<&NewAudit>,
) -> sqlx::Result<Option<u64>> {
    let set = tx.execute(sql!(
        "UPDATE users SET password_hash = $1, password_set_at = $2 WHERE id = $3",
        change.hash.as_deref(),
        ms(change.at),
        change.user_id,
    ));
    if set.await? == 0 {
        return Ok(None);
    }
    // No token has this id.
    let keep = change.keep.unwrap_or(-1);
    let ended = tx.execute(sql!(
        "DELETE FROM tokens WHERE user_id = $1 AND id <> $2
             AND (kind IN ('session', 'link') OR made_by_session <> $2)",
        change.user_id,
        keep,
    ));
    let ended = ended.await?;
    if let Some(entry) = entry {
        audit::append(tx, entry).await?;
    }
    Ok(Some(ended))
}

fn user(row: &Row) -> sqlx::Result<User> {
    Ok(User {
        id: row.try_get("id")?,
        name: row.try_get("name")?,
        password_hash: row.try_get("password_hash")?,
        password_set_at: opt_time(row, "password_set_at")?,
        is_admin: row.try_get("is_admin")?,
        oidc: oidc_account(row)?,
        created_at: time(row, "created_at")?,
    })
}

pub(super) fn oidc_account(row: &Row) -> sqlx::Result<Option<OidcAccount>> {
    let (issuer, subject) = (row.try_get("oidc_issuer")?, row.try_get("oidc_subject")?);
    let both: Option<(String, String)> = Option::zip(issuer, subject);
    Ok(both.map(|(issuer, subject)| OidcAccount { issuer, subject }))
}

fn collection(row: &Row) -> sqlx::Result<Collection> {
    Ok(Collection {
        id: row.try_get("id")?,
        name: row.try_get("name")?,
        owner_id: row.try_get("owner_id")?,
        private: row.try_get("private")?,
        created_at: time(row, "created_at")?,
    })
}
