//! What this gleaner is, and whether it is all right.

use askama::Template;

use super::Parts;
use crate::service::{Readiness, Scope};
use crate::web::dashboard::{Oops, Page, Shell, Visit};

#[derive(Template)]
#[template(path = "settings_about.html")]
pub(super) struct AboutPage {
    shell: Shell,
    parts: Parts,
    /// Where the database is; its password is not shown.
    database: String,
    readiness: Readiness,
    policy: String,
    interval: String,
    keep_posts: String,
}

pub(super) async fn page(visit: Visit) -> Result<Page<AboutPage>, Oops> {
    visit.actor.must(Scope::Read)?;
    let service = &visit.web.service;
    let config = service.config();
    let shell = visit.shell("settings");
    Ok(Page(AboutPage {
        parts: Parts::new(&shell, "/settings/about"),
        shell,
        database: config.store.url.to_string(),
        readiness: service.readiness().await,
        policy: config.source.policy.clone(),
        interval: config.source.poll_interval.to_string(),
        keep_posts: config
            .source
            .keep_unlinked_posts
            .map_or_else(|| "for ever".to_owned(), |span| span.to_string()),
    }))
}
