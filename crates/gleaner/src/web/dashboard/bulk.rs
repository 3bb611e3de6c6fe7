//! Bulk actions on sources of the list: those that are selected, or all that match its filter.
//!
//! A request does a thousand at most; what is left, and what undoes what was done, is in the forms of its response. So
//! nothing is kept here between requests, and closing the page stops it.

use askama::Template;
use axum::extract::RawQuery;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};

use super::bulk_plan::BulkPlan;
use super::sources::{List, name_of, show, start_of};
use super::words::{count, grouped, sentence};
use super::{Oops, Page, Shell, Visit};
use crate::service::{BULK, BulkAction, BulkDone, BulkOf, By, ServiceError, StoreError};
use crate::source_fields::SourceField;

/// Maximum number of failures that are listed.
const NAMED: usize = 20;
/// Up to how many sources are counted before something is deleted.
const COUNTED: u32 = 100_001;

/// A bulk form.
#[derive(Default)]
struct BulkForm {
    action: Option<BulkAction>,
    ids: Vec<i64>,
    /// All that match, after this id.
    all: Option<i64>,
    /// What is left of an action that was begun, or what undoes one.
    plan: BulkPlan,
    /// Whether deleting was confirmed.
    confirmed: bool,
    progress: BulkProgress,
}

/// What previous requests did of the same action.
#[derive(Default)]
struct BulkProgress {
    done: u64,
    /// Sources that needed no change.
    same: u64,
    failed: u64,
    undo: BulkPlan,
    /// More was done than a form can carry, so that there is no undo.
    no_undo: bool,
}

impl BulkForm {
    fn read(body: &str) -> Result<Self, ServiceError> {
        let mut form = Self::default();
        let (mut action, mut collection, mut from) = (String::new(), None, 0);
        let (mut field, mut text) = (None, String::new());
        let plan = |text: &str| {
            BulkPlan::from_text(text)
                .ok_or_else(|| ServiceError::invalid("plan", "the form is garbled; load the page again"))
        };
        for (name, value) in url::form_urlencoded::parse(body.as_bytes()) {
            match &*name {
                "action" => action = value.into_owned(),
                "collection" => collection = value.parse::<i64>().ok(),
                "field" => field = SourceField::bulk().find(|field| field.name == value),
                "value" => text = value.into_owned(),
                "id" => form.ids.extend(value.parse::<i64>()),
                "all" => form.all = Some(0),
                "from" => from = value.parse().unwrap_or(0),
                "plan" => form.plan = plan(&value)?,
                "sure" => form.confirmed = true,
                "done" => form.progress.done = value.parse().unwrap_or(0),
                "same" => form.progress.same = value.parse().unwrap_or(0),
                "failed" => form.progress.failed = value.parse().unwrap_or(0),
                "undo" => form.progress.undo = plan(&value)?,
                "lost" => form.progress.no_undo = true,
                _ => {}
            }
        }
        form.all = form.all.map(|_| from);
        form.action = match (action.as_str(), collection) {
            ("edit", _) => {
                let field = field.ok_or_else(|| ServiceError::invalid("field", "choose the field to set"))?;
                let value = (field.name.to_owned(), field.parse_text(&text));
                Some(BulkAction::Edit([value].into_iter().collect()))
            }
            ("move", Some(id)) => Some(BulkAction::move_to(id)),
            ("move", None) => {
                return Err(ServiceError::invalid("collection", "choose the collection to move them to"));
            }
            (name, _) => BulkAction::from_name(name),
        };
        Ok(form)
    }

    /// The action, which messages speak of.
    fn kind(&self) -> Option<BulkAction> {
        self.action.as_ref().or_else(|| self.plan.action()).cloned()
    }
}

/// A source that the action failed for.
pub(super) struct Failure {
    pub(super) id: i64,
    pub(super) name: String,
    pub(super) why: String,
}

