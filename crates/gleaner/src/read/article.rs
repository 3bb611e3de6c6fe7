//! Stub.
use super::Page;
/// A.
#[allow(missing_docs)]
pub struct Article { pub title: Option<String>, pub author: Option<String>, pub published_at: Option<gleaner_core::time::Time>, pub text: String, pub html: String, pub extracted: bool }
/// B.
pub fn extract(page: &Page<'_>) -> Article { let text = super::text::plain_text(&page.html().unwrap_or_default()); Article { title: None, author: None, published_at: None, html: text.clone(), text, extracted: true } }
