//! Letting people and programs in: passwords, links to log in, tokens.
//!
//! What lets in is shown once, to whoever made it, and kept only as something that finds it again: an access token's
//! id, a link's hash. Absent on purpose: sessions of the dashboard, which are tokens in a cookie.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Mutex;

use gleaner_core::time::{Span, Time};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;

use super::audit::Target;
use super::login_limits::{LoginLimits, Subject};
use super::open_callers::access_ended;
use super::password::{Caller, Passwords};
use super::step_up::SensitiveAction;
use super::{Actor, By, Scope, Service, ServiceError, jwt};
use crate::config::secret::Secret;
use crate::hex;
use crate::store::{NewToken, PasswordChange, Store, Token, TokenKind, User};
use crate::vault::random;

/// How long a link to log in is good.
const LINK: Span = Span::from_hours(24);
/// The name of first-login links, and under which the store's `meta` says when somebody first logged in.
const FIRST_LOGIN: &str = "first_login";
/// Maximum number of first-login links that are good at once: a start each makes one.
const FIRST_LOGIN_LINKS: usize = 10;
/// How many tokens are remembered.
const TOKENS: usize = 10_000;
/// How long a token that was found is not looked up again, so that a revocation takes no longer anywhere.
const REMEMBERED: Span = Span::from_secs(1);
/// How long a token for output feeds is good.
const FEED: Span = Span::from_days(3650);
/// How many collections a token can be limited to.
const LIMITED_TO: usize = 100;
/// The shortest password.
const PASSWORD_CHARS: usize = 10;
/// The longest password; hashing takes longer for longer ones.
const PASSWORD_BYTES: usize = 1000;
/// The longest name, in characters.
const NAME_CHARS: usize = 100;

/// How somebody proves who they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Login {
    /// A name and a password.
    Password {
        /// Who.
        name: String,
        /// The proof.
        password: Secret,
        /// Where it comes from; none where there is no network in between.
        address: Option<IpAddr>,
        /// What an earlier login left on the device.
        device: Option<Secret>,
    },
    /// The code of a link that is good once.
    Link(Secret),
}

/// A token that was made: shown now, and never again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Granted {
    /// Its id.
    pub id: i64,
    /// What lets in.
    pub secret: Secret,
    /// When it ends.
    pub expires_at: Time,
    /// The scopes it grants.
    pub scopes: String,
}

/// What somebody has after a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedIn {
    /// Who it is.
    pub actor: Actor,
    /// The token that lets in from now on.
    pub granted: Granted,
    /// What makes this device known at the next login.
    pub device: Secret,
}

/// What is remembered between requests.
#[derive(Default)]
pub(super) struct Gate {
    /// Tokens by id, with when they were looked up.
    known: Mutex<HashMap<String, (Token, User, Time)>>,
    pub(super) limits: LoginLimits,
    passwords: Passwords,
    lookups: Lookups,
}

/// How many codes of strangers are looked up at once.
struct Lookups(Semaphore);

impl Default for Lookups {
    fn default() -> Self {
        Self(Semaphore::new(2))
    }
}

impl Service {
    /// Lets somebody in, for so long.
    pub async fn log_in(&self, login: Login, lasts: Span) -> Result<LoggedIn, ServiceError> {
        let user = match login {
            Login::Password { name, password, address, device } => {
                self.check_password(&name, password, address, device).await?
            }
            Login::Link(code) => self.check_link(&code, None).await?,
        };
        self.start_session(user, lasts).await
    }

    /// Starts a session of a user who has just proved who they are, by whatever means.
    pub(super) async fn start_session(&self, user: User, lasts: Span) -> Result<LoggedIn, ServiceError> {
        let name = format!("login {}", hex::encode(&random::<8>()?));
        let scopes = [Scope::Read, Scope::Write];
        let (token, secret) = self.new_token(&user, TokenKind::Session, &name, &scopes, lasts)?;
        let granted = self.store_token(&*self.store, &token, secret).await?;
        // A password that was changed since it was looked at lets nobody in.
        if self.store.user_named(&user.name).await?.password_set_at != user.password_set_at {
            self.store.delete_token(granted.id).await?;
            return Err(ServiceError::Unauthenticated("the password was changed meanwhile".to_owned()));
        }
        self.end_first_login_links().await?;
        let device = self.new_device(&user.name, self.clock.now())?;
        let token = Token { id: granted.id, token, last_used_at: None };
        Ok(LoggedIn { actor: Actor::by_token(user, &token), granted, device })
    }

