//! The first page: is everything all right, what is not and why, what did we get.

use std::collections::HashMap;

use askama::Template;
use gleaner_core::health::Status;
use gleaner_core::time::Time;

use super::words::{self, Change, count, grouped};
use super::{Oops, Page, Shell, Visit, sources};
use crate::service::{Activity, Overview, Post, Source, SourceName};

#[derive(Template)]
#[template(path = "overview.html")]
pub(super) struct OverviewPage {
    shell: Shell,
    total: u64,
    verdict: Verdict,
    /// What needs a person.
    needs: Vec<Need>,
    shares: Vec<Share>,
    /// How many answer and yet seem to be wrong; none: none.
    suspects: Option<String>,
    /// Not to those from whom something is hidden, since it counts all.
    shows_activity: bool,
    polls: Plot,
    posts: Plot,
    changes: Vec<Change>,
    latest: Vec<Latest>,
}

impl OverviewPage {
    fn sources(&self) -> String {
        count(self.total, "source")
    }
}

/// What the page says first.
struct Verdict {
    tone: &'static str,
    headline: String,
    text: &'static str,
}

/// Something that needs a person.
struct Need {
    link: String,
    /// To which thing.
    what: String,
    /// What happened, and what to do.
    why: String,
}

/// A status and its part of all sources.
struct Share {
    status: Status,
    count: String,
    percent: String,
    /// Of a bar a thousand wide.
    x: f64,
    width: f64,
}

/// Bars, one an hour.
struct Plot {
    /// What the bars add up to, in words.
    total: String,
    /// The highest, which the scale ends with.
    top: String,
    bars: Vec<Bar>,
}

struct Bar {
    hour: Time,
    /// Its figures, in words.
    tip: String,
    value: String,
    failed: String,
    x: f64,
    y: f64,
    height: f64,
    failed_y: f64,
    failed_height: f64,
}

/// A post that came lately.
struct Latest {
    id: i64,
    title: String,
    source_id: i64,
    /// What its source is called.
    source: String,
    at: Time,
}

pub(super) async fn page(visit: Visit) -> Result<Page<OverviewPage>, Oops> {
    let overview = visit.by().overview().await?;
    let total = overview.counts.iter().map(|(_, count)| count).sum();
    let needs = needs(&overview);
    let ids: Vec<i64> = overview.posts.iter().map(|post| post.source_id).collect();
    let names = visit.by().source_names(&ids).await?;
    let suspects = Some(overview.suspects).filter(|count| *count > 0).map(grouped);
    let outage = overview.readiness.network_outage_since.is_some();
    let Overview { counts, activity, changes, posts, .. } = overview;
    Ok(Page(OverviewPage {
        shell: visit.shell("overview"),
        total,
        verdict: verdict(&counts, needs.len() as u64, outage),
        needs,
        shares: shares(&counts, total),
        suspects,
        shows_activity: !activity.is_empty(),
        polls: plot(&activity, |hour| (hour.polls, hour.failed), "poll"),
        posts: plot(&activity, |hour| (hour.posts, 0), "post"),
        changes: changes.into_iter().map(Change::from).collect(),
        latest: posts.into_iter().map(|post| latest(post, &names)).collect(),
    }))
}

/// All is right only where something was polled and nothing fails, whoever is to blame.
fn verdict(counts: &[(Status, u64)], needs: u64, outage: bool) -> Verdict {
    let of = |status: Status| counts.iter().find(|(one, _)| *one == status).map_or(0, |(_, count)| *count);
    let failing = of(Status::Failing) + of(Status::Quarantined);
    let verdict = |tone, headline: String, text| Verdict { tone, headline, text };
    let is_or_are = |count: u64| if count == 1 { "is" } else { "are" };
    if needs > 0 {
        let need = if needs == 1 { "needs" } else { "need" };
        verdict("bad", format!("{} {need} you", count(needs, "thing")), "")
    } else if outage {
        verdict("bad", "The local network is down".to_owned(), "Polling resumes by itself.")
    } else if failing > 0 {
        let headline = format!("{} {} failing", count(failing, "source"), is_or_are(failing));
        verdict("", headline, "Nothing needs you: what fails is backed off, retried and explained by itself.")
    } else if of(Status::Healthy) > 0 {
        verdict("good", "Everything is all right".to_owned(), "Nothing fails, and nothing needs you.")
    } else if of(Status::Pending) > 0 {
        let pending = of(Status::Pending);
        let headline =
            format!("{} {} waiting for the first poll", count(pending, "source"), is_or_are(pending));
        verdict(
            "",
            headline,
            "First polls are spread over an interval, so that they do not come all at once.",
        )
    } else {
        verdict("", "No source is polled".to_owned(), "All sources are disabled.")
    }
}

