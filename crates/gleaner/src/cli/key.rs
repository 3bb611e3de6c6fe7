//! `gleaner key`: users' keys for services, which are set and never shown.

use serde_json::json;

use super::client::{Client, segment};
use super::show::text;
use super::{Context, Failure, ask};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
    /// For programs: JSON instead of words
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Set a key, read from standard input; sources that wait for it are polled at once
    Set(Whose),
    /// Say whether there is a key
    Show(Whose),
    /// Remove a key
    Remove(Whose),
}

#[derive(Debug, clap::Args)]
struct Whose {
    /// What the key is for: x
    service: String,
    /// Whose key; it serves the collections that the user owns [default: admin, with --server whose token it is]
    #[arg(long)]
    user: Option<String>,
}

pub(super) async fn run(args: &Args, context: &mut Context<'_>) -> Result<(), Failure> {
    let (Action::Set(whose) | Action::Show(whose) | Action::Remove(whose)) = &args.action;
    let (client, user) = as_owner(whose, context).await?;
    let name = &whose.service;
    let path = format!("/keys/{}", segment(name));
    match &args.action {
        Action::Set(_) => {
            // Not by argument: those are for everybody on the machine to see.
            let key = ask::secret(&format!("{user}'s key for {name}"))?;
            let set = client.put(&path, json!({ "key": key.expose() })).await?;
            let woken = text(&set, "woken");
            let words = format!("{user}'s key for {name} is set; {woken} sources that waited for it are due");
            context.say(args.json, &set, &words)
        }
        Action::Show(_) => {
            let key = client.all("/keys").await?.into_iter().find(|key| key["service"] == name.as_str());
            let has = if key.is_some() { "a" } else { "no" };
            let told = key.unwrap_or_else(|| json!({ "service": name, "updated_at": null }));
            context.say(args.json, &told, &format!("{user} has {has} key for {name}"))
        }
        Action::Remove(_) => {
            let removed = match client.delete(&path).await {
                Ok(_) => true,
                Err(Failure::Refused { status: 404, .. }) => false,
                Err(failure) => return Err(failure),
            };
            let words = if removed { "removed" } else { "not there" };
            let told = json!({ "service": name, "removed": removed });
            context.say(args.json, &told, &format!("{user}'s key for {name} is {words}"))
        }
    }
}

/// Keys are set by their owner alone; who is at the machine can be anybody.
async fn as_owner(whose: &Whose, context: &Context<'_>) -> Result<(Client, String), Failure> {
    if context.server.url.is_none() {
        let user = whose.user.clone().unwrap_or_else(|| "admin".to_owned());
        return Ok((Client::local_as(&context.loaded.config, &user).await?, user));
    }
    let client = context.client().await?;
    let me = text(&client.get("/me").await?, "name");
    match &whose.user {
        Some(user) if *user != me => Err(Failure::NotLetIn(format!(
            "the keys of {user} are set by {user} alone, and this token is {me}'s"
        ))),
        _ => Ok((client, me)),
    }
}
