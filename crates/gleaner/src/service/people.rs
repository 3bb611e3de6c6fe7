//! Users and collections.

use serde_json::{Value, json};

use super::access::checked_name;
use super::audit::{Target, differences};
use super::step_up::SensitiveAction;
use super::{By, Checks, Scope, ServiceError};
use crate::store::{Collection, CollectionEdit, User};

/// What to change of a collection; what is none stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CollectionChange<'a> {
    /// What to call it.
    pub name: Option<&'a str>,
    /// The name of the user who is to own it.
    pub owner: Option<&'a str>,
    /// Whether its owner and admins alone see it.
    pub private: Option<bool>,
}

impl By<'_> {
    /// All users.
    pub async fn users(&self) -> Result<Vec<User>, ServiceError> {
        self.actor.must(Scope::Read)?;
        self.actor.must_be_unlimited()?;
        Ok(self.store.users().await?)
    }

    /// Adds a user without a password; a login link lets them set one.
    pub async fn create_user(&self, name: &str, is_admin: bool) -> Result<User, ServiceError> {
        self.actor.must_manage()?;
        self.must_prove(SensitiveAction::AddUser).await?;
        let name = checked_name("name", name)?;
        let target = Target::new("user", None, &name);
        let store = self.audited("user.create", target, Some(json!({ "is_admin": is_admin })));
        store.create_user(&name, is_admin, self.clock.now()).await?;
        Ok(self.store.user_named(&name).await?)
    }

    /// Makes a user an admin, or no admin; one admin stays.
    pub async fn set_admin(&self, name: &str, is_admin: bool) -> Result<(), ServiceError> {
        self.actor.must_manage()?;
        self.must_prove(SensitiveAction::ChangeAdmin).await?;
        let user = self.store.user_named(name).await?;
        if !is_admin {
            self.not_the_last_admin(&user).await?;
        }
        let changes = json!({ "is_admin": [user.is_admin, is_admin] });
        self.audited("user.update", Target::user(&user), Some(changes)).set_admin(user.id, is_admin).await?;
        self.forget_callers();
        Ok(())
    }

    async fn not_the_last_admin(&self, user: &User) -> Result<(), ServiceError> {
        let admins = self.store.users().await?.into_iter().filter(|user| user.is_admin).count();
        if user.is_admin && admins == 1 {
            let message = format!("{} is the last admin; make another one first", user.name);
            return Err(ServiceError::conflict("last_admin", message));
        }
        Ok(())
    }

    /// Deletes a user who owns nothing and is not the last admin.
    pub async fn delete_user(&self, name: &str) -> Result<(), ServiceError> {
        self.actor.must_manage()?;
        self.must_prove(SensitiveAction::DeleteUser).await?;
        let user = self.store.user_named(name).await?;
        self.not_the_last_admin(&user).await?;
        self.audited("user.delete", Target::user(&user), None).delete_user(user.id).await?;
        self.forget_callers();
        Ok(())
    }

    /// All collections that the caller may see.
    pub async fn collections(&self) -> Result<Vec<Collection>, ServiceError> {
        self.actor.must(Scope::Read)?;
        self.visible_collections().await
    }

    /// One collection.
    pub async fn collection(&self, id: i64) -> Result<Collection, ServiceError> {
        let found = self.collections().await?.into_iter().find(|collection| collection.id == id);
        found.ok_or_else(|| ServiceError::missing("collection", &id.to_string()))
    }

    /// Adds a collection of one's own that everybody sees.
    pub async fn create_collection(&self, name: &str) -> Result<Collection, ServiceError> {
        self.add_collection(name, false).await
    }

    /// Adds a collection of one's own; where it is private, for oneself and admins only.
    pub async fn add_collection(&self, name: &str, private: bool) -> Result<Collection, ServiceError> {
        self.actor.must(Scope::Write)?;
        self.actor.must_be_unlimited()?;
        let new = CollectionEdit { name: checked_name("name", name)?, owner_id: self.actor.user_id, private };
        let target = Target::new("collection", None, &new.name);
        let store = self.audited("collection.create", target, Some(json!({ "private": private })));
        let id = store.add_collection(&new, self.clock.now()).await?;
        self.any_private.forget();
        self.collection(id).await
    }

    /// Changes a collection of one's own; an admin, anybody's. The keys of whoever it is given to serve it from then
    /// on.
    pub async fn edit_collection(
        &self,
        id: i64,
        change: &CollectionChange<'_>,
    ) -> Result<Collection, ServiceError> {
        self.actor.must(Scope::Write)?;
        let was = self.managed_collection(id).await?;
        let mut checks = Checks::default();
        let name = match change.name {
            Some(name) => checks.take("name", checked_name("name", name)),
            None => Some(was.name.clone()),
        };
        let owner_id = match change.owner {
            Some(owner) => self
                .store
                .user_named(owner)
                .await
                .map(|user| user.id)
                .map_err(|_| ServiceError::invalid("owner", format!("there is no user {owner}"))),
            None => Ok(was.owner_id),
        };
        let owner_id = checks.take("owner", owner_id);
        checks.done()?;
        let edit = CollectionEdit {
            name: name.unwrap_or_default(),
            owner_id: owner_id.unwrap_or_default(),
            private: change.private.unwrap_or(was.private),
        };
        let CollectionEdit { name, owner_id, private } = edit.clone();
        let now = Collection { name, owner_id, private, ..was.clone() };
        let changes = differences(&about(&was), &about(&now));
        let store = self.audited("collection.update", Target::collection(&was), Some(changes.into()));
        store.edit_collection(id, &edit).await?;
        self.any_private.forget();
        self.open_callers.check_now();
        Ok(now)
    }

    /// Deletes a collection of one's own that holds no sources; an admin, anybody's.
    pub async fn delete_collection(&self, id: i64) -> Result<(), ServiceError> {
        self.actor.must(Scope::Write)?;
        let collection = self.managed_collection(id).await?;
        self.must_prove(SensitiveAction::DeleteCollection).await?;
        let target = Target::collection(&collection);
        let store = self.audited("collection.delete", target, Some(about(&collection)));
        store.delete_collection(id).await?;
        self.any_private.forget();
        Ok(())
    }
}

/// What the audit log says of a collection.
fn about(collection: &Collection) -> Value {
    json!({ "name": collection.name, "owner_id": collection.owner_id, "private": collection.private })
}
