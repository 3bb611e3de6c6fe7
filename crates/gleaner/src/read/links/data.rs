//! The lists that a page tells machines of: `ItemList`, `Blog` and the like in its JSON-LD.
//!
//! A sign among others while the page has links, since such a list is often a part of them, or one of something
//! else; where the links are made by scripts it is all there is. Absent on purpose: microdata and RDFa.

use serde_json::Value;

/// More of it is not read.
const LONGEST: usize = 2 << 20;

/// More values than these are not looked at.
const VALUES: usize = 200_000;

/// Types of what is no article, wherever it stands.
const OFFERS: [&str; 5] =
    ["Product", "JobPosting", "LocalBusiness", "RealEstateListing", "SoftwareApplication"];

/// Something in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listed {
    pub href: String,
    pub title: Option<String>,
    /// Its type says that it is no article.
    pub other: bool,
}

/// What the lists in a page's data name, in their order.
pub(super) fn lists(data: &[&str]) -> Vec<Listed> {
    let mut found = Vec::new();
    for text in data.iter().filter(|text| text.len() <= LONGEST) {
        if let Ok(value) = serde_json::from_str::<Value>(text.trim()) {
            collect(&value, &mut found);
        }
    }
    found
}

fn collect(value: &Value, found: &mut Vec<Listed>) {
    let mut left = VALUES;
    let mut waiting = vec![value];
    while let Some(value) = waiting.pop() {
        left = left.saturating_sub(1);
        if left == 0 {
            return;
        }
        match value {
            Value::Array(values) => waiting.extend(values.iter().rev()),
            Value::Object(fields) => {
                let is_list = has_type(value, &["ItemList"]) || !has_type(value, &["BreadcrumbList"]);
                for name in ["itemListElement", "blogPost", "blogPosts"] {
                    if let Some(items) = fields.get(name).filter(|_| is_list) {
                        found.extend(elements(items).filter_map(listed));
                    }
                }
                if has_type(value, &OFFERS) {
                    found.extend(listed(value));
                }
                waiting.extend(fields.values().filter(|value| value.is_object() || value.is_array()));
            }
            _ => {}
        }
    }
}

/// The values of a list, which may be a single one.
fn elements(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice).iter()
}

fn listed(element: &Value) -> Option<Listed> {
    if let Some(href) = element.as_str() {
        return Some(Listed { href: href.to_owned(), title: None, other: false });
    }
    let item = element.get("item").unwrap_or(element);
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let href = item
        .as_str()
        .map(str::to_owned)
        .or_else(|| ["url", "@id", "mainEntityOfPage"].iter().find_map(|name| text(item, name)))
        .or_else(|| text(element, "url"))?;
    let title =
        ["headline", "name"].iter().find_map(|name| text(item, name)).or_else(|| text(element, "name"));
    Some(Listed { href, title, other: is_other(item) })
}

fn is_other(item: &Value) -> bool {
    const ARTICLES: [&str; 14] = [
        "ListItem",
        "Article",
        "NewsArticle",
        "BlogPosting",
        "Report",
        "Recipe",
        "CreativeWork",
        "WebPage",
        "HowTo",
        "Review",
        "TechArticle",
        "ScholarlyArticle",
        "DiscussionForumPosting",
        "LiveBlogPosting",
    ];
    item.get("@type").is_some() && !has_type(item, &ARTICLES)
}

fn has_type(value: &Value, names: &[&str]) -> bool {
    let is = |kind: &Value| kind.as_str().is_some_and(|kind| names.contains(&kind));
    value.get("@type").is_some_and(|kind| elements(kind).any(is))
}