/// Result of a bulk action, with what can be done next.
pub(super) struct BulkOutcome {
    pub(super) said: String,
    pub(super) is_wrong: bool,
    pub(super) failures: Vec<Failure>,
    /// How many more failed.
    pub(super) more: Option<String>,
    /// Plan that undoes it.
    pub(super) undo: Option<String>,
    /// Fields of the form that continues it.
    pub(super) rest: Option<Vec<(&'static str, String)>>,
}

impl BulkOutcome {
    fn wrong(said: impl Into<String>) -> Self {
        Self { said: said.into(), is_wrong: true, failures: Vec::new(), more: None, undo: None, rest: None }
    }
}

/// Asks to confirm that sources are deleted.
#[derive(Template)]
#[template(path = "sources_confirm.html")]
struct ConfirmPage {
    shell: Shell,
    title: String,
    lost: String,
    names: Vec<(i64, String)>,
    more: Option<String>,
    fields: Vec<(&'static str, String)>,
    action: String,
    back: String,
}

/// Target of a reload: the list.
pub(super) async fn back(visit: Visit, RawQuery(query): RawQuery) -> Result<Redirect, Oops> {
    Ok(Redirect::to(&List::of(&visit, query.as_deref())?.link()))
}

/// Performs the action of the form.
pub(super) async fn act(visit: Visit, RawQuery(query): RawQuery, body: String) -> Result<Response, Oops> {
    let list = List::of(&visit, query.as_deref())?;
    let form = match BulkForm::read(&body) {
        Ok(form) => form,
        Err(error @ ServiceError::Invalid(_)) => return refuse(&visit, list, error.to_string()).await,
        Err(error) => return Err(error.into()),
    };
    if form.ids.is_empty() && form.all.is_none() && form.plan.is_empty() {
        return refuse(&visit, list, "Nothing was selected: tick the sources first.").await;
    }
    if form.ids.len() > BULK as usize {
        return refuse(&visit, list, format!("Select {} at most, or all that match.", grouped(BULK.into())))
            .await;
    }
    match form.kind() {
        None => refuse(&visit, list, "Say what is to be done: use one of the buttons.").await,
        Some(BulkAction::Delete) if !form.confirmed => {
            Ok(confirm(&visit, &list, &form).await?.into_response())
        }
        Some(kind) => match perform(visit.by(), &list, form, kind).await {
            Ok(done) => Ok(show(&visit, list, Some(done)).await?.into_response()),
            Err(error @ ServiceError::Invalid(_)) => refuse(&visit, list, sentence(&error.to_string())).await,
            Err(error) => Err(error.into()),
        },
    }
}

async fn refuse(visit: &Visit, list: List, why: impl Into<String>) -> Result<Response, Oops> {
    let page = show(visit, list, Some(BulkOutcome::wrong(why))).await?;
    Ok((StatusCode::UNPROCESSABLE_ENTITY, page).into_response())
}

/// The page that says what would be lost.
async fn confirm(visit: &Visit, list: &List, form: &BulkForm) -> Result<Page<ConfirmPage>, Oops> {
    let by = visit.by();
    let mut fields = vec![("action", "delete".to_owned()), ("sure", "1".to_owned())];
    let (found, posts, ids) = match form.all {
        Some(_) => {
            fields.push(("all", "1".to_owned()));
            let found = by.count_sources(&list.filter, COUNTED).await?;
            let first = by.sources(&list.filter, None, NAMED as u32).await?;
            (found, None, first.iter().map(|source| source.id).collect())
        }
        None => {
            fields.extend(form.ids.iter().map(|id| ("id", id.to_string())));
            (form.ids.len() as u64, Some(by.count_posts(&form.ids).await?), form.ids.clone())
        }
    };
    let what = match found {
        found if found >= COUNTED.into() => format!("more than {} sources", grouped(u64::from(COUNTED) - 1)),
        found => count(found, "source"),
    };
    let posts = posts.map_or_else(|| "all their posts".to_owned(), |posts| count(posts, "post"));
    let names = names(by, ids.iter().copied().take(NAMED)).await?;
    let more = found.saturating_sub(names.len() as u64);
    Ok(Page(ConfirmPage {
        shell: visit.shell("sources"),
        title: format!("Delete {what}?"),
        lost: format!(
            "{posts} will be gone for good, with the history and what was seen before. Articles that were made of \
             posts stay. To stop polling and keep everything, disable instead."
        ),
        more: (more > 0).then(|| format!("and {} more", grouped(more))),
        names,
        fields,
        action: list.bulk_link(),
        back: list.link(),
    }))
}

async fn names(by: By<'_>, ids: impl Iterator<Item = i64>) -> Result<Vec<(i64, String)>, ServiceError> {
    let ids: Vec<i64> = ids.collect();
    let found = by.source_names(&ids).await?;
    let name = |id: &i64| found.get(id).map(|source| name_of(source.name.as_deref(), &source.url));
    Ok(ids.iter().map(|id| (*id, name(id).unwrap_or_else(|| format!("source {id}")))).collect())
}

/// Performs the action on the next thousand.
async fn perform(
    by: By<'_>,
    list: &List,
    form: BulkForm,
    kind: BulkAction,
) -> Result<BulkOutcome, ServiceError> {
    let BulkForm { action, ids, all, mut plan, mut progress, .. } = form;
    if let (Some(action), None, true) = (&action, all, plan.is_empty()) {
        plan = BulkPlan::of(action.clone(), ids);
    }
    let (done, rest) = match (all, action) {
        (Some(from), Some(action)) => {
            let of = BulkOf::Filter(Box::new(list.filter.clone()), Some(from));
            let done = by.bulk(&of, &action).await?;
            let rest = done.next.map(|next| {
                let mut fields = vec![("all", "1".to_owned()), ("from", next.to_string())];
                fields.extend(action_fields(&action));
                fields
            });
            (done, rest)
        }
        _ => {
            let mut each = Vec::new();
            while let Some((action, ids)) =
                plan.take(BULK as usize - each.len()).filter(|(_, ids)| !ids.is_empty())
            {
                each.extend(by.bulk(&BulkOf::Ids(ids), &action).await?.each);
            }
            let left = Some(&plan).filter(|plan| !plan.is_empty()).and_then(BulkPlan::to_text);
            (BulkDone { each, next: None }, left.map(|left| vec![("plan", left)]))
        }
    };
    let failed = progress.add(&kind, done);
    let failures = named(by, &failed).await?;
    let more = progress.failed.saturating_sub(failures.len() as u64);
    let undo =
        Some(&progress.undo).filter(|undo| !undo.is_empty() && !progress.no_undo).and_then(BulkPlan::to_text);
    let target = target(by, &kind).await?;
    Ok(BulkOutcome {
        said: progress.message(&kind, &target, rest.is_some()),
        is_wrong: progress.failed > 0,
        more: (more > 0).then(|| format!("and {} more", grouped(more))),
        failures,
        rest: rest.map(|rest| progress.carried(rest, undo.as_deref(), kind == BulkAction::Delete)),
        undo,
    })
}

/// Form fields of an action. A form sets one field; an undo, which may set several, is a plan.
fn action_fields(action: &BulkAction) -> Vec<(&'static str, String)> {
    let mut fields = vec![("action", action.name().to_owned())];
    if let BulkAction::Edit(values) = action {
        for (name, value) in values {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let text = if value.is_null() { String::new() } else { text };
            fields.extend([("field", name.clone()), ("value", text)]);
        }
    }
    fields
}

/// The collection that an action moves sources to, if it does nothing else.
fn moved_to(action: &BulkAction) -> Option<i64> {
    match action {
        BulkAction::Edit(fields) if fields.len() == 1 => fields.get("collection_id")?.as_i64(),
        _ => None,
    }
}

/// Where sources are moved to, for a message.
async fn target(by: By<'_>, action: &BulkAction) -> Result<String, ServiceError> {
    let Some(id) = moved_to(action) else { return Ok(String::new()) };
    let collections = by.collections().await?;
    let name = collections.into_iter().find(|one| one.id == id).map(|one| one.name);
    Ok(name.map(|name| format!(" to {}", start_of(&name, 80))).unwrap_or_default())
}

async fn named(by: By<'_>, failed: &[(i64, String)]) -> Result<Vec<Failure>, ServiceError> {
    let names = names(by, failed.iter().take(NAMED).map(|(id, _)| *id)).await?;
    let each = names.into_iter().zip(failed);
    Ok(each.map(|((id, name), (_, why))| Failure { id, name, why: start_of(why, 300) }).collect())
}

impl BulkProgress {
    /// Adds what was done now; returns the failures.
    fn add(&mut self, kind: &BulkAction, done: BulkDone) -> Vec<(i64, String)> {
        let mut failed = Vec::new();
        let can_undo = !matches!(kind, BulkAction::Poll | BulkAction::Delete);
        for (id, result) in done.each {
            match result {
                Ok(Some(back)) => {
                    self.done += 1;
                    self.undo.push(back, id);
                }
                Ok(None) if can_undo => self.same += 1,
                Ok(None) => self.done += 1,
                Err(error) => failed.push((id, reason(&error))),
            }
        }
        self.failed += failed.len() as u64;
        self.no_undo |= self.undo.to_text().is_none();
        if self.no_undo {
            self.undo = BulkPlan::default();
        }
        failed
    }

