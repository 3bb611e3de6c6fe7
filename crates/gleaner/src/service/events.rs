//! What happened: listed, and told on as it happens.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use gleaner_core::time::Span;
use tokio::sync::{OwnedSemaphorePermit, watch};

use super::open_callers::OpenCaller;
use super::{Actor, By, Scope, Service, ServiceError};
use crate::engine::{Told, tell};
use crate::store::{EventCursor, EventFilter, EventRange, KindPattern, NewEvent};

/// How many events a stream holds at most that its reader has not taken yet.
const HELD: u32 = 50;
/// When to come again where there are too many streams.
const AGAIN: Span = Span::from_secs(30);

/// The right to one open stream; given back when it is dropped.
pub struct StreamPlace {
    _permit: OwnedSemaphorePermit,
    caller: OpenCaller,
}

impl StreamPlace {
    /// Whether the reader's access has ended or changed, so that the stream must end.
    pub fn is_ended(&self) -> bool {
        self.caller.is_ended()
    }

    /// Waits until then.
    pub async fn ended(&self) {
        self.caller.ended().await;
    }
}

impl Service {
    /// Numbers events as they are committed, until `stop` is there.
    pub async fn dispatch(&self, stop: impl Future<Output = ()>) {
        self.outbox.run(stop).await;
    }

    /// Ends all streams, because the server stops.
    pub fn end_streams(&self) {
        self.outbox.end();
    }

    /// A place for one more stream, where `api.max_streams` and `api.max_streams_per_user` leave one.
    pub async fn stream_place(&self, actor: &Actor) -> Result<StreamPlace, ServiceError> {
        let permit = Arc::clone(&self.streams).try_acquire_owned().map_err(|_| ServiceError::Busy(AGAIN))?;
        let caller = self.watch_caller(actor, Some(self.config.api.max_streams_per_user)).await?;
        Ok(StreamPlace { _permit: permit, caller })
    }

    /// A number that changes whenever something was done or told in this process.
    pub fn pulse(&self) -> u64 {
        self.metrics.polls().wrapping_add(u64::try_from(*self.outbox.latest().borrow()).unwrap_or(0))
    }

    /// Waits until this process stops.
    pub async fn stopping(&self) {
        // The sender lives as long as the service.
        let _ = self.outbox.ended().wait_for(|ended| *ended).await;
    }

    /// How long a length of time takes in the world.
    pub fn real_duration(&self, span: Span) -> Duration {
        self.clock.real_duration(span)
    }

    /// Tells the world of something, such as the end of an import.
    pub async fn tell(&self, event: NewEvent) -> Result<(), ServiceError> {
        self.store.append_events(&[event], self.clock.now()).await?;
        self.outbox.committed().notify_one();
        Ok(())
    }
}

/// Reads types of events as people write them: `source.*`, `post.created`.
pub(super) fn kinds<'a>(
    field: &str,
    texts: impl Iterator<Item = &'a str>,
) -> Result<Vec<KindPattern>, ServiceError> {
    let pattern = |text: &str| {
        KindPattern::parse(text).filter(KindPattern::is_known).ok_or_else(|| {
            let shown: String = text.chars().take(64).collect();
            let hint = match KindPattern::nearest(&shown) {
                Some(known) => format!("did you mean {known}?"),
                None => "write post.created, or source.* for all such".to_owned(),
            };
            ServiceError::invalid(field, format!("'{shown}' is no type of events; {hint}"))
        })
    };
    texts.map(str::trim).filter(|text| !text.is_empty()).map(pattern).collect()
}

/// Which events, as somebody asks for them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EventQuery {
    /// Types, separated by commas; empty: all.
    pub kinds: String,
    /// About this source.
    pub source_id: Option<i64>,
}

impl EventQuery {
    fn filter(&self, actor: &Actor) -> Result<EventFilter, ServiceError> {
        let (kinds, visibility) = (kinds("type", self.kinds.split(','))?, actor.visibility());
        Ok(EventFilter { kinds, source_id: self.source_id, visibility })
    }
}

impl By<'_> {
    /// Events, the newest first, before that one.
    pub async fn events(
        &self,
        query: &EventQuery,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<Told>, ServiceError> {
        self.list_events(query, EventCursor::Before(before.unwrap_or(i64::MAX)), limit).await
    }

    /// Events, the oldest first, after that one.
    pub async fn events_after(
        &self,
        query: &EventQuery,
        after: i64,
        limit: u32,
    ) -> Result<Vec<Told>, ServiceError> {
        self.list_events(query, EventCursor::After(after), limit).await
    }

    async fn list_events(
        &self,
        query: &EventQuery,
        seek: EventCursor,
        limit: u32,
    ) -> Result<Vec<Told>, ServiceError> {
        self.actor.must(Scope::Read)?;
        let events = self.store.list_events(&query.filter(self.actor)?, seek, limit).await?;
        Ok(tell(&*self.store, &events).await?)
    }
}

