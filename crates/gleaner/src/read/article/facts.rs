//! What a page says about itself, gathered in one walk over its tree.

use dom_query::{Document, Element, NodeData, NodeId, NodeRef};
use url::Url;

use super::absolute;
use super::linked_data::LinkedData;
use super::marks::Marks;
use super::names::is_aside;
use super::wording::overlap;

/// Lists are cut to this: no honest page has more that matters, and each entry costs time.
const MOST: usize = 200;

/// What is longer is no heading.
const LONGEST_HEADING: usize = 1000;

/// So many bytes of text behind the first heading may hold the date.
const NEAR: usize = 1500;

/// So many bytes of text before it may, too.
const BEFORE: usize = 200;

/// What a page says about itself.
#[derive(Default)]
pub(super) struct Facts {
    /// `<meta>`: names in lower case, and what they say.
    metas: Vec<(String, String)>,
    pub linked_data: LinkedData,
    /// `<title>`.
    pub title: String,
    /// `<h1>`s.
    pub headings: Vec<String>,
    pub language: Option<String>,
    canonical: Option<String>,
    /// What relative addresses are relative to.
    pub base: Option<Url>,
    pub site_name: Option<String>,
    pub host: String,
    pub times: Vec<Moment>,
    pub bylines: Vec<Byline>,
    /// The text that follows the first heading.
    pub near: String,
    /// What the page marks as an article.
    pub articles: Vec<NodeId>,
    /// The text before the first heading.
    before: String,
    /// Whether there was a heading.
    anchored: bool,
}

/// A `<time>`, or another element that is there to show a date.
pub(super) struct Moment {
    pub text: String,
    pub rank: u8,
}

/// An element that may name the author.
pub(super) struct Byline {
    pub text: String,
    pub rank: u8,
}

impl Facts {
    pub(super) fn of(document: &Document, url: &Url) -> Self {
        let mut facts = Self { host: url.host_str().unwrap_or_default().to_owned(), ..Self::default() };
        let (mut scripts, mut headings) = (Vec::new(), 0);
        for node in document.root().descendants_it() {
            if node.is_text() {
                facts.text(&node);
                continue;
            }
            let Some(element) = node.element_ref() else { continue };
            match element.name.local.as_ref() {
                "html" => facts.language = attribute(&element, "lang").and_then(language),
                "base" => {
                    facts.base = facts.base.take().or_else(|| absolute(attribute(&element, "href")?, url))
                }
                "meta" => facts.meta(&element),
                "link" => facts.link(&element),
                "title" if facts.title.is_empty() => facts.title = folded(&node.text()),
                "script" => scripts.push(node.text()),
                name @ ("h1" | "h2" | "h3") if headings < MOST => {
                    headings += 1;
                    facts.heading(&node, name == "h1");
                }
                _ => facts.seen(&node, &element),
            }
        }
        facts.base.get_or_insert_with(|| url.clone());
        facts.linked_data = LinkedData::read(scripts.iter().map(|script| &**script));
        facts.site_name = facts.meta_of(&["og:site_name", "application-name", "al:android:app_name"]);
        if facts.site_name.is_none() {
            facts.site_name = facts.linked_data.site_name();
        }
        facts
    }

    /// Text is kept from the first heading on, and again from one that is the page's title.
    fn heading(&mut self, node: &NodeRef<'_>, first_rank: bool) {
        let text = folded(&node.text());
        if text.is_empty() || text.len() > LONGEST_HEADING {
            return;
        }
        if (first_rank && !self.anchored)
            || overlap(&text, &self.title) > 0.7 && overlap(&self.title, &text) > 0.4
        {
            self.anchored = true;
            self.before.push_str(&std::mem::take(&mut self.near));
        }
        if first_rank {
            self.headings.push(text);
        }
    }

    /// Keeps text behind the heading, and the last of what is before.
    fn text(&mut self, node: &NodeRef<'_>) {
        if self.anchored && self.near.len() >= NEAR {
            return;
        }
        let near = if self.anchored { &mut self.near } else { &mut self.before };
        node.query(|node| {
            let NodeData::Text { contents } = &node.data else { return };
            let text = contents.trim();
            if text.is_empty() {
                return;
            }
            if near.len() >= 2 * NEAR {
                near.drain(..near.floor_char_boundary(near.len() - NEAR));
            }
            near.push_str(text.get(..text.floor_char_boundary(NEAR)).unwrap_or_default());
            near.push('\n');
        });
    }

