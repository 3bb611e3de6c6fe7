//! Builds the tree of a page.
//!
//! A browser's parser takes time quadratic in a page's depth, and so do most operations on its tree. So the page is
//! pruned first, in one pass over its bytes: elements that are nested too deeply or too numerous are removed, as is
//! what is never read here: scripts (except JSON-LD), styles, comments, SVGs, frames, templates and selects.

mod nesting;
mod prune;

use std::ops::ControlFlow;

use dom_query::Document;
use html5ever::driver::Parser;
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{ParseOpts, parse_document};

/// Bytes given to the parser before the tree is checked.
const CHUNK_BYTES: usize = 8 << 10;

/// A deeper tree was not pruned enough, and parsing stops. Parsers repair nesting by adding elements, so this is
/// more than the pruning allows.
const MAX_DEPTH: usize = 4 * nesting::MAX_DEPTH;

/// The same for the number of nodes.
const MAX_NODES: usize = 3 * prune::MAX_ELEMENTS;

/// The tree of a page, in time linear in the page's length.
pub fn parse(html: &str) -> Document {
    let tree_builder = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
    let parser = parse_document(Document::default(), ParseOpts { tree_builder, ..ParseOpts::default() });
    let mut builder = TreeBuilder { parser, unchecked: 0 };
    // Pruning removes declarations. Without this one, the parser would use quirks mode.
    builder.parser.process(StrTendril::from_slice("<!DOCTYPE html>"));
    let _ = prune::prune(html, |kept| builder.feed(kept));
    builder.parser.finish()
}

struct TreeBuilder {
    parser: Parser<Document>,
    /// Bytes parsed since the tree was last checked.
    unchecked: usize,
}

impl TreeBuilder {
    fn feed(&mut self, mut text: &str) -> ControlFlow<()> {
        while !text.is_empty() {
            let (piece, rest) = text.split_at(text.floor_char_boundary(CHUNK_BYTES));
            self.parser.process(StrTendril::from_slice(piece));
            self.unchecked += piece.len();
            if self.unchecked >= CHUNK_BYTES {
                self.unchecked = 0;
                let document = &self.parser.tokenizer.sink.sink;
                if document.tree.len() > MAX_NODES || depth(document) > MAX_DEPTH {
                    return ControlFlow::Break(());
                }
            }
            text = rest;
        }
        ControlFlow::Continue(())
    }
}

/// The depth of the tree at its end.
fn depth(document: &Document) -> usize {
    let mut depth = 0;
    let mut last = document.tree.root().last_child();
    while let Some(node) = last {
        depth += 1;
        last = node.last_child();
    }
    depth
}

#[cfg(test)]
mod tests;
