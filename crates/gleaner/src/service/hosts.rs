//! Who is asked.

use super::{By, Scope, ServiceError};
use crate::store::Host;

impl By<'_> {
    /// Hosts, by id, after that one; with this text in their name.
    pub async fn hosts(
        &self,
        text: Option<&str>,
        after: Option<i64>,
        limit: u32,
    ) -> Result<Vec<Host>, ServiceError> {
        self.actor.must(Scope::Read)?;
        Ok(self.store.hosts(&self.visibility().await?, text, after, limit).await?)
    }
}
