//! Webhooks: made, changed, tried; what was sent to them, and sent again by hand.

use askama::Template;
use axum::Router;
use axum::extract::RawQuery;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use gleaner_core::time::Time;

use super::form_input::{FormInput, PathParam};
use super::session::go;
use super::settings::Parts;
use super::{Oops, Page, Shell, Visit, words};
use crate::service::{Delivery, DeliveryStatus, NewWebhook, ServiceError, Webhook, WebhookEdit};
use crate::web::Web;

/// Rows of a log on a page.
const PAGE: u32 = 50;
/// Where all of them are.
const HOME: &str = "/settings/webhooks";

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/settings/webhooks", get(list).post(make))
        .route("/settings/webhooks/{id}", get(one).post(edit))
        .route("/settings/webhooks/{id}/enable", post(enable))
        .route("/settings/webhooks/{id}/disable", post(disable))
        .route("/settings/webhooks/{id}/test", post(test))
        .route("/settings/webhooks/{id}/retry", post(retry))
        .route("/settings/webhooks/{id}/delete", post(delete))
        .route("/settings/webhooks/{id}/deliveries/{delivery}/replay", post(replay))
}

/// How a webhook does, in words and by the colour of a status.
struct State {
    word: &'static str,
    tone: &'static str,
}

fn state(webhook: &Webhook) -> State {
    let progress = &webhook.progress;
    let (word, tone) = match (webhook.enabled, progress.given_up_at, progress.failures) {
        (false, _, _) => ("disabled", "disabled"),
        (true, Some(_), _) => ("given up", "bad"),
        (true, None, 0) => ("enabled", "healthy"),
        (true, None, _) => ("failing", "failing"),
    };
    State { word, tone }
}

fn events(webhook: &Webhook) -> String {
    if webhook.events.is_empty() { "all".to_owned() } else { webhook.events.replace(',', ", ") }
}

#[derive(Template)]
#[template(path = "settings_webhooks.html")]
struct ListPage {
    shell: Shell,
    parts: Parts,
    rows: Vec<Row>,
    given: FormInput,
}

struct Row {
    id: i64,
    name: String,
    url: String,
    events: String,
    state: State,
}

async fn list(visit: Visit) -> Result<Response, Oops> {
    show_list(&visit, FormInput::default()).await
}

async fn show_list(visit: &Visit, given: FormInput) -> Result<Response, Oops> {
    let row = |webhook: Webhook| Row {
        id: webhook.id,
        url: words::short(&webhook.url),
        events: events(&webhook),
        state: state(&webhook),
        name: webhook.name,
    };
    let rows = visit.by().webhooks().await?.into_iter().map(row).collect();
    let shell = visit.shell("settings");
    let page = ListPage { parts: Parts::new(&shell, HOME), shell, rows, given };
    Ok((page.given.status(), Page(page)).into_response())
}

