//! Documents in the three formats.

use serde_json::{Map, Value, json};

use super::publisher::Item;

/// How a feed is written.
#[derive(Debug, Clone, Copy)]
pub(super) enum Format {
    Rss,
    Atom,
    Json,
}

impl Format {
    pub(super) const ALL: [Self; 3] = [Self::Rss, Self::Atom, Self::Json];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Rss => "rss",
            Self::Atom => "atom",
            Self::Json => "json",
        }
    }

    pub(super) fn document(self, items: &[Item]) -> String {
        match self {
            Self::Rss => {
                let items: String = items.iter().map(rss).collect();
                format!("<rss version='2.0'><channel><title>Feed</title>{items}</channel></rss>")
            }
            Self::Atom => {
                let entries: String = items.iter().map(atom).collect();
                format!("<feed xmlns='http://www.w3.org/2005/Atom'><title>Feed</title>{entries}</feed>")
            }
            Self::Json => {
                let items: Vec<Value> = items.iter().map(json).collect();
                json!({ "version": "https://jsonfeed.org/version/1.1", "title": "Feed", "items": items })
                    .to_string()
            }
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('\'', "&#39;")
}

fn tag(name: &str, text: Option<&str>) -> String {
    text.map(|text| format!("<{name}>{}</{name}>", escaped(text))).unwrap_or_default()
}

fn rss(item: &Item) -> String {
    let guid = item.guid.as_deref().map(|guid| format!("<guid isPermaLink='false'>{}</guid>", escaped(guid)));
    let date = item.date.map(|date| date.to_string());
    format!(
        "<item>{}{}{}{}{}</item>",
        guid.unwrap_or_default(),
        tag("link", item.link.as_deref()),
        tag("title", item.title.as_deref()),
        tag("description", item.html.as_deref()),
        tag("pubDate", date.as_deref()),
    )
}

fn atom(item: &Item) -> String {
    let link = item.link.as_deref().map(|link| format!("<link href='{}'/>", escaped(link)));
    let html = item.html.as_deref().map(|html| format!("<content type='html'>{}</content>", escaped(html)));
    let date = item.date.map(|date| date.to_string());
    format!(
        "<entry>{}{}{}{}{}</entry>",
        tag("id", item.guid.as_deref()),
        link.unwrap_or_default(),
        tag("title", item.title.as_deref()),
        html.unwrap_or_default(),
        tag("published", date.as_deref()),
    )
}

fn json(item: &Item) -> Value {
    let fields = [
        ("id", item.guid.clone()),
        ("url", item.link.clone()),
        ("title", item.title.clone()),
        ("content_html", item.html.clone()),
        ("date_published", item.date.map(|date| date.to_string())),
    ];
    let given = fields.into_iter().filter_map(|(name, text)| Some((name.to_owned(), Value::from(text?))));
    Value::Object(given.collect::<Map<_, _>>())
}
