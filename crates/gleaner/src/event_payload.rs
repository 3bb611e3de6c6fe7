//! Events as they are written: their type, their source, and the JSON that the world reads.
//!
//! The store calls this where only its transaction knows what happened: which posts were new, whether a move was refused.

use gleaner_core::elsewhere::Proposal;
use gleaner_core::health::{Decision, StatusEvent};
use gleaner_core::incident::TakenBack;
use gleaner_core::schedule::{Next, Why};
use gleaner_core::suspect::Change;
use serde_json::{Value, json};

/// Maximum of posts in one event: a poll that found more is reported in several.
pub const POSTS_PER_EVENT: usize = 100;

/// An event to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// `source.failing`, `import.finished`, …
    pub kind: String,
    pub source_id: Option<i64>,
    /// A JSON object.
    pub payload: String,
}

impl NewEvent {
    fn of_source(kind: &str, source_id: i64, payload: &Value) -> NewEvent {
        NewEvent { kind: kind.to_owned(), source_id: Some(source_id), payload: payload.to_string() }
    }

    /// The collection that an event without a source is about.
    pub(crate) fn named_collection(&self) -> Option<i64> {
        if self.source_id.is_some() || !self.payload.contains("\"collection_id\"") {
            return None;
        }
        let payload: Value = serde_json::from_str(&self.payload).unwrap_or_default();
        payload["collection_id"].as_i64()
    }

    /// Posts of a source were created or updated. The payload has ids alone; whoever reads the event gets the posts.
    pub(crate) fn of_posts(kind: &str, source_id: i64, ids: &[i64]) -> impl Iterator<Item = NewEvent> {
        ids.chunks(POSTS_PER_EVENT)
            .map(move |ids| NewEvent::of_source(kind, source_id, &json!({ "post_ids": ids })))
    }

    /// The posts that the payload of [`NewEvent::of_posts`] names.
    pub(crate) fn post_ids(payload: &str) -> Vec<i64> {
        let payload: Value = serde_json::from_str(payload).unwrap_or_default();
        let ids = payload["post_ids"].as_array().into_iter().flatten();
        ids.filter_map(Value::as_i64).collect()
    }

    /// The events of a decision about a source.
    pub fn of_decision(source_id: i64, url: &str, decision: &Decision) -> Vec<NewEvent> {
        let event = |event: &StatusEvent| {
            let payload = json!({
                "url": url,
                "reason": event.reason,
                "status": decision.health.status(),
                "next_poll_at": decision.next.map(|next| next.at),
            });
            NewEvent::of_source(event.kind.name(), source_id, &payload)
        };
        decision.events.iter().map(event).collect()
    }

    /// Corrects an earlier report of failures that turned out not to be the source's own.
    pub(crate) fn of_taken_back(url: &str, taken: &TakenBack) -> Vec<NewEvent> {
        let decision = Decision {
            health: taken.health.clone(),
            next: Some(Next { at: taken.next_poll_at, why: Why::Incident }),
            host_hold_until: None,
            events: taken.event().into_iter().collect(),
        };
        NewEvent::of_decision(taken.asked.source, url, &decision)
    }

    /// The site of a dead feed advertises another one.
    pub fn of_proposal(source_id: i64, url: &str, proposal: &Proposal) -> NewEvent {
        let payload = json!({ "url": url, "reason": proposal.in_words(), "proposal": proposal });
        NewEvent::of_source(Proposal::EVENT, source_id, &payload)
    }

    /// A source's URL has changed.
    pub fn of_move(source_id: i64, from: &str, to: &str, reason: &str) -> NewEvent {
        let payload = json!({ "url": to, "from": from, "to": to, "reason": reason });
        NewEvent::of_source("source.moved", source_id, &payload)
    }

    /// A source cannot move, since another source of its collection has the new URL.
    pub fn of_refused_move(source_id: i64, from: &str, to: &str, taken_by: i64) -> NewEvent {
        let reason = format!(
            "it is redirected for good to {to}, which source {taken_by} of its collection has already"
        );
        let payload = json!({ "url": from, "from": from, "to": to, "taken_by": taken_by, "reason": reason });
        NewEvent::of_source("source.move_refused", source_id, &payload)
    }

    /// An article page was given up after this many tries.
    pub fn of_given_up_page(source: (i64, &str), page: &str, tries: i64, error: &str) -> NewEvent {
        let reason = format!("the page {page} was given up after {tries} tries: {error}");
        let payload =
            json!({ "url": source.1, "page": page, "error": error, "tries": tries, "reason": reason });
        NewEvent::of_source("page.given_up", source.0, &payload)
    }

    /// A suspicion begins or ends.
    pub fn of_suspicion(source_id: i64, url: &str, change: &Change) -> NewEvent {
        let suspect = change.suspected();
        let reason = suspect.map_or("it is not suspected of anything any more", |suspect| &suspect.evidence);
        let payload = json!({ "url": url, "reason": reason, "suspect": suspect });
        NewEvent::of_source(change.name(), source_id, &payload)
    }
}