/// The types of events that a form names, one after the other.
fn named(given: &FormInput) -> Vec<String> {
    let names = given.get("events").split(|char: char| char == ',' || char.is_whitespace());
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

async fn make(visit: Visit, given: FormInput) -> Result<Response, Oops> {
    let new = NewWebhook {
        name: given.some("name").map(str::to_owned),
        url: given.get("url").trim().to_owned(),
        events: named(&given),
        enabled: true,
    };
    match visit.by().create_webhook(&new).await {
        Ok((webhook, secret)) => {
            let made = Some(secret.expose().to_owned());
            show(&visit, webhook.id, None, Seen { made, ..Seen::default() }).await
        }
        Err(error) => show_list(&visit, given.refused_by(error)?).await,
    }
}

#[derive(Template)]
#[template(path = "settings_webhook.html")]
struct OnePage {
    shell: Shell,
    parts: Parts,
    webhook: Webhook,
    /// Whose it is, where that is somebody else.
    owner: Option<String>,
    events: String,
    state: State,
    log: Vec<Logged>,
    older: Option<i64>,
    /// What signs, where it was made just now.
    made: Option<String>,
    /// What became of a test.
    tested: Option<Logged>,
    given: FormInput,
}

impl OnePage {
    fn link(&self) -> Option<&str> {
        words::web_link(&self.webhook.url)
    }
}

/// A delivery in the log.
struct Logged {
    id: i64,
    kind: String,
    event: Option<i64>,
    word: &'static str,
    tone: &'static str,
    tries: u32,
    answer: String,
    took: String,
    at: Time,
    next_try_at: Option<Time>,
    can_replay: bool,
}

impl From<Delivery> for Logged {
    fn from(row: Delivery) -> Self {
        let (word, tone) = match row.status {
            DeliveryStatus::Pending => ("waiting", "failing"),
            DeliveryStatus::Delivered => ("delivered", "healthy"),
            DeliveryStatus::GivenUp if row.seq.is_none() => ("failed", "bad"),
            DeliveryStatus::GivenUp => ("given up", "bad"),
        };
        let answer = match (row.status_code, row.error) {
            (_, Some(error)) => error,
            (Some(code), None) => code.to_string(),
            (None, None) => "–".to_owned(),
        };
        Self {
            id: row.id,
            kind: row.kind,
            event: row.seq,
            word,
            tone,
            tries: row.tries,
            answer,
            took: row.duration.map_or_else(|| "–".to_owned(), |took| format!("{} ms", took.as_millis())),
            at: row.tried_at.unwrap_or(row.created_at),
            next_try_at: row.next_try_at.filter(|_| row.status == DeliveryStatus::Pending),
            can_replay: row.seq.is_some() && row.status != DeliveryStatus::Pending,
        }
    }
}

/// What a webhook's page shows besides the webhook.
#[derive(Default)]
struct Seen {
    made: Option<String>,
    tested: Option<Logged>,
    /// The form, where it was refused.
    given: Option<FormInput>,
}

async fn one(
    visit: Visit,
    PathParam(id): PathParam<i64>,
    RawQuery(query): RawQuery,
) -> Result<Response, Oops> {
    let query = query.unwrap_or_default();
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    let before = pairs.find(|(name, _)| name == "before").and_then(|(_, id)| id.parse().ok());
    show(&visit, id, before, Seen::default()).await
}

async fn show(visit: &Visit, id: i64, before: Option<i64>, seen: Seen) -> Result<Response, Oops> {
    let by = visit.by();
    let webhook = by.webhook(id).await?;
    let mut log = by.deliveries(id, before, PAGE + 1).await?;
    let more = log.len() > PAGE as usize;
    log.truncate(PAGE as usize);
    let older = log.last().filter(|_| more).map(|row| row.id);
    let owner = by.users().await?.into_iter().find(|user| user.id == webhook.owner_id);
    let Seen { made, tested, given } = seen;
    let shell = visit.shell("settings");
    let page = OnePage {
        parts: Parts::new(&shell, HOME),
        shell,
        owner: owner.filter(|user| user.id != visit.actor.user_id).map(|user| user.name),
        events: events(&webhook),
        state: state(&webhook),
        log: log.into_iter().map(Logged::from).collect(),
        older,
        made,
        tested,
        given: given.unwrap_or_else(|| as_is(&webhook)),
        webhook,
    };
    Ok((page.given.status(), Page(page)).into_response())
}

/// The form, filled in with what there is.
fn as_is(webhook: &Webhook) -> FormInput {
    let events = webhook.events.replace(',', ", ");
    FormInput::of([("name", webhook.name.clone()), ("url", webhook.url.clone()), ("events", events)])
}

async fn edit(visit: Visit, PathParam(id): PathParam<i64>, given: FormInput) -> Result<Response, Oops> {
    let edit = WebhookEdit {
        name: given.some("name").map(str::to_owned),
        url: Some(given.get("url").trim().to_owned()),
        events: Some(named(&given)),
        enabled: None,
    };
    match visit.by().edit_webhook(id, &edit).await {
        Ok(webhook) => {
            Ok(go(&visit.web, &format!("{HOME}/{id}"), &format!("The webhook {} is changed.", webhook.name)))
        }
        Err(error) => {
            let given = Some(given.refused_by(error)?);
            show(&visit, id, None, Seen { given, ..Seen::default() }).await
        }
    }
}

async fn enable(visit: Visit, PathParam(id): PathParam<i64>) -> Result<Response, Oops> {
    set_enabled(&visit, id, true, "is enabled, and hears of what happens from now on").await
}

async fn disable(visit: Visit, PathParam(id): PathParam<i64>) -> Result<Response, Oops> {
    set_enabled(&visit, id, false, "is disabled, and hears of nothing").await
}

async fn set_enabled(visit: &Visit, id: i64, enabled: bool, said: &str) -> Result<Response, Oops> {
    let edit = WebhookEdit { enabled: Some(enabled), ..WebhookEdit::default() };
    let webhook = visit.by().edit_webhook(id, &edit).await?;
    Ok(go(&visit.web, &format!("{HOME}/{id}"), &format!("The webhook {} {said}.", webhook.name)))
}

async fn test(visit: Visit, PathParam(id): PathParam<i64>) -> Result<Response, Oops> {
    let tested = Some(visit.by().test_webhook(id).await?.into());
    show(&visit, id, None, Seen { tested, ..Seen::default() }).await
}

async fn retry(visit: Visit, PathParam(id): PathParam<i64>) -> Result<Response, Oops> {
    match visit.by().retry_webhook(id).await {
        Ok(()) => Ok(go(&visit.web, &format!("{HOME}/{id}"), "It is tried again now; the log will tell.")),
        Err(error) => refused(&visit, id, error).await,
    }
}

async fn replay(visit: Visit, PathParam((id, delivery)): PathParam<(i64, i64)>) -> Result<Response, Oops> {
    match visit.by().replay_delivery(id, delivery).await {
        Ok(row) => {
            let said = format!("{} is sent again now; the log will tell.", row.kind);
            Ok(go(&visit.web, &format!("{HOME}/{id}"), &said))
        }
        Err(error) => refused(&visit, id, error).await,
    }
}

/// The page, with why something was not done.
async fn refused(visit: &Visit, id: i64, error: ServiceError) -> Result<Response, Oops> {
    let webhook = visit.by().webhook(id).await?;
    let given = Some(as_is(&webhook).refused_by(error)?);
    show(visit, id, None, Seen { given, ..Seen::default() }).await
}

async fn delete(visit: Visit, PathParam(id): PathParam<i64>) -> Result<Response, Oops> {
    let name = visit.by().webhook(id).await?.name;
    visit.by().delete_webhook(id).await?;
    Ok(go(&visit.web, HOME, &format!("The webhook {name} is gone, with its log.")))
}
