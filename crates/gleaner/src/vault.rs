//! Keys and credentials, encrypted at rest: what the database holds is of no use without the vault's key.
//!
//! XChaCha20-Poly1305, a random nonce each time, and the purpose bound to the text, so that what was sealed for one
//! is not opened for another. The key comes from `store.key`, else from a file beside the SQLite database, made on
//! first use and for its owner's eyes only. Absent on purpose: changing the key, wiping memory, and anything that
//! would show a key or a plain text: nothing here has `Debug`, and no error repeats what it met.

mod file;

use std::path::PathBuf;
use std::sync::OnceLock;

use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use hmac::{Hmac, Mac};
use sha2::Sha256;

use crate::config::secret::Secret;
use crate::config::{Store, StoreUrl};
use crate::hex;

/// How long the key is.
const KEY_BYTES: usize = 32;
/// How long a nonce is: long enough that random ones never meet.
const NONCE_BYTES: usize = 24;
/// What the first byte of everything sealed says, so that another way to seal can be told from this one.
const VERSION: u8 = 1;

type Key = [u8; KEY_BYTES];

/// Why something was not sealed or not opened.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    /// Nobody said where the key is.
    #[error(
        "there is no key to encrypt with: set store.key, the same on every machine that uses this database; \
         `openssl rand -hex 32` makes one"
    )]
    NoKey,
    /// `store.key` is no key.
    #[error("store.key must be {KEY_BYTES} bytes, as {} hexadecimal digits", 2 * KEY_BYTES)]
    BadKey,
    /// The file that is to hold the key does not.
    #[error("{} holds no key ({KEY_BYTES} bytes, as {} hexadecimal digits)", path.display(), 2 * KEY_BYTES)]
    BadFile {
        /// Which file.
        path: PathBuf,
    },
    /// Others can read the key.
    #[error(
        "{shown} can be read by others (mode {mode:o}): `chmod 600 {shown}`, and set all keys anew if somebody may \
         have read it",
        shown = path.display()
    )]
    Exposed {
        /// Which file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// Something is sealed, but its key is gone.
    #[error(
        "{} is missing, and what was encrypted with the key in it cannot be read: put it back, or set all keys anew",
        path.display()
    )]
    Missing {
        /// Which file.
        path: PathBuf,
    },
    /// The file cannot be read or written.
    #[error("{} cannot be {what}: {source}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What was tried.
        what: &'static str,
        /// What the system says.
        source: std::io::Error,
    },
    /// The system gives no random bytes.
    #[error("the system gives no random bytes")]
    NoChance,
    /// What was sealed is damaged, or was sealed with another key.
    #[error("it was encrypted with another key, or is damaged")]
    Unopened,
    /// What was sealed was sealed by a newer gleaner.
    #[error("it was encrypted in a way that this version of gleaner does not know (number {0})")]
    UnknownVersion(u8),
}

/// Where the key is.
enum Place {
    Given(Secret),
    File(PathBuf),
    Nowhere,
}

/// Seals and opens. The key is looked for when it is first needed.
pub struct Vault {
    place: Place,
    key: OnceLock<Key>,
}

impl Vault {
    /// The vault of a store. Nothing is read or made yet.
    pub fn of(store: &Store) -> Self {
        let place = match (&store.key, &store.url) {
            (Some(key), _) => Place::Given(key.clone()),
            (None, StoreUrl::Sqlite(database)) => {
                let mut name = database.as_os_str().to_owned();
                name.push(".key");
                Place::File(name.into())
            }
            (None, StoreUrl::Postgres(_)) => Place::Nowhere,
        };
        Self { place, key: OnceLock::new() }
    }

    /// Encrypts a text for a purpose; the key is made where there is none yet.
    pub fn seal(&self, purpose: &str, text: &[u8]) -> Result<Vec<u8>, VaultError> {
        let cipher = XChaCha20Poly1305::new(self.key(true)?.into());
        let nonce: [u8; NONCE_BYTES] = random()?;
        let payload = Payload { msg: text, aad: purpose.as_bytes() };
        // The only way for this to fail is a text of many gigabytes.
        let sealed = cipher.encrypt(&XNonce::from(nonce), payload).map_err(|_| VaultError::Unopened)?;
        Ok([&[VERSION][..], &nonce, &sealed].concat())
    }

    /// Decrypts what was sealed for this purpose.
    pub fn open(&self, purpose: &str, sealed: &[u8]) -> Result<Vec<u8>, VaultError> {
        let (version, rest) = sealed.split_first().ok_or(VaultError::Unopened)?;
        if *version != VERSION {
            return Err(VaultError::UnknownVersion(*version));
        }
        let (nonce, text) = rest.split_first_chunk::<NONCE_BYTES>().ok_or(VaultError::Unopened)?;
        let payload = Payload { msg: text, aad: purpose.as_bytes() };
        let cipher = XChaCha20Poly1305::new(self.key(false)?.into());
        cipher.decrypt(&XNonce::from(*nonce), payload).map_err(|_| VaultError::Unopened)
    }

    /// A key for something else, from which nobody learns the vault's; it is made where there is none yet.
    pub fn derive(&self, purpose: &str) -> Result<[u8; KEY_BYTES], VaultError> {
        // Any length of key will do for this.
        let mut mac = Hmac::<Sha256>::new_from_slice(self.key(true)?).map_err(|_| VaultError::BadKey)?;
        mac.update(purpose.as_bytes());
        Ok(mac.finalize().into_bytes().into())
    }

    /// Whether the key is there and can be used; where it is still to be made, it is not.
    pub fn is_there(&self) -> Result<bool, VaultError> {
        match self.key(false) {
            Ok(_) => Ok(true),
            Err(VaultError::Missing { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The file that holds the key, if a file does.
    pub fn file(&self) -> Option<&std::path::Path> {
        match &self.place {
            Place::File(path) => Some(path),
            Place::Given(_) | Place::Nowhere => None,
        }
    }

    /// The key that is there or, where `make` says so, may be made. A failure is not kept: somebody may have put it
    /// right.
    fn key(&self, make: bool) -> Result<&Key, VaultError> {
        if let Some(key) = self.key.get() {
            return Ok(key);
        }
        let key = match &self.place {
            Place::Given(text) => key_of(text.expose()).ok_or(VaultError::BadKey)?,
            Place::File(path) => match file::read(path)? {
                Some(key) => key,
                None if make => file::create(path)?,
                None => return Err(VaultError::Missing { path: path.clone() }),
            },
            Place::Nowhere => return Err(VaultError::NoKey),
        };
        Ok(self.key.get_or_init(|| key))
    }
}

/// Random bytes from the system, as TLS takes them.
pub fn random<const N: usize>() -> Result<[u8; N], VaultError> {
    let mut bytes = [0; N];
    let chance = rustls::crypto::ring::default_provider().secure_random;
    chance.fill(&mut bytes).map_err(|_| VaultError::NoChance)?;
    Ok(bytes)
}

/// A key from its digits.
fn key_of(digits: &str) -> Option<Key> {
    hex::decode(digits.trim())?.try_into().ok()
}

#[cfg(test)]
mod tests;
