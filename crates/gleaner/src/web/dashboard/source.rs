//! One source: why it is where it is, its polls as a picture, its posts, all that is known of it, and what can be done.

use askama::Template;
use axum::extract::{Form, Path, Query};
use axum::response::Response;
use gleaner_core::follow::PageState;
use gleaner_core::redirect::Redirect;
use gleaner_core::schedule::Hints;
use gleaner_core::source::Interval;
use gleaner_core::time::Span;
use serde::Deserialize;

use super::form::FormValues;
use super::timeline::{BASE, Shape, Timeline};
use super::words;
use super::{Oops, Page, Shell, Visit, session};
use crate::service::{
    Explanation, PollRequest, PolledNow, Post, PostFilter, ServiceError, Source, WaitingPage,
    observed_redirect, poll_in_words,
};

/// So many posts are shown.
const POSTS: u32 = 12;
/// Maximum number of article pages that are listed.
const PAGES: u32 = 50;
/// How far back the picture goes, in days.
const ZOOMS: [(u64, &str); 3] = [(1, "24 hours"), (7, "7 days"), (30, "30 days")];

#[derive(Template)]
#[template(path = "source.html")]
pub(super) struct SourcePage {
    shell: Shell,
    source: Source,
    why: Explanation,
    days: u64,
    timeline: Timeline,
    posts: Vec<Post>,
    collection: String,
    interval: String,
    policy: String,
    /// A permanent redirect under observation.
    redirect: Option<Redirect>,
    /// Article pages that wait, failed or were given up.
    pages: Vec<WaitingPage>,
}

impl SourcePage {
    fn name(&self) -> String {
        name(&self.source)
    }

    fn is(&self, status: &str) -> bool {
        self.why.status.name() == status
    }

    /// Number of article pages, listed or not.
    fn page_count(&self) -> u32 {
        let counts = &self.source.pages;
        counts.waiting.saturating_add(counts.failed).saturating_add(counts.given_up)
    }

    fn zooms(&self) -> impl Iterator<Item = (u64, &'static str, bool)> {
        ZOOMS.into_iter().map(|(days, title)| (days, title, days == self.days))
    }

    fn web_link(&self) -> Option<&str> {
        words::web_link(&self.source.settings.url)
    }

    /// All sources of its host.
    fn host_link(&self) -> String {
        let host: String = url::form_urlencoded::byte_serialize(self.source.host.as_bytes()).collect();
        format!("/sources?host={host}")
    }

    /// Until when its server asked to be left alone, if that is still to come.
    fn held(&self) -> Option<&gleaner_core::time::Time> {
        self.source.health.hold_until.as_ref().filter(|until| **until > self.shell.now)
    }

    /// The next poll, if it is still to come.
    fn next(&self) -> Option<&gleaner_core::time::Time> {
        self.source.next_poll_at.as_ref()
    }

    /// Why the next poll is then, without the time, which is shown beside it.
    fn why_then(&self) -> &str {
        let (_, why) = self.why.next.split_once(": ").unwrap_or(("", &self.why.next));
        why
    }

    fn validators(&self) -> &'static str {
        let memory = &self.source.memory;
        match (&memory.etag, &memory.last_modified) {
            (Some(_), Some(_)) => "by ETag and date: what has not changed is not sent again",
            (Some(_), None) => "by ETag: what has not changed is not sent again",
            (None, Some(_)) => "by date: what has not changed is not sent again",
            (None, None) if memory.body_hash.is_some() => {
                "its server offers no way to ask; the text is compared with the latest"
            }
            (None, None) => "nothing is known yet",
        }
    }

    fn hints(&self) -> Vec<String> {
        hints(&self.source.memory.hints)
    }

    /// Fields that are set and have no line of their own on the page.
    fn other_fields(&self) -> Vec<(&'static str, String)> {
        const SHOWN: [&str; 6] = ["url", "kind", "name", "collection_id", "poll_interval_minutes", "policy"];
        let (values, defaults) = (FormValues::of_source(&self.source), FormValues::defaults());
        let other = values
            .differing(&defaults)
            .filter(|field| !SHOWN.contains(&field.name) && field.name != "enabled");
        other.map(|field| (field.label, values.get(field.name).to_owned())).collect()
    }
}

/// What a source is called.
pub(super) fn name(source: &Source) -> String {
    let name = source.settings.name.as_ref().filter(|name| !name.trim().is_empty());
    name.cloned().unwrap_or_else(|| words::short(&source.settings.url))
}

fn hints(hints: &Hints) -> Vec<String> {
    let asked = [
        (hints.max_age, "Cache-Control: max-age"),
        (hints.expires, "Expires"),
        (hints.ttl, "ttl"),
        (hints.update_period, "sy:updatePeriod"),
    ];
    let mut told: Vec<String> =
        asked.into_iter().filter_map(|(span, by)| Some(format!("wait {} ({by})", span?))).collect();
    let bits = |set: u32, names: &mut dyn Iterator<Item = String>| {
        let named = names.enumerate().filter(|(bit, _)| set & (1 << bit) != 0).map(|(_, name)| name);
        named.collect::<Vec<_>>().join(", ")
    };
    if hints.skip_hours != 0 {
        let hours = bits(hints.skip_hours, &mut (0..24).map(|hour| format!("{hour}:00")));
        told.push(format!("not at {hours} UTC (skipHours)"));
    }
    if hints.skip_days != 0 {
        let days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
        told.push(format!(
            "not on {} (skipDays)",
            bits(hints.skip_days, &mut days.map(str::to_owned).into_iter())
        ));
    }
    told
}

