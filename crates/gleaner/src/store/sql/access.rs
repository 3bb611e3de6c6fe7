//! Tokens, and requests that must not be carried out twice.

use async_trait::async_trait;
use gleaner_core::time::Time;
use sqlx::Row as _;

use super::super::Row;
use super::{Query, Sql, garbled, ms, opt_time, time};
use crate::store::{Access, NewToken, Repeated, Result, Token, TokenKind, User};

const TOKEN: &str =
    "t.id, t.user_id, t.name, t.key, t.scopes, t.collections, t.created_at, t.expires_at, t.last_used_at";

#[async_trait]
impl Access for Sql {
    async fn create_token(&self, token: &NewToken) -> Result<i64> {
        let mut query = Query::new(
            "INSERT INTO tokens (user_id, kind, name, key, scopes, collections, created_at, expires_at) VALUES (",
        );
        query
            .separated(", ")
            .push_bind(token.user_id)
            .push_bind(token.kind.name())
            .push_bind(token.name.as_str())
            .push_bind(token.key.as_str())
            .push_bind(token.scopes.as_str())
            .push_bind(token.collection_ids.as_ref().map(|ids| serde_json::json!(ids).to_string()))
            .push_bind(ms(token.created_at))
            .push_bind(ms(token.expires_at));
        self.insert(query, "token", &token.name).await
    }

    async fn token(&self, kind: TokenKind, key: &str) -> Result<Option<(Token, User)>> {
        let mut query = Query::new(format!(
            "SELECT {TOKEN}, u.name AS user_name, u.password_hash, u.is_admin, u.created_at AS user_created_at \
             FROM tokens t JOIN users u ON u.id = t.user_id WHERE t.key = "
        ));
        query.push_bind(key).push(" AND t.kind = ").push_bind(kind.name());
        let found = self.all(query, move |row| {
            let user = User {
                id: row.try_get("user_id")?,
                name: row.try_get("user_name")?,
                password_hash: row.try_get("password_hash")?,
                is_admin: row.try_get("is_admin")?,
                created_at: time(row, "user_created_at")?,
            };
            Ok((token(row, kind)?, user))
        });
        Ok(found.await?.into_iter().next())
    }

    async fn tokens(&self, user_id: i64, kind: TokenKind) -> Result<Vec<Token>> {
        let mut query = Query::new(format!("SELECT {TOKEN} FROM tokens t WHERE t.user_id = "));
        query.push_bind(user_id).push(" AND t.kind = ").push_bind(kind.name()).push(" ORDER BY t.id");
        self.all(query, move |row| token(row, kind)).await
    }

    async fn touch_token(&self, id: i64, now: Time) -> Result<()> {
        let mut query = Query::new("UPDATE tokens SET last_used_at = ");
        query.push_bind(ms(now)).push(" WHERE id = ").push_bind(id);
        self.run(query).await.map(|_| ())
    }

    async fn delete_token(&self, id: i64) -> Result<bool> {
        let mut query = Query::new("DELETE FROM tokens WHERE id = ");
        query.push_bind(id);
        Ok(self.run(query).await? > 0)
    }

    async fn begin_request(&self, user_id: i64, key: &str, request: &[u8], now: Time) -> Result<Repeated> {
        let mut query = Query::new("INSERT INTO idempotency (user_id, key, request, created_at) VALUES (");
        query.separated(", ").push_bind(user_id).push_bind(key).push_bind(request).push_bind(ms(now));
        query.push(") ON CONFLICT (user_id, key) DO NOTHING");
        if self.run(query).await? > 0 {
            return Ok(Repeated::First);
        }
        let mut query = Query::new("SELECT request, status, body FROM idempotency WHERE user_id = ");
        query.push_bind(user_id).push(" AND key = ").push_bind(key);
        let row = self.execute_returning(query).await.map_err(|error| self.fail(error))?;
        // It ended in between without an answer; whoever asks again is the first.
        let Some(row) = row else { return Ok(Repeated::Running) };
        repeated(&row, request).map_err(|error| self.fail(error))
    }

    async fn end_request(&self, user_id: i64, key: &str, answer: Option<(u16, &[u8])>) -> Result<()> {
        let mut query = match answer {
            Some((status, body)) => {
                let mut query = Query::new("UPDATE idempotency SET status = ");
                query.push_bind(i64::from(status)).push(", body = ").push_bind(body);
                query
            }
            None => Query::new("DELETE FROM idempotency"),
        };
        query.push(" WHERE user_id = ").push_bind(user_id).push(" AND key = ").push_bind(key);
        self.run(query).await.map(|_| ())
    }

    async fn forget_access(&self, ended: Time, answered: Time) -> Result<()> {
        let mut query = Query::new("DELETE FROM tokens WHERE expires_at < ");
        query.push_bind(ms(ended));
        self.run(query).await?;
        let mut query = Query::new("DELETE FROM idempotency WHERE created_at < ");
        query.push_bind(ms(answered));
        self.run(query).await.map(|_| ())
    }
}

fn token(row: &Row, kind: TokenKind) -> sqlx::Result<Token> {
    let collections = row.try_get::<Option<&str>, _>("collections")?;
    let garbled_ids = |error| garbled("collections", error);
    Ok(Token {
        id: row.try_get("id")?,
        token: NewToken {
            user_id: row.try_get("user_id")?,
            kind,
            name: row.try_get("name")?,
            key: row.try_get("key")?,
            scopes: row.try_get("scopes")?,
            collection_ids: collections.map(serde_json::from_str).transpose().map_err(garbled_ids)?,
            created_at: time(row, "created_at")?,
            expires_at: time(row, "expires_at")?,
        },
        last_used_at: opt_time(row, "last_used_at")?,
    })
}

fn repeated(row: &Row, request: &[u8]) -> sqlx::Result<Repeated> {
    if row.try_get::<&[u8], _>("request")? != request {
        return Ok(Repeated::Other);
    }
    Ok(match row.try_get::<Option<i64>, _>("status")?.and_then(|status| u16::try_from(status).ok()) {
        Some(status) => Repeated::Answered {
            status,
            body: row.try_get::<Option<Vec<u8>>, _>("body")?.unwrap_or_default(),
        },
        None => Repeated::Running,
    })
}
