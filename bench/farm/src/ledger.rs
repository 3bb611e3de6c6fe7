//! Counts requests, to tell whether a poller was polite and complete. There is no log of requests, which would grow
//! with the run and add cost.

use crate::fault::Fault;

/// The requests for one feed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FeedRecord {
    pub requests: u64,
    /// With `If-None-Match` or `If-Modified-Since`.
    pub conditional: u64,
    /// Answered with the complete document.
    pub full: u64,
    /// Answered with 304.
    pub not_modified: u64,
    /// Answered with a fault, or incompletely.
    pub faults: u64,
    /// Without validators, although some had been sent.
    pub unconditional_again: u64,
    /// With validators other than the last ones sent.
    pub wrong_validators: u64,
    /// Before the end of `Retry-After` or `max-age`.
    pub early: u64,
    /// Time of the first request, in milliseconds since the farm started.
    pub first_at: Option<u64>,
    /// Time of the last request.
    pub last_at: Option<u64>,
    /// Earliest time of the next request, according to the last response.
    pub allowed_at: u64,
    /// The last `If-None-Match`.
    pub if_none_match: Option<String>,
    /// The last `If-Modified-Since`.
    pub if_modified_since: Option<String>,
}

/// The totals of all requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    pub feeds: u64,
    /// Number of feeds that were requested.
    pub requested: u64,
    /// Number of feeds that were requested exactly once.
    pub requested_once: u64,
    /// The maximum number of requests for one feed.
    pub most_requests: u64,
    /// The maximum number of concurrent requests to one host.
    pub most_at_once: u64,
    /// Faults served, in the order of [`Fault::ALL`].
    pub faults_served: [u64; Fault::ALL.len()],
    /// Requests for unknown feeds, or to the wrong host.
    pub misdirected: u64,
    /// The sums of all records.
    pub total: FeedRecord,
}

/// The validators of a request.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Validators<'a> {
    pub(crate) etag: Option<&'a str>,
    pub(crate) modified: Option<&'a str>,
}

#[derive(Debug)]
pub(crate) enum Ending<'a> {
    Full {
        etag: &'a str,
        last_modified: &'a str,
    },
    NotModified,
    Fault(Fault),
    /// The client disconnected before the end.
    CutShort,
}

/// What a reset keeps.
#[derive(Debug, Clone, Default)]
struct Memory {
    /// The validators last sent for the feed.
    given: Option<(String, String)>,
    requests: u64,
}

#[derive(Debug)]
pub(crate) struct Ledger {
    records: Vec<FeedRecord>,
    memories: Vec<Memory>,
    /// Current and maximum concurrent requests per host.
    hosts: Vec<(u32, u32)>,
    faults: [u64; Fault::ALL.len()],
    misdirected: u64,
}

impl Ledger {
    pub(crate) fn new(feeds: u32, hosts: u32) -> Self {
        Self {
            records: vec![FeedRecord::default(); feeds as usize],
            memories: vec![Memory::default(); feeds as usize],
            hosts: vec![(0, 0); hosts as usize],
            faults: [0; Fault::ALL.len()],
            misdirected: 0,
        }
    }

    /// Records a request; returns the number of earlier requests for this feed.
    pub(crate) fn begin(&mut self, feed: u32, host: u32, validators: Validators, now: u64) -> u64 {
        let (record, memory) = (&mut self.records[feed as usize], &mut self.memories[feed as usize]);
        record.requests += 1;
        record.first_at.get_or_insert(now);
        record.last_at = Some(now);
        record.early += u64::from(now < record.allowed_at);
        let Validators { etag, modified } = validators;
        if etag.is_some() || modified.is_some() {
            record.conditional += 1;
            let right = memory.given.as_ref().is_some_and(|(given_etag, given_modified)| {
                etag.is_none_or(|etag| etag == given_etag)
                    && modified.is_none_or(|modified| modified == given_modified)
            });
            record.wrong_validators += u64::from(!right);
        } else {
            record.unconditional_again += u64::from(memory.given.is_some());
        }
        record.if_none_match = etag.map(str::to_owned);
        record.if_modified_since = modified.map(str::to_owned);
        let (busy, most) = &mut self.hosts[host as usize];
        *busy += 1;
        *most = (*most).max(*busy);
        memory.requests += 1;
        memory.requests - 1
    }

    /// Records the end of a request, and when its feed may be requested again.
    pub(crate) fn end(&mut self, feed: u32, host: u32, ending: &Ending, allowed_at: u64) {
        let (record, memory) = (&mut self.records[feed as usize], &mut self.memories[feed as usize]);
        record.allowed_at = allowed_at;
        self.hosts[host as usize].0 -= 1;
        match ending {
            Ending::Full { etag, last_modified } => {
                record.full += 1;
                memory.given = Some(((*etag).to_owned(), (*last_modified).to_owned()));
            }
            Ending::NotModified => record.not_modified += 1,
            Ending::Fault(fault) => {
                record.faults += 1;
                self.faults[*fault as usize] += 1;
            }
            Ending::CutShort => record.faults += 1,
        }
    }

    pub(crate) fn misdirected(&mut self) {
        self.misdirected += 1;
    }

    pub(crate) fn feeds(&self) -> &[FeedRecord] {
        &self.records
    }

    pub(crate) fn reset(&mut self) {
        for record in &mut self.records {
            *record = FeedRecord { allowed_at: record.allowed_at, ..FeedRecord::default() };
        }
        self.hosts.iter_mut().for_each(|(busy, most)| *most = *busy);
        self.faults = [0; Fault::ALL.len()];
        self.misdirected = 0;
    }

    pub(crate) fn summary(&self) -> Summary {
        let mut summary = Summary {
            feeds: self.records.len() as u64,
            most_at_once: self.hosts.iter().map(|(_, most)| u64::from(*most)).max().unwrap_or(0),
            faults_served: self.faults,
            misdirected: self.misdirected,
            ..Summary::default()
        };
        for record in &self.records {
            summary.requested += u64::from(record.requests > 0);
            summary.requested_once += u64::from(record.requests == 1);
            summary.most_requests = summary.most_requests.max(record.requests);
            summary.total.add(record);
        }
        summary
    }
}

impl FeedRecord {
    /// Adds counts and times; headers are not combined.
    fn add(&mut self, other: &FeedRecord) {
        self.requests += other.requests;
        self.conditional += other.conditional;
        self.full += other.full;
        self.not_modified += other.not_modified;
        self.faults += other.faults;
        self.unconditional_again += other.unconditional_again;
        self.wrong_validators += other.wrong_validators;
        self.early += other.early;
        self.first_at = [self.first_at, other.first_at].into_iter().flatten().min();
        self.last_at = self.last_at.max(other.last_at);
        self.allowed_at = self.allowed_at.max(other.allowed_at);
    }
}
