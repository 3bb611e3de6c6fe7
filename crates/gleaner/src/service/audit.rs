//! The audit log: who changed what from where, and who logged in. Listed for admins.
//!
//! Edits of sources and changes of users, tokens, keys, collections and webhooks write their row in their own
//! transaction; all else right after the change. Names of things are
//! copied, since things go; secrets never get here: what a caller sends is not written, only what changed of what
//! everybody may see. Absent on purpose: polls, posts and articles, which are no settings.

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use gleaner_core::time::{Span, Time};
use serde_json::{Map, Value, json};

use super::{Actor, By, LoggedIn, Login, Service, ServiceError, Source};
use crate::log;
use crate::store::{
    AuditEntry, AuditFilter, Collection, NewAudit, SourceEdit, SourceSettings, Store, User, Webhook,
};

/// Rows for failed logins that one hour may add; what comes from further addresses shares one.
const FAILED_ROWS: usize = 1000;
/// Of a longer text only the beginning is kept.
const LONGEST: usize = 300;
/// Of a longer list only the beginning is kept.
const MOST_IDS: usize = 100;

/// What something was done to.
pub(super) struct Target {
    kind: &'static str,
    id: Option<i64>,
    name: String,
}

impl Target {
    pub(super) fn new(kind: &'static str, id: Option<i64>, name: &str) -> Self {
        Self { kind, id, name: shortened(name) }
    }

    pub(super) fn source(id: i64, url: &str) -> Self {
        Self::new("source", Some(id), &log::Redacted(url).to_string())
    }

    pub(super) fn user(user: &User) -> Self {
        Self::new("user", Some(user.id), &user.name)
    }

    pub(super) fn collection(collection: &Collection) -> Self {
        Self::new("collection", Some(collection.id), &collection.name)
    }

    pub(super) fn webhook(webhook: &Webhook) -> Self {
        Self::new("webhook", Some(webhook.id), &webhook.name)
    }
}

/// Which failed logins have a row of this hour.
#[derive(Default)]
pub(super) struct FailedLogins {
    rows: Mutex<(i64, HashSet<String>)>,
    /// They are written one at a time: a flood of guesses leaves the database to others.
    turn: tokio::sync::Mutex<()>,
}

impl FailedLogins {
    /// Whether a row for this may be added: at most so many in an hour.
    fn may_add(&self, hour: i64, key: &str) -> bool {
        let mut kept = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.0 != hour {
            *kept = (hour, HashSet::new());
        }
        kept.1.contains(key) || kept.1.len() < FAILED_ROWS && kept.1.insert(key.to_owned())
    }
}

impl Service {
    /// Lets somebody in from an address, and writes down that they came, or that somebody tried.
    pub async fn log_in_from(
        &self,
        address: Option<IpAddr>,
        login: Login,
        lasts: Span,
    ) -> Result<LoggedIn, ServiceError> {
        let (name, via) = match &login {
            Login::Password { name, .. } => (Some(name.clone()), "password"),
            Login::Link(_) => (None, "login link"),
        };
        let result = self.log_in(login, lasts).await;
        match &result {
            Ok(logged_in) => self.audit_login(&logged_in.actor, via, address).await,
            Err(ServiceError::Unauthenticated(_) | ServiceError::TooMany(_)) => {
                self.audit_failed_login(name, via, address).await;
            }
            Err(_) => {}
        }
        result
    }

    pub(super) async fn audit_login(&self, actor: &Actor, via: &str, address: Option<IpAddr>) {
        let now = self.clock.now();
        let address = address.map(|address| address.to_string());
        let fold_key = fold_key("login", now, &[address.as_deref().unwrap_or_default(), &actor.name, via]);
        self.write_audit(&NewAudit {
            at: now,
            user_id: Some(actor.user_id),
            user_name: actor.name.clone(),
            via: via.to_owned(),
            address,
            action: "login".to_owned(),
            target_kind: "user".to_owned(),
            target_id: Some(actor.user_id),
            target_name: actor.name.clone(),
            changes: None,
            fold_key: Some(fold_key),
        })
        .await;
    }

