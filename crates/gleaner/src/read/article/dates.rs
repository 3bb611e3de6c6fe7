//! Finds dates in running text, in many languages.
//!
//! Ambiguous numeric dates are read in the order of the page's language.

use gleaner_core::time::Time;

/// Plausible years, including scanned newspapers.
const PLAUSIBLE_YEARS: std::ops::RangeInclusive<i64> = 1900..=2100;

/// Maximum tokens of a text that are examined.
const MAX_TOKENS: usize = 600;

/// Parses a text that is a date.
pub(super) fn parse(text: &str) -> Option<Time> {
    let text = text.trim();
    if !text.is_empty() && text.len() <= 13 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return parse_timestamp(text);
    }
    let parsed = gleaner_feed::date::parse(text).map(Time::from_millis);
    parsed.filter(|at| is_plausible(*at)).or_else(|| in_text(text, None))
}

/// `20240517`, or seconds or milliseconds since 1970.
fn parse_timestamp(digits: &str) -> Option<Time> {
    let number: i64 = digits.parse().ok()?;
    let at = match digits.len() {
        8 => return day(number / 10_000, number / 100 % 100, number % 100),
        10 => Time::from_millis(number.checked_mul(1000)?),
        13 => Time::from_millis(number),
        _ => return None,
    };
    is_plausible(at).then_some(at)
}

fn is_plausible(at: Time) -> bool {
    // 1900 to 2100.
    (-2_208_988_800_000..4_133_980_800_000).contains(&at.as_millis())
}

