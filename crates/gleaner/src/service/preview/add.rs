//! Adding what a URL turns out to be: the feed itself, or the feed that a page names.

use gleaner_core::backfill::Backfill;
use gleaner_core::link;
use gleaner_core::source::Kind;

use super::{Candidate, Preview};
use crate::service::{By, Checks, Scope, ServiceError, Source, SourceFields};
use crate::source_fields::LONGEST_TEXT;

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
        let (backfill, credential) =
            (fields.backfill.unwrap_or(Backfill::All), fields.credential.clone().flatten());
        let (fields, note) = match self.preview_with(&url, backfill, credential).await {
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

/// A feed's title as a name: no longer than a name may be, and of characters that every database holds.
fn as_name(title: &str) -> String {
    title.chars().filter(|c| *c != '\0').take(LONGEST_TEXT).collect()
}

/// Scheme, host and port.
fn origin(url: &str) -> Option<String> {
    link::source_url(url).ok().map(|url| url.origin().ascii_serialization())
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
        // The credential was given for the page's origin, and a page must not direct it to another.
        [feed]
            if fields.credential.as_ref().is_some_and(Option::is_some)
                && origin(&feed.url) != origin(url) =>
        {
            let feed = &feed.url;
            let message =
                format!("{url} names the feed {feed}, which is not of the same origin; add that URL itself");
            Err(ServiceError::invalid("credential", message))
        }
        [feed] => {
            let title = feed.title.as_deref().map(as_name);
            let name = fields.name.clone().or_else(|| title.map(Some));
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