    /// Who an access token lets in.
    pub async fn actor(&self, token: &str) -> Result<Actor, ServiceError> {
        let unknown = || {
            ServiceError::Unauthenticated(
                "the access token is not valid, or not any more; `gleaner token create NAME` makes one"
                    .into(),
            )
        };
        let now = self.clock.now();
        let id = jwt::verify(&self.signing_key()?, token, now).map_err(|_| unknown())?;
        let (token, user) = self.token_of(&id, now).await?.ok_or_else(unknown)?;
        if token.token.expires_at <= now {
            return Err(unknown());
        }
        if token.last_used_at.is_none_or(|used| now.since(used) >= Span::from_mins(1)) {
            self.store.touch_token(token.id, now).await?;
            self.gate.forget(&id);
        }
        Ok(Actor::by_token(user, &token))
    }

    /// What forms of a session carry, so that no other page can send them.
    pub fn form_token(&self, session: &str) -> Result<String, ServiceError> {
        let key = self.vault.derive("forms of the dashboard")?;
        Ok(hex::encode(&Sha256::new().chain_update(key).chain_update(session).finalize()))
    }

    /// A link's code for a user to log in with, once.
    pub async fn login_code(&self, user: &str) -> Result<Granted, ServiceError> {
        let user = self.store.user_named(user).await?;
        self.make_link(&*self.store, &user, "link").await
    }

    async fn make_link(&self, store: &dyn Store, user: &User, name: &str) -> Result<Granted, ServiceError> {
        let name = format!("{name} {}", hex::encode(&random::<8>()?));
        let (token, secret) = self.new_token(user, TokenKind::Link, &name, &[], LINK)?;
        self.store_token(store, &token, secret).await
    }

    /// A code for the first login: until somebody has logged in or has a password. Codes of earlier starts stay good, for
    /// whoever has copied one.
    pub async fn first_login_code(&self) -> Result<Option<Secret>, ServiceError> {
        let users = self.store.users().await?;
        if users.iter().any(|user| user.password_hash.is_some())
            || self.store.meta(FIRST_LOGIN).await?.is_some()
        {
            return Ok(None);
        }
        let Some(admin) = users.into_iter().find(|user| user.is_admin) else { return Ok(None) };
        let mut earlier = self.first_login_links(&admin).await?;
        earlier.truncate(earlier.len().saturating_sub(FIRST_LOGIN_LINKS - 1));
        for token in earlier {
            self.store.delete_token(token.id).await?;
        }
        Ok(Some(self.make_link(&*self.store, &admin, FIRST_LOGIN).await?.secret))
    }

    /// The links that starts have printed, the oldest first.
    async fn first_login_links(&self, admin: &User) -> Result<Vec<Token>, ServiceError> {
        let mut links = self.store.tokens(admin.id, TokenKind::Link).await?;
        links.retain(|token| token.token.name.starts_with(FIRST_LOGIN));
        Ok(links)
    }

    /// Somebody has logged in: from now on starts print no link, and what they printed ends.
    async fn end_first_login_links(&self) -> Result<(), ServiceError> {
        if self.store.meta(FIRST_LOGIN).await?.is_some() {
            return Ok(());
        }
        self.store.set_meta(FIRST_LOGIN, &self.clock.now().to_string()).await?;
        for user in self.store.users().await? {
            for token in self.first_login_links(&user).await? {
                self.store.delete_token(token.id).await?;
            }
        }
        Ok(())
    }

