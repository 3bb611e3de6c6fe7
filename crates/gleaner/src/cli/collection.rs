//! `gleaner collection`: groups of sources, by name.

use clap::Subcommand;
use serde_json::{Value, json};

use super::client::Client;
use super::show::{rows, text, when};
use super::{Context, Failure};
use crate::printable::shell_quoted;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Sub,
    /// For programs: JSON instead of words
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Sub {
    /// Make a collection of your own
    Create {
        /// What to call it
        name: String,
    },
    /// List collections
    List,
    /// Rename a collection, or give it to somebody else, whose keys serve it from then on
    Rename {
        /// Which
        name: String,
        /// What to call it
        new: Option<String>,
        /// Whose it is to be
        #[arg(long, value_name = "USER")]
        owner: Option<String>,
    },
    /// Remove a collection that holds no sources
    Remove {
        /// Which
        name: String,
    },
}

pub(super) async fn run(args: &Args, context: &mut Context<'_>) -> Result<(), Failure> {
    let client = context.client().await?;
    match &args.command {
        Sub::Create { name } => {
            let made = client.post("/collections", json!({ "name": name })).await?;
            context.say(args.json, &made, &format!("made collection {}", text(&made, "name")))
        }
        Sub::List => {
            let collections = client.all("/collections").await?;
            let users = client.all("/users").await?;
            let row = |one: &Value| {
                let owner = users.iter().find(|user| user["id"] == one["owner_id"]);
                let owner = owner.map_or("-".to_owned(), |owner| text(owner, "name"));
                vec![text(one, "id"), text(one, "name"), owner, when(one, "created_at")]
            };
            let heading = ["id", "name", "owner", "made"];
            context.list(args.json, &collections, &heading, rows(&collections, row), "no collections")
        }
        Sub::Rename { new: None, owner: None, name } => Err(Failure::Usage(format!(
            "say what is to change: `gleaner collection rename {} NEW`, or --owner USER",
            shell_quoted(name)
        ))),
        Sub::Rename { name, new, owner } => {
            let mut body = json!({});
            if let Some(new) = new {
                body["name"] = json!(new);
            }
            if let Some(owner) = owner {
                body["owner"] = json!(owner);
            }
            let id = id_of(&client, name).await?;
            let edited = client.patch(&format!("/collections/{id}"), body).await?;
            let given = owner.as_ref().map(|owner| format!("; it is {owner}'s")).unwrap_or_default();
            let words = format!("collection {name} is called {}{given}", text(&edited, "name"));
            context.say(args.json, &edited, &words)
        }
        Sub::Remove { name } => {
            let id = id_of(&client, name).await?;
            client.delete(&format!("/collections/{id}")).await?;
            let told = json!({ "id": id, "name": name, "removed": true });
            context.say(args.json, &told, &format!("removed collection {name}"))
        }
    }
}

/// The id of a collection that is named by people.
pub(super) async fn id_of(client: &Client, name: &str) -> Result<i64, Failure> {
    let collections = client.all("/collections").await?;
    let found = collections.iter().find(|one| one["name"] == name).and_then(|one| one["id"].as_i64());
    found.ok_or_else(|| {
        let names: Vec<String> = collections.iter().map(|one| text(one, "name")).collect();
        Failure::Missing(format!("there is no collection '{name}'; there are {}", names.join(", ")))
    })
}
