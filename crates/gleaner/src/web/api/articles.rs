//! Articles: what consumers make from posts.

use axum::http::StatusCode;
use gleaner_core::time::Time;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::service::{Article, NewArticle};
use crate::web::auth::As;
use crate::web::json::{Json, Path};
use crate::web::params::Params;
use crate::web::{Limit, Page, Problem, Web};

pub(super) fn routes() -> OpenApiRouter<Web> {
    OpenApiRouter::new().routes(routes!(list, create)).routes(routes!(read, edit))
}

/// An article.
#[derive(Serialize, ToSchema)]
#[schema(as = Article)]
struct Shown {
    id: i64,
    title: String,
    body: String,
    url: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    published_at: Option<Time>,
    /// Whether its consumer is done with it.
    is_processed: bool,
    /// The posts it is made from.
    post_ids: Vec<i64>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Time,
}

impl From<Article> for Shown {
    fn from(Article { id, content, is_processed, created_at }: Article) -> Self {
        let NewArticle { title, body, url, published_at, post_ids } = content;
        Self { id, title, body, url, published_at, is_processed, post_ids, created_at }
    }
}

/// An article to be made.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewArticle)]
struct New {
    #[schema(min_length = 1, max_length = 1000)]
    title: String,
    #[serde(default)]
    body: String,
    url: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    published_at: Option<Time>,
    /// The posts it is made from.
    #[schema(min_items = 1, max_items = 1000)]
    post_ids: Vec<i64>,
}

/// What to change.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ArticleEdit {
    is_processed: bool,
}

/// Which articles.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "it stands for what is read one by one, so that all that is wrong is told")]
struct Which {
    /// Only those that are processed, or are not.
    is_processed: Option<bool>,
}

/// List articles, newest first.
#[utoipa::path(get, path = "/articles", tag = "articles", params(Which, Limit), responses(
    (status = 200, body = Page<Shown>),
))]
async fn list(whoever: As, mut params: Params) -> Result<Json<Page<Shown>>, Problem> {
    let (limit, processed) = (params.limit(), params.read("is_processed"));
    params.done()?;
    let articles = whoever.by().articles(processed, limit.cursor, limit.count() + 1).await?;
    Ok(Json(Page::of(articles, &limit, |article| article.id, Shown::from)))
}

/// Make an article from posts; clean-up leaves them alone from then on.
#[utoipa::path(post, path = "/articles", tag = "articles", request_body = New, responses(
    (status = 201, body = Shown),
    (status = 422, description = "Not valid, or one of its posts does not exist"),
))]
async fn create(whoever: As, Json(new): Json<New>) -> Result<(StatusCode, Json<Shown>), Problem> {
    let New { title, body, url, published_at, post_ids } = new;
    let article = NewArticle { title, body, url, published_at, post_ids };
    Ok((StatusCode::CREATED, Json(whoever.by().create_article(article).await?.into())))
}

/// Read an article.
#[utoipa::path(get, path = "/articles/{id}", tag = "articles", params(("id" = i64, Path)), responses(
    (status = 200, body = Shown),
    (status = 404, description = "There is no such article"),
))]
async fn read(whoever: As, Path(id): Path<i64>) -> Result<Json<Shown>, Problem> {
    Ok(Json(whoever.by().article(id).await?.into()))
}

/// Mark an article as processed, or not.
#[utoipa::path(patch, path = "/articles/{id}", tag = "articles", params(("id" = i64, Path)),
    request_body = ArticleEdit, responses(
    (status = 200, body = Shown),
    (status = 404, description = "There is no such article"),
    (status = 422, description = "Not valid"),
))]
async fn edit(
    whoever: As,
    Path(id): Path<i64>,
    Json(edit): Json<ArticleEdit>,
) -> Result<Json<Shown>, Problem> {
    Ok(Json(whoever.by().set_processed(id, edit.is_processed).await?.into()))
}
