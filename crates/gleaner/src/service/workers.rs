//! The processes that share a database, and what they are called.

use super::Service;
use crate::hex;
use crate::vault::random;

impl Service {
    /// What this process is called among those that use the database: the same never comes again.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// A name for this process: its machine, its number there, and chance, since containers all begin with the same
/// number and may be called the same.
pub(super) fn process_name() -> String {
    let read = |path| std::fs::read_to_string(path).ok().map(|name: String| name.trim().to_owned());
    let host = ["/proc/sys/kernel/hostname", "/etc/hostname"].into_iter().find_map(read);
    let host = host.filter(|host| !host.is_empty()).unwrap_or_else(|| "localhost".to_owned());
    let chance = random::<4>().map(|bytes| hex::encode(&bytes)).unwrap_or_default();
    let short: String = host.chars().take(64).collect();
    format!("{short}.{}.{chance}", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_are_called_the_same() {
        let (one, other) = (process_name(), process_name());
        assert_ne!(one, other);
        assert!(one.contains(&std::process::id().to_string()), "{one}");
    }
}
