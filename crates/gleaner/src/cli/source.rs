//! Sources by what people type: an id, a URL or a handle.

use gleaner_core::link;
use serde_json::Value;
use url::{Position, Url};

use super::Failure;
use super::client::Client;
use super::show::text;

/// The source of that id, URL or handle.
pub(super) async fn named(client: &Client, given: &str) -> Result<Value, Failure> {
    if let Ok(id) = given.parse::<i64>() {
        return client.get(&format!("/sources/{id}")).await;
    }
    let url = gleaner_core::x::timeline_url(given).or_else(|_| link::source_url(given)).map_err(|_| {
        Failure::Usage(format!("'{given}' is neither an id nor a URL; `gleaner list` shows both"))
    })?;
    let wanted = link::canonical(url.as_str());
    // Spellings of a URL differ only before the host and after the path.
    let search = vec![("q", part(&url))];
    let mut pages = client.pages("/sources", &search);
    let mut found = Vec::new();
    while let Some(page) = pages.next().await? {
        let is_it = |source: &Value| source["url"].as_str().is_some_and(|url| link::canonical(url) == wanted);
        found.extend(page.into_iter().filter(is_it));
    }
    match found.len() {
        0 => Err(Failure::Missing(format!("there is no source {given}; `gleaner add` adds one"))),
        1 => Ok(found.remove(0)),
        _ => {
            let ids = found.iter().map(|source| text(source, "id")).collect::<Vec<_>>().join(", ");
            Err(Failure::Usage(format!("{given} is in several collections; name it by its id: {ids}")))
        }
    }
}

/// Id and URL of a source.
pub(super) async fn id_of(client: &Client, given: &str) -> Result<(i64, String), Failure> {
    let source = named(client, given).await?;
    let id = source["id"].as_i64().ok_or_else(|| {
        Failure::Failed(
            "the answer has a source without an id; is --server a gleaner of this version?".to_owned(),
        )
    })?;
    Ok((id, text(&source, "url")))
}

fn part(url: &Url) -> String {
    url[Position::BeforeHost..Position::AfterPath].trim_end_matches('/').to_owned()
}
