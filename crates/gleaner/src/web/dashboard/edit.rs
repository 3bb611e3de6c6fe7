//! Editing a source: checked while it is typed, previewed before it is saved, and never over what somebody else saved
//! meanwhile.

use askama::Template;
use axum::extract::{Form, Path};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use super::add::{PREVIEW_CHARS, PREVIEW_ENTRIES};
use super::form::{FormContext, FormData, FormField, FormValues, Widget, form_fields, messages};
use super::source::{id_of, name};
use super::{Oops, Page, Shell, Visit, session, words};
use crate::service::{Candidate, ServiceError, Source, StoreError, Wrong};
use crate::source_fields::Takes;

#[derive(Template)]
#[template(path = "edit.html")]
struct EditPage {
    shell: Shell,
    source: Source,
    values: FormValues,
    /// What the form was made from.
    before: FormValues,
    wrongs: Vec<Wrong>,
    concurrent: Vec<ConcurrentChange>,
    preview: Option<Result<Candidate, String>>,
    context: FormContext,
}

/// What somebody else changed since the form was made.
struct ConcurrentChange {
    label: &'static str,
    before: String,
    now: String,
    /// Whether it was changed in the form, too, which then stays.
    is_mine: bool,
}

/// What is wrong with each field, to be put beside it.
#[derive(Template)]
#[template(path = "checked.html")]
struct CheckedFields {
    wrongs: Vec<Wrong>,
}

impl EditPage {
    fn name(&self) -> String {
        name(&self.source)
    }

    fn fields(&self, widgets: &[Widget]) -> Vec<FormField> {
        let all = self.context.fields(&self.values, &self.wrongs);
        all.into_iter().filter(|field| widgets.contains(&field.widget)).collect()
    }

    /// The URL.
    fn first(&self) -> Vec<FormField> {
        self.fields(&[Widget::Wide]).into_iter().filter(|field| field.name == "url").collect()
    }

    fn lines(&self) -> Vec<FormField> {
        self.fields(&[Widget::Line, Widget::Select])
    }

    fn selectors(&self) -> Vec<FormField> {
        self.fields(&[Widget::Wide]).into_iter().filter(|field| field.name != "url").collect()
    }

    fn checkboxes(&self) -> Vec<FormField> {
        self.fields(&[Widget::Checkbox])
    }

    /// When the preview is renewed: a selector was changed.
    fn preview_trigger(&self) -> String {
        let selectors = self.selectors();
        let changes = selectors.iter().map(|field| format!(", change from:#{}", field.name));
        format!("click{}", changes.collect::<String>())
    }

    fn credential_wrong(&self) -> String {
        messages(&self.wrongs, "credential")
    }

    fn has_credential(&self) -> bool {
        self.source.settings.secret.is_some()
    }
}

impl CheckedFields {
    fn all(&self) -> impl Iterator<Item = (&'static str, String)> {
        let texts = form_fields().filter(|field| !matches!(field.takes, Takes::Flag)).map(|field| field.name);
        texts.chain(["credential"]).map(|name| (name, messages(&self.wrongs, name)))
    }
}

/// The page of a source with its fields in a form.
async fn form(visit: &Visit, source: Source, values: FormValues) -> Result<EditPage, Oops> {
    let before = FormValues::of_source(&source);
    let context = FormContext::new(visit.web.service.config(), visit.by().collections().await?);
    Ok(EditPage {
        shell: visit.shell("sources"),
        source,
        values,
        before,
        wrongs: Vec::new(),
        concurrent: Vec::new(),
        preview: None,
        context,
    })
}

pub(super) async fn page(visit: Visit, Path(id): Path<String>) -> Result<Response, Oops> {
    let source = visit.by().source(id_of(&id)?).await?;
    let values = FormValues::of_source(&source);
    Ok(Page(form(&visit, source, values).await?).into_response())
}

/// A form as it was sent, and what it was made from.
struct EditForm {
    id: i64,
    version: i64,
    values: FormValues,
    before: FormValues,
    sent: FormData,
}

