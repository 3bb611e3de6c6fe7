//! Users, collections and credentials.

use async_trait::async_trait;
use gleaner_core::time::Time;
use sqlx::Row as _;

use super::super::{BEGIN, Row};
use super::{Query, Sql, Tx, audit, ms, opt_time, time};
use crate::store::{
    Collection, CollectionEdit, NewAudit, OidcAccount, PasswordChange, People, Result, StoreError, User,
};

const USER: &str =
    "id, name, password_hash, password_set_at, is_admin, oidc_issuer, oidc_subject, created_at";

#[async_trait]
impl People for Sql {
    async fn create_user(&self, name: &str, is_admin: bool, now: Time) -> Result<i64> {
        let mut query = Query::new("INSERT INTO users (name, is_admin, created_at) VALUES (");
        query.separated(", ").push_bind(name).push_bind(is_admin).push_bind(ms(now));
        self.insert(query, "user", name).await
    }

    async fn users(&self) -> Result<Vec<User>> {
        self.all(Query::new(format!("SELECT {USER} FROM users ORDER BY id")), user).await
    }

    async fn user_named(&self, name: &str) -> Result<User> {
        let mut query = Query::new(format!("SELECT {USER} FROM users WHERE name = "));
        query.push_bind(name);
        let found = self.all(query, user).await?.into_iter().next();
        found.ok_or_else(|| StoreError::NotFound { entity: "user", key: name.to_owned() })
    }

    async fn user_of_oidc(&self, account: &OidcAccount) -> Result<Option<User>> {
        let mut query = Query::new(format!("SELECT {USER} FROM users WHERE oidc_issuer = "));
        query.push_bind(account.issuer.as_str()).push(" AND oidc_subject = ");
        query.push_bind(account.subject.as_str());
        Ok(self.all(query, user).await?.into_iter().next())
    }

    async fn create_oidc_user(&self, name: &str, account: &OidcAccount, now: Time) -> Result<i64> {
        let mut query =
            Query::new("INSERT INTO users (name, is_admin, oidc_issuer, oidc_subject, created_at) VALUES (");
        query
            .separated(", ")
            .push_bind(name)
            .push_bind(false)
            .push_bind(account.issuer.as_str())
            .push_bind(account.subject.as_str())
            .push_bind(ms(now));
        self.insert(query, "user", name).await
    }

    async fn set_oidc(&self, user_id: i64, account: Option<&OidcAccount>) -> Result<()> {
        let mut query = Query::new("UPDATE users SET oidc_issuer = ");
        query.push_bind(account.map(|account| account.issuer.as_str())).push(", oidc_subject = ");
        query.push_bind(account.map(|account| account.subject.as_str()));
        query.push(" WHERE id = ").push_bind(user_id);
        self.change(query, "user", user_id).await
    }

    async fn set_password(&self, change: &PasswordChange) -> Result<u64> {
        let mut tx = self.begin().await?;
        let set = set_password(&mut tx, change, self.audit.as_ref()).await;
        match self.end(tx, set).await? {
            Some(ended) => Ok(ended),
            None => Err(StoreError::NotFound { entity: "user", key: change.user_id.to_string() }),
        }
    }

    async fn set_admin(&self, user_id: i64, is_admin: bool) -> Result<()> {
        let mut query = Query::new("UPDATE users SET is_admin = ");
        query.push_bind(is_admin).push(" WHERE id = ").push_bind(user_id);
        self.change(query, "user", user_id).await
    }

    async fn delete_user(&self, id: i64) -> Result<()> {
        let mut query = Query::new("DELETE FROM users WHERE id = ");
        query.push_bind(id);
        self.delete(query, "user", id, "it owns a collection").await
    }

    async fn add_collection(&self, collection: &CollectionEdit, now: Time) -> Result<i64> {
        let CollectionEdit { name, owner_id, private } = collection;
        let mut query = Query::new("INSERT INTO collections (name, owner_id, private, created_at) VALUES (");
        query
            .separated(", ")
            .push_bind(name.as_str())
            .push_bind(*owner_id)
            .push_bind(*private)
            .push_bind(ms(now));
        self.insert(query, "collection", name).await
    }

    async fn collections(&self) -> Result<Vec<Collection>> {
        let query = Query::new("SELECT id, name, owner_id, private, created_at FROM collections ORDER BY id");
        self.all(query, collection).await
    }

    async fn edit_collection(&self, id: i64, edit: &CollectionEdit) -> Result<()> {
        let mut query = Query::new("UPDATE collections SET name = ");
        query.push_bind(edit.name.as_str()).push(", owner_id = ").push_bind(edit.owner_id);
        query.push(", private = ").push_bind(edit.private).push(" WHERE id = ").push_bind(id);
        self.change(query, "collection", id).await
    }

    async fn delete_collection(&self, id: i64) -> Result<()> {
        let mut query = Query::new("DELETE FROM collections WHERE id = ");
        query.push_bind(id);
        self.delete(query, "collection", id, "it holds sources").await
    }

    async fn set_credential(
        &self,
        owner_id: i64,
        service: &str,
        secret: Option<&[u8]>,
        now: Time,
    ) -> Result<()> {
        let mut query = Query::new("");
        match secret {
            Some(secret) => {
                query.push("INSERT INTO credentials (owner_id, service, secret, updated_at) VALUES (");
                query
                    .separated(", ")
                    .push_bind(owner_id)
                    .push_bind(service)
                    .push_bind(secret)
                    .push_bind(ms(now));
                query.push(") ON CONFLICT (owner_id, service) DO UPDATE SET ");
                query.push("secret = excluded.secret, updated_at = excluded.updated_at");
            }
            None => {
                query.push("DELETE FROM credentials WHERE owner_id = ").push_bind(owner_id);
                query.push(" AND service = ").push_bind(service);
            }
        }
        match self.execute(query).await {
            Ok(_) => Ok(()),
            Err(error) if is_foreign_key(&error) => {
                Err(StoreError::NotFound { entity: "user", key: owner_id.to_string() })
            }
            Err(error) => Err(self.fail(error)),
        }
    }

