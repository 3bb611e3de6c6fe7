//! The publishers of the demo, and their disruptions.

use super::scenario::Behaviour::{
    Garbled, Moved, Oversized, PrivateRedirect, RateLimited, Slow, Stalled, Status, Truncated,
};
use super::scenario::Format::{Atom, Index, Json, Page, Rss, Teaser, Timeline};
use super::scenario::{Disruption, Format, Publisher};

const PAPERS: &str = "Papers";
const TOWN: &str = "Town hall";
const NATURE: &str = "Nature and science";
const BLOGS: &str = "Blogs";

const fn publisher(
    name: &'static str,
    collection: &'static str,
    format: Format,
    host: &'static str,
    dir: &'static str,
    (interval, minutes_per_post): (u32, u64),
    disruptions: &'static [Disruption],
) -> Publisher {
    Publisher {
        name,
        collection,
        format,
        host,
        dir,
        interval,
        minutes_per_post,
        disruptions,
        policy: None,
        highlight: None,
    }
}

impl Publisher {
    const fn under(self, policy: &'static str) -> Self {
        Self { policy: Some(policy), ..self }
    }

    const fn highlight(self, why: &'static str) -> Self {
        Self { highlight: Some(why), ..self }
    }
}

/// The town hall's host answers 404 for six hours every day.
const CLOSED: &[Disruption] = &[Disruption::every(24, -71, 6, Status(404))];
/// Rate-limited for four hours at a time.
const CROWDED: &[Disruption] = &[Disruption::every(15, -58, 4, RateLimited(2))];

