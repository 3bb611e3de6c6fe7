//! A text and how it is to be read.

use super::Str;
use crate::html;

/// A text of a feed: a title, a summary.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Text {
    /// The text as the feed has it, the XML's own escapes undone. HTML is neither cleaned nor rewritten.
    pub value: Str,
    /// What the value is written in.
    pub kind: TextKind,
}

impl Text {
    /// The text without markup: tags gone, references decoded, white space collapsed.
    pub fn plain(&self) -> String {
        match self.kind {
            TextKind::Plain => html::collapse(&self.value),
            TextKind::Html | TextKind::Xhtml => html::to_plain(&self.value),
        }
    }

    /// Whether there is nothing but white space.
    pub fn is_blank(&self) -> bool {
        self.value.trim().is_empty()
    }
}

/// What a text is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TextKind {
    /// Plain text: a `<` is a `<`.
    #[default]
    Plain,
    /// HTML, well-formed or not.
    Html,
    /// HTML that stood in the document as markup.
    Xhtml,
}
