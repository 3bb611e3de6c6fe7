//! `gleaner token`: what lets programs in, and what opens output feeds.

use clap::Subcommand;
use serde_json::{Value, json};

use super::client::segment;
use super::collection::id_of;
use super::show::{rows, text, when};
use super::{Context, Failure};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Sub,
    /// Tokens that open output feeds by their URL, instead of those for programs
    #[arg(long, global = true)]
    feed: bool,
    /// For programs: JSON instead of words
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Sub {
    /// Make a token; it is printed this once
    Create {
        /// What to call it
        name: String,
        /// It may change things, too
        #[arg(long)]
        write: bool,
        /// For how many days
        #[arg(long, default_value_t = 365)]
        days: u32,
        /// Only for this collection; may be repeated [default: all that you see]
        #[arg(long = "collection", value_name = "NAME")]
        collections: Vec<String>,
    },
    /// List your tokens
    List,
    /// Revoke a token
    Revoke {
        /// Which
        name: String,
    },
}

pub(super) async fn run(args: &Args, context: &mut Context<'_>) -> Result<(), Failure> {
    let client = context.client().await?;
    let path = if args.feed { "/feed-tokens" } else { "/tokens" };
    match &args.command {
        Sub::Create { name, write, days, collections } => {
            let scopes = if *write { "read write" } else { "read" };
            let mut body = match args.feed {
                true => json!({ "name": name }),
                false => json!({ "name": name, "scopes": scopes, "days": days }),
            };
            if !collections.is_empty() {
                let mut ids = Vec::with_capacity(collections.len());
                for collection in collections {
                    ids.push(id_of(&client, collection).await?);
                }
                body["collection_ids"] = json!(ids);
            }
            let made = client.post(path, body).await?;
            if args.json {
                return context.json(&made);
            }
            // The token alone, so that it can go into a file.
            writeln!(context.out, "{}", text(&made, "token"))?;
            let (scopes, until) = (text(&made, "scopes"), text(&made, "expires_at"));
            super::complain(&format!("it grants '{scopes}' until {until}, and is not shown again"));
            Ok(())
        }
        Sub::List => {
            let tokens = client.all(path).await?;
            let row = |token: &Value| {
                let times = ["created_at", "expires_at", "last_used_at"].map(|field| when(token, field));
                let limit =
                    token["collection_ids"].as_array().map_or("all".to_owned(), |ids| ids.len().to_string());
                [vec![text(token, "name"), text(token, "scopes"), limit], times.to_vec()].concat()
            };
            let heading = ["name", "scopes", "collections", "made", "ends", "last used"];
            let none = "no tokens; `gleaner token create NAME` makes one";
            context.list(args.json, &tokens, &heading, rows(&tokens, row), none)
        }
        Sub::Revoke { name } => {
            client.delete(&format!("{path}/{}", segment(name))).await?;
            context.say(
                args.json,
                &json!({ "name": name, "revoked": true }),
                &format!("revoked token {name}"),
            )
        }
    }
}
