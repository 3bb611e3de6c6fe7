//! Whom we trust, and what time it is when a certificate is judged.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use gleaner_core::time::Time;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{ClientConfig, RootCertStore};

/// The newest `now` that a fetch brought: certificates are judged by the clock that all else goes by.
#[derive(Debug, Default)]
pub(super) struct Now(AtomicI64);

impl Now {
    pub(super) fn set(&self, now: Time) {
        self.0.store(now.as_millis(), Ordering::Relaxed);
    }
}

impl TimeProvider for Now {
    fn current_time(&self) -> Option<UnixTime> {
        let ms = u64::try_from(self.0.load(Ordering::Relaxed)).ok()?;
        Some(UnixTime::since_unix_epoch(Duration::from_millis(ms)))
    }
}

/// Mozilla's roots and these besides; HTTP/2 where the server speaks it.
pub(super) fn config(
    extra: &[CertificateDer<'static>],
    now: Arc<Now>,
) -> Result<ClientConfig, rustls::Error> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    for root in extra {
        roots.add(root.clone())?;
    }
    // Named, not installed: a process-wide provider is nobody's to choose but the binary's.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_details(provider, now)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}
