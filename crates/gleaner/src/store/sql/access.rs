//! Tokens, and requests that must not be carried out twice.

use async_trait::async_trait;
use gleaner_core::time::Time;
use sqlx::Row as _;

use super::super::Row;
use super::people::oidc_account;
use super::{Query, Sql, garbled, id_pieces, ms, opt_ms, opt_time, push_ids, sql, time};
use crate::store::{Access, IdempotencyState, NewToken, Result, Token, TokenKind, User};

const TOKEN: &str = "t.id, t.user_id, t.name, t.key, t.scopes, t.collections, t.created_at, t.expires_at, t.last_used_at, \
    t.made_by_session, t.proved_at";
/// A token's user, beside the token.
const TOKEN_USER: &str = "u.name AS user_name, u.password_hash, u.password_set_at, u.is_admin, u.oidc_issuer, \
    u.oidc_subject, u.created_at AS user_created_at \
    FROM tokens t JOIN users u ON u.id = t.user_id";

#[async_trait]
impl Access for Sql {
    async fn create_token(&self, token: &NewToken) -> Result<i64> {
        let query = sql!(
            "INSERT INTO tokens
                 (user_id, kind, name, key, scopes, collections, created_at, expires_at, made_by_session, proved_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING id",
            token.user_id,
            token.kind.name(),
            token.name.as_str(),
            token.key.as_str(),
            token.scopes.as_str(),
            token.collection_ids.as_ref().map(|ids| serde_json::json!(ids).to_string()),
            ms(token.created_at),
            ms(token.expires_at),
            token.made_by_session,
            opt_ms(token.proved_at),
        );
        self.insert(query, "token", &token.name).await
    }

    async fn token(&self, kind: TokenKind, key: &str) -> Result<Option<(Token, User)>> {
        let query =
            sql!("SELECT t.kind, {TOKEN}, {TOKEN_USER} WHERE t.key = $1 AND t.kind = $2", key, kind.name(),);
        Ok(self.all(query, token_and_user).await?.into_iter().next())
    }

    async fn callers(&self, ids: &[i64]) -> Result<Vec<(Token, User)>> {
        let mut found = Vec::with_capacity(ids.len());
        for piece in id_pieces(ids) {
            let mut query = Query::new(format!("SELECT t.kind, {TOKEN}, {TOKEN_USER} WHERE t.id IN "));
            push_ids(&mut query, piece);
            found.extend(self.all(query, token_and_user).await?);
        }
        Ok(found)
    }

    async fn tokens(&self, user_id: i64, kind: TokenKind) -> Result<Vec<Token>> {
        let query = sql!(
            "SELECT {TOKEN} FROM tokens t WHERE t.user_id = $1 AND t.kind = $2 ORDER BY t.id",
            user_id,
            kind.name(),
        );
        self.all(query, move |row| token(row, kind)).await
    }

    async fn touch_token(&self, id: i64, now: Time) -> Result<()> {
        self.run(sql!("UPDATE tokens SET last_used_at = $1 WHERE id = $2", ms(now), id)).await.map(|_| ())
    }

    async fn set_proved(&self, id: i64, at: Time) -> Result<()> {
        let statement = sql!("UPDATE tokens SET proved_at = $1 WHERE id = $2", ms(at), id);
        self.change(statement, "session", id).await
    }

    async fn delete_token(&self, id: i64) -> Result<bool> {
        Ok(self.run(sql!("DELETE FROM tokens WHERE id = $1", id)).await? > 0)
    }

    async fn begin_request(
        &self,
        user_id: i64,
        key: &str,
        request: &[u8],
        now: Time,
    ) -> Result<IdempotencyState> {
        let statement = sql!(
            "INSERT INTO idempotency (user_id, key, request, created_at) VALUES ($1, $2, $3, $4)
             ON CONFLICT (user_id, key) DO NOTHING",
            user_id,
            key,
            request,
            ms(now),
        );
        if self.run(statement).await? > 0 {
            return Ok(IdempotencyState::First);
        }
        let query = sql!(
            "SELECT request, status, body FROM idempotency WHERE user_id = $1 AND key = $2",
            user_id,
            key,
        );
        let row = self.execute_returning(query).await.map_err(|error| self.fail(error))?;
        // It ended in between without a response; the next request is the first again.
        let Some(row) = row else { return Ok(IdempotencyState::Running) };
        repeated(&row, request).map_err(|error| self.fail(error))
    }

    async fn end_request(&self, user_id: i64, key: &str, answer: Option<(u16, &[u8])>) -> Result<()> {
        let statement = match answer {
            Some((status, body)) => sql!(
                "UPDATE idempotency SET status = $1, body = $2 WHERE user_id = $3 AND key = $4",
                i64::from(status),
                body,
                user_id,
                key,
            ),
            None => sql!("DELETE FROM idempotency WHERE user_id = $1 AND key = $2", user_id, key),
        };
        self.run(statement).await.map(|_| ())
    }

    async fn forget_access(&self, ended: Time, answered: Time) -> Result<()> {
        self.run(sql!("DELETE FROM tokens WHERE expires_at < $1", ms(ended))).await?;
        self.run(sql!("DELETE FROM idempotency WHERE created_at < $1", ms(answered))).await.map(|_| ())
    }
}

fn token_and_user(row: &Row) -> sqlx::Result<(Token, User)> {
    let user = User {
        id: row.try_get("user_id")?,
        name: row.try_get("user_name")?,
        password_hash: row.try_get("password_hash")?,
        password_set_at: opt_time(row, "password_set_at")?,
        is_admin: row.try_get("is_admin")?,
        oidc: oidc_account(row)?,
        created_at: time(row, "user_created_at")?,
    };
    let kind: &str = row.try_get("kind")?;
    let unknown = || garbled("kind", std::io::Error::other(format!("there are no tokens of kind {kind}")));
    Ok((token(row, TokenKind::named(kind).ok_or_else(unknown)?)?, user))
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
            made_by_session: row.try_get("made_by_session")?,
            proved_at: opt_time(row, "proved_at")?,
        },
        last_used_at: opt_time(row, "last_used_at")?,
    })
}

fn repeated(row: &Row, request: &[u8]) -> sqlx::Result<IdempotencyState> {
    if row.try_get::<&[u8], _>("request")? != request {
        return Ok(IdempotencyState::Other);
    }
    Ok(match row.try_get::<Option<i64>, _>("status")?.and_then(|status| u16::try_from(status).ok()) {
        Some(status) => IdempotencyState::Answered {
            status,
            body: row.try_get::<Option<Vec<u8>>, _>("body")?.unwrap_or_default(),
        },
        None => IdempotencyState::Running,
    })
}
