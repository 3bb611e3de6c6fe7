//! One action on many sources of the list: those that are selected, or all that match its filter.
//!
//! A request does a thousand at most; what is left, and what would take back what was done, goes on in the forms of its
//! answer. So nothing is kept here between requests, and somebody who goes away stops it.

use askama::Template;
use axum::extract::RawQuery;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};

use super::plan::{Plan, read_action};
use super::sources::{List, name_of, show, start_of};
use super::words::{count, grouped};
use super::{Oops, Page, Shell, Visit};
use crate::service::{BULK, BulkAction, BulkDone, BulkOf, By, ServiceError, StoreError};

/// How many that failed are named.
const NAMED: usize = 20;
/// How many of what a filter finds are counted, before something is deleted.
const COUNTED: u32 = 100_001;

/// What a form asks for.
#[derive(Default)]
struct Order {
    action: Option<BulkAction>,
    ids: Vec<i64>,
    /// All that match, after this one.
    all: Option<i64>,
    /// What is left of something that was begun, or takes it back.
    plan: Plan,
    /// Whether somebody said that they are sure.
    sure: bool,
    so_far: SoFar,
}

/// What was done by the requests before, for the same order.
#[derive(Default)]
struct SoFar {
    done: u64,
    same: u64,
    failed: u64,
    undo: Plan,
    /// More than a form carries was done, so that it cannot be taken back.
    lost: bool,
}

impl Order {
    fn read(body: &str) -> Result<Self, ServiceError> {
        let mut order = Self::default();
        let (mut action, mut collection, mut from) = (String::new(), None, 0);
        let plan = |text: &str| {
            Plan::from_text(text)
                .ok_or_else(|| ServiceError::invalid("plan", "the form is garbled; load the page again"))
        };
        for (name, value) in url::form_urlencoded::parse(body.as_bytes()) {
            match &*name {
                "action" => action = value.into_owned(),
                "collection" => collection = value.parse::<i64>().ok(),
                "id" => order.ids.extend(value.parse::<i64>()),
                "all" => order.all = Some(0),
                "from" => from = value.parse().unwrap_or(0),
                "plan" => order.plan = plan(&value)?,
                "sure" => order.sure = true,
                "done" => order.so_far.done = value.parse().unwrap_or(0),
                "same" => order.so_far.same = value.parse().unwrap_or(0),
                "failed" => order.so_far.failed = value.parse().unwrap_or(0),
                "undo" => order.so_far.undo = plan(&value)?,
                "lost" => order.so_far.lost = true,
                _ => {}
            }
        }
        order.all = order.all.map(|_| from);
        order.action = match (action.as_str(), collection) {
            ("move", Some(id)) => Some(BulkAction::Move(id)),
            ("move", None) => {
                return Err(ServiceError::invalid("collection", "choose the collection to move them to"));
            }
            (name, _) => read_action(name),
        };
        Ok(order)
    }

    /// What it is called.
    fn kind(&self) -> Option<BulkAction> {
        self.action.or_else(|| self.plan.action())
    }
}

/// A source to which it could not be done.
pub(super) struct Failure {
    pub(super) id: i64,
    pub(super) name: String,
    pub(super) why: String,
}