    /// Forgets who came in lately, because something about it changed; open streams are checked at once.
    pub(super) fn forget_callers(&self) {
        lock(&self.gate.known).clear();
        self.open_callers.check_now();
    }

    async fn token_of(&self, id: &str, now: Time) -> Result<Option<(Token, User)>, ServiceError> {
        if let Some((token, user, _)) = self.gate.recent(id, now) {
            return Ok(Some((token, user)));
        }
        for kind in [TokenKind::Api, TokenKind::Session] {
            if let Some((token, user)) = self.store.token(kind, id).await? {
                self.gate.remember(id, &token, &user, now);
                return Ok(Some((token, user)));
            }
        }
        Ok(None)
    }

    /// The token of a code that anybody may send. A few are looked up at a time, so that a flood of them leaves the
    /// database to others.
    pub(super) async fn token_of_stranger(
        &self,
        kind: TokenKind,
        code: &str,
    ) -> Result<Option<(Token, User)>, ServiceError> {
        // It is never closed.
        let _turn = self.gate.lookups.0.acquire().await;
        Ok(self.store.token(kind, &hashed(code)).await?)
    }

    /// What access tokens are signed with: the configured secret, else a key of the vault's.
    pub(super) fn signing_key(&self) -> Result<Vec<u8>, ServiceError> {
        match &self.config.api.jwt_secret {
            Some(secret) => Ok(secret.expose().as_bytes().to_vec()),
            None => Ok(self.vault.derive("access tokens")?.to_vec()),
        }
    }

    /// A token to be stored, and the secret that gives access by it.
    pub(super) fn new_token(
        &self,
        user: &User,
        kind: TokenKind,
        name: &str,
        scopes: &[Scope],
        lasts: Span,
    ) -> Result<(NewToken, Secret), ServiceError> {
        let (now, text) = (self.clock.now(), hex::encode(&random::<32>()?));
        let expires_at = now + self.clock.span_of_real(lasts);
        let is_jwt = matches!(kind, TokenKind::Api | TokenKind::Session);
        let (key, secret) = if is_jwt {
            let failed = |error| ServiceError::conflict("token_not_signed", format!("{error}"));
            let token =
                jwt::sign(&self.signing_key()?, &text, &user.name, now, expires_at).map_err(failed)?;
            (text, token)
        } else {
            (hashed(&text), text)
        };
        let scopes = scopes.iter().map(|scope| scope.name()).collect::<Vec<_>>().join(" ");
        let token = NewToken {
            user_id: user.id,
            kind,
            name: name.to_owned(),
            key,
            scopes,
            collection_ids: None,
            created_at: now,
            expires_at,
            made_by_session: None,
            proved_at: (kind == TokenKind::Session).then_some(now),
        };
        Ok((token, Secret::new(secret)))
    }

    async fn store_token(
        &self,
        store: &dyn Store,
        token: &NewToken,
        secret: Secret,
    ) -> Result<Granted, ServiceError> {
        let id = store.create_token(token).await?;
        Ok(Granted { id, secret, expires_at: token.expires_at, scopes: token.scopes.clone() })
    }

    async fn check_password(
        &self,
        name: &str,
        password: Secret,
        address: Option<IpAddr>,
        device: Option<Secret>,
    ) -> Result<User, ServiceError> {
        let now = self.clock.now();
        if name.chars().count() > NAME_CHARS || password.expose().len() > PASSWORD_BYTES {
            let message =
                format!("a name has 1 to {NAME_CHARS} characters, a password at most {PASSWORD_BYTES} bytes");
            return Err(ServiceError::invalid("name", message));
        }
        let device = match &device {
            Some(mark) => self.known_device(name, mark, now).await?,
            None => None,
        };
        let from = Subject::NameFrom(name, address);
        let (caller, subjects) = match (&device, address) {
            (Some(device), _) => (Caller::Known, vec![Subject::Device(device)]),
            (None, Some(address)) => {
                (Caller::Stranger, vec![Subject::Address(address), Subject::Name(name), from])
            }
            (None, None) => (Caller::Stranger, vec![Subject::Name(name), from]),
        };
        let attempt = self.gate.limits.count(&subjects, now).map_err(ServiceError::TooMany)?;
        let place = match self.gate.passwords.queue(caller) {
            Ok(place) => place,
            Err(busy) => {
                self.gate.limits.give_back(attempt);
                return Err(busy);
            }
        };
        let user = self.store.users().await?.into_iter().find(|user| user.name == name);
        let hash = user.as_ref().and_then(|user| user.password_hash.clone());
        let matches = place.matches(password, hash).await?;
        match user.filter(|_| matches) {
            Some(user) => {
                self.gate.limits.give_back(attempt);
                self.gate.limits.forget(&from);
                Ok(user)
            }
            None => Err(ServiceError::Unauthenticated("the name or the password is wrong".to_owned())),
        }
    }

