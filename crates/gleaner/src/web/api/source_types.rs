//! How sources look in the API.

use gleaner_core::backfill::Backfill;
use gleaner_core::elsewhere::Proposal;
use gleaner_core::health::Status;
use gleaner_core::source::{Duplicates, Interval, Kind};
use gleaner_core::suspect::Suspected;
use gleaner_core::time::Time;
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};

use crate::service::{SameUrl, Source, SourceFilter};
use crate::web::params::Params;
use crate::web::{Limit, Problem};

/// A source.
#[derive(Serialize, ToSchema)]
#[schema(as = Source)]
pub(super) struct Shown {
    id: i64,
    url: String,
    #[schema(value_type = KindName)]
    kind: Kind,
    name: Option<String>,
    collection_id: i64,
    /// Whether it is polled at all.
    enabled: bool,
    #[schema(value_type = StatusName)]
    status: Status,
    /// A number, or `"auto"`; null: as config says.
    poll_interval_minutes: Option<Every>,
    poll_delay_seconds: Option<u64>,
    article_selector: Option<String>,
    ignore_selector: Option<String>,
    full_content: bool,
    /// Existing entries that the first poll stores: `false` (none), `true` (all) or `"recent"`.
    backfill: BackfillResponse,
    /// Its own policy; null: the default one.
    policy: Option<String>,
    /// Which of its entries are duplicates; null: as config says.
    #[schema(value_type = Option<DuplicatesRule>)]
    duplicates: Option<Duplicates>,
    consecutive_failures: u32,
    /// `transient` or `permanent`.
    last_failure_type: Option<&'static str>,
    last_error_type: Option<&'static str>,
    last_error: Option<String>,
    last_status_code: Option<u16>,
    #[schema(value_type = Option<String>, format = DateTime)]
    failing_since: Option<Time>,
    /// The host incident or network outage because of which the latest failure does not count; null: it counts.
    excused_by: Option<String>,
    disabled_reason: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    quarantined_at: Option<Time>,
    quarantine_reason: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    retry_at: Option<Time>,
    #[schema(value_type = Option<String>, format = DateTime)]
    last_polled_at: Option<Time>,
    #[schema(value_type = Option<String>, format = DateTime)]
    last_success_at: Option<Time>,
    #[schema(value_type = Option<String>, format = DateTime)]
    next_poll_at: Option<Time>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Time,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Time,
    /// The host that it is asked from.
    host: String,
    /// Counts edits; `ETag` is made of it.
    version: i64,
    /// What seems to be wrong with it, though it answers; null: nothing.
    suspect: Option<Suspect>,
    /// Another URL, to be used by a person: what a dead feed's site advertises, or where a source with credentials is
    /// redirected for good; null: nothing is known.
    proposal: Option<ShownProposal>,
    /// Article pages that were not fetched yet.
    pages_waiting: i64,
    /// Article pages that failed and are tried again.
    pages_failed: i64,
    /// Article pages that were given up.
    pages_given_up: i64,
}

/// A source that was added.
#[derive(Serialize, ToSchema)]
pub(super) struct CreatedSource {
    #[serde(flatten)]
    pub(super) source: Shown,
    /// Sources with the same URL in other collections: each is polled for itself. Delete one where one is enough.
    pub(super) also_in: Vec<SameUrlResponse>,
}

/// A source with the same URL in another collection.
#[derive(Serialize, ToSchema)]
pub(super) struct SameUrlResponse {
    source_id: i64,
    collection_id: i64,
    collection: String,
}

impl From<SameUrl> for SameUrlResponse {
    fn from(SameUrl { source_id, collection_id, collection }: SameUrl) -> Self {
        Self { source_id, collection_id, collection }
    }
}

