//! `gleaner policy`: the tables in effect, and what another one would have done.

use std::collections::BTreeMap;

use clap::Subcommand;
use gleaner_core::outcome::{ErrorKind, Level};
use gleaner_core::overlay::{self, PolicyOverlay};
use gleaner_core::policy::{Gap, Policy};
use serde_json::json;

use super::{Context, Failure, replay};
use crate::config::Config;
use crate::service::policy_words::{gap, then, when};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Sub,
}

#[derive(Debug, Subcommand)]
enum Sub {
    /// Print the tables in effect
    Show(Show),
    /// Run the recorded polls through another policy, and say what would have been different
    Replay(replay::Args),
}

#[derive(Debug, clap::Args)]
struct Show {
    /// Only this policy
    name: Option<String>,
    /// For programs: JSON instead of tables
    #[arg(long)]
    json: bool,
    /// As it would stand in a config file
    #[arg(long, conflicts_with = "json")]
    toml: bool,
}

pub(super) async fn run(args: &Args, context: &mut Context<'_>) -> Result<(), Failure> {
    match &args.command {
        Sub::Show(args) => show(args, context),
        Sub::Replay(args) => replay::run(args, context).await,
    }
}

fn show(show: &Show, context: &mut Context<'_>) -> Result<(), Failure> {
    let policies = chosen(&context.loaded.config, show.name.as_deref())?;
    let text = if show.json {
        as_json(&context.loaded.config, &policies)
    } else if show.toml {
        as_toml(&context.loaded.config, &policies)
    } else {
        let paint = context.paint;
        let config = &context.loaded.config;
        let tables = policies.iter().map(|policy| {
            let default = if policy.name == config.source.policy { " (default)" } else { "" };
            let heading = paint.bold(format!("{}{default}", policy.name));
            format!("{heading}\n{}{}", aligned(&rows(policy)), notes(policy))
        });
        tables.collect::<Vec<_>>().join("\n")
    };
    Ok(context.out.write_all(text.as_bytes())?)
}

/// The shipped ones first, as everywhere, then those of config by name.
fn chosen<'a>(config: &'a Config, name: Option<&str>) -> Result<Vec<&'a Policy>, Failure> {
    let own = config.policies.keys().map(String::as_str).filter(|name| !Policy::NAMES.contains(name));
    let names: Vec<&str> = Policy::NAMES.into_iter().chain(own).collect();
    match name {
        Some(name) => match config.policies.get(name) {
            Some(policy) => Ok(vec![policy]),
            None => {
                Err(Failure::Usage(format!("there is no policy '{name}'; there are {}", names.join(", "))))
            }
        },
        None => Ok(names.iter().filter_map(|name| config.policies.get(*name)).collect()),
    }
}

fn as_json(config: &Config, policies: &[&Policy]) -> String {
    let all: Vec<serde_json::Value> = policies
        .iter()
        .map(|policy| {
            let is_default = policy.name == config.source.policy;
            json!({ "name": policy.name, "default": is_default, "table": overlay::table(policy) })
        })
        .collect();
    format!("{:#}\n", json!({ "policies": all }))
}

fn as_toml(config: &Config, policies: &[&Policy]) -> String {
    let tables: BTreeMap<&str, PolicyOverlay> = policies
        .iter()
        .map(|policy| {
            let mut table = overlay::table(policy);
            // There is nothing to set about our own faults, and config refuses it.
            table.on.remove(ErrorKind::Internal.name());
            table.base = config.overlays.get(&policy.name).and_then(|overlay| overlay.base.clone());
            (policy.name.as_str(), table)
        })
        .collect();
    // Numbers, words and tables by text keys: TOML can say all of it.
    toml::to_string(&BTreeMap::from([("policies", tables)])).unwrap_or_default()
}

const COLUMNS: usize = 5;

fn rows(policy: &Policy) -> Vec<[String; COLUMNS]> {
    let heading = ["kind", "level", "gap", "set aside when", "then"].map(str::to_owned);
    let kinds = ErrorKind::all().map(|kind| {
        let rule = policy.rule(kind);
        let level = match rule.level {
            Level::Warn => "warn",
            Level::Error => "error",
        };
        let (when, then) = match rule.aside {
            Some(aside) => (when(kind, &aside), then(&aside)),
            None => ("never".to_owned(), "-".to_owned()),
        };
        [kind.name().to_owned(), level.to_owned(), gap(policy, kind), when, then]
    });
    std::iter::once(heading).chain(kinds).collect()
}

/// What holds for the table as a whole.
fn notes(policy: &Policy) -> String {
    let mut notes = String::new();
    if policy.rules.iter().any(|rule| matches!(rule.gap, Gap::Age { .. })) {
        let age = policy.age;
        notes += &format!(
            "  Age is the time since the first failure in a row. Gaps by age are at least the shorter of interval \
             and 1 hour,\n  at most {}; for transient kinds in the first {} at most {}.\n  After {} of \
             nothing but permanent failures: a poll every {}.\n",
            age.cap, age.young, age.young_cap, age.dormant_after, age.dormant_every
        );
    }
    if policy.exempt_lifts {
        notes += "  A kind that is never set aside ends a quarantine that it meets.\n";
    }
    notes += if policy.judged {
        "  The cause of a failure is judged: what is the fault of a host or of the local network does not count, and\n  \
         hosts that refuse are paced.\n"
    } else {
        "  The cause of a failure is not judged: every failure counts.\n"
    };
    notes
}

fn aligned(rows: &[[String; COLUMNS]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; COLUMNS] = std::array::from_fn(width);
    let line = |row: &[String; COLUMNS]| {
        let cells: Vec<String> =
            row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        format!("  {}\n", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}
