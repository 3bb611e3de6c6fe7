//! Resolves host names, and checks the addresses.
//!
//! One address that is not allowed blocks the whole name, so that a name with changing answers is either blocked or
//! reached; and the addresses returned are exactly those that were checked.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use gleaner_core::classify::{Fault, Phase};
use gleaner_core::time::Span;
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{
    ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts,
};
use hickory_resolver::lookup::Lookup;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::rr::{Name, RecordType};
use reqwest::dns::{Addrs, Resolve, Resolving};
use tokio::time::Instant;

use super::client::NetworkOverrides;
use super::fault::FaultError;
use super::guard::AllowedNetworks;

/// How long to wait for the second address family after the first has answered: some name servers never answer for
/// a family that a name does not have.
const SECOND_FAMILY_WAIT: Duration = Duration::from_millis(300);

/// Maximum cache time of an answer, whatever its TTL, so that moves are noticed within an hour.
const MAX_POSITIVE_TTL: Duration = Duration::from_secs(3600);

/// The same for negative answers, so that a newly registered name is found soon.
const MAX_NEGATIVE_TTL: Duration = Duration::from_secs(60);

#[derive(Clone)]
pub(super) struct Resolver {
    inner: Arc<TokioResolver>,
    /// The only names that exist; if empty, `inner` is used.
    names: Arc<BTreeMap<String, SocketAddr>>,
    allow: Arc<AllowedNetworks>,
    limit: Span,
    /// The proxy's own host, which the configuration trusts.
    trusted_host: Option<Arc<str>>,
}

impl Resolver {
    /// Uses the overriding name server or those of the system; with fixed names, none.
    pub(super) fn new(
        network_overrides: &NetworkOverrides,
        allow: Arc<AllowedNetworks>,
        limit: Span,
        trusted_host: Option<&str>,
    ) -> Result<Self, NetError> {
        let mut builder = match network_overrides.name_server {
            // With fixed names no name server is needed, and the system may have none.
            None if !network_overrides.names.is_empty() => {
                let no_servers = ResolverConfig::from_parts(None, Vec::new(), Vec::new());
                TokioResolver::builder_with_config(no_servers, TokioRuntimeProvider::default())
            }
            Some(address) => {
                TokioResolver::builder_with_config(single_server(address), TokioRuntimeProvider::default())
            }
            None => TokioResolver::builder_tokio()?,
        };
        let options = builder.options_mut();
        set_limits(options, limit);
        if network_overrides.name_server.is_some() {
            options.use_hosts_file = ResolveHosts::Never;
        }
        let (inner, names) = (Arc::new(builder.build()?), Arc::new(network_overrides.names.clone()));
        Ok(Self { inner, names, allow, limit, trusted_host: trusted_host.map(Arc::from) })
    }

    /// The addresses of a name, all of them allowed.
    pub(super) async fn checked_addresses(&self, host: &str) -> Result<Vec<IpAddr>, Fault> {
        let found = self.addresses(host).await?;
        if self.trusted_host.as_deref() != Some(host) {
            for ip in &found {
                self.allow.check(*ip).map_err(|why| Fault::Blocked(format!("{host}: {why}")))?;
            }
        }
        Ok(found)
    }

    /// All addresses of a name, of both families.
    async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, Fault> {
        if !self.names.is_empty() {
            let found = self.names.get(host).map(|address| vec![address.ip()]);
            return found.ok_or_else(|| Fault::NoSuchHost(host.to_owned()));
        }
        // Absolute, so that the system's search domains are never appended.
        let Ok(name) = Name::from_ascii(format!("{}.", host.trim_end_matches('.'))) else {
            return Err(Fault::NoSuchHost(host.to_owned()));
        };
        let v4 = self.inner.lookup(name.clone(), RecordType::A);
        let v6 = self.inner.lookup(name, RecordType::AAAA);
        let end = Instant::now() + Duration::from_millis(self.limit.as_millis());
        let deadline = tokio::time::sleep_until(end);
        tokio::pin!(v4, v6, deadline);
        let (mut first, mut second) = (None, None);
        while first.is_none() || second.is_none() {
            let answer = tokio::select! {
                answer = &mut v4, if first.is_none() => first.insert(answer),
                answer = &mut v6, if second.is_none() => second.insert(answer),
                () = &mut deadline => break,
            };
            if answer.as_ref().is_ok_and(|answer| ips(answer).next().is_some()) {
                deadline.as_mut().reset(end.min(Instant::now() + SECOND_FAMILY_WAIT));
            }
        }
        let answers: Vec<_> = [first, second].into_iter().flatten().collect();
        let found: Vec<IpAddr> = answers.iter().flatten().flat_map(ips).collect();
        if found.is_empty() { Err(self.failure(host, &answers)) } else { Ok(found) }
    }

    /// Why there is no address. A name does not exist if a server says so, or has no records in both families;
    /// silence of one family proves nothing.
    fn failure(&self, host: &str, answers: &[Result<Lookup, NetError>]) -> Fault {
        let absent = |answer: &&Result<Lookup, NetError>| match answer {
            Ok(_) => true,
            Err(error) => error.is_no_records_found(),
        };
        if answers.iter().any(|answer| answer.as_ref().is_err_and(NetError::is_nx_domain)) {
            return Fault::NoSuchHost(host.to_owned());
        }
        match answers.iter().find(|answer| !absent(answer)) {
            None if answers.len() == 2 => Fault::NoSuchHost(host.to_owned()),
            None | Some(Err(NetError::Timeout)) | Some(Ok(_)) => {
                Fault::Timeout { phase: Phase::Resolve, limit: self.limit }
            }
            Some(Err(NetError::Dns(DnsError::ResponseCode(code)))) => {
                Fault::ResolverUnavailable(format!("{host}: the name server says {code}"))
            }
            Some(Err(_)) => Fault::ResolverUnavailable(format!("{host}: the name server does not answer")),
        }
    }
}

fn ips(answer: &Lookup) -> impl Iterator<Item = IpAddr> {
    answer.answers().iter().filter_map(|record| record.data.ip_addr())
}

fn single_server(address: SocketAddr) -> ResolverConfig {
    let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()].map(|mut connection| {
        connection.port = address.port();
        connection
    });
    let server = NameServerConfig::new(address.ip(), true, connections.to_vec());
    ResolverConfig::from_parts(None, Vec::new(), vec![server])
}

fn set_limits(options: &mut ResolverOpts, limit: Span) {
    // Three attempts would exceed the limit, so a lost packet costs one attempt and the limit is enforced here.
    options.timeout = Duration::from_millis(limit.as_millis().saturating_mul(2) / 5);
    options.attempts = 2;
    options.positive_max_ttl = Some(MAX_POSITIVE_TTL);
    options.negative_max_ttl = Some(MAX_NEGATIVE_TTL);
}

impl Resolve for Resolver {
    fn resolve(&self, name: reqwest::dns::Name) -> Resolving {
        let this = self.clone();
        Box::pin(async move {
            let found = this.checked_addresses(name.as_str()).await.map_err(FaultError)?;
            // Port 0 means the URL's port.
            let port = this.names.get(name.as_str()).map_or(0, SocketAddr::port);
            let addresses: Addrs = Box::new(found.into_iter().map(move |ip| SocketAddr::new(ip, port)));
            Ok(addresses)
        })
    }
}
