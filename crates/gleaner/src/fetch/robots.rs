//! What a robots.txt says: RFC 9309, from bytes to rules, and whether a path may be fetched.
//!
//! Pure, and in time proportional to what is read: patterns are matched piece by piece from left to right, never by
//! trying again. Absent on purpose: fetching (see `robots_cache`), sitemaps, and guesses at what a misspelt line may
//! have meant.

use gleaner_core::time::Span;
use memchr::memmem;

/// Who we are in a robots.txt.
const PRODUCT: &[u8] = b"gleaner";
/// What is read of a robots.txt; the rest is ignored.
pub(super) const MAX_BYTES: usize = 500 * 1024;
/// A longer delay between two requests is not kept.
const LONGEST_DELAY: Span = Span::from_mins(10);

/// The rules of a robots.txt that are ours.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Robots {
    rules: Vec<Rule>,
    crawl_delay: Option<Span>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    allow: bool,
    /// Normalised; `*` still stands for anything, and `$` at the end for the end.
    pattern: Vec<u8>,
}

/// The group that lines belong to.
#[derive(Debug, Clone, Copy, Default)]
struct Meant {
    us: bool,
    all: bool,
}

impl Robots {
    /// Reads a robots.txt. Nothing in it is an error: what is not understood is passed over.
    pub fn parse(text: &[u8]) -> Self {
        let text = text.get(..MAX_BYTES).unwrap_or(text);
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let (mut ours, mut everyones) = (None, Self::default());
        let (mut meant, mut in_rules) = (Meant::default(), false);
        for line in text.split(|byte| matches!(byte, b'\n' | b'\r')) {
            let Some((name, value)) = record(line) else { continue };
            if name.eq_ignore_ascii_case(b"user-agent") {
                // Agents in a row share the rules that follow; after rules a new group begins.
                if std::mem::take(&mut in_rules) {
                    meant = Meant::default();
                }
                meant.us |= is_us(value);
                meant.all |= is_all(value);
                if meant.us {
                    // A group of our own counts even where it has no rule.
                    ours.get_or_insert_with(Self::default);
                }
                continue;
            }
            let allow = name.eq_ignore_ascii_case(b"allow");
            if allow || name.eq_ignore_ascii_case(b"disallow") {
                in_rules = true;
                // An empty pattern matches nothing.
                let rule = (!value.is_empty()).then(|| Rule { allow, pattern: normal(value, false) });
                targets(meant, &mut ours, &mut everyones).for_each(|group| group.rules.extend(rule.clone()));
            } else if name.eq_ignore_ascii_case(b"crawl-delay") {
                let delay = delay(value);
                targets(meant, &mut ours, &mut everyones)
                    .for_each(|group| group.crawl_delay = group.crawl_delay.or(delay));
            }
        }
        ours.unwrap_or(everyones)
    }

    /// Whether a path with its query may be fetched: the longest pattern that matches decides, and of two as long the
    /// one that allows.
    pub fn allows(&self, path_and_query: &str) -> bool {
        if path_and_query == "/robots.txt" {
            return true;
        }
        let path = normal(path_and_query.as_bytes(), true);
        let matching = self.rules.iter().filter(|rule| matches(&rule.pattern, &path));
        matching.max_by_key(|rule| (rule.pattern.len(), rule.allow)).is_none_or(|rule| rule.allow)
    }

    /// How long its author wants between two requests.
    pub const fn crawl_delay(&self) -> Option<Span> {
        self.crawl_delay
    }

    /// About how much memory it takes.
    pub(super) fn weight(&self) -> usize {
        self.rules.iter().map(|rule| size_of::<Rule>() + rule.pattern.capacity()).sum()
    }
}

fn targets<'a>(
    meant: Meant,
    ours: &'a mut Option<Robots>,
    everyones: &'a mut Robots,
) -> impl Iterator<Item = &'a mut Robots> {
    ours.as_mut().filter(|_| meant.us).into_iter().chain(meant.all.then_some(everyones))
}

/// The name and value of a line, without its comment; none where it has none.
fn record(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = line.split(|byte| *byte == b'#').next()?;
    let colon = memchr::memchr(b':', line)?;
    Some((line[..colon].trim_ascii(), line[colon + 1..].trim_ascii()))
}

/// Whether an agent is us: its product token is, whatever version stands behind it.
fn is_us(agent: &[u8]) -> bool {
    let token = |byte: &u8| byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_');
    let length = agent.iter().take_while(|byte| token(byte)).count();
    agent[..length].eq_ignore_ascii_case(PRODUCT)
}

fn is_all(agent: &[u8]) -> bool {
    matches!(agent, [b'*'] | [b'*', b' ' | b'\t', ..])
}

/// Seconds, whole or not; what is no time is none.
fn delay(value: &[u8]) -> Option<Span> {
    let seconds: f64 = std::str::from_utf8(value).ok()?.parse().ok()?;
    // Neither negative nor without an end.
    (seconds >= 0.0).then(|| Span::from_secs(1).scale(seconds.min(86_400.0)).min(LONGEST_DELAY))
}

/// One spelling for all: what need not be encoded is not, what must be is, in upper case. In an address `*` and `$`
/// are themselves and are encoded, too, since in a pattern they are not.
fn normal(text: &[u8], is_address: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        let encoded = match (byte, after) {
            (b'%', [high, low, ..]) => hex(*high).zip(hex(*low)).map(|(high, low)| high << 4 | low),
            _ => None,
        };
        if let Some(byte) = encoded {
            rest = &after[2..];
            if is_unreserved(byte) { out.push(byte) } else { encode(&mut out, byte) }
        } else if is_unreserved(*byte)
            || b":/?#[]@!&'()+,;=%".contains(byte)
            || !is_address && b"*$".contains(byte)
        {
            out.push(*byte);
        } else {
            encode(&mut out, *byte);
        }
    }
    out
}

const fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

fn hex(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

fn encode(out: &mut Vec<u8>, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.extend([b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
}

/// Whether a pattern matches from the beginning of a path on. Each piece between stars is looked for behind the one
/// before, and the first place is as good as any later one, so nothing is looked at twice.
fn matches(pattern: &[u8], path: &[u8]) -> bool {
    let (pattern, to_the_end) = match pattern.strip_suffix(b"$") {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    let mut pieces = pattern.split(|byte| *byte == b'*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = path.strip_prefix(first) else { return false };
    let mut pieces = pieces.peekable();
    if pieces.peek().is_none() {
        return !to_the_end || rest.is_empty();
    }
    while let Some(piece) = pieces.next() {
        if to_the_end && pieces.peek().is_none() {
            return rest.ends_with(piece);
        }
        match memmem::find(rest, piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
#[path = "robots_tests.rs"]
mod tests;
