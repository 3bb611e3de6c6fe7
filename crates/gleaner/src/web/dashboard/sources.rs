//! The list of sources: filtered, sorted, turned page by page; its address says all of that.

use askama::Template;
use axum::extract::RawQuery;
use gleaner_core::health::Status;
use gleaner_core::outcome::ErrorKind;
use gleaner_core::source::Kind;
use gleaner_core::suspect::Suspected;
use gleaner_core::time::Time;

use super::bulk::BulkOutcome;
use super::paging::{self, Asked, Head, Pager, ROWS};
use super::words::{self, count, grouped};
use super::{Oops, Page, Shell, Visit};
use crate::service::{Collection, PagePosition, ServiceError, SortOrder, Source, SourceFilter, SourceOrder};
use crate::source_fields::{SourceField, Takes};

const ORDERS: [(&str, SourceOrder); 5] = [
    ("added", SourceOrder::Added),
    ("address", SourceOrder::Address),
    ("next_poll", SourceOrder::NextPoll),
    ("last_success", SourceOrder::LastSuccess),
    ("failures", SourceOrder::Failures),
];
const NEWEST: SortOrder<SourceOrder> = SortOrder { by: SourceOrder::Added, descending: true };
/// The orders that the form offers.
const OFFERED: [(&str, &str); 7] = [
    ("", "newest first"),
    ("added", "oldest first"),
    ("address", "address"),
    ("next_poll", "next poll"),
    ("-last_success", "latest success"),
    ("last_success", "longest without success"),
    ("-failures", "most failures in a row"),
];
/// How much of a message a row shows.
const SHOWN: usize = 160;

/// A list as its address has it.
pub(super) struct List {
    pub(super) filter: SourceFilter,
    order: SortOrder<SourceOrder>,
    turn: PagePosition,
}

impl List {
    /// From what stands after the question mark.
    pub(super) fn of(visit: &Visit, query: Option<&str>) -> Result<Self, ServiceError> {
        let asked = Asked::of(query);
        let status = match asked.get("status") {
            Some(name) => Some(Status::ALL.into_iter().find(|one| one.name() == name).ok_or_else(|| {
                ServiceError::invalid("status", format!("there is no status '{}'", start_of(name, 60)))
            })?),
            None => None,
        };
        let kind = asked.get("kind").map(str::parse::<Kind>).transpose();
        let kind = kind.map_err(|unknown| ServiceError::invalid("kind", unknown.to_string()))?;
        let collection_id = asked.get("collection").map(str::parse::<i64>).transpose().map_err(|_| {
            ServiceError::invalid("collection", "a collection is named by its number; choose one of the list")
        })?;
        let error = asked.get("error").map(str::parse::<ErrorKind>).transpose();
        let error = error.map_err(|unknown| ServiceError::invalid("error", unknown.to_string()))?;
        let text = |name: &str| asked.get(name).map(|text| start_of(text, 500));
        let filter = SourceFilter {
            status,
            kind,
            collection_id,
            host: text("host"),
            text: text("q"),
            active_at: None,
            waits_for_person: asked.get("waits").is_some(),
            suspect: asked.get("suspect").is_some(),
            error,
            goes_by_policy: text("policy").map(|name| visit.web.service.who_goes_by(&name)),
            ..SourceFilter::default()
        };
        let order = asked.order(&ORDERS, NEWEST);
        Ok(Self { filter, order, turn: asked.turn(order.by == SourceOrder::Address) })
    }

    /// The parameters of this list.
    fn pairs(&self, order: SortOrder<SourceOrder>, turn: &PagePosition) -> Vec<(&'static str, String)> {
        let SourceFilter { status, kind, collection_id, host, text, waits_for_person, suspect, .. } =
            &self.filter;
        let (error, policy) = self.rule();
        let given = [
            ("q", text.clone()),
            ("status", status.map(|status| status.name().to_owned())),
            ("kind", kind.map(|kind| kind.name().to_owned())),
            ("collection", collection_id.map(|id| id.to_string())),
            ("host", host.clone()),
            ("waits", waits_for_person.then(|| "person".to_owned())),
            ("suspect", suspect.then(|| "yes".to_owned())),
            ("error", error.map(str::to_owned)),
            ("policy", policy.map(str::to_owned)),
            ("sort", (order != NEWEST).then(|| paging::order_name(&ORDERS, &order))),
        ];
        let given = given.into_iter().filter_map(|(name, value)| Some((name, value?)));
        given.chain(paging::turn_pair(turn)).collect()
    }

    /// The rule whose sources these are: the kind of their last error, and their policy.
    fn rule(&self) -> (Option<&str>, Option<&str>) {
        let SourceFilter { error, goes_by_policy, .. } = &self.filter;
        (error.map(ErrorKind::name), goes_by_policy.as_ref().map(|policy| policy.name.as_str()))
    }

    /// Where this very page is.
    pub(super) fn link(&self) -> String {
        paging::link("/sources", &self.pairs(self.order, &self.turn))
    }

