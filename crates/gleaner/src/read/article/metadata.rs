//! Collects the metadata of a page in one walk over its tree.

use dom_query::{Document, Element, NodeData, NodeId, NodeRef};
use url::Url;

use super::absolute;
use super::class_meanings::is_outside_article;
use super::element_hints::ElementHints;
use super::linked_data::LinkedData;
use super::word_overlap::overlap;

/// Maximum length of lists: no real page has more that matters, and each entry costs time.
const MAX_ENTRIES: usize = 200;

/// Longer texts are not headings.
const MAX_HEADING_BYTES: usize = 1000;

/// Bytes of text after the first heading that may contain the date.
const AFTER_HEADING_BYTES: usize = 1500;

/// Bytes of text before it that may contain the date.
const BEFORE_HEADING_BYTES: usize = 200;

#[derive(Default)]
pub(super) struct PageMetadata {
    /// `<meta>` elements: lower-case names and contents.
    metas: Vec<(String, String)>,
    pub linked_data: LinkedData,
    /// `<title>`.
    pub title: String,
    /// `<h1>` elements.
    pub headings: Vec<String>,
    pub language: Option<String>,
    canonical: Option<String>,
    /// The base URL of relative links.
    pub base: Option<Url>,
    pub site_name: Option<String>,
    pub host: String,
    pub times: Vec<DateElement>,
    pub bylines: Vec<Byline>,
    /// The text after the first heading.
    pub after_heading: String,
    /// Elements marked as articles.
    pub articles: Vec<NodeId>,
    /// The text before the first heading.
    before_heading: String,
    /// Whether a heading was found.
    has_heading: bool,
}

/// A `<time>`, or another element that displays a date.
pub(super) struct DateElement {
    pub text: String,
    pub rank: u8,
}

/// An element that may contain the author's name.
pub(super) struct Byline {
    pub text: String,
    pub rank: u8,
}

impl PageMetadata {
    pub(super) fn collect(document: &Document, url: &Url) -> Self {
        let mut metadata = Self { host: url.host_str().unwrap_or_default().to_owned(), ..Self::default() };
        let (mut scripts, mut headings) = (Vec::new(), 0);
        for node in document.root().descendants_it() {
            if node.is_text() {
                metadata.text(&node);
                continue;
            }
            let Some(element) = node.element_ref() else { continue };
            match element.name.local.as_ref() {
                "html" => metadata.language = attribute(&element, "lang").and_then(language),
                "base" => {
                    metadata.base =
                        metadata.base.take().or_else(|| absolute(attribute(&element, "href")?, url))
                }
                "meta" => metadata.meta(&element),
                "link" => metadata.link(&element),
                "title" if metadata.title.is_empty() => metadata.title = collapse(&node.text()),
                "script" => scripts.push(node.text()),
                name @ ("h1" | "h2" | "h3") if headings < MAX_ENTRIES => {
                    headings += 1;
                    metadata.heading(&node, name == "h1");
                }
                _ => metadata.check_element(&node, &element),
            }
        }
        metadata.base.get_or_insert_with(|| url.clone());
        metadata.linked_data = LinkedData::read(scripts.iter().map(|script| &**script));
        metadata.site_name =
            metadata.first_meta(&["og:site_name", "application-name", "al:android:app_name"]);
        if metadata.site_name.is_none() {
            metadata.site_name = metadata.linked_data.site_name();
        }
        metadata
    }

    /// Text is collected from the first heading on, and again from a heading that matches the page's title.
    fn heading(&mut self, node: &NodeRef<'_>, first_rank: bool) {
        let text = collapse(&node.text());
        if text.is_empty() || text.len() > MAX_HEADING_BYTES {
            return;
        }
        if (first_rank && !self.has_heading)
            || overlap(&text, &self.title) > 0.7 && overlap(&self.title, &text) > 0.4
        {
            self.has_heading = true;
            self.before_heading.push_str(&std::mem::take(&mut self.after_heading));
        }
        if first_rank {
            self.headings.push(text);
        }
    }

    /// Collects the text after the heading, and the end of the text before it.
    fn text(&mut self, node: &NodeRef<'_>) {
        if self.has_heading && self.after_heading.len() >= AFTER_HEADING_BYTES {
            return;
        }
        let after_heading = if self.has_heading { &mut self.after_heading } else { &mut self.before_heading };
        node.query(|node| {
            let NodeData::Text { contents } = &node.data else { return };
            let text = contents.trim();
            if text.is_empty() {
                return;
            }
            if after_heading.len() >= 2 * AFTER_HEADING_BYTES {
                after_heading
                    .drain(..after_heading.floor_char_boundary(after_heading.len() - AFTER_HEADING_BYTES));
            }
            after_heading
                .push_str(text.get(..text.floor_char_boundary(AFTER_HEADING_BYTES)).unwrap_or_default());
            after_heading.push('\n');
        });
    }

