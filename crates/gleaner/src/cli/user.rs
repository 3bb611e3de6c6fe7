//! `gleaner user`: who may log in.

use clap::Subcommand;
use serde_json::{Value, json};

use super::client::{Client, segment};
use super::show::{rows, text, when};
use super::{Context, Failure, ask};
use crate::config::secret::Secret;
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
    /// Add a user, who has no password yet
    Add {
        /// What to call them
        name: String,
        /// They manage users, too
        #[arg(long)]
        admin: bool,
        /// Set a password, asked for or read from standard input
        #[arg(long)]
        password: bool,
    },
    /// List users
    List,
    /// Remove a user who owns no collection
    Remove {
        /// Whom
        name: String,
    },
    /// Set a password, asked for or read from standard input; for your own over --server, after the current one
    Password {
        /// Whose
        name: String,
    },
    /// Let an account at the OpenID Connect provider sign a user in
    Connect {
        /// Whom
        name: String,
        /// What the provider calls the account: its `sub`
        subject: String,
    },
    /// Let no account at the OpenID Connect provider sign a user in any more
    Disconnect {
        /// Whom
        name: String,
    },
    /// Make a link that logs a user in, once; a start of the server prints one only until somebody has logged in
    Link {
        /// Whom
        name: String,
    },
}

pub(super) async fn run(args: &Args, context: &mut Context<'_>) -> Result<(), Failure> {
    let client = context.client().await?;
    match &args.command {
        Sub::Add { name, admin, password } => {
            let password = password.then(|| ask::new_password(name)).transpose()?;
            let user = client.post("/users", json!({ "name": name, "is_admin": admin })).await?;
            if let Some(password) = &password {
                set_password(&client, name, None, password).await?;
            }
            let next = match password {
                Some(_) => String::new(),
                None => format!("; `gleaner user link {}` makes a link to log in with", shell_quoted(name)),
            };
            context.say(args.json, &user, &format!("added user {name}{next}"))
        }
        Sub::List => {
            let users = client.all("/users").await?;
            let row = |user: &Value| {
                let yes = |field: &str| if user[field] == true { "yes" } else { "no" }.to_owned();
                vec![text(user, "name"), yes("is_admin"), yes("has_password"), when(user, "created_at")]
            };
            context.list(
                args.json,
                &users,
                &["name", "admin", "password", "since"],
                rows(&users, row),
                "no users",
            )
        }
        Sub::Remove { name } => {
            client.delete(&format!("/users/{}", segment(name))).await?;
            context.say(args.json, &json!({ "name": name, "removed": true }), &format!("removed user {name}"))
        }
        Sub::Password { name } => {
            let current = match needs_current(&client, name).await? {
                true => Some(ask::secret(&format!("Current password of {name}"))?),
                false => None,
            };
            set_password(&client, name, current, &ask::new_password(name)?).await?;
            context.say(
                args.json,
                &json!({ "name": name, "password": "set" }),
                &format!("set {name}'s password"),
            )
        }
        Sub::Connect { name, subject } => {
            let path = format!("/users/{}/oidc", segment(name));
            let user = client.put(&path, json!({ "subject": subject })).await?;
            context.say(args.json, &user, &format!("the account {subject} signs in {name}"))
        }
        Sub::Disconnect { name } => {
            client.delete(&format!("/users/{}/oidc", segment(name))).await?;
            let done = json!({ "name": name, "is_connected": false });
            context.say(args.json, &done, &format!("no account at the provider signs in {name} any more"))
        }
        Sub::Link { name } => {
            let made = client.post(&format!("/users/{}/login-code", segment(name)), json!({})).await?;
            let url = format!("{}/login?code={}", client.base(), text(&made, "code"));
            if args.json {
                let told = json!({ "url": url, "code": made["code"], "expires_at": made["expires_at"] });
                return context.json(&told);
            }
            // The link alone, so that it can be handed on.
            writeln!(context.out, "{url}")?;
            super::complain(&format!("good once, until {}", text(&made, "expires_at")));
            Ok(())
        }
    }
}

/// Whether the server asks for the current password: over HTTP, for one's own, where there is one.
async fn needs_current(client: &Client, name: &str) -> Result<bool, Failure> {
    if client.over_http().is_none() || client.get("/me").await?["name"] != name {
        return Ok(false);
    }
    let users = client.all("/users").await?;
    Ok(users.iter().any(|user| user["name"] == name && user["has_password"] == true))
}

async fn set_password(
    client: &Client,
    name: &str,
    current: Option<Secret>,
    password: &Secret,
) -> Result<(), Failure> {
    let current = current.as_ref().map(Secret::expose);
    let body = json!({ "password": password.expose(), "current_password": current });
    client.put(&format!("/users/{}/password", segment(name)), body).await?;
    Ok(())
}
