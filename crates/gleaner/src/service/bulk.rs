//! One action on many sources, each for itself: what fails for one is told, and the others go on.

use super::audit::{Target, some_ids};
use super::step_up::SensitiveAction;
use super::{By, Checks, Scope, ServiceError, SourceFields, SourceFilter};

/// How many sources one request changes at most.
pub const BULK: u32 = 1000;

/// What is done to each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BulkAction {
    /// Enable.
    Enable,
    /// Disable.
    Disable,
    /// Take back that it was disabled: unlike enabling, this clears nothing.
    Reinstate,
    /// Make due.
    Poll,
    /// Put into this collection.
    Move(i64),
    /// Delete.
    Delete,
}

impl BulkAction {
    const fn name(self) -> &'static str {
        match self {
            Self::Enable => "enable",
            Self::Disable => "disable",
            Self::Reinstate => "reinstate",
            Self::Poll => "poll",
            Self::Move(_) => "move",
            Self::Delete => "delete",
        }
    }
}

/// Which sources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BulkOf {
    /// These.
    Ids(Vec<i64>),
    /// Those that a list would show, after that one.
    Filter(Box<SourceFilter>, Option<i64>),
}

/// What became of each.
#[derive(Debug)]
pub struct BulkDone {
    /// Each source, and what failed; or what would take it back, where anything was changed and can be taken back.
    pub each: Vec<(i64, Result<Option<BulkAction>, ServiceError>)>,
    /// Where to go on; none: that were all.
    pub next: Option<i64>,
}

impl By<'_> {
    /// Does the same to many sources.
    pub async fn bulk(&self, of: &BulkOf, action: BulkAction) -> Result<BulkDone, ServiceError> {
        self.actor.must(Scope::Write)?;
        if action == BulkAction::Delete {
            self.must_prove(SensitiveAction::DeleteManySources).await?;
        }
        if let BulkAction::Move(id) = action
            && !self.visible_collections().await?.iter().any(|one| one.id == id)
        {
            return Err(ServiceError::invalid("collection_id", format!("there is no collection {id}")));
        }
        let (ids, next) = match of {
            BulkOf::Ids(ids) => (ids.clone(), None),
            BulkOf::Filter(filter, after) => {
                let page = self.store.sources(&self.visible(filter).await?, *after, BULK).await?;
                let ids: Vec<i64> = page.iter().map(|source| source.id).collect();
                let next = ids.last().copied().filter(|_| ids.len() == BULK as usize);
                (ids, next)
            }
        };
        if action == BulkAction::Poll {
            let each = self.make_due(&ids).await?;
            return Ok(BulkDone {
                each: each.into_iter().map(|(id, due)| (id, due.map(|()| None))).collect(),
                next,
            });
        }
        let mut each = Vec::with_capacity(ids.len());
        let one = By { is_part: true, ..*self };
        for id in ids {
            match one.act(id, action).await {
                // What stops all of them is not told a thousand times.
                Err(ServiceError::Store(error)) if error.is_for_all() => return Err(error.into()),
                done => each.push((id, done)),
            }
        }
        let done: Vec<i64> = each.iter().filter(|(_, done)| done.is_ok()).map(|(id, _)| *id).collect();
        if !done.is_empty() {
            let mut about = some_ids(&done);
            if let BulkAction::Move(id) = action {
                about["collection_id"] = id.into();
            }
            let target = Target::new("source", None, &format!("{} sources", done.len()));
            self.audit(&format!("source.bulk_{}", action.name()), target, Some(about)).await;
        }
        Ok(BulkDone { each, next })
    }

    /// Does it to one; tells what would take it back.
    async fn act(&self, id: i64, action: BulkAction) -> Result<Option<BulkAction>, ServiceError> {
        match action {
            BulkAction::Enable => Ok(self.set_enabled(id, true).await?.then_some(BulkAction::Disable)),
            BulkAction::Disable => Ok(self.set_enabled(id, false).await?.then_some(BulkAction::Reinstate)),
            BulkAction::Reinstate => Ok(self.reinstate(id).await?.then_some(BulkAction::Disable)),
            BulkAction::Poll => {
                self.make_due(&[id]).await?.pop().map_or(Ok(None), |(_, due)| due.map(|()| None))
            }
            BulkAction::Delete => self.delete_source(id).await.map(|()| None),
            BulkAction::Move(collection_id) => {
                let was = self.visible_source(id).await?.settings.collection_id;
                if was == collection_id {
                    return Ok(None);
                }
                let fields = SourceFields { collection_id: Some(collection_id), ..SourceFields::default() };
                self.change_source(id, None, &fields, Checks::default()).await?;
                Ok(Some(BulkAction::Move(was)))
            }
        }
    }
}
