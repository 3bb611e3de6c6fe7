//! What every page has: who looks at it, its frame, and how times are written.

use std::fmt;

use askama::Template;
use askama::filters::HtmlSafe;
use axum::extract::FromRequestParts;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use gleaner_core::health::Status;
use gleaner_core::time::{Span, Time};

use super::{Oops, assets, words};
use crate::service::{Actor, By, ServiceError, network_down};
use crate::web::Web;

/// Somebody who was let in, and looks at a page.
pub(super) struct Visit {
    pub(super) web: Web,
    pub(super) actor: Actor,
    form_token: String,
    said: Option<String>,
}

/// What [`super::session::let_in`] found out.
#[derive(Clone)]
pub(super) struct LetIn {
    pub(super) actor: Actor,
    pub(super) form_token: String,
    /// What the page before has to say on this one.
    pub(super) said: Option<String>,
}

impl Visit {
    pub(super) fn of(web: &Web, LetIn { actor, form_token, said }: LetIn) -> Self {
        Self { web: web.clone(), actor, form_token, said }
    }

    /// The use cases, as whoever looks.
    pub(super) fn by(&self) -> By<'_> {
        self.web.service.by(&self.actor)
    }

    /// The frame of a page; `here` is its place in the menu.
    pub(super) fn shell(&self, here: &'static str) -> Shell {
        let hour = Span::from_hours(1);
        let real = self.web.service.real_duration(hour).as_millis().max(1);
        Shell {
            user: self.actor.name.clone(),
            is_admin: self.actor.is_admin,
            form_token: self.form_token.clone(),
            said: self.said.clone(),
            here,
            now: self.web.service.now(),
            speed: hour.as_millis() as f64 / real as f64,
            network_down: self.web.service.metrics().network_down_since().map(network_down),
        }
    }
}

impl FromRequestParts<Web> for Visit {
    type Rejection = Oops;

    async fn from_request_parts(parts: &mut Parts, web: &Web) -> Result<Self, Oops> {
        match parts.extensions.get::<LetIn>() {
            Some(let_in) => Ok(Self::of(web, let_in.clone())),
            // A page outside the door that asks who it is: a mistake of ours, and closed.
            None => Err(ServiceError::Unauthenticated("log in first".to_owned()).into()),
        }
    }
}

/// The frame of a page.
pub(super) struct Shell {
    pub(super) user: String,
    pub(super) is_admin: bool,
    /// Goes into every form.
    pub(super) form_token: String,
    /// What the page before has to say.
    pub(super) said: Option<String>,
    pub(super) here: &'static str,
    pub(super) now: Time,
    /// How many seconds of this clock pass in one of the world's.
    pub(super) speed: f64,
    /// What is said while our own network is down.
    pub(super) network_down: Option<String>,
}

/// Where the menu leads.
const MENU: [(&str, &str, &str); 8] = [
    ("overview", "/", "Overview"),
    ("sources", "/sources", "Sources"),
    ("posts", "/posts", "Posts"),
    ("hosts", "/hosts", "Hosts"),
    ("policies", "/policies", "Policies"),
    ("add", "/add", "Add"),
    ("import", "/import", "Import"),
    ("settings", "/settings", "Settings"),
];

impl Shell {
    /// Where the menu leads, and whether that is here.
    pub(super) fn menu(&self) -> impl Iterator<Item = (&'static str, &'static str, bool)> {
        MENU.into_iter().map(|(name, path, title)| (path, title, name == self.here))
    }

    /// Where an asset is.
    pub(super) fn asset(&self, name: &str) -> String {
        assets::address(name)
    }

    /// The program's version.
    pub(super) fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    /// A time as seen from now, which a script keeps true: `in 4 min`, `2 h ago`.
    pub(super) fn rel(&self, at: &Time) -> Markup {
        let text = words::relative(*at, self.now);
        Markup(format!("<time class=\"rel\" datetime=\"{at}\" data-t=\"{}\">{text}</time>", at.as_millis()))
    }

    /// A time by itself, which a script turns into the reader's zone: `Tuesday 14:00`.
    pub(super) fn abs(&self, at: &Time) -> Markup {
        let text = words::moment(*at, self.now);
        Markup(format!("<time class=\"abs\" datetime=\"{at}\" data-t=\"{}\">{text}</time>", at.as_millis()))
    }

    /// A status as a word with its colour.
    pub(super) fn status(&self, status: &Status) -> Markup {
        let name = status.name();
        Markup(format!("<span class=\"status {name}\">{name}</span>"))
    }
}

/// HTML of our own making, with nothing of anybody else's in it.
pub(super) struct Markup(String);

impl HtmlSafe for Markup {}

impl fmt::Display for Markup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A page, from its template.
pub(super) struct Page<T>(pub(super) T);

impl<T: Template> IntoResponse for Page<T> {
    fn into_response(self) -> Response {
        match self.0.render() {
            Ok(page) => ([(CONTENT_TYPE, "text/html; charset=utf-8")], page).into_response(),
            Err(error) => {
                // Templates write to memory: what is shown said that it could not be.
                tracing::error!(%error, "a page could not be rendered");
                let why = "a page could not be made of what there is; the log has more";
                Oops::from(ServiceError::conflict("not_rendered", why)).into_response()
            }
        }
    }
}
