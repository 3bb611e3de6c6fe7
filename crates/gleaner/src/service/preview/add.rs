//! Adding what a URL turns out to be: the feed itself, or the feed that a page names.

use gleaner_core::backfill::Backfill;
use gleaner_core::source::Kind;

use super::{Candidate, Preview};
use crate::service::{By, Checks, Scope, ServiceError, Source, SourceFields};

impl By<'_> {
    /// Previews a URL and adds what it is: a feed, with its title, or the one feed that a page names. A page that names several is
    /// refused with their URLs. A URL that cannot be fetched now is added all the same, and the returned note says so. `checks`
    /// has what is wrong with the fields already.
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
        let (fields, note) = match self.preview_url(&url, fields.backfill.unwrap_or(Backfill::All)).await {
            Ok(preview) => found(fields, &url, preview)?,
            Err(ServiceError::Unreachable { url, why }) => {
                let note = format!("it cannot be read now ({why}); polls will keep trying");
                (SourceFields { url: Some(url), ..fields }, Some(note))
            }
            Err(error) => return Err(error),
        };
        Ok((self.create_source(&fields, checks).await?, note))
    }
}

/// The fields of the feed that was found, and what could not be learned about it.
fn found(
    fields: SourceFields,
    url: &str,
    preview: Preview,
) -> Result<(SourceFields, Option<String>), ServiceError> {
    if preview.best.kind == Kind::X {
        return Ok((SourceFields { kind: Some(Kind::X), ..fields }, None));
    }
    let feeds: Vec<Candidate> =
        preview.candidates().filter(|one| one.kind == Kind::Feed && !one.is_comments).collect();
    match &feeds[..] {
        [feed] => {
            let name = fields.name.clone().or(Some(feed.title.clone()));
            let note = (!feed.is_read).then(|| feed.notes.join("; ")).filter(|note| !note.is_empty());
            Ok((SourceFields { url: Some(feed.url.clone()), name, ..fields }, note))
        }
        [] => {
            let why = "it is a page that names no feed; add it with the kind watchlist (an index whose links are followed) or \
                       website (a page whose text changes)";
            Err(ServiceError::Unreadable { url: url.to_owned(), why: why.to_owned() })
        }
        several => {
            let all = several.iter().map(|feed| feed.url.as_str()).collect::<Vec<_>>().join("\n  ");
            let message = format!("{url} is a page that names several feeds; add one of them:\n  {all}");
            Err(ServiceError::invalid("url", message))
        }
    }
}
