//! Compares texts by their words.

/// Maximum words per text, since all words of one are compared with all of the other.
const MAX_WORDS: usize = 100;

/// The words of a text in lower case.
pub(super) fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.take(MAX_WORDS).map(str::to_lowercase).collect()
}

pub(super) fn same_words(a: &str, b: &str) -> bool {
    words(a) == words(b)
}

/// The share of `a`'s words that are in `b`.
pub(super) fn overlap(a: &str, b: &str) -> f32 {
    let (a, b) = (words(a), words(b));
    if a.is_empty() {
        return 0.0;
    }
    let shared = a.iter().filter(|word| b.contains(word)).count();
    shared as f32 / a.len() as f32
}

/// Whether a word is the name of a month, in any language that feeds use.
pub(super) fn is_month(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_alphabetic());
    word.chars().count() >= 3
        && word != "May"
        && gleaner_feed::date::parse(&format!("1 {word} 2000")).is_some()
}