    /// Uses up a link of anybody, or of this user.
    pub(super) async fn check_link(&self, code: &Secret, of: Option<i64>) -> Result<User, ServiceError> {
        let spent = || {
            let message =
                "this link was used already, or is too old; `gleaner user link NAME` makes a new one";
            ServiceError::Unauthenticated(message.to_owned())
        };
        let found = self.token_of_stranger(TokenKind::Link, code.expose()).await?;
        let (token, user) = found.ok_or_else(spent)?;
        if of.is_some_and(|of| of != user.id) {
            return Err(ServiceError::Unauthenticated("this link is another user's".to_owned()));
        }
        // Whoever deletes it first is let in.
        if token.token.expires_at <= self.clock.now() || !self.store.delete_token(token.id).await? {
            return Err(spent());
        }
        Ok(user)
    }
}

impl By<'_> {
    /// Makes a named token for a program of one's own. It grants no more than its maker has.
    pub async fn create_token(
        &self,
        name: &str,
        scopes: &[Scope],
        lasts: Span,
    ) -> Result<Granted, ServiceError> {
        self.named_token(TokenKind::Api, name, scopes, None, lasts).await
    }

    /// The same for nothing but these collections.
    pub async fn create_limited_token(
        &self,
        name: &str,
        scopes: &[Scope],
        collection_ids: &[i64],
        lasts: Span,
    ) -> Result<Granted, ServiceError> {
        self.named_token(TokenKind::Api, name, scopes, Some(collection_ids), lasts).await
    }

    /// Makes a token that reads output feeds by their URL.
    pub async fn create_feed_token(&self, name: &str) -> Result<Granted, ServiceError> {
        self.named_token(TokenKind::Feed, name, &[Scope::Read], None, FEED).await
    }

    /// The same for nothing but these collections.
    pub async fn create_limited_feed_token(
        &self,
        name: &str,
        collection_ids: &[i64],
    ) -> Result<Granted, ServiceError> {
        self.named_token(TokenKind::Feed, name, &[Scope::Read], Some(collection_ids), FEED).await
    }

    async fn named_token(
        &self,
        kind: TokenKind,
        name: &str,
        scopes: &[Scope],
        limit: Option<&[i64]>,
        lasts: Span,
    ) -> Result<Granted, ServiceError> {
        self.actor.must(Scope::Write)?;
        self.actor.must_be_unlimited()?;
        scopes.iter().try_for_each(|scope| self.actor.must(*scope))?;
        if self.actor.is_admin && scopes.contains(&Scope::Write) {
            self.must_prove(SensitiveAction::MakeAdminToken).await?;
        }
        let name = checked_name("name", name)?;
        let user = self.store.user_named(&self.actor.name).await?;
        if let Some(ids) = limit {
            self.check_limit(ids).await?;
        }
        let (token, secret) = self.new_token(&user, kind, &name, scopes, lasts)?;
        let made_by_session = self.actor.session_id();
        let token = NewToken { collection_ids: limit.map(<[i64]>::to_vec), made_by_session, ..token };
        let about =
            json!({ "scopes": token.scopes, "collection_ids": limit, "expires_at": token.expires_at });
        let target = Target::new(audited(kind), None, &name);
        let store = self.audited(&format!("{}.create", audited(kind)), target, Some(about));
        let granted = self.store_token(&*store, &token, secret).await?;
        // What ended with its maker's access must not go on in a token that was made at that moment.
        if let Some(maker) = self.actor.token_id
            && self.store.callers(&[maker]).await?.is_empty()
        {
            self.store.delete_token(granted.id).await?;
            return Err(access_ended());
        }
        Ok(granted)
    }

    /// Refuses a limit to nothing, or to what the caller does not see.
    async fn check_limit(&self, ids: &[i64]) -> Result<(), ServiceError> {
        if !(1..=LIMITED_TO).contains(&ids.len()) {
            let message = format!("a token is limited to 1 to {LIMITED_TO} collections, or not at all");
            return Err(ServiceError::invalid("collection_ids", message));
        }
        let seen = self.visible_collections().await?;
        match ids.iter().find(|id| seen.iter().all(|one| one.id != **id)) {
            Some(id) => Err(ServiceError::invalid("collection_ids", format!("there is no collection {id}"))),
            None => Ok(()),
        }
    }

    /// A code that logs a user in, once; for admins.
    pub async fn make_login_code(&self, user: &str) -> Result<Granted, ServiceError> {
        self.actor.must_manage()?;
        self.must_prove(SensitiveAction::MakeLoginLink).await?;
        let user = self.store.user_named(user).await?;
        let store = self.audited("user.login_link", Target::user(&user), None);
        self.make_link(&*store, &user, "link").await
    }

    /// One's own tokens of a kind.
    pub async fn tokens(&self, kind: TokenKind) -> Result<Vec<Token>, ServiceError> {
        self.actor.must(Scope::Read)?;
        self.actor.must_be_unlimited()?;
        Ok(self.store.tokens(self.actor.user_id, kind).await?)
    }

    /// Revokes one of one's own tokens; whether it was there.
    pub async fn revoke_token(&self, kind: TokenKind, name: &str) -> Result<bool, ServiceError> {
        self.actor.must(Scope::Write)?;
        self.actor.must_be_unlimited()?;
        let tokens = self.store.tokens(self.actor.user_id, kind).await?;
        let Some(token) = tokens.into_iter().find(|token| token.token.name == name) else { return Ok(false) };
        let target = Target::new(audited(kind), Some(token.id), name);
        let store = self.audited(&format!("{}.revoke", audited(kind)), target, None);
        let was_there = store.delete_token(token.id).await?;
        self.forget_callers();
        Ok(was_there)
    }

    /// Ends the token that one came in with.
    pub async fn log_out(&self) -> Result<(), ServiceError> {
        if let Some(id) = self.actor.token_id {
            let target = Target::new("user", Some(self.actor.user_id), &self.actor.name);
            self.audited("logout", target, None).delete_token(id).await?;
            self.forget_callers();
        }
        Ok(())
    }

    /// Ends all one's sessions but the one that one came in with; how many those were.
    pub async fn log_out_others(&self) -> Result<u64, ServiceError> {
        self.actor.must(Scope::Write)?;
        self.actor.must_be_unlimited()?;
        let mut ended = 0;
        for token in self.store.tokens(self.actor.user_id, TokenKind::Session).await? {
            if Some(token.id) != self.actor.token_id {
                ended += u64::from(self.store.delete_token(token.id).await?);
            }
        }
        self.forget_callers();
        let target = Target::new("user", Some(self.actor.user_id), &self.actor.name);
        self.audit("session.end_others", target, Some(json!({ "sessions": ended }))).await;
        Ok(ended)
    }

    /// Sets a user's password: one's own with the current one, or as an admin anybody's. Ends the user's other sessions,
    /// the tokens that sessions other than the caller's have made, login links and known devices.
    pub async fn set_password(
        &self,
        user: &str,
        current: Option<&Secret>,
        password: &Secret,
    ) -> Result<(), ServiceError> {
        let is_own = user == self.actor.name;
        if is_own {
            self.actor.must(Scope::Write)?;
            self.actor.must_be_unlimited()?
        } else {
            self.actor.must_manage()?;
            self.must_prove(SensitiveAction::SetPasswordOfOthers).await?;
        }
        if password.expose().chars().count() < PASSWORD_CHARS {
            let message = format!("a password has at least {PASSWORD_CHARS} characters");
            return Err(ServiceError::invalid("password", message));
        }
        if password.expose().len() > PASSWORD_BYTES {
            let message = format!("a password has at most {PASSWORD_BYTES} bytes");
            return Err(ServiceError::invalid("password", message));
        }
        let user = self.store.user_named(user).await?;
        if is_own && self.actor.token_id.is_some() && user.password_hash.is_some() {
            let Some(current) = current else {
                let message = "your current password is needed to set a new one";
                return Err(ServiceError::invalid("current_password", message));
            };
            self.check_own_password("current_password", current).await?;
        }
        let place = self.gate.passwords.queue(Caller::Known)?;
        let hash = place.hash(password.clone(), random::<16>()?).await?;
        let keep = self.actor.token_id.filter(|_| is_own);
        let change = PasswordChange { user_id: user.id, hash: Some(hash), at: self.clock.now(), keep };
        self.audited("user.password", Target::user(&user), None).set_password(&change).await?;
        self.forget_callers();
        Ok(())
    }

    /// What makes the caller's device known at the next login, after the password was changed.
    pub fn renew_device(&self) -> Result<Secret, ServiceError> {
        self.new_device(&self.actor.name, self.clock.now())
    }

    /// Refuses a password that is not the caller's own. Wrong ones are counted and audited like failed logins.
    pub(super) async fn check_own_password(
        &self,
        field: &str,
        password: &Secret,
    ) -> Result<(), ServiceError> {
        let wrong = || ServiceError::invalid(field, "this is not your current password");
        if password.expose().len() > PASSWORD_BYTES {
            return Err(wrong());
        }
        let subjects = [Subject::Account(self.actor.user_id)];
        let attempt = self.gate.limits.count(&subjects, self.clock.now()).map_err(ServiceError::TooMany)?;
        let place = match self.gate.passwords.queue(Caller::Known) {
            Ok(place) => place,
            Err(busy) => {
                self.gate.limits.give_back(attempt);
                return Err(busy);
            }
        };
        let hash = self.store.user_named(&self.actor.name).await?.password_hash;
        if place.matches(password.clone(), hash).await? {
            self.gate.limits.give_back(attempt);
            return Ok(());
        }
        let name = Some(self.actor.name.clone());
        self.audit_failed_login(name, "password of a session", self.actor.address).await;
        Err(wrong())
    }
}