    /// What was done, for people.
    fn message(&self, kind: &BulkAction, target: &str, goes_on: bool) -> String {
        let (did, so) = match kind {
            BulkAction::Enable => ("Enabled", "enabled already"),
            BulkAction::Disable => ("Disabled", "disabled already"),
            BulkAction::Reinstate => ("Enabled again, as before:", "enabled already"),
            BulkAction::Poll => ("To be polled as soon as their hosts are free:", ""),
            action if moved_to(action).is_some() => ("Moved", "there already"),
            BulkAction::Edit(_) => ("Changed", "set so already"),
            BulkAction::Delete => ("Deleted", ""),
        };
        let mut said = format!("{did} {}{target}", count(self.done, "source"));
        said.push_str(if goes_on { " so far; going on." } else { "." });
        if self.same > 0 {
            let were = if self.same == 1 { "was" } else { "were" };
            said.push_str(&format!(" {} {were} {so}.", grouped(self.same)));
        }
        if self.failed > 0 {
            said.push_str(&format!(" {} failed:", grouped(self.failed)));
        }
        said
    }

    /// Fields of the form that continues.
    fn carried(
        &self,
        mut fields: Vec<(&'static str, String)>,
        undo: Option<&str>,
        confirmed: bool,
    ) -> Vec<(&'static str, String)> {
        let numbers = [("done", self.done), ("same", self.same), ("failed", self.failed)];
        fields.extend(numbers.map(|(name, number)| (name, number.to_string())));
        fields.extend(undo.map(|undo| ("undo", undo.to_owned())));
        fields.extend(self.no_undo.then(|| ("lost", "1".to_owned())));
        fields.extend(confirmed.then(|| ("sure", "1".to_owned())));
        fields
    }
}

/// Why it failed, for a person who uses the page and not the API.
fn reason(error: &ServiceError) -> String {
    match error {
        ServiceError::Conflict { code: "source_disabled", .. } => {
            "it is disabled; enable it first".to_owned()
        }
        ServiceError::Conflict { code: "retry_after", at: Some(at), .. } => {
            format!("its server asked to be left alone until {at}; it is polled then")
        }
        ServiceError::Store(StoreError::NotFound { .. }) => "it is gone already".to_owned(),
        ServiceError::Store(StoreError::Duplicate { .. }) => {
            "that collection has its address already".to_owned()
        }
        error => error.to_string(),
    }
}