    /// Names that nobody has are not kept: people type passwords there.
    pub(super) async fn audit_failed_login(&self, name: Option<String>, via: &str, address: Option<IpAddr>) {
        let _turn = self.failed_logins.turn.lock().await;
        let now = self.clock.now();
        let users = self.store.users().await.unwrap_or_default();
        let known = users.into_iter().find(|user| name.as_ref() == Some(&user.name));
        let address = address.map(network).unwrap_or_default();
        let user = known.as_ref().map_or("", |user| &user.name);
        let mut key = fold_key("login.failed", now, &[&address, user, via]);
        let mut from = Some(address).filter(|address| !address.is_empty());
        if !self.failed_logins.may_add(hour(now), &key) {
            (key, from) = (fold_key("login.failed", now, &["others"]), Some("many addresses".to_owned()));
        }
        let target_name = if known.is_some() { user.to_owned() } else { "unknown name".to_owned() };
        self.write_audit(&NewAudit {
            at: now,
            user_id: None,
            user_name: String::new(),
            via: via.to_owned(),
            address: from,
            action: "login.failed".to_owned(),
            target_kind: "user".to_owned(),
            target_id: known.as_ref().map(|user| user.id),
            target_name,
            changes: None,
            fold_key: Some(key),
        })
        .await;
    }

    /// What happened has happened: a row that cannot be written is logged, and the caller gets their answer.
    async fn write_audit(&self, entry: &NewAudit) {
        if let Err(error) = self.store.append_audit(entry).await {
            let NewAudit { user_name, action, target_kind, target_name, .. } = entry;
            tracing::error!(
                user = user_name,
                action,
                target_kind,
                target_name,
                %error,
                "a row of the audit log could not be written"
            );
        }
    }
}

impl By<'_> {
    /// Rows of the audit log, newest first, before that one. For admins.
    pub async fn audit_log(
        &self,
        filter: &AuditFilter,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<AuditEntry>, ServiceError> {
        self.actor.must_read_audit()?;
        Ok(self.store.audit(filter, before, limit).await?)
    }

    /// A row of what the caller did.
    pub(super) fn audit_entry(&self, action: &str, target: Target, changes: Option<Value>) -> NewAudit {
        NewAudit {
            at: self.clock.now(),
            user_id: Some(self.actor.user_id),
            user_name: self.actor.name.clone(),
            via: self.actor.via.clone(),
            address: self.actor.address.map(|address| address.to_string()),
            action: action.to_owned(),
            target_kind: target.kind.to_owned(),
            target_id: target.id,
            target_name: target.name,
            changes: changes.map(|changes| changes.to_string()),
            fold_key: None,
        }
    }

    /// Writes down what the caller did, unless it is a part of something that is written down as a whole.
    pub(super) async fn audit(&self, action: &str, target: Target, changes: Option<Value>) {
        if !self.is_part {
            self.write_audit(&self.audit_entry(action, target, changes)).await;
        }
    }

    /// The store, for one change with its row in the same transaction; see [`Audit::audited`](crate::store::Audit::audited).
    pub(super) fn audited(&self, action: &str, target: Target, changes: Option<Value>) -> Arc<dyn Store> {
        if self.is_part {
            return Arc::clone(&self.store);
        }
        self.store.audited(self.audit_entry(action, target, changes))
    }

    /// The row of an edit of a source; none where nothing of note changes.
    pub(super) fn audit_of_edit(&self, source: &Source, edit: &SourceEdit) -> Option<NewAudit> {
        let before = of_source(&source.settings, &SourceEdit::of(source));
        let mut changes = differences(&before, &of_source(&edit.settings, edit));
        if source.settings.secret != edit.settings.secret {
            let word = |secret: &Option<Vec<u8>>| secret.as_ref().map_or("none", |_| "set");
            let after = if edit.settings.secret.is_some() { "replaced" } else { "removed" };
            changes.insert("credential".to_owned(), json!([word(&source.settings.secret), after]));
        }
        if changes.is_empty() || self.is_part {
            return None;
        }
        let target = Target::source(source.id, &source.settings.url);
        Some(self.audit_entry("source.update", target, Some(Value::Object(changes))))
    }
}

