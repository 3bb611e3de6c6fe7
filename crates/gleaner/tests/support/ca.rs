//! Certificates of the tests' own, good and bad.
//!
//! ```ignore
//! let ca = Ca::new();
//! let server = Server::start_tls(ca.issue(&["a.test"]).config()).await;
//! let outside = Outside { extra_roots: vec![ca.root()], ..Outside::default() };
//! ```

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// An authority that only those trust who are told to.
pub(crate) struct Ca {
    issuer: Issuer<'static, KeyPair>,
    root: CertificateDer<'static>,
}

/// A certificate and its key.
pub(crate) struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

/// A day: year, month, day.
type Day = (i32, u8, u8);

impl Ca {
    pub(crate) fn new() -> Self {
        Self::named("gleaner's tests")
    }

    /// One of another name; two of the same are still two, as their keys are.
    pub(crate) fn named(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = valid(&[], (2000, 1, 1), (2100, 1, 1));
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root = params.self_signed(&key).unwrap().der().clone();
        Self { issuer: Issuer::new(params, key), root }
    }

    /// The certificate to trust.
    pub(crate) fn root(&self) -> CertificateDer<'static> {
        self.root.clone()
    }

    /// A certificate for these names and addresses, valid in this century.
    pub(crate) fn issue(&self, names: &[&str]) -> Identity {
        self.issue_between(names, (2001, 1, 1), (2099, 1, 1))
    }

    /// One that is valid from one day to another.
    pub(crate) fn issue_between(&self, names: &[&str], from: Day, to: Day) -> Identity {
        let key = KeyPair::generate().unwrap();
        let certificate = valid(names, from, to).signed_by(&key, &self.issuer).unwrap();
        Identity::new(certificate.der().clone(), &key)
    }
}

impl Identity {
    /// A certificate that vouches for itself.
    pub(crate) fn self_signed(names: &[&str]) -> Self {
        let key = KeyPair::generate().unwrap();
        let certificate = valid(names, (2001, 1, 1), (2099, 1, 1)).self_signed(&key).unwrap();
        Self::new(certificate.der().clone(), &key)
    }

    fn new(certificate: CertificateDer<'static>, key: &KeyPair) -> Self {
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        Self { chain: vec![certificate], key }
    }

    /// A server's settings with it; HTTP/1.1 only.
    pub(crate) fn config(self) -> ServerConfig {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(self.chain, self.key)
            .unwrap()
    }

    /// The same for HTTP/2 only.
    pub(crate) fn h2_config(self) -> ServerConfig {
        let mut config = self.config();
        config.alpn_protocols = vec![b"h2".to_vec()];
        config
    }
}

fn valid(names: &[&str], from: Day, to: Day) -> CertificateParams {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.not_before = date_time_ymd(from.0, from.1, from.2);
    params.not_after = date_time_ymd(to.0, to.1, to.2);
    params
}
