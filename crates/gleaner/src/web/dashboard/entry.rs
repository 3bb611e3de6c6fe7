//! Who looks at a page: by the cookie of a session, or by a trusted reverse proxy's header, which makes a session.

use super::Oops;
use super::session::{SESSION, cookie};
use crate::service::{Actor, ServiceError};
use crate::web::Web;
use crate::web::proxy_user::{self, Head};

/// Somebody with a session.
pub(super) struct Entered {
    pub(super) actor: Actor,
    /// The value of its cookie.
    pub(super) session: String,
    /// Whether the browser has yet to get the cookie.
    pub(super) is_new: bool,
}

/// The session of a request; none: nobody's.
pub(super) async fn enter(web: &Web, head: Head<'_>) -> Result<Option<Entered>, Oops> {
    let named = proxy_user::named(head)?;
    if let Some(session) = cookie(head.headers, SESSION) {
        match web.service.actor(&session).await {
            Ok(actor) if proxy_user::still_vouched(&actor, head) => {
                return Ok(Some(Entered { actor, session, is_new: false }));
            }
            // Without the proxy's word it lets nobody in; where the proxy says otherwise, it is over.
            Ok(actor) if head.proxy_user().is_some() => {
                web.service.end_proxy_session(&actor.at(head.address())).await?;
            }
            Ok(_) | Err(ServiceError::Unauthenticated(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let Some(name) = named.filter(|_| !is_part_of_another_site(head)) else { return Ok(None) };
    let session = web.service.proxy_sign_in(name, head.address()).await?;
    Ok(Some(Entered { actor: session.actor, session: session.secret.expose().to_owned(), is_new: true }))
}

/// Whether a page of another site has this fetched as a part of it: a cookie would not be sent then, either.
fn is_part_of_another_site(head: Head<'_>) -> bool {
    let header = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
    let is_foreign = header("sec-fetch-site").is_some_and(|site| !matches!(site, "same-origin" | "none"));
    is_foreign && header("sec-fetch-mode") != Some("navigate")
}
