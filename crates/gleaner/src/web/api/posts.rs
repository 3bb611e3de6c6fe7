//! Posts: listed, searched and read.

use gleaner_core::time::Time;
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::service::{Post, PostFilter};
use crate::web::auth::As;
use crate::web::json::{Json, Path};
use crate::web::params::{Params, time};
use crate::web::{Limit, Page, Problem, Web};

/// How many sources one list may name.
const MOST_SOURCES: usize = 200;

pub(super) fn routes() -> OpenApiRouter<Web> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(read))
}

/// A post.
#[derive(Serialize, ToSchema)]
#[schema(as = Post)]
struct Shown {
    id: i64,
    source_id: i64,
    guid: String,
    title: Option<String>,
    url: Option<String>,
    /// Plain text.
    body: String,
    /// HTML as it came; not safe to be shown.
    raw_content: Option<String>,
    author: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    published_at: Option<Time>,
    /// SHA-256, in hexadecimal.
    content_hash: String,
    /// Counts changes of title or text, from 1.
    revision: i64,
    #[schema(value_type = String, format = DateTime)]
    created_at: Time,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Time,
}

impl From<Post> for Shown {
    fn from(Post { id, source_id, content, revision, created_at, updated_at }: Post) -> Self {
        Self {
            id,
            source_id,
            guid: content.guid,
            title: content.title,
            url: content.url,
            body: content.body,
            raw_content: content.raw_content,
            author: content.author,
            published_at: content.published_at,
            content_hash: content.content_hash.to_hex(),
            revision,
            created_at,
            updated_at,
        }
    }
}

/// Which posts.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "it stands for what is read one by one, so that all that is wrong is told")]
struct Which {
    /// Of these sources; may be given up to 200 times.
    source_id: Option<Vec<i64>>,
    /// Of sources in this collection.
    collection_id: Option<i64>,
    /// Only those that no article is made from.
    unlinked: Option<bool>,
    /// Stored at or after.
    #[param(value_type = Option<String>, format = DateTime)]
    from: Option<Time>,
    /// Stored before.
    #[param(value_type = Option<String>, format = DateTime)]
    until: Option<Time>,
    /// With all these words in title or text; in quotation marks, one after the other.
    q: Option<String>,
}

/// List posts, newest first.
#[utoipa::path(get, path = "/posts", tag = "posts", params(Which, Limit), responses(
    (status = 200, body = Page<Shown>),
))]
async fn list(whoever: As, mut params: Params) -> Result<Json<Page<Shown>>, Problem> {
    let limit = params.limit();
    let number = |text: &str| text.parse::<i64>().map_err(|error| format!("source_id: {error}"));
    let filter = PostFilter {
        source_ids: params.several("source_id", MOST_SOURCES, number),
        collection_id: params.read("collection_id"),
        unlinked: params.read("unlinked").unwrap_or(false),
        from: params.one("from", time),
        until: params.one("until", time),
        text: params.text("q").filter(|text| !text.trim().is_empty()),
        ..PostFilter::default()
    };
    params.done()?;
    let posts = whoever.by().posts(&filter, limit.cursor, limit.count() + 1).await?;
    Ok(Json(Page::of(posts, &limit, |post| post.id, Shown::from)))
}

/// Read a post.
#[utoipa::path(get, path = "/posts/{id}", tag = "posts", params(("id" = i64, Path)), responses(
    (status = 200, body = Shown),
    (status = 404, description = "There is no such post"),
))]
async fn read(whoever: As, Path(id): Path<i64>) -> Result<Json<Shown>, Problem> {
    Ok(Json(whoever.by().post(id).await?.into()))
}
