//! Reads a page whose content changes: its current content is the document's only entry.
//!
//! The content is the page's `<article>` elements, or if there are none, the block with most text. Menus, footers
//! and asides are ignored, because they change without new content.

use std::collections::HashMap;

use dom_query::{Document as Tree, NodeId, NodeRef};
use gleaner_core::classify::Fault;
use gleaner_core::post::{Entry, content_hash};

use super::selector::{Selector, SelectorError};
use super::text::plain_text;
use super::{Document, Page, ReadOptions, page_summary, tree};

/// Reads a page without the parts that `ignore_selector` matches.
pub fn read(page: &Page<'_>, rules: &ReadOptions<'_>) -> Result<Document, Fault> {
    let html = page.html()?;
    if let Some(wall) = page_summary::bot_wall(page) {
        return Err(Fault::Unreadable(wall.message("page")));
    }
    let tree = tree::parse(&html);
    if let Some(selector) = rules.ignore_selector {
        let unreadable = |error: SelectorError| Fault::Unreadable(error.to_string());
        let ignored = Selector::parse(selector).and_then(|selector| selector.matches(&tree));
        ignored.map_err(unreadable)?.iter().for_each(NodeRef::remove_from_parent);
    }
    let html = content(&tree);
    let body = plain_text(&html);
    if body.is_empty() {
        return Err(Fault::Unreadable("the page has no text; it may be rendered by a script".to_owned()));
    }
    let title = title(&tree);
    let url = page.url.to_string();
    let entry = Entry {
        guid: Some(content_hash(title.as_deref(), Some(&url), &body).to_hex()),
        url: Some(url),
        title: title.clone(),
        raw_content: Some(html),
        author: author(&tree),
        published_at: None,
        shares_url: true,
    };
    Ok(Document { title, entries: vec![entry], ..Document::default() })
}

/// The HTML of the page's content.
fn content(tree: &Tree) -> String {
    let articles = tree.select("article");
    let outermost = articles
        .nodes()
        .iter()
        .filter(|node| !node.ancestors_it(None).any(|above| has_any_name(&above, &["article"])));
    let html: String =
        outermost.filter(|node| !is_outside_content(node)).map(|node| node.html().to_string()).collect();
    if !plain_text(&html).is_empty() {
        return html;
    }
    largest_block(tree).map(|node| node.html().to_string()).unwrap_or_default()
}

/// Block elements; text belongs to the nearest.
const BLOCKS: [&str; 7] = ["body", "main", "section", "div", "td", "center", "fieldset"];

/// Elements around the content.
const OUTSIDE_CONTENT: [&str; 6] = ["nav", "header", "footer", "aside", "form", "dialog"];

/// The block with the most text that is not in a nested block.
fn largest_block(tree: &Tree) -> Option<NodeRef<'_>> {
    let mut text_bytes: HashMap<NodeId, (usize, usize)> = HashMap::new();
    for (place, node) in tree.root().descendants_it().enumerate().filter(|(_, node)| node.is_text()) {
        let length = node.text().split_whitespace().map(str::len).sum::<usize>();
        let block = node.ancestors_it(None).find(|above| has_any_name(above, &BLOCKS));
        if let Some(block) =
            block.filter(|block| length > 0 && !is_outside_content(block) && !is_outside_content(&node))
        {
            text_bytes.entry(block.id).or_insert((0, usize::MAX - place)).0 += length;
        }
    }
    // Of equal blocks, the first.
    let (id, _) = text_bytes.into_iter().max_by_key(|(_, weight)| *weight)?;
    Some(NodeRef::new(id, &tree.tree))
}

fn is_outside_content(node: &NodeRef<'_>) -> bool {
    node.ancestors_it(None).any(|above| has_any_name(&above, &OUTSIDE_CONTENT))
}

fn has_any_name(node: &NodeRef<'_>, names: &[&str]) -> bool {
    node.node_name().is_some_and(|name| names.contains(&&*name))
}

fn title(tree: &Tree) -> Option<String> {
    let text = |selector| Some(plain_text(&tree.select_single(selector).html())).filter(|it| !it.is_empty());
    text("title").or_else(|| text("h1"))
}

/// `<meta name="author">`, or else `<meta property="article:author">`: the first that is not blank.
fn author(tree: &Tree) -> Option<String> {
    let metas = ["meta[name='author' i]", "meta[property='article:author' i]"];
    metas.into_iter().find_map(|selector| {
        let metas = tree.select(selector);
        let mut names = metas.nodes().iter().filter_map(|meta| meta.attr("content"));
        names.find_map(|name| Some(name.trim().to_owned()).filter(|name| !name.is_empty()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(html: &str, ignore_selector: Option<&str>) -> Entry {
        let url = url::Url::parse("https://a.example/page").unwrap();
        let page = Page { url: &url, content_type: b"text/html; charset=utf-8", body: html.as_bytes() };
        let rules = ReadOptions { ignore_selector, ..ReadOptions::default() };
        read(&page, &rules).unwrap().entries.remove(0)
    }

    fn text(html: &str) -> String {
        plain_text(entry(html, None).raw_content.as_deref().unwrap())
    }

    #[test]
    fn articles_are_the_content() {
        assert_eq!(text("<nav>menu</nav><article><p>one</p></article><footer>end</footer>"), "one");
        assert_eq!(
            text("<article>one<article>within</article></article><article>two</article>"),
            "one within two"
        );
        assert_eq!(text("<aside><article>ad</article></aside><article>one</article>"), "one");
    }

    #[test]
    fn otherwise_the_largest_block_is_the_content() {
        let page = "<div id=a>short</div><div><div id=b><p>much more text</p><ul><li>and a list</ul></div></div>\
             <footer><div>a footer that goes on for much longer than anything else on the page does</div></footer>";
        assert_eq!(text(page), "much more text and a list");
        assert_eq!(text("<article> </article><div>some text</div>"), "some text");
        assert_eq!(text("just text"), "just text");
    }

    #[test]
    fn title_and_author_come_from_the_head() {
        let check = |head: &str, title: Option<&str>, author: Option<&str>| {
            let entry = entry(&format!("<head>{head}</head><p>text"), None);
            assert_eq!((entry.title.as_deref(), entry.author.as_deref()), (title, author), "{head}");
        };
        check("<title> A &amp; B </title>", Some("A & B"), None);
        check("<meta name=author content=' '><meta name=Author content='Ada '>", None, Some("Ada"));
        check("<meta property=article:author content=Bo><meta name=author content=Ada>", None, Some("Ada"));
        check("<meta property=article:author content=Bo>", None, Some("Bo"));
    }

    #[test]
    fn ignored_parts_do_not_change_the_guid() {
        let page = |visits: u32| format!("<p>text</p><p class=counter>{visits} visits</p>");
        let guid = |visits, selector| entry(&page(visits), selector).guid;
        assert_ne!(guid(1, None), guid(2, None));
        assert_eq!(guid(1, Some(".counter")), guid(2, Some(".counter")));
    }

    #[test]
    fn a_page_without_text_cannot_be_read() {
        let url = url::Url::parse("https://a.example/").unwrap();
        let read = |content_type: &[u8], body: &str| {
            let page = Page { url: &url, content_type, body: body.as_bytes() };
            super::read(&page, &ReadOptions::default()).unwrap_err().to_string()
        };
        assert!(read(b"text/html", "<div id=app></div><script>x()</script>").contains("no text"));
        assert!(read(b"application/pdf", "%PDF").contains("application/pdf"));
    }
}
