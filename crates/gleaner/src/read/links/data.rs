//! The lists in a page's JSON-LD: `ItemList`, `Blog` and similar.
//!
//! If the page has links, such a list is one piece of evidence among others, since it is often incomplete or lists
//! something else; if the links are created by scripts, it is all there is. Microdata and RDFa are not read.

use serde_json::Value;

/// Longer scripts are skipped.
const MAX_SCRIPT_BYTES: usize = 2 << 20;

/// Maximum number of values that are visited.
const MAX_VALUES: usize = 200_000;

/// Types that are never articles.
const OFFERS: [&str; 5] =
    ["Product", "JobPosting", "LocalBusiness", "RealEstateListing", "SoftwareApplication"];

/// An item of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListedItem {
    pub href: String,
    pub title: Option<String>,
    /// Whether its type says that it is not an article.
    pub is_other_type: bool,
}

/// The items of all lists, in order.
pub(super) fn lists(data: &[&str]) -> Vec<ListedItem> {
    let mut found = Vec::new();
    for text in data.iter().filter(|text| text.len() <= MAX_SCRIPT_BYTES) {
        if let Ok(value) = serde_json::from_str::<Value>(text.trim()) {
            collect(&value, &mut found);
        }
    }
    found
}

fn collect(value: &Value, found: &mut Vec<ListedItem>) {
    let mut left = MAX_VALUES;
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

/// The elements of a list, which may be a single value.
fn elements(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice).iter()
}

fn listed(element: &Value) -> Option<ListedItem> {
    if let Some(href) = element.as_str() {
        return Some(ListedItem { href: href.to_owned(), title: None, is_other_type: false });
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
    Some(ListedItem { href, title, is_other_type: has_other_type(item) })
}

fn has_other_type(item: &Value) -> bool {
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
