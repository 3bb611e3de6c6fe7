//! A page as a tree of elements, for whoever asks what encloses what.
//!
//! A browser's parser takes time that grows with the square of a page's depth, and so does most of what is done
//! with its tree. So the page is sifted first, in one pass over its bytes: what is nested too deeply, or there too
//! often, is left out, as is what nobody reads here anyway.
//! Absent on purpose: scripts, styles, comments, drawings, frames, templates and lists to choose from. Of scripts,
//! those that hold linked data stay.

mod nesting;
mod sift;

use std::ops::ControlFlow;

use dom_query::Document;
use html5ever::driver::Parser;
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{ParseOpts, parse_document};

/// So much is given to the parser before the tree is looked at.
const PIECE: usize = 8 << 10;

/// A tree deeper than that has outwitted the sift, and is read no further. Parsers repair nesting by adding
/// elements, so this is more than the sift lets pass.
const TOO_DEEP: usize = 4 * nesting::DEEPEST;

/// The same for elements and texts together.
const TOO_MANY: usize = 3 * sift::MOST_ELEMENTS;

/// The tree of a page, in time proportional to the page's length.
pub fn parse(html: &str) -> Document {
    let tree_builder = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
    let parser = parse_document(Document::default(), ParseOpts { tree_builder, ..ParseOpts::default() });
    let mut growing = Growing { parser, unseen: 0 };
    // The sift leaves out declarations. Without this one, a parser follows the rules of the last century.
    growing.parser.process(StrTendril::from_slice("<!DOCTYPE html>"));
    let _ = sift::sift(html, |kept| growing.feed(kept));
    growing.parser.finish()
}

/// A tree that is being built.
struct Growing {
    parser: Parser<Document>,
    /// Bytes parsed since the tree was looked at.
    unseen: usize,
}

impl Growing {
    fn feed(&mut self, mut text: &str) -> ControlFlow<()> {
        while !text.is_empty() {
            let (piece, rest) = text.split_at(text.floor_char_boundary(PIECE));
            self.parser.process(StrTendril::from_slice(piece));
            self.unseen += piece.len();
            if self.unseen >= PIECE {
                self.unseen = 0;
                let document = &self.parser.tokenizer.sink.sink;
                if document.tree.len() > TOO_MANY || depth(document) > TOO_DEEP {
                    return ControlFlow::Break(());
                }
            }
            text = rest;
        }
        ControlFlow::Continue(())
    }
}

/// How deep the tree is where it ends.
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
