//! The tables, who goes by them, and whom their rules hold now.

use gleaner_core::health::Status;
use gleaner_core::outcome::ErrorKind;
use gleaner_core::policy::Policy;

use super::{By, Scope, Service, ServiceError};
use crate::store::PolicyFilter;

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

/// Sources that a rule holds now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldBy {
    /// The policy that they go by.
    pub policy: String,
    /// What their last failure was.
    pub kind: ErrorKind,
    /// What became of them.
    pub status: Status,
    /// How many.
    pub sources: u64,
}

impl Service {
    /// The policy that a source goes by, by the name it names. A name that config no longer has stands for the default.
    fn goes_by_policy<'a>(&'a self, named: Option<&'a str>) -> &'a str {
        let known = named.filter(|name| self.config.policies.contains_key(*name));
        known.unwrap_or(&self.config.source.policy)
    }
}

impl Service {
    /// The sources that go by a policy of that name, as a list is limited to them.
    pub fn who_goes_by(&self, name: &str) -> PolicyFilter {
        let is_default = *name == self.config.source.policy;
        let unless = is_default.then(|| self.config.policies.keys().cloned().collect());
        PolicyFilter { name: name.to_owned(), unless }
    }
}

impl By<'_> {
    /// Whom each rule holds now; up to ten seconds old where there are many.
    pub async fn held_by_rules(&self) -> Result<Vec<HeldBy>, ServiceError> {
        self.actor.must(Scope::Read)?;
        let visibility = self.visibility().await?;
        let count = async { Ok(self.store.held_by_rules(&visibility).await?) };
        let found = self.service.held.or_count(&visibility, count).await?;
        let mut held: Vec<HeldBy> = Vec::new();
        for row in found.iter() {
            let (Ok(kind), policy) = (row.kind.parse(), self.goes_by_policy(row.policy.as_deref())) else {
                continue;
            };
            let same = |one: &&mut HeldBy| (&*one.policy, one.kind, one.status) == (policy, kind, row.status);
            match held.iter_mut().find(same) {
                Some(one) => one.sources += row.sources,
                None => held.push(HeldBy {
                    policy: policy.to_owned(),
                    kind,
                    status: row.status,
                    sources: row.sources,
                }),
            }
        }
        Ok(held)
    }

    /// All policies: those that ship first, then those of config by name.
    pub async fn policies(&self) -> Result<Vec<PolicyInUse<'_>>, ServiceError> {
        self.actor.must(Scope::Read)?;
        let uses = self.store.policy_uses(&self.visibility().await?).await?;
        let policies = &self.config.policies;
        let default = &self.config.source.policy;
        let own = policies.keys().map(String::as_str).filter(|name| !Policy::NAMES.contains(name));
        let names = Policy::NAMES.into_iter().chain(own);
        let in_use = names.filter_map(|name| policies.get(name)).map(|policy| PolicyInUse {
            policy,
            is_default: policy.name == *default,
            sources: uses
                .iter()
                .filter(|(named, _)| self.goes_by_policy(named.as_deref()) == policy.name)
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