impl Actor {
    fn must_read_audit(&self) -> Result<(), ServiceError> {
        self.must(super::Scope::Read)?;
        self.must_be_unlimited()?;
        if self.is_admin {
            return Ok(());
        }
        Err(ServiceError::Forbidden(format!("{} is no admin, and only admins read the audit log", self.name)))
    }
}

/// Fields of a source that an edit can change, as the log shows them.
fn of_source(settings: &SourceSettings, edit: &SourceEdit) -> Value {
    let mut fields = settings.to_json();
    let quarantine = edit.health.quarantine.as_ref().map(|quarantine| quarantine.reason.clone());
    fields.extend([
        ("url".to_owned(), log::Redacted(&settings.url).to_string().into()),
        ("enabled".to_owned(), edit.health.disabled.is_none().into()),
        ("quarantine".to_owned(), quarantine.into()),
    ]);
    Value::Object(fields)
}

/// `[before, after]` of each field that differs.
pub(super) fn differences(before: &Value, after: &Value) -> Map<String, Value> {
    let (Some(before), Some(after)) = (before.as_object(), after.as_object()) else { return Map::new() };
    let changed = after.iter().filter(|(name, value)| before.get(*name) != Some(value));
    changed
        .map(|(name, value)| {
            let was = before.get(name).cloned().unwrap_or_default();
            (name.clone(), json!([brief(was), brief(value.clone())]))
        })
        .collect()
}

/// The first of many ids, and how many there are.
pub(super) fn some_ids(ids: &[i64]) -> Value {
    json!({ "count": ids.len(), "ids": ids.iter().take(MOST_IDS).collect::<Vec<_>>() })
}

fn brief(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(shortened(&text)),
        other => other,
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn hour(now: Time) -> i64 {
    now.as_millis().div_euclid(3_600_000)
}

/// What makes things of one hour one row.
fn fold_key(action: &str, now: Time, parts: &[&str]) -> String {
    format!("{action} {} {}", hour(now), json!(parts))
}

/// The address that failed logins are counted by: of IPv6, the network that one customer has.
pub(super) fn network(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            format!("{}/64", std::net::Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_logins_of_an_hour_are_bounded() {
        let failed = FailedLogins::default();
        for n in 0..FAILED_ROWS {
            assert!(failed.may_add(1, &n.to_string()));
        }
        assert!(failed.may_add(1, "0"), "one that has a row counts there");
        assert!(!failed.may_add(1, "another"));
        assert!(failed.may_add(2, "another"), "another hour, another bound");
    }

    #[test]
    fn addresses_of_one_customer_are_one() {
        let of = |text: &str| network(text.parse().unwrap());
        assert_eq!(of("192.0.2.7"), "192.0.2.7");
        assert_eq!(of("::ffff:192.0.2.7"), "192.0.2.7");
        assert_eq!(of("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64");
    }

    #[test]
    fn only_what_differs_is_kept_and_in_short() {
        let before = json!({ "name": "a", "policy": null, "backfill": true });
        let after = json!({ "name": "b".repeat(1000), "policy": null, "backfill": true });
        let found = differences(&before, &after);
        assert_eq!(found.keys().collect::<Vec<_>>(), ["name"]);
        assert_eq!(found["name"][0], "a");
        assert_eq!(found["name"][1].as_str().unwrap().chars().count(), LONGEST + 1);
    }
}
