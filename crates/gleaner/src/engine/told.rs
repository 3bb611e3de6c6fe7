//! An event as the world hears it, the same in the event list, in streams and in webhooks.

use std::collections::HashMap;

use gleaner_core::time::Time;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::store::{Event, PostHead, SourceName, Store, StoreError};

/// An event.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Told {
    /// Its place among all events: stable, and the same everywhere.
    pub id: i64,
    /// `post.created`, `source.failing`, …
    #[serde(rename = "type")]
    pub kind: String,
    /// When it happened.
    pub created_at: Time,
    /// What it is about.
    pub source: Option<ToldSource>,
    /// What happened: for posts, `posts` without their bodies.
    pub data: Value,
}

/// The source of an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToldSource {
    /// Its id.
    pub id: i64,
    /// What is polled; none where it was deleted.
    pub url: Option<String>,
    /// What people call it.
    pub name: Option<String>,
}

impl Told {
    /// As it is sent.
    pub fn to_json(&self) -> String {
        // Texts, numbers and maps with text keys: this cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Looks up what events tell of. A post or source that is gone by now is told as far as it is known.
pub async fn tell(store: &dyn Store, events: &[Event]) -> Result<Vec<Told>, StoreError> {
    let payloads: Vec<Map<String, Value>> = events.iter().map(payload).collect();
    let posts = store.post_heads(&unique(payloads.iter().flat_map(post_ids))).await?;
    let sources =
        store.source_names(&unique(events.iter().filter_map(|event| event.event.source_id))).await?;
    let told = events.iter().zip(payloads).map(|(event, payload)| told(event, payload, &posts, &sources));
    Ok(told.collect())
}

fn told(
    event: &Event,
    payload: Map<String, Value>,
    posts: &HashMap<i64, PostHead>,
    sources: &HashMap<i64, SourceName>,
) -> Told {
    let source = event.event.source_id.map(|id| match sources.get(&id).cloned() {
        Some(SourceName { url, name, .. }) => ToldSource { id, url: Some(url), name },
        None => {
            ToldSource { id, url: payload.get("url").and_then(Value::as_str).map(str::to_owned), name: None }
        }
    });
    let data = if payload.contains_key("post_ids") {
        json!({ "posts": post_ids(&payload).filter_map(|id| posts.get(&id)).map(shown).collect::<Vec<_>>() })
    } else {
        Value::Object(payload)
    };
    let kind = event.event.kind.clone();
    Told { id: event.seq.unwrap_or_default(), kind, created_at: event.created_at, source, data }
}

fn shown(post: &PostHead) -> Value {
    json!({
        "id": post.id,
        "title": post.title,
        "url": post.url,
        "author": post.author,
        "published_at": post.published_at,
        "revision": post.revision,
    })
}

fn payload(event: &Event) -> Map<String, Value> {
    serde_json::from_str(&event.event.payload).unwrap_or_default()
}

fn post_ids(payload: &Map<String, Value>) -> impl Iterator<Item = i64> {
    payload.get("post_ids").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_i64)
}

fn unique(ids: impl Iterator<Item = i64>) -> Vec<i64> {
    let mut ids: Vec<i64> = ids.collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}
