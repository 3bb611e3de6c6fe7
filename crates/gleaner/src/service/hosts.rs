//! Who is asked, and by which tables.

use gleaner_core::policy::Policy;

use super::{By, Scope, ServiceError};
use crate::store::Host;

/// A policy, and who goes by it.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyInUse<'a> {
    /// The table.
    pub policy: &'a Policy,
    /// Whether sources that name none go by it.
    pub is_default: bool,
    /// How many sources go by it.
    pub sources: u64,
}

impl By<'_> {
    /// Hosts, by id, after that one; with this text in their name.
    pub async fn hosts(
        &self,
        text: Option<&str>,
        after: Option<i64>,
        limit: u32,
    ) -> Result<Vec<Host>, ServiceError> {
        self.actor.must(Scope::Read)?;
        Ok(self.store.hosts(text, after, limit).await?)
    }

    /// All policies: those that ship first, then those of config by name.
    pub async fn policies(&self) -> Result<Vec<PolicyInUse<'_>>, ServiceError> {
        self.actor.must(Scope::Read)?;
        let uses = self.store.policy_uses().await?;
        let policies = &self.config.policies;
        let default = &self.config.source.policy;
        // A name that config no longer has stands for the default.
        let goes_by = |named: &Option<String>| {
            named.as_ref().filter(|name| policies.contains_key(*name)).unwrap_or(default).clone()
        };
        let own = policies.keys().map(String::as_str).filter(|name| !Policy::NAMES.contains(name));
        let names = Policy::NAMES.into_iter().chain(own);
        let in_use = names.filter_map(|name| policies.get(name)).map(|policy| PolicyInUse {
            policy,
            is_default: policy.name == *default,
            sources: uses
                .iter()
                .filter(|(named, _)| goes_by(named) == policy.name)
                .map(|(_, count)| count)
                .sum(),
        });
        Ok(in_use.collect())
    }

    /// One policy.
    pub async fn policy(&self, name: &str) -> Result<PolicyInUse<'_>, ServiceError> {
        let found = self.policies().await?.into_iter().find(|one| one.policy.name == name);
        found.ok_or_else(|| ServiceError::missing("policy", name))
    }
}