    async fn credential(&self, owner_id: i64, service: &str) -> Result<Option<Vec<u8>>> {
        let mut query = Query::new("SELECT secret FROM credentials WHERE owner_id = ");
        query.push_bind(owner_id).push(" AND service = ").push_bind(service);
        Ok(self.all(query, |row| row.try_get("secret")).await?.into_iter().next())
    }

    async fn credentials(&self, owner_id: i64) -> Result<Vec<(String, Time)>> {
        let mut query = Query::new("SELECT service, updated_at FROM credentials WHERE owner_id = ");
        query.push_bind(owner_id).push(" ORDER BY service");
        self.all(query, |row| Ok((row.try_get(0)?, time(row, "updated_at")?))).await
    }
}

/// What most methods here are made of.
impl Sql {
    /// Runs an `INSERT … VALUES (…` and tells the id; a name that is taken, or an owner that is missing, is told.
    pub(super) async fn insert(&self, mut query: Query, entity: &'static str, key: &str) -> Result<i64> {
        query.push(") RETURNING id");
        match self.insert_audited(query).await {
            Ok(id) => Ok(id),
            Err(error) if error.as_database_error().is_some_and(|error| error.is_unique_violation()) => {
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
        query: Query,
        read: impl Fn(&Row) -> sqlx::Result<T>,
    ) -> Result<Vec<T>> {
        let rows = self.rows(query).await?;
        rows.iter().map(read).collect::<sqlx::Result<_>>().map_err(|error| self.fail(error))
    }

    /// Runs a statement; how many rows it touched.
    pub(super) async fn run(&self, query: Query) -> Result<u64> {
        self.execute(query).await.map_err(|error| self.fail(error))
    }

    /// Runs a statement, and where it touched rows adds the audit row of this store in the same transaction.
    async fn execute(&self, mut query: Query) -> sqlx::Result<u64> {
        let Some(entry) = &self.audit else {
            return Ok(query.build().execute(&self.write).await?.rows_affected());
        };
        let mut tx = self.write.begin_with(BEGIN).await?;
        let done = async {
            let rows = query.build().execute(&mut *tx).await?.rows_affected();
            if rows > 0 {
                audit::append(&mut tx, entry).await?;
            }
            Ok(rows)
        };
        let done = done.await;
        self.commit_if_done(tx, done).await
    }

    /// Runs an `INSERT … RETURNING id`. The audit row of this store gets the id where it has none.
    async fn insert_audited(&self, mut query: Query) -> sqlx::Result<i64> {
        let Some(entry) = &self.audit else {
            return query.build().fetch_one(&self.write).await?.try_get(0);
        };
        let mut tx = self.write.begin_with(BEGIN).await?;
        let done = async {
            let id: i64 = query.build().fetch_one(&mut *tx).await?.try_get(0)?;
            let entry = NewAudit { target_id: entry.target_id.or(Some(id)), ..entry.clone() };
            audit::append(&mut tx, &entry).await?;
            Ok(id)
        };
        let done = done.await;
        self.commit_if_done(tx, done).await
    }

    async fn commit_if_done<T>(&self, tx: Tx, done: sqlx::Result<T>) -> sqlx::Result<T> {
        match done {
            Ok(value) => tx.commit().await.map(|()| value),
            Err(error) => {
                self.undo(tx).await;
                Err(error)
            }
        }
    }

    pub(super) async fn change(&self, query: Query, entity: &'static str, id: i64) -> Result<()> {
        match self.execute(query).await {
            Ok(0) => Err(StoreError::NotFound { entity, key: id.to_string() }),
            Ok(_) => Ok(()),
            Err(error) if error.as_database_error().is_some_and(|error| error.is_unique_violation()) => {
                Err(StoreError::Duplicate { entity, key: id.to_string(), id: None })
            }
            Err(error) => Err(self.fail(error)),
        }
    }

    pub(super) async fn delete(
        &self,
        query: Query,
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

fn is_foreign_key(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| error.is_foreign_key_violation())
}

/// Sets a password and ends what the former one let in; how many sessions and tokens ended, or none where there is no
/// such user.
async fn set_password(
    tx: &mut Tx,
    change: &PasswordChange,
    entry: Option<&NewAudit>,
) -> sqlx::Result<Option<u64>> {
    let mut query = Query::new("UPDATE users SET password_hash = ");
    query.push_bind(change.hash.as_deref()).push(", password_set_at = ").push_bind(ms(change.at));
    query.push(" WHERE id = ").push_bind(change.user_id);
    if query.build().execute(&mut **tx).await?.rows_affected() == 0 {
        return Ok(None);
    }
    // No token has this id.
    let keep = change.keep.unwrap_or(-1);
    let mut query = Query::new("DELETE FROM tokens WHERE user_id = ");
    query.push_bind(change.user_id).push(" AND id <> ").push_bind(keep);
    query.push(" AND (kind IN ('session', 'link') OR made_by_session <> ").push_bind(keep).push(")");
    let ended = query.build().execute(&mut **tx).await?.rows_affected();
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
