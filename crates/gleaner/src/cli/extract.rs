//! `gleaner extract`: the article of a page.

use std::io::Read as _;

use super::{Context, Failure};
use crate::printable::escape_json;
use crate::service::{extract_html, extract_url};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The page; - or nothing reads HTML from standard input
    #[arg(default_value = "-", hide_default_value = true)]
    page: String,
    /// Where the HTML on standard input was found, for its links and dates
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// The article's HTML instead of its text
    #[arg(long, conflicts_with = "json")]
    html: bool,
    /// For programs: all of it as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: &Args, context: &mut Context<'_>) -> Result<(), Failure> {
    let article = if args.page == "-" {
        let mut body = Vec::new();
        std::io::stdin().lock().read_to_end(&mut body).map_err(Failure::Input)?;
        extract_html(&body, args.url.as_deref())?
    } else if args.url.is_some() {
        return Err(Failure::Usage(
            "--url is for HTML on standard input; give one address or the other".to_owned(),
        ));
    } else {
        extract_url(&context.loaded.config, &args.page).await?
    };
    if args.json {
        let text = serde_json::to_string_pretty(&article).unwrap_or_default();
        writeln!(context.out, "{}", escape_json(&text))?;
    } else {
        writeln!(context.out, "{}", if args.html { &article.html } else { &article.text })?;
    }
    Ok(())
}