impl From<Source> for Shown {
    fn from(source: Source) -> Self {
        let Source { settings, health, .. } = source;
        let status = health.status();
        let (row, held) = (health.failing, health.quarantine);
        Self {
            id: source.id,
            url: settings.url,
            kind: settings.kind,
            name: settings.name,
            collection_id: settings.collection_id,
            enabled: health.disabled.is_none(),
            status,
            poll_interval_minutes: interval(settings.interval),
            poll_delay_seconds: settings.poll_delay.map(|delay| delay.as_millis() / 1000),
            article_selector: settings.article_selector,
            ignore_selector: settings.ignore_selector,
            full_content: settings.full_content,
            backfill: settings.backfill.into(),
            policy: settings.policy,
            duplicates: settings.duplicates,
            consecutive_failures: row.as_ref().map_or(0, |row| row.count),
            last_failure_type: row.as_ref().map(|row| row.class().name()),
            last_error_type: row.as_ref().map(|row| row.kind.name()),
            last_status_code: row.as_ref().and_then(|row| row.status),
            failing_since: row.as_ref().map(|row| row.since),
            excused_by: row.as_ref().and_then(|row| row.excused_by.clone()),
            last_error: row.map(|row| row.message),
            disabled_reason: health.disabled.and_then(|disabled| disabled.reason),
            quarantined_at: held.as_ref().map(|held| held.at),
            retry_at: held.as_ref().and_then(|held| held.retry_at),
            quarantine_reason: held.map(|held| held.reason),
            last_polled_at: health.last_polled_at,
            last_success_at: health.last_success_at,
            next_poll_at: source.next_poll_at,
            created_at: source.created_at,
            updated_at: source.updated_at,
            host: source.host,
            version: source.version,
            suspect: source.suspect.or(source.pages_suspect).map(Suspect::from),
            proposal: source.elsewhere.and_then(|elsewhere| elsewhere.proposal).map(ShownProposal::from),
            pages_waiting: source.pages.waiting.into(),
            pages_failed: source.pages.failed.into(),
            pages_given_up: source.pages.given_up.into(),
        }
    }
}

/// How often: minutes, or `"auto"`.
#[derive(Serialize, ToSchema)]
#[schema(as = PollInterval)]
#[serde(untagged)]
pub(super) enum Every {
    Minutes(u32),
    Auto(Auto),
}

/// By the source's own habit.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Auto {
    Auto,
}

fn interval(interval: Interval) -> Option<Every> {
    match interval {
        Interval::Default => None,
        Interval::Minutes(minutes) => Some(Every::Minutes(minutes)),
        Interval::Auto => Some(Every::Auto(Auto::Auto)),
    }
}

/// Existing entries that the first poll stores: all or none, or `"recent"`.
#[derive(Serialize, ToSchema)]
#[schema(as = Backfill)]
#[serde(untagged)]
pub(super) enum BackfillResponse {
    All(bool),
    Recent(Recent),
}

/// Up to 10 of the newest within the maximum age.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Recent {
    Recent,
}

impl From<Backfill> for BackfillResponse {
    fn from(backfill: Backfill) -> Self {
        match backfill {
            Backfill::None => Self::All(false),
            Backfill::Recent => Self::Recent(Recent::Recent),
            Backfill::All => Self::All(true),
        }
    }
}

/// Existing entries that the first poll stores: all or none, or by name.
#[derive(ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it stands for what is read field by field, so that all that is wrong is told")]
pub(super) enum BackfillRequest {
    All(bool),
    Named(BackfillName),
}

/// Existing entries that the first poll stores.
#[derive(ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "it stands for the core's own type in the API's document")]
pub(super) enum BackfillName {
    None,
    Recent,
    All,
}

/// What seems to be wrong with a source, though it answers. It is polled as ever, and nothing is held against it.
#[derive(Serialize, ToSchema)]
pub(super) struct Suspect {
    #[schema(value_type = SuspectReason)]
    reason: &'static str,
    /// What spoke for it when it was first seen, for people.
    evidence: String,
    #[schema(value_type = String, format = DateTime)]
    since: Time,
}

impl From<Suspected> for Suspect {
    fn from(Suspected { reason, evidence, since }: Suspected) -> Self {
        Self { reason: reason.name(), evidence, since }
    }
}

/// Another URL for a source. `PATCH` the source with this `url` to use it.
#[derive(Serialize, ToSchema)]
#[schema(as = Proposal)]
pub(super) struct ShownProposal {
    url: String,
    /// What its site calls it.
    title: Option<String>,
    /// When it was first seen.
    #[schema(value_type = String, format = DateTime)]
    since: Time,
    /// `advertised`: a dead feed's site names it. `redirected`: the source is redirected there for good, and has
    /// credentials, which are for its own origin only.
    reason: &'static str,
}

impl From<Proposal> for ShownProposal {
    fn from(Proposal { url, title, since, reason }: Proposal) -> Self {
        Self { url, title, since, reason: reason.name() }
    }
}

/// What a source can be suspected of.
#[derive(ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "it stands for the core's own type in the API's document")]
pub(super) enum SuspectReason {
    /// Nothing new far beyond its habit.
    Frozen,
    /// No entries where there were some.
    Empty,
    /// A page that asks to log in.
    LoginWall,
    /// A page that asks to prove that one is human.
    BotWall,
    /// The domain is for sale.
    Parked,
    /// A page where there was a feed.
    BecameHtml,
    /// The latest ten article pages all failed.
    PagesFailing,
    /// Documents that end early, one after another.
    EndsEarly,
}

