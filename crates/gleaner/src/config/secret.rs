//! Values that are used but never shown.
//!
//! `Debug` and `Display` of everything here say [`SET`] where a secret stands, so that no log line, error or
//! dump can leak one by accident. Absent on purpose: wiping memory.

use std::fmt;

use url::Url;

/// What is shown instead of a secret.
pub const SET: &str = "(set)";

/// A secret text.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Hides a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SET)
    }
}

/// A URL whose password is hidden when it is shown.
#[derive(Clone, PartialEq, Eq)]
pub struct PrivateUrl(Url);

impl PrivateUrl {
    /// Hides a URL's credentials.
    pub const fn new(url: Url) -> Self {
        Self(url)
    }

    /// The URL itself, credentials included.
    pub const fn expose(&self) -> &Url {
        &self.0
    }
}

impl fmt::Display for PrivateUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hide_credentials(self.0.as_str()))
    }
}

impl fmt::Debug for PrivateUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A URL, valid or not, without the password in its authority or its query.
///
/// Works on the text, since what is shown in an error is often no URL at all.
pub fn hide_credentials(text: &str) -> String {
    let (head, query) = match text.split_once('?') {
        Some((head, query)) => (head, Some(query)),
        None => (text, None),
    };
    let mut shown = hide_authority(head);
    if let Some(query) = query {
        let pairs: Vec<String> = query.split('&').map(hide_pair).collect();
        shown = format!("{shown}?{}", pairs.join("&"));
    }
    // A password that holds an unescaped '?' would slip through the parts above.
    if query.is_some_and(|query| query.contains('@')) { SET.to_owned() } else { shown }
}

fn hide_authority(head: &str) -> String {
    let start = head.find("://").map_or(0, |at| at + 3);
    // The last '@', since a password may hold others, unescaped.
    let Some(at) = head[start..].rfind('@').map(|at| at + start) else { return head.to_owned() };
    match head[start..at].split_once(':') {
        Some((user, _)) => format!("{}{user}:{SET}{}", &head[..start], &head[at..]),
        None => head.to_owned(),
    }
}

fn hide_pair(pair: &str) -> String {
    match pair.split_once('=') {
        Some((name, _)) if name.to_ascii_lowercase().contains("password") => format!("{name}={SET}"),
        _ => pair.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_hidden_wherever_they_stand() {
        let check = |text, shown: &str| assert_eq!(hide_credentials(text), shown);
        check("gleaner.db", "gleaner.db");
        check("postgres://db.example/gleaner", "postgres://db.example/gleaner");
        check("postgres://me:hunter2@db.example/gleaner", "postgres://me:(set)@db.example/gleaner");
        check("postgres://me:hun@ter/2@db.example/gleaner", "postgres://me:(set)@db.example/gleaner");
        check("postgres://me:hunter?2@db.example/gleaner", "(set)");
        check(
            "postgres:///gleaner?password=hunter2&host=/run",
            "postgres:///gleaner?password=(set)&host=/run",
        );
        check("mysql:/me:hunter2@db", "mysql:(set)@db");
        assert_eq!(format!("{:?}", Secret::new("hunter2")), "(set)");
    }
}
