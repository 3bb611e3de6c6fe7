//! The Add page: previews a pasted URL, lets the user choose among its candidates, and adds the chosen one.

use askama::Template;
use axum::extract::{Form, Query};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use gleaner_core::backfill::Backfill;
use gleaner_core::source::Kind;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::form::Sent;
use super::{Oops, Page, Shell, Visit, session, words};
use crate::service::{
    Candidate, Checks, Collection, SameUrl, ServiceError, SourceFields, StoreError, Wrong,
    unreachable_candidates,
};

/// Maximum number of candidates that are read from a form.
const MAX_CANDIDATES: usize = 50;
/// Maximum number of entries that a page shows of a candidate.
pub(super) const PREVIEW_ENTRIES: usize = 20;
/// Maximum number of characters of an entry's text.
pub(super) const PREVIEW_CHARS: usize = 2000;

#[derive(Template)]
#[template(path = "add.html")]
struct AddPage {
    shell: Shell,
    url: String,
    /// Why it cannot be looked at.
    wrong: Option<String>,
    /// What was found; none: nothing was looked at yet.
    found: Option<Found>,
    usual_interval: String,
    collections: Vec<Collection>,
}

/// What was found, and what is to be made of it.
#[derive(Default)]
struct Found {
    candidates: Vec<Candidate>,
    choice: usize,
    name: String,
    collection_id: i64,
    interval: String,
    /// The name of a [`Backfill`].
    backfill: String,
    full_content: bool,
    wrongs: Vec<Wrong>,
    /// The collection has it already, as this source.
    exists: Option<i64>,
    /// Other collections have it.
    also_in: Vec<SameUrl>,
}

impl Found {
    fn wrong(&self, name: &str) -> String {
        let lines = self.wrongs.iter().filter(|wrong| wrong.field == name);
        lines.map(|wrong| words::sentence(&wrong.message)).collect::<Vec<_>>().join("\n")
    }

    fn headline(&self) -> &'static str {
        let feeds = self.candidates.iter().filter(|candidate| candidate.kind == Kind::Feed).count();
        match self.candidates.first().map(|candidate| (candidate.kind, candidate.is_read)) {
            Some((Kind::Feed, true)) if self.candidates.len() == 1 => "It is a feed",
            Some((Kind::Feed, _)) if feeds > 1 => "It is a page that names feeds",
            Some((Kind::Feed, true)) => "It is a page that names a feed",
            Some((Kind::Watchlist, _)) => "It is an index page",
            Some((Kind::Website, _)) => "It is a page",
            Some((Kind::X, _)) => "It is a timeline on X",
            _ => "It could not be read",
        }
    }
}

async fn form(visit: &Visit, url: String) -> Result<AddPage, Oops> {
    Ok(AddPage {
        shell: visit.shell("add"),
        url,
        wrong: None,
        found: None,
        usual_interval: visit.web.service.config().source.poll_interval.as_mins().to_string(),
        collections: visit.by().collections().await?,
    })
}

/// What is in the address: a URL is put into the form, and looked at only when somebody says so.
#[derive(Deserialize)]
pub(super) struct Pasted {
    url: Option<String>,
}

pub(super) async fn page(visit: Visit, Query(pasted): Query<Pasted>) -> Result<Response, Oops> {
    Ok(Page(form(&visit, pasted.url.unwrap_or_default()).await?).into_response())
}

/// Looks at what was pasted; nothing is stored.
pub(super) async fn look(visit: Visit, Form(sent): Form<Sent>) -> Result<Response, Oops> {
    // A feed among those that a page names is looked at by its own button.
    let url = sent.get("look").or_else(|| sent.get("url")).cloned().unwrap_or_default();
    let page = form(&visit, url.clone()).await?;
    let candidates: Vec<Candidate> = match visit.by().preview_url(&url, Backfill::All).await {
        Ok(preview) => preview.candidates().collect(),
        Err(ServiceError::Unreachable { url, why }) => unreachable_candidates(&url, &why),
        Err(
            error @ (ServiceError::Invalid(_)
            | ServiceError::Unreadable { .. }
            | ServiceError::Conflict { .. }),
        ) => {
            let wrong = Some(words::sentence(&error.to_string()));
            // Nothing failed: there is nothing to add at this URL.
            return Ok(Page(AddPage { wrong, ..page }).into_response());
        }
        Err(error) => return Err(error.into()),
    };
    let name = candidates.first().and_then(|candidate| candidate.title.clone()).unwrap_or_default();
    let usual = page.collections.iter().find(|one| one.name == "default").or(page.collections.first());
    let shortened = |candidate: Candidate| candidate.shortened(PREVIEW_ENTRIES, PREVIEW_CHARS);
    let found = Found {
        name,
        collection_id: usual.map_or(0, |one| one.id),
        backfill: Backfill::All.name().to_owned(),
        candidates: candidates.into_iter().map(shortened).collect(),
        ..Found::default()
    };
    Ok(Page(AddPage { found: Some(found), ..page }).into_response())
}

