//! The JSON-LD (schema.org) metadata of a page.

use serde_json::Value;

use super::metadata::collapse;

/// Longer scripts are skipped.
const MAX_SCRIPT_BYTES: usize = 1 << 20;

/// Maximum number of objects that are collected.
const MAX_OBJECTS: usize = 2000;

/// The objects of all scripts, flattened.
#[derive(Default)]
pub(super) struct LinkedData {
    objects: Vec<Value>,
    /// The publication date found in a script that is not valid JSON.
    date_in_invalid_json: Option<String>,
}

impl LinkedData {
    pub(super) fn read<'a>(scripts: impl Iterator<Item = &'a str>) -> Self {
        let (mut objects, mut date_in_invalid_json) = (Vec::new(), None);
        for script in scripts.filter(|script| script.len() <= MAX_SCRIPT_BYTES) {
            match parse(script) {
                Some(value) => flatten(value, &mut objects),
                None => {
                    date_in_invalid_json =
                        date_in_invalid_json.or_else(|| string_after(script, "\"datePublished\""))
                }
            }
        }
        Self { objects, date_in_invalid_json }
    }

    /// The article, or else the page.
    fn article(&self) -> Option<&Value> {
        let of = |kinds: &[&str]| self.objects.iter().find(|object| is_a(object, kinds));
        of(&["Article", "Posting", "Report", "Review", "Recipe", "HowTo"]).or_else(|| of(&["WebPage"]))
    }

    fn text(&self, key: &str) -> Option<String> {
        let text = collapse(&htmlize::unescape(self.article()?.get(key)?.as_str()?));
        (!text.is_empty()).then_some(text)
    }

    pub(super) fn headline(&self) -> Option<String> {
        let article = self.article()?;
        if is_a(article, &["WebPage"]) {
            return None;
        }
        self.text("headline").or_else(|| self.text("name"))
    }

    pub(super) fn published(&self) -> Option<String> {
        let of = |key: &str| {
            let dated = self.objects.iter().filter(|object| object.get(key).is_some_and(Value::is_string));
            let mut dated = dated.collect::<Vec<_>>();
            dated.sort_by_key(|object| !is_a(object, &["Article", "Posting", "Report", "Review"]));
            dated.first().and_then(|object| object.get(key)?.as_str().map(str::to_owned))
        };
        of("datePublished")
            .or_else(|| self.date_in_invalid_json.clone())
            .or_else(|| of("uploadDate"))
            .or_else(|| of("dateCreated"))
    }

    pub(super) fn authors(&self) -> Vec<String> {
        let mut names = Vec::new();
        if let Some(author) = self.article().and_then(|article| article.get("author")) {
            self.add_names(author, &mut names, 0);
        }
        names
    }

    fn add_names(&self, author: &Value, names: &mut Vec<String>, depth: usize) {
        match author {
            Value::String(name) => names.push(collapse(&htmlize::unescape(name.as_str()))),
            Value::Array(list) => list.iter().take(10).for_each(|one| self.add_names(one, names, depth)),
            Value::Object(object) => match (object.get("name"), object.get("@id").and_then(Value::as_str)) {
                (Some(name), _) if depth < 3 => self.add_names(name, names, depth + 1),
                (None, Some(id)) if depth < 3 => {
                    let named = |one: &&Value| one.get("@id").and_then(Value::as_str) == Some(id);
                    let found = self.objects.iter().filter(named).find_map(|one| one.get("name"));
                    found.into_iter().for_each(|name| self.add_names(name, names, depth + 1));
                }
                _ => {}
            },
            _ => {}
        }
    }

    pub(super) fn image(&self) -> Option<String> {
        let image = self.article()?.get("image")?;
        let image = image.get(0).unwrap_or(image);
        image.as_str().or_else(|| image.get("url")?.as_str()).map(str::to_owned)
    }

    pub(super) fn site_name(&self) -> Option<String> {
        let site =
            self.objects.iter().find(|object| is_a(object, &["WebSite"])).and_then(|site| site.get("name"));
        let publisher = || self.article()?.get("publisher")?.get("name");
        let name = collapse(site.or_else(publisher)?.as_str()?);
        (!name.is_empty()).then_some(name)
    }
}

/// Whether its type is or ends with one of these.
fn is_a(object: &Value, kinds: &[&str]) -> bool {
    let is =
        |kind: &Value| kind.as_str().is_some_and(|kind| kinds.iter().any(|wanted| kind.ends_with(wanted)));
    match object.get("@type") {
        Some(Value::Array(all)) => all.iter().any(is),
        Some(kind) => is(kind),
        None => false,
    }
}

/// The string value of a key, found by text search.
fn string_after(script: &str, key: &str) -> Option<String> {
    let rest = script.get(script.find(key)? + key.len()..)?;
    let value = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    value.split('"').next().map(str::to_owned)
}

fn parse(script: &str) -> Option<Value> {
    let mut text = script.trim();
    for (before, after) in
        [("<!--", "-->"), ("//<![CDATA[", "//]]>"), ("<![CDATA[", "]]>"), ("/*<![CDATA[*/", "/*]]>*/")]
    {
        text = text.strip_prefix(before).unwrap_or(text);
        text = text.strip_suffix(after).unwrap_or(text).trim();
    }
    let text = text.trim_end_matches(';');
    // Line breaks inside strings are the most common error.
    serde_json::from_str(text).or_else(|_| serde_json::from_str(&text.replace(['\n', '\r', '\t'], " "))).ok()
}

/// Flattens lists and graphs to single objects, including nested ones.
fn flatten(value: Value, objects: &mut Vec<Value>) {
    if objects.len() >= MAX_OBJECTS {
        return;
    }
    match value {
        Value::Array(list) => list.into_iter().for_each(|one| flatten(one, objects)),
        Value::Object(mut object) => {
            for key in ["@graph", "mainEntity", "mainEntityOfPage", "hasPart"] {
                if object.get(key).is_some_and(|inner| inner.is_object() || inner.is_array())
                    && let Some(inner) = object.remove(key)
                {
                    flatten(inner, objects);
                }
            }
            objects.push(Value::Object(object));
        }
        _ => {}
    }
}
