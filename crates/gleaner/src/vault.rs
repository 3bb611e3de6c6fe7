//! Encrypts keys and credentials at rest: the database alone does not reveal them.
//!
//! XChaCha20-Poly1305 with a random nonce; the purpose is authenticated, so that a ciphertext cannot be used for
//! another purpose. The key comes from `store.key`, or else from a file beside the SQLite database, which is
//! created on first use and readable only by its owner. Not supported: changing the key, and wiping memory. Nothing
//! here implements `Debug`, and no error contains a key or a plain text.

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

const KEY_BYTES: usize = 32;
/// Large enough for random nonces not to collide.
const NONCE_BYTES: usize = 24;
/// The first byte of every ciphertext, to distinguish future formats.
const VERSION: u8 = 1;

type Key = [u8; KEY_BYTES];

/// Why something could not be encrypted or decrypted.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    #[error(
        "there is no key to encrypt with: set store.key, the same on every machine that uses this database; \
         `openssl rand -hex 32` makes one"
    )]
    NoKey,
    #[error("store.key must be {KEY_BYTES} bytes, as {} hexadecimal digits", 2 * KEY_BYTES)]
    BadKey,
    #[error("{} contains no key ({KEY_BYTES} bytes, as {} hexadecimal digits)", path.display(), 2 * KEY_BYTES)]
    BadFile { path: PathBuf },
    #[error(
        "{shown} can be read by others (mode {mode:o}): `chmod 600 {shown}`, and replace all keys if somebody may \
         have read it",
        shown = path.display()
    )]
    Exposed { path: PathBuf, mode: u32 },
    /// Something was encrypted, but the key file is missing.
    #[error(
        "{} is missing, and what was encrypted with the key in it cannot be read: restore it, or set all keys again",
        path.display()
    )]
    Missing { path: PathBuf },
    #[error("{} cannot be {what}: {source}", path.display())]
    File {
        path: PathBuf,
        /// The attempted operation, as a participle.
        what: &'static str,
        source: std::io::Error,
    },
    #[error("the system provides no random bytes")]
    NoRandomBytes,
    #[error("it was encrypted with another key, or is damaged")]
    CannotDecrypt,
    #[error("it was encrypted in a format (number {0}) that this version of gleaner does not support")]
    UnknownVersion(u8),
}

/// Where the key comes from.
enum KeyLocation {
    Configured(Secret),
    File(PathBuf),
    Missing,
}

/// Encrypts and decrypts. The key is loaded on first use.
pub struct Vault {
    location: KeyLocation,
    key: OnceLock<Key>,
}

impl Vault {
    /// Reads and creates nothing yet.
    pub fn for_store(store: &Store) -> Self {
        let location = match (&store.key, &store.url) {
            (Some(key), _) => KeyLocation::Configured(key.clone()),
            (None, StoreUrl::Sqlite(database)) => {
                let mut name = database.as_os_str().to_owned();
                name.push(".key");
                KeyLocation::File(name.into())
            }
            (None, StoreUrl::Postgres(_)) => KeyLocation::Missing,
        };
        Self { location, key: OnceLock::new() }
    }

    /// Encrypts a text for a purpose; creates the key if there is none.
    pub fn seal(&self, purpose: &str, text: &[u8]) -> Result<Vec<u8>, VaultError> {
        let cipher = XChaCha20Poly1305::new(self.key(true)?.into());
        let nonce: [u8; NONCE_BYTES] = random()?;
        let payload = Payload { msg: text, aad: purpose.as_bytes() };
        // This only fails for texts of many gigabytes.
        let sealed = cipher.encrypt(&XNonce::from(nonce), payload).map_err(|_| VaultError::CannotDecrypt)?;
        Ok([&[VERSION][..], &nonce, &sealed].concat())
    }

    /// Decrypts what was encrypted for this purpose.
    pub fn open(&self, purpose: &str, sealed: &[u8]) -> Result<Vec<u8>, VaultError> {
        let (version, rest) = sealed.split_first().ok_or(VaultError::CannotDecrypt)?;
        if *version != VERSION {
            return Err(VaultError::UnknownVersion(*version));
        }
        let (nonce, text) = rest.split_first_chunk::<NONCE_BYTES>().ok_or(VaultError::CannotDecrypt)?;
        let payload = Payload { msg: text, aad: purpose.as_bytes() };
        let cipher = XChaCha20Poly1305::new(self.key(false)?.into());
        cipher.decrypt(&XNonce::from(*nonce), payload).map_err(|_| VaultError::CannotDecrypt)
    }

    /// Derives a key for another purpose, which does not reveal the vault's key; creates that if there is none.
    pub fn derive(&self, purpose: &str) -> Result<[u8; KEY_BYTES], VaultError> {
        // HMAC accepts keys of any length.
        let mut mac = Hmac::<Sha256>::new_from_slice(self.key(true)?).map_err(|_| VaultError::BadKey)?;
        mac.update(purpose.as_bytes());
        Ok(mac.finalize().into_bytes().into())
    }

    /// Whether the key exists and is usable; false if it has not been created yet.
    pub fn has_key(&self) -> Result<bool, VaultError> {
        match self.key(false) {
            Ok(_) => Ok(true),
            Err(VaultError::Missing { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The key file, if the key is in a file.
    pub fn file(&self) -> Option<&std::path::Path> {
        match &self.location {
            KeyLocation::File(path) => Some(path),
            KeyLocation::Configured(_) | KeyLocation::Missing => None,
        }
    }

    /// Loads the key, or creates it if `create`. A failure is not cached, since it may be fixed meanwhile.
    fn key(&self, create: bool) -> Result<&Key, VaultError> {
        if let Some(key) = self.key.get() {
            return Ok(key);
        }
        let key = match &self.location {
            KeyLocation::Configured(text) => parse_key(text.expose()).ok_or(VaultError::BadKey)?,
            KeyLocation::File(path) => match file::read(path)? {
                Some(key) => key,
                None if create => file::create(path)?,
                None => return Err(VaultError::Missing { path: path.clone() }),
            },
            KeyLocation::Missing => return Err(VaultError::NoKey),
        };
        Ok(self.key.get_or_init(|| key))
    }
}

/// Random bytes from the system's generator, as used by TLS.
pub fn random<const N: usize>() -> Result<[u8; N], VaultError> {
    let mut bytes = [0; N];
    let generator = rustls::crypto::ring::default_provider().secure_random;
    generator.fill(&mut bytes).map_err(|_| VaultError::NoRandomBytes)?;
    Ok(bytes)
}

/// Parses a key from hexadecimal digits.
fn parse_key(digits: &str) -> Option<Key> {
    hex::decode(digits.trim())?.try_into().ok()
}

#[cfg(test)]
mod tests;