/// Stores what was chosen.
pub(super) async fn save(visit: Visit, Form(sent): Form<Sent>) -> Result<Response, Oops> {
    let mut found = chosen(&sent);
    let Some(candidate) = found.candidates.get(found.choice) else {
        return Err(ServiceError::invalid("choice", "choose what is to be added").into());
    };
    // The name of the first is no name that somebody gave another.
    let given_title = found.candidates.first().and_then(|first| first.title.as_deref()).unwrap_or_default();
    if found.choice > 0 && found.name == given_title {
        found.name = candidate.title.clone().unwrap_or_default();
    }
    let also_in = match sent.contains_key("also") {
        true => Vec::new(),
        false => visit.by().sources_with_url(&candidate.url).await?,
    };
    let is_here = also_in.iter().any(|other| other.collection_id == found.collection_id);
    if !also_in.is_empty() && !is_here {
        let page = form(&visit, sent.get("url").cloned().unwrap_or_default()).await?;
        return Ok(Page(AddPage { found: Some(Found { also_in, ..found }), ..page }).into_response());
    }
    let (fields, checks) = fields(&found, candidate);
    let (status, wrongs, exists) = match visit.by().create_source(&fields, checks).await {
        Ok(source) => {
            let to = format!("/sources/{}", source.id);
            return Ok(session::go(&visit.web, &to, "Added; it is polled at once."));
        }
        Err(ServiceError::Invalid(wrongs)) => (StatusCode::UNPROCESSABLE_ENTITY, wrongs, None),
        Err(ServiceError::Store(StoreError::Duplicate { id, .. })) => (StatusCode::CONFLICT, Vec::new(), id),
        Err(error) => return Err(error.into()),
    };
    let page = form(&visit, sent.get("url").cloned().unwrap_or_default()).await?;
    let found = Some(Found { wrongs, exists, ..found });
    Ok((status, Page(AddPage { found, ..page })).into_response())
}

/// What the form says, with the candidates that it carries along, without their entries.
fn chosen(sent: &Sent) -> Found {
    let text = |name: &str| sent.get(name).map(|text| text.trim().to_owned()).unwrap_or_default();
    let candidate = |n: usize| {
        let (kind, url) = (sent.get(&format!("kind_{n}"))?, sent.get(&format!("url_{n}"))?);
        let title = Some(text(&format!("title_{n}"))).filter(|title| !title.is_empty());
        Some(Candidate { title, ..Candidate::unread(kind.parse().ok()?, url.clone()) })
    };
    Found {
        candidates: (0..MAX_CANDIDATES).map_while(candidate).collect(),
        choice: text("choice").parse().unwrap_or(0),
        name: text("name"),
        collection_id: text("collection_id").parse().unwrap_or(0),
        interval: text("poll_interval_minutes"),
        backfill: Some(text("backfill")).filter(|name| !name.is_empty()).unwrap_or_else(|| "none".to_owned()),
        full_content: sent.contains_key("full_content"),
        ..Found::default()
    }
}

fn fields(found: &Found, candidate: &Candidate) -> (SourceFields, Checks) {
    let interval = match found.interval.as_str() {
        "" => Value::Null,
        text => text.parse::<u64>().map_or_else(|_| text.into(), Value::from),
    };
    let object: Map<String, Value> = [
        ("url", candidate.url.clone().into()),
        ("kind", json!(candidate.kind)),
        ("name", found.name.clone().into()),
        ("collection_id", found.collection_id.into()),
        ("poll_interval_minutes", interval),
        ("backfill", found.backfill.clone().into()),
        ("full_content", (found.full_content && candidate.kind == Kind::Feed).into()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into_iter()
    .collect();
    let mut checks = Checks::default();
    let fields = SourceFields::read(&object, &mut checks);
    (fields, checks)
}