    /// Where its forms go.
    pub(super) fn bulk_link(&self) -> String {
        paging::link("/sources/bulk", &self.pairs(self.order, &self.turn))
    }

    fn sorted(&self, order: SortOrder<SourceOrder>) -> String {
        paging::link("/sources", &self.pairs(order, &PagePosition::First))
    }

    /// How many it finds, where that was counted anyway: all, or all of a status.
    fn counted(&self, counts: &[(Status, u64)]) -> Option<u64> {
        let only = SourceFilter { status: self.filter.status, ..SourceFilter::default() };
        let counted = counts.iter().filter(|(status, _)| self.filter.status.is_none_or(|one| one == *status));
        (self.filter == only).then(|| counted.map(|(_, count)| count).sum())
    }
}

/// The first of a text's characters.
pub(super) fn start_of(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Why a source is not healthy, or seems not to be, in a few words.
pub(super) fn why(source: &Source) -> Option<String> {
    let health = &source.health;
    let message = health.failing.as_ref().map(|row| match &row.excused_by {
        Some(by) => format!("{} (does not count: {by})", row.message),
        None => row.message.clone(),
    });
    let disabled = health.disabled.as_ref().map(|disabled| disabled.reason.clone());
    let set_aside = health.quarantine.as_ref().map(|held| held.reason.clone());
    let why = match disabled {
        Some(None) => Some("by hand".to_owned()),
        Some(Some(reason)) => message.or(Some(reason)),
        None => message.or(set_aside),
    };
    let suspected = || suspicion(source).map(|suspected| suspected.evidence.clone());
    why.or_else(suspected).map(|why| start_of(&why, SHOWN))
}

/// What a source is suspected of: by its documents first, else by its article pages.
fn suspicion(source: &Source) -> Option<&Suspected> {
    source.suspect.as_ref().or(source.pages_suspect.as_ref())
}

/// What a source is called.
pub(super) fn name_of(name: Option<&str>, url: &str) -> String {
    let name = name.map(str::trim).filter(|name| !name.is_empty());
    name.map_or_else(|| words::short(url), |name| start_of(name, 200))
}

/// A status with how many sources have it.
struct Chip {
    title: &'static str,
    status: Option<Status>,
    count: String,
    link: String,
    here: bool,
}

struct Row {
    id: i64,
    name: String,
    /// Its address, where that is not its name.
    address: Option<String>,
    kind: &'static str,
    collection: Option<String>,
    status: Status,
    /// What it is suspected of.
    suspect: Option<String>,
    why: Option<String>,
    failures: u32,
    next_poll_at: Option<Time>,
    last_success_at: Option<Time>,
}

/// One of what a form offers.
struct Choice {
    value: String,
    title: String,
    chosen: bool,
}

#[derive(Template)]
#[template(path = "sources.html")]
pub(super) struct SourcesPage {
    shell: Shell,
    list: List,
    done: Option<BulkOutcome>,
    counted: Option<u64>,
    chips: Vec<Chip>,
    statuses: Vec<Choice>,
    kinds: Vec<Choice>,
    collections: Vec<Choice>,
    orders: Vec<Choice>,
    heads: Heads,
    rows: Vec<Row>,
    pager: Pager,
}

struct Heads {
    address: Head,
    next_poll: Head,
    last_success: Head,
}

impl SourcesPage {
    /// Fields that can be set of many sources; the collection has a button of its own.
    fn bulk_fields(&self) -> impl Iterator<Item = &'static SourceField> {
        SourceField::bulk().filter(|field| !matches!(field.takes, Takes::Collection))
    }

    fn title(&self) -> String {
        let only = SourceFilter { status: self.list.filter.status, ..SourceFilter::default() };
        match (self.counted, self.list.filter.status) {
            (Some(found), _) if self.list.filter != only => {
                if found == 1 {
                    "1 source matches".to_owned()
                } else {
                    format!("{} match", count(found, "source"))
                }
            }
            (Some(found), None) => count(found, "source"),
            (Some(found), Some(status)) => {
                format!(
                    "{} {} {}",
                    grouped(found),
                    status.name(),
                    if found == 1 { "source" } else { "sources" }
                )
            }
            (None, _) => "Sources that match".to_owned(),
        }
    }

    /// What acting on all means.
    fn all(&self) -> String {
        match self.counted {
            Some(found) => format!("all {} that match, not only this page", grouped(found)),
            None => "all that match, not only this page".to_owned(),
        }
    }

    /// Whether there are none at all; what was counted may be some seconds old.
    fn is_empty(&self) -> bool {
        self.rows.is_empty() && !self.is_filtered() && self.list.turn == PagePosition::First
    }

    fn is_filtered(&self) -> bool {
        self.list.filter != SourceFilter::default()
    }

    fn q(&self) -> &str {
        self.list.filter.text.as_deref().unwrap_or_default()
    }

    fn host(&self) -> &str {
        self.list.filter.host.as_deref().unwrap_or_default()
    }
}

