//! Decides which URLs and addresses may be fetched: the public internet, and private networks that the
//! configuration allows.
//!
//! Pure. URLs are checked as parsed [`Url`]s, and the same value is requested: the parser has already normalised
//! decimal, octal, hexadecimal, short and full-width addresses. A host name is judged by all its addresses: a
//! single address that is not allowed blocks the name.
//!
//! Behind a proxy, scheme, port, credentials and literal addresses are checked as usual, at each redirect. But an
//! HTTP or `socks5h` proxy resolves names itself, so the addresses of names are for the proxy to check.
//!
//! No host name is refused for its spelling, except `localhost`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use url::{Host, Url};

/// Why a URL or address is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AddressRefused(String);

/// Private networks that may be reached.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AllowedNetworks(Vec<IpNet>);

impl AllowedNetworks {
    pub fn new(networks: impl Into<Vec<IpNet>>) -> Self {
        Self(networks.into())
    }

    /// Checks an address, whether literal, resolved or connected.
    pub fn check(&self, ip: IpAddr) -> Result<(), AddressRefused> {
        match special_purpose(ip) {
            None => Ok(()),
            Some(_) if self.allows(ip) => Ok(()),
            Some(purpose) => Err(AddressRefused(format!("{ip} is {purpose}"))),
        }
    }

    /// Whether an address that is not public is allowed. An address that embeds an IPv4 address is allowed only if
    /// the IPv4 address is too: allowing a translation prefix does not allow the private network behind it.
    fn allows(&self, ip: IpAddr) -> bool {
        let listed = |ip: IpAddr| self.0.iter().any(|network| network.contains(&ip));
        let IpAddr::V6(v6) = ip else { return listed(ip) };
        match (v6.to_ipv4_mapped(), embedded_ipv4(v6)) {
            (Some(v4), _) => listed(v4.into()),
            (None, Some(v4)) => listed(ip) && (is_public(v4.into()) || listed(v4.into())),
            (None, None) => listed(ip),
        }
    }

    fn allows_loopback(&self) -> bool {
        self.allows(Ipv4Addr::LOCALHOST.into()) || self.allows(Ipv6Addr::LOCALHOST.into())
    }
}

