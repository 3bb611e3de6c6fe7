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
        /// For you and admins only, with all that is in it
        #[arg(long)]
        private: bool,
    },
    /// List collections
    List,
    /// Rename a collection, give it to somebody else, whose keys serve it from then on, or make it private
    Rename {
        /// Which
        name: String,
        /// What to call it
        new: Option<String>,
        /// Whose it is to be
        #[arg(long, value_name = "USER")]
        owner: Option<String>,
        /// Make it private: its owner and admins only, with all that is in it
        #[arg(long, conflicts_with = "shared")]
        private: bool,
        /// Make it shared: everybody sees it
        #[arg(long)]
        shared: bool,
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
        Sub::Create { name, private } => {
            let made = client.post("/collections", json!({ "name": name, "private": private })).await?;
            let kind = if *private { "private " } else { "" };
            context.say(args.json, &made, &format!("made {kind}collection {}", text(&made, "name")))
        }
        Sub::List => {
            let collections = client.all("/collections").await?;
            // A token that is limited to collections does not list users.
            let users = client.all("/users").await.unwrap_or_default();
            let row = |one: &Value| {
                let owner = users.iter().find(|user| user["id"] == one["owner_id"]);
                let owner = owner.map_or("-".to_owned(), |owner| text(owner, "name"));
                let seen = if one["private"] == true { "private" } else { "shared" }.to_owned();
                vec![text(one, "id"), text(one, "name"), owner, seen, when(one, "created_at")]
            };
            let heading = ["id", "name", "owner", "access", "made"];
            context.list(args.json, &collections, &heading, rows(&collections, row), "no collections")
        }
        Sub::Rename { new: None, owner: None, private: false, shared: false, name } => {
            Err(Failure::Usage(format!(
                "say what is to change: `gleaner collection rename {} NEW`, --owner USER, --private or --shared",
                shell_quoted(name)
            )))
        }
        Sub::Rename { name, new, owner, private, shared } => {
            let mut body = json!({});
            if let Some(new) = new {
                body["name"] = json!(new);
            }
            if let Some(owner) = owner {
                body["owner"] = json!(owner);
            }
            if *private || *shared {
                body["private"] = json!(*private);
            }
            let id = id_of(&client, name).await?;
            let edited = client.patch(&format!("/collections/{id}"), body).await?;
            let given = owner.as_ref().map(|owner| format!("; it is {owner}'s")).unwrap_or_default();
            let seen = match (*private, *shared) {
                (true, _) => "; it is private",
                (_, true) => "; everybody sees it",
                _ => "",
            };
            let words = format!("collection {name} is called {}{given}{seen}", text(&edited, "name"));
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
