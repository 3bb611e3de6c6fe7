//! Sign-in by an OpenID Connect provider: authorization code with PKCE, state and nonce.
//!
//! A sign-in under way is kept in the browser alone, encrypted, so that nobody fills the memory by beginning many. All
//! requests go through the guarded client. Absent on purpose: accounts found by name or mail address, refresh tokens, and
//! anything of the provider's that outlives the sign-in.

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use chrono::{DateTime, Utc};
use gleaner_core::time::{Span, Time};
use openidconnect::core::{
    CoreAuthDisplay, CoreAuthPrompt, CoreAuthenticationFlow, CoreClientAuthMethod, CoreErrorResponseType,
    CoreGenderClaim, CoreJsonWebKey, CoreJweContentEncryptionAlgorithm, CoreJwsSigningAlgorithm,
    CoreProviderMetadata, CoreRevocableToken, CoreRevocationErrorResponse, CoreTokenIntrospectionResponse,
    CoreTokenType,
};
use openidconnect::{
    AccessTokenHash, AdditionalClaims, AsyncHttpClient, AuthType, AuthorizationCode, ClaimsVerificationError,
    ClientId, ClientSecret, CsrfToken, EmptyExtraTokenFields, EndpointMaybeSet, EndpointNotSet, EndpointSet,
    HttpRequest, HttpResponse, IdTokenClaims, IdTokenFields, IssuerUrl, Nonce, OAuth2TokenResponse as _,
    PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, RequestTokenError, Scope as OidcScope,
    StandardErrorResponse, StandardTokenResponse, TokenResponse as _, UserInfoClaims,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use url::Url;

use super::access::checked_name;
use super::audit::Target;
use super::login_limits::Subject;
use super::oidc_accounts::checked_subject;
use super::step_up::SensitiveAction;
use super::{Actor, LoggedIn, Service, ServiceError};
use crate::config::Oidc;
use crate::config::secret::Secret;
use crate::fetch::{FetchError, Fetcher};
use crate::hex;
use crate::printable::is_hidden;
use crate::store::{OidcAccount, StoreError, User};
use crate::vault::random;

/// How such users came in, for the audit log.
const VIA: &str = "OpenID Connect";
/// How long a person has to sign in at the provider.
const PENDING: Span = Span::from_mins(10);
/// How long what the provider says about itself is believed; with its keys, which it may change.
const DISCOVERED: Span = Span::from_secs(60);
/// How long a provider that could not be reached is left alone.
const FAILED: Span = Span::from_secs(5);
/// How far the provider's clock may be from this one.
const SKEW: Span = Span::from_mins(2);
/// What pending sign-ins are encrypted for.
const PURPOSE: &str = "sign-in by OpenID Connect";
/// How many names are tried for a new user whose name is taken.
const NAMES: u32 = 100;

/// Where to send the browser, and what it keeps meanwhile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OidcStart {
    /// At the provider.
    pub url: Url,
    /// For a cookie.
    pub pending: Secret,
    /// How long the cookie is good.
    pub lasts: Span,
}

/// What the provider sent the browser back with.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct OidcAnswer {
    pub code: Option<String>,
    pub state: Option<String>,
    pub error: Option<String>,
    pub error_description: Option<String>,
    pub iss: Option<String>,
}

/// How a sign-in ended well.
#[derive(Debug)]
pub enum OidcEnd {
    /// Somebody is signed in, and goes on to a page of ours.
    SignedIn(Box<LoggedIn>, String),
    /// The account signs the user in from now on.
    Connected,
}

/// A sign-in that is under way, as the browser keeps it.
#[derive(Serialize, Deserialize)]
struct Pending {
    state: String,
    nonce: String,
    verifier: String,
    /// A page of ours.
    next: String,
    /// The user who connects their account; none: somebody signs in.
    connect: Option<i64>,
    until: i64,
}

/// What is remembered of the provider.
#[derive(Default)]
pub(super) struct Provider {
    fetcher: OnceLock<Fetcher>,
    /// One discovery at a time, whoever asks.
    discovered: tokio::sync::Mutex<Option<(Discovered, Time)>>,
}

