//! Logging in and out.

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use gleaner_core::time::{Span, Time};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::config::secret::Secret;
use crate::service::{Granted, LoggedIn, Login};
use crate::web::Web;
use crate::web::auth::As;
use crate::web::connections::ClientAddress;
use crate::web::json::Json;
use crate::web::problem::Problem;

/// How long somebody who logged in stays so.
const SESSION: Span = Span::from_hours(12);

pub(super) fn routes() -> OpenApiRouter<Web> {
    OpenApiRouter::new().routes(routes!(log_in)).routes(routes!(log_out)).routes(routes!(who))
}

/// How somebody proves who they are: a name with a password, or the code of a login link.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
enum LoginRequest {
    Password {
        name: String,
        password: String,
        /// `device` of an earlier login with this name: wrong guesses by strangers do not hold it up.
        #[serde(default)]
        device: Option<String>,
    },
    Link {
        code: String,
    },
}

/// An access token, shown this once.
#[derive(Serialize, ToSchema)]
pub(super) struct AccessToken {
    /// Send it as `Authorization: Bearer …`.
    pub(super) token: String,
    /// What it grants.
    pub(super) scopes: String,
    /// When it ends.
    #[schema(value_type = String, format = DateTime)]
    pub(super) expires_at: Time,
}

impl From<Granted> for AccessToken {
    fn from(granted: Granted) -> Self {
        let Granted { secret, scopes, expires_at, .. } = granted;
        Self { token: secret.expose().to_owned(), scopes, expires_at }
    }
}

/// An access token, shown this once.
#[derive(Serialize, ToSchema)]
struct LoginResponse {
    #[serde(flatten)]
    token: AccessToken,
    /// Send it as `device` with the next login: it lets nobody in, but strangers' guesses do not hold it up.
    device: String,
}

/// Log in.
#[utoipa::path(post, path = "/login", tag = "access", request_body = LoginRequest, security(()), responses(
    (status = 200, body = LoginResponse, description = "Good for twelve hours"),
    (status = 401, description = "Wrong name, password or code"),
    (status = 422, description = "Not a login"),
    (status = 429, description = "Too many guesses for this name or from this address; see Retry-After"),
    (status = 503, description = "Too many logins are under way; see Retry-After"),
))]
async fn log_in(
    State(web): State<Web>,
    client: Option<Extension<ClientAddress>>,
    Json(login): Json<LoginRequest>,
) -> Result<Json<LoginResponse>, Problem> {
    let login = match login {
        LoginRequest::Password { name, password, device } => Login::Password {
            name,
            password: Secret::new(password),
            address: client.map(|Extension(ClientAddress(address))| address),
            device: device.map(Secret::new),
        },
        LoginRequest::Link { code } => Login::Link(Secret::new(code)),
    };
    let address = client.map(|Extension(ClientAddress(address))| address);
    let LoggedIn { granted, device, .. } = web.service.log_in_from(address, login, SESSION).await?;
    Ok(Json(LoginResponse { token: granted.into(), device: device.expose().to_owned() }))
}

/// Log out: the token that is sent ends.
#[utoipa::path(post, path = "/logout", tag = "access", responses(
    (status = 204, description = "It has ended"),
))]
async fn log_out(whoever: As) -> Result<StatusCode, Problem> {
    whoever.by().log_out().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Who one is.
#[derive(Serialize, ToSchema)]
struct Me {
    id: i64,
    name: String,
    is_admin: bool,
    scopes: Vec<&'static str>,
    /// The only collections that the token opens; null: it is not limited.
    collection_ids: Option<Vec<i64>>,
}

/// Who the token belongs to.
#[utoipa::path(get, path = "/me", tag = "access", responses(
    (status = 200, body = Me),
))]
async fn who(whoever: As) -> Json<Me> {
    let actor = whoever.actor();
    Json(Me {
        id: actor.user_id,
        name: actor.name.clone(),
        is_admin: actor.is_admin,
        scopes: actor.scopes(),
        collection_ids: actor.limited_to().map(<[i64]>::to_vec),
    })
}