fn needs(overview: &Overview) -> Vec<Need> {
    let mut needs = Vec::new();
    // A network outage ends by itself, and the page says so first.
    let broken = overview.readiness.checks.iter().filter(|check| !check.ok && check.name != "network");
    for check in broken {
        let why = format!("{}; see the log, and start gleaner again", check.detail);
        needs.push(Need { link: "/readyz".into(), what: format!("The {}", check.name), why });
    }
    if overview.no_password {
        let why = "you came in by a link that is good once; set a password to come in again".to_owned();
        needs.push(Need { link: "/settings".into(), what: "Your password".into(), why });
    }
    needs.extend(overview.waiting.iter().map(waiting));
    for webhook in &overview.given_up {
        let why =
            format!("{} did not answer for a day; look at its log, and try it", words::short(&webhook.url));
        needs.push(Need {
            link: format!("/settings/webhooks/{}", webhook.id),
            what: webhook.name.clone(),
            why,
        });
    }
    needs
}

fn waiting(source: &Source) -> Need {
    let settings = &source.settings;
    let why = sources::why(source).unwrap_or_else(|| "it failed for long".to_owned());
    let why = format!("{why}; it is not polled until you lift, enable or delete it");
    Need {
        link: format!("/sources/{}", source.id),
        what: sources::name_of(settings.name.as_deref(), &settings.url),
        why,
    }
}

fn shares(counts: &[(Status, u64)], total: u64) -> Vec<Share> {
    let order = [Status::Healthy, Status::Pending, Status::Failing, Status::Quarantined, Status::Disabled];
    let of = |status: Status| counts.iter().find(|(one, _)| *one == status).map_or(0, |(_, count)| *count);
    let mut x = 0.0;
    let share = |status: Status| {
        let part = if total == 0 { 0.0 } else { of(status) as f64 / total as f64 };
        let begun = x;
        x += part * 1000.0;
        let percent = match part * 100.0 {
            0.0 => "0 %".to_owned(),
            few if few < 1.0 => "under 1 %".to_owned(),
            many => format!("{many:.0} %"),
        };
        Share { status, count: grouped(of(status)), percent, x: begun, width: part * 1000.0 }
    };
    order.into_iter().map(share).collect()
}

/// How a plot is drawn: 24 places of 20, 100 high.
const PLACE: f64 = 20.0;
const HEIGHT: f64 = 100.0;

fn plot(hours: &[Activity], of: impl Fn(&Activity) -> (i64, i64), noun: &str) -> Plot {
    let number = |value: i64| u64::try_from(value).unwrap_or(0);
    let values: Vec<(u64, u64)> =
        hours.iter().map(&of).map(|(all, bad)| (number(all), number(bad))).collect();
    let top = values.iter().map(|(all, _)| *all).max().unwrap_or(0);
    let scale = |value: u64| if top == 0 { 0.0 } else { value as f64 / top as f64 * HEIGHT };
    let bar = |(place, (hour, (all, bad))): (usize, (&Activity, &(u64, u64)))| {
        let failed = if *bad > 0 { format!(", {} failed", grouped(*bad)) } else { String::new() };
        Bar {
            hour: hour.hour,
            tip: format!("{}{failed}", count(*all, noun)),
            value: grouped(*all),
            failed: grouped(*bad),
            x: place as f64 * PLACE,
            y: HEIGHT - scale(*all),
            height: scale(*all),
            failed_y: HEIGHT - scale(*bad),
            failed_height: scale(*bad),
        }
    };
    let total: u64 = values.iter().map(|(all, _)| all).sum();
    Plot {
        total: count(total, noun),
        top: grouped(top),
        bars: hours.iter().zip(&values).enumerate().map(bar).collect(),
    }
}

fn latest(post: Post, names: &HashMap<i64, SourceName>) -> Latest {
    let source = names.get(&post.source_id).map(|one| sources::name_of(one.name.as_deref(), &one.url));
    let content = post.content;
    let title = content.title.filter(|title| !title.trim().is_empty());
    let title = title.unwrap_or_else(|| content.body.chars().take(80).collect());
    Latest {
        id: post.id,
        title,
        source_id: post.source_id,
        source: source.unwrap_or_default(),
        at: post.created_at,
    }
}