impl EditForm {
    fn new(id: &str, sent: FormData) -> Result<Self, Oops> {
        let id = id_of(id)?;
        let before = sent.get("was").and_then(|text| FormValues::of_json(text)).unwrap_or_default();
        let values = FormValues::of_form(&sent, &before);
        let version = sent.get("version").and_then(|text| text.parse().ok()).unwrap_or(0);
        Ok(Self { id, version, values, before, sent })
    }

    /// The form again, as it was sent.
    async fn again(self, visit: &Visit) -> Result<EditPage, Oops> {
        let source = visit.by().source(self.id).await?;
        let page = form(visit, Source { version: self.version, ..source }, self.values).await?;
        Ok(EditPage { before: self.before, ..page })
    }

    /// The form again over what somebody else saved meanwhile: what was typed here stays, the rest is theirs.
    async fn over_concurrent(self, visit: &Visit) -> Result<EditPage, Oops> {
        let source = visit.by().source(self.id).await?;
        let now = FormValues::of_source(&source);
        let values = self.values.merged(&self.before, &now);
        let changes = now.differing(&self.before).map(|field| ConcurrentChange {
            label: field.label,
            before: self.before.get(field.name).to_owned(),
            now: now.get(field.name).to_owned(),
            is_mine: values.get(field.name) != now.get(field.name),
        });
        let concurrent = changes.collect();
        Ok(EditPage { concurrent, ..form(visit, source, values).await? })
    }
}

/// Reports what is wrong, field by field; nothing is stored.
pub(super) async fn check(
    visit: Visit,
    Path(id): Path<String>,
    Form(sent): Form<FormData>,
) -> Result<Response, Oops> {
    let edit = EditForm::new(&id, sent)?;
    let (fields, checks) = edit.values.fields(&edit.before, &edit.sent);
    let wrongs = match visit.by().check_source(edit.id, &fields, checks).await {
        Ok(()) => Vec::new(),
        Err(ServiceError::Invalid(wrongs)) => wrongs,
        Err(error) => return Err(error.into()),
    };
    Ok(Page(CheckedFields { wrongs }).into_response())
}

/// Shows what would be found; nothing is stored.
pub(super) async fn preview(
    visit: Visit,
    Path(id): Path<String>,
    Form(sent): Form<FormData>,
) -> Result<Response, Oops> {
    let edit = EditForm::new(&id, sent)?;
    let (fields, checks) = edit.values.fields(&edit.before, &edit.sent);
    let found = visit.by().preview_source(edit.id, &fields, checks).await;
    let page = edit.again(&visit).await?;
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
    Form(sent): Form<FormData>,
) -> Result<Response, Oops> {
    let edit = EditForm::new(&id, sent)?;
    let (fields, checks) = edit.values.fields(&edit.before, &edit.sent);
    let (status, page) = match visit.by().change_source(edit.id, Some(&[edit.version]), &fields, checks).await
    {
        Ok(source) => {
            return Ok(session::go(&visit.web, &format!("/sources/{}", source.id), "Saved."));
        }
        Err(ServiceError::Invalid(wrongs)) => {
            (StatusCode::UNPROCESSABLE_ENTITY, EditPage { wrongs, ..edit.again(&visit).await? })
        }
        Err(ServiceError::Store(StoreError::Changed { .. })) => {
            (StatusCode::CONFLICT, edit.over_concurrent(&visit).await?)
        }
        Err(ServiceError::Store(StoreError::Duplicate { id, .. })) => {
            let which = id.map_or_else(String::new, |id| format!(", as source {id}"));
            let message = format!("its collection has that URL already{which}");
            let wrongs = vec![Wrong { field: "url".to_owned(), message }];
            (StatusCode::CONFLICT, EditPage { wrongs, ..edit.again(&visit).await? })
        }
        Err(error) => return Err(error.into()),
    };
    Ok((status, Page(page)).into_response())
}
