//! One action on many sources, each for itself: a failure of one is reported, and the others are still done.

use serde_json::{Map, Value};

use super::audit::{Target, some_ids};
use super::step_up::SensitiveAction;
use super::{By, Checks, Scope, ServiceError, SourceFields, SourceFilter};
use crate::source_fields::{SourceField, SourceSettings};

/// Maximum number of sources that one request changes.
pub const BULK: u32 = 1000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BulkAction {
    Enable,
    Disable,
    /// Undo disabling: unlike enabling, this clears no failures.
    Reinstate,
    /// Make due now.
    Poll,
    /// Set these fields, by their names and as the API has them.
    Edit(Map<String, Value>),
    Delete,
}

impl BulkAction {
    /// Move to a collection.
    pub fn move_to(collection_id: i64) -> Self {
        Self::Edit(Map::from_iter([("collection_id".to_owned(), collection_id.into())]))
    }

    /// Name in forms and in the audit log.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Enable => "enable",
            Self::Disable => "disable",
            Self::Reinstate => "reinstate",
            Self::Poll => "poll",
            Self::Edit(_) => "edit",
            Self::Delete => "delete",
        }
    }

    /// An action without parameters, by its name.
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [Self::Enable, Self::Disable, Self::Reinstate, Self::Poll, Self::Delete];
        all.into_iter().find(|action| action.name() == name)
    }
}

/// Which sources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BulkOf {
    Ids(Vec<i64>),
    /// Those that a list would show, after this id.
    Filter(Box<SourceFilter>, Option<i64>),
}

#[derive(Debug)]
pub struct BulkDone {
    /// Each source with its failure; or with the action that undoes what was changed, where that is possible.
    pub each: Vec<(i64, Result<Option<BulkAction>, ServiceError>)>,
    /// Cursor of the next sources of a filter; none: all are done.
    pub next: Option<i64>,
}

impl By<'_> {
    pub async fn bulk(&self, of: &BulkOf, action: &BulkAction) -> Result<BulkDone, ServiceError> {
        self.actor.must(Scope::Write)?;
        if *action == BulkAction::Delete {
            self.must_prove(SensitiveAction::DeleteManySources).await?;
        }
        let fields = self.bulk_fields(action).await?;
        let (ids, next) = match of {
            BulkOf::Ids(ids) => (ids.clone(), None),
            BulkOf::Filter(filter, after) => {
                let page = self.store.sources(&self.visible(filter).await?, *after, BULK).await?;
                let ids: Vec<i64> = page.iter().map(|source| source.id).collect();
                let next = ids.last().copied().filter(|_| ids.len() == BULK as usize);
                (ids, next)
            }
        };
        if *action == BulkAction::Poll {
            let each = self.make_due(&ids).await?;
            return Ok(BulkDone {
                each: each.into_iter().map(|(id, due)| (id, due.map(|()| None))).collect(),
                next,
            });
        }
        let mut each = Vec::with_capacity(ids.len());
        let one = By { is_part: true, ..*self };
        for id in ids {
            match one.act(id, action, &fields).await {
                // What stops all of them is reported once.
                Err(ServiceError::Store(error)) if error.is_for_all() => return Err(error.into()),
                done => each.push((id, done)),
            }
        }
        let done: Vec<i64> = each.iter().filter(|(_, done)| done.is_ok()).map(|(id, _)| *id).collect();
        if !done.is_empty() {
            let mut about = some_ids(&done);
            if let BulkAction::Edit(values) = action {
                about["fields"] = Value::Object(values.clone());
            }
            let target = Target::new("source", None, &format!("{} sources", done.len()));
            self.audit(&format!("source.bulk_{}", action.name()), target, Some(about)).await;
        }
        Ok(BulkDone { each, next })
    }

    /// The fields that an action sets; whatever is wrong with them is wrong for all sources, and reported once.
    async fn bulk_fields(&self, action: &BulkAction) -> Result<SourceFields, ServiceError> {
        let BulkAction::Edit(values) = action else { return Ok(SourceFields::default()) };
        let mut checks = Checks::default();
        if values.is_empty() {
            checks.wrong("fields", "say which fields to set");
        }
        let fields = SourceFields::read_bulk(values, &mut checks);
        let any = SourceSettings::feed(0, String::new());
        self.apply_fields(&fields, &any, &self.visible_collections().await?, &mut checks)?;
        checks.done()?;
        Ok(fields)
    }

    /// Does it to one source; returns what would undo it.
    async fn act(
        &self,
        id: i64,
        action: &BulkAction,
        fields: &SourceFields,
    ) -> Result<Option<BulkAction>, ServiceError> {
        match action {
            BulkAction::Enable => Ok(self.set_enabled(id, true).await?.then_some(BulkAction::Disable)),
            BulkAction::Disable => Ok(self.set_enabled(id, false).await?.then_some(BulkAction::Reinstate)),
            BulkAction::Reinstate => Ok(self.reinstate(id).await?.then_some(BulkAction::Disable)),
            BulkAction::Poll => {
                self.make_due(&[id]).await?.pop().map_or(Ok(None), |(_, due)| due.map(|()| None))
            }
            BulkAction::Delete => self.delete_source(id).await.map(|()| None),
            BulkAction::Edit(_) => {
                let before = self.visible_source(id).await?.settings.to_json();
                let after = self.change_source(id, None, fields, Checks::default()).await?.settings.to_json();
                let changed =
                    SourceField::bulk().filter(|field| before.get(field.name) != after.get(field.name));
                let former: Map<String, Value> = changed
                    .filter_map(|field| Some((field.name.to_owned(), before.get(field.name)?.clone())))
                    .collect();
                Ok((!former.is_empty()).then_some(BulkAction::Edit(former)))
            }
        }
    }
}
