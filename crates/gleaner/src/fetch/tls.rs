//! TLS configuration: trusted roots, and the time at which certificates are verified.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use gleaner_core::time::Time;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{ClientConfig, RootCertStore};

/// The `now` of the latest fetch: certificates are verified with the same clock as everything else.
#[derive(Debug, Default)]
pub(super) struct CertificateClock(AtomicI64);

impl CertificateClock {
    pub(super) fn set(&self, now: Time) {
        self.0.store(now.as_millis(), Ordering::Relaxed);
    }
}

impl TimeProvider for CertificateClock {
    fn current_time(&self) -> Option<UnixTime> {
        let ms = u64::try_from(self.0.load(Ordering::Relaxed)).ok()?;
        Some(UnixTime::since_unix_epoch(Duration::from_millis(ms)))
    }
}

/// Trusts Mozilla's roots and `extra`; offers HTTP/2.
pub(super) fn config(
    extra: &[CertificateDer<'static>],
    now: Arc<CertificateClock>,
) -> Result<ClientConfig, rustls::Error> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    for root in extra {
        roots.add(root.clone())?;
    }
    // Passed explicitly: only the binary may install a process-wide provider.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_details(provider, now)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}
