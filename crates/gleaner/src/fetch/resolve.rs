//! Names to addresses, behind the guard.
//!
//! One address that may not be reached refuses the whole name, so that a name which answers now so and now so is
//! refused or reached, never half of each; and the addresses returned are the very ones that were checked.

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

use super::client::Outside;
use super::fault::Carried;
use super::guard::Allow;

/// How long the second family of addresses is waited for once the first is there: some name servers never answer
/// for the family that a name does not have.
const GRACE: Duration = Duration::from_millis(300);

/// The longest that an answer is kept, whatever its time to live; moves are to be noticed within the hour.
const KEPT: Duration = Duration::from_secs(3600);

/// The same for the answer that there is none, so that who registers a name need not wait long.
const KEPT_NONE: Duration = Duration::from_secs(60);

/// Finds the addresses of names.
#[derive(Clone)]
pub(super) struct Resolver {
    inner: Arc<TokioResolver>,
    /// The only names there are; empty: `inner` is asked.
    names: Arc<BTreeMap<String, SocketAddr>>,
    allow: Arc<Allow>,
    limit: Span,
    /// The proxy's own host, which the configuration vouches for.
    trusted: Option<Arc<str>>,
}

impl Resolver {
    /// Asks the name server of outside, or those that the system is configured with; where names are given, nobody.
    pub(super) fn new(
        outside: &Outside,
        allow: Arc<Allow>,
        limit: Span,
        trusted: Option<&str>,
    ) -> Result<Self, NetError> {
        let mut builder = match outside.name_server {
            // With names at hand nobody is asked, and the system need not have name servers at all.
            None if !outside.names.is_empty() => {
                let nobody = ResolverConfig::from_parts(None, Vec::new(), Vec::new());
                TokioResolver::builder_with_config(nobody, TokioRuntimeProvider::default())
            }
            Some(address) => {
                TokioResolver::builder_with_config(only(address), TokioRuntimeProvider::default())
            }
            None => TokioResolver::builder_tokio()?,
        };
        let options = builder.options_mut();
        set_limits(options, limit);
        if outside.name_server.is_some() {
            options.use_hosts_file = ResolveHosts::Never;
        }
        let (inner, names) = (Arc::new(builder.build()?), Arc::new(outside.names.clone()));
        Ok(Self { inner, names, allow, limit, trusted: trusted.map(Arc::from) })
    }

    /// The addresses of a name, all of which may be reached.
    pub(super) async fn guarded(&self, host: &str) -> Result<Vec<IpAddr>, Fault> {
        let found = self.addresses(host).await?;
        if self.trusted.as_deref() != Some(host) {
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
        // Absolute, so that no search domain of this machine is ever appended.
        let Ok(name) = Name::from_ascii(format!("{}.", host.trim_end_matches('.'))) else {
            return Err(Fault::NoSuchHost(host.to_owned()));
        };
        let v4 = self.inner.lookup(name.clone(), RecordType::A);
        let v6 = self.inner.lookup(name, RecordType::AAAA);
        let end = Instant::now() + Duration::from_millis(self.limit.as_millis());
        let patience = tokio::time::sleep_until(end);
        tokio::pin!(v4, v6, patience);
        let (mut first, mut second) = (None, None);
        while first.is_none() || second.is_none() {
            let answer = tokio::select! {
                answer = &mut v4, if first.is_none() => first.insert(answer),
                answer = &mut v6, if second.is_none() => second.insert(answer),
                () = &mut patience => break,
            };
            if answer.as_ref().is_ok_and(|answer| ips(answer).next().is_some()) {
                patience.as_mut().reset(end.min(Instant::now() + GRACE));
            }
        }
        let answers: Vec<_> = [first, second].into_iter().flatten().collect();
        let found: Vec<IpAddr> = answers.iter().flatten().flat_map(ips).collect();
        if found.is_empty() { Err(self.none(host, &answers)) } else { Ok(found) }
    }

    /// Why there is no address. A name is called absent if a server says so, or has nothing in either family; one
    /// family's silence proves nothing.
    fn none(&self, host: &str, answers: &[Result<Lookup, NetError>]) -> Fault {
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

fn only(address: SocketAddr) -> ResolverConfig {
    let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()].map(|mut connection| {
        connection.port = address.port();
        connection
    });
    let server = NameServerConfig::new(address.ip(), true, connections.to_vec());
    ResolverConfig::from_parts(None, Vec::new(), vec![server])
}

fn set_limits(options: &mut ResolverOpts, limit: Span) {
    // Three tries end after the limit, so that a lost packet costs one try and the limit is kept here.
    options.timeout = Duration::from_millis(limit.as_millis().saturating_mul(2) / 5);
    options.attempts = 2;
    options.positive_max_ttl = Some(KEPT);
    options.negative_max_ttl = Some(KEPT_NONE);
}

impl Resolve for Resolver {
    fn resolve(&self, name: reqwest::dns::Name) -> Resolving {
        let this = self.clone();
        Box::pin(async move {
            let found = this.guarded(name.as_str()).await.map_err(Carried)?;
            // Port 0 stands for the URL's.
            let port = this.names.get(name.as_str()).map_or(0, SocketAddr::port);
            let addresses: Addrs = Box::new(found.into_iter().map(move |ip| SocketAddr::new(ip, port)));
            Ok(addresses)
        })
    }
}
