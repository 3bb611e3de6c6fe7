//! Changing a source: checked as it is typed, looked at before it is saved, and never over what somebody else saved
//! meanwhile.

use askama::Template;
use axum::extract::{Form, Path};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use gleaner_core::source::Kind;

use super::add::{PREVIEW_CHARS, PREVIEW_ENTRIES};
use super::form::{FIELDS, FLAGS, Sent, Values};
use super::source::{id_of, name};
use super::{Oops, Page, Shell, Visit, session, words};
use crate::service::{Candidate, Collection, ServiceError, Source, StoreError, Wrong};

#[derive(Template)]
#[template(path = "edit.html")]
struct EditPage {
    shell: Shell,
    source: Source,
    values: Values,
    /// What the fields were when the form was made.
    was: Values,
    wrongs: Vec<Wrong>,
    /// What somebody else changed meanwhile.
    theirs: Vec<Theirs>,
    preview: Option<Result<Candidate, String>>,
    collections: Vec<Collection>,
    policies: Vec<String>,
    usual: Usual,
}

/// What holds where a field is left blank.
struct Usual {
    interval: String,
    policy: String,
    duplicates: &'static str,
}

/// What somebody else changed.
struct Theirs {
    label: &'static str,
    was: String,
    now: String,
    /// Whether it was changed here, too: then that stays in the form.
    mine: bool,
}

/// What is wrong with each field, to be put beside it.
#[derive(Template)]
#[template(path = "checked.html")]
struct Checked {
    wrongs: Vec<Wrong>,
}

impl EditPage {
    fn name(&self) -> String {
        name(&self.source)
    }

    fn value(&self, name: &str) -> &str {
        self.values.get(name)
    }

    fn is_set(&self, name: &str) -> bool {
        !self.values.get(name).is_empty()
    }

    fn wrong(&self, name: &str) -> String {
        told(&self.wrongs, name)
    }

    fn kinds(&self) -> impl Iterator<Item = (&'static str, &'static str, bool)> {
        Kind::ALL
            .into_iter()
            .map(|kind| (kind.name(), words::kind(&kind), kind.name() == self.values.get("kind")))
    }

    fn is_collection(&self, id: &i64) -> bool {
        self.values.get("collection_id") == id.to_string()
    }

    fn has_credential(&self) -> bool {
        self.source.settings.secret.is_some()
    }
}

impl Checked {
    fn all(&self) -> impl Iterator<Item = (&'static str, String)> {
        let texts = FIELDS.into_iter().map(|(name, _)| name).filter(|name| !FLAGS.contains(name));
        let names = texts.chain(["credential"]);
        names.map(|name| (name, told(&self.wrongs, name)))
    }
}

fn told(wrongs: &[Wrong], name: &str) -> String {
    let lines =
        wrongs.iter().filter(|wrong| wrong.field == name).map(|wrong| words::sentence(&wrong.message));
    lines.collect::<Vec<_>>().join("\n")
}

/// The page of a source with its fields in a form.
async fn form(visit: &Visit, source: Source, values: Values) -> Result<EditPage, Oops> {
    let config = visit.web.service.config();
    let was = Values::of_source(&source);
    let usual = Usual {
        interval: config.source.poll_interval.as_mins().to_string(),
        policy: config.policy(None).name.clone(),
        duplicates: config.source.duplicates.name(),
    };
    Ok(EditPage {
        shell: visit.shell("sources"),
        source,
        values,
        was,
        wrongs: Vec::new(),
        theirs: Vec::new(),
        preview: None,
        collections: visit.by().collections().await?,
        policies: config.policies.keys().cloned().collect(),
        usual,
    })
}

pub(super) async fn page(visit: Visit, Path(id): Path<String>) -> Result<Response, Oops> {
    let source = visit.by().source(id_of(&id)?).await?;
    let values = Values::of_source(&source);
    Ok(Page(form(&visit, source, values).await?).into_response())
}

/// A form as it came, and what it was made from.
struct Came {
    id: i64,
    version: i64,
    values: Values,
    was: Values,
    sent: Sent,
}

impl Came {
    fn new(id: &str, sent: Sent) -> Result<Self, Oops> {
        let id = id_of(id)?;
        let values = Values::of_form(&sent);
        let was = sent.get("was").and_then(|text| Values::of_text(text)).unwrap_or_default();
        let version = sent.get("version").and_then(|text| text.parse().ok()).unwrap_or(0);
        Ok(Self { id, version, values, was, sent })
    }