/// What a stream tells.
#[derive(Debug, Clone, PartialEq)]
pub enum News {
    /// Something happened.
    Event(Arc<Told>),
    /// What its reader asked for is not all there any more.
    Gap {
        /// The last event that the reader knows.
        after: i64,
        /// It goes on after this one.
        resumed_after: i64,
    },
}

/// Events as they happen, each once and in order. It holds few of them: who reads slowly only reads later.
pub struct EventStream {
    service: Arc<Service>,
    filter: EventFilter,
    after: i64,
    held: VecDeque<News>,
    latest: watch::Receiver<i64>,
    ended: watch::Receiver<bool>,
    place: StreamPlace,
}

impl EventStream {
    /// Events after that one; none: from now on.
    pub async fn open(
        service: Arc<Service>,
        actor: Actor,
        query: &EventQuery,
        after: Option<i64>,
    ) -> Result<Self, ServiceError> {
        actor.must(Scope::Read)?;
        let filter = query.filter(&actor)?;
        let place = service.stream_place(&actor).await?;
        let (latest, ended) = (service.outbox.latest(), service.outbox.ended());
        let after = match after {
            Some(after) => after,
            None => service.store.kept_events().await?.last,
        };
        Ok(Self { service, filter, after, held: VecDeque::new(), latest, ended, place })
    }

    /// The next; none when the server stops or the reader is not let in any more. It may wait for long.
    pub async fn next(&mut self) -> Result<Option<News>, ServiceError> {
        loop {
            if self.place.is_ended() {
                return Ok(None);
            }
            if let Some(news) = self.held.pop_front() {
                return Ok(Some(news));
            }
            if *self.ended.borrow() {
                return Ok(None);
            }
            // What is numbered from here on wakes the wait below.
            let latest = *self.latest.borrow_and_update();
            if !self.read_recent(latest).await? {
                self.read().await?;
            }
            if self.held.is_empty() {
                self.wait().await;
            }
        }
    }

    async fn wait(&mut self) {
        tokio::select! {
            // The sender lives as long as the service, which this holds.
            _ = self.latest.changed() => {}
            _ = self.ended.wait_for(|ended| *ended) => {}
            () = self.place.ended() => {}
        }
    }

    /// Takes what is new from memory; whether all of it was there.
    async fn read_recent(&mut self, latest: i64) -> Result<bool, ServiceError> {
        let service = &self.service;
        let visibility = &self.filter.visibility;
        let recent = service.recent_events.after(&*service.store, visibility, self.after, latest).await?;
        let Some((events, last)) = recent else { return Ok(false) };
        for event in events {
            if self.held.len() == HELD as usize {
                return Ok(true);
            }
            self.after = event.id;
            if is_meant(&self.filter, &event) {
                self.held.push_back(News::Event(event));
            }
        }
        // All up to there have been looked at, those that this reader may not see as well.
        self.after = last.max(self.after);
        Ok(true)
    }

    async fn read(&mut self) -> Result<(), ServiceError> {
        let store = &self.service.store;
        let kept = store.kept_events().await?;
        if let Some(resumed_after) = resumed(self.after, kept) {
            self.held.push_back(News::Gap { after: self.after, resumed_after });
            self.after = resumed_after;
        }
        let events = store.list_events(&self.filter, EventCursor::After(self.after), HELD).await?;
        let told = tell(&**store, &events).await?;
        // Where there are no more, all up to what was the latest before have been looked at.
        let seen = if told.len() < HELD as usize { kept.last } else { 0 };
        self.after = told.last().map_or(0, |told| told.id).max(seen).max(self.after);
        self.held.extend(told.into_iter().map(|told| News::Event(Arc::new(told))));
        Ok(())
    }
}

/// Whether an event that may be seen is one that a filter asks for, as the database has it.
fn is_meant(filter: &EventFilter, event: &Told) -> bool {
    let kinds = &filter.kinds;
    (kinds.is_empty() || kinds.iter().any(|kind| kind.fits(&event.kind)))
        && filter.source_id.is_none_or(|id| event.source.as_ref().is_some_and(|source| source.id == id))
}

/// Where to go on for somebody whose place is not kept any more, or never was: the database may be an older copy.
fn resumed(after: i64, kept: EventRange) -> Option<i64> {
    if after > kept.last {
        return Some(kept.last);
    }
    (after < kept.first - 1).then_some(kept.first - 1)
}