impl Gate {
    fn recent(&self, id: &str, now: Time) -> Option<(Token, User, Time)> {
        let known = lock(&self.known);
        known.get(id).filter(|(_, _, at)| *at <= now && now.since(*at) < REMEMBERED).cloned()
    }

    fn remember(&self, id: &str, token: &Token, user: &User, now: Time) {
        let mut known = lock(&self.known);
        if known.len() >= TOKENS {
            known.clear();
        }
        known.insert(id.to_owned(), (token.clone(), user.clone(), now));
    }

    fn forget(&self, id: &str) {
        lock(&self.known).remove(id);
    }
}

/// What the audit log calls tokens of a kind.
fn audited(kind: TokenKind) -> &'static str {
    if kind == TokenKind::Feed { "feed_token" } else { "token" }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// A name as people give it to things: some characters, none of them invisible.
pub(super) fn checked_name(field: &str, name: &str) -> Result<String, ServiceError> {
    let name = name.trim();
    let fits = (1..=NAME_CHARS).contains(&name.chars().count()) && !name.chars().any(char::is_control);
    if fits {
        Ok(name.to_owned())
    } else {
        Err(ServiceError::invalid(field, "a name has 1 to 100 characters"))
    }
}

pub(super) fn hashed(text: &str) -> String {
    hex::encode(&Sha256::digest(text))
}
