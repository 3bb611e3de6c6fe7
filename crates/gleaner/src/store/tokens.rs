//! Splits texts into words, for indexing and for searching alike, so that both databases find the same posts.
//!
//! A word is a run of letters and digits, in lower case; each character of a script that is written without spaces is a
//! word of its own. There are no stems, stop words or languages, of which a collection has many.

/// How much of a post is searched, in characters: more than any article, and less than any database refuses.
const LONGEST_TEXT: usize = 100_000;
/// Of a longer word only the beginning counts.
const LONGEST_WORD: usize = 60;
/// How much of a search counts, in characters.
const LONGEST_SEARCH: usize = 500;
/// How many phrases of a search count.
const MOST_PHRASES: usize = 20;

/// The words of a text, with a space between them.
pub(super) fn tokenize(text: &str) -> String {
    let mut words = String::with_capacity(text.len().min(4 * LONGEST_TEXT));
    let mut length = 0;
    for sign in text.chars().take(LONGEST_TEXT) {
        if !sign.is_alphanumeric() {
            length = 0;
            continue;
        }
        let alone = is_alone(sign);
        if (length == 0 || alone) && !words.is_empty() {
            words.push(' ');
        }
        if length < LONGEST_WORD {
            words.extend(sign.to_lowercase());
        }
        length = if alone { 0 } else { length + 1 };
    }
    words
}

/// Whether a character belongs to a script that is written without spaces.
const fn is_alone(sign: char) -> bool {
    matches!(sign,
        '\u{0E00}'..='\u{0EFF}' // Thai, Lao
        | '\u{1000}'..='\u{109F}' // Burmese
        | '\u{1780}'..='\u{17FF}' // Khmer
        | '\u{3040}'..='\u{30FF}' // Kana
        | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}' // Han
    )
}

/// The phrases of a search: single words, and words in quotation marks as one phrase. Every input is valid.
pub(super) fn phrases(search: &str) -> Vec<String> {
    let search: String = search.chars().take(LONGEST_SEARCH).collect();
    let parts = search.split('"').enumerate().flat_map(|(place, part)| {
        let quoted = place % 2 == 1;
        if quoted { vec![part] } else { part.split_whitespace().collect() }
    });
    parts.map(tokenize).filter(|phrase| !phrase.is_empty()).take(MOST_PHRASES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_words() {
        let check = |text: &str, expected: &str| assert_eq!(tokenize(text), expected, "{text}");
        check("", "");
        check("Grüße, Welt! It's 3.14", "grüße welt it s 3 14");
        check("漢字とkana", "漢 字 と kana");
        check("kana漢字", "kana 漢 字");
        check("--- \"' OR 1=1", "or 1 1");
        check(&"x".repeat(1000), &"x".repeat(LONGEST_WORD));
        check(&"a ".repeat(LONGEST_TEXT), "a ".repeat(LONGEST_TEXT / 2).trim_end());
    }

    #[test]
    fn searches_become_phrases() {
        let check = |text, expected: &[&str]| assert_eq!(phrases(text), expected, "{text}");
        check("red  Fox", &["red", "fox"]);
        check("\"red fox\" den", &["red fox", "den"]);
        check("\"red fox", &["red fox"]);
        check("\"\" * ( ) NEAR(a b) -c a:b", &["near a", "b", "c", "a b"]);
        check("***", &[]);
        assert_eq!(phrases(&"a ".repeat(1000)).len(), MOST_PHRASES);
    }
}