    /// The text directly before the heading.
    pub(super) fn before_heading(&self) -> &str {
        let from = self
            .before_heading
            .floor_char_boundary(self.before_heading.len().saturating_sub(BEFORE_HEADING_BYTES));
        self.before_heading.get(from..).unwrap_or_default()
    }

    fn meta(&mut self, element: &Element) {
        let name = ["property", "name", "itemprop"].iter().find_map(|name| attribute(element, name));
        if let (Some(name), Some(content)) = (name, attribute(element, "content"))
            && self.metas.len() < MAX_ENTRIES
            && !content.trim().is_empty()
        {
            self.metas.push((name.trim().to_ascii_lowercase(), collapse(&unescape_again(content))));
        }
    }

    fn link(&mut self, element: &Element) {
        if self.canonical.is_none()
            && attribute(element, "rel").is_some_and(|rel| rel.eq_ignore_ascii_case("canonical"))
        {
            self.canonical = attribute(element, "href").map(str::to_owned);
        }
    }

    /// Checks an element of the body: it may be the article, or display its date or author.
    fn check_element(&mut self, node: &NodeRef<'_>, element: &Element) {
        let hints = ElementHints::from_element(element);
        if (&*element.name.local == "article" || hints.property == "articleBody")
            && self.articles.len() < MAX_ENTRIES
        {
            self.articles.push(node.id);
        }
        let (byline, time) = (hints.byline_rank(), hints.time_rank());
        if byline.is_none() && time.is_none() || is_outside_article(node) {
            return;
        }
        if let Some(rank) = byline.filter(|_| self.bylines.len() < MAX_ENTRIES) {
            let text = text_lines(node);
            if !text.is_empty() && text.len() < 300 {
                self.bylines.push(Byline { text, rank });
            }
        }
        if let Some(rank) = time.filter(|_| self.times.len() < MAX_ENTRIES) {
            let stated = attribute(element, "datetime").or_else(|| attribute(element, "content"));
            let text = stated.map_or_else(|| text_lines(node).replace('\n', " "), collapse);
            if !text.is_empty() && text.len() < 200 {
                self.times.push(DateElement { text, rank });
            }
        }
    }

    /// The first non-blank value of the first of these names that has one.
    pub(super) fn first_meta(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|wanted| self.metas_named(wanted).next().map(str::to_owned))
    }

    pub(super) fn metas_named<'a>(&'a self, wanted: &'a str) -> impl Iterator<Item = &'a str> {
        self.metas.iter().filter(move |(name, _)| name == wanted).map(|(_, content)| content.as_str())
    }

    /// The contents of `<meta>` elements whose name contains `part`.
    pub(super) fn metas_containing<'a>(&'a self, part: &'a str) -> impl Iterator<Item = &'a str> {
        self.metas.iter().filter(move |(name, _)| name.contains(part)).map(|(_, content)| content.as_str())
    }

    pub(super) fn canonical(&self) -> Option<String> {
        let stated = self.canonical.clone().or_else(|| self.first_meta(&["og:url"]))?;
        absolute(&stated, self.base.as_ref()?).map(String::from)
    }

    pub(super) fn image(&self) -> Option<String> {
        let names = ["og:image:secure_url", "og:image", "og:image:url", "twitter:image", "twitter:image:src"];
        let stated = self.first_meta(&names).or_else(|| self.linked_data.image())?;
        absolute(&stated, self.base.as_ref()?).map(String::from)
    }
}

pub(super) fn attribute<'a>(element: &'a Element, name: &str) -> Option<&'a str> {
    element.attrs.iter().find(|attribute| &*attribute.name.local == name).map(|attribute| &*attribute.value)
}

/// Collapses white space.
pub(super) fn collapse(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// The text of an element, one line per text node: names and dates are often adjacent without a space.
fn text_lines(node: &NodeRef<'_>) -> String {
    let mut out = String::new();
    for text in node.descendants_it().filter(NodeRef::is_text) {
        let text = collapse(&text.text());
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

/// Decodes references again, since some sites escape twice.
fn unescape_again(text: &str) -> String {
    htmlize::unescape(text).into_owned()
}

/// A language tag, if it looks like one.
fn language(tag: &str) -> Option<String> {
    let tag = tag.trim();
    let valid = tag.len() <= 35
        && tag.split(['-', '_']).next().is_some_and(|first| matches!(first.len(), 2 | 3))
        && tag.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    valid.then(|| tag.replace('_', "-"))
}
