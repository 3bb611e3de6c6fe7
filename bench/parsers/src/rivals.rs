//! The parsers, each as a function from bytes to a number of entries.

use std::hint::black_box;

use gleaner_feed::Options;
use quick_xml::Reader;
use quick_xml::events::Event;

/// A parser. `read` returns the number of entries, or `None` if it fails.
pub struct Parser {
    pub name: &'static str,
    pub read: fn(&[u8]) -> Option<usize>,
}

pub const PARSERS: &[Parser] = &[
    Parser { name: "gleaner-feed", read: gleaner },
    Parser { name: "feed-rs", read: feed_rs },
    Parser { name: "rss + atom_syndication", read: rss_atom },
    Parser { name: "quick-xml events", read: events },
];

fn gleaner(bytes: &[u8]) -> Option<usize> {
    let feed = gleaner_feed::parse(bytes, &Options::default()).ok()?;
    Some(black_box(feed).entries.len())
}

fn feed_rs(bytes: &[u8]) -> Option<usize> {
    let feed = feed_rs::parser::parse(bytes).ok()?;
    Some(black_box(feed).entries.len())
}

fn rss_atom(bytes: &[u8]) -> Option<usize> {
    match rss::Channel::read_from(bytes) {
        Ok(channel) => Some(black_box(channel).items.len()),
        Err(_) => Some(black_box(atom_syndication::Feed::read_from(bytes).ok()?).entries.len()),
    }
}

/// Only events, no feed: the minimum cost of any parser based on quick-xml.
fn events(bytes: &[u8]) -> Option<usize> {
    let mut reader = Reader::from_reader(bytes);
    let mut entries = 0;
    loop {
        match reader.read_event().ok()? {
            Event::Start(start) => {
                let name = start.name();
                entries += usize::from(name.as_ref() == "item" || name.as_ref() == "entry");
            }
            Event::Eof => return Some(black_box(entries)),
            _ => {}
        }
    }
}
