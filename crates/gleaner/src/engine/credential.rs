//! Keys and credentials between the vault and a request: sealed for their owner, or for the host they are meant for.
//!
//! A user's key serves the sources of the user's collections. A source's own credential names its host inside what is
//! sealed, so that it is sent nowhere else even where the source has moved. Absent on purpose: showing any of them.

use std::sync::Arc;

use gleaner_core::classify::Fault;
use serde::{Deserialize, Serialize};
use url::Url;

use super::Inner;
use super::attempt::Halt;
use crate::config::secret::Secret;
use crate::fetch::Credential;
use crate::store::{ArticleWork, Source};
use crate::vault::{Vault, VaultError};

/// What X's keys are kept under.
pub const X: &str = "x";
/// What sealed credentials of sources are for.
const SOURCE: &str = "credential of a source";

/// A source's credential as it is sealed.
#[derive(Serialize, Deserialize)]
struct Sealed {
    /// The host and port that it is for.
    host: String,
    #[serde(flatten)]
    what: What,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum What {
    Basic { user: String, password: String },
    Header { name: String, value: String },
}

/// Seals a user's key for a service.
pub fn seal_key(vault: &Vault, owner_id: i64, service: &str, key: &Secret) -> Result<Vec<u8>, VaultError> {
    vault.seal(&purpose(owner_id, service), key.expose().as_bytes())
}

/// Seals a source's own credential, to be sent to the host of this URL only.
pub fn seal_credential(vault: &Vault, url: &str, credential: &Credential) -> Result<Vec<u8>, VaultError> {
    let what = match credential {
        Credential::Basic { user, password } => {
            What::Basic { user: user.clone(), password: password.expose().to_owned() }
        }
        Credential::Header { name, value } => {
            What::Header { name: name.clone(), value: value.expose().to_owned() }
        }
    };
    // Texts in a struct: this cannot fail, and if it did nothing would be sealed that could be opened.
    let text = serde_json::to_vec(&Sealed { host: host(url), what }).unwrap_or_default();
    vault.seal(SOURCE, &text)
}

/// A source's own credential, if it has one; a fault where that is for another host.
pub fn of_source(vault: &Vault, source: &Source) -> Result<Option<Credential>, Fault> {
    open(vault, source.settings.secret.as_deref(), &source.settings.url)
}

/// The credential of a page's source, where the page is of the source's own origin: scheme, host and port.
pub(super) fn of_page(vault: &Vault, work: &ArticleWork, page: &Url) -> Result<Option<Credential>, Fault> {
    let source = Url::parse(&work.source_url).ok();
    if source.is_none_or(|source| !source.origin().is_tuple() || source.origin() != page.origin()) {
        return Ok(None);
    }
    open(vault, work.secret.as_deref(), &work.source_url)
}

fn open(vault: &Vault, sealed: Option<&[u8]>, source_url: &str) -> Result<Option<Credential>, Fault> {
    let Some(sealed) = sealed else { return Ok(None) };
    let broken = |why: &str| Fault::Internal(format!("the source's credential cannot be used: {why}"));
    let text = vault.open(SOURCE, sealed).map_err(|error| broken(&error.to_string()))?;
    // What serde says could repeat the secret.
    let Sealed { host: meant, what } =
        serde_json::from_slice(&text).map_err(|_| broken("it is not what gleaner seals"))?;
    let now = host(source_url);
    if meant != now {
        let why =
            format!("the source's credential is for {meant}, and it is polled at {now} now; set it anew");
        return Err(Fault::Unauthorized(why));
    }
    Ok(Some(match what {
        What::Basic { user, password } => Credential::Basic { user, password: Secret::new(password) },
        What::Header { name, value } => Credential::Header { name, value: Secret::new(value) },
    }))
}

/// The key for X of whoever owns a source's collection.
pub(super) async fn x_key(inner: &Inner, source: &Source) -> Result<Secret, Halt> {
    let store = &inner.cx.store;
    let unread = |error| Halt::unread("whose key serves it", Arc::new(error));
    let failed = |fault: Fault| Halt::from(fault.into_failure(None));
    let collections = store.collections().await.map_err(unread)?;
    let collection = collections
        .into_iter()
        .find(|one| one.id == source.settings.collection_id)
        .ok_or_else(|| failed(Fault::Internal("its collection is gone".to_owned())))?;
    let owner_id = collection.owner_id;
    let Some(sealed) = store.credential(owner_id, X).await.map_err(unread)? else {
        let users = store.users().await.map_err(unread)?;
        let owner = users.into_iter().find(|user| user.id == owner_id).map(|user| user.name);
        return Err(failed(Fault::Unauthorized(format!(
            "no key for X: {}, who owns the collection {}, has set none; `gleaner key set x` sets one",
            owner.unwrap_or_default(),
            collection.name
        ))));
    };
    let key = inner.vault.open(&purpose(owner_id, X), &sealed).map_err(|error| {
        let name = &collection.name;
        failed(Fault::Internal(format!("the key for X of the owner of {name} cannot be used: {error}")))
    })?;
    String::from_utf8(key)
        .map(Secret::new)
        .map_err(|_| failed(Fault::Internal("the key for X is no text".to_owned())))
}

fn purpose(owner_id: i64, service: &str) -> String {
    format!("key of user {owner_id} for {service}")
}

/// The host and port of a URL; the usual ports are as none, so that a move to https changes nothing.
fn host(url: &str) -> String {
    let Ok(url) = Url::parse(url) else { return String::new() };
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}
