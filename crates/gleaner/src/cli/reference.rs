//! All commands, for people who read rather than run: a page of the book.
//!
//! It comes from what clap knows and is committed; a test fails when it has fallen behind.

use std::fmt::Write;

use clap::{Arg, ArgAction, Command, Id};

use super::{command, failure};

const PAGE: &str = "\
# Commands

<!-- Written by `make reference` from the command line's own help; edits here are lost. -->

`gleaner COMMAND --help` says the same in a terminal. Commands work on the configured database itself, beside a running
server or without one; with `--server URL` they ask a gleaner that runs elsewhere, over its API. Where a command takes
`--json`, its output is meant for programs and stays the same from version to version; tables are for people.
";

/// The page of the book, as Markdown.
pub fn page() -> String {
    let mut root = command();
    root.build();
    let mut out = PAGE.to_owned();
    out.push_str("\n## Everywhere\n\n");
    root.get_arguments().filter(|arg| arg.is_global_set()).for_each(|arg| describe(&mut out, arg));
    let codes = failure::EXIT_CODES.split_once('\n').map_or("", |(_, codes)| codes);
    let _ = writeln!(out, "\n## Exit codes\n\n```text\n{codes}\n```");
    let known = ids(&root);
    for sub in root.get_subcommands_mut().filter(|sub| sub.get_name() != "help") {
        section(&mut out, sub, "##", &known);
    }
    out
}

/// What may be given to a command.
fn ids(command: &Command) -> Vec<Id> {
    command.get_arguments().map(|arg| arg.get_id().clone()).collect()
}

/// A command and those below it; `known` was told before.
fn section(out: &mut String, command: &mut Command, heading: &str, known: &[Id]) {
    let usage = command.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    let name = command.get_bin_name().unwrap_or_default().to_owned();
    let _ = writeln!(out, "\n{heading} {name}\n");
    if let Some(about) = command.get_long_about().or(command.get_about()) {
        let _ = writeln!(out, "{}.\n", plain(&about.to_string()));
    }
    let _ = writeln!(out, "```text\n{usage}\n```");
    let own: Vec<&Arg> = command.get_arguments().filter(|arg| is_news(arg, known)).collect();
    if !own.is_empty() {
        out.push('\n');
    }
    own.into_iter().for_each(|arg| describe(out, arg));
    let known = ids(command);
    for sub in command.get_subcommands_mut().filter(|sub| sub.get_name() != "help") {
        section(out, sub, "###", &known);
    }
}

/// Neither one of the commands above it nor `--help`.
fn is_news(arg: &Arg, known: &[Id]) -> bool {
    let help = matches!(arg.get_action(), ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong);
    let told = arg.is_global_set() && known.contains(arg.get_id());
    !(help || told || arg.is_hide_set())
}

fn describe(out: &mut String, arg: &Arg) {
    let short = arg.get_short().map(|short| format!("-{short}, ")).unwrap_or_default();
    let help =
        arg.get_long_help().or(arg.get_help()).map(|help| plain(&help.to_string())).unwrap_or_default();
    let values: Vec<String> =
        arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
    let values = match values.is_empty() || !arg.get_action().takes_values() {
        true => String::new(),
        false => format!(" ({})", values.join(", ")),
    };
    let defaults: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    let default = match defaults.is_empty() || !arg.get_action().takes_values() {
        true => String::new(),
        false => format!(" \\[default: {}\\]", defaults.join(", ")),
    };
    let _ = writeln!(out, "- `{short}{arg}`: {help}{values}{default}");
}

/// Help as one line of Markdown.
fn plain(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.replace('[', "\\[").replace(']', "\\]").replace('<', "\\<")
}