/// How far back to look.
#[derive(Deserialize)]
pub(super) struct Zoom {
    days: Option<String>,
}

pub(super) async fn page(
    visit: Visit,
    Path(id): Path<String>,
    Query(zoom): Query<Zoom>,
) -> Result<Page<SourcePage>, Oops> {
    let (id, by) = (id_of(&id)?, visit.by());
    let asked = zoom.days.and_then(|days| days.parse().ok());
    let source = by.source(id).await?;
    let why = by.explain(id).await?;
    let shell = visit.shell("sources");
    // Of a day-old source a week would show little.
    let usual = if shell.now.since(source.created_at) < Span::from_days(1) { 1 } else { 7 };
    let days = ZOOMS.iter().map(|(days, _)| *days).find(|days| Some(*days) == asked).unwrap_or(usual);
    let history = by.history(id, shell.now - Span::from_days(days)).await?;
    let filter = PostFilter { source_ids: vec![id], ..PostFilter::default() };
    let posts = by.posts(&filter, None, POSTS).await?;
    let collection = by.collection(source.settings.collection_id).await?.name;
    let config = visit.web.service.config();
    let usual = config.source.poll_interval;
    let interval = match source.settings.interval {
        Interval::Default => format!("every {usual}, as configured"),
        Interval::Minutes(minutes) => format!("every {}", Span::from_mins(minutes.into())),
        Interval::Auto => "by its own habit".to_owned(),
    };
    let policy = match &source.settings.policy {
        Some(policy) => policy.clone(),
        None => format!("{}, as configured", config.policy(None).name),
    };
    let pages = pages(&visit, &source).await?;
    Ok(Page(SourcePage {
        timeline: Timeline::of(&history, days, shell.now),
        redirect: observed_redirect(&source.memory),
        pages,
        shell,
        source,
        why,
        days,
        posts,
        collection,
        interval,
        policy,
    }))
}

/// Article pages, those first that a person may have to look at.
async fn pages(visit: &Visit, source: &Source) -> Result<Vec<WaitingPage>, Oops> {
    let mut pages = Vec::new();
    if source.pages.is_empty() {
        return Ok(pages);
    }
    for state in [PageState::GivenUp, PageState::Failed, PageState::Waiting] {
        let room = PAGES.saturating_sub(u32::try_from(pages.len()).unwrap_or(PAGES));
        if room > 0 {
            pages.extend(visit.by().waiting_pages(source.id, Some(state), None, room).await?);
        }
    }
    Ok(pages)
}

/// Another id than a number leads nowhere.
pub(super) fn id_of(text: &str) -> Result<i64, Oops> {
    text.parse().map_err(|_| Oops::missing(&format!("/sources/{text}")))
}

/// How to poll.
#[derive(Deserialize)]
pub(super) struct How {
    force: Option<String>,
}

/// Polls, waits for the outcome, and says it.
pub(super) async fn poll(
    visit: Visit,
    Path(id): Path<String>,
    Form(how): Form<How>,
) -> Result<Response, Oops> {
    let id = id_of(&id)?;
    let request = PollRequest { wait: true, force: how.force.is_some() };
    let said = visit.by().poll_now(id, request).await.map(|polled| match polled {
        PolledNow::Done(poll) if poll.record.error.is_some() => {
            format!("Polled; it failed: {}.", poll_in_words(&poll))
        }
        PolledNow::Done(poll) => format!("Polled: {}.", poll_in_words(&poll)),
        PolledNow::Running { .. } => "It is being polled; the outcome will show here.".to_owned(),
    });
    done(&visit, id, said)
}

/// What is done to a source by hand.
#[derive(Deserialize)]
pub(super) struct Done {
    action: String,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    url: String,
}

/// Enables, disables, sets aside, lifts, takes another address or deletes.
pub(super) async fn act(
    visit: Visit,
    Path(id): Path<String>,
    Form(asked): Form<Done>,
) -> Result<Response, Oops> {
    let (id, by) = (id_of(&id)?, visit.by());
    let source = by.source(id).await?;
    if asked.action == "retry_pages" {
        let retried = by.retry_pages(id).await.map(|count| match count {
            1 => "1 page is fetched again.".to_owned(),
            count => format!("{count} pages are fetched again."),
        });
        return done(&visit, id, retried);
    }
    let said = match asked.action.as_str() {
        "enable" => by.set_enabled(id, true).await.map(|_| "Enabled; it is polled at once."),
        "disable" => {
            by.set_enabled(id, false).await.map(|_| "Disabled; it is not polled until you enable it.")
        }
        "set_aside" => by.set_aside(id, &asked.reason).await.map(|_| "Set aside."),
        "lift" => by.lift(id).await.map(|_| "Lifted; it is polled at once."),
        "use" => by
            .use_proposal(id, &asked.url)
            .await
            .map(|_| "Its address was changed; its posts and history stay, and it is polled at once."),
        "delete" => {
            by.delete_source(id).await?;
            return Ok(session::go(&visit.web, "/sources", &format!("Deleted {}.", name(&source))));
        }
        _ => return Err(Oops::missing(&format!("/sources/{id}/{}", asked.action))),
    };
    done(&visit, id, said.map(str::to_owned))
}

/// Back to the source, with what was done, or why it could not be.
fn done(visit: &Visit, id: i64, said: Result<String, ServiceError>) -> Result<Response, Oops> {
    let said = match said {
        Ok(said) => said,
        Err(error @ (ServiceError::Conflict { .. } | ServiceError::Invalid(_))) => {
            words::sentence(&error.to_string())
        }
        Err(error) => return Err(error.into()),
    };
    Ok(session::go(&visit.web, &format!("/sources/{id}"), &said))
}