#[rustfmt::skip]
pub static PUBLISHERS: &[Publisher] = &[
    publisher("The Harbour Gazette", PAPERS, Rss, "gazette.example", "/", (15, 25), &[])
        .highlight("publishes all the time"),
    publisher("Harbour Gazette: Letters", PAPERS, Atom, "gazette.example", "/letters/", (30, 140), &[]),
    publisher("Harbour Gazette: Weather", PAPERS, Json, "gazette.example", "/weather/", (30, 90), &[]),
    publisher("The Upper Thistle Courier", PAPERS, Rss, "courier.example", "/", (30, 60), &[]),
    publisher("Ferry Times", PAPERS, Rss, "ferrytimes.example", "/", (30, 70), CROWDED)
        .highlight("limits requests (429 with Retry-After), and is polled again when its limit ends"),
    publisher("Ferry Times: Delays", PAPERS, Rss, "ferrytimes.example", "/delays/", (30, 120), CROWDED),
    publisher("Night Market News", PAPERS, Atom, "nightmarket.example", "/", (30, 80), &[Disruption::every(11, -62, 3, Status(503))]),
    publisher("The Salt Line", PAPERS, Rss, "saltline.example", "/", (45, 150), &[Disruption::every(17, -60, 2, Truncated)]),
    publisher("Evening Kettle", PAPERS, Rss, "kettle.example", "/", (60, 110), &[Disruption::since(-720, Slow)]),

    publisher("Council notices", TOWN, Rss, "townhall.example", "/notices/", (30, 200), CLOSED)
        .highlight("answers 404 on its whole host for six hours every day, and is not given up"),
    publisher("Council minutes", TOWN, Atom, "townhall.example", "/minutes/", (60, 420), CLOSED),
    publisher("Roadworks", TOWN, Json, "townhall.example", "/roadworks/", (60, 240), CLOSED),
    publisher("Lost and found", TOWN, Rss, "townhall.example", "/lost-and-found/", (30, 100), CLOSED),
    publisher("Harbour Board: today", TOWN, Page, "harbourboard.example", "/", (60, 300), &[]),
    publisher("The Ticket Office", TOWN, Rss, "tickets.example", "/", (60, 300), &[Disruption::once(-26, 24, Status(500))])
        .under("quarantine"),

    publisher("The Moth Almanac", NATURE, Rss, "moths.example", "/", (30, 90), &[Disruption::every(36, 3, 9, Status(410))])
        .highlight("is gone (410): quarantined at once, polled less and less often, and healthy again once it answers"),
    publisher("The Lighthouse Log", NATURE, Atom, "lighthouse.example", "/", (60, 130), &[Disruption::once(-28, 42, Status(404))])
        .highlight("has been missing (404) since yesterday: polled less and less often, quarantined after a day, healthy again once it answers"),
    publisher("Tidal Observations", NATURE, Json, "tides.example", "/", (30, 60), &[]),
    publisher("Observatory Bulletin", NATURE, Atom, "observatory.example", "/", (60, 180), &[Disruption::every(24, 2, 4, Stalled)]),
    publisher("Journal of Small Clocks", NATURE, Rss, "clocks.example", "/", (60, 160), &[Disruption::since(-43, Moved)])
        .highlight("moved (301) the day before yesterday: its URL changes once the redirect has lasted long enough"),
    publisher("The Fungus Quarterly", NATURE, Atom, "fungus.example", "/", (60, 200), &[Disruption::once(-38, 48, Garbled)]),
    publisher("Clouds, Mostly", NATURE, Rss, "clouds.example", "/", (30, 75), &[]),
    publisher("Star Charts", NATURE, Rss, "starcharts.example", "/", (60, 240), &[Disruption::every(22, 7, 3, Oversized)]),
    publisher("Beekeepers' Circular", NATURE, Rss, "beekeepers.example", "/", (60, 240), &[Disruption::since(-60, Status(401))]),
    publisher("Heron Watch", NATURE, Rss, "herons.example", "/", (30, 100), &[Disruption::every(31, -13, 11, Status(503))]),

    publisher("Ada's Allotment", BLOGS, Atom, "commons.example", "/ada/", (60, 300), &[]),
    publisher("The Left-Handed Violin", BLOGS, Rss, "commons.example", "/violin/", (60, 360), &[]),
    publisher("Paper Boats", BLOGS, Json, "commons.example", "/boats/", (60, 280), &[]),
    publisher("Umbrella Repair for Beginners", BLOGS, Rss, "commons.example", "/umbrellas/", (120, 600), &[]),
    publisher("The Teapot Museum", BLOGS, Atom, "commons.example", "/teapots/", (60, 420), &[Disruption::once(-44, 70, Status(403))]),
    publisher("Letters from a Slow Train", BLOGS, Atom, "slowtrain.example", "/", (30, 120), &[]),
    publisher("Stairs and Ladders", BLOGS, Rss, "stairs.example", "/", (45, 190), &[Disruption::every(27, 6, 7, Garbled)]),
    publisher("Long Reads from Gull Rock", BLOGS, Teaser, "gullrock.example", "/", (60, 240), &[]),
    publisher("The Orchard Diary", BLOGS, Index, "orchard.example", "/", (60, 150), &[]),
    publisher("Notes from Platform 3", BLOGS, Index, "platform3.example", "/", (60, 260), &[Disruption::every(40, 14, 6, Status(502))]),
    publisher("Cake of the Day", BLOGS, Page, "bakery.example", "/", (60, 400), &[]),
    publisher("Free Teapots", BLOGS, Rss, "freeteapots.example", "/", (60, 300), &[Disruption::every(50, 9, 8, PrivateRedirect)]),
    publisher("Last Post", BLOGS, Rss, "lastpost.example", "/", (60, 300), &[Disruption::since(-50, Status(410))]),
    publisher("The Vanished Village", BLOGS, Atom, super::VANISHED_HOST, "/", (60, 300), &[]),
    publisher("The Old Guestbook", BLOGS, Rss, "guestbook.example", "/", (60, 300), &[Disruption::since(-66, Status(404))])
        .under("backoff"),
    publisher("The Cuckoo Clock", BLOGS, Rss, "cuckoo.example", "/", (60, 180), &[Disruption::once(-34, 30, Status(404))])
        .under("cooldown"),

    publisher("@harbour_pilot", PAPERS, Timeline, "x.com", "/harbour_pilot", (30, 45), &[]),
    publisher("@clocktower", TOWN, Timeline, "x.com", "/clocktower", (30, 60), &[]),
    publisher("@moth_of_the_day", NATURE, Timeline, "x.com", "/moth_of_the_day", (60, 150), &[Disruption::every(29, 5, 4, RateLimited(1))]),

    publisher(NEWCOMER, "", Rss, "newcomer.example", "/", (0, 40), &[]),
];

/// The publisher that the user can add.
pub const NEWCOMER: &str = "The Newcomer";