/// What a source's health amounts to.
#[derive(ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "it stands for the core's own type in the API's document")]
pub(super) enum StatusName {
    Disabled,
    Quarantined,
    Failing,
    Pending,
    Healthy,
}

/// What a source is; `rss` and `atom` are read as `feed`, `twitter` as `x`.
#[derive(ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "it stands for the core's own type in the API's document")]
pub(super) enum KindName {
    Feed,
    Rss,
    Atom,
    Website,
    Watchlist,
    X,
    Twitter,
}

/// Which entries of a source are duplicates: copies of an entry (the same title, text and date), or whatever has the text of
/// another.
#[derive(ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "it stands for the core's own type in the API's document")]
pub(super) enum DuplicatesRule {
    Entry,
    Content,
}

/// What a source is asked with: it is encrypted, sent to the source's own origin only, and never shown.
#[derive(ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "it stands for what is read field by field, so that all that is wrong is told")]
pub(super) enum SourceCredential {
    /// Basic authentication.
    Basic { user: String, password: String },
    /// One header.
    Header { name: String, value: String },
}

/// A source to be made.
#[derive(ToSchema)]
#[schema(as = NewSource)]
#[expect(dead_code, reason = "it stands for what is read field by field, so that all that is wrong is told")]
pub(super) struct NewFields {
    /// What is polled.
    #[schema(example = "https://blog.example/feed.xml")]
    url: String,
    #[serde(flatten)]
    rest: Fields,
}

/// What to change of a source: what is not said stays as it is, and null is the usual again.
#[derive(ToSchema)]
#[schema(as = SourceFields)]
#[expect(dead_code, reason = "it stands for what is read field by field, so that all that is wrong is told")]
pub(super) struct Fields {
    /// What is polled.
    url: Option<String>,
    kind: Option<KindName>,
    name: Option<String>,
    /// The collection it belongs to; the default one where it is not said.
    collection_id: Option<i64>,
    /// A number of minutes, or `"auto"`.
    poll_interval_minutes: Option<Every>,
    #[schema(maximum = 31622400)]
    poll_delay_seconds: Option<u64>,
    /// CSS; which links of a watchlist are followed.
    article_selector: Option<String>,
    /// CSS; what of a website always changes and is left out.
    ignore_selector: Option<String>,
    full_content: Option<bool>,
    /// Existing entries that the first poll stores: `false` or `"none"`, `"recent"` (up to 10), `true` or `"all"`.
    backfill: Option<BackfillRequest>,
    ignore_robots: Option<bool>,
    policy: Option<String>,
    /// Which entries are duplicates and not stored; null: as config says.
    duplicates: Option<DuplicatesRule>,
    enabled: Option<bool>,
    credential: Option<SourceCredential>,
}

/// Which sources.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "it stands for what is read one by one, so that all that is wrong is told")]
pub(super) struct Which {
    /// Of this status.
    #[param(inline)]
    status: Option<StatusName>,
    /// Of this kind.
    #[param(inline)]
    kind: Option<KindName>,
    /// On this host.
    host: Option<String>,
    /// In this collection.
    collection_id: Option<i64>,
    /// With this text in URL or name.
    q: Option<String>,
    /// Only those that are enabled and not cooling down.
    feed_active: Option<bool>,
    /// Only those that answer and yet seem to be wrong.
    suspect: Option<bool>,
}

/// Reads which sources to list, and which page of them.
pub(super) fn which(mut params: Params, now: Time) -> Result<(SourceFilter, Limit), Box<Problem>> {
    let limit = params.limit();
    let filter = filter(&mut params, now);
    params.done()?;
    Ok((filter, limit))
}

fn filter(params: &mut Params, now: Time) -> SourceFilter {
    SourceFilter {
        status: params.one("status", status),
        kind: params.read::<Kind>("kind"),
        host: params.text("host"),
        collection_id: params.read("collection_id"),
        text: params.text("q").filter(|text| !text.trim().is_empty()),
        active_at: params.read::<bool>("feed_active").filter(|active| *active).map(|_| now),
        suspect: params.read::<bool>("suspect").unwrap_or_default(),
        ..SourceFilter::default()
    }
}

fn status(name: &str) -> Result<Status, String> {
    let found = Status::ALL.into_iter().find(|status| status.name() == name);
    found.ok_or_else(|| {
        let (shown, names) = (name.chars().take(60).collect::<String>(), Status::ALL.map(Status::name));
        format!("there is no status '{shown}'; there are {}", names.join(", "))
    })
}
