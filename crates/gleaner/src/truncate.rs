//! Truncation by characters. (By bytes: `str::floor_char_boundary`.)

/// The first `max` characters of a text.
pub(crate) fn truncate_chars(text: &str, max: usize) -> &str {
    match text.char_indices().nth(max) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_kept_whole() {
        assert_eq!(truncate_chars("aäb", 2), "aä");
        assert_eq!(truncate_chars("aäb", 3), "aäb");
        assert_eq!(truncate_chars("aäb", 9), "aäb");
        assert_eq!(truncate_chars("aäb", 0), "");
    }
}
