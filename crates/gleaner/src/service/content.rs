//! What was collected: posts, and the articles that consumers make of them.

use super::{By, Checks, Scope, ServiceError};
use crate::store::{Article, NewArticle, Post, PostFilter, StoreError};

/// The longest title, in characters.
const LONGEST_TITLE: usize = 1000;
/// How many posts one article is made from at most.
const MOST_POSTS: usize = 1000;

impl By<'_> {
    /// Posts, newest first, before that one.
    pub async fn posts(
        &self,
        filter: &PostFilter,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<Post>, ServiceError> {
        self.actor.must(Scope::Read)?;
        let filter = PostFilter { visibility: self.visibility().await?, ..filter.clone() };
        Ok(self.store.posts(&filter, before, limit).await?)
    }

    /// One post.
    pub async fn post(&self, id: i64) -> Result<Post, ServiceError> {
        self.actor.must(Scope::Read)?;
        self.visible_post(id).await
    }

    /// Makes an article of posts, which are linked to it from then on.
    pub async fn create_article(&self, new: NewArticle) -> Result<Article, ServiceError> {
        self.actor.must(Scope::Write)?;
        let mut checks = Checks::default();
        let title = new.title.trim().to_owned();
        if !(1..=LONGEST_TITLE).contains(&title.chars().count()) {
            checks.wrong("title", format!("a title has 1 to {LONGEST_TITLE} characters"));
        }
        if let Some(url) = &new.url
            && let Err(bad) = gleaner_core::link::source_url(url)
        {
            checks.wrong("url", format!("it is no address on the web: {}", bad.why));
        }
        for (field, text) in [("title", &title), ("body", &new.body)] {
            if text.contains('\0') {
                checks.wrong(field, "it has a character in it that is no text (NUL)");
            }
        }
        if !(1..=MOST_POSTS).contains(&new.post_ids.len()) {
            checks.wrong("post_ids", format!("an article is made from 1 to {MOST_POSTS} posts"));
        }
        checks.done()?;
        let new = NewArticle { title, ..new };
        let created = match self.must_see_posts(&new.post_ids).await {
            Ok(()) => self.store.create_article(&new, self.clock.now()).await,
            Err(ServiceError::Store(error)) => Err(error),
            Err(error) => return Err(error),
        };
        match created {
            Ok(id) => Ok(self.store.article(id).await?),
            Err(StoreError::NotFound { entity: "post", key }) => {
                Err(ServiceError::invalid("post_ids", format!("post {key} does not exist")))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Articles, newest first, before that one.
    pub async fn articles(
        &self,
        processed: Option<bool>,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<Article>, ServiceError> {
        self.actor.must(Scope::Read)?;
        Ok(self.store.articles(&self.actor.visibility(), processed, before, limit).await?)
    }

    /// One article.
    pub async fn article(&self, id: i64) -> Result<Article, ServiceError> {
        self.actor.must(Scope::Read)?;
        self.visible_article(id).await
    }

    /// Marks an article as processed, or not.
    pub async fn set_processed(&self, id: i64, processed: bool) -> Result<Article, ServiceError> {
        self.actor.must(Scope::Write)?;
        self.visible_article(id).await?;
        self.store.set_processed(id, processed).await?;
        Ok(self.store.article(id).await?)
    }
}
