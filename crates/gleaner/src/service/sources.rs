//! Adding and listing sources.

use gleaner_core::link;
use gleaner_core::schedule::first_poll;
use gleaner_core::source::{Interval, Kind};
use gleaner_core::time::Span;

use super::{By, Scope, ServiceError, try_url};
use crate::engine::host_key;
use crate::fetch::guard::{self, Allow};
use crate::read::links;
use crate::store::{self, Created, Source, SourceFilter, SourceSettings};

/// A source as a person asks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSource {
    /// What is to be polled.
    pub url: String,
    /// What it is.
    pub kind: Kind,
    /// What people call it.
    pub name: Option<String>,
    /// The collection by its name; none: the default one.
    pub collection: Option<String>,
    /// How often it is polled.
    pub interval: Interval,
    /// The pause after it.
    pub poll_delay: Option<Span>,
    /// Which links of a watchlist are followed.
    pub article_selector: Option<String>,
    /// What of a website always changes and is left out.
    pub ignore_selector: Option<String>,
    /// Whether each new entry's page is fetched.
    pub full_content: bool,
    /// Whether robots.txt is not asked.
    pub ignore_robots: bool,
    /// Its own policy.
    pub policy: Option<String>,
    /// Whether the first poll stores old entries too.
    pub backfill: bool,
    /// Polled at once, as a person who adds one expects; else at a random point within its first interval.
    pub at_once: bool,
}

impl NewSource {
    /// A feed that a person adds by hand.
    pub fn feed(url: impl Into<String>) -> Self {
        Self::new(Kind::Feed, url)
    }

    /// A source of this kind that a person adds by hand.
    pub fn new(kind: Kind, url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            kind,
            name: None,
            collection: None,
            interval: Interval::Default,
            poll_delay: None,
            article_selector: None,
            ignore_selector: None,
            full_content: false,
            ignore_robots: false,
            policy: None,
            backfill: true,
            at_once: true,
        }
    }
}

/// What became of a source to be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Added {
    /// Its id.
    pub id: i64,
    /// Whether it is new; else the collection had it already.
    pub is_new: bool,
    /// Its URL; where the one given was a page, that of the feed which the page names.
    pub url: String,
    /// What could not be found out about it, though it was added.
    pub note: Option<String>,
}

impl By<'_> {
    /// Looks at a URL and adds what it is: the feed itself, by its title, or the feed that a page names. Where a page
    /// names several, they are offered. One that cannot be reached now is added all the same, since it may be later.
    pub async fn add_found(&self, new: &NewSource) -> Result<Added, ServiceError> {
        if new.kind != Kind::Feed {
            return self.add(new).await;
        }
        match try_url(&self.config, &new.url).await {
            Ok(trial) if trial.feeds.is_empty() => {
                self.add(&NewSource { name: new.name.clone().or(trial.title), ..new.clone() }).await
            }
            Ok(trial) => {
                let all = trial.feeds.iter();
                match &all.clone().filter(|feed| !feed.of_comments).collect::<Vec<_>>()[..] {
                    [feed] => self.add(&NewSource { url: feed.url.clone(), ..new.clone() }).await,
                    _ => Err(ServiceError::invalid(
                        "url",
                        format!(
                            "{} is a page that names several feeds; add one of them:\n  {}",
                            new.url,
                            all.map(|feed| feed.url.as_str()).collect::<Vec<_>>().join("\n  ")
                        ),
                    )),
                }
            }
            Err(ServiceError::Unreachable { why, .. }) => {
                let note = Some(format!("it cannot be read now ({why}); it will be tried again and again"));
                Ok(Added { note, ..self.add(new).await? })
            }
            Err(error) => Err(error),
        }
    }

    /// Adds a source as it is given.
    pub async fn add(&self, new: &NewSource) -> Result<Added, ServiceError> {
        self.actor.must(Scope::Write)?;
        let url = match new.kind {
            Kind::X => gleaner_core::x::timeline_url(&new.url)?,
            Kind::Feed | Kind::Website | Kind::Watchlist => link::source_url(&new.url)?,
        };
        let allow = Allow::new(self.config.fetch.allow_private_networks.clone());
        guard::check_url(&url, &allow).map_err(|refused| {
            ServiceError::invalid(
                "url",
                format!("{url} cannot be polled: {refused}; fetch.allow_private_networks opens networks"),
            )
        })?;
        self.check_policy(new.policy.as_deref())?;
        for selector in [&new.article_selector, &new.ignore_selector].into_iter().flatten() {
            links::check_selector(selector).map_err(|why| ServiceError::invalid("selector", why))?;
        }
        let collection_id = self.collection_id(new.collection.as_deref().unwrap_or("default")).await?;
        let now = self.clock.now();
        let interval = new.interval.resolve(self.config.source.poll_interval);
        let next_poll_at = if new.at_once { now } else { first_poll(now, interval, self.chance.jitter()).at };
        let source = store::NewSource {
            canonical_url: link::canonical(url.as_str()),
            host: host_key(&self.config, new.kind, url.as_str()),
            next_poll_at,
            settings: SourceSettings {
                kind: new.kind,
                name: new.name.clone(),
                interval: new.interval,
                poll_delay: new.poll_delay,
                article_selector: new.article_selector.clone(),
                ignore_selector: new.ignore_selector.clone(),
                full_content: new.full_content,
                ignore_robots: new.ignore_robots,
                backfill: new.backfill,
                policy: new.policy.clone(),
                ..SourceSettings::feed(collection_id, url.as_str())
            },
        };
        let created = self.store.create_sources(&[source], now).await?;
        let created = created.first().copied().unwrap_or(Created::Exists(0));
        let is_new = matches!(created, Created::New(_));
        Ok(Added { id: created.id(), is_new, url: url.to_string(), note: None })
    }

    /// Lists sources.
    pub async fn list(
        &self,
        filter: &SourceFilter,
        after: Option<i64>,
        limit: u32,
    ) -> Result<Vec<Source>, ServiceError> {
        self.actor.must(Scope::Read)?;
        Ok(self.store.sources(filter, after, limit).await?)
    }

    fn check_policy(&self, name: Option<&str>) -> Result<(), ServiceError> {
        match name {
            Some(name) if !self.config.policies.contains_key(name) => {
                let names = self.config.policies.keys().cloned().collect::<Vec<_>>().join(", ");
                Err(ServiceError::invalid(
                    "policy",
                    format!("there is no policy '{name}'; there are {names}"),
                ))
            }
            _ => Ok(()),
        }
    }

    async fn collection_id(&self, name: &str) -> Result<i64, ServiceError> {
        let collections = self.store.collections().await?;
        collections
            .iter()
            .find(|collection| collection.name == name)
            .map(|collection| collection.id)
            .ok_or_else(|| {
                let names = collections.iter().map(|one| one.name.as_str()).collect::<Vec<_>>().join(", ");
                ServiceError::invalid(
                    "collection",
                    format!("there is no collection '{name}'; there are {names}"),
                )
            })
    }
}
