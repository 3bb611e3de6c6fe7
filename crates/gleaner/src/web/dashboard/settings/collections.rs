//! Collections: made, renamed, handed over, deleted.

use askama::Template;
use axum::response::{IntoResponse, Response};

use super::Parts;
use crate::service::{Collection, CollectionChange};
use crate::web::dashboard::form_input::{FormInput, PathParam};
use crate::web::dashboard::session::go;
use crate::web::dashboard::{Oops, Page, Shell, Visit};

#[derive(Template)]
#[template(path = "settings_collections.html")]
struct CollectionsPage {
    shell: Shell,
    parts: Parts,
    rows: Vec<Row>,
    /// All users, by name.
    users: Vec<String>,
    /// The form for a new one.
    given: FormInput,
}

/// A collection, with the form that changes it.
struct Row {
    id: i64,
    name: String,
    owner: String,
    private: bool,
    /// Whether whoever looks may change it.
    managed: bool,
    given: FormInput,
}

impl Row {
    /// Open while it is refused.
    fn is_open(&self) -> bool {
        self.given.is_wrong()
    }

    fn is_private_in_form(&self) -> bool {
        self.given.has("private")
    }
}

pub(super) async fn page(visit: Visit) -> Result<Response, Oops> {
    show(&visit, FormInput::default(), None).await
}

/// The page, with what is wrong with a new one, or with a change to one.
async fn show(
    visit: &Visit,
    given: FormInput,
    mut changed: Option<(i64, FormInput)>,
) -> Result<Response, Oops> {
    let by = visit.by();
    let users = by.users().await?;
    let named = |id: i64| users.iter().find(|user| user.id == id).map(|user| user.name.clone());
    let status = changed.as_ref().map_or(given.status(), |(_, given)| given.status());
    let rows =
        by.collections().await?.into_iter().map(|Collection { id, name, owner_id, private, .. }| {
            let owner = named(owner_id).unwrap_or_default();
            let given = changed.take_if(|(changed, _)| *changed == id).map(|(_, given)| given);
            let managed = visit.actor.is_admin || visit.actor.user_id == owner_id;
            let as_is = || {
                let fields =
                    [("name", name.clone()), ("owner", owner.clone()), ("private", "true".to_owned())];
                let form = FormInput::of(fields);
                if private { form } else { form.without(&["private"]) }
            };
            Row { given: given.unwrap_or_else(as_is), id, name, owner, private, managed }
        });
    let rows = rows.collect();
    let shell = visit.shell("settings");
    let users = users.iter().map(|user| user.name.clone()).collect();
    let page =
        CollectionsPage { parts: Parts::new(&shell, "/settings/collections"), shell, rows, users, given };
    Ok((status, Page(page)).into_response())
}

pub(super) async fn make(visit: Visit, given: FormInput) -> Result<Response, Oops> {
    match visit.by().add_collection(given.get("name"), given.has("private")).await {
        Ok(made) => {
            let said = format!("The collection {} is made, and yours.", made.name);
            Ok(go(&visit.web, "/settings/collections", &said))
        }
        Err(error) => show(&visit, given.refused_by(error)?, None).await,
    }
}

pub(super) async fn edit(
    visit: Visit,
    PathParam(id): PathParam<i64>,
    given: FormInput,
) -> Result<Response, Oops> {
    let (name, owner, private) = (Some(given.get("name")), given.some("owner"), Some(given.has("private")));
    match visit.by().edit_collection(id, &CollectionChange { name, owner, private }).await {
        Ok(now) => {
            Ok(go(&visit.web, "/settings/collections", &format!("The collection {} is changed.", now.name)))
        }
        Err(error) => show(&visit, FormInput::default(), Some((id, given.refused_by(error)?))).await,
    }
}

pub(super) async fn delete(
    visit: Visit,
    PathParam(id): PathParam<i64>,
    given: FormInput,
) -> Result<Response, Oops> {
    let name = visit.by().collection(id).await?.name;
    match visit.by().delete_collection(id).await {
        Ok(()) => Ok(go(&visit.web, "/settings/collections", &format!("The collection {name} is gone."))),
        Err(error) => show(&visit, given.refused_by(error)?, None).await,
    }
}
