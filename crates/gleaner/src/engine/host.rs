//! Who asks for a source: the host that work is grouped by.

use gleaner_core::identity::link_key;
use gleaner_core::link;
use gleaner_core::source::Kind;

use crate::config::Config;
use crate::store::HostKey;

/// The host that a source is asked from, by the name that it goes by, and which of its rows: where it may be asked several times at once, they
/// share the work. All timelines on X are asked from its API.
pub fn host_key(config: &Config, kind: Kind, url: &str) -> HostKey {
    let asked = match kind {
        Kind::X => config.x.base_url.as_str(),
        Kind::Feed | Kind::Website | Kind::Watchlist => url,
    };
    let name = config.host_name(&link::host(asked).unwrap_or_default());
    let slots = i64::from(config.source.host_overrides.get(&name).map_or(1, |host| host.concurrency.max(1)));
    let slot = if slots == 1 { 0 } else { link_key(url).rem_euclid(slots) };
    HostKey { slot: u32::try_from(slot).unwrap_or(0), name }
}
