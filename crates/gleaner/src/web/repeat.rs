//! `Idempotency-Key`: a request that creates something is carried out once, however often it is sent.
//!
//! The same key with the same request is answered as the first time; with another one it is refused. Only what
//! succeeded is kept: what failed created nothing, and may be sent again. Absent on purpose: what answers with a secret
//! (tokens, login codes, webhooks), for which the answer would have to be kept; their names are their own already.

use axum::body::{Body, Bytes};
use axum::extract::{MatchedPath, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::problem::Problem;
use super::{Web, bodies};
use crate::service::{Actor, IdempotencyState, Scope};

const KEY: &str = "idempotency-key";
/// Says that an answer is that of the first time.
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
/// What creates something.
const CREATES: [&str; 5] =
    ["/api/v1/sources", "/api/v1/sources/bulk", "/api/v1/articles", "/api/v1/collections", "/api/v1/users"];

/// Carries out once what has a key.
pub(super) async fn once(State(web): State<Web>, request: Request, next: Next) -> Response {
    let creates = request.method() == Method::POST
        && request.extensions().get::<MatchedPath>().is_some_and(|path| CREATES.contains(&path.as_str()));
    let actor = request.extensions().get::<Actor>().filter(|actor| actor.has(Scope::Write)).cloned();
    let (Some(key), Some(actor), true) = (request.headers().get(KEY), actor, creates) else {
        return next.run(request).await;
    };
    let key = match key.to_str() {
        Ok(key) if (1..=200).contains(&key.len()) => key.to_owned(),
        _ => {
            let detail = "an Idempotency-Key has 1 to 200 letters, digits and signs";
            let problem = Problem::new(StatusCode::BAD_REQUEST, "bad_key", "The key is no key", detail);
            return problem.into_response();
        }
    };
    answer(web, actor, key, request, next).await.unwrap_or_else(|problem| problem.into_response())
}

async fn answer(
    web: Web,
    actor: Actor,
    key: String,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let most = bodies::limit(parts.extensions.get::<MatchedPath>().map(MatchedPath::as_str));
    let body = axum::body::to_bytes(body, most).await.map_err(|_| {
        let detail = "the body could not be read to its end; nothing was done";
        Problem::new(StatusCode::BAD_REQUEST, "not_read", "The body cannot be read", detail)
    })?;
    let by = web.service.by(&actor);
    let fingerprint = by.fingerprint(&[parts.uri.to_string().as_bytes(), &body])?;
    match by.begin_request(&key, &fingerprint).await? {
        IdempotencyState::First => {}
        IdempotencyState::Answered { status, body } => return Ok(replayed(status, body)),
        IdempotencyState::Running => {
            let detail = format!("the request with the key '{key}' is still under way; ask again later");
            return Err(Problem::new(StatusCode::CONFLICT, "under_way", "It is under way", detail));
        }
        IdempotencyState::Other => {
            let detail = format!("the key '{key}' was used for another request; take a new one");
            let title = "The key is taken";
            return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "key_reused", title, detail));
        }
    }
    let request = Request::from_parts(parts, Body::from(body));
    // To its end, even if whoever asked has gone: else nobody would ever learn how it went.
    let task = tokio::spawn(async move {
        let (response, kept) = kept(next.run(request).await).await;
        let ended = web.service.by(&actor).end_request(&key, kept.as_ref().map(|(s, b)| (*s, &b[..]))).await;
        if let Err(error) = ended {
            tracing::error!(%error, "the answer to a request could not be kept; its key stays taken for a day");
        }
        response
    });
    task.await.map_err(|_| {
        let detail = "the request broke off; look whether it was carried out before you send it again";
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "broken_off", "It broke off", detail)
    })
}

/// An answer, and what to keep of it.
async fn kept(response: Response) -> (Response, Option<(u16, Bytes)>) {
    if !response.status().is_success() {
        return (response, None);
    }
    let (parts, body) = response.into_parts();
    // The body is ours, and in memory already.
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default();
    let status = parts.status.as_u16();
    (Response::from_parts(parts, Body::from(body.clone())), Some((status, body)))
}

fn replayed(status: u16, body: Vec<u8>) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    let mut response = (status, body).into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    response
}
