//! A little weight for headings, on terminals only.

use std::fmt::Display;

use crate::config::dirs::Env;

/// Whether, and then how, text is set off.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paint(bool);

impl Paint {
    /// Only on a terminal that can, and not where <https://no-color.org> asks for none.
    pub(super) fn new(terminal: bool, env: &Env) -> Self {
        let refused = env.get("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = env.get("TERM").is_some_and(|term| term == "dumb");
        Self(terminal && !refused && !dumb)
    }

    /// Bold.
    pub(super) fn bold(self, text: impl Display) -> String {
        if self.0 { format!("\x1b[1m{text}\x1b[0m") } else { text.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paints_terminals_only() {
        let env = |name: &str, value: &str| Env::from([(name.to_owned(), value.to_owned())]);
        assert_eq!(Paint::new(true, &Env::new()).bold("a"), "\x1b[1ma\x1b[0m");
        assert_eq!(Paint::new(true, &env("NO_COLOR", "1")).bold("a"), "a");
        assert_eq!(Paint::new(true, &env("TERM", "dumb")).bold("a"), "a");
        assert_eq!(Paint::new(false, &Env::new()).bold("a"), "a");
    }
}
