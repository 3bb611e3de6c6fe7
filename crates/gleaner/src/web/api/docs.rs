//! The API's document for people: one page, made of the document for programs, with nothing to load.

use std::fmt::Write as _;
use std::sync::OnceLock;

use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::IntoResponse;
use serde_json::{Map, Value};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::web::Web;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;\
    color:#222;background:#fff}code,pre{font:14px/1.4 ui-monospace,monospace}h2{margin-top:2.5rem;\
    border-bottom:1px solid #ccc}details{border:1px solid #ddd;border-radius:.4rem;margin:.5rem 0;padding:.4rem .8rem}\
    summary{cursor:pointer}summary b{display:inline-block;min-width:4.5rem}code{overflow-wrap:anywhere}\
    table{border-collapse:collapse;width:100%}td{overflow-wrap:anywhere}\
    td,th{text-align:left;vertical-align:top;padding:.2rem .8rem .2rem 0}pre{overflow:auto;background:#f4f4f4;\
    padding:.6rem;border-radius:.4rem}@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}\
    pre{background:#222}details{border-color:#444}h2{border-color:#444}a{color:#8bf}}";

/// Stands for where the document for programs is.
const LINK: &str = "{document}";

pub(super) fn routes() -> OpenApiRouter<Web> {
    OpenApiRouter::new().routes(routes!(page))
}

/// This API, for people.
#[utoipa::path(get, path = "/docs", tag = "about", responses(
    (status = 200, description = "A page", content_type = "text/html", body = String),
))]
async fn page() -> impl IntoResponse {
    docs_page("openapi.json")
}

/// The page, with a link to the document for programs.
pub(in crate::web) fn docs_page(document: &str) -> impl IntoResponse + use<> {
    static PAGE: OnceLock<String> = OnceLock::new();
    let page = PAGE.get_or_init(|| render(&serde_json::to_value(crate::web::openapi()).unwrap_or_default()));
    let page = page.replacen(LINK, document, 1);
    let policy = "default-src 'none'; style-src 'unsafe-inline'";
    ([(CONTENT_TYPE, "text/html; charset=utf-8"), (CONTENT_SECURITY_POLICY, policy)], page)
}

/// The page. Writing to a text cannot fail.
fn render(document: &Value) -> String {
    let mut html = format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>\
         <title>gleaner API</title><style>{STYLE}</style><h1>gleaner API {}</h1><p>{}</p>\
         <p>Send <code>Authorization: Bearer TOKEN</code>; <code>gleaner token create</code> makes one. Failures are \
         RFC 9457 problem details with a stable <code>code</code>. The same for programs: \
         <a href='{LINK}'>openapi.json</a>.</p>",
        escaped(&document["info"]["version"]),
        escaped(&document["info"]["description"]),
    );
    let empty = Map::new();
    let paths = document["paths"].as_object().unwrap_or(&empty);
    let operations: Vec<(&str, &str, &Value)> = paths
        .iter()
        .flat_map(|(path, item)| {
            let methods = item.as_object().into_iter().flatten();
            methods.map(move |(method, operation)| (path.as_str(), method.as_str(), operation))
        })
        .filter(|(_, _, operation)| operation["tags"].is_array())
        .collect();
    let mut tags: Vec<&str> = operations.iter().filter_map(|(_, _, one)| one["tags"][0].as_str()).collect();
    tags.sort_unstable();
    tags.dedup();
    for tag in tags {
        let _ = write!(html, "<h2>{}</h2>", escape(tag));
        for (path, method, operation) in operations.iter().filter(|(_, _, one)| one["tags"][0] == tag) {
            html.push_str(&one(path, method, operation));
        }
    }
    html.push_str("<h2>Types</h2>");
    for (name, schema) in document["components"]["schemas"].as_object().unwrap_or(&empty) {
        let text = serde_json::to_string_pretty(schema).unwrap_or_default();
        let name = escape(name);
        let _ = write!(
            html,
            "<details id='{name}'><summary><code>{name}</code></summary><pre>{}</pre></details>",
            escape(&text)
        );
    }
    html
}

fn one(path: &str, method: &str, operation: &Value) -> String {
    let mut html = format!(
        "<details><summary><b>{}</b> <code>{}</code> {}</summary>",
        method.to_uppercase(),
        escape(path),
        escaped(&operation["summary"])
    );
    let parameters = operation["parameters"].as_array().map(Vec::as_slice).unwrap_or_default();
    if !parameters.is_empty() {
        html.push_str("<h4>Parameters</h4><table>");
        for parameter in parameters {
            let _ = write!(
                html,
                "<tr><td><code>{}</code><td>{}<td>{}",
                escaped(&parameter["name"]),
                escaped(&parameter["in"]),
                escaped(&parameter["description"])
            );
        }
        html.push_str("</table>");
    }
    if let Some(content) = operation["requestBody"]["content"].as_object() {
        html.push_str("<h4>Body</h4>");
        content.iter().for_each(|(kind, body)| html.push_str(&typed(kind, body)));
    }
    html.push_str("<h4>Answers</h4><table>");
    for (status, response) in operation["responses"].as_object().into_iter().flatten() {
        let types: String =
            response["content"].as_object().into_iter().flatten().map(|(k, b)| typed(k, b)).collect();
        let _ = write!(html, "<tr><td>{status}<td>{}<td>{types}", escaped(&response["description"]));
    }
    html.push_str("</table></details>");
    html
}

/// A kind of document, and the type that it holds.
fn typed(kind: &str, body: &Value) -> String {
    let name = body["schema"]["$ref"].as_str().and_then(|link| link.rsplit('/').next()).unwrap_or_default();
    let name = escape(name);
    format!("<code>{}</code> <a href='#{name}'>{name}</a> ", escape(kind))
}

fn escaped(value: &Value) -> String {
    escape(value.as_str().unwrap_or_default())
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('\'', "&#39;")
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_route_is_on_the_page() {
        let document = serde_json::to_value(crate::web::openapi()).unwrap();
        let page = super::render(&document);
        for path in document["paths"].as_object().unwrap().keys() {
            assert!(page.contains(&format!("<code>{path}</code>")), "{path}");
        }
        assert!(!page.contains("<script"));
    }
}
