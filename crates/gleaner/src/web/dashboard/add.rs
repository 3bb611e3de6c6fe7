//! The Add page: previews a pasted URL, lets the user choose among its candidates, and adds the chosen one.

use askama::Template;
use axum::extract::{Form, Query};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use gleaner_core::backfill::Backfill;
use gleaner_core::source::Kind;
use serde::Deserialize;

use super::form::{FormContext, FormData, FormField, FormValues, Widget, form_fields, messages};
use super::{Oops, Page, Shell, Visit, session, words};
use crate::service::{
    Candidate, Checks, SameUrl, ServiceError, SourceFields, StoreError, Wrong, unreachable_candidates,
};

/// Maximum number of candidates that are read from a form.
const MAX_CANDIDATES: usize = 50;
/// Maximum number of entries that a page shows of a candidate.
pub(super) const PREVIEW_ENTRIES: usize = 20;
/// Maximum number of characters of an entry's text.
pub(super) const PREVIEW_CHARS: usize = 2000;

/// Fields that follow from the choice, or make no sense for a source that is being added.
const CHOSEN: [&str; 3] = ["url", "kind", "enabled"];
/// Fields that are shown at once.
const FIRST: [&str; 4] = ["name", "collection_id", "poll_interval_minutes", "backfill"];

#[derive(Template)]
#[template(path = "add.html")]
struct AddPage {
    shell: Shell,
    url: String,
    /// Why it cannot be previewed.
    wrong: Option<String>,
    /// None: nothing was previewed yet.
    found: Option<Preview>,
    context: FormContext,
}

/// What a URL could be, and the fields of the source to be made of it.
#[derive(Default)]
struct Preview {
    candidates: Vec<Candidate>,
    choice: usize,
    values: FormValues,
    wrongs: Vec<Wrong>,
    /// The collection has it already, as this source.
    exists: Option<i64>,
    /// Other collections have it.
    also_in: Vec<SameUrl>,
}

impl AddPage {
    /// Fields that are shown at once, or those behind "More options".
    fn fields(&self, found: &Preview, is_first: bool) -> Vec<FormField> {
        let shown = form_fields()
            .filter(|field| !CHOSEN.contains(&field.name) && FIRST.contains(&field.name) == is_first);
        shown.map(|field| self.context.field(field, &found.values, &found.wrongs)).collect()
    }
}

impl Preview {
    fn wrong(&self, name: &str) -> String {
        messages(&self.wrongs, name)
    }

    fn collection_id(&self) -> i64 {
        self.values.get("collection_id").parse().unwrap_or(0)
    }

    /// Whether something behind "More options" is wrong.
    fn is_open(&self) -> bool {
        self.wrongs.iter().any(|wrong| wrong.field != "url" && !FIRST.contains(&wrong.field.as_str()))
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
        context: FormContext::new(visit.web.service.config(), visit.by().collections().await?),
    })
}

/// Query of the page: a URL for the form, which is previewed only when that is asked for.
#[derive(Deserialize)]
pub(super) struct Pasted {
    url: Option<String>,
}

pub(super) async fn page(visit: Visit, Query(pasted): Query<Pasted>) -> Result<Response, Oops> {
    Ok(Page(form(&visit, pasted.url.unwrap_or_default()).await?).into_response())
}

/// Previews what was pasted; nothing is stored.
pub(super) async fn look(visit: Visit, Form(sent): Form<FormData>) -> Result<Response, Oops> {
    // Each feed that a page names has a button of its own.
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
            // The request itself succeeded: there is nothing to add.
            return Ok(Page(AddPage { wrong, ..page }).into_response());
        }
        Err(error) => return Err(error.into()),
    };
    let name = candidates.first().and_then(|candidate| candidate.title.clone()).unwrap_or_default();
    let shortened = |candidate: Candidate| candidate.shortened(PREVIEW_ENTRIES, PREVIEW_CHARS);
    let collections = &page.context.collections;
    let default = collections.iter().find(|one| one.name == "default").or(collections.first());
    let mut values = FormValues::defaults();
    values.set("name", name);
    values.set("collection_id", default.map_or(0, |one| one.id).to_string());
    values.set("backfill", Backfill::All.name());
    let candidates = candidates.into_iter().map(shortened).collect();
    let found = Preview { values, candidates, ..Preview::default() };
    Ok(Page(AddPage { found: Some(found), ..page }).into_response())
}

/// Stores what was chosen.
pub(super) async fn save(visit: Visit, Form(sent): Form<FormData>) -> Result<Response, Oops> {
    let mut found = chosen(&sent);
    let Some(candidate) = found.candidates.get(found.choice) else {
        return Err(ServiceError::invalid("choice", "choose what is to be added").into());
    };
    // The form was filled with the title of the first candidate.
    let first_title = found.candidates.first().and_then(|first| first.title.as_deref()).unwrap_or_default();
    if found.choice > 0 && found.values.get("name") == first_title {
        found.values.set("name", candidate.title.clone().unwrap_or_default());
    }
    let also_in = match sent.contains_key("also") {
        true => Vec::new(),
        false => visit.by().sources_with_url(&candidate.url).await?,
    };
    let is_here = also_in.iter().any(|other| other.collection_id == found.collection_id());
    if !also_in.is_empty() && !is_here {
        let page = form(&visit, sent.get("url").cloned().unwrap_or_default()).await?;
        return Ok(Page(AddPage { found: Some(Preview { also_in, ..found }), ..page }).into_response());
    }
    let (fields, checks) = fields(&found, candidate, &sent);
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
    let found = Some(Preview { wrongs, exists, ..found });
    Ok((status, Page(AddPage { found, ..page })).into_response())
}

/// What the form says, with the candidates that it carries along, but without their entries.
fn chosen(sent: &FormData) -> Preview {
    let text = |name: &str| sent.get(name).map(|text| text.trim().to_owned()).unwrap_or_default();
    let candidate = |n: usize| {
        let (kind, url) = (sent.get(&format!("kind_{n}"))?, sent.get(&format!("url_{n}"))?);
        let title = Some(text(&format!("title_{n}"))).filter(|title| !title.is_empty());
        Some(Candidate { title, ..Candidate::unread(kind.parse().ok()?, url.clone()) })
    };
    Preview {
        candidates: (0..MAX_CANDIDATES).map_while(candidate).collect(),
        choice: text("choice").parse().unwrap_or(0),
        values: FormValues::of_form(sent, &FormValues::defaults()),
        ..Preview::default()
    }
}

/// The fields that differ from their defaults; those that have no effect on this kind of source are left out.
fn fields(found: &Preview, candidate: &Candidate, sent: &FormData) -> (SourceFields, Checks) {
    let defaults = FormValues::defaults();
    let mut values = found.values.clone();
    for field in form_fields().filter(|field| !field.kinds.contains(&candidate.kind)) {
        values.set(field.name, defaults.get(field.name));
    }
    values.set("url", candidate.url.clone());
    values.set("kind", candidate.kind.name());
    values.set("enabled", "true");
    values.fields(&defaults, sent)
}
