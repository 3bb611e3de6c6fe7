//! The list of hosts: who is asked, by whom and when, and who asked to be left alone.

use askama::Template;
use axum::extract::RawQuery;
use gleaner_core::time::Time;

use super::paging::{self, Asked, Head, Pager, ROWS};
use super::sources::start_of;
use super::words::{grouped, relative, sentence};
use super::{Oops, Page, Shell, Visit};
use crate::service::{Host, HostOrder, PagePosition, SortOrder, Worker, WorkerNow};

const ORDERS: [(&str, HostOrder); 4] = [
    ("name", HostOrder::Name),
    ("failing", HostOrder::Failing),
    ("sources", HostOrder::Sources),
    ("due", HostOrder::Due),
];
const BY_NAME: SortOrder<HostOrder> = SortOrder { by: HostOrder::Name, descending: false };

#[derive(Template)]
#[template(path = "hosts.html")]
pub(super) struct HostsPage {
    shell: Shell,
    q: String,
    sort: Option<String>,
    heads: Heads,
    rows: Vec<Row>,
    pager: Pager,
    /// Who asks.
    workers: Vec<WorkerRow>,
    /// Where events are streamed to, in words; and whether something is wrong with that.
    stream: Option<(String, bool)>,
    /// What such an order leaves out.
    left_out: Option<&'static str>,
}

/// A process that serves from this database.
struct WorkerRow {
    name: String,
    role: &'static str,
    /// It has not been heard from for a while.
    silent: bool,
    worker: Worker,
    polls: String,
    posts: String,
    rate: String,
    due_lag: Option<String>,
    /// Since when nothing answers it.
    network_down: Option<Time>,
}

struct Heads {
    name: Head,
    sources: Head,
    failing: Head,
    due: Head,
}

struct Row {
    name: String,
    /// Its sources; none where URLs have no host.
    link: Option<String>,
    /// Which of its slots, where it may be asked several times at once.
    slot: Option<u32>,
    sources: String,
    failing: Option<String>,
    failing_link: Option<String>,
    /// It fails as a whole.
    down: bool,
    /// What is known of it, in words.
    known: Vec<String>,
    next_due: Option<Time>,
    hold_until: Option<Time>,
    /// Who asks now, until when at the latest.
    asked_by: Option<(String, Time)>,
}

/// The list.
pub(super) async fn page(visit: Visit, RawQuery(query): RawQuery) -> Result<Page<HostsPage>, Oops> {
    let asked = Asked::of(query.as_deref());
    let text = asked.get("q").map(|text| start_of(text, 300));
    let order = asked.order(&ORDERS, BY_NAME);
    let turn = asked.turn(order.by == HostOrder::Name);
    let listed = visit.by().hosts_page(text.as_deref(), order, &turn, ROWS).await?;
    let to = |order: SortOrder<HostOrder>, turn: &PagePosition| {
        let sort = (order != BY_NAME).then(|| paging::order_name(&ORDERS, &order));
        let given = [("q", text.clone()), ("sort", sort)];
        let given = given.into_iter().filter_map(|(name, value)| Some((name, value?)));
        paging::link("/hosts", &given.chain(paging::turn_pair(turn)).collect::<Vec<_>>())
    };
    let head = |title, by, descending| {
        Head::of(title, SortOrder { by, descending }, order, |order| to(order, &PagePosition::First))
    };
    let workers = visit.by().workers().await?.into_iter().map(worker_row).collect();
    let stream = visit.by().stream().await?.map(|stream| {
        let failing = stream.stream.failing_since.is_some();
        (stream.in_words(visit.by().now()), failing)
    });
    let shell = visit.shell("hosts");
    Ok(Page(HostsPage {
        workers,
        stream,
        heads: Heads {
            name: head("Host", HostOrder::Name, false),
            sources: head("Sources", HostOrder::Sources, true),
            failing: head("Failing", HostOrder::Failing, true),
            due: head("Next due", HostOrder::Due, false),
        },
        pager: Pager::of(&listed, &turn, |turn| to(order, &turn)),
        rows: listed.items.into_iter().map(|host| row(host, shell.now)).collect(),
        left_out: match order.by {
            HostOrder::Name => None,
            HostOrder::Failing => Some("Only hosts with failing sources are listed in this order."),
            HostOrder::Sources => Some("Only hosts with sources are listed in this order."),
            HostOrder::Due => Some("Only hosts that are due some time are listed in this order."),
        },
        sort: (order != BY_NAME).then(|| paging::order_name(&ORDERS, &order)),
        q: text.clone().unwrap_or_default(),
        shell,
    }))
}

fn row(host: Host, now: Time) -> Row {
    let number = |count: i64| grouped(u64::try_from(count).unwrap_or(0));
    let link = |more: &[(&str, String)]| {
        let pairs: Vec<(&str, String)> =
            std::iter::once(("host", host.name.clone())).chain(more.iter().cloned()).collect();
        (!host.name.is_empty()).then(|| paging::link("/sources", &pairs))
    };
    let asked_by = host.lease.clone().filter(|(_, until)| *until > now);
    Row {
        link: link(&[]),
        failing_link: link(&[("sort", "-failures".to_owned())]),
        slot: Some(host.slot).filter(|slot| *slot > 0),
        sources: number(host.sources),
        failing: (host.failing > 0).then(|| number(host.failing)),
        // While it is being asked, it is due when that must have ended.
        next_due: host.next_due.filter(|_| asked_by.is_none()),
        hold_until: host.hold_until.filter(|until| *until > now),
        down: host.memory.incidents.open.is_some(),
        known: known(&host, now),
        asked_by: asked_by.map(|(owner, until)| (start_of(&owner, 60), until)),
        name: if host.name.is_empty() { "no host".to_owned() } else { host.name },
    }
}

fn worker_row(WorkerNow { worker, silent }: WorkerNow) -> WorkerRow {
    WorkerRow {
        name: start_of(&worker.name, 100),
        role: match worker.role.as_str() {
            "worker" => "polls",
            "api" => "answers",
            _ => "polls and answers",
        },
        silent,
        polls: grouped(worker.polls),
        posts: grouped(worker.posts),
        rate: per_hour(worker.polls_per_hour),
        due_lag: worker.due_lag.map(|lag| lag.to_string()),
        network_down: worker.network_down_since,
        worker,
    }
}

/// A rate in words: by the hour where it is slow.
fn per_hour(polls: u64) -> String {
    match polls {
        0..600 => format!("{polls} polls an hour"),
        600..36_000 => format!("{} polls a minute", grouped(polls / 60)),
        _ => format!("{} polls a second", grouped(polls / 3600)),
    }
}

/// What is known of a host's failures and of how often it may be asked.
fn known(host: &Host, now: Time) -> Vec<String> {
    let incident = host.memory.incidents.open.map(|open| {
        let asked = if open.probe_at > now { relative(open.probe_at, now) } else { "now".to_owned() };
        format!(
            "Fails as a whole with {} for {}; nothing is held against its sources; asked again {asked}.",
            open.kind,
            now.since(open.since)
        )
    });
    let paced = host.memory.pace.in_words().map(|words| sentence(&words));
    incident.into_iter().chain(paced).collect()
}