/// What was done, and what can be done about it.
pub(super) struct Done {
    pub(super) said: String,
    pub(super) is_wrong: bool,
    pub(super) failures: Vec<Failure>,
    /// So many more failed.
    pub(super) more: Option<String>,
    /// What takes it back.
    pub(super) undo: Option<String>,
    /// What goes on with it: the fields of a form.
    pub(super) rest: Option<Vec<(&'static str, String)>>,
}

impl Done {
    fn wrong(said: impl Into<String>) -> Self {
        Self { said: said.into(), is_wrong: true, failures: Vec::new(), more: None, undo: None, rest: None }
    }
}

/// Asks whether somebody is sure.
#[derive(Template)]
#[template(path = "sources_sure.html")]
struct Sure {
    shell: Shell,
    title: String,
    lost: String,
    names: Vec<(i64, String)>,
    more: Option<String>,
    fields: Vec<(&'static str, String)>,
    action: String,
    back: String,
}

/// Where somebody ends up who loads the page again.
pub(super) async fn back(visit: Visit, RawQuery(query): RawQuery) -> Result<Redirect, Oops> {
    Ok(Redirect::to(&List::of(&visit, query.as_deref())?.link()))
}

/// Does what the form says.
pub(super) async fn act(visit: Visit, RawQuery(query): RawQuery, body: String) -> Result<Response, Oops> {
    let list = List::of(&visit, query.as_deref())?;
    let order = match Order::read(&body) {
        Ok(order) => order,
        Err(error @ ServiceError::Invalid(_)) => return complain(&visit, list, error.to_string()).await,
        Err(error) => return Err(error.into()),
    };
    if order.ids.is_empty() && order.all.is_none() && order.plan.is_empty() {
        return complain(&visit, list, "Nothing was selected: tick the sources first.").await;
    }
    if order.ids.len() > BULK as usize {
        return complain(
            &visit,
            list,
            format!("Select {} at most, or all that match.", grouped(BULK.into())),
        )
        .await;
    }
    match order.kind() {
        None => complain(&visit, list, "Say what is to be done: use one of the buttons.").await,
        Some(BulkAction::Delete) if !order.sure => Ok(ask(&visit, &list, &order).await?.into_response()),
        Some(kind) => {
            let done = carry_out(visit.by(), &list, order, kind).await?;
            Ok(show(&visit, list, Some(done)).await?.into_response())
        }
    }
}

async fn complain(visit: &Visit, list: List, why: impl Into<String>) -> Result<Response, Oops> {
    let page = show(visit, list, Some(Done::wrong(why))).await?;
    Ok((StatusCode::UNPROCESSABLE_ENTITY, page).into_response())
}

/// What would be lost.
async fn ask(visit: &Visit, list: &List, order: &Order) -> Result<Page<Sure>, Oops> {
    let by = visit.by();
    let mut fields = vec![("action", "delete".to_owned()), ("sure", "1".to_owned())];
    let (found, posts, ids) = match order.all {
        Some(_) => {
            fields.push(("all", "1".to_owned()));
            let found = by.count_sources(&list.filter, COUNTED).await?;
            let first = by.list(&list.filter, None, NAMED as u32).await?;
            (found, None, first.into_iter().map(|source| source.id).collect())
        }
        None => {
            fields.extend(order.ids.iter().map(|id| ("id", id.to_string())));
            (order.ids.len() as u64, Some(by.count_posts(&order.ids).await?), order.ids.clone())
        }
    };
    let what = match found {
        found if found >= COUNTED.into() => format!("more than {} sources", grouped(u64::from(COUNTED) - 1)),
        found => count(found, "source"),
    };
    let posts = posts.map_or_else(|| "all their posts".to_owned(), |posts| count(posts, "post"));
    let names = names(by, ids.iter().copied().take(NAMED)).await?;
    let more = found.saturating_sub(names.len() as u64);
    Ok(Page(Sure {
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

/// Does the next thousand.
async fn carry_out(by: By<'_>, list: &List, order: Order, kind: BulkAction) -> Result<Done, ServiceError> {
    let Order { action, ids, all, mut plan, mut so_far, .. } = order;
    if let (Some(action), None, true) = (action, all, plan.is_empty()) {
        plan = Plan::of(action, ids);
    }
    let (done, rest) = match (all, action) {
        (Some(from), Some(action)) => {
            let of = BulkOf::Filter(Box::new(list.filter.clone()), Some(from));
            let done = by.bulk(&of, action).await?;
            let rest = done.next.map(|next| {
                let mut fields = vec![("all", "1".to_owned()), ("from", next.to_string())];
                fields.extend(action_fields(action));
                fields
            });
            (done, rest)
        }
        _ => {
            let mut each = Vec::new();
            while let Some((action, ids)) =
                plan.take(BULK as usize - each.len()).filter(|(_, ids)| !ids.is_empty())
            {
                each.extend(by.bulk(&BulkOf::Ids(ids), action).await?.each);
            }
            let left = Some(&plan).filter(|plan| !plan.is_empty()).and_then(Plan::to_text);
            (BulkDone { each, next: None }, left.map(|left| vec![("plan", left)]))
        }
    };
    let failed = so_far.add(kind, done);
    let failures = named(by, &failed).await?;
    let more = so_far.failed.saturating_sub(failures.len() as u64);
    let undo = Some(&so_far.undo).filter(|undo| !undo.is_empty() && !so_far.lost).and_then(Plan::to_text);
    let target = target(by, kind).await?;
    Ok(Done {
        said: so_far.in_words(kind, &target, rest.is_some()),
        is_wrong: so_far.failed > 0,
        more: (more > 0).then(|| format!("and {} more", grouped(more))),
        failures,
        rest: rest.map(|rest| so_far.carried(rest, undo.as_deref(), kind == BulkAction::Delete)),
        undo,
    })
}

/// The fields that name an action.
fn action_fields(action: BulkAction) -> Vec<(&'static str, String)> {
    let name = match action {
        BulkAction::Enable => "enable",
        BulkAction::Disable => "disable",
        BulkAction::Reinstate => "reinstate",
        BulkAction::Poll => "poll",
        BulkAction::Delete => "delete",
        BulkAction::Move(id) => return vec![("action", "move".to_owned()), ("collection", id.to_string())],
    };
    vec![("action", name.to_owned())]
}

/// Where something is moved to, in words.
async fn target(by: By<'_>, kind: BulkAction) -> Result<String, ServiceError> {
    let BulkAction::Move(id) = kind else { return Ok(String::new()) };
    let collections = by.collections().await?;
    let name = collections.into_iter().find(|one| one.id == id).map(|one| one.name);
    Ok(name.map(|name| format!(" to {}", start_of(&name, 80))).unwrap_or_default())
}

async fn named(by: By<'_>, failed: &[(i64, String)]) -> Result<Vec<Failure>, ServiceError> {
    let names = names(by, failed.iter().take(NAMED).map(|(id, _)| *id)).await?;
    let each = names.into_iter().zip(failed);
    Ok(each.map(|((id, name), (_, why))| Failure { id, name, why: start_of(why, 300) }).collect())
}

impl SoFar {
    /// Adds what was done now; those that failed.
    fn add(&mut self, kind: BulkAction, done: BulkDone) -> Vec<(i64, String)> {
        let mut failed = Vec::new();
        let takes_back = !matches!(kind, BulkAction::Poll | BulkAction::Delete);
        for (id, result) in done.each {
            match result {
                Ok(Some(back)) => {
                    self.done += 1;
                    self.undo.push(back, id);
                }
                Ok(None) if takes_back => self.same += 1,
                Ok(None) => self.done += 1,
                Err(error) => failed.push((id, in_words(&error))),
            }
        }
        self.failed += failed.len() as u64;
        self.lost |= self.undo.to_text().is_none();
        if self.lost {
            self.undo = Plan::default();
        }
        failed
    }

    /// What was done, as a sentence.
    fn in_words(&self, kind: BulkAction, target: &str, goes_on: bool) -> String {
        let (did, so) = match kind {
            BulkAction::Enable => ("Enabled", "enabled already"),
            BulkAction::Disable => ("Disabled", "disabled already"),
            BulkAction::Reinstate => ("Enabled again, as before:", "enabled already"),
            BulkAction::Poll => ("To be polled as soon as their hosts are free:", ""),
            BulkAction::Move(_) => ("Moved", "there already"),
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

    /// The fields of the form that goes on.
    fn carried(
        &self,
        mut fields: Vec<(&'static str, String)>,
        undo: Option<&str>,
        sure: bool,
    ) -> Vec<(&'static str, String)> {
        let numbers = [("done", self.done), ("same", self.same), ("failed", self.failed)];
        fields.extend(numbers.map(|(name, number)| (name, number.to_string())));
        fields.extend(undo.map(|undo| ("undo", undo.to_owned())));
        fields.extend(self.lost.then(|| ("lost", "1".to_owned())));
        fields.extend(sure.then(|| ("sure", "1".to_owned())));
        fields
    }
}

/// Why it failed, for somebody who sees the page and not the API.
fn in_words(error: &ServiceError) -> String {
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