/// Checks everything about a URL that needs no name server.
pub fn check_url(url: &Url, allow: &AllowedNetworks) -> Result<(), AddressRefused> {
    let refuse = |why: String| Err(AddressRefused(why));
    if !matches!(url.scheme(), "http" | "https") {
        return refuse(format!("the scheme {} is neither http nor https", url.scheme()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return refuse("the URL has credentials in it".to_owned());
    }
    if let Some(port) = url.port_or_known_default().filter(|port| BLOCKED_PORTS.binary_search(port).is_ok()) {
        return refuse(format!("port {port} is not for the web"));
    }
    match url.host() {
        None => refuse("the URL has no host".to_owned()),
        Some(Host::Ipv4(ip)) => allow.check(ip.into()),
        Some(Host::Ipv6(ip)) => allow.check(ip.into()),
        Some(Host::Domain(name)) if is_localhost(name) && !allow.allows_loopback() => {
            refuse(format!("{name} is this machine"))
        }
        Some(Host::Domain(_)) => Ok(()),
    }
}

fn is_localhost(name: &str) -> bool {
    // Regardless of trailing dots, which the resolver ignores.
    let name = name.trim_end_matches('.');
    // `Url` has lower-cased it.
    name == "localhost" || name.ends_with(".localhost")
}

pub fn is_public(ip: IpAddr) -> bool {
    special_purpose(ip).is_none()
}

/// The special purpose of an address, or `None` if it is public.
fn special_purpose(ip: IpAddr) -> Option<&'static str> {
    match ip {
        IpAddr::V4(ip) => find(u32::from(ip), 32, &SPECIAL_V4),
        IpAddr::V6(ip) => find(u128::from(ip), 128, &SPECIAL_V6).or_else(|| {
            // Only 2000::/3 is allocated for public use.
            (ip.segments()[0] & 0xe000 != 0x2000).then_some("not a public address")
        }),
    }
}

fn find<T: Copy + PartialEq + std::ops::Shr<u32, Output = T>>(
    ip: T,
    bits: u32,
    ranges: &[(T, u32, &'static str)],
) -> Option<&'static str> {
    let within = |(base, length, _): &&(T, u32, &str)| ip >> (bits - length) == *base >> (bits - length);
    ranges.iter().find(within).map(|(_, _, purpose)| *purpose)
}

/// The IPv4 address embedded in an IPv6 address.
fn embedded_ipv4(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, ..] = ip.segments();
    let bits = u128::from(ip);
    // Each cast keeps the relevant 32 bits.
    match (a, b, c) {
        (0, 0, 0) if bits >> 32 == 0 || bits >> 32 == 0xffff => Some(Ipv4Addr::from(bits as u32)),
        (0x64, 0xff9b, _) => Some(Ipv4Addr::from(bits as u32)),
        (0x2002, ..) => Some(Ipv4Addr::from((bits >> 80) as u32)),
        // Teredo stores the client's address with all bits inverted.
        (0x2001, 0, _) => Some(Ipv4Addr::from(!(bits as u32))),
        _ => None,
    }
}

const fn v4(a: u8, b: u8, c: u8, d: u8) -> u32 {
    u32::from_be_bytes([a, b, c, d])
}

const fn v6(a: u16, b: u16, c: u16) -> u128 {
    (a as u128) << 112 | (b as u128) << 96 | (c as u128) << 80
}

/// IANA's special-purpose ranges, and multicast. The few reachable ones serve no documents.
const SPECIAL_V4: [(u32, u32, &str); 23] = [
    (v4(0, 0, 0, 0), 8, "this network"),
    (v4(10, 0, 0, 0), 8, "private"),
    (v4(100, 64, 0, 0), 10, "shared by a carrier's customers"),
    (v4(127, 0, 0, 0), 8, "this machine"),
    (v4(161, 26, 0, 0), 16, "a cloud provider's internal network"),
    (v4(166, 8, 0, 0), 14, "a cloud provider's internal network"),
    (v4(168, 63, 129, 16), 32, "a cloud provider's metadata service"),
    (v4(169, 254, 0, 0), 16, "link-local"),
    (v4(172, 16, 0, 0), 12, "private"),
    (v4(192, 0, 0, 0), 24, "reserved for protocols"),
    (v4(192, 0, 2, 0), 24, "for documentation"),
    (v4(192, 31, 196, 0), 24, "reserved for protocols"),
    (v4(192, 52, 193, 0), 24, "reserved for protocols"),
    (v4(192, 88, 99, 0), 24, "a tunnel"),
    (v4(192, 168, 0, 0), 16, "private"),
    (v4(192, 175, 48, 0), 24, "reserved for protocols"),
    (v4(198, 18, 0, 0), 15, "for benchmarks"),
    (v4(198, 51, 100, 0), 24, "for documentation"),
    (v4(203, 0, 113, 0), 24, "for documentation"),
    (v4(224, 0, 0, 0), 4, "multicast"),
    (v4(233, 252, 0, 0), 24, "for documentation"),
    (v4(255, 255, 255, 255), 32, "broadcast"),
    (v4(240, 0, 0, 0), 4, "reserved"),
];

/// The same for IPv6. Ranges outside 2000::/3 are refused anyway, and are listed for their descriptions.
const SPECIAL_V6: [(u128, u32, &str); 19] = [
    (0, 128, "unspecified"),
    (1, 128, "this machine"),
    (0xffff << 32, 96, "a mapped IPv4 address"),
    (0, 96, "an embedded IPv4 address"),
    (v6(0x64, 0xff9b, 0), 96, "a translated IPv4 address"),
    (v6(0x64, 0xff9b, 1), 48, "a translated IPv4 address"),
    (v6(0x100, 0, 0), 64, "a black hole"),
    (v6(0x2001, 0, 0), 32, "a tunnel"),
    (v6(0x2001, 2, 0), 48, "for benchmarks"),
    (v6(0x2001, 0, 0), 23, "reserved for protocols"),
    (v6(0x2001, 0xdb8, 0), 32, "for documentation"),
    (v6(0x2002, 0, 0), 16, "a tunnel"),
    (v6(0x2620, 0x4f, 0x8000), 48, "reserved for protocols"),
    (v6(0x3ffe, 0, 0), 16, "reserved"),
    (v6(0x3fff, 0, 0), 20, "for documentation"),
    (v6(0x5f00, 0, 0), 16, "reserved for protocols"),
    (v6(0xfc00, 0, 0), 7, "private"),
    (v6(0xfe80, 0, 0), 9, "link-local"),
    (v6(0xff00, 0, 0), 8, "multicast"),
];

/// The ports that browsers refuse, sorted: other protocols listen there, and might take an HTTP request for a
/// command.
const BLOCKED_PORTS: [u16; 83] = [
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103,
    104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514,
    515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723,
    2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
];

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;