    /// The form again, as it came.
    async fn again(self, visit: &Visit) -> Result<EditPage, Oops> {
        let source = visit.by().source(self.id).await?;
        let page = form(visit, Source { version: self.version, ..source }, self.values).await?;
        Ok(EditPage { was: self.was, ..page })
    }

    /// The form again over what somebody else saved meanwhile: what was typed here stays, the rest is theirs.
    async fn over_theirs(self, visit: &Visit) -> Result<EditPage, Oops> {
        let source = visit.by().source(self.id).await?;
        let now = Values::of_source(&source);
        let values = self.values.over(&self.was, &now);
        let theirs = now.differing(&self.was).map(|(name, label)| Theirs {
            label,
            was: self.was.get(name).to_owned(),
            now: now.get(name).to_owned(),
            mine: values.get(name) != now.get(name),
        });
        let theirs = theirs.collect();
        Ok(EditPage { theirs, ..form(visit, source, values).await? })
    }
}

/// Says what is wrong, field by field; nothing is stored.
pub(super) async fn check(
    visit: Visit,
    Path(id): Path<String>,
    Form(sent): Form<Sent>,
) -> Result<Response, Oops> {
    let came = Came::new(&id, sent)?;
    let (fields, checks) = came.values.fields(&came.was, &came.sent);
    let wrongs = match visit.by().check_source(came.id, &fields, checks).await {
        Ok(()) => Vec::new(),
        Err(ServiceError::Invalid(wrongs)) => wrongs,
        Err(error) => return Err(error.into()),
    };
    Ok(Page(Checked { wrongs }).into_response())
}

/// Shows what would be found; nothing is stored.
pub(super) async fn preview(
    visit: Visit,
    Path(id): Path<String>,
    Form(sent): Form<Sent>,
) -> Result<Response, Oops> {
    let came = Came::new(&id, sent)?;
    let (fields, checks) = came.values.fields(&came.was, &came.sent);
    let found = visit.by().preview_source(came.id, &fields, checks).await;
    let page = came.again(&visit).await?;
    let (wrongs, preview) = match found {
        Ok(candidate) => (Vec::new(), Ok(candidate.shortened(PREVIEW_ENTRIES, PREVIEW_CHARS))),
        Err(ServiceError::Invalid(wrongs)) => {
            let lines: Vec<&str> = wrongs.iter().map(|wrong| wrong.message.as_str()).collect();
            let why = words::sentence(&lines.join("; "));
            (wrongs, Err(why))
        }
        Err(error @ (ServiceError::Unreachable { .. } | ServiceError::Unreadable { .. })) => {
            (Vec::new(), Err(words::sentence(&error.to_string())))
        }
        Err(error) => return Err(error.into()),
    };
    Ok(Page(EditPage { wrongs, preview: Some(preview), ..page }).into_response())
}

pub(super) async fn save(
    visit: Visit,
    Path(id): Path<String>,
    Form(sent): Form<Sent>,
) -> Result<Response, Oops> {
    let came = Came::new(&id, sent)?;
    let (fields, checks) = came.values.fields(&came.was, &came.sent);
    let (status, page) = match visit.by().change_source(came.id, Some(&[came.version]), &fields, checks).await
    {
        Ok(source) => {
            return Ok(session::go(&visit.web, &format!("/sources/{}", source.id), "Saved."));
        }
        Err(ServiceError::Invalid(wrongs)) => {
            (StatusCode::UNPROCESSABLE_ENTITY, EditPage { wrongs, ..came.again(&visit).await? })
        }
        Err(ServiceError::Store(StoreError::Changed { .. })) => {
            (StatusCode::CONFLICT, came.over_theirs(&visit).await?)
        }
        Err(ServiceError::Store(StoreError::Duplicate { id, .. })) => {
            let which = id.map_or_else(String::new, |id| format!(", as source {id}"));
            let message = format!("its collection has that URL already{which}");
            let wrongs = vec![Wrong { field: "url".to_owned(), message }];
            (StatusCode::CONFLICT, EditPage { wrongs, ..came.again(&visit).await? })
        }
        Err(error) => return Err(error.into()),
    };
    Ok((status, Page(page)).into_response())
}
