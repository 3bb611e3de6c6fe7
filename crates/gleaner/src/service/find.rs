//! Adding what a URL turns out to be: the feed itself, or the feed that a page names.

use gleaner_core::link;
use gleaner_core::source::Kind;

use super::trial::look;
use super::{By, Checks, Credential, Scope, ServiceError, Source, SourceFields, Trial};
use crate::source_fields::LONGEST_TEXT;

impl By<'_> {
    /// Looks at a URL and says what would be found; nothing is stored.
    pub async fn try_url(&self, url: &str, backfill: bool) -> Result<Trial, ServiceError> {
        // It makes this machine ask another, which is no reading.
        self.actor.must(Scope::Write)?;
        look(&self.config, &self.fetcher()?, self.clock.now(), url, backfill, None).await
    }

    async fn look(&self, url: &str, credential: Option<Credential>) -> Result<Trial, ServiceError> {
        look(&self.config, &self.fetcher()?, self.clock.now(), url, true, credential).await
    }

    /// Looks at a URL and adds what it is: the feed itself, by its title, or the feed that a page names. Where a page
    /// names several, they are offered. One that cannot be reached now is added all the same, since it may be later; the
    /// note says so. `checks` has what is wrong with the fields already.
    pub async fn find_source(
        &self,
        fields: SourceFields,
        checks: Checks,
    ) -> Result<(Source, Option<String>), ServiceError> {
        self.actor.must(Scope::Write)?;
        let url = match (&fields.url, fields.kind.unwrap_or(Kind::Feed)) {
            (Some(url), Kind::Feed) if !checks.has("kind") => url.clone(),
            _ => return Ok((self.create_source(&fields, checks).await?, None)),
        };
        let credential = fields.credential.clone().flatten();
        match self.look(&url, credential.clone()).await {
            Ok(trial) => {
                let was_page = !trial.feeds.is_empty();
                let mut fields = found(fields, &url, trial)?;
                if was_page && fields.name.is_none() {
                    let title = self.own_title(fields.url.as_deref(), credential).await;
                    fields.name = title.map(|title| Some(as_name(&title)));
                }
                Ok((self.create_source(&fields, checks).await?, None))
            }
            Err(ServiceError::Unreachable { why, .. }) => {
                let note = format!("it cannot be read now ({why}); it will be tried again and again");
                Ok((self.create_source(&fields, checks).await?, Some(note)))
            }
            Err(error) => Err(error),
        }
    }

    /// What a feed calls itself; pages often call it no more than "RSS". Where it cannot be read now, nothing.
    async fn own_title(&self, url: Option<&str>, credential: Option<Credential>) -> Option<String> {
        self.look(url?, credential).await.ok()?.title
    }
}

/// A feed's title as a name: no longer than a name may be, and of characters that every database holds.
fn as_name(title: &str) -> String {
    title.chars().filter(|c| *c != '\0').take(LONGEST_TEXT).collect()
}

/// Scheme, host and port.
fn origin(url: &str) -> Option<String> {
    link::source_url(url).ok().map(|url| url.origin().ascii_serialization())
}

/// The fields of what was found.
fn found(fields: SourceFields, url: &str, trial: Trial) -> Result<SourceFields, ServiceError> {
    if trial.feeds.is_empty() {
        let name = fields.name.or_else(|| trial.title.map(|title| Some(as_name(&title))));
        return Ok(SourceFields { name, ..fields });
    }
    let articles: Vec<&str> =
        trial.feeds.iter().filter(|feed| !feed.of_comments).map(|feed| feed.url.as_str()).collect();
    match articles[..] {
        // The credential was given for the page's host, and a page must not direct it to another.
        [feed] if fields.credential.as_ref().is_some_and(Option::is_some) && origin(feed) != origin(url) => {
            let message =
                format!("{url} names the feed {feed}, which is not of the same origin; add that itself");
            Err(ServiceError::invalid("credential", message))
        }
        [feed] => Ok(SourceFields { url: Some(feed.to_owned()), ..fields }),
        _ => {
            let all = trial.feeds.iter().map(|feed| feed.url.as_str()).collect::<Vec<_>>().join("\n  ");
            let message = format!("{url} is a page that names several feeds; add one of them:\n  {all}");
            Err(ServiceError::invalid("url", message))
        }
    }
}