    /// The text right before the heading.
    pub(super) fn before(&self) -> &str {
        let from = self.before.floor_char_boundary(self.before.len().saturating_sub(BEFORE));
        self.before.get(from..).unwrap_or_default()
    }

    fn meta(&mut self, element: &Element) {
        let name = ["property", "name", "itemprop"].iter().find_map(|name| attribute(element, name));
        if let (Some(name), Some(content)) = (name, attribute(element, "content"))
            && self.metas.len() < MOST
            && !content.trim().is_empty()
        {
            self.metas.push((name.trim().to_ascii_lowercase(), folded(&unescaped(content))));
        }
    }

    fn link(&mut self, element: &Element) {
        if self.canonical.is_none()
            && attribute(element, "rel").is_some_and(|rel| rel.eq_ignore_ascii_case("canonical"))
        {
            self.canonical = attribute(element, "href").map(str::to_owned);
        }
    }

    /// An element of the body: it may be the article, or show its date or author.
    fn seen(&mut self, node: &NodeRef<'_>, element: &Element) {
        let marks = Marks::of(element);
        if (&*element.name.local == "article" || marks.property == "articleBody")
            && self.articles.len() < MOST
        {
            self.articles.push(node.id);
        }
        let (byline, time) = (marks.byline_rank(), marks.time_rank());
        if byline.is_none() && time.is_none() || is_aside(node) {
            return;
        }
        if let Some(rank) = byline.filter(|_| self.bylines.len() < MOST) {
            let text = folded_lines(node);
            if !text.is_empty() && text.len() < 300 {
                self.bylines.push(Byline { text, rank });
            }
        }
        if let Some(rank) = time.filter(|_| self.times.len() < MOST) {
            let stated = attribute(element, "datetime").or_else(|| attribute(element, "content"));
            let text = stated.map_or_else(|| folded_lines(node).replace('\n', " "), folded);
            if !text.is_empty() && text.len() < 200 {
                self.times.push(Moment { text, rank });
            }
        }
    }

    /// The first non-blank value of the first of these names that has one.
    pub(super) fn meta_of(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|wanted| self.metas_of(wanted).next().map(str::to_owned))
    }

    pub(super) fn metas_of<'a>(&'a self, wanted: &'a str) -> impl Iterator<Item = &'a str> {
        self.metas.iter().filter(move |(name, _)| name == wanted).map(|(_, content)| content.as_str())
    }

    /// What `<meta>`s say whose name holds this.
    pub(super) fn metas_like<'a>(&'a self, part: &'a str) -> impl Iterator<Item = &'a str> {
        self.metas.iter().filter(move |(name, _)| name.contains(part)).map(|(_, content)| content.as_str())
    }

    /// The address that the page gives itself.
    pub(super) fn canonical(&self) -> Option<String> {
        let stated = self.canonical.clone().or_else(|| self.meta_of(&["og:url"]))?;
        absolute(&stated, self.base.as_ref()?).map(String::from)
    }

    /// The lead image.
    pub(super) fn image(&self) -> Option<String> {
        let names = ["og:image:secure_url", "og:image", "og:image:url", "twitter:image", "twitter:image:src"];
        let stated = self.meta_of(&names).or_else(|| self.linked_data.image())?;
        absolute(&stated, self.base.as_ref()?).map(String::from)
    }
}

/// An attribute's value.
pub(super) fn attribute<'a>(element: &'a Element, name: &str) -> Option<&'a str> {
    element.attrs.iter().find(|attribute| &*attribute.name.local == name).map(|attribute| &*attribute.value)
}

/// Text with single spaces.
pub(super) fn folded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// The text of an element, its texts set apart: names and dates often stand in neighbours without a space between.
fn folded_lines(node: &NodeRef<'_>) -> String {
    let mut out = String::new();
    for text in node.descendants_it().filter(NodeRef::is_text) {
        let text = folded(&text.text());
        if !text.is_empty() {
            if !out.is_empty() {
                out.push('\n');
            }
            out.push_str(&text);
        }
        if out.len() > 400 {
            break;
        }
    }
    out
}

/// Some sites escape twice.
fn unescaped(text: &str) -> String {
    htmlize::unescape(text).into_owned()
}

/// A language tag, if it looks like one.
fn language(tag: &str) -> Option<String> {
    let tag = tag.trim();
    let sound = tag.len() <= 35
        && tag.split(['-', '_']).next().is_some_and(|first| matches!(first.len(), 2 | 3))
        && tag.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    sound.then(|| tag.replace('_', "-"))
}
