//! All settings, for people who read rather than run: a page of the book, and a config file to begin with.
//!
//! Both come from the table of settings and are committed; a test fails when they have fallen behind.

use std::fmt::Write;

use super::render::{explain, leaf, table_of};
use super::settings::{SETTINGS, Secrecy, Setting};

const PAGE: &str = "\
# Settings

<!-- Written by `make reference` from the table of settings; edits here are lost. -->

Settings come from a config file, from variables and from flags, and the last of them wins, key by key:

1. the **file**: `--config FILE`, else `$GLEANER_CONFIG`, else `gleaner/config.toml` in your config directory
   (`$XDG_CONFIG_HOME`, `~/.config`), where there is one. It is TOML. [deploy/config.toml](../deploy/config.toml) has
   every key, commented;
2. **variables**, named after their keys: `GLEANER_SOURCE__POLL_INTERVAL_MINUTES=15`, with two underscores between the
   parts. Lists may be plain, with commas. An empty variable counts as not set;
3. **flags**: `--set source.poll_interval_minutes=15`, as often as needed.

`gleaner config` prints what is in effect and where each value came from; `gleaner config check` only says whether all
is right. Unknown keys and bad values are errors, told all at once, and nothing starts with one. A running server does not
read its configuration again: restart it.

What is secret, or may hold a password, can be given as the path of a file: the same key or variable with `_file` or
`_FILE` at its end. It is never printed.
";

const FILE: &str = "\
# gleaner's settings: every key there is, each commented out and with its default. Remove the # before a key to set it.
# Looked for as gleaner/config.toml in the config directory (under systemd: /etc/gleaner/config.toml); GLEANER_… variables
# win over it, and --set over both. `gleaner config check` says whether it is right; a running server must be restarted.
";

/// What each section is about; which sections there are, the table of settings says.
const ABOUT: [(&str, &str); 11] = [
    ("source", "How sources are polled, and what is kept of them."),
    (
        "fetch",
        "How documents are fetched. One HTTP client fetches everything: feeds, pages, robots.txt, webhooks.",
    ),
    (
        "judgement",
        "What is concluded from several failures together: whether a host or our own connection is down. Whether a source \
         is judged by it is a property of its policy; see [policies](policies.md).",
    ),
    ("store", "The database."),
    ("api", "The server: the API, the dashboard and output feeds."),
    (
        "oidc",
        "Sign-in by an OpenID Connect provider, in builds with the feature `oidc`; see [deploying](deploy.md).",
    ),
    ("x", "Timelines on X."),
    ("serve", "What a process does, and how it shares the work with others; see [many machines](scale.md)."),
    ("nats", "Events to a NATS server; see [many machines](scale.md)."),
    ("log", "What is written to standard error."),
    (
        "policies",
        "Changes to the tables that say what failures do, and tables of your own; see [policies](policies.md). `<policy>` is \
         a shipped name, whose table is then changed, or a new one with a `base`; `<error kind>` is one of those in \
         [troubleshooting](troubleshooting.md). What is not set is as in the table that it starts from.",
    ),
];

/// The page of the book, as Markdown.
pub fn page() -> String {
    let mut out = PAGE.to_owned();
    for section in sections() {
        let about = about(section).unwrap_or_default();
        let _ = writeln!(out, "\n## `[{section}]`\n\n{about}");
        for setting in SETTINGS.iter().filter(|setting| setting.segments().next() == Some(section)) {
            describe(&mut out, setting);
        }
    }
    out
}

/// The sections of the table of settings, in its order.
pub(super) fn sections() -> Vec<&'static str> {
    let mut sections: Vec<&str> = Vec::new();
    for section in SETTINGS.iter().filter_map(|setting| setting.segments().next()) {
        if !sections.contains(&section) {
            sections.push(section);
        }
    }
    sections
}

/// What a section is about.
pub(super) fn about(section: &str) -> Option<&'static str> {
    ABOUT.iter().find(|(name, _)| *name == section).map(|(_, about)| *about)
}

fn describe(out: &mut String, setting: &Setting) {
    let default = match setting.default {
        Some(default) => format!("`{default}`"),
        None => "not set".to_owned(),
    };
    let file = if setting.secrecy == Secrecy::Open { "" } else { ", or the same with `_FILE`" };
    let _ = write!(
        out,
        "\n### `{}`\n\n{}\n\n- takes: {}\n- default: {default}\n- variable: `{}`{file}\n",
        setting.key,
        setting.about,
        setting.takes,
        setting.variable(),
    );
}

/// A config file that sets nothing and shows everything.
pub fn file() -> String {
    let mut out = FILE.to_owned();
    let mut open = "";
    for setting in SETTINGS {
        let table = table_of(setting.key);
        let mark = if setting.key.contains('<') { "#" } else { "" };
        out.push('\n');
        if table != open {
            let _ = writeln!(out, "{mark}[{}]", quoted(table));
            open = table;
        }
        explain(&mut out, setting);
        let default = setting.default.map(|default| format!(" {default}")).unwrap_or_default();
        let _ = writeln!(out, "#{} ={default}", quoted(leaf(setting.key)));
    }
    out
}

/// Names to be filled in, as TOML would take them.
fn quoted(key: &str) -> String {
    key.replace('<', "\"<").replace('>', ">\"")
}
