//! The audit log, for admins: who changed what from where, and who logged in.

use askama::Template;
use axum::extract::RawQuery;
use axum::response::{IntoResponse, Response};
use gleaner_core::time::Time;
use serde_json::Value;

use super::Parts;
use crate::service::{AuditEntry, AuditFilter};
use crate::web::dashboard::paging::{Asked, link};
use crate::web::dashboard::{Oops, Page, Shell, Visit};

/// How many rows a page has.
const ROWS: u32 = 100;

#[derive(Template)]
#[template(path = "settings_audit.html")]
struct AuditPage {
    shell: Shell,
    parts: Parts,
    rows: Vec<AuditTableRow>,
    user: String,
    action: String,
    address: String,
    keep_days: u64,
    older: Option<String>,
    newest: Option<String>,
}

impl AuditPage {
    fn is_filtered(&self) -> bool {
        !(self.user.is_empty() && self.action.is_empty() && self.address.is_empty())
    }
}

struct AuditTableRow {
    at: Time,
    first_at: Option<Time>,
    count: i64,
    user: String,
    via: String,
    address: Option<String>,
    action: String,
    target: String,
    /// Where the thing is, if it has a page.
    target_link: Option<String>,
    changes: Vec<String>,
}

pub(super) async fn page(visit: Visit, RawQuery(query): RawQuery) -> Result<Response, Oops> {
    let asked = Asked::of(query.as_deref());
    let text = |name: &str| asked.get(name).map(|text| text.chars().take(100).collect::<String>());
    let (user, action, address) = (text("user"), text("action"), text("address"));
    let filter = AuditFilter {
        user: user.clone(),
        action: action.clone(),
        address: address.clone(),
        ..AuditFilter::default()
    };
    let before = asked.get("before").and_then(|id| id.parse::<i64>().ok());
    let mut found = visit.by().audit_log(&filter, before, ROWS + 1).await?;
    let more = found.len() > ROWS as usize;
    found.truncate(ROWS as usize);
    let to = |before: Option<i64>| {
        let given = [("user", user.clone()), ("action", action.clone()), ("address", address.clone())];
        let given = given.into_iter().chain([("before", before.map(|id| id.to_string()))]);
        let pairs: Vec<_> = given.filter_map(|(name, value)| Some((name, value?))).collect();
        link("/settings/audit", &pairs)
    };
    let older = found.last().filter(|_| more).map(|row| to(Some(row.id)));
    let shell = visit.shell("settings");
    let keep = visit.web.service.config().store.keep_audit;
    let page = AuditPage {
        parts: Parts::new(&shell, "/settings/audit"),
        shell,
        rows: found.into_iter().map(row).collect(),
        older,
        newest: before.map(|_| to(None)),
        keep_days: keep.as_millis() / 86_400_000,
        user: user.unwrap_or_default(),
        action: action.unwrap_or_default(),
        address: address.unwrap_or_default(),
    };
    Ok(Page(page).into_response())
}

fn row(AuditEntry { entry, first_at, count, .. }: AuditEntry) -> AuditTableRow {
    let target_link = match (entry.target_kind.as_str(), entry.target_id) {
        ("source", Some(id)) if entry.action != "source.delete" => Some(format!("/sources/{id}")),
        _ => None,
    };
    let user = if entry.user_name.is_empty() { "nobody".to_owned() } else { entry.user_name };
    AuditTableRow {
        at: entry.at,
        first_at: (count > 1).then_some(first_at),
        count,
        user,
        via: entry.via,
        address: entry.address,
        action: entry.action,
        target: format!("{} {}", entry.target_kind, entry.target_name),
        target_link,
        changes: changes(entry.changes.as_deref()),
    }
}

/// `name: a → b` for each field.
fn changes(text: Option<&str>) -> Vec<String> {
    let Some(Value::Object(fields)) = text.and_then(|text| serde_json::from_str(text).ok()) else {
        return Vec::new();
    };
    let word = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Null => "none".to_owned(),
        other => other.to_string(),
    };
    let line = |(name, value): (&String, &Value)| match value.as_array().map(Vec::as_slice) {
        Some([before, after]) => format!("{name}: {} → {}", word(before), word(after)),
        _ => format!("{name}: {}", word(value)),
    };
    fields.iter().filter(|(_, value)| !value.is_null()).map(line).collect()
}
