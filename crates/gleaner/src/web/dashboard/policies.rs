//! Policies: the tables, in words and as tables; who goes by them, and whom each rule holds now.

use askama::Template;
use axum::Router;
use axum::routing::get;
use gleaner_core::health::Status;
use gleaner_core::outcome::{ErrorKind, Level};
use gleaner_core::policy::{Aside, Gap, Policy, Then};

use super::form_input::sentence;
use super::words::{count, grouped};
use super::{Oops, Page, Shell, Visit};
use crate::config::Config;
use crate::service::policy_words;
use crate::service::{HeldBy, PolicyInUse};
use crate::web::Web;

pub(super) fn routes() -> Router<Web> {
    Router::new().route("/policies", get(page))
}

#[derive(Template)]
#[template(path = "policies.html")]
struct PoliciesPage {
    shell: Shell,
    tables: Vec<Table>,
}

/// A policy.
struct Table {
    name: String,
    is_default: bool,
    /// Where it comes from, if not from gleaner alone.
    from: Option<String>,
    /// What it does, in a sentence or two.
    about: String,
    /// How many sources go by it.
    sources: u64,
    applies: String,
    rules: Vec<Rule>,
    notes: Vec<String>,
}

/// What an error kind does.
struct Rule {
    kind: &'static str,
    what: &'static str,
    gap: String,
    when: String,
    lasts: String,
    then: &'static str,
    loud: bool,
    /// All of it in a sentence.
    words: String,
    held: Vec<Held>,
}

/// Sources that a rule holds now.
struct Held {
    status: Status,
    count: String,
    link: String,
}

async fn page(visit: Visit) -> Result<Page<PoliciesPage>, Oops> {
    let by = visit.by();
    let (policies, held) = (by.policies().await?, by.held_by_rules().await?);
    let config = visit.web.service.config();
    let tables = policies.iter().map(|in_use| table(config, in_use, &held)).collect();
    Ok(Page(PoliciesPage { shell: visit.shell("policies"), tables }))
}

fn table(config: &Config, in_use: &PolicyInUse<'_>, held: &[HeldBy]) -> Table {
    let PolicyInUse { policy, is_default, sources } = *in_use;
    let applies = match (is_default, sources) {
        (true, 0) => "the default: it applies to every source that names no other".to_owned(),
        (true, n) => format!("the default; {} by it", goes(n)),
        (false, 0) => "no source names it".to_owned(),
        (false, n) => format!("{} by it", goes(n)),
    };
    Table {
        name: policy.name.clone(),
        is_default,
        from: from(config, policy),
        about: about(policy),
        sources,
        applies,
        rules: ErrorKind::all().map(|kind| rule(policy, kind, held)).collect(),
        notes: notes(policy),
    }
}

fn goes(sources: u64) -> String {
    format!("{} {}", count(sources, "source"), if sources == 1 { "goes" } else { "go" })
}

/// Where a table comes from that is not as it ships.
fn from(config: &Config, policy: &Policy) -> Option<String> {
    let overlay = config.overlays.get(&policy.name)?;
    if Policy::NAMES.contains(&policy.name.as_str()) {
        return Some("changed by your config".to_owned());
    }
    let base = overlay.base.as_deref().unwrap_or("standard");
    Some(format!("from your config, based on {base}"))
}

fn about(policy: &Policy) -> String {
    match policy.name.as_str() {
        "standard" => {
            "Waits in proportion to how long a source has been failing, calls it quarantined once that is \
            certain, keeps asking all the same, and never gives up."
                .to_owned()
        }
        "backoff" => {
            "Doubles the interval at each failure, and disables a source after so many permanent failures in \
            a row. Only a person enables it again."
                .to_owned()
        }
        "cooldown" => {
            "Doubles the interval at each failure, and sets a source aside for a time that fits the error; \
            then it tries again."
                .to_owned()
        }
        "quarantine" => {
            "Keeps the interval, and after so many failures sets a source aside until a person comes."
                .to_owned()
        }
        _ => "A table of your own; its rules are below.".to_owned(),
    }
}

fn rule(policy: &Policy, kind: ErrorKind, held: &[HeldBy]) -> Rule {
    let rule = policy.rule(kind);
    let gap = policy_words::gap(policy, kind);
    let (when, lasts, then) = match &rule.aside {
        Some(aside) => (policy_words::when(kind, aside), lasts(aside), then(aside)),
        None => ("never".to_owned(), "–".to_owned(), "–"),
    };
    let aside = match &rule.aside {
        Some(aside) => format!("it is {} {when}, {}", then_words(aside), lasts_words(aside)),
        None if kind == ErrorKind::Internal => "it is never held against the source".to_owned(),
        None => "it is never set aside".to_owned(),
    };
    let held = held.iter().filter(|one| one.policy == policy.name && one.kind.same_kind(kind)).map(shown);
    Rule {
        kind: kind.name(),
        what: what(kind),
        words: sentence(&format!("{}: asked again {}; {aside}", what(kind), wait(policy, kind))),
        gap,
        when,
        lasts,
        then,
        loud: rule.level == Level::Error,
        held: held.collect(),
    }
}

