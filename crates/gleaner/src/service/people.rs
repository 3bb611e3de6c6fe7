//! Users and collections.

use super::access::checked_name;
use super::{By, Checks, Scope, ServiceError};
use crate::store::{Collection, User};

impl By<'_> {
    /// All users.
    pub async fn users(&self) -> Result<Vec<User>, ServiceError> {
        self.actor.must(Scope::Read)?;
        Ok(self.store.users().await?)
    }

    /// Adds a user without a password; a login link lets them set one.
    pub async fn create_user(&self, name: &str, is_admin: bool) -> Result<User, ServiceError> {
        self.actor.must_manage()?;
        let name = checked_name("name", name)?;
        self.store.create_user(&name, is_admin, self.clock.now()).await?;
        Ok(self.store.user_named(&name).await?)
    }

    /// Makes a user an admin, or no admin; one admin stays.
    pub async fn set_admin(&self, name: &str, is_admin: bool) -> Result<(), ServiceError> {
        self.actor.must_manage()?;
        let user = self.store.user_named(name).await?;
        if !is_admin {
            self.not_the_last_admin(&user).await?;
        }
        self.store.set_admin(user.id, is_admin).await?;
        self.gate.forget_all();
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
        let user = self.store.user_named(name).await?;
        self.not_the_last_admin(&user).await?;
        self.store.delete_user(user.id).await?;
        self.gate.forget_all();
        Ok(())
    }

    /// All collections.
    pub async fn collections(&self) -> Result<Vec<Collection>, ServiceError> {
        self.actor.must(Scope::Read)?;
        Ok(self.store.collections().await?)
    }

    /// One collection.
    pub async fn collection(&self, id: i64) -> Result<Collection, ServiceError> {
        let found = self.collections().await?.into_iter().find(|collection| collection.id == id);
        found.ok_or_else(|| ServiceError::missing("collection", &id.to_string()))
    }

    /// Adds a collection of one's own.
    pub async fn create_collection(&self, name: &str) -> Result<Collection, ServiceError> {
        self.actor.must(Scope::Write)?;
        let name = checked_name("name", name)?;
        let id = self.store.create_collection(&name, self.actor.user_id, self.clock.now()).await?;
        self.collection(id).await
    }

    /// Renames a collection, or gives it to somebody else; their keys serve it from then on.
    pub async fn edit_collection(
        &self,
        id: i64,
        name: Option<&str>,
        owner: Option<&str>,
    ) -> Result<Collection, ServiceError> {
        self.actor.must(Scope::Write)?;
        let now = self.collection(id).await?;
        let mut checks = Checks::default();
        let name = match name {
            Some(name) => checks.take("name", checked_name("name", name)),
            None => Some(now.name),
        };
        let owner_id = match owner {
            Some(owner) => self
                .store
                .user_named(owner)
                .await
                .map(|user| user.id)
                .map_err(|_| ServiceError::invalid("owner", format!("there is no user {owner}"))),
            None => Ok(now.owner_id),
        };
        let owner_id = checks.take("owner", owner_id);
        checks.done()?;
        self.store.edit_collection(id, &name.unwrap_or_default(), owner_id.unwrap_or_default()).await?;
        self.collection(id).await
    }

    /// Deletes a collection that holds no sources.
    pub async fn delete_collection(&self, id: i64) -> Result<(), ServiceError> {
        self.actor.must(Scope::Write)?;
        Ok(self.store.delete_collection(id).await?)
    }
}