type Discovered = Result<Arc<CoreProviderMetadata>, String>;

/// All claims that the library does not know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct OtherClaims(Map<String, Value>);

impl AdditionalClaims for OtherClaims {}

type Tokens = StandardTokenResponse<
    IdTokenFields<
        OtherClaims,
        EmptyExtraTokenFields,
        CoreGenderClaim,
        CoreJweContentEncryptionAlgorithm,
        CoreJwsSigningAlgorithm,
    >,
    CoreTokenType,
>;

type Client = openidconnect::Client<
    OtherClaims,
    CoreAuthDisplay,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJsonWebKey,
    CoreAuthPrompt,
    StandardErrorResponse<CoreErrorResponseType>,
    Tokens,
    CoreTokenIntrospectionResponse,
    CoreRevocableToken,
    CoreRevocationErrorResponse,
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

/// The guarded client, as the library takes one.
struct Guarded<'a> {
    fetcher: &'a Fetcher,
    now: Time,
}

impl<'c> AsyncHttpClient<'c> for Guarded<'_> {
    type Error = FetchError;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, FetchError>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(self.fetcher.exchange(request, self.now))
    }
}

/// What is needed to talk to the provider.
struct Session<'a> {
    oidc: &'a Oidc,
    client: Client,
    http: Guarded<'a>,
}

fn refused(message: impl Into<String>) -> ServiceError {
    ServiceError::Unauthenticated(message.into())
}

impl Service {
    /// Begins a sign-in that ends at a page of ours; with an actor, one that connects their account.
    pub async fn begin_oidc(
        &self,
        address: Option<IpAddr>,
        next: &str,
        connect: Option<&Actor>,
    ) -> Result<OidcStart, ServiceError> {
        if let Some(actor) = connect {
            self.by(actor).must_prove(SensitiveAction::ConnectAccount).await?;
        }
        let now = self.clock.now();
        // It stays counted: each costs the provider a page.
        let _counted =
            self.gate.limits.count(&[Subject::Provider(address)], now).map_err(ServiceError::TooMany)?;
        let Session { oidc, client, .. } = self.oidc_session().await?;
        let secret = || -> Result<String, ServiceError> { Ok(hex::encode(&random::<32>()?)) };
        let pending = Pending {
            state: secret()?,
            nonce: secret()?,
            verifier: secret()?,
            next: next.to_owned(),
            connect: connect.map(|actor| actor.user_id),
            until: (now + PENDING).as_millis(),
        };
        let verifier = PkceCodeVerifier::new(pending.verifier.clone());
        let (state, nonce) = (CsrfToken::new(pending.state.clone()), Nonce::new(pending.nonce.clone()));
        let request =
            client.authorize_url(CoreAuthenticationFlow::AuthorizationCode, move || state, move || nonce);
        let (url, _, _) = request
            .add_scopes(oidc.scopes.iter().filter(|scope| *scope != "openid").cloned().map(OidcScope::new))
            .set_pkce_challenge(PkceCodeChallenge::from_code_verifier_sha256(&verifier))
            .url();
        // Texts and numbers: this cannot fail.
        let text = serde_json::to_vec(&pending).unwrap_or_default();
        let pending = Secret::new(hex::encode(&self.vault.seal(PURPOSE, &text)?));
        Ok(OidcStart { url, pending, lasts: PENDING })
    }

    /// Ends a sign-in with what the provider answered; `actor` is who is signed in already in this browser.
    pub async fn end_oidc(
        &self,
        address: Option<IpAddr>,
        pending: Option<&Secret>,
        answer: &OidcAnswer,
        actor: Option<&Actor>,
        lasts: Span,
    ) -> Result<OidcEnd, ServiceError> {
        let attempt = self.gate.limits.count(&[Subject::Provider(address)], self.clock.now());
        let result = match attempt {
            Err(wait) => Err(ServiceError::TooMany(wait)),
            Ok(attempt) => {
                let result = self.checked_end(address, pending, answer, actor, lasts).await;
                if result.is_ok() {
                    self.gate.limits.give_back(attempt);
                }
                result
            }
        };
        match &result {
            Ok(OidcEnd::SignedIn(logged_in, _)) => self.audit_login(&logged_in.actor, VIA, address).await,
            Ok(OidcEnd::Connected) => {}
            Err(_) => self.audit_failed_login(actor.map(|actor| actor.name.clone()), VIA, address).await,
        }
        result
    }

