//! Adding what a URL turns out to be: the feed itself, or the feed that a page names.

use gleaner_core::source::Kind;

use super::trial::look;
use super::{By, Checks, Scope, ServiceError, Source, SourceFields, Trial};

impl By<'_> {
    /// Looks at a URL and says what would be found; nothing is stored.
    pub async fn try_url(&self, url: &str, backfill: bool) -> Result<Trial, ServiceError> {
        // It makes this machine ask another, which is no reading.
        self.actor.must(Scope::Write)?;
        look(&self.config, &self.fetcher()?, self.clock.now(), url, backfill).await
    }

    /// The same for whoever may.
    pub(super) async fn look(&self, url: &str) -> Result<Trial, ServiceError> {
        look(&self.config, &self.fetcher()?, self.clock.now(), url, true).await
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
        match self.look(&url).await {
            Ok(trial) => {
                let was_page = !trial.feeds.is_empty();
                let mut fields = found(fields, &url, trial)?;
                if was_page && fields.name.is_none() {
                    fields.name = self.own_title(fields.url.as_deref()).await.map(Some);
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
    async fn own_title(&self, url: Option<&str>) -> Option<String> {
        self.look(url?).await.ok()?.title
    }
}

/// The fields of what was found.
fn found(fields: SourceFields, url: &str, trial: Trial) -> Result<SourceFields, ServiceError> {
    if trial.feeds.is_empty() {
        let name = fields.name.or(Some(trial.title));
        return Ok(SourceFields { name, ..fields });
    }
    let articles: Vec<&str> =
        trial.feeds.iter().filter(|feed| !feed.of_comments).map(|feed| feed.url.as_str()).collect();
    match articles[..] {
        [feed] => Ok(SourceFields { url: Some(feed.to_owned()), ..fields }),
        _ => {
            let all = trial.feeds.iter().map(|feed| feed.url.as_str()).collect::<Vec<_>>().join("\n  ");
            let message = format!("{url} is a page that names several feeds; add one of them:\n  {all}");
            Err(ServiceError::invalid("url", message))
        }
    }
}
