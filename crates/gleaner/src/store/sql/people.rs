//! Users, collections and credentials.

use async_trait::async_trait;
use gleaner_core::time::Time;
use sqlx::Row as _;

use super::super::Row;
use super::{Sql, Statement, ms, sql, time};
use crate::store::{Collection, CollectionEdit, People, Result, StoreError, User};

const USER: &str = "id, name, password_hash, is_admin, created_at";

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

    async fn set_password(&self, user_id: i64, hash: Option<&str>) -> Result<()> {
        let statement = sql!("UPDATE users SET password_hash = $1 WHERE id = $2", hash, user_id);
        self.change(statement, "user", user_id).await
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
        match self.execute(statement).await {
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
        match self.execute_returning(statement).await {
            Ok(Some(row)) => row.try_get(0).map_err(|error| self.fail(error)),
            Ok(None) => Err(self.fail(sqlx::Error::RowNotFound)),
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
        self.execute(query).await.map_err(|error| self.fail(error))
    }

    pub(super) async fn change(
        &self,
        query: impl Into<Statement>,
        entity: &'static str,
        id: i64,
    ) -> Result<()> {
        match self.execute(query).await {
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

fn user(row: &Row) -> sqlx::Result<User> {
    Ok(User {
        id: row.try_get("id")?,
        name: row.try_get("name")?,
        password_hash: row.try_get("password_hash")?,
        is_admin: row.try_get("is_admin")?,
        created_at: time(row, "created_at")?,
    })
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
