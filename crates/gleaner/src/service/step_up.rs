//! Step-up: what could do lasting harm with a stolen session needs a recent proof of who its user is.
//!
//! A proof is a login, by whatever means, or the password or a login link given again. API tokens and the command line
//! are exempt: nobody is there to ask.

use gleaner_core::time::{Span, Time};

use super::audit::Target;
use super::open_callers::access_ended;
use super::{Actor, By, Service, ServiceError};
use crate::config::secret::Secret;

/// How long a proof is good.
const PROOF_LASTS: Span = Span::from_mins(15);

/// Actions that need a recent proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SensitiveAction {
    AddUser,
    DeleteUser,
    ChangeAdmin,
    SetPasswordOfOthers,
    MakeLoginLink,
    /// At an OpenID Connect provider, to sign in with.
    ConnectAccount,
    /// By admins, to change things: such a token needs no proof afterwards.
    MakeAdminToken,
    DeleteCollection,
    DeleteManySources,
    ChangeWebhookOfOthers,
}

impl SensitiveAction {
    /// What it does, to follow "before you".
    const fn description(self) -> &'static str {
        match self {
            Self::AddUser => "add a user",
            Self::DeleteUser => "delete a user",
            Self::ChangeAdmin => "change who is an admin",
            Self::SetPasswordOfOthers => "set another user's password",
            Self::MakeLoginLink => "make a login link",
            Self::ConnectAccount => "connect an account to sign in with",
            Self::MakeAdminToken => "make an API token with which everything can be changed",
            Self::DeleteCollection => "delete a collection",
            Self::DeleteManySources => "delete sources in bulk",
            Self::ChangeWebhookOfOthers => "change or delete another user's webhook",
        }
    }
}

/// How somebody who is logged in proves who they are once more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    Password(Secret),
    /// The code of a login link, or the link.
    Link(Secret),
}

impl Service {
    /// Notes that the user of a session has proved who they are just now.
    pub async fn record_proof(&self, session_id: i64) -> Result<Time, ServiceError> {
        let now = self.clock.now();
        self.store.set_proved(session_id, now).await?;
        self.forget_callers();
        Ok(now)
    }
}

impl By<'_> {
    /// Takes a proof for the caller's session; returns the caller as of then.
    pub async fn confirm(&self, proof: Proof) -> Result<Actor, ServiceError> {
        let Some(session_id) = self.actor.own_session() else {
            return Err(ServiceError::conflict("no_session", "only sessions are confirmed"));
        };
        match proof {
            Proof::Password(password) => self.check_own_password("password", &password).await?,
            Proof::Link(link) => {
                let text = link.expose().trim();
                let code = text.rsplit_once("code=").map_or(text, |(_, code)| code);
                self.check_link(&Secret::new(code), Some(self.actor.user_id)).await?;
            }
        }
        let proved_at = self.record_proof(session_id).await?;
        let target = Target::new("user", Some(self.actor.user_id), &self.actor.name);
        self.audit("session.confirm", target, None).await;
        Ok(self.actor.clone().proved(proved_at))
    }

    /// Whether the caller has a password to confirm with.
    pub async fn has_password(&self) -> Result<bool, ServiceError> {
        Ok(self.store.user_named(&self.actor.name).await?.password_hash.is_some())
    }

    /// Refuses a session whose latest proof is too old, and one that has ended: who was let in may be remembered for a
    /// second longer.
    pub(super) async fn must_prove(&self, action: SensitiveAction) -> Result<(), ServiceError> {
        let Some(session_id) = self.actor.own_session() else { return Ok(()) };
        if self.actor.is_by_proxy() {
            // The reverse proxy vouches for the user with every request.
            return Ok(());
        }
        let session = self.store.callers(&[session_id]).await?.pop();
        let (session, user) = session.ok_or_else(access_ended)?;
        let Some(at) = Actor::by_token(user, &session).proved_at() else { return Ok(()) };
        let now = self.clock.now();
        // Clocks of several machines differ a little, either way.
        let age = if at > now { at.since(now) } else { now.since(at) };
        if age < self.clock.span_of_real(PROOF_LASTS) {
            return Ok(());
        }
        Err(ServiceError::StepUpRequired(action.description()))
    }
}
