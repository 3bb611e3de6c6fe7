//! Texts with their type.

use super::Str;
use crate::html;

/// A text of a feed: a title, a summary.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Text {
    /// The text as the feed has it, with XML escapes decoded. HTML is neither sanitised nor rewritten.
    pub value: Str,
    /// The type of the value.
    pub kind: TextKind,
}

impl Text {
    /// Converts to plain text: tags removed, references decoded, white space collapsed.
    pub fn plain(&self) -> String {
        match self.kind {
            TextKind::Plain => html::collapse(&self.value),
            TextKind::Html | TextKind::Xhtml => html::to_plain(&self.value),
        }
    }

    /// Whether there is only white space.
    pub fn is_blank(&self) -> bool {
        self.value.trim().is_empty()
    }
}

/// The type of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TextKind {
    /// Plain text: a `<` is literal.
    #[default]
    Plain,
    /// HTML, well-formed or not.
    Html,
    /// HTML that was inline markup in the document.
    Xhtml,
}
