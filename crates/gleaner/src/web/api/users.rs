//! Users: managed by admins, seen by all.

use axum::http::StatusCode;
use gleaner_core::time::Time;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::config::secret::Secret;
use crate::service::User;
use crate::web::auth::As;
use crate::web::json::{Json, Path};
use crate::web::{Page, Problem, Web};

pub(super) fn routes() -> OpenApiRouter<Web> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(delete))
        .routes(routes!(set_password))
        .routes(routes!(make_link))
        .routes(routes!(connect_oidc, disconnect_oidc))
}

/// A user.
#[derive(Serialize, ToSchema)]
#[schema(as = User)]
struct Shown {
    id: i64,
    name: String,
    is_admin: bool,
    has_password: bool,
    /// Whether an account at the OpenID Connect provider signs the user in.
    is_connected: bool,
    #[schema(value_type = String, format = DateTime)]
    created_at: Time,
}

impl From<User> for Shown {
    fn from(user: User) -> Self {
        let has_password = user.password_hash.is_some();
        Self {
            id: user.id,
            name: user.name,
            is_admin: user.is_admin,
            has_password,
            is_connected: user.oidc.is_some(),
            created_at: user.created_at,
        }
    }
}

/// A user to be made.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewUser {
    name: String,
    /// Whether it manages users.
    #[serde(default)]
    is_admin: bool,
}

/// A password to be set.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewPassword {
    /// At least ten characters.
    password: String,
    /// To set one's own, where there is one.
    current_password: Option<String>,
}

/// An account at the OpenID Connect provider.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct OidcSubject {
    /// The provider's `sub` of the person.
    subject: String,
}

/// What logs somebody in, once.
#[derive(Serialize, ToSchema)]
struct LoginCode {
    /// For `POST /api/v1/login`, or `/login?code=…` in a browser.
    code: String,
    #[schema(value_type = String, format = DateTime)]
    expires_at: Time,
}

/// List users.
#[utoipa::path(get, path = "/users", tag = "users", responses((status = 200, body = Page<Shown>)))]
async fn list(whoever: As) -> Result<Json<Page<Shown>>, Problem> {
    let users = whoever.by().users().await?;
    Ok(Json(Page::whole(users.into_iter().map(Shown::from).collect())))
}

/// Add a user. It has no password yet: a login link lets it in.
#[utoipa::path(post, path = "/users", tag = "users", request_body = NewUser, responses(
    (status = 201, body = Shown),
    (status = 409, description = "One of that name is there already"),
    (status = 422, description = "Not valid"),
))]
async fn create(whoever: As, Json(new): Json<NewUser>) -> Result<(StatusCode, Json<Shown>), Problem> {
    let user = whoever.by().create_user(&new.name, new.is_admin).await?;
    Ok((StatusCode::CREATED, Json(user.into())))
}

/// Delete a user who owns no collection.
#[utoipa::path(delete, path = "/users/{name}", tag = "users", params(("name" = String, Path)), responses(
    (status = 204, description = "It is gone, and its tokens with it"),
    (status = 404, description = "There is none of that name"),
    (status = 409, description = "It owns a collection, or is the last admin"),
))]
async fn delete(whoever: As, Path(name): Path<String>) -> Result<StatusCode, Problem> {
    whoever.by().delete_user(&name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Set a password: one's own with the current one, or as an admin anybody's.
///
/// Ends the user's other sessions, the tokens that these made, login links and known devices.
#[utoipa::path(put, path = "/users/{name}/password", tag = "users", params(("name" = String, Path)),
    request_body = NewPassword, responses(
    (status = 204, description = "It is set"),
    (status = 404, description = "There is none of that name"),
    (status = 403, description = "Another user's, and the caller is no admin, or a session whose proof is too old"),
    (status = 422, description = "Too short, or the current one is wrong"),
    (status = 429, description = "Too many wrong passwords; see Retry-After"),
))]
async fn set_password(
    whoever: As,
    Path(name): Path<String>,
    Json(new): Json<NewPassword>,
) -> Result<StatusCode, Problem> {
    let NewPassword { password, current_password } = new;
    let current = current_password.map(Secret::new);
    whoever.by().set_password(&name, current.as_ref(), &Secret::new(password)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Make a code that logs a user in, once. For admins.
#[utoipa::path(post, path = "/users/{name}/login-code", tag = "users", params(("name" = String, Path)), responses(
    (status = 201, body = LoginCode),
    (status = 404, description = "There is none of that name"),
))]
async fn make_link(whoever: As, Path(name): Path<String>) -> Result<(StatusCode, Json<LoginCode>), Problem> {
    let granted = whoever.by().make_login_code(&name).await?;
    let code = granted.secret.expose().to_owned();
    Ok((StatusCode::CREATED, Json(LoginCode { code, expires_at: granted.expires_at })))
}

/// Let an account at the OpenID Connect provider sign a user in. For admins.
#[utoipa::path(put, path = "/users/{name}/oidc", tag = "users", params(("name" = String, Path)),
    request_body = OidcSubject, responses(
    (status = 200, body = Shown),
    (status = 404, description = "There is none of that name"),
    (status = 409, description = "OpenID Connect is not set up, or the account signs in another user"),
    (status = 422, description = "Not valid"),
))]
async fn connect_oidc(
    whoever: As,
    Path(name): Path<String>,
    Json(account): Json<OidcSubject>,
) -> Result<Json<Shown>, Problem> {
    Ok(Json(whoever.by().connect_oidc(&name, &account.subject).await?.into()))
}

/// Let no account at the OpenID Connect provider sign a user in: oneself, or as an admin anybody.
#[utoipa::path(delete, path = "/users/{name}/oidc", tag = "users", params(("name" = String, Path)), responses(
    (status = 204, description = "None does any more"),
    (status = 404, description = "There is none of that name"),
    (status = 409, description = "OpenID Connect is not set up"),
))]
async fn disconnect_oidc(whoever: As, Path(name): Path<String>) -> Result<StatusCode, Problem> {
    whoever.by().disconnect_oidc(&name).await?;
    Ok(StatusCode::NO_CONTENT)
}
