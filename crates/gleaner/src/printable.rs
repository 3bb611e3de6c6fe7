//! Makes text from outside safe to print: it cannot move the cursor, hide text or change its direction.
//!
//! All command output goes through [`Printable`]; logs and tables use [`is_hidden`]. JSON output loses nothing:
//! [`escape_json`] writes the same characters as escapes.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

/// Whether a terminal shows nothing for a character or interprets it: control characters, direction marks, and
/// zero-width characters.
pub(crate) fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// Escapes the hidden characters of a JSON text, except line breaks between its parts.
pub(crate) fn escape_json(json: &str) -> Cow<'_, str> {
    let escaped = |c: char| is_hidden(c) && c != '\n';
    if !json.contains(escaped) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if escaped(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Quotes an argument for a shell.
pub(crate) fn shell_quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    let text: String = text.chars().filter(|c| !is_hidden(*c)).collect();
    if !text.is_empty() && text.chars().all(plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// The two escape sequences used for headings; no others are printed.
const BOLD: [&str; 2] = ["\x1b[1m", "\x1b[0m"];

/// Writes text without its hidden characters. Line breaks, tabs and the sequences for bold text are kept.
pub(crate) struct Printable<W: Write> {
    out: W,
    /// An incomplete character or sequence at the end of the last write.
    rest: Vec<u8>,
}

impl<W: Write> Printable<W> {
    pub(crate) fn new(out: W) -> Self {
        Self { out, rest: Vec::new() }
    }

    /// Writes the complete characters, and keeps the rest.
    fn write_complete(&mut self, bytes: &[u8]) -> io::Result<()> {
        let (text, rest) = split_incomplete(bytes);
        let text = String::from_utf8_lossy(text);
        let mut clean = String::with_capacity(text.len());
        let mut left: &str = &text;
        while let Some(at) = left.find(is_hidden) {
            clean.push_str(&left[..at]);
            left = &left[at..];
            let bold = BOLD.iter().find(|sequence| left.starts_with(**sequence));
            let hidden = left.chars().next().unwrap_or_default();
            match (bold, hidden) {
                (Some(sequence), _) => clean.push_str(sequence),
                (None, '\n' | '\t') => clean.push(hidden),
                (None, '\u{2028}' | '\u{2029}') => clean.push(' '),
                (None, _) => {}
            }
            left = &left[bold.map_or(hidden.len_utf8(), |sequence| sequence.len())..];
        }
        clean.push_str(left);
        self.out.write_all(clean.as_bytes())?;
        self.rest = rest.to_vec();
        Ok(())
    }
}

/// Splits off an incomplete character or sequence at the end.
fn split_incomplete(bytes: &[u8]) -> (&[u8], &[u8]) {
    let longest = bytes.len().min(4);
    let unfinished = (1..=longest).rev().map(|length| &bytes[bytes.len() - length..]).find(|end| {
        let sequence = BOLD.iter().any(|bold| bold.len() > end.len() && bold.as_bytes().starts_with(end));
        let cut_short = std::str::from_utf8(end)
            .is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none());
        sequence || cut_short
    });
    bytes.split_at(bytes.len() - unfinished.map_or(0, <[u8]>::len))
}

impl<W: Write> Write for Printable<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.rest.is_empty() {
            self.write_complete(bytes)?;
        } else {
            let mut all = std::mem::take(&mut self.rest);
            all.extend_from_slice(bytes);
            self.write_complete(&all)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        // An incomplete character cannot be shown.
        self.rest.clear();
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is printed for these pieces.
    fn printed(pieces: &[&[u8]]) -> String {
        let mut out = Vec::new();
        let mut printable = Printable::new(&mut out);
        pieces.iter().for_each(|piece| printable.write_all(piece).unwrap());
        printable.flush().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn hidden_characters_are_removed() {
        assert_eq!(printed(&["a\x1b]0;title\x07b\u{9b}2Jc\r\n\td".as_bytes()]), "a]0;titleb2Jc\n\td");
        assert_eq!(
            printed(&["\u{202e}gpj.exe\u{2066}\u{200b}\u{feff}\u{e0041}x\u{2028}y".as_bytes()]),
            "gpj.exex y"
        );
        assert_eq!(printed(&["zwölf Boxkämpfer 漢字 🦉".as_bytes()]), "zwölf Boxkämpfer 漢字 🦉");
        assert_eq!(printed(&[b"\xff\x9b2J"]), "\u{fffd}\u{fffd}2J", "bytes that are no text");
    }

    #[test]
    fn bold_sequences_survive_split_writes() {
        let text = "\x1b[1mzwölf\x1b[0m \x1b[8mhidden\x1b[31m".as_bytes();
        let expected = "\x1b[1mzwölf\x1b[0m [8mhidden[31m";
        assert_eq!(printed(&[text]), expected);
        for at in 1..text.len() {
            assert_eq!(printed(&[&text[..at], &text[at..]]), expected, "cut at {at}");
        }
        assert_eq!(printed(&text.chunks(1).collect::<Vec<_>>()), expected);
    }

    #[test]
    fn escaped_json_is_equivalent() {
        let value = serde_json::json!({ "a": "x\u{202e}y\u{e0041}\u{85}", "b": ["\n", "ö"] });
        let text = format!("{value:#}");
        let escaped = escape_json(&text);
        assert!(!escaped.contains(|c: char| is_hidden(c) && c != '\n'), "{escaped}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), value);
        assert!(matches!(escape_json("{\"a\": 1}"), Cow::Borrowed(_)));
    }

    #[test]
    fn shell_quoting_round_trips() {
        assert_eq!(shell_quoted("https://a.example/feed"), "https://a.example/feed");
        assert_eq!(shell_quoted("https://a.example/?a=1&b=2"), "'https://a.example/?a=1&b=2'");
        for text in ["$(id)", "`id`", "a'b", "a b;c", "", "!!", "~", "x\"y", "#", "'; touch /tmp/x; '"] {
            let shown = std::process::Command::new("sh")
                .args(["-c", &format!("printf %s {}", shell_quoted(text))])
                .output()
                .unwrap();
            assert_eq!(String::from_utf8(shown.stdout).unwrap(), text);
        }
    }
}
