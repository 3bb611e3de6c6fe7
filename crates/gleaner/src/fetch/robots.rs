//! Parses robots.txt (RFC 9309), and decides whether a path may be fetched.
//!
//! Pure, and linear in the input: patterns are matched piece by piece from left to right, without backtracking. Not
//! done here: fetching (see `robots_cache`), sitemaps, and guessing what misspelt lines mean.

use gleaner_core::time::Span;
use memchr::memmem;

/// Our product token in robots.txt.
const PRODUCT: &[u8] = b"gleaner";
/// Maximum bytes that are read; the rest is ignored.
pub(super) const MAX_BYTES: usize = 500 * 1024;
/// Longer delays are shortened to this.
const MAX_CRAWL_DELAY: Span = Span::from_mins(10);

/// The rules of a robots.txt that apply to gleaner.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Robots {
    rules: Vec<Rule>,
    crawl_delay: Option<Span>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    allow: bool,
    /// Normalised; `*` matches anything, and `$` at the end anchors the match.
    pattern: Vec<u8>,
}

/// Which agents the current group of lines applies to.
#[derive(Debug, Clone, Copy, Default)]
struct GroupAgents {
    gleaner: bool,
    all: bool,
}

impl Robots {
    /// Parses a robots.txt. Nothing is an error: unknown lines are ignored.
    pub fn parse(text: &[u8]) -> Self {
        let text = text.get(..MAX_BYTES).unwrap_or(text);
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let (mut own_rules, mut common_rules) = (None, Self::default());
        let (mut agents, mut in_rules) = (GroupAgents::default(), false);
        for line in text.split(|byte| matches!(byte, b'\n' | b'\r')) {
            let Some((name, value)) = split_line(line) else { continue };
            if name.eq_ignore_ascii_case(b"user-agent") {
                // Consecutive agents share the rules that follow; after rules a new group starts.
                if std::mem::take(&mut in_rules) {
                    agents = GroupAgents::default();
                }
                agents.gleaner |= is_own_agent(value);
                agents.all |= is_wildcard_agent(value);
                if agents.gleaner {
                    // A group for us counts even if it has no rules.
                    own_rules.get_or_insert_with(Self::default);
                }
                continue;
            }
            let allow = name.eq_ignore_ascii_case(b"allow");
            if allow || name.eq_ignore_ascii_case(b"disallow") {
                in_rules = true;
                // An empty pattern matches nothing.
                let rule = (!value.is_empty()).then(|| Rule { allow, pattern: normalize(value, false) });
                matching_groups(agents, &mut own_rules, &mut common_rules)
                    .for_each(|group| group.rules.extend(rule.clone()));
            } else if name.eq_ignore_ascii_case(b"crawl-delay") {
                let delay = delay(value);
                matching_groups(agents, &mut own_rules, &mut common_rules)
                    .for_each(|group| group.crawl_delay = group.crawl_delay.or(delay));
            }
        }
        own_rules.unwrap_or(common_rules)
    }

    /// Whether a path with its query may be fetched: the longest matching pattern decides; of two equally long
    /// ones, the one that allows.
    pub fn allows(&self, path_and_query: &str) -> bool {
        if path_and_query == "/robots.txt" {
            return true;
        }
        let path = normalize(path_and_query.as_bytes(), true);
        let matching = self.rules.iter().filter(|rule| matches(&rule.pattern, &path));
        matching.max_by_key(|rule| (rule.pattern.len(), rule.allow)).is_none_or(|rule| rule.allow)
    }

    /// The requested delay between two requests.
    pub const fn crawl_delay(&self) -> Option<Span> {
        self.crawl_delay
    }

    /// The approximate memory size.
    pub(super) fn weight(&self) -> usize {
        self.rules.iter().map(|rule| size_of::<Rule>() + rule.pattern.capacity()).sum()
    }
}

fn matching_groups<'a>(
    agents: GroupAgents,
    own_rules: &'a mut Option<Robots>,
    common_rules: &'a mut Robots,
) -> impl Iterator<Item = &'a mut Robots> {
    own_rules.as_mut().filter(|_| agents.gleaner).into_iter().chain(agents.all.then_some(common_rules))
}

/// Splits a line into name and value, without comment.
fn split_line(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = line.split(|byte| *byte == b'#').next()?;
    let colon = memchr::memchr(b':', line)?;
    Some((line[..colon].trim_ascii(), line[colon + 1..].trim_ascii()))
}

/// Whether an agent is gleaner, by its product token, whatever its version.
fn is_own_agent(agent: &[u8]) -> bool {
    let token = |byte: &u8| byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_');
    let length = agent.iter().take_while(|byte| token(byte)).count();
    agent[..length].eq_ignore_ascii_case(PRODUCT)
}

fn is_wildcard_agent(agent: &[u8]) -> bool {
    matches!(agent, [b'*'] | [b'*', b' ' | b'\t', ..])
}

/// Seconds, possibly fractional; `None` if it is not a valid time.
fn delay(value: &[u8]) -> Option<Span> {
    let seconds: f64 = std::str::from_utf8(value).ok()?.parse().ok()?;
    // NaN and negative values fail this comparison.
    (seconds >= 0.0).then(|| Span::from_secs(1).scale(seconds.min(86_400.0)).min(MAX_CRAWL_DELAY))
}

/// Normalises percent-encoding: unreserved characters are decoded, others encoded in upper case. In a path, `*` and
/// `$` are literal and are encoded too, because in a pattern they are not.
fn normalize(text: &[u8], is_path: bool) -> Vec<u8> {
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
            || !is_path && b"*$".contains(byte)
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

/// Whether a pattern matches the start of a path. Each piece between stars is searched after the previous one; the
/// first match is as good as any later one, so nothing is examined twice.
fn matches(pattern: &[u8], path: &[u8]) -> bool {
    let (pattern, anchored) = match pattern.strip_suffix(b"$") {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    let mut pieces = pattern.split(|byte| *byte == b'*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = path.strip_prefix(first) else { return false };
    let mut pieces = pieces.peekable();
    if pieces.peek().is_none() {
        return !anchored || rest.is_empty();
    }
    while let Some(piece) = pieces.next() {
        if anchored && pieces.peek().is_none() {
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