/// The list.
pub(super) async fn page(visit: Visit, RawQuery(query): RawQuery) -> Result<Page<SourcesPage>, Oops> {
    let list = List::of(&visit, query.as_deref())?;
    show(&visit, list, None).await
}

/// The list, after something was done to it.
pub(super) async fn show(
    visit: &Visit,
    list: List,
    done: Option<BulkOutcome>,
) -> Result<Page<SourcesPage>, Oops> {
    let by = visit.by();
    let (counts, suspects) = (by.status_counts().await?, by.suspects().await?);
    let collections = by.collections().await?;
    let listed = by.sources_page(&list.filter, list.order, &list.turn, ROWS).await?;
    let pager =
        Pager::of(&listed, &list.turn, |turn| paging::link("/sources", &list.pairs(list.order, &turn)));
    let rows: Vec<Row> = listed.items.into_iter().map(|source| row(source, &collections)).collect();
    let head = |title, by, descending| {
        Head::of(title, SortOrder { by, descending }, list.order, |order| list.sorted(order))
    };
    let offer = |value: &str, title: &str, chosen: bool| Choice {
        value: value.to_owned(),
        title: title.to_owned(),
        chosen,
    };
    let filter = &list.filter;
    Ok(Page(SourcesPage {
        shell: visit.shell("sources"),
        done,
        // Where all of them are on this page, they are counted for sure.
        counted: if pager.is_needed() { list.counted(&counts) } else { Some(rows.len() as u64) },
        chips: chips(&counts, suspects, filter),
        statuses: Status::ALL.map(|one| offer(one.name(), one.name(), filter.status == Some(one))).into(),
        kinds: Kind::ALL.map(|one| offer(one.name(), one.name(), filter.kind == Some(one))).into(),
        collections: collections
            .iter()
            .map(|one| offer(&one.id.to_string(), &one.name, filter.collection_id == Some(one.id)))
            .collect(),
        orders: orders(list.order),
        heads: Heads {
            address: head("Source", SourceOrder::Address, false),
            next_poll: head("Next poll", SourceOrder::NextPoll, false),
            last_success: head("Last success", SourceOrder::LastSuccess, true),
        },
        rows,
        pager,
        list,
    }))
}

/// The orders that are offered; one that came by a click on a column's head is among them, too.
fn orders(order: SortOrder<SourceOrder>) -> Vec<Choice> {
    // The usual one goes without saying.
    let now = if order == NEWEST { String::new() } else { paging::order_name(&ORDERS, &order) };
    let mut orders: Vec<Choice> = OFFERED
        .iter()
        .map(|(value, title)| Choice {
            value: (*value).into(),
            title: (*title).into(),
            chosen: *value == now,
        })
        .collect();
    if !orders.iter().any(|order| order.chosen) {
        let name = now.trim_start_matches('-').replace('_', " ");
        let title = if now.starts_with('-') {
            format!("{name}, the last first")
        } else {
            format!("{name}, the fewest first")
        };
        orders.push(Choice { value: now, title, chosen: true });
    }
    orders
}

fn chips(counts: &[(Status, u64)], suspects: u64, filter: &SourceFilter) -> Vec<Chip> {
    let of = |status: Status| counts.iter().find(|(one, _)| *one == status).map_or(0, |(_, count)| *count);
    let all = Chip {
        title: "all",
        status: None,
        count: grouped(counts.iter().map(|(_, count)| count).sum()),
        link: "/sources".to_owned(),
        here: *filter == SourceFilter::default(),
    };
    let one = |status: Status| Chip {
        title: status.name(),
        status: Some(status),
        count: grouped(of(status)),
        link: format!("/sources?status={}", status.name()),
        here: filter.status == Some(status),
    };
    let order = [Status::Healthy, Status::Pending, Status::Failing, Status::Quarantined, Status::Disabled];
    let suspect = Chip {
        title: "suspect",
        status: None,
        count: grouped(suspects),
        link: "/sources?suspect=yes".to_owned(),
        here: filter.suspect,
    };
    let suspect = Some(suspect).filter(|chip| suspects > 0 || chip.here);
    std::iter::once(all).chain(order.map(one)).chain(suspect).collect()
}

fn row(source: Source, collections: &[Collection]) -> Row {
    let settings = &source.settings;
    let name = name_of(settings.name.as_deref(), &settings.url);
    let address = Some(words::short(&settings.url)).filter(|address| *address != name);
    // Where there is but one, it goes without saying.
    let collection = collections.iter().find(|one| one.id == settings.collection_id && collections.len() > 1);
    Row {
        id: source.id,
        address,
        kind: settings.kind.name(),
        collection: collection.map(|one| one.name.clone()),
        status: source.health.status(),
        suspect: suspicion(&source).map(|suspected| suspected.reason.name().replace('_', " ")),
        why: why(&source),
        failures: source.health.failing.as_ref().map_or(0, |row| row.count),
        next_poll_at: source.next_poll_at,
        last_success_at: source.health.last_success_at,
        name,
    }
}
