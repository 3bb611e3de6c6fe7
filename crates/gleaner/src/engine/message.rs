//! Events as messages of a broker: a message for each post, and for everything else one an event.
//!
//! Subjects are `PREFIX.COLLECTION.KIND`, as in `gleaner.3.post.created`, so that consumers choose at the broker. The
//! collection is its id, and `_` where there is none: names are other people's, and change under whoever listens.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::told::Told;

/// Stands where an event belongs to no collection, or to none any more.
const NOBODY: &str = "_";
/// No part of a subject is longer; longer ones are nobody's but a mistake's.
const LONGEST: usize = 64;

/// A message to a broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    /// The event that it tells of.
    pub(super) seq: i64,
    /// What consumers choose by.
    pub(super) subject: String,
    /// The same however often it is sent.
    pub(super) id: String,
    /// The event as everybody hears it; of posts only one.
    pub(super) payload: String,
}

/// The messages of an event. Posts that are gone by now are not told of.
pub(super) fn messages(
    prefix: &str,
    origin: &str,
    told: Told,
    collections: &HashMap<i64, i64>,
) -> Vec<Message> {
    let collection = told.source.as_ref().and_then(|source| collections.get(&source.id));
    let collection = collection.map_or_else(|| NOBODY.to_owned(), i64::to_string);
    let kind: Vec<String> = told.kind.split('.').map(token).collect();
    let subject = format!("{prefix}.{collection}.{}", kind.join("."));
    let (seq, id) = (told.id, format!("{origin}-{}", told.id));
    let posts = match told.data.get("posts") {
        Some(Value::Array(posts)) => posts.clone(),
        _ => return vec![Message { seq, subject, id, payload: told.to_json() }],
    };
    let of_post = |post: Value| {
        let id = format!("{id}-{}", post["id"]);
        let told = Told { data: json!({ "posts": [post] }), ..told.clone() };
        Message { seq, subject: subject.clone(), id, payload: told.to_json() }
    };
    posts.into_iter().map(of_post).collect()
}

/// The number of the event that a message of ours tells of.
pub(super) fn event_of(origin: &str, id: &str) -> Option<i64> {
    let rest = id.strip_prefix(origin)?.strip_prefix('-')?;
    rest.split('-').next()?.parse().ok()
}

/// A text as one part of a subject, without what means something there.
fn token(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    let token: String = text.chars().take(LONGEST).map(plain).collect();
    if token.is_empty() { NOBODY.to_owned() } else { token }
}

#[cfg(test)]
mod tests {
    use gleaner_core::time::Time;

    use super::*;
    use crate::engine::ToldSource;

    fn told(kind: &str, source: Option<i64>, data: Value) -> Told {
        let source = source.map(|id| ToldSource { id, url: None, name: None });
        Told { id: 7, kind: kind.to_owned(), created_at: Time::from_millis(0), source, data }
    }

    #[test]
    fn each_post_is_a_message_with_an_id_of_its_own() {
        let collections = HashMap::from([(5, 3)]);
        let posts = json!({ "posts": [{ "id": 11 }, { "id": 12 }] });
        let found = messages("gleaner", "ab", told("post.created", Some(5), posts), &collections);
        let ids: Vec<&str> = found.iter().map(|message| message.id.as_str()).collect();
        assert_eq!(ids, ["ab-7-11", "ab-7-12"]);
        assert!(found.iter().all(|message| message.subject == "gleaner.3.post.created"));
        assert!(found[1].payload.contains(r#""posts":[{"id":12}]"#), "{}", found[1].payload);
        assert_eq!(event_of("ab", "ab-7-12"), Some(7));
        assert_eq!((event_of("ab", "x-7"), event_of("ab", "ab-x")), (None, None));
    }

    #[test]
    fn subjects_are_safe_whatever_a_kind_is() {
        let subject = |kind: &str| {
            let found = messages("gleaner", "ab", told(kind, None, json!({ "a": 1 })), &HashMap::new());
            found[0].subject.clone()
        };
        assert_eq!(subject("webhook.failing"), "gleaner._.webhook.failing");
        assert_eq!(subject("a.>. *\r\nPUB x"), "gleaner._.a._.____PUB_x");
        assert_eq!(subject(""), "gleaner._._");
        assert!(subject(&"x".repeat(1000)).len() < 100);
    }
}
