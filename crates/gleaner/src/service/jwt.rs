//! Access tokens: JSON Web Tokens with one algorithm, an issuer, an audience and an end.
//!
//! The library checks claims and never learns another algorithm than HMAC-SHA-256: its provider of cryptography is
//! replaced by the one here, so that a token cannot choose. Absent on purpose: public keys, and trust in anything
//! that a token says beyond its id: whose it is and what it grants is read from the database.

use std::sync::Once;

use gleaner_core::time::Time;
use hmac::{Hmac, KeyInit, Mac};
use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{ErrorKind, Result};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, encode};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use signature::{Error, Signer, Verifier};

const ISSUER: &str = "gleaner";
const AUDIENCE: &str = "gleaner-api";

/// What a token says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Claims {
    iss: String,
    aud: String,
    /// The user's name, for whoever looks into it.
    sub: String,
    /// What it is found by.
    jti: String,
    iat: i64,
    exp: i64,
}

/// Makes a token that is found by this id.
pub fn sign(key: &[u8], id: &str, user: &str, now: Time, ends: Time) -> Result<String> {
    install();
    let seconds = |time: Time| time.as_millis() / 1000;
    let claims = Claims {
        iss: ISSUER.to_owned(),
        aud: AUDIENCE.to_owned(),
        sub: user.to_owned(),
        jti: id.to_owned(),
        iat: seconds(now),
        exp: seconds(ends),
    };
    encode(&Header::new(Algorithm::HS256), &claims, &EncodingKey::from_secret(key))
}

/// The id of a token that is ours and has not ended.
pub fn verify(key: &[u8], token: &str, now: Time) -> Result<String> {
    install();
    let mut rules = Validation::new(Algorithm::HS256);
    rules.set_issuer(&[ISSUER]);
    rules.set_audience(&[AUDIENCE]);
    rules.set_required_spec_claims(&["exp", "iss", "aud"]);
    // Our own clock says when it has ended.
    rules.validate_exp = false;
    let claims = decode::<Claims>(token, &DecodingKey::from_secret(key), &rules)?.claims;
    if claims.exp.saturating_mul(1000) <= now.as_millis() {
        return Err(ErrorKind::ExpiredSignature.into());
    }
    Ok(claims.jti)
}

/// HMAC-SHA-256 over a key.
struct Hs256(Hmac<Sha256>);

impl Hs256 {
    fn new(algorithm: Algorithm, key: &[u8]) -> Result<Self> {
        let mac = Hmac::new_from_slice(key).map_err(|_| ErrorKind::InvalidKeyFormat)?;
        if algorithm == Algorithm::HS256 { Ok(Self(mac)) } else { Err(ErrorKind::InvalidAlgorithm.into()) }
    }
}

impl Signer<Vec<u8>> for Hs256 {
    fn try_sign(&self, message: &[u8]) -> std::result::Result<Vec<u8>, Error> {
        Ok(self.0.clone().chain_update(message).finalize().into_bytes().to_vec())
    }
}

impl JwtSigner for Hs256 {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}

impl Verifier<Vec<u8>> for Hs256 {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Error> {
        self.0.clone().chain_update(message).verify_slice(signature).map_err(|_| Error::new())
    }
}

impl JwtVerifier for Hs256 {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |algorithm, key| Ok(Box::new(Hs256::new(*algorithm, key.as_bytes())?)),
    verifier_factory: |algorithm, key| Ok(Box::new(Hs256::new(*algorithm, key.try_get_as_bytes()?)?)),
    key_utils: KeyUtils::new_unimplemented(),
};

/// Tells the library how to sign, once.
fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // Nobody else in this process would.
        let _ = PROVIDER.install_default();
    });
}

#[cfg(test)]
mod tests {
    use gleaner_core::time::Span;

    use super::*;

    const KEY: &[u8] = b"a key of some thirty-two bytes...";

    fn now() -> Time {
        Time::from_millis(1_800_000_000_000)
    }

    #[test]
    fn a_token_is_good_until_its_end() {
        let token = sign(KEY, "id", "ada", now(), now() + Span::from_hours(1)).unwrap();
        assert_eq!(verify(KEY, &token, now()).unwrap(), "id");
        assert_eq!(verify(KEY, &token, now() + Span::from_mins(59)).unwrap(), "id");
        assert!(verify(KEY, &token, now() + Span::from_hours(1)).is_err());
        assert!(verify(b"another key of thirty-two bytes.", &token, now()).is_err());
    }

    #[test]
    fn what_we_did_not_sign_so_is_refused() {
        let claims = |change: &dyn Fn(&mut serde_json::Value)| {
            let mut claims = serde_json::json!({ "iss": ISSUER, "aud": AUDIENCE, "sub": "a", "jti": "id",
                "iat": 1_800_000_000, "exp": 1_900_000_000 });
            change(&mut claims);
            install();
            encode(&Header::new(Algorithm::HS256), &claims, &EncodingKey::from_secret(KEY)).unwrap()
        };
        assert_eq!(verify(KEY, &claims(&|_| {}), now()).unwrap(), "id");
        for (field, value) in [("iss", "x"), ("aud", "x")] {
            assert!(verify(KEY, &claims(&|claims| claims[field] = value.into()), now()).is_err(), "{field}");
        }
        for field in ["iss", "aud", "exp", "jti"] {
            let without = claims(&|claims| {
                claims.as_object_mut().unwrap().remove(field);
            });
            assert!(verify(KEY, &without, now()).is_err(), "without {field}");
        }
        let good = claims(&|_| {});
        let parts: Vec<&str> = good.split('.').collect();
        // {"alg":"none"}, {"alg":"HS512"} and {"alg":"RS256"}.
        for header in ["eyJhbGciOiJub25lIn0", "eyJhbGciOiJIUzUxMiJ9", "eyJhbGciOiJSUzI1NiJ9"] {
            for signature in [parts[2], ""] {
                assert!(verify(KEY, &format!("{header}.{}.{signature}", parts[1]), now()).is_err());
            }
        }
        for token in ["", ".", "..", "a.b.c", &good[..good.len() - 1], "\0"] {
            assert!(verify(KEY, token, now()).is_err(), "{token}");
        }
    }
}