    async fn checked_end(
        &self,
        address: Option<IpAddr>,
        pending: Option<&Secret>,
        answer: &OidcAnswer,
        actor: Option<&Actor>,
        lasts: Span,
    ) -> Result<OidcEnd, ServiceError> {
        let pending = self.pending(pending)?;
        // Before anything of the answer is used or shown: only then it is one to a question of this browser.
        if !answer.state.as_ref().is_some_and(|state| is_same(state, &pending.state)) {
            return Err(refused(
                "this answer of the provider belongs to no sign-in that this browser began; sign in once more",
            ));
        }
        let session = self.oidc_session().await?;
        if answer.iss.as_ref().is_some_and(|issuer| *issuer != session.oidc.issuer) {
            return Err(refused("the answer comes from another provider than the one that is set up"));
        }
        if let Some(error) = &answer.error {
            let about = answer.error_description.as_deref().unwrap_or_default();
            return Err(refused(denied(error, about)));
        }
        let Some(code) = &answer.code else { return Err(refused("the provider's answer has no code")) };
        let (claims, tokens) = self.redeem(&session, code, &pending).await?;
        let subject = checked_subject(claims.subject().as_str())
            .map_err(|_| refused("the provider's answer has no subject that could be stored"))?;
        if let Some(user_id) = pending.connect {
            let same = actor.filter(|actor| actor.user_id == user_id);
            let actor = same.ok_or_else(|| {
                refused(
                    "you are no longer signed in as the user who connects the account; sign in and try again",
                )
            })?;
            self.by(actor).set_oidc_account(&actor.name, Some(&subject)).await?;
            return Ok(OidcEnd::Connected);
        }
        let account = OidcAccount { issuer: session.oidc.issuer.clone(), subject };
        let user = match self.store.user_of_oidc(&account).await? {
            Some(user) => user,
            None if session.oidc.create_users => {
                let name = session.user_name(&claims, &tokens).await?;
                self.create_oidc_user(&name, &account, address).await?
            }
            None => {
                return Err(refused(format!(
                    "your account at the provider is connected to no user here. Sign in with your password and \
                     connect it in the settings, or ask an admin to run `gleaner user connect NAME SUBJECT` with \
                     the subject {}",
                    account.subject
                )));
            }
        };
        Ok(OidcEnd::SignedIn(Box::new(self.start_session(user, lasts).await?), pending.next))
    }

    /// What the browser kept, where it is ours and not too old.
    fn pending(&self, pending: Option<&Secret>) -> Result<Pending, ServiceError> {
        let gone = || {
            refused(format!(
                "this sign-in was not begun in this browser, or took longer than {} minutes; sign in once more",
                PENDING.as_millis() / 60_000
            ))
        };
        let sealed = pending.and_then(|pending| hex::decode(pending.expose())).ok_or_else(gone)?;
        let text = self.vault.open(PURPOSE, &sealed).map_err(|_| gone())?;
        let pending: Pending = serde_json::from_slice(&text).map_err(|_| gone())?;
        if Time::from_millis(pending.until) <= self.clock.now() { Err(gone()) } else { Ok(pending) }
    }

