//! The farm's control endpoints, on 127.0.0.1 at the farm's port. Any method works.
//!
//! | path | does |
//! |---|---|
//! | `/expected` | what a round over all feeds must yield |
//! | `/generation?n=1` | renders and serves that generation, then as `/expected` |
//! | `/ledger` | totals of all requests since the last reset |
//! | `/feeds` | the same per feed, as tab-separated values |
//! | `/reset` | clears all counts |
//! | `/faults?not_found=0.1&reset=0.01` | sets these rates, all others to 0 |
//! | `/clock?ms=1000` | sets the ledger's time |
//! | `/cpu` | CPU seconds of this process so far |
//! | `/stop` | ends the farm |

use std::fmt::Write;
use std::sync::atomic::Ordering;

use crate::fault::{Fault, Rates};
use crate::ledger::{FeedRecord, Summary};
use crate::{Expected, State, cpu, lock};

/// The response to a request for `target`.
pub(crate) fn answer(target: &str, state: &State) -> Vec<u8> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let (status, body) = match act(path, query, state) {
        Ok(body) => ("200 OK", body),
        Err(Problem::Unknown) => ("404 Not Found", format!("no {path} here\n")),
        Err(Problem::Value) => ("400 Bad Request", format!("cannot read '{query}'\n")),
    };
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\n\r\n{body}")
        .into_bytes()
}

enum Problem {
    Unknown,
    Value,
}

fn act(path: &str, query: &str, state: &State) -> Result<String, Problem> {
    match path {
        "/expected" => Ok(state.expected().json()),
        "/generation" => {
            state.set_generation(u32::try_from(value(query, "n")?).map_err(|_| Problem::Value)?);
            Ok(state.expected().json())
        }
        "/ledger" => Ok(lock(&state.ledger).summary().json()),
        "/feeds" => Ok(table(lock(&state.ledger).feeds())),
        "/reset" => {
            lock(&state.ledger).reset();
            Ok("{}\n".into())
        }
        "/faults" => {
            *lock(&state.rates) = rates(query)?;
            Ok("{}\n".into())
        }
        "/clock" => {
            let millis = value(query, "ms")?;
            state.clock.store(i64::try_from(millis).map_err(|_| Problem::Value)?, Ordering::Relaxed);
            Ok("{}\n".into())
        }
        "/cpu" => {
            let time = cpu::cpu_time().ok_or(Problem::Unknown)?;
            let (user, system) = (time.user, time.system);
            Ok(format!("{{\"user_s\":{user:.2},\"system_s\":{system:.2},\"cpu_s\":{:.2}}}\n", user + system))
        }
        "/stop" => {
            state.stop.notify_one();
            Ok("{}\n".into())
        }
        _ => Err(Problem::Unknown),
    }
}

fn value(query: &str, name: &str) -> Result<u64, Problem> {
    query
        .split('&')
        .find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
        .and_then(|value| value.parse().ok())
        .ok_or(Problem::Value)
}

fn rates(query: &str) -> Result<Rates, Problem> {
    let mut rates = Rates::default();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, share) = pair.split_once('=').ok_or(Problem::Value)?;
        rates.set(Fault::by_name(name).ok_or(Problem::Value)?, share.parse().map_err(|_| Problem::Value)?);
    }
    rates.check().map_err(|_| Problem::Value)?;
    Ok(rates)
}

impl Expected {
    fn json(&self) -> String {
        let Self { feeds, generation, entries, bytes } = self;
        format!("{{\"feeds\":{feeds},\"generation\":{generation},\"entries\":{entries},\"bytes\":{bytes}}}\n")
    }
}

impl Summary {
    fn json(&self) -> String {
        let mut json = String::from("{");
        let counts = [
            ("feeds", self.feeds),
            ("requested", self.requested),
            ("requested_once", self.requested_once),
            ("most_requests", self.most_requests),
            ("most_at_once", self.most_at_once),
            ("misdirected", self.misdirected),
        ];
        let served = Fault::ALL.iter().map(|fault| fault.name()).zip(self.faults_served);
        for (name, count) in counts.into_iter().chain(self.total.counts()).chain(served) {
            // Writing to a string cannot fail.
            let _ = write!(json, "{}\"{name}\":{count}", if json.len() > 1 { "," } else { "" });
        }
        json.push_str("}\n");
        json
    }
}

impl FeedRecord {
    fn counts(&self) -> [(&'static str, u64); 8] {
        [
            ("requests", self.requests),
            ("conditional", self.conditional),
            ("full", self.full),
            ("not_modified", self.not_modified),
            ("faults", self.faults),
            ("unconditional_again", self.unconditional_again),
            ("wrong_validators", self.wrong_validators),
            ("early", self.early),
        ]
    }
}

fn table(feeds: &[FeedRecord]) -> String {
    let names: Vec<_> = FeedRecord::default().counts().iter().map(|(name, _)| *name).collect();
    let mut table = format!(
        "feed\t{}\tfirst_at\tlast_at\tallowed_at\tif_none_match\tif_modified_since\n",
        names.join("\t")
    );
    for (number, feed) in feeds.iter().enumerate() {
        let counts = feed.counts().map(|(_, count)| count.to_string()).join("\t");
        let time = |at: Option<u64>| at.map(|at| at.to_string()).unwrap_or_default();
        let header = |value: &Option<String>| value.clone().unwrap_or_default();
        let _ = writeln!(
            table,
            "{number}\t{counts}\t{}\t{}\t{}\t{}\t{}",
            time(feed.first_at),
            time(feed.last_at),
            feed.allowed_at,
            header(&feed.if_none_match),
            header(&feed.if_modified_since)
        );
    }
    table
}
