//! Policies, and whom they hold.

use gleaner::store::SourceEdit;
use gleaner_core::health::{Failing, Health, Quarantine};
use gleaner_core::outcome::{ErrorKind, Failure};

use super::{Visitor, on_both};
use crate::support::{Database, feed, start};

on_both!(tables_are_shown_in_words_with_whom_they_hold);

async fn tables_are_shown_in_words_with_whom_they_hold(db: Database) {
    let visitor = Visitor::new(db).await;
    let store = &visitor.api.db.store;
    for (place, (policy, aside)) in
        [(None, false), (None, true), (Some("cooldown"), true), (Some("forgotten"), true)]
            .into_iter()
            .enumerate()
    {
        let mut new = feed("a.example", &format!("{place}"));
        new.settings.policy = policy.map(str::to_owned);
        let id = store.create_sources(&[new], start()).await.unwrap()[0].id();
        let read = store.source(id).await.unwrap();
        let message = "404 Not Found".into();
        let failure = Failure { kind: ErrorKind::NotFound, status: Some(404), message, retry_after: None };
        let row = Failing::repeated(&failure, 3, start());
        let quarantine = aside.then(|| Quarantine {
            at: start(),
            reason: "not_found".into(),
            by_hand: false,
            retry_at: None,
        });
        let health = Health { failing: Some(row), quarantine, ..Health::default() };
        store.edit_source(&SourceEdit { health, ..SourceEdit::of(&read) }, start()).await.unwrap();
    }
    let page = visitor.get("/policies").await.is(200);
    for name in ["standard", "backoff", "cooldown", "quarantine"] {
        page.has(&format!("The rules of {name}"));
    }
    page.has("the default; 3 sources go by it").has("1 source goes by it").has("no source names it");
    page.has("3 in a row of this kind over 1 day")
        .has("quarantined, still polled")
        .has("backoff, up to 1 day");
    page.has("404, not there: asked again after 0.5 of the time that it has been failing; it is quarantined after 3 in a row");
    let held = |status: &str, policy: &str, count: u32| {
        format!(
            "href=\"/sources?status={status}&#38;error=not_found&#38;policy={policy}\"><span class=\"status \
             {status}\">{status}</span> {count}</a>"
        )
    };
    page.has(&held("failing", "standard", 1));
    page.has(&held("quarantined", "standard", 2));
    page.has(&held("quarantined", "cooldown", 1));
}