    async fn oidc_session(&self) -> Result<Session<'_>, ServiceError> {
        let (Some(oidc), Some(base)) = (&self.config.oidc, &self.config.api.public_url) else {
            let message =
                "OpenID Connect is not set up here; set oidc.issuer, oidc.client_id and api.public_url";
            return Err(ServiceError::conflict("oidc_not_configured", message));
        };
        let now = self.clock.now();
        let fetcher = match self.oidc.fetcher.get() {
            Some(fetcher) => fetcher,
            None => {
                let fetcher = self.fetcher()?;
                self.oidc.fetcher.get_or_init(|| fetcher)
            }
        };
        let http = Guarded { fetcher, now };
        let metadata = self.discovered(oidc, &http).await.map_err(|why| ServiceError::Unreachable {
            url: format!("the OpenID Connect provider {} cannot be used", oidc.issuer),
            why,
        })?;
        let back = format!("{}/login/oidc/callback", base.as_str().trim_end_matches('/'));
        let back = RedirectUrl::new(back).map_err(|_| refused("api.public_url is no URL to come back to"))?;
        let methods = metadata.token_endpoint_auth_methods_supported();
        let by_body = methods.is_some_and(|methods| {
            !methods.contains(&CoreClientAuthMethod::ClientSecretBasic)
                && methods.contains(&CoreClientAuthMethod::ClientSecretPost)
        });
        let secret = oidc.client_secret.as_ref().map(|secret| ClientSecret::new(secret.expose().to_owned()));
        let client = Client::from_provider_metadata(
            CoreProviderMetadata::clone(&metadata),
            ClientId::new(oidc.client_id.clone()),
            secret,
        );
        let auth_type = if by_body { AuthType::RequestBody } else { AuthType::BasicAuth };
        let client = client.set_redirect_uri(back).set_auth_type(auth_type);
        Ok(Session { oidc, client, http })
    }

    async fn discovered(&self, oidc: &Oidc, http: &Guarded<'_>) -> Discovered {
        let mut kept = self.oidc.discovered.lock().await;
        if let Some((found, at)) = kept.as_ref() {
            let lasts = if found.is_ok() { DISCOVERED } else { FAILED };
            if *at <= http.now && http.now.since(*at) < lasts {
                return found.clone();
            }
        }
        let found = match IssuerUrl::new(oidc.issuer.clone()) {
            Ok(issuer) => CoreProviderMetadata::discover_async(issuer, http)
                .await
                .map(Arc::new)
                .map_err(|error| chain(&error)),
            Err(error) => Err(error.to_string()),
        };
        *kept = Some((found.clone(), http.now));
        found
    }

    /// Turns a code into claims that the provider has signed for us, for this sign-in, just now.
    async fn redeem(
        &self,
        session: &Session<'_>,
        code: &str,
        pending: &Pending,
    ) -> Result<(IdTokenClaims<OtherClaims, CoreGenderClaim>, Tokens), ServiceError> {
        let Session { client, http, .. } = session;
        let request = client
            .exchange_code(AuthorizationCode::new(code.to_owned()))
            .map_err(|_| refused("the provider names no address to redeem codes at"))?;
        let tokens = request
            .set_pkce_verifier(PkceCodeVerifier::new(pending.verifier.clone()))
            .request_async(http)
            .await
            .map_err(|error| match error {
                RequestTokenError::ServerResponse(answer) => {
                    let about = answer.error_description().map(String::as_str).unwrap_or_default();
                    refused(denied(answer.error().as_ref(), about))
                }
                error => refused(format!("the provider does not redeem the code: {}", chain(&error))),
            })?;
        let token = tokens.id_token().ok_or_else(|| refused("the provider's answer has no ID token"))?;
        let now = self.clock.now();
        let earliest = date(now - SKEW);
        let latest = date(now + SKEW);
        let verifier = client.id_token_verifier().set_time_fn(move || earliest).set_issue_time_verifier_fn(
            move |issued| {
                if issued <= latest { Ok(()) } else { Err(format!("{CLOCKS}: it was issued at {issued}")) }
            },
        );
        let nonce = Nonce::new(pending.nonce.clone());
        let claims = token.claims(&verifier, &nonce).map_err(|error| refused(unverified(&error, now)))?;
        if let Some(expected) = claims.access_token_hash() {
            let hash = token.signing_alg().ok().zip(token.signing_key(&verifier).ok()).and_then(
                |(algorithm, key)| AccessTokenHash::from_token(tokens.access_token(), algorithm, key).ok(),
            );
            if hash.as_ref() != Some(expected) {
                return Err(refused("the provider's access token does not belong to its ID token"));
            }
        }
        Ok((claims.clone(), tokens))
    }

    /// A new user for an account; a name that is taken gets a number.
    async fn create_oidc_user(
        &self,
        name: &str,
        account: &OidcAccount,
        address: Option<IpAddr>,
    ) -> Result<User, ServiceError> {
        for number in 1..=NAMES {
            let name = if number == 1 { name.to_owned() } else { format!("{name} {number}") };
            match self.store.create_oidc_user(&name, account, self.clock.now()).await {
                Ok(_) => {
                    let user = self.store.user_named(&name).await?;
                    let actor = Actor::without_token(user.clone(), VIA).at(address);
                    let about = json!({ "is_admin": false, "subject": account.subject });
                    self.by(&actor).audit("user.create", Target::user(&user), Some(about)).await;
                    return Ok(user);
                }
                Err(StoreError::Duplicate { .. }) => {
                    // The same person in another window.
                    if let Some(user) = self.store.user_of_oidc(account).await? {
                        return Ok(user);
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(refused(format!("too many users are called {name}; ask an admin to add one for you")))
    }
}

impl Session<'_> {
    /// The name for a new user: from the ID token, else from where the provider tells more about people.
    async fn user_name(
        &self,
        claims: &IdTokenClaims<OtherClaims, CoreGenderClaim>,
        tokens: &Tokens,
    ) -> Result<String, ServiceError> {
        let claim = self.oidc.user_claim.as_str();
        let mut name = text_of(claims, claim);
        let subject = claims.subject().clone();
        if name.is_none()
            && let Ok(request) = self.client.user_info(tokens.access_token().clone(), Some(subject))
        {
            let about: UserInfoClaims<OtherClaims, CoreGenderClaim> =
                request.request_async(&self.http).await.map_err(|error| {
                    refused(format!("the provider tells nothing about you: {}", chain(&error)))
                })?;
            name = text_of(&about, claim);
        }
        let missing = || {
            refused(format!(
                "the provider gives no {claim} that could be your name here; an admin can set another \
                 oidc.user_claim, or add a user for you"
            ))
        };
        let name: String = name.ok_or_else(missing)?.chars().filter(|c| !is_hidden(*c)).take(90).collect();
        checked_name("name", &name).map_err(|_| missing())
    }
}

const CLOCKS: &str = "the clocks of the provider and of gleaner differ";

/// A claim that is a text.
fn text_of(claims: &impl Serialize, claim: &str) -> Option<String> {
    let claims = serde_json::to_value(claims).ok()?;
    let text = claims.get(claim)?.as_str()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// What the provider said, in its words, as far as they can be shown.
fn denied(error: &str, about: &str) -> String {
    let shown = |text: &str| -> String { text.chars().filter(|c| !is_hidden(*c)).take(200).collect() };
    let (error, about) = (shown(error), shown(about));
    match (error.as_str(), about.as_str()) {
        ("access_denied", "") => "the sign-in was denied or cancelled at the provider".to_owned(),
        ("access_denied", about) => {
            format!("the sign-in was denied or cancelled at the provider, which says: {about}")
        }
        (error, "") => format!("the provider refuses the sign-in: {error}"),
        (error, about) => format!("the provider refuses the sign-in: {error} ({about})"),
    }
}

fn unverified(error: &ClaimsVerificationError, now: Time) -> String {
    match error {
        ClaimsVerificationError::Expired(why) => {
            format!("the provider's ID token has ended, or {CLOCKS} (here it is {now}): {why}")
        }
        ClaimsVerificationError::InvalidNonce(_) => {
            "the provider's ID token belongs to another sign-in; sign in once more".to_owned()
        }
        error => format!("the provider's ID token is not accepted: {}", chain(error)),
    }
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text.chars().filter(|c| !is_hidden(*c)).take(500).collect()
}

fn date(time: Time) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(time.as_millis()).unwrap_or_default()
}

/// Takes as long whatever the texts say.
fn is_same(one: &str, other: &str) -> bool {
    one.len() == other.len()
        && one.bytes().zip(other.bytes()).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}
