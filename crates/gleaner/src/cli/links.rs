//! `gleaner links`: which links of an index page a watchlist would follow.

use std::io::{self, IsTerminal as _, Read as _};

use super::table::{aligned, shortened};
use super::{Context, Failure, complain};
use crate::printable::escape_json;
use crate::service::{IndexLink, IndexLinks, links_at, links_of};

/// No page needs more.
const PAGE_LIMIT: u64 = 64 << 20;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// An index page: a blog, the front page of a newspaper; without it, or with -, HTML is read from standard
    /// input
    #[arg(value_name = "URL|-")]
    page: Option<String>,
    /// Where the page on standard input came from
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// The links that this matches, instead of those that look like articles
    #[arg(long, value_name = "CSS")]
    selector: Option<String>,
    /// Addresses only, one a line, as when the output is no terminal
    #[arg(long, conflicts_with = "json")]
    plain: bool,
    /// For programs: JSON, with titles and dates
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: &Args, context: &mut Context<'_>) -> Result<(), Failure> {
    let selector = args.selector.as_deref();
    let index = match (args.page.as_deref().filter(|page| *page != "-"), &args.url) {
        (Some(_), Some(_)) => {
            return Err(Failure::Usage(
                "--url tells where a page on standard input came from; leave it out to fetch one".into(),
            ));
        }
        (Some(page), None) => links_at(&context.loaded.config, page, selector).await?,
        (None, Some(url)) => links_of(&standard_input()?, url, selector)?,
        (None, None) => {
            return Err(Failure::Usage(
                "give a URL to fetch, or a page on standard input and with --url where it came from".into(),
            ));
        }
    };
    if args.json {
        let text = serde_json::to_string_pretty(&index).unwrap_or_default();
        writeln!(context.out, "{}", escape_json(&text))?;
    } else if args.plain || !io::stdout().is_terminal() {
        for link in &index.links {
            writeln!(context.out, "{}", link.url)?;
        }
    } else if !index.links.is_empty() {
        context.out.write_all(table(&index).as_bytes())?;
    }
    if index.links.is_empty() {
        complain(&nothing(&index, selector));
    }
    Ok(())
}

fn standard_input() -> Result<Vec<u8>, Failure> {
    let mut html = Vec::new();
    let input = io::stdin().lock();
    input.take(PAGE_LIMIT).read_to_end(&mut html).map_err(Failure::Input)?;
    Ok(html)
}

/// What to try where there is nothing to follow.
fn nothing(index: &IndexLinks, selector: Option<&str>) -> String {
    let url = shortened(&index.url, 200);
    match selector {
        Some(selector) => {
            format!("{url}: '{selector}' matches no links there; without --selector they are guessed")
        }
        None => format!(
            "{url}: nothing there looks like a list of articles; tell with --selector which links to follow, as in \
             --selector 'article h2 a'"
        ),
    }
}

fn table(index: &IndexLinks) -> String {
    let mut rows = vec![["title", "published", "url"].map(str::to_owned).to_vec()];
    rows.extend(index.links.iter().map(row));
    format!("{}\n{} links\n", aligned(&rows), index.links.len())
}

fn row(link: &IndexLink) -> Vec<String> {
    vec![
        shortened(link.title.as_deref().unwrap_or("-"), 60),
        link.published_at.map_or("-".to_owned(), |at| at.to_string()),
        shortened(&link.url, 200),
    ]
}