/// Midnight UTC of a day.
pub(super) fn day(year: i64, month: i64, day: i64) -> Option<Time> {
    if !PLAUSIBLE_YEARS.contains(&year) {
        return None;
    }
    Time::parse(&format!("{year:04}-{month:02}-{day:02}T00:00:00Z"))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    Number(i64, usize),
    Word(&'a str),
    Mark(char),
}

pub(super) fn in_text(text: &str, language: Option<&str>) -> Option<Time> {
    let tokens = tokens(text);
    let month_first = language.is_none_or(|tag| {
        let tag = tag.to_ascii_lowercase();
        tag == "en" || tag.starts_with("en-us") || tag.starts_with("en-ph")
    });
    (0..tokens.len()).find_map(|at| {
        let rest = tokens.get(at..)?;
        numeric(rest, month_first).or_else(|| with_month_name(rest))
    })
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if tokens.len() >= MAX_TOKENS {
            break;
        }
        let class = |c: char| (c.is_ascii_digit(), c.is_alphabetic() && !is_ideograph(c));
        let (digit, letter) = class(first);
        let end = if digit || letter {
            rest.find(|c: char| class(c) != (digit, letter)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (token, after) = rest.split_at(end);
        rest = after;
        if digit {
            tokens.push(Token::Number(token.parse().unwrap_or(i64::MAX), token.len()));
        } else if letter {
            tokens.push(Token::Word(token));
        } else if !first.is_whitespace() {
            tokens.push(Token::Mark(first));
        } else if matches!(tokens.last(), Some(Token::Number(..))) {
            // Two numbers separated by a space are not a date.
            tokens.push(Token::Mark(' '));
        }
    }
    tokens
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}')
}

/// `2024-05-17`, `17.05.2024`, `5/17/2024`, `2024年5月17日`.
fn numeric(tokens: &[Token<'_>], month_first: bool) -> Option<Time> {
    use Token::{Mark, Number};
    match *tokens {
        [Number(year, 4), Mark('年' | '년'), ref rest @ ..] => {
            let mut numbers = rest.iter().filter_map(|token| match token {
                Number(number, _) => Some(*number),
                _ => None,
            });
            day(year, numbers.next()?, numbers.next()?)
        }
        [
            Number(year, 4),
            Mark(a @ ('-' | '/' | '.')),
            Number(month, 1..=2),
            Mark(b),
            Number(date, 1..=2),
            ..,
        ] if a == b => day(year, month, date),
        [
            Number(first, 1..=2),
            Mark(a @ ('-' | '/' | '.')),
            Number(second, 1..=2),
            Mark(b),
            Number(year, length),
            ..,
        ] if a == b && (length == 4 || (length == 2 && a != '-')) => {
            let year = if length == 2 { 2000 + year } else { year };
            let by_day = || day(year, second, first);
            let by_month = || day(year, first, second);
            // With dots the order is day, month everywhere.
            if a == '/' && month_first { by_month().or_else(by_day) } else { by_day().or_else(by_month) }
        }
        _ => None,
    }
}

/// `17 May 2024`, `May 17th, 2024`, `17. Mai 2024`, `17 de mayo de 2024`.
fn with_month_name(tokens: &[Token<'_>]) -> Option<Time> {
    let mut parts = tokens.iter().filter(|token| match token {
        Token::Number(..) => true,
        Token::Mark(mark) => !matches!(mark, '.' | ',' | ' ' | '\'' | '’' | '-' | '/'),
        Token::Word(word) => !["de", "del", "of", "st", "nd", "rd", "th", "er", "º", "ª"].contains(word),
    });
    let (date, name, year) = match (parts.next()?, parts.next()?, parts.next()?) {
        (Token::Number(date, 1..=2), Token::Word(name), Token::Number(year, 4)) => (date, name, year),
        (Token::Word(name), Token::Number(date, 1..=2), Token::Number(year, 4)) => (date, name, year),
        _ => return None,
    };
    let plausible = name.chars().count() >= 3 && name.len() <= 24 && PLAUSIBLE_YEARS.contains(year);
    let at = plausible.then(|| gleaner_feed::date::parse(&format!("{date} {name} {year}")))?;
    at.map(Time::from_millis).filter(|at| is_plausible(*at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_found_in_text() {
        let check = |text: &str, language: Option<&str>, expected: Option<&str>| {
            let found = in_text(text, language).map(|at| at.to_string().replace("T00:00:00Z", ""));
            assert_eq!(found.as_deref(), expected, "{text}");
        };
        let day = Some("2024-05-17");
        for text in [
            "Published on May 17, 2024 by Jane",
            "17 May 2024",
            "Friday, May 17th, 2024",
            "the 17th of May 2024",
            "17. Mai 2024",
            "le 17 mai 2024",
            "17 de mayo de 2024",
            "17 maggio 2024",
            "17 de maio de 2024",
            "17 mei 2024",
            "17 maja 2024 r.",
            "17 мая 2024 г.",
            "2024年5月17日",
            "2024년 5월 17일",
            "2024-05-17",
            "2024/5/17",
            "2024.05.17",
            "17.05.2024",
            "5 min read · 17.5.24",
            "5/17/2024",
        ] {
            check(text, None, day);
        }
        check("03/04/2024", Some("en-US"), Some("2024-03-04"));
        check("03/04/2024", Some("en-GB"), Some("2024-04-03"));
        check("03/04/2024", Some("fr"), Some("2024-04-03"));
        check("17/05/2024", Some("en-US"), day);
        for text in [
            "",
            "12 of 20",
            "1.2.3",
            "May 2024",
            "in 2024 17 people",
            "99/99/2024",
            "30 February 2024",
            "17 dogs 2024",
        ] {
            check(text, None, None);
        }
    }

    #[test]
    fn standalone_dates_are_parsed() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(parse(text).map(|at| at.to_string()).as_deref(), expected, "{text}");
        };
        check("2024-05-17T10:00:00+02:00", Some("2024-05-17T08:00:00Z"));
        check("Fri, 17 May 2024 10:00:00 GMT", Some("2024-05-17T10:00:00Z"));
        check("1715904000000", Some("2024-05-17T00:00:00Z"));
        check("0", None);
        check("99999999999999999999", None);
        check("0001-01-01T00:00:00Z", None);
        check("9999-12-31", None);
    }
}