fn shown(held: &HeldBy) -> Held {
    let (status, kind) = (held.status.name(), held.kind.name());
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("status", status).append_pair("error", kind).append_pair("policy", &held.policy);
    Held { status: held.status, count: grouped(held.sources), link: format!("/sources?{}", query.finish()) }
}

/// What an error kind is, in few words.
fn what(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::RateLimited => "429, asked too often",
        ErrorKind::Unauthorized => "401, credentials missing or refused",
        ErrorKind::Forbidden => "403, not for us",
        ErrorKind::NotFound => "404, not there",
        ErrorKind::Gone => "410, gone for good",
        ErrorKind::UpstreamFailure => "500 to 599, the server's own trouble",
        ErrorKind::Network(_) => "no answer: name, connection, time or certificate",
        ErrorKind::ParseError => "an answer that cannot be read",
        ErrorKind::TooLarge => "an answer past the limits",
        ErrorKind::Blocked => "an address that our own guard refuses",
        ErrorKind::Unexpected => "any other failure",
        ErrorKind::Internal => "our own fault",
    }
}

fn wait(policy: &Policy, kind: ErrorKind) -> String {
    match policy.rule(kind).gap {
        _ if kind == ErrorKind::Internal => "after its interval, or an hour where that is longer".to_owned(),
        Gap::Interval => "after its interval, as if nothing had happened".to_owned(),
        Gap::Backoff => {
            format!("after its interval doubled for each failure in a row, at most {}", policy.max_backoff)
        }
        Gap::Age { .. } => {
            let gap = policy_words::gap(policy, kind);
            let (share, dns) = gap.split_once(" × age").unwrap_or((&gap, ""));
            let dns = dns.strip_prefix(", DNS ").map(|dns| format!(" ({dns} where the name does not exist)"));
            format!("after {share} of the time that it has been failing{}", dns.unwrap_or_default())
        }
    }
}

fn then(aside: &Aside) -> &'static str {
    match aside.then {
        Then::KeepPolling => "quarantined, still polled",
        Then::CoolDown(_) | Then::WaitForPerson => "quarantined",
        Then::Disable => "disabled",
    }
}

fn lasts(aside: &Aside) -> String {
    match aside.then {
        Then::KeepPolling => "until a poll succeeds".to_owned(),
        Then::CoolDown(span) => span.to_string(),
        Then::WaitForPerson => "until a person retries it".to_owned(),
        Then::Disable => "until a person enables it".to_owned(),
    }
}

fn then_words(aside: &Aside) -> &'static str {
    let at_once = aside.threshold == 1 && aside.over.as_millis() == 0;
    match (aside.then, at_once) {
        (Then::Disable, true) => "disabled",
        (Then::Disable, false) => "disabled after",
        (_, true) => "quarantined",
        (_, false) => "quarantined after",
    }
}

fn lasts_words(aside: &Aside) -> String {
    match aside.then {
        Then::KeepPolling => "and still polled until it succeeds".to_owned(),
        Then::CoolDown(span) => format!("and tried again {span} later"),
        Then::WaitForPerson => "until a person retries it".to_owned(),
        Then::Disable => "until a person enables it again".to_owned(),
    }
}

/// What holds for a table as a whole.
fn notes(policy: &Policy) -> Vec<String> {
    let mut notes = Vec::new();
    if policy.rules.iter().any(|rule| matches!(rule.gap, Gap::Age { .. })) {
        let age = policy.age;
        notes.push(format!(
            "Age is the time since the first failure in a row. Gaps by age are at least the shorter of the interval and \
             1 hour, and at most {}; for errors that may pass, at most {} in the first {}.",
            age.cap, age.young_cap, age.young
        ));
        notes.push(format!(
            "After {} of nothing but permanent failures a source is asked every {}, and a person is asked to look.",
            age.dormant_after, age.dormant_every
        ));
    }
    if policy.exempt_lifts {
        notes.push("An error that is never set aside ends a quarantine that it meets.".to_owned());
    }
    notes.push(if policy.judged {
        "The cause of a failure is judged: what is the fault of a host or of the local network does not count, and \
         hosts that refuse are paced."
            .to_owned()
    } else {
        "The cause of a failure is not judged: every failure counts.".to_owned()
    });
    notes
}
