//! Which account at the OpenID Connect provider signs in which user. By its subject alone: names and mail addresses can be
//! given to somebody else there.

use serde_json::json;

use super::audit::Target;
use super::step_up::SensitiveAction;
use super::{By, Scope, ServiceError};
use crate::store::{OidcAccount, StoreError, User};

/// The longest subject, in bytes, as OpenID Connect has it.
const SUBJECT_BYTES: usize = 255;

impl By<'_> {
    /// Lets the account with this subject sign a user in, in place of any other. For admins; the caller's own where the
    /// provider has just vouched for it.
    pub async fn connect_oidc(&self, name: &str, subject: &str) -> Result<User, ServiceError> {
        self.actor.must_manage()?;
        self.must_prove(SensitiveAction::ConnectAccount).await?;
        self.set_oidc_account(name, Some(subject)).await
    }

    /// Lets no account sign a user in any more: oneself, or as an admin anybody.
    pub async fn disconnect_oidc(&self, name: &str) -> Result<User, ServiceError> {
        if name == self.actor.name {
            self.actor.must(Scope::Write)?;
            self.actor.must_be_unlimited()?;
        } else {
            self.actor.must_manage()?;
        }
        self.set_oidc_account(name, None).await
    }

    pub(super) async fn set_oidc_account(
        &self,
        name: &str,
        subject: Option<&str>,
    ) -> Result<User, ServiceError> {
        let Some(oidc) = &self.config.oidc else {
            let message = "OpenID Connect is not set up here; set oidc.issuer and oidc.client_id";
            return Err(ServiceError::conflict("oidc_not_configured", message));
        };
        let user = self.store.user_named(name).await?;
        let account = match subject {
            Some(subject) => {
                Some(OidcAccount { issuer: oidc.issuer.clone(), subject: checked_subject(subject)? })
            }
            None => None,
        };
        match self.store.set_oidc(user.id, account.as_ref()).await {
            Err(StoreError::Duplicate { .. }) => {
                let message =
                    "this account at the provider signs in another user here; disconnect that one first";
                return Err(ServiceError::conflict("oidc_account_taken", message));
            }
            result => result?,
        }
        self.forget_callers();
        let action = if account.is_some() { "user.connect" } else { "user.disconnect" };
        let changed = account.as_ref().or(user.oidc.as_ref());
        let about = changed.map(|account| json!({ "issuer": account.issuer, "subject": account.subject }));
        self.audit(action, Target::user(&user), about).await;
        Ok(User { oidc: account, ..user })
    }
}

/// A subject as providers give them: 1 to 255 ASCII characters that can be printed.
pub(super) fn checked_subject(subject: &str) -> Result<String, ServiceError> {
    let printable = |byte: u8| (b' '..=b'~').contains(&byte);
    if (1..=SUBJECT_BYTES).contains(&subject.len()) && subject.bytes().all(printable) {
        Ok(subject.to_owned())
    } else {
        let message = format!("a subject has 1 to {SUBJECT_BYTES} ASCII characters");
        Err(ServiceError::invalid("subject", message))
    }
}
