//! One's own keys for services: set and removed, never shown.

use askama::Template;
use axum::response::{IntoResponse, Response};
use gleaner_core::time::Time;

use super::Parts;
use crate::config::secret::Secret;
use crate::service::SERVICES;
use crate::web::dashboard::form_input::FormInput;
use crate::web::dashboard::session::go;
use crate::web::dashboard::words::count;
use crate::web::dashboard::{Oops, Page, Shell, Visit};

#[derive(Template)]
#[template(path = "settings_keys.html")]
struct KeysPage {
    shell: Shell,
    parts: Parts,
    /// Every service, and since when there is a key for it.
    services: Vec<(&'static str, Option<Time>)>,
    given: FormInput,
}

pub(super) async fn page(visit: Visit) -> Result<Response, Oops> {
    show(&visit, FormInput::default()).await
}

async fn show(visit: &Visit, given: FormInput) -> Result<Response, Oops> {
    let keys = visit.by().keys().await?;
    let since = |service: &str| keys.iter().find(|(name, _)| name == service).map(|(_, at)| *at);
    let services = SERVICES.into_iter().map(|service| (service, since(service))).collect();
    let shell = visit.shell("settings");
    let page = KeysPage { parts: Parts::new(&shell, "/settings/keys"), shell, services, given };
    Ok((page.given.status(), Page(page)).into_response())
}

pub(super) async fn set(visit: Visit, given: FormInput) -> Result<Response, Oops> {
    let key = Secret::new(given.get("key"));
    match visit.by().set_key(&visit.actor.name, given.get("service"), &key).await {
        Ok(woken) => {
            let due = match woken {
                0 => String::new(),
                1 => " 1 source that waited for it is due now.".to_owned(),
                n => format!(" {} that waited for it are due now.", count(n, "source")),
            };
            Ok(go(&visit.web, "/settings/keys", &format!("Your key is set.{due}")))
        }
        Err(error) => show(&visit, given.without(&["key"]).refused_by(error)?).await,
    }
}

pub(super) async fn remove(visit: Visit, given: FormInput) -> Result<Response, Oops> {
    let had = visit.by().remove_key(&visit.actor.name, given.get("service")).await?;
    let said = if had { "Your key is removed." } else { "There was no key." };
    Ok(go(&visit.web, "/settings/keys", said))
}
